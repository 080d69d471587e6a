//! Decides what serves an operation, by the modes that the program has chosen, and in which row it counts.

use crate::error::Errno;
use adjunct::catalogue::Function;
use adjunct::config::LibicaModes;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// `ica_set_fallback_mode`: whether software serves what hardware does not.
static FALLBACKS: AtomicBool = AtomicBool::new(true);
/// Whether software serves elliptic curves: not where the variable ICAPATH is 1.
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
    let LibicaModes { fallbacks, curve_fallbacks, statistics, cards } = LibicaModes::from_environment();
    set_fallbacks(fallbacks);
    CURVE_FALLBACKS.store(curve_fallbacks, Relaxed);
    set_statistics(statistics);
    if cards {
        set_offload(true);
    }
}

/// Sets whether cards are asked whenever there is one, or where the machine is so crowded that it pays.
pub fn set_offload(on: bool) {
    adjunct::ops::cards::prefer(on);
}

/// Whether an operation of `function` may run, which `in_hardware` says that this machine's hardware serves (instructions, or batches).
///
/// # Errors
/// [`Errno::NO_DEVICE`] where only software has it and fallbacks are off.
#[inline(always)]
pub fn permit(function: Function, in_hardware: bool) -> Result<(), Errno> {
    if in_hardware || in_software(function) { Ok(()) } else { Err(Errno::NO_DEVICE) }
}

/// Whether an operation of `function` may run, as [`permit`] says; where the operation may run, what this thread runs from here on counts
/// as the current user's.
///
/// # Errors
/// As for [`permit`].
#[inline(always)]
pub fn begin(function: Function, in_hardware: bool) -> Result<(), Errno> {
    permit(function, in_hardware)?;
    adjunct::ops::attribute();
    Ok(())
}

/// Whether an operation of `function` with a key of `bits` (0: no key) may run here, by what this machine has for it; if so, what this
/// thread runs from here on counts as the current user's. The machine is asked only where software may not serve, for each call comes here.
///
/// # Errors
/// As for [`permit`].
#[inline]
pub fn allow(function: Function, bits: usize) -> Result<(), Errno> {
    if !in_software(function) {
        permit(function, adjunct::ops::in_hardware(function, bits))?;
    }
    adjunct::ops::attribute();
    Ok(())
}
