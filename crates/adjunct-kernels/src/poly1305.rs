//! Poly1305 (RFC 8439, 2.5): in 64-bit words, and eight blocks at once with AVX-512 IFMA.
//!
//! In words: the accumulator has three, the factor r two; the clamping of r (RFC 8439, 2.5.1) makes 5/4 of its upper word
//! a whole number, with which what is above 2^130 folds back (Bernstein, "The Poly1305-AES message-authentication code",
//! FSE 2005). 5 multiplications a block, one block after the other.
//!
//! Eight lanes: Horner's rule in steps of eight blocks with r^8, the lanes brought together at the end by r^8 to r (Goll
//! and Gueron, "Vectorization of Poly1305 message authentication code", ITNG 2015). Here the limbs are of 52, 52 and 26
//! bits, as IFMA splits a product: with r, 2^52 r and 2^104 r ready, each reduced, a limb of the accumulator needs no
//! shift and no folding, and IFMA cuts off what a limb has above its 52 bits, so no mask. Two steps share one carry,
//! with r^16 and r^8; sums begin as the blocks to be added. 62 instructions for 16 blocks, 36 of them multiplications.
//!
//! The key is secret: nothing branches or indexes by it or by the data, only by lengths.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use std::arch::x86_64::*;
use zeroize::Zeroize;

/// Length of a block and of the tag in bytes.
pub const BLOCK: usize = 16;
/// Length of the one-time key in bytes.
pub const KEY: usize = 32;
/// Shorter pieces are not worth the powers of r, in bytes.
pub const WIDE: usize = 512;

const LANES: usize = 8;
const GROUP: usize = LANES * BLOCK;
const LIMB: u64 = (1 << 52) - 1;
const TOP: u64 = (1 << 26) - 1;

/// Limbs of r^n, of 2^52 r^n and of 2^104 r^n, each modulo 2^130 - 5.
type Factor = [u64; 9];

/// Poly1305 under a one-time key; wiped when dropped.
#[derive(Clone)]
pub struct Poly1305 {
    r: [u64; 2],
    /// Added at the end.
    s: [u64; 2],
    h: [u64; 3],
    buffer: [u8; BLOCK],
    used: usize,
    /// Whether the powers of r are there.
    ready: bool,
    r8: Factor,
    r16: Factor,
    /// r^8 to r, limb by limb, in the order of [`load`]'s lanes.
    powers: [[u64; LANES]; 3],
}

impl std::fmt::Debug for Poly1305 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poly1305").finish_non_exhaustive()
    }
}

impl Drop for Poly1305 {
    fn drop(&mut self) {
        for words in [&mut self.r, &mut self.s] {
            words.zeroize();
        }
        self.h.zeroize();
        self.buffer.zeroize();
        self.r8.zeroize();
        self.r16.zeroize();
        self.powers.zeroize();
    }
}

/// The two little-endian words of a block.
#[inline]
fn words(block: &[u8; BLOCK]) -> [u64; 2] {
    let block = u128::from_le_bytes(*block);
    [block as u64, (block >> 64) as u64]
}

/// `h` times r; `r` as clamped. The result's third word is below 5, or `h`'s third word times 2^60 where that is more.
#[inline]
fn times(h: [u64; 3], r: [u64; 2]) -> [u64; 3] {
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let fold = r[1] + (r[1] >> 2);
    let low = product(h[0], r[0]) + product(h[1], fold);
    let middle = product(h[0], r[1]) + product(h[1], r[0]) + u128::from(h[2].wrapping_mul(fold));
    let middle = middle + (low >> 64);
    reduce(low as u64, middle as u64, h[2].wrapping_mul(r[0]).wrapping_add((middle >> 64) as u64))
}

/// Folds what is above 2^130 back once.
#[inline]
fn reduce(low: u64, middle: u64, high: u64) -> [u64; 3] {
    let low = u128::from(low) + u128::from((high & !3) + (high >> 2));
    let middle = u128::from(middle) + (low >> 64);
    [low as u64, middle as u64, (high & 3) + (middle >> 64) as u64]
}

/// `h` and a block, with the bit above it.
#[inline]
fn plus(h: [u64; 3], block: &[u8; BLOCK], bit: u64) -> [u64; 3] {
    let m = words(block);
    let low = u128::from(h[0]) + u128::from(m[0]);
    let middle = u128::from(h[1]) + u128::from(m[1]) + (low >> 64);
    [low as u64, middle as u64, h[2] + bit + (middle >> 64) as u64]
}

/// The limbs of 52, 52 and more bits.
#[inline]
fn limbs(h: [u64; 3]) -> [u64; 3] {
    [h[0] & LIMB, (h[0] >> 52 | h[1] << 12) & LIMB, h[1] >> 40 | h[2] << 24]
}

impl Poly1305 {
    /// Nothing yet under `key`: r, and what is added at the end.
    pub fn new(key: &[u8; KEY]) -> Poly1305 {
        let mut poly = Poly1305 {
            r: [0; 2],
            s: [0; 2],
            h: [0; 3],
            buffer: [0; BLOCK],
            used: 0,
            ready: false,
            r8: [0; 9],
            r16: [0; 9],
            powers: [[0; LANES]; 3],
        };
        poly.restart(key);
        poly
    }

    /// Begins anew, under another key.
    #[inline]
    pub fn restart(&mut self, key: &[u8; KEY]) {
        let (halves, _) = key.as_chunks::<BLOCK>();
        let r = words(&halves[0]);
        self.r = [r[0] & 0x0fff_fffc_0fff_ffff, r[1] & 0x0fff_fffc_0fff_fffc];
        self.s = words(&halves[1]);
        self.h = [0; 3];
        self.used = 0;
        self.ready = false;
    }

    /// Takes in the next part of the message.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        let (blocks, tail) = self.fill(data).as_chunks::<BLOCK>();
        self.blocks(blocks);
        self.keep(tail);
    }

    /// [`Poly1305::update`] on CPUs with IFMA; short parts go without it all the same.
    #[target_feature(enable = "avx512f,avx512ifma")]
    pub fn update_wide(&mut self, data: &[u8]) {
        let mut data = self.fill(data);
        if data.len() >= WIDE {
            let (groups, rest) = data.as_chunks::<GROUP>();
            self.groups(groups);
            data = rest;
        }
        let (blocks, tail) = data.as_chunks::<BLOCK>();
        self.blocks(blocks);
        self.keep(tail);
    }

    /// Fills a begun block; gives the rest.
    #[inline]
    fn fill<'a>(&mut self, data: &'a [u8]) -> &'a [u8] {
        if self.used == 0 {
            return data;
        }
        let (now, later) = data.split_at(data.len().min(BLOCK - self.used));
        self.keep(now);
        if self.used == BLOCK {
            self.flush(1);
        }
        later
    }

    #[inline]
    fn keep(&mut self, data: &[u8]) {
        self.buffer[self.used..self.used + data.len()].copy_from_slice(data);
        self.used += data.len();
    }

    #[inline]
    fn flush(&mut self, bit: u64) {
        self.h = times(plus(self.h, &self.buffer, bit), self.r);
        self.used = 0;
    }

    #[inline]
    fn blocks(&mut self, blocks: &[[u8; BLOCK]]) {
        let (mut h, r) = (self.h, self.r);
        for block in blocks {
            h = times(plus(h, block, 1), r);
        }
        self.h = h;
    }

    /// Fills a begun block with zeros (RFC 8439, 2.8).
    #[inline]
    pub fn pad(&mut self) {
        if self.used > 0 {
            self.buffer[self.used..].fill(0);
            self.flush(1);
        }
    }

    /// Ends the message: its tag. What follows needs a [`Poly1305::restart`].
    #[inline]
    pub fn finish(&mut self) -> [u8; BLOCK] {
        if self.used > 0 {
            self.buffer[self.used] = 1;
            self.buffer[self.used + 1..].fill(0);
            self.flush(0);
        }
        // The third word is at most 4: below 2 (2^130 - 5), so the remainder is h or h + 5 less 2^130.
        let [low, middle, high] = self.h;
        let more = u128::from(low) + 5;
        let carried = u128::from(middle) + (more >> 64);
        let over = (u128::from(high) + (carried >> 64)) >> 2;
        let mask = (over as u64).wrapping_neg();
        let h = [low ^ (mask & (low ^ more as u64)), middle ^ (mask & (middle ^ carried as u64))];
        let h = u128::from(h[1]) << 64 | u128::from(h[0]);
        let s = u128::from(self.s[1]) << 64 | u128::from(self.s[0]);
        h.wrapping_add(s).to_le_bytes()
    }

    /// Takes in groups of eight blocks.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn groups(&mut self, groups: &[[u8; GROUP]]) {
        let Some((first, groups)) = groups.split_first() else { return };
        if !self.ready {
            self.prepare();
        }
        let mut sum = load(first);
        for (limb, h) in sum.iter_mut().zip(limbs(self.h)) {
            *limb = _mm512_add_epi64(*limb, _mm512_zextsi128_si512(_mm_cvtsi64_si128(h as i64)));
        }
        let mut x = carry(sum);
        let (pairs, single) = groups.as_chunks::<2>();
        for [first, second] in pairs {
            let sum = multiply(load(second), load(first), &self.r8);
            x = carry(multiply_sums(sum, x, &self.r16));
        }
        if let [group] = single {
            x = carry(multiply(load(group), x, &self.r8));
        }
        self.h = gather(x, self.powers());
    }

    /// r^8 to r with their multiples, limb by limb.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn powers(&self) -> [[__m512i; 3]; 3] {
        // SAFETY: a row has the size of a vector.
        let first: [__m512i; 3] =
            std::array::from_fn(|i| unsafe { _mm512_loadu_si512(self.powers[i].as_ptr().cast()) });
        let second = shifted(first);
        [first, second, shifted(second)]
    }

    /// Computes the powers of r.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn prepare(&mut self) {
        let mut power = [self.r[0], self.r[1], 0];
        for n in 1..=LANES {
            // The last block is multiplied by r, the first by r^8; the lanes hold blocks 0, 4, 1, 5, 2, 6, 3, 7.
            let block = LANES - n;
            let lane = 2 * (block % 4) + block / 4;
            for (row, limb) in self.powers.iter_mut().zip(limbs(power)) {
                row[lane] = limb;
            }
            if n < LANES {
                power = times(power, self.r);
            }
        }
        self.r8 = factor(limbs(power));
        let same = limbs(power).map(|limb| _mm512_set1_epi64(limb as i64));
        let square = carry(multiply([_mm512_setzero_si512(); 3], same, &self.r8));
        let lowest = |v: __m512i| _mm_cvtsi128_si64(_mm512_castsi512_si128(v)) as u64;
        self.r16 = factor([lowest(square[0]) & LIMB, lowest(square[1]) & LIMB, lowest(square[2])]);
        self.ready = true;
    }
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
