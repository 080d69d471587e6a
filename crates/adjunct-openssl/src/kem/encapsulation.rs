//! ML-KEM and its hybrids: encapsulation and decapsulation.

use super::{KINDS, ProviderKemKey, algorithms, key};
use crate::abi::param::{self, OCTETS, Param};
use crate::abi::reason::prov;
use crate::abi::{self, Algorithm, Dispatch, guard, id};
use crate::entry;
use crate::provider::{Provider, provider};
use adjunct::error::Error;
use adjunct::memory::Shared;
use adjunct::ops;
use adjunct::ops::kem::{KemKey, MAX_SECRET};
use adjunct::ops::mlkem::RANDOM;
use std::ffi::{c_int, c_void};
use zeroize::Zeroizing;

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = algorithms!(functions, "");

const fn functions<const K: usize>() -> [Dispatch; 9] {
    [
        entry!(id::KEM_NEWCTX, newctx),
        entry!(id::KEM_FREECTX, abi::freed::<KemContext>),
        entry!(id::KEM_ENCAPSULATE_INIT, encapsulate_init),
        entry!(id::KEM_ENCAPSULATE, encapsulate),
        entry!(id::KEM_DECAPSULATE_INIT, decapsulate_init),
        entry!(id::KEM_DECAPSULATE, decapsulate),
        entry!(id::KEM_SET_CTX_PARAMS, set_params),
        entry!(id::KEM_SETTABLE_CTX_PARAMS, settable_params::<K>),
        Dispatch::END,
    ]
}

/// An encapsulation or a decapsulation.
struct KemContext {
    provider: &'static Provider,
    key: Option<Shared<KemKey>>,
    encapsulates: bool,
    /// Bytes that the next encapsulation takes, once, in place of random bytes.
    random: Option<Zeroizing<[u8; RANDOM]>>,
}

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        ops::attribute();
        // SAFETY: OpenSSL keeps the provider as long as its contexts.
        let provider = unsafe { provider(provctx) };
        abi::give(KemContext { provider, key: None, encapsulates: false, random: None })
    })
}

unsafe extern "C" fn encapsulate_init(context: *mut c_void, keydata: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: a context and a key of OpenSSL's, and its array.
    guard(0, || unsafe { init(context, keydata, params, true) })
}

unsafe extern "C" fn decapsulate_init(context: *mut c_void, keydata: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: OpenSSL passes a context of this module, a key of this module's key management or null, and a parameter array that ends.
    guard(0, || unsafe { init(context, keydata, params, false) })
}

/// # Safety
/// The arguments are OpenSSL's.
unsafe fn init(context: *mut c_void, keydata: *mut c_void, params: *const Param, encapsulates: bool) -> c_int {
    // SAFETY: the caller passes OpenSSL's arguments: a context of this module and a key of this module's key management, or null.
    let (c, kem) = unsafe { (abi::context::<KemContext>(context), key(keydata)) };
    let (Some(c), Some(kem)) = (c, kem) else { return 0 };
    let enough = |kem: &&ProviderKemKey| if encapsulates { kem.key.is_some() } else { kem.private_of().is_some() };
    let Some(kem) = Some(kem).filter(enough) else {
        c.provider.core.raise(prov::MISSING_KEY);
        return 0;
    };
    (c.key, c.encapsulates) = (kem.key.clone(), encapsulates);
    // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
    unsafe { c.set(params) }
}

impl KemContext {
    /// # Safety
    /// `params` is OpenSSL's.
    unsafe fn set(&mut self, params: *const Param) -> c_int {
        if !self.encapsulates {
            self.random = None;
            return 1;
        }
        let hybrid = self.key.as_ref().is_some_and(|key| key.kind().is_hybrid());
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        let Some(random) = unsafe { param::find(params, c"ikme") }.filter(|_| !hybrid) else { return 1 };
        self.random = None;
        let Some(bytes) = random.get_octets().and_then(|bytes| <&[u8; RANDOM]>::try_from(bytes).ok()) else {
            self.provider.core.raise(prov::INVALID_SEED_LENGTH);
            return 0;
        };
        self.random.insert(Zeroizing::new([0; RANDOM])).copy_from_slice(bytes);
        1
    }

    /// Raises why the core has refused.
    fn refuse(&self, error: &Error) -> c_int {
        if self.provider.is_final(error) {
            return 0;
        }
        self.provider.core.raise(match error {
            Error::Memory => prov::MALLOC_FAILURE,
            Error::InvalidKey(_) => prov::INVALID_KEY,
            _ => prov::INTERNAL_ERROR,
        });
        0
    }
}

/// Whether there is room for `needed` bytes, if OpenSSL says how much room there is; then tells it how many are used.
///
/// # Safety
/// `length` is null or OpenSSL's.
unsafe fn room(c: &KemContext, length: *mut usize, needed: usize) -> bool {
    // SAFETY: the caller passes OpenSSL's place for a length, or null.
    let refused = match unsafe { length.as_mut() } {
        None => prov::NULL_LENGTH_POINTER,
        Some(length) if *length < needed => prov::OUTPUT_BUFFER_TOO_SMALL,
        Some(length) => {
            *length = needed;
            return true;
        }
    };
    c.provider.core.raise(refused);
    false
}

unsafe extern "C" fn encapsulate(
    context: *mut c_void,
    out: *mut u8,
    out_length: *mut usize,
    secret: *mut u8,
    secret_length: *mut usize,
) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's.
        let Some(c) = (unsafe { abi::context::<KemContext>(context) }) else { return 0 };
        // Whatever comes of it, such bytes serve one call. A question for the sizes is none.
        let random = if out.is_null() { None } else { c.random.take() };
        let Some(key) = c.key.as_deref() else {
            c.provider.core.raise(prov::MISSING_KEY);
            return 0;
        };
        let kind = key.kind();
        if out.is_null() {
            // SAFETY: null, or lengths of OpenSSL's.
            let (out_length, secret_length) = unsafe { (out_length.as_mut(), secret_length.as_mut()) };
            let asked = out_length.is_some() || secret_length.is_some();
            out_length.into_iter().for_each(|length| *length = kind.ciphertext());
            secret_length.into_iter().for_each(|length| *length = kind.secret());
            return c_int::from(asked);
        }
        if secret.is_null() {
            c.provider.core.raise(prov::NULL_OUTPUT_BUFFER);
            return 0;
        }
        // SAFETY: lengths of OpenSSL's.
        if !unsafe { room(c, out_length, kind.ciphertext()) && room(c, secret_length, kind.secret()) } {
            return 0;
        }
        let mut found = Zeroizing::new([0; MAX_SECRET]);
        let found = &mut found[..kind.secret()];
        // SAFETY: a buffer with room for a ciphertext.
        let ciphertext = unsafe { abi::slice_mut(out, kind.ciphertext()) };
        match key.encapsulate(random.as_deref(), ciphertext, found) {
            Err(error) => c.refuse(&error),
            Ok(()) => {
                // SAFETY: a buffer with room for a secret.
                unsafe { abi::slice_mut(secret, kind.secret()) }.copy_from_slice(found);
                1
            }
        }
    })
}

unsafe extern "C" fn decapsulate(
    context: *mut c_void,
    secret: *mut u8,
    secret_length: *mut usize,
    ciphertext: *const u8,
    ciphertext_length: usize,
) -> c_int {
    guard(0, || {
        // SAFETY: a context of OpenSSL's.
        let Some(c) = (unsafe { abi::context::<KemContext>(context) }) else { return 0 };
        let Some(key) = c.key.as_deref().filter(|key| key.has_private()) else {
            c.provider.core.raise(prov::MISSING_KEY);
            return 0;
        };
        let kind = key.kind();
        if secret.is_null() {
            // SAFETY: null, or a length of OpenSSL's.
            let length = unsafe { secret_length.as_mut() };
            return length.map_or(0, |length| {
                *length = kind.secret();
                1
            });
        }
        // Without a length the buffer is long enough, as its caller says.
        // SAFETY: a length of OpenSSL's.
        if !secret_length.is_null() && !unsafe { room(c, secret_length, kind.secret()) } {
            return 0;
        }
        if ciphertext.is_null() || ciphertext_length != kind.ciphertext() {
            if kind.is_hybrid() {
                c.provider.core.raise(prov::WRONG_CIPHERTEXT_SIZE);
            }
            return 0;
        }
        let mut found = Zeroizing::new([0; MAX_SECRET]);
        let found = &mut found[..kind.secret()];
        // SAFETY: a buffer of that length, of OpenSSL's.
        match key.decapsulate(unsafe { abi::slice(ciphertext, ciphertext_length) }, found) {
            Err(error) => c.refuse(&error),
            Ok(()) => {
                // SAFETY: a buffer with room for a secret.
                unsafe { abi::slice_mut(secret, kind.secret()) }.copy_from_slice(found);
                1
            }
        }
    })
}

static SETTABLE: [Param; 2] = [Param::describe(c"ikme", OCTETS, 0), Param::END];

unsafe extern "C" fn settable_params<const K: usize>(_context: *mut c_void, _provctx: *mut c_void) -> *const Param {
    if KINDS[K].is_hybrid() { SETTABLE[1..].as_ptr() } else { SETTABLE.as_ptr() }
}

unsafe extern "C" fn set_params(context: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: a context of OpenSSL's and its array.
    guard(0, || unsafe { abi::context::<KemContext>(context).map_or(0, |c| c.set(params)) })
}
