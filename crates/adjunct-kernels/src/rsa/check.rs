//! One RSA result checked with the public exponent: a single number in the eight digits of each vector, for those that have one operation
//! and no batch.
//!
//! Numbers are D digits of 52 bits. A product is Montgomery's, almost reduced (Gueron, "Efficient software implementations of modular
//! exponentiation", 2012): a * b / R modulo n, where R = 2^(52 D).
//!
//! What takes time is not the multiplications but that each step waits for the lowest digit of the one before. So all steps but the last
//! reduce by the multiple k n whose lowest digit is -1 modulo 2^52: there the factor is the lowest digit itself, and to add factor * k n
//! and to leave out the lowest digit is to add factor * (k n + 1) / 2^52 to the others. The last step reduces by n and so brings the result,
//! which would be 52 bits longer, back: all factors together are below 2n R, so that the result is below 2n + a b / R, and below 3n for
//! factors below 3n, since R is more than 9n.
//!
//! Nothing is brought into Montgomery's form. Products of `output` alone leave output^e / R^(e-1); products of 1 alone leave 1 / R^(e-2),
//! which is made once for a key. So output^e = input where output^e / R^(e-1) and input * 1 / R^(e-2) / R are equal modulo n.

use core::arch::x86_64::*;
use core::array::from_fn;
use zeroize::Zeroize;

const BITS: usize = 52;
const MASK: u64 = (1 << BITS) - 1;
/// Digits of a vector.
const WIDTH: usize = 8;

/// A number; the digits above D are 0.
#[derive(Clone, Copy, Zeroize)]
#[repr(C, align(64))]
struct Digits<const V: usize>([[u64; WIDTH]; V]);

impl<const V: usize> Digits<V> {
    /// Of big-endian bytes.
    fn new(bytes: &[u8]) -> Digits<V> {
        // Little-endian words, with zeros above the last.
        let word = |at: usize| {
            let rest = &bytes[..bytes.len().saturating_sub(8 * at)];
            match rest.last_chunk() {
                Some(word) => u64::from_be_bytes(*word),
                None => rest.iter().fold(0u64, |sum, &byte| (sum << 8) | u64::from(byte)),
            }
        };
        let digit = |at: usize| {
            let (from, shift) = (BITS * at / 64, BITS * at % 64);
            let above = if shift > 64 - BITS { word(from + 1) << (64 - shift) } else { 0 };
            ((word(from) >> shift) | above) & MASK
        };
        Digits(from_fn(|vector| from_fn(|lane| digit(WIDTH * vector + lane))))
    }

    fn digit(&self, at: usize) -> u64 {
        self.0[at / WIDTH][at % WIDTH]
    }

    /// Whether it is below another, in the same time whatever they are.
    fn is_below(&self, other: &Digits<V>) -> bool {
        self.minus(other).1 != 0
    }

    /// The difference modulo 2^(52 * 8 V), and what was borrowed.
    fn minus(&self, other: &Digits<V>) -> (Digits<V>, u64) {
        let (mut out, mut borrow) = (Digits([[0; WIDTH]; V]), 0);
        for at in 0..WIDTH * V {
            let difference = self.digit(at).wrapping_sub(other.digit(at)).wrapping_sub(borrow);
            borrow = difference >> 63;
            out.0[at / WIDTH][at % WIDTH] = difference & MASK;
        }
        (out, borrow)
    }

    /// The number modulo `n`, which is below 3n.
    fn reduced(&self, n: &Digits<V>) -> Digits<V> {
        let once = |number: &Digits<V>| {
            let (difference, borrow) = number.minus(n);
            let keep = borrow.wrapping_neg();
            let pick = |at: usize| (number.digit(at) & keep) | (difference.digit(at) & !keep);
            Digits(from_fn(|vector| from_fn(|lane| pick(WIDTH * vector + lane))))
        };
        once(&once(self))
    }

    #[target_feature(enable = "avx512f")]
    fn load(&self) -> [__m512i; V] {
        // SAFETY: as many bytes as a vector has.
        from_fn(|vector| unsafe { _mm512_loadu_si512(self.0[vector].as_ptr().cast()) })
    }

    /// The number with these digits, which may be as long as 61 bits.
    #[target_feature(enable = "avx512f")]
    fn of_sums(sums: [__m512i; V]) -> Digits<V> {
        let (zero, mask) = (_mm512_setzero_si512(), _mm512_set1_epi64(MASK.cast_signed()));
        let above = sums.map(|sum| _mm512_srli_epi64::<{ BITS as u32 }>(sum));
        let mut digits: [__m512i; V] = from_fn(|v| {
            let from = _mm512_alignr_epi64::<7>(above[v], if v > 0 { above[v - 1] } else { zero });
            _mm512_add_epi64(_mm512_and_si512(sums[v], mask), from)
        });
        // Now each carries 1 at most: those above the mask do, those that are the mask where one comes from below. To add them as bits has
        // the carries go through all the second ones.
        let (mut carries, mut passes) = (0u128, 0u128);
        for (v, digits) in digits.iter().enumerate() {
            carries |= u128::from(_mm512_cmpgt_epu64_mask(*digits, mask)) << (WIDTH * v);
            passes |= u128::from(_mm512_cmpeq_epu64_mask(*digits, mask)) << (WIDTH * v);
        }
        let come = ((carries << 1) + passes) ^ passes;
        let mut out = Digits([[0; WIDTH]; V]);
        for (v, (lanes, digits)) in out.0.iter_mut().zip(&mut digits).enumerate() {
            let come = (come >> (WIDTH * v)) as __mmask8;
            *digits = _mm512_mask_add_epi64(*digits, come, *digits, _mm512_set1_epi64(1));
            // SAFETY: as many bytes as a vector has.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), _mm512_and_si512(*digits, mask)) };
        }
        out
    }
}

/// What results of a key are checked with: its modulus of D digits, in V vectors, and its public exponent.
#[derive(Clone)]
pub struct CheckKey<const D: usize, const V: usize> {
    n: Digits<V>,
    /// k = -1/n modulo 2^52.
    inverse: u64,
    /// (k n + 1) / 2^52.
    multiple: Digits<V>,
    e: u64,
    /// 1 / R^(e-2).
    one: Digits<V>,
}

crate::opaque_debug!(CheckKey<const D, const V>);

impl<const D: usize, const V: usize> CheckKey<D, V> {
    /// From big-endian numbers; `None` unless `n` is odd and as long as this size says, and `e` is odd, at least 3 and at most 64 bits long.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn new(n: &[u8], e: &[u8]) -> Option<CheckKey<D, V>> {
        const { assert!(D <= WIDTH * V && WIDTH * (V - 1) < D) };
        let e = e.iter().try_fold(0u64, |sum, &b| Some(sum.checked_mul(256)? | u64::from(b)))?;
        let fits = n.len() == super::key::modulus_bits(D) / 8 && n[0] & 0x80 != 0 && n[n.len() - 1] & 1 != 0;
        if !fits || e < 3 || e & 1 == 0 {
            return None;
        }
        let digits = Digits::<V>::new(n);
        // Newton's iteration doubles the bits that are right, from three on.
        let low = digits.digit(0);
        let inverse = (0..5).fold(low, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(low.wrapping_mul(inverse))));
        let inverse = inverse.wrapping_neg() & MASK;
        let (mut multiple, mut sum) = (Digits([[0; WIDTH]; V]), 1u128);
        for at in 0..D {
            sum += u128::from(digits.digit(at)) * u128::from(inverse);
            if let Some(below) = at.checked_sub(1) {
                multiple.0[below / WIDTH][below % WIDTH] = sum as u64 & MASK;
            }
            sum >>= BITS;
        }
        multiple.0[(D - 1) / WIDTH][(D - 1) % WIDTH] = sum as u64;
        let mut key = CheckKey { n: digits, inverse, multiple, e, one: digits };
        let mut one = Digits([[0; WIDTH]; V]);
        one.0[0][0] = 1;
        key.one = key.power(&one, e - 1);
        Some(key)
    }

    /// Whether `output`^e is `input` modulo n. Both are big-endian, as long as the modulus and below it.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn is_right(&self, input: &[u8], output: &[u8]) -> bool {
        let length = super::key::modulus_bits(D) / 8;
        if input.len() != length || output.len() != length {
            return false;
        }
        let (input, mut output) = (Digits::new(input), Digits::new(output));
        if !input.is_below(&self.n) || !output.is_below(&self.n) {
            return false;
        }
        let mut power = self.power(&output, self.e);
        let mut left = power.reduced(&self.n);
        let right = self.product(&input, &self.one).reduced(&self.n);
        let differ = (0..D).fold(0, |sum, at| sum | (left.digit(at) ^ right.digit(at)));
        // What is decrypted is secret.
        for number in [&mut output, &mut power, &mut left] {
            crate::wipe(number.0.as_flattened_mut());
        }
        differ == 0
    }

    /// a^e / R^(e-1) modulo n, below 3n for an `a` below 3n.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn power(&self, a: &Digits<V>, e: u64) -> Digits<V> {
        let mut power = *a;
        for bit in (0..e.ilog2()).rev() {
            power = self.product(&power, &power);
            if (e >> bit) & 1 != 0 {
                power = self.product(&power, a);
            }
        }
        power
    }

    /// a * b / R modulo n, below 3n for factors below 3n.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn product(&self, a: &Digits<V>, b: &Digits<V>) -> Digits<V> {
        let zero = _mm512_setzero_si512();
        let (a, n, multiple) = (a.load(), self.n.load(), self.multiple.load());
        // What is added of a * b, and of multiples of n: apart, so that neither waits for the other. Every digit takes two numbers of 52
        // bits in each of at most 80 steps: below 2^60.
        let (mut product, mut multiples) = ([zero; V], [zero; V]);
        let mut before = zero;
        for at in 0..D - 1 {
            let digit = _mm512_set1_epi64(b.digit(at).cast_signed());
            for v in 0..V {
                product[v] = _mm512_madd52lo_epu64(product[v], a[v], digit);
            }
            // The factor's bits above 52 are not multiplied.
            let low = _mm512_add_epi64(product[0], multiples[0]);
            let factor = _mm512_broadcastq_epi64(_mm512_castsi512_si128(low));
            let carry = _mm512_maskz_srli_epi64::<{ BITS as u32 }>(1, low);
            (product, multiples) = (down(product), down(multiples));
            multiples[0] = _mm512_add_epi64(multiples[0], carry);
            for v in 0..V {
                product[v] = _mm512_madd52hi_epu64(product[v], a[v], digit);
                // Of the step before: one digit higher, as all is now.
                multiples[v] = _mm512_madd52hi_epu64(multiples[v], multiple[v], before);
                multiples[v] = _mm512_madd52lo_epu64(multiples[v], multiple[v], factor);
            }
            before = factor;
        }
        let digit = _mm512_set1_epi64(b.digit(D - 1).cast_signed());
        for v in 0..V {
            product[v] = _mm512_madd52lo_epu64(product[v], a[v], digit);
        }
        let low = _mm512_add_epi64(product[0], multiples[0]);
        let low = _mm512_broadcastq_epi64(_mm512_castsi512_si128(low));
        let factor = _mm512_madd52lo_epu64(zero, low, _mm512_set1_epi64(self.inverse.cast_signed()));
        for v in 0..V {
            product[v] = _mm512_madd52lo_epu64(product[v], n[v], factor);
        }
        // The lowest digit has become 0, and goes.
        let carry = _mm512_maskz_srli_epi64::<{ BITS as u32 }>(1, _mm512_add_epi64(product[0], multiples[0]));
        (product, multiples) = (down(product), down(multiples));
        multiples[0] = _mm512_add_epi64(multiples[0], carry);
        for v in 0..V {
            product[v] = _mm512_madd52hi_epu64(product[v], a[v], digit);
            product[v] = _mm512_madd52hi_epu64(product[v], n[v], factor);
            multiples[v] = _mm512_madd52hi_epu64(multiples[v], multiple[v], before);
        }
        Digits::of_sums(from_fn(|v| _mm512_add_epi64(product[v], multiples[v])))
    }
}

/// All digits in the places of those below; the lowest goes.
#[inline]
#[target_feature(enable = "avx512f")]
fn down<const V: usize>(digits: [__m512i; V]) -> [__m512i; V] {
    from_fn(|v| _mm512_alignr_epi64::<1>(if v + 1 < V { digits[v + 1] } else { _mm512_setzero_si512() }, digits[v]))
}
