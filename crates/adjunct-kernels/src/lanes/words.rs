//! Bytes to lanes and back: rows of eight words, one a lane, become vectors of the same word of every lane.
//!
//! Method: the transposition of an 8x8 matrix in three rounds of exchanges, in registers. Left to itself, the compiler
//! gathers from memory; by public addresses, but no gather at all is easier to prove.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::{LANES, Vector};
use std::arch::x86_64::*;
use zeroize::Zeroizing;

/// Rows become columns.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn transpose(rows: [Vector; 8]) -> [Vector; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    // Pairs of rows: their even and their odd columns.
    let even = |x, y| _mm512_unpacklo_epi64(x, y);
    let odd = |x, y| _mm512_unpackhi_epi64(x, y);
    // Fours of rows: columns k and k + 4, then k + 2 and k + 6.
    let near = |x, y| _mm512_permutex2var_epi64(x, _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0), y);
    let far = |x, y| _mm512_permutex2var_epi64(x, _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2), y);
    // All rows: the first column of two, and the second.
    let first = |x, y| _mm512_shuffle_i64x2::<0x44>(x, y);
    let second = |x, y| _mm512_shuffle_i64x2::<0xEE>(x, y);
    let halves = |p, q, r, s| {
        let (near, far) = ([near(p, q), near(r, s)], [far(p, q), far(r, s)]);
        [first(near[0], near[1]), first(far[0], far[1]), second(near[0], near[1]), second(far[0], far[1])]
    };
    let [c0, c2, c4, c6] = halves(even(a, b), even(c, d), even(e, f), even(g, h));
    let [c1, c3, c5, c7] = halves(odd(a, b), odd(c, d), odd(e, f), odd(g, h));
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

/// Word i of every row.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn columns(rows: &[[u64; 8]; LANES]) -> [Vector; 8] {
    // SAFETY: a row has a vector's 64 bytes.
    transpose(rows.each_ref().map(|row| unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }))
}

/// Byte rows as [`columns`] of words: the bytes are little-endian, as this architecture's words are.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn byte_columns(rows: &[[u8; 64]; LANES]) -> [Vector; 8] {
    // SAFETY: a row has a vector's 64 bytes.
    transpose(rows.each_ref().map(|row| unsafe { _mm512_loadu_si512(row.as_ptr().cast()) }))
}

/// The rows again.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn rows(columns: &[Vector; 8]) -> Zeroizing<[[u64; 8]; LANES]> {
    let mut rows = Zeroizing::new([[0; 8]; LANES]);
    for (row, vector) in rows.iter_mut().zip(transpose(*columns)) {
        // SAFETY: a row has a vector's 64 bytes.
        unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), vector) };
    }
    rows
}
