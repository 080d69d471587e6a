//! XTS on 512-bit vectors, for every key size (IEEE 1619). The CPU library's own takes 256-bit keys only.

use super::ni::from_bytes;
use super::vaes::{chunks, load_all, rounds, schedule, store_all};
use super::{Keys, by_length};
use crate::InOut;
use std::arch::x86_64::*;

/// Vectors worked on at once.
const WIDE: usize = 8;

/// Works on whole blocks and multiplies `tweak`, already encrypted, by x for each. Stealing the last block's bytes is
/// the caller's.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "avx512f,avx512bw,vaes,vpclmulqdq")]
pub fn blocks(keys: Keys<'_>, encrypt: bool, tweak: &mut [u8; 16], io: InOut<'_>) {
    if encrypt {
        by_length!(keys, run::<true>(keys, tweak, io))
    } else {
        by_length!(keys, run::<false>(keys, tweak, io))
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes,vpclmulqdq")]
fn run<const N: usize, const ENCRYPT: bool>(keys: Keys<'_>, tweak: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    let k = schedule::<N>(keys);
    let mut tweaks = spread(tweak);
    chunks!(io, |at, len| pass::<N, ENCRYPT>(&k, &io, at, len, &mut tweaks));
    // What the last, short chunk used up is the lane it ended at.
    let used = io.len() % (64 * WIDE) / 16;
    let mut lanes = [0u8; 64];
    // SAFETY: 64 bytes.
    unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), tweaks[used / 4]) };
    tweak.copy_from_slice(&lanes[used % 4 * 16..][..16]);
}

/// The tweaks of the next 32 blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes,vpclmulqdq")]
fn spread(tweak: &[u8; 16]) -> [__m512i; WIDE] {
    let t = _mm512_broadcast_i32x4(from_bytes(tweak));
    let polynomial = _mm512_set1_epi64(0x87);
    let mut power = _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0);
    let mut tweaks = [t; WIDE];
    for out in &mut tweaks {
        // t * x^power: shift the halves, carry from the low one to the high one, and what falls out comes back reduced.
        let carry = _mm512_srlv_epi64(t, _mm512_sub_epi64(_mm512_set1_epi64(64), power));
        let shifted = _mm512_xor_si512(_mm512_sllv_epi64(t, power), _mm512_bslli_epi128::<8>(carry));
        *out = _mm512_xor_si512(shifted, _mm512_clmulepi64_epi128::<0x01>(carry, polynomial));
        power = _mm512_add_epi64(power, _mm512_set1_epi64(4));
    }
    tweaks
}

/// Multiplies by x^32: four bytes up, and those that fall out come back reduced.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes,vpclmulqdq")]
fn advance(t: __m512i) -> __m512i {
    let out = _mm512_bsrli_epi128::<12>(t);
    let back = _mm512_clmulepi64_epi128::<0x00>(out, _mm512_set1_epi64(0x87));
    _mm512_xor_si512(_mm512_bslli_epi128::<4>(t), back)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes,vpclmulqdq")]
fn pass<const N: usize, const ENCRYPT: bool, const L: usize>(
    k: &[__m512i; N],
    io: &InOut<'_>,
    at: usize,
    len: usize,
    tweaks: &mut [__m512i; WIDE],
) {
    // SAFETY: `len` bytes lie at `at`.
    let mut v = unsafe { load_all::<L>(io.input().add(at), len) };
    for (v, t) in v.iter_mut().zip(&*tweaks) {
        *v = _mm512_xor_si512(*v, *t);
    }
    rounds::<N, L, ENCRYPT>(k, &mut v);
    for (v, t) in v.iter_mut().zip(&*tweaks) {
        *v = _mm512_xor_si512(*v, *t);
    }
    // SAFETY: as above.
    unsafe { store_all(io.output().add(at), len, v) };
    if len == 64 * WIDE {
        for t in tweaks {
            *t = advance(*t);
        }
    }
}
