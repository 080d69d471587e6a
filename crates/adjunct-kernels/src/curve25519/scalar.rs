//! Numbers modulo the order of Ed25519's base point, L = 2^252 + 27742317777372353535851937790883648493, in eight lanes.
//!
//! Method: Montgomery products with R = 2^260 (see [`montgomery`]); a digest's upper half is multiplied by R^3, its lower
//! by R^2, and the sum is the digest times R.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::hash::DIGEST;
use crate::lanes::montgomery::{self, power_of_two};
use crate::lanes::words::byte_columns;
use crate::lanes::{LANES, MASK, Number, Vector, carry, constant, same, subtract_once, zero};
use std::arch::x86_64::*;
use zeroize::Zeroize;

const LIMBS: usize = 5;
/// L in limbs of 52 bits.
const ORDER: [u64; LIMBS] = [0x2631a5cf5d3ed, 0xdea2f79cd6581, 0x14def9, 0, 1 << 44];
const K0: u64 = montgomery::k0(ORDER[0]);
/// R^2 and R^3 modulo L.
const R2: [u64; LIMBS] = power_of_two(2 * 260, &ORDER);
const R3: [u64; LIMBS] = power_of_two(3 * 260, &ORDER);

/// IFMA instructions of a Montgomery product.
const PRODUCT: u64 = (4 * LIMBS * LIMBS + LIMBS) as u64;
/// IFMA instructions of [`reduce`].
pub(super) const REDUCE: u64 = 2 * PRODUCT;
/// IFMA instructions of [`Reduced::words`].
pub(super) const WORDS: u64 = PRODUCT;
/// IFMA instructions of [`Reduced::multiply_add`].
pub(super) const MULTIPLY_ADD: u64 = 2 * PRODUCT;

/// Eight numbers times R, below 4 L.
pub(super) struct Reduced(Number<LIMBS>);

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply(a: &Number<LIMBS>, b: &Number<LIMBS>) -> Number<LIMBS> {
    montgomery::multiply(a, b, &constant(&ORDER), same(K0))
}

/// Limb `at` of numbers given as 64-bit words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn limb(words: &[Vector], at: usize) -> Vector {
    let (word, shift) = (52 * at / 64, 52 * at as u64 % 64);
    let above = words.get(word + 1).copied().unwrap_or(zero());
    // A shift by 64 gives zero.
    let low = _mm512_srlv_epi64(words[word], same(shift));
    _mm512_and_si512(_mm512_or_si512(low, _mm512_sllv_epi64(above, same(64 - shift))), same(MASK))
}

/// Eight digests as little-endian numbers, modulo L.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn reduce(digests: &[[u8; DIGEST]; LANES]) -> Reduced {
    let mut words = byte_columns(digests);
    let (mut low, mut high) = ([zero(); LIMBS], [zero(); LIMBS]);
    for i in 0..LIMBS {
        (low[i], high[i]) = (limb(&words, i), limb(&words, i + LIMBS));
    }
    let (low_part, high_part) = (multiply(&low, &constant(&R2)), multiply(&high, &constant(&R3)));
    let mut sum = [zero(); LIMBS];
    for (s, (a, b)) in sum.iter_mut().zip(low_part.iter().zip(&high_part)) {
        *s = _mm512_add_epi64(*a, *b);
    }
    carry(&mut sum);
    super::fault::inject(super::fault::SCALAR, 0, &mut sum[0]);
    words.zeroize();
    low.zeroize();
    high.zeroize();
    Reduced(sum)
}

impl Reduced {
    /// The numbers themselves, below L.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn number(&self) -> Number<LIMBS> {
        let number = multiply(&self.0, &constant(&[1, 0, 0, 0, 0]));
        subtract_once(&number, &constant(&ORDER))
    }

    /// The numbers, below L, as words.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn words(&self) -> [Vector; 4] {
        pack(&self.number())
    }

    /// `self` * `factor` + `summand` modulo L, as words, for factors below 2^256.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn multiply_add(&self, factor: &[Vector; 4], summand: &Reduced) -> [Vector; 4] {
        let mut limbs = [zero(); LIMBS];
        for (i, l) in limbs.iter_mut().enumerate() {
            *l = limb(factor, i);
        }
        let mut sum = multiply(&self.0, &limbs);
        for (s, a) in sum.iter_mut().zip(summand.number()) {
            *s = _mm512_add_epi64(*s, a);
        }
        carry(&mut sum);
        super::fault::inject(super::fault::SCALAR, 1, &mut sum[0]);
        limbs.zeroize();
        // Below 3 L.
        let order = constant(&ORDER);
        pack(&subtract_once(&subtract_once(&sum, &order), &order))
    }
}

impl Drop for Reduced {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Carried limbs as words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn pack(limbs: &Number<LIMBS>) -> [Vector; 4] {
    let [a, b, c, d, e] = *limbs;
    [
        _mm512_or_si512(a, _mm512_slli_epi64::<52>(b)),
        _mm512_or_si512(_mm512_srli_epi64::<12>(b), _mm512_slli_epi64::<40>(c)),
        _mm512_or_si512(_mm512_srli_epi64::<24>(c), _mm512_slli_epi64::<28>(d)),
        _mm512_or_si512(_mm512_srli_epi64::<36>(d), _mm512_slli_epi64::<16>(e)),
    ]
}
