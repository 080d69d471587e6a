//! Eight numbers at once: the lane abstraction under every multi-buffer kernel.
//!
//! A number of N limbs of 52 bits is N vectors; vector i holds limb i of eight numbers, one a lane. AVX-512 IFMA multiplies
//! 52-bit limbs in all lanes and adds the low or the high half of the products to 64-bit sums (Gueron and Krasnov,
//! "Software implementation of modular exponentiation, using advanced vector instructions architectures", WAIFI 2012), so
//! carries can wait: a sum of up to 4096 halves fits. Nothing here branches or indexes by what a lane holds.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

pub mod inverse;
pub mod montgomery;
pub(crate) mod sha512;
pub(crate) mod words;

use std::arch::x86_64::*;

/// Numbers worked on at once.
pub const LANES: usize = 8;
/// Bits of a limb.
pub const LIMB: u32 = 52;
/// The largest limb.
pub const MASK: u64 = (1 << LIMB) - 1;

/// A limb of each of eight numbers.
pub type Vector = __m512i;
/// Eight numbers of N limbs, the lowest limb first.
pub type Number<const N: usize> = [Vector; N];

/// `sum` + the low 52 bits of `a` * `b`; only the low 52 bits of the factors count.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn low(sum: Vector, a: Vector, b: Vector) -> Vector {
    _mm512_madd52lo_epu64(sum, a, b)
}

/// `sum` + the high 52 bits of `a` * `b`; only the low 52 bits of the factors count.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn high(sum: Vector, a: Vector, b: Vector) -> Vector {
    _mm512_madd52hi_epu64(sum, a, b)
}

/// `value` in all lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn same(value: u64) -> Vector {
    _mm512_set1_epi64(value as i64)
}

/// All lanes 0.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn zero() -> Vector {
    _mm512_setzero_si512()
}

/// A constant in all lanes, from its limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn constant<const N: usize>(limbs: &[u64; N]) -> Number<N> {
    let mut out = [zero(); N];
    for (v, &limb) in out.iter_mut().zip(limbs) {
        *v = same(limb);
    }
    out
}

/// Lane by lane `b` where `choose` has its bit, else `a`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn select<const N: usize>(choose: __mmask8, a: &Number<N>, b: &Number<N>) -> Number<N> {
    let mut out = *a;
    for (o, b) in out.iter_mut().zip(b) {
        *o = _mm512_mask_mov_epi64(*o, choose, *b);
    }
    out
}

/// Brings every limb below 2^52, each one's excess moved to the next; the top limb keeps its own. Limbs are unsigned.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn carry<const N: usize>(a: &mut Number<N>) {
    let mask = same(MASK);
    let mut over = zero();
    for v in &mut a[..N - 1] {
        let sum = _mm512_add_epi64(*v, over);
        over = _mm512_srli_epi64::<LIMB>(sum);
        *v = _mm512_and_si512(sum, mask);
    }
    a[N - 1] = _mm512_add_epi64(a[N - 1], over);
}

/// Carries limbs that are signed (after a subtraction), as [`carry`] does those that are not.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn carry_signed<const N: usize>(a: &mut Number<N>) {
    let mask = same(MASK);
    let mut over = zero();
    for v in &mut a[..N - 1] {
        let sum = _mm512_add_epi64(*v, over);
        over = _mm512_srai_epi64::<LIMB>(sum);
        *v = _mm512_and_si512(sum, mask);
    }
    a[N - 1] = _mm512_add_epi64(a[N - 1], over);
}

/// `a` - `m` in the lanes where that is not negative, else `a`. Both are carried ([`carry`]).
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn subtract_once<const N: usize>(a: &Number<N>, m: &Number<N>) -> Number<N> {
    let mut less = *a;
    for (l, m) in less.iter_mut().zip(m) {
        *l = _mm512_sub_epi64(*l, *m);
    }
    carry_signed(&mut less);
    let negative = _mm512_cmplt_epi64_mask(less[N - 1], zero());
    select(negative, &less, a)
}

/// Loads eight numbers given as limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn gather<const N: usize>(numbers: &[[u64; N]; LANES]) -> Number<N> {
    let mut out = [zero(); N];
    for (i, v) in out.iter_mut().enumerate() {
        let n = |lane: usize| numbers[lane][i] as i64;
        *v = _mm512_set_epi64(n(7), n(6), n(5), n(4), n(3), n(2), n(1), n(0));
    }
    out
}

/// The limbs of each of eight numbers.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn scatter<const N: usize>(numbers: &Number<N>) -> [[u64; N]; LANES] {
    let mut out = [[0; N]; LANES];
    for (i, v) in numbers.iter().enumerate() {
        let mut lanes = [0u64; LANES];
        // SAFETY: the array has a vector's 64 bytes.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), *v) };
        for (number, limb) in out.iter_mut().zip(lanes) {
            number[i] = limb;
        }
    }
    out
}

/// Bytes of two limbs.
const TWO: usize = 13;

/// The limbs of a big-endian number; the surplus of a number too long for N limbs is lost.
// Not inlined, where these loops would be turned into gathers.
#[inline(never)]
pub fn limbs_from_be<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let mut limbs = [0; N];
    for (pair, bytes) in limbs.chunks_mut(2).zip(bytes.rchunks(TWO)) {
        let mut two = [0; 16];
        two[16 - bytes.len()..].copy_from_slice(bytes);
        let two = u128::from_be_bytes(two);
        pair[0] = two as u64 & MASK;
        if let Some(next) = pair.get_mut(1) {
            *next = (two >> LIMB) as u64;
        }
    }
    limbs
}

/// Writes a number of carried limbs big-endian, zeros in front; what does not fit `out` is lost.
#[inline(never)]
pub fn limbs_to_be<const N: usize>(limbs: &[u64; N], out: &mut [u8]) {
    for (i, bytes) in out.rchunks_mut(TWO).enumerate() {
        let limb = |i: usize| u128::from(limbs.get(i).copied().unwrap_or(0));
        let two = (limb(2 * i) | limb(2 * i + 1) << LIMB).to_be_bytes();
        bytes.copy_from_slice(&two[16 - bytes.len()..]);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    /// Whether this CPU can run kernels in eight lanes; where it cannot, says that a test is skipped.
    pub(crate) fn here() -> bool {
        let here = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma");
        if !here {
            println!("SKIPPED: this CPU has no AVX-512 IFMA");
        }
        here
    }
}
