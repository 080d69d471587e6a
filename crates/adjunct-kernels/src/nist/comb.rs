//! Multiples of the generator in eight lanes, from tables made beforehand.
//!
//! The scalar's signed digits of [`WINDOW`] = 6 bits each have a table of their generator's multiples, so that no doubling is
//! needed (Brickell, Gordon, McCurley and Wilson, EUROCRYPT '92); two neighbours share one, with six doublings between all
//! odd and all even digits (Lim and Lee, CRYPTO '94), for half the memory: 55 KB for P-256, 132 KB for P-384.
//!
//! Entry e of window j is (e + 1) * 2^(12j) * generator. A window of the file is the limbs of x and of y in Montgomery form,
//! each limb 32 entries side by side, so one permutation by the digits picks from 16 entries for eight lanes at once: all
//! are loaded, and nothing is indexed by a digit but registers. For the instruction count see [`multiply_ifma`].
//!
//! No addition meets the same point twice. All sums are sums of digits of -32 to 32 at different powers of 64, so if one
//! equals the next addend or its opposite, a sum of such digits is 0; then its lowest digit is a multiple of 64, that is,
//! 0, and so are all. That leaves equality modulo n, and the sums are too small for it (below n, as 2^BITS < 2n and all
//! digits below the top one sum up to 0.51 of its place), but for the last addend of P-256 and P-384, the top digit's,
//! whose place is 2^252 and 2^384: the whole scalar k = sum + addend is then 2 * addend - n or 2 * (addend - n), and that is
//! above n, or has no such top digit, or demands a sum above 0.51 * 2^252.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::curve::Curve;
use super::field;
use super::point::{Affine, Digit, Sum, add_affine, digit, digits, double, nothing};
use crate::lanes::{Number, Vector, same, zero};
use std::arch::x86_64::*;

/// Bits of a window.
pub const WINDOW: usize = 6;
/// Multiples in a window's table.
pub const ENTRIES: usize = 1 << (WINDOW - 1);

/// IFMA instructions of [`multiply`].
pub const fn multiply_ifma<C: Curve<N>, const N: usize>() -> u64 {
    let (m, s) = (field::product_ifma::<C, N>(), field::square_ifma::<C, N>());
    digits::<C, N>(WINDOW) as u64 * (8 * m + 3 * s) + WINDOW as u64 * (4 * m + 4 * s)
}

/// `scalar` * generator for scalars of [1, n - 1]; other lanes hold anything.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply<C: Curve<N>, const N: usize>(scalar: &Number<N>) -> Sum<N> {
    let mut sum = nothing();
    for odd in [1, 0] {
        for i in (odd..digits::<C, N>(WINDOW)).step_by(2) {
            let digit = digit(scalar, i, WINDOW);
            add_affine::<C, N>(&mut sum, &entry::<C, N>(i / 2, &digit), &digit);
        }
        if odd == 1 {
            for _ in 0..WINDOW {
                double::<C, N>(&mut sum.point);
            }
        }
    }
    sum
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
