//! Which process counted what. Counters are kept by user; but each thread has a slot while it lives, so that the growth of a slot that has kept its
//! owner belongs to that process. Counts that cannot be assigned to a process are shown as such, not guessed.

use super::work::Work;
use crate::watch::sample::Sample;
use adjunct::counters::{self, Slot, SlotPlace, Snapshot};
use adjunct_tool::files;
use std::collections::BTreeMap;
use std::path::Path;

/// The operations of a process in a period.
#[derive(Debug, Clone)]
pub(super) struct Doing {
    /// Process number; `None` for processes that cannot be told apart.
    pub(super) pid: Option<u32>,
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) user: String,
    /// Threads that have a slot.
    pub(super) threads: u64,
    pub(super) work: Work,
    /// The operations counted for the process, by function.
    pub(super) counted: Snapshot,
}

impl Doing {
    /// Name of the process among the parts of a row.
    pub(super) fn label(&self) -> String {
        let (name, user) = (adjunct_tool::escape::shown(&self.name), adjunct_tool::escape::shown(&self.user));
        self.pid.map_or_else(|| format!("{name} ({user})"), |pid| format!("{pid} {name} ({user})"))
    }
}

/// The slots at the last look.
#[derive(Debug, Default)]
pub(super) struct Processes {
    last: BTreeMap<(u32, SlotPlace), Slot>,
    /// Whether there was a last time.
    begun: bool,
}

impl Processes {
    /// The operations of each process since the last call.
    pub(super) fn next(&mut self, sample: &Sample) -> Vec<Doing> {
        let mut now = BTreeMap::new();
        let mut doing: BTreeMap<(Option<u32>, u32), Doing> = BTreeMap::new();
        for counted in &sample.users {
            let (uid, user) = (counted.user.uid, &counted.user.name);
            for slot in counters::slots(uid).unwrap_or_default() {
                let key = (uid, slot.place());
                let (owner, grown) = self.since(&key, &slot);
                let work = grown.as_ref().map(Work::all).unwrap_or_default();
                let (pid, name) = match owner.and_then(process) {
                    Some((pid, name)) => (Some(pid), name),
                    None => (None, "(ended, in a container, or sharing a slot)".to_owned()),
                };
                if pid.is_some() || work.operations() > 0 {
                    let made = || Doing {
                        pid,
                        name,
                        uid,
                        user: user.clone(),
                        threads: 0,
                        work: Work::default(),
                        counted: Snapshot::new(uid),
                    };
                    let one = doing.entry((pid, uid)).or_insert_with(made);
                    one.threads += u64::from(pid.is_some());
                    one.work = one.work.plus(work);
                    if let Some(grown) = &grown {
                        one.counted = one.counted.plus(grown);
                    }
                }
                now.insert(key, slot);
            }
        }
        (self.last, self.begun) = (now, true);
        doing.into_values().collect()
    }

    /// The process that counts in a slot (`None` where it may be several), and what was counted there since the last look.
    fn since(&self, key: &(u32, SlotPlace), slot: &Slot) -> (Option<u32>, Option<Snapshot>) {
        match self.last.get(key) {
            Some(earlier) => match slot.since(earlier) {
                Some(grown) => (slot.pid(), Some(grown)),
                None => (None, Some(slot.added(earlier))),
            },
            // Of a slot that is new to us the numbers may be old, unless it is new altogether.
            None if self.begun => match slot.since_nothing() {
                Some(grown) => (slot.pid(), Some(grown)),
                None => (slot.pid(), None),
            },
            None => (slot.pid(), None),
        }
    }
}

/// The process of a thread, and its name; `None` where it has ended.
fn process(id: u32) -> Option<(u32, String)> {
    let status = files::of_process(Path::new(&format!("/proc/{id}/status"))).ok()?;
    let status = String::from_utf8_lossy(&status);
    let line = |name: &str| status.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()));
    Some((line("Tgid:")?.parse().ok()?, line("Name:")?))
}
