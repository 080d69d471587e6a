//! What serves an operation, by the modes the program has chosen, and where it counts.

use crate::error::Errno;
use adjunct::adapter::Outcome;
use adjunct::catalogue::Function;
use adjunct::catalogue::{Direction, Path};
use adjunct::config::LibicaModes;
use adjunct::ops::Tally;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// `ica_set_fallback_mode`: whether software serves what hardware does not.
static FALLBACKS: AtomicBool = AtomicBool::new(true);
/// Whether it does for elliptic curves: not where the variable ICAPATH is 1.
static CURVE_FALLBACKS: AtomicBool = AtomicBool::new(true);

/// Sets whether software serves what hardware does not.
pub fn set_fallbacks(on: bool) {
    FALLBACKS.store(on, Relaxed);
}

/// Whether software serves `function`.
pub fn in_software(function: Function) -> bool {
    let modes = LibicaModes {
        fallbacks: FALLBACKS.load(Relaxed),
        curve_fallbacks: CURVE_FALLBACKS.load(Relaxed),
        ..LibicaModes::default()
    };
    modes.in_software(function, crate::libcrypto::available)
}

/// Sets whether operations are counted, and what the accelerator does with them.
pub fn set_statistics(on: bool) {
    adjunct::counters::switch(on);
}

/// Sets the modes that the environment has.
pub fn from_environment() {
    let LibicaModes { fallbacks, curve_fallbacks, statistics } = LibicaModes::from_environment();
    set_fallbacks(fallbacks);
    CURVE_FALLBACKS.store(curve_fallbacks, Relaxed);
    set_statistics(statistics);
}

/// Whether an operation of `function` with a key of `bits` (0: it has none) is allowed to run. It counts as the user's of now.
///
/// # Errors
/// [`Errno::NO_DEVICE`] where only software has it and fallbacks are off.
#[inline]
pub fn allow(function: Function, bits: usize) -> Result<(), Errno> {
    if !in_software(function) && !adjunct::ops::in_hardware(function, bits) {
        return Err(Errno::NO_DEVICE);
    }
    adjunct::ops::attribute();
    Ok(())
}

/// An operation that is allowed to run.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    tally: Tally,
}

impl Operation {
    /// An operation of `function` with a key of `bits` (0: it has none).
    ///
    /// # Errors
    /// [`Errno::NO_DEVICE`] where only software has it and fallbacks are off.
    pub fn new(function: Function, bits: usize) -> Result<Operation, Errno> {
        Operation::of(Tally::new(function, bits))
    }

    /// The same where the tally is known. What runs in batches on this machine is hardware here, though one alone is done in
    /// software: whether another thread asks at the same time is not the program's to know.
    ///
    /// # Errors
    /// As for [`Operation::new`].
    pub fn of(tally: Tally) -> Result<Operation, Errno> {
        if tally.path() != Path::Hardware && !in_software(tally.function()) && !tally.batches() {
            return Err(Errno::NO_DEVICE);
        }
        Ok(Operation { tally })
    }

    /// Counts it, done over `bytes` bytes.
    #[inline]
    pub fn done(self, direction: Direction, bytes: usize) {
        adjunct::counters::attribute();
        self.tally.count(direction, bytes);
    }

    /// Counts a public-key operation that the accelerator has had.
    pub fn ran(self, outcome: Outcome) {
        adjunct::counters::attribute_now();
        self.tally.ran(outcome).count(Direction::Encrypt, 0);
    }
}
