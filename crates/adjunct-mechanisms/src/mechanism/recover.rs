//! RSA signatures that give back what they sign (C_SignRecover, C_VerifyRecover). Making one is signing.

use super::Mechanism;
use super::generate::no_params;
use super::registry::RECOVERS;
use crate::object::Held;
use crate::object::key::ObjectKey;
use crate::operation::{Again, Cipher, Signer};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::rsa::{self, MAX_SIZE};
use cryptoki_sys::*;
use std::sync::Arc;

/// A signature that is opened.
struct Opening {
    key: Arc<ObjectKey>,
    padded: bool,
}

fn known(mechanism: Mechanism<'_>) -> Result {
    mechanism.is_for(RECOVERS)?;
    no_params(mechanism)
}

/// Begins a signature.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`.
pub fn signer(mechanism: Mechanism<'_>, key: Held) -> Result<Box<dyn Signer>> {
    known(mechanism)?;
    mechanism.signer(key)
}

/// Begins to open a signature: its input is the signature, its result the data.
///
/// # Errors
/// As [`signer`].
pub fn opener(mechanism: Mechanism<'_>, key: Arc<ObjectKey>) -> Result<Box<dyn Cipher>> {
    known(mechanism)?;
    let opening = Opening { key, padded: mechanism.kind == CKM_RSA_PKCS };
    opening.rsa()?;
    Ok(Box::new(opening))
}

impl Opening {
    fn rsa(&self) -> Result<&rsa::RsaKey> {
        match &*self.key {
            ObjectKey::Rsa(key) => Ok(key),
            _ => fail(CKR_KEY_TYPE_INCONSISTENT),
        }
    }
}

impl Again for Opening {}

impl Cipher for Opening {
    fn update_length(&self, _input: usize) -> usize {
        0
    }

    fn update(&mut self, _input: &[u8], _out: &mut [u8]) -> Result<usize> {
        // A signature comes whole.
        fail(CKR_FUNCTION_FAILED)
    }

    fn final_length(&self) -> usize {
        let size = self.rsa().map_or(0, rsa::RsaKey::size);
        if self.padded { size.saturating_sub(11) } else { size }
    }

    fn finish(&mut self, _out: &mut [u8]) -> Result<usize> {
        fail(CKR_FUNCTION_FAILED)
    }

    fn once(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let key = self.rsa()?;
        ensure(input.len() == key.size(), CKR_SIGNATURE_LEN_RANGE)?;
        let mut room = [0; MAX_SIZE];
        let block: &[u8] = key.open(input, &mut room).map_err(|_| Rv(CKR_SIGNATURE_INVALID))?;
        let data = if self.padded { rsa::pkcs1_signed(block).ok_or(Rv(CKR_SIGNATURE_INVALID))? } else { block };
        out.get_mut(..data.len()).ok_or(Rv(CKR_SIGNATURE_INVALID))?.copy_from_slice(data);
        Ok(data.len())
    }
}
