//! How crowded the machine is with private-key operations, seen by all programs at once: a page of shared memory that adjunctd makes
//! (`segment`).
//!
//! Every operation that a program does alone or has a card do adds the time it took, waiting included, to the window of its end. The times of the
//! operations that ended in a second, divided by a second, are how many were under way on average (Little's law). So no program has to note that an
//! operation has begun, and a program that is killed leaves nothing behind.
//!
//! Whether an operation goes to a card is decided by that (`decision`).
//!
//! # Outages
//! A program that finds that no daemon listens, or that no answer comes, notes it in the page; all others then ask no card until one of them, once a
//! second, has tried again. A note counts only until a card has answered any program.
//!
//! # Who writes there
//! Every program writes there. Wrong numbers make other programs choose the slower of two ways, no more: no length, index or address is read here.

mod decision;
mod segment;
#[cfg(test)]
mod tests;

pub use adjunct_base::clock::cpu_time;

use super::wire::Kind;
use adjunct_base::clock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Windows of a kind, and milliseconds of one.
const WINDOWS: usize = 16;
const WINDOW: u64 = 4;
const KINDS: usize = Kind::ALL.len();
/// The first word, of which the key is made too: it changes with the layout, and programs of another version have a page of their own.
const MAGIC: u64 = u64::from_le_bytes(*b"ADJCRO\x00\x04");
/// Nanoseconds that a connection is expected to cost each side until that side has measured it.
const CONNECTING: u64 = 14_000;
/// The value of a side's cost where that side takes no part in making connections.
const FREE: u64 = 1;
/// Milliseconds before a program asks again after no daemon answered.
const OUTAGE: u64 = 1000;

/// The process whose CPU time a connection takes, from its making to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Side {
    Program,
    Daemon,
    Card,
}

const SIDES: usize = Side::Card as usize + 1;

/// The measured times of a kind, in nanoseconds, and the decision made from them.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct Measured {
    /// An operation alone, a batch of eight, handing one over.
    alone: AtomicU64,
    batch: AtomicU64,
    handing: AtomicU64,
    /// Jobs that cards did since this was last judged, and the workers' time that they took.
    jobs: AtomicU64,
    busy: AtomicU64,
    /// The time of an operation by each way at the last decision, handing over included.
    each: AtomicU64,
    /// Milliseconds of the clock until which operations stay with their programs though by what is under way cards were faster, for they
    /// were found to be slower; and how long that was.
    until: AtomicU64,
    pause: AtomicU64,
    /// Milliseconds of the clock before which there is no trial, and the length of that pause.
    next: AtomicU64,
    rest: AtomicU64,
    /// Milliseconds of the clock until which all operations go to cards: a trial, or because they were found to be faster.
    sent: AtomicU64,
    /// The operations under way, in hundredths, when the last trial began.
    load: AtomicU64,
    /// How many times as long as its CPU time a batch takes, in hundredths: other tasks want the CPUs as well. 0 where none was done.
    stretch: AtomicU64,
}

/// The times of the operations that ended in a window: its number, above 32 bits of microseconds.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct Windows([AtomicU64; WINDOWS]);

/// The page.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Page {
    magic: AtomicU64,
    /// Cards that take operations.
    cards: AtomicU64,
    /// CPUs of the machine.
    cpus: AtomicU64,
    /// The most jobs of a batch; 0 where that has not been said.
    width: AtomicU64,
    /// Milliseconds of the clock when a card last answered any program, and when a program last found no daemon.
    answered: AtomicU64,
    nobody: AtomicU64,
    /// The cost of a connection for each side, in nanoseconds; 0 where it has not been measured.
    connecting: [AtomicU64; SIDES],
    measured: [Measured; KINDS],
    windows: [Windows; KINDS],
}

/// The most jobs of a batch.
const MOST: u64 = adjunct_base::catalogue::LANES as u64;

/// Milliseconds of a clock that all programs of the machine share.
pub fn now() -> u64 {
    clock::monotonic().as_millis() as u64
}

impl Page {
    /// Says how many cards take operations, and on how many CPUs.
    pub fn set_cards(&self, cards: usize, cpus: usize) {
        self.cpus.store(cpus as u64, Relaxed);
        self.nobody.store(0, Relaxed);
        self.cards.store(cards as u64, Relaxed);
    }

    /// Number of cards that take operations now.
    pub fn cards(&self) -> u64 {
        self.cards.load(Relaxed)
    }

    /// Says how many jobs a batch has at most.
    pub fn set_width(&self, width: usize) {
        self.width.store(width as u64, Relaxed);
    }

    /// The most jobs of a batch.
    pub(super) fn width(&self) -> f32 {
        match self.width.load(Relaxed) {
            width @ 1..=MOST => width as f32,
            _ => MOST as f32,
        }
    }

    /// Says how long an operation alone and a full batch take on this machine, in nanoseconds.
    pub fn set_times(&self, kind: Kind, alone: u64, batch: u64) {
        let measured = &self.measured[kind as usize];
        measured.alone.store(alone, Relaxed);
        measured.batch.store(batch, Relaxed);
        let expected = 15_000;
        let _ = measured.handing.compare_exchange(0, expected, Relaxed, Relaxed);
    }

    /// How long an operation alone, a batch and handing one over take, in nanoseconds.
    pub(super) fn times(&self, kind: Kind) -> [u64; 3] {
        let measured = &self.measured[kind as usize];
        [&measured.alone, &measured.batch, &measured.handing].map(|word| word.load(Relaxed))
    }

    /// Notes that a batch took `clock` nanoseconds of the clock and `cpu` of CPU time.
    pub fn took(&self, kind: Kind, clock: u64, cpu: u64) {
        let now = (clock.saturating_mul(100) / cpu.max(1)).clamp(100, 10_000);
        let word = &self.measured[kind as usize].stretch;
        let before = word.load(Relaxed).clamp(100, 10_000);
        // At once where it gets longer, slowly where it gets shorter: a fifth of a second where cards have most to do.
        word.store(now.max(before - (before - now.min(before)).div_ceil(256)), Relaxed);
    }

    /// How many times as long as its CPU time a batch takes.
    pub(super) fn stretch(&self, kind: Kind) -> f32 {
        self.measured[kind as usize].stretch.load(Relaxed).clamp(100, 10_000) as f32 / 100.0
    }

    /// Notes that a connection took `nanoseconds` of a side's CPU time.
    pub fn connected(&self, side: Side, nanoseconds: u64) {
        let word = &self.connecting[side as usize];
        let after = match word.load(Relaxed) {
            0 | FREE => nanoseconds,
            before => (before - before / 16).saturating_add(nanoseconds / 16),
        };
        word.store(after.max(FREE), Relaxed);
    }

    /// Notes that the daemon takes no part in connections any more, until it says what they take.
    pub fn daemon_is_free(&self) {
        self.connecting[Side::Daemon as usize].store(FREE, Relaxed);
    }

    /// The cost of a connection for all sides together, in nanoseconds.
    pub fn connecting(&self) -> u64 {
        let known = |word: &AtomicU64| match word.load(Relaxed) {
            0 => CONNECTING,
            time => time,
        };
        self.connecting.iter().map(known).fold(0, u64::saturating_add)
    }

    /// Notes that an operation has ended that took so many microseconds.
    #[inline]
    pub fn ended(&self, kind: Kind, now: u64, microseconds: u64) {
        let number = now / WINDOW;
        let window = &self.windows[kind as usize].0[number as usize % WINDOWS];
        let time = microseconds.min(u64::from(u32::MAX) / 64);
        let before = window.load(Relaxed);
        if before >> 32 == number & 0xffff_ffff {
            window.fetch_add(time, Relaxed);
        } else {
            // Of two that begin a window at the same time, one is not counted.
            let _ = window.compare_exchange(before, number << 32 | time, Relaxed, Relaxed);
        }
    }

    /// The operations of a kind that are under way, on average of the last windows.
    pub fn under_way(&self, kind: Kind, now: u64) -> f32 {
        let number = now / WINDOW;
        let recent = |word: u64| (number.wrapping_sub(word >> 32) & 0xffff_ffff) < WINDOWS as u64;
        let words = self.windows[kind as usize].0.iter().map(|window| window.load(Relaxed));
        let time: u64 = words.filter(|&word| recent(word)).map(|word| word & 0xffff_ffff).sum();
        // The last window is not over.
        let span = (WINDOWS as u64 - 1) * WINDOW + now % WINDOW + 1;
        time as f32 / (span * 1000) as f32
    }

    /// The machine's CPUs.
    pub fn cpus(&self) -> u64 {
        self.cpus.load(Relaxed).clamp(1, 4096)
    }

    /// Notes that no daemon answered.
    pub fn nobody(&self, now: u64) {
        self.nobody.store(now, Relaxed);
    }

    /// Whether a program found no daemon, and no card has answered since. Once a second, one of the callers is told no, and is to find out.
    #[inline]
    pub fn is_out(&self, now: u64) -> bool {
        let since = self.nobody.load(Relaxed);
        if since == 0 || self.answered.load(Relaxed) > since {
            return false;
        }
        // A time that has not come is no time.
        let over = now.wrapping_sub(since) >= OUTAGE;
        !over || self.nobody.compare_exchange(since, now, Relaxed, Relaxed).is_err()
    }

    /// Whether a card has answered any program since `since`.
    pub fn answers(&self, since: u64) -> bool {
        self.answered.load(Relaxed) >= since
    }
}
