//! Eight blocks at once with AVX-512 IFMA.
//!
//! The limbs are of 52, 52 and 26 bits, as IFMA splits a product: with r, 2^52 r and 2^104 r ready, each reduced, a limb of
//! the accumulator needs no shift and no folding, and IFMA cuts off what a limb has above its 52 bits, so no mask. Two
//! steps share one carry, with r^16 and r^8; sums begin as the blocks to be added. 62 instructions for 16 blocks, 36 of
//! them multiplications.

use super::{BLOCK, Poly1305, reduce, times};
use std::arch::x86_64::*;
use zeroize::Zeroize;

const LANES: usize = 8;
const GROUP: usize = LANES * BLOCK;
const LIMB: u64 = (1 << 52) - 1;
const TOP: u64 = (1 << 26) - 1;

/// Limbs of r^n, of 2^52 r^n and of 2^104 r^n, each modulo 2^130 - 5.
type Factor = [u64; 9];

/// The powers of r in use.
#[derive(Clone, Default)]
pub struct Powers {
    r8: Factor,
    r16: Factor,
    /// r^8 to r, limb by limb, in the order of [`load`]'s lanes.
    descending: [[u64; LANES]; 3],
}

impl Powers {
    /// Overwrites the powers.
    pub fn wipe(&mut self) {
        self.r8.zeroize();
        self.r16.zeroize();
        self.descending.zeroize();
    }

    #[target_feature(enable = "avx512f,avx512ifma")]
    fn new(r: [u64; 2]) -> Powers {
        let mut descending = [[0; LANES]; 3];
        let mut power = [r[0], r[1], 0];
        for n in 1..=LANES {
            // The last block is multiplied by r, the first by r^8; the lanes hold blocks 0, 4, 1, 5, 2, 6, 3, 7.
            let block = LANES - n;
            let lane = 2 * (block % 4) + block / 4;
            for (row, limb) in descending.iter_mut().zip(limbs(power)) {
                row[lane] = limb;
            }
            if n < LANES {
                power = times(power, r);
            }
        }
        let r8 = factor(limbs(power));
        let same = limbs(power).map(|limb| _mm512_set1_epi64(limb as i64));
        let square = carry(multiply([_mm512_setzero_si512(); 3], same, &r8));
        let lowest = |v: __m512i| _mm_cvtsi128_si64(_mm512_castsi512_si128(v)) as u64;
        let r16 = factor([lowest(square[0]) & LIMB, lowest(square[1]) & LIMB, lowest(square[2])]);
        Powers { r8, r16, descending }
    }

    /// r^8 to r with their multiples, limb by limb.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn descending(&self) -> [[__m512i; 3]; 3] {
        // SAFETY: a row has the size of a vector.
        let first = self.descending.each_ref().map(|row| unsafe { _mm512_loadu_si512(row.as_ptr().cast()) });
        let second = shifted(first);
        [first, second, shifted(second)]
    }
}

/// The limbs of 52, 52 and more bits.
#[inline]
fn limbs(h: [u64; 3]) -> [u64; 3] {
    [h[0] & LIMB, (h[0] >> 52 | h[1] << 12) & LIMB, h[1] >> 40 | h[2] << 24]
}

/// Takes in groups of eight blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn groups(poly: &mut Poly1305, groups: &[[u8; GROUP]]) {
    let Some((first, groups)) = groups.split_first() else { return };
    if !poly.ready || !matches!(poly.powers, super::Powers::Ifma(_)) {
        poly.set(super::Powers::Ifma(Powers::new(poly.r)));
    }
    let super::Powers::Ifma(powers) = &poly.powers else { unreachable!("set above") };
    let Powers { r8, r16, .. } = powers;
    let mut sum = load(first);
    for (limb, h) in sum.iter_mut().zip(limbs(poly.h)) {
        *limb = _mm512_add_epi64(*limb, _mm512_zextsi128_si512(_mm_cvtsi64_si128(h as i64)));
    }
    let mut x = carry(sum);
    let (pairs, single) = groups.as_chunks::<2>();
    for [first, second] in pairs {
        let sum = multiply(load(second), load(first), r8);
        x = carry(multiply_sums(sum, x, r16));
    }
    if let [group] = single {
        x = carry(multiply(load(group), x, r8));
    }
    poly.h = gather(x, powers.descending());
}

/// A number's limbs, and those of its products with 2^52 and 2^104.
#[inline]
fn factor(number: [u64; 3]) -> Factor {
    // As `shifted`, one number.
    let shift = |[a, b, c]: [u64; 3]| {
        let low = 5 * ((b >> 26) + (c << 26));
        let middle = a + (low >> 52);
        [low & LIMB, middle & LIMB, (b & TOP) + (middle >> 52)]
    };
    let second = shift(number);
    let third = shift(second);
    let mut out = [0; 9];
    for (to, from) in out.as_chunks_mut::<3>().0.iter_mut().zip([number, second, third]) {
        *to = from;
    }
    out
}

/// Numbers times 2^52, in limbs without more bits than they have.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn shifted([a, b, c]: [__m512i; 3]) -> [__m512i; 3] {
    let over = _mm512_add_epi64(_mm512_srli_epi64(b, 26), _mm512_slli_epi64(c, 26));
    let low = _mm512_add_epi64(over, _mm512_slli_epi64(over, 2));
    let middle = _mm512_add_epi64(a, _mm512_srli_epi64(low, 52));
    let high = _mm512_and_si512(b, _mm512_set1_epi64(TOP as i64));
    let limb = _mm512_set1_epi64(LIMB as i64);
    let high = _mm512_add_epi64(high, _mm512_srli_epi64(middle, 52));
    [_mm512_and_si512(low, limb), _mm512_and_si512(middle, limb), high]
}

/// Eight blocks with the bit above them, limb by limb.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn load(group: &[u8; GROUP]) -> [__m512i; 3] {
    // SAFETY: a group is two vectors.
    let (a, b) = unsafe {
        (_mm512_loadu_si512(group.as_ptr().cast()), _mm512_loadu_si512(group.as_ptr().add(GROUP / 2).cast()))
    };
    let (low, high) = (_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
    let limb = _mm512_set1_epi64(LIMB as i64);
    // a | (b & c)
    const OR_AND: i32 = 0xF8;
    [
        _mm512_and_si512(low, limb),
        _mm512_ternarylogic_epi64::<OR_AND>(_mm512_srli_epi64(low, 52), _mm512_slli_epi64(high, 12), limb),
        _mm512_or_si512(_mm512_srli_epi64(high, 40), _mm512_set1_epi64(1 << 24)),
    ]
}

/// Sums of products before the carry; the middle ones in two parts, so that no chain of additions gets long.
type Sums = [__m512i; 6];

/// `sum` + `x` * `factor`; only the low 52 bits of `x`'s limbs count.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply(sum: [__m512i; 3], x: [__m512i; 3], factor: &Factor) -> Sums {
    let zero = _mm512_setzero_si512();
    multiply_sums([sum[0], sum[1], sum[2], zero, zero, zero], x, factor)
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply_sums(sums: Sums, x: [__m512i; 3], factor: &Factor) -> Sums {
    let rows = factor.as_chunks::<3>().0;
    accumulate(sums, x, std::array::from_fn(|i| rows[i].map(|limb| _mm512_set1_epi64(limb as i64))))
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn accumulate(mut sums: Sums, x: [__m512i; 3], factor: [[__m512i; 3]; 3]) -> Sums {
    for (x, row) in x.into_iter().zip(factor) {
        for (i, limb) in row.into_iter().enumerate() {
            sums[i] = _mm512_madd52lo_epu64(sums[i], x, limb);
            sums[3 + i] = _mm512_madd52hi_epu64(sums[3 + i], x, limb);
        }
    }
    sums
}

/// Folds what is above 2^130 back and carries; the lower limbs keep bits above their 52 that no longer count.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn carry<const N: usize>(sums: [__m512i; N]) -> [__m512i; 3] {
    let (mut low, mut middle, mut high) = (sums[0], sums[1], sums[2]);
    let mut over = _mm512_setzero_si512();
    if N == 6 {
        middle = _mm512_add_epi64(middle, sums[3]);
        high = _mm512_add_epi64(high, sums[4]);
        over = _mm512_slli_epi64(sums[5], 26);
    }
    over = _mm512_add_epi64(over, _mm512_srli_epi64(high, 26));
    high = _mm512_and_si512(high, _mm512_set1_epi64(TOP as i64));
    low = _mm512_add_epi64(_mm512_add_epi64(low, over), _mm512_slli_epi64(over, 2));
    middle = _mm512_add_epi64(middle, _mm512_srli_epi64(low, 52));
    high = _mm512_add_epi64(high, _mm512_srli_epi64(middle, 52));
    [low, middle, high]
}

/// Multiplies the lanes by r^8 to r and adds them up.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn gather(x: [__m512i; 3], powers: [[__m512i; 3]; 3]) -> [u64; 3] {
    let sums = carry(accumulate([_mm512_setzero_si512(); 6], x, powers));
    let limb = _mm512_set1_epi64(LIMB as i64);
    let low = _mm512_reduce_add_epi64(_mm512_and_si512(sums[0], limb)) as u64;
    let middle = _mm512_reduce_add_epi64(_mm512_and_si512(sums[1], limb)) as u64;
    let high = _mm512_reduce_add_epi64(sums[2]) as u64;
    let lower = u128::from(low) + (u128::from(middle) << 52);
    let upper = (lower >> 64) + (u128::from(high) << 40);
    reduce(lower as u64, upper as u64, (upper >> 64) as u64)
}
