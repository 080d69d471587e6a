//! What adjunct served in the programs that a run starts, counted apart from all else on the machine.

use super::Environment;
use crate::Failure;
use adjunct::catalogue::Function;
use adjunct::counters::{Apart, Snapshot};
use std::time::{SystemTime, UNIX_EPOCH};

/// The variable that gives a process and its children counters of their own, apart from the users'.
pub(crate) const KEY: &str = "ADJUNCT_STATS_KEY";

/// Counters of their own; removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    word: String,
    apart: Apart,
}

/// A number that no other run has.
pub(crate) fn unique() -> u32 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
    (time ^ std::process::id().rotate_left(16)).max(1) & 0x7fff_ffff
}

impl Counted {
    /// Under this key.
    pub fn new(word: &str) -> Counted {
        Counted { apart: Apart::of(word), word: word.to_owned() }
    }

    /// Those that this process's own environment leads to.
    pub fn inherited() -> Counted {
        Counted::new(&std::env::var(KEY).unwrap_or_default())
    }

    /// The environment that leads to them.
    pub fn environment(&self) -> Environment {
        Environment::default().and(KEY, &self.word).and("ADJUNCT_STATS", "on")
    }

    /// All so far, of all users.
    ///
    /// # Errors
    /// [`Failure`] where they cannot be read.
    pub fn sum(&self) -> Result<Snapshot, Failure> {
        let mut sum = Snapshot::new(0);
        for uid in self.apart.users()? {
            if let Some(snapshot) = self.apart.read(uid)? {
                sum = sum.plus(&snapshot);
            }
        }
        Ok(sum)
    }

    /// Whether anything was counted.
    pub fn any(&self) -> bool {
        self.sum().is_ok_and(|sum| Function::ALL.iter().any(|&f| !sum.function(f).is_zero()))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        for uid in self.apart.users().unwrap_or_default() {
            let _ = self.apart.delete(uid);
        }
    }
}
