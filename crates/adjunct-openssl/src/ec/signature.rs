//! Elliptic-curve keys on the NIST curves: signatures (ECDSA, FIPS 186-5).

use super::dispatch::{
    Signer, digest_init, dupctx, get_params, gettable_params, init, newctx, set_params, settable_params, sign, verify,
};
use super::signing::EcdsaContext;
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::forward;
use adjunct::ops::digest::MAX_SIZE;
use std::ffi::{c_int, c_void};

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm {
    names: c"ECDSA",
    dispatch: &FUNCTIONS,
    description: c"adjunct ECDSA: P-256, P-384, P-521 by AWS-LC, other curves by OpenSSL",
}];

// None that digests and signs at once: EVP lets such a context be used once, and stock's is used again.
static FUNCTIONS: [Dispatch; 18] = [
    entry!(id::SIGNATURE_NEWCTX, newctx::<EcdsaContext>),
    entry!(id::SIGNATURE_FREECTX, abi::freed::<EcdsaContext>),
    entry!(id::SIGNATURE_DUPCTX, dupctx::<EcdsaContext>),
    entry!(id::SIGNATURE_SIGN_INIT, init::<EcdsaContext, { id::SIGNATURE_SIGN_INIT }>),
    entry!(id::SIGNATURE_SIGN, sign::<EcdsaContext, { id::SIGNATURE_SIGN }>),
    entry!(id::SIGNATURE_VERIFY_INIT, init::<EcdsaContext, { id::SIGNATURE_VERIFY_INIT }>),
    entry!(id::SIGNATURE_VERIFY, verify::<EcdsaContext, { id::SIGNATURE_VERIFY }>),
    entry!(id::SIGNATURE_DIGEST_SIGN_INIT, digest_init::<EcdsaContext, { id::SIGNATURE_DIGEST_SIGN_INIT }>),
    entry!(id::SIGNATURE_DIGEST_SIGN_UPDATE, digest_sign_update),
    entry!(id::SIGNATURE_DIGEST_SIGN_FINAL, digest_sign_final),
    entry!(id::SIGNATURE_DIGEST_VERIFY_INIT, digest_init::<EcdsaContext, { id::SIGNATURE_DIGEST_VERIFY_INIT }>),
    entry!(id::SIGNATURE_DIGEST_VERIFY_UPDATE, digest_verify_update),
    entry!(id::SIGNATURE_DIGEST_VERIFY_FINAL, digest_verify_final),
    entry!(id::SIGNATURE_GET_CTX_PARAMS, get_params::<EcdsaContext>),
    entry!(id::SIGNATURE_GETTABLE_CTX_PARAMS, gettable_params::<EcdsaContext>),
    entry!(id::SIGNATURE_SET_CTX_PARAMS, set_params::<EcdsaContext>),
    entry!(id::SIGNATURE_SETTABLE_CTX_PARAMS, settable_params::<EcdsaContext>),
    Dispatch::END,
];

/// # Safety
/// `context` is null or a live context of this module, and `data` has `length` readable bytes.
unsafe fn pass(context: *mut c_void, function: c_int, data: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: the caller passes null or a live context of this module, which OpenSSL uses from one thread at a time.
        let Some(c) = (unsafe { abi::context::<EcdsaContext>(context) }) else { return 0 };
        match c.delegated() {
            // SAFETY: the caller passes `length` readable bytes at `data`.
            None => c_int::from(c.update(unsafe { abi::slice(data, length) })),
            Some(stock) => {
                let (algorithm, raw) = (stock.algorithm(), stock.raw());
                forward!(algorithm, function, fn(*mut c_void, *const u8, usize) -> c_int, 0, (raw, data, length))
            }
        }
    })
}

unsafe extern "C" fn digest_sign_update(context: *mut c_void, data: *const u8, length: usize) -> c_int {
    // SAFETY: OpenSSL passes null or a live context of this module, and `length` readable bytes at `data`.
    unsafe { pass(context, id::SIGNATURE_DIGEST_SIGN_UPDATE, data, length) }
}

unsafe extern "C" fn digest_verify_update(context: *mut c_void, data: *const u8, length: usize) -> c_int {
    // SAFETY: OpenSSL passes null or a live context of this module, and `length` readable bytes at `data`.
    unsafe { pass(context, id::SIGNATURE_DIGEST_VERIFY_UPDATE, data, length) }
}

unsafe extern "C" fn digest_sign_final(context: *mut c_void, out: *mut u8, length: *mut usize, size: usize) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a live context of this module, and uses it from one thread at a time.
        let Some(c) = (unsafe { abi::context::<EcdsaContext>(context) }) else { return 0 };
        let Some(stock) = c.delegated() else {
            if out.is_null() {
                // SAFETY: `out` is null, which asks for the size, and OpenSSL passes a place for the length.
                return unsafe { c.sign(out, length, size, &[]) };
            }
            let mut buffer = [0; MAX_SIZE];
            let Some(digest) = c.finish(&mut buffer) else { return 0 };
            // SAFETY: OpenSSL passes an `out` with room for `size` bytes, which is not null, and a place for the length.
            return unsafe { c.sign(out, length, size, digest) };
        };
        let (algorithm, raw) = (stock.algorithm(), stock.raw());
        let done = forward!(
            algorithm,
            id::SIGNATURE_DIGEST_SIGN_FINAL,
            fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
            0,
            (raw, out, length, size)
        );
        if done == 1 && !out.is_null() {
            c.done(EcdsaContext::SIGN);
        }
        done
    })
}

unsafe extern "C" fn digest_verify_final(context: *mut c_void, signature: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a live context of this module, and uses it from one thread at a time.
        let Some(c) = (unsafe { abi::context::<EcdsaContext>(context) }) else { return 0 };
        let Some(stock) = c.delegated() else {
            if length == 0 {
                return c.verify_nothing();
            }
            let mut buffer = [0; MAX_SIZE];
            let Some(digest) = c.finish(&mut buffer) else { return 0 };
            // SAFETY: OpenSSL passes `length` readable bytes at `signature`.
            return c.verify(unsafe { abi::slice(signature, length) }, digest);
        };
        let (algorithm, raw) = (stock.algorithm(), stock.raw());
        let done = forward!(
            algorithm,
            id::SIGNATURE_DIGEST_VERIFY_FINAL,
            fn(*mut c_void, *const u8, usize) -> c_int,
            0,
            (raw, signature, length)
        );
        if done >= 0 {
            c.done(EcdsaContext::VERIFY);
        }
        done
    })
}
