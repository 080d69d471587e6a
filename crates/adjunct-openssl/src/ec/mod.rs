//! Elliptic-curve keys on the NIST curves.
//!
//! P-256, P-384 and P-521 as named curves are served here; every other key (another curve, explicit parameters, the
//! cofactor flag, a scalar out of range, ...) is held by OpenSSL's default provider and every call on it is passed on, but
//! for signatures on P-192 and three of Brainpool's curves where the lanes have them.

pub(crate) mod dispatch;
pub mod encoder;
pub mod exchange;
mod generate;
pub mod keymgmt;
mod params;
pub mod signature;
mod signing;

use crate::abi::build::Builder;
use crate::abi::param::{Param, UNSIGNED, UTF8};
use crate::abi::{self, id};
use crate::fallback::{Algorithm, AlgorithmContext, forward};
use crate::provider::Provider;
use adjunct::memory::Shared;
use adjunct::ops;
use adjunct::ops::ec::{Curve, EcKey, Form, Group, MAX_FIELD, MAX_POINT};
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;
use zeroize::Zeroizing;

/// `OSSL_KEYMGMT_SELECT_KEYPAIR`.
pub(crate) const KEYPAIR: c_int = id::KEYMGMT_SELECT_PRIVATE_KEY | id::KEYMGMT_SELECT_PUBLIC_KEY;

/// What OpenSSL holds as key data. Operations keep a reference to the state they started with.
#[derive(Debug)]
pub struct ProviderEcKey {
    provider: &'static Provider,
    state: Shared<State>,
}

/// The key behind a pointer of OpenSSL's. Shared: several threads may hold the same key.
///
/// # Safety
/// `key` is null or came from [`key_of`] and has not been freed.
unsafe fn key<'a>(key: *const c_void) -> Option<&'a ProviderEcKey> {
    // SAFETY: the caller passes null or a key from `key_of` that has not been freed.
    unsafe { key.cast::<ProviderEcKey>().as_ref() }
}

/// A new key for OpenSSL; null where there is no memory for it.
fn key_of(provider: &'static Provider, state: State) -> *mut c_void {
    Shared::new(state).map_or(std::ptr::null_mut(), |state| abi::give(ProviderEcKey { provider, state }))
}

/// A key.
#[derive(Debug)]
pub enum State {
    /// Neither parameters nor a key yet.
    Empty,
    /// Served here.
    Native(Native),
    /// Held by the default provider.
    Delegated(Delegated),
}

/// A key, or just the parameters, of a curve served here.
#[derive(Debug)]
pub struct Native {
    curve: Curve,
    // OpenSSL keeps one form for the group's generator and one for the key's point, which most calls set together.
    group_form: Form,
    key_form: Form,
    include_public: bool,
    key: Option<EcKey>,
    twin: OnceLock<Option<Delegated>>,
}

/// A key of the default provider.
#[derive(Debug)]
pub struct Delegated {
    object: AlgorithmContext,
    bits: usize,
    signer: OnceLock<Option<EcKey>>,
}

impl Delegated {
    fn algorithm(provider: &Provider) -> Option<Algorithm> {
        provider.fallback()?.algorithm(id::OP_KEYMGMT, c"EC")
    }

    /// Takes over a finished key made by the default provider's key management.
    fn own(provider: &Provider, object: AlgorithmContext) -> Delegated {
        let mut delegated = Delegated { object, bits: 0, signer: OnceLock::new() };
        delegated.measure(provider);
        delegated
    }

    /// An empty key.
    fn empty(provider: &Provider) -> Option<Delegated> {
        let algorithm = Delegated::algorithm(provider)?;
        let null = std::ptr::null_mut();
        let context = algorithm.provider_context();
        let raw = forward!(algorithm, id::KEYMGMT_NEW, fn(*mut c_void) -> *mut c_void, null, (context));
        // SAFETY: made by the algorithm just now.
        let object = unsafe { AlgorithmContext::own(algorithm, raw, id::KEYMGMT_FREE) }?;
        Some(Delegated { object, bits: 0, signer: OnceLock::new() })
    }

    /// Asks for the size of the curve, which the counters need; a key without a group has none, and the error that OpenSSL raises for that is not the
    /// caller's.
    fn measure(&mut self, provider: &Provider) {
        let mut bits: c_int = 0;
        let mut request = [Param::describe(c"bits", crate::abi::param::INTEGER, 4), Param::END];
        request[0].data = (&raw mut bits).cast();
        if let Some(library) = provider.fallback() {
            library.errors().quietly(|| self.call(id::KEYMGMT_GET_PARAMS, request.as_mut_ptr()));
        }
        self.bits = usize::try_from(bits).unwrap_or(0);
    }

    fn import(provider: &Provider, selection: c_int, params: *const Param) -> Option<Delegated> {
        // SAFETY: the array is OpenSSL's or of this module, ends and lives through the call.
        let private = unsafe { crate::abi::param::find(params, c"priv") }.and_then(Param::get_bignum);
        let leaves = private.map(Zeroizing::new).map_or(Ok(()), |private| ops::may_leave(&private));
        if leaves.is_err_and(|error| provider.is_final(&error)) {
            return None;
        }
        let mut delegated = Delegated::empty(provider)?;
        let (algorithm, raw) = (delegated.object.algorithm(), delegated.object.raw());
        let done = forward!(
            algorithm,
            id::KEYMGMT_IMPORT,
            fn(*mut c_void, c_int, *const Param) -> c_int,
            0,
            (raw, selection, params)
        );
        if done != 1 {
            return None;
        }
        delegated.measure(provider);
        Some(delegated)
    }

    /// The private key as the core signs with it, on a curve whose signatures the lanes share the work of; made at the first call.
    fn signer(&self, provider: &Provider) -> Option<&EcKey> {
        self.signer.get_or_init(|| self.make_signer(provider)).as_ref()
    }

    fn make_signer(&self, provider: &Provider) -> Option<EcKey> {
        let ask = |request: &mut [Param; 2]| {
            let asked = || self.call(id::KEYMGMT_GET_PARAMS, request.as_mut_ptr());
            provider.fallback()?.errors().quietly(asked).eq(&1).then_some(())
        };
        let mut name = [0u8; 32];
        let mut request = [Param::describe(c"group", UTF8, name.len()), Param::END];
        request[0].data = name.as_mut_ptr().cast();
        ask(&mut request)?;
        let group = shared_of(request[0].get_str()?).filter(|group| group.has_lanes_alone())?;
        let mut raw = Zeroizing::new([0u8; MAX_FIELD]);
        let mut request = [Param::describe(c"priv", UNSIGNED, raw.len()), Param::END];
        request[0].data = raw.as_mut_ptr().cast();
        ask(&mut request)?;
        let mut scalar = Zeroizing::new([0; MAX_FIELD]);
        let scalar = &mut scalar[..group.field_len()];
        request[0].get_number(scalar)?;
        EcKey::new(group, None, Some(scalar)).ok()
    }

    /// Calls a function that takes the key and a parameter array.
    fn call(&self, function: c_int, params: *mut Param) -> c_int {
        let (algorithm, raw) = (self.object.algorithm(), self.object.raw());
        forward!(algorithm, function, fn(*mut c_void, *mut Param) -> c_int, 0, (raw, params))
    }
}

impl Native {
    fn new(curve: Curve, key: Option<EcKey>) -> Native {
        let form = Form::Uncompressed;
        let twin = OnceLock::new();
        Native { curve, group_form: form, key_form: form, include_public: true, key, twin }
    }

    /// Copies the parameters and settings, with `key` in place of this key.
    fn with_key(&self, key: Option<EcKey>) -> Native {
        let &Native { curve, group_form, key_form, include_public, .. } = self;
        Native { curve, group_form, key_form, include_public, key, twin: OnceLock::new() }
    }

    fn public_part<'a>(&self, form: Form, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        self.key.as_ref()?.public(form, out)
    }

    /// A copy of this key in the default provider, for what only that provider can do; made at the first call.
    fn twin(&self, provider: &Provider) -> Option<&Delegated> {
        let make = || {
            let mut builder = Builder::default();
            params::describe(self, id::KEYMGMT_SELECT_DOMAIN_PARAMETERS | KEYPAIR, &mut builder);
            if !self.include_public {
                builder.int(c"include-public", 0);
            }
            // OTHER_PARAMETERS, to take the point format for the key as well.
            let mut selection = id::KEYMGMT_SELECT_DOMAIN_PARAMETERS | id::KEYMGMT_SELECT_OTHER_PARAMETERS;
            if self.key.is_some() {
                selection |= KEYPAIR;
            }
            let delegated = Delegated::import(provider, selection, builder.finish()?)?;
            let mut point = [0; MAX_POINT];
            if self.key_form != self.group_form
                && let Some(public) = self.public_part(self.key_form, &mut point)
            {
                // Setting a point sets the form for the key alone.
                let mut builder = Builder::default();
                builder.octets(c"encoded-pub-key", public);
                delegated.call(id::KEYMGMT_SET_PARAMS, builder.finish()?);
            }
            Some(delegated)
        };
        self.twin.get_or_init(make).as_ref()
    }
}

impl State {
    /// The key in the default provider.
    fn delegated(&self, provider: &Provider) -> Option<&Delegated> {
        match self {
            State::Empty => None,
            State::Native(native) => native.twin(provider),
            State::Delegated(delegated) => Some(delegated),
        }
    }
}

/// The curve a group name stands for, where it is served here. Names OpenSSL would compare without regard to case are;
/// one it might refuse is left to it.
fn curve_of(name: &str) -> Option<Curve> {
    match name {
        "P-256" => return Some(Curve::P256),
        "P-384" => return Some(Curve::P384),
        "P-521" => return Some(Curve::P521),
        _ => {}
    }
    let is = |n: &str| name.eq_ignore_ascii_case(n);
    // Not "secp256r1": OpenSSL 3.0 knows no such name, and later ones are asked.
    if is("prime256v1") {
        Some(Curve::P256)
    } else if is("secp384r1") {
        Some(Curve::P384)
    } else if is("secp521r1") {
        Some(Curve::P521)
    } else {
        None
    }
}

/// The curve of a name that OpenSSL reports, of those that the default provider has the keys of and the lanes sign on.
fn shared_of(name: &str) -> Option<Group> {
    match name {
        "prime192v1" => Some(Group::P192),
        "brainpoolP256r1" => Some(Group::BrainpoolP256r1),
        "brainpoolP384r1" => Some(Group::BrainpoolP384r1),
        "brainpoolP512r1" => Some(Group::BrainpoolP512r1),
        _ => None,
    }
}

/// The group name OpenSSL reports.
fn name_of(curve: Curve) -> &'static CStr {
    match curve {
        Curve::P256 => c"prime256v1",
        Curve::P384 => c"secp384r1",
        Curve::P521 => c"secp521r1",
    }
}

fn form_of(name: &str) -> Option<Form> {
    let is = |n: &str| name.eq_ignore_ascii_case(n);
    if is("uncompressed") {
        Some(Form::Uncompressed)
    } else if is("compressed") {
        Some(Form::Compressed)
    } else if is("hybrid") {
        Some(Form::Hybrid)
    } else {
        None
    }
}

fn form_name(form: Form) -> &'static CStr {
    match form {
        Form::Uncompressed => c"uncompressed",
        Form::Compressed => c"compressed",
        Form::Hybrid => c"hybrid",
    }
}

/// The parameters that keys of that name tell in the default provider: newer versions have more.
///
/// # Safety
/// `provctx` is OpenSSL's, or null.
pub(crate) unsafe fn key_params(provctx: *mut c_void, name: &CStr) -> Option<*const Param> {
    // SAFETY: the caller passes OpenSSL's provider context, or null.
    let algorithm = unsafe { default_algorithm(provctx, id::OP_KEYMGMT, name) }?;
    let context = algorithm.provider_context();
    let null = std::ptr::null();
    let list = forward!(algorithm, id::KEYMGMT_GETTABLE_PARAMS, fn(*mut c_void) -> *const Param, null, (context));
    (!list.is_null()).then_some(list)
}

/// # Safety
/// `provctx` is OpenSSL's, or null.
unsafe fn default_algorithm(provctx: *mut c_void, operation: c_int, name: &CStr) -> Option<Algorithm> {
    if provctx.is_null() {
        return None;
    }
    // SAFETY: the caller passes OpenSSL's provider context, which is not null, and OpenSSL keeps the provider as long as that is in use.
    unsafe { crate::provider::provider(provctx) }.fallback()?.algorithm(operation, name)
}
