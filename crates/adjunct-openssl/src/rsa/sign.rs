//! RSA: making and opening signatures.

use super::signature::{Context, context};
use super::{is_too_large, padding};
use crate::abi::reason::prov;
use crate::abi::{self, guard};
use crate::fallback::{Operation, Output};
use adjunct::adapter::cpu::awslc::rsa::{Key, MAX_SIZE};
use adjunct::adapter::cpu::awslc::rsa_padding::{Hash, pkcs1_sign, pkcs1_signed, pss_sign, pss_verify};
use adjunct::catalogue::Direction;
use adjunct::ops::Tally;
use std::ffi::{c_int, c_void};

/// Room for one block; `Key` limits its size.
type Block = [u8; MAX_SIZE];

/// The result of opening a signature: the block with the public operation undone.
fn open<'a>(key: &Key, signature: &[u8], out: &'a mut Block) -> Option<&'a mut [u8]> {
    let size = key.size();
    // OpenSSL reads a shorter signature as the number it is.
    let start = size.checked_sub(signature.len())?;
    let mut input = [0; MAX_SIZE];
    input[start..size].copy_from_slice(signature);
    key.public_transform(&input[..size], &mut out[..size]).ok()?;
    key.public_tally().count(Direction::Encrypt, 0);
    Some(&mut out[..size])
}

/// Why an operation was not done here.
enum NotDone {
    /// For what it was asked: the default provider does it over, which gives its result and its errors.
    Refused,
    /// The key is not a pair.
    Broken,
}

impl Context {
    /// Signs `data`, a digest where one is set, into `out`, which has room for the modulus.
    fn sign_own(&self, key: &Key, data: &[u8], out: &mut [u8]) -> Result<(), NotDone> {
        let size = key.size();
        let mut block: Block = [0; MAX_SIZE];
        let block = &mut block[..size];
        let hash = self.digest.as_ref().map(|d| d.hash);
        if hash.is_some_and(|hash| hash.size() != data.len()) || !key.is_private() {
            return Err(NotDone::Refused);
        }
        match self.padding {
            padding::PKCS1 => pkcs1_sign(hash, data, block).map_err(|_| NotDone::Refused)?,
            padding::NONE if data.len() == size => block.copy_from_slice(data),
            padding::PSS => {
                let (Some(method), Some(mgf1), Some(salt)) = (self.method(), self.mgf1_method(), self.salt()) else {
                    return Err(NotDone::Refused);
                };
                pss_sign(key.bits(), method, mgf1, salt, data, block).map_err(|_| NotDone::Refused)?;
            }
            _ => return Err(NotDone::Refused),
        }
        let ran = key.private_transform(block, &mut out[..size]).map_err(|_| match is_too_large(key, block) {
            true => NotDone::Refused,
            false => NotDone::Broken,
        })?;
        key.private_tally().ran(ran).count(Direction::Encrypt, 0);
        Ok(())
    }

    /// Signs `data`, a digest where one is set.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn sign(&mut self, output: Output, data: &[u8]) -> c_int {
        let Some(material) = self.key.clone() else { return 0 };
        if let Some(operation) = &mut self.delegated {
            // SAFETY: see above.
            return material.delegated(true, output, unsafe { operation.run(output, data) });
        }
        let size = material.size();
        // SAFETY: see above.
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
                    Err(NotDone::Broken) => {
                        self.provider().core.raise(prov::INVALID_KEY);
                        return 0;
                    }
                }
            }
            self.delegate().map_or(0, |mut operation| material.delegated(true, output, operation.run(output, data)))
        }
    }

    fn verify_own(&self, key: &Key, signature: &[u8], data: &[u8]) -> bool {
        let hash = self.digest.as_ref().map(|d| d.hash);
        let size = key.size();
        let mut block = [0; MAX_SIZE];
        // RSA_verify wants the full length; where there is no digest, and for PSS, OpenSSL does not.
        if hash.is_some() && self.padding == padding::PKCS1 && signature.len() != size {
            return false;
        }
        if hash.is_some_and(|hash| hash.size() != data.len()) {
            return false;
        }
        let Some(block) = open(key, signature, &mut block) else { return false };
        match (self.padding, hash) {
            (padding::PKCS1, Some(_)) => {
                let mut expected: Block = [0; MAX_SIZE];
                pkcs1_sign(hash, data, &mut expected[..size]).is_ok() && *block == expected[..size]
            }
            (padding::PKCS1, None) => pkcs1_signed(block).is_some_and(|signed| !signed.is_empty() && signed == data),
            (padding::NONE, _) => block == data,
            _ => match (self.method(), self.mgf1_method(), self.salt()) {
                (Some(method), Some(mgf1), Some(salt)) => pss_verify(key.bits(), method, mgf1, salt, data, block),
                _ => false,
            },
        }
    }

    fn verify(&mut self, signature: &[u8], data: &[u8]) -> c_int {
        let Some(material) = self.key.clone() else { return 0 };
        if let Some(operation) = &mut self.delegated {
            material.delegated_tally(false).count(Direction::Encrypt, 0);
            return operation.verify(signature, data);
        }
        if material.key().is_some_and(|key| self.verify_own(key, signature, data)) {
            return 1;
        }
        self.delegate().map_or(0, |mut operation| operation.verify(signature, data))
    }

    /// What a signature carries, for the digest that is set.
    fn recover_own<'a>(&self, key: &Key, signature: &[u8], block: &'a mut Block) -> Option<&'a [u8]> {
        let size = key.size();
        let hash = self.digest.as_ref().map(|d| d.hash);
        if hash.is_some() && (self.padding != padding::PKCS1 || signature.len() != size) {
            return None;
        }
        let opened = open(key, signature, block)?;
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

    /// Ends the running digest and counts it.
    fn finish(&mut self) -> Option<([u8; 64], usize)> {
        let mut out = [0; 64];
        let length = self.hasher.as_mut()?.finish(&mut out);
        if let Some(Hash::One(method)) = self.digest.as_ref().map(|d| d.hash) {
            Tally::new(method.function, 0).count(Direction::Encrypt, self.hashed);
        }
        self.hashed = 0;
        Some((out, length))
    }

    fn update(&mut self, data: &[u8]) -> c_int {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(data);
            self.hashed += data.len();
            return 1;
        }
        self.delegated.as_mut().map_or(0, |operation| operation.update(data))
    }

    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn digest_sign(&mut self, output: Output) -> c_int {
        if output.data.is_null() && self.hasher.is_some() {
            // SAFETY: see above; a null output asks for the size only.
            return unsafe { self.sign(output, &[]) };
        }
        if self.hasher.is_none() {
            let Some(operation) = &mut self.delegated else { return 0 };
            // SAFETY: see above.
            let done = unsafe { operation.sign_final(output) };
            return self.key.as_ref().map_or(done, |material| material.delegated(true, output, done));
        }
        let Some((digest, length)) = self.finish() else { return 0 };
        // SAFETY: see above.
        unsafe { self.sign(output, &digest[..length]) }
    }

    fn digest_verify(&mut self, signature: &[u8]) -> c_int {
        if self.hasher.is_none() {
            let Some(operation) = &mut self.delegated else { return 0 };
            if let Some(material) = &self.key {
                material.delegated_tally(false).count(Direction::Encrypt, 0);
            }
            return operation.verify_final(signature);
        }
        let Some((digest, length)) = self.finish() else { return 0 };
        self.verify(signature, &digest[..length])
    }

    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn recover(&mut self, output: Output, signature: &[u8]) -> c_int {
        let Some(material) = self.key.clone() else { return 0 };
        if let Some(operation) = &mut self.delegated {
            // SAFETY: see above.
            return material.delegated(false, output, unsafe { operation.run(output, signature) });
        }
        if output.data.is_null() {
            // SAFETY: as above.
            unsafe { *output.length = material.size() };
            return 1;
        }
        let mut block: Block = [0; MAX_SIZE];
        if let Some(signed) = material.key().and_then(|key| self.recover_own(key, signature, &mut block))
            && signed.len() <= output.size
        {
            // SAFETY: as above.
            unsafe {
                abi::slice_mut(output.data, signed.len()).copy_from_slice(signed);
                *output.length = signed.len();
            }
            return 1;
        }
        // SAFETY: as above.
        let run = |mut operation: Operation| unsafe { operation.run(output, signature) };
        self.delegate().map_or(0, |operation| material.delegated(false, output, run(operation)))
    }
}

pub(super) unsafe extern "C" fn sign(
    ctx: *mut c_void,
    signature: *mut u8,
    length: *mut usize,
    size: usize,
    data: *const u8,
    data_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        unsafe {
            let Some(ctx) = context(ctx) else { return 0 };
            ctx.sign(Output { data: signature, length, size }, abi::slice(data, data_length))
        }
    })
}

pub(super) unsafe extern "C" fn verify(
    ctx: *mut c_void,
    signature: *const u8,
    signature_length: usize,
    data: *const u8,
    data_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        unsafe {
            let Some(ctx) = context(ctx) else { return 0 };
            ctx.verify(abi::slice(signature, signature_length), abi::slice(data, data_length))
        }
    })
}

pub(super) unsafe extern "C" fn verify_recover(
    ctx: *mut c_void,
    out: *mut u8,
    length: *mut usize,
    size: usize,
    signature: *const u8,
    signature_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        unsafe {
            let Some(ctx) = context(ctx) else { return 0 };
            ctx.recover(Output { data: out, length, size }, abi::slice(signature, signature_length))
        }
    })
}

pub(super) unsafe extern "C" fn digest_update(ctx: *mut c_void, data: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffer OpenSSL's.
        unsafe { context(ctx).map_or(0, |ctx| ctx.update(abi::slice(data, length))) }
    })
}

pub(super) unsafe extern "C" fn digest_sign_final(
    ctx: *mut c_void,
    signature: *mut u8,
    length: *mut usize,
    size: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        unsafe { context(ctx).map_or(0, |ctx| ctx.digest_sign(Output { data: signature, length, size })) }
    })
}

pub(super) unsafe extern "C" fn digest_verify_final(ctx: *mut c_void, signature: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffer OpenSSL's.
        unsafe { context(ctx).map_or(0, |ctx| ctx.digest_verify(abi::slice(signature, length))) }
    })
}
