//! What the ciphers and MACs of secret keys share: values of keys, vectors, and what waits for the rest of a message.

use super::params::Params;
use crate::object::Object;
use crate::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// The bytes of a secret key of that type.
///
/// # Errors
/// `CKR_KEY_TYPE_INCONSISTENT`.
pub fn secret(key: &Object, kind: CK_KEY_TYPE) -> Result<&[u8]> {
    ensure(key.key_type() == Some(kind), CKR_KEY_TYPE_INCONSISTENT)?;
    key.value()
}

/// The three keys of triple DES; of a double-length key the first is also the last.
///
/// # Errors
/// `CKR_KEY_TYPE_INCONSISTENT`.
pub fn des3(key: &Object) -> Result<Zeroizing<[u8; 24]>> {
    let mut keys = Zeroizing::new([0; 24]);
    match (key.key_type(), key.value()?) {
        (Some(CKK_DES3), value) if value.len() == 24 => keys.copy_from_slice(value),
        (Some(CKK_DES2), value) if value.len() == 16 => {
            keys[..16].copy_from_slice(value);
            keys[16..].copy_from_slice(&value[..8]);
        }
        _ => return fail(CKR_KEY_TYPE_INCONSISTENT),
    }
    Ok(keys)
}

/// An IV that is the whole parameter.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn iv<const N: usize>(params: Params<'_>) -> Result<[u8; N]> {
    let Params::Bytes(bytes) = params else { return fail(CKR_MECHANISM_PARAM_INVALID) };
    bytes.try_into().map_err(|_| Rv(CKR_MECHANISM_PARAM_INVALID))
}

/// Appends to what waits for the rest of a message.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn keep(waiting: &mut Zeroizing<Vec<u8>>, part: &[u8]) -> Result {
    if waiting.capacity() - waiting.len() < part.len() {
        // What a vector leaves behind when it grows is not wiped.
        let room = (waiting.len() + part.len()).max(2 * waiting.capacity());
        let mut grown = Zeroizing::new(Vec::new());
        grown.try_reserve_exact(room)?;
        grown.extend_from_slice(waiting);
        *waiting = grown;
    }
    waiting.extend_from_slice(part);
    Ok(())
}
