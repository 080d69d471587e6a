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
use super::point::{Affine, Digit, Sum, add_affine, add_point, digit, digits, double, nothing};
use crate::lanes::{Number, Vector, same, zero};
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

/// The multiple of window `j` that each lane's digit names, by its absolute value; any for a digit 0.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn entry<C: Curve<N>, const N: usize>(j: usize, digit: &Digit) -> Affine<N> {
    let length = 2 * N * ENTRIES * 8;
    let window = C::TABLE[length * j..][..length].as_chunks::<64>().0;
    let index = _mm512_sub_epi64(digit.size, same(1));
    let upper = _mm512_test_epi64_mask(index, same(16));
    let pick = |limb: usize| {
        let load = |i: usize| {
            let part: &[u8; 64] = &window[4 * limb + i];
            // SAFETY: a vector's 64 bytes.
            unsafe { _mm512_loadu_si512(part.as_ptr().cast()) }
        };
        let low: Vector = _mm512_permutex2var_epi64(load(0), index, load(1));
        let high = _mm512_permutex2var_epi64(load(2), index, load(3));
        _mm512_mask_mov_epi64(low, upper, high)
    };
    let (mut x, mut y): (Number<N>, Number<N>) = ([zero(); N], [zero(); N]);
    for i in 0..N {
        x[i] = pick(i);
        y[i] = pick(N + i);
    }
    Affine { x, y }
}
