//! Sums over users that only grow.
//!
//! The sum of the present counters falls when a user's counters go (a logout, a reset), and Prometheus takes a counter that falls for one that began
//! at zero: it would add all that the other users have counted once more. So the ledger adds up by how much each user's numbers grew. `adjunct check`
//! takes the difference of two such sums for what was counted between its runs.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How many users have series of their own.
pub(crate) const USERS: usize = 64;
/// Label of the users that have no series of their own ([`USERS`]).
const OTHER: &str = "other";

/// A metric's name and its labels but the user's.
pub(crate) type Key = (String, String);

/// The sums, and the numbers that they were last made of.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ledger {
    #[serde(default)]
    by_user: bool,
    /// The users who have series of their own, which the first ones to come keep.
    #[serde(skip)]
    own: BTreeSet<u32>,
    /// Identifier of this boot of the machine: counters do not outlive it.
    boot: String,
    last: BTreeMap<u32, Vec<(Key, u64)>>,
    sums: Vec<(Key, u64)>,
}

/// Counters of a user: the value of each key.
pub(crate) type Values = BTreeMap<(&'static str, String), u64>;

impl Ledger {
    pub(crate) fn new(by_user: bool) -> Ledger {
        Ledger { by_user, own: BTreeSet::new(), boot: boot(), last: BTreeMap::new(), sums: Vec::new() }
    }

    /// Reads the ledger that was kept as `text`; makes a new one where that is none, of another boot, or of other labels.
    pub(crate) fn kept(text: &str, by_user: bool) -> Ledger {
        let kept = serde_json::from_str::<Ledger>(text).ok();
        let kept = kept.filter(|kept| kept.boot == boot() && kept.by_user == by_user);
        kept.unwrap_or_else(|| Ledger::new(by_user))
    }

    /// Whether this is a ledger, whatever boot it is of.
    pub(crate) fn is_one(text: &str) -> bool {
        serde_json::from_str::<Ledger>(text).is_ok()
    }

    /// Whether users have series of their own.
    pub(crate) fn is_by_user(&self) -> bool {
        self.by_user
    }

    /// The text that [`Ledger::kept`] reads.
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The sums as they are, by key.
    pub(crate) fn sums(&self) -> &[(Key, u64)] {
        &self.sums
    }

    /// The value of the label `user` for a user; empty where there is no such label.
    pub(crate) fn label<'a>(&mut self, uid: u32, name: &'a str) -> &'a str {
        if !self.by_user {
            return "";
        }
        if self.own.len() < USERS {
            self.own.insert(uid);
        }
        if self.own.contains(&uid) { name } else { OTHER }
    }

    /// Adds to the sums what has been counted since the last time, and returns them.
    pub(crate) fn add(&mut self, now: BTreeMap<u32, Values>) -> Vec<(Key, u64)> {
        let mut sums: BTreeMap<Key, u64> = std::mem::take(&mut self.sums).into_iter().collect();
        let mut last = BTreeMap::new();
        for (uid, values) in now {
            let before: BTreeMap<Key, u64> = self.last.remove(&uid).unwrap_or_default().into_iter().collect();
            let values: Vec<(Key, u64)> =
                values.into_iter().map(|((name, l), value)| ((name.to_owned(), l), value)).collect();
            for (key, value) in &values {
                let before = before.get(key).copied().unwrap_or(0);
                // Less than before: they were reset, and all of it is new.
                let grown = value.checked_sub(before).unwrap_or(*value);
                let sum = sums.entry(key.clone()).or_default();
                *sum = sum.saturating_add(grown);
            }
            last.insert(uid, values);
        }
        self.last = last;
        self.sums = sums.into_iter().collect();
        self.sums.clone()
    }
}

/// The kernel's identifier of this boot; empty where there is none.
fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(ledger: &mut Ledger, now: &[(u32, u64)]) -> u64 {
        let values = |value| Values::from([(("calls", String::new()), value)]);
        let sums = ledger.add(now.iter().map(|&(uid, value)| (uid, values(value))).collect());
        sums.first().map_or(0, |sum| sum.1)
    }

    #[test]
    fn sums_never_fall() {
        let mut ledger = Ledger::new(false);
        assert_eq!(sum(&mut ledger, &[(0, 1000), (1000, 5)]), 1005);
        assert_eq!(sum(&mut ledger, &[(0, 1010), (1000, 9)]), 1019);
        assert_eq!(sum(&mut ledger, &[(0, 1010)]), 1019, "a user has gone");
        assert_eq!(sum(&mut ledger, &[(0, 3), (1000, 2)]), 1024, "one was reset, one came again");
        let mut kept = Ledger::kept(&ledger.to_text(), false);
        assert_eq!(sum(&mut kept, &[(0, 4), (1000, 2)]), 1025);
        let of_another_boot = ledger.to_text().replace(&ledger.boot, "another");
        assert_eq!(sum(&mut Ledger::kept(&of_another_boot, false), &[(0, 4)]), 4);
        assert_eq!(sum(&mut Ledger::kept("no JSON", false), &[(0, 4)]), 4);
        assert_eq!(sum(&mut Ledger::kept(&ledger.to_text(), true), &[(0, 4)]), 4, "with another label");
    }

    #[test]
    fn the_first_users_have_series_of_their_own() {
        let mut ledger = Ledger::new(true);
        let many = USERS as u32;
        (0..many).for_each(|uid| assert_eq!(ledger.label(uid, "name"), "name"));
        assert_eq!((ledger.label(many, "name"), ledger.label(3, "name")), (OTHER, "name"));
        assert_eq!(Ledger::new(false).label(3, "name"), "");
    }
}
