//! Which operations go to cards.
//!
//! An operation goes to a card where cards are faster ([`Page::pays`]): from what the card processes measured of an operation alone, of a batch and
//! of handing one over, and from how many are under way. Their measurements while they work can suspend that for some time ([`Page::found`]).
//!
//! The number under way is misleading for servers with more processes than CPUs: an operation alone ends within the time slice in which it began, so
//! that few are seen at a time, though many more processes would begin one if those that have one slept. Where private operations take a noticeable
//! part of the machine's time, it is *tried*: for some milliseconds all of a kind go to cards, and go on going there as long as cards find that they
//! are faster. Else the next trial is later, by twice the time, at first sixteen times as long as the trial; so trials cost less than the noise.

use super::{Measured, Page};
use crate::wire::Kind;
use adjunct_kernels::floats::in_default_mode;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How much faster cards are to be before operations go there.
pub(super) const GAIN: f32 = 1.1;
/// Jobs that cards have to do before their rate is believed.
const FEW: u64 = 24;
/// Part of a CPU's time that private operations of a kind have to take before cards are tried.
const NOTICEABLE: f32 = 0.2;
/// Milliseconds of the shortest trial, and for which operations go on going to cards that were found to be faster.
const SHORTEST_TRIAL: u64 = 10;
const LONGEST_TRIAL: u64 = 150;
pub(super) const KEPT: u64 = 100;
/// Milliseconds for which operations stay with their programs where cards were found to be slower, at first and at most; and after a first
/// trial, times its length.
const FIRST_PAUSE: u64 = 50;
const AFTER_TRIAL: u64 = 16;
pub(super) const LAST_PAUSE: u64 = 25_600;
/// The factor by which a load differs from that of the last trial to count as another load.
const OTHER_LOAD: f32 = 2.0;

impl Page {
    /// Whether a card is likely to be faster for an operation of this kind than its program alone. `connected`: the program has a connection, or does
    /// so many operations that the cost of making one does not matter.
    #[inline]
    pub fn pays(&self, kind: Kind, now: u64, connected: bool) -> bool {
        let measured = &self.measured[kind as usize];
        let alone = measured.alone.load(Relaxed);
        if self.cards.load(Relaxed) == 0 || alone == 0 {
            return false;
        }
        in_default_mode(|| self.pays_by_measure(measured, kind, now, connected))
    }

    fn pays_by_measure(&self, measured: &Measured, kind: Kind, now: u64, connected: bool) -> bool {
        let sent = measured.sent.load(Relaxed);
        if now < sent && sent - now <= KEPT.max(LONGEST_TRIAL) {
            return connected || measured.connecting_pays(self.connecting(), self.width());
        }
        let here = self.under_way(kind, now);
        if self.gain(kind, now, here) > GAIN {
            return now >= measured.until.load(Relaxed)
                && (connected || measured.connecting_pays(self.connecting(), self.width()));
        }
        let rests = now < measured.next.load(Relaxed) && !measured.is_another_load(here, now);
        here >= NOTICEABLE && !rests && measured.begin_trial(here, now, sent)
    }

    /// How many times as fast cards are, by what is under way.
    pub(super) fn gain(&self, kind: Kind, now: u64, here: f32) -> f32 {
        let measured = &self.measured[kind as usize];
        let all: f32 = Kind::ALL.iter().map(|&kind| self.under_way(kind, now)).sum();
        let cpus = self.cpus() as f32;
        if all <= cpus {
            return 0.0;
        }
        let time = |word: &AtomicU64| word.load(Relaxed) as f32;
        let (alone, batch, handing) = (time(&measured.alone), time(&measured.batch), time(&measured.handing));
        // The CPUs that are this kind's, and those that batches keep busy.
        let own = (cpus * here / all).min(here).max(f32::MIN_POSITIVE);
        // Programs are spread over the cards, and batches are of one card's.
        let cards = (self.cards.load(Relaxed) as f32).max(1.0);
        let jobs = (here / cards).clamp(1.0, self.width());
        let busy = own.min((here / jobs).max(1.0));
        busy * alone / (own * (batch / jobs + handing))
    }

    /// Notes that a card has done `jobs` jobs in `busy` nanoseconds of a worker, and took `handing` more to hand each over, while `runnable` tasks of
    /// the machine could run, its own included: if that is fewer than it has CPUs, some of them were left idle. Where cards turn out to be slower
    /// than programs alone, operations stay with the programs for a while, and longer the next time.
    pub fn found(&self, kind: Kind, now: u64, jobs: u64, busy: u64, handing: u64, runnable: u64) {
        let measured = &self.measured[kind as usize];
        self.answered.store(now, Relaxed);
        let before = measured.handing.load(Relaxed);
        measured.handing.store(before - before / 16 + handing / 16, Relaxed);
        let cpus = self.cpus();
        let busy = busy.saturating_mul(cpus) / runnable.clamp(1, cpus);
        let jobs = measured.jobs.fetch_add(jobs, Relaxed).saturating_add(jobs);
        let busy = measured.busy.fetch_add(busy, Relaxed).saturating_add(busy);
        if jobs < FEW {
            return;
        }
        measured.forget_jobs();
        let each = busy / jobs + measured.handing.load(Relaxed);
        measured.each.store(each, Relaxed);
        if each < measured.alone.load(Relaxed) {
            measured.pause.store(0, Relaxed);
            measured.until.store(0, Relaxed);
            measured.rest.store(0, Relaxed);
            measured.next.store(0, Relaxed);
            measured.sent.store(now + KEPT, Relaxed);
            return;
        }
        measured.sent.store(now, Relaxed);
        measured.begin_pause(now);
        // A trial has counted on that.
        if measured.next.load(Relaxed) <= now {
            measured.load.store((self.under_way(kind, now) * 100.0) as u64, Relaxed);
            measured.begin_rest(now);
        }
    }
}

impl Measured {
    /// Milliseconds in which, of a load that is just noticeable, enough are done to judge.
    fn trial(&self) -> u64 {
        let alone = self.alone.load(Relaxed).min(1 << 32) as f32 / 1e6;
        ((2 * FEW) as f32 * alone / NOTICEABLE).clamp(SHORTEST_TRIAL as f32, LONGEST_TRIAL as f32) as u64
    }

    /// Begins a trial, unless another has. If nothing is found while it lasts, cards were slower.
    fn begin_trial(&self, here: f32, now: u64, sent: u64) -> bool {
        let end = now + self.trial();
        if self.sent.compare_exchange(sent, end, Relaxed, Relaxed).is_err() {
            return false;
        }
        if self.is_another_load(here, now) {
            self.rest.store(0, Relaxed);
        }
        self.forget_jobs();
        self.each.store(0, Relaxed);
        self.load.store((here * 100.0) as u64, Relaxed);
        self.begin_rest(end);
        true
    }

    /// No trial for a while, longer each time.
    fn begin_rest(&self, now: u64) {
        let rest = (2 * self.rest.load(Relaxed).min(LAST_PAUSE)).clamp(AFTER_TRIAL * self.trial(), LAST_PAUSE);
        self.rest.store(rest, Relaxed);
        self.next.store(now + rest, Relaxed);
    }

    /// Begins a pause in which the number of operations under way is not used, longer each time.
    fn begin_pause(&self, now: u64) {
        let pause = (2 * self.pause.load(Relaxed).min(LAST_PAUSE)).clamp(FIRST_PAUSE, LAST_PAUSE);
        self.pause.store(pause, Relaxed);
        self.until.store(now + pause, Relaxed);
    }

    /// Whether so many more operations are under way than at the last trial that it tells nothing any more, some time after it.
    fn is_another_load(&self, here: f32, now: u64) -> bool {
        let begun = self.sent.load(Relaxed);
        here > NOTICEABLE.max(OTHER_LOAD * self.load.load(Relaxed) as f32 / 100.0)
            && now.saturating_sub(begun) > AFTER_TRIAL * self.trial()
    }

    /// Whether cards are faster even where each operation needs a connection of its own, which costs `connecting` nanoseconds.
    fn connecting_pays(&self, connecting: u64, width: f32) -> bool {
        let handing = self.handing.load(Relaxed);
        let each = match self.each.load(Relaxed) {
            0 => (self.batch.load(Relaxed) as f32 / width) as u64 + handing,
            each => each,
        };
        // What changes of tasks cost that a connection brings, nobody measures.
        each.saturating_add(connecting) as f32 * GAIN < self.alone.load(Relaxed) as f32
    }

    fn forget_jobs(&self) {
        self.jobs.store(0, Relaxed);
        self.busy.store(0, Relaxed);
    }
}
