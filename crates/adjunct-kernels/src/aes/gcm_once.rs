//! GCM (SP 800-38D) of a message of a block at most, with as much additional data, under a key of which nothing is kept; and the steps
//! of a stream, as short, whose state and hash key are the caller's.
//!
//! Such a call is the latency of the cipher and of GHASH, and little else. The three blocks that the cipher encrypts (the hash key's,
//! the tag's and the text's) go through it side by side. The three products of GHASH, `((A H + T) H + L) H`, are worked out as
//! `(A H + T) H^2 + L H`, where only two wait for each other. Nothing goes through memory that is not needed there: what has been
//! written in pieces cannot be read at once. A step of a stream has one block to encrypt, and a product for each block it takes.

use super::ni::{at_most, crypt, encrypt, from_bytes, schedule, single, to_bytes};
use super::powers::{doubled, reversed};
use super::{Keys, by_length};
use crate::InOut;
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
    // Before the text, which a caller may have written over it.
    let aad_block = at_most(aad);
    let (input, output) = crypt(stream, io);
    let text = if encrypting { output } else { input };
    // The blocks that there are stand before the lengths; a zero before them adds nothing.
    let (before, last) = if length == 0 { (_mm_setzero_si128(), aad_block) } else { (aad_block, text) };
    let second = product(first, first).reduced();
    let lengths = _mm_set_epi64x(aad.len() as i64 * 8, length as i64 * 8);
    let hash = _mm_xor_si128(product(reversed(before), first).reduced(), reversed(last));
    let hash = product(hash, second).and(product(lengths, first)).reduced();
    to_bytes(_mm_xor_si128(reversed(hash), mask))
}

/// Takes a part of a stream under a hash key that is given: additional data, then text, zeros behind either to a whole block.
/// `counter`, the next counter block, and `hash` go on.
///
/// # Panics
/// If the additional data or the text is longer than [`MOST`].
#[target_feature(enable = "sse4.1,ssse3,aes,pclmulqdq")]
pub fn part(
    keys: Keys<'_>,
    subkey: &[u8; 16],
    counter: &mut [u8; 16],
    hash: &mut [u8; 16],
    encrypting: bool,
    aad: &[u8],
    io: InOut<'_>,
) {
    assert!(aad.len() <= MOST && io.len() <= MOST);
    let first = doubled(reversed(from_bytes(subkey)));
    let mut sum = reversed(from_bytes(hash));
    if !aad.is_empty() {
        sum = product(_mm_xor_si128(sum, reversed(at_most(aad))), first).reduced();
    }
    if !io.is_empty() {
        let next = from_bytes(counter);
        let stream = by_length!(keys, N => single::<N, true>(keys, next));
        let (input, output) = crypt(stream, io);
        let text = if encrypting { output } else { input };
        sum = product(_mm_xor_si128(sum, reversed(text)), first).reduced();
        // Its last four bytes alone are counted.
        *counter = to_bytes(reversed(_mm_add_epi32(reversed(next), _mm_set_epi32(0, 0, 0, 1))));
    }
    *hash = to_bytes(reversed(sum));
}

/// Ends a stream of `aad` bits of additional data and `text` bits of text: turns the hash into its tag. `first` is its first counter block.
#[target_feature(enable = "sse4.1,ssse3,aes,pclmulqdq")]
pub fn last(keys: Keys<'_>, subkey: &[u8; 16], first: &[u8; 16], [aad, text]: [u64; 2], hash: &mut [u8; 16]) {
    let mask = by_length!(keys, N => single::<N, true>(keys, from_bytes(first)));
    let lengths = _mm_set_epi64x(aad as i64, text as i64);
    let sum = _mm_xor_si128(reversed(from_bytes(hash)), lengths);
    let sum = product(sum, doubled(reversed(from_bytes(subkey)))).reduced();
    *hash = to_bytes(_mm_xor_si128(reversed(sum), mask));
}
