//! Mechanisms: which there are, and the operations that they give.

pub mod aead;
pub mod blocks;
pub mod cipher;
pub mod common;
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

use crate::object::Held;
use crate::operation::{Signer, Verifier};
use crate::rv::Result;
use cryptoki_sys::CK_MECHANISM_TYPE;
use params::Params;

/// A mechanism with its parameters.
#[derive(Debug, Clone, Copy)]
pub struct Mechanism<'a> {
    pub kind: CK_MECHANISM_TYPE,
    pub params: Params<'a>,
}

/// Begins a signature or a MAC.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`.
pub fn signer(mechanism: Mechanism<'_>, key: Held) -> Result<Box<dyn Signer>> {
    match mechanism.kind {
        kind if mac::serves(kind) => mac::signer(mechanism, key),
        kind if tls_mac::serves(kind) => tls_mac::signer(mechanism, key),
        kind if mldsa::serves(kind) => mldsa::signer(mechanism, key.key()?),
        _ => sign::signer(mechanism, &key),
    }
}

/// Begins the check of a signature or a MAC.
///
/// # Errors
/// As [`signer`].
pub fn verifier(mechanism: Mechanism<'_>, key: Held) -> Result<Box<dyn Verifier>> {
    match mechanism.kind {
        kind if mac::serves(kind) => mac::verifier(mechanism, key),
        kind if tls_mac::serves(kind) => tls_mac::verifier(mechanism, key),
        kind if mldsa::serves(kind) => mldsa::verifier(mechanism, key.key()?),
        _ => sign::verifier(mechanism, &key),
    }
}
