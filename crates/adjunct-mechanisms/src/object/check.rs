//! CKA_CHECK_VALUE of secret keys: computed when it is asked for, so that making a key does not cost it.

use super::attributes::{Attributes, Value};
use crate::rv::{Result, ensure};
use adjunct::InOut;
use adjunct::ops::cipher::once::{self, Aes, TripleDes};
use adjunct::ops::digest::{Part, SHA1};
use cryptoki_sys::*;
use zeroize::Zeroizing;

const LENGTH: usize = 3;

/// Computes the value: the first bytes of a block of zeros encrypted by the key, or of the SHA-1 of a key that is no block cipher's. `None` for an
/// object that has none.
fn compute(of: &Attributes) -> Option<[u8; LENGTH]> {
    let value = of.bytes(CKA_VALUE)?;
    let mut room = [0; 20];
    match of.number(CKA_KEY_TYPE)? {
        CKK_AES => once::ecb::<Aes, 16>(value, true, InOut::in_place(&mut room[..16])).ok()?,
        CKK_DES2 | CKK_DES3 => {
            let mut keys = Zeroizing::new([0; 24]);
            keys.iter_mut().zip(value.iter().cycle()).for_each(|(byte, value)| *byte = *value);
            once::ecb::<TripleDes, 8>(&*keys, true, InOut::in_place(&mut room[..8])).ok()?;
        }
        _ => {
            let mut digest = Part::new(&SHA1);
            digest.update(value);
            digest.finish(&mut room);
        }
    }
    room.first_chunk().copied()
}

/// The check value of a secret key that has none of its own among its attributes.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn value(of: &Attributes) -> Result<Option<Value>> {
    if of.number(CKA_CLASS) != Some(CKO_SECRET_KEY) || of.has(CKA_CHECK_VALUE) {
        return Ok(None);
    }
    compute(of).map(|value| Value::bytes(CKA_CHECK_VALUE, &value)).transpose()
}

/// Checks the value that a template has for a secret key. An empty value says that the key is to have none; any other is what [`value`] computes, and
/// is not kept.
///
/// # Errors
/// `CKR_ATTRIBUTE_VALUE_INVALID`.
pub fn check(attributes: &mut Attributes) -> Result {
    let Some(given) = attributes.bytes(CKA_CHECK_VALUE).filter(|given| !given.is_empty()) else { return Ok(()) };
    let right = compute(attributes).is_some_and(|value| value == given);
    ensure(right, CKR_ATTRIBUTE_VALUE_INVALID)?;
    attributes.remove(CKA_CHECK_VALUE);
    Ok(())
}
