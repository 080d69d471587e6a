//! Mechanisms: which there are, and the operations that they give.

pub mod aead;
pub mod blocks;
pub mod cipher;
pub mod derive;
pub mod digest;
pub mod generate;
pub mod hash;
pub mod iv;
pub mod mac;
pub mod mldsa;
pub mod params;
pub mod recover;
pub mod rsa_cipher;
pub mod sign;
pub mod streams;
pub mod table;
pub mod tls_mac;
pub mod wrap;
pub mod xts;

use cryptoki_sys::CK_MECHANISM_TYPE;
use params::Params;

/// A mechanism with its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Mechanism<'a> {
    pub kind: CK_MECHANISM_TYPE,
    pub params: Params<'a>,
}
