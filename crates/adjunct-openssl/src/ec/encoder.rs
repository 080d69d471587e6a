//! Encoders of elliptic-curve keys on the NIST curves.
//!
//! OpenSSL writes a key by an encoder. One of the key's own provider gets the key as it is; one of another provider gets what the key exports, and
//! imports it. The default provider's import refuses a key on the curve SM2 under the name EC, although its generation makes one and its encoders
//! write it. So this module offers each of those encoders again, for its own keys alone, and gives it the key as the default provider holds it.

use super::{Delegated, State, keymgmt};
use crate::abi::param::Param;
use crate::abi::{self, Dispatch, OsslAlgorithm, guard, id};
use crate::encoders::Encoders;
use crate::entry;
use crate::fallback::{Algorithm, AlgorithmContext, Library, Template, forward};
use crate::provider::{Provider, provider};
use adjunct::config::Group;
use std::ffi::{c_char, c_int, c_void};

/// The encoders, with the library that they belong to; `None` where EC keys are not served, or there is no library.
fn encoders(provider: &Provider) -> Option<(&'static Library, &Encoders)> {
    if !provider.groups.has(Group::Ec) {
        return None;
    }
    let description = c"adjunct EC keys, written by OpenSSL";
    provider.encoders(|library| Encoders::of(library, c"EC", keymgmt::NAMES, &TABLES, description))
}

/// The list of encoders OpenSSL reads; null for none.
pub fn list(provider: &Provider) -> *const OsslAlgorithm {
    encoders(provider).map_or(std::ptr::null(), |(_, encoders)| encoders.list())
}

macro_rules! tables {
    ($($index:literal)*) => { [$(table::<$index>()),*] };
}

/// More than any version of OpenSSL has for one type of key (3.0 to 3.6: 14). Those after it would not be offered.
static TABLES: [[Dispatch; 7]; 24] = tables!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23);

/// The functions of the encoder of that index: OpenSSL does not say otherwise which one it calls.
const fn table<const INDEX: usize>() -> [Dispatch; 7] {
    [
        entry!(id::ENCODER_NEWCTX, new::<INDEX>),
        entry!(id::ENCODER_FREECTX, abi::freed::<Encoder>),
        entry!(id::ENCODER_SET_CTX_PARAMS, set_params),
        entry!(id::ENCODER_SETTABLE_CTX_PARAMS, settable_params::<INDEX>),
        entry!(id::ENCODER_DOES_SELECTION, does_selection::<INDEX>),
        entry!(id::ENCODER_ENCODE, encode),
        Dispatch::END,
    ]
}

/// A key being written.
struct Encoder {
    theirs: AlgorithmContext,
}

/// The default provider's encoder of that index, and its library.
///
/// # Safety
/// `provctx` is OpenSSL's.
unsafe fn template(provctx: *mut c_void, index: usize) -> Option<(&'static Provider, &'static Library, Template)> {
    // SAFETY: OpenSSL keeps the provider as long as its contexts.
    let provider: &'static Provider = unsafe { provider(provctx) };
    let (library, encoders) = encoders(provider)?;
    Some((provider, library, encoders.template(index)?))
}

/// Makes a context of the encoder; null leaves OpenSSL with the encoders of other providers.
///
/// # Safety
/// `provctx` is the provider context that OpenSSL got of this module.
unsafe extern "C" fn new<const INDEX: usize>(provctx: *mut c_void) -> *mut c_void {
    let null = std::ptr::null_mut();
    guard(null, || {
        // SAFETY: OpenSSL's provider context.
        let Some((provider, library, template)) = (unsafe { template(provctx, INDEX) }) else { return null };
        let Some(algorithm) = library.encoder_of_program(&provider.core, &template) else { return null };
        let context = algorithm.provider_context();
        let raw = forward!(algorithm, id::ENCODER_NEWCTX, fn(*mut c_void) -> *mut c_void, null, (context));
        // SAFETY: made by the algorithm just now.
        let theirs = unsafe { AlgorithmContext::own(algorithm, raw, id::ENCODER_FREECTX) };
        theirs.map_or(null, |theirs| abi::give(Encoder { theirs }))
    })
}

unsafe extern "C" fn does_selection<const INDEX: usize>(provctx: *mut c_void, selection: c_int) -> c_int {
    guard(0, || {
        // SAFETY: OpenSSL's provider context.
        let Some(algorithm) = (unsafe { algorithm(provctx, INDEX) }) else { return 0 };
        let context = algorithm.provider_context();
        // One without the function takes any selection.
        forward!(algorithm, id::ENCODER_DOES_SELECTION, fn(*mut c_void, c_int) -> c_int, 1, (context, selection))
    })
}

unsafe extern "C" fn settable_params<const INDEX: usize>(provctx: *mut c_void) -> *const Param {
    let null = std::ptr::null();
    guard(null, || {
        // SAFETY: OpenSSL's provider context.
        let Some(algorithm) = (unsafe { algorithm(provctx, INDEX) }) else { return null };
        let context = algorithm.provider_context();
        forward!(algorithm, id::ENCODER_SETTABLE_CTX_PARAMS, fn(*mut c_void) -> *const Param, null, (context))
    })
}

/// # Safety
/// `provctx` is OpenSSL's.
unsafe fn algorithm(provctx: *mut c_void, index: usize) -> Option<Algorithm> {
    // SAFETY: the caller passes OpenSSL's provider context.
    let (_, library, template) = unsafe { template(provctx, index) }?;
    Some(library.encoder(&template))
}

unsafe extern "C" fn set_params(context: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's.
        let Some(encoder) = (unsafe { abi::context::<Encoder>(context) }) else { return 0 };
        let (algorithm, raw) = (encoder.theirs.algorithm(), encoder.theirs.raw());
        // One without the function is passed over.
        forward!(algorithm, id::ENCODER_SET_CTX_PARAMS, fn(*mut c_void, *const Param) -> c_int, 1, (raw, params))
    })
}

/// `OSSL_PASSPHRASE_CALLBACK`.
type Passphrase = unsafe extern "C" fn(*mut c_char, usize, *mut usize, *const Param, *mut c_void) -> c_int;

unsafe extern "C" fn encode(
    context: *mut c_void,
    out: *mut c_void,
    key: *const c_void,
    parts: *const Param,
    selection: c_int,
    passphrase: Option<Passphrase>,
    argument: *mut c_void,
) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's and, as no other is taken, a key of this module's key management.
        let (encoder, key) = unsafe { (abi::context::<Encoder>(context), super::key(key)) };
        let Some(encoder) = encoder else { return 0 };
        let empty;
        let key = match key.map(|ec| (ec.provider, &*ec.state)) {
            None => std::ptr::null_mut(),
            Some((provider, state)) => {
                let delegated = match state {
                    State::Empty => {
                        empty = Delegated::empty(provider);
                        empty.as_ref()
                    }
                    State::Native(_) | State::Delegated(_) => state.delegated(provider),
                };
                let Some(delegated) = delegated else { return 0 };
                delegated.object.raw()
            }
        };
        let (algorithm, raw) = (encoder.theirs.algorithm(), encoder.theirs.raw());
        forward!(
            algorithm,
            id::ENCODER_ENCODE,
            fn(*mut c_void, *mut c_void, *const c_void, *const Param, c_int, Option<Passphrase>, *mut c_void) -> c_int,
            0,
            (raw, out, key.cast_const(), parts, selection, passphrase, argument)
        )
    })
}
