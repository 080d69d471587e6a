//! One RSA result checked with the public exponent: a single number in the eight digits of each vector, for those that have one operation
//! and no batch.
//!
//! Numbers are D digits of 52 bits. A product is Montgomery's, almost reduced (Gueron, "Efficient software implementations of modular
//! exponentiation", 2012): a * b / R modulo n, below 2n for factors below 2n, where R = 2^(52 D) is more than 4n.
//!
//! Nothing is brought into Montgomery's form. Products of `output` alone leave output^e / R^(e-1), those of 1 the same of 1, which is made
//! once for a key; so output^e = input where both sides of output^e / R^(e-1) * 1 / R = input * 1 / R^(e-1) / R are equal.

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

    /// The number modulo `n`, which is below 2n.
    fn reduced(&self, n: &Digits<V>) -> Digits<V> {
        let (difference, borrow) = self.minus(n);
        let keep = borrow.wrapping_neg();
        let pick = |at: usize| (self.digit(at) & keep) | (difference.digit(at) & !keep);
        Digits(from_fn(|vector| from_fn(|lane| pick(WIDTH * vector + lane))))
    }
}

/// What results of a key are checked with: its modulus of D digits, in V vectors, and its public exponent.
#[derive(Clone)]
pub struct CheckKey<const D: usize, const V: usize> {
    n: Digits<V>,
    /// -1/n modulo 2^52.
    inverse: u64,
    e: u64,
    /// 1 / R^(e-1).
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
        let mut key = CheckKey { n: digits, inverse: inverse.wrapping_neg() & MASK, e, one: digits };
        let mut one = Digits([[0; WIDTH]; V]);
        one.0[0][0] = 1;
        key.one = key.power(&one);
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
        let mut one = Digits([[0; WIDTH]; V]);
        one.0[0][0] = 1;
        let mut power = self.power(&output);
        let mut left = self.product(&power, &one).reduced(&self.n);
        let right = self.product(&input, &self.one).reduced(&self.n);
        let differ = (0..D).fold(0, |sum, at| sum | (left.digit(at) ^ right.digit(at)));
        // What is decrypted is secret.
        for number in [&mut output, &mut power, &mut left] {
            crate::wipe(number.0.as_flattened_mut());
        }
        differ == 0
    }

    /// a^e / R^(e-1), below 2n.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn power(&self, a: &Digits<V>) -> Digits<V> {
        let mut power = *a;
        for bit in (0..self.e.ilog2()).rev() {
            power = self.product(&power, &power);
            if (self.e >> bit) & 1 != 0 {
                power = self.product(&power, a);
            }
        }
        power
    }

    /// a * b / R modulo n, below 2n for factors below 2n.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn product(&self, a: &Digits<V>, b: &Digits<V>) -> Digits<V> {
        // Every lane takes four numbers of 52 bits for each digit of b, which are at most 80: below 2^61.
        let load = |number: &Digits<V>| {
            number.0.map(|lanes| {
                _mm512_set_epi64(
                    lanes[7].cast_signed(),
                    lanes[6].cast_signed(),
                    lanes[5].cast_signed(),
                    lanes[4].cast_signed(),
                    lanes[3].cast_signed(),
                    lanes[2].cast_signed(),
                    lanes[1].cast_signed(),
                    lanes[0].cast_signed(),
                )
            })
        };
        let (a, n, low_n) = (load(a), load(&self.n), self.n.digit(0));
        let zero = _mm512_setzero_si512();
        let mut sum = [zero; V];
        for at in 0..D {
            let digit = _mm512_set1_epi64(b.digit(at).cast_signed());
            for v in 0..V {
                sum[v] = _mm512_madd52lo_epu64(sum[v], a[v], digit);
            }
            let low = _mm_cvtsi128_si64(_mm512_castsi512_si128(sum[0])).cast_unsigned();
            let factor = low.wrapping_mul(self.inverse) & MASK;
            // The lowest digit becomes 0, and goes.
            let carry = (low + (low_n.wrapping_mul(factor) & MASK)) >> BITS;
            let factor = _mm512_set1_epi64(factor.cast_signed());
            for v in 0..V {
                sum[v] = _mm512_madd52lo_epu64(sum[v], n[v], factor);
            }
            for v in 0..V {
                let above = if v + 1 < V { sum[v + 1] } else { zero };
                sum[v] = _mm512_alignr_epi64::<1>(above, sum[v]);
            }
            sum[0] = _mm512_add_epi64(sum[0], _mm512_zextsi128_si512(_mm_cvtsi64_si128(carry.cast_signed())));
            for v in 0..V {
                sum[v] = _mm512_madd52hi_epu64(sum[v], a[v], digit);
                sum[v] = _mm512_madd52hi_epu64(sum[v], n[v], factor);
            }
        }
        let mut out = Digits([[0; WIDTH]; V]);
        for (lanes, sum) in out.0.iter_mut().zip(sum) {
            // SAFETY: as many bytes as a vector has.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), sum) };
        }
        out.0.as_flattened_mut().iter_mut().fold(0, |carry, digit| {
            let sum = *digit + carry;
            *digit = sum & MASK;
            sum >> BITS
        });
        out
    }
}
