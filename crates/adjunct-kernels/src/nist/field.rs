//! Numbers modulo p in eight lanes, in Montgomery form with R = 2^(52N).
//!
//! p is a sum of five powers of two (Solinas, "Generalized Mersenne numbers", 1999), so a step of Montgomery's reduction
//! multiplies by the few limbs that are not zero instead of by N: 6 IFMAs a step for P-256, whose -1/p modulo 2^52 is 1
//! besides, 2 for P-521 and 9 for P-384. IFMA instructions: 2N^2 a product, N^2 + N a square, and N times 6, 2 or 9 the
//! reduction; in all 80 and 60 for P-256, 200 and 144 for P-384, 264 and 154 for P-521.
//!
//! Of a p that is no such sum all limbs count: 2N + 1 IFMAs a step, and 2N a [`shrink`].
//!
//! Two forms of a number. *Carried*: limbs below 2^52 as IFMA's factors must be. *Loose*: limbs are signed 64-bit sums, as
//! products come and as they are added and subtracted without a carry. [`carry`] is the way from loose to carried where the
//! value is known to be of [0, 2^(52N)), [`shrink`] where it may be negative or large: it brings any value to (0, 2.1p).
//! Bounds: the product of values below s*p and t*p is below (1 + s*t/16)*p.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
// Columns are addressed by the sum of two indices.
#![allow(clippy::missing_safety_doc, clippy::needless_range_loop)]

use super::curve::Curve;
use crate::lanes::inverse;
use crate::lanes::montgomery::power_of_two;
use crate::lanes::{Number, Vector, carry_signed, constant, high, low, montgomery, same, subtract_once, zero};
use std::arch::x86_64::*;

/// IFMA instructions of a product.
pub const fn product_ifma<C: Curve<N>, const N: usize>() -> u64 {
    (2 * N * N) as u64 + reduction_ifma::<C, N>()
}

/// IFMA instructions of a square.
pub const fn square_ifma<C: Curve<N>, const N: usize>() -> u64 {
    (N * N + N) as u64 + reduction_ifma::<C, N>()
}

const fn reduction_ifma<C: Curve<N>, const N: usize>() -> u64 {
    let (mut step, mut i) = (0, 1);
    while i < N {
        if C::SPARSE[i] != 0 {
            step += 2;
        }
        i += 1;
    }
    if C::SPARSE[0] != -1 {
        step += 3;
    }
    step * N as u64
}

/// The 2N columns of a product.
#[derive(Clone, Copy)]
pub struct Columns<const N: usize>([Number<N>; 2]);

impl<const N: usize> Columns<N> {
    #[inline(always)]
    fn at(&mut self, i: usize) -> &mut Vector {
        &mut self.0[i / N][i % N]
    }
}

/// `a` * `b`, not reduced.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn columns<const CALL: u32, const N: usize>(a: &Number<N>, b: &Number<N>) -> Columns<N> {
    let mut out = Columns([[zero(); N]; 2]);
    rows::<false, CALL, N>(&mut out, a, b);
    rows::<true, CALL, N>(&mut out, a, b);
    out
}

/// Adds `a` times the lower or the upper half of `b`: the compiler unrolls the halves, but not a loop over 11 limbs.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn rows<const UPPER: bool, const CALL: u32, const N: usize>(out: &mut Columns<N>, a: &Number<N>, b: &Number<N>) {
    for i in half::<UPPER, N>() {
        for j in 0..N {
            *out.at(i + j) = low(*out.at(i + j), a[j], b[i]);
            *out.at(i + j + 1) = high(*out.at(i + j + 1), a[j], b[i]);
        }
    }
}

const fn half<const UPPER: bool, const N: usize>() -> std::ops::Range<usize> {
    if UPPER { N / 2..N } else { 0..N / 2 }
}

/// `a`^2, not reduced.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_columns<const CALL: u32, const N: usize>(a: &Number<N>) -> Columns<N> {
    let mut out = Columns([[zero(); N]; 2]);
    square_rows::<false, CALL, N>(&mut out, a);
    square_rows::<true, CALL, N>(&mut out, a);
    for i in 1..2 * N {
        *out.at(i) = _mm512_add_epi64(*out.at(i), *out.at(i));
    }
    for i in 0..N {
        *out.at(2 * i) = low(*out.at(2 * i), a[i], a[i]);
        *out.at(2 * i + 1) = high(*out.at(2 * i + 1), a[i], a[i]);
    }
    out
}

/// Adds the products of the lower or the upper half of `a` with the limbs above each.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn square_rows<const UPPER: bool, const CALL: u32, const N: usize>(out: &mut Columns<N>, a: &Number<N>) {
    for i in half::<UPPER, N>() {
        for j in i + 1..N {
            *out.at(i + j) = low(*out.at(i + j), a[i], a[j]);
            *out.at(i + j + 1) = high(*out.at(i + j + 1), a[i], a[j]);
        }
    }
}

/// The columns divided by R modulo p, loose.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn reduce<const CALL: u32, C: Curve<N>, const N: usize>(mut c: Columns<N>) -> Number<N> {
    // What is to be taken away, as IFMA only adds.
    let mut minus = Columns([[zero(); N]; 2]);
    for i in 0..N {
        let column = _mm512_sub_epi64(*c.at(i), *minus.at(i));
        // q = -column / p modulo 2^52; IFMA takes the low 52 bits of what it is given.
        let over = if C::SPARSE[0] == -1 {
            *c.at(i) = column;
            _mm512_srai_epi64::<52>(column)
        } else {
            let q = low(zero(), column, same(montgomery::k0(C::P[0])));
            *c.at(i) = q;
            *c.at(i + 1) = high(*c.at(i + 1), q, same(C::SPARSE[0] as u64));
            _mm512_srai_epi64::<52>(low(column, q, same(C::SPARSE[0] as u64)))
        };
        let q = *c.at(i);
        for j in 1..N {
            let limb = same(C::SPARSE[j].unsigned_abs());
            if C::SPARSE[j] != 0 {
                let to = if C::SPARSE[j] > 0 { &mut c } else { &mut minus };
                *to.at(i + j) = low(*to.at(i + j), q, limb);
                *to.at(i + j + 1) = high(*to.at(i + j + 1), q, limb);
            }
        }
        // Last: what comes before it does not wait for it.
        *c.at(i + 1) = _mm512_add_epi64(*c.at(i + 1), over);
    }
    let mut out = c.0[1];
    for (o, minus) in out.iter_mut().zip(minus.0[1]) {
        *o = _mm512_sub_epi64(*o, minus);
    }
    #[cfg(feature = "fault")]
    crate::fault::strike(&mut out[0]);
    out
}

/// `a` * `b` / R, loose, of carried factors.
// Left to inline it, the compiler makes calls of its parts in a large program, and the columns go through memory.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply<C: Curve<N>, const N: usize>(a: &Number<N>, b: &Number<N>) -> Number<N> {
    multiply_inlined::<0, C, N>(a, b)
}

/// `a`^2 / R, loose, of a carried number.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn square<C: Curve<N>, const N: usize>(a: &Number<N>) -> Number<N> {
    square_inlined::<1, C, N>(a)
}

/// The product of [`multiply`], inlined where most of the time is spent. `CALL` differs at each call: the compiler inlines what has one caller.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply_inlined<const CALL: u32, C: Curve<N>, const N: usize>(a: &Number<N>, b: &Number<N>) -> Number<N> {
    reduce::<CALL, C, N>(columns::<CALL, N>(a, b))
}

/// The square of [`square`], inlined; `CALL` differs at each call, as in [`multiply_inlined`].
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn square_inlined<const CALL: u32, C: Curve<N>, const N: usize>(a: &Number<N>) -> Number<N> {
    reduce::<CALL, C, N>(square_columns::<CALL, N>(a))
}

/// `a` + `b`, loose.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn add<const N: usize>(a: &Number<N>, b: &Number<N>) -> Number<N> {
    let mut out = *a;
    for (o, b) in out.iter_mut().zip(b) {
        *o = _mm512_add_epi64(*o, *b);
    }
    out
}

/// `a` - `b`, loose.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn subtract<const N: usize>(a: &Number<N>, b: &Number<N>) -> Number<N> {
    let mut out = *a;
    for (o, b) in out.iter_mut().zip(b) {
        *o = _mm512_sub_epi64(*o, *b);
    }
    out
}

/// `a` * 2^`BY`, loose.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn shift<const BY: u32, const N: usize>(a: &Number<N>) -> Number<N> {
    let mut out = *a;
    for o in &mut out {
        *o = _mm512_slli_epi64::<BY>(*o);
    }
    out
}

/// Carries a value of [0, 2^(52N)).
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn carry<const N: usize>(mut a: Number<N>) -> Number<N> {
    carry_signed(&mut a);
    a
}

/// Brings a value between -2^7 p and 2^7 p to (0, 2.1p) by a multiple of p, and carries it.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn shrink<C: Curve<N>, const N: usize>(mut a: Number<N>) -> Number<N> {
    if const { C::TERMS.is_empty() } {
        return shrink_by_any::<C, N>(a);
    }
    // The part from 2^BITS up, less one, is about the quotient by p, and never above it.
    let top = _mm512_add_epi64(a[N - 1], _mm512_srai_epi64::<52>(a[N - 2]));
    let shift = _mm_cvtsi32_si128((C::BITS % 52) as i32);
    let quotient = _mm512_sub_epi64(_mm512_sra_epi64(top, shift), same(1));
    for &(exponent, minus) in C::TERMS {
        let limb = &mut a[exponent as usize / 52];
        let part = _mm512_sll_epi64(quotient, _mm_cvtsi32_si128((exponent % 52) as i32));
        *limb = if minus { _mm512_add_epi64(*limb, part) } else { _mm512_sub_epi64(*limb, part) };
    }
    carry(a)
}

/// [`shrink`] where p is any number with its highest bit set.
///
/// With f the bits that are looked at below 2^BITS, 8 or more, t = a / 2^(BITS-f) rounded down, below 2^(f+7) in size, and the inverse i =
/// 2^(BITS+14) / p rounded down, of 2^14 to 2^15: t * i / 2^(f+14), rounded down, is not above a / p by more than 2^-7, nor below by more
/// than 1 + 2^-7 + 2 * 2^(1-f). One less is the quotient q.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn shrink_by_any<C: Curve<N>, const N: usize>(mut a: Number<N>) -> Number<N> {
    /// Exponent of the power that the quotient is subtracted from, so that the factor is positive.
    const ABOVE: u32 = 8;
    let fraction = const { if C::BITS % 52 < 16 { C::BITS % 52 } else { 16 } };
    const { assert!(C::BITS % 52 >= 8 || !C::TERMS.is_empty()) };
    let by = |bits: usize| _mm_cvtsi32_si128(bits as i32);
    let top = _mm512_add_epi64(a[N - 1], _mm512_srai_epi64::<52>(a[N - 2]));
    let top = _mm512_sra_epi64(top, by(C::BITS % 52 - fraction));
    let product = _mm512_mul_epi32(top, same(const { inverse_of_top(&C::P, C::BITS) }));
    let quotient = _mm512_sra_epi64(product, by(14 + fraction));
    // 2^ABOVE - q, so that it is above 0; as many p are taken away again.
    let factor = _mm512_sub_epi64(same((1 << ABOVE) + 1), quotient);
    for j in 0..N {
        let limb = same(C::P[j]);
        a[j] = low(_mm512_sub_epi64(a[j], same(C::P[j] << ABOVE)), factor, limb);
        if j + 1 < N {
            a[j + 1] = high(a[j + 1], factor, limb);
        } else {
            a[j] = _mm512_add_epi64(a[j], _mm512_slli_epi64::<52>(high(zero(), factor, limb)));
        }
    }
    carry(a)
}

/// 2^(`bits` + 14) / p, rounded down, for a p of `bits` bits.
const fn inverse_of_top<const N: usize>(p: &[u64; N], bits: usize) -> u64 {
    // Bit by bit: twice the rest of 2^bits by p, as often as there are bits.
    let mut rest = [0; N];
    rest[bits / 52] = 1 << (bits % 52);
    rest = montgomery::minus(&rest, p);
    let (mut quotient, mut i) = (1, 0);
    while i < 14 {
        let (mut twice, mut over, mut j) = ([0; N], 0, 0);
        while j < N {
            over += 2 * rest[j];
            twice[j] = over & ((1 << 52) - 1);
            over >>= 52;
            j += 1;
        }
        let less = montgomery::minus(&twice, p);
        let fits = less[N - 1] >> 63 == 0;
        quotient = 2 * quotient + fits as u64;
        rest = if fits { less } else { twice };
        i += 1;
    }
    quotient
}

/// The number below p, of a carried one below 4p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn canonical<C: Curve<N>, const N: usize>(a: &Number<N>) -> Number<N> {
    let p = constant(&C::P);
    subtract_once(&subtract_once(&subtract_once(a, &p), &p), &p)
}

/// Into Montgomery form, carried.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn enter<C: Curve<N>, const N: usize>(a: &Number<N>) -> Number<N> {
    carry(multiply::<C, N>(a, &constant(&const { power_of_two(2 * 52 * N, &C::P) })))
}

/// Out of Montgomery form, below p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn leave<C: Curve<N>, const N: usize>(a: &Number<N>) -> Number<N> {
    canonical::<C, N>(&carry(multiply::<C, N>(a, &constant(&integer_one::<N>()))))
}

const fn integer_one<const N: usize>() -> [u64; N] {
    let mut one = [0; N];
    one[0] = 1;
    one
}

/// 1 in Montgomery form.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn one<C: Curve<N>, const N: usize>() -> Number<N> {
    constant(&const { power_of_two(52 * N, &C::P) })
}

/// IFMA instructions of [`invert`].
pub const fn invert_ifma<C: Curve<N>, const N: usize>() -> u64 {
    inverse::ifma::<N>(C::BITS) + product_ifma::<C, N>()
}

/// 1 / `a`, carried; 0 of 0. `a` is below 4p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn invert<C: Curve<N>, const N: usize>(a: &Number<N>) -> Number<N> {
    from_inverse::<C, N>(&inverse::invert(&canonical::<C, N>(a), &C::P, C::BITS))
}

/// 1 / a in Montgomery form, carried, made of the result of `lanes::inverse` for an a below p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn from_inverse<C: Curve<N>, const N: usize>(inverse: &Number<N>) -> Number<N> {
    carry(multiply::<C, N>(inverse, &constant(&const { inverse::factor(&C::P, C::BITS) })))
}

/// The lanes whose carried value, below 4p, is 0 modulo p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn is_zero<C: Curve<N>, const N: usize>(a: &Number<N>) -> __mmask8 {
    let mut any = zero();
    for limb in canonical::<C, N>(a) {
        any = _mm512_or_si512(any, limb);
    }
    _mm512_testn_epi64_mask(any, any)
}
