//! Exponentiation: by secret exponents in fixed windows, by public ones bit by bit.
//!
//! Every window of w bits takes w squares, one table read and one product, whatever its bits. A table read loads all 2^w entries and keeps, in
//! each lane, what a mask leaves of them: that of one entry is all ones, the others' zeros. Windows of five bits, whose tables overflow
//! the first cache, were no faster for any size.

use super::modular::{Work, multiply, reduce, square};
use super::{LANES, Modulus, Number};
use crate::lanes::LIMB;
use std::arch::x86_64::*;

/// Bits of a window.
const WINDOW: usize = 4;
const ENTRIES: usize = 1 << WINDOW;
/// Digits of table entries that are picked at a time.
const TOGETHER: usize = 8;

/// Two numbers a lane and what raising them takes.
#[repr(C)]
pub struct Secret<const P: usize, const D: usize> {
    table: [[Number<D>; ENTRIES]; 2],
    pub modulus: [Modulus<D>; 2],
    pub exponent: [[__m256i; P]; 2],
    /// The base as any sum below 2 m^2 that is it; any sum.
    pub work: Work<D, 2>,
    /// R^2; then a table entry.
    pub factor: [Number<D>; 2],
    /// The base in Montgomery's form.
    pub other: [Number<D>; 2],
    /// The result, between -m and m.
    pub power: [Number<D>; 2],
}

/// Ones.
#[target_feature(enable = "avx2,fma")]
fn set_one<const D: usize, const W: usize>(numbers: &mut [Number<D>; W]) {
    for number in numbers {
        *number = [_mm256_setzero_pd(); D];
        number[0] = _mm256_set1_pd(1.0);
    }
}

/// Raises what is in `work` to `exponent`, of which the lowest `bits` bits count.
#[target_feature(enable = "avx2,fma")]
pub fn raise<const P: usize, const D: usize>(secret: &mut Secret<P, D>, bits: usize) {
    let Secret { modulus, work, factor, other, power, .. } = secret;
    // The sum / R, the sum, the sum R: the base in Montgomery's form.
    reduce(other, modulus, work);
    for sum in &mut work.sum {
        sum.high[D - 1].l = _mm256_setzero_pd();
    }
    multiply(other, factor, modulus, work);
    multiply(other, factor, modulus, work);
    // R^2 / R: one.
    set_one(power);
    multiply(power, factor, modulus, work);
    powers(secret, bits);
    let Secret { modulus, work, factor, power, .. } = secret;
    set_one(factor);
    multiply(power, factor, modulus, work);
}

/// Raises what is in `other` to `exponent`, of which the lowest `bits` bits count; `power` is one at first, and the result at last, all in
/// Montgomery's form.
#[target_feature(enable = "avx2,fma")]
pub fn powers<const P: usize, const D: usize>(secret: &mut Secret<P, D>, bits: usize) {
    let Secret { table, modulus, exponent, work, factor, other, power } = secret;
    put(table, 0, power);
    put(table, 1, other);
    for entry in (2..ENTRIES).step_by(2) {
        for (power, table) in power.iter_mut().zip(&*table) {
            *power = table[entry / 2];
        }
        square(power, modulus, work);
        put(table, entry, power);
        multiply(power, other, modulus, work);
        put(table, entry + 1, power);
    }

    let windows = bits.div_ceil(WINDOW);
    for w in 0..2 {
        pick(&mut power[w], &table[w], &exponent[w], windows - 1);
    }
    for place in (0..windows - 1).rev() {
        for _ in 0..WINDOW {
            square(power, modulus, work);
        }
        for w in 0..2 {
            pick(&mut factor[w], &table[w], &exponent[w], place);
        }
        multiply(power, factor, modulus, work);
    }
}

/// Writes an entry of tables.
fn put<const D: usize>(table: &mut [[Number<D>; ENTRIES]; 2], entry: usize, number: &[Number<D>; 2]) {
    for (table, number) in table.iter_mut().zip(number) {
        table[entry] = *number;
    }
}

/// Picks the entries for the lanes' exponents in the window at a place; reads all entries.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn pick<const P: usize, const D: usize>(
    out: &mut Number<D>,
    table: &[Number<D>; ENTRIES],
    exponents: &[__m256i; P],
    place: usize,
) {
    let bit = place * WINDOW;
    // No window is part of two limbs.
    const { assert!((LIMB as usize).is_multiple_of(WINDOW)) };
    let (at, shift) = (bit / LIMB as usize, bit as u32 % LIMB);
    let windows = _mm256_srl_epi64(exponents[at], _mm_cvtsi32_si128(shift as i32));
    let windows = _mm256_and_si256(windows, _mm256_set1_epi64x(ENTRIES as i64 - 1));
    let chosen: [_; ENTRIES] =
        std::array::from_fn(|entry| _mm256_castsi256_pd(_mm256_cmpeq_epi64(windows, _mm256_set1_epi64x(entry as i64))));
    for from in (0..D).step_by(TOGETHER) {
        let mut picked = [_mm256_setzero_pd(); TOGETHER];
        let count = TOGETHER.min(D - from);
        for (chosen, number) in chosen.iter().zip(table) {
            if count == TOGETHER {
                for i in 0..TOGETHER {
                    picked[i] = _mm256_or_pd(picked[i], _mm256_and_pd(*chosen, number[from + i]));
                }
            } else {
                for i in 0..count {
                    picked[i] = _mm256_or_pd(picked[i], _mm256_and_pd(*chosen, number[from + i]));
                }
            }
        }
        out[from..from + count].copy_from_slice(&picked[..count]);
    }
}

/// A number and what raising it to a public exponent takes.
#[repr(C)]
pub struct Public<const D: usize> {
    pub modulus: [Modulus<D>; 1],
    /// The base, between -m and m.
    pub base: [Number<D>; 1],
    /// R^2; then a factor.
    pub factor: [Number<D>; 1],
    form: [Number<D>; 1],
    one: [Number<D>; 1],
    work: Work<D, 1>,
    /// The result, between -m and m.
    pub power: [Number<D>; 1],
}

/// Raises `base` to odd exponents of two bits or more; in time that depends on the exponents.
#[target_feature(enable = "avx2,fma")]
pub fn raise_public<const D: usize>(public: &mut Public<D>, exponents: &[u64; LANES]) {
    let Public { modulus, base, factor, form, one, work, power } = public;
    let lanes = |bit: u32| exponents.map(|e| e >> bit & 1 == 1);
    *form = *base;
    multiply(form, factor, modulus, work);
    set_one(one);
    multiply(one, factor, modulus, work);
    let top = exponents.iter().fold(0, |all, e| all | e).ilog2();
    select(power, &lanes(top), one, form);
    for bit in (1..top).rev() {
        square(power, modulus, work);
        let lanes = lanes(bit);
        if lanes.contains(&true) {
            select(factor, &lanes, one, form);
            multiply(power, factor, modulus, work);
        }
    }
    square(power, modulus, work);
    // Odd exponents all have the lowest bit; the base as it is leaves Montgomery's form on the way.
    multiply(power, base, modulus, work);
}

/// `out` = lane by lane `b` where it is chosen, else `a`.
#[target_feature(enable = "avx2,fma")]
fn select<const D: usize>(out: &mut [Number<D>; 1], choose: &[bool; LANES], a: &[Number<D>; 1], b: &[Number<D>; 1]) {
    let [zeros, ones, two, three] = choose.map(|chosen| -i64::from(chosen));
    let mask = _mm256_castsi256_pd(_mm256_set_epi64x(three, two, ones, zeros));
    for (out, (a, b)) in out[0].iter_mut().zip(a[0].iter().zip(&b[0])) {
        *out = _mm256_blendv_pd(*a, *b, mask);
    }
}
