//! Montgomery arithmetic over streams, in eight lanes and W numbers a lane, each with a modulus of its own.
//!
//! A product is summed whole, then reduced; a square takes each two different limbs once. The reduction is Montgomery's
//! ("Modular multiplication without trial division", Math. Comp. 44, 1985), with R = 2^(52N), by a multiple M of the modulus m
//! that is -1 modulo 2^52 for all steps but the last, which is by m itself: in the steps by M the quotient digit is the lowest
//! limb as it stands and the product's lowest limb need not be computed. Factors and results are "almost" reduced (Gueron,
//! JCEN 2012): what a step leaves behind is below M = 2^52 m until the next step divides it by 2^52, so a result is below
//! a * b / R + 2m + m / 2^51, which for factors below 3m and 2^14 m < R is below 2.1 m.
//!
//! Multiplications: 2N^2 a product, N^2 + N a square, 2N^2 + 1 a reduction.
//!
//! Working on W = 2 numbers in turn, stream by stream, gives the CPU something to do while the carries of one of them ripple;
//! and after each stream there is room for `beside`, work that waits for memory rather than for the multipliers.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::stream::{self, BLOCK};
use crate::lanes::{Number, Vector, carry, subtract_once};
use std::arch::x86_64::*;

/// The columns of a product: twice the limbs of a factor, and one that streams read beyond the last.
#[repr(C)]
pub struct Wide<const N: usize> {
    /// The lower half.
    pub low: Number<N>,
    /// The upper half.
    pub high: Number<N>,
    beyond: Vector,
}

impl<const N: usize> Wide<N> {
    fn columns(&mut self) -> &mut [Vector] {
        // SAFETY: 2N + 1 vectors one after the other.
        unsafe { std::slice::from_raw_parts_mut((&raw mut *self).cast(), 2 * N + 1) }
    }
}

/// The moduli of eight lanes.
#[repr(C)]
pub struct Modulus<const N: usize> {
    /// m.
    pub m: Number<N>,
    /// (M + 1) / 2^52.
    pub fold: Number<N>,
    /// -1/m modulo 2^52.
    pub k0: Vector,
}

/// Multiplications of a product and its reduction.
pub const fn multiply_count(n: u64) -> u64 {
    4 * n * n + 1
}

/// Multiplications of a square and its reduction.
pub const fn square_count(n: u64) -> u64 {
    3 * n * n + n + 1
}

/// Number of streams of a square and its reduction for one number, which is how often [`square`] calls `beside` for each of the W.
pub const fn square_streams(n: usize) -> usize {
    2 * n / BLOCK
}

/// `a` = `a` * `b` / R modulo `m`.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply<const N: usize, const W: usize>(
    a: &mut [Number<N>; W],
    b: &[Number<N>; W],
    m: &[Modulus<N>; W],
    sum: &mut [Wide<N>; W],
) {
    product(sum, a, b);
    reduce(a, m, sum, |_| {});
}

/// `a` = `a`^2 / R modulo `m`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn square<const N: usize, const W: usize>(
    a: &mut [Number<N>; W],
    m: &[Modulus<N>; W],
    sum: &mut [Wide<N>; W],
    mut beside: impl FnMut(usize),
) {
    for i in (0..N).step_by(BLOCK) {
        for w in 0..W {
            stream::square(&mut sum[w].columns()[2 * i..], &a[w][i..], i == 0);
            beside(w);
        }
    }
    reduce(a, m, sum, beside);
}

/// `sum` = `a` * `b`, not carried.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn product<const N: usize, const W: usize>(sum: &mut [Wide<N>; W], a: &[Number<N>; W], b: &[Number<N>; W]) {
    for i in (0..N).step_by(BLOCK) {
        for w in 0..W {
            let block = a[w][i..].first_chunk().expect("whole blocks");
            stream::product(&mut sum[w].columns()[i..], block, &b[w], i == 0);
        }
    }
}

/// `out` = `sum` / R modulo `m`, its limbs' excess carried up but not masked away, for a `sum` below R m / 2.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn reduce<const N: usize, const W: usize>(
    out: &mut [Number<N>; W],
    m: &[Modulus<N>; W],
    sum: &mut [Wide<N>; W],
    mut beside: impl FnMut(usize),
) {
    const { assert!(N.is_multiple_of(BLOCK)) };
    for k in (0..N - BLOCK).step_by(BLOCK) {
        for w in 0..W {
            stream::reduce(&mut sum[w].columns()[k..], &m[w].fold);
            beside(w);
        }
    }
    for w in 0..W {
        let Modulus { m, fold, k0 } = &m[w];
        stream::reduce_last(&mut out[w], &sum[w].columns()[N - BLOCK..], fold, m, k0);
        beside(w);
    }
    super::fault::strike(out);
}

/// Masks off what [`reduce`] leaves in the limbs above 52 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn clean<const N: usize>(a: &mut Number<N>) {
    let mask = _mm512_set1_epi64(crate::lanes::MASK as i64);
    for v in &mut a[..N - 1] {
        *v = _mm512_and_si512(*v, mask);
    }
}

/// Brings a result of [`reduce`] below `m`.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn canonical<const N: usize>(a: &mut Number<N>, m: &Number<N>) {
    clean(a);
    *a = subtract_once(a, m);
    *a = subtract_once(a, m);
}

/// Carries a sum: its limbs below 2^52.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn carry_wide<const N: usize>(sum: &mut Wide<N>) {
    let Wide { low, high, .. } = sum;
    carry(low);
    let top = &mut low[N - 1];
    high[0] = _mm512_add_epi64(high[0], _mm512_srli_epi64::<52>(*top));
    *top = _mm512_and_si512(*top, _mm512_set1_epi64(crate::lanes::MASK as i64));
    carry(high);
}
