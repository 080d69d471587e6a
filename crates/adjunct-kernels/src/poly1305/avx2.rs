//! Four blocks at once with AVX2, for CPUs without IFMA.
//!
//! The multiplication takes 32 bits, so there are five limbs of 26; five times the factor's limbs stand ready to fold what
//! is above 2^130. Two steps share one carry, with r^8 and r^4. 150 instructions for 8 blocks, 50 of them multiplications.

use super::{BLOCK, Poly1305, reduce, times};
use std::arch::asm;
use std::arch::x86_64::*;
use zeroize::Zeroize;

const LANES: usize = 4;
const GROUP: usize = LANES * BLOCK;
const LIMB: u64 = (1 << 26) - 1;

/// The powers of r in use, limb by limb.
#[derive(Clone, Default)]
pub struct Powers {
    r4: [u64; 5],
    r8: [u64; 5],
    /// r^4 to r, in the order of [`load`]'s lanes.
    descending: [[u64; LANES]; 5],
}

/// A number in each lane.
type Number = [__m256i; 5];
/// A factor in each lane, and five times its limbs.
type Factor = [Number; 2];

/// The limbs; the last may have more bits.
#[inline]
fn limbs(h: [u64; 3]) -> [u64; 5] {
    [h[0] & LIMB, (h[0] >> 26) & LIMB, (h[0] >> 52 | h[1] << 12) & LIMB, (h[1] >> 14) & LIMB, h[1] >> 40 | h[2] << 24]
}

impl Powers {
    /// Overwrites the powers.
    pub fn wipe(&mut self) {
        self.r4.zeroize();
        self.r8.zeroize();
        self.descending.zeroize();
    }

    fn new(r: [u64; 2]) -> Powers {
        let mut powers = Powers::default();
        let mut power = [r[0], r[1], 0];
        for n in 1..=2 * LANES {
            if n <= LANES {
                // The last block is multiplied by r, the first by r^4; the lanes hold blocks 0, 2, 1, 3.
                let lane = [0, 2, 1, 3][LANES - n];
                for (row, limb) in powers.descending.iter_mut().zip(limbs(power)) {
                    row[lane] = limb;
                }
            }
            if n == LANES {
                powers.r4 = limbs(power);
            }
            if n < 2 * LANES {
                power = times(power, r);
            }
        }
        powers.r8 = limbs(power);
        powers
    }
}

/// Takes in groups of four blocks.
#[inline]
#[target_feature(enable = "avx2")]
pub fn groups(poly: &mut Poly1305, groups: &[[u8; GROUP]]) {
    let Some((first, groups)) = groups.split_first() else { return };
    if !poly.ready || !matches!(poly.powers, super::Powers::Avx2(_)) {
        poly.set(super::Powers::Avx2(Powers::new(poly.r)));
    }
    let super::Powers::Avx2(powers) = &poly.powers else { unreachable!("set above") };
    let same = |limbs: &[u64; 5]| factor(limbs.map(|limb| _mm256_set1_epi64x(limb as i64)));
    let (r4, r8) = (same(&powers.r4), same(&powers.r8));
    let mut x = load(first);
    for (limb, h) in x.iter_mut().zip(limbs(poly.h)) {
        *limb = _mm256_add_epi64(*limb, _mm256_zextsi128_si256(_mm_cvtsi64_si128(h as i64)));
    }
    let (pairs, single) = groups.as_chunks::<2>();
    for [first, second] in pairs {
        x = carry(multiply(multiply(load(second), load(first), &r4), x, &r8));
    }
    if let [group] = single {
        x = carry(multiply(load(group), x, &r4));
    }
    // SAFETY: a row has the size of a vector.
    let descending = powers.descending.each_ref().map(|row| unsafe { _mm256_loadu_si256(row.as_ptr().cast()) });
    poly.h = gather(carry(multiply([_mm256_setzero_si256(); 5], x, &factor(descending))));
}

/// A factor with five times its limbs.
#[inline]
#[target_feature(enable = "avx2")]
fn factor(number: Number) -> Factor {
    [number, number.map(|limb| _mm256_add_epi64(limb, _mm256_slli_epi64(limb, 2)))]
}

/// Four blocks with the bit above them, limb by limb.
#[inline]
#[target_feature(enable = "avx2")]
fn load(group: &[u8; GROUP]) -> Number {
    // SAFETY: a group is two vectors.
    let (a, b) = unsafe {
        (_mm256_loadu_si256(group.as_ptr().cast()), _mm256_loadu_si256(group.as_ptr().add(GROUP / 2).cast()))
    };
    let (low, high) = (_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
    let limb = _mm256_set1_epi64x(LIMB as i64);
    let middle = _mm256_or_si256(_mm256_srli_epi64(low, 52), _mm256_slli_epi64(high, 12));
    [
        _mm256_and_si256(low, limb),
        _mm256_and_si256(_mm256_srli_epi64(low, 26), limb),
        _mm256_and_si256(middle, limb),
        _mm256_and_si256(_mm256_srli_epi64(high, 14), limb),
        _mm256_or_si256(_mm256_srli_epi64(high, 40), _mm256_set1_epi64x(1 << 24)),
    ]
}

/// `sum` + `x` * `factor`, without carries. Limbs of `x` below 2^28 and three such products leave the sums below 2^61.
#[inline]
#[target_feature(enable = "avx2")]
fn multiply(mut sum: Number, x: Number, factor: &Factor) -> Number {
    for (i, x) in x.into_iter().enumerate() {
        for (j, sum) in sum.iter_mut().enumerate() {
            // What comes from above 2^130 comes five times.
            let limb = if j >= i { factor[0][j - i] } else { factor[1][5 + j - i] };
            *sum = _mm256_add_epi64(*sum, product(x, limb));
        }
    }
    sum
}

/// The products of the lower halves of the lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn product(a: __m256i, b: __m256i) -> __m256i {
    let out;
    // The intrinsic is a mask and a multiplication to the compiler, which takes the mask of the factor out of the loop and
    // then no longer knows that one instruction does it.
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!(
            "vpmuludq {out}, {a}, {b}",
            a = in(ymm_reg) a,
            b = in(ymm_reg) b,
            out = lateout(ymm_reg) out,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    out
}

/// Carries and folds, until every limb is below 2^27.
#[inline]
#[target_feature(enable = "avx2")]
fn carry(mut sum: Number) -> Number {
    let limb = _mm256_set1_epi64x(LIMB as i64);
    // Two chains beside each other.
    for (from, to) in [(3, 4), (0, 1), (4, 0), (1, 2), (2, 3), (0, 1), (3, 4)] {
        let mut over = _mm256_srli_epi64(sum[from], 26);
        sum[from] = _mm256_and_si256(sum[from], limb);
        if to == 0 {
            over = _mm256_add_epi64(over, _mm256_slli_epi64(over, 2));
        }
        sum[to] = _mm256_add_epi64(sum[to], over);
    }
    sum
}

/// Adds up the lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn gather(x: Number) -> [u64; 3] {
    let sum = x.map(|limb| {
        let two = _mm_add_epi64(_mm256_castsi256_si128(limb), _mm256_extracti128_si256(limb, 1));
        u128::from(_mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two))) as u64)
    });
    let lower = sum[0] + (sum[1] << 26) + (sum[2] << 52) + (sum[3] << 78);
    let upper = (lower >> 64) + (sum[4] << 40);
    reduce(lower as u64, upper as u64, (upper >> 64) as u64)
}
