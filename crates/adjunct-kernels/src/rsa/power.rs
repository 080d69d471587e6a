//! Exponentiation: by secret exponents in fixed windows of five bits, by public ones bit by bit.
//!
//! Every window takes five squares, one table read and one product, whatever its bits; a table read touches all 32 entries
//! and masks the lanes' own ones out of them, since the lanes have different exponents (Gueron, JCEN 2012, and Brickell,
//! Gordon, McCurley, Wilson for the fixed window). Five bits cost least: a product and a table read of four or six bits come
//! more often or longer.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::modular::{Modulus, Wide, canonical, multiply, multiply_count, reduce, square, square_count};
use super::tile::{TILE, choose};
use crate::lanes::{LANES, LIMB, Number, Vector, same, select, zero};
use std::arch::x86_64::*;

/// Bits of a window.
const WINDOW: usize = 5;
/// Entries of a table.
pub const ENTRIES: usize = 1 << WINDOW;

/// A number and what raising it takes, for W numbers a lane.
#[repr(C)]
pub struct Secret<const N: usize, const W: usize> {
    /// The powers 0 to 31.
    pub table: [[Number<N>; W]; ENTRIES],
    pub modulus: [Modulus<N>; W],
    pub exponent: [Number<N>; W],
    /// The base as any sum below R m / 2 that is it; any sum.
    pub sum: [Wide<N>; W],
    /// R^2; then a table entry.
    pub factor: [Number<N>; W],
    /// The result, below its modulus.
    pub power: [Number<N>; W],
}

/// Multiplications of [`raise`].
pub const fn raise_count(n: u64, bits: u64, ways: u64) -> u64 {
    let windows = bits.div_ceil(WINDOW as u64);
    let reduction = 2 * n * n + 1;
    // In and out of Montgomery's form and its 1; the table; the windows.
    let around = 4 * reduction + 2 * multiply_count(n);
    let table = (ENTRIES as u64 / 2 - 1) * (square_count(n) + multiply_count(n));
    let body = (windows - 1) * (WINDOW as u64 * square_count(n) + multiply_count(n));
    ways * (around + table + body)
}

/// Raises what is in `sum` to `exponent`, of which the lowest `bits` bits count.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn raise<const N: usize, const W: usize>(secret: &mut Secret<N, W>, bits: usize) {
    let Secret { table, modulus, exponent, sum, factor, power } = secret;
    // sum / R, sum, sum R: the base in Montgomery's form.
    reduce(power, modulus, sum);
    multiply(power, factor, modulus, sum);
    multiply(power, factor, modulus, sum);
    table[1] = *power;
    // R^2 / R: one.
    widen(sum, factor);
    reduce(&mut table[0], modulus, sum);
    for i in (2..ENTRIES).step_by(2) {
        *power = table[i / 2];
        square(power, modulus, sum);
        table[i] = *power;
        multiply(power, &table[1], modulus, sum);
        table[i + 1] = *power;
    }
    let windows = bits.div_ceil(WINDOW);
    look_up(power, table, exponent, windows - 1);
    for window in (0..windows - 1).rev() {
        for _ in 0..WINDOW {
            square(power, modulus, sum);
        }
        look_up(factor, table, exponent, window);
        multiply(power, factor, modulus, sum);
    }
    widen(sum, power);
    reduce(power, modulus, sum);
    for (power, modulus) in power.iter_mut().zip(modulus) {
        canonical(power, &modulus.m);
    }
}

/// `sum` = `a`.
#[target_feature(enable = "avx512f,avx512ifma")]
fn widen<const N: usize, const W: usize>(sum: &mut [Wide<N>; W], a: &[Number<N>; W]) {
    let mask = same(crate::lanes::MASK);
    for (sum, a) in sum.iter_mut().zip(a) {
        for (s, a) in sum[0].iter_mut().zip(a) {
            *s = _mm512_and_si512(*a, mask);
        }
        sum[1] = [zero(); N];
    }
}

/// The table entries that a window of each lane's exponents names.
#[target_feature(enable = "avx512f,avx512ifma")]
fn look_up<const N: usize, const W: usize>(
    out: &mut [Number<N>; W],
    table: &[[Number<N>; W]; ENTRIES],
    exponent: &[Number<N>; W],
    window: usize,
) {
    for (w, (out, exponent)) in out.iter_mut().zip(exponent).enumerate() {
        let digit = digit(exponent, window * WINDOW);
        for i in (0..N).step_by(TILE) {
            let out = out[i..].first_chunk_mut().expect("a tile inside the number");
            choose(out, table.as_flattened().as_flattened(), w * N + i, W * N, digit);
        }
    }
}

/// The window of each lane's exponent that begins at a bit.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn digit<const N: usize>(exponent: &Number<N>, bit: usize) -> Vector {
    let (at, shift) = (bit / LIMB as usize, (bit % LIMB as usize) as u32);
    let low = _mm512_srl_epi64(exponent[at], _mm_cvtsi32_si128(shift as i32));
    let next = exponent.get(at + 1).copied().unwrap_or(zero());
    let high = _mm512_sll_epi64(next, _mm_cvtsi32_si128((LIMB - shift) as i32));
    _mm512_and_si512(_mm512_or_si512(low, high), same(ENTRIES as u64 - 1))
}

/// A number and what raising it to a public exponent takes.
#[repr(C)]
pub struct Public<const N: usize> {
    pub modulus: [Modulus<N>; 1],
    /// The base, below its modulus.
    pub base: [Number<N>; 1],
    /// R^2; then the base in Montgomery's form; then a factor.
    pub factor: [Number<N>; 1],
    pub form: [Number<N>; 1],
    pub one: [Number<N>; 1],
    pub sum: [Wide<N>; 1],
    /// The result, below its modulus.
    pub power: [Number<N>; 1],
}

/// Multiplications of [`raise_public`] by 65537.
pub const fn raise_public_count(n: u64) -> u64 {
    2 * multiply_count(n) + 16 * square_count(n)
}

/// Raises `base` to odd exponents of two bits or more; in time that depends on the exponents.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn raise_public<const N: usize>(public: &mut Public<N>, exponents: &[u64; LANES]) {
    let Public { modulus, base, factor, form, one, sum, power } = public;
    let lanes = |bit: u32| (0..LANES).fold(0u8, |set, lane| set | u8::from(exponents[lane] >> bit & 1 == 1) << lane);
    *form = *base;
    multiply(form, factor, modulus, sum);
    if exponents.iter().any(|e| *e != exponents[0]) {
        widen(sum, factor);
        reduce(one, modulus, sum);
    }
    let top = exponents.iter().fold(0, |all, e| all | e).ilog2();
    power[0] = select(lanes(top), &one[0], &form[0]);
    for bit in (1..top).rev() {
        square(power, modulus, sum);
        match lanes(bit) {
            0 => {}
            0xFF => multiply(power, form, modulus, sum),
            set => {
                factor[0] = select(set, &one[0], &form[0]);
                multiply(power, factor, modulus, sum);
            }
        }
    }
    square(power, modulus, sum);
    // Odd exponents all have the lowest bit; the base as it is leaves Montgomery's form on the way.
    multiply(power, base, modulus, sum);
    canonical(&mut power[0], &modulus[0].m);
}
