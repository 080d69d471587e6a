//! Elliptic-curve keys on the NIST curves: keys.

use super::params::{self, NOT_NATIVE, NotNative};
use super::{Delegated, KEYPAIR, Native, ProviderEcKey, State, generate, key, key_of};
use crate::abi::build::Builder;
use crate::abi::param::{self, Param};
use crate::abi::reason::prov;
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::{AlgorithmContext, forward};
use crate::provider::provider;
use adjunct::memory::Shared;
use adjunct::ops::ec::{EcKey, Form, MAX_POINT};
use std::ffi::{CStr, c_char, c_int, c_void};

/// The names of this module's keys, as in the default provider.
pub(super) const NAMES: &CStr = c"EC:id-ecPublicKey:1.2.840.10045.2.1";

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm {
    names: NAMES,
    dispatch: &FUNCTIONS,
    description: c"adjunct EC keys: P-256, P-384, P-521 by AWS-LC, other curves by OpenSSL",
}];

static FUNCTIONS: [Dispatch; 22] = [
    entry!(id::KEYMGMT_NEW, new),
    entry!(id::KEYMGMT_FREE, abi::freed::<ProviderEcKey>),
    entry!(id::KEYMGMT_GEN_INIT, generate::init),
    entry!(id::KEYMGMT_GEN_SET_TEMPLATE, generate::set_template),
    entry!(id::KEYMGMT_GEN_SET_PARAMS, generate::set_params),
    entry!(id::KEYMGMT_GEN_SETTABLE_PARAMS, generate::settable_params),
    entry!(id::KEYMGMT_GEN, generate::run),
    entry!(id::KEYMGMT_GEN_CLEANUP, generate::cleanup),
    entry!(id::KEYMGMT_GET_PARAMS, get_params),
    entry!(id::KEYMGMT_GETTABLE_PARAMS, gettable_params),
    entry!(id::KEYMGMT_SET_PARAMS, set_params),
    entry!(id::KEYMGMT_SETTABLE_PARAMS, settable_params),
    entry!(id::KEYMGMT_QUERY_OPERATION_NAME, query_operation_name),
    entry!(id::KEYMGMT_HAS, has),
    entry!(id::KEYMGMT_VALIDATE, validate),
    entry!(id::KEYMGMT_MATCH, same),
    entry!(id::KEYMGMT_IMPORT, import),
    entry!(id::KEYMGMT_IMPORT_TYPES, transfer_types),
    entry!(id::KEYMGMT_EXPORT, export),
    entry!(id::KEYMGMT_EXPORT_TYPES, transfer_types),
    entry!(id::KEYMGMT_DUP, dup),
    Dispatch::END,
];

unsafe extern "C" fn new(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: OpenSSL keeps the provider as long as its keys.
        let provider = unsafe { provider(provctx) };
        key_of(provider, State::Empty)
    })
}

unsafe extern "C" fn query_operation_name(operation: c_int) -> *const c_char {
    match operation {
        id::OP_KEYEXCH => c"ECDH".as_ptr(),
        id::OP_SIGNATURE => c"ECDSA".as_ptr(),
        _ => std::ptr::null(),
    }
}

const POSSIBLE: c_int = KEYPAIR | id::KEYMGMT_SELECT_DOMAIN_PARAMETERS | id::KEYMGMT_SELECT_OTHER_PARAMETERS;

unsafe extern "C" fn has(keydata: *const c_void, selection: c_int) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's.
        let Some(ec) = (unsafe { key(keydata) }) else { return 0 };
        if selection & POSSIBLE == 0 {
            return 1;
        }
        match &*ec.state {
            State::Empty => c_int::from(selection & (KEYPAIR | id::KEYMGMT_SELECT_DOMAIN_PARAMETERS) == 0),
            State::Native(native) => c_int::from(has_parts(native, selection)),
            State::Delegated(d) => {
                let (algorithm, raw) = (d.object.algorithm(), d.object.raw());
                forward!(algorithm, id::KEYMGMT_HAS, fn(*const c_void, c_int) -> c_int, 0, (raw, selection))
            }
        }
    })
}

fn has_parts(native: &Native, selection: c_int) -> bool {
    let part = |bit, has: fn(&EcKey) -> bool| selection & bit == 0 || native.key.as_ref().is_some_and(has);
    part(id::KEYMGMT_SELECT_PUBLIC_KEY, EcKey::has_public) && part(id::KEYMGMT_SELECT_PRIVATE_KEY, EcKey::has_private)
}

unsafe extern "C" fn validate(keydata: *const c_void, selection: c_int, check: c_int) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's.
        let Some(ec) = (unsafe { key(keydata) }) else { return 0 };
        if selection & POSSIBLE == 0 {
            return 1;
        }
        match &*ec.state {
            State::Empty => 0,
            // The point is on the curve, whose cofactor is 1, and the scalar in range, or the key would not be native.
            State::Native(native) => {
                let pair = selection & KEYPAIR != KEYPAIR || native.key.as_ref().is_some_and(EcKey::is_pair);
                if has_parts(native, selection) && pair {
                    return 1;
                }
                native.twin(ec.provider).map_or(0, |d| judged(d, selection, check))
            }
            State::Delegated(d) => judged(d, selection, check),
        }
    })
}

/// The result of the default provider's check.
fn judged(key: &Delegated, selection: c_int, check: c_int) -> c_int {
    let (algorithm, raw) = (key.object.algorithm(), key.object.raw());
    forward!(algorithm, id::KEYMGMT_VALIDATE, fn(*const c_void, c_int, c_int) -> c_int, 0, (raw, selection, check))
}

unsafe extern "C" fn same(one: *const c_void, other: *const c_void, selection: c_int) -> c_int {
    guard(0, || {
        // SAFETY: keys of OpenSSL's.
        let (Some(one), Some(other)) = (unsafe { (key(one), key(other)) }) else { return 0 };
        if let (State::Native(a), State::Native(b)) = (&*one.state, &*other.state) {
            return c_int::from(same_native(a, b, selection));
        }
        let (a, b) = (one.state.delegated(one.provider), other.state.delegated(other.provider));
        let (Some(a), Some(b)) = (a, b) else {
            let parts = KEYPAIR | id::KEYMGMT_SELECT_DOMAIN_PARAMETERS;
            return c_int::from(selection & parts == 0);
        };
        let (algorithm, a, b) = (a.object.algorithm(), a.object.raw(), b.object.raw());
        forward!(algorithm, id::KEYMGMT_MATCH, fn(*const c_void, *const c_void, c_int) -> c_int, 0, (a, b, selection))
    })
}

fn same_native(a: &Native, b: &Native, selection: c_int) -> bool {
    if selection & id::KEYMGMT_SELECT_DOMAIN_PARAMETERS != 0 && a.curve != b.curve {
        return false;
    }
    if selection & KEYPAIR == 0 {
        return true;
    }
    let (Some(a), Some(b)) = (&a.key, &b.key) else { return false };
    let public = (selection & id::KEYMGMT_SELECT_PUBLIC_KEY != 0).then(|| a.same_public(b)).flatten();
    let private = || (selection & id::KEYMGMT_SELECT_PRIVATE_KEY != 0).then(|| a.same_private(b)).flatten();
    public.or_else(private).unwrap_or(false)
}

unsafe extern "C" fn import(keydata: *mut c_void, selection: c_int, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's; it imports into one that nobody else has yet.
        let Some(ec) = (unsafe { abi::context::<ProviderEcKey>(keydata) }) else { return 0 };
        if selection & id::KEYMGMT_SELECT_DOMAIN_PARAMETERS == 0 {
            return 0;
        }
        // SAFETY: the array is OpenSSL's.
        let state = match unsafe { params::import(selection, params) } {
            Ok(native) => State::Native(native),
            Err(NotNative(Some(error))) if ec.provider.is_final(&error) => return 0,
            Err(_) => match Delegated::import(ec.provider, selection, params) {
                Some(delegated) => State::Delegated(delegated),
                None => return 0,
            },
        };
        let Ok(state) = Shared::new(state) else { return 0 };
        ec.state = state;
        1
    })
}

type Callback = unsafe extern "C" fn(*const Param, *mut c_void) -> c_int;

unsafe extern "C" fn export(
    keydata: *mut c_void,
    selection: c_int,
    callback: Callback,
    argument: *mut c_void,
) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's.
        let Some(ec) = (unsafe { key(keydata) }) else { return 0 };
        match &*ec.state {
            State::Empty => 0,
            State::Native(native) => {
                // As OpenSSL: keys only with their parameters, a private key only with the public one.
                let half = selection & KEYPAIR == id::KEYMGMT_SELECT_PRIVATE_KEY;
                if selection & id::KEYMGMT_SELECT_DOMAIN_PARAMETERS == 0 || half {
                    return 0;
                }
                let secret = |key: &EcKey| key.has_private() && key.private().is_none();
                if selection & id::KEYMGMT_SELECT_PRIVATE_KEY != 0 && native.key.as_ref().is_some_and(secret) {
                    ec.provider.core.raise(prov::NOT_A_PRIVATE_KEY.with(c"its number is not given out"));
                    return 0;
                }
                let mut builder = Builder::default();
                params::describe(native, selection, &mut builder);
                // SAFETY: OpenSSL's callback with its argument; the array lives through the call.
                builder.finish().map_or(0, |params| unsafe { callback(params, argument) })
            }
            State::Delegated(d) => {
                let (algorithm, raw) = (d.object.algorithm(), d.object.raw());
                forward!(
                    algorithm,
                    id::KEYMGMT_EXPORT,
                    fn(*mut c_void, c_int, Callback, *mut c_void) -> c_int,
                    0,
                    (raw, selection, callback, argument)
                )
            }
        }
    })
}

unsafe extern "C" fn transfer_types(selection: c_int) -> *const Param {
    if selection & POSSIBLE == 0 { std::ptr::null() } else { params::TRANSFER.as_ptr() }
}

unsafe extern "C" fn dup(keydata: *const c_void, selection: c_int) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: a key of OpenSSL's.
        let Some(ec) = (unsafe { key(keydata) }) else { return std::ptr::null_mut() };
        match copy(ec, selection) {
            Some(state) => abi::give(ProviderEcKey { provider: ec.provider, state }),
            None => std::ptr::null_mut(),
        }
    })
}

fn copy(ec: &ProviderEcKey, selection: c_int) -> Option<Shared<State>> {
    let state = &ec.state;
    let (parameters, public, private) = (
        selection & id::KEYMGMT_SELECT_DOMAIN_PARAMETERS != 0,
        selection & id::KEYMGMT_SELECT_PUBLIC_KEY != 0,
        selection & id::KEYMGMT_SELECT_PRIVATE_KEY != 0,
    );
    match &**state {
        State::Empty => Shared::new(State::Empty).ok(),
        // States do not change, so a copy may share one.
        State::Native(native) if parameters && (native.key.is_none() || public && private) => Some(state.clone()),
        State::Native(_) if !parameters => Shared::new(State::Empty).ok(),
        State::Native(native) => {
            let key = native.key.as_ref();
            let key = if public {
                key.and_then(|key| key.public_only().ok())
            } else if private {
                key.and_then(EcKey::private).and_then(|scalar| EcKey::new(native.curve, None, Some(scalar)).ok())
            } else {
                None
            };
            Shared::new(State::Native(native.with_key(key))).ok()
        }
        State::Delegated(d) => {
            let (algorithm, raw) = (d.object.algorithm(), d.object.raw());
            let null = std::ptr::null_mut();
            let raw =
                forward!(algorithm, id::KEYMGMT_DUP, fn(*const c_void, c_int) -> *mut c_void, null, (raw, selection));
            // SAFETY: made by the algorithm just now.
            let object = unsafe { AlgorithmContext::own(algorithm, raw, id::KEYMGMT_FREE) }?;
            Shared::new(State::Delegated(Delegated::own(ec.provider, object))).ok()
        }
    }
}

unsafe extern "C" fn get_params(keydata: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's.
        let Some(ec) = (unsafe { key(keydata) }) else { return 0 };
        let State::Native(native) = &*ec.state else {
            return ec.state.delegated(ec.provider).map_or(0, |d| d.call(id::KEYMGMT_GET_PARAMS, params));
        };
        // SAFETY: the array is OpenSSL's.
        for p in unsafe { param::iter_mut(params) } {
            match params::answer(native, p) {
                Some(true) => {}
                // The details of the curve, or what cannot be answered: the default provider answers the whole array.
                Some(false) | None => {
                    return native.twin(ec.provider).map_or(0, |d| d.call(id::KEYMGMT_GET_PARAMS, params));
                }
            }
        }
        1
    })
}

unsafe extern "C" fn gettable_params(provctx: *mut c_void) -> *const Param {
    let ours = params::GETTABLE.as_ptr();
    // SAFETY: OpenSSL's provider context, or null.
    guard(ours, || unsafe { super::key_params(provctx, c"EC") }.unwrap_or(ours))
}

unsafe extern "C" fn settable_params(_provctx: *mut c_void) -> *const Param {
    params::SETTABLE.as_ptr()
}

unsafe extern "C" fn set_params(keydata: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a key of OpenSSL's, which answers for nobody using it meanwhile.
        let Some(ec) = (unsafe { abi::context::<ProviderEcKey>(keydata) }) else { return 0 };
        let state = match &*ec.state {
            State::Empty => return 0,
            State::Delegated(d) => return d.call(id::KEYMGMT_SET_PARAMS, params.cast_mut()),
            // SAFETY: the array is OpenSSL's.
            State::Native(native) => match unsafe { changed(native, params) } {
                Ok(native) => State::Native(native),
                Err(NotNative(Some(error))) if ec.provider.is_final(&error) => return 0,
                Err(_) => match moved(ec, native, params) {
                    Some(delegated) => State::Delegated(delegated),
                    None => return 0,
                },
            },
        };
        let Ok(state) = Shared::new(state) else { return 0 };
        ec.state = state;
        1
    })
}

/// The key with `params` set.
///
/// # Safety
/// `params` is OpenSSL's.
unsafe fn changed(native: &Native, params: *const Param) -> Result<Native, NotNative> {
    let private = native.key.as_ref().and_then(EcKey::private);
    let mut changed = native.with_key(None);
    let mut public = None;
    // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
    for p in unsafe { param::iter(params) } {
        match p.name().to_bytes() {
            b"encoded-pub-key" => public = Some(p.get_octets().ok_or(NOT_NATIVE)?),
            _ => params::setting(&mut changed, p, true)?,
        }
    }
    if let Some(public) = public {
        // As OpenSSL, the form of what comes in is the form of what goes out.
        changed.key_form = match public.first() {
            Some(2 | 3) => Form::Compressed,
            Some(6 | 7) => Form::Hybrid,
            _ => Form::Uncompressed,
        };
    }
    if public.is_none() {
        changed.key = native.key.clone();
    } else {
        changed.key = Some(EcKey::new(native.curve, public, private)?);
    }
    Ok(changed)
}

/// The key with `params` set, in the default provider.
fn moved(ec: &ProviderEcKey, native: &Native, params: *const Param) -> Option<Delegated> {
    let copy = native.with_key(None);
    let key = native.key.as_ref();
    let mut encoded = [0; MAX_POINT];
    let public = native.public_part(Form::Uncompressed, &mut encoded);
    let private = key.and_then(EcKey::private);
    let copy = match key {
        Some(_) => copy.with_key(Some(EcKey::new(native.curve, public, private).ok()?)),
        None => copy,
    };
    copy.twin(ec.provider)?;
    let delegated = copy.twin.into_inner()??;
    (delegated.call(id::KEYMGMT_SET_PARAMS, params.cast_mut()) == 1).then_some(delegated)
}
