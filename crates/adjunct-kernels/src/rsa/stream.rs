//! Ten limbs times many: the arithmetic of every size, as streams that fit the 32 vector registers.
//!
//! Ten limbs of one factor stay in registers while the limbs of the other come past one by one, and ten columns of the sum
//! with them: a step multiplies one limb by ten, low halves first and then high, takes the column that is complete out and the
//! next one in. That is 20 multiplications for two loads and one store, and what a multiplication adds to was last touched ten
//! multiplications before, more than its latency. Written in assembly: a compiler that moves the loads has no register left to
//! move them to, and stores that come in bursts instead of one a step cost a third of the speed.
//!
//! With b blocks of ten limbs in the other factor: [`product`] 200b multiplications, [`square`] 110 + 200b, [`reduce`] and
//! [`reduce_last`] 200 each for their first block and for each that follows, the latter one more.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::assembly::{self, ZEROS};
use crate::lanes::Vector;

/// Limbs of a block.
pub const BLOCK: usize = 10;

/// `sum` (+)= `a` * `b`, onto the columns from the first one; with `fresh` nothing was there before, else nothing in the last
/// ten columns. Only the low 52 bits of a limb of a factor count, here and below.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn product(sum: &mut [Vector], a: &[Vector; BLOCK], b: &[Vector], fresh: bool) {
    let (blocks, rest) = b.as_chunks::<BLOCK>();
    assert!(!blocks.is_empty() && rest.is_empty() && sum.len() >= b.len() + BLOCK);
    let zeros = (&raw const ZEROS).cast::<Vector>();
    let sum = sum.as_mut_ptr();
    let (from, step) = if fresh { (zeros, 0) } else { (sum.cast_const(), size_of_val(&blocks[0])) };
    // SAFETY: reads the factors and reads or writes b.len() + 10 columns of the sum; all are aligned as vectors are.
    unsafe { assembly::product(sum, b.as_ptr(), from, step, blocks.len(), a.as_ptr()) }
}

/// A part of a square: `a` begins with a block of ten limbs, which this multiplies with itself and, doubled, with those that
/// follow. `sum` are the columns from that of the first limb's square on: with `fresh` nothing was there before, else nothing
/// in the last ten. The first 20 columns are complete afterwards, the others not doubled yet.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn square(sum: &mut [Vector], a: &[Vector], fresh: bool) {
    let (blocks, rest) = a.as_chunks::<BLOCK>();
    assert!(!blocks.is_empty() && rest.is_empty() && sum.len() >= a.len() + BLOCK);
    let zeros = (&raw const ZEROS).cast::<Vector>();
    let sum = sum.as_mut_ptr();
    let (from, step) = if fresh { (zeros, 0) } else { (sum.cast_const(), size_of_val(&blocks[0])) };
    // With one block the second ten columns are the last.
    let second = if blocks.len() == 1 { zeros } else { from.wrapping_byte_add(step) };
    // SAFETY: reads the factor and reads or writes a.len() + 10 columns of the sum; all are aligned as vectors are.
    unsafe { assembly::square(sum, a.as_ptr(), from, step, blocks.len(), second) }
}

/// Ten steps of Montgomery's reduction by a multiple of the modulus that is -1 modulo 2^52: `fold` is that multiple plus one,
/// divided by 2^52. A step takes the lowest limb q off the sum and adds q * `fold` to the rest; so q needs no multiplication,
/// and the next one waits for only one. The ten limbs taken off are not written back.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn reduce(sum: &mut [Vector], fold: &[Vector]) {
    let (blocks, rest) = fold.as_chunks::<BLOCK>();
    assert!(blocks.len() > 1 && rest.is_empty() && sum.len() > fold.len() + BLOCK);
    let sum = sum.as_mut_ptr();
    // SAFETY: reads `fold`, and reads or writes fold.len() + 11 columns of the sum; all are aligned as vectors are.
    unsafe { assembly::reduce(sum, fold.as_ptr(), sum, blocks.len() - 1) }
}

/// Does the last ten steps of a reduction that has one for each limb of the modulus: [`reduce`]'s, but the very last is Montgomery's own, by the
/// modulus `m` and `k0`, -1/`m` modulo 2^52. Writes the result to `out`, every limb's excess over 52 bits added to the next but still in place.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn reduce_last(out: &mut [Vector], sum: &[Vector], fold: &[Vector], m: &[Vector], k0: &Vector) {
    let (blocks, rest) = fold.as_chunks::<BLOCK>();
    assert!(blocks.len() > 1 && rest.is_empty() && sum.len() > fold.len() + BLOCK);
    assert!(m.len() == fold.len() && out.len() == fold.len());
    // SAFETY: reads fold.len() limbs of `fold` and `m` and fold.len() + 11 columns of the sum, and writes fold.len() limbs;
    // all are aligned as vectors are.
    unsafe { assembly::reduce_last(out.as_mut_ptr(), fold.as_ptr(), sum.as_ptr(), m.as_ptr(), blocks.len() - 1, k0) }
}
