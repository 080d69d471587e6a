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
mod key;
mod mac;
mod operation;
mod random;

pub(crate) use dispatch::forward;
pub use dispatch::{Algorithm, Context};
pub use key::{Check, Key};
pub use mac::Mac;
pub use operation::{DigestOperation, Kind, Operation};
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
    provider_query c"OSSL_PROVIDER_query_operation" (Opaque, c_int, *mut c_int) -> *const OsslAlgorithm;
    provider_capabilities c"OSSL_PROVIDER_get_capabilities" (Opaque, *const c_char, ExportCallback, *mut c_void) -> c_int;
    mark c"ERR_set_mark" () -> c_int;
    pop_to_mark c"ERR_pop_to_mark" () -> c_int;
    pkey_free c"EVP_PKEY_free" (Opaque);
    pkey_up_ref c"EVP_PKEY_up_ref" (Opaque) -> c_int;
    pkey_dup c"EVP_PKEY_dup" (Opaque) -> Opaque;
    pkey_eq c"EVP_PKEY_eq" (Opaque, Opaque) -> c_int;
    pkey_parameters_eq c"EVP_PKEY_parameters_eq" (Opaque, Opaque) -> c_int;
    pkey_export c"EVP_PKEY_export" (Opaque, c_int, ExportCallback, *mut c_void) -> c_int;
    pkey_get_params c"EVP_PKEY_get_params" (Opaque, *mut Param) -> c_int;
    pkey_set_params c"EVP_PKEY_set_params" (Opaque, *mut Param) -> c_int;
    pkey_gettable c"EVP_PKEY_gettable_params" (Opaque) -> *const Param;
    ctx_from_name c"EVP_PKEY_CTX_new_from_name" (Opaque, *const c_char, *const c_char) -> Opaque;
    ctx_from_pkey c"EVP_PKEY_CTX_new_from_pkey" (Opaque, Opaque, *const c_char) -> Opaque;
    ctx_dup c"EVP_PKEY_CTX_dup" (Opaque) -> Opaque;
    ctx_free c"EVP_PKEY_CTX_free" (Opaque);
    ctx_set_params c"EVP_PKEY_CTX_set_params" (Opaque, *const Param) -> c_int;
    ctx_get_params c"EVP_PKEY_CTX_get_params" (Opaque, *mut Param) -> c_int;
    ctx_settable c"EVP_PKEY_CTX_settable_params" (Opaque) -> *const Param;
    ctx_gettable c"EVP_PKEY_CTX_gettable_params" (Opaque) -> *const Param;
    fromdata_init c"EVP_PKEY_fromdata_init" (Opaque) -> c_int;
    fromdata c"EVP_PKEY_fromdata" (Opaque, *mut Opaque, c_int, *mut Param) -> c_int;
    keygen_init c"EVP_PKEY_keygen_init" (Opaque) -> c_int;
    paramgen_init c"EVP_PKEY_paramgen_init" (Opaque) -> c_int;
    generate c"EVP_PKEY_generate" (Opaque, *mut Opaque) -> c_int;
    check c"EVP_PKEY_check" (Opaque) -> c_int;
    public_check c"EVP_PKEY_public_check" (Opaque) -> c_int;
    public_check_quick c"EVP_PKEY_public_check_quick" (Opaque) -> c_int;
    private_check c"EVP_PKEY_private_check" (Opaque) -> c_int;
    pairwise_check c"EVP_PKEY_pairwise_check" (Opaque) -> c_int;
    param_check c"EVP_PKEY_param_check" (Opaque) -> c_int;
    param_check_quick c"EVP_PKEY_param_check_quick" (Opaque) -> c_int;
    sign_init c"EVP_PKEY_sign_init_ex" (Opaque, *const Param) -> c_int;
    sign c"EVP_PKEY_sign" (Opaque, *mut u8, *mut usize, *const u8, usize) -> c_int;
    verify_init c"EVP_PKEY_verify_init_ex" (Opaque, *const Param) -> c_int;
    verify c"EVP_PKEY_verify" (Opaque, *const u8, usize, *const u8, usize) -> c_int;
    recover_init c"EVP_PKEY_verify_recover_init_ex" (Opaque, *const Param) -> c_int;
    recover c"EVP_PKEY_verify_recover" (Opaque, *mut u8, *mut usize, *const u8, usize) -> c_int;
    encrypt_init c"EVP_PKEY_encrypt_init_ex" (Opaque, *const Param) -> c_int;
    encrypt c"EVP_PKEY_encrypt" (Opaque, *mut u8, *mut usize, *const u8, usize) -> c_int;
    decrypt_init c"EVP_PKEY_decrypt_init_ex" (Opaque, *const Param) -> c_int;
    decrypt c"EVP_PKEY_decrypt" (Opaque, *mut u8, *mut usize, *const u8, usize) -> c_int;
    derive_init c"EVP_PKEY_derive_init_ex" (Opaque, *const Param) -> c_int;
    derive_set_peer c"EVP_PKEY_derive_set_peer_ex" (Opaque, Opaque, c_int) -> c_int;
    derive c"EVP_PKEY_derive" (Opaque, *mut u8, *mut usize) -> c_int;
    md_ctx_new c"EVP_MD_CTX_new" () -> Opaque;
    md_ctx_free c"EVP_MD_CTX_free" (Opaque);
    md_ctx_pkey_ctx c"EVP_MD_CTX_get_pkey_ctx" (Opaque) -> Opaque;
    md_ctx_copy c"EVP_MD_CTX_copy_ex" (Opaque, Opaque) -> c_int;
    digest_sign_init c"EVP_DigestSignInit_ex"
        (Opaque, *mut Opaque, *const c_char, Opaque, *const c_char, Opaque, *const Param) -> c_int;
    digest_sign_update c"EVP_DigestSignUpdate" (Opaque, *const u8, usize) -> c_int;
    digest_sign_final c"EVP_DigestSignFinal" (Opaque, *mut u8, *mut usize) -> c_int;
    digest_sign c"EVP_DigestSign" (Opaque, *mut u8, *mut usize, *const u8, usize) -> c_int;
    digest_verify_init c"EVP_DigestVerifyInit_ex"
        (Opaque, *mut Opaque, *const c_char, Opaque, *const c_char, Opaque, *const Param) -> c_int;
    digest_verify_update c"EVP_DigestVerifyUpdate" (Opaque, *const u8, usize) -> c_int;
    digest_verify_final c"EVP_DigestVerifyFinal" (Opaque, *const u8, usize) -> c_int;
    digest_verify c"EVP_DigestVerify" (Opaque, *const u8, usize, *const u8, usize) -> c_int;
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

impl Output {
    /// Calls a function that takes room and length in one in/out argument.
    ///
    /// # Safety
    /// `data` and `length` are valid as described, and `call` writes no more than the length it is given.
    unsafe fn fill(self, call: impl FnOnce(*mut u8, *mut usize) -> c_int) -> c_int {
        let mut length = self.size;
        let result = call(self.data, &raw mut length);
        if result > 0 && !self.length.is_null() {
            // SAFETY: see above.
            unsafe { *self.length = length };
        }
        result
    }
}

fn name_or_null(name: Option<&CStr>) -> *const c_char {
    name.map_or(std::ptr::null(), CStr::as_ptr)
}
