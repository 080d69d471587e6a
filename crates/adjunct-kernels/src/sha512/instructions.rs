//! SHA-512 by the CPU's instructions for it (CPUID leaf 7.1, EAX, bit 0): two rounds, and both halves of the schedule of four words.
//!
//! The working variables lie in two vectors, named from the upper word down: a, b, e, f and c, d, g, h. Two rounds make a new a, b, e, f
//! in the place of c, d, g, h, and what was a, b, e, f is the new c, d, g, h.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::avx2::{End, PLACES, ended};
use super::{BLOCK, K, SWAP, Words};
use std::arch::x86_64::*;

/// The kernel on the three instructions in `$machine`, for a CPU with `$features`. A macro, so that the tests run the same code on a model
/// of the instructions.
macro_rules! kernel {
    ($features:literal, $machine:path) => {
        use $machine as machine;

        /// Takes blocks into the chaining value.
        #[target_feature(enable = $features)]
        pub(in crate::sha512) fn compress(state: &mut [u64; 8], blocks: &[[u8; BLOCK]]) {
            let (mut abef, mut cdgh) = load(state);
            for block in blocks {
                (abef, cdgh) = take(abef, cdgh, words(block, None));
            }
            store(state, abef, cdgh);
        }

        /// Takes the end of a message into the chaining value.
        #[target_feature(enable = $features)]
        pub(in crate::sha512) fn finish(state: &mut [u64; 8], block: &[u8; BLOCK], used: usize, bits: u128) {
            let (mut abef, mut cdgh) = load(state);
            let [first, last] = End::of(used, bits);
            (abef, cdgh) = take(abef, cdgh, words(block, first.as_ref()));
            if last.is_some() {
                (abef, cdgh) = take(abef, cdgh, words(&[0; BLOCK], last.as_ref()));
            }
            store(state, abef, cdgh);
        }

        /// Takes a block, as words, into the chaining value.
        #[inline]
        #[target_feature(enable = $features)]
        fn take(abef: __m256i, cdgh: __m256i, mut x: Words) -> (__m256i, __m256i) {
            let (mut new_abef, mut new_cdgh) = (abef, cdgh);
            for i in 0..20 {
                let four = i % 4;
                let sums = with_four_constants(x[four], i);
                new_cdgh = machine::two_rounds(new_cdgh, new_abef, _mm256_castsi256_si128(sums));
                new_abef = machine::two_rounds(new_abef, new_cdgh, _mm256_extracti128_si256::<1>(sums));
                if i < 16 {
                    let last = x[(i + 3) % 4];
                    let with_sigma0 = machine::schedule_1(x[four], _mm256_castsi256_si128(x[(i + 1) % 4]));
                    // Words 9 to 12 of the last sixteen.
                    let w9 = _mm256_permute4x64_epi64::<0x39>(_mm256_blend_epi32::<0x03>(x[(i + 2) % 4], last));
                    x[four] = machine::schedule_2(_mm256_add_epi64(with_sigma0, w9), last);
                }
            }
            (_mm256_add_epi64(abef, new_abef), _mm256_add_epi64(cdgh, new_cdgh))
        }
    };
}

kernel!("avx2,sha512", self::cpu);

/// The CPU's instructions.
mod cpu {
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx2,sha512")]
    pub(super) fn two_rounds(cdgh: __m256i, abef: __m256i, sums: __m128i) -> __m256i {
        _mm256_sha512rnds2_epi64(cdgh, abef, sums)
    }

    #[inline]
    #[target_feature(enable = "avx2,sha512")]
    pub(super) fn schedule_1(words: __m256i, next: __m128i) -> __m256i {
        _mm256_sha512msg1_epi64(words, next)
    }

    #[inline]
    #[target_feature(enable = "avx2,sha512")]
    pub(super) fn schedule_2(sums: __m256i, last: __m256i) -> __m256i {
        _mm256_sha512msg2_epi64(sums, last)
    }
}

/// The words of a block, which may be the end of a message.
#[inline]
#[target_feature(enable = "avx2")]
fn words(block: &[u8; BLOCK], end: Option<&End>) -> Words {
    // SAFETY: 32 bytes from a multiple of 32 below 128.
    let four = |bytes: *const u8, i: usize| unsafe { _mm256_loadu_si256(bytes.add(32 * i).cast()) };
    let mut x: Words = std::array::from_fn(|i| four(block.as_ptr(), i));
    if let Some(end) = end {
        for (i, x) in x.iter_mut().enumerate() {
            *x = ended(*x, four(PLACES.as_ptr().cast(), i), end.used);
        }
        let length = end.bits.to_be_bytes();
        // SAFETY: 16 bytes are half a vector.
        let length = unsafe { _mm_loadu_si128(length.as_ptr().cast()) };
        x[3] = _mm256_or_si256(x[3], _mm256_inserti128_si256::<1>(_mm256_setzero_si256(), length));
    }
    let swap = _mm256_broadcastsi128_si256(SWAP);
    x.map(|x| _mm256_shuffle_epi8(x, swap))
}

/// Words 4i to 4i+3 with their constants added.
#[inline]
#[target_feature(enable = "avx2")]
fn with_four_constants(words: __m256i, i: usize) -> __m256i {
    let constants = &K[4 * i..4 * i + 4];
    // SAFETY: four constants are a vector.
    _mm256_add_epi64(words, unsafe { _mm256_loadu_si256(constants.as_ptr().cast()) })
}

/// The working variables from the chaining value, a first.
#[inline]
#[target_feature(enable = "avx2")]
fn load(state: &[u64; 8]) -> (__m256i, __m256i) {
    // SAFETY: four words and four words.
    let (low, high) = unsafe {
        let words = state.as_ptr();
        (_mm256_loadu_si256(words.cast()), _mm256_loadu_si256(words.add(4).cast()))
    };
    let abef = _mm256_permute2x128_si256::<0x20>(low, high);
    let cdgh = _mm256_permute2x128_si256::<0x31>(low, high);
    (_mm256_permute4x64_epi64::<0x1B>(abef), _mm256_permute4x64_epi64::<0x1B>(cdgh))
}

/// Stores the two vectors as the state's words, undoing the order of [`load`].
#[inline]
#[target_feature(enable = "avx2")]
fn store(state: &mut [u64; 8], abef: __m256i, cdgh: __m256i) {
    let abef = _mm256_permute4x64_epi64::<0x1B>(abef);
    let cdgh = _mm256_permute4x64_epi64::<0x1B>(cdgh);
    // SAFETY: four words and four words.
    unsafe {
        let words = state.as_mut_ptr();
        _mm256_storeu_si256(words.cast(), _mm256_permute2x128_si256::<0x20>(abef, cdgh));
        _mm256_storeu_si256(words.add(4).cast(), _mm256_permute2x128_si256::<0x31>(abef, cdgh));
    }
}

/// The kernel of this module on a model of the instructions, as Intel's manual (volume 2, VSHA512MSG1, VSHA512MSG2, VSHA512RNDS2) defines
/// them word by word: for CPUs that lack them, the tests run this.
#[cfg(test)]
pub(super) mod modelled {
    use super::*;

    kernel!("avx2", self::model);

    mod model {
        use std::arch::x86_64::*;

        fn four(words: __m256i) -> [u64; 4] {
            // SAFETY: a vector is 32 bytes, and any are four words.
            unsafe { std::mem::transmute(words) }
        }

        fn two(words: __m128i) -> [u64; 2] {
            // SAFETY: a vector is 16 bytes, and any are two words.
            unsafe { std::mem::transmute(words) }
        }

        fn vector(words: [u64; 4]) -> __m256i {
            // SAFETY: a vector and four words are 32 bytes, and any bytes are a vector.
            unsafe { std::mem::transmute(words) }
        }

        pub(in super::super) fn two_rounds(cdgh: __m256i, abef: __m256i, sums: __m128i) -> __m256i {
            let [mut h, mut g, mut d, mut c] = four(cdgh);
            let [mut f, mut e, mut b, mut a] = four(abef);
            for sum in two(sums) {
                let sigma1 = e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41);
                let sigma0 = a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39);
                let t = ((e & f) ^ (!e & g)).wrapping_add(sigma1).wrapping_add(sum).wrapping_add(h);
                let new = t.wrapping_add((a & b) ^ (a & c) ^ (b & c)).wrapping_add(sigma0);
                (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(t), c, b, a, new);
            }
            vector([f, e, b, a])
        }

        pub(in super::super) fn schedule_1(words: __m256i, next: __m128i) -> __m256i {
            let sigma0 = |w: u64| w.rotate_right(1) ^ w.rotate_right(8) ^ (w >> 7);
            let [w0, w1, w2, w3] = four(words);
            let w4 = two(next)[0];
            vector([(w0, w1), (w1, w2), (w2, w3), (w3, w4)].map(|(w, after)| w.wrapping_add(sigma0(after))))
        }

        pub(in super::super) fn schedule_2(sums: __m256i, last: __m256i) -> __m256i {
            let sigma1 = |w: u64| w.rotate_right(19) ^ w.rotate_right(61) ^ (w >> 6);
            let [_, _, w14, w15] = four(last);
            let sums = four(sums);
            let w16 = sums[0].wrapping_add(sigma1(w14));
            let w17 = sums[1].wrapping_add(sigma1(w15));
            vector([w16, w17, sums[2].wrapping_add(sigma1(w16)), sums[3].wrapping_add(sigma1(w17))])
        }
    }
}
