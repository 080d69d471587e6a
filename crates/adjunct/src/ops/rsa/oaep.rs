//! OAEP.

use super::mgf1::mgf1_xor;
use super::{Method, TOO_LONG};
use crate::error::Error;
use adjunct_cpu::digest::Digest;
use adjunct_cpu::random;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

/// EME-OAEP encoding (RFC 8017, 7.1.1) into `block`, which is of the modulus's length.
///
/// # Errors
/// [`Error::Unsupported`] where the message does not fit.
pub(super) fn oaep_encode(
    method: &'static Method,
    mgf1: &'static Method,
    label: &[u8],
    message: &[u8],
    block: &mut [u8],
) -> Result<(), Error> {
    let hash = method.size;
    block.len().checked_sub(2 * hash + 2).filter(|&most| message.len() <= most).ok_or(TOO_LONG)?;
    block[0] = 0;
    let (seed, db) = block[1..].split_at_mut(hash);
    random(seed);
    let mut digest = Digest::new(method);
    digest.update(label);
    digest.finish(db);
    let start = db.len() - message.len();
    db[hash..start - 1].fill(0);
    db[start - 1] = 1;
    db[start..].copy_from_slice(message);
    mgf1_xor(mgf1, seed, db);
    mgf1_xor(mgf1, db, seed);
    Ok(())
}

/// EME-OAEP decoding (RFC 8017, 7.1.2): the message within `block`, which is used up. Which check failed stays secret.
///
/// # Errors
/// [`Error::Verify`].
pub fn oaep_decode<'a>(
    method: &'static Method,
    mgf1: &'static Method,
    label: &[u8],
    block: &'a mut [u8],
) -> Result<&'a [u8], Error> {
    let hash = method.size;
    if block.len() < 2 * hash + 2 {
        return Err(Error::Verify);
    }
    let (lead, rest) = block.split_at_mut(1);
    let (seed, db) = rest.split_at_mut(hash);
    mgf1_xor(mgf1, db, seed);
    mgf1_xor(mgf1, seed, db);
    let mut expected = [0; 64];
    let mut digest = Digest::new(method);
    digest.update(label);
    digest.finish(&mut expected);
    let mut good = lead[0].ct_eq(&0) & db[..hash].ct_eq(&expected[..hash]);
    let mut looking = Choice::from(1);
    let mut start = 0u32;
    for (i, &byte) in db.iter().enumerate().skip(hash) {
        let one = byte.ct_eq(&1);
        start.conditional_assign(&(i as u32 + 1), looking & one);
        looking &= !one;
        good &= !looking | byte.ct_eq(&0);
    }
    good &= !looking;
    // Whether the encoding was valid is what the caller learns; only for a valid one the length is.
    if bool::from(good) { Ok(&db[start as usize..]) } else { Err(Error::Verify) }
}
