//! Keys derived from keys: what each mechanism makes of a base key and its parameters.
//!
//! * `agree`: ECDH and X25519, with the derivations of X9.63 and SP 800-56C.
//! * `hkdf`, `sp800108`: HKDF, and the three modes of SP 800-108.
//! * `bytes`: concatenation, XOR, extraction, encryption of data, hashes.
//! * `tls`: TLS 1.0 to 1.2.

pub mod agree;
pub mod bytes;
pub mod hkdf;
pub mod sp800108;
pub mod tls;

use super::hash::Hash;
use crate::object::attributes::Attributes;
use crate::object::{Held, Object};
use crate::rv::{Result, Rv, ensure};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// Which derivation a mechanism is, by what its parameter is read.
#[derive(Debug, Clone, Copy)]
pub enum Derive {
    /// CK_ECDH1_DERIVE_PARAMS.
    Agree {
        /// Whether the secret is multiplied by the curve's cofactor.
        cofactor: bool,
    },
    /// CK_HKDF_PARAMS; `data` where the result is no key.
    Hkdf {
        /// Whether the result is a data object.
        data: bool,
    },
    /// CK_SP800_108_KDF_PARAMS.
    Counter,
    /// CK_SP800_108_KDF_PARAMS.
    DoublePipeline,
    /// CK_SP800_108_FEEDBACK_KDF_PARAMS.
    Feedback,
    /// The handle of another key.
    Key,
    /// CK_KEY_DERIVATION_STRING_DATA.
    Data(for<'a> fn(&'a [u8]) -> Derivation<'a>),
    /// CK_EXTRACT_PARAMS.
    Extract,
    /// CK_KEY_DERIVATION_STRING_DATA.
    AesEcb,
    /// CK_KEY_DERIVATION_STRING_DATA.
    Des3Ecb,
    /// CK_AES_CBC_ENCRYPT_DATA_PARAMS.
    AesCbc,
    /// CK_DES_CBC_ENCRYPT_DATA_PARAMS.
    Des3Cbc,
    /// Nothing: the hash that the mechanism names.
    Hash,
    /// CK_SSL3_MASTER_KEY_DERIVE_PARAMS; `rsa` where the premaster secret is RSA's.
    TlsMaster {
        /// Whether the premaster secret is RSA's.
        rsa: bool,
    },
    /// CK_TLS12_MASTER_KEY_DERIVE_PARAMS.
    Tls12Master {
        /// Whether the premaster secret is RSA's.
        rsa: bool,
    },
    /// CK_TLS12_EXTENDED_MASTER_KEY_DERIVE_PARAMS.
    Tls12Extended {
        /// Whether the premaster secret is RSA's.
        rsa: bool,
    },
    /// CK_SSL3_KEY_MAT_PARAMS.
    TlsKeys,
    /// CK_TLS12_KEY_MAT_PARAMS; IVs are only given where `ivs`.
    Tls12Keys {
        /// Whether IVs are given.
        ivs: bool,
    },
    /// CK_TLS_KDF_PARAMS.
    TlsKdf,
    /// CK_TLS_PRF_PARAMS.
    TlsPrf,
}

/// Bytes of a new key.
pub type Secret = Zeroizing<Vec<u8>>;

/// A derivation with its parameters, read from the caller's structures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Derivation<'a> {
    /// Key agreement.
    Agree(agree::Agree<'a>),
    /// HKDF, which gives a key, or a data object where the mechanism says so.
    Hkdf(hkdf::Hkdf<'a>),
    /// The key, and others besides, by their templates.
    Sp800108(sp800108::Kdf<'a>, Vec<Attributes>),
    /// The base key, and after it another.
    BaseAndKey(CK_OBJECT_HANDLE),
    /// The base key, and these bytes after it.
    BaseAndData(&'a [u8]),
    /// These bytes, and the base key after them.
    DataAndBase(&'a [u8]),
    /// The base key, with these bytes added to it bit by bit.
    Xor(&'a [u8]),
    /// A part of the base key, from this bit on.
    Extract(u64),
    /// Data that the base key encrypts.
    Encrypt(bytes::Encrypt<'a>),
    /// The base key's hash.
    Hashed(Hash),
    /// TLS's master secret.
    TlsMaster(tls::Master<'a>),
    /// Keys and IVs for both directions.
    TlsKeys(tls::Keys<'a>),
    /// TLS's keys for other uses (exporters).
    TlsKdf(tls::Kdf<'a>),
    /// Bytes for the caller, no key.
    TlsPrf(tls::Seed<'a>),
}

/// How the sensitivity of the result follows from the base key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inherit {
    /// Templates and defaults say it.
    No,
    /// The base key's is the default (SP 800-108).
    Default,
    /// The derived key is as sensitive, and as little extractable, as the keys that it is made of.
    Strict,
}

impl Derivation<'_> {
    /// The keys besides the base key that it takes.
    pub fn others(&self) -> Vec<CK_OBJECT_HANDLE> {
        match self {
            Derivation::BaseAndKey(key) => vec![*key],
            Derivation::Hkdf(hkdf) => hkdf.salt_key().into_iter().collect(),
            Derivation::Sp800108(kdf, _) => kdf.keys(),
            _ => Vec::new(),
        }
    }

    /// How the result comes by its sensitivity.
    pub const fn inherits(&self) -> Inherit {
        match self {
            Derivation::BaseAndKey(_)
            | Derivation::BaseAndData(_)
            | Derivation::DataAndBase(_)
            | Derivation::Xor(_)
            | Derivation::Extract(_) => Inherit::Strict,
            Derivation::Sp800108(..) => Inherit::Default,
            _ => Inherit::No,
        }
    }

    /// Derives the bytes of one key from the base key, `wanted` of them where that is given.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_TEMPLATE_INCOMPLETE` where a length is missing,
    /// `CKR_KEY_SIZE_RANGE` where there are not so many bytes, `CKR_HOST_MEMORY`.
    pub fn secret(&self, base: &Object, others: &[Held], wanted: Option<usize>) -> Result<Secret> {
        match self {
            Derivation::Agree(agree) => agree.derive(base, wanted),
            Derivation::Hkdf(hkdf) => hkdf.derive(base.clear_value()?, others, wanted),
            Derivation::BaseAndKey(_) => {
                let other = others.first().ok_or(Rv(CKR_KEY_HANDLE_INVALID))?;
                first(concat(base.clear_value()?, other.clear_value()?)?, wanted)
            }
            Derivation::BaseAndData(data) => first(concat(base.clear_value()?, data)?, wanted),
            Derivation::DataAndBase(data) => first(concat(data, base.clear_value()?)?, wanted),
            Derivation::Xor(data) => first(bytes::xor(base.clear_value()?, data)?, wanted),
            Derivation::Extract(bit) => bytes::extract(base.clear_value()?, *bit, wanted),
            Derivation::Encrypt(encrypt) => {
                // What there is to encrypt is the parameter.
                ensure(wanted.is_none_or(|wanted| wanted <= encrypt.data.len()), CKR_MECHANISM_PARAM_INVALID)?;
                first(encrypt.derive(base)?, wanted)
            }
            Derivation::Hashed(hash) => first(bytes::hashed(*hash, base.clear_value()?)?, wanted),
            Derivation::TlsMaster(master) => master.derive(base.clear_value()?, wanted),
            Derivation::TlsKdf(kdf) => kdf.derive(base.clear_value()?, wanted.ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?),
            // They have no one key, and functions of their own.
            Derivation::Sp800108(..) | Derivation::TlsKeys(_) | Derivation::TlsPrf(_) => Err(Rv(CKR_FUNCTION_FAILED)),
        }
    }
}

/// Joins two values.
fn concat(one: &[u8], other: &[u8]) -> Result<Secret> {
    let mut both = adjunct::memory::zeros(one.len() + other.len())?;
    both[..one.len()].copy_from_slice(one);
    both[one.len()..].copy_from_slice(other);
    Ok(both)
}

/// The first bytes: what a template asks for.
fn first(mut all: Secret, wanted: Option<usize>) -> Result<Secret> {
    let length = wanted.unwrap_or(all.len());
    ensure(length <= all.len(), CKR_KEY_SIZE_RANGE)?;
    all.truncate(length);
    Ok(all)
}

/// The last bytes.
fn last(all: &[u8], wanted: Option<usize>) -> Result<Secret> {
    let length = wanted.unwrap_or(all.len());
    let start = all.len().checked_sub(length).ok_or(Rv(CKR_KEY_SIZE_RANGE))?;
    concat(&all[start..], &[])
}
