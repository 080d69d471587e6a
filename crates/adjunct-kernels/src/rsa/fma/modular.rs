//! Montgomery arithmetic in four lanes and W numbers a lane, each with a modulus of its own; see [`super`] for why it is right.
//!
//! A product is summed whole, then reduced; a square takes each two different digits once. Rows go by four, the last six or nine by three.
//! Of two numbers one is reduced while the other's factors are found, each of which waits for the one before.

use super::stream::{Chain, down, first_of_threes, start, streams};
use super::{Column, Modulus, Number, Vector, Wide, digit_bits};
use std::arch::x86_64::*;

/// The memory that products of W numbers work in.
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

/// The reductions of W sums.
fn chains<const D: usize, const W: usize>(m: &[Modulus<D>; W], work: &mut Work<D, W>) -> [Chain<D>; W] {
    let Work { sum, factors, .. } = work;
    std::array::from_fn(|w| Chain { t: sum[w].columns(), q: factors[w].as_mut_ptr(), m: &raw const m[w] })
}

/// Begins the reduction of the first sum: its factors wait for each other, and what comes next need not wait for them.
#[target_feature(enable = "avx2,fma")]
fn begin<const D: usize, const W: usize>(m: &[Modulus<D>; W], work: &mut Work<D, W>) {
    // SAFETY: reads and writes the first seven columns of the sum; the factors have four places.
    unsafe { chains(m, work)[0].links(4) };
}

/// `out` = `sum` / R modulo `m`. The last column's lower part is to be there, and its upper part counts for nothing.
#[target_feature(enable = "avx2,fma")]
pub fn reduce<const D: usize, const W: usize>(out: &mut [Number<D>; W], m: &[Modulus<D>; W], work: &mut Work<D, W>) {
    begin(m, work);
    finish(out, m, work);
}

/// Ends a reduction whose lowest columns are done.
#[target_feature(enable = "avx2,fma")]
fn finish<const D: usize, const W: usize>(out: &mut [Number<D>; W], m: &[Modulus<D>; W], work: &mut Work<D, W>) {
    let chains = chains(m, work);
    let (x, y) = (chains[0], chains[W - 1]);
    let size = |k: usize| if k < const { first_of_threes(D) } { 4 } else { 3 };
    let mut k = 0;
    // SAFETY: a block from column k on reads and writes columns k to k + D + R - 2, which is at most 2D - 2; the factors have four places.
    unsafe {
        while k < D {
            let (count, next) = (size(k), k + size(k));
            if W == 2 {
                x.at(k).rest_beside(count, y.at(k), count);
                if next < D {
                    y.at(k).rest_beside(count, x.at(next), size(next));
                } else {
                    y.at(k).rest(count);
                }
            } else {
                x.at(k).rest(count);
                if next < D {
                    x.at(next).links(size(next));
                }
            }
            k = next;
        }
    }
    for (out, sum) in out.iter_mut().zip(&work.sum) {
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
        if w == 0 {
            begin(m, work);
        }
    }
    finish(a, m, work);
}

/// `a` = `a`^2 / R modulo `m`.
#[target_feature(enable = "avx2,fma")]
pub fn square<const D: usize, const W: usize>(a: &mut [Number<D>; W], m: &[Modulus<D>; W], work: &mut Work<D, W>) {
    for (w, a) in a.iter().enumerate() {
        square_whole(&mut work.sum[w], a, &mut work.twice);
        if w == 0 {
            begin(m, work);
        }
    }
    finish(a, m, work);
}
