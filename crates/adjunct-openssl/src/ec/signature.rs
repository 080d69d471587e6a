//! Elliptic-curve keys on the NIST curves: signatures (ECDSA, FIPS 186-5).

use super::signing::{Context, Purpose};
use crate::abi::param::{OCTETS, Param, UNSIGNED, UTF8};
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::forward;
use crate::provider::provider;
use adjunct::catalogue::Function;
use adjunct::ops;
use adjunct::ops::digest::MAX_SIZE;
use std::ffi::{c_char, c_int, c_void};

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm {
    names: c"ECDSA",
    dispatch: &FUNCTIONS,
    description: c"adjunct ECDSA: P-256, P-384, P-521 by AWS-LC, other curves by OpenSSL",
}];

// None that digests and signs at once: EVP lets such a context be used once, and stock's is used again.
static FUNCTIONS: [Dispatch; 18] = [
    entry!(id::SIGNATURE_NEWCTX, newctx),
    entry!(id::SIGNATURE_FREECTX, abi::freed::<Context>),
    entry!(id::SIGNATURE_DUPCTX, dupctx),
    entry!(id::SIGNATURE_SIGN_INIT, sign_init),
    entry!(id::SIGNATURE_SIGN, sign),
    entry!(id::SIGNATURE_VERIFY_INIT, verify_init),
    entry!(id::SIGNATURE_VERIFY, verify),
    entry!(id::SIGNATURE_DIGEST_SIGN_INIT, digest_sign_init),
    entry!(id::SIGNATURE_DIGEST_SIGN_UPDATE, digest_sign_update),
    entry!(id::SIGNATURE_DIGEST_SIGN_FINAL, digest_sign_final),
    entry!(id::SIGNATURE_DIGEST_VERIFY_INIT, digest_verify_init),
    entry!(id::SIGNATURE_DIGEST_VERIFY_UPDATE, digest_verify_update),
    entry!(id::SIGNATURE_DIGEST_VERIFY_FINAL, digest_verify_final),
    entry!(id::SIGNATURE_GET_CTX_PARAMS, get_params),
    entry!(id::SIGNATURE_GETTABLE_CTX_PARAMS, gettable_params),
    entry!(id::SIGNATURE_SET_CTX_PARAMS, set_params),
    entry!(id::SIGNATURE_SETTABLE_CTX_PARAMS, settable_params),
    Dispatch::END,
];

// The property query is for fetching digests, which are not fetched here.
unsafe extern "C" fn newctx(provctx: *mut c_void, _properties: *const c_char) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: OpenSSL keeps the provider as long as its contexts.
        abi::give(Context::new(unsafe { provider(provctx) }))
    })
}

unsafe extern "C" fn dupctx(context: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: a context of OpenSSL's.
        let copy = unsafe { context_of(context) }.and_then(|c| c.duplicate());
        copy.map_or(std::ptr::null_mut(), abi::give)
    })
}

/// The context behind a pointer of OpenSSL's.
///
/// # Safety
/// As for [`abi::context`].
unsafe fn context_of<'a>(context: *mut c_void) -> Option<&'a mut Context> {
    // SAFETY: see above.
    unsafe { abi::context::<Context>(context) }
}

unsafe extern "C" fn sign_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: pointers from OpenSSL. So below.
    guard(0, || unsafe { context_of(context).map_or(0, |c| c.init(Purpose::Sign, std::ptr::null(), key, params)) })
}

unsafe extern "C" fn verify_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: as above.
    guard(0, || unsafe { context_of(context).map_or(0, |c| c.init(Purpose::Verify, std::ptr::null(), key, params)) })
}

unsafe extern "C" fn digest_sign_init(
    context: *mut c_void,
    digest: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: as above.
    guard(0, || unsafe { context_of(context).map_or(0, |c| c.init(Purpose::DigestSign, digest, key, params)) })
}

unsafe extern "C" fn digest_verify_init(
    context: *mut c_void,
    digest: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: as above.
    guard(0, || unsafe { context_of(context).map_or(0, |c| c.init(Purpose::DigestVerify, digest, key, params)) })
}

unsafe extern "C" fn sign(
    context: *mut c_void,
    out: *mut u8,
    length: *mut usize,
    size: usize,
    data: *const u8,
    data_len: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: as above.
        let Some(c) = (unsafe { context_of(context) }) else { return 0 };
        let Some((algorithm, raw)) = c.raw() else {
            // SAFETY: as above.
            return unsafe { c.sign(out, length, size, abi::slice(data, data_len)) };
        };
        let done = forward!(
            algorithm,
            id::SIGNATURE_SIGN,
            fn(*mut c_void, *mut u8, *mut usize, usize, *const u8, usize) -> c_int,
            0,
            (raw, out, length, size, data, data_len)
        );
        if done == 1 && !out.is_null() {
            c.done(Function::EcdsaSign);
        }
        done
    })
}

unsafe extern "C" fn verify(
    context: *mut c_void,
    signature: *const u8,
    length: usize,
    data: *const u8,
    data_len: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: as above.
        let Some(c) = (unsafe { context_of(context) }) else { return 0 };
        let Some((algorithm, raw)) = c.raw() else {
            // SAFETY: as above.
            return unsafe { c.verify(abi::slice(signature, length), abi::slice(data, data_len)) };
        };
        let done = forward!(
            algorithm,
            id::SIGNATURE_VERIFY,
            fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int,
            0,
            (raw, signature, length, data, data_len)
        );
        // A negative result is an error. So is 0 where what was signed has not the length of the digest.
        if done == 1 || done == 0 && c.takes(data_len) {
            c.done(Function::EcdsaVerify);
        }
        done
    })
}

unsafe fn pass(context: *mut c_void, function: c_int, data: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: as above.
        let Some(c) = (unsafe { context_of(context) }) else { return 0 };
        match c.raw() {
            // SAFETY: as above.
            None => c_int::from(c.update(unsafe { abi::slice(data, length) })),
            Some((algorithm, raw)) => {
                forward!(algorithm, function, fn(*mut c_void, *const u8, usize) -> c_int, 0, (raw, data, length))
            }
        }
    })
}

unsafe extern "C" fn digest_sign_update(context: *mut c_void, data: *const u8, length: usize) -> c_int {
    // SAFETY: as above.
    unsafe { pass(context, id::SIGNATURE_DIGEST_SIGN_UPDATE, data, length) }
}

unsafe extern "C" fn digest_verify_update(context: *mut c_void, data: *const u8, length: usize) -> c_int {
    // SAFETY: as above.
    unsafe { pass(context, id::SIGNATURE_DIGEST_VERIFY_UPDATE, data, length) }
}

unsafe extern "C" fn digest_sign_final(context: *mut c_void, out: *mut u8, length: *mut usize, size: usize) -> c_int {
    guard(0, || {
        // SAFETY: as above.
        let Some(c) = (unsafe { context_of(context) }) else { return 0 };
        let Some((algorithm, raw)) = c.raw() else {
            if out.is_null() {
                // SAFETY: as above.
                return unsafe { c.sign(out, length, size, &[]) };
            }
            let mut buffer = [0; MAX_SIZE];
            let Some(digest) = c.finish(&mut buffer) else { return 0 };
            // SAFETY: as above.
            return unsafe { c.sign(out, length, size, digest) };
        };
        let done = forward!(
            algorithm,
            id::SIGNATURE_DIGEST_SIGN_FINAL,
            fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
            0,
            (raw, out, length, size)
        );
        if done == 1 && !out.is_null() {
            c.done(Function::EcdsaSign);
        }
        done
    })
}

unsafe extern "C" fn digest_verify_final(context: *mut c_void, signature: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: as above.
        let Some(c) = (unsafe { context_of(context) }) else { return 0 };
        let Some((algorithm, raw)) = c.raw() else {
            if length == 0 {
                return c.verify_nothing();
            }
            let mut buffer = [0; MAX_SIZE];
            let Some(digest) = c.finish(&mut buffer) else { return 0 };
            // SAFETY: as above.
            return c.verify(unsafe { abi::slice(signature, length) }, digest);
        };
        let done = forward!(
            algorithm,
            id::SIGNATURE_DIGEST_VERIFY_FINAL,
            fn(*mut c_void, *const u8, usize) -> c_int,
            0,
            (raw, signature, length)
        );
        if done >= 0 {
            c.done(Function::EcdsaVerify);
        }
        done
    })
}

static GETTABLE: [Param; 4] = [
    Param::describe(c"algorithm-id", OCTETS, 0),
    Param::describe(c"digest-size", UNSIGNED, 8),
    Param::describe(c"digest", UTF8, 0),
    Param::END,
];

static SETTABLE: [Param; 4] = [
    Param::describe(c"digest", UTF8, 0),
    Param::describe(c"digest-size", UNSIGNED, 8),
    Param::describe(c"properties", UTF8, 0),
    Param::END,
];

// What the installed OpenSSL tells and takes, as anything may be handed on; `-sigopt` looks names up here.

unsafe extern "C" fn gettable_params(_context: *mut c_void, provctx: *mut c_void) -> *const Param {
    // SAFETY: OpenSSL's provider context, or null.
    let list = || unsafe { super::signature_params(provctx, c"ECDSA", id::SIGNATURE_GETTABLE_CTX_PARAMS) };
    guard(GETTABLE.as_ptr(), || list().unwrap_or(GETTABLE.as_ptr()))
}

unsafe extern "C" fn settable_params(_context: *mut c_void, provctx: *mut c_void) -> *const Param {
    // SAFETY: as above.
    let list = || unsafe { super::signature_params(provctx, c"ECDSA", id::SIGNATURE_SETTABLE_CTX_PARAMS) };
    guard(SETTABLE.as_ptr(), || list().unwrap_or(SETTABLE.as_ptr()))
}

unsafe extern "C" fn set_params(context: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: as above.
        let Some(c) = (unsafe { context_of(context) }) else { return 0 };
        match c.raw() {
            // SAFETY: as above.
            None => unsafe { c.set(params) },
            Some((algorithm, raw)) => forward!(
                algorithm,
                id::SIGNATURE_SET_CTX_PARAMS,
                fn(*mut c_void, *const Param) -> c_int,
                0,
                (raw, params)
            ),
        }
    })
}

unsafe extern "C" fn get_params(context: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: as above.
        let Some(c) = (unsafe { context_of(context) }) else { return 0 };
        if let Some((algorithm, raw)) = c.raw() {
            return forward!(
                algorithm,
                id::SIGNATURE_GET_CTX_PARAMS,
                fn(*mut c_void, *mut Param) -> c_int,
                0,
                (raw, params)
            );
        }
        // SAFETY: as above.
        unsafe { c.answer(params) }
    })
}
