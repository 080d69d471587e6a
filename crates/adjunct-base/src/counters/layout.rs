//! What segments are made of, and how the words are read. All of it is atomic words: every process of the user writes
//! there, and a hostile one may write anything, so nothing read here is ever used as an index, a length or a pointer.
#![forbid(unsafe_code)]

use super::snapshot::{Cell, Lanes, Snapshot};
use crate::catalogue::{Direction, Path, Reason};
use crate::catalogue::{Function, Row};
use crate::catalogue::{LANES, Queue, Refusal};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Slots in a segment of either kind. Slot 0 is shared by all threads that found no other.
pub(super) const SLOTS: usize = 1024;
/// Raised when the meaning of the words changes in a way the layout hash does not see.
pub(super) const VERSION: u64 = 5;
const CELLS: usize = 8;
pub(super) const REASONS: usize = Reason::ALL.len();
/// Offset of the fallbacks in a block of counters; the queues and the block's end follow.
const FALLBACKS: usize = Row::COUNT * CELLS;
const QUEUES: usize = FALLBACKS + Function::ALL.len() * REASONS * FALLBACK;
/// Words of a fallback: calls, then bytes, in one cache line, because both are counted together.
const FALLBACK: usize = 2;
/// Words of a queue: batches by lanes filled, operations in lanes, operations alone, lanes that went wrong, operations on cards, and refusals of
/// cards by reason.
const QUEUE: usize = REFUSALS + Refusal::ALL.len();
const REFUSALS: usize = LANES + 4;
pub(super) const WORDS: usize = QUEUES + Queue::ALL.len() * QUEUE;

/// A set of counters: a cache line per row (hardware, then software; of each encrypt, then decrypt; of each calls, then bytes), then the fallbacks by
/// function and reason (calls, then bytes), then the accelerator's queues. Aligned so that neighbours share neither a line nor the line the
/// prefetcher takes along.
#[repr(C, align(128))]
#[derive(Debug)]
pub(super) struct Block {
    words: [AtomicU64; WORDS],
}

/// The place of a tally in a block of counters, worked out once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    cells: u16,
    /// The first word of the reason; 0, which is a cell, for none.
    reason: u16,
}

const _: () = assert!(WORDS < 1 << 16);

impl Place {
    /// Makes the place of a row, and of the reason where the path is software.
    #[inline]
    pub const fn new(row: Row, function: Function, path: Path) -> Place {
        let line = row.index() * CELLS;
        let (side, reason) = match path {
            Path::Hardware => (0, 0),
            Path::Software(reason) => (CELLS / 2, fallback(function, reason)),
        };
        Place { cells: (line + side) as u16, reason: reason as u16 }
    }
}

/// The first word of a fallback.
const fn fallback(function: Function, reason: Reason) -> usize {
    FALLBACKS + (function as usize * REASONS + reason as usize) * FALLBACK
}

/// An event that the accelerator counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A batch of this many jobs was run in lanes.
    Batch(usize),
    /// An operation was done in lanes.
    InLanes,
    /// An operation was done alone.
    Alone,
    /// A lane went wrong.
    Corrupted,
    /// A card did an operation.
    OnCard,
    /// A card was asked for an operation and did not do it.
    NotOnCard(Refusal),
}

impl Event {
    /// The word that the event counts in.
    const fn word(self, queue: Queue) -> usize {
        let at = match self {
            Event::Batch(filled) if 0 < filled && filled <= LANES => filled - 1,
            Event::Batch(_) => LANES - 1,
            Event::InLanes => LANES,
            Event::Alone => LANES + 1,
            Event::Corrupted => LANES + 2,
            Event::OnCard => LANES + 3,
            Event::NotOnCard(refusal) => REFUSALS + refusal as usize,
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
    /// The words an operation counts in: calls and bytes of its row, and in software of its reason.
    #[inline(always)]
    fn at(&self, place: Place, direction: Direction) -> Option<([&AtomicU64; 2], Option<[&AtomicU64; FALLBACK]>)> {
        let pair = |first: usize| Some([self.words.get(first)?, self.words.get(first + 1)?]);
        let reason = if place.reason == 0 { None } else { pair(place.reason as usize) };
        Some((pair(place.cells as usize + 2 * direction as usize)?, reason))
    }

    /// Counts in a block that only this thread writes.
    #[inline(always)]
    pub(super) fn add_alone(&self, place: Place, direction: Direction, calls: u64, bytes: u64) {
        if let Some(([c, b], reason)) = self.at(place, direction) {
            bump(c, calls);
            bump(b, bytes);
            if let Some([c, b]) = reason {
                bump(c, calls);
                bump(b, bytes);
            }
        }
    }

    /// Counts what the accelerator did in a block that only this thread writes.
    #[inline(always)]
    pub(super) fn note_alone(&self, queue: Queue, event: Event) {
        bump(&self.words[event.word(queue)], 1);
    }

    /// Counts what the accelerator did in a block that many threads write.
    pub(super) fn note_shared(&self, queue: Queue, event: Event) {
        self.words[event.word(queue)].fetch_add(1, Relaxed);
    }

    /// Counts in a block that many threads write.
    pub(super) fn add_shared(&self, place: Place, direction: Direction, calls: u64, bytes: u64) {
        if let Some(([c, b], reason)) = self.at(place, direction) {
            c.fetch_add(calls, Relaxed);
            b.fetch_add(bytes, Relaxed);
            if let Some([c, b]) = reason {
                c.fetch_add(calls, Relaxed);
                b.fetch_add(bytes, Relaxed);
            }
        }
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, AtomicU64> {
        self.words.iter()
    }
}

/// The beginning of every segment. All zeros is a valid empty segment but for its identity, which the first comer writes in one instruction: there is
/// no half-initialised state to die in.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Head {
    identity: AtomicU64,
    /// The owner word of the process that resets at this moment, for others to wait.
    resetting: AtomicU64,
}

impl Head {
    /// Whether the segment is the one with this identity; a fresh one is made one if `create`.
    pub(super) fn identify(&self, ours: u64, create: bool) -> Result<(), u64> {
        let found = match self.identity.load(Acquire) {
            0 if create => match self.identity.compare_exchange(0, ours, AcqRel, Acquire) {
                Ok(_) => ours,
                Err(other) => other,
            },
            other => other,
        };
        if found == ours { Ok(()) } else { Err(found) }
    }

    /// Takes the reset lock from `holder`, which is 0 where the lock is free; gives the holder if that fails.
    pub(super) fn lock_resets(&self, holder: u64, me: u64) -> Result<(), u64> {
        self.resetting.compare_exchange(holder, me, AcqRel, Acquire).map(|_| ())
    }

    /// Gives the reset lock back.
    pub(super) fn unlock_resets(&self, me: u64) {
        let _ = self.resetting.compare_exchange(me, 0, Release, Relaxed);
    }
}

/// FNV-1a. Nothing here is secret; it only has to spread.
#[derive(Clone, Copy)]
pub(super) struct Fnv(u64);

impl Fnv {
    pub(super) const fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    pub(super) const fn add(&mut self, mut bytes: &[u8]) {
        while let [byte, rest @ ..] = bytes {
            self.step(*byte as u64);
            bytes = rest;
        }
        // A separator, so that "ab" "c" and "a" "bc" differ.
        self.step(0x1ff);
    }

    const fn step(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3);
    }

    pub(super) const fn fold(&self) -> u32 {
        (self.0 ^ self.0 >> 32) as u32
    }
}

/// The difference of `total` and `base`, as a snapshot.
pub(super) fn snapshot(uid: u32, total: &[u64], base: &[u64]) -> Snapshot {
    let mut snapshot = Snapshot::new(uid);
    let words: Vec<u64> = total.iter().zip(base).map(|(t, b)| t.wrapping_sub(*b)).collect();
    let (rows, queues) = (&words[..FALLBACKS], &words[QUEUES..]);
    for (&(queue, _), words) in Queue::ALL.iter().zip(queues.chunks_exact(QUEUE)) {
        *snapshot.lanes_mut(queue) = Lanes {
            batches: std::array::from_fn(|i| words[i]),
            in_lanes: words[LANES],
            alone: words[LANES + 1],
            corrupted: words[LANES + 2],
            on_card: words[LANES + 3],
            not_on_card: std::array::from_fn(|i| words[REFUSALS + i]),
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
            let at = fallback(function, reason);
            *snapshot.fallbacks_mut(function, reason) = Cell { calls: words[at], bytes: words[at + 1] };
        }
    }
    snapshot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_one_row_and_blocks_share_none() {
        assert_eq!(CELLS * size_of::<AtomicU64>(), 64);
        assert_eq!(size_of::<Block>() % 128, 0);
    }

    #[test]
    fn calls_and_bytes_of_a_fallback_share_a_line() {
        for &function in Function::ALL {
            for &reason in Reason::ALL {
                let at = fallback(function, reason);
                assert_eq!(at / CELLS, (at + FALLBACK - 1) / CELLS, "{function:?}, {reason:?}");
            }
        }
    }
}
