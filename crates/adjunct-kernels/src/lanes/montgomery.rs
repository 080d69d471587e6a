//! Montgomery multiplication in eight lanes, each with a modulus of its own.
//!
//! "Almost" Montgomery form: factors and products lie below 2m, R = 2^(52N) > 4m, and no final subtraction is needed
//! (Gueron, "Efficient software implementations of modular exponentiation", JCEN 2012). 4N^2 + N IFMA instructions a
//! product.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::{MASK, Number, Vector, carry, high, low, zero};
use std::arch::x86_64::*;

/// `a` * `b` / R modulo `m`, below 2m and carried, for carried factors below 2m; `k0` is -1/m modulo 2^52.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn multiply<const N: usize>(a: &Number<N>, b: &Number<N>, m: &Number<N>, k0: Vector) -> Number<N> {
    let mut sum = [zero(); N];
    for b in b {
        for (s, a) in sum.iter_mut().zip(a) {
            *s = low(*s, *a, *b);
        }
        let q = low(zero(), sum[0], k0);
        for (s, m) in sum.iter_mut().zip(m) {
            *s = low(*s, *m, q);
        }
        // The lowest limb is a multiple of 2^52 now: move everything down one limb.
        let over = _mm512_srli_epi64::<52>(sum[0]);
        for i in 0..N - 1 {
            sum[i] = sum[i + 1];
        }
        sum[N - 1] = zero();
        sum[0] = _mm512_add_epi64(sum[0], over);
        for (s, (a, m)) in sum.iter_mut().zip(a.iter().zip(m)) {
            *s = high(high(*s, *a, *b), *m, q);
        }
    }
    carry(&mut sum);
    sum
}

/// -1/m modulo 2^52 of an odd m, from its lowest limb.
pub const fn k0(m0: u64) -> u64 {
    // Newton's iteration doubles the bits that are right; m * m = 1 modulo 8 begins with three.
    let mut inverse = m0;
    let mut i = 0;
    while i < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(m0.wrapping_mul(inverse)));
        i += 1;
    }
    inverse.wrapping_neg() & MASK
}

/// 2^`power` modulo `m`.
pub const fn power_of_two<const N: usize>(power: usize, m: &[u64; N]) -> [u64; N] {
    let (mut value, mut done) = ([0; N], 0);
    value[0] = 1;
    while done < power {
        let (mut over, mut i) = (0, 0);
        while i < N {
            over += 2 * value[i];
            value[i] = over & MASK;
            over >>= 52;
            i += 1;
        }
        // The moduli leave the top limb room for a bit.
        let less = minus(&value, m);
        if less[N - 1] >> 52 == 0 {
            value = less;
        }
        done += 1;
    }
    value
}

/// `a` - `b`, the highest limb with what was borrowed in it.
pub const fn minus<const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    let (mut out, mut over, mut i) = ([0; N], 0i64, 0);
    while i < N {
        over += a[i] as i64 - b[i] as i64;
        out[i] = if i == N - 1 { over as u64 } else { over as u64 & MASK };
        over >>= 52;
        i += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{LANES, MASK, constant, gather, limbs_from_be, limbs_to_be, same, scatter, subtract_once};
    use super::*;

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn products() {
        // m = 2^61 - 1 in two limbs, R = 2^104: checked with 128-bit arithmetic.
        let m: u128 = (1 << 61) - 1;
        let limbs = [m as u64 & MASK, (m >> 52) as u64];
        let number = |seed: u128| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) % m;
        let split = |v: u128| [v as u64 & MASK, (v >> 52) as u64];
        let a: [[u64; 2]; LANES] = std::array::from_fn(|i| split(number(i as u128 + 1)));
        let b: [[u64; 2]; LANES] = std::array::from_fn(|i| split(number(i as u128 + 101)));
        let modulus = constant(&limbs);
        let product = multiply(&gather(&a), &gather(&b), &modulus, same(k0(limbs[0])));
        let product = scatter(&subtract_once(&product, &modulus));
        for (i, p) in product.iter().enumerate() {
            let p = u128::from(p[0]) | u128::from(p[1]) << 52;
            // p * R = a * b; 2^61 = 1 modulo m, so R = 2^43.
            assert_eq!((p << 43) % m, number(i as u128 + 1) * number(i as u128 + 101) % m, "lane {i}");
        }
    }

    #[test]
    fn a_product_times_r_is_the_product_of_the_factors() {
        if crate::lanes::tests::here() {
            // SAFETY: AVX-512 IFMA has just been found.
            unsafe { products() }
        }
    }

    #[test]
    fn limbs_and_bytes_are_each_other() {
        let bytes: [u8; 33] = std::array::from_fn(|i| (i * 37 + 1) as u8);
        let limbs: [u64; 6] = limbs_from_be(&bytes);
        assert!(limbs.iter().all(|l| *l <= MASK));
        let mut back = [0xAA; 40];
        limbs_to_be(&limbs, &mut back);
        assert_eq!((&back[..7], &back[7..]), (&[0; 7][..], &bytes[..]));
    }
}
