//! The parameters of mechanisms, which whoever calls reads: a module from C structures (`abi/` of `adjunct-pkcs11`), a service from messages.

use super::derive::Derive;
use super::derive::tls::Prf;
use super::hash::Hash;

/// What the parameter of a mechanism is, by which it is read.
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
    /// No parameter.
    None,
    /// Plain bytes: an IV, a nonce, a label.
    Bytes(&'a [u8]),
    /// CK_MAC_GENERAL_PARAMS: the length of a MAC.
    Number(u64),
    /// CK_RSA_PKCS_PSS_PARAMS.
    Pss {
        /// The hash of the data.
        hash: Hash,
        /// The hash of the mask.
        mgf1: Hash,
        /// Bytes of the salt.
        salt: usize,
    },
    /// CK_RSA_PKCS_OAEP_PARAMS.
    Oaep {
        /// The hash of the label.
        hash: Hash,
        /// The hash of the mask.
        mgf1: Hash,
        /// The label.
        label: &'a [u8],
    },
    /// CK_AES_CTR_PARAMS.
    Counter {
        /// Bits of the block that count.
        bits: u32,
        /// The first counter block.
        block: [u8; 16],
    },
    /// CK_CHACHA20_PARAMS.
    ChaCha {
        /// The first counter: 4 or 8 bytes.
        counter: &'a [u8],
        /// The nonce.
        nonce: &'a [u8],
    },
    /// CK_GCM_PARAMS; the tag's length in bits.
    Gcm {
        /// The IV.
        iv: &'a [u8],
        /// The additional data.
        aad: &'a [u8],
        /// Bits of the tag.
        tag_bits: u64,
    },
    /// CK_CCM_PARAMS; lengths in bytes.
    Ccm {
        /// Bytes of the data; 0 where nobody said.
        data: u64,
        /// The nonce.
        nonce: &'a [u8],
        /// The additional data.
        aad: &'a [u8],
        /// Bytes of the tag.
        mac: u64,
    },
    /// CK_SALSA20_CHACHA20_POLY1305_PARAMS.
    ChaChaPoly {
        /// The nonce.
        nonce: &'a [u8],
        /// The additional data.
        aad: &'a [u8],
    },
    /// CK_EDDSA_PARAMS.
    Eddsa {
        /// Whether a digest of the data is signed.
        prehash: bool,
        /// The context.
        context: &'a [u8],
    },
    /// CK_PKCS5_PBKD2_PARAMS, CK_PKCS5_PBKD2_PARAMS2.
    Pbkdf2 {
        /// The hash.
        hash: Hash,
        /// The password.
        password: &'a [u8],
        /// The salt.
        salt: &'a [u8],
        /// How often the hash is applied.
        iterations: u64,
    },
    /// CK_VERSION.
    Version([u8; 2]),
    /// CK_TLS_MAC_PARAMS.
    TlsMac {
        /// The pseudorandom function.
        prf: Prf,
        /// Bytes of the MAC.
        length: u64,
        /// Whether the message is the server's.
        server: bool,
    },
    /// CK_SIGN_ADDITIONAL_CONTEXT, CK_HASH_SIGN_ADDITIONAL_CONTEXT.
    SignContext {
        /// Whether the signature is made without randomness.
        deterministic: bool,
        /// The context.
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
