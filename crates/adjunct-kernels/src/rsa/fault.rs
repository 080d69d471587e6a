//! A way for tests to disturb the arithmetic of lanes; without the feature `fault` there is nothing here.

use crate::lanes::Vector;

#[cfg(any(test, feature = "fault"))]
mod armed {
    use std::sync::atomic::{AtomicU8, AtomicU32};

    pub static LANES: AtomicU8 = AtomicU8::new(0);
    pub static AFTER: AtomicU32 = AtomicU32::new(0);
}

/// Arms the fault, in whatever thread: flips a bit in each of the `lanes` (a bit each) once `after` more reductions are done.
#[cfg(any(test, feature = "fault"))]
pub fn arm(lanes: u8, after: u32) {
    use std::sync::atomic::Ordering::SeqCst;
    armed::AFTER.store(after, SeqCst);
    armed::LANES.store(lanes, SeqCst);
}

/// Takes what was armed back; says whether there was anything left.
#[cfg(any(test, feature = "fault"))]
pub fn disarm() -> bool {
    armed::LANES.swap(0, std::sync::atomic::Ordering::SeqCst) != 0
}

/// The lanes in which the reduction that ends now is to be disturbed.
#[cfg(any(test, feature = "fault"))]
fn due() -> u8 {
    use std::sync::atomic::Ordering::SeqCst;
    if armed::LANES.load(SeqCst) == 0 {
        return 0;
    }
    if armed::AFTER.load(SeqCst) > 0 {
        armed::AFTER.fetch_sub(1, SeqCst);
        return 0;
    }
    armed::LANES.swap(0, SeqCst)
}

/// Flips what is armed. Every reduction ends here.
#[cfg(any(test, feature = "fault"))]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn strike<const N: usize, const W: usize>(result: &mut [crate::lanes::Number<N>; W]) {
    use std::arch::x86_64::*;
    let lanes = due();
    if lanes == 0 {
        return;
    }
    let limb: &mut Vector = &mut result[0][N / 2];
    *limb = _mm512_mask_xor_epi64(*limb, lanes, *limb, _mm512_set1_epi64(1 << 17));
}

/// Does nothing: faults are for tests.
#[cfg(not(any(test, feature = "fault")))]
#[inline(always)]
pub(super) fn strike<const N: usize, const W: usize>(_: &mut [[Vector; N]; W]) {}

/// Makes a result wrong where a test wants a fault, in four lanes of doubles.
#[cfg(any(test, feature = "fault"))]
#[target_feature(enable = "avx2,fma")]
pub(super) fn strike_four<const D: usize, const W: usize>(result: &mut [[std::arch::x86_64::__m256d; D]; W]) {
    let lanes = due();
    let digit = (&raw mut result[0][D / 2]).cast::<f64>();
    for lane in (0..4).filter(|lane| lanes >> lane & 1 != 0) {
        // SAFETY: four doubles.
        unsafe { *digit.add(lane) += f64::from(1 << 17) };
    }
}

/// Does nothing: faults are for tests.
#[cfg(not(any(test, feature = "fault")))]
#[inline(always)]
pub(super) fn strike_four<const D: usize, const W: usize>(_: &mut [[std::arch::x86_64::__m256d; D]; W]) {}

/// Makes a result wrong where a test wants a fault, in four lanes of limbs.
#[cfg(any(test, feature = "fault"))]
pub(super) fn strike_four_limbs<const N: usize, const W: usize>(result: &mut [[std::arch::x86_64::__m256i; N]; W]) {
    let lanes = due();
    let limb = (&raw mut result[0][N / 2]).cast::<u64>();
    for lane in (0..4).filter(|lane| lanes >> lane & 1 != 0) {
        // SAFETY: four integers.
        unsafe { *limb.add(lane) ^= 1 << 17 };
    }
}

/// Does nothing: faults are for tests.
#[cfg(not(any(test, feature = "fault")))]
#[inline(always)]
pub(super) fn strike_four_limbs<const N: usize, const W: usize>(_: &mut [[std::arch::x86_64::__m256i; N]; W]) {}
