//! Public-key operations in OpenSSL's default provider.

use super::key::Scratch;
use super::{Key, Library, Opaque, Output, name_or_null};
use crate::abi::param::Param;
use std::ffi::{CStr, c_int};

/// What an [`Operation`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `EVP_PKEY_sign`.
    Sign,
    /// `EVP_PKEY_verify`.
    Verify,
    /// `EVP_PKEY_verify_recover`.
    VerifyRecover,
    /// `EVP_PKEY_encrypt`.
    Encrypt,
    /// `EVP_PKEY_decrypt`.
    Decrypt,
    /// `EVP_PKEY_derive`.
    Derive,
}

/// An `EVP_PKEY_CTX` set up for one kind of operation; may be used again and again.
#[derive(Debug)]
pub struct Operation {
    library: &'static Library,
    raw: Opaque,
    kind: Kind,
}

// SAFETY: a context may move between threads; it is used by one at a time.
unsafe impl Send for Operation {}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: made by libcrypto, freed once.
        unsafe { (self.library.functions.ctx_free)(self.raw) }
    }
}

impl Operation {
    /// Sets the operation up with `key` and `params`.
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call; null is an empty one.
    pub unsafe fn new(key: &Key, kind: Kind, params: *const Param) -> Option<Operation> {
        let scratch = Scratch::of(key)?;
        let f = &key.library.functions;
        let init = match kind {
            Kind::Sign => f.sign_init,
            Kind::Verify => f.verify_init,
            Kind::VerifyRecover => f.recover_init,
            Kind::Encrypt => f.encrypt_init,
            Kind::Decrypt => f.decrypt_init,
            Kind::Derive => f.derive_init,
        };
        // SAFETY: libcrypto's function, called as documented.
        if unsafe { init(scratch.raw, params) } != 1 {
            return None;
        }
        let scratch = std::mem::ManuallyDrop::new(scratch);
        Some(Operation { library: key.library, raw: scratch.raw, kind })
    }

    /// A copy with the same key and parameters.
    pub fn duplicate(&self) -> Option<Operation> {
        // SAFETY: as above.
        let raw = unsafe { (self.library.functions.ctx_dup)(self.raw) };
        (!raw.is_null()).then_some(Operation { library: self.library, raw, kind: self.kind })
    }

    /// Sets parameters of the operation.
    ///
    /// # Safety
    /// As for [`Operation::new`].
    pub unsafe fn set_params(&mut self, params: *const Param) -> bool {
        // SAFETY: see above.
        params.is_null() || unsafe { (self.library.functions.ctx_set_params)(self.raw, params) == 1 }
    }

    /// Answers a parameter request.
    ///
    /// # Safety
    /// As for [`Operation::new`].
    pub unsafe fn get_params(&self, params: *mut Param) -> bool {
        // SAFETY: see above.
        params.is_null() || unsafe { (self.library.functions.ctx_get_params)(self.raw, params) == 1 }
    }

    /// What [`Operation::set_params`] takes.
    pub fn settable(&self) -> *const Param {
        // SAFETY: libcrypto's function, called as documented.
        unsafe { (self.library.functions.ctx_settable)(self.raw) }
    }

    /// What [`Operation::get_params`] answers.
    pub fn gettable(&self) -> *const Param {
        // SAFETY: as above.
        unsafe { (self.library.functions.ctx_gettable)(self.raw) }
    }

    /// The other side's public key, for [`Kind::Derive`].
    pub fn set_peer(&mut self, peer: &Key, validate: bool) -> bool {
        // SAFETY: as above; the context takes its own reference.
        unsafe { (self.library.functions.derive_set_peer)(self.raw, peer.raw, c_int::from(validate)) == 1 }
    }

    /// Runs a [`Kind::Sign`], [`Kind::VerifyRecover`], [`Kind::Encrypt`], [`Kind::Decrypt`] or [`Kind::Derive`] (which
    /// takes no `input`) operation; the result is OpenSSL's.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    pub unsafe fn run(&mut self, output: Output, input: &[u8]) -> c_int {
        let f = &self.library.functions;
        let run = match self.kind {
            Kind::Sign => f.sign,
            Kind::VerifyRecover => f.recover,
            Kind::Encrypt => f.encrypt,
            Kind::Decrypt => f.decrypt,
            // SAFETY: see above.
            Kind::Derive => return unsafe { output.fill(|data, length| (f.derive)(self.raw, data, length)) },
            Kind::Verify => return 0,
        };
        // SAFETY: see above.
        unsafe { output.fill(|data, length| run(self.raw, data, length, input.as_ptr(), input.len())) }
    }

    /// Runs a [`Kind::Verify`] operation: 1 where the signature fits.
    pub fn verify(&mut self, signature: &[u8], signed: &[u8]) -> c_int {
        if self.kind != Kind::Verify {
            return 0;
        }
        let (sig, tbs) = (signature, signed);
        // SAFETY: the pointers and lengths describe the slices.
        unsafe { (self.library.functions.verify)(self.raw, sig.as_ptr(), sig.len(), tbs.as_ptr(), tbs.len()) }
    }
}

/// An `EVP_MD_CTX` set up to sign or verify what passes through a digest.
#[derive(Debug)]
pub struct DigestOperation {
    library: &'static Library,
    raw: Opaque,
    // Owned by `raw`.
    operation: Opaque,
    verify: bool,
}

// SAFETY: a context may move between threads; it is used by one at a time.
unsafe impl Send for DigestOperation {}

impl Drop for DigestOperation {
    fn drop(&mut self) {
        // SAFETY: made by libcrypto, freed once.
        unsafe { (self.library.functions.md_ctx_free)(self.raw) }
    }
}

impl DigestOperation {
    /// Sets the operation up; without a `digest` the key type's default is used.
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call; null is an empty one.
    pub unsafe fn new(key: &Key, verify: bool, digest: Option<&CStr>, params: *const Param) -> Option<DigestOperation> {
        let library = key.library;
        let f = &library.functions;
        // SAFETY: libcrypto's functions, called as documented.
        let raw = unsafe { (f.md_ctx_new)() };
        if raw.is_null() {
            return None;
        }
        let mut this = DigestOperation { library, raw, operation: std::ptr::null_mut(), verify };
        let init = if verify { f.digest_verify_init } else { f.digest_sign_init };
        let null = std::ptr::null();
        // SAFETY: as above; the context takes its own reference to the key.
        let done =
            unsafe { init(raw, &raw mut this.operation, name_or_null(digest), library.context, null, key.raw, params) };
        (done == 1).then_some(this)
    }

    /// A copy with the same state, key and parameters.
    pub fn duplicate(&self) -> Option<DigestOperation> {
        let f = &self.library.functions;
        // SAFETY: libcrypto's functions, called as documented. The copy goes into a fresh context: onto one that signs
        // already, libcrypto 3.5 crashes.
        unsafe {
            let raw = (f.md_ctx_new)();
            if raw.is_null() {
                return None;
            }
            let operation = std::ptr::null_mut();
            let mut copy = DigestOperation { library: self.library, raw, operation, verify: self.verify };
            if (f.md_ctx_copy)(raw, self.raw) != 1 {
                return None;
            }
            copy.operation = (f.md_ctx_pkey_ctx)(raw);
            Some(copy)
        }
    }

    /// Sets parameters of the operation (padding, salt length, ...).
    ///
    /// # Safety
    /// As for [`DigestOperation::new`].
    pub unsafe fn set_params(&mut self, params: *const Param) -> bool {
        // SAFETY: see above.
        params.is_null() || unsafe { (self.library.functions.ctx_set_params)(self.operation, params) == 1 }
    }

    /// Answers a parameter request (`algorithm-id`, ...).
    ///
    /// # Safety
    /// As for [`DigestOperation::new`].
    pub unsafe fn get_params(&self, params: *mut Param) -> bool {
        // SAFETY: see above.
        params.is_null() || unsafe { (self.library.functions.ctx_get_params)(self.operation, params) == 1 }
    }

    /// Passes `data` through the digest.
    pub fn update(&mut self, data: &[u8]) -> bool {
        let f = &self.library.functions;
        let update = if self.verify { f.digest_verify_update } else { f.digest_sign_update };
        // SAFETY: the pointer and length describe the slice.
        unsafe { update(self.raw, data.as_ptr(), data.len()) == 1 }
    }

    /// Ends signing; the result is OpenSSL's.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    pub unsafe fn sign_final(&mut self, output: Output) -> c_int {
        // SAFETY: see above.
        unsafe { output.fill(|data, length| (self.library.functions.digest_sign_final)(self.raw, data, length)) }
    }

    /// Signs `signed` in one call; the result is OpenSSL's.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    pub unsafe fn sign(&mut self, output: Output, signed: &[u8]) -> c_int {
        let sign = self.library.functions.digest_sign;
        // SAFETY: see above.
        unsafe { output.fill(|data, length| sign(self.raw, data, length, signed.as_ptr(), signed.len())) }
    }

    /// Ends verifying: 1 where the signature fits.
    pub fn verify_final(&mut self, signature: &[u8]) -> c_int {
        // SAFETY: the pointer and length describe the slice.
        unsafe { (self.library.functions.digest_verify_final)(self.raw, signature.as_ptr(), signature.len()) }
    }

    /// Verifies in one call: 1 where the signature fits.
    pub fn verify(&mut self, signature: &[u8], signed: &[u8]) -> c_int {
        let (sig, tbs) = (signature, signed);
        // SAFETY: the pointers and lengths describe the slices.
        unsafe { (self.library.functions.digest_verify)(self.raw, sig.as_ptr(), sig.len(), tbs.as_ptr(), tbs.len()) }
    }
}
