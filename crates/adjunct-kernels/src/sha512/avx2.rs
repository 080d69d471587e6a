//! SHA-512 by AVX2: the schedules of two blocks in the halves of the vectors, 23 instructions for two words of each. One block alone takes
//! both halves: four words of it in a vector are fewer instructions, but cross from half to half, and were slower (Golden Cove). So there
//! is one copy of the rounds with a schedule between them.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::{BLOCK, K, SWAP};
use crate::sha2::{eight_rounds, round_64, rounds};
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// Takes blocks into the chaining value.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn compress(state: &mut [u64; 8], blocks: &[[u8; BLOCK]]) {
    take(state, blocks, None);
}

/// Takes the end of a message into the chaining value.
#[target_feature(enable = "avx2,bmi1,bmi2")]
pub(super) fn finish(state: &mut [u64; 8], block: &[u8; BLOCK], used: usize, bits: u128) {
    let [first, last] = End::of(used, bits);
    take(state, std::slice::from_ref(block), first.as_ref());
    if last.is_some() {
        take(state, &[[0; BLOCK]], last.as_ref());
    }
}

/// How a message ends in a block: with a one bit behind its last bytes, and its length.
pub(super) struct End {
    /// How many bytes of the message the block begins with; as many as it has where the one bit stood in the block before.
    pub(super) used: usize,
    /// The length in bits, where this is the last block; else 0.
    pub(super) bits: u128,
}

impl End {
    /// The end of a message of `bits` bits, of which `used` bytes are in its last blocks but one: one block, or two.
    #[inline]
    pub(super) fn of(used: usize, bits: u128) -> [Option<End>; 2] {
        assert!(used < BLOCK);
        if used < BLOCK - 16 {
            [Some(End { used, bits }), None]
        } else {
            [Some(End { used, bits: 0 }), Some(End { used: BLOCK, bits })]
        }
    }
}

/// Each byte's own place, less 128: bytes are compared with their sign, and 128 is a place, too, that of the end of a whole block.
pub(super) static PLACES: [i8; BLOCK] = {
    let mut places = [0; BLOCK];
    let mut i = 0;
    while i < BLOCK {
        places[i] = (i as i8).wrapping_add(-128);
        i += 1;
    }
    places
};

/// Pads the end of a message: keeps the bytes whose place is before the end, sets the one bit behind them, and clears the rest.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn ended(bytes: __m256i, places: __m256i, used: usize) -> __m256i {
    let end = _mm256_set1_epi8((used as i8).wrapping_add(-128));
    let data = _mm256_and_si256(bytes, _mm256_cmpgt_epi8(end, places));
    _mm256_or_si256(data, _mm256_and_si256(_mm256_set1_epi8(-128), _mm256_cmpeq_epi8(end, places)))
}

/// Takes blocks into the chaining value, two at a time; of a message that ends the last one alone.
#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn take(state: &mut [u64; 8], mut blocks: &[[u8; BLOCK]], end: Option<&End>) {
    // Words 2i and 2i+1 of each block in turn, with their constants added.
    let mut words = MaybeUninit::<[__m256i; 40]>::uninit();
    let at = words.as_mut_ptr().cast::<__m256i>();
    let swap = _mm256_broadcastsi128_si256(SWAP);
    while let [first, rest @ ..] = blocks {
        let second = rest.first();
        blocks = rest.get(1..).unwrap_or_default();
        let beside = second.unwrap_or(first);
        let mut x = [_mm256_setzero_si256(); 8];
        for (i, x) in x.iter_mut().enumerate() {
            // SAFETY: 16 bytes from a multiple of 16 below 128.
            let two = |block: &[u8; BLOCK]| unsafe { _mm_loadu_si128(block.as_ptr().add(16 * i).cast()) };
            *x = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(two(first)), two(beside));
        }
        // In registers: a block written byte by byte and read at once as vectors would wait for its stores.
        if let Some(end) = end {
            for (x, places) in x.iter_mut().zip(PLACES.as_chunks::<16>().0) {
                // SAFETY: 16 bytes are a vector.
                let places = unsafe { _mm_loadu_si128(places.as_ptr().cast()) };
                *x = ended(*x, _mm256_broadcastsi128_si256(places), end.used);
            }
            let length = end.bits.to_be_bytes();
            // SAFETY: 16 bytes are a vector.
            let length = unsafe { _mm_loadu_si128(length.as_ptr().cast()) };
            x[7] = _mm256_or_si256(x[7], _mm256_broadcastsi128_si256(length));
        }
        for (i, x) in x.iter_mut().enumerate() {
            *x = _mm256_shuffle_epi8(*x, swap);
            // SAFETY: a place below 40.
            unsafe { *at.add(i) = with_constants(*x, i) };
        }
        // The words of the second block begin with the second half of the first vector.
        let also = second.map(|_| at.cast::<u8>().cast_const().wrapping_add(16));
        let mut sum = x[0];
        rounds!(round_64 10, state, at.cast(), also, 8, 32, 4, |sixteen, round| {
            let i = round / 2;
            if round.is_multiple_of(2) {
                let w1 = _mm256_alignr_epi8::<8>(x[(i + 1) & 7], x[i]);
                let w9 = _mm256_alignr_epi8::<8>(x[(i + 5) & 7], x[(i + 4) & 7]);
                sum = _mm256_add_epi64(_mm256_add_epi64(x[i], w9), sigma0(w1));
            } else {
                sum = _mm256_add_epi64(sum, sigma1(x[(i + 7) & 7]));
                x[i] = sum;
                let place = 8 * sixteen + 8 + i;
                // SAFETY: below 40.
                unsafe { *at.add(place) = with_constants(sum, place) };
            }
        }, sum);
    }
}

/// The lower-case sigma 0 of FIPS 180-4, 4.1.3. The rotation by a byte is a shuffle.
#[inline]
#[target_feature(enable = "avx2")]
fn sigma0(w: __m256i) -> __m256i {
    let by_a_byte = _mm256_broadcastsi128_si256(ROTATE);
    let r1 = _mm256_xor_si256(_mm256_srli_epi64::<1>(w), _mm256_slli_epi64::<63>(w));
    let rest = _mm256_xor_si256(_mm256_shuffle_epi8(w, by_a_byte), _mm256_srli_epi64::<7>(w));
    _mm256_xor_si256(r1, rest)
}

/// Turns both words right by a byte.
const ROTATE: __m128i = {
    // SAFETY: 16 bytes are a vector.
    unsafe { std::mem::transmute::<[u8; 16], __m128i>([1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 8]) }
};

/// The lower-case sigma 1 of FIPS 180-4, 4.1.3.
#[inline]
#[target_feature(enable = "avx2")]
fn sigma1(w: __m256i) -> __m256i {
    let r19 = _mm256_xor_si256(_mm256_srli_epi64::<19>(w), _mm256_slli_epi64::<45>(w));
    let r61 = _mm256_xor_si256(_mm256_srli_epi64::<61>(w), _mm256_slli_epi64::<3>(w));
    _mm256_xor_si256(_mm256_xor_si256(r19, r61), _mm256_srli_epi64::<6>(w))
}

/// The constants, each two of them twice: one instruction reads and adds them.
static TWICE: [[u64; 4]; 40] = {
    let mut twice = [[0; 4]; 40];
    let mut i = 0;
    while i < 40 {
        let (even, odd) = (K[2 * i], K[2 * i + 1]);
        twice[i] = [even, odd, even, odd];
        i += 1;
    }
    twice
};

/// Words 2i and 2i+1 of two blocks with their constants added.
#[inline]
#[target_feature(enable = "avx2")]
fn with_constants(words: __m256i, i: usize) -> __m256i {
    // SAFETY: four constants are a vector.
    _mm256_add_epi64(words, unsafe { _mm256_loadu_si256(TWICE[i].as_ptr().cast()) })
}
