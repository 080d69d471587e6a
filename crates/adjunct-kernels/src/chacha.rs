//! ChaCha20 on 512-bit vectors (RFC 8439). The CPU library stops at AVX2, half the speed.
//!
//! Long runs take 16 blocks at once, one word of each in a vector; short ones four, one row of each in a vector, which
//! needs rotations of the rows but no transposition of words.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use crate::InOut;
use std::arch::x86_64::*;

const BLOCK: usize = 64;
const SIGMA: [u32; 4] = [0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574];

/// Encrypts or decrypts whole blocks, the first with `counter`; the 32-bit count wraps.
///
/// # Panics
/// If the length is not a multiple of 64.
#[inline]
#[target_feature(enable = "avx512f")]
pub fn blocks(key: &[u8; 32], counter: [u32; 4], io: InOut<'_>) {
    assert!(io.len().is_multiple_of(BLOCK));
    if io.len() <= 4 * BLOCK { few(key, counter, io) } else { many(key, counter, io) }
}

/// Up to four blocks, in a function of their own: the frame of the other costs them more than a round.
#[inline(never)]
#[target_feature(enable = "avx512f")]
fn few(key: &[u8; 32], counter: [u32; 4], io: InOut<'_>) {
    rows(streams::<1>(key, counter), &io, 0);
}

#[inline(never)]
#[target_feature(enable = "avx512f")]
fn many(key: &[u8; 32], mut counter: [u32; 4], io: InOut<'_>) {
    let mut at = 0;
    while io.len() - at >= 12 * BLOCK {
        at += sixteen(key, counter, &io, at);
        counter[0] = counter[0].wrapping_add(16);
    }
    while at < io.len() {
        let sets = (io.len() - at).div_ceil(4 * BLOCK);
        at += match sets {
            1 => rows(apart::<1>(key, counter), &io, at),
            2 => rows(apart::<2>(key, counter), &io, at),
            _ => rows(apart::<3>(key, counter), &io, at),
        };
        counter[0] = counter[0].wrapping_add(4 * sets as u32);
    }
}

/// Four blocks of key stream, the first with `counter`; the 32-bit count wraps.
#[target_feature(enable = "avx512f")]
pub fn four(key: &[u8; 32], counter: [u32; 4], out: &mut [u8; 4 * BLOCK]) {
    store(streams::<1>(key, counter).as_flattened(), out);
}

/// A block of key stream, with `counter`. This takes as long as four, less what it takes to bring four into order.
#[target_feature(enable = "avx512f,avx512vl")]
pub fn one(key: &[u8; 32], counter: [u32; 4], out: &mut [u8; BLOCK]) {
    // SAFETY: 16 bytes lie at each.
    let row = |from: *const u8| unsafe { _mm_loadu_si128(from.cast()) };
    let (a0, b0, c0) = (row(SIGMA.as_ptr().cast()), row(key.as_ptr()), row(key[16..].as_ptr()));
    // Word by word: the caller has just counted the first up, and loading all as one would wait for that store.
    let [w0, w1, w2, w3] = counter.map(|w| w as i32);
    let d0 = _mm_set_epi32(w3, w2, w1, w0);
    let (mut a, mut b, mut c, mut d) = (a0, b0, c0, d0);
    for _ in 0..10 {
        for half in 0..2 {
            a = _mm_add_epi32(a, b);
            d = _mm_rol_epi32::<16>(_mm_xor_si128(d, a));
            c = _mm_add_epi32(c, d);
            b = _mm_rol_epi32::<12>(_mm_xor_si128(b, c));
            a = _mm_add_epi32(a, b);
            d = _mm_rol_epi32::<8>(_mm_xor_si128(d, a));
            c = _mm_add_epi32(c, d);
            b = _mm_rol_epi32::<7>(_mm_xor_si128(b, c));
            // The second row is done last: the others turn while it is under way.
            if half == 0 {
                a = _mm_shuffle_epi32::<0x93>(a);
                c = _mm_shuffle_epi32::<0x39>(c);
            } else {
                a = _mm_shuffle_epi32::<0x39>(a);
                c = _mm_shuffle_epi32::<0x93>(c);
            }
            d = _mm_shuffle_epi32::<0x4E>(d);
        }
    }
    let rows = [_mm_add_epi32(a, a0), _mm_add_epi32(b, b0), _mm_add_epi32(c, c0), _mm_add_epi32(d, d0)];
    for (to, row) in out.as_chunks_mut::<16>().0.iter_mut().zip(rows) {
        // SAFETY: a row has 16 bytes.
        unsafe { _mm_storeu_si128(to.as_mut_ptr().cast(), row) };
    }
}

/// Eight blocks of key stream, the first with `counter`; the 32-bit count wraps. This takes little longer than four.
#[target_feature(enable = "avx512f")]
pub fn eight(key: &[u8; 32], counter: [u32; 4], out: &mut [u8; 8 * BLOCK]) {
    store(apart::<2>(key, counter).as_flattened(), out);
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(streams: &[__m512i], out: &mut [u8]) {
    for (to, &stream) in out.as_chunks_mut::<BLOCK>().0.iter_mut().zip(streams) {
        // SAFETY: a block has the size of a vector.
        unsafe { _mm512_storeu_si512(to.as_mut_ptr().cast(), stream) };
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn mix<const R: i32>(a: &mut __m512i, b: __m512i, d: &mut __m512i) {
    *a = _mm512_add_epi32(*a, b);
    *d = _mm512_rol_epi32::<R>(_mm512_xor_si512(*d, *a));
}

/// Four blocks whose rows are the lanes of four vectors, as four vectors of a block each.
#[inline]
#[target_feature(enable = "avx512f")]
fn gather(a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> [__m512i; 4] {
    let (ab, cd) = (_mm512_shuffle_i32x4::<0x44>(a, b), _mm512_shuffle_i32x4::<0x44>(c, d));
    let (ab_high, cd_high) = (_mm512_shuffle_i32x4::<0xEE>(a, b), _mm512_shuffle_i32x4::<0xEE>(c, d));
    [
        _mm512_shuffle_i32x4::<0x88>(ab, cd),
        _mm512_shuffle_i32x4::<0xDD>(ab, cd),
        _mm512_shuffle_i32x4::<0x88>(ab_high, cd_high),
        _mm512_shuffle_i32x4::<0xDD>(ab_high, cd_high),
    ]
}

/// XORs block `index` behind `at` with key stream, if there is such a block.
#[inline]
#[target_feature(enable = "avx512f")]
fn apply(io: &InOut<'_>, at: usize, index: usize, stream: __m512i) {
    let at = at + index * BLOCK;
    if at < io.len() {
        // SAFETY: the length is a multiple of a block, so a whole one lies at `at`.
        unsafe {
            let data = _mm512_loadu_si512(io.input().add(at).cast());
            _mm512_storeu_si512(io.output().add(at).cast(), _mm512_xor_si512(data, stream));
        }
    }
}

/// Applies up to 4 * S blocks; gives the bytes done.
#[inline]
#[target_feature(enable = "avx512f")]
fn rows<const S: usize>(streams: [[__m512i; 4]; S], io: &InOut<'_>, at: usize) -> usize {
    for (s, streams) in streams.into_iter().enumerate() {
        for (i, stream) in streams.into_iter().enumerate() {
            apply(io, at, 4 * s + i, stream);
        }
    }
    (io.len() - at).min(4 * S * BLOCK)
}

/// 4 * S blocks of key stream, by way of memory.
#[inline(never)]
#[target_feature(enable = "avx512f")]
fn apart<const S: usize>(key: &[u8; 32], counter: [u32; 4]) -> [[__m512i; 4]; S] {
    streams(key, counter)
}

/// 4 * S blocks of key stream. It names no instructions, which its callers do: so it is inlined, and what a message of up to four
/// blocks takes stays in registers.
#[inline(always)]
fn streams<const S: usize>(key: &[u8; 32], counter: [u32; 4]) -> [[__m512i; 4]; S] {
    // SAFETY: the callers name the instructions; 16 bytes lie where a row is loaded.
    unsafe {
        let row = |from: *const u8| _mm512_broadcast_i32x4(_mm_loadu_si128(from.cast()));
        let (a0, b0, c0) = (row(SIGMA.as_ptr().cast()), row(key.as_ptr()), row(key[16..].as_ptr()));
        // Word by word: the caller has just counted the first up, and loading all as one would wait for that store.
        let [w0, w1, w2, w3] = counter.map(|w| w as i32);
        let mut d0 = [_mm512_broadcast_i32x4(_mm_set_epi32(w3, w2, w1, w0)); S];
        let mut lane = _mm512_set_epi32(0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0);
        for d in &mut d0 {
            *d = _mm512_add_epi32(*d, lane);
            lane = _mm512_add_epi32(lane, _mm512_set4_epi32(0, 0, 0, 4));
        }
        let (mut a, mut b, mut c, mut d) = ([a0; S], [b0; S], [c0; S], d0);
        for _ in 0..10 {
            // The columns, then with the rows turned the diagonals.
            for half in 0..2 {
                for s in 0..S {
                    mix::<16>(&mut a[s], b[s], &mut d[s]);
                    mix::<12>(&mut c[s], d[s], &mut b[s]);
                    mix::<8>(&mut a[s], b[s], &mut d[s]);
                    mix::<7>(&mut c[s], d[s], &mut b[s]);
                    // The second row is done last: the others turn while it is under way.
                    if half == 0 {
                        a[s] = _mm512_shuffle_epi32::<0x93>(a[s]);
                        c[s] = _mm512_shuffle_epi32::<0x39>(c[s]);
                    } else {
                        a[s] = _mm512_shuffle_epi32::<0x39>(a[s]);
                        c[s] = _mm512_shuffle_epi32::<0x93>(c[s]);
                    }
                    d[s] = _mm512_shuffle_epi32::<0x4E>(d[s]);
                }
            }
        }
        std::array::from_fn(|s| {
            gather(
                _mm512_add_epi32(a[s], a0),
                _mm512_add_epi32(b[s], b0),
                _mm512_add_epi32(c[s], c0),
                _mm512_add_epi32(d[s], d0[s]),
            )
        })
    }
}

/// Up to 16 blocks; gives the bytes done.
#[inline]
#[target_feature(enable = "avx512f")]
fn sixteen(key: &[u8; 32], counter: [u32; 4], io: &InOut<'_>, at: usize) -> usize {
    let mut first = [_mm512_setzero_si512(); 16];
    for i in 0..4 {
        first[i] = _mm512_set1_epi32(SIGMA[i] as i32);
        first[12 + i] = _mm512_set1_epi32(counter[i] as i32);
    }
    for (v, bytes) in first[4..12].iter_mut().zip(key.as_chunks().0) {
        *v = _mm512_set1_epi32(i32::from_le_bytes(*bytes));
    }
    let count = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    first[12] = _mm512_add_epi32(first[12], count);
    let mut v = first;
    for _ in 0..10 {
        for turn in [0, 1] {
            // Column i, or the diagonal that begins there.
            let at = |row: usize, i: usize| 4 * row + (i + row * turn) % 4;
            for step in 0..4 {
                for i in 0..4 {
                    let (a, b, c, d) = (at(0, i), at(1, i), at(2, i), at(3, i));
                    let (to, from, with) = if step % 2 == 0 { (a, b, d) } else { (c, d, b) };
                    v[to] = _mm512_add_epi32(v[to], v[from]);
                    let x = _mm512_xor_si512(v[with], v[to]);
                    v[with] = match step {
                        0 => _mm512_rol_epi32::<16>(x),
                        1 => _mm512_rol_epi32::<12>(x),
                        2 => _mm512_rol_epi32::<8>(x),
                        _ => _mm512_rol_epi32::<7>(x),
                    };
                }
            }
        }
    }
    for (v, f) in v.iter_mut().zip(first) {
        *v = _mm512_add_epi32(*v, f);
    }
    // Words to blocks: four by four within lanes, then the lanes.
    let mut quads = [[_mm512_setzero_si512(); 4]; 4];
    for (g, quad) in quads.iter_mut().enumerate() {
        let [r0, r1, r2, r3] = [v[4 * g], v[4 * g + 1], v[4 * g + 2], v[4 * g + 3]];
        let (t0, t1) = (_mm512_unpacklo_epi32(r0, r1), _mm512_unpackhi_epi32(r0, r1));
        let (t2, t3) = (_mm512_unpacklo_epi32(r2, r3), _mm512_unpackhi_epi32(r2, r3));
        *quad = [
            _mm512_unpacklo_epi64(t0, t2),
            _mm512_unpackhi_epi64(t0, t2),
            _mm512_unpacklo_epi64(t1, t3),
            _mm512_unpackhi_epi64(t1, t3),
        ];
    }
    let [a, b, c, d] = quads;
    for (j, (((a, b), c), d)) in a.into_iter().zip(b).zip(c).zip(d).enumerate() {
        for (l, stream) in gather(a, b, c, d).into_iter().enumerate() {
            apply(io, at, 4 * l + j, stream);
        }
    }
    (io.len() - at).min(16 * BLOCK)
}
