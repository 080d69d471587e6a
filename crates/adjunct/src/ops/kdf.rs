//! Key derivations from HMAC: HKDF (RFC 5869), PBKDF2 (RFC 8018) and TLS's pseudo-random functions (RFC 2246, RFC 5246). Each is one
//! operation of its HMAC, over all bytes that this took in: the MACs within are no operations of their own.

use super::digest::{MAX_SIZE, MD5, Method, SHA1};
use super::material::may_leave;
use super::tally::{Message, Tally};
use crate::error::Error;
use adjunct_cpu::mac as cpu;
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// HMAC as a pseudo-random function, keyed once, which counts once: when it goes, for all that it was asked.
pub struct Prf {
    mac: cpu::Hmac,
    message: Message,
}

opaque_debug!(Prf);

impl Prf {
    /// Keys the function with that digest and key.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an extendable-output function; [`Error::CardKey`] for a reference to a card's key, which derives nothing.
    pub fn new(method: &'static Method, key: &[u8]) -> Result<Prf, Error> {
        let function = method.hmac.ok_or(Error::Unsupported("HMAC over an extendable-output function"))?;
        may_leave(key)?;
        Ok(Prf { mac: cpu::Hmac::new(method, key)?, message: Message::new(Tally::new(function, 0)) })
    }

    /// Length of the result in bytes.
    pub fn size(&self) -> usize {
        self.mac.method().size
    }

    /// The MAC of the parts, one after the other: the first [`Prf::size`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    pub fn mac(&mut self, parts: &[&[u8]], out: &mut [u8]) {
        self.mac.reset();
        for part in parts {
            self.message.add(part);
            self.mac.update(part);
        }
        self.mac.finish(out);
    }
}

impl Drop for Prf {
    fn drop(&mut self) {
        self.message.count();
    }
}

/// HKDF-Extract: the pseudo-random key, the first [`Method::size`] bytes of `out`.
///
/// # Errors
/// [`Error::Unsupported`] for an extendable-output function.
///
/// # Panics
/// Where `out` is too short.
pub fn hkdf_extract(method: &'static Method, salt: &[u8], key: &[u8], out: &mut [u8]) -> Result<(), Error> {
    Prf::new(method, salt)?.mac(&[key], out);
    Ok(())
}

/// HKDF-Expand of a pseudo-random key into all of `out`.
///
/// # Errors
/// [`Error::Length`] for more than 255 times the digest's length; [`Error::Unsupported`] for an extendable-output function.
pub fn hkdf_expand(method: &'static Method, key: &[u8], info: &[u8], out: &mut [u8]) -> Result<(), Error> {
    if out.len() > 255 * method.size {
        return Err(Error::Length { what: "HKDF output", got: out.len(), expected: "at most 255 times the digest's" });
    }
    let mut prf = Prf::new(method, key)?;
    let mut block = Zeroizing::new([0; MAX_SIZE]);
    let mut before = 0;
    for (number, chunk) in out.chunks_mut(method.size).enumerate() {
        let last = block.clone();
        prf.mac(&[&last[..before], info, &[number as u8 + 1]], &mut block[..]);
        before = method.size;
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
    Ok(())
}

/// PBKDF2 of a password into all of `out`.
///
/// # Errors
/// [`Error::Length`] without iterations, and for more than 2^32 - 1 blocks; [`Error::Unsupported`] for an extendable-output function.
pub fn pbkdf2(
    method: &'static Method,
    password: &[u8],
    salt: &[u8],
    iterations: u64,
    out: &mut [u8],
) -> Result<(), Error> {
    if iterations == 0 || out.len().div_ceil(method.size) > u32::MAX as usize {
        return Err(Error::Length { what: "PBKDF2 output", got: out.len(), expected: "at most 2^32 - 1 blocks" });
    }
    let mut prf = Prf::new(method, password)?;
    let (mut block, mut sum) = (Zeroizing::new([0; MAX_SIZE]), Zeroizing::new([0; MAX_SIZE]));
    for (number, chunk) in out.chunks_mut(method.size).enumerate() {
        prf.mac(&[salt, &(number as u32 + 1).to_be_bytes()], &mut block[..]);
        *sum = *block;
        for _ in 1..iterations {
            let last = block.clone();
            prf.mac(&[&last[..method.size]], &mut block[..]);
            sum.iter_mut().zip(block.iter()).for_each(|(sum, byte)| *sum ^= byte);
        }
        chunk.copy_from_slice(&sum[..chunk.len()]);
    }
    Ok(())
}

/// P_hash (RFC 5246, 5): adds (modulo 2) a stream to all of `out`.
fn p_hash(prf: &mut Prf, seed: &[&[u8]], out: &mut [u8]) {
    let size = prf.size();
    let (mut chain, mut block) = (Zeroizing::new([0; MAX_SIZE]), Zeroizing::new([0; MAX_SIZE]));
    prf.mac(seed, &mut chain[..]);
    for chunk in out.chunks_mut(size) {
        let parts: Vec<&[u8]> = std::iter::once(&chain[..size]).chain(seed.iter().copied()).collect();
        prf.mac(&parts, &mut block[..]);
        chunk.iter_mut().zip(block.iter()).for_each(|(byte, stream)| *byte ^= stream);
        let last = chain.clone();
        prf.mac(&[&last[..size]], &mut chain[..]);
    }
}

/// TLS 1.2's pseudo-random function of a secret with that digest, of a label and a seed in parts, into all of `out`.
///
/// # Errors
/// [`Error::Unsupported`] for an extendable-output function.
pub fn tls12_prf(method: &'static Method, secret: &[u8], seed: &[&[u8]], out: &mut [u8]) -> Result<(), Error> {
    let mut prf = Prf::new(method, secret)?;
    out.fill(0);
    p_hash(&mut prf, seed, out);
    Ok(())
}

/// TLS 1.0's and 1.1's pseudo-random function (RFC 2246, 5): the XOR of MD5's with one half of the secret and SHA-1's with the other.
///
/// # Errors
/// None with these digests.
pub fn tls10_prf(secret: &[u8], seed: &[&[u8]], out: &mut [u8]) -> Result<(), Error> {
    let half = secret.len().div_ceil(2);
    out.fill(0);
    p_hash(&mut Prf::new(&MD5, &secret[..half])?, seed, out);
    p_hash(&mut Prf::new(&SHA1, &secret[secret.len() - half..])?, seed, out);
    Ok(())
}
