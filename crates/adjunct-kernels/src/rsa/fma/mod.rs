//! RSA with AVX2 and FMA, in four lanes of double precision, for CPUs without AVX-512 IFMA: the private operation by the Chinese remainder
//! theorem, checked with the public exponent before it leaves, for moduli of 2048, 3072 and 4096 bits.
//!
//! # Numbers
//! A number is D signed digits of B bits in doubles, one of four numbers a lane, with |digit| <= 2^(B-1) + 64 (the highest one has what is
//! left). A column of a sum is two doubles. To its upper part H, which begins as 1.5 * 2^(52+B), products are added by FMA: as long as H stays
//! between 2^(52+B) and 2^(53+B), each is rounded to a multiple of 2^B there, and what the rounding took off, at most 2^(B-1), is found exactly
//! by a second FMA and added to the lower part L (Emmart, Zheng and Weems, ARITH 2018, for products with a constant in the place of H):
//!
//! ```text
//! before = H;  H = fma(a, b, H);  L += fma(a, b, before - H)
//! ```
//!
//! Four instructions a product, no carries, and no shift or integer on the way. All is exact in the rounding mode that is in force when a process
//! begins, to nearest; [`crate::mxcsr`] sets this mode. No value is denormal, infinite or no number.
//!
//! # Reduction
//! Montgomery's, with R = 2^(D B) and a signed factor q for each column. x = L is what the column is, without its H, which belongs to the
//! next one. With i = -1/m modulo 2^B, |i| <= 2^(B-1), q = x i - (x i rounded to a multiple of 2^B): both by FMA with the constant that
//! H begins as, exact where |x i| < 2^(51+B), so for |x| < 2^52; then |q| <= 2^(B-1), and x + q m_0 is a multiple of 2^B, at most
//! 2^(2B-1), so exact. It and H, divided by 2^B, are added to the next column.
//!
//! # Bounds
//! Let n = D - 1, u = 2^(2B-2), the largest product of two digits, and 2^(B-1), the largest rest. The highest digits of factors and modulus have 2^-10
//! of the usual size at most, so products with them count for little. When column c < n is reduced, it has had c + 1 products of a * b and c of
//! q * m without q_c * m_0; column n + k, when it is reduced or read, n - 1 - k and n - k, and some with a highest digit. So, and a little
//! above:
//! * |H - 1.5 * 2^(52+B)| <= (2n - 1) u, to be below 2^(51+B) = 2^(53-B) u;
//! * |L| <= (3n - 2) 2^(B-1), with the upper part of the column before, divided by 2^B, of which the multiple of 2^B is one u more. That is
//!   exact below 2^53; for x i, it is to be below 2^52.
//!
//! | bits | D | B | H: 2n - 1 | L: (3n - 2) 2^(B-1) |
//! | --- | --- | --- | --- | --- |
//! | 1024 | 22 | 47 | 41 < 64 | 61 * 2^46 < 2^52 |
//! | 1536 | 33 | 47 | 63 < 64 | 94 * 2^46 < 2^53, but above 2^52 |
//! | 2048 | 45 | 46 | 87 < 128 | 130 * 2^45 < 2^53, but above 2^52 |
//! | 3072 | 69 | 45 | 135 < 256 | 202 * 2^44 < 2^52 |
//! | 4096 | 94 | 44 | 185 < 512 | 277 * 2^43 < 2^52 |
//!
//! With 33 and 45 digits x i may reach 1.5 * 2^(51+B). So there, and with 69, where it does no harm, q is found with another constant, 1.5 *
//! 2^(53+B), whose multiples are those of 2^(B+1), and brought from 2^B to 2^(B-1) by a rounding more (in `assembly.rs`): 3 instructions a factor.
//!
//! What a square adds is the same sum: of two equal products one is added, of a digit and another's double, at most 2u, whose rest is
//! still at most 2^(B-1).
//!
//! A result is (a b + Q m) / R with |Q| <= 2^(B-1) (2^(DB) - 1) / (2^B - 1) < 0.5001 R. R is above 2^10 m (22 digits) or more, so for |a|, |b| <= 1.1 m
//! it is at most 0.51 m; for a sum below 2 m^2, too.
//!
//! Nothing branches or indexes memory by a secret: primes, exponents, inputs and outputs. Sizes and public exponents are public, and
//! so is which lanes were right. FMA, addition and subtraction of doubles take the same time for all values but denormal ones.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

mod assembly;
mod batch;
mod convert;
mod key;
mod modular;
mod power;
pub mod prime;
mod stream;
#[cfg(test)]
mod tests;

pub use batch::{PrivateJob, Scratch, private};
pub use key::PrivateKey;
use std::arch::x86_64::*;

/// Numbers worked on at once.
pub const LANES: usize = 4;

/// A private key of 2048 bits.
pub type PrivateKey2048 = PrivateKey<20, 40, 22, 45>;
/// A private key of 3072 bits.
pub type PrivateKey3072 = PrivateKey<30, 60, 33, 69>;
/// A private key of 4096 bits.
pub type PrivateKey4096 = PrivateKey<40, 80, 45, 94>;
/// Working memory for private keys of 2048 bits.
pub type Scratch2048 = Scratch<20, 40, 22, 45>;
/// Working memory for private keys of 3072 bits.
pub type Scratch3072 = Scratch<30, 60, 33, 69>;
/// Working memory for private keys of 4096 bits.
pub type Scratch4096 = Scratch<40, 80, 45, 94>;

/// A digit of each of four numbers.
type Vector = __m256d;
/// Four numbers of D digits, the lowest digit first.
type Number<const D: usize> = [Vector; D];

/// A column of four sums: the upper part and the lower.
#[derive(Clone, Copy)]
#[repr(C)]
struct Column {
    h: Vector,
    l: Vector,
}

/// The columns of a product.
#[repr(C)]
struct Wide<const D: usize> {
    low: [Column; D],
    high: [Column; D],
}

/// The moduli of four lanes, and constants, where the assembly finds them.
#[repr(C)]
struct Modulus<const D: usize> {
    /// 1.5 * 2^(52 + B).
    start: Vector,
    /// 2^-B.
    down: Vector,
    /// 1.5 * 2^(53 + B).
    large: Vector,
    /// -1/m modulo 2^B.
    inverse: Vector,
    m: Number<D>,
}

/// B, the bits of a digit, for numbers of `digits` digits.
const fn digit_bits(digits: usize) -> u32 {
    match digits {
        22 | 33 => 47,
        45 => 46,
        69 => 45,
        94 => 44,
        _ => panic!("no such size"),
    }
}
