//! RSA: signatures (provider-signature(7), EVP_SIGNATURE-RSA(7)).
//!
//! The functions that OpenSSL calls. `super::context` is their context, and `super::sign` computes.

use super::context::{RsaSignatureContext, default_salt, salt};
use super::key::Named;
use super::padding;
use crate::abi::param::{self, Param};
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::{Operation, OperationKind, Output};
use crate::provider::provider;
use adjunct::ops;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm {
    names: c"RSA:rsaEncryption:1.2.840.113549.1.1.1",
    dispatch: &FUNCTIONS,
    description: c"adjunct RSA signatures",
}];

// None that digests and signs at once: EVP lets such a context be used once, and stock's is used again.
static FUNCTIONS: [Dispatch; 20] = [
    entry!(id::SIGNATURE_NEWCTX, newctx),
    entry!(id::SIGNATURE_FREECTX, abi::freed::<RsaSignatureContext>),
    entry!(id::SIGNATURE_DUPCTX, dupctx),
    entry!(id::SIGNATURE_SIGN_INIT, sign_init),
    entry!(id::SIGNATURE_SIGN, sign),
    entry!(id::SIGNATURE_VERIFY_INIT, verify_init),
    entry!(id::SIGNATURE_VERIFY, verify),
    entry!(id::SIGNATURE_VERIFY_RECOVER_INIT, verify_recover_init),
    entry!(id::SIGNATURE_VERIFY_RECOVER, verify_recover),
    entry!(id::SIGNATURE_DIGEST_SIGN_INIT, digest_sign_init),
    entry!(id::SIGNATURE_DIGEST_SIGN_UPDATE, digest_update),
    entry!(id::SIGNATURE_DIGEST_SIGN_FINAL, digest_sign_final),
    entry!(id::SIGNATURE_DIGEST_VERIFY_INIT, digest_verify_init),
    entry!(id::SIGNATURE_DIGEST_VERIFY_UPDATE, digest_update),
    entry!(id::SIGNATURE_DIGEST_VERIFY_FINAL, digest_verify_final),
    entry!(id::SIGNATURE_GET_CTX_PARAMS, get_ctx_params),
    entry!(id::SIGNATURE_GETTABLE_CTX_PARAMS, gettable_ctx_params),
    entry!(id::SIGNATURE_SET_CTX_PARAMS, set_ctx_params),
    entry!(id::SIGNATURE_SETTABLE_CTX_PARAMS, settable_ctx_params),
    Dispatch::END,
];

/// The context behind a pointer.
///
/// # Safety
/// The pointer came from [`newctx`] or [`dupctx`] and has not been freed.
unsafe fn context<'a>(pointer: *mut c_void) -> Option<&'a mut RsaSignatureContext> {
    // SAFETY: the caller passes null or a context of `newctx` or `dupctx` that has not been freed, and OpenSSL uses it from one thread at a time.
    unsafe { abi::context(pointer) }
}

unsafe extern "C" fn newctx(provctx: *mut c_void, _properties: *const c_char) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: the context is ours.
        let provider = unsafe { provider(provctx) };
        abi::give(RsaSignatureContext {
            provider,
            key: None,
            kind: OperationKind::Sign,
            padding: padding::PKCS1,
            digest: None,
            mgf1: None,
            salt: default_salt(provider),
            hasher: None,
            fixed: false,
            delegated: None,
        })
    })
}

unsafe extern "C" fn dupctx(ctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: the context is ours.
        let Some(ctx) = (unsafe { context(ctx) }) else { return std::ptr::null_mut() };
        let delegated = match ctx.delegated.as_ref().map(Operation::duplicate) {
            Some(None) => return std::ptr::null_mut(),
            Some(copy) => copy,
            None => None,
        };
        let (key, hasher) = (ctx.key.clone(), ctx.hasher.clone());
        abi::give(RsaSignatureContext { key, hasher, delegated, ..*ctx })
    })
}

macro_rules! inits {
    ($($name:ident $kind:ident;)*) => {$(
        unsafe extern "C" fn $name(ctx: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
            guard(0, || {
                // SAFETY: context and key are ours, the array OpenSSL's.
                unsafe { context(ctx).map_or(0, |ctx| c_int::from(ctx.init(None, key, OperationKind::$kind, params))) }
            })
        }
    )*};
}

inits! {
    sign_init Sign;
    verify_init Verify;
    verify_recover_init VerifyRecover;
}

macro_rules! digest_inits {
    ($($name:ident $kind:ident;)*) => {$(
        unsafe extern "C" fn $name(
            ctx: *mut c_void,
            digest: *const c_char,
            key: *mut c_void,
            params: *const Param,
        ) -> c_int {
            guard(0, || {
                // SAFETY: context and key are ours, the name and the array OpenSSL's.
                unsafe {
                    let digest = (!digest.is_null()).then(|| CStr::from_ptr(digest));
                    context(ctx).map_or(0, |ctx| c_int::from(ctx.init(digest, key, OperationKind::$kind, params)))
                }
            })
        }
    )*};
}

digest_inits! {
    digest_sign_init DigestSign;
    digest_verify_init DigestVerify;
}

unsafe extern "C" fn sign(
    ctx: *mut c_void,
    signature: *mut u8,
    length: *mut usize,
    size: usize,
    data: *const u8,
    data_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        unsafe {
            let Some(ctx) = context(ctx) else { return 0 };
            ctx.sign(Output { data: signature, length, size }, abi::slice(data, data_length))
        }
    })
}

unsafe extern "C" fn verify(
    ctx: *mut c_void,
    signature: *const u8,
    signature_length: usize,
    data: *const u8,
    data_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        unsafe {
            let Some(ctx) = context(ctx) else { return 0 };
            ctx.verify(abi::slice(signature, signature_length), abi::slice(data, data_length))
        }
    })
}

unsafe extern "C" fn verify_recover(
    ctx: *mut c_void,
    out: *mut u8,
    length: *mut usize,
    size: usize,
    signature: *const u8,
    signature_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        unsafe {
            let Some(ctx) = context(ctx) else { return 0 };
            ctx.recover(Output { data: out, length, size }, abi::slice(signature, signature_length))
        }
    })
}

unsafe extern "C" fn digest_update(ctx: *mut c_void, data: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffer OpenSSL's.
        unsafe { context(ctx).map_or(0, |ctx| ctx.update(abi::slice(data, length))) }
    })
}

unsafe extern "C" fn digest_sign_final(ctx: *mut c_void, signature: *mut u8, length: *mut usize, size: usize) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffers OpenSSL's.
        unsafe { context(ctx).map_or(0, |ctx| ctx.digest_sign(Output { data: signature, length, size })) }
    })
}

unsafe extern "C" fn digest_verify_final(ctx: *mut c_void, signature: *const u8, length: usize) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the buffer OpenSSL's.
        unsafe { context(ctx).map_or(0, |ctx| ctx.digest_verify(abi::slice(signature, length))) }
    })
}

static GETTABLE: [Param; 6] = [
    Param::describe(c"algorithm-id", param::OCTETS, 0),
    Param::describe(c"pad-mode", param::UTF8, 0),
    Param::describe(c"digest", param::UTF8, 0),
    Param::describe(c"mgf1-digest", param::UTF8, 0),
    Param::describe(c"saltlen", param::UTF8, 0),
    Param::END,
];

unsafe extern "C" fn gettable_ctx_params(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

unsafe extern "C" fn get_ctx_params(ctx: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours.
        let Some(ctx) = (unsafe { context(ctx) }) else { return 0 };
        if let Some(operation) = &ctx.delegated {
            // SAFETY: the array is OpenSSL's.
            return unsafe { operation.get_params(params) };
        }
        fn name(named: Option<&Named>) -> &[u8] {
            named.map_or(b"", |named| named.name().to_bytes())
        }
        // SAFETY: `params` is OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
        let answered = unsafe { param::iter_mut(params) }.all(|p| match p.name().to_bytes() {
            b"algorithm-id" => ctx.identifier().is_some_and(|identifier| p.set_octets(&identifier)),
            b"pad-mode" if p.data_type == param::UTF8 => padding::name(ctx.padding).is_none_or(|name| p.set_str(name)),
            b"pad-mode" => p.set_u64(ctx.padding as u64),
            b"digest" => p.set_utf8(name(ctx.digest.as_ref())),
            b"mgf1-digest" => p.set_utf8(name(ctx.mgf1.as_ref().or(ctx.digest.as_ref()))),
            b"saltlen" if p.data_type == param::UTF8 => match ctx.salt {
                salt::DIGEST => p.set_str(c"digest"),
                salt::MAX => p.set_str(c"max"),
                salt::AUTO => p.set_str(c"auto"),
                salt::AUTO_DIGEST_MAX => p.set_str(c"auto-digestmax"),
                length => p.set_utf8(length.to_string().as_bytes()),
            },
            b"saltlen" => p.set_i64(ctx.salt),
            _ => true,
        });
        if answered {
            return 1;
        }
        // What cannot be answered is an error of OpenSSL's.
        // SAFETY: `params` is OpenSSL's parameter array, which ends and lives through the call; the walk over it has ended.
        ctx.delegate_as(ctx.kind).map_or(0, |operation| unsafe { operation.get_params(params) })
    })
}

macro_rules! settable {
    ($($name:literal),*) => { [$(Param::describe($name, param::UTF8, 0)),*, Param::END] };
}

static SETTABLE: [Param; 7] =
    settable![c"digest", c"properties", c"pad-mode", c"mgf1-digest", c"mgf1-properties", c"saltlen"];
static SETTABLE_FIXED: [Param; 5] = settable![c"pad-mode", c"mgf1-digest", c"mgf1-properties", c"saltlen"];

unsafe extern "C" fn settable_ctx_params(ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    guard(SETTABLE.as_ptr(), || {
        // SAFETY: the context is ours.
        let fixed = unsafe { context(ctx) }.is_some_and(|ctx| ctx.fixed);
        if fixed { SETTABLE_FIXED.as_ptr() } else { SETTABLE.as_ptr() }
    })
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: the context is ours, the array OpenSSL's.
        unsafe { context(ctx).map_or(0, |ctx| ctx.set(params)) }
    })
}
