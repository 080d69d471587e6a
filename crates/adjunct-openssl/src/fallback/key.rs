//! Keys held by OpenSSL's default provider.

use super::{ExportCallback, Library, Opaque};
use crate::abi::param::Param;
use std::ffi::{CStr, c_int, c_void};

/// An `EVP_PKEY` of the default provider. A clone refers to the same key.
#[derive(Debug)]
pub struct Key {
    pub(super) library: &'static Library,
    pub(super) raw: Opaque,
}

// SAFETY: an EVP_PKEY is reference-counted and locked by libcrypto.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

impl Clone for Key {
    fn clone(&self) -> Key {
        // SAFETY: the key lives as long as self.
        unsafe { (self.library.functions.pkey_up_ref)(self.raw) };
        Key { library: self.library, raw: self.raw }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the one reference self stands for.
        unsafe { (self.library.functions.pkey_free)(self.raw) }
    }
}

/// What to check of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Everything: parameters, both halves, and that they fit.
    All,
    /// The public half.
    Public,
    /// The public half, without the costly part.
    PublicQuick,
    /// The private half.
    Private,
    /// That the halves fit.
    Pairwise,
    /// The domain parameters.
    Parameters,
    /// The domain parameters, without the costly part.
    ParametersQuick,
}

/// An `EVP_PKEY_CTX` that is freed on every way out.
pub(super) struct Scratch {
    pub(super) library: &'static Library,
    pub(super) raw: Opaque,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: made by libcrypto, freed once; null is fine.
        unsafe { (self.library.functions.ctx_free)(self.raw) }
    }
}

impl Scratch {
    fn named(library: &'static Library, name: &CStr) -> Option<Scratch> {
        // SAFETY: libcrypto's function, called as documented.
        let raw = unsafe { (library.functions.ctx_from_name)(library.context, name.as_ptr(), std::ptr::null()) };
        (!raw.is_null()).then_some(Scratch { library, raw })
    }

    pub(super) fn of(key: &Key) -> Option<Scratch> {
        let library = key.library;
        // SAFETY: as above; the key lives through the call, and the context takes its own reference.
        let raw = unsafe { (library.functions.ctx_from_pkey)(library.context, key.raw, std::ptr::null()) };
        (!raw.is_null()).then_some(Scratch { library, raw })
    }
}

impl Key {
    /// A key of type `name` from exported parameters; `selection` is of `OSSL_KEYMGMT_SELECT_*` bits.
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call; null is an empty one.
    pub unsafe fn from_params(
        library: &'static Library,
        name: &CStr,
        selection: c_int,
        params: *const Param,
    ) -> Option<Key> {
        let f = &library.functions;
        let scratch = Scratch::named(library, name)?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: libcrypto only reads the array, whatever its declaration says.
        let done = unsafe {
            (f.fromdata_init)(scratch.raw) == 1
                && (f.fromdata)(scratch.raw, &raw mut raw, selection, params.cast_mut()) == 1
        };
        (done && !raw.is_null()).then_some(Key { library, raw })
    }

    /// Generates a key of type `name` (or one with the parameters of `template`), or with `parameters_only` just domain
    /// parameters, after setting `params`.
    ///
    /// # Safety
    /// As for [`Key::from_params`].
    pub unsafe fn generate(
        library: &'static Library,
        name: &CStr,
        template: Option<&Key>,
        parameters_only: bool,
        params: *const Param,
    ) -> Option<Key> {
        let f = &library.functions;
        let scratch = match template {
            Some(key) => Scratch::of(key)?,
            None => Scratch::named(library, name)?,
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: libcrypto's functions, called as documented.
        let done = unsafe {
            let init = if parameters_only { f.paramgen_init } else { f.keygen_init };
            init(scratch.raw) == 1
                && (params.is_null() || (f.ctx_set_params)(scratch.raw, params) == 1)
                && (f.generate)(scratch.raw, &raw mut raw) == 1
        };
        (done && !raw.is_null()).then_some(Key { library, raw })
    }

    /// Calls `callback` with the selected parameters of the key, as `OSSL_FUNC_keymgmt_export` does.
    ///
    /// # Safety
    /// `callback` and `argument` belong together.
    pub unsafe fn export(&self, selection: c_int, callback: ExportCallback, argument: *mut c_void) -> bool {
        // SAFETY: see above.
        unsafe { (self.library.functions.pkey_export)(self.raw, selection, callback, argument) == 1 }
    }

    /// Answers a parameter request (`bits`, `security-bits`, `max-size`, `group`, ...).
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call.
    pub unsafe fn get_params(&self, params: *mut Param) -> bool {
        // SAFETY: see above.
        unsafe { (self.library.functions.pkey_get_params)(self.raw, params) == 1 }
    }

    /// Sets parameters of the key itself.
    ///
    /// # Safety
    /// As for [`Key::get_params`].
    pub unsafe fn set_params(&self, params: *const Param) -> bool {
        // SAFETY: see above; libcrypto only reads the array.
        unsafe { (self.library.functions.pkey_set_params)(self.raw, params.cast_mut()) == 1 }
    }

    /// What [`Key::get_params`] answers.
    pub fn gettable(&self) -> *const Param {
        // SAFETY: libcrypto's function, called as documented.
        unsafe { (self.library.functions.pkey_gettable)(self.raw) }
    }

    /// Whether the public halves and parameters are the same.
    pub fn same_public(&self, other: &Key) -> bool {
        // SAFETY: as above.
        unsafe { (self.library.functions.pkey_eq)(self.raw, other.raw) == 1 }
    }

    /// Whether the domain parameters are the same.
    pub fn same_parameters(&self, other: &Key) -> bool {
        // SAFETY: as above.
        unsafe { (self.library.functions.pkey_parameters_eq)(self.raw, other.raw) == 1 }
    }

    /// A copy that shares nothing with this one.
    pub fn duplicate(&self) -> Option<Key> {
        // SAFETY: as above.
        let raw = unsafe { (self.library.functions.pkey_dup)(self.raw) };
        (!raw.is_null()).then_some(Key { library: self.library, raw })
    }

    /// Checks the key.
    pub fn check(&self, what: Check) -> bool {
        let f = &self.library.functions;
        let check = match what {
            Check::All => f.check,
            Check::Public => f.public_check,
            Check::PublicQuick => f.public_check_quick,
            Check::Private => f.private_check,
            Check::Pairwise => f.pairwise_check,
            Check::Parameters => f.param_check,
            Check::ParametersQuick => f.param_check_quick,
        };
        // SAFETY: as above.
        Scratch::of(self).is_some_and(|scratch| unsafe { check(scratch.raw) == 1 })
    }
}
