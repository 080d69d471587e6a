//! The two halves of CCM, CTR and CBC-MAC, on AES-NI side by side (SP 800-38C, RFC 3610).

use super::ni::{crypt, encrypt, from_bytes, load, middle, schedule, single, store, to_bytes};
use super::{Keys, by_length};
use crate::InOut;
use std::arch::x86_64::*;

/// Encrypts whole blocks and takes the plaintext into `mac`. The counter is a big-endian number, of which the low 64 bits count.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "sse4.1,aes")]
pub fn seal(keys: Keys<'_>, counter: u128, mac: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, N => run::<N, true>(keys, counter, mac, io))
}

/// Decrypts whole blocks and takes the plaintext into `mac`.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "sse4.1,aes")]
pub fn open(keys: Keys<'_>, counter: u128, mac: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, N => run::<N, false>(keys, counter, mac, io))
}

/// Encrypts or decrypts a whole message of a block at most, and gives its tag. `first` is the MAC's first block and `counter` the one that hides the
/// tag, which the text's follows, big-endian numbers both; `aad` is the block of the additional data, if there is any, whose lowest byte is the
/// first.
///
/// The first block of the MAC goes through the cipher beside the two of the counter, and while the round keys may still come.
///
/// # Panics
/// If the message is longer than a block.
#[target_feature(enable = "sse4.1,aes")]
pub fn once(keys: Keys<'_>, first: u128, aad: Option<u128>, counter: u128, sealing: bool, io: InOut<'_>) -> [u8; 16] {
    by_length!(keys, N => once_n::<N>(keys, first, aad, counter, sealing, io))
}

/// A number as a block, the lowest byte first.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn block(number: u128) -> __m128i {
    _mm_set_epi64x((number >> 64) as i64, number as i64)
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn once_n<const N: usize>(
    keys: Keys<'_>,
    first: u128,
    aad: Option<u128>,
    counter: u128,
    sealing: bool,
    io: InOut<'_>,
) -> [u8; 16] {
    assert!(io.len() <= 16);
    let k = schedule::<N>(keys);
    let (last, joint) = (k[N - 1], _mm_xor_si128(k[N - 1], k[0]));
    let mut blocks = [first, counter, counter | 1].map(|b| _mm_xor_si128(block(b.swap_bytes()), k[0]));
    for key in &k[1..N - 1] {
        blocks = blocks.map(|b| _mm_aesenc_si128(b, *key));
    }
    let [mut state, mask, stream] = blocks;
    let (mask, stream) = (_mm_aesenclast_si128(mask, last), _mm_aesenclast_si128(stream, last));
    // As in the chained modes: what a block adds first goes into the last key of the one before.
    if let Some(aad) = aad {
        state = middle(&k, _mm_aesenclast_si128(state, _mm_xor_si128(joint, block(aad))));
    }
    if !io.is_empty() {
        let (input, output) = crypt(stream, io);
        let plain = if sealing { input } else { output };
        state = middle(&k, _mm_aesenclast_si128(state, _mm_xor_si128(joint, plain)));
    }
    to_bytes(_mm_aesenclast_si128(state, _mm_xor_si128(last, mask)))
}

/// Takes whole blocks into `mac`.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "sse4.1,aes")]
pub fn absorb(keys: Keys<'_>, mac: &mut [u8; 16], data: &[u8]) {
    by_length!(keys, N => absorb_n::<N>(keys, mac, data))
}

/// Takes one block into `mac`, given as a number whose lowest byte is the first.
#[inline]
#[target_feature(enable = "sse4.1,aes")]
pub fn absorb_one(keys: Keys<'_>, mac: &mut [u8; 16], block: u128) {
    let block = self::block(block);
    *mac = to_bytes(by_length!(keys, N => single::<N, true>(keys, _mm_xor_si128(from_bytes(mac), block))));
}

/// The MAC of a whole message: whole blocks, and the last one as a number whose lowest byte is the first, with its subkey.
///
/// # Panics
/// If the length of the blocks is not a multiple of 16.
#[target_feature(enable = "sse4.1,aes")]
pub fn whole(keys: Keys<'_>, blocks: &[u8], last: u128) -> [u8; 16] {
    by_length!(keys, N => whole_n::<N>(keys, blocks, last))
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn whole_n<const N: usize>(keys: Keys<'_>, blocks: &[u8], last: u128) -> [u8; 16] {
    let (blocks, rest) = blocks.as_chunks();
    assert!(rest.is_empty());
    let k = schedule::<N>(keys);
    let (mut state, joint) = (k[0], _mm_xor_si128(k[N - 1], k[0]));
    for block in blocks {
        // The first key of the next block goes into the last one of this.
        state = _mm_aesenclast_si128(middle(&k, _mm_xor_si128(state, from_bytes(block))), joint);
    }
    state = middle(&k, _mm_xor_si128(state, self::block(last)));
    to_bytes(_mm_aesenclast_si128(state, k[N - 1]))
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn absorb_n<const N: usize>(keys: Keys<'_>, mac: &mut [u8; 16], data: &[u8]) {
    let (blocks, rest) = data.as_chunks();
    assert!(rest.is_empty());
    let [first, more @ ..] = blocks else { return };
    let k = schedule::<N>(keys);
    let (last, joint) = (k[N - 1], _mm_xor_si128(k[N - 1], k[0]));
    // As in the chained modes: what a block adds first goes into the last key of the one before.
    let mut state = _mm_xor_si128(_mm_xor_si128(from_bytes(mac), from_bytes(first)), k[0]);
    for block in more {
        state = _mm_aesenclast_si128(middle(&k, state), _mm_xor_si128(joint, from_bytes(block)));
    }
    *mac = to_bytes(_mm_aesenclast_si128(middle(&k, state), last));
}

#[inline]
#[target_feature(enable = "sse4.1,aes")]
fn run<const N: usize, const SEAL: bool>(keys: Keys<'_>, counter: u128, mac: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    if io.is_empty() {
        return;
    }
    let k = schedule::<N>(keys);
    let swap = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let one = _mm_set_epi64x(0, 1);
    let (last, joint) = (k[N - 1], _mm_xor_si128(k[N - 1], k[0]));
    // As a number, so that counting is one addition.
    let first = _mm_set_epi64x((counter >> 64) as i64, counter as i64);
    let mut count = _mm_add_epi64(first, one);
    // The key stream runs one block ahead: the MAC, whose blocks wait for each other, waits for nothing else.
    let mut streams = [_mm_shuffle_epi8(first, swap), _mm_shuffle_epi8(count, swap)];
    encrypt(&k, &mut streams);
    let [mut stream, mut next] = streams;
    let mut state = _mm_xor_si128(from_bytes(mac), k[0]);
    let mut at = 0;
    loop {
        // SAFETY: a whole block lies at `at`.
        let input = unsafe { load(io.input().add(at)) };
        let output = _mm_xor_si128(input, stream);
        // SAFETY: a whole block lies at `at` of the output too, which is as long as the input.
        unsafe { store(io.output().add(at), output) };
        // As in the chained modes: `state` ends with the first key, or with last and first key for the blocks after.
        let plain = if SEAL { input } else { output };
        let begun = if at == 0 {
            _mm_xor_si128(state, plain)
        } else {
            _mm_aesenclast_si128(state, _mm_xor_si128(joint, plain))
        };
        count = _mm_add_epi64(count, one);
        let mut both = [begun, _mm_xor_si128(_mm_shuffle_epi8(count, swap), k[0])];
        for key in &k[1..N - 1] {
            both = both.map(|b| _mm_aesenc_si128(b, *key));
        }
        state = both[0];
        (stream, next) = (next, _mm_aesenclast_si128(both[1], last));
        at += 16;
        if at == io.len() {
            break;
        }
    }
    *mac = to_bytes(_mm_aesenclast_si128(state, last));
}
