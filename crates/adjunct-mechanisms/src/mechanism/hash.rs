//! The hashes that mechanisms name.

use crate::rv::{Result, Rv};
use adjunct::ops::digest::{self, Method};
use cryptoki_sys::*;

/// A hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1.
    Sha1,
    /// SHA-224.
    Sha224,
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
    /// SHA-512/224.
    Sha512_224,
    /// SHA-512/256.
    Sha512_256,
    /// SHA3-224.
    Sha3_224,
    /// SHA3-256.
    Sha3_256,
    /// SHA3-384.
    Sha3_384,
    /// SHA3-512.
    Sha3_512,
    /// MD5.
    Md5,
}

impl Hash {
    /// The core's method.
    pub fn method(self) -> &'static Method {
        match self {
            Hash::Sha1 => &digest::SHA1,
            Hash::Sha224 => &digest::SHA224,
            Hash::Sha256 => &digest::SHA256,
            Hash::Sha384 => &digest::SHA384,
            Hash::Sha512 => &digest::SHA512,
            Hash::Sha512_224 => &digest::SHA512_224,
            Hash::Sha512_256 => &digest::SHA512_256,
            Hash::Sha3_224 => &digest::SHA3_224,
            Hash::Sha3_256 => &digest::SHA3_256,
            Hash::Sha3_384 => &digest::SHA3_384,
            Hash::Sha3_512 => &digest::SHA3_512,
            Hash::Md5 => &digest::MD5,
        }
    }

    /// The length of its result in bytes.
    pub fn size(self) -> usize {
        self.method().size
    }

    /// The hash of a mask generation function.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID` for another.
    pub fn of_mgf(mgf: CK_RSA_PKCS_MGF_TYPE) -> Result<Hash> {
        Ok(match mgf {
            CKG_MGF1_SHA1 => Hash::Sha1,
            CKG_MGF1_SHA224 => Hash::Sha224,
            CKG_MGF1_SHA256 => Hash::Sha256,
            CKG_MGF1_SHA384 => Hash::Sha384,
            CKG_MGF1_SHA512 => Hash::Sha512,
            CKG_MGF1_SHA3_224 => Hash::Sha3_224,
            CKG_MGF1_SHA3_256 => Hash::Sha3_256,
            CKG_MGF1_SHA3_384 => Hash::Sha3_384,
            CKG_MGF1_SHA3_512 => Hash::Sha3_512,
            _ => return Err(Rv(CKR_MECHANISM_PARAM_INVALID)),
        })
    }
}
