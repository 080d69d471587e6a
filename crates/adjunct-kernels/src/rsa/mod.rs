//! RSA with AVX-512 IFMA, in eight lanes and alone (RFC 8017, 5.1 and 5.2): the private operation by the Chinese remainder theorem, checked
//! with the public exponent before it leaves, and the public operation, for moduli of 2048, 3072 and 4096 bits.
//!
//! Eight keys and eight numbers at once, a lane each, with AVX-512 IFMA (Gueron and Krasnov, WAIFI 2012). `stream` is the
//! arithmetic on ten limbs and many, `modular` Montgomery's on numbers of 20 to 80 limbs, `power` the exponentiations,
//! `batch` the operations; `key` and `plain` prepare keys. A batch costs the same whatever lanes it fills: [`private_count`] and
//! [`public_count`] multiplications.
//!
//! [`prime`] tests candidates for primes by the same arithmetic.
//!
//! Further modules are for one operation that runs alone: `digits` is the arithmetic of numbers whose digits lie side by side in vectors, `single`
//! one private operation, `check` the check of one result.
//!
//! Nothing branches or indexes memory by a secret: primes, exponents, inputs and outputs. Sizes and public exponents are
//! public, and so is which lanes were right.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

mod assembly;
pub mod avx_ifma;
mod batch;
mod check;
mod digits;
pub mod fault;
pub mod fma;
mod in_use;
mod key;
mod modular;
mod plain;
mod power;
pub mod prime;
mod single;
mod stream;
#[cfg(test)]
mod tests;

pub use batch::{PublicScratch, Scratch};
pub use check::CheckKey;
pub use key::{PrivateKey, PublicKey};
pub use single::private_single;
use std::mem::MaybeUninit;

/// A private key of 2048 bits.
pub type PrivateKey2048 = PrivateKey<20, 40>;
/// A private key of 3072 bits.
pub type PrivateKey3072 = PrivateKey<30, 60>;
/// A private key of 4096 bits.
pub type PrivateKey4096 = PrivateKey<40, 80>;
/// A public key of 2048 bits.
pub type PublicKey2048 = PublicKey<40>;
/// A public key of 3072 bits.
pub type PublicKey3072 = PublicKey<60>;
/// A public key of 4096 bits.
pub type PublicKey4096 = PublicKey<80>;
/// A public key by which a result of 2048 bits is checked.
pub type CheckKey2048 = CheckKey<40, 5>;
/// A public key by which a result of 3072 bits is checked.
pub type CheckKey3072 = CheckKey<60, 8>;
/// A public key by which a result of 4096 bits is checked.
pub type CheckKey4096 = CheckKey<80, 10>;
/// Working memory for private keys of 2048 bits.
pub type Scratch2048 = Scratch<20, 40>;
/// Working memory for private keys of 3072 bits.
pub type Scratch3072 = Scratch<30, 60>;
/// Working memory for private keys of 4096 bits.
pub type Scratch4096 = Scratch<40, 80>;

/// A private operation: `output` = `input`^d modulo n, both big-endian and as long as the modulus, `input` below it.
pub struct PrivateJob<'a, const P: usize, const M: usize> {
    /// The key.
    pub key: &'a PrivateKey<P, M>,
    /// The number to raise.
    pub input: &'a [u8],
    /// Buffer for the result.
    pub output: &'a mut [u8],
}

/// A public operation: `output` = `input`^e modulo n, both big-endian and as long as the modulus, `input` below it.
pub struct PublicJob<'a, const M: usize> {
    /// The key.
    pub key: &'a PublicKey<M>,
    /// The number to raise.
    pub input: &'a [u8],
    /// Buffer for the result.
    pub output: &'a mut [u8],
}

/// Runs one to eight private operations; a bit for each whose result, raised to the public exponent, is its input again. The
/// output of the others is zeros: a fault, a key whose numbers do not belong together, an input not below the modulus, or
/// buffers of another length.
///
/// # Panics
/// With no job or more than eight.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn private<const P: usize, const M: usize>(
    jobs: &mut [PrivateJob<'_, P, M>],
    scratch: &mut MaybeUninit<Scratch<P, M>>,
) -> u8 {
    batch::private(jobs, scratch, true)
}

/// Does private operations without a check of the results: each job with buffers of the right length has its bit. For callers that check each result
/// themselves, as a result made wrong by a fault may give the key away.
///
/// # Panics
/// With no job or more than eight.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn private_unchecked<const P: usize, const M: usize>(
    jobs: &mut [PrivateJob<'_, P, M>],
    scratch: &mut MaybeUninit<Scratch<P, M>>,
) -> u8 {
    batch::private(jobs, scratch, false)
}

/// Runs one to eight public operations; a bit for each that was done. The output of the others, whose input is not below the
/// modulus or whose buffers have another length, is zeros.
///
/// # Panics
/// With no job or more than eight.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn public<const M: usize>(jobs: &mut [PublicJob<'_, M>], scratch: &mut MaybeUninit<PublicScratch<M>>) -> u8 {
    batch::public(jobs, scratch)
}

/// IFMA instructions of a batch of private operations with a modulus of `bits` bits (2048, 3072, 4096) and e = 65537.
pub const fn private_count(bits: u64) -> u64 {
    let (p, m) = (bits / 1024 * 10, bits / 512 * 10);
    // The exponentiations; the recombination's two products and one reduction; the check.
    power::raise_count(p, bits / 2) + modular::multiply_count(p) + 2 * p * p + power::raise_public_count(m)
}

/// IFMA instructions of a batch of public operations with a modulus of `bits` bits (2048, 3072, 4096) and e = 65537.
pub const fn public_count(bits: u64) -> u64 {
    power::raise_public_count(bits / 512 * 10)
}
