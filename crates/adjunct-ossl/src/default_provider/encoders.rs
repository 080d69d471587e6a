//! The default provider's encoders, which write keys: how to find them, and how to call one as the program itself would.

use super::{Algorithm, Library};
use crate::core::Core;
use crate::dispatch::Dispatch;
use crate::{Opaque, guard, id};
use std::ffi::{CStr, c_int, c_void};

/// The callback that `OSSL_PROVIDER_do_all` calls with each active provider.
pub type Visitor = unsafe extern "C" fn(provider: Opaque, argument: *mut c_void) -> c_int;

/// An encoder of the default provider.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// `provider=default,output=pem,structure=PrivateKeyInfo`.
    pub properties: &'static CStr,
    functions: *const Dispatch,
}

/// The search of [`visit`], with its result.
struct Search<'a> {
    library: &'a Library,
    wanted: *const Dispatch,
    found: Option<Opaque>,
}

impl Library {
    /// The default provider's encoders for keys called `name`, in its own order.
    pub fn encoders(&self, name: &CStr) -> impl Iterator<Item = Template> {
        let named = self.algorithms(id::OP_ENCODER).filter(move |entry| entry.is_named(name));
        named.map(|entry| Template { properties: entry.properties(), functions: entry.implementation() })
    }

    /// The encoder of a provider in the program's own library context (its default or its base provider): ciphers are fetched there, under the
    /// program's properties. `None` where the program has neither.
    pub fn encoder_of_program(&self, core: &Core, template: &Template) -> Option<Algorithm> {
        let mut search = Search { library: self, wanted: template.functions, found: None };
        // SAFETY: the visitor takes a search, which outlives the call.
        unsafe { (self.functions.provider_do_all)(core.library_context(), visit, (&raw mut search).cast()) };
        Some(Algorithm::of(search.found?, template.functions))
    }

    /// The encoder in the library context of adjunct's own, for what it says of itself.
    pub fn encoder(&self, template: &Template) -> Algorithm {
        Algorithm::of(self.provider_context(), template.functions)
    }
}

/// Stops at a provider that has the very functions wanted, so that it is one of this libcrypto.
///
/// # Safety
/// `provider` is a live provider of the libcrypto that is searched, and `argument` the search, which no other code uses.
unsafe extern "C" fn visit(provider: Opaque, argument: *mut c_void) -> c_int {
    guard(1, || {
        // SAFETY: the caller's search; no one else has it.
        let search = unsafe { &mut *argument.cast::<Search<'_>>() };
        let f = &search.library.functions;
        // SAFETY: libcrypto's functions, called as documented; both providers' lists are statics of libcrypto.
        unsafe {
            let name = (f.provider_name)(provider);
            if name.is_null() || !matches!(CStr::from_ptr(name).to_bytes(), b"default" | b"base") {
                return 1;
            }
            let mut encoders = search.library.algorithms_of(provider, id::OP_ENCODER);
            if encoders.any(|entry| std::ptr::eq(entry.implementation(), search.wanted)) {
                search.found = Some((f.provider_context)(provider));
                return 0;
            }
        }
        1
    })
}
