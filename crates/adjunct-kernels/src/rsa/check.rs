//! Check of one RSA result with the public exponent, for an operation that runs alone.
//!
//! Nothing is brought into Montgomery's form. Products of `output` alone leave output^e / R^(e-1); products of 1 alone leave 1 / R^(e-2),
//! which is made once for a key. So output^e = input where output^e / R^(e-1) and input * 1 / R^(e-2) / R are equal modulo n.

use super::digits::{Digits, Modulus, products};
use crate::lanes::limbs_from_be;

/// What results of a key are checked with: its modulus of D digits, in V vectors, and its public exponent.
#[derive(Clone)]
pub struct CheckKey<const D: usize, const V: usize> {
    n: [Modulus<V>; 1],
    e: u64,
    /// 1 / R^(e-2).
    one: Digits<V>,
}

crate::opaque_debug!(CheckKey<const D, const V>);

impl<const D: usize, const V: usize> CheckKey<D, V> {
    /// Makes a key of big-endian numbers; `None` unless `n` is odd and as long as this size says, and `e` is odd, at least 3 and at most 64 bits
    /// long.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn new(n: &[u8], e: &[u8]) -> Option<CheckKey<D, V>> {
        let e = e.iter().try_fold(0u64, |sum, &b| Some(sum.checked_mul(256)? | u64::from(b)))?;
        let fits = n.len() == super::key::modulus_bits(D) / 8 && n[0] & 0x80 != 0 && n[n.len() - 1] & 1 != 0;
        if !fits || e < 3 || e & 1 == 0 {
            return None;
        }
        let mut key = CheckKey { n: [Modulus::new(&limbs_from_be::<D>(n))], e, one: Digits::ONE };
        key.one = key.power(&Digits::ONE, e - 1);
        Some(key)
    }

    /// Whether `output`^e is `input` modulo n. Both are big-endian, as long as the modulus and below it.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn is_right(&self, input: &[u8], output: &[u8]) -> bool {
        let length = super::key::modulus_bits(D) / 8;
        if input.len() != length || output.len() != length {
            return false;
        }
        let [input, mut output] = [input, output].map(Digits::of_bytes::<D>);
        if !input.is_below(&self.n[0].m) || !output.is_below(&self.n[0].m) {
            return false;
        }
        let mut power = self.power(&output, self.e);
        let mut left = power.reduced(&self.n[0].m);
        let right = self.product(&input, &self.one).reduced(&self.n[0].m);
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
        let [product] = products::<1, D, V>([a], [b], &self.n);
        product
    }
}
