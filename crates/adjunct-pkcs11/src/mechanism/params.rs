//! The parameters of mechanisms, read from the callers' structures.

use super::hash::Hash;

/// Parameters, by what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Params<'a> {
    None,
    /// Bytes as they are: an IV, a nonce, a label.
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
    /// CK_ECDH1_DERIVE_PARAMS.
    Ecdh {
        kdf: u64,
        shared: &'a [u8],
        public: &'a [u8],
    },
    /// CK_EDDSA_PARAMS.
    Eddsa {
        prehash: bool,
        context: &'a [u8],
    },
}
