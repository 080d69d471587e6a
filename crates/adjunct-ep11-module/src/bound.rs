//! Keys that are wrapped with their attributes (CKM_IBM_ATTRIBUTEBOUND_WRAP), under an AES key, and authenticated by a second key.
//!
//! | bytes | |
//! | --- | --- |
//! | 16 | initial vector, random |
//! | n * 16 | AES-256-CBC with the padding of PKCS #7 of what is wrapped |
//! | 32 | HMAC-SHA-256 of all before it |
//!
//! The keys of both are SHA-256 of a label and the wrapping key or the MAC key: a program that may decrypt or sign with those themselves can neither read nor change
//! what is wrapped.
//! What is wrapped, numbers big-endian: version 1 and the class (1 byte each), two zeros, the type (4), boolean attributes (4), bytes of the value (4), the
//! value (of a private key its PKCS #8). IBM's form is not public; this one is ours. Both wrapping key and MAC key are bound to their attributes, and so is the key.

use crate::context::Bytes;
use crate::error::{Result, Rv, ensure, fail};
use crate::key::{Key, Material};
use crate::keys::Secret;
use crate::mechanisms::Wanted;
use adjunct::ops::digest::{Part, SHA256};
use adjunct::ops::mac::hmac_within;
use adjunct::ops::random::random;
use adjunct_ep11_wire::codes::{flag, key as k, rv};
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use cryptoki_sys::CKM_AES_CBC_PAD;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

const BLOCK: usize = 16;
const MAC: usize = 32;
const HEAD: usize = 16;

fn check(mechanism: &Wanted<'_>, with: &Key, authenticating: &Key, usage: u32, types: (u32, u32)) -> Result {
    mechanism.has_no_parameter()?;
    ensure(with.material.kind == k::AES && with.has(flag::ATTRBOUND), types.0)?;
    ensure(authenticating.material.class == k::SECRET && authenticating.has(flag::ATTRBOUND), types.1)?;
    authenticating.permits(usage)
}

/// A key for this form alone, made of one that programs use. No call gives a digest of these labels and a key.
fn own(label: &[u8], key: &Key) -> Result<Secret> {
    let mut own = Secret::default();
    let mut digest = Part::new(&SHA256);
    digest.update(label);
    digest.update(key.material.held.clear_value()?);
    digest.finish(&mut own[..]);
    Ok(own)
}

fn mac(key: &Key, parts: &[&[u8]]) -> Result<Secret> {
    let mut sum = Secret::default();
    let own = own(b"adjunct EP11 attribute-bound wrapping, MAC key", key)?;
    hmac_within(&SHA256, &own[..], parts, &mut sum[..])?;
    Ok(sum)
}

fn cbc(iv: &[u8], with: &Key, encrypt: bool, input: &[u8]) -> Result<Bytes> {
    let mechanism = Mechanism::new(CKM_AES_CBC_PAD, Params::Bytes(iv));
    let own = own(b"adjunct EP11 attribute-bound wrapping, wrapping key", with)?;
    let own = Material::secret(k::AES, Zeroizing::new(own.to_vec()))?;
    let mut cipher = mechanism.cipher(own.held.clone(), encrypt)?;
    crate::cipher::once(&mut *cipher, input)
}

/// Wraps a key.
///
/// # Errors
/// `CKR_WRAPPING_KEY_TYPE_INCONSISTENT`, `CKR_KEY_TYPE_INCONSISTENT`, `CKR_KEY_FUNCTION_NOT_PERMITTED`.
pub(crate) fn wrap(mechanism: &Wanted<'_>, key: &Key, with: &Key, authenticating: &Key) -> Result<Bytes> {
    let types = (rv::WRAPPING_KEY_TYPE_INCONSISTENT, rv::KEY_TYPE_INCONSISTENT);
    check(mechanism, with, authenticating, flag::SIGN, types)?;
    let value = &key.material.value;
    let mut plain = adjunct::memory::zeros(HEAD + value.len())?;
    (plain[0], plain[1]) = (1, key.material.class as u8);
    plain[4..8].copy_from_slice(&key.material.kind.to_be_bytes());
    plain[8..12].copy_from_slice(&key.head.flags.to_be_bytes());
    plain[12..HEAD].copy_from_slice(&(value.len() as u32).to_be_bytes());
    plain[HEAD..].copy_from_slice(value);
    let mut iv = [0; BLOCK];
    random(&mut iv);
    let encrypted = cbc(&iv, with, true, &plain)?;
    let sum = mac(authenticating, &[&iv, &encrypted])?;
    Ok(Zeroizing::new([&iv[..], &encrypted, &sum[..]].concat()))
}

/// Unwraps a key: what it is made of, and its boolean attributes.
///
/// # Errors
/// `CKR_WRAPPED_KEY_INVALID`, `CKR_WRAPPED_KEY_LEN_RANGE`, `CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT`, `CKR_KEY_TYPE_INCONSISTENT`,
/// `CKR_KEY_FUNCTION_NOT_PERMITTED`.
pub(crate) fn unwrap(
    mechanism: &Wanted<'_>,
    wrapped: &[u8],
    with: &Key,
    authenticating: &Key,
) -> Result<(Material, u32)> {
    let types = (rv::UNWRAPPING_KEY_TYPE_INCONSISTENT, rv::KEY_TYPE_INCONSISTENT);
    check(mechanism, with, authenticating, flag::VERIFY, types)?;
    let fits = wrapped.len() >= 2 * BLOCK + MAC && wrapped.len().is_multiple_of(BLOCK);
    ensure(fits, rv::WRAPPED_KEY_LEN_RANGE)?;
    let (all, sum) = wrapped.split_at(wrapped.len() - MAC);
    ensure(bool::from(mac(authenticating, &[all])?.ct_eq(sum)), rv::WRAPPED_KEY_INVALID)?;
    let (iv, encrypted) = all.split_at(BLOCK);
    let invalid = Rv(rv::WRAPPED_KEY_INVALID);
    let plain = cbc(iv, with, false, encrypted).map_err(|_| invalid)?;
    let (head, value) = plain.split_at_checked(HEAD).ok_or(invalid)?;
    let word = |at: usize| head[at..].first_chunk().map_or(0, |word| u32::from_be_bytes(*word));
    ensure(head[0] == 1 && word(12) as usize == value.len(), rv::WRAPPED_KEY_INVALID)?;
    let material = match u32::from(head[1]) {
        k::SECRET => Material::secret(word(4), Zeroizing::new(value.to_vec())).map_err(|_| invalid)?,
        k::PRIVATE => Material::of_pkcs8(value)?,
        _ => return fail(rv::WRAPPED_KEY_INVALID),
    };
    ensure(material.kind == word(4) && word(8) & flag::ATTRBOUND != 0, rv::WRAPPED_KEY_INVALID)?;
    Ok((material, word(8)))
}
