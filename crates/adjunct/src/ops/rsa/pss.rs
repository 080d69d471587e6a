//! PSS.

use super::mgf1::mgf1_xor;
use super::{Method, TOO_LONG};
use crate::error::Error;
use adjunct_cpu::digest::Digest;
use adjunct_cpu::random;

/// How long a PSS salt is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Salt {
    /// Exactly this many bytes.
    Bytes(usize),
    /// When signing, the longest salt that fits; when verifying, the length that the signature has.
    Auto,
}

/// The longest PSS salt for a modulus of `bits` and a digest of `hash` bytes; `None` where not even an empty one fits.
pub fn pss_max_salt(bits: usize, hash: usize) -> Option<usize> {
    (bits - 1).div_ceil(8).checked_sub(hash + 2)
}

/// EMSA-PSS (RFC 8017, 9.1.1) of a digest into `block`, which is of the length of the modulus of `bits`.
///
/// # Errors
/// [`Error::Unsupported`] where salt and digest do not fit.
pub(super) fn pss_sign(
    bits: usize,
    method: &'static Method,
    mgf1: &'static Method,
    salt: Salt,
    hashed: &[u8],
    block: &mut [u8],
) -> Result<(), Error> {
    let most = pss_max_salt(bits, method.size).ok_or(TOO_LONG)?;
    let length = match salt {
        Salt::Auto => most,
        Salt::Bytes(length) if length <= most => length,
        Salt::Bytes(_) => return Err(TOO_LONG),
    };
    // A modulus of 8k + 1 bits has an encoding one byte shorter than itself.
    let (lead, encoding) = block.split_at_mut(block.len() - (bits - 1).div_ceil(8));
    lead.fill(0);
    let (db, rest) = encoding.split_at_mut(encoding.len() - method.size - 1);
    let start = db.len() - length;
    db[..start - 1].fill(0);
    db[start - 1] = 1;
    random(&mut db[start..]);
    salted(method, hashed, &db[start..], rest);
    rest[method.size] = 0xbc;
    mgf1_xor(mgf1, &rest[..method.size], db);
    db[0] &= top_mask(bits);
    Ok(())
}

/// The digest of the padded message digest and the salt (RFC 8017, 9.1.1, steps 5 and 6), in the first bytes of `out`.
fn salted(method: &'static Method, hashed: &[u8], salt: &[u8], out: &mut [u8]) {
    let mut digest = Digest::new(method);
    digest.update(&[0; 8]);
    digest.update(hashed);
    digest.update(salt);
    digest.finish(out);
}

/// The bits of an encoding's first byte that may be set.
fn top_mask(bits: usize) -> u8 {
    match (bits - 1) % 8 {
        0 => 0xff,
        used => 0xff >> (8 - used),
    }
}

/// EMSA-PSS verification (RFC 8017, 9.1.2). `block` is what the signature opens to, and is used up. Signatures are public.
pub(super) fn pss_verify(
    bits: usize,
    method: &'static Method,
    mgf1: &'static Method,
    salt: Salt,
    hashed: &[u8],
    block: &mut [u8],
) -> bool {
    let length = (bits - 1).div_ceil(8);
    let (lead, encoding) = block.split_at_mut(block.len() - length);
    let fits = pss_max_salt(bits, method.size).is_some_and(|most| !matches!(salt, Salt::Bytes(n) if n > most));
    if !fits || hashed.len() != method.size || lead.iter().any(|&b| b != 0) || encoding[0] & !top_mask(bits) != 0 {
        return false;
    }
    let (db, rest) = encoding.split_at_mut(length - method.size - 1);
    if rest[method.size] != 0xbc {
        return false;
    }
    mgf1_xor(mgf1, &rest[..method.size], db);
    db[0] &= top_mask(bits);
    let zeros = db.iter().take_while(|&&b| b == 0).count();
    if db.get(zeros) != Some(&1) || matches!(salt, Salt::Bytes(n) if n != db.len() - zeros - 1) {
        return false;
    }
    let mut expected = [0; 64];
    salted(method, hashed, &db[zeros + 1..], &mut expected);
    expected[..method.size] == rest[..method.size]
}
