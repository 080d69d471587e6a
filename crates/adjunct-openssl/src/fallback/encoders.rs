//! The default provider's encoders, which write keys: what there are, and how to call one as the program itself would.

use super::{Algorithm, Library, Opaque};
use crate::abi::core::Core;
use crate::abi::{self, Dispatch, OsslAlgorithm, id};
use std::ffi::{CStr, c_int, c_void};

/// What `OSSL_PROVIDER_do_all` calls with each active provider.
pub type Visitor = unsafe extern "C" fn(provider: Opaque, argument: *mut c_void) -> c_int;

/// An encoder of the default provider.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// `provider=default,output=pem,structure=PrivateKeyInfo`.
    pub properties: &'static CStr,
    functions: *const Dispatch,
}

/// What [`visit`] looks for, and finds.
struct Search<'a> {
    library: &'a Library,
    wanted: *const Dispatch,
    found: Option<Opaque>,
}

impl Library {
    /// Calls `each` with the default provider's encoders for keys called `name`, in its own order.
    pub fn encoders(&self, name: &CStr, mut each: impl FnMut(Template)) {
        let mut no_cache = 0;
        // SAFETY: libcrypto's functions, called as documented; the list is a static of libcrypto that ends with no name.
        unsafe {
            let mut entry = (self.functions.provider_query)(self.provider, id::OP_ENCODER, &raw mut no_cache);
            while !entry.is_null() && !OsslAlgorithm::is_end(&*entry) {
                if let Some(functions) = abi::Algorithm::named(&*entry, name) {
                    each(Template { properties: (*entry).properties(), functions });
                }
                entry = entry.add(1);
            }
        }
    }

    /// The encoder as one of a provider of the program's own library context (its default or its base provider): ciphers are
    /// fetched there, under the program's properties. `None` where the program has neither.
    pub fn encoder_of_program(&self, core: &Core, template: &Template) -> Option<Algorithm> {
        let mut search = Search { library: self, wanted: template.functions, found: None };
        // SAFETY: the visitor takes a search, which outlives the call.
        unsafe { (self.functions.provider_do_all)(core.library_context(), visit, (&raw mut search).cast()) };
        Some(Algorithm::of(search.found?, template.functions))
    }

    /// The encoder as one of the context of our own, for what it says of itself.
    pub fn encoder(&self, template: &Template) -> Algorithm {
        // SAFETY: libcrypto's function, called as documented.
        Algorithm::of(unsafe { (self.functions.provider_context)(self.provider) }, template.functions)
    }
}

/// Stops at a provider that has the very functions wanted, so that it is one of this libcrypto.
unsafe extern "C" fn visit(provider: Opaque, argument: *mut c_void) -> c_int {
    abi::guard(1, || {
        // SAFETY: the caller's search; no one else has it.
        let search = unsafe { &mut *argument.cast::<Search<'_>>() };
        let f = &search.library.functions;
        let mut no_cache = 0;
        // SAFETY: libcrypto's functions, called as documented; the list ends with no name.
        unsafe {
            let name = (f.provider_name)(provider);
            if name.is_null() || !matches!(CStr::from_ptr(name).to_bytes(), b"default" | b"base") {
                return 1;
            }
            let mut entry = (f.provider_query)(provider, id::OP_ENCODER, &raw mut no_cache);
            while !entry.is_null() && !OsslAlgorithm::is_end(&*entry) {
                if std::ptr::eq((*entry).implementation(), search.wanted) {
                    search.found = Some((f.provider_context)(provider));
                    return 0;
                }
                entry = entry.add(1);
            }
        }
        1
    })
}
