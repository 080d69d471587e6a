//! RSA: making and opening signatures.

use super::context::RsaSignatureContext;
use super::{NotDone, padding};
use crate::abi;
use crate::abi::reason::prov;
use crate::fallback::{Operation, Output};
use adjunct::ops::rsa::{Hash, MAX_SIZE, RsaKey, pkcs1_sign, pkcs1_signed};
use std::ffi::c_int;

/// Room for one block; `Key` limits its size.
type Block = [u8; MAX_SIZE];

impl RsaSignatureContext {
    fn hash(&self) -> Option<Hash> {
        self.digest.as_ref().map(|named| named.hash)
    }

    /// Signs `data`, a digest where one is set, into `out`, which has room for the modulus.
    fn sign_own(&self, key: &RsaKey, data: &[u8], out: &mut [u8]) -> Result<(), NotDone> {
        let scheme = self.scheme().filter(|_| key.is_private()).ok_or(NotDone::Refused)?;
        Ok(key.sign(scheme, data, out)?)
    }

    /// Signs `data`, a digest where one is set.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    pub(super) unsafe fn sign(&mut self, output: Output, data: &[u8]) -> c_int {
        let Some(material) = self.key.clone() else { return 0 };
        if let Some(operation) = &mut self.delegated {
            // SAFETY: the caller answers for `output` being as it describes itself.
            return material.delegated(true, output, unsafe { operation.run(output, data) });
        }
        let size = material.size();
        // SAFETY: the caller answers for `output`: `length` is a place for a number, and `data`, where it is not null, has room for `size` bytes.
        unsafe {
            if output.data.is_null() {
                *output.length = size;
                return 1;
            }
            if let Some(key) = material.key().filter(|_| output.size >= size) {
                match self.sign_own(key, data, abi::slice_mut(output.data, size)) {
                    Ok(()) => {
                        *output.length = size;
                        return 1;
                    }
                    Err(NotDone::Refused) => {}
                    Err(NotDone::Final(error)) => {
                        self.provider().is_final(&error);
                        return 0;
                    }
                    Err(NotDone::Malformed | NotDone::Broken) => {
                        self.provider().core.raise(prov::INVALID_KEY);
                        return 0;
                    }
                }
            }
            self.delegate().map_or(0, |mut operation| material.delegated(true, output, operation.run(output, data)))
        }
    }

    pub(super) fn verify(&mut self, signature: &[u8], data: &[u8]) -> c_int {
        let Some(material) = self.key.clone() else { return 0 };
        if let Some(operation) = &mut self.delegated {
            return material.delegated_verification(signature, operation.verify(signature, data));
        }
        let fits = |key: &RsaKey| self.scheme().is_some_and(|scheme| key.verify(scheme, signature, data));
        if material.key().is_some_and(fits) {
            return 1;
        }
        self.delegate().map_or(0, |mut operation| operation.verify(signature, data))
    }

    /// The data that a signature carries, for the digest that is set.
    fn recover_own<'a>(&self, key: &RsaKey, signature: &[u8], block: &'a mut Block) -> Option<&'a [u8]> {
        let size = key.size();
        let hash = self.hash();
        if hash.is_some() && (self.padding != padding::PKCS1 || signature.len() != size) {
            return None;
        }
        let opened = key.open(signature, block).ok()?;
        if self.padding == padding::NONE {
            return Some(opened);
        }
        let signed = pkcs1_signed(opened)?;
        let Some(hash) = hash else { return Some(signed) };
        let digest = &signed[signed.len().checked_sub(hash.size())?..];
        let mut expected: Block = [0; MAX_SIZE];
        pkcs1_sign(Some(hash), digest, &mut expected[..size]).ok()?;
        (*opened == expected[..size]).then(|| &opened[size - hash.size()..])
    }

    /// Ends the running digest.
    fn finish(&mut self) -> Option<([u8; 64], usize)> {
        let mut out = [0; 64];
        let length = self.hasher.as_mut()?.finish(&mut out);
        Some((out, length))
    }

    pub(super) fn update(&mut self, data: &[u8]) -> c_int {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(data);
            return 1;
        }
        self.delegated.as_mut().map_or(0, |operation| operation.update(data))
    }

    /// # Safety
    /// `output` is as it describes itself.
    pub(super) unsafe fn digest_sign(&mut self, output: Output) -> c_int {
        if output.data.is_null() && self.hasher.is_some() {
            // SAFETY: the caller answers for `output` being as it describes itself; a null output asks for the size only.
            return unsafe { self.sign(output, &[]) };
        }
        if self.hasher.is_none() {
            let Some(operation) = &mut self.delegated else { return 0 };
            // SAFETY: the caller answers for `output` being as it describes itself.
            let done = unsafe { operation.sign_final(output) };
            return self.key.as_ref().map_or(done, |material| material.delegated(true, output, done));
        }
        let Some((digest, length)) = self.finish() else { return 0 };
        // SAFETY: the caller answers for `output` being as it describes itself.
        unsafe { self.sign(output, &digest[..length]) }
    }

    pub(super) fn digest_verify(&mut self, signature: &[u8]) -> c_int {
        if self.hasher.is_none() {
            let Some(operation) = &mut self.delegated else { return 0 };
            let done = operation.verify_final(signature);
            return self.key.as_ref().map_or(done, |material| material.delegated_verification(signature, done));
        }
        let Some((digest, length)) = self.finish() else { return 0 };
        self.verify(signature, &digest[..length])
    }

    /// # Safety
    /// `output` is as it describes itself.
    pub(super) unsafe fn recover(&mut self, output: Output, signature: &[u8]) -> c_int {
        let Some(material) = self.key.clone() else { return 0 };
        if let Some(operation) = &mut self.delegated {
            // SAFETY: the caller answers for `output` being as it describes itself.
            return material.delegated(false, output, unsafe { operation.run(output, signature) });
        }
        if output.data.is_null() {
            // SAFETY: the caller answers for `output`, whose `length` is a place for a number.
            unsafe { *output.length = material.size() };
            return 1;
        }
        let mut block: Block = [0; MAX_SIZE];
        if let Some(signed) = material.key().and_then(|key| self.recover_own(key, signature, &mut block))
            && signed.len() <= output.size
        {
            // SAFETY: the caller answers for `output`: `data`, which is not null, has room for `size` bytes, no fewer than `signed` has,
            // and `length` is a place for a number.
            unsafe {
                abi::slice_mut(output.data, signed.len()).copy_from_slice(signed);
                *output.length = signed.len();
            }
            return 1;
        }
        // SAFETY: the caller answers for `output` being as it describes itself.
        let run = |mut operation: Operation| unsafe { operation.run(output, signature) };
        self.delegate().map_or(0, |operation| material.delegated(false, output, run(operation)))
    }
}
