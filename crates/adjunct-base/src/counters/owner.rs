//! Who owns the slots of a segment: one word each, which changes hands in one instruction.
#![forbid(unsafe_code)]

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The owner of a slot, in one word, so that it changes hands in one instruction and a kill at any moment leaves either a free slot or a complete
/// owner. From the lowest bit: pid (22), namespaces (16), start time (12), image (8), use (6).
///
/// Everything but the pid only serves to find out that an owner is dead; where two owners agree in it by chance, the slot of a dead one stays taken
/// for a while. `namespaces` 0 and `start` 0 mean "not known".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner(u64);

impl Owner {
    const PID: u32 = 22;
    const NAMESPACES: u32 = 16;
    const START: u32 = 12;
    const IMAGE: u32 = 8;
    const USE: u32 = 6;
    const FREE: u64 = ((1 << Owner::USE) - 1) << (64 - Owner::USE);

    fn field(self, below: u32, bits: u32) -> u32 {
        ((self.0 >> below) & ((1 << bits) - 1)) as u32
    }

    /// The owner word of a process. `None` where the pid does not fit (Linux has no such pid).
    pub(super) fn new(pid: u32, namespaces: u16, start: u16, image: u8) -> Option<Owner> {
        let ids = (u64::from(image) << Owner::START | u64::from(start & 0xfff)) << Owner::NAMESPACES;
        let fits = pid != 0 && pid < 1 << Owner::PID;
        fits.then_some(Owner((ids | u64::from(namespaces)) << Owner::PID | u64::from(pid)))
    }

    /// The word, to be kept elsewhere.
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// The owner whose word was kept.
    pub(super) fn from_word(word: u64) -> Owner {
        Owner(word)
    }

    pub(super) fn pid(self) -> u32 {
        self.field(0, Owner::PID)
    }

    pub(super) fn namespaces(self) -> u16 {
        self.field(Owner::PID, Owner::NAMESPACES) as u16
    }

    pub(super) fn start(self) -> u16 {
        self.field(Owner::PID + Owner::NAMESPACES, Owner::START) as u16
    }

    pub(super) fn image(self) -> u8 {
        self.field(Owner::PID + Owner::NAMESPACES + Owner::START, Owner::IMAGE) as u8
    }

    /// Whether this owner had the slot right after it was given back by `before`, without an owner in between. The use count has few bits, so that 63
    /// owners in between would be missed.
    pub(super) fn follows(self, before: Owner) -> bool {
        before.is_free() && !self.is_free() && Owner(self.0 & !Owner::FREE).after(before.0) == self
    }

    /// Whether the slot is free. A slot once used keeps its use count when it is freed, so only 0 means "never used".
    pub(super) fn is_free(self) -> bool {
        self.pid() == 0
    }

    /// The owner that follows `before` in the slot: the use count goes 1, 2, ..., 63, 1.
    fn after(self, before: u64) -> Owner {
        let used = before >> (64 - Owner::USE);
        let next = if used == (1 << Owner::USE) - 1 { 1 } else { used + 1 };
        Owner(self.0 | next << (64 - Owner::USE))
    }
}

/// A slot that a thread owns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    /// Number of the slot, never 0.
    pub(super) place: usize,
    /// The owner word that was written.
    pub(super) owner: Owner,
}

/// The owner words of a segment's slots. Slot 0 has no owner: it is shared.
#[derive(Debug, Clone, Copy)]
pub(super) struct Owners<'a>(pub(super) &'a [AtomicU64]);

impl Owners<'_> {
    /// Takes the lowest free slot that `suits`, so that the pages in use stay few.
    pub(super) fn claim(self, who: Owner, suits: impl Fn(usize) -> bool) -> Option<Claim> {
        for (place, word) in self.0.iter().enumerate().skip(1) {
            let before = word.load(Relaxed);
            if Owner(before).is_free() && suits(place) {
                let owner = who.after(before);
                // Acquire, against the Release of the owner before: its last stores come before our first load.
                if word.compare_exchange(before, owner.0, Acquire, Relaxed).is_ok() {
                    return Some(Claim { place, owner });
                }
            }
        }
        None
    }

    /// Frees a slot if its owner is still the one of `claim`.
    pub(super) fn release(self, claim: Claim) -> bool {
        let free = claim.owner.0 & Owner::FREE;
        let word = self.0.get(claim.place);
        word.is_some_and(|w| w.compare_exchange(claim.owner.0, free, Release, Relaxed).is_ok())
    }

    /// The owner of a slot; free for the shared one and for a number that does not exist.
    pub(super) fn owner(self, place: usize) -> Owner {
        Owner(self.0.get(place).filter(|_| place > 0).map_or(0, |word| word.load(Acquire)))
    }

    /// The slots owned now.
    pub(super) fn claims(self) -> Vec<Claim> {
        let owned = |(place, word): (usize, &AtomicU64)| {
            let owner = Owner(word.load(Acquire));
            (!owner.is_free()).then_some(Claim { place, owner })
        };
        self.0.iter().enumerate().skip(1).filter_map(owned).collect()
    }

    /// Slots that anything may have been counted in: the shared one, and those that ever had an owner. Reading the others would allocate their
    /// memory.
    pub(super) fn used(self) -> impl Iterator<Item = usize> {
        let used = |&(place, word): &(usize, &AtomicU64)| place == 0 || word.load(Acquire) != 0;
        self.0.iter().enumerate().filter(used).map(|(place, _)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_word_keeps_its_fields_and_is_never_mistaken_for_unused() {
        let owner = Owner::new(4_194_303, 0xbeef, 0xabc, 0x5a).unwrap();
        let mut word = 0;
        for turn in 0..200 {
            let next = owner.after(word);
            assert_eq!((next.pid(), next.namespaces(), next.start(), next.image()), (4_194_303, 0xbeef, 0xabc, 0x5a));
            word = next.0 & Owner::FREE;
            assert!(Owner(word).is_free() && word != 0, "turn {turn}");
        }
        assert_eq!(Owner::new(0, 1, 1, 1), None);
        assert_eq!(Owner::new(1 << 22, 1, 1, 1), None);
    }
}
