//! Public keys with attributes that a MAC vouches for: the SubjectPublicKeyInfo, then OCTET STRINGs.
//!
//! | OCTET STRING | bytes |
//! | --- | --- |
//! | identifier of the wrapping key | 16 |
//! | session, or zeros | 32 |
//! | salt, random | 8 |
//! | compliance mode | 8 |
//! | attributes: 0x11 and three zeros, the mask of all booleans, their values | 12 |
//! | HMAC-SHA-256 of all before its contents | 32 |
//!
//! A SubjectPublicKeyInfo alone is a public key too: one that nobody vouches for.

use crate::blob::Head;
use crate::context::Context;
use crate::error::{Result, Rv, ensure, fail};
use crate::key::{Key, Material};
use crate::keys::{Purpose, WrappingKey, hmac};
use adjunct::ops::random::random;
use adjunct_ep11_wire::blob::{MAC, SESSION, WKID_LENGTH};
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::message::{element, put_octets};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

const SEQUENCE: u8 = 0x30;
const ATTRIBUTES: [u8; 4] = [0x11, 0, 0, 0];
/// All boolean attributes.
const MASK: u32 = 0x7f_ffff;

/// What stands behind a SubjectPublicKeyInfo.
#[derive(Debug)]
struct Behind<'a> {
    wkid: &'a [u8; WKID_LENGTH],
    head: Head,
    mac: &'a [u8],
}

/// Splits a SubjectPublicKeyInfo from what stands behind it; `None` where the bytes do not begin with a SEQUENCE.
pub fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, _, behind) = element(bytes).filter(|(tag, ..)| *tag == SEQUENCE)?;
    bytes.split_at_checked(bytes.len() - behind.len())
}

fn parse(behind: &[u8]) -> Option<Behind<'_>> {
    let mut rest = behind;
    let mut fields: [&[u8]; 6] = [&[]; 6];
    for (field, length) in fields.iter_mut().zip([WKID_LENGTH, SESSION, 8, 8, 12, MAC]) {
        // Lengths in their shortest form alone: the MAC is where it is expected.
        let (tag, contents, after) = element(rest)?;
        (tag == 4 && contents.len() == length && rest.len() - after.len() == 2 + length).then_some(())?;
        (*field, rest) = (contents, after);
    }
    let [wkid, session, _, mode, attributes, mac] = fields;
    let (form, words) = attributes.split_at_checked(4)?;
    (rest.is_empty() && form == ATTRIBUTES && words[..4] == MASK.to_be_bytes()).then_some(())?;
    let head = Head {
        session: session.try_into().ok()?,
        flags: u32::from_be_bytes(words[4..].try_into().ok()?),
        mode: u64::from_be_bytes(mode.try_into().ok()?),
    };
    Some(Behind { wkid: wkid.try_into().ok()?, head, mac })
}

/// The MACed form of a public key.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn seal(with: &WrappingKey, head: &Head, der: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let mut salt = [0; 8];
    random(&mut salt);
    let mut out = der.to_vec();
    put_octets(&mut out, with.id());
    put_octets(&mut out, &head.session);
    put_octets(&mut out, &salt);
    put_octets(&mut out, &head.mode.to_be_bytes());
    put_octets(&mut out, &[ATTRIBUTES, MASK.to_be_bytes(), head.flags.to_be_bytes()].concat());
    put_octets(&mut out, &[0; MAC]);
    let end = out.len() - MAC;
    let (all, mac) = out.split_at_mut(end);
    let mut sum = [0; MAC];
    hmac(with.authenticating(Purpose::PublicKey), &[all], &mut sum)?;
    mac.copy_from_slice(&sum);
    Ok(Zeroizing::new(out))
}

/// The wrapping key that vouches for a public key, where one does.
///
/// # Errors
/// `CKR_IBM_BLOB_ERROR`, `CKR_IBM_WKID_MISMATCH`, `CKR_IBM_WK_NOT_INITIALIZED`.
pub(crate) fn key_of<'a>(context: &'a Context<'_>, bytes: &[u8]) -> Result<Option<&'a WrappingKey>> {
    match split(bytes) {
        None => fail(rv::IBM_BLOB_ERROR),
        Some((_, [])) => Ok(None),
        Some((_, behind)) => {
            let behind = parse(behind).ok_or(Rv(rv::IBM_BLOB_ERROR))?;
            Ok(Some(context.domain.opening(behind.wkid)?))
        }
    }
}

/// The public key of bytes: with the attributes that the MAC vouches for, or one without a MAC where `with` is `None`.
///
/// # Errors
/// `CKR_IBM_BLOB_ERROR`; those of keys.
pub(crate) fn open(with: Option<&WrappingKey>, bytes: &[u8]) -> Result<Key> {
    let broken = Rv(rv::IBM_BLOB_ERROR);
    let (der, behind) = split(bytes).ok_or(broken)?;
    let Some(with) = with else {
        ensure(behind.is_empty(), rv::IBM_BLOB_ERROR)?;
        return Key::of_raw_spki(der);
    };
    let parsed = parse(behind).ok_or(broken)?;
    let mut sum = [0; MAC];
    hmac(with.authenticating(Purpose::PublicKey), &[&bytes[..bytes.len() - MAC]], &mut sum)?;
    ensure(bool::from(sum.ct_eq(parsed.mac)), rv::IBM_BLOB_ERROR)?;
    Ok(Key { material: Material::of_spki(der)?, head: parsed.head, vouched: true })
}
