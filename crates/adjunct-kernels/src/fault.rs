//! For tests only (feature `fault`, in no release): a bit flips in one lane's arithmetic.
//!
//! Kernels call [`strike`] on an intermediate result in their innermost shared step, behind `cfg(feature = "fault")`.

use crate::lanes::{LANES, Vector};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

static COUNTDOWN: AtomicI64 = AtomicI64::new(-1);
static LANE: AtomicUsize = AtomicUsize::new(0);

/// Flips the lowest bit of `lane` in the `after`th intermediate result from now (0: the next), of any thread, once.
pub fn arm(lane: usize, after: u32) {
    LANE.store(lane % LANES, Ordering::SeqCst);
    COUNTDOWN.store(i64::from(after), Ordering::SeqCst);
}

/// Takes the fault back; whether it had not struck yet.
pub fn disarm() -> bool {
    COUNTDOWN.swap(-1, Ordering::SeqCst) >= 0
}

/// An intermediate result: flips the bit if its time has come.
#[inline(never)]
pub(crate) fn strike(limb: &mut Vector) {
    if COUNTDOWN.load(Ordering::Relaxed) >= 0 && COUNTDOWN.fetch_sub(1, Ordering::SeqCst) == 0 {
        // SAFETY: a vector is eight numbers of 64 bits.
        let lanes = unsafe { &mut *std::ptr::from_mut(limb).cast::<[u64; LANES]>() };
        lanes[LANE.load(Ordering::SeqCst)] ^= 1;
    }
}
