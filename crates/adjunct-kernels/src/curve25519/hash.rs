//! SHA-512 (FIPS 180-4) of eight messages at once, a lane each.
//!
//! Method: the standard's schedule and rounds, a word of eight states in a vector; AVX-512 has the rotations, and any
//! function of three words in one instruction. No IFMA. A lane whose message has ended keeps its state; the call runs as
//! long as its longest message.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::fault;
use super::words::{columns, rows};
use crate::lanes::{LANES, Vector, same};
use crate::sha512::{BLOCK, K};
use std::arch::x86_64::*;
use zeroize::{Zeroize, Zeroizing};

/// The length of a digest, in bytes.
pub(super) const DIGEST: usize = 64;

const START: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// Exclusive or of three words.
const XOR: i32 = 0x96;
/// The second word's bit where the first has one, else the third's.
const CHOOSE: i32 = 0xCA;
/// The bit most of the three words have.
const MAJORITY: i32 = 0xE8;

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn big_sigma<const A: i32, const B: i32, const C: i32>(x: Vector) -> Vector {
    _mm512_ternarylogic_epi64::<XOR>(_mm512_ror_epi64::<A>(x), _mm512_ror_epi64::<B>(x), _mm512_ror_epi64::<C>(x))
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn small_sigma<const A: i32, const B: i32, const C: u32>(x: Vector) -> Vector {
    _mm512_ternarylogic_epi64::<XOR>(_mm512_ror_epi64::<A>(x), _mm512_ror_epi64::<B>(x), _mm512_srli_epi64::<C>(x))
}

/// One block of each lane; the lanes not in `active` keep their state.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn compress(state: &mut [Vector; 8], w: &mut [Vector; 16], active: __mmask8) {
    let add = |a, b| _mm512_add_epi64(a, b);
    let mut s = *state;
    for (sixteen, k) in K.as_chunks::<16>().0.iter().enumerate() {
        for (i, &k) in k.iter().enumerate() {
            if sixteen > 0 {
                let (near, far) = (w[(i + 14) % 16], w[(i + 1) % 16]);
                let sum = add(small_sigma::<19, 61, 6>(near), small_sigma::<1, 8, 7>(far));
                w[i] = add(w[i], add(w[(i + 9) % 16], sum));
            }
            let [a, b, c, d, e, f, g, h] = s;
            let choose = _mm512_ternarylogic_epi64::<CHOOSE>(e, f, g);
            let majority = _mm512_ternarylogic_epi64::<MAJORITY>(a, b, c);
            let t1 = add(add(add(h, add(w[i], same(k))), choose), big_sigma::<14, 18, 41>(e));
            let t2 = add(big_sigma::<28, 34, 39>(a), majority);
            s = [add(t1, t2), a, b, c, add(d, t1), e, f, g];
        }
    }
    for (state, s) in state.iter_mut().zip(s) {
        *state = _mm512_mask_add_epi64(*state, active, *state, s);
    }
}

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
