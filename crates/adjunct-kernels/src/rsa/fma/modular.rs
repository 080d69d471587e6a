//! Montgomery arithmetic in four lanes and W numbers a lane, each with a modulus of its own; see [`super`] for why it is right.
//!
//! A product is summed whole, then reduced; a square takes each two different digits once. Rows go by four, the last six or nine by three.
//! Of two numbers one is reduced while the other's factors are found, each of which waits for the one before.

use super::stream::{Chain, down, first_of_threes, start, streams};
use super::{Column, Modulus, Number, Vector, Wide, digit_bits};
use std::arch::x86_64::*;

/// What products of W numbers work on.
#[repr(C)]
pub struct Work<const D: usize, const W: usize> {
    pub sum: [Wide<D>; W],
    /// A number's digits doubled.
    twice: Number<D>,
    factors: [[Vector; 4]; W],
}

impl<const D: usize> Wide<D> {
    pub fn columns(&mut self) -> *mut Column {
        (&raw mut *self).cast()
    }
}

/// `sum` = `a` * `b`.
#[target_feature(enable = "avx2,fma")]
pub fn product<const D: usize>(sum: &mut Wide<D>, a: &Number<D>, b: &Number<D>) {
    let (t, a, b, start, s) = (sum.columns(), a.as_ptr(), b.as_ptr(), &start(digit_bits(D)), const { streams(D) });
    let threes = first_of_threes(D);
    // SAFETY: rows from k on read and write columns k to k + D + R - 2, which is at most 2D - 2.
    unsafe {
        (s.first)(t, a, b, D / 4, start);
        for k in (4..threes).step_by(4) {
            (s.more_of_four)(t.add(k), a.add(k), b, (D - 4) / 4, start);
        }
        for k in (threes..D).step_by(3) {
            (s.more_of_three)(t.add(k), a.add(k), b, (D - 3) / 3, start);
        }
    }
}

/// `sum` = `a`^2.
#[target_feature(enable = "avx2,fma")]
fn square_whole<const D: usize>(sum: &mut Wide<D>, a: &Number<D>, twice: &mut Number<D>) {
    for (twice, a) in twice.iter_mut().zip(a) {
        *twice = _mm256_add_pd(*a, *a);
    }
    let (t, twice, a, start, s) =
        (sum.columns(), twice.as_ptr(), a.as_ptr(), &start(digit_bits(D)), const { streams(D) });
    let threes = first_of_threes(D);
    // SAFETY: rows from digit k on read and write columns 2k to k + D + R - 2, which is at most 2D - 2.
    unsafe {
        (s.square_first)(t, twice, a, (D - 8) / 4, start);
        for k in (4..threes).step_by(4) {
            (s.square_of_four)(t.add(2 * k), twice.add(k), a.add(k), (D - k - 8) / 4, start);
        }
        for k in (threes..D - 3).step_by(3) {
            (s.square_of_three)(t.add(2 * k), twice.add(k), a.add(k), (D - k - 6) / 3, start);
        }
        let k = D - 3;
        (s.square_last)(t.add(2 * k), twice.add(k), a.add(k), 0, start);
    }
}

/// `out` = `sum` / R modulo `m`. The last column's lower part is to be there, and its upper part counts for nothing.
#[target_feature(enable = "avx2,fma")]
pub fn reduce<const D: usize, const W: usize>(out: &mut [Number<D>; W], m: &[Modulus<D>; W], work: &mut Work<D, W>) {
    let Work { sum, factors, .. } = work;
    let threes = first_of_threes(D);
    let chains: [Chain<D>; W] =
        std::array::from_fn(|w| Chain { t: sum[w].columns(), q: factors[w].as_mut_ptr(), m: &raw const m[w] });
    let (x, y) = (chains[0], chains[W - 1]);
    // Where blocks begin, and how many columns they have.
    let blocks = (0..threes).step_by(4).map(|k| (k, 4)).chain((threes..D).step_by(3).map(|k| (k, 3)));
    let mut next = blocks.clone().skip(1);
    // SAFETY: a block from column k on reads and writes columns k to k + D + R - 2, which is at most 2D - 2; the factors have four places.
    unsafe {
        x.links(4);
        for (k, count) in blocks {
            if W == 2 {
                x.at(k).rest_beside(count, y.at(k), count);
            } else {
                x.at(k).rest(count);
            }
            match next.next() {
                Some((k_then, then)) if W == 2 => y.at(k).rest_beside(count, x.at(k_then), then),
                Some((k_then, then)) => x.at(k_then).links(then),
                None if W == 2 => y.at(k).rest(count),
                None => {}
            }
        }
    }
    for (out, sum) in out.iter_mut().zip(&mut *sum) {
        // The upper part of column D - 1 was added to the first of these.
        carry(out, &sum.high);
    }
    super::super::fault::strike_four(out);
}

/// The digits of columns.
#[inline]
#[target_feature(enable = "avx2,fma")]
pub fn carry<const D: usize>(out: &mut Number<D>, columns: &[Column; D]) {
    let (start, down) = (start(digit_bits(D)), down(digit_bits(D)));
    let (mut above, mut x) = (_mm256_setzero_pd(), columns[0].l);
    for i in 0..D - 1 {
        let over = _mm256_sub_pd(_mm256_add_pd(x, start), start);
        out[i] = _mm256_fmadd_pd(above, down, _mm256_sub_pd(x, over));
        above = over;
        x = _mm256_fmadd_pd(_mm256_sub_pd(columns[i].h, start), down, columns[i + 1].l);
    }
    out[D - 1] = _mm256_fmadd_pd(above, down, x);
}

/// Brings digits of up to 2^52 back to the usual size.
#[target_feature(enable = "avx2,fma")]
pub fn settle<const D: usize>(a: &mut Number<D>) {
    let (start, down) = (start(digit_bits(D)), down(digit_bits(D)));
    let mut above = _mm256_setzero_pd();
    for digit in &mut a[..D - 1] {
        let over = _mm256_sub_pd(_mm256_add_pd(*digit, start), start);
        *digit = _mm256_fmadd_pd(above, down, _mm256_sub_pd(*digit, over));
        above = over;
    }
    a[D - 1] = _mm256_fmadd_pd(above, down, a[D - 1]);
}

/// `a` = `a` * `b` / R modulo `m`.
#[target_feature(enable = "avx2,fma")]
pub fn multiply<const D: usize, const W: usize>(
    a: &mut [Number<D>; W],
    b: &[Number<D>; W],
    m: &[Modulus<D>; W],
    work: &mut Work<D, W>,
) {
    for w in 0..W {
        product(&mut work.sum[w], &a[w], &b[w]);
    }
    reduce(a, m, work);
}

/// `a` = `a`^2 / R modulo `m`.
#[target_feature(enable = "avx2,fma")]
pub fn square<const D: usize, const W: usize>(a: &mut [Number<D>; W], m: &[Modulus<D>; W], work: &mut Work<D, W>) {
    let Work { sum, twice, .. } = work;
    for w in 0..W {
        square_whole(&mut sum[w], &a[w], twice);
    }
    reduce(a, m, work);
}
