//! The state of each counter: enabled or not, and the values at the last change, from which it is shown.
//!
//! A file of root's in /run, which a restart of the machine empties as it does the counters themselves. It is named by the key of the
//! counters it is about, so that programs with counters of their own (`ADJUNCT_STATS_KEY`) have a state of their own.

use super::counter::Counter;
use adjunct::catalogue::Function;
use adjunct::counters::{self, Snapshot};
use adjunct_tool::Failure;
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::{files, scratch};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The operations that each user has counted, by counter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Raw(BTreeMap<Counter, BTreeMap<u32, u64>>);

impl Raw {
    /// Adds a user's counters: what dedicated instructions did.
    pub fn add(&mut self, snapshot: &Snapshot) {
        for &function in Function::ALL {
            let calls = snapshot.function(function).hardware_calls();
            if let Some(counter) = Counter::of(function) {
                let sum = self.0.entry(counter).or_default().entry(snapshot.uid).or_default();
                *sum = sum.saturating_add(calls);
            }
        }
    }

    /// Sets what a user has counted.
    #[cfg(test)]
    pub fn set(&mut self, counter: Counter, uid: u32, calls: u64) {
        self.0.entry(counter).or_default().insert(uid, calls);
    }

    /// Whether anything was counted.
    pub fn counted(&self, counter: Counter) -> bool {
        self.of(counter).values().any(|&calls| calls > 0)
    }

    fn of(&self, counter: Counter) -> BTreeMap<u32, u64> {
        self.0.get(&counter).cloned().unwrap_or_default()
    }
}

/// The state of one counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    enabled: bool,
    /// Counted while it was enabled before.
    kept: u64,
    /// Each user's count when the counter was last enabled or reset.
    since: BTreeMap<u32, u64>,
}

impl Default for One {
    /// A counter that is enabled and has counted from the start.
    fn default() -> One {
        One { enabled: true, kept: 0, since: BTreeMap::new() }
    }
}

impl One {
    fn value(&self, raw: &BTreeMap<u32, u64>) -> u64 {
        let counted = raw.iter().filter(|_| self.enabled).map(|(uid, &calls)| {
            // Fewer than then: the user's counters were reset in between, and begin from zero.
            let since = self.since.get(uid).copied().unwrap_or(0);
            calls.checked_sub(since).unwrap_or(calls)
        });
        counted.fold(self.kept, u64::saturating_add)
    }
}

/// The state of all counters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct State(BTreeMap<String, One>);

impl State {
    /// The value of a counter; `None` of one that is disabled.
    pub fn value(&self, counter: Counter, raw: &Raw) -> Option<u64> {
        let one = self.0.get(counter.name()).cloned().unwrap_or_default();
        one.enabled.then(|| one.value(&raw.of(counter)))
    }

    fn of(&mut self, counter: Counter) -> &mut One {
        self.0.entry(counter.name().to_owned()).or_default()
    }

    /// Enables a counter: its operations from now on are added to what was shown before.
    pub fn enable(&mut self, counter: Counter, raw: &Raw) {
        let one = self.of(counter);
        if !one.enabled {
            *one = One { enabled: true, kept: one.kept, since: raw.of(counter) };
        }
    }

    /// Disables a counter: its operations from now on are not shown.
    pub fn disable(&mut self, counter: Counter, raw: &Raw) {
        let one = self.of(counter);
        if one.enabled {
            *one = One { enabled: false, kept: one.value(&raw.of(counter)), since: BTreeMap::new() };
        }
    }

    /// Sets a counter to zero.
    pub fn reset(&mut self, counter: Counter, raw: &Raw) {
        let one = self.of(counter);
        let since = if one.enabled { raw.of(counter) } else { BTreeMap::new() };
        *one = One { enabled: one.enabled, kept: 0, since };
    }
}

const FOLDER: &str = "/run/adjunct";

/// The file of the state of this command's counters.
fn path() -> PathBuf {
    Path::new(FOLDER).join(format!("cpacfstats-{:08x}.json", counters::key(0)))
}

fn failed(e: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {}", path().display(), cause(e)))
}

/// The state.
///
/// # Errors
/// [`Failure`] with the file, where it is damaged.
pub(super) fn read() -> Result<State, Failure> {
    match files::config(&path()) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|e| Failure::new(format!("{}: damaged ({e}); remove it", path().display()))),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(State::default()),
        Err(e) => Err(failed(&e)),
    }
}

/// The state, after `work` has changed it. Another that comes at the same time waits.
///
/// # Errors
/// As [`read`]; [`Failure`] where there is no room.
pub(super) fn change(work: impl FnOnce(&mut State)) -> Result<State, Failure> {
    let folder = Path::new(FOLDER);
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(cannot_write(folder, &e)),
        _ => {}
    }
    let lock = File::open(folder).map_err(|e| failed(&e))?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|e| failed(&e.into()))?;
    let mut state = read()?;
    work(&mut state);
    let bytes = serde_json::to_vec(&state).map_err(|e| Failure::new(format!("JSON: {e}")))?;
    let file = scratch::whole(folder, &bytes, 0o600).map_err(|e| cannot_write(&path(), &e))?;
    file.persist(path()).map_err(|e| cannot_write(&path(), &e.error))?;
    Ok(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct::catalogue::Direction;

    fn raw(users: &[(u32, u64)]) -> Raw {
        let mut raw = Raw::default();
        users.iter().for_each(|&(uid, calls)| raw.set(Counter::Aes, uid, calls));
        raw
    }

    fn value(state: &State, users: &[(u32, u64)]) -> Option<u64> {
        state.value(Counter::Aes, &raw(users))
    }

    #[test]
    fn hardware_of_all_functions_and_users_is_added_up() {
        let mut raw = Raw::default();
        for uid in [0, 1000] {
            let mut snapshot = Snapshot::new(uid);
            for (function, bits) in [(Function::AesGcm, 256), (Function::AesCbc, 128), (Function::RsaCrt, 2048)] {
                snapshot.row_mut(function.row(bits)).cell_mut(true, Direction::Encrypt).calls = 5;
                snapshot.row_mut(function.row(bits)).cell_mut(false, Direction::Decrypt).calls = 3;
            }
            raw.add(&snapshot);
        }
        let state = State::default();
        assert_eq!(Counter::ALL.map(|c| state.value(c, &raw)), [0, 20, 0, 0, 0, 0, 0].map(Some));
        assert!(raw.counted(Counter::Aes) && !raw.counted(Counter::Sha));
    }

    #[test]
    fn a_disabled_counter_goes_on_where_it_was() {
        let mut state = State::default();
        assert_eq!(value(&state, &[(0, 5), (7, 2)]), Some(7));
        state.disable(Counter::Aes, &raw(&[(0, 6), (7, 2)]));
        state.disable(Counter::Aes, &raw(&[(0, 7), (7, 2)]));
        assert_eq!(value(&state, &[(0, 100)]), None);
        state.enable(Counter::Aes, &raw(&[(0, 100), (7, 2)]));
        state.enable(Counter::Aes, &raw(&[(0, 103), (7, 2)]));
        assert_eq!(value(&state, &[(0, 103), (7, 2), (8, 1)]), Some(8 + 3 + 1));
        // Reset or deleted by icastats in between.
        assert_eq!(value(&state, &[(0, 4)]), Some(8 + 4));
    }

    #[test]
    fn a_reset_leaves_it_enabled_or_not() {
        let mut state = State::default();
        state.reset(Counter::Aes, &raw(&[(0, 9)]));
        assert_eq!(value(&state, &[(0, 11)]), Some(2));
        state.disable(Counter::Aes, &raw(&[(0, 11)]));
        state.reset(Counter::Aes, &raw(&[(0, 12)]));
        assert_eq!(value(&state, &[(0, 12)]), None);
        state.enable(Counter::Aes, &raw(&[(0, 20)]));
        assert_eq!(value(&state, &[(0, 21)]), Some(1));
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<State>(&text).unwrap(), state);
    }
}
