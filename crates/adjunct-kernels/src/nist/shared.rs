//! One multiple of the generator, whose work the eight lanes share, from tables made beforehand.
//!
//! The scalar's signed digits of [`WINDOW`] = 4 bits each have a table of their generator's multiples, so that no doubling is needed
//! (Brickell, Gordon, McCurley and Wilson, EUROCRYPT '92). Lane l sums the digits whose place is l modulo 8, those of even and odd
//! eights apart, so that the CPU works on two sums at once; four more additions sum the sixteen. 40 KB for P-256, 96 KB for P-384,
//! 180 KB for P-521.
//!
//! Entry e of place i is (e + 1) * 2^(4i) * generator. A place of the file is the limbs of x and of y in Montgomery form, each limb 8
//! entries side by side: one vector, from which a permutation by the digits picks. All are loaded, and nothing is indexed by a digit
//! but registers.
//!
//! No addition meets the same point twice, or a point and its opposite. Both would mean that a sum of some of the digits, some
//! with the other sign, is a multiple of n. It is not n or more in size: of a scalar below 2^(BITS-1), as which another is taken by
//! its opposite, all digits but that of place 130 of P-521, which is 0 or 1, are at most 8 in size, and 8 * 16^i for all places is
//! 0.54 * 2^BITS at most, there with 2^520 0.77 * 2^BITS. And it is 0 only where all of these digits are: the lowest other one would
//! be a multiple of 16.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::curve::Curve;
use super::point::{Affine, Digit, Point, Sum, add_affine, add_point, digit_of, nothing, signed};
use super::{field, order, wipe};
use crate::lanes::{LANES, LIMB, MASK, Number, Vector, inverse, same, zero};
use std::arch::x86_64::*;

/// Bits of a window.
pub const WINDOW: usize = 4;
/// Multiples in a place's table: a vector of each limb.
pub const ENTRIES: usize = LANES;

/// Places of a scalar's digits.
pub const fn places<C: Curve<N>, const N: usize>() -> usize {
    C::BITS.div_ceil(WINDOW)
}

/// `scalar` * generator in all lanes, for a scalar of [1, n - 1]; else anything.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply<C: Curve<N>, const N: usize>(scalar: &[u64; N]) -> Sum<N> {
    let (mut scalar, opposite) = halved::<C, N>(scalar);
    let mut sums = [nothing(), nothing()];
    for place in (0..places::<C, N>()).step_by(2 * LANES) {
        let two = [place, place + LANES].map(|place| lanes_digits(&scalar, place));
        let entries = [entries::<C, N>(place, &two[0]), entries::<C, N>(place + LANES, &two[1])];
        if place == 0 {
            sums = [0, 1].map(|k| first::<C, N>(&entries[k], &two[k]));
        } else {
            add_affine::<C, N, 2>(&mut sums, &entries, &two);
        }
    }
    wipe(&mut scalar);
    let [even, odd] = sums;
    let mut sum = lower(&even, &odd);
    add_sum::<C, N>(&mut sum, &upper(&even, &odd));
    let other = turned::<0x4E, 2, N>(&sum);
    add_sum::<C, N>(&mut sum, &other);
    let other = turned::<0x39, 1, N>(&sum);
    add_sum::<C, N>(&mut sum, &other);
    let mut whole = lower(&sum, &sum);
    add_sum::<C, N>(&mut whole, &upper(&sum, &sum));
    let sign = Digit { size: same(1), negative: opposite, none: 0 };
    whole.point.y = signed::<C, N>(&sign, &whole.point.y);
    whole
}

/// 1 / `z` modulo p, of a `z` below 4p that is the same in all lanes, carried.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn invert<C: Curve<N>, const N: usize>(z: &Number<N>) -> Number<N> {
    let [z] = inverse::invert_same([(&field::canonical::<C, N>(z), &C::P)], C::BITS);
    field::from_inverse::<C, N>(&z)
}

/// 1 / `z` modulo p and 1 / `k` modulo n, of a `z` below 4p and a `k` below 2n that are the same in all lanes; carried, the second below 2n.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn invert_both<C: Curve<N>, const N: usize>(z: &Number<N>, k: &Number<N>) -> [Number<N>; 2] {
    let (z, k) = (field::canonical::<C, N>(z), order::canonical::<C, N>(k));
    let [z, k] = inverse::invert_same([(&z, &C::P), (&k, &C::ORDER)], C::BITS);
    [field::from_inverse::<C, N>(&z), order::from_inverse::<C, N>(&k)]
}

/// The scalar where it is below 2^(BITS-1), else n minus the scalar, which then is; and whether it is the latter, in all lanes.
fn halved<C: Curve<N>, const N: usize>(scalar: &[u64; N]) -> ([u64; N], __mmask8) {
    let top = scalar[N - 1] >> ((C::BITS - 1) % LIMB as usize) & 1;
    // The compiler shall not make a branch of it.
    let choose = std::hint::black_box(top.wrapping_neg());
    let (mut out, mut over) = ([0; N], 0i64);
    for (out, (scalar, order)) in out.iter_mut().zip(scalar.iter().zip(&C::ORDER)) {
        let less = *order as i64 - *scalar as i64 + over;
        over = less >> LIMB;
        *out = less as u64 & MASK & choose | scalar & !choose;
    }
    (out, choose as __mmask8)
}

/// The digits of a carried scalar from `place` on, one a lane; 0 beyond the last.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lanes_digits<const N: usize>(scalar: &[u64; N], place: usize) -> Digit {
    let limb = |at: usize| scalar.get(at).copied().unwrap_or(0);
    let mut bits: [u64; LANES] = std::array::from_fn(|lane| match WINDOW * (place + lane) {
        0 => limb(0) << 1,
        // The window's bits and the one below them.
        bit => limb((bit - 1) / 52) >> ((bit - 1) % 52) | limb((bit - 1) / 52 + 1) << (52 - (bit - 1) % 52),
    });
    // SAFETY: a vector's 64 bytes.
    let digits = digit_of(unsafe { _mm512_loadu_si512(bits.as_ptr().cast()) }, WINDOW);
    wipe(&mut bits);
    digits
}

/// The multiple for each lane's digit, by its absolute value: in the first lane a multiple of `place`, in each further lane of the next place; any
/// point for a digit 0.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn entries<C: Curve<N>, const N: usize>(place: usize, digit: &Digit) -> Affine<N> {
    let index = _mm512_sub_epi64(digit.size, same(1));
    let (mut x, mut y): (Number<N>, Number<N>) = ([zero(); N], [zero(); N]);
    const { assert!(ENTRIES == 1 << (WINDOW - 1)) };
    let vectors = C::SHARED_TABLE.as_chunks::<64>().0;
    for lane in 0..LANES.min(places::<C, N>().saturating_sub(place)) {
        let table = &vectors[2 * N * (place + lane)..][..2 * N];
        let pick = |limb: Vector, entries: &[u8; 64]| {
            // SAFETY: a vector's 64 bytes.
            let entries = unsafe { _mm512_loadu_si512(entries.as_ptr().cast()) };
            _mm512_mask_permutexvar_epi64(limb, 1 << lane, index, entries)
        };
        for i in 0..N {
            x[i] = pick(x[i], &table[i]);
            y[i] = pick(y[i], &table[N + i]);
        }
    }
    Affine { x, y }
}

/// Begins a sum with an addend.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn first<C: Curve<N>, const N: usize>(entry: &Affine<N>, digit: &Digit) -> Sum<N> {
    let point = Point { x: entry.x, y: signed::<C, N>(digit, &entry.y), z: field::one::<C, N>() };
    Sum { point, infinite: digit.none }
}

/// `sum` + `other`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn add_sum<C: Curve<N>, const N: usize>(sum: &mut Sum<N>, other: &Sum<N>) {
    add_point::<C, N>(sum, &other.point, &Digit { size: same(1), negative: 0, none: other.infinite });
}

/// The coordinates of `a` and `b`, changed by `by`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn moved<const N: usize>(a: &Sum<N>, b: &Sum<N>, by: impl Fn(Vector, Vector) -> Vector) -> Point<N> {
    let each = |a: &Number<N>, b: &Number<N>| {
        let mut out = *a;
        out.iter_mut().zip(b).for_each(|(a, b)| *a = by(*a, *b));
        out
    };
    let (a, b) = (&a.point, &b.point);
    Point { x: each(&a.x, &b.x), y: each(&a.y, &b.y), z: each(&a.z, &b.z) }
}

/// The lower four lanes of `a` and then of `b`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lower<const N: usize>(a: &Sum<N>, b: &Sum<N>) -> Sum<N> {
    let point = moved(a, b, |a, b| _mm512_shuffle_i64x2::<0x44>(a, b));
    Sum { point, infinite: a.infinite & 0x0F | b.infinite << 4 }
}

/// The upper four lanes of `a` and then of `b`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn upper<const N: usize>(a: &Sum<N>, b: &Sum<N>) -> Sum<N> {
    let point = moved(a, b, |a, b| _mm512_shuffle_i64x2::<0xEE>(a, b));
    Sum { point, infinite: a.infinite >> 4 | b.infinite & 0xF0 }
}

/// Four lanes each turned `BY` lanes down, as the instruction's `CODE` says.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn turned<const CODE: i32, const BY: u32, const N: usize>(a: &Sum<N>) -> Sum<N> {
    let point = moved(a, a, |a, _| _mm512_permutex_epi64::<CODE>(a));
    let stay = 0x11 * (0x0F >> BY);
    Sum { point, infinite: a.infinite >> BY & stay | a.infinite << (4 - BY) & !stay }
}
