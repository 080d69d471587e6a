//! SHA-512 (FIPS 180-4) of eight messages at once, a lane each.
//!
//! A lane whose message has ended keeps its state; the call runs as long as its longest message.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::fault;
use crate::lanes::sha512::{START, compress};
use crate::lanes::words::{columns, rows};
use crate::lanes::{LANES, same};
use crate::sha512::BLOCK;
use zeroize::{Zeroize, Zeroizing};

/// The length of a digest, in bytes.
pub(super) const DIGEST: usize = 64;

/// The digests of eight messages, each the parts one after the other.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sha512<const PARTS: usize>(messages: &[[&[u8]; PARTS]; LANES]) -> Zeroizing<[[u8; DIGEST]; LANES]> {
    // The lengths are taken one by one: the compiler would gather them, and the constant-time check allows no gather.
    let lengths = messages.map(|parts| parts.iter().map(|p| std::hint::black_box(p.len())).sum::<usize>());
    // A message is followed by a one bit and its length in 16 bytes.
    let blocks = lengths.map(|length| (length + 17).div_ceil(BLOCK));
    let mut state = START.map(|word| same(word));
    // Both halves of every lane's block.
    let mut words = [[[0; 8]; LANES]; 2];
    let mut w = [same(0); 16];
    for block in 0..blocks.into_iter().max().unwrap_or(0) {
        let mut active = 0;
        for lane in 0..LANES {
            if block < blocks[lane] {
                active |= 1 << lane;
                [words[0][lane], words[1][lane]] = padded(&messages[lane], lengths[lane], block);
            }
        }
        for (w, words) in w.as_chunks_mut::<8>().0.iter_mut().zip(&words) {
            *w = columns(words);
        }
        compress(&mut state, &mut w, active);
        fault::inject(fault::HASH, block, &mut state[0]);
    }
    let mut digests = Zeroizing::new([[0; DIGEST]; LANES]);
    for (digest, words) in digests.iter_mut().zip(rows(&state).iter()) {
        for (bytes, word) in digest.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_be_bytes();
        }
    }
    words.zeroize();
    w.zeroize();
    state.zeroize();
    digests
}

/// The words of a block of the padded message, in halves.
fn padded(parts: &[&[u8]], length: usize, block: usize) -> [[u64; 8]; 2] {
    let mut bytes = Zeroizing::new([0; BLOCK]);
    let start = block * BLOCK;
    // Where the part begins, counted from the start of the message.
    let mut at = 0;
    for part in parts {
        let (from, to) = (at.max(start), (at + part.len()).min(start + BLOCK));
        if from < to {
            bytes[from - start..to - start].copy_from_slice(&part[from - at..to - at]);
        }
        at += part.len();
    }
    if (start..start + BLOCK).contains(&length) {
        bytes[length - start] = 0x80;
    }
    if length + 17 <= start + BLOCK {
        bytes[BLOCK - 16..].copy_from_slice(&(length as u128 * 8).to_be_bytes());
    }
    let mut words = [[0; 8]; 2];
    for (word, bytes) in words.as_flattened_mut().iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}
