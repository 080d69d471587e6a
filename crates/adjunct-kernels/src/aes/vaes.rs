//! VAES on 512-bit vectors: ECB, CTR, CBC decryption and CFB decryption, 32 blocks at a time.

use super::ni::{from_bytes, load, to_bytes};
use super::{Keys, by_length};
use crate::InOut;
use std::arch::x86_64::*;

/// Vectors worked on at once; 15 round keys, these and what a mode adds fit the 32 registers.
const WIDE: usize = 8;

/// The round keys, each in all four lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub(super) fn schedule<const N: usize>(keys: Keys<'_>) -> [__m512i; N] {
    let mut loaded = [_mm512_setzero_si512(); N];
    for (k, bytes) in loaded.iter_mut().zip(keys) {
        *k = _mm512_broadcast_i32x4(from_bytes(bytes));
    }
    loaded
}

/// Encrypts or decrypts four blocks a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub(super) fn rounds<const N: usize, const L: usize, const ENCRYPT: bool>(k: &[__m512i; N], b: &mut [__m512i; L]) {
    for v in b.iter_mut() {
        *v = _mm512_xor_si512(*v, k[0]);
    }
    for k in &k[1..N - 1] {
        for v in b.iter_mut() {
            *v = if ENCRYPT { _mm512_aesenc_epi128(*v, *k) } else { _mm512_aesdec_epi128(*v, *k) };
        }
    }
    for v in b.iter_mut() {
        let last = k[N - 1];
        *v = if ENCRYPT { _mm512_aesenclast_epi128(*v, last) } else { _mm512_aesdeclast_epi128(*v, last) };
    }
}

/// The mask of the bytes of vector `i` that lie below `len`.
#[inline]
pub(super) fn mask(len: usize, i: usize) -> __mmask64 {
    match len.saturating_sub(64 * i) {
        rest @ 0..64 => (1 << rest) - 1,
        _ => u64::MAX,
    }
}

/// Loads the first `len` bytes at `from` into vectors, zeros behind them.
///
/// # Safety
/// `len` bytes can be read.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub(super) unsafe fn load_all<const L: usize>(from: *const u8, len: usize) -> [__m512i; L] {
    let mut v = [_mm512_setzero_si512(); L];
    for (i, v) in v.iter_mut().enumerate() {
        // SAFETY: masked bytes are not touched.
        *v = unsafe { _mm512_maskz_loadu_epi8(mask(len, i), from.wrapping_add(64 * i).cast()) };
    }
    v
}

/// Stores the first `len` bytes.
///
/// # Safety
/// `len` bytes can be written.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub(super) unsafe fn store_all<const L: usize>(to: *mut u8, len: usize, v: [__m512i; L]) {
    for (i, v) in v.into_iter().enumerate() {
        // SAFETY: masked bytes are not touched.
        unsafe { _mm512_mask_storeu_epi8(to.wrapping_add(64 * i).cast(), mask(len, i), v) };
    }
}

/// What a mode does with its chunks: whole ones of 64 * WIDE bytes, and the rest in the fewest vectors that hold it.
macro_rules! chunks {
    ($io:ident, |$at:ident, $len:ident| $pass:ident::<$($parameter:tt),*>($($argument:expr),*)) => {{
        let total = $io.len();
        let mut $at = 0;
        while total - $at >= 64 * WIDE {
            let $len = 64 * WIDE;
            $pass::<$($parameter),*, WIDE>($($argument),*);
            $at += $len;
        }
        let $len = total - $at;
        match $len {
            0 => {}
            1..=64 => $pass::<$($parameter),*, 1>($($argument),*),
            65..=128 => $pass::<$($parameter),*, 2>($($argument),*),
            129..=256 => $pass::<$($parameter),*, 4>($($argument),*),
            _ => $pass::<$($parameter),*, WIDE>($($argument),*),
        }
    }};
}
pub(super) use chunks;

/// ECB over whole blocks.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub fn ecb(keys: Keys<'_>, encrypt: bool, io: InOut<'_>) {
    if encrypt { by_length!(keys, ecb_n::<true>(keys, io)) } else { by_length!(keys, ecb_n::<false>(keys, io)) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn ecb_n<const N: usize, const ENCRYPT: bool>(keys: Keys<'_>, io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    let k = schedule::<N>(keys);
    chunks!(io, |at, len| ecb_pass::<N, ENCRYPT>(&k, &io, at, len));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn ecb_pass<const N: usize, const ENCRYPT: bool, const L: usize>(
    k: &[__m512i; N],
    io: &InOut<'_>,
    at: usize,
    len: usize,
) {
    // SAFETY: `len` bytes lie at `at`.
    unsafe {
        let mut v = load_all::<L>(io.input().add(at), len);
        rounds::<N, L, ENCRYPT>(k, &mut v);
        store_all(io.output().add(at), len, v);
    }
}

/// CBC decryption of whole blocks; `iv` becomes the last ciphertext block.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub fn cbc_decrypt(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, chained::<false>(keys, iv, io))
}

/// CFB-128 decryption of whole blocks; `iv` becomes the last ciphertext block.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub fn cfb_decrypt(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    by_length!(keys, chained::<true>(keys, iv, io))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn chained<const N: usize, const CFB: bool>(keys: Keys<'_>, iv: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    if io.is_empty() {
        return;
    }
    let k = schedule::<N>(keys);
    // SAFETY: the input's last block. It is read before the output, which may be the same memory, is written.
    let last = unsafe { to_bytes(load(io.input().add(io.len() - 16))) };
    // The block before the first, in the place where a vector has its last.
    let mut before = _mm512_broadcast_i32x4(from_bytes(iv));
    chunks!(io, |at, len| chained_pass::<N, CFB>(&k, &io, at, len, &mut before));
    *iv = last;
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn chained_pass<const N: usize, const CFB: bool, const L: usize>(
    k: &[__m512i; N],
    io: &InOut<'_>,
    at: usize,
    len: usize,
    before: &mut __m512i,
) {
    // SAFETY: `len` bytes lie at `at`.
    let cipher = unsafe { load_all::<L>(io.input().add(at), len) };
    let mut shifted = cipher;
    for (c, s) in cipher.iter().zip(&mut shifted) {
        // The vector that begins one block earlier.
        *s = _mm512_alignr_epi64::<6>(*c, *before);
        *before = *c;
    }
    let mut v = if CFB { shifted } else { cipher };
    if CFB {
        rounds::<N, L, true>(k, &mut v);
    } else {
        rounds::<N, L, false>(k, &mut v);
    }
    let other = if CFB { cipher } else { shifted };
    for (v, o) in v.iter_mut().zip(other) {
        *v = _mm512_xor_si512(*v, o);
    }
    // SAFETY: as above.
    unsafe { store_all(io.output().add(at), len, v) };
}

/// CTR with a big-endian counter of 128 bits over whole blocks.
///
/// # Panics
/// If the length is not a multiple of 16.
#[target_feature(enable = "avx512f,avx512bw,vaes")]
pub fn ctr(keys: Keys<'_>, counter: &mut [u8; 16], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(16));
    let mut count = u128::from_be_bytes(*counter);
    let mut rest = io;
    while !rest.is_empty() {
        // Vectors count in 64 bits: stop where those overflow, which is once in 2^64 blocks.
        let room = u128::from(u64::MAX - count as u64) + 1;
        let blocks = ((rest.len() / 16) as u128).min(room);
        let (part, behind) = rest.split_at(blocks as usize * 16);
        by_length!(keys, ctr_n(keys, count, part));
        count = count.wrapping_add(blocks);
        rest = behind;
    }
    *counter = count.to_be_bytes();
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn ctr_n<const N: usize>(keys: Keys<'_>, count: u128, io: InOut<'_>) {
    let k = schedule::<N>(keys);
    let (low, high) = (count as i64, (count >> 64) as i64);
    let mut next = _mm512_add_epi64(
        _mm512_set_epi64(high, low, high, low, high, low, high, low),
        _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0),
    );
    chunks!(io, |at, len| ctr_pass::<N>(&k, &io, at, len, &mut next));
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vaes")]
fn ctr_pass<const N: usize, const L: usize>(
    k: &[__m512i; N],
    io: &InOut<'_>,
    at: usize,
    len: usize,
    next: &mut __m512i,
) {
    let swap = _mm512_broadcast_i32x4(_mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    let four = _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4);
    let mut v = [*next; L];
    for v in &mut v {
        *v = _mm512_shuffle_epi8(*next, swap);
        *next = _mm512_add_epi64(*next, four);
    }
    rounds::<N, L, true>(k, &mut v);
    // SAFETY: `len` bytes lie at `at`.
    unsafe {
        let input = load_all::<L>(io.input().add(at), len);
        for (v, i) in v.iter_mut().zip(input) {
            *v = _mm512_xor_si512(*v, i);
        }
        store_all(io.output().add(at), len, v);
    }
}
