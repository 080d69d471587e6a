//! The parameters of mechanisms, read from the callers' structures.

use super::derive::Derive;
use super::derive::tls::Prf;
use super::hash::Hash;

/// What the parameter of a mechanism is: by this `abi/params.rs` and `abi/derive.rs` read it.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Bytes as they are, or nothing; also what a mechanism without a parameter is given, which then refuses it.
    Bytes,
    /// Nothing, whatever is there: programs leave there what memory has (openCryptoki's own tests do), and no other token looks at it.
    Ignored,
    /// CK_MAC_GENERAL_PARAMS.
    Number,
    /// CK_RSA_PKCS_PSS_PARAMS.
    Pss,
    /// CK_RSA_PKCS_OAEP_PARAMS.
    Oaep,
    /// CK_AES_CTR_PARAMS.
    Counter,
    /// CK_GCM_PARAMS, in its forms.
    Gcm,
    /// CK_GCM_PARAMS, or an IV alone.
    Gmac,
    /// CK_CCM_PARAMS, in its forms.
    Ccm,
    /// CK_CHACHA20_PARAMS.
    ChaCha,
    /// CK_SALSA20_CHACHA20_POLY1305_PARAMS.
    ChaChaPoly,
    /// CK_EDDSA_PARAMS, or nothing.
    Eddsa,
    /// CK_PKCS5_PBKD2_PARAMS, CK_PKCS5_PBKD2_PARAMS2.
    Pbkdf2,
    /// CK_VERSION.
    Version,
    /// CK_TLS_MAC_PARAMS.
    TlsMac,
    /// CK_SIGN_ADDITIONAL_CONTEXT, or nothing.
    SignContext,
    /// CK_HASH_SIGN_ADDITIONAL_CONTEXT, or nothing.
    HashSignContext,
    /// The parameter of a derivation.
    Derive(Derive),
}

/// Parameters of a mechanism, by their form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Params<'a> {
    None,
    /// Plain bytes: an IV, a nonce, a label.
    Bytes(&'a [u8]),
    /// CK_MAC_GENERAL_PARAMS: the length of a MAC.
    Number(u64),
    /// CK_RSA_PKCS_PSS_PARAMS.
    Pss {
        hash: Hash,
        mgf1: Hash,
        salt: usize,
    },
    /// CK_RSA_PKCS_OAEP_PARAMS.
    Oaep {
        hash: Hash,
        mgf1: Hash,
        label: &'a [u8],
    },
    /// CK_AES_CTR_PARAMS.
    Counter {
        bits: u32,
        block: [u8; 16],
    },
    /// CK_CHACHA20_PARAMS.
    ChaCha {
        counter: &'a [u8],
        nonce: &'a [u8],
    },
    /// CK_GCM_PARAMS; the tag's length in bits.
    Gcm {
        iv: &'a [u8],
        aad: &'a [u8],
        tag_bits: u64,
    },
    /// CK_CCM_PARAMS; lengths in bytes.
    Ccm {
        data: u64,
        nonce: &'a [u8],
        aad: &'a [u8],
        mac: u64,
    },
    /// CK_SALSA20_CHACHA20_POLY1305_PARAMS.
    ChaChaPoly {
        nonce: &'a [u8],
        aad: &'a [u8],
    },
    /// CK_EDDSA_PARAMS.
    Eddsa {
        prehash: bool,
        context: &'a [u8],
    },
    /// CK_PKCS5_PBKD2_PARAMS, CK_PKCS5_PBKD2_PARAMS2.
    Pbkdf2 {
        hash: Hash,
        password: &'a [u8],
        salt: &'a [u8],
        iterations: u64,
    },
    /// CK_VERSION.
    Version([u8; 2]),
    /// CK_TLS_MAC_PARAMS.
    TlsMac {
        prf: Prf,
        length: u64,
        server: bool,
    },
    /// CK_SIGN_ADDITIONAL_CONTEXT, CK_HASH_SIGN_ADDITIONAL_CONTEXT.
    SignContext {
        deterministic: bool,
        context: &'a [u8],
        /// The mechanism of the hash that the caller has computed.
        hash: Option<u64>,
    },
}

impl Params<'_> {
    /// Copies the parameters if they do not point to the caller's memory; else `None`.
    pub fn detached(self) -> Option<Params<'static>> {
        Some(match self {
            Params::None => Params::None,
            Params::Number(number) => Params::Number(number),
            Params::Pss { hash, mgf1, salt } => Params::Pss { hash, mgf1, salt },
            Params::Eddsa { prehash, context: &[] } => Params::Eddsa { prehash, context: &[] },
            _ => return None,
        })
    }
}
