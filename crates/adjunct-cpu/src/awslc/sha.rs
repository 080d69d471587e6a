//! Digests: the library's contexts, which kernels work on as well, and its functions for them. A context is plain data without pointers.

use super::private;
use aws_lc_sys as lc;
use std::mem::MaybeUninit;

pub(crate) use super::private::{Keccak, Md5};
pub(crate) use aws_lc_sys::{SHA_CTX, SHA256_CTX, SHA512_CTX};
use std::ffi::c_void;

/// Functions of the library on a context of that type: those that begin a digest, and one pair that takes in data and writes the result.
macro_rules! family {
    ($context:ty, [$($(#[$doc:meta])* $init:ident $library_init:path;)*] $update:ident $library_update:path, $finish:ident $library_finish:path) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The context is valid for writes.
            #[inline]
            pub(crate) unsafe fn $init(context: *mut c_void) {
                // SAFETY: the caller says that a context may be written.
                unsafe { $library_init(context.cast::<$context>()) };
            }
        )*

        /// Takes in data.
        ///
        /// # Safety
        /// The context is one of this family that was begun; `data` has `length` bytes.
        #[inline]
        pub(crate) unsafe fn $update(context: *mut c_void, data: *const u8, length: usize) {
            // SAFETY: the caller gives what the library asks for.
            unsafe { $library_update(context.cast::<$context>(), data.cast(), length) };
        }

        /// Writes the result.
        ///
        /// # Safety
        /// The context is one of this family that was begun; `out` has room for its result.
        #[inline]
        pub(crate) unsafe fn $finish(out: *mut u8, context: *mut c_void) {
            // SAFETY: the caller gives what the library asks for.
            unsafe { $library_finish(out, context.cast::<$context>()) };
        }
    };
}

family! { c_void, [
    /// Begins MD5.
    md5_init private::MD5_Init;
] md5_update private::MD5_Update, md5_finish private::MD5_Final }

family! { SHA_CTX, [
    /// Begins SHA-1.
    sha1_init lc::SHA1_Init;
] sha1_update lc::SHA1_Update, sha1_finish lc::SHA1_Final }

family! { SHA256_CTX, [
    /// Begins SHA-224.
    sha224_init lc::SHA224_Init;
] sha224_update lc::SHA224_Update, sha224_finish lc::SHA224_Final }

family! { SHA256_CTX, [
    /// Begins SHA-256.
    sha256_init lc::SHA256_Init;
] sha256_update lc::SHA256_Update, sha256_finish lc::SHA256_Final }

// `SHA512_Update` and `SHA512_Final` serve the whole family.
family! { SHA512_CTX, [
    /// Begins SHA-384.
    sha384_init lc::SHA384_Init;
    /// Begins SHA-512.
    sha512_init lc::SHA512_Init;
    /// Begins SHA-512/224.
    sha512_224_init lc::SHA512_224_Init;
    /// Begins SHA-512/256.
    sha512_256_init lc::SHA512_256_Init;
] sha512_update lc::SHA512_Update, sha512_finish lc::SHA512_Final }

/// Begins SHA-3 of so many bits.
///
/// # Safety
/// The context is valid for writes.
#[inline]
pub(crate) unsafe fn sha3_init(context: *mut c_void, bits: usize) {
    // SAFETY: the caller says that a context may be written.
    unsafe { private::SHA3_Init(context, bits) };
}

/// Begins SHAKE with blocks of so many bytes.
///
/// # Safety
/// The context is valid for writes.
#[inline]
pub(crate) unsafe fn shake_init(context: *mut c_void, block: usize) {
    // SAFETY: the caller says that a context may be written.
    unsafe { private::SHAKE_Init(context, block) };
}

/// Takes in data for SHA-3.
///
/// # Safety
/// The context was begun by [`sha3_init`]; `data` has `length` bytes.
#[inline]
pub(crate) unsafe fn sha3_update(context: *mut c_void, data: *const u8, length: usize) {
    // SAFETY: the caller gives what the library asks for.
    unsafe { private::SHA3_Update(context, data, length) };
}

/// Writes a digest of SHA-3.
///
/// # Safety
/// The context was begun by [`sha3_init`]; `out` has room for its result.
#[inline]
pub(crate) unsafe fn sha3_finish(out: *mut u8, context: *mut c_void) {
    // SAFETY: the caller gives what the library asks for.
    unsafe { private::SHA3_Final(out, context) };
}

/// Takes in data for SHAKE.
///
/// # Safety
/// The context was begun by [`shake_init`], and no output has been taken; `data` has `length` bytes.
#[inline]
pub(crate) unsafe fn shake_absorb(context: *mut c_void, data: *const u8, length: usize) {
    // SAFETY: the caller gives what the library asks for.
    unsafe { private::SHAKE_Absorb(context, data, length) };
}

/// Writes the next bytes of SHAKE's output.
///
/// # Safety
/// The context was begun by [`shake_init`]; `out` has room for `length` bytes.
#[inline]
pub(crate) unsafe fn shake_squeeze(out: *mut u8, context: *mut c_void, length: usize) {
    // SAFETY: the caller gives what the library asks for.
    unsafe { private::SHAKE_Squeeze(out, context, length) };
}

/// Takes one block into a chaining value of SHA-1.
#[inline]
pub(crate) fn sha1_block(h: &mut [u32; 5], block: &[u8; 64]) {
    let mut context = MaybeUninit::<SHA_CTX>::uninit();
    let state = context.as_mut_ptr();
    // SAFETY: the function works on the chaining value, which is written, and on nothing else of the context; the block is one.
    unsafe {
        (&raw mut (*state).h).write(*h);
        lc::SHA1_Transform(state, block.as_ptr());
        *h = (*state).h;
        adjunct_kernels::wipe(&mut (*state).h);
    }
}

/// Takes one block into a chaining value of SHA-224 or SHA-256.
#[inline]
pub(crate) fn sha256_block(h: &mut [u32; 8], block: &[u8; 64]) {
    // SAFETY: a chaining value and one block.
    unsafe { lc::SHA256_TransformBlocks(h.as_mut_ptr(), block.as_ptr(), 1) };
}
