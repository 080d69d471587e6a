//! Numbers modulo the group's order n in eight lanes: Montgomery's form with R = 2^(52N), of lanes/montgomery.rs.
//!
//! n has no form to use, so a product is the general one of 4N^2 + N IFMA instructions.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::curve::Curve;
use crate::lanes::inverse;
use crate::lanes::montgomery::power_of_two;
use crate::lanes::{Number, carry, constant, montgomery, same, subtract_once, zero};
use std::arch::x86_64::*;

/// IFMA instructions of a product.
pub const fn product_ifma<const N: usize>() -> u64 {
    (4 * N * N + N) as u64
}

/// `a` * `b` / R, below 2n and carried; `a` is below 4n, `b` below 2n, both carried.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply<C: Curve<N>, const N: usize>(a: &Number<N>, b: &Number<N>) -> Number<N> {
    montgomery::multiply(a, b, &constant(&C::ORDER), same(const { montgomery::k0(C::ORDER[0]) }))
}

/// Into Montgomery form.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn enter<C: Curve<N>, const N: usize>(a: &Number<N>) -> Number<N> {
    multiply::<C, N>(a, &constant(&const { power_of_two(2 * 52 * N, &C::ORDER) }))
}

/// `a` + `b`, carried.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn add<const N: usize>(a: &Number<N>, b: &Number<N>) -> Number<N> {
    let mut out = *a;
    for (o, b) in out.iter_mut().zip(b) {
        *o = _mm512_add_epi64(*o, *b);
    }
    carry(&mut out);
    out
}

/// The number below n, of a carried one below 2n.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn canonical<C: Curve<N>, const N: usize>(a: &Number<N>) -> Number<N> {
    subtract_once(a, &constant(&C::ORDER))
}

/// The lanes whose carried number is of [1, n - 1].
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn in_range<C: Curve<N>, const N: usize>(a: &Number<N>) -> __mmask8 {
    below(a, &C::ORDER) & !is_zero(a)
}

/// The lanes whose carried number is 0.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn is_zero<const N: usize>(a: &Number<N>) -> __mmask8 {
    let mut any = zero();
    for limb in a {
        any = _mm512_or_si512(any, *limb);
    }
    _mm512_testn_epi64_mask(any, any)
}

/// The lanes whose carried number is below `m`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn below<const N: usize>(a: &Number<N>, m: &[u64; N]) -> __mmask8 {
    let mut over = zero();
    for (a, m) in a.iter().zip(m) {
        over = _mm512_srai_epi64::<52>(_mm512_add_epi64(_mm512_sub_epi64(*a, same(*m)), over));
    }
    _mm512_cmplt_epi64_mask(over, zero())
}

/// IFMA instructions of [`invert`].
pub const fn invert_ifma<C: Curve<N>, const N: usize>() -> u64 {
    inverse::ifma::<N>(C::BITS) + product_ifma::<N>()
}

/// 1 / `a` in Montgomery form, below 2n and carried; 0 of 0. `a` is below 2n.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn invert<C: Curve<N>, const N: usize>(a: &Number<N>) -> Number<N> {
    from_inverse::<C, N>(&inverse::invert(&canonical::<C, N>(a), &C::ORDER, C::BITS))
}

/// 1 / a in Montgomery form, below 2n and carried, made of the result of `lanes::inverse` for an a below n.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn from_inverse<C: Curve<N>, const N: usize>(inverse: &Number<N>) -> Number<N> {
    multiply::<C, N>(inverse, &constant(&const { inverse::factor(&C::ORDER, C::BITS) }))
}

/// The lanes whose carried numbers, below 4n and 2n, are the same modulo n.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn congruent<C: Curve<N>, const N: usize>(a: &Number<N>, b: &Number<N>) -> __mmask8 {
    let n = constant(&C::ORDER);
    let a = subtract_once(&subtract_once(&subtract_once(a, &n), &n), &n);
    let b = subtract_once(b, &n);
    let mut differ = zero();
    for (a, b) in a.iter().zip(b) {
        differ = _mm512_or_si512(differ, _mm512_xor_si512(*a, b));
    }
    _mm512_testn_epi64_mask(differ, differ)
}
