//! Hands what the CPU library lacks to OpenSSL's default provider.
//!
//! The libcrypto that loaded this module is found at run time from an address it gave us; a library context of our own,
//! which reads no configuration and holds only the default provider, then does the work, so nothing can come back to us.
//! Parameter arrays pass straight through (they are OpenSSL's own type), and errors land on the caller's queue by
//! themselves. In a program with libcrypto linked statically there may be nothing to find: [`reachable`] says so, and the provider
//! then offers no algorithm that could need it.
//!
//! No lock is taken here: a context made by two threads at once is made twice and one is dropped, so a fork at any moment
//! leaves the child a usable state.

mod dispatch;
mod encoders;
mod engines;
mod key;
mod mac;
mod operation;
mod random;

pub(crate) use dispatch::forward;
pub use dispatch::{Algorithm, Context};
pub use encoders::Template;
pub use engines::Engines;
pub use key::{Generation, Key};
pub use mac::Mac;
pub use operation::{Kind, Operation};
pub use random::keep_generator_away;

use crate::abi::OsslAlgorithm;
use crate::abi::core::Core;
use crate::abi::id;
use crate::abi::param::{self, Param};
use adjunct::foreign::Object;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A pointer to one of OpenSSL's opaque objects.
type Opaque = *mut c_void;

/// What `OSSL_FUNC_KEYMGMT_EXPORT` and `EVP_PKEY_export` call with a key's parameters (`OSSL_CALLBACK`).
pub type ExportCallback = unsafe extern "C" fn(params: *const Param, argument: *mut c_void) -> c_int;

adjunct::functions! {
    /// The functions of libcrypto used here; all exist since OpenSSL 3.0.
    Functions:
    lib_ctx_new c"OSSL_LIB_CTX_new" () -> Opaque;
    lib_ctx_free c"OSSL_LIB_CTX_free" (Opaque);
    provider_load c"OSSL_PROVIDER_load" (Opaque, *const c_char) -> Opaque;
    provider_context c"OSSL_PROVIDER_get0_provider_ctx" (Opaque) -> Opaque;
    provider_do_all c"OSSL_PROVIDER_do_all" (Opaque, encoders::Visitor, *mut c_void) -> c_int;
    provider_query c"OSSL_PROVIDER_query_operation" (Opaque, c_int, *mut c_int) -> *const OsslAlgorithm;
    provider_capabilities c"OSSL_PROVIDER_get_capabilities" (Opaque, *const c_char, ExportCallback, *mut c_void) -> c_int;
    mark c"ERR_set_mark" () -> c_int;
    pop_to_mark c"ERR_pop_to_mark" () -> c_int;
    clear_mark c"ERR_clear_last_mark" () -> c_int;
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

/// A libcrypto with a library context of our own in it. Lives as long as the process.
pub struct Library {
    functions: Functions,
    context: Opaque,
    provider: Opaque,
    base: usize,
    next: *const Library,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("base", &self.base).finish_non_exhaustive()
    }
}

// SAFETY: immutable once made; a library context may be used by all threads.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Those found so far; a process may hold more than one libcrypto.
static KNOWN: AtomicPtr<Library> = AtomicPtr::new(std::ptr::null_mut());

fn known(mut next: *const Library, base: usize) -> Option<&'static Library> {
    // SAFETY: entries are leaked, never changed once published.
    while let Some(library) = unsafe { next.as_ref() } {
        if library.base == base {
            return Some(library);
        }
        next = library.next;
    }
    None
}

/// A provider instance's way to its library: [`library`], remembered.
#[derive(Debug, Default)]
pub struct Cache(AtomicPtr<Library>);

impl Cache {
    /// The default provider of the libcrypto behind `core`.
    pub fn get(&self, core: &Core) -> Option<&'static Library> {
        // SAFETY: a library once made lives as long as the process.
        if let Some(library) = unsafe { self.0.load(Ordering::Acquire).as_ref() } {
            return Some(library);
        }
        let library = library(core)?;
        self.0.store(std::ptr::from_ref(library).cast_mut(), Ordering::Release);
        Some(library)
    }
}

/// Whether the libcrypto behind `core` can be found, with every function used here.
pub fn reachable(core: &Core) -> bool {
    Object::around(core.address(), c"OSSL_LIB_CTX_new").and_then(Functions::find).is_some()
}

/// The default provider of the libcrypto behind `core`, made ready at the first call.
pub fn library(core: &Core) -> Option<&'static Library> {
    let handle = Object::around(core.address(), c"OSSL_LIB_CTX_new")?;
    let mut head = KNOWN.load(Ordering::Acquire);
    if let Some(library) = known(head, handle.base()) {
        return Some(library);
    }
    let functions = Functions::find(handle)?;
    // SAFETY: libcrypto's functions, called as documented.
    let context = unsafe { (functions.lib_ctx_new)() };
    if context.is_null() {
        return None;
    }
    // SAFETY: as above.
    let provider = unsafe { (functions.provider_load)(context, c"default".as_ptr()) };
    if provider.is_null() {
        // SAFETY: as above; nobody else knows this context.
        unsafe { (functions.lib_ctx_free)(context) };
        return None;
    }
    let mut library = Box::new(Library { functions, context, provider, base: handle.base(), next: head });
    loop {
        library.next = head;
        let raw = Box::into_raw(library);
        match KNOWN.compare_exchange(head, raw, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: published, from here on never changed or freed.
            Ok(_) => return Some(unsafe { &*raw }),
            Err(now) => {
                // SAFETY: not published.
                library = unsafe { Box::from_raw(raw) };
                head = now;
                if let Some(theirs) = known(head, handle.base()) {
                    // SAFETY: nobody else knows this context.
                    unsafe { (library.functions.lib_ctx_free)(library.context) };
                    return Some(theirs);
                }
            }
        }
    }
}

impl Library {
    /// Whether this OpenSSL's RSA decryption has implicit rejection, which is on by default then. Its version does not tell:
    /// distributions have brought it to older ones.
    pub fn rejects_implicitly(&self) -> bool {
        let Some(rsa) = self.algorithm(id::OP_ASYM_CIPHER, c"RSA") else { return false };
        let null = std::ptr::null_mut();
        let context = rsa.provider_context();
        let list = forward!(
            rsa,
            id::ASYM_CIPHER_SETTABLE_CTX_PARAMS,
            fn(*mut c_void, *mut c_void) -> *const Param,
            std::ptr::null(),
            (null, context)
        );
        // SAFETY: a static array of libcrypto's, or null; its functions pass over a null context.
        unsafe { param::find(list, c"implicit-rejection") }.is_some()
    }

    /// Makes a digest known here that the program itself has of OpenSSL's legacy provider (MD4, MDC2, RIPEMD-160 of older
    /// versions): with one of these names, signatures and encryption are handed over, too.
    pub fn adopt_digest(&self, core: &Core, name: &CStr) {
        let f = &self.functions;
        self.quietly(|| {
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

    /// Runs `body`, which raises errors, and takes them back where they were not wanted: done either way, so that the time
    /// it takes does not tell an attacker which it was.
    pub fn raise_unless(&self, unwanted: bool, body: impl FnOnce()) {
        // SAFETY: the marks are of this thread's queue.
        unsafe { (self.functions.mark)() };
        body();
        let end = if unwanted { self.functions.pop_to_mark } else { self.functions.clear_mark };
        // SAFETY: as above.
        unsafe { end() };
    }

    /// Runs `body` and takes back what it put on the error queue: for questions whose answer may be no.
    pub fn quietly<T>(&self, body: impl FnOnce() -> T) -> T {
        // SAFETY: the marks are of this thread's queue.
        unsafe { (self.functions.mark)() };
        let result = body();
        // SAFETY: as above.
        unsafe { (self.functions.pop_to_mark)() };
        result
    }
}

/// Calls `callback` with each entry of a `capability` of the default provider; the result is OpenSSL's.
///
/// # Safety
/// `callback` takes `argument` as its own, and `capability` is a C string.
pub unsafe fn capabilities(
    library: &Library,
    capability: &CStr,
    callback: ExportCallback,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: see above.
    unsafe { (library.functions.provider_capabilities)(library.provider, capability.as_ptr(), callback, argument) }
}

/// A buffer OpenSSL may be asked to fill.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// Where to write; null asks for the size needed.
    pub data: *mut u8,
    /// Where the length goes.
    pub length: *mut usize,
    /// How many bytes `data` has room for.
    pub size: usize,
}

fn name_or_null(name: Option<&CStr>) -> *const c_char {
    name.map_or(std::ptr::null(), CStr::as_ptr)
}
