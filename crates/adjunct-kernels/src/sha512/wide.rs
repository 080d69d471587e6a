//! SHA-512 by AVX-512: of a schedule four blocks together take 15 instructions for two words of each, one block alone 22 for four.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::{BLOCK, K, SWAP, Words};
use crate::sha2::{eight_rounds, round_64, rounds};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Takes blocks into the chaining value: four at a time, and the one to three that are left one at a time, for which making the schedules
/// of four would take as many vector instructions as their own do.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
pub(super) fn compress(state: &mut [u64; 8], blocks: &[[u8; BLOCK]]) {
    let (fours, rest) = blocks.as_chunks();
    fours.iter().for_each(|four| compress_four(state, four));
    rest.iter().for_each(|block| compress_one(state, block));
}

/// Takes four blocks into the chaining value.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn compress_four(state: &mut [u64; 8], blocks: &[[u8; BLOCK]; 4]) {
    // Words 2i and 2i+1 of each block in turn, with their constants added.
    let mut words = MaybeUninit::<[__m512i; 40]>::uninit();
    let at = words.as_mut_ptr().cast::<__m512i>();
    let mut x = [_mm512_setzero_si512(); 8];
    let swap = _mm512_broadcast_i32x4(SWAP);
    for (i, x) in x.iter_mut().enumerate() {
        // SAFETY: 16 bytes from a multiple of 16 below 128; a place below 40.
        unsafe {
            let two = |block: usize| _mm_loadu_si128(blocks[block].as_ptr().add(16 * i).cast());
            let low = _mm512_inserti32x4(_mm512_castsi128_si512(two(0)), two(1), 1);
            *x = _mm512_shuffle_epi8(_mm512_inserti32x4(_mm512_inserti32x4(low, two(2), 2), two(3), 3), swap);
            *at.add(i) = with_constants(*x, i);
        }
    }
    rounds!(round_64 10, state, at.cast(), None, 8, 64, 4, |sixteen, round| if round % 2 == 1 {
        let i = round / 2;
        let w1 = _mm512_alignr_epi8(x[(i + 1) & 7], x[i], 8);
        let w9 = _mm512_alignr_epi8(x[(i + 5) & 7], x[(i + 4) & 7], 8);
        let w14 = x[(i + 7) & 7];
        let (r1, r8, s7) = (_mm512_ror_epi64(w1, 1), _mm512_ror_epi64(w1, 8), _mm512_srli_epi64(w1, 7));
        let (r19, r61, s6) = (_mm512_ror_epi64(w14, 19), _mm512_ror_epi64(w14, 61), _mm512_srli_epi64(w14, 6));
        let sigma0 = _mm512_ternarylogic_epi64(r1, r8, s7, XOR);
        let sigma1 = _mm512_ternarylogic_epi64(r19, r61, s6, XOR);
        x[i] = _mm512_add_epi64(_mm512_add_epi64(x[i], sigma0), _mm512_add_epi64(w9, sigma1));
        let place = 8 * sixteen + 8 + i;
        // SAFETY: below 40.
        unsafe { *at.add(place) = with_constants(x[i], place) };
    });
    for block in 1..4 {
        // SAFETY: the words of this block, one of four.
        rounds!(round_64 10, state, unsafe { at.cast::<u8>().add(16 * block) }, None, 8, 64, 0, |_sixteen, _round| ());
    }
}

/// Takes one block into the chaining value.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn compress_one(state: &mut [u64; 8], block: &[u8; BLOCK]) {
    // SAFETY: 32 bytes from a multiple of 32 below 128.
    compress_words(
        state,
        std::array::from_fn(|i| unsafe { swapped(_mm256_loadu_si256(block.as_ptr().add(32 * i).cast())) }),
    );
}

/// Takes the end of a message of `bits` bits into the chaining value: the first `used` bytes of `block`, fewer than it
/// has, and the padding (FIPS 180-4, 5.1.2).
///
/// # Panics
/// If `used` is not below 128.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
pub(super) fn finish(state: &mut [u64; 8], block: &[u8; BLOCK], used: usize, bits: u128) {
    assert!(used < BLOCK);
    // In registers: a block written byte by byte and read at once as vectors would wait for its stores.
    let end = 1u128 << used;
    let mut x: Words = std::array::from_fn(|i| {
        let (data, end) = (((end - 1) >> (32 * i)) as u32, (end >> (32 * i)) as u32);
        // SAFETY: 32 bytes from a multiple of 32 below 128.
        let bytes = unsafe { _mm256_maskz_loadu_epi8(data, block.as_ptr().add(32 * i).cast()) };
        swapped(_mm256_mask_mov_epi8(bytes, end, _mm256_set1_epi8(-128)))
    });
    let length = _mm256_set_epi64x(bits as i64, (bits >> 64) as i64, 0, 0);
    if used >= BLOCK - 16 {
        compress_words(state, x);
        x = [_mm256_setzero_si256(); 4];
    }
    x[3] = _mm256_or_si256(x[3], length);
    compress_words(state, x);
}

/// Four words from their bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn swapped(bytes: __m256i) -> __m256i {
    _mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(SWAP))
}

/// Takes a block, as words, into the chaining value.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn compress_words(state: &mut [u64; 8], mut x: Words) {
    let mut words = MaybeUninit::<[__m256i; 20]>::uninit();
    let at = words.as_mut_ptr().cast::<__m256i>();
    for (i, &x) in x.iter().enumerate() {
        // SAFETY: below 20.
        unsafe { *at.add(i) = with_four_constants(x, i) };
    }
    rounds!(round_64 10, state, at.cast(), None, 8, 16, 4, |sixteen, round| {
        // A step makes four words, the lower two after one pair of rounds and from them the upper two after the next.
        let i = round / 4;
        let last = x[(i + 3) & 3];
        if round % 4 == 1 {
            let w1 = _mm256_alignr_epi64(x[(i + 1) & 3], x[i], 1);
            let w9 = _mm256_alignr_epi64(last, x[(i + 2) & 3], 1);
            let (r1, r8, s7) = (_mm256_ror_epi64(w1, 1), _mm256_ror_epi64(w1, 8), _mm256_srli_epi64(w1, 7));
            x[i] = _mm256_add_epi64(_mm256_add_epi64(x[i], w9), _mm256_ternarylogic_epi64(r1, r8, s7, XOR));
            x[i] = _mm256_mask_add_epi64(x[i], 0b0011, x[i], sigma1(_mm256_permute4x64_epi64(last, 0xEE)));
        } else if round % 4 == 3 {
            x[i] = _mm256_mask_add_epi64(x[i], 0b1100, x[i], sigma1(_mm256_permute4x64_epi64(x[i], 0x44)));
            let place = 4 * sixteen + 4 + i;
            // SAFETY: below 20.
            unsafe { *at.add(place) = with_four_constants(x[i], place) };
        }
    });
}

/// Truth table of a three-way XOR.
const XOR: i32 = 0x96;

/// The lower-case sigma 1 of FIPS 180-4, 4.1.3.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn sigma1(w: __m256i) -> __m256i {
    _mm256_ternarylogic_epi64(_mm256_ror_epi64(w, 19), _mm256_ror_epi64(w, 61), _mm256_srli_epi64(w, 6), XOR)
}

/// Words 4i to 4i+3 with their constants added.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn with_four_constants(words: __m256i, i: usize) -> __m256i {
    let constants = &K[4 * i..4 * i + 4];
    // SAFETY: four constants are a vector.
    _mm256_add_epi64(words, unsafe { _mm256_loadu_si256(constants.as_ptr().cast()) })
}

/// Words 2i and 2i+1 of four blocks with their constants added.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2")]
fn with_constants(words: __m512i, i: usize) -> __m512i {
    let constants = &K[2 * i..2 * i + 2];
    // SAFETY: two constants are a vector.
    _mm512_add_epi64(words, _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(constants.as_ptr().cast()) }))
}
