//! Nonces of ECDSA for eight signatures at once: RFC 6979, 3.2, with randomness added as in 3.6, on the curves whose strength is that of
//! SHA-384 or SHA-512.
//!
//! Method: HMAC-DRBG with its key and its value in vectors, a word of eight in each. Of a signature's 18 compressions only the four that
//! take the private key begin with bytes. The first candidate is given as it is: that it is refused has a chance of less than 2^-189.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::{Curve, P384, P521, burn, present, wipe};
use crate::lanes::sha512::{START, START_384, compress};
use crate::lanes::words::{columns, rows};
use crate::lanes::{LANES, Vector, same, zero};
use crate::opaque_debug;
use crate::sha512::BLOCK;
use std::arch::x86_64::*;

/// The most random bytes that are added to a nonce.
pub const MAX_ADDED: usize = 32;

/// A curve that nonces are made for.
pub trait Nonced<const N: usize>: Curve<N> {
    /// The initial state of its hash.
    #[doc(hidden)]
    const START: [u64; 8];
    /// Words of a digest.
    #[doc(hidden)]
    const DIGEST: usize;
}

impl Nonced<8> for P384 {
    const START: [u64; 8] = START_384;
    const DIGEST: usize = 6;
}

impl Nonced<11> for P521 {
    const START: [u64; 8] = START;
    const DIGEST: usize = 8;
}

/// A nonce to be made. All numbers are big-endian and of [`Curve::BYTES`] bytes.
pub struct NonceJob<'a> {
    /// The private key.
    pub private: &'a [u8],
    /// The digest modulo the order.
    pub digest: &'a [u8],
    /// The additional input: at most [`MAX_ADDED`] random bytes, as many for each job.
    pub added: &'a [u8],
    /// Buffer for the nonce: its caller checks whether it is in [1, n - 1].
    pub nonce: &'a mut [u8],
}

opaque_debug!(NonceJob<'_>);

/// Words of eight states, or of eight values.
type Words = [Vector; 8];
/// A block of each lane.
type Block = [Vector; 16];

/// HMAC (FIPS 198-1) under a key of each lane: the states after the two pads.
struct Keyed {
    inner: Words,
    outer: Words,
}

impl Drop for Keyed {
    fn drop(&mut self) {
        wipe(&mut self.inner);
        wipe(&mut self.outer);
    }
}

impl Keyed {
    /// Keys of a digest's length.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn new<C: Nonced<N>, const N: usize>(keys: &Words) -> Keyed {
        let padded = |with: u8| {
            let mut block = [same(u64::from_ne_bytes([with; 8])); 16];
            for (word, key) in block.iter_mut().zip(&keys[..C::DIGEST]) {
                *word = _mm512_xor_si512(*word, *key);
            }
            after(&C::START.map(|word| same(word)), block)
        };
        Keyed { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// The codes of blocks that end with the padding.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn of_blocks<C: Nonced<N>, const N: usize>(&self, blocks: [Block; 2]) -> Words {
        let inner = blocks.into_iter().fold(self.inner, |state, block| after(&state, block));
        after(&self.outer, second::<C, N>(&inner))
    }

    /// The codes of values of a digest's length.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn of<C: Nonced<N>, const N: usize>(&self, values: &Words) -> Words {
        after(&self.outer, second::<C, N>(&after(&self.inner, second::<C, N>(values))))
    }
}

/// The states after a block more.
#[target_feature(enable = "avx512f,avx512ifma")]
fn after(states: &Words, mut block: Block) -> Words {
    let mut states = *states;
    compress(&mut states, &mut block, u8::MAX);
    states
}

/// The second and last block of messages: values of a digest's length.
#[target_feature(enable = "avx512f,avx512ifma")]
fn second<C: Nonced<N>, const N: usize>(values: &Words) -> Block {
    let mut block = [zero(); 16];
    block[..C::DIGEST].copy_from_slice(&values[..C::DIGEST]);
    block[C::DIGEST] = same(1 << 63);
    block[15] = same(8 * (BLOCK + 8 * C::DIGEST) as u64);
    block
}

/// The message of two blocks that a key is made of: V, a byte, the private key, the digest, and what is added.
#[target_feature(enable = "avx512f,avx512ifma")]
fn message<C: Nonced<N>, const N: usize>(jobs: &[NonceJob], present: u8, v: &Words, byte: u8) -> [Block; 2] {
    let mut words = [[[0; 8]; LANES]; 4];
    for (lane, (job, v)) in jobs.iter().zip(rows(v).iter()).enumerate() {
        if present >> lane & 1 == 1 {
            let mut message = message_words(job, &v[..C::DIGEST], byte);
            for (words, eight) in words.iter_mut().zip(&message) {
                words[lane] = *eight;
            }
            wipe(&mut message);
        }
    }
    let mut blocks = [[zero(); 16]; 2];
    for (eight, words) in blocks.as_flattened_mut().as_chunks_mut::<8>().0.iter_mut().zip(&words) {
        *eight = columns(words);
    }
    wipe(&mut words);
    blocks
}

/// The message of one job of HMAC-DRBG, padded, as words.
// Not inlined, where these loops would be turned into gathers.
#[inline(never)]
fn message_words(job: &NonceJob, v: &[u64], byte: u8) -> [[u64; 8]; 4] {
    let mut bytes = [0u8; 2 * BLOCK];
    for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(v) {
        *bytes = word.to_be_bytes();
    }
    let mut at = 8 * v.len();
    for part in [&[byte], job.private, job.digest, job.added, &[0x80]] {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    // The length in bits of a block before, and of all up to the bit that ends it.
    bytes[2 * BLOCK - 8..].copy_from_slice(&(8 * (BLOCK + at - 1) as u64).to_be_bytes());
    let mut words = [[0; 8]; 4];
    for (word, bytes) in words.as_flattened_mut().iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    wipe(&mut bytes);
    words
}

/// Makes nonces. A bit for each job whose lengths are right; the others' nonces stay as they are.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn nonces<C: Nonced<N>, const N: usize>(jobs: &mut [NonceJob]) -> u8 {
    let made = of_jobs::<C, N>(jobs);
    burn::<1024, 2>();
    made
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn of_jobs<C: Nonced<N>, const N: usize>(jobs: &mut [NonceJob]) -> u8 {
    let present = present(jobs, |job| {
        [job.private.len(), job.digest.len(), job.nonce.len()] == [C::BYTES; 3] && job.added.len() <= MAX_ADDED
    });
    // Steps b to g.
    let (k, mut v) = ([zero(); 8], [same(0x0101_0101_0101_0101); 8]);
    let mut keyed = Keyed::new::<C, N>(&k);
    for byte in [0, 1] {
        let mut k = keyed.of_blocks::<C, N>(message::<C, N>(jobs, present, &v, byte));
        keyed = Keyed::new::<C, N>(&k);
        wipe(&mut k);
        v = keyed.of::<C, N>(&v);
    }
    // Step h: what follows of the generator.
    let (mut filled, size) = (0, 8 * C::DIGEST);
    while filled < C::BYTES {
        v = keyed.of::<C, N>(&v);
        for (lane, (job, v)) in jobs.iter_mut().zip(rows(&v).iter()).enumerate() {
            if present >> lane & 1 == 1 {
                for (bytes, word) in job.nonce[filled..].chunks_mut(8).zip(&v[..C::DIGEST]) {
                    bytes.copy_from_slice(&word.to_be_bytes()[..bytes.len()]);
                }
            }
        }
        filled += size;
    }
    wipe(&mut v);
    for (lane, job) in jobs.iter_mut().enumerate().take(LANES) {
        if present >> lane & 1 == 1 {
            shift_right(job.nonce, 8 * C::BYTES - C::BITS);
        }
    }
    present
}

/// Shifts a big-endian number, by fewer than 8 bits.
fn shift_right(bytes: &mut [u8], by: usize) {
    let mut over = 0u16;
    for byte in bytes {
        let wide = over << 8 | u16::from(*byte);
        *byte = (wide >> by) as u8;
        over = wide;
    }
}
