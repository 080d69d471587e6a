//! The compression function of SHA-384 and SHA-512 (FIPS 180-4, 6.4) on eight states, a lane each.
//!
//! Method: the standard's schedule and rounds, a word of eight states in a vector; AVX-512 has the rotations, and any
//! function of three words in one instruction. No IFMA.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::{Vector, same};
use crate::sha512::K;
use std::arch::x86_64::*;

/// The initial state of SHA-512.
pub(crate) const START: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

/// The initial state of SHA-384.
pub(crate) const START_384: [u64; 8] = [
    0xcbbb_9d5d_c105_9ed8,
    0x629a_292a_367c_d507,
    0x9159_015a_3070_dd17,
    0x152f_ecd8_f70e_5939,
    0x6733_2667_ffc0_0b31,
    0x8eb4_4a87_6858_1511,
    0xdb0c_2e0d_64f9_8fa7,
    0x47b5_481d_befa_4fa4,
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

/// Compresses a block of each lane; the lanes not in `active` keep their state.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn compress(state: &mut [Vector; 8], w: &mut [Vector; 16], active: __mmask8) {
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
