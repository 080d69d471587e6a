//! Mechanisms: which there are, and the operations that they give.

pub mod aead;
pub mod blocks;
pub mod cipher;
pub mod digest;
pub mod generate;
pub mod hash;
pub mod iv;
pub mod mac;
pub mod params;
pub mod sign;
pub mod streams;
pub mod table;
pub mod wrap;
pub mod xts;

use crate::object::Object;
use crate::operation::{Signer, Verifier};
use crate::rv::Result;
use cryptoki_sys::CK_MECHANISM_TYPE;
use params::Params;
use std::sync::Arc;

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
pub fn signer(mechanism: Mechanism<'_>, key: &Arc<Object>) -> Result<Box<dyn Signer>> {
    if mac::serves(mechanism.kind) { mac::signer(mechanism, key) } else { sign::signer(mechanism, key.key()?) }
}

/// Begins the check of a signature or a MAC.
///
/// # Errors
/// As [`signer`].
pub fn verifier(mechanism: Mechanism<'_>, key: &Arc<Object>) -> Result<Box<dyn Verifier>> {
    if mac::serves(mechanism.kind) { mac::verifier(mechanism, key) } else { sign::verifier(mechanism, key.key()?) }
}
