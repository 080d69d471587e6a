//! Keys held by OpenSSL's default provider, by its own dispatch tables: they return and raise what a program without adjunct gets.

use super::{Algorithm, AlgorithmContext, ExportCallback, Library};
use crate::param::Param;
use crate::{forward, id};
use std::ffi::{CStr, c_int, c_void};

/// A key of the default provider.
#[derive(Debug)]
pub struct DefaultKey {
    library: &'static Library,
    object: AlgorithmContext,
}

impl DefaultKey {
    /// Takes over a key the default provider made; null is `None`.
    fn own(library: &'static Library, algorithm: Algorithm, raw: *mut c_void) -> Option<DefaultKey> {
        // SAFETY: the caller got `raw` from this algorithm just now.
        let object = unsafe { AlgorithmContext::own(algorithm, raw, id::KEYMGMT_FREE) }?;
        Some(DefaultKey { library, object })
    }

    /// An empty key of type `name`.
    pub fn empty(library: &'static Library, name: &CStr) -> Option<DefaultKey> {
        DefaultKey::empty_of(library, library.algorithm(id::OP_KEYMGMT, name)?)
    }

    fn empty_of(library: &'static Library, algorithm: Algorithm) -> Option<DefaultKey> {
        let null = std::ptr::null_mut();
        let context = algorithm.provider_context();
        let raw = forward!(algorithm, id::KEYMGMT_NEW, fn(*mut c_void) -> *mut c_void, null, (context));
        DefaultKey::own(library, algorithm, raw)
    }

    /// A key of type `name` from exported parameters; `selection` is of `OSSL_KEYMGMT_SELECT_*` bits.
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call.
    pub unsafe fn from_params(
        library: &'static Library,
        name: &CStr,
        selection: c_int,
        params: *const Param,
    ) -> Option<DefaultKey> {
        // SAFETY: the caller passes a parameter array that lives through the call.
        unsafe { DefaultKey::import(library, library.algorithm(id::OP_KEYMGMT, name)?, selection, params) }
    }

    /// A key from exported parameters, by `algorithm`: the library's key management of the key's type. `selection` is of
    /// `OSSL_KEYMGMT_SELECT_*` bits.
    ///
    /// # Safety
    /// As for [`DefaultKey::from_params`].
    pub unsafe fn import(
        library: &'static Library,
        algorithm: Algorithm,
        selection: c_int,
        params: *const Param,
    ) -> Option<DefaultKey> {
        let key = DefaultKey::empty_of(library, algorithm)?;
        let raw = key.raw();
        let done = forward!(
            algorithm,
            id::KEYMGMT_IMPORT,
            fn(*mut c_void, c_int, *const Param) -> c_int,
            0,
            (raw, selection, params)
        );
        (done == 1).then_some(key)
    }

    /// The object, to pass to the default provider's functions.
    pub fn raw(&self) -> *mut c_void {
        self.object.raw()
    }

    /// The object alone.
    pub fn into_object(self) -> AlgorithmContext {
        self.object
    }

    /// The library that the key belongs to.
    pub fn library(&self) -> &'static Library {
        self.library
    }

    /// Calls `callback` with the selected parameters of the key.
    ///
    /// # Safety
    /// `callback` and `argument` belong together.
    pub unsafe fn export(&self, selection: c_int, callback: ExportCallback, argument: *mut c_void) -> c_int {
        let (algorithm, raw) = (self.object.algorithm(), self.raw());
        forward!(
            algorithm,
            id::KEYMGMT_EXPORT,
            fn(*mut c_void, c_int, ExportCallback, *mut c_void) -> c_int,
            0,
            (raw, selection, callback, argument)
        )
    }

    /// Answers a parameter request (`bits`, `security-bits`, `max-size`, `group`, ...).
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call.
    pub unsafe fn get_params(&self, params: *mut Param) -> c_int {
        let (algorithm, raw) = (self.object.algorithm(), self.raw());
        forward!(algorithm, id::KEYMGMT_GET_PARAMS, fn(*mut c_void, *mut Param) -> c_int, 0, (raw, params))
    }

    /// Whether the key has the selected parts.
    pub fn has(&self, selection: c_int) -> c_int {
        let (algorithm, raw) = (self.object.algorithm(), self.raw());
        forward!(algorithm, id::KEYMGMT_HAS, fn(*const c_void, c_int) -> c_int, 0, (raw, selection))
    }

    /// Whether the selected parts are the same.
    pub fn same(&self, other: &DefaultKey, selection: c_int) -> c_int {
        let (algorithm, one, two) = (self.object.algorithm(), self.raw(), other.raw());
        forward!(
            algorithm,
            id::KEYMGMT_MATCH,
            fn(*const c_void, *const c_void, c_int) -> c_int,
            0,
            (one, two, selection)
        )
    }

    /// A copy of the selected parts that shares nothing with this one.
    pub fn duplicate(&self, selection: c_int) -> Option<DefaultKey> {
        let (algorithm, raw) = (self.object.algorithm(), self.raw());
        let null = std::ptr::null_mut();
        let copy =
            forward!(algorithm, id::KEYMGMT_DUP, fn(*const c_void, c_int) -> *mut c_void, null, (raw, selection));
        DefaultKey::own(self.library, algorithm, copy)
    }

    /// Checks the selected parts; `kind` is `OSSL_KEYMGMT_VALIDATE_*`.
    pub fn validate(&self, selection: c_int, kind: c_int) -> c_int {
        let (algorithm, raw) = (self.object.algorithm(), self.raw());
        forward!(algorithm, id::KEYMGMT_VALIDATE, fn(*const c_void, c_int, c_int) -> c_int, 0, (raw, selection, kind))
    }
}

/// A key being made by the default provider.
#[derive(Debug)]
pub struct Generation {
    library: &'static Library,
    context: AlgorithmContext,
}

impl Generation {
    /// Sets up for the `selection` of a key of type `name`.
    ///
    /// # Safety
    /// `params` is a parameter array that lives through the call; null is an empty one.
    pub unsafe fn new(
        library: &'static Library,
        name: &CStr,
        selection: c_int,
        params: *const Param,
    ) -> Option<Generation> {
        let algorithm = library.algorithm(id::OP_KEYMGMT, name)?;
        let context = algorithm.provider_context();
        let raw = forward!(
            algorithm,
            id::KEYMGMT_GEN_INIT,
            fn(*mut c_void, c_int, *const Param) -> *mut c_void,
            std::ptr::null_mut(),
            (context, selection, params)
        );
        // SAFETY: made by the algorithm just now.
        let context = unsafe { AlgorithmContext::own(algorithm, raw, id::KEYMGMT_GEN_CLEANUP) }?;
        Some(Generation { library, context })
    }

    /// Sets parameters; the result is OpenSSL's.
    ///
    /// # Safety
    /// As for [`Generation::new`].
    pub unsafe fn set_params(&mut self, params: *const Param) -> c_int {
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        forward!(algorithm, id::KEYMGMT_GEN_SET_PARAMS, fn(*mut c_void, *const Param) -> c_int, 0, (raw, params))
    }

    /// Takes the parameters of a key of the same type over; the result is OpenSSL's.
    ///
    /// # Safety
    /// `template` is a key of this library's default provider.
    pub unsafe fn set_template(&mut self, template: *mut c_void) -> c_int {
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        forward!(algorithm, id::KEYMGMT_GEN_SET_TEMPLATE, fn(*mut c_void, *mut c_void) -> c_int, 0, (raw, template))
    }

    /// Makes the key, and reports to `callback`.
    ///
    /// # Safety
    /// `callback` and `argument` belong together.
    pub unsafe fn run(&mut self, callback: Option<ExportCallback>, argument: *mut c_void) -> Option<DefaultKey> {
        // Some of its algorithms call without a look.
        unsafe extern "C" fn go_on(_params: *const Param, _argument: *mut c_void) -> c_int {
            1
        }
        let callback = callback.unwrap_or(go_on);
        let (algorithm, raw) = (self.context.algorithm(), self.context.raw());
        let raw = forward!(
            algorithm,
            id::KEYMGMT_GEN,
            fn(*mut c_void, ExportCallback, *mut c_void) -> *mut c_void,
            std::ptr::null_mut(),
            (raw, callback, argument)
        );
        DefaultKey::own(self.library, algorithm, raw)
    }
}
