//! Public-key operations in OpenSSL's default provider, by its own dispatch tables.

use super::{AlgorithmContext, DefaultKey, Output, name_or_null};
use crate::param::Param;
use crate::{forward, id};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Deref;

/// The kind of an [`Operation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// `EVP_PKEY_sign`.
    Sign,
    /// `EVP_PKEY_verify`.
    Verify,
    /// `EVP_PKEY_verify_recover`.
    VerifyRecover,
    /// `EVP_DigestSign`.
    DigestSign,
    /// `EVP_DigestVerify`.
    DigestVerify,
    /// `EVP_PKEY_encrypt`.
    Encrypt,
    /// `EVP_PKEY_decrypt`.
    Decrypt,
}

impl OperationKind {
    const fn is_cipher(self) -> bool {
        matches!(self, OperationKind::Encrypt | OperationKind::Decrypt)
    }

    /// Whether the data passes through a digest.
    pub const fn is_digest(self) -> bool {
        matches!(self, OperationKind::DigestSign | OperationKind::DigestVerify)
    }

    /// Whether a signature is checked.
    pub const fn verifies(self) -> bool {
        matches!(self, OperationKind::Verify | OperationKind::DigestVerify)
    }

    const fn init(self) -> c_int {
        match self {
            OperationKind::Sign => id::SIGNATURE_SIGN_INIT,
            OperationKind::Verify => id::SIGNATURE_VERIFY_INIT,
            OperationKind::VerifyRecover => id::SIGNATURE_VERIFY_RECOVER_INIT,
            OperationKind::DigestSign => id::SIGNATURE_DIGEST_SIGN_INIT,
            OperationKind::DigestVerify => id::SIGNATURE_DIGEST_VERIFY_INIT,
            OperationKind::Encrypt => id::ASYM_CIPHER_ENCRYPT_INIT,
            OperationKind::Decrypt => id::ASYM_CIPHER_DECRYPT_INIT,
        }
    }
}

/// A context of the default provider, set up for one kind of operation. `K` holds the key, alone or with others.
#[derive(Debug)]
pub struct Operation<K> {
    context: AlgorithmContext,
    kind: OperationKind,
    // Not every provider takes a reference of its own.
    key: K,
}

impl<K: Deref<Target = DefaultKey>> Operation<K> {
    /// Sets the operation up with `key` of type `name`, `params` and, for those that have one, a `digest`.
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call; null is an empty one.
    pub unsafe fn new(
        key: K,
        name: &CStr,
        kind: OperationKind,
        digest: Option<&CStr>,
        params: *const Param,
    ) -> Option<Operation<K>> {
        // SAFETY: the caller passes null or a parameter array that lives through the call.
        let (operation, done) = unsafe { Operation::begin(key, name, kind, digest, params) }?;
        (done == 1).then_some(operation)
    }

    /// Sets the operation up as [`Operation::new`] does, and gives OpenSSL's result of that too: a context may be used on where it has failed.
    ///
    /// # Safety
    /// As for [`Operation::new`].
    pub unsafe fn begin(
        key: K,
        name: &CStr,
        kind: OperationKind,
        digest: Option<&CStr>,
        params: *const Param,
    ) -> Option<(Operation<K>, c_int)> {
        let operation = if kind.is_cipher() { id::OP_ASYM_CIPHER } else { id::OP_SIGNATURE };
        let algorithm = key.library().algorithm(operation, name)?;
        let (provider, null) = (algorithm.provider_context(), std::ptr::null_mut());
        let (raw, free) = if kind.is_cipher() {
            let new = forward!(algorithm, id::ASYM_CIPHER_NEWCTX, fn(*mut c_void) -> *mut c_void, null, (provider));
            (new, id::ASYM_CIPHER_FREECTX)
        } else {
            // Not the caller's property query: it may ask for us, and only the default provider is there.
            let none = std::ptr::null();
            let new = forward!(
                algorithm,
                id::SIGNATURE_NEWCTX,
                fn(*mut c_void, *const c_char) -> *mut c_void,
                null,
                (provider, none)
            );
            (new, id::SIGNATURE_FREECTX)
        };
        // SAFETY: made by the algorithm just now.
        let context = unsafe { AlgorithmContext::own(algorithm, raw, free) }?;
        let (raw, object) = (context.raw(), key.raw());
        let done = if kind.is_digest() {
            let digest = name_or_null(digest);
            forward!(
                algorithm,
                kind.init(),
                fn(*mut c_void, *const c_char, *mut c_void, *const Param) -> c_int,
                0,
                (raw, digest, object, params)
            )
        } else {
            forward!(
                algorithm,
                kind.init(),
                fn(*mut c_void, *mut c_void, *const Param) -> c_int,
                0,
                (raw, object, params)
            )
        };
        Some((Operation { context, kind, key }, done))
    }

    /// A copy with the same key, parameters and data.
    pub fn duplicate(&self) -> Option<Operation<K>>
    where
        K: Clone,
    {
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        let (dup, free) = if self.kind.is_cipher() {
            (id::ASYM_CIPHER_DUPCTX, id::ASYM_CIPHER_FREECTX)
        } else {
            (id::SIGNATURE_DUPCTX, id::SIGNATURE_FREECTX)
        };
        let copy = forward!(algorithm, dup, fn(*mut c_void) -> *mut c_void, std::ptr::null_mut(), (raw));
        // SAFETY: made by the algorithm just now.
        let context = unsafe { AlgorithmContext::own(algorithm, copy, free) }?;
        Some(Operation { context, kind: self.kind, key: self.key.clone() })
    }

    fn with_params(&self, (signature, cipher): (c_int, c_int), params: *mut Param) -> c_int {
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        let function = if self.kind.is_cipher() { cipher } else { signature };
        forward!(algorithm, function, fn(*mut c_void, *mut Param) -> c_int, 0, (raw, params))
    }

    /// Sets parameters; the result is OpenSSL's.
    ///
    /// # Safety
    /// As for [`Operation::new`].
    pub unsafe fn set_params(&mut self, params: *const Param) -> c_int {
        // libcrypto only reads the array.
        self.with_params((id::SIGNATURE_SET_CTX_PARAMS, id::ASYM_CIPHER_SET_CTX_PARAMS), params.cast_mut())
    }

    /// Answers a parameter request; the result is OpenSSL's.
    ///
    /// # Safety
    /// As for [`Operation::new`].
    pub unsafe fn get_params(&self, params: *mut Param) -> c_int {
        self.with_params((id::SIGNATURE_GET_CTX_PARAMS, id::ASYM_CIPHER_GET_CTX_PARAMS), params)
    }

    /// Signs, recovers, encrypts or decrypts `input`, which is a digest where the operation has one; the result is OpenSSL's.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    pub unsafe fn run(&mut self, output: Output, input: &[u8]) -> c_int {
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        let function = match self.kind {
            OperationKind::Sign | OperationKind::DigestSign => id::SIGNATURE_SIGN,
            OperationKind::VerifyRecover => id::SIGNATURE_VERIFY_RECOVER,
            OperationKind::Encrypt => id::ASYM_CIPHER_ENCRYPT,
            OperationKind::Decrypt => id::ASYM_CIPHER_DECRYPT,
            OperationKind::Verify | OperationKind::DigestVerify => return 0,
        };
        let (data, length) = (input.as_ptr(), input.len());
        forward!(
            algorithm,
            function,
            fn(*mut c_void, *mut u8, *mut usize, usize, *const u8, usize) -> c_int,
            0,
            (raw, output.data, output.length, output.size, data, length)
        )
    }

    /// Checks a signature of `signed`, which is a digest where the operation has one; the result is OpenSSL's.
    pub fn verify(&mut self, signature: &[u8], signed: &[u8]) -> c_int {
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        let (data, length, input, input_length) = (signature.as_ptr(), signature.len(), signed.as_ptr(), signed.len());
        forward!(
            algorithm,
            id::SIGNATURE_VERIFY,
            fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int,
            0,
            (raw, data, length, input, input_length)
        )
    }

    /// Passes `data` through the digest.
    pub fn update(&mut self, data: &[u8]) -> c_int {
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        let function = match self.kind {
            OperationKind::DigestVerify => id::SIGNATURE_DIGEST_VERIFY_UPDATE,
            _ => id::SIGNATURE_DIGEST_SIGN_UPDATE,
        };
        let (data, length) = (data.as_ptr(), data.len());
        forward!(algorithm, function, fn(*mut c_void, *const u8, usize) -> c_int, 0, (raw, data, length))
    }

    /// Signs what has passed; the result is OpenSSL's.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    pub unsafe fn sign_final(&mut self, output: Output) -> c_int {
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        forward!(
            algorithm,
            id::SIGNATURE_DIGEST_SIGN_FINAL,
            fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
            0,
            (raw, output.data, output.length, output.size)
        )
    }

    /// Checks a signature of the data that has passed; the result is OpenSSL's.
    pub fn verify_final(&mut self, signature: &[u8]) -> c_int {
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        let (data, length) = (signature.as_ptr(), signature.len());
        forward!(
            algorithm,
            id::SIGNATURE_DIGEST_VERIFY_FINAL,
            fn(*mut c_void, *const u8, usize) -> c_int,
            0,
            (raw, data, length)
        )
    }
}
