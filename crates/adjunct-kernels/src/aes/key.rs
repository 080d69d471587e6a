//! AES round keys (FIPS 197, 5.2 and 5.3.5) on AES-NI.
//!
//! The substitution of a word is AESENCLAST on a vector that has the word in all four columns: then ShiftRows does nothing, and the
//! last step's key is the round constant. AESKEYGENASSIST would do the same, but is microcode on most CPUs (Gueron,
//! "Intel Advanced Encryption Standard instructions set", and Drucker and Gueron after it).

use super::ni::load;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

/// The most round keys.
pub const MOST: usize = 15;

/// Memory where round keys are written.
type Schedule = MaybeUninit<[[u8; 16]; MOST]>;

/// The words of a vector, each the sum of those up to it.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn sums(words: __m128i) -> __m128i {
    let pairs = _mm_xor_si128(words, _mm_slli_si128::<4>(words));
    _mm_xor_si128(pairs, _mm_slli_si128::<8>(pairs))
}

/// The substituted word that `mask` picks, plus the constant, in all four columns.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn substituted(words: __m128i, mask: i32, constant: i32) -> __m128i {
    plus_substituted(words, mask, _mm_set1_epi32(constant))
}

/// The substituted word that `mask` picks plus `other`, in all four columns: where `other` is known before the word is, one step less for
/// those after it to wait for.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn plus_substituted(words: __m128i, mask: i32, other: __m128i) -> __m128i {
    _mm_aesenclast_si128(_mm_shuffle_epi8(words, _mm_set1_epi32(mask)), other)
}

/// The last word, and the same rotated by a byte; of a vector of two words the second, rotated.
const LAST: i32 = 0x0f0e_0d0c;
const LAST_ROTATED: i32 = 0x0c0f_0e0d;
const SECOND_ROTATED: i32 = 0x0407_0605;

const CONSTANTS: [i32; 10] = [1, 2, 4, 8, 16, 32, 64, 128, 0x1b, 0x36];

/// Fills the round keys of encryption: 11, 13 or 15 for a key of 16, 24 or 32 bytes. Gives their number.
///
/// # Panics
/// For a key of another length.
#[inline]
#[target_feature(enable = "sse4.1,aes,ssse3")]
pub fn expand(key: &[u8], keys: &mut Schedule) -> usize {
    match key.len() {
        16 => short::<false>(key, keys),
        24 => middle(key, keys),
        32 => long::<false>(key, keys),
        other => panic!("an AES key of {other} bytes"),
    }
}

/// Fills the round keys of the equivalent inverse cipher. Gives their number.
///
/// # Panics
/// For a key of another length.
#[inline]
#[target_feature(enable = "sse4.1,aes,ssse3")]
pub fn expand_inverse(key: &[u8], keys: &mut Schedule) -> usize {
    match key.len() {
        16 => short::<true>(key, keys),
        24 => {
            let number = middle(key, keys);
            // SAFETY: so many have been written.
            invert(unsafe { std::slice::from_raw_parts_mut(keys.as_mut_ptr().cast(), number) });
            number
        }
        32 => long::<true>(key, keys),
        other => panic!("an AES key of {other} bytes"),
    }
}

/// Writes round key `i` of `N`; of the inverse cipher at its other end, and the inner ones transformed.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn put<const N: usize, const INVERSE: bool>(keys: &mut Schedule, i: usize, words: __m128i) {
    let (place, words) = match (INVERSE, i == 0 || i == N - 1) {
        (false, _) => (i, words),
        (true, true) => (N - 1 - i, words),
        (true, false) => (N - 1 - i, _mm_aesimc_si128(words)),
    };
    assert!(place < MOST);
    // SAFETY: a block within the array.
    unsafe { _mm_storeu_si128(keys.as_mut_ptr().cast::<__m128i>().add(place), words) }
}

#[inline]
#[target_feature(enable = "sse4.1,aes,ssse3")]
fn short<const INVERSE: bool>(key: &[u8], keys: &mut Schedule) -> usize {
    assert!(key.len() == 16);
    // SAFETY: 16 bytes.
    let mut k = unsafe { load(key.as_ptr()) };
    put::<11, INVERSE>(keys, 0, k);
    for (i, constant) in CONSTANTS.iter().enumerate() {
        k = _mm_xor_si128(sums(k), substituted(k, LAST_ROTATED, *constant));
        put::<11, INVERSE>(keys, i + 1, k);
    }
    11
}

#[inline]
#[target_feature(enable = "sse4.1,aes,ssse3")]
fn middle(key: &[u8], keys: &mut Schedule) -> usize {
    assert!(key.len() == 24);
    let out = keys.as_mut_ptr().cast::<u8>();
    let whole = |at: usize, words: __m128i| {
        assert!(at + 16 <= 16 * MOST);
        // SAFETY: a block within the array.
        unsafe { _mm_storeu_si128(out.add(at).cast(), words) }
    };
    // SAFETY: 24 bytes.
    let (mut low, mut high) = unsafe { (load(key.as_ptr()), _mm_loadl_epi64(key.as_ptr().add(16).cast())) };
    whole(0, low);
    // Six words at a time: the upper two are written over what the next six begin with, and lie within the array.
    whole(16, high);
    for (i, constant) in CONSTANTS[..8].iter().enumerate() {
        let next = _mm_xor_si128(sums(low), substituted(high, SECOND_ROTATED, *constant));
        let pair = _mm_xor_si128(high, _mm_slli_si128::<4>(high));
        high = _mm_xor_si128(pair, _mm_shuffle_epi32::<0xff>(next));
        low = next;
        whole(24 * (i + 1), low);
        if i < 7 {
            whole(24 * (i + 1) + 16, high);
        }
    }
    13
}

#[inline]
#[target_feature(enable = "sse4.1,aes,ssse3")]
fn long<const INVERSE: bool>(key: &[u8], keys: &mut Schedule) -> usize {
    assert!(key.len() == 32);
    // SAFETY: 32 bytes.
    let (mut even, mut odd) = unsafe { (load(key.as_ptr()), load(key.as_ptr().add(16))) };
    put::<15, INVERSE>(keys, 0, even);
    put::<15, INVERSE>(keys, 1, odd);
    for (i, constant) in CONSTANTS[..7].iter().enumerate() {
        even = plus_substituted(odd, LAST_ROTATED, _mm_xor_si128(sums(even), _mm_set1_epi32(*constant)));
        put::<15, INVERSE>(keys, 2 * i + 2, even);
        if i < 6 {
            odd = plus_substituted(even, LAST, sums(odd));
            put::<15, INVERSE>(keys, 2 * i + 3, odd);
        }
    }
    15
}

/// Turns round keys into those of the equivalent inverse cipher.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn invert(keys: &mut [[u8; 16]]) {
    keys.reverse();
    let [_, inner @ .., _] = keys else { return };
    for key in inner {
        // SAFETY: a block.
        unsafe {
            let inverse = _mm_aesimc_si128(load(key.as_ptr()));
            _mm_storeu_si128(key.as_mut_ptr().cast(), inverse);
        }
    }
}
