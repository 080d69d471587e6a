//! Multiples of the generator in eight lanes, from tables made beforehand.
//!
//! The scalar's signed digits of [`WINDOW`] = 6 bits each have a table of their generator's multiples, so that no doubling is
//! needed (Brickell, Gordon, McCurley and Wilson, EUROCRYPT '92); two neighbours share one, with six doublings between the
//! sum of the odd and that of the even digits (Lim and Lee, CRYPTO '94), for half the memory: 55 KB for P-256, 132 KB for
//! P-384, 242 KB for P-521. The two sums do not depend on each other, so the CPU works on both at once.
//!
//! Entry e of window j is (e + 1) * 2^(12j) * generator. A window of the file is the limbs of x and of y in Montgomery form,
//! each limb 32 entries side by side, so one permutation by the digits picks from 16 entries for eight lanes at once: all
//! are loaded, and nothing is indexed by a digit but registers. For the instruction count see [`multiply_ifma`].
//!
//! No addition meets the same point twice, or a point and its opposite but where k = 0. Both would mean that a sum of digits
//! c_i * 64^i, |c_i| <= 32, is a multiple of n. Is it 0, its lowest digit is a multiple of 64, that is, 0, and so are all. Is
//! it n or -n: digits that reach so far are only the top one of 2^BITS (scalars rounded up) with others below it that make
//! it n = 2^BITS - X. These others have the leading digit of X, at an odd place i ([`multiply`] asserts that; its value is
//! well between 0.51 and 31), and it is negative. While the even digits are summed there is none at an odd place. In the last
//! addition, of the sums E of the even and O of the odd ones, E + O = k < n and E - O = n need O < 0, but in E - O the digits
//! of O are negated, so O's leading digit is that of X, and O > 0.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::curve::{Curve, gap_bits};
use super::field;
use super::point::{
    Affine, Digit, Point, Sum, add_affine, add_point, digit, digit_of, digits, double, nothing, signed,
};
use crate::lanes::{LANES, Number, Vector, same, zero};
use std::arch::x86_64::*;

/// Bits of a window.
pub const WINDOW: usize = 6;
/// Multiples in a window's table.
pub const ENTRIES: usize = 1 << (WINDOW - 1);

/// IFMA instructions of [`multiply`].
pub const fn multiply_ifma<C: Curve<N>, const N: usize>() -> u64 {
    let (m, s) = (field::product_ifma::<C, N>(), field::square_ifma::<C, N>());
    digits::<C, N>(WINDOW).next_multiple_of(2) as u64 * (8 * m + 3 * s)
        + WINDOW as u64 * (4 * m + 4 * s)
        + 12 * m
        + 4 * s
}

/// `scalar` * generator for scalars of [1, n - 1]; other lanes hold anything.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply<C: Curve<N>, const N: usize>(scalar: &Number<N>) -> Sum<N> {
    const { assert!((gap_bits(C::BITS, &C::ORDER) - 1) / WINDOW % 2 == 1) };
    let mut sums = [nothing(), nothing()];
    let digits = digits::<C, N>(WINDOW);
    for i in (0..digits).step_by(2) {
        let two = [i, i + 1].map(|i| digit(scalar, i, WINDOW));
        add_affine::<C, N, 2>(&mut sums, &two.each_ref().map(|digit| entry::<C, N>(i / 2, digit)), &two);
    }
    let [mut even, mut odd] = sums;
    for _ in 0..WINDOW {
        double::<C, N>(&mut odd.point);
    }
    add_point::<C, N>(&mut even, &odd.point, &Digit { size: same(1), negative: 0, none: odd.infinite });
    even
}

/// As [`multiply`] for one `scalar`, whose work the lanes share, and which all end with the product. A lane sums the digits of every
/// eighth window, the even and the odd apart, and then the lanes are summed. Even and odd digits meet in the last addition alone, as
/// there, so that what is said above of the same point holds.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply_shared<C: Curve<N>, const N: usize>(scalar: &[u64; N]) -> Sum<N> {
    let mut sums = [nothing(), nothing()];
    for j in (0..digits::<C, N>(WINDOW).div_ceil(2)).step_by(LANES) {
        let two = [0, 1].map(|odd| lanes_digits(scalar, 2 * j + odd));
        let entries = lanes_entries::<C, N>(j, &two);
        if j == 0 {
            sums = [0, 1].map(|k| first::<C, N>(&entries[k], &two[k]));
        } else {
            add_affine::<C, N, 2>(&mut sums, &entries, &two);
        }
    }
    // From here on the lower lanes sum the even digits, the upper ones the odd.
    let [even, odd] = sums;
    let mut both = lower(&even, &odd);
    add_sum::<C, N>(&mut both, &upper(&even, &odd));
    let other = turned::<0x4E, 2, N>(&both);
    add_sum::<C, N>(&mut both, &other);
    let other = turned::<0x39, 1, N>(&both);
    add_sum::<C, N>(&mut both, &other);
    let mut sum = lower(&both, &both);
    for _ in 0..WINDOW {
        double::<C, N>(&mut both.point);
    }
    add_sum::<C, N>(&mut sum, &upper(&both, &both));
    sum
}

/// Digit `i` of a carried scalar in the first lane, and in each other the second after the one before; 0 beyond the last.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lanes_digits<const N: usize>(scalar: &[u64; N], i: usize) -> Digit {
    let limb = |at: usize| scalar.get(at).copied().unwrap_or(0);
    let bits: [u64; LANES] = std::array::from_fn(|lane| match WINDOW * (i + 2 * lane) {
        0 => limb(0) << 1,
        // The window's bits and the one below them.
        bit => limb((bit - 1) / 52) >> ((bit - 1) % 52) | limb((bit - 1) / 52 + 1) << (52 - (bit - 1) % 52),
    });
    // SAFETY: a vector's 64 bytes.
    digit_of(unsafe { _mm512_loadu_si512(bits.as_ptr().cast()) }, WINDOW)
}

/// A sum of one addend.
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

/// The table of window `j`.
#[inline]
fn window<C: Curve<N>, const N: usize>(j: usize) -> &'static [[u8; 64]] {
    let length = 2 * N * ENTRIES * 8;
    C::TABLE[length * j..][..length].as_chunks().0
}

/// Where entries stand in a limb's 32, by the digits' absolute values; any for a digit 0.
struct Index {
    entry: Vector,
    /// The lanes whose entry is one of the last 16.
    upper: __mmask8,
}

impl Index {
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn of(digit: &Digit) -> Index {
        let entry = _mm512_sub_epi64(digit.size, same(1));
        Index { entry, upper: _mm512_test_epi64_mask(entry, same(16)) }
    }

    /// What each lane's digit names of limb `limb`'s entries.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn pick(&self, window: &[[u8; 64]], limb: usize) -> Vector {
        let load = |i: usize| {
            // SAFETY: a vector's 64 bytes.
            unsafe { _mm512_loadu_si512(window[4 * limb + i].as_ptr().cast()) }
        };
        let low: Vector = _mm512_permutex2var_epi64(load(0), self.entry, load(1));
        let high = _mm512_permutex2var_epi64(load(2), self.entry, load(3));
        _mm512_mask_mov_epi64(low, self.upper, high)
    }
}

/// The multiple of window `j` that each lane's digit names, by its absolute value; any for a digit 0.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn entry<C: Curve<N>, const N: usize>(j: usize, digit: &Digit) -> Affine<N> {
    let (window, index) = (window::<C, N>(j), Index::of(digit));
    let (mut x, mut y): (Number<N>, Number<N>) = ([zero(); N], [zero(); N]);
    for i in 0..N {
        x[i] = index.pick(window, i);
        y[i] = index.pick(window, N + i);
    }
    Affine { x, y }
}

/// The multiples that two digits of each lane name, of window `j` in the first lane and of the next in the next.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn lanes_entries<C: Curve<N>, const N: usize>(j: usize, two: &[Digit; 2]) -> [Affine<N>; 2] {
    let indices = [Index::of(&two[0]), Index::of(&two[1])];
    let mut out = [Affine { x: [zero(); N], y: [zero(); N] }; 2];
    for lane in 0..LANES.min(digits::<C, N>(WINDOW).div_ceil(2) - j) {
        let window = window::<C, N>(j + lane);
        for (out, index) in out.iter_mut().zip(&indices) {
            for i in 0..N {
                out.x[i] = _mm512_mask_mov_epi64(out.x[i], 1 << lane, index.pick(window, i));
                out.y[i] = _mm512_mask_mov_epi64(out.y[i], 1 << lane, index.pick(window, N + i));
            }
        }
    }
    out
}
