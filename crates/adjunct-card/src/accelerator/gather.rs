//! How long requests wait for others of their kind, so that a batch has more of them.
#![forbid(unsafe_code)]

use adjunct_card_host::service::Patience;
use adjunct_card_protocol::crowd::{self, Page};
use adjunct_card_protocol::wire::Kind;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Time within which the next request comes, where programs that were answered ask again: a wake of another CPU and their own work.
const GATHERING: Duration = Duration::from_micros(50);
/// Time after which it is looked again whether other tasks still keep all CPUs busy; also the longest time that requests wait for others.
const LOOKING: Duration = Duration::from_micros(300);
/// The longest time that requests wait for others, in nanoseconds.
const GATHERED: u64 = 4_000_000;
/// The time that requests wait for others at first, and after no other has come for so long, in nanoseconds.
const FIRST_GATHERED: u64 = 1_000_000;
/// Milliseconds in which a program that asked counts as one that may ask again.
const LATELY: u64 = 50;

/// The period in which a program last asked, in units of [`LATELY`].
#[derive(Debug)]
pub struct Asked(u64);

impl Default for Asked {
    fn default() -> Asked {
        Asked(u64::MAX)
    }
}

/// What is known of the programs that ask.
#[derive(Debug)]
pub struct Gathering {
    /// How long requests wait for others while the CPUs have other things to do, in nanoseconds: longer where that filled a batch.
    patience: AtomicU64,
    /// Programs that asked in this period and in the one before it: the period's number, in units of [`LATELY`], above 16 bits for each count.
    lately: AtomicU64,
}

impl Gathering {
    pub fn new() -> Gathering {
        Gathering { patience: AtomicU64::new(FIRST_GATHERED), lately: AtomicU64::new(0) }
    }

    /// Whether to wait for more requests of a kind.
    ///
    /// Where by the page more are under way than wait: programs that were answered together ask again one after the other, and the first of
    /// them is not to be done alone. And, since a time, while other tasks keep all CPUs busy: as long as this one sleeps they come to their
    /// next operations, and no CPU is left idle.
    pub fn patience(
        &self,
        page: &Page,
        kind: Kind,
        waiting: usize,
        since: Instant,
        runnable: impl FnOnce() -> u64,
    ) -> Patience {
        let busy = (self.lately(crowd::now()) > waiting as u64 && runnable() > page.cpus())
            .then(|| self.patience.load(Relaxed).saturating_sub(since.elapsed().as_nanos() as u64))
            .filter(|&left| left > 0);
        match busy {
            Some(left) => Patience::For(LOOKING.min(Duration::from_nanos(left))),
            None if page.under_way(kind, crowd::now()) < waiting as f32 + 0.5 => Patience::No,
            None => Patience::WhileMoreCome(GATHERING),
        }
    }

    /// Requests have waited for others: until there was a whole batch, or in vain.
    pub fn learn(&self, filled: bool) {
        let before = self.patience.load(Relaxed);
        let after = if filled { before * 2 } else { before / 2 };
        self.patience.store(after.clamp(GATHERING.as_nanos() as u64, GATHERED), Relaxed);
    }

    /// How many programs have asked lately, at least.
    fn lately(&self, now: u64) -> u64 {
        let (word, number) = (self.lately.load(Relaxed), (now / LATELY) & 0xffff_ffff);
        match number.wrapping_sub(word >> 32) {
            0 => (word & 0xffff).max(word >> 16 & 0xffff),
            1 => word & 0xffff,
            _ => 0,
        }
    }

    /// A program asks.
    pub fn asks(&self, asked: &mut Asked, now: u64) {
        let number = (now / LATELY) & 0xffff_ffff;
        if std::mem::replace(&mut asked.0, number) == number {
            return;
        }
        // One thread at a time takes requests, and it alone writes this.
        let word = self.lately.load(Relaxed);
        let (before, count) = match number.wrapping_sub(word >> 32) {
            0 => (word >> 16 & 0xffff, word & 0xffff),
            1 => (word & 0xffff, 0),
            _ => {
                self.patience.store(FIRST_GATHERED, Relaxed);
                (0, 0)
            }
        };
        self.lately.store(number << 32 | before << 16 | (count + 1).min(0xffff), Relaxed);
    }
}
