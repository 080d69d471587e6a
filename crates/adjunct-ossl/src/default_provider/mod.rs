//! What OpenSSL's default provider computes, by its own dispatch tables.
//!
//! The work is done in a library context of adjunct's own, in a libcrypto that is found at run time. That context reads no configuration and holds
//! only the default provider, so that no call comes back to adjunct. Parameter arrays pass straight through (they are OpenSSL's own type), and the
//! default provider itself puts errors on the caller's queue. In a program with libcrypto linked statically there may be nothing to find:
//! [`reachable`] says so.
//!
//! No lock is taken here: a context made by two threads at once is made twice and one is dropped, so a fork at any moment
//! leaves the child a usable state.

mod algorithm;
pub mod curve448;
mod encoders;
mod key;
mod mac;
mod operation;

pub use crate::forward;
pub use algorithm::{Algorithm, AlgorithmContext};
pub use encoders::Template;
pub use key::{DefaultKey, Generation};
pub use mac::Mac;
pub use operation::{Operation, OperationKind};

use crate::core::Core;
use crate::dispatch::OsslAlgorithm;
use crate::errors::Errors;
use crate::known::Known;
use crate::object::Object;
use crate::param::{self, Param};
use crate::{Opaque, id};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The callback that `OSSL_FUNC_KEYMGMT_EXPORT` and `EVP_PKEY_export` call with a key's parameters (`OSSL_CALLBACK`).
pub type ExportCallback = unsafe extern "C" fn(params: *const Param, argument: *mut c_void) -> c_int;

crate::functions! {
    /// The functions of libcrypto used here; all exist since OpenSSL 3.0.
    Functions { errors: Errors }:
    lib_ctx_new c"OSSL_LIB_CTX_new" () -> Opaque;
    lib_ctx_free c"OSSL_LIB_CTX_free" (Opaque);
    provider_load c"OSSL_PROVIDER_load" (Opaque, *const c_char) -> Opaque;
    provider_context c"OSSL_PROVIDER_get0_provider_ctx" (Opaque) -> Opaque;
    provider_do_all c"OSSL_PROVIDER_do_all" (Opaque, encoders::Visitor, *mut c_void) -> c_int;
    provider_query c"OSSL_PROVIDER_query_operation" (Opaque, c_int, *mut c_int) -> *const OsslAlgorithm;
    provider_capabilities c"OSSL_PROVIDER_get_capabilities" (Opaque, *const c_char, ExportCallback, *mut c_void) -> c_int;
    provider_name c"OSSL_PROVIDER_get0_name" (Opaque) -> *const c_char;
    md_fetch c"EVP_MD_fetch" (Opaque, *const c_char, *const c_char) -> Opaque;
    md_free c"EVP_MD_free" (Opaque);
    md_provider c"EVP_MD_get0_provider" (Opaque) -> Opaque;
    mac_fetch c"EVP_MAC_fetch" (Opaque, *const c_char, *const c_char) -> Opaque;
    mac_free c"EVP_MAC_free" (Opaque);
    mac_ctx_new c"EVP_MAC_CTX_new" (Opaque) -> Opaque;
    mac_ctx_free c"EVP_MAC_CTX_free" (Opaque);
    mac_ctx_dup c"EVP_MAC_CTX_dup" (Opaque) -> Opaque;
    mac_init c"EVP_MAC_init" (Opaque, *const u8, usize, *const Param) -> c_int;
    mac_update c"EVP_MAC_update" (Opaque, *const u8, usize) -> c_int;
    mac_final c"EVP_MAC_final" (Opaque, *mut u8, *mut usize, usize) -> c_int;
    mac_get_params c"EVP_MAC_CTX_get_params" (Opaque, *mut Param) -> c_int;
    mac_set_params c"EVP_MAC_CTX_set_params" (Opaque, *const Param) -> c_int;
}

/// A libcrypto with a library context of our own in it. Lives as long as the process once [`library`] has given it.
pub struct Library {
    functions: Functions,
    context: Opaque,
    provider: Opaque,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("context", &self.context).finish_non_exhaustive()
    }
}

// SAFETY: immutable once made; a library context may be used by all threads.
unsafe impl Send for Library {}
// SAFETY: immutable once made; all threads may use a library context at the same time.
unsafe impl Sync for Library {}

impl Drop for Library {
    /// Frees the context of a library that another thread has made as well.
    fn drop(&mut self) {
        // SAFETY: nobody else knows this context.
        unsafe { (self.functions.lib_ctx_free)(self.context) };
    }
}

/// Default providers found so far; a process may hold more than one libcrypto.
static KNOWN: Known<Library> = Known::new();

/// A provider instance's way to its library: [`library`], remembered.
#[derive(Debug, Default)]
pub struct Cache(AtomicPtr<Library>);

impl Cache {
    /// The default provider of the libcrypto behind `core`.
    #[inline]
    pub fn get(&self, core: &Core) -> Option<&'static Library> {
        // SAFETY: a library once made lives as long as the process.
        if let Some(library) = unsafe { self.0.load(Ordering::Acquire).as_ref() } {
            return Some(library);
        }
        let library = library(core.libcrypto()?)?;
        self.0.store(std::ptr::from_ref(library).cast_mut(), Ordering::Release);
        Some(library)
    }
}

/// Whether a libcrypto has every function used here.
pub fn reachable(libcrypto: Object) -> bool {
    Functions::find(libcrypto).is_some()
}

/// The default provider of a libcrypto, made ready at the first call.
pub fn library(libcrypto: Object) -> Option<&'static Library> {
    KNOWN.of(libcrypto).or_else(|| Some(KNOWN.give(libcrypto, Library::new(Functions::find(libcrypto)?)?)))
}

impl Library {
    fn new(functions: Functions) -> Option<Library> {
        // SAFETY: libcrypto's functions, called as documented.
        let context = unsafe { (functions.lib_ctx_new)() };
        if context.is_null() {
            return None;
        }
        let null = std::ptr::null_mut();
        let mut library = Library { functions, context, provider: null };
        // SAFETY: the function is this libcrypto's, called as documented, with a live library context and a C string.
        library.provider = unsafe { (library.functions.provider_load)(context, c"default".as_ptr()) };
        (!library.provider.is_null()).then_some(library)
    }

    /// The queue of errors of this libcrypto.
    pub const fn errors(&self) -> &Errors {
        &self.functions.errors
    }

    /// The default provider's algorithms for an `OSSL_OP_*` operation.
    fn algorithms(&self, operation: c_int) -> impl Iterator<Item = &'static OsslAlgorithm> {
        // SAFETY: a provider of this libcrypto.
        unsafe { self.algorithms_of(self.provider, operation) }
    }

    /// Algorithms of another provider of this libcrypto.
    ///
    /// # Safety
    /// `provider` is one, whose lists are statics.
    unsafe fn algorithms_of(&self, provider: Opaque, operation: c_int) -> impl Iterator<Item = &'static OsslAlgorithm> {
        let mut no_cache = 0;
        // SAFETY: libcrypto's functions, called as documented; the list is a static of libcrypto that ends with no name.
        unsafe { OsslAlgorithm::list((self.functions.provider_query)(provider, operation, &raw mut no_cache)) }
    }

    /// The context of the default provider, which the constructors of its algorithms take.
    fn provider_context(&self) -> Opaque {
        // SAFETY: a provider of this libcrypto.
        unsafe { (self.functions.provider_context)(self.provider) }
    }

    /// The default provider's algorithm called `name` for an `OSSL_OP_*` operation.
    pub fn algorithm(&self, operation: c_int, name: &CStr) -> Option<Algorithm> {
        let entry = self.algorithms(operation).find(|entry| entry.is_named(name))?;
        Some(Algorithm::of(self.provider_context(), entry.implementation()))
    }

    /// Whether this OpenSSL's RSA decryption has implicit rejection, which is on by default then. Its version does not tell:
    /// distributions have brought it to older ones.
    pub fn rejects_implicitly(&self) -> bool {
        self.has_parameter(id::OP_ASYM_CIPHER, c"RSA", id::ASYM_CIPHER_SETTABLE_CTX_PARAMS, c"implicit-rejection")
    }

    /// Whether this OpenSSL's ChaCha20 tells its counter as `updated-iv`. What does counts a block when it is begun.
    pub fn tells_chacha20_counter(&self) -> bool {
        self.has_parameter(id::OP_CIPHER, c"ChaCha20", id::CIPHER_GETTABLE_CTX_PARAMS, c"updated-iv")
    }

    /// Whether an algorithm of the default provider names a parameter in what its function `list` gives, which is one of
    /// `OSSL_FUNC_*_GETTABLE_CTX_PARAMS` and `OSSL_FUNC_*_SETTABLE_CTX_PARAMS`.
    fn has_parameter(&self, operation: c_int, algorithm: &CStr, list: c_int, parameter: &CStr) -> bool {
        let Some(algorithm) = self.algorithm(operation, algorithm) else { return false };
        let null = std::ptr::null_mut();
        let context = algorithm.provider_context();
        let list =
            forward!(algorithm, list, fn(*mut c_void, *mut c_void) -> *const Param, std::ptr::null(), (null, context));
        // SAFETY: a static array of libcrypto's, or null; its functions pass over a null context.
        unsafe { param::find(list, parameter) }.is_some()
    }

    /// Makes a digest known here that the program itself has of OpenSSL's legacy provider (MD4, MDC2, RIPEMD-160 of older
    /// versions): with one of these names, signatures and encryption are handed over, too.
    pub fn adopt_digest(&self, core: &Core, name: &CStr) {
        let f = &self.functions;
        self.errors().quietly(|| {
            // SAFETY: libcrypto's functions, called as documented; what is fetched is freed.
            unsafe {
                let known = (f.md_fetch)(self.context, name.as_ptr(), std::ptr::null());
                if !known.is_null() {
                    return (f.md_free)(known);
                }
                let theirs = (f.md_fetch)(core.library_context(), name.as_ptr(), std::ptr::null());
                if theirs.is_null() {
                    return;
                }
                let provider = (f.provider_name)((f.md_provider)(theirs));
                if !provider.is_null() && CStr::from_ptr(provider) == c"legacy" {
                    // Kept as long as the context; loaded twice by two threads at once, it counts twice.
                    (f.provider_load)(self.context, c"legacy".as_ptr());
                }
                (f.md_free)(theirs);
            }
        });
    }

    /// Calls `callback` with each entry of a `capability` of the default provider; the result is OpenSSL's.
    ///
    /// # Safety
    /// `callback` takes `argument` as its own.
    pub unsafe fn capabilities(&self, capability: &CStr, callback: ExportCallback, argument: *mut c_void) -> c_int {
        // SAFETY: `callback` takes `argument` as its own by the caller's word; the provider and the name live through the call.
        unsafe { (self.functions.provider_capabilities)(self.provider, capability.as_ptr(), callback, argument) }
    }
}

/// A buffer OpenSSL may be asked to fill.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Buffer for the result; null asks for the size needed.
    pub data: *mut u8,
    /// Place for the length.
    pub length: *mut usize,
    /// How many bytes `data` has room for.
    pub size: usize,
}

fn name_or_null(name: Option<&CStr>) -> *const c_char {
    name.map_or(std::ptr::null(), CStr::as_ptr)
}
