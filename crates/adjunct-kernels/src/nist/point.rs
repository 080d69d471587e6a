//! Points in eight lanes, in Jacobian coordinates (X/Z^2, Y/Z^3), and their multiples.
//!
//! Doubling is dbl-2001-b and addition add-2007-bl and madd-2007-bl of the Explicit-Formulas Database (Bernstein and Lange;
//! Chudnovsky and Chudnovsky 1986), with plain products where those trade one for a square and additions: 4M + 4S, 12M + 4S
//! and 8M + 3S. The formulas fail where both addends are the same point, and at infinity. Infinity is a mask beside the
//! point, its lanes take the other addend by selection. The same point never meets itself: see [`multiply`] and comb.rs.
//!
//! A scalar is written in signed digits (Booth, 1951) from -2^(w-1) to 2^(w-1), so a table has 2^(w-1) multiples; reading
//! one touches all of them. IFMA instructions of [`multiply`]: see [`multiply_ifma`].

// The one safety rule is the target feature; the lint takes it for an unsafe function.
// Additions go side by side, by their number.
#![allow(clippy::missing_safety_doc, clippy::needless_range_loop)]

use super::curve::Curve;
use super::field::{add, carry, multiply as m, shift, shrink, square as s, subtract};
use super::{field, wipe};
use crate::lanes::{Number, Vector, constant, same, select, zero};
use std::arch::x86_64::*;

/// Points of eight lanes; coordinates are carried, X and Y below 2.1p, Z below 4p.
#[derive(Clone, Copy)]
pub struct Point<const N: usize> {
    pub x: Number<N>,
    pub y: Number<N>,
    pub z: Number<N>,
}

/// Points of eight lanes with Z = 1; coordinates as in [`Point`].
#[derive(Clone, Copy)]
pub struct Affine<const N: usize> {
    pub x: Number<N>,
    pub y: Number<N>,
}

/// A sum in the making: the lanes of `infinite` hold no point yet.
#[derive(Clone, Copy)]
pub struct Sum<const N: usize> {
    pub point: Point<N>,
    pub infinite: __mmask8,
}

/// A signed digit of each lane's scalar.
pub struct Digit {
    /// The absolute value.
    pub size: Vector,
    /// The lanes where the digit is below 0.
    pub negative: __mmask8,
    /// The lanes where the digit is 0.
    pub none: __mmask8,
}

/// Digits of a scalar in windows of `w` bits.
pub const fn digits<C: Curve<N>, const N: usize>(w: usize) -> usize {
    C::BITS / w + 1
}

/// Digit `i` of carried scalars, in windows of `w` bits.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn digit<const N: usize>(scalar: &Number<N>, i: usize, w: usize) -> Digit {
    // The window's bits and the one below them.
    let bits = if i == 0 {
        _mm512_slli_epi64::<1>(scalar[0])
    } else {
        let (limb, from) = ((w * i - 1) / 52, (w * i - 1) % 52);
        let bits = _mm512_srl_epi64(scalar[limb], _mm_cvtsi32_si128(from as i32));
        let next = if limb + 1 < N { scalar[limb + 1] } else { zero() };
        _mm512_or_si512(bits, _mm512_sll_epi64(next, _mm_cvtsi32_si128(52 - from as i32)))
    };
    digit_of(bits, w)
}

/// The digit of a window's bits and the one below them, whatever stands above.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn digit_of(bits: Vector, w: usize) -> Digit {
    let ones = same((2 << w) - 1);
    let bits = _mm512_and_si512(bits, ones);
    let negative = _mm512_test_epi64_mask(bits, same(1 << w));
    let bits = _mm512_mask_sub_epi64(bits, negative, ones, bits);
    let size = _mm512_srli_epi64::<1>(_mm512_add_epi64(bits, same(1)));
    Digit { size, negative, none: _mm512_testn_epi64_mask(size, size) }
}

/// The coordinate y of the point taken with the digit's sign.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn signed<C: Curve<N>, const N: usize>(digit: &Digit, y: &Number<N>) -> Number<N> {
    select(digit.negative, y, &shrink::<C, N>(subtract(&[zero(); N], y)))
}

/// 2 * `a`. Infinity, Z = 0, stays.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn double<C: Curve<N>, const N: usize>(a: &mut Point<N>) {
    use field::{multiply_inlined as m, square_inlined as s};
    let delta = s::<2, C, N>(&a.z);
    let gamma = carry(s::<3, C, N>(&a.y));
    let z = m::<4, C, N>(&a.y, &a.z);
    let beta = m::<5, C, N>(&a.x, &gamma);
    let less = shrink::<C, N>(subtract(&a.x, &delta));
    let alpha = m::<6, C, N>(&less, &carry(add(&a.x, &delta)));
    let alpha = carry(add(&alpha, &shift::<1, N>(&alpha)));
    a.z = carry(shift::<1, N>(&z));
    let beta4 = shift::<2, N>(&beta);
    a.x = shrink::<C, N>(subtract(&s::<7, C, N>(&alpha), &shift::<1, N>(&beta4)));
    let step = m::<8, C, N>(&alpha, &shrink::<C, N>(subtract(&beta4, &a.x)));
    a.y = shrink::<C, N>(subtract(&step, &shift::<3, N>(&s::<9, C, N>(&gamma))));
}

/// Applies an expression to each of W additions that do not depend on each other: the CPU works on one while another's last product is not there yet.
macro_rules! each {
    ($k:ident: $number:expr) => {{
        let mut out = [[zero(); N]; W];
        for $k in 0..W {
            out[$k] = $number;
        }
        out
    }};
}

/// Each of `sums` + the affine point of `b` with the sign and in the lanes that its digit says.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn add_affine<C: Curve<N>, const N: usize, const W: usize>(
    sums: &mut [Sum<N>; W],
    b: &[Affine<N>; W],
    digits: &[Digit; W],
) {
    let (x, z) = (each!(k: sums[k].point.x), each!(k: sums[k].point.z));
    let by = each!(k: signed::<C, N>(&digits[k], &b[k].y));
    let zz = each!(k: carry(s::<C, N>(&z[k])));
    let h = each!(k: shrink::<C, N>(subtract(&m::<C, N>(&b[k].x, &zz[k]), &x[k])));
    let zzz = each!(k: carry(m::<C, N>(&z[k], &zz[k])));
    let r = each!(k: shrink::<C, N>(subtract(&m::<C, N>(&by[k], &zzz[k]), &sums[k].point.y)));
    let z = each!(k: carry(m::<C, N>(&z[k], &h[k])));
    let y = each!(k: sums[k].point.y);
    let (x, y) = chord::<C, N, W>(&x, &y, &h, &r);
    for k in 0..W {
        let first = Point { x: b[k].x, y: by[k], z: field::one::<C, N>() };
        keep(&mut sums[k], &Point { x: x[k], y: y[k], z: z[k] }, &first, &digits[k]);
    }
}

/// `sum` + `b` with the sign and in the lanes that `digit` says.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn add_point<C: Curve<N>, const N: usize>(sum: &mut Sum<N>, b: &Point<N>, digit: &Digit) {
    let a = sum.point;
    let b = Point { x: b.x, y: signed::<C, N>(digit, &b.y), z: b.z };
    let (aa, bb) = (carry(s::<C, N>(&a.z)), carry(s::<C, N>(&b.z)));
    let x = carry(m::<C, N>(&a.x, &bb));
    let h = shrink::<C, N>(subtract(&m::<C, N>(&b.x, &aa), &x));
    let y = carry(m::<C, N>(&a.y, &carry(m::<C, N>(&b.z, &bb))));
    let r = shrink::<C, N>(subtract(&m::<C, N>(&b.y, &carry(m::<C, N>(&a.z, &aa))), &y));
    let z = carry(m::<C, N>(&carry(m::<C, N>(&a.z, &b.z)), &h));
    let ([x], [y]) = chord::<C, N, 1>(&[x], &[y], &[h], &[r]);
    keep(sum, &Point { x, y, z }, &b, digit);
}

/// The third point of each line through (`x`, `y`) with the slope `r` / `h`, mirrored: its X and Y.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn chord<C: Curve<N>, const N: usize, const W: usize>(
    x: &[Number<N>; W],
    y: &[Number<N>; W],
    h: &[Number<N>; W],
    r: &[Number<N>; W],
) -> ([Number<N>; W], [Number<N>; W]) {
    let hh = each!(k: carry(s::<C, N>(&h[k])));
    let rr = each!(k: s::<C, N>(&r[k]));
    let v = each!(k: m::<C, N>(&x[k], &hh[k]));
    let hhh = each!(k: carry(m::<C, N>(&h[k], &hh[k])));
    let x = each!(k: shrink::<C, N>(subtract(&subtract(&rr[k], &hhh[k]), &shift::<1, N>(&v[k]))));
    let last = each!(k: m::<C, N>(&y[k], &hhh[k]));
    let step = each!(k: m::<C, N>(&r[k], &shrink::<C, N>(subtract(&v[k], &x[k]))));
    (x, each!(k: shrink::<C, N>(subtract(&step[k], &last[k]))))
}

/// `new` where two points were added, `b` where there was none before, as it was where the digit is 0.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn keep<const N: usize>(sum: &mut Sum<N>, new: &Point<N>, b: &Point<N>, digit: &Digit) {
    let take = |old: &Number<N>, new: &Number<N>, b: &Number<N>| select(digit.none, &select(sum.infinite, new, b), old);
    let a = &sum.point;
    sum.point = Point { x: take(&a.x, &new.x, &b.x), y: take(&a.y, &new.y, &b.y), z: take(&a.z, &new.z, &b.z) };
    sum.infinite &= digit.none;
}

/// No point in any lane.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn nothing<const N: usize>() -> Sum<N> {
    let zero = [zero(); N];
    Sum { point: Point { x: zero, y: zero, z: zero }, infinite: 0xFF }
}

/// Multiples in the table of [`multiply`], for windows of 5 bits; smaller windows use half of them.
const ENTRIES: usize = 16;

/// IFMA instructions of [`multiply`].
pub const fn multiply_ifma<C: Curve<N>, const N: usize>() -> u64 {
    let (m, s) = (field::product_ifma::<C, N>(), field::square_ifma::<C, N>());
    let (digits, entries) = (digits::<C, N>(C::WINDOW) as u64, 1 << (C::WINDOW - 1));
    let table = 4 * m + 4 * s + (entries - 2) * (8 * m + 3 * s);
    table + (digits - 1) * C::WINDOW as u64 * (4 * m + 4 * s) + digits * (12 * m + 4 * s)
}

/// `scalar` * `base` for points on the curve and scalars of [1, n - 1]; other lanes hold anything.
///
/// No addition meets the same point twice. The sum before digit d is added is S * base with S a multiple of 2^w, S + d the
/// part of the scalar above the digits to come, rounded, so not above n + 2^w. S = d as integers leaves only S = 0, infinity,
/// whose lanes are masked. S = d modulo n otherwise means S = n + d for a d < 0, that is, an n that is within 2^(w-1) above
/// a multiple of 2^w; the assertion shows that it is not. (Its S = -d means that the scalar is 0 modulo n.)
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply<C: Curve<N>, const N: usize>(scalar: &Number<N>, base: &Affine<N>) -> Sum<N> {
    const { assert!(C::ORDER[0] % (1 << C::WINDOW) > 1 << (C::WINDOW - 1)) };
    let entries = const { 1 << (C::WINDOW - 1) };
    let first = Point { x: base.x, y: base.y, z: field::one::<C, N>() };
    let mut table = [first; ENTRIES];
    double::<C, N>(&mut table[1]);
    let one = [Digit { size: same(1), negative: 0, none: 0 }];
    for i in 2..entries {
        let mut sum = [Sum { point: table[i - 1], infinite: 0 }];
        add_affine::<C, N, 1>(&mut sum, &[*base], &one);
        table[i] = sum[0].point;
    }
    let mut sum = nothing();
    for i in (0..digits::<C, N>(C::WINDOW)).rev() {
        if i + 1 < digits::<C, N>(C::WINDOW) {
            for _ in 0..C::WINDOW {
                double::<C, N>(&mut sum.point);
            }
        }
        let digit = digit(scalar, i, C::WINDOW);
        let mut entry = table[0];
        for (i, other) in table[..entries].iter().enumerate().skip(1) {
            let this = _mm512_cmpeq_epi64_mask(digit.size, same(i as u64 + 1));
            entry.x = select(this, &entry.x, &other.x);
            entry.y = select(this, &entry.y, &other.y);
            entry.z = select(this, &entry.z, &other.z);
        }
        add_point::<C, N>(&mut sum, &entry, &digit);
    }
    wipe(&mut table);
    sum
}

/// IFMA instructions of [`affine`], the inverse included.
pub const fn affine_ifma<C: Curve<N>, const N: usize>() -> u64 {
    field::invert_ifma::<C, N>() + field::square_ifma::<C, N>() + 3 * field::product_ifma::<C, N>()
}

/// IFMA instructions of [`on_curve`].
pub const fn on_curve_ifma<C: Curve<N>, const N: usize>() -> u64 {
    2 * field::square_ifma::<C, N>() + 2 * field::product_ifma::<C, N>()
}

/// The affine coordinates in Montgomery form, by the inverse of z.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn affine<C: Curve<N>, const N: usize>(a: &Point<N>, inverse: &Number<N>) -> Affine<N> {
    let square = carry(s::<C, N>(inverse));
    Affine { x: carry(m::<C, N>(&a.x, &square)), y: carry(m::<C, N>(&a.y, &carry(m::<C, N>(inverse, &square)))) }
}

/// The lanes that fulfil the curve's equation.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn on_curve<C: Curve<N>, const N: usize>(a: &Affine<N>) -> __mmask8 {
    let b = field::enter::<C, N>(&constant(&C::B));
    let cube = m::<C, N>(&a.x, &carry(s::<C, N>(&a.x)));
    let right = match const { C::TWIST } {
        None => subtract(&add(&cube, &b), &add(&a.x, &shift::<1, N>(&a.x))),
        Some(twist) => add(&add(&cube, &b), &m::<C, N>(&field::enter::<C, N>(&constant(&twist.a)), &a.x)),
    };
    field::is_zero::<C, N>(&shrink::<C, N>(subtract(&s::<C, N>(&a.y), &right)))
}
