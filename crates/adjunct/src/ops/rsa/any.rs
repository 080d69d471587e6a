//! RSA by bare numbers, of any size and with any public exponent.

use super::{Generated, RsaKey};
use crate::catalogue::{Direction, Function};
use crate::error::Error;
use crate::ops::Tally;
use crate::ops::material::Elsewhere;
use adjunct_cpu::{random, rsa_any};

/// The significant bits of a big-endian number.
pub fn bits(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|&&b| b == 0).count();
    number.get(zeros).map_or(0, |b| (number.len() - zeros) * 8 - b.leading_zeros() as usize)
}

/// `base^exponent mod modulus`, big-endian numbers; `base` and `out` are of one length. The exponent is taken for secret, unless
/// all but its last 64 bits are zeros under a modulus of 512 bits or more, which only a public one's are. A result cannot be
/// checked here: the exponent's counterpart is not known. Where a reference to a card's key ([`crate::ops::reference`]) stands for the exponent, the
/// card does the operation, and its result is checked with the public exponent that the card gives.
///
/// # Errors
/// [`Error::CardKey`], [`Error::CardInput`] and [`Error::Device`] of a card's key.
/// [`Error::InvalidKey`] for a modulus that is even or below 3 and for an exponent of 0; [`Error::Unsupported`] for a base that is
/// not below the modulus; [`Error::Memory`].
pub fn power(base: &[u8], exponent: &[u8], modulus: &[u8], out: &mut [u8]) -> Result<(), Error> {
    let tally = Tally::new(Function::RsaMe, bits(modulus));
    let tally = match Elsewhere::of_number(exponent)? {
        None => {
            rsa_any::power(base, exponent, modulus, out)?;
            tally
        }
        Some(elsewhere) => tally.ran(RsaKey::of_card(elsewhere)?.power(base, modulus, out)?),
    };
    tally.count(Direction::Encrypt, 0);
    Ok(())
}

/// The form that a key is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Modulus and exponent.
    ModExpo,
    /// The Chinese-remainder form.
    Crt,
}

impl Form {
    /// The function that the generation of a key for this form counts as.
    pub const fn function(self) -> Function {
        match self {
            Form::ModExpo => Function::RsaKeygenMe,
            Form::Crt => Function::RsaKeygenCrt,
        }
    }
}

/// Generates a key of exactly `bits` bits and the public exponent `e`, for one form or the other.
///
/// # Errors
/// [`Error::Unsupported`] for an `e` that is even, below 3 or not below the modulus, and sizes below 32 bits; [`Error::Failed`]
/// where no prime was found; [`Error::Memory`].
pub fn generate(form: Form, bits: usize, e: u64) -> Result<Generated, Error> {
    let (key, outcome) = rsa_any::generate(bits, &e.to_be_bytes())?;
    Tally::new(form.function(), bits).ran(outcome).count(Direction::Encrypt, 0);
    Ok(key)
}

/// A random odd number above 1, of 64 bits at most, and shorter than a modulus of `bits` bits. A part of key generation, which counts.
pub fn random_exponent(bits: usize) -> u64 {
    loop {
        let mut exponent = [0; 8];
        random(&mut exponent);
        let exponent = u64::from_ne_bytes(exponent) >> (65usize.saturating_sub(bits)) | 1;
        if exponent > 1 {
            return exponent;
        }
    }
}
