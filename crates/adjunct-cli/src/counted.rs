//! Counters of a run's own: the operations that it measures or checks are not in the users' statistics, and operations of other programs are not in
//! its figures. Every command that loads adjunct's modules to measure them counts this way.

use adjunct::catalogue::Function;
use adjunct::counters::{Apart, Snapshot};
use adjunct_tool::Failure;
use adjunct_tool::process::Environment;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Counters of their own; removed when this is dropped.
#[derive(Debug)]
pub struct Counted {
    word: String,
    apart: Apart,
}

/// Makes a word that no other run has, nor another part of this one.
fn unique() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
    format!("{:x}-{time:x}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed))
}

impl Counted {
    /// Makes counters for programs that are started with [`Counted::environment`]; `what` tells the counters of one run from another's.
    pub fn apart(what: &str) -> Counted {
        let word = format!("{what}-{}", unique());
        let apart = Apart::of(&word);
        adjunct_tool::interrupt::at_the_end(remove_all);
        lock(&LIVING).push(apart);
        Counted { apart, word }
    }

    /// The variables that lead to them. Counting is on in a container, too: it is part of what is measured.
    pub fn variables(&self) -> [(&'static str, &str); 2] {
        [("ADJUNCT_STATS_KEY", &self.word), ("ADJUNCT_STATS", "on")]
    }

    /// The environment that leads programs to the counters.
    pub fn environment(&self) -> Environment {
        self.variables().into_iter().fold(Environment::default(), |all, (name, value)| all.and(name, value))
    }

    /// All so far, of all users.
    ///
    /// # Errors
    /// [`Failure`] where they cannot be read.
    pub fn sum(&self) -> Result<Snapshot, Failure> {
        let mut sum = Snapshot::new(0);
        for uid in self.apart.users().map_err(Failure::because)? {
            if let Some(snapshot) = self.apart.read(uid).map_err(Failure::because)? {
                sum = sum.plus(&snapshot);
            }
        }
        Ok(sum)
    }

    /// How many operations so far.
    ///
    /// # Errors
    /// [`Failure`] where the counters cannot be read.
    pub fn served(&self) -> Result<Served, Failure> {
        Ok(Served::of(&self.sum()?))
    }

    /// Whether anything was counted.
    pub fn any(&self) -> bool {
        self.served().is_ok_and(|served| served != Served::default())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        lock(&LIVING).retain(|other| *other != self.apart);
        remove(&self.apart);
    }
}

/// The counters in use, so that a process that exits without dropping values can remove them.
static LIVING: Mutex<Vec<Apart>> = Mutex::new(Vec::new());

/// Removes all counters in use: the process is about to be ended.
pub(crate) fn remove_all() {
    lock(&LIVING).iter().for_each(remove);
}

fn remove(apart: &Apart) {
    for uid in apart.users().unwrap_or_default() {
        let _ = apart.delete(uid);
    }
}

fn lock(living: &Mutex<Vec<Apart>>) -> MutexGuard<'_, Vec<Apart>> {
    living.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Operations that adjunct counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Served {
    /// Operations in hardware.
    pub hardware: u64,
    /// Operations in software.
    pub software: u64,
}

impl Served {
    /// Adds up the calls of all functions of a snapshot.
    pub fn of(counted: &Snapshot) -> Served {
        Function::ALL.iter().map(|&function| counted.function(function)).fold(Served::default(), |sum, counts| Served {
            hardware: sum.hardware + counts.hardware_calls(),
            software: sum.software + counts.software_calls(),
        })
    }

    /// The operations counted since an earlier look.
    pub fn since(self, earlier: Served) -> Served {
        Served {
            hardware: self.hardware.saturating_sub(earlier.hardware),
            software: self.software.saturating_sub(earlier.software),
        }
    }

    /// Adds two counts.
    pub fn plus(self, other: Served) -> Served {
        Served {
            hardware: self.hardware.saturating_add(other.hardware),
            software: self.software.saturating_add(other.software),
        }
    }

    /// The path in a word.
    pub fn text(self) -> &'static str {
        match self {
            Served { hardware: 0, software: 0 } => "not by adjunct",
            Served { hardware: 0, .. } => "software",
            Served { software: 0, .. } => "hardware",
            Served { .. } => "hardware and software",
        }
    }
}
