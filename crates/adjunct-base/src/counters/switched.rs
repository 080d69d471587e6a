//! The segment of switched users: what processes that were loaded as root count while they are another user. The segment belongs to root, each such
//! process maps it while it loads, and each slot names the user whose calls it counts: so becoming a user needs no system call, which a sandbox might
//! answer by killing the process.
#![forbid(unsafe_code)]

use super::layout::{Block, Head, SLOTS, WORDS, snapshot};
use super::owner::{Claim, Owner, Owners};
use super::snapshot::Snapshot;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The segment. A slot belongs to the first user who counts in it, for good, and its next owners count for the same user.
#[repr(C, align(4096))]
#[derive(Debug)]
pub(super) struct Switched {
    head: Head,
    owners: [AtomicU64; SLOTS],
    /// The user whose calls a slot counts: the uid plus 1, 0 while the slot is unused.
    users: [AtomicU64; SLOTS],
    slots: [Slot; SLOTS],
}

const _: () = assert!(size_of::<Switched>() < 48 << 20);

#[repr(C)]
#[derive(Debug)]
struct Slot {
    counted: Block,
    /// The counts at the last reset, word by word.
    reset: Block,
}

fn mark(uid: u32) -> u64 {
    u64::from(uid) + 1
}

impl Switched {
    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    pub(super) fn owners(&self) -> Owners<'_> {
        Owners(&self.owners)
    }

    /// A slot's counters.
    pub(super) fn slot(&self, place: usize) -> Option<&Block> {
        self.slots.get(place).map(|s| &s.counted)
    }

    /// The counters that many threads write: of all users who found no slot. They are shown as root's.
    pub(super) fn shared_slot(&self) -> &Block {
        &self.slots[0].counted
    }

    /// Takes a slot that counts for `uid`, else one that is unused.
    pub(super) fn claim(&self, who: Owner, uid: u32) -> Option<Claim> {
        let marked = |wanted: u64| move |place: usize| self.users[place].load(Relaxed) == wanted;
        if let Some(claim) = self.owners().claim(who, marked(mark(uid))) {
            return Some(claim);
        }
        let claim = self.owners().claim(who, marked(0))?;
        // Only its owner marks a slot. Another may have had it between our look at the mark and our claim.
        match self.users[claim.place].load(Acquire) {
            0 => self.users[claim.place].store(mark(uid), Release),
            found if found == mark(uid) => {}
            _ => {
                self.owners().release(claim);
                return None;
            }
        }
        Some(claim)
    }

    /// The slots that count for `uid`. The shared one counts for root.
    fn slots_of(&self, uid: u32) -> impl Iterator<Item = &Slot> {
        self.places_of(uid).map(|place| &self.slots[place])
    }

    /// Numbers of the slots that count for `uid`.
    pub(super) fn places_of(&self, uid: u32) -> impl Iterator<Item = usize> {
        let counts_for = move |&place: &usize| match place {
            0 => uid == 0,
            _ => self.users[place].load(Acquire) == mark(uid),
        };
        self.owners().used().filter(counts_for)
    }

    /// The users that anything is counted for since their last reset.
    pub(super) fn users(&self) -> Vec<u32> {
        let marked = self.users.iter().skip(1).map(|w| w.load(Acquire));
        let mut users: Vec<u32> = marked.filter(|&m| m != 0).filter_map(|m| u32::try_from(m - 1).ok()).collect();
        users.push(0);
        users.sort_unstable();
        users.dedup();
        users.retain(|&uid| self.slots_of(uid).any(Slot::has_counted));
        users
    }

    /// The counts for `uid` since their last reset.
    pub(super) fn read(&self, uid: u32) -> Snapshot {
        let (mut total, mut base) = (vec![0u64; WORDS], vec![0u64; WORDS]);
        for slot in self.slots_of(uid) {
            // The baseline first: it only ever follows what was counted, so no difference is negative.
            base.iter_mut().zip(slot.reset.iter()).for_each(|(s, w)| *s = s.wrapping_add(w.load(Acquire)));
            total.iter_mut().zip(slot.counted.iter()).for_each(|(s, w)| *s = s.wrapping_add(w.load(Relaxed)));
        }
        snapshot(uid, &total, &base)
    }

    /// Sets the counts of `uid` to zero and returns what they were: each number is in exactly one such answer, or still there. Only the holder of the
    /// reset lock may call it. A call that is killed on the way has reset some words and not the others.
    pub(super) fn take(&self, uid: u32) -> Snapshot {
        let (mut total, mut base) = (vec![0u64; WORDS], vec![0u64; WORDS]);
        for slot in self.slots_of(uid) {
            for (i, (counted, reset)) in slot.counted.iter().zip(slot.reset.iter()).enumerate() {
                let (now, before) = (counted.load(Relaxed), reset.load(Acquire));
                if now != before {
                    reset.store(now, Release);
                }
                total[i] = total[i].wrapping_add(now);
                base[i] = base[i].wrapping_add(before);
            }
        }
        snapshot(uid, &total, &base)
    }
}

impl Slot {
    fn has_counted(&self) -> bool {
        self.counted.iter().zip(self.reset.iter()).any(|(c, r)| c.load(Relaxed) != r.load(Relaxed))
    }
}
