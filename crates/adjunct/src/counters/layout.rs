//! What stands in a segment, and how its words are read. All of it is atomic words: every process of the user writes
//! there, and a hostile one may write anything, so nothing read here is ever used as an index, a length or a pointer.
#![forbid(unsafe_code)]

use super::snapshot::{Cell, Lanes, Snapshot};
use crate::accelerator::{LANES, Outcome, Queue};
use crate::catalogue::{Function, Row};
use crate::route::{Direction, Path, Reason};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Slots in a segment. Slot 0 is shared by all threads that found no other.
pub(super) const SLOTS: usize = 1024;
/// Raised when the meaning of the words changes in a way the layout hash does not see.
const VERSION: u64 = 2;
const CELLS: usize = 8;
const REASONS: usize = Reason::ALL.len();
/// Where the fallbacks stand in a block, where the accelerator's queues, and where it ends.
const FALLBACKS: usize = Row::COUNT * CELLS;
const QUEUES: usize = FALLBACKS + Function::ALL.len() * REASONS;
/// Of a queue: batches by lanes filled, operations in lanes, operations alone, lanes that went wrong.
const QUEUE: usize = LANES + 3;
const WORDS: usize = QUEUES + Queue::ALL.len() * QUEUE;

/// One set of counters: a cache line per row (hardware, then software; of each encrypt, then decrypt; of each calls, then
/// bytes), then the fallbacks by function and reason, then the accelerator's queues. Aligned so that neighbours share neither a line nor the line the
/// prefetcher takes along.
#[repr(C, align(128))]
#[derive(Debug)]
pub(super) struct Block {
    words: [AtomicU64; WORDS],
}

/// Where a tally counts in a block, worked out once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    cells: u16,
    /// The word of the reason; 0, which is a cell, for none.
    reason: u16,
}

const _: () = assert!(WORDS < 1 << 16);

impl Place {
    pub(crate) const fn new(row: Row, function: Function, path: Path) -> Place {
        let line = row.index() * CELLS;
        let (side, reason) = match path {
            Path::Hardware => (0, 0),
            Path::Software(reason) => (CELLS / 2, FALLBACKS + function as usize * REASONS + reason as usize),
        };
        Place { cells: (line + side) as u16, reason: reason as u16 }
    }
}

/// What the accelerator counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A batch of so many jobs was run in lanes.
    Batch(usize),
    /// An operation was done.
    Done(Outcome),
    /// A lane went wrong.
    Corrupted,
}

impl Event {
    /// The word it counts in.
    const fn word(self, queue: Queue) -> usize {
        let at = match self {
            Event::Batch(filled) if 0 < filled && filled <= LANES => filled - 1,
            Event::Batch(_) => LANES - 1,
            Event::Done(Outcome::Lanes) => LANES,
            Event::Done(Outcome::Scalar | Outcome::Software(_)) => LANES + 1,
            Event::Corrupted => LANES + 2,
        };
        QUEUES + queue as usize * QUEUE + at
    }
}

/// Adds without a locked instruction: right only where no other thread writes the word.
#[inline(always)]
fn bump(word: &AtomicU64, by: u64) {
    word.store(word.load(Relaxed).wrapping_add(by), Relaxed);
}

impl Block {
    /// The words an operation counts in.
    #[inline(always)]
    fn at(&self, place: Place, direction: Direction) -> Option<([&AtomicU64; 2], Option<&AtomicU64>)> {
        let cells = place.cells as usize + 2 * direction as usize;
        let reason = if place.reason == 0 { None } else { self.words.get(place.reason as usize) };
        Some(([self.words.get(cells)?, self.words.get(cells + 1)?], reason))
    }

    /// Counts in a block that only this thread writes.
    #[inline(always)]
    pub(super) fn add_alone(&self, place: Place, direction: Direction, calls: u64, bytes: u64) {
        if let Some(([c, b], reason)) = self.at(place, direction) {
            bump(c, calls);
            bump(b, bytes);
            if let Some(reason) = reason {
                bump(reason, calls);
            }
        }
    }

    /// Counts what the accelerator did in a block that only this thread writes.
    #[inline(always)]
    pub(super) fn note_alone(&self, queue: Queue, event: Event) {
        bump(&self.words[event.word(queue)], 1);
    }

    /// The same in a block that many threads write.
    pub(super) fn note_shared(&self, queue: Queue, event: Event) {
        self.words[event.word(queue)].fetch_add(1, Relaxed);
    }

    /// Counts in a block that many threads write.
    pub(super) fn add_shared(&self, place: Place, direction: Direction, calls: u64, bytes: u64) {
        if let Some(([c, b], reason)) = self.at(place, direction) {
            c.fetch_add(calls, Relaxed);
            b.fetch_add(bytes, Relaxed);
            if let Some(reason) = reason {
                reason.fetch_add(calls, Relaxed);
            }
        }
    }

    fn iter(&self) -> std::slice::Iter<'_, AtomicU64> {
        self.words.iter()
    }
}

/// Who owns a slot, in one word, so that it changes hands in one instruction and a kill at any moment leaves either a
/// free slot or a complete owner. From the lowest bit: pid (22), namespaces (16), start time (12), image (8), use (6).
///
/// Everything but the pid only serves to tell that an owner is dead; where two owners agree in it by chance, a dead slot
/// stays taken for a while. `namespaces` 0 and `start` 0 mean "not known".
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

    /// Whether the slot is free. A slot once used keeps its use count when it is freed, so only 0 means "never used".
    fn is_free(self) -> bool {
        self.pid() == 0
    }

    /// This owner, as the one after `before`: the use count goes 1, 2, ..., 63, 1.
    fn after(self, before: u64) -> Owner {
        let used = before >> (64 - Owner::USE);
        let next = if used == (1 << Owner::USE) - 1 { 1 } else { used + 1 };
        Owner(self.0 | next << (64 - Owner::USE))
    }
}

/// A slot that a thread owns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    /// Its number, never 0.
    pub(super) place: usize,
    /// The owner word that was written.
    pub(super) owner: Owner,
}

/// A user's segment. All zeros is a valid empty one but for its identity, which the first comer writes in one
/// instruction: there is no half-initialised state to die in.
#[repr(C, align(4096))]
#[derive(Debug)]
pub(super) struct Segment {
    identity: AtomicU64,
    /// Number of resets; its lowest bit says which baseline is in force.
    resets: AtomicU64,
    /// The [`Owner`] that resets at this moment, for others to wait.
    resetting: AtomicU64,
    owners: [AtomicU64; SLOTS],
    baselines: [Block; 2],
    slots: [Block; SLOTS],
}

/// Magic, version and a hash of everything that gives the words their meaning.
pub(super) fn identity() -> u64 {
    let mut hash = Fnv::new();
    for word in [SLOTS, Row::COUNT, REASONS, size_of::<Segment>()] {
        hash.add(&word.to_le_bytes());
    }
    for function in Function::ALL {
        let info = function.info();
        hash.add(info.name.as_bytes());
        info.sizes.iter().for_each(|s| hash.add(&s.to_le_bytes()));
    }
    Reason::ALL.iter().for_each(|r| hash.add(r.key().as_bytes()));
    Queue::ALL.iter().for_each(|q| hash.add(q.1.as_bytes()));
    let magic = u64::from_be_bytes([b'a', b'd', b'j', VERSION as u8, 0, 0, 0, 0]);
    magic | u64::from(hash.fold())
}

/// FNV-1a. Nothing here is secret; it only has to spread.
pub(super) struct Fnv(u64);

impl Fnv {
    pub(super) fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        // A separator, so that "ab" "c" and "a" "bc" differ.
        self.0 = (self.0 ^ 0x1ff).wrapping_mul(0x0100_0000_01b3);
    }

    pub(super) fn fold(&self) -> u32 {
        (self.0 ^ self.0 >> 32) as u32
    }
}

impl Segment {
    /// Whether this is a segment of this layout; a fresh one is made one if `create`.
    pub(super) fn identify(&self, create: bool) -> Result<(), u64> {
        let ours = identity();
        let found = match self.identity.load(Acquire) {
            0 if create => match self.identity.compare_exchange(0, ours, AcqRel, Acquire) {
                Ok(_) => ours,
                Err(other) => other,
            },
            // Created, and its creator has not come further yet: all zeros, which reads as no counts.
            0 => ours,
            other => other,
        };
        if found == ours { Ok(()) } else { Err(found) }
    }

    /// A slot's counters.
    pub(super) fn slot(&self, place: usize) -> Option<&Block> {
        self.slots.get(place)
    }

    /// The counters that many threads write.
    pub(super) fn shared_slot(&self) -> &Block {
        &self.slots[0]
    }

    /// Takes the lowest free slot, so that the pages in use stay few.
    pub(super) fn claim(&self, who: Owner) -> Option<Claim> {
        for (place, word) in self.owners.iter().enumerate().skip(1) {
            let before = word.load(Relaxed);
            if Owner(before).is_free() {
                let owner = who.after(before);
                // Acquire, against the Release of the owner before: its last stores come before our first load.
                if word.compare_exchange(before, owner.0, Acquire, Relaxed).is_ok() {
                    return Some(Claim { place, owner });
                }
            }
        }
        None
    }

    /// Frees a slot if `owner` still owns it.
    pub(super) fn release(&self, claim: Claim) -> bool {
        let free = claim.owner.0 & Owner::FREE;
        let word = self.owners.get(claim.place);
        word.is_some_and(|w| w.compare_exchange(claim.owner.0, free, Release, Relaxed).is_ok())
    }

    /// The slots owned now.
    pub(super) fn claims(&self) -> Vec<Claim> {
        let owned = |(place, word): (usize, &AtomicU64)| {
            let owner = Owner(word.load(Acquire));
            (!owner.is_free()).then_some(Claim { place, owner })
        };
        self.owners.iter().enumerate().skip(1).filter_map(owned).collect()
    }

    /// Everything ever counted here: the sum over all slots that were ever used. The others are left untouched: reading
    /// them would allocate their memory.
    fn total(&self) -> Vec<u64> {
        let mut sum = vec![0u64; WORDS];
        for (place, (owner, slot)) in self.owners.iter().zip(&self.slots).enumerate() {
            if place == 0 || owner.load(Acquire) != 0 {
                sum.iter_mut().zip(slot.iter()).for_each(|(s, w)| *s = s.wrapping_add(w.load(Relaxed)));
            }
        }
        sum
    }

    fn baseline(&self, resets: u64) -> &Block {
        &self.baselines[(resets & 1) as usize]
    }

    /// What was counted since the last reset.
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

    /// Sets the counters to zero and says what they were: each call is in exactly one such answer, or still there. The
    /// baseline out of force is written, then put in force in one instruction: a kill on the way changes nothing. Only
    /// the holder of the reset lock may call it; `None` if somebody else has reset all the same.
    pub(super) fn take(&self, uid: u32) -> Option<Snapshot> {
        let resets = self.resets.load(Acquire);
        let base: Vec<u64> = self.baseline(resets).iter().map(|w| w.load(Acquire)).collect();
        let total = self.total();
        self.baseline(resets.wrapping_add(1)).iter().zip(&total).for_each(|(w, t)| w.store(*t, Release));
        self.resets.compare_exchange(resets, resets.wrapping_add(1), AcqRel, Relaxed).ok()?;
        Some(snapshot(uid, &total, &base))
    }

    /// Takes the reset lock from `holder`, 0 for nobody; says who has it if that fails.
    pub(super) fn lock_resets(&self, holder: u64, me: u64) -> Result<(), u64> {
        self.resetting.compare_exchange(holder, me, AcqRel, Acquire).map(|_| ())
    }

    /// Gives the reset lock back.
    pub(super) fn unlock_resets(&self, me: u64) {
        let _ = self.resetting.compare_exchange(me, 0, Release, Relaxed);
    }
}

fn snapshot(uid: u32, total: &[u64], base: &[u64]) -> Snapshot {
    let mut snapshot = Snapshot::new(uid);
    let words: Vec<u64> = total.iter().zip(base).map(|(t, b)| t.wrapping_sub(*b)).collect();
    let (rows, rest) = words.split_at(FALLBACKS);
    let (fallbacks, queues) = rest.split_at(QUEUES - FALLBACKS);
    for (&(queue, _), words) in Queue::ALL.iter().zip(queues.chunks_exact(QUEUE)) {
        *snapshot.lanes_mut(queue) = Lanes {
            batches: std::array::from_fn(|i| words[i]),
            in_lanes: words[LANES],
            alone: words[LANES + 1],
            corrupted: words[LANES + 2],
        };
    }
    for &function in Function::ALL {
        for (_, row) in function.rows() {
            let line = &rows[row.index() * CELLS..][..CELLS];
            let cell = |at: usize| Cell { calls: line[2 * at], bytes: line[2 * at + 1] };
            let counts = snapshot.row_mut(row);
            counts.hardware = [cell(0), cell(1)];
            counts.software = [cell(2), cell(3)];
        }
        for &reason in Reason::ALL {
            *snapshot.fallbacks_mut(function, reason) = fallbacks[function as usize * REASONS + reason as usize];
        }
    }
    snapshot
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

    #[test]
    fn a_line_holds_one_row_and_blocks_share_none() {
        assert_eq!(CELLS * size_of::<AtomicU64>(), 64);
        assert_eq!(size_of::<Block>() % 128, 0);
        assert!(size_of::<Segment>() < 24 << 20, "{}", size_of::<Segment>());
    }
}
