//! A slot at one moment: its owner, and the numbers in it. What was added between two looks at a slot that has kept its owner was counted by that
//! thread alone; so rates by process need no counters of their own.
#![forbid(unsafe_code)]

use super::owner::Owner;
use super::snapshot::Snapshot;

/// A slot's segment, and its number in that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The segment's number, as `ipcs -m` lists it.
    pub segment: i32,
    /// The slot's, in the segment; 0 is shared by threads that found no other.
    pub number: usize,
}

/// A slot at one moment.
#[derive(Debug, Clone)]
pub struct Slot {
    place: Place,
    owner: Owner,
    /// Whether the slot's numbers are of the reader's pid namespace.
    here: bool,
    counted: Snapshot,
}

impl Slot {
    pub(super) fn new(place: Place, owner: Owner, here: u16, counted: Snapshot) -> Slot {
        Slot { place, owner, here: here != 0 && owner.namespaces() == here, counted }
    }

    /// The place of the slot.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The process (or, in a child of fork that has not called exec, the thread) that counts there, where it is one of this pid namespace.
    pub fn pid(&self) -> Option<u32> {
        (self.here && !self.owner.is_free()).then(|| self.owner.pid())
    }

    /// What the slot's owner has counted since `earlier`, an older look at the slot; `None` where that cannot be told from what other owners counted.
    /// Resets do not show: they leave slots as they are.
    pub fn since(&self, earlier: &Slot) -> Option<Snapshot> {
        let same = self.place == earlier.place && self.place.number > 0 && !self.owner.is_free();
        let alone = self.owner == earlier.owner || self.owner.follows(earlier.owner);
        (same && alone).then(|| self.counted.since(&earlier.counted))
    }

    /// The counts in the slot since `earlier`, by all of its owners.
    pub fn added(&self, earlier: &Slot) -> Snapshot {
        self.counted.since(&earlier.counted)
    }

    /// What is counted in a slot that did not exist at the last look: its first owner has counted it. `None` where the use count does not say that
    /// the owner is the first.
    pub fn since_nothing(&self) -> Option<Snapshot> {
        (self.place.number > 0 && self.owner.follows(Owner::from_word(0))).then(|| self.counted.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Cell;
    use super::*;
    use crate::catalogue::{Direction, Function};

    #[test]
    fn what_is_added_is_the_owners_only_where_the_owner_stayed_or_came_to_a_free_slot() {
        let words = |owner: Owner, used: u64| owner.word() & !(63 << 58) | used << 58;
        let (one, two) = (Owner::new(10, 7, 1, 1).unwrap(), Owner::new(11, 7, 1, 1).unwrap());
        let slot = |word: u64, calls: u64| {
            let mut counted = Snapshot::new(0);
            *counted.row_mut(Function::Sha256.row(0)).cell_mut(true, Direction::Encrypt) = Cell { calls, bytes: 0 };
            Slot::new(Place { segment: 1, number: 3 }, Owner::from_word(word), 7, counted)
        };
        let added =
            |after: &Slot, before: &Slot| after.since(before).map(|s| s.function(Function::Sha256).hardware_calls());
        let before = slot(words(one, 1), 5);
        assert_eq!((before.pid(), added(&slot(words(one, 1), 9), &before)), (Some(10), Some(4)));
        assert_eq!(added(&slot(words(two, 2), 9), &before), None, "who counted what is not known");
        let free = slot(1 << 58, 5);
        assert_eq!((free.pid(), added(&free, &before)), (None, None));
        assert_eq!(added(&slot(words(two, 2), 9), &free), Some(4));
        assert_eq!(added(&slot(words(two, 3), 9), &free), None, "another was there in between");
        assert_eq!(
            slot(words(one, 1), 9).since_nothing().map(|s| s.function(Function::Sha256).hardware_calls()),
            Some(9)
        );
        assert!(slot(words(one, 2), 9).since_nothing().is_none());
        let elsewhere =
            Slot::new(Place { segment: 1, number: 3 }, Owner::from_word(words(one, 1)), 8, Snapshot::new(0));
        assert_eq!(elsewhere.pid(), None);
    }
}
