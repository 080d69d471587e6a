//! Elliptic-curve keys on the NIST curves: key exchange (ECDH, SP 800-56A).

use super::{ProviderEcKey, State};
use crate::abi::build::Builder;
use crate::abi::param::{self, INTEGER, OCTETS, OCTETS_PTR, Param, UNSIGNED, UTF8};
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::fallback::{self, forward};
use crate::provider::{Provider, provider};
use adjunct::Error;
use adjunct::catalogue::{Direction, Function};
use adjunct::memory::Shared;
use adjunct::ops;
use adjunct::ops::ec::{EcKey, MAX_FIELD};
use std::ffi::{c_int, c_void};
use zeroize::Zeroizing;

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm {
    names: c"ECDH",
    dispatch: &FUNCTIONS,
    description: c"adjunct ECDH: P-256, P-384, P-521 by AWS-LC, other curves and key derivation by OpenSSL",
}];

static FUNCTIONS: [Dispatch; 11] = [
    entry!(id::KEYEXCH_NEWCTX, newctx),
    entry!(id::KEYEXCH_FREECTX, abi::freed::<EcdhContext>),
    entry!(id::KEYEXCH_DUPCTX, dupctx),
    entry!(id::KEYEXCH_INIT, init),
    entry!(id::KEYEXCH_SET_PEER, set_peer),
    entry!(id::KEYEXCH_DERIVE, derive),
    entry!(id::KEYEXCH_SET_CTX_PARAMS, set_params),
    entry!(id::KEYEXCH_SETTABLE_CTX_PARAMS, settable_params),
    entry!(id::KEYEXCH_GET_CTX_PARAMS, get_params),
    entry!(id::KEYEXCH_GETTABLE_CTX_PARAMS, gettable_params),
    Dispatch::END,
];

/// A key exchange.
struct EcdhContext {
    provider: &'static Provider,
    key: Option<Shared<State>>,
    peer: Option<Shared<State>>,
    /// The cofactor mode as set; -1 leaves it to the key. It changes nothing on curves whose cofactor is 1.
    cofactor_mode: c_int,
    /// The size of the curve where the default provider has it.
    bits: usize,
    /// The default provider's context, which then does everything.
    delegated: Option<fallback::AlgorithmContext>,
}

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: OpenSSL keeps the provider as long as its contexts.
        let provider = unsafe { provider(provctx) };
        abi::give(EcdhContext { provider, key: None, peer: None, cofactor_mode: -1, bits: 0, delegated: None })
    })
}

unsafe extern "C" fn dupctx(context: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: a context of OpenSSL's.
        let Some(c) = (unsafe { abi::context::<EcdhContext>(context) }) else { return std::ptr::null_mut() };
        ops::attribute();
        let delegated = match &c.delegated {
            None => None,
            Some(d) => {
                let (algorithm, raw) = (d.algorithm(), d.raw());
                let null = std::ptr::null_mut();
                let raw = forward!(algorithm, id::KEYEXCH_DUPCTX, fn(*mut c_void) -> *mut c_void, null, (raw));
                // SAFETY: made by the algorithm just now.
                match unsafe { fallback::AlgorithmContext::own(algorithm, raw, id::KEYEXCH_FREECTX) } {
                    Some(copy) => Some(copy),
                    None => return null,
                }
            }
        };
        let (key, peer) = (c.key.clone(), c.peer.clone());
        abi::give(EcdhContext { key, peer, delegated, ..*c })
    })
}

impl EcdhContext {
    /// Hands the exchange to the default provider, set up again as it was here.
    fn delegate(&mut self) -> bool {
        let set_up = || {
            let algorithm = self.provider.fallback()?.algorithm(id::OP_KEYEXCH, c"ECDH")?;
            let key = self.key.as_ref()?.delegated(self.provider)?;
            let (context, object) = (algorithm.provider_context(), key.object.raw());
            let null = std::ptr::null_mut();
            let raw = forward!(algorithm, id::KEYEXCH_NEWCTX, fn(*mut c_void) -> *mut c_void, null, (context));
            // SAFETY: made by the algorithm just now.
            let context = unsafe { fallback::AlgorithmContext::own(algorithm, raw, id::KEYEXCH_FREECTX) }?;
            let raw = context.raw();
            let mut builder = Builder::default();
            builder.int(c"ecdh-cofactor-mode", self.cofactor_mode);
            let params = builder.finish()?.cast_const();
            let mut done = forward!(
                algorithm,
                id::KEYEXCH_INIT,
                fn(*mut c_void, *mut c_void, *const Param) -> c_int,
                0,
                (raw, object, params)
            );
            if let Some(peer) = &self.peer {
                let peer = peer.delegated(self.provider)?.object.raw();
                done &=
                    forward!(algorithm, id::KEYEXCH_SET_PEER, fn(*mut c_void, *mut c_void) -> c_int, 0, (raw, peer));
            }
            (done == 1).then_some((context, key.bits))
        };
        let Some((context, bits)) = set_up() else { return false };
        (self.bits, self.delegated) = (bits, Some(context));
        true
    }

    /// Sets parameters; what is not for us moves the exchange to the default provider.
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn set(&mut self, params: *const Param) -> c_int {
        let mut ours = self.delegated.is_none();
        if ours {
            // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
            for p in unsafe { param::iter(params) } {
                match (p.name().to_bytes(), p.get_i64()) {
                    (b"ecdh-cofactor-mode", Some(mode @ -1..=1)) => self.cofactor_mode = mode as c_int,
                    (b"ecdh-cofactor-mode", _) => ours = false,
                    // A key derivation, unless the name is empty: none.
                    (b"kdf-type", _) => ours &= p.get_str() == Some(""),
                    (b"kdf-digest" | b"kdf-digest-props" | b"kdf-outlen" | b"kdf-ukm", _) => ours = false,
                    _ => {}
                }
            }
            if ours {
                return 1;
            }
            if !self.delegate() {
                return 0;
            }
        }
        let Some((algorithm, raw)) = self.raw() else { return 0 };
        forward!(algorithm, id::KEYEXCH_SET_CTX_PARAMS, fn(*mut c_void, *const Param) -> c_int, 0, (raw, params))
    }

    /// Derives by the default provider, and counts that.
    fn judged(&mut self, out: *mut u8, length: *mut usize, size: usize) -> c_int {
        if self.delegated.is_none() && !self.delegate() {
            return 0;
        }
        let Some((algorithm, raw)) = self.raw() else { return 0 };
        let done = forward!(
            algorithm,
            id::KEYEXCH_DERIVE,
            fn(*mut c_void, *mut u8, *mut usize, usize) -> c_int,
            0,
            (raw, out, length, size)
        );
        if done == 1 && !out.is_null() {
            ops::Delegated::new(Function::Ecdh, self.bits).done(Direction::Encrypt, 0);
        }
        done
    }

    fn raw(&self) -> Option<(fallback::Algorithm, *mut c_void)> {
        self.delegated.as_ref().map(|d| (d.algorithm(), d.raw()))
    }

    /// The shared secret; `None` where a key is missing, or not one of those served here.
    fn secret<'a>(&self, out: &'a mut [u8; MAX_FIELD]) -> Option<Result<&'a [u8], Error>> {
        fn key(state: &Option<Shared<State>>) -> Option<&EcKey> {
            match state.as_deref() {
                Some(State::Native(native)) => native.key.as_ref(),
                _ => None,
            }
        }
        Some(key(&self.key)?.shared_secret(key(&self.peer)?, out))
    }
}

unsafe extern "C" fn init(context: *mut c_void, key: *mut c_void, params: *const Param) -> c_int {
    guard(0, || {
        // SAFETY: a context and a key of OpenSSL's.
        let (c, key) = unsafe { (abi::context::<EcdhContext>(context), key.cast::<ProviderEcKey>().as_ref()) };
        let (Some(c), Some(key)) = (c, key) else { return 0 };
        c.key = Some(key.state.clone());
        (c.peer, c.delegated, c.cofactor_mode) = (None, None, -1);
        match &*key.state {
            State::Native(_) => {}
            _ if c.delegate() => {}
            _ => return 0,
        }
        // SAFETY: the array is OpenSSL's.
        unsafe { c.set(params) }
    })
}

unsafe extern "C" fn set_peer(context: *mut c_void, peer: *mut c_void) -> c_int {
    guard(0, || {
        // SAFETY: a context and a key of OpenSSL's.
        let (c, peer) = unsafe { (abi::context::<EcdhContext>(context), peer.cast::<ProviderEcKey>().as_ref()) };
        let (Some(c), Some(peer)) = (c, peer) else { return 0 };
        if c.delegated.is_none() {
            if let (Some(State::Native(ours)), State::Native(theirs)) = (c.key.as_deref(), &*peer.state)
                && ours.curve == theirs.curve
            {
                c.peer = Some(peer.state.clone());
                return 1;
            }
            c.peer = None;
            if !c.delegate() {
                return 0;
            }
        }
        // The context refers to the key, which may be a copy that lives in this state.
        let (Some((algorithm, raw)), Some(key)) = (c.raw(), peer.state.delegated(peer.provider)) else { return 0 };
        let key = key.object.raw();
        let done = forward!(algorithm, id::KEYEXCH_SET_PEER, fn(*mut c_void, *mut c_void) -> c_int, 0, (raw, key));
        if done == 1 {
            c.peer = Some(peer.state.clone());
        }
        done
    })
}

unsafe extern "C" fn derive(context: *mut c_void, out: *mut u8, length: *mut usize, size: usize) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's.
        let Some(c) = (unsafe { abi::context::<EcdhContext>(context) }) else { return 0 };
        if c.delegated.is_some() {
            return c.judged(out, length, size);
        }
        if let (true, Some(State::Native(native)), true) = (out.is_null(), c.key.as_deref(), c.peer.is_some()) {
            // SAFETY: a length of OpenSSL's.
            unsafe { *length = native.curve.field_len() };
            return 1;
        }
        let mut buffer = Zeroizing::new([0; MAX_FIELD]);
        let secret = if out.is_null() { None } else { c.secret(&mut buffer) };
        if let Some(Err(error)) = &secret
            && c.provider.is_final(error)
        {
            return 0;
        }
        let Some(Ok(secret)) = secret else {
            // What is missing or wrong, OpenSSL says.
            return c.judged(out, length, size);
        };
        // As OpenSSL: a shorter buffer takes the first bytes.
        let secret = &secret[..secret.len().min(size)];
        // SAFETY: a buffer of `size` bytes and a length, both OpenSSL's.
        unsafe {
            abi::slice_mut(out, secret.len()).copy_from_slice(secret);
            *length = secret.len();
        }
        c_int::from(!secret.is_empty())
    })
}

static SETTABLE: [Param; 7] = [
    Param::describe(c"ecdh-cofactor-mode", INTEGER, 4),
    Param::describe(c"kdf-type", UTF8, 0),
    Param::describe(c"kdf-digest", UTF8, 0),
    Param::describe(c"kdf-digest-props", UTF8, 0),
    Param::describe(c"kdf-outlen", UNSIGNED, 8),
    Param::describe(c"kdf-ukm", OCTETS, 0),
    Param::END,
];

static GETTABLE: [Param; 6] = [
    Param::describe(c"ecdh-cofactor-mode", INTEGER, 4),
    Param::describe(c"kdf-type", UTF8, 0),
    Param::describe(c"kdf-digest", UTF8, 0),
    Param::describe(c"kdf-outlen", UNSIGNED, 8),
    Param::describe(c"kdf-ukm", OCTETS_PTR, 0),
    Param::END,
];

unsafe extern "C" fn settable_params(_context: *mut c_void, _provctx: *mut c_void) -> *const Param {
    SETTABLE.as_ptr()
}

unsafe extern "C" fn gettable_params(_context: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

unsafe extern "C" fn set_params(context: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: a context of OpenSSL's and its array.
    guard(0, || unsafe { abi::context::<EcdhContext>(context).map_or(0, |c| c.set(params)) })
}

unsafe extern "C" fn get_params(context: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's.
        let Some(c) = (unsafe { abi::context::<EcdhContext>(context) }) else { return 0 };
        if c.delegated.is_none() {
            // SAFETY: the array is OpenSSL's.
            let answered = unsafe { param::iter_mut(params) }.all(|p| match p.name().to_bytes() {
                // Keys with the cofactor flag are not ours.
                b"ecdh-cofactor-mode" => p.set_u64(c.cofactor_mode.max(0) as u64),
                b"kdf-type" | b"kdf-digest" => p.set_str(c""),
                b"kdf-outlen" => p.set_usize(0),
                _ => true,
            });
            if answered {
                return 1;
            }
            // What cannot be answered is an error of OpenSSL's.
            c.delegate();
        }
        let Some((algorithm, raw)) = c.raw() else { return 0 };
        forward!(algorithm, id::KEYEXCH_GET_CTX_PARAMS, fn(*mut c_void, *mut Param) -> c_int, 0, (raw, params))
    })
}
