//! The part of libcrypto that bulk algorithms need. They are looked up apart from those of [`crate::libcrypto`], so that RSA and EC are served even
//! where one of these is missing.

use crate::libcrypto::{self, Opaque};
use std::ffi::{c_int, c_ulong, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `EVP_CIPHER`'s init.
pub type CipherInit = unsafe extern "C" fn(context: Opaque, key: *const u8, iv: *const u8, encrypt: c_int) -> c_int;
/// `EVP_CIPHER`'s `do_cipher`.
pub type CipherRun = unsafe extern "C" fn(context: Opaque, out: *mut u8, input: *const u8, length: usize) -> c_int;
/// `EVP_CIPHER`'s and `EVP_MD`'s cleanup, and `EVP_MD`'s init.
pub type OfContext = unsafe extern "C" fn(context: Opaque) -> c_int;
/// `EVP_CIPHER`'s and `EVP_MD`'s ctrl.
pub type Control =
    unsafe extern "C" fn(context: Opaque, command: c_int, argument: c_int, pointer: *mut c_void) -> c_int;
/// `EVP_MD`'s update.
pub type DigestUpdate = unsafe extern "C" fn(context: Opaque, data: *const u8, length: usize) -> c_int;
/// `EVP_MD`'s final.
pub type DigestFinal = unsafe extern "C" fn(context: Opaque, out: *mut u8) -> c_int;
/// `EVP_MD`'s copy.
pub type DigestCopy = unsafe extern "C" fn(to: Opaque, from: Opaque) -> c_int;
/// The type of `ENGINE`'s function that lists ciphers or digests, or gives one.
pub type Selector =
    unsafe extern "C" fn(engine: Opaque, method: *mut Opaque, nids: *mut *const c_int, nid: c_int) -> c_int;

adjunct_ossl::functions! {
    /// The functions of libcrypto that bulk algorithms use.
    pub Bulk:
    engine_set_ciphers c"ENGINE_set_ciphers" (Opaque, Selector) -> c_int;
    engine_set_digests c"ENGINE_set_digests" (Opaque, Selector) -> c_int;
    engine_set_rand c"ENGINE_set_RAND" (Opaque, *const c_void) -> c_int;
    cipher_new c"EVP_CIPHER_meth_new" (c_int, c_int, c_int) -> Opaque;
    cipher_free c"EVP_CIPHER_meth_free" (Opaque);
    cipher_set_iv_length c"EVP_CIPHER_meth_set_iv_length" (Opaque, c_int) -> c_int;
    cipher_set_flags c"EVP_CIPHER_meth_set_flags" (Opaque, c_ulong) -> c_int;
    cipher_set_size c"EVP_CIPHER_meth_set_impl_ctx_size" (Opaque, c_int) -> c_int;
    cipher_set_init c"EVP_CIPHER_meth_set_init" (Opaque, CipherInit) -> c_int;
    cipher_set_run c"EVP_CIPHER_meth_set_do_cipher" (Opaque, CipherRun) -> c_int;
    cipher_set_cleanup c"EVP_CIPHER_meth_set_cleanup" (Opaque, OfContext) -> c_int;
    cipher_set_control c"EVP_CIPHER_meth_set_ctrl" (Opaque, Control) -> c_int;
    cipher_data c"EVP_CIPHER_CTX_get_cipher_data" (Opaque) -> Opaque;
    cipher_iv c"EVP_CIPHER_CTX_iv_noconst" (Opaque) -> *mut u8;
    cipher_num c"EVP_CIPHER_CTX_get_num" (Opaque) -> c_int;
    cipher_set_num c"EVP_CIPHER_CTX_set_num" (Opaque, c_int) -> c_int;
    cipher_encrypts c"EVP_CIPHER_CTX_is_encrypting" (Opaque) -> c_int;
    cipher_has_flags c"EVP_CIPHER_CTX_test_flags" (Opaque, c_int) -> c_int;
    digest_new c"EVP_MD_meth_new" (c_int, c_int) -> Opaque;
    digest_free c"EVP_MD_meth_free" (Opaque);
    digest_set_block c"EVP_MD_meth_set_input_blocksize" (Opaque, c_int) -> c_int;
    digest_set_result c"EVP_MD_meth_set_result_size" (Opaque, c_int) -> c_int;
    digest_set_size c"EVP_MD_meth_set_app_datasize" (Opaque, c_int) -> c_int;
    digest_set_flags c"EVP_MD_meth_set_flags" (Opaque, c_ulong) -> c_int;
    digest_set_init c"EVP_MD_meth_set_init" (Opaque, OfContext) -> c_int;
    digest_set_update c"EVP_MD_meth_set_update" (Opaque, DigestUpdate) -> c_int;
    digest_set_final c"EVP_MD_meth_set_final" (Opaque, DigestFinal) -> c_int;
    digest_set_copy c"EVP_MD_meth_set_copy" (Opaque, DigestCopy) -> c_int;
    digest_set_cleanup c"EVP_MD_meth_set_cleanup" (Opaque, OfContext) -> c_int;
    digest_set_control c"EVP_MD_meth_set_ctrl" (Opaque, Control) -> c_int;
    digest_data c"EVP_MD_CTX_get0_md_data" (Opaque) -> Opaque;
}

static BULK: OnceLock<Option<Bulk>> = OnceLock::new();

/// Looks the functions up in the libcrypto that was found; `None` where it lacks one.
pub fn find() -> Option<&'static Bulk> {
    let object = libcrypto::object()?;
    BULK.get_or_init(|| Bulk::find(object)).as_ref()
}

/// The functions.
///
/// # Panics
/// Before [`find`] has succeeded; every caller is a function that was registered after that.
pub fn bulk() -> &'static Bulk {
    BULK.get().and_then(Option::as_ref).expect("bound to a libcrypto")
}

/// An `EVP_CIPHER` or `EVP_MD`, made when it is first asked for: a login that needs none pays for none.
#[derive(Debug)]
pub struct Made(AtomicPtr<c_void>);

impl Made {
    /// Makes a place where nothing was made yet.
    pub const fn new() -> Made {
        Made(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The method; null where memory runs out. Without a lock, which a fork could leave held: of two threads that come at
    /// once both make one, and one is freed.
    pub fn get(&self, make: impl FnOnce() -> Opaque, free: unsafe extern "C" fn(Opaque)) -> Opaque {
        let made = self.0.load(Ordering::Acquire);
        if !made.is_null() {
            return made;
        }
        let new = make();
        if new.is_null() {
            return new;
        }
        match self.0.compare_exchange(std::ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(other) => {
                // SAFETY: just made and seen by nobody.
                unsafe { free(new) };
                other
            }
        }
    }
}

impl Default for Made {
    fn default() -> Made {
        Made::new()
    }
}

/// Answers libcrypto's question for methods: the list where `method` is null, else the method of this `nid`.
///
/// # Safety
/// The pointers are libcrypto's.
pub unsafe fn select(
    method: *mut Opaque,
    list: *mut *const c_int,
    all: &'static [c_int],
    give: impl FnOnce(usize) -> Opaque,
    nid: c_int,
) -> c_int {
    // SAFETY: by the caller's word the pointers are libcrypto's: each is null or a place for the answer, and `method` is null where the
    // list is asked for.
    unsafe {
        if method.is_null() {
            if !list.is_null() {
                *list = all.as_ptr();
            }
            return all.len() as c_int;
        }
        *method = all.iter().position(|&known| known == nid).map_or(std::ptr::null_mut(), give);
        c_int::from(!(*method).is_null())
    }
}

/// The place in a context of libcrypto that holds a pointer to ours; null before the first use and after the last.
///
/// # Safety
/// `data` is what libcrypto keeps for a method whose size was set to that of a pointer, or null.
pub unsafe fn place<'a, T>(data: Opaque) -> Option<&'a mut *mut T> {
    // SAFETY: by the caller's word `data` is null or what libcrypto keeps for a method of a pointer's size; its allocator aligns for
    // pointers and fills with zeros.
    unsafe { data.cast::<*mut T>().as_mut() }
}

/// Frees what a place holds.
///
/// # Safety
/// What is held came from a box, once.
pub unsafe fn release<T>(place: &mut *mut T) {
    let held = std::mem::replace(place, std::ptr::null_mut());
    if !held.is_null() {
        // SAFETY: by the caller's word the pointer came from a box, and it is taken out of its place first, so that it is freed once.
        drop(unsafe { Box::from_raw(held) });
    }
}
