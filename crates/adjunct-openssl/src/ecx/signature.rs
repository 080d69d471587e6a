//! X25519 and Ed25519: signatures (Ed25519, RFC 8032).
//!
//! Pure Ed25519 is served here; Ed25519ctx and Ed25519ph, which OpenSSL has since 3.2, are handed to the default provider.

use super::{EcxKey, Pair};
use crate::abi::param::{self, OCTETS, Param};
use crate::abi::reason::prov;
use crate::abi::{self, Algorithm, Dispatch, id};
use crate::ec::dispatch::{
    Purpose, Signer, digest_init, dupctx, get_params, gettable_params, init, newctx, set_params, settable_params, sign,
    stock_begin, stock_copy, verify,
};
use crate::entry;
use crate::fallback;
use crate::provider::Provider;
use adjunct::catalogue::Function;
use adjunct::memory::Shared;
use adjunct::ops::ecx::ed25519::{self, SIGNATURE};
use std::ffi::{CStr, c_char, c_int, c_void};

/// What this module offers to an OpenSSL of `version`: from 3.4 on, signing a message without a digest context (an older one
/// refuses a table that has `sign` but not `sign_init`), from 3.2 on the parameters of Ed25519ctx and Ed25519ph.
pub fn algorithms(version: (u32, u32)) -> &'static [Algorithm] {
    match version {
        (3, 0 | 1) => PLAIN,
        (3, 2 | 3) => INSTANCES,
        _ => MESSAGE,
    }
}

const NAMES: &CStr = c"ED25519:1.3.101.112";
const DESCRIPTION: &std::ffi::CStr = c"adjunct Ed25519 by AWS-LC";
static PLAIN: &[Algorithm] = &[Algorithm { names: NAMES, dispatch: &PLAIN_FUNCTIONS, description: DESCRIPTION }];
static INSTANCES: &[Algorithm] = &[Algorithm { names: NAMES, dispatch: &INSTANCE_FUNCTIONS, description: DESCRIPTION }];
static MESSAGE: &[Algorithm] = &[Algorithm { names: NAMES, dispatch: &MESSAGE_FUNCTIONS, description: DESCRIPTION }];

macro_rules! table {
    ($($more:expr),* $(,)?) => {
        [
            entry!(id::SIGNATURE_NEWCTX, newctx::<EddsaContext>),
            entry!(id::SIGNATURE_FREECTX, abi::freed::<EddsaContext>),
            entry!(id::SIGNATURE_DUPCTX, dupctx::<EddsaContext>),
            entry!(id::SIGNATURE_DIGEST_SIGN_INIT, digest_init::<EddsaContext, { id::SIGNATURE_DIGEST_SIGN_INIT }>),
            entry!(id::SIGNATURE_DIGEST_SIGN, sign::<EddsaContext, { id::SIGNATURE_DIGEST_SIGN }>),
            entry!(id::SIGNATURE_DIGEST_VERIFY_INIT, digest_init::<EddsaContext, { id::SIGNATURE_DIGEST_VERIFY_INIT }>),
            entry!(id::SIGNATURE_DIGEST_VERIFY, verify::<EddsaContext, { id::SIGNATURE_DIGEST_VERIFY }>),
            entry!(id::SIGNATURE_GET_CTX_PARAMS, get_params::<EddsaContext>),
            entry!(id::SIGNATURE_GETTABLE_CTX_PARAMS, gettable_params::<EddsaContext>),
            $($more,)*
            Dispatch::END,
        ]
    };
}

static PLAIN_FUNCTIONS: [Dispatch; 10] = table!();
static INSTANCE_FUNCTIONS: [Dispatch; 12] = table!(
    entry!(id::SIGNATURE_SET_CTX_PARAMS, set_params::<EddsaContext>),
    entry!(id::SIGNATURE_SETTABLE_CTX_PARAMS, settable_params::<EddsaContext>),
);
static MESSAGE_FUNCTIONS: [Dispatch; 18] = table!(
    entry!(id::SIGNATURE_SET_CTX_PARAMS, set_params::<EddsaContext>),
    entry!(id::SIGNATURE_SETTABLE_CTX_PARAMS, settable_params::<EddsaContext>),
    entry!(id::SIGNATURE_SIGN_MESSAGE_INIT, init::<EddsaContext, { id::SIGNATURE_SIGN_MESSAGE_INIT }>),
    entry!(id::SIGNATURE_SIGN_INIT, init::<EddsaContext, { id::SIGNATURE_SIGN_INIT }>),
    entry!(id::SIGNATURE_SIGN, sign::<EddsaContext, { id::SIGNATURE_SIGN }>),
    entry!(id::SIGNATURE_VERIFY_INIT, init::<EddsaContext, { id::SIGNATURE_VERIFY_INIT }>),
    entry!(id::SIGNATURE_VERIFY_MESSAGE_INIT, init::<EddsaContext, { id::SIGNATURE_VERIFY_MESSAGE_INIT }>),
    entry!(id::SIGNATURE_VERIFY, verify::<EddsaContext, { id::SIGNATURE_VERIFY }>),
);

/// A signing or verifying context.
struct EddsaContext {
    provider: &'static Provider,
    purpose: Option<Purpose>,
    key: Option<Shared<Pair>>,
    /// The default provider's context, which then does everything.
    delegated: Option<fallback::AlgorithmContext>,
}

impl Signer for EddsaContext {
    const NAME: &'static CStr = c"ED25519";
    const SIGN: Function = Function::Ed25519Sign;
    const VERIFY: Function = Function::Ed25519Verify;
    const GETTABLE: &'static [Param] = &[Param::describe(c"algorithm-id", OCTETS, 0), Param::END];
    const SETTABLE: &'static [Param] = &[Param::END];

    fn new(provider: &'static Provider) -> EddsaContext {
        EddsaContext { provider, purpose: None, key: None, delegated: None }
    }

    fn duplicate(&self) -> Option<EddsaContext> {
        let (key, delegated) = (self.key.clone(), stock_copy(self.delegated())?);
        Some(EddsaContext { key, delegated, ..*self })
    }

    unsafe fn init(
        &mut self,
        purpose: Purpose,
        digest: *const c_char,
        key: *mut c_void,
        params: *const Param,
    ) -> c_int {
        // SAFETY: the caller passes OpenSSL's pointers: a key of this module's key management or null, and a C string or null.
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
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        unsafe { self.set(params) }
    }

    fn delegated(&self) -> Option<&fallback::AlgorithmContext> {
        self.delegated.as_ref()
    }

    fn bits(&self) -> usize {
        0
    }

    /// OpenSSL looks at no signature of another length, and has the same result for it.
    fn looked(&self, signature: usize, _data: usize) -> bool {
        signature == SIGNATURE
    }

    unsafe fn sign(&self, out: *mut u8, length: *mut usize, size: usize, message: &[u8]) -> c_int {
        if !out.is_null() {
            if size < SIGNATURE {
                self.provider.core.raise(prov::OUTPUT_BUFFER_TOO_SMALL);
                return 0;
            }
            let pair = self.key.as_deref();
            let halves = pair.and_then(|pair| Some((pair.private.as_ref()?, pair.public.as_ref()?)));
            let signed = halves.map(|(private, public)| ed25519::sign(private, public, message));
            if let Some(Err(error)) = &signed
                && self.provider.is_final(error)
            {
                return 0;
            }
            let Some(Ok(signature)) = signed else {
                self.provider.core.raise(prov::NOT_A_PRIVATE_KEY);
                return 0;
            };
            // SAFETY: `out` is not null, so by the caller's word it has room for `size` bytes, at least a signature.
            unsafe { abi::slice_mut(out, SIGNATURE).copy_from_slice(&signature) };
        }
        // SAFETY: the caller passes a valid place for the length.
        unsafe { *length = SIGNATURE };
        1
    }

    fn verify(&self, signature: &[u8], message: &[u8]) -> c_int {
        let public = self.key.as_ref().and_then(|pair| pair.public.as_ref());
        let (Some(public), Ok(signature)) = (public, signature.try_into()) else { return 0 };
        c_int::from(ed25519::verify(public, message, signature))
    }

    unsafe fn set(&mut self, params: *const Param) -> c_int {
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        let other = unsafe { param::iter(params) }.any(|p| match p.name().to_bytes() {
            b"instance" => !p.get_str().is_some_and(|name| name.eq_ignore_ascii_case("Ed25519")),
            b"context-string" => p.get_octets().is_none_or(|context| !context.is_empty()),
            _ => false,
        });
        if other { c_int::from(self.delegate(params)) } else { 1 }
    }

    unsafe fn answer(&self, params: *mut Param) -> c_int {
        let instances = self.provider.version >= (3, 2);
        // SAFETY: the caller passes OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
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
    }
}

impl EddsaContext {
    /// Hands the context to the default provider, set up as it was here and with `params`.
    fn delegate(&mut self, params: *const Param) -> bool {
        let set_up = || {
            let algorithm = self.provider.fallback()?.algorithm(id::OP_SIGNATURE, EddsaContext::NAME)?;
            // The context takes a reference of its own.
            let key = self.key.as_ref()?.delegated::<true>(self.provider)?;
            stock_begin(algorithm, self.purpose?, None, key.raw(), params)
        };
        let Some(context) = set_up() else { return false };
        self.delegated = Some(context);
        true
    }
}
