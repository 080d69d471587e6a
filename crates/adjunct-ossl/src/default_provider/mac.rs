//! MACs in OpenSSL's default provider.

use super::{Library, Output};
use crate::Opaque;
use crate::param::Param;
use std::ffi::{CStr, c_int};

/// An `EVP_MAC_CTX` of the default provider.
#[derive(Debug)]
pub struct Mac {
    library: &'static Library,
    raw: Opaque,
}

// SAFETY: a context may move between threads; it is used by one at a time.
unsafe impl Send for Mac {}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: made by libcrypto, freed once.
        unsafe { (self.library.functions.mac_ctx_free)(self.raw) }
    }
}

impl Mac {
    /// A context of the MAC called `name`.
    pub fn new(library: &'static Library, name: &CStr) -> Option<Mac> {
        let f = &library.functions;
        // SAFETY: libcrypto's functions, called as documented; the context takes its own reference to the method.
        let raw = unsafe {
            let method = (f.mac_fetch)(library.context, name.as_ptr(), std::ptr::null());
            if method.is_null() {
                return None;
            }
            let raw = (f.mac_ctx_new)(method);
            (f.mac_free)(method);
            raw
        };
        (!raw.is_null()).then_some(Mac { library, raw })
    }

    /// A copy with the same state.
    pub fn duplicate(&self) -> Option<Mac> {
        // SAFETY: the context is libcrypto's and lives until this value is dropped; a copy only reads it.
        let raw = unsafe { (self.library.functions.mac_ctx_dup)(self.raw) };
        (!raw.is_null()).then_some(Mac { library: self.library, raw })
    }

    /// Starts a MAC; without a `key` the last one is used again.
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call; null is an empty one.
    pub unsafe fn init(&mut self, key: Option<&[u8]>, params: *const Param) -> bool {
        let (data, length) = key.map_or((std::ptr::null(), 0), |k| (k.as_ptr(), k.len()));
        // SAFETY: the caller passes null or a parameter array that lives through the call; the pointer of an empty slice is not null, so an
        // empty key is a key.
        unsafe { (self.library.functions.mac_init)(self.raw, data, length, params) == 1 }
    }

    /// Passes `data` through.
    pub fn update(&mut self, data: &[u8]) -> bool {
        // SAFETY: the pointer and length describe the slice.
        unsafe { (self.library.functions.mac_update)(self.raw, data.as_ptr(), data.len()) == 1 }
    }

    /// Passes the content of a TLS record through, after `tls-data-size` was set: behind `length` bytes, MAC and padding
    /// follow, so that even empty content needs its true address.
    ///
    /// # Safety
    /// `data` is valid for `length` bytes, and for those that `tls-data-size` announced.
    pub unsafe fn update_record(&mut self, data: *const u8, length: usize) -> bool {
        // SAFETY: the caller answers for `data` being valid for `length` bytes, and for those that `tls-data-size` announced.
        unsafe { (self.library.functions.mac_update)(self.raw, data, length) == 1 }
    }

    /// Ends the MAC; a null buffer asks for its length.
    ///
    /// # Safety
    /// `output` is as it describes itself.
    pub unsafe fn finish(&mut self, output: Output) -> c_int {
        // SAFETY: the caller answers for `output` being as it describes itself.
        unsafe { (self.library.functions.mac_final)(self.raw, output.data, output.length, output.size) }
    }

    /// Sets parameters.
    ///
    /// # Safety
    /// As for [`Mac::init`].
    pub unsafe fn set_params(&mut self, params: *const Param) -> bool {
        // SAFETY: the array is not null, and by the caller's word ends and lives through the call.
        params.is_null() || unsafe { (self.library.functions.mac_set_params)(self.raw, params) == 1 }
    }

    /// Answers a parameter request.
    ///
    /// # Safety
    /// As for [`Mac::init`].
    pub unsafe fn get_params(&self, params: *mut Param) -> bool {
        // SAFETY: the array is not null, and by the caller's word ends and lives through the call.
        params.is_null() || unsafe { (self.library.functions.mac_get_params)(self.raw, params) == 1 }
    }
}
