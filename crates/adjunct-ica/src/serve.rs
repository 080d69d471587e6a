//! What serves an operation, by the modes the program has chosen, and where it counts.

use crate::error::Errno;
use adjunct::accelerator::Outcome;
use adjunct::catalogue::Function;
use adjunct::route::{Direction, Path, Tally};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// `ica_set_fallback_mode`: whether software serves what hardware does not.
static FALLBACKS: AtomicBool = AtomicBool::new(true);
/// Whether it does for elliptic curves: not where the variable ICAPATH is 1.
static CURVE_FALLBACKS: AtomicBool = AtomicBool::new(true);
/// `ica_set_offload_mode`: whether cards are preferred to the processor's instructions.
static OFFLOAD: AtomicBool = AtomicBool::new(false);
/// `ica_set_stats_mode`: whether operations are counted.
static STATISTICS: AtomicBool = AtomicBool::new(true);

/// Sets whether software serves what hardware does not.
pub fn set_fallbacks(on: bool) {
    FALLBACKS.store(on, Relaxed);
}

/// Whether software serves `function`. RSA keys are made in software everywhere, so whether fallbacks are on does not matter there;
/// Curve448 is libcrypto's, where there is one.
pub fn in_software(function: Function) -> bool {
    use Function::*;
    match function {
        RsaKeygenMe | RsaKeygenCrt => true,
        X448Keygen | X448Derive | Ed448Keygen | Ed448Sign | Ed448Verify => {
            FALLBACKS.load(Relaxed) && crate::libcrypto::available()
        }
        EcKeygen | Ecdh | EcdsaSign | EcdsaVerify => FALLBACKS.load(Relaxed) && CURVE_FALLBACKS.load(Relaxed),
        _ => FALLBACKS.load(Relaxed),
    }
}

/// Sets whether cards are preferred to the processor's instructions.
pub fn set_offload(on: bool) {
    OFFLOAD.store(on, Relaxed);
}

/// Whether cards are preferred to the processor's instructions.
pub fn offload() -> bool {
    OFFLOAD.load(Relaxed)
}

/// Sets whether operations are counted.
pub fn set_statistics(on: bool) {
    STATISTICS.store(on, Relaxed);
}

/// Reads the three modes, and what serves elliptic curves, from the environment, where the program may have one: numbers, as the
/// original's.
pub fn from_environment() {
    let number = |name: &str| adjunct::cpu::secure_env(name)?.trim().parse::<i64>().ok();
    for (name, set) in [
        ("LIBICA_FALLBACK_MODE", set_fallbacks as fn(bool)),
        ("LIBICA_OFFLOAD_MODE", set_offload),
        ("LIBICA_STATS_MODE", set_statistics),
    ] {
        if let Some(number) = number(name) {
            set(number != 0);
        }
    }
    // 1 is hardware only, 2 software only, and all else either. Of 2 nothing is to be seen in a result.
    CURVE_FALLBACKS.store(number("ICAPATH") != Some(1), Relaxed);
}

/// The direction an operation counts in.
pub const fn direction(encrypt: bool) -> Direction {
    if encrypt { Direction::Encrypt } else { Direction::Decrypt }
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

    /// The same for what neither instructions nor batches serve, whatever they do for others of its row.
    ///
    /// # Errors
    /// As for [`Operation::new`].
    pub fn of_software(tally: Tally) -> Result<Operation, Errno> {
        if in_software(tally.function()) { Ok(Operation { tally }) } else { Err(Errno::NO_DEVICE) }
    }

    /// Counts it, done over `bytes` bytes.
    #[inline]
    pub fn done(self, direction: Direction, bytes: usize) {
        if STATISTICS.load(Relaxed) {
            adjunct::counters::attribute();
            self.tally.count(direction, bytes);
        }
    }

    /// Counts a public-key operation that the accelerator has had.
    pub fn ran(self, outcome: Outcome) {
        if STATISTICS.load(Relaxed) {
            adjunct::counters::attribute_now();
            self.tally.ran(outcome).count(Direction::Encrypt, 0);
        }
    }
}
