//! Eight numbers of 32 bytes to lanes and back.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use crate::lanes::words::{columns, rows};
use crate::lanes::{LANES, Vector, zero};
use zeroize::Zeroize;

/// Eight little-endian numbers of 32 bytes as words.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn words(numbers: &[[u8; 32]; LANES]) -> [Vector; 4] {
    let mut rows = [[0; 8]; LANES];
    for (row, bytes) in rows.iter_mut().zip(numbers) {
        for (word, bytes) in row.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
    }
    let [a, b, c, d, ..] = columns(&rows);
    rows.zeroize();
    [a, b, c, d]
}

/// The numbers as bytes again.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn bytes(words: &[Vector; 4]) -> [[u8; 32]; LANES] {
    let [a, b, c, d] = *words;
    let rows = rows(&[a, b, c, d, zero(), zero(), zero(), zero()]);
    let mut out = [[0; 32]; LANES];
    for (out, row) in out.iter_mut().zip(rows.iter()) {
        for (bytes, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(row) {
            *bytes = word.to_le_bytes();
        }
    }
    out
}
