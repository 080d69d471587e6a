//! X25519 and Ed25519: key exchange (X25519, RFC 7748).

use super::{EcxKey, Pair};
use crate::abi::param::Param;
use crate::abi::reason::prov;
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::provider::{Provider, provider};
use adjunct::memory::Shared;
use adjunct::ops;
use adjunct::ops::ecx::x25519::{self, KEY};
use std::ffi::{c_int, c_void};

/// What this module offers to an OpenSSL of `version`: from 3.4 on, a context has parameters, if none that we know.
pub fn algorithms(version: (u32, u32)) -> &'static [Algorithm] {
    if version >= (3, 4) { ANSWERING } else { PLAIN }
}

const NAMES: &std::ffi::CStr = c"X25519:1.3.101.110";
const DESCRIPTION: &std::ffi::CStr = c"adjunct X25519 by AWS-LC";
static PLAIN: &[Algorithm] = &[Algorithm { names: NAMES, dispatch: &PLAIN_FUNCTIONS, description: DESCRIPTION }];
static ANSWERING: &[Algorithm] =
    &[Algorithm { names: NAMES, dispatch: &ANSWERING_FUNCTIONS, description: DESCRIPTION }];

macro_rules! table {
    ($($more:expr),* $(,)?) => {
        [
            entry!(id::KEYEXCH_NEWCTX, newctx),
            entry!(id::KEYEXCH_FREECTX, abi::freed::<EcxExchangeContext>),
            entry!(id::KEYEXCH_DUPCTX, dupctx),
            entry!(id::KEYEXCH_INIT, init),
            entry!(id::KEYEXCH_SET_PEER, set_peer),
            entry!(id::KEYEXCH_DERIVE, derive),
            $($more,)*
            Dispatch::END,
        ]
    };
}

static PLAIN_FUNCTIONS: [Dispatch; 7] = table!();
static ANSWERING_FUNCTIONS: [Dispatch; 9] =
    table!(entry!(id::KEYEXCH_GET_CTX_PARAMS, get_params), entry!(id::KEYEXCH_GETTABLE_CTX_PARAMS, gettable_params),);

unsafe extern "C" fn get_params(_context: *mut c_void, _params: *mut Param) -> c_int {
    1
}

static GETTABLE: [Param; 1] = [Param::END];

unsafe extern "C" fn gettable_params(_context: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

/// A key exchange.
#[derive(Clone)]
struct EcxExchangeContext {
    provider: &'static Provider,
    key: Option<Shared<Pair>>,
    peer: Option<Shared<Pair>>,
}

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: OpenSSL keeps the provider as long as its contexts.
        let provider = unsafe { provider(provctx) };
        abi::give(EcxExchangeContext { provider, key: None, peer: None })
    })
}

unsafe extern "C" fn dupctx(context: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: a context of OpenSSL's.
        let copy = unsafe { abi::context::<EcxExchangeContext>(context) }.map(|c| c.clone());
        copy.map_or(std::ptr::null_mut(), abi::give)
    })
}

unsafe extern "C" fn init(context: *mut c_void, key: *mut c_void, _params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a context and a key of OpenSSL's.
        let (c, key) = unsafe { (abi::context::<EcxExchangeContext>(context), key.cast::<EcxKey>().as_ref()) };
        let (Some(c), Some(key)) = (c, key) else { return 0 };
        c.key = Some(key.pair.clone());
        1
    })
}

unsafe extern "C" fn set_peer(context: *mut c_void, peer: *mut c_void) -> c_int {
    guard(0, || {
        // SAFETY: a context and a key of OpenSSL's.
        let (c, peer) = unsafe { (abi::context::<EcxExchangeContext>(context), peer.cast::<EcxKey>().as_ref()) };
        let (Some(c), Some(peer)) = (c, peer) else { return 0 };
        c.peer = Some(peer.pair.clone());
        1
    })
}

unsafe extern "C" fn derive(context: *mut c_void, out: *mut u8, length: *mut usize, size: usize) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's.
        let Some(c) = (unsafe { abi::context::<EcxExchangeContext>(context) }) else { return 0 };
        let private = c.key.as_ref().and_then(|pair| pair.private.as_ref());
        let public = c.peer.as_ref().and_then(|pair| pair.public.as_ref());
        let (Some(private), Some(public)) = (private, public) else {
            c.provider.core.raise(prov::MISSING_KEY);
            return 0;
        };
        if out.is_null() {
            // SAFETY: a length of OpenSSL's.
            unsafe { *length = KEY };
            return 1;
        }
        if size < KEY {
            c.provider.core.raise(prov::OUTPUT_BUFFER_TOO_SMALL);
            return 0;
        }
        let secret = match x25519::shared_secret(private, public) {
            Ok(secret) => secret,
            Err(error) => {
                if !c.provider.is_final(&error) {
                    c.provider.core.raise(prov::FAILED_DURING_DERIVATION);
                }
                return 0;
            }
        };
        // SAFETY: a buffer of `size` bytes and a length, both OpenSSL's.
        unsafe {
            abi::slice_mut(out, KEY).copy_from_slice(&secret[..]);
            *length = KEY;
        }
        1
    })
}
