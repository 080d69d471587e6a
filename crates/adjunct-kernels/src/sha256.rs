//! SHA-256's compression function (FIPS 180-4, 6.2) by AVX2 and BMI2, for CPUs without instructions for it.
//!
//! Method: as for SHA-512 ([`crate::sha512`]). The schedules of two blocks are made in the halves of the vectors, four words of each at a
//! time, between the first block's rounds. A step is 31 instructions. The rotations of sigma 1 are shifts of words that stand twice
//! in 64 bits.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use crate::sha2::{eight_rounds, round_32, rounds};
use crate::sha512;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Length of a block in bytes.
pub const BLOCK: usize = 64;

/// The constants of FIPS 180-4, 4.2.2: the upper halves of SHA-512's first 64. Each four of them twice: one instruction reads and adds them.
static TWICE: [[u32; 8]; 16] = {
    let mut twice = [[0; 8]; 16];
    let mut i = 0;
    while i < 64 {
        let constant = (sha512::K[i] >> 32) as u32;
        twice[i / 4][i % 4] = constant;
        twice[i / 4][i % 4 + 4] = constant;
        i += 1;
    }
    twice
};

/// Takes blocks into the chaining value.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub fn compress(state: &mut [u32; 8], blocks: &[[u8; BLOCK]]) {
    take(state, blocks, None);
}

/// Takes the end of a message of `bits` bits into the chaining value: the first `used` bytes of `block`, fewer than it has, and the
/// padding (FIPS 180-4, 5.1.1).
///
/// # Panics
/// If `used` is not below 64.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub fn finish(state: &mut [u32; 8], block: &[u8; BLOCK], used: usize, bits: u64) {
    assert!(used < BLOCK);
    if used < BLOCK - 8 {
        take(state, std::slice::from_ref(block), Some(&End { used, bits }));
    } else {
        take(state, std::slice::from_ref(block), Some(&End { used, bits: 0 }));
        take(state, &[[0; BLOCK]], Some(&End { used: BLOCK, bits }));
    }
}

/// How a message ends in a block: with a one bit behind its last bytes, and its length.
struct End {
    /// How many bytes of the message the block begins with; as many as it has where the one bit stood in the block before.
    used: usize,
    /// The length in bits, where this is the last block; else 0.
    bits: u64,
}

/// Each byte's own place.
static PLACES: [u8; BLOCK] = {
    let mut places = [0; BLOCK];
    let mut i = 0;
    while i < BLOCK {
        places[i] = i as u8;
        i += 1;
    }
    places
};

/// Takes blocks into the chaining value, two at a time; of a message that ends the last one alone.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn take(state: &mut [u32; 8], mut blocks: &[[u8; BLOCK]], end: Option<&End>) {
    // Words 4i to 4i+3 of each block in turn, with their constants added.
    let mut words = MaybeUninit::<[__m256i; 16]>::uninit();
    let at = words.as_mut_ptr().cast::<__m256i>();
    let swap = pattern([3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12]);
    while let [first, rest @ ..] = blocks {
        let second = rest.first();
        blocks = rest.get(1..).unwrap_or_default();
        let beside = second.unwrap_or(first);
        let mut x = [_mm256_setzero_si256(); 4];
        for (i, x) in x.iter_mut().enumerate() {
            // SAFETY: 16 bytes from a multiple of 16 below 64.
            let four = |block: &[u8; BLOCK]| unsafe { _mm_loadu_si128(block.as_ptr().add(16 * i).cast()) };
            *x = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(four(first)), four(beside));
        }
        // In registers: a block written byte by byte and read at once as vectors would wait for its stores.
        if let Some(end) = end {
            let used = _mm256_set1_epi8(end.used as i8);
            for (x, places) in x.iter_mut().zip(PLACES.as_chunks::<16>().0) {
                // SAFETY: 16 bytes are a vector.
                let places = _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(places.as_ptr().cast()) });
                let data = _mm256_and_si256(*x, _mm256_cmpgt_epi8(used, places));
                let one = _mm256_and_si256(_mm256_set1_epi8(-128), _mm256_cmpeq_epi8(used, places));
                *x = _mm256_or_si256(data, one);
            }
            let length = end.bits.swap_bytes() as i64;
            x[3] = _mm256_or_si256(x[3], _mm256_set_epi64x(length, 0, length, 0));
        }
        for (i, x) in x.iter_mut().enumerate() {
            *x = _mm256_shuffle_epi8(*x, swap);
            // SAFETY: a place below 16.
            unsafe { *at.add(i) = with_constants(*x, i) };
        }
        // Sigma 1 of two words, which come at 0 and 8 bytes: for the lower two words, and for the upper two.
        let low = pattern([0, 1, 2, 3, 8, 9, 10, 11, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO]);
        let high = pattern([ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, ZERO, 0, 1, 2, 3, 8, 9, 10, 11]);
        // The words of the second block begin with the second half of the first vector.
        let also = second.map(|_| at.cast::<u8>().cast_const().wrapping_add(16));
        let mut sum = x[0];
        rounds!(round_32 8, state, at.cast(), also, 4, 32, 3, |sixteen, round| {
            // A step makes four words in as many rounds: what all four take, then the lower two, and from them the upper two.
            let i = round / 4;
            let last = x[(i + 3) & 3];
            match round % 4 {
                0 => sum = _mm256_add_epi32(x[i], _mm256_alignr_epi8::<4>(last, x[(i + 2) & 3])),
                1 => sum = _mm256_add_epi32(sum, sigma0(_mm256_alignr_epi8::<4>(x[(i + 1) & 3], x[i]))),
                2 => {
                    let two = sigma1(_mm256_shuffle_epi32::<0b11_11_10_10>(last));
                    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi8(two, low));
                }
                _ => {
                    let two = sigma1(_mm256_shuffle_epi32::<0b01_01_00_00>(sum));
                    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi8(two, high));
                    x[i] = sum;
                    let place = 4 * sixteen + 4 + i;
                    // SAFETY: below 16.
                    unsafe { *at.add(place) = with_constants(sum, place) };
                }
            }
        }, sum);
    }
}

/// Byte of a shuffle's pattern that gives a zero.
const ZERO: u8 = 0x80;

/// A shuffle's pattern, for both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn pattern(bytes: [u8; 16]) -> __m256i {
    // SAFETY: 16 bytes are a vector.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
}

/// The lower-case sigma 0 of FIPS 180-4, 4.1.2.
#[inline]
#[target_feature(enable = "avx2")]
fn sigma0(w: __m256i) -> __m256i {
    let r7 = _mm256_xor_si256(_mm256_srli_epi32::<7>(w), _mm256_slli_epi32::<25>(w));
    let r18 = _mm256_xor_si256(_mm256_srli_epi32::<18>(w), _mm256_slli_epi32::<14>(w));
    _mm256_xor_si256(_mm256_xor_si256(r7, r18), _mm256_srli_epi32::<3>(w))
}

/// The lower-case sigma 1 of words that stand twice in 64 bits, in the lower half of these.
#[inline]
#[target_feature(enable = "avx2")]
fn sigma1(twice: __m256i) -> __m256i {
    let (r17, r19) = (_mm256_srli_epi64::<17>(twice), _mm256_srli_epi64::<19>(twice));
    _mm256_xor_si256(_mm256_xor_si256(r17, r19), _mm256_srli_epi32::<10>(twice))
}

/// Words 4i to 4i+3 of two blocks with their constants added.
#[inline]
#[target_feature(enable = "avx2")]
fn with_constants(words: __m256i, i: usize) -> __m256i {
    // SAFETY: eight constants are a vector.
    _mm256_add_epi32(words, unsafe { _mm256_loadu_si256(TWICE[i].as_ptr().cast()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-4, 6.2.2, word by word.
    fn compress_one_plainly(state: &mut [u32; 8], block: &[u8; BLOCK]) {
        let mut w = [0u32; 64];
        for (word, bytes) in w.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        for t in 16..64 {
            let s0 = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ (w[t - 15] >> 3);
            let s1 = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ (w[t - 2] >> 10);
            w[t] = w[t - 16].wrapping_add(s0).wrapping_add(w[t - 7]).wrapping_add(s1);
        }
        let mut v = *state;
        for (t, w) in w.into_iter().enumerate() {
            let [a, b, c, d, e, f, g, h] = v;
            let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let k = (sha512::K[t] >> 32) as u32;
            let t1 = h.wrapping_add(s1).wrapping_add((e & f) ^ (!e & g)).wrapping_add(k).wrapping_add(w);
            let t2 = s0.wrapping_add((a & b) ^ (a & c) ^ (b & c));
            v = [t1.wrapping_add(t2), a, b, c, d.wrapping_add(t1), e, f, g];
        }
        for (sum, value) in state.iter_mut().zip(v) {
            *sum = sum.wrapping_add(value);
        }
    }

    #[test]
    fn it_gives_what_the_standard_says() {
        if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2")) {
            return println!("SKIPPED: this CPU has no AVX2 and BMI2");
        }
        let mut seed = 0x9E37_79B9_7F4A_7C15u64;
        let mut byte = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        };
        let mut expected = [0x6a09_e667, 1, 2, 3, 4, 5, 6, u32::MAX];
        let mut state = expected;
        for _ in 0..20 {
            let blocks: [[u8; BLOCK]; 9] = std::array::from_fn(|_| std::array::from_fn(|_| byte()));
            for count in 0..=blocks.len() {
                blocks[..count].iter().for_each(|block| compress_one_plainly(&mut expected, block));
                // SAFETY: AVX2, BMI1 and BMI2 have been found at the beginning of this test.
                unsafe { compress(&mut state, &blocks[..count]) };
                assert_eq!(state, expected, "{count} blocks");
            }
            for used in 0..BLOCK {
                let mut end = [[0; BLOCK]; 2];
                end[0][..used].copy_from_slice(&blocks[0][..used]);
                end[0][used] = 0x80;
                let bits = u64::MAX / 3 * 2;
                let last = usize::from(used >= 56);
                end[last][56..].copy_from_slice(&bits.to_be_bytes());
                end[..=last].iter().for_each(|block| compress_one_plainly(&mut expected, block));
                // SAFETY: AVX2, BMI1 and BMI2 have been found at the beginning of this test.
                unsafe { finish(&mut state, &blocks[0], used, bits) };
                assert_eq!(state, expected, "{used}");
            }
        }
    }
}
