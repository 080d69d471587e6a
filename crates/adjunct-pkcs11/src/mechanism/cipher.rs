//! Encryption and decryption: which operation a mechanism and a key give.

use super::{Mechanism, aead, blocks, rsa_cipher, streams, wrap, xts};
use crate::object::Held;
use crate::operation::Cipher;
use crate::rv::{Result, fail};
use cryptoki_sys::*;

/// Begins an encryption, or a decryption. Whether the key may be used so was checked before.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`, `CKR_KEY_SIZE_RANGE`, `CKR_HOST_MEMORY`.
pub fn begin(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
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
            wrap::begin(mechanism, &key, encrypt)
        }
        CKM_RSA_PKCS | CKM_RSA_X_509 | CKM_RSA_PKCS_OAEP => rsa_cipher::begin(mechanism, key.key()?, encrypt),
        _ => fail(CKR_MECHANISM_INVALID),
    }
}
