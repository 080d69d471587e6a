//! A digest in progress as bytes (`EVP_MD_CTX_serialize`, OpenSSL 4). The bytes are in the form that OpenSSL's default provider has for them, so that
//! either provider goes on from what the other wrote: the default provider's functions make and read them, on a context of its own that the state is
//! copied to and from.

use super::DigestContext;
use crate::abi::param::Param;
use crate::abi::{context, guard, id};
use crate::fallback::{self, forward};
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;

/// The bytes of the number that ends what is laid out alike: how much of the block before it is in use.
const NUMBER: usize = size_of::<u32>();

/// Makes a context of the default provider's for the algorithm of `this`; gives it with the length of the state that both lay out alike.
///
/// `None` where there is no shared libcrypto, or the layouts differ.
fn theirs<const ROOM: usize>(this: &DigestContext<ROOM>) -> Option<(fallback::AlgorithmContext, usize)> {
    let method = this.digest.method();
    let length = method.openssl_state()?;
    let library = fallback::library(this.core.libcrypto()?)?;
    let mut name = [0; 16];
    name.get_mut(..method.name.len())?.copy_from_slice(method.name.as_bytes());
    let algorithm = library.algorithm(id::OP_DIGEST, CStr::from_bytes_until_nul(&name).ok()?)?;
    let null = std::ptr::null_mut();
    let provider = algorithm.provider_context();
    let raw = forward!(algorithm, id::DIGEST_NEWCTX, fn(*mut c_void) -> *mut c_void, null, (provider));
    // SAFETY: just made by this algorithm, for us alone.
    let theirs = unsafe { fallback::AlgorithmContext::own(algorithm, raw, id::DIGEST_FREECTX) }?;
    let parameters = std::ptr::null();
    let begun = forward!(algorithm, id::DIGEST_INIT, fn(*mut c_void, *const Param) -> c_int, 0, (raw, parameters));
    (begun == 1).then_some((theirs, length))
}

pub(super) unsafe extern "C" fn serialize<const ROOM: usize>(
    ctx: *mut c_void,
    out: *mut u8,
    out_length: *mut usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours.
        let Some(this) = (unsafe { context::<DigestContext<ROOM>>(ctx) }) else { return 0 };
        let (block, found) = (this.digest.method().block, theirs(this));
        let Some((theirs, length)) = found else { return 0 };
        // SAFETY: a digest's state comes first in our context, and is all of the default provider's; both have `length` bytes, of which
        // those behind the end of the block may never have been written here.
        unsafe {
            std::ptr::copy_nonoverlapping(ctx.cast::<MaybeUninit<u8>>(), theirs.raw().cast(), length);
            let state = theirs.raw().cast::<u8>();
            let begun = state.add(length - NUMBER).cast::<u32>().read_unaligned() as usize;
            let Some(behind) = block.checked_sub(begun) else { return 0 };
            state.add(length - NUMBER - behind).write_bytes(0, behind);
        }
        forward!(
            theirs.algorithm(),
            id::DIGEST_SERIALIZE,
            fn(*mut c_void, *mut u8, *mut usize) -> c_int,
            0,
            (theirs.raw(), out, out_length)
        )
    })
}

pub(super) unsafe extern "C" fn deserialize<const ROOM: usize>(
    ctx: *mut c_void,
    input: *const u8,
    input_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours.
        let Some(this) = (unsafe { context::<DigestContext<ROOM>>(ctx) }) else { return 0 };
        let (block, found) = (this.digest.method().block, theirs(this));
        let Some((theirs, length)) = found else { return 0 };
        let done = forward!(
            theirs.algorithm(),
            id::DIGEST_DESERIALIZE,
            fn(*mut c_void, *const u8, usize) -> c_int,
            0,
            (theirs.raw(), input, input_length)
        );
        if done != 1 {
            return 0;
        }
        // SAFETY: `theirs` has a state of `length` bytes at its beginning, filled with zeros when OpenSSL made the context and written by
        // OpenSSL's functions since.
        let state = unsafe { std::slice::from_raw_parts(theirs.raw().cast::<u8>(), length) };
        // More than a block cannot be begun: the library would write beyond it.
        let begun = state.last_chunk().map_or(u32::MAX, |bytes| u32::from_ne_bytes(*bytes));
        if begun as usize >= block {
            return 0;
        }
        // SAFETY: a digest's state comes first in our context and has `length` bytes; what was checked is one of the library's states.
        unsafe { std::ptr::copy_nonoverlapping(state.as_ptr(), ctx.cast(), length) };
        1
    })
}
