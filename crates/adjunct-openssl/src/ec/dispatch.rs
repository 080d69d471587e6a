//! The dispatch of signatures with elliptic curves (ECDSA, Ed25519), whose contexts may be the default provider's. Where ECDSA and Ed25519 differ,
//! [`Signer`] has a constant or a method for it.

use super::default_algorithm;
use crate::abi::param::Param;
use crate::abi::{self, guard, id};
use crate::fallback::{Algorithm, AlgorithmContext, forward};
use crate::provider::{Provider, provider};
use adjunct::catalogue::{Direction, Function};
use adjunct::ops;
use std::ffi::{CStr, c_char, c_int, c_void};

/// What a context was set up for; the value is the `OSSL_FUNC_*` number of that set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Sign = id::SIGNATURE_SIGN_INIT as isize,
    Verify = id::SIGNATURE_VERIFY_INIT as isize,
    DigestSign = id::SIGNATURE_DIGEST_SIGN_INIT as isize,
    DigestVerify = id::SIGNATURE_DIGEST_VERIFY_INIT as isize,
    SignMessage = id::SIGNATURE_SIGN_MESSAGE_INIT as isize,
    VerifyMessage = id::SIGNATURE_VERIFY_MESSAGE_INIT as isize,
}

impl Purpose {
    const ALL: [Purpose; 6] = [
        Purpose::Sign,
        Purpose::Verify,
        Purpose::DigestSign,
        Purpose::DigestVerify,
        Purpose::SignMessage,
        Purpose::VerifyMessage,
    ];

    /// Whether the set-up names a digest.
    pub(crate) const fn is_digest(self) -> bool {
        matches!(self, Purpose::DigestSign | Purpose::DigestVerify)
    }

    /// Whether the purpose is to sign.
    pub(crate) const fn signs(self) -> bool {
        matches!(self, Purpose::Sign | Purpose::DigestSign | Purpose::SignMessage)
    }

    fn of(function: c_int) -> Option<Purpose> {
        Purpose::ALL.into_iter().find(|purpose| *purpose as c_int == function)
    }
}

/// A signing or verifying context: the part that differs.
pub(crate) trait Signer: Sized {
    /// The default provider's name of the algorithm.
    const NAME: &'static CStr;
    /// The function that signatures count as.
    const SIGN: Function;
    /// The function that verifications count as.
    const VERIFY: Function;
    /// The parameters that contexts tell where there is no default provider.
    const GETTABLE: &'static [Param];
    /// The parameters that contexts take where there is no default provider.
    const SETTABLE: &'static [Param];

    /// A context without a key.
    fn new(provider: &'static Provider) -> Self;

    /// A copy with the same key and all that has passed through.
    fn duplicate(&self) -> Option<Self>;

    /// Sets up for `purpose`; without a key the last one is used again.
    ///
    /// # Safety
    /// The pointers are OpenSSL's.
    unsafe fn init(&mut self, purpose: Purpose, digest: *const c_char, key: *mut c_void, params: *const Param)
    -> c_int;

    /// The default provider's context, which then does everything.
    fn delegated(&self) -> Option<&AlgorithmContext>;

    /// The size by which the default provider's operations count, 0 for none.
    fn bits(&self) -> usize;

    /// Whether the default provider, which says that a signature does not fit, has looked at it: else it is an error.
    fn looked(&self, signature: usize, data: usize) -> bool;

    /// Signs; a null `out` asks for the size.
    ///
    /// # Safety
    /// `out` is null or has room for `size` bytes, `length` is valid.
    unsafe fn sign(&self, out: *mut u8, length: *mut usize, size: usize, data: &[u8]) -> c_int;

    /// Whether a signature fits; OpenSSL's result.
    fn verify(&self, signature: &[u8], data: &[u8]) -> c_int;

    /// Sets parameters; what is not for us moves the context to the default provider.
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn set(&mut self, params: *const Param) -> c_int;

    /// Answers a parameter request.
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn answer(&self, params: *mut Param) -> c_int;

    /// Counts what the default provider has done.
    fn done(&self, function: Function) {
        ops::Delegated::new(function, self.bits()).done(Direction::Encrypt, 0);
    }
}

// The property query is for fetching digests, which are not fetched here.
pub(crate) unsafe extern "C" fn newctx<S: Signer>(provctx: *mut c_void, _properties: *const c_char) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: OpenSSL keeps the provider as long as its contexts.
        abi::give(S::new(unsafe { provider(provctx) }))
    })
}

pub(crate) unsafe extern "C" fn dupctx<S: Signer>(context: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: a context of OpenSSL's.
        let copy = unsafe { abi::context::<S>(context) }.and_then(|c| c.duplicate());
        copy.map_or(std::ptr::null_mut(), abi::give)
    })
}

/// A set-up by the number of its function.
///
/// # Safety
/// OpenSSL passes null or a live context of this signer, null or a key of its type, and null or a parameter array that ends.
pub(crate) unsafe extern "C" fn init<S: Signer, const FUNCTION: c_int>(
    context: *mut c_void,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: the context, the key and the array are those that OpenSSL gave this function, and a null digest is none.
    unsafe { digest_init::<S, FUNCTION>(context, std::ptr::null(), key, params) }
}

/// A set-up with a digest, by the number of its function.
///
/// # Safety
/// OpenSSL passes null or a live context of this signer, null or a digest's name, null or a key of its type, and null or a parameter array that ends.
pub(crate) unsafe extern "C" fn digest_init<S: Signer, const FUNCTION: c_int>(
    context: *mut c_void,
    digest: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a live context of [`newctx`] or [`dupctx`] for this signer, and uses it from one thread at a time.
        let (Some(c), Some(purpose)) = (unsafe { abi::context::<S>(context) }, Purpose::of(FUNCTION)) else { return 0 };
        // SAFETY: the digest's name, the key and the array are those that OpenSSL gave this function for a set-up.
        unsafe { c.init(purpose, digest, key, params) }
    })
}

/// Signs what is given as a whole, by the function of that number.
///
/// # Safety
/// OpenSSL passes null or a live context of this signer, `data_length` readable bytes at `data`, `out` null or with room for `size` bytes, and a
/// place for the length.
pub(crate) unsafe extern "C" fn sign<S: Signer, const FUNCTION: c_int>(
    context: *mut c_void,
    out: *mut u8,
    length: *mut usize,
    size: usize,
    data: *const u8,
    data_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes a live context of this signer or null, `data_length` readable bytes at `data`, `out` null or with room for
        // `size` bytes, and a place for the length.
        unsafe {
            let Some(c) = abi::context::<S>(context) else { return 0 };
            let Some(stock) = c.delegated() else {
                return c.sign(out, length, size, abi::slice(data, data_length));
            };
            let done = stock_sign(stock, FUNCTION, (out, length, size), (data, data_length));
            if done == 1 && !out.is_null() {
                c.done(S::SIGN);
            }
            done
        }
    })
}

/// Verifies a signature of data given as a whole, by the function of that number.
///
/// # Safety
/// OpenSSL passes null or a live context of this signer, `length` readable bytes at `signature` and `data_length` at `data`.
pub(crate) unsafe extern "C" fn verify<S: Signer, const FUNCTION: c_int>(
    context: *mut c_void,
    signature: *const u8,
    length: usize,
    data: *const u8,
    data_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes a live context of this signer or null, `length` readable bytes at `signature` and `data_length` at `data`.
        unsafe {
            let Some(c) = abi::context::<S>(context) else { return 0 };
            let Some(stock) = c.delegated() else {
                return c.verify(abi::slice(signature, length), abi::slice(data, data_length));
            };
            let done = stock_verify(stock, FUNCTION, (signature, length), (data, data_length));
            // A negative result is an error.
            if done == 1 || done == 0 && c.looked(length, data_length) {
                c.done(S::VERIFY);
            }
            done
        }
    })
}

// What the installed OpenSSL tells and takes, as anything may be handed on; `-sigopt` looks names up here.

pub(crate) unsafe extern "C" fn gettable_params<S: Signer>(
    _context: *mut c_void,
    provctx: *mut c_void,
) -> *const Param {
    let ours = S::GETTABLE.as_ptr();
    // SAFETY: OpenSSL's provider context, or null.
    guard(ours, || unsafe { stock_params::<S>(provctx, id::SIGNATURE_GETTABLE_CTX_PARAMS) }.unwrap_or(ours))
}

pub(crate) unsafe extern "C" fn settable_params<S: Signer>(
    _context: *mut c_void,
    provctx: *mut c_void,
) -> *const Param {
    let ours = S::SETTABLE.as_ptr();
    // SAFETY: OpenSSL passes its provider context, or null.
    guard(ours, || unsafe { stock_params::<S>(provctx, id::SIGNATURE_SETTABLE_CTX_PARAMS) }.unwrap_or(ours))
}

pub(crate) unsafe extern "C" fn set_params<S: Signer>(context: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a live context of [`newctx`] or [`dupctx`] for this signer, and uses it from one thread at a time.
        let Some(c) = (unsafe { abi::context::<S>(context) }) else { return 0 };
        match c.delegated() {
            // SAFETY: `params` is OpenSSL's parameter array, which ends and lives through the call.
            None => unsafe { c.set(params) },
            Some(stock) => stock_set(stock, params),
        }
    })
}

pub(crate) unsafe extern "C" fn get_params<S: Signer>(context: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL passes null or a live context of [`newctx`] or [`dupctx`] for this signer, and uses it from one thread at a time.
        let Some(c) = (unsafe { abi::context::<S>(context) }) else { return 0 };
        match c.delegated() {
            // SAFETY: `params` is OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
            None => unsafe { c.answer(params) },
            Some(stock) => stock_get(stock, params),
        }
    })
}

/// A context of the default provider without a key.
fn stock_new(algorithm: Algorithm) -> Option<AlgorithmContext> {
    // Not the caller's property query: it may ask for us, and only the default provider is there.
    let (context, null) = (algorithm.provider_context(), std::ptr::null());
    let raw = forward!(
        algorithm,
        id::SIGNATURE_NEWCTX,
        fn(*mut c_void, *const c_char) -> *mut c_void,
        std::ptr::null_mut(),
        (context, null)
    );
    // SAFETY: made by the algorithm just now.
    unsafe { AlgorithmContext::own(algorithm, raw, id::SIGNATURE_FREECTX) }
}

/// What the default provider's contexts take or tell, by the function of that number.
///
/// # Safety
/// `provctx` is OpenSSL's, or null.
unsafe fn stock_params<S: Signer>(provctx: *mut c_void, function: c_int) -> Option<*const Param> {
    // SAFETY: the caller passes OpenSSL's provider context, or null.
    let algorithm = unsafe { default_algorithm(provctx, id::OP_SIGNATURE, S::NAME) }?;
    let object = stock_new(algorithm)?;
    let (raw, context, null) = (object.raw(), algorithm.provider_context(), std::ptr::null());
    let list = forward!(algorithm, function, fn(*mut c_void, *mut c_void) -> *const Param, null, (raw, context));
    (!list.is_null()).then_some(list)
}

/// A context of the default provider, set up with `key`, which is its own.
pub(crate) fn stock_begin(
    algorithm: Algorithm,
    purpose: Purpose,
    digest: Option<&CStr>,
    key: *mut c_void,
    params: *const Param,
) -> Option<AlgorithmContext> {
    let context = stock_new(algorithm)?;
    let (raw, function) = (context.raw(), purpose as c_int);
    let done = if purpose.is_digest() {
        let digest = digest.map_or(std::ptr::null(), CStr::as_ptr);
        forward!(
            algorithm,
            function,
            fn(*mut c_void, *const c_char, *mut c_void, *const Param) -> c_int,
            0,
            (raw, digest, key, params)
        )
    } else {
        forward!(algorithm, function, fn(*mut c_void, *mut c_void, *const Param) -> c_int, 0, (raw, key, params))
    };
    (done == 1).then_some(context)
}

/// Copies the default provider's context of `of`, if it has one.
pub(crate) fn stock_copy(of: Option<&AlgorithmContext>) -> Option<Option<AlgorithmContext>> {
    let Some(context) = of else { return Some(None) };
    let (algorithm, raw, null) = (context.algorithm(), context.raw(), std::ptr::null_mut());
    let copy = forward!(algorithm, id::SIGNATURE_DUPCTX, fn(*mut c_void) -> *mut c_void, null, (raw));
    // SAFETY: made by the algorithm just now.
    unsafe { AlgorithmContext::own(algorithm, copy, id::SIGNATURE_FREECTX) }.map(Some)
}

/// Signs; `out`, with where its length goes and its room, may be null.
pub(crate) fn stock_sign(
    context: &AlgorithmContext,
    function: c_int,
    (out, length, size): (*mut u8, *mut usize, usize),
    (data, data_length): (*const u8, usize),
) -> c_int {
    let (algorithm, raw) = (context.algorithm(), context.raw());
    forward!(
        algorithm,
        function,
        fn(*mut c_void, *mut u8, *mut usize, usize, *const u8, usize) -> c_int,
        0,
        (raw, out, length, size, data, data_length)
    )
}

pub(crate) fn stock_verify(
    context: &AlgorithmContext,
    function: c_int,
    (signature, length): (*const u8, usize),
    (data, data_length): (*const u8, usize),
) -> c_int {
    let (algorithm, raw) = (context.algorithm(), context.raw());
    forward!(
        algorithm,
        function,
        fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int,
        0,
        (raw, signature, length, data, data_length)
    )
}

pub(crate) fn stock_set(context: &AlgorithmContext, params: *const Param) -> c_int {
    let (algorithm, raw) = (context.algorithm(), context.raw());
    forward!(algorithm, id::SIGNATURE_SET_CTX_PARAMS, fn(*mut c_void, *const Param) -> c_int, 0, (raw, params))
}

pub(crate) fn stock_get(context: &AlgorithmContext, params: *mut Param) -> c_int {
    let (algorithm, raw) = (context.algorithm(), context.raw());
    forward!(algorithm, id::SIGNATURE_GET_CTX_PARAMS, fn(*mut c_void, *mut Param) -> c_int, 0, (raw, params))
}
