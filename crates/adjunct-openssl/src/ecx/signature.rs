//! X25519 and Ed25519: signatures (Ed25519, RFC 8032).
//!
//! Pure Ed25519 is served here; Ed25519ctx and Ed25519ph, which OpenSSL has since 3.2, are handed to the default provider.

use super::{EcxKey, Pair};
use crate::abi::param::{self, OCTETS, Param};
use crate::abi::reason::prov;
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::{self, forward};
use crate::provider::{Provider, provider};
use adjunct::catalogue::{Direction, Function};
use adjunct::memory::Shared;
use adjunct::ops;
use adjunct::ops::ecx::ed25519::{self, SIGNATURE};
use std::ffi::{c_char, c_int, c_void};

/// What this module offers to an OpenSSL of `version`: from 3.4 on, signing a message without a digest context (an older one
/// refuses a table that has `sign` but not `sign_init`), from 3.2 on the parameters of Ed25519ctx and Ed25519ph.
pub fn algorithms(version: (u32, u32)) -> &'static [Algorithm] {
    match version {
        (3, 0 | 1) => PLAIN,
        (3, 2 | 3) => INSTANCES,
        _ => MESSAGE,
    }
}

const NAMES: &std::ffi::CStr = c"ED25519:1.3.101.112";
const DESCRIPTION: &std::ffi::CStr = c"adjunct Ed25519 by AWS-LC";
static PLAIN: &[Algorithm] = &[Algorithm { names: NAMES, dispatch: &PLAIN_FUNCTIONS, description: DESCRIPTION }];
static INSTANCES: &[Algorithm] = &[Algorithm { names: NAMES, dispatch: &INSTANCE_FUNCTIONS, description: DESCRIPTION }];
static MESSAGE: &[Algorithm] = &[Algorithm { names: NAMES, dispatch: &MESSAGE_FUNCTIONS, description: DESCRIPTION }];

macro_rules! table {
    ($($more:expr),* $(,)?) => {
        [
            entry!(id::SIGNATURE_NEWCTX, newctx),
            entry!(id::SIGNATURE_FREECTX, abi::freed::<Context>),
            entry!(id::SIGNATURE_DUPCTX, dupctx),
            entry!(id::SIGNATURE_DIGEST_SIGN_INIT, digest_sign_init),
            entry!(id::SIGNATURE_DIGEST_SIGN, digest_sign),
            entry!(id::SIGNATURE_DIGEST_VERIFY_INIT, digest_verify_init),
            entry!(id::SIGNATURE_DIGEST_VERIFY, digest_verify),
            entry!(id::SIGNATURE_GET_CTX_PARAMS, get_params),
            entry!(id::SIGNATURE_GETTABLE_CTX_PARAMS, gettable_params),
            $($more,)*
            Dispatch::END,
        ]
    };
}

static PLAIN_FUNCTIONS: [Dispatch; 10] = table!();
static INSTANCE_FUNCTIONS: [Dispatch; 12] = table!(
    entry!(id::SIGNATURE_SET_CTX_PARAMS, set_params),
    entry!(id::SIGNATURE_SETTABLE_CTX_PARAMS, settable_params),
);
static MESSAGE_FUNCTIONS: [Dispatch; 18] = table!(
    entry!(id::SIGNATURE_SET_CTX_PARAMS, set_params),
    entry!(id::SIGNATURE_SETTABLE_CTX_PARAMS, settable_params),
    entry!(id::SIGNATURE_SIGN_MESSAGE_INIT, sign_message_init),
    entry!(id::SIGNATURE_SIGN_INIT, sign_init),
    entry!(id::SIGNATURE_SIGN, sign),
    entry!(id::SIGNATURE_VERIFY_INIT, verify_init),
    entry!(id::SIGNATURE_VERIFY_MESSAGE_INIT, verify_message_init),
    entry!(id::SIGNATURE_VERIFY, verify),
);

/// What a context was set up for; the value is the `OSSL_FUNC_*` number of that set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    DigestSign = id::SIGNATURE_DIGEST_SIGN_INIT as isize,
    DigestVerify = id::SIGNATURE_DIGEST_VERIFY_INIT as isize,
    SignMessage = id::SIGNATURE_SIGN_MESSAGE_INIT as isize,
    VerifyMessage = id::SIGNATURE_VERIFY_MESSAGE_INIT as isize,
    /// Signing what may be a digest: what that means has changed between versions, so OpenSSL's own does it.
    Sign = id::SIGNATURE_SIGN_INIT as isize,
    Verify = id::SIGNATURE_VERIFY_INIT as isize,
}

/// A signing or verifying context.
struct Context {
    provider: &'static Provider,
    purpose: Option<Purpose>,
    key: Option<Shared<Pair>>,
    /// The default provider's context, which then does everything.
    delegated: Option<fallback::Context>,
}

unsafe extern "C" fn newctx(provctx: *mut c_void, _properties: *const c_char) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: OpenSSL keeps the provider as long as its contexts.
        let provider = unsafe { provider(provctx) };
        abi::give(Context { provider, purpose: None, key: None, delegated: None })
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

impl Context {
    fn duplicate(&self) -> Option<Context> {
        let delegated = match self.raw() {
            None => None,
            Some((algorithm, raw)) => {
                let null = std::ptr::null_mut();
                let raw = forward!(algorithm, id::SIGNATURE_DUPCTX, fn(*mut c_void) -> *mut c_void, null, (raw));
                // SAFETY: made by the algorithm just now.
                Some(unsafe { fallback::Context::own(algorithm, raw, id::SIGNATURE_FREECTX) }?)
            }
        };
        let key = self.key.clone();
        Some(Context { key, delegated, ..*self })
    }

    /// Sets up for `purpose`; without a key the last one is used again.
    ///
    /// # Safety
    /// The pointers are OpenSSL's.
    unsafe fn init(
        &mut self,
        purpose: Purpose,
        digest: *const c_char,
        key: *mut c_void,
        params: *const Param,
    ) -> c_int {
        // SAFETY: see above.
        let (key, named) = unsafe { (key.cast::<EcxKey>().as_ref(), !digest.is_null() && *digest != 0) };
        if named {
            self.provider.core.raise(prov::INVALID_DIGEST);
            return 0;
        }
        match key {
            Some(key) => self.key = Some(key.pair.clone()),
            None if self.key.is_none() => {
                self.provider.core.raise(prov::MISSING_KEY);
                return 0;
            }
            None => {}
        }
        self.purpose = Some(purpose);
        self.delegated = None;
        // An encoding of a public key that decoders disagree on: OpenSSL's says what OpenSSL accepts.
        let public = self.key.as_ref().and_then(|pair| pair.public.as_ref());
        let odd = public.is_some_and(|public| !ed25519::is_ordinary(public));
        if odd || matches!(purpose, Purpose::Sign | Purpose::Verify) {
            return c_int::from(self.delegate(params));
        }
        // SAFETY: see above.
        unsafe { self.set(params) }
    }

    /// Sets parameters; the other instances of Ed25519 move the context to the default provider.
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn set(&mut self, params: *const Param) -> c_int {
        // SAFETY: see above.
        let other = unsafe { param::iter(params) }.any(|p| match p.name().to_bytes() {
            b"instance" => !p.get_str().is_some_and(|name| name.eq_ignore_ascii_case("Ed25519")),
            b"context-string" => p.get_octets().is_none_or(|context| !context.is_empty()),
            _ => false,
        });
        if other { c_int::from(self.delegate(params)) } else { 1 }
    }

    /// Hands the context to the default provider, set up as it was here and with `params`.
    fn delegate(&mut self, params: *const Param) -> bool {
        let set_up = || {
            let algorithm = self.provider.fallback()?.algorithm(id::OP_SIGNATURE, c"ED25519")?;
            // The context takes a reference of its own.
            let key = self.key.as_ref()?.delegated::<true>(self.provider)?;
            let (context, null) = (algorithm.provider_context(), std::ptr::null());
            let raw = forward!(
                algorithm,
                id::SIGNATURE_NEWCTX,
                fn(*mut c_void, *const c_char) -> *mut c_void,
                std::ptr::null_mut(),
                (context, null)
            );
            // SAFETY: made by the algorithm just now.
            let context = unsafe { fallback::Context::own(algorithm, raw, id::SIGNATURE_FREECTX) }?;
            let (raw, object, purpose) = (context.raw(), key.raw(), self.purpose?);
            let done = match purpose {
                Purpose::SignMessage | Purpose::VerifyMessage | Purpose::Sign | Purpose::Verify => forward!(
                    algorithm,
                    purpose as c_int,
                    fn(*mut c_void, *mut c_void, *const Param) -> c_int,
                    0,
                    (raw, object, params)
                ),
                Purpose::DigestSign | Purpose::DigestVerify => forward!(
                    algorithm,
                    purpose as c_int,
                    fn(*mut c_void, *const c_char, *mut c_void, *const Param) -> c_int,
                    0,
                    (raw, null, object, params)
                ),
            };
            (done == 1).then_some(context)
        };
        let Some(context) = set_up() else { return false };
        self.delegated = Some(context);
        true
    }

    fn raw(&self) -> Option<(fallback::Algorithm, *mut c_void)> {
        self.delegated.as_ref().map(|d| (d.algorithm(), d.raw()))
    }

    /// Signs `message`; a null `out` asks for the size.
    ///
    /// # Safety
    /// `out` is null or has room for `size` bytes, `length` is valid.
    unsafe fn sign(&self, out: *mut u8, length: *mut usize, size: usize, message: &[u8]) -> c_int {
        if !out.is_null() {
            if size < SIGNATURE {
                self.provider.core.raise(prov::OUTPUT_BUFFER_TOO_SMALL);
                return 0;
            }
            let pair = self.key.as_deref();
            let halves = pair.and_then(|pair| Some((pair.private.as_ref()?, pair.public.as_ref()?)));
            let signed = halves.map(|(private, public)| ed25519::sign(private, public, message));
            let Some(Ok(signature)) = signed else {
                self.provider.core.raise(prov::NOT_A_PRIVATE_KEY);
                return 0;
            };
            // SAFETY: see above.
            unsafe { abi::slice_mut(out, SIGNATURE).copy_from_slice(&signature) };
        }
        // SAFETY: see above.
        unsafe { *length = SIGNATURE };
        1
    }

    fn verify(&self, signature: &[u8], message: &[u8]) -> c_int {
        let public = self.key.as_ref().and_then(|pair| pair.public.as_ref());
        let (Some(public), Ok(signature)) = (public, signature.try_into()) else { return 0 };
        c_int::from(ed25519::verify(public, message, signature))
    }
}

unsafe extern "C" fn digest_sign_init(
    context: *mut c_void,
    digest: *const c_char,
    key: *mut c_void,
    params: *const Param,
) -> c_int {
    // SAFETY: pointers from OpenSSL. So below.
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

unsafe extern "C" fn sign_message_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    let none = std::ptr::null();
    // SAFETY: as above.
    guard(0, || unsafe { context_of(context).map_or(0, |c| c.init(Purpose::SignMessage, none, key, params)) })
}

unsafe extern "C" fn sign_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    let none = std::ptr::null();
    // SAFETY: as above.
    guard(0, || unsafe { context_of(context).map_or(0, |c| c.init(Purpose::Sign, none, key, params)) })
}

unsafe extern "C" fn verify_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    let none = std::ptr::null();
    // SAFETY: as above.
    guard(0, || unsafe { context_of(context).map_or(0, |c| c.init(Purpose::Verify, none, key, params)) })
}

unsafe extern "C" fn verify_message_init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    let none = std::ptr::null();
    // SAFETY: as above.
    guard(0, || unsafe { context_of(context).map_or(0, |c| c.init(Purpose::VerifyMessage, none, key, params)) })
}

unsafe fn run_sign(
    context: *mut c_void,
    function: c_int,
    (out, length, size): (*mut u8, *mut usize, usize),
    (message, message_len): (*const u8, usize),
) -> c_int {
    guard(0, || {
        // SAFETY: as above.
        let Some(c) = (unsafe { context_of(context) }) else { return 0 };
        let Some((algorithm, raw)) = c.raw() else {
            // SAFETY: as above.
            return unsafe { c.sign(out, length, size, abi::slice(message, message_len)) };
        };
        let done = forward!(
            algorithm,
            function,
            fn(*mut c_void, *mut u8, *mut usize, usize, *const u8, usize) -> c_int,
            0,
            (raw, out, length, size, message, message_len)
        );
        if done == 1 && !out.is_null() {
            ops::Delegated::new(Function::Ed25519Sign, 0).done(Direction::Encrypt, 0);
        }
        done
    })
}

unsafe fn run_verify(
    context: *mut c_void,
    function: c_int,
    (signature, length): (*const u8, usize),
    (message, message_len): (*const u8, usize),
) -> c_int {
    guard(0, || {
        // SAFETY: as above.
        let Some(c) = (unsafe { context_of(context) }) else { return 0 };
        let Some((algorithm, raw)) = c.raw() else {
            // SAFETY: as above.
            return unsafe { c.verify(abi::slice(signature, length), abi::slice(message, message_len)) };
        };
        let done = forward!(
            algorithm,
            function,
            fn(*mut c_void, *const u8, usize, *const u8, usize) -> c_int,
            0,
            (raw, signature, length, message, message_len)
        );
        // OpenSSL looks at no signature of another length, and has the same result for it.
        if done == 1 || done == 0 && length == SIGNATURE {
            ops::Delegated::new(Function::Ed25519Verify, 0).done(Direction::Encrypt, 0);
        }
        done
    })
}

macro_rules! runs {
    ($($sign:ident $sign_id:ident, $verify:ident $verify_id:ident;)*) => {$(
        unsafe extern "C" fn $sign(
            context: *mut c_void, out: *mut u8, length: *mut usize, size: usize, message: *const u8, message_len: usize,
        ) -> c_int {
            // SAFETY: as above.
            unsafe { run_sign(context, id::$sign_id, (out, length, size), (message, message_len)) }
        }

        unsafe extern "C" fn $verify(
            context: *mut c_void, signature: *const u8, length: usize, message: *const u8, message_len: usize,
        ) -> c_int {
            // SAFETY: as above.
            unsafe { run_verify(context, id::$verify_id, (signature, length), (message, message_len)) }
        }
    )*};
}

runs! {
    digest_sign SIGNATURE_DIGEST_SIGN, digest_verify SIGNATURE_DIGEST_VERIFY;
    sign SIGNATURE_SIGN, verify SIGNATURE_VERIFY;
}

static GETTABLE: [Param; 2] = [Param::describe(c"algorithm-id", OCTETS, 0), Param::END];
static SETTABLE: [Param; 1] = [Param::END];

// What the installed OpenSSL tells and takes, as anything may be handed on; `-sigopt` looks names up here.

unsafe extern "C" fn gettable_params(_context: *mut c_void, provctx: *mut c_void) -> *const Param {
    // SAFETY: OpenSSL's provider context, or null.
    let list = || unsafe { crate::ec::signature_params(provctx, c"ED25519", id::SIGNATURE_GETTABLE_CTX_PARAMS) };
    guard(GETTABLE.as_ptr(), || list().unwrap_or(GETTABLE.as_ptr()))
}

unsafe extern "C" fn settable_params(_context: *mut c_void, provctx: *mut c_void) -> *const Param {
    // SAFETY: as above.
    let list = || unsafe { crate::ec::signature_params(provctx, c"ED25519", id::SIGNATURE_SETTABLE_CTX_PARAMS) };
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
        let instances = c.provider.version >= (3, 2);
        // SAFETY: the array is OpenSSL's.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                // SEQUENCE { OID id-Ed25519 } (RFC 8410).
                b"algorithm-id" => p.set_octets(b"\x30\x05\x06\x03\x2b\x65\x70"),
                b"instance" if instances => p.set_str(c"Ed25519"),
                b"context-string" if instances => p.set_octets(&[]),
                _ => true,
            };
            if !done {
                return 0;
            }
        }
        1
    })
}
