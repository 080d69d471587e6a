//! RSA: making and opening signatures.

use super::padding;
use super::signature::{Context, context};
use crate::abi::reason::{self, Reason, prov};
use crate::abi::{self, guard};
use crate::fallback::Output;
use adjunct::awslc::rsa::{Key, MAX_SIZE};
use adjunct::awslc::rsa_padding::{Hash, pkcs1_sign, pkcs1_signed, pss_sign, pss_verify};
use adjunct::route::{Direction, Tally};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Room for one block; `Key` limits its size.
type Block = [u8; MAX_SIZE];

/// The result of opening a signature: the block with the public operation undone.
fn open<'a>(key: &Key, signature: &[u8], out: &'a mut Block) -> Option<&'a mut [u8]> {
    let size = key.size();
    // OpenSSL reads a shorter signature as the number it is.
    let start = size.checked_sub(signature.len())?;
    let mut input = [0; MAX_SIZE];
    input[start..size].copy_from_slice(signature);
    key.public_tally().count(Direction::Encrypt, 0);
    key.public_transform(&input[..size], &mut out[..size]).ok()?;
    Some(&mut out[..size])
}

impl Context {
    /// Signs `data`, a digest where one is set, into `out`, which has room for the modulus.
    fn sign_own(&self, key: &Key, data: &[u8], out: &mut [u8]) -> Result<(), Reason> {
        let size = key.size();
        let mut block: Block = [0; MAX_SIZE];
        let block = &mut block[..size];
        let hash = self.digest.as_ref().and_then(|d| d.hash);
        if hash.is_some_and(|hash| hash.size() != data.len()) {
            return Err(prov::INVALID_INPUT_LENGTH);
        }
        match self.padding {
            padding::PKCS1 => pkcs1_sign(hash, data, block).map_err(|_| reason::rsa::DATA_TOO_LARGE_FOR_KEY_SIZE)?,
            padding::NONE if data.len() == size => block.copy_from_slice(data),
            padding::NONE => return Err(prov::INVALID_INPUT_LENGTH),
            _ => {
                let (Some(method), Some(mgf1), Some(salt)) = (self.method(), self.mgf1_method(), self.salt()) else {
                    return Err(prov::KEY_SIZE_TOO_SMALL);
                };
                pss_sign(key.bits(), method, mgf1, salt, data, block)
                    .map_err(|_| reason::rsa::DATA_TOO_LARGE_FOR_KEY_SIZE)?;
            }
        }
        key.private_tally().count(Direction::Encrypt, 0);
        key.private_transform(block, &mut out[..size]).map_err(|_| prov::INVALID_KEY)
    }

    /// Signs `data`, a digest where one is set.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn sign(&self, output: Output, data: &[u8]) -> c_int {
        let Some(material) = &self.key else { return self.fail(prov::MISSING_KEY) };
        let size = material.size();
        // SAFETY: see above.
        unsafe {
            if output.data.is_null() {
                *output.length = size;
                return 1;
            }
            if output.size < size {
                return self.fail(prov::OUTPUT_BUFFER_TOO_SMALL);
            }
            if let (true, Some(key)) = (self.is_ours(), material.key()) {
                return match self.sign_own(key, data, abi::slice_mut(output.data, size)) {
                    Ok(()) => {
                        *output.length = size;
                        1
                    }
                    Err(reason) => self.fail(reason),
                };
            }
            let Some(mut operation) = self.delegate() else { return self.fail(prov::OPERATION_FAIL) };
            material.delegated_tally(true).count(Direction::Encrypt, 0);
            c_int::from(operation.run(output, data) > 0)
        }
    }

    fn verify_own(&self, key: &Key, signature: &[u8], data: &[u8]) -> bool {
        let hash = self.digest.as_ref().and_then(|d| d.hash);
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

    fn verify(&self, signature: &[u8], data: &[u8]) -> c_int {
        let Some(material) = &self.key else { return self.fail(prov::MISSING_KEY) };
        if let (true, Some(key)) = (self.is_ours(), material.key()) {
            if self.verify_own(key, signature, data) {
                return 1;
            }
            return self.fail(reason::rsa::BAD_SIGNATURE);
        }
        let Some(mut operation) = self.delegate() else { return self.fail(prov::OPERATION_FAIL) };
        material.delegated_tally(false).count(Direction::Encrypt, 0);
        c_int::from(operation.verify(signature, data) == 1)
    }

    /// What a signature carries, for the digest that is set.
    fn recover_own<'a>(&self, key: &Key, signature: &[u8], block: &'a mut Block) -> Option<&'a [u8]> {
        let size = key.size();
        let hash = self.digest.as_ref().and_then(|d| d.hash);
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
        if let Some(Hash::One(method)) = self.digest.as_ref().and_then(|d| d.hash) {
            Tally::new(method.function, 0).count(Direction::Encrypt, self.hashed);
        }
        self.hashed = 0;
        Some((out, length))
    }

    fn update(&mut self, data: &[u8]) -> bool {
        if let Some(foreign) = &mut self.foreign {
            return foreign.update(data);
        }
        let Some(hasher) = &mut self.hasher else { return false };
        hasher.update(data);
        self.hashed += data.len();
        true
    }

    /// # Safety
    /// `output` is as it describes itself.
    unsafe fn digest_sign(&mut self, output: Output, data: &[u8]) -> c_int {
        let material = self.key.as_ref().map(Arc::clone);
        if let (Some(foreign), Some(material)) = (&mut self.foreign, material) {
            // SAFETY: see above.
            unsafe {
                if output.data.is_null() {
                    return c_int::from(foreign.sign_final(output) > 0);
                }
                material.delegated_tally(true).count(Direction::Encrypt, 0);
                return c_int::from(foreign.update(data) && foreign.sign_final(output) > 0);
            }
        }
        if output.data.is_null() {
            // SAFETY: as above; a null output asks for the size only.
            return if self.hasher.is_some() { unsafe { self.sign(output, &[]) } } else { 0 };
        }
        if !self.update(data) {
            return 0;
        }
        let Some((digest, length)) = self.finish() else { return 0 };
        // SAFETY: as above.
        unsafe { self.sign(output, &digest[..length]) }
    }

    fn digest_verify(&mut self, signature: &[u8], data: &[u8]) -> c_int {
        let material = self.key.as_ref().map(Arc::clone);
        if let (Some(foreign), Some(material)) = (&mut self.foreign, material) {
            material.delegated_tally(false).count(Direction::Encrypt, 0);
            return c_int::from(foreign.update(data) && foreign.verify_final(signature) == 1);
        }
        if !self.update(data) {
            return 0;
        }
        let Some((digest, length)) = self.finish() else { return 0 };
        self.verify(signature, &digest[..length])
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
            let Some(material) = ctx.key.clone() else { return ctx.fail(prov::MISSING_KEY) };
            if out.is_null() {
                *length = material.size();
                return 1;
            }
            let signature = abi::slice(signature, signature_length);
            let (true, Some(key)) = (ctx.is_ours(), material.key()) else {
                let Some(mut operation) = ctx.delegate() else { return ctx.fail(prov::OPERATION_FAIL) };
                material.delegated_tally(false).count(Direction::Encrypt, 0);
                return c_int::from(operation.run(Output { data: out, length, size }, signature) > 0);
            };
            let mut block: Block = [0; MAX_SIZE];
            let Some(signed) = ctx.recover_own(key, signature, &mut block) else {
                return ctx.fail(reason::rsa::BAD_SIGNATURE);
            };
            if size < signed.len() {
                return ctx.fail(prov::OUTPUT_BUFFER_TOO_SMALL);
            }
            abi::slice_mut(out, signed.len()).copy_from_slice(signed);
            *length = signed.len();
            1
        }
    })
}

pub(super) unsafe extern "C" fn digest_update(ctx: *mut c_void, data: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffer OpenSSL's.
        unsafe { context(ctx).map_or(0, |ctx| c_int::from(ctx.update(abi::slice(data, length)))) }
    })
}

pub(super) unsafe extern "C" fn digest_sign_final(
    ctx: *mut c_void,
    signature: *mut u8,
    length: *mut usize,
    size: usize,
) -> c_int {
    // SAFETY: as OpenSSL calls it.
    unsafe { digest_sign(ctx, signature, length, size, std::ptr::null(), 0) }
}

/// In one call, which spares OpenSSL the copy of the context it makes before a final.
pub(super) unsafe extern "C" fn digest_sign(
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
            ctx.digest_sign(Output { data: signature, length, size }, abi::slice(data, data_length))
        }
    })
}

pub(super) unsafe extern "C" fn digest_verify_final(ctx: *mut c_void, signature: *const u8, length: usize) -> c_int {
    // SAFETY: as OpenSSL calls it.
    unsafe { digest_verify(ctx, signature, length, std::ptr::null(), 0) }
}

pub(super) unsafe extern "C" fn digest_verify(
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
            ctx.digest_verify(abi::slice(signature, signature_length), abi::slice(data, data_length))
        }
    })
}
