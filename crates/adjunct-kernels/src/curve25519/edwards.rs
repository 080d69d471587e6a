//! Multiples of Ed25519's base point in eight lanes.
//!
//! Method: the signed comb of Bernstein, Duif, Lange, Schwabe and Yang ("High-speed high-security signatures", CHES
//! 2011): 64 digits of a scalar from -8 to 8, 64 additions from the table, 4 doublings; extended twisted Edwards
//! coordinates with the complete addition of Hisil, Wong, Carter and Dawson ("Twisted Edwards curves revisited",
//! ASIACRYPT 2008, sections 3.1 and 3.3), 7 products an addition. A lookup loads all eight multiples of a place and
//! permutes them within registers: no address depends on a digit.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::fault;
use super::field::{
    CARRY, Factor, INVERT, LIMBS, MULTIPLY, SQUARE, Sum, carry_all, invert, multiply, multiply_all, product, square,
    square_all,
};
use super::table::{D, PLACES, Row, TABLE};
use crate::lanes::{LANES, Vector, constant, same, zero};
use std::arch::x86_64::*;
use zeroize::Zeroize;

/// IFMA instructions of [`Point::add`].
const ADD: u64 = 7 * MULTIPLY + 7 * CARRY;
/// IFMA instructions of [`Point::double`] less the product T, which only the last doubling's next needs.
const DOUBLE: u64 = 3 * MULTIPLY + 4 * SQUARE + 8 * CARRY;
/// IFMA instructions of [`multiply_base`].
pub(super) const MULTIPLY_BASE: u64 = 2 * PLACES as u64 * ADD + 4 * DOUBLE + MULTIPLY;
/// IFMA instructions of [`Point::affine`].
pub(super) const AFFINE: u64 = INVERT + 3 * CARRY + 2 * (MULTIPLY + CARRY);
/// IFMA instructions of [`Point::montgomery`].
pub(super) const MONTGOMERY: u64 = 2 * CARRY + INVERT + 2 * (MULTIPLY + CARRY) + CARRY + 1;
/// IFMA instructions of [`Point::is_on_curve`].
pub(super) const ON_CURVE: u64 = 4 * SQUARE + 3 * MULTIPLY + 9 * CARRY + 1;

/// Eight points (X : Y : Z : T), x = X/Z, y = Y/Z, T = XY/Z. Y and Z hold a bias, X and T do not.
pub(super) struct Point {
    x: Sum,
    y: Sum,
    z: Sum,
    t: Sum,
}

/// Eight affine points as the table holds them: y + x, y - x, 2 d x y.
struct Entry {
    plus: Factor,
    minus: Factor,
    product: Factor,
}

/// The lanes that look into the `n`th of `N` places: all into the only one, or each into its own.
const fn lanes_of<const N: usize>(n: usize) -> __mmask8 {
    const { assert!(N == 1 || N == LANES) };
    if N == 1 { 0xFF } else { 1 << n }
}

/// Picks in each lane the number that `index` names in one coordinate's rows of the lanes' places; `default` in the lanes not in `mask`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn pick<const N: usize>(rows: [&Row; N], mask: __mmask8, index: Vector, default: u64) -> Factor {
    let mut limbs = [zero(); LIMBS];
    limbs[0] = same(default);
    for (n, row) in rows.iter().enumerate() {
        for (limb, words) in limbs.iter_mut().zip(*row) {
            // SAFETY: the array has a vector's 64 bytes.
            let all = unsafe { _mm512_loadu_si512(words.as_ptr().cast()) };
            *limb = _mm512_mask_permutexvar_epi64(*limb, mask & lanes_of::<N>(n), index, all);
        }
    }
    Factor(limbs)
}

/// The table's entries of the lanes' places, one for all or each its own, for digits from -8 to 8, and the lanes whose point must
/// be negated: y + x and y - x are exchanged already, the sign of the product is left to the addition.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lookup<const N: usize>(places: &[[Row; 3]; N], digit: Vector) -> (Entry, __mmask8) {
    let (negative, nonzero) = (_mm512_cmplt_epi64_mask(digit, zero()), _mm512_test_epi64_mask(digit, digit));
    let index = _mm512_sub_epi64(_mm512_abs_epi64(digit), same(1));
    let plus = pick(places.each_ref().map(|p| &p[0]), nonzero, index, 1);
    let minus = pick(places.each_ref().map(|p| &p[1]), nonzero, index, 1);
    let entry = Entry {
        plus: Factor::select(negative, &plus, &minus),
        minus: Factor::select(negative, &minus, &plus),
        product: pick(places.each_ref().map(|p| &p[2]), nonzero, index, 0),
    };
    (entry, negative)
}

impl Point {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn neutral() -> Self {
        let one = Sum::bias().plus(&Sum::small(1));
        Point { x: Sum::zero(), y: one, z: one, t: Sum::zero() }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add(&self, entry: &Entry, negative: __mmask8) -> Self {
        let [minus, plus, t] = carry_all([self.y.minus(&self.x), self.y.plus(&self.x), self.t]);
        let start = [Sum::zero(), Sum::bias(), Sum::zero()];
        let [a, b, c] = multiply_all::<3, _>(start, [&minus, &plus, &t], [&entry.minus, &entry.plus, &entry.product]);
        let d = self.z.plus(&self.z);
        let (f, g) = (d.plus_or_minus(&c, !negative), d.plus_or_minus(&c, negative));
        let [e, f, g, h] = carry_all([b.minus(&a), f, g, b.plus(&a)]);
        Point::from_factors(&e, &f, &g, &h)
    }

    /// Each lane's point and the one `BY` lanes down.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add_lanes<const BY: i32>(&self) -> Self {
        let [x, y, z, t] = [&self.x, &self.y, &self.z, &self.t].map(|sum| Sum(rotate::<BY, LIMBS>(&sum.0)));
        self.add_point(&Point { x, y, z, t })
    }

    // Not inlined: the products are, where they have few callers.
    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn add_point(&self, other: &Point) -> Self {
        let [minus, plus, t1, z1] = carry_all([self.y.minus(&self.x), self.y.plus(&self.x), self.t, self.z]);
        let doubled = other.t.plus(&other.t);
        let [other_minus, other_plus, t2, z2] =
            carry_all([other.y.minus(&other.x), other.y.plus(&other.x), doubled, other.z]);
        let dt = product(&t2, &Factor(constant(&D)));
        let start = [Sum::zero(), Sum::bias(), Sum::zero(), Sum::bias()];
        let [a, b, c, zz] =
            multiply_all::<4, _>(start, [&minus, &plus, &t1, &z1], [&other_minus, &other_plus, &dt, &z2]);
        let d = zz.plus(&zz);
        let [e, f, g, h] = carry_all([b.minus(&a), d.minus(&c), d.plus(&c), b.plus(&a)]);
        Point::from_factors(&e, &f, &g, &h)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn double(&self) -> Self {
        let [x, y, z, whole] = carry_all([self.x, self.y, self.z, self.x.plus(&self.y)]);
        let [a, b] = square_all::<5, _>([true, false], [&x, &y]);
        let [zz, whole] = square_all::<6, _>([false, false], [&z, &whole]);
        // The paper's E, F, G and H, each with its sign turned: the signs cancel in the products.
        let (h, g) = (a.plus(&b), a.minus(&b));
        let [e, f, g, h] = carry_all([h.minus(&whole), g.plus(&zz).plus(&zz), g, h]);
        Point::from_factors(&e, &f, &g, &h)
    }

    #[inline(never)]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn from_factors(e: &Factor, f: &Factor, g: &Factor, h: &Factor) -> Self {
        let [x, t] = multiply_all::<7, _>([Sum::zero(), Sum::zero()], [e, e], [f, h]);
        let [y, z] = multiply_all::<8, _>([Sum::bias(), Sum::bias()], [g, g], [h, f]);
        Point { x, y, z, t }
    }

    /// x and y.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn affine<const SHARED: bool>(&self) -> [Factor; 2] {
        let inverse = invert::<SHARED>(&self.z.carry());
        [product(&self.x.carry(), &inverse), product(&self.y.carry(), &inverse)]
    }

    /// The u coordinate on the birationally equivalent Montgomery curve (RFC 7748, 4.1): (1 + y) / (1 - y); and the lanes
    /// whose inversion was right.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn montgomery<const SHARED: bool>(&self) -> (Factor, __mmask8) {
        // Both hold a bias; the one subtracted loses nothing but two times another.
        let below = Sum::bias().plus(&Sum::bias()).plus(&self.z).minus(&self.y).carry();
        let inverse = invert::<SHARED>(&below);
        let unit = product(&below, &inverse).sum().plus(&Sum::bias()).minus(&Sum::small(1)).carry();
        (product(&self.z.plus(&self.y).carry(), &inverse), unit.is_zero())
    }

    /// The lanes whose point is on the curve: (Y^2 - X^2) Z^2 = Z^4 + d X^2 Y^2.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn is_on_curve(&self) -> __mmask8 {
        let xx = square::<false>(&self.x.carry());
        let yy = square::<true>(&self.y.carry());
        let zz = square::<false>(&self.z.carry()).carry();
        let left = multiply(Sum::bias().plus(&Sum::bias()), &yy.minus(&xx).carry(), &zz);
        let both = product(&xx.carry(), &yy.carry());
        let right = multiply(square::<false>(&zz), &both, &Factor(constant(&D)));
        left.minus(&right).carry().is_zero()
    }

    /// The lanes whose point is the affine one: x Z = X and y Z = Y.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn equals(&self, [x, y]: &[Factor; 2]) -> __mmask8 {
        let z = self.z.carry();
        let x = multiply(Sum::bias(), x, &z).minus(&self.x).carry();
        // Y holds a bias itself.
        let y = multiply(Sum::bias().plus(&Sum::bias()), y, &z).minus(&self.y).carry();
        x.is_zero() & y.is_zero()
    }
}

/// IFMA instructions of [`Point::equals`].
pub(super) const EQUALS: u64 = 2 * MULTIPLY + 3 * CARRY + 2;

impl Zeroize for Point {
    fn zeroize(&mut self) {
        for sum in [&mut self.x, &mut self.y, &mut self.z, &mut self.t] {
            sum.0.zeroize();
        }
    }
}

/// Adds 0x0888...88, so that the hexadecimal digits, each but the last less 8, are digits from -8 to 8 of the same number.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn recode(scalar: &[Vector; 4]) -> [Vector; 4] {
    let mut out = *scalar;
    let mut over: __mmask8 = 0;
    for (i, word) in out.iter_mut().enumerate() {
        let eights = same(if i == 3 { 0x0888_8888_8888_8888 } else { 0x8888_8888_8888_8888 });
        let sum = _mm512_add_epi64(*word, eights);
        let carried = _mm512_mask_add_epi64(sum, over, sum, same(1));
        // At most one of the two additions wraps.
        over = _mm512_cmplt_epu64_mask(sum, eights) | _mm512_cmplt_epu64_mask(carried, sum);
        *word = carried;
    }
    out
}

/// `scalar` * B for scalars below 2^255.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply_base(scalar: &[Vector; 4]) -> Point {
    let mut digits = recode(scalar);
    let mut point = Point::neutral();
    for odd in [1, 0] {
        for place in 0..PLACES {
            let at = 2 * place + odd;
            let word = _mm512_srlv_epi64(digits[at / 16], same(at as u64 % 16 * 4));
            let excess = if at == 2 * PLACES - 1 { 0 } else { 8 };
            let digit = _mm512_sub_epi64(_mm512_and_si512(word, same(15)), same(excess));
            let (entry, negative) = lookup(std::array::from_ref(&TABLE.0[place]), digit);
            point = point.add(&entry, negative);
            fault::inject(fault::COMB, at, &mut point.x.0[0]);
        }
        if odd == 1 {
            for _ in 0..4 {
                point = point.double();
            }
        }
    }
    digits.zeroize();
    point
}

/// Multiplies the base by one `scalar`, which all lanes have; the lanes share the work and all end with the product: a lane sums the digits of every
/// eighth place, and three additions sum the lanes.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply_base_shared(scalar: &[Vector; 4]) -> Point {
    let mut digits = recode(scalar);
    let mut point = Point::neutral();
    for odd in [1, 0] {
        // Of a word's 16 digits, lane i takes one of the two of byte i.
        let shifts = _mm512_add_epi64(_mm512_set_epi64(56, 48, 40, 32, 24, 16, 8, 0), same(4 * odd));
        for (i, (word, places)) in digits.iter().zip(TABLE.0.as_chunks::<LANES>().0).enumerate() {
            let last: __mmask8 = if odd == 1 && i == 3 { 1 << 7 } else { 0 };
            let excess = _mm512_maskz_mov_epi64(!last, same(8));
            let digit = _mm512_sub_epi64(_mm512_and_si512(_mm512_srlv_epi64(*word, shifts), same(15)), excess);
            let (entry, negative) = lookup(places, digit);
            point = point.add(&entry, negative);
            fault::inject(fault::COMB, 2 * i + odd as usize, &mut point.x.0[0]);
        }
        if odd == 1 {
            for _ in 0..4 {
                point = point.double();
            }
        }
    }
    digits.zeroize();
    point.add_lanes::<4>().add_lanes::<2>().add_lanes::<1>()
}

/// The encoding of affine points (RFC 8032, 5.1.2): y, and the lowest bit of x on top.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn encode([x, y]: &[Factor; 2]) -> [Vector; 4] {
    let mut words = y.to_words();
    words[3] = _mm512_or_si512(words[3], _mm512_slli_epi64::<63>(x.to_words()[0]));
    words
}

/// IFMA instructions of [`encode`].
pub(super) const ENCODE: u64 = 2;

/// The elements `BY` lanes down, the first in the last.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn rotate<const BY: i32, const N: usize>(vectors: &[Vector; N]) -> [Vector; N] {
    let mut out = *vectors;
    for v in &mut out {
        *v = _mm512_alignr_epi64::<BY>(*v, *v);
    }
    out
}
