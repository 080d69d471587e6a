//! The command's side: who has counters, what they say, back to zero, away with them.
#![forbid(unsafe_code)]

use super::layout::{Fnv, Owner, identity};
use super::memory::{self, Access, Mapped, Stat, Wrong};
use super::process;
use super::snapshot::Snapshot;
use crate::cpu::secure_env;
use crate::error::Error;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What the environment says.
pub(super) enum Settings {
    /// Count, in segments whose keys are made with this prefix.
    On {
        /// Made of `ADJUNCT_STATS_KEY`, 0 where it is not set.
        prefix: u32,
    },
    /// `ADJUNCT_STATS=off`.
    Off,
}

pub(super) fn settings() -> Settings {
    if let Some(word) = secure_env("ADJUNCT_STATS") {
        if word.eq_ignore_ascii_case("off") {
            return Settings::Off;
        }
        if !word.is_empty() && !word.eq_ignore_ascii_case("on") {
            let (place, known) = ("ADJUNCT_STATS", "on off".to_owned());
            crate::diag::warn(&format!("{}; counting is on", Error::UnknownWord { place, word, known }));
        }
    }
    Settings::On { prefix: prefix() }
}

pub(super) fn prefix() -> u32 {
    match secure_env("ADJUNCT_STATS_KEY") {
        Some(word) => prefix_of(&word),
        None => 0,
    }
}

/// What the value of `ADJUNCT_STATS_KEY` makes of the keys; 0 for an empty one.
pub(super) fn prefix_of(word: &str) -> u32 {
    if word.is_empty() {
        return 0;
    }
    let mut hash = Fnv::new();
    hash.add(word.as_bytes());
    hash.fold().max(1)
}

/// The key of a user's segment. The layout goes into it: a new version of adjunct with another layout makes new segments
/// and leaves those of processes that still run the old one alone. Never 0, which is no key.
pub(super) fn key(prefix: u32, uid: u32) -> i32 {
    let mut hash = Fnv::new();
    hash.add(&identity().to_le_bytes());
    hash.add(&prefix.to_le_bytes());
    hash.add(&uid.to_le_bytes());
    hash.fold().max(1).cast_signed()
}

/// See [`super::key`].
pub(super) fn own_key(uid: u32) -> i32 {
    key(prefix(), uid)
}

/// The words for a segment that is not mapped: what is wrong, where, whose it is and what to do.
pub(super) fn explain(uid: u32, key: i32, wrong: &Wrong) -> Error {
    let found = memory::segments().ok().and_then(|all| all.into_iter().find(|s| s.key == key));
    let what = match wrong {
        // What looks like a system's refusal is mostly somebody else's segment, which we may not even look at.
        Wrong::System(call, error) => match found.and_then(|s| s.wrong(uid)) {
            Some(wrong) => describe(&wrong),
            None => format!("{call}: {error}"),
        },
        wrong => describe(wrong),
    };
    let cause = match found {
        Some(Stat { id, uid: owner, creator, mode, size, .. }) => format!(
            "{what} (shared memory segment {id}, key {key:#010x}, owner {owner}, creator {creator}, mode {mode:04o}, \
             {size} bytes); remove it with 'ipcrm -m {id}'"
        ),
        None => {
            format!("{what} (shared memory key {key:#010x}); see 'ipcs -lm' and 'ipcs -um' for the system's limits")
        }
    };
    Error::Counters { uid, cause }
}

fn describe(wrong: &Wrong) -> String {
    match wrong {
        Wrong::Owner => "the place of these counters is taken by another user".into(),
        Wrong::Mode => "the counters' mode is not 0600".into(),
        Wrong::Size => "the counters have the wrong size".into(),
        Wrong::Content(found) => format!("the counters are damaged (they start with {found:#018x})"),
        Wrong::System(call, error) => format!("{call}: {error}"),
    }
}

/// See [`super::users`].
pub(super) fn users(prefix: u32) -> Result<Vec<u32>, Error> {
    let me = memory::effective_user();
    let all = memory::segments()
        .map_err(|e| Error::Counters { uid: me, cause: format!("the system's list of segments: {e}") })?;
    let theirs = |s: &Stat| s.key == key(prefix, s.uid) && s.creator == s.uid && (me == 0 || me == s.uid);
    let mut users: Vec<u32> = all.iter().filter(|s| theirs(s)).map(|s| s.uid).collect();
    users.sort_unstable();
    users.dedup();
    Ok(users)
}

fn mapped(prefix: u32, uid: u32, access: Access) -> Result<Option<Mapped>, Error> {
    let me = memory::effective_user();
    if me != 0 && me != uid {
        return Err(Error::Counters { uid, cause: "only root may see or change the counters of others".into() });
    }
    let key = key(prefix, uid);
    memory::map(key, uid, access).map_err(|wrong| explain(uid, key, &wrong))
}

/// See [`super::read`].
pub(super) fn read(prefix: u32, uid: u32) -> Result<Option<Snapshot>, Error> {
    Ok(mapped(prefix, uid, Access::Read)?.map(|segment| segment.read(uid)))
}

/// How long others may hold the reset lock, which takes microseconds, before that is an error.
const PATIENCE: Duration = Duration::from_secs(30);
/// After how long a holder in another namespace, of whom nothing can be known, was killed with the lock.
const STRANGER: Duration = Duration::from_secs(3);

/// See [`super::take`].
pub(super) fn take(uid: u32) -> Result<Option<Snapshot>, Error> {
    let Some(segment) = mapped(prefix(), uid, Access::Write)? else { return Ok(None) };
    let failed = |cause| Error::Counters { uid, cause };
    let call = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.subsec_micros() as u8);
    let me = process::holder(call).ok_or_else(|| failed("this process's number is no pid of Linux".into()))?.word();
    let start = Instant::now();
    let mut waiting: Option<(u64, Instant)> = None;
    loop {
        let left =
            waiting.filter(|w| process::lives(Owner::from_word(w.0)).map_or(w.1.elapsed() > STRANGER, |lives| !lives));
        match segment.lock_resets(left.map_or(0, |w| w.0), me) {
            Ok(()) => {
                let taken = segment.take(uid);
                segment.unlock_resets(me);
                if taken.is_some() {
                    return Ok(taken);
                }
            }
            Err(holder) => {
                if start.elapsed() > PATIENCE {
                    let pid = Owner::from_word(holder).pid();
                    let seconds = PATIENCE.as_secs();
                    return Err(failed(format!(
                        "process {pid} has been resetting them for {seconds} s; end it, or let it go on"
                    )));
                }
                if waiting.is_none_or(|w| w.0 != holder) {
                    waiting = Some((holder, Instant::now()));
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    }
}

/// See [`super::delete`].
pub(super) fn delete(prefix: u32, uid: u32) -> Result<(), Error> {
    let me = memory::effective_user();
    if me != 0 && me != uid {
        return Err(Error::Counters { uid, cause: "only root may remove the counters of others".into() });
    }
    let key = key(prefix, uid);
    let all = memory::segments()
        .map_err(|e| Error::Counters { uid, cause: format!("the system's list of segments: {e}") })?;
    let Some(found) = all.into_iter().find(|s| s.key == key) else { return Ok(()) };
    // A damaged one is removed all the same, one that is not theirs is not.
    if found.uid != uid || found.creator != uid {
        return Err(explain(uid, key, &Wrong::Owner));
    }
    match memory::remove(found.id) {
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) && error.raw_os_error() != Some(libc::EIDRM) => {
            Err(explain(uid, key, &Wrong::System("shmctl", error)))
        }
        _ => Ok(()),
    }
}
