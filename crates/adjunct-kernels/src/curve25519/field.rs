//! The field of 2^255 - 19, eight elements at once.
//!
//! Method: radix 2^52, five limbs, products by AVX-512 IFMA (Gueron and Krasnov, WAIFI 2012); 2^260 is 608 modulo the
//! prime, so the upper half of a product folds into the lower by 608. Carries are lazy in the manner of Bernstein and
//! Schwabe ("NEON crypto", CHES 2012), and the types keep count of them: a product is a [`Sum`] of uncarried limbs, sums
//! are added and subtracted as they are, and only what is multiplied again is carried, once, into a [`Factor`]. As IFMA
//! reads the low 52 bits of a factor's limb, a carry leaves the rest standing and need not mask it.
//!
//! 59 IFMA instructions a product, 39 a square, 1 a carry.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use crate::lanes::{MASK, Number, Vector, constant, high, inverse, low, same, zero};
use std::arch::x86_64::*;

/// Limbs of an element.
pub(super) const LIMBS: usize = 5;
/// The top limb's bits: 4 * 52 + 47 = 255.
const TOP: u32 = 47;
const TOP_MASK: u64 = (1 << TOP) - 1;
/// The prime and its length.
const PRIME: [u64; LIMBS] = [MASK - 18, MASK, MASK, MASK, TOP_MASK];
const BITS: usize = 255;
/// 2^260 modulo the prime.
const FOLD: u64 = 608;

/// IFMA instructions of [`multiply`].
pub(super) const MULTIPLY: u64 = 50 + 9;
/// IFMA instructions of [`square`].
pub(super) const SQUARE: u64 = 30 + 9;
/// IFMA instructions of [`Sum::carry`].
pub(super) const CARRY: u64 = 1;
/// IFMA instructions of [`invert`].
pub(super) const INVERT: u64 = 1 + inverse::ifma::<LIMBS>(BITS) + CARRY + MULTIPLY + CARRY;

/// Eight elements ready to be multiplied: the low 52 bits of the first four limbs count, the fifth is below 2^47 + 2^12.
#[derive(Clone, Copy)]
pub(super) struct Factor(pub [Vector; LIMBS]);

/// Eight elements as uncarried limbs, each below 2^60. A product's are below 2^56, [`BIAS`] counts 2^57.
#[derive(Clone, Copy)]
pub(super) struct Sum(pub [Vector; LIMBS]);

/// 2^10 times the prime, in limbs that are larger than any product's: what is subtracted from never goes below zero.
const BIAS: [u64; LIMBS] = {
    let mut limbs = [MASK << 5; LIMBS];
    limbs[0] = (MASK - (FOLD - 1)) << 5;
    limbs
};
/// Half of [`BIAS`], for columns that are doubled later.
const HALF_BIAS: [u64; LIMBS] = {
    let mut limbs = BIAS;
    let mut i = 0;
    while i < LIMBS {
        limbs[i] /= 2;
        i += 1;
    }
    limbs
};

impl Sum {
    /// Zero.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn zero() -> Self {
        Sum([zero(); LIMBS])
    }

    /// A multiple of the prime from which any product can be subtracted.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn bias() -> Self {
        Sum(constant(&BIAS))
    }

    /// A small number, the same in all lanes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn small(value: u64) -> Self {
        let mut limbs = [zero(); LIMBS];
        limbs[0] = same(value);
        Sum(limbs)
    }

    /// The sum, limb by limb.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn plus(mut self, other: &Sum) -> Self {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = _mm512_add_epi64(*a, *b);
        }
        self
    }

    /// The difference, limb by limb; `self` must hold a bias that `other` does not.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn minus(mut self, other: &Sum) -> Self {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a = _mm512_sub_epi64(*a, *b);
        }
        self
    }

    /// The difference ([`Sum::minus`]) in the lanes of `negative`, the sum ([`Sum::plus`]) in the others.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn plus_or_minus(self, other: &Sum, negative: __mmask8) -> Self {
        let mut sum = self.plus(other);
        for ((s, a), b) in sum.0.iter_mut().zip(&self.0).zip(&other.0) {
            *s = _mm512_mask_sub_epi64(*s, negative, *a, *b);
        }
        sum
    }

    /// Makes factors of sums: what stands above bit 255 comes in again below, times 19, then one carry runs up.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn carry(self) -> Factor {
        carry_all([self])[0]
    }
}

impl Factor {
    /// Eight elements of 32 bytes, little-endian, the top bit of each ignored (RFC 7748, section 5).
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn from_words(words: &[Vector; 4]) -> Self {
        let [a, b, c, d] = *words;
        Factor([
            a,
            _mm512_or_si512(_mm512_srli_epi64::<52>(a), _mm512_slli_epi64::<12>(b)),
            _mm512_or_si512(_mm512_srli_epi64::<40>(b), _mm512_slli_epi64::<24>(c)),
            _mm512_or_si512(_mm512_srli_epi64::<28>(c), _mm512_slli_epi64::<36>(d)),
            _mm512_and_si512(_mm512_srli_epi64::<16>(d), same(TOP_MASK)),
        ])
    }

    /// The elements as a sum.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn sum(&self) -> Sum {
        let mut limbs = self.0;
        for limb in &mut limbs[..4] {
            *limb = _mm512_and_si512(*limb, same(MASK));
        }
        Sum(limbs)
    }

    /// Lane by lane `b` where `choose` has its bit, else `a`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn select(choose: __mmask8, a: &Factor, b: &Factor) -> Self {
        Factor(crate::lanes::select(choose, &a.0, &b.0))
    }

    /// Reduces to the representative below the prime.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn canonical(self) -> Number<LIMBS> {
        // The number v is below 2^255 + 2^221, less than twice the prime: v + 19 reaches 2^255 exactly where v is not
        // below the prime, and then v + 19 less 2^255 is the answer.
        let v = self.sum();
        let over = |limbs: Sum| {
            let mut limbs = limbs.0;
            crate::lanes::carry(&mut limbs);
            limbs
        };
        let probe = over(v.plus(&Sum::small(19)));
        let reach = _mm512_srli_epi64::<TOP>(probe[4]);
        let mut limbs = v.0;
        limbs[0] = low(limbs[0], reach, same(19));
        let [a, b, c, d, e] = over(Sum(limbs));
        [a, b, c, d, _mm512_and_si512(e, same(TOP_MASK))]
    }

    /// Reduces to the representative below the prime, as four 64-bit words.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn to_words(self) -> [Vector; 4] {
        let [a, b, c, d, e] = self.canonical();
        [
            _mm512_or_si512(a, _mm512_slli_epi64::<52>(b)),
            _mm512_or_si512(_mm512_srli_epi64::<12>(b), _mm512_slli_epi64::<40>(c)),
            _mm512_or_si512(_mm512_srli_epi64::<24>(c), _mm512_slli_epi64::<28>(d)),
            _mm512_or_si512(_mm512_srli_epi64::<36>(d), _mm512_slli_epi64::<16>(e)),
        ]
    }

    /// The lanes that hold zero.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn is_zero(self) -> __mmask8 {
        let [a, b, c, d] = self.to_words();
        let any = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
        _mm512_cmpeq_epi64_mask(any, zero())
    }
}

/// Folds ten columns of products, each below 2^56 before a start came in, into five.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn fold<const N: usize>(mut t: [[Vector; 2 * LIMBS]; N]) -> [Sum; N] {
    let by = same(FOLD);
    for i in LIMBS..2 * LIMBS - 1 {
        for t in &mut t {
            t[i + 1] = _mm512_add_epi64(t[i + 1], _mm512_srli_epi64::<52>(t[i]));
        }
    }
    for i in 0..LIMBS {
        for t in &mut t {
            t[i] = low(t[i], t[i + LIMBS], by);
        }
    }
    // The last column is below 2^43, its product by 608 has no high half.
    for i in 0..LIMBS - 1 {
        for t in &mut t {
            t[i + 1] = high(t[i + 1], t[i + LIMBS], by);
        }
    }
    t.map(|t| Sum([t[0], t[1], t[2], t[3], t[4]]))
}

/// `start` + `a` * `b`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply(start: Sum, a: &Factor, b: &Factor) -> Sum {
    multiply_all::<1, _>([start], [a], [b])[0]
}

/// Every `start` + `a` * `b`. A product's sums wait for one another longer than their instructions take; of two or three
/// products that are worked on in turn, one fills the other's gaps. `CALL` is another number at each call: the compiler inlines what
/// has one caller, and numbers that go through memory cost a third of the time.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply_all<const CALL: u32, const N: usize>(
    start: [Sum; N],
    a: [&Factor; N],
    b: [&Factor; N],
) -> [Sum; N] {
    let mut t = [[zero(); 2 * LIMBS]; N];
    for n in 0..N {
        t[n][..LIMBS].copy_from_slice(&start[n].0);
    }
    for i in 0..LIMBS {
        for n in 0..N {
            for j in 0..LIMBS {
                t[n][i + j] = low(t[n][i + j], a[n].0[i], b[n].0[j]);
            }
        }
        for n in 0..N {
            for j in 0..LIMBS {
                t[n][i + j + 1] = high(t[n][i + j + 1], a[n].0[i], b[n].0[j]);
            }
        }
    }
    fold(t)
}

/// The square of `a`, with [`Sum::bias`] in it when BIASED.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square<const BIASED: bool>(a: &Factor) -> Sum {
    square_all::<2, _>([BIASED], [a])[0]
}

/// The squares of all `a`, with [`Sum::bias`] in those that are `biased`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn square_all<const CALL: u32, const N: usize>(biased: [bool; N], a: [&Factor; N]) -> [Sum; N] {
    let mut t = [[zero(); 2 * LIMBS]; N];
    for n in 0..N {
        if biased[n] {
            t[n][..LIMBS].copy_from_slice(&constant(&HALF_BIAS));
            t[n][0] = same(BIAS[0]);
        }
    }
    for i in 0..LIMBS {
        for n in 0..N {
            for j in i + 1..LIMBS {
                t[n][i + j] = low(t[n][i + j], a[n].0[i], a[n].0[j]);
            }
        }
        for n in 0..N {
            for j in i + 1..LIMBS {
                t[n][i + j + 1] = high(t[n][i + j + 1], a[n].0[i], a[n].0[j]);
            }
        }
    }
    // Each mixed product counts twice.
    for i in 1..2 * LIMBS - 1 {
        for t in &mut t {
            t[i] = _mm512_add_epi64(t[i], t[i]);
        }
    }
    for i in 0..LIMBS {
        for (t, a) in t.iter_mut().zip(a) {
            t[2 * i] = low(t[2 * i], a.0[i], a.0[i]);
            t[2 * i + 1] = high(t[2 * i + 1], a.0[i], a.0[i]);
        }
    }
    fold(t)
}

/// Every sum carried; see [`Sum::carry`].
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn carry_all<const N: usize>(mut sums: [Sum; N]) -> [Factor; N] {
    for Sum([a, .., e]) in &mut sums {
        *a = low(*a, _mm512_srli_epi64::<TOP>(*e), same(19));
        *e = _mm512_and_si512(*e, same(TOP_MASK));
    }
    for i in 0..LIMBS - 1 {
        for Sum(limbs) in &mut sums {
            limbs[i + 1] = _mm512_add_epi64(limbs[i + 1], _mm512_srli_epi64::<52>(limbs[i]));
        }
    }
    sums.map(|sum| Factor(sum.0))
}

/// `start` + `a` * `k` for a k below 2^17; 11 IFMA instructions.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn multiply_small(start: Sum, a: &Factor, k: u64) -> Sum {
    let (mut r, k) = (start.0, same(k));
    for (r, a) in r.iter_mut().zip(&a.0) {
        *r = low(*r, *a, k);
    }
    for (r, a) in r[1..].iter_mut().zip(&a.0) {
        *r = high(*r, *a, k);
    }
    r[0] = low(r[0], high(zero(), a.0[4], k), same(FOLD));
    Sum(r)
}

/// The product of two factors as a factor.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn product(a: &Factor, b: &Factor) -> Factor {
    multiply(Sum::zero(), a, b).carry()
}

/// 1 / `a`, and 0 for 0. With SHARED the number is the same in all lanes.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn invert<const SHARED: bool>(a: &Factor) -> Factor {
    let a = a.canonical();
    let inverse = if SHARED {
        let [inverse] = inverse::invert_same([(&a, &PRIME)], BITS);
        inverse
    } else {
        inverse::invert(&a, &PRIME, BITS)
    };
    product(&Sum(inverse).carry(), &Factor(constant(&const { inverse::correction(&PRIME, BITS) })))
}
