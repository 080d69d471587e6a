//! What the environment says of counting.
#![forbid(unsafe_code)]

use super::layout::Fnv;
use crate::environment::secure_env;

/// The settings of counting by the environment.
pub(super) enum Settings {
    /// Count, in segments whose keys are made with this prefix.
    On {
        /// Made of `ADJUNCT_STATS_KEY`, 0 where it is not set.
        prefix: u32,
        /// `ADJUNCT_STATS=on`: also where a filter of system calls is in force, which then has to allow shmget, shmctl and shmat.
        even_filtered: bool,
    },
    /// `ADJUNCT_STATS=off`.
    Off,
}

pub(super) const VARIABLE: &str = "ADJUNCT_STATS";

pub(super) fn settings() -> Settings {
    match secure_env(VARIABLE) {
        Some(word) if word.eq_ignore_ascii_case("off") => Settings::Off,
        word => {
            Settings::On { prefix: prefix(), even_filtered: word.is_some_and(|word| word.eq_ignore_ascii_case("on")) }
        }
    }
}

pub(super) fn prefix() -> u32 {
    match secure_env("ADJUNCT_STATS_KEY") {
        Some(word) => prefix_of(&word),
        None => 0,
    }
}

/// The part of the keys that follows from the value of `ADJUNCT_STATS_KEY`; 0 for an empty one.
pub(super) fn prefix_of(word: &str) -> u32 {
    if word.is_empty() {
        return 0;
    }
    let mut hash = Fnv::new();
    hash.add(word.as_bytes());
    hash.fold().max(1)
}
