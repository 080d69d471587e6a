//! Encryption and decryption: which operation a mechanism and a key give.

use super::params::Params;
use super::{Mechanism, aead, blocks, rsa_cipher, streams, wrap, xts};
use crate::object::{Held, Object};
use crate::operation::Cipher;
use crate::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// Begins an encryption, or a decryption. Whether the key may be used so was checked before.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`, `CKR_KEY_SIZE_RANGE`, `CKR_HOST_MEMORY`.
pub fn begin(mechanism: Mechanism<'_>, key: &Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    match mechanism.kind {
        CKM_AES_ECB | CKM_AES_CBC | CKM_AES_CBC_PAD | CKM_DES3_ECB | CKM_DES3_CBC | CKM_DES3_CBC_PAD => {
            blocks::begin(mechanism, key, encrypt)
        }
        CKM_AES_CTR | CKM_AES_OFB | CKM_AES_CFB128 | CKM_AES_CFB8 | CKM_CHACHA20 => {
            streams::begin(mechanism, key, encrypt)
        }
        CKM_AES_XTS => xts::begin(mechanism, key, encrypt),
        CKM_AES_GCM | CKM_AES_CCM | CKM_CHACHA20_POLY1305 => aead::begin(mechanism, key, encrypt),
        CKM_AES_KEY_WRAP | CKM_AES_KEY_WRAP_PAD | CKM_AES_KEY_WRAP_KWP | CKM_AES_KEY_WRAP_PKCS7 => {
            wrap::begin(mechanism, key, encrypt)
        }
        CKM_RSA_PKCS | CKM_RSA_X_509 | CKM_RSA_PKCS_OAEP => rsa_cipher::begin(mechanism, key.key()?, encrypt),
        _ => fail(CKR_MECHANISM_INVALID),
    }
}

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

/// What is said of a key of a wrong length.
pub fn key_size(error: adjunct::Error) -> Rv {
    match error {
        adjunct::Error::Length { .. } => Rv(CKR_KEY_SIZE_RANGE),
        error => error.into(),
    }
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
