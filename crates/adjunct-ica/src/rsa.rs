//! RSA: the bare operations with both forms of key, and key generation.

use crate::error::Errno;
use crate::keep::Kept;
use crate::serve;
use adjunct::catalogue::Function;
use adjunct::error::Error;
use adjunct::ops;
use adjunct::ops::rsa::{self, Crt, CrtKey, Form, Generated};
use zeroize::Zeroizing;

/// The longest modulus, in bits: the cards' limit.
pub const MAX_BITS: usize = 4096;
/// The longest modulus, in bytes.
pub const MAX_LENGTH: usize = MAX_BITS / 8;
/// The shortest modulus and exponent, in bytes: the original's, which keeps a public exponent in an `unsigned long`.
pub const MIN_LENGTH: usize = 8;

/// The CRT keys of the last calls, prepared: preparing a key takes longer than an operation with it.
static PREPARED: Kept<CrtKey> = Kept::new();

/// `input^exponent mod modulus`; all four are of one length.
///
/// # Errors
/// [`Errno::INVALID`] for a modulus that is even or below 3, an exponent of 0 and an input that is not below the modulus.
pub fn mod_expo(input: &[u8], exponent: &[u8], modulus: &[u8], out: &mut [u8]) -> Result<(), Errno> {
    serve::permit(Function::RsaMe, ops::in_hardware(Function::RsaMe, rsa::bits(modulus)))?;
    ops::attribute();
    rsa::power(input, exponent, modulus, out).map_err(|error| match error {
        error if !error.may_fall_back() => error.into(),
        Error::InvalidKey(_) | Error::Unsupported(_) => Errno::INVALID,
        Error::Memory => Errno::NO_MEMORY,
        _ => Errno::IO,
    })
}

/// The private operation by the Chinese remainder theorem, checked (see [`CrtKey::private`]). Input and output are of one length,
/// that of the modulus or more. A key with p below q is turned round, and its `qinv` not looked at.
///
/// # Errors
/// [`Errno::INVALID`] for numbers that are no key and an input that is not below the modulus; [`Errno::PERMISSION`] for a modulus
/// of more than [`MAX_BITS`]; [`Errno::IO`] for a result that was wrong; [`Errno::NO_MEMORY`].
pub fn crt(input: &[u8], key: &Crt<'_>, out: &mut [u8]) -> Result<(), Errno> {
    let prepared = PREPARED.get(&[key.p, key.q, key.dp, key.dq, key.qinv], || prepare(key))?;
    if prepared.bits() > MAX_BITS {
        return Err(Errno::PERMISSION);
    }
    if prepared.bits() > input.len() * 8 || !prepared.takes(input) {
        return Err(Errno::INVALID);
    }
    serve::permit(Function::RsaCrt, prepared.in_hardware())?;
    ops::attribute_now();
    prepared.private(input, out).map_err(|error| {
        if error == Error::Memory || !error.may_fall_back() {
            return error.into();
        }
        // The fault may be in what is kept.
        forget();
        Errno::IO
    })
}

fn prepare(key: &Crt<'_>) -> Result<CrtKey, Errno> {
    let prepared = match turned(key)? {
        Some(qinv) => CrtKey::new(&Crt { p: key.q, q: key.p, dp: key.dq, dq: key.dp, qinv: &qinv }),
        None => CrtKey::new(key),
    };
    prepared.map_err(of_a_key)
}

/// Wipes the keys that are kept.
pub fn forget() {
    PREPARED.clear();
}

fn of_a_key(error: Error) -> Errno {
    match error {
        error if !error.may_fall_back() => error.into(),
        Error::InvalidKey(_) => Errno::INVALID,
        Error::Memory => Errno::NO_MEMORY,
        _ => Errno::IO,
    }
}

/// What becomes the key's qinv, as long as p, where p is below q and the key has to be turned round.
///
/// # Errors
/// [`Errno::INVALID`] for primes that are even, one number or not coprime.
pub fn turned(key: &Crt<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, Errno> {
    rsa::turned(key.p, key.q).map_err(of_a_key)
}

/// Makes a key of `bits` bits with the public exponent given, or a random one in its place where that is 0.
///
/// # Errors
/// [`Errno::INVALID`] for an exponent that is even, 1 or not below the modulus; [`Errno::FAULT`] where no key was found.
pub fn generate(form: Form, bits: usize, exponent: &mut u64) -> Result<Generated, Errno> {
    serve::permit(form.function(), ops::in_hardware(form.function(), bits))?;
    ops::attribute();
    let chosen = if *exponent == 0 { rsa::random_exponent(bits) } else { *exponent };
    let key = rsa::generate(form, bits, chosen).map_err(|error| match error {
        Error::Unsupported(_) => Errno::INVALID,
        Error::Memory => Errno::NO_MEMORY,
        _ => Errno::FAULT,
    })?;
    *exponent = chosen;
    Ok(key)
}
