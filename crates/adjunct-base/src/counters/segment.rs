//! The segment of one user: the counts of the user's programs; of programs loaded as root, those made as root.
#![forbid(unsafe_code)]

use super::layout::{Block, Head, SLOTS, WORDS, snapshot};
use super::owner::Owners;
use super::snapshot::Snapshot;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// A user's segment.
#[repr(C, align(4096))]
#[derive(Debug)]
pub(super) struct Segment {
    head: Head,
    /// Number of resets; its lowest bit says which baseline is in force.
    resets: AtomicU64,
    owners: [AtomicU64; SLOTS],
    baselines: [Block; 2],
    slots: [Block; SLOTS],
}

const _: () = assert!(size_of::<Segment>() < 24 << 20);

impl Segment {
    pub(super) fn head(&self) -> &Head {
        &self.head
    }

    pub(super) fn owners(&self) -> Owners<'_> {
        Owners(&self.owners)
    }

    /// A slot's counters.
    pub(super) fn slot(&self, place: usize) -> Option<&Block> {
        self.slots.get(place)
    }

    /// The counters that many threads write.
    pub(super) fn shared_slot(&self) -> &Block {
        &self.slots[0]
    }

    /// Adds up all that the segment has ever counted.
    fn total(&self) -> Vec<u64> {
        let mut sum = vec![0u64; WORDS];
        for slot in self.owners().used().filter_map(|place| self.slot(place)) {
            sum.iter_mut().zip(slot.iter()).for_each(|(s, w)| *s = s.wrapping_add(w.load(Relaxed)));
        }
        sum
    }

    fn baseline(&self, resets: u64) -> &Block {
        &self.baselines[(resets & 1) as usize]
    }

    /// The counts since the last reset.
    pub(super) fn read(&self, uid: u32) -> Snapshot {
        let mut tries = 0;
        loop {
            // Acquire: the slots are read after the baseline's author read them, so no difference is negative.
            let resets = self.resets.load(Acquire);
            let base: Vec<u64> = self.baseline(resets).iter().map(|w| w.load(Acquire)).collect();
            let total = self.total();
            tries += 1;
            // A reset meanwhile leaves the numbers right as of before it, two may have overwritten the baseline.
            if self.resets.load(Acquire) == resets || tries == 16 {
                return snapshot(uid, &total, &base);
            }
        }
    }

    /// Sets the counters to zero and returns what they were: each call is in exactly one such answer, or still there. The baseline out of force is
    /// written, then put in force in one instruction: a kill on the way changes nothing. Only the holder of the reset lock may call it; `None` if
    /// another process has reset all the same.
    pub(super) fn take(&self, uid: u32) -> Option<Snapshot> {
        let resets = self.resets.load(Acquire);
        let base: Vec<u64> = self.baseline(resets).iter().map(|w| w.load(Acquire)).collect();
        let total = self.total();
        self.baseline(resets.wrapping_add(1)).iter().zip(&total).for_each(|(w, t)| w.store(*t, Release));
        self.resets.compare_exchange(resets, resets.wrapping_add(1), AcqRel, Relaxed).ok()?;
        Some(snapshot(uid, &total, &base))
    }
}
