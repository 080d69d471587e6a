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
use std::arch::x86_64::*;
use zeroize::{Zeroize, Zeroizing};

/// The length of a block, in bytes.
const BLOCK: usize = 128;
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

static K: [u64; 80] = [
    0x428a_2f98_d728_ae22,
    0x7137_4491_23ef_65cd,
    0xb5c0_fbcf_ec4d_3b2f,
    0xe9b5_dba5_8189_dbbc,
    0x3956_c25b_f348_b538,
    0x59f1_11f1_b605_d019,
    0x923f_82a4_af19_4f9b,
    0xab1c_5ed5_da6d_8118,
    0xd807_aa98_a303_0242,
    0x1283_5b01_4570_6fbe,
    0x2431_85be_4ee4_b28c,
    0x550c_7dc3_d5ff_b4e2,
    0x72be_5d74_f27b_896f,
    0x80de_b1fe_3b16_96b1,
    0x9bdc_06a7_25c7_1235,
    0xc19b_f174_cf69_2694,
    0xe49b_69c1_9ef1_4ad2,
    0xefbe_4786_384f_25e3,
    0x0fc1_9dc6_8b8c_d5b5,
    0x240c_a1cc_77ac_9c65,
    0x2de9_2c6f_592b_0275,
    0x4a74_84aa_6ea6_e483,
    0x5cb0_a9dc_bd41_fbd4,
    0x76f9_88da_8311_53b5,
    0x983e_5152_ee66_dfab,
    0xa831_c66d_2db4_3210,
    0xb003_27c8_98fb_213f,
    0xbf59_7fc7_beef_0ee4,
    0xc6e0_0bf3_3da8_8fc2,
    0xd5a7_9147_930a_a725,
    0x06ca_6351_e003_826f,
    0x1429_2967_0a0e_6e70,
    0x27b7_0a85_46d2_2ffc,
    0x2e1b_2138_5c26_c926,
    0x4d2c_6dfc_5ac4_2aed,
    0x5338_0d13_9d95_b3df,
    0x650a_7354_8baf_63de,
    0x766a_0abb_3c77_b2a8,
    0x81c2_c92e_47ed_aee6,
    0x9272_2c85_1482_353b,
    0xa2bf_e8a1_4cf1_0364,
    0xa81a_664b_bc42_3001,
    0xc24b_8b70_d0f8_9791,
    0xc76c_51a3_0654_be30,
    0xd192_e819_d6ef_5218,
    0xd699_0624_5565_a910,
    0xf40e_3585_5771_202a,
    0x106a_a070_32bb_d1b8,
    0x19a4_c116_b8d2_d0c8,
    0x1e37_6c08_5141_ab53,
    0x2748_774c_df8e_eb99,
    0x34b0_bcb5_e19b_48a8,
    0x391c_0cb3_c5c9_5a63,
    0x4ed8_aa4a_e341_8acb,
    0x5b9c_ca4f_7763_e373,
    0x682e_6ff3_d6b2_b8a3,
    0x748f_82ee_5def_b2fc,
    0x78a5_636f_4317_2f60,
    0x84c8_7814_a1f0_ab72,
    0x8cc7_0208_1a64_39ec,
    0x90be_fffa_2363_1e28,
    0xa450_6ceb_de82_bde9,
    0xbef9_a3f7_b2c6_7915,
    0xc671_78f2_e372_532b,
    0xca27_3ece_ea26_619c,
    0xd186_b8c7_21c0_c207,
    0xeada_7dd6_cde0_eb1e,
    0xf57d_4f7f_ee6e_d178,
    0x06f0_67aa_7217_6fba,
    0x0a63_7dc5_a2c8_98a6,
    0x113f_9804_bef9_0dae,
    0x1b71_0b35_131c_471b,
    0x28db_77f5_2304_7d84,
    0x32ca_ab7b_40c7_2493,
    0x3c9e_be0a_15c9_bebc,
    0x431d_67c4_9c10_0d4c,
    0x4cc5_d4be_cb3e_42b6,
    0x597f_299c_fc65_7e2a,
    0x5fcb_6fab_3ad6_faec,
    0x6c44_198c_4a47_5817,
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
