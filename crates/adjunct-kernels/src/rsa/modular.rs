//! Montgomery arithmetic over tiles, in eight lanes and W numbers a lane, each with a modulus of its own.
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
//! Working on W = 2 numbers in turn, tile by tile, gives the CPU something to do while the carries of one of them ripple.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::tile::{TILE, add_last, add_product, finish_square, fold, fold_last};
use crate::lanes::{Number, Vector, carry, subtract_once, zero};
use std::arch::x86_64::*;

/// The sum of a product: twice the limbs of a factor.
pub type Wide<const N: usize> = [Number<N>; 2];

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

fn part<const L: usize>(limbs: &[Vector], at: usize) -> &[Vector; L] {
    limbs[at..].first_chunk().expect("a tile inside the number")
}

fn part_mut<const L: usize>(limbs: &mut [Vector], at: usize) -> &mut [Vector; L] {
    limbs[at..].first_chunk_mut().expect("a tile inside the number")
}

/// `a` = `a` * `b` / R modulo `m`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply<const N: usize, const W: usize>(
    a: &mut [Number<N>; W],
    b: &[Number<N>; W],
    m: &[Modulus<N>; W],
    sum: &mut [Wide<N>; W],
) {
    product(sum, a, b);
    reduce(a, m, sum);
}

/// `a` = `a`^2 / R modulo `m`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn square<const N: usize, const W: usize>(a: &mut [Number<N>; W], m: &[Modulus<N>; W], sum: &mut [Wide<N>; W]) {
    *sum = [[[zero(); N]; 2]; W];
    for i in (0..N).step_by(TILE) {
        for j in (i + TILE..N).step_by(TILE) {
            for (sum, a) in sum.iter_mut().zip(a.iter()) {
                add_product(part_mut(sum.as_flattened_mut(), i + j), part(a, j), part(a, i));
            }
        }
    }
    for i in (0..N).step_by(TILE) {
        for (sum, a) in sum.iter_mut().zip(a.iter()) {
            finish_square(part_mut(sum.as_flattened_mut(), 2 * i), part(a, i));
        }
    }
    reduce(a, m, sum);
}

/// `sum` = `a` * `b`, not carried.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn product<const N: usize, const W: usize>(sum: &mut [Wide<N>; W], a: &[Number<N>; W], b: &[Number<N>; W]) {
    *sum = [[[zero(); N]; 2]; W];
    for i in (0..N).step_by(TILE) {
        for j in (0..N).step_by(TILE) {
            for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
                add_product(part_mut(sum.as_flattened_mut(), i + j), part(a, i), part(b, j));
            }
        }
    }
}

/// `out` = `sum` / R modulo `m`, its limbs' excess carried up but not masked away, for a `sum` below R m / 2.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn reduce<const N: usize, const W: usize>(out: &mut [Number<N>; W], m: &[Modulus<N>; W], sum: &mut [Wide<N>; W]) {
    const { assert!(N.is_multiple_of(TILE)) };
    for k in (0..N - TILE).step_by(TILE) {
        for (sum, m) in sum.iter_mut().zip(m) {
            fold(part_mut(sum.as_flattened_mut(), k), part(&m.fold, 0));
        }
        for j in (TILE..N).step_by(TILE) {
            for (sum, m) in sum.iter_mut().zip(m) {
                let (q, rest) = sum.as_flattened_mut().split_at_mut(k + TILE);
                add_product(part_mut(rest, j + 1 - TILE), part(q, k), part(&m.fold, j));
            }
        }
    }
    let k = N - TILE;
    for (sum, m) in sum.iter_mut().zip(m) {
        fold_last(part_mut(sum.as_flattened_mut(), k), part(&m.fold, 0), part(&m.m, 0), &m.k0);
    }
    for j in (TILE..N).step_by(TILE) {
        for (sum, m) in sum.iter_mut().zip(m) {
            let (q, rest) = sum.as_flattened_mut().split_at_mut(N);
            add_last(part_mut(rest, j + 1 - TILE), part(q, k), part(&m.fold, j), part(&m.m, j));
        }
    }
    for (out, [_, sum]) in out.iter_mut().zip(sum) {
        *out = *sum;
        carry_only(out);
    }
    super::fault::strike(out);
}

/// Adds every limb's excess over 52 bits to the next one and leaves it in place: multiplications do not see it.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carry_only<const N: usize>(a: &mut Number<N>) {
    for i in 1..N {
        a[i] = _mm512_add_epi64(a[i], _mm512_srli_epi64::<52>(a[i - 1]));
    }
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
    let [low, high] = sum;
    carry(low);
    let top = &mut low[N - 1];
    high[0] = _mm512_add_epi64(high[0], _mm512_srli_epi64::<52>(*top));
    *top = _mm512_and_si512(*top, _mm512_set1_epi64(crate::lanes::MASK as i64));
    carry(high);
}
