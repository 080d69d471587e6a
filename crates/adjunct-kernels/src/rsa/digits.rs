//! Numbers whose digits lie side by side in vectors: arithmetic for an operation that runs alone.
//!
//! Numbers are D digits of 52 bits, eight of them in a vector. A product is Montgomery's, almost reduced (Gueron, "Efficient software
//! implementations of modular exponentiation", 2012): a * b / R modulo m, where R = 2^(52 D).
//!
//! What takes time is not the multiplications but that each step waits for the lowest digit of the one before. So all steps but the last
//! reduce by the multiple k m whose lowest digit is -1 modulo 2^52: there the factor is the lowest digit itself, and to add factor * k m
//! and to leave out the lowest digit is to add factor * (k m + 1) / 2^52 to the others. The last step reduces by m and so brings the result,
//! which would be 52 bits longer, back: all factors together are below 2m R, so that the result is below 2m + a b / R, and below 3m where
//! a b is below m R, which is more than 2^15 m^2. What else a step adds is summed apart and does not wait. And of several products with
//! moduli of their own ([`products`]) one goes on while another waits.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::plain;
use crate::lanes::{LIMB, MASK, limbs_from_be, montgomery};
use core::arch::x86_64::*;
use core::array::from_fn;
use zeroize::Zeroize;

/// Digits of a vector.
const WIDTH: usize = 8;

/// A number; the digits above D are 0.
#[derive(Clone, Copy, Zeroize)]
#[repr(C, align(64))]
pub(super) struct Digits<const V: usize>(pub [[u64; WIDTH]; V]);

impl<const V: usize> Digits<V> {
    pub(super) const ZERO: Digits<V> = Digits([[0; WIDTH]; V]);
    pub(super) const ONE: Digits<V> = {
        let mut one = Digits::ZERO;
        one.0[0][0] = 1;
        one
    };

    /// Converts limbs of 52 bits, as many as there are digits.
    #[inline]
    pub(super) fn of_limbs(limbs: &[u64]) -> Digits<V> {
        let mut out = Digits::ZERO;
        out.0.as_flattened_mut()[..limbs.len()].copy_from_slice(limbs);
        out
    }

    /// Converts a big-endian number of D digits.
    pub(super) fn of_bytes<const D: usize>(bytes: &[u8]) -> Digits<V> {
        let mut limbs = limbs_from_be::<D>(bytes);
        let out = Digits::of_limbs(&limbs);
        crate::wipe(&mut limbs);
        out
    }

    /// The lowest N digits.
    pub(super) fn limbs<const N: usize>(&self) -> &[u64; N] {
        self.0.as_flattened().first_chunk().expect("no more digits than there are")
    }

    #[inline]
    pub(super) fn digit(&self, at: usize) -> u64 {
        self.0.as_flattened()[at]
    }

    /// Whether the number is below another, in constant time.
    pub(super) fn is_below(&self, other: &Digits<V>) -> bool {
        self.minus(other).1 != 0
    }

    /// The sum, below 2^(52 * 8 V).
    pub(super) fn plus(&self, other: &Digits<V>) -> Digits<V> {
        let (mut out, mut over) = (Digits::ZERO, 0);
        for at in 0..WIDTH * V {
            let sum = self.digit(at) + other.digit(at) + over;
            over = sum >> LIMB;
            out.0[at / WIDTH][at % WIDTH] = sum & MASK;
        }
        out
    }

    /// The difference modulo 2^(52 * 8 V), and what was borrowed.
    pub(super) fn minus(&self, other: &Digits<V>) -> (Digits<V>, u64) {
        let (mut out, mut borrow) = (Digits::ZERO, 0);
        for at in 0..WIDTH * V {
            let difference = self.digit(at).wrapping_sub(other.digit(at)).wrapping_sub(borrow);
            borrow = difference >> 63;
            out.0[at / WIDTH][at % WIDTH] = difference & MASK;
        }
        (out, borrow)
    }

    /// The number modulo `n`, which is below 3n.
    pub(super) fn reduced(&self, n: &Digits<V>) -> Digits<V> {
        let once = |number: &Digits<V>| {
            let (difference, borrow) = number.minus(n);
            let keep = borrow.wrapping_neg();
            let pick = |at: usize| (number.digit(at) & keep) | (difference.digit(at) & !keep);
            Digits(from_fn(|vector| from_fn(|lane| pick(WIDTH * vector + lane))))
        };
        once(&once(self))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn load(&self) -> [__m512i; V] {
        // SAFETY: as many bytes as a vector has.
        from_fn(|vector| unsafe { _mm512_loadu_si512(self.0[vector].as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn store(&mut self, vectors: [__m512i; V]) {
        for (lanes, vector) in self.0.iter_mut().zip(vectors) {
            // SAFETY: as many bytes as a vector has.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), vector) };
        }
    }

    /// The number with these digits, which may be as long as 61 bits.
    #[target_feature(enable = "avx512f")]
    fn of_sums(sums: [__m512i; V]) -> Digits<V> {
        let (zero, mask) = (_mm512_setzero_si512(), _mm512_set1_epi64(MASK.cast_signed()));
        let above = sums.map(|sum| _mm512_srli_epi64::<LIMB>(sum));
        let mut digits: [__m512i; V] = from_fn(|v| {
            let from = _mm512_alignr_epi64::<7>(above[v], if v > 0 { above[v - 1] } else { zero });
            _mm512_add_epi64(_mm512_and_si512(sums[v], mask), from)
        });
        // Now each carries 1 at most: those above the mask do, those that are the mask where one comes from below. To add them as bits has
        // the carries go through all the second ones.
        let (mut carries, mut passes) = (0u128, 0u128);
        for digits in digits.iter().rev() {
            carries = carries << WIDTH | u128::from(_mm512_cmpgt_epu64_mask(*digits, mask));
            passes = passes << WIDTH | u128::from(_mm512_cmpeq_epu64_mask(*digits, mask));
        }
        let come = if WIDTH * V < 64 {
            // In one register.
            let (carries, passes) = (carries as u64, passes as u64);
            u128::from(((carries << 1) + passes) ^ passes)
        } else {
            ((carries << 1) + passes) ^ passes
        };
        let mut out = Digits::ZERO;
        for (v, (lanes, digits)) in out.0.iter_mut().zip(&mut digits).enumerate() {
            let come = (come >> (WIDTH * v)) as __mmask8;
            *digits = _mm512_mask_add_epi64(*digits, come, *digits, _mm512_set1_epi64(1));
            // SAFETY: as many bytes as a vector has.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), _mm512_and_si512(*digits, mask)) };
        }
        out
    }
}

/// A modulus of D digits.
#[derive(Clone, Zeroize)]
pub(super) struct Modulus<const V: usize> {
    pub m: Digits<V>,
    /// (k m + 1) / 2^52.
    pub multiple: Digits<V>,
    /// k = -1/m modulo 2^52.
    pub inverse: u64,
}

impl<const V: usize> Modulus<V> {
    /// Makes the constants of an odd modulus.
    pub(super) fn new<const D: usize>(m: &[u64; D]) -> Modulus<V> {
        let (multiple, inverse) = (plain::fold(m), montgomery::k0(m[0]));
        Modulus { m: Digits::of_limbs(m), multiple: Digits::of_limbs(&multiple), inverse }
    }
}

/// Montgomery products, pair by pair: a * b / R modulo the pair's modulus, below 2m + a b / R for factors below R. D is the number of digits.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn products<const K: usize, const D: usize, const V: usize>(
    a: [&Digits<V>; K],
    b: [&Digits<V>; K],
    moduli: &[Modulus<V>; K],
) -> [Digits<V>; K] {
    const { assert!(D <= WIDTH * V && WIDTH * (V - 1) < D && D > 2) };
    let zero = _mm512_setzero_si512();
    let mut sums = [[zero; V]; K];
    let [mut before, mut factor, mut before_digit] = [[zero; K]; 3];
    // Each digit of a sum takes four numbers of 52 bits in each of at most 80 steps: below 2^61.
    for at in 0..D - 1 {
        for k in 0..K {
            let digit = _mm512_set1_epi64(b[k].digit(at).cast_signed());
            let sum = step(sums[k], a[k], (digit, before_digit[k]), &moduli[k].multiple, (factor[k], before[k]));
            before_digit[k] = digit;
            before[k] = factor[k];
            // The factor's bits above 52 are not multiplied.
            factor[k] = _mm512_broadcastq_epi64(_mm512_castsi512_si128(sum[0]));
            sums[k] = sum;
        }
    }
    for k in 0..K {
        let digit = _mm512_set1_epi64(b[k].digit(D - 1).cast_signed());
        let Modulus { m, multiple, inverse } = &moduli[k];
        let mut sum = step(sums[k], a[k], (digit, before_digit[k]), multiple, (factor[k], before[k]));
        let low = _mm512_broadcastq_epi64(_mm512_castsi512_si128(sum[0]));
        let last = _mm512_madd52lo_epu64(zero, low, _mm512_set1_epi64(inverse.cast_signed()));
        let (a, m, multiple) = (a[k].load(), m.load(), multiple.load());
        let high: [__m512i; V] = from_fn(|v| {
            let high = _mm512_madd52hi_epu64(_mm512_madd52hi_epu64(zero, a[v], digit), multiple[v], factor[k]);
            _mm512_madd52hi_epu64(high, m[v], last)
        });
        for v in 0..V {
            sum[v] = _mm512_madd52lo_epu64(sum[v], m[v], last);
        }
        // The lowest digit has become 0, and goes.
        sum = down(sum);
        sums[k] = from_fn(|v| _mm512_add_epi64(sum[v], high[v]));
    }
    super::fault::strike(&mut sums);
    sums.map(|sum| Digits::of_sums(sum))
}

/// A step: the sum without its lowest digit, with the low halves of this step's products and the high halves of those before, which are
/// one digit higher. `digits` are those of b, `factors` the lowest digits of the sum before this step and before that one.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn step<const V: usize>(
    sum: [__m512i; V],
    a: &Digits<V>,
    digits: (__m512i, __m512i),
    multiple: &Digits<V>,
    factors: (__m512i, __m512i),
) -> [__m512i; V] {
    let (a, multiple, sum) = (a.load(), multiple.load(), down(sum));
    from_fn(|v| {
        let mut added = _mm512_madd52lo_epu64(_mm512_setzero_si512(), a[v], digits.0);
        added = _mm512_madd52hi_epu64(added, a[v], digits.1);
        added = _mm512_madd52hi_epu64(added, multiple[v], factors.1);
        // Last: the others do not wait for it.
        _mm512_add_epi64(sum[v], _mm512_madd52lo_epu64(added, multiple[v], factors.0))
    })
}

/// All digits in the places of those below; of the lowest, what is above its 52 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn down<const V: usize>(digits: [__m512i; V]) -> [__m512i; V] {
    let carry = _mm512_maskz_srli_epi64::<LIMB>(1, digits[0]);
    let mut out = from_fn(|v| {
        _mm512_alignr_epi64::<1>(if v + 1 < V { digits[v + 1] } else { _mm512_setzero_si512() }, digits[v])
    });
    out[0] = _mm512_add_epi64(out[0], carry);
    out
}
