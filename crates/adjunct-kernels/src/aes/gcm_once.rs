//! GCM (SP 800-38D) of a message of a block at most, with as much additional data, under a key of which nothing is kept.
//!
//! Such a call is the latency of the cipher and of GHASH, and little else. The three blocks that the cipher encrypts (the hash key's,
//! the tag's and the text's) go through it side by side. The three products of GHASH, `((A H + T) H + L) H`, are worked out as
//! `(A H + T) H^2 + L H`, where only two wait for each other. Nothing goes through memory that is not needed there: what has been
//! written in pieces cannot be read at once.

use super::gcm::part;
use super::ni::{encrypt, from_bytes, load, schedule, store, to_bytes};
use super::powers::{doubled, reversed};
use super::{Keys, by_length};
use crate::{InOut, wipe};
use std::arch::x86_64::*;

/// The most bytes of additional data, and of text.
pub const MOST: usize = 16;

/// Works on a message under an initialization vector of 12 bytes, and gives its tag.
///
/// # Panics
/// If the additional data or the text is longer than [`MOST`].
#[target_feature(enable = "sse4.1,ssse3,aes,pclmulqdq")]
pub fn message(keys: Keys<'_>, encrypting: bool, iv: &[u8; 12], aad: &[u8], io: InOut<'_>) -> [u8; 16] {
    by_length!(keys, N => message_n::<N>(keys, encrypting, iv, aad, io))
}

/// A sum of products, not yet reduced: as the wide one of `powers`.
struct Sum {
    low: __m128i,
    middle: __m128i,
    high: __m128i,
}

#[inline]
#[target_feature(enable = "sse4.1,pclmulqdq")]
fn product(a: __m128i, b: __m128i) -> Sum {
    Sum {
        low: _mm_clmulepi64_si128::<0x00>(a, b),
        middle: _mm_xor_si128(_mm_clmulepi64_si128::<0x01>(a, b), _mm_clmulepi64_si128::<0x10>(a, b)),
        high: _mm_clmulepi64_si128::<0x11>(a, b),
    }
}

impl Sum {
    #[inline]
    #[target_feature(enable = "sse4.1,pclmulqdq")]
    fn and(self, other: Sum) -> Sum {
        Sum {
            low: _mm_xor_si128(self.low, other.low),
            middle: _mm_xor_si128(self.middle, other.middle),
            high: _mm_xor_si128(self.high, other.high),
        }
    }

    #[inline]
    #[target_feature(enable = "sse4.1,pclmulqdq")]
    fn reduced(self) -> __m128i {
        let g = _mm_set_epi64x(0, 0xc2 << 56);
        let folded = _mm_clmulepi64_si128::<0x00>(self.low, g);
        let middle = _mm_xor_si128(_mm_xor_si128(self.middle, _mm_shuffle_epi32::<0x4e>(self.low)), folded);
        let folded = _mm_clmulepi64_si128::<0x00>(middle, g);
        _mm_xor_si128(_mm_xor_si128(self.high, _mm_shuffle_epi32::<0x4e>(middle)), folded)
    }
}

#[inline]
#[target_feature(enable = "sse4.1,ssse3,aes,pclmulqdq")]
fn message_n<const N: usize>(keys: Keys<'_>, encrypting: bool, iv: &[u8; 12], aad: &[u8], io: InOut<'_>) -> [u8; 16] {
    let length = io.len();
    assert!(aad.len() <= MOST && length <= MOST);
    // SAFETY: 12 bytes.
    let counter = |number: u64| unsafe {
        let (low, high) =
            (iv.as_ptr().cast::<u64>().read_unaligned(), iv.as_ptr().add(8).cast::<u32>().read_unaligned());
        _mm_set_epi64x((u64::from(high) | number << 56) as i64, low as i64)
    };
    let k = schedule::<N>(keys);
    let mut blocks = [_mm_setzero_si128(), counter(1), counter(2)];
    encrypt(&k, &mut blocks);
    let [h, mask, stream] = blocks;
    let first = doubled(reversed(h));
    // Before the text, which a caller may have written over it. SAFETY: 16 bytes.
    let aad_block = if aad.len() == MOST { unsafe { load(aad.as_ptr()) } } else { part(aad) };
    // SAFETY: the text; at most a block.
    let text = unsafe {
        let input =
            if length == MOST { load(io.input()) } else { part(std::slice::from_raw_parts(io.input(), length)) };
        let output = keep(_mm_xor_si128(input, stream), length);
        if length == MOST {
            store(io.output(), output);
        } else {
            let mut whole = to_bytes(output);
            whole.as_ptr().copy_to(io.output(), length);
            wipe(&mut whole);
        }
        if encrypting { output } else { input }
    };
    // The blocks that there are stand before the lengths; a zero before them adds nothing.
    let (before, last) = if length == 0 { (_mm_setzero_si128(), aad_block) } else { (aad_block, text) };
    let second = product(first, first).reduced();
    let lengths = _mm_set_epi64x(aad.len() as i64 * 8, length as i64 * 8);
    let hash = _mm_xor_si128(product(reversed(before), first).reduced(), reversed(last));
    let hash = product(hash, second).and(product(lengths, first)).reduced();
    to_bytes(_mm_xor_si128(reversed(hash), mask))
}

/// The first `length` bytes of a block, zeros behind them.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn keep(block: __m128i, length: usize) -> __m128i {
    const MASK: [u8; 32] = {
        let mut mask = [0; 32];
        let mut i = 0;
        while i < 16 {
            mask[i] = 0xff;
            i += 1;
        }
        mask
    };
    _mm_and_si128(block, from_bytes(MASK[16 - length..].first_chunk().expect("a block of the mask")))
}
