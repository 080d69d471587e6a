//! Exponentiation: by secret exponents in fixed windows of five bits, by public ones bit by bit.
//!
//! Every window of w bits takes w squares, one table read and one product, whatever its bits. A table read loads all 2^w
//! entries and picks each lane's own out of the registers, since the lanes have different exponents: for that the table is
//! transposed, a vector holding eight entries of one lane, and a permutation takes one of eight entries for two lanes at once.
//! 2^w / 2 permutations and 2^w / 8 - 1 selections a limb, where masking the entries one by one takes 2^w selections. And the
//! tables overflow the first cache; so a limb is read after each stream of the squares, whose multiplications hide some of the
//! way to the second. As measured, primes of 1024 bits want windows of four bits, larger ones of five.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::assembly::{self, Digits};
use super::modular::{
    Modulus, Wide, canonical, multiply, multiply_count, reduce, square, square_count, square_streams,
};
use crate::lanes::{LANES, LIMB, Number, Vector, same, select, zero};
use std::arch::x86_64::*;

/// Bits of a window for a number of `limbs` limbs.
const fn window(limbs: usize) -> usize {
    if limbs <= 20 { 4 } else { 5 }
}

/// The most entries of a table.
const ENTRIES: usize = 32;

/// The powers of a number from its 0th on, limb by limb.
type Table<const N: usize> = [[Vector; ENTRIES]; N];

/// Two numbers a lane and what raising them takes.
#[repr(C)]
pub struct Secret<const N: usize> {
    table: [Table<N>; 2],
    digits: [Digits; 2],
    pub modulus: [Modulus<N>; 2],
    pub exponent: [Number<N>; 2],
    /// The base as any sum below R m / 2 that is it; any sum.
    pub sum: [Wide<N>; 2],
    /// R^2; then a table entry.
    pub factor: [Number<N>; 2],
    /// The base in Montgomery's form.
    pub other: [Number<N>; 2],
    /// The result, below its modulus.
    pub power: [Number<N>; 2],
}

/// Multiplications of [`raise`].
pub const fn raise_count(n: u64, bits: u64) -> u64 {
    let window = window(n as usize) as u64;
    let reduction = 2 * n * n + 1;
    // In and out of Montgomery's form and its 1; the table; the windows.
    let around = 3 * reduction + 2 * multiply_count(n);
    let table = ((1 << window) / 2 - 1) * (square_count(n) + multiply_count(n));
    let body = (bits.div_ceil(window) - 1) * (window * square_count(n) + multiply_count(n));
    2 * (around + table + body)
}

/// Raises what is in `sum` to `exponent`, of which the lowest `bits` bits count.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn raise<const N: usize>(secret: &mut Secret<N>, bits: usize) {
    let Secret { modulus, sum, factor, other, power, .. } = secret;
    // sum / R, sum, sum R: the base in Montgomery's form.
    reduce(other, modulus, sum, |_| {});
    multiply(other, factor, modulus, sum);
    multiply(other, factor, modulus, sum);
    // R^2 / R: one.
    widen(sum, factor);
    reduce(power, modulus, sum, |_| {});
    powers(secret, bits);
    let Secret { modulus, sum, power, .. } = secret;
    widen(sum, power);
    reduce(power, modulus, sum, |_| {});
    for (power, modulus) in power.iter_mut().zip(modulus) {
        canonical(power, &modulus.m);
    }
}

/// Raises what is in `other` to `exponent`, of which the lowest `bits` bits count; `power` is one at first, and the result at last, all in
/// Montgomery's form.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn powers<const N: usize>(secret: &mut Secret<N>, bits: usize) {
    let Secret { table, digits, modulus, exponent, sum, factor, other, power } = secret;
    put(table, 0, power);
    put(table, 1, other);
    for i in (2..1 << window(N)).step_by(2) {
        get(power, table, i / 2);
        square(power, modulus, sum, |_| {});
        put(table, i, power);
        multiply(power, other, modulus, sum);
        put(table, i + 1, power);
    }
    for limb in table.as_flattened_mut() {
        for entries in limb.as_chunks_mut::<LANES>().0 {
            transpose(entries);
        }
    }

    let windows = bits.div_ceil(window(N));
    read_digits(digits, exponent, windows - 1);
    for limb in 0..N {
        pick(power, table, digits, limb);
    }
    for place in (0..windows - 1).rev() {
        read_digits(digits, exponent, place);
        let (streams, mut stream, mut limb) = (window(N) * square_streams(N), 0, 0);
        for _ in 0..window(N) {
            square(power, modulus, sum, |w| {
                stream += w;
                while w == 1 && limb * streams < stream * N {
                    pick(factor, table, digits, limb);
                    limb += 1;
                }
            });
        }
        multiply(power, factor, modulus, sum);
    }
}

/// `sum` = `a`.
#[target_feature(enable = "avx512f,avx512ifma")]
fn widen<const N: usize, const W: usize>(sum: &mut [Wide<N>; W], a: &[Number<N>; W]) {
    let mask = same(crate::lanes::MASK);
    for (sum, a) in sum.iter_mut().zip(a) {
        for (s, a) in sum.low.iter_mut().zip(a) {
            *s = _mm512_and_si512(*a, mask);
        }
        sum.high = [zero(); N];
    }
}

/// Writes an entry of tables that are not transposed yet.
fn put<const N: usize, const W: usize>(table: &mut [Table<N>; W], entry: usize, number: &[Number<N>; W]) {
    for (limb, number) in table.as_flattened_mut().iter_mut().zip(number.as_flattened()) {
        limb[entry] = *number;
    }
}

/// Reads an entry of tables that are not transposed yet.
fn get<const N: usize, const W: usize>(number: &mut [Number<N>; W], table: &[Table<N>; W], entry: usize) {
    for (number, limb) in number.as_flattened_mut().iter_mut().zip(table.as_flattened()) {
        *number = limb[entry];
    }
}

/// Eight entries of eight lanes each become eight lanes of eight entries each.
#[target_feature(enable = "avx512f,avx512ifma")]
fn transpose(v: &mut [Vector; LANES]) {
    // Exchanges, in turn, single lanes, pairs and fours between vectors that are so many apart.
    for apart in [1, 2, 4] {
        let (low, high) = (
            std::array::from_fn::<i64, LANES, _>(|i| (if i & apart == 0 { i } else { 8 + i - apart }) as i64),
            std::array::from_fn::<i64, LANES, _>(|i| (if i & apart == 0 { i + apart } else { 8 + i }) as i64),
        );
        // SAFETY: the arrays have a vector's 64 bytes.
        let (low, high) =
            unsafe { (_mm512_loadu_si512(low.as_ptr().cast()), _mm512_loadu_si512(high.as_ptr().cast())) };
        for i in (0..LANES).filter(|i| i & apart == 0) {
            let (a, b) = (v[i], v[i + apart]);
            v[i] = _mm512_permutex2var_epi64(a, low, b);
            v[i + apart] = _mm512_permutex2var_epi64(a, high, b);
        }
    }
}

/// Reads the window at a place of each lane's exponents.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn read_digits<const N: usize>(digits: &mut [Digits; 2], exponent: &[Number<N>; 2], place: usize) {
    let bit = place * window(N);
    let (at, shift) = (bit / LIMB as usize, (bit % LIMB as usize) as u32);
    for (digits, exponent) in digits.iter_mut().zip(exponent) {
        let low = _mm512_srl_epi64(exponent[at], _mm_cvtsi32_si128(shift as i32));
        let next = exponent.get(at + 1).copied().unwrap_or(zero());
        let high = _mm512_sll_epi64(next, _mm_cvtsi32_si128((LIMB - shift) as i32));
        let digit = _mm512_and_si512(_mm512_or_si512(low, high), same((1 << window(N)) - 1));
        let odd = _mm512_set_epi64(8, 0, 8, 0, 8, 0, 8, 0);
        digits.index = _mm512_or_si512(_mm512_and_si512(digit, same(7)), odd);
        digits.eights = _mm512_test_epi64_mask(digit, same(8));
        digits.sixteens = _mm512_test_epi64_mask(digit, same(16));
    }
}

/// A limb of the entries that the lanes' digits name.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn pick<const N: usize>(out: &mut [Number<N>; 2], table: &[Table<N>; 2], digits: &[Digits; 2], limb: usize) {
    let [out, out_too] = out.each_mut().map(|out| &raw mut out[limb]);
    let [table, table_too] = table.each_ref().map(|table| table[limb].as_ptr());
    let [digits, digits_too] = digits.each_ref().map(std::ptr::from_ref);
    // SAFETY: reads up to 32 vectors of a limb and what the lanes pick, and writes a vector, of each number.
    unsafe {
        match window(N) {
            4 => assembly::pick_16(out, table, digits, out_too, table_too, digits_too),
            _ => assembly::pick_32(out, table, digits, out_too, table_too, digits_too),
        }
    }
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
        reduce(one, modulus, sum, |_| {});
    }
    let top = exponents.iter().fold(0, |all, e| all | e).ilog2();
    power[0] = select(lanes(top), &one[0], &form[0]);
    for bit in (1..top).rev() {
        square(power, modulus, sum, |_| {});
        match lanes(bit) {
            0 => {}
            0xFF => multiply(power, form, modulus, sum),
            set => {
                factor[0] = select(set, &one[0], &form[0]);
                multiply(power, factor, modulus, sum);
            }
        }
    }
    square(power, modulus, sum, |_| {});
    // Odd exponents all have the lowest bit; the base as it is leaves Montgomery's form on the way.
    multiply(power, base, modulus, sum);
    canonical(&mut power[0], &modulus[0].m);
}
