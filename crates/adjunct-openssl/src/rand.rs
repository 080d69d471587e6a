//! Random generation, on request (`algorithms = ALL,RAND`): CTR-DRBG by the CPU library's generator.
//!
//! That generator seeds itself from the operating system, per thread, and notices forks. So the contexts that OpenSSL makes (a primary one, and two
//! per thread below it) share no state and need neither parents nor locks. A seed that the caller brings is mixed in and replaces nothing, so that a
//! test with a known seed cannot repeat a result.

use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov};
use crate::abi::{self, Algorithm, Dispatch, guard, id, slice, slice_mut};
use crate::entry;
use crate::provider::{Provider, provider};
use adjunct::ops::random::Generator;
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, Ordering::Relaxed};

/// The algorithms that this module offers.
pub static ALGORITHMS: &[Algorithm] = &[Algorithm { names: c"CTR-DRBG", dispatch: DISPATCH, description: c"CTR-DRBG" }];

/// `EVP_RAND_STATE_UNINITIALISED`.
const UNINITIALISED: u8 = 0;
/// `EVP_RAND_STATE_READY`.
const READY: u8 = 1;

/// Security strength in bits: the library's generator is AES-256.
const STRENGTH: c_uint = 256;
/// The most bytes of a request (NIST SP 800-90A, table 3).
const MAX_REQUEST: usize = 1 << 16;
/// The longest input of a kind, in bytes, as OpenSSL's own generator has it.
const MAX_LENGTH: usize = i32::MAX as usize;

/// The context that OpenSSL's `algctx` points to; the primary one is used by several threads, so its variable fields are atomic.
struct RandContext {
    provider: &'static Provider,
    generator: Generator,
    state: AtomicU8,
    /// Whether a cipher was ever set: without one OpenSSL's own is not instantiated.
    cipher: AtomicBool,
    reseeds: AtomicU32,
    reseeded: AtomicI64,
    /// Settings that OpenSSL makes and may read again; this generator reseeds by its own rule.
    reseed_requests: AtomicU32,
    reseed_interval: AtomicI64,
}

impl RandContext {
    fn fail(&self, reason: Reason) -> c_int {
        self.provider.core.raise(reason);
        0
    }

    fn seeded(&self) {
        self.reseeds.fetch_add(1, Relaxed);
        // SAFETY: a null pointer asks for the result alone.
        self.reseeded.store(unsafe { libc::time(std::ptr::null_mut()) }, Relaxed);
    }

    fn start(&self) {
        if self.state.swap(READY, Relaxed) != READY {
            self.seeded();
        }
    }

    /// Instantiates a generator that is asked before it was instantiated, or after it was uninstantiated, as OpenSSL does.
    fn ready(&self) -> bool {
        let may = self.state.load(Relaxed) == READY || self.cipher.load(Relaxed);
        if may {
            self.start();
        } else {
            self.fail(prov::NOT_INSTANTIATED);
        }
        may
    }

    fn generate(&self, out: &mut [u8], strength: c_uint, resist: bool, additional: &[u8]) -> c_int {
        if !self.ready() {
            return 0;
        }
        if strength > STRENGTH {
            return self.fail(prov::INSUFFICIENT_DRBG_STRENGTH);
        }
        if out.len() > MAX_REQUEST {
            return self.fail(prov::REQUEST_TOO_LARGE_FOR_DRBG);
        }
        if !resist && additional.is_empty() {
            self.generator.generate(out);
        } else if !self.generator.generate_with(out, additional, resist) {
            return self.fail(prov::INTERNAL_ERROR);
        }
        if resist {
            self.seeded();
        }
        1
    }

    fn set_params(&self, params: *const Param) -> c_int {
        // SAFETY: the array is OpenSSL's, or null.
        let done = unsafe { param::iter(params) }.all(|p| match p.name().to_bytes() {
            // Whatever AES it is: this one is never weaker.
            b"cipher" => p.get_str().is_some_and(|name| {
                let counter = name.len() > 3 && name.as_bytes()[name.len() - 3..].eq_ignore_ascii_case(b"CTR");
                self.cipher.fetch_or(counter, Relaxed);
                if !counter {
                    self.fail(prov::REQUIRE_CTR_MODE_CIPHER);
                }
                counter
            }),
            b"reseed_requests" => p.get_u32().map(|v| self.reseed_requests.store(v, Relaxed)).is_some(),
            b"reseed_time_interval" => p.get_i64().map(|v| self.reseed_interval.store(v, Relaxed)).is_some(),
            _ => true,
        });
        done.into()
    }

    fn get_params(&self, params: *mut Param) -> bool {
        // SAFETY: the array is OpenSSL's.
        unsafe { param::iter_mut(params) }.all(|p| match p.name().to_bytes() {
            b"state" => p.set_u64(self.state.load(Relaxed).into()),
            b"strength" => p.set_u64(STRENGTH.into()),
            b"max_request" => p.set_usize(MAX_REQUEST),
            b"cipher" => p.set_utf8(b"AES-256-CTR"),
            b"use_derivation_function" => p.set_u64(1),
            b"reseed_requests" => p.set_u64(self.reseed_requests.load(Relaxed).into()),
            b"reseed_time_interval" => p.set_u64(self.reseed_interval.load(Relaxed) as u64),
            b"reseed_counter" => p.set_u64(self.reseeds.load(Relaxed).into()),
            b"reseed_time" => p.set_u64(self.reseeded.load(Relaxed) as u64),
            b"min_entropylen" => p.set_usize(32),
            b"min_noncelen" => p.set_usize(16),
            b"max_entropylen" | b"max_noncelen" | b"max_perslen" | b"max_adinlen" => p.set_usize(MAX_LENGTH),
            _ => true,
        })
    }
}

/// Runs `body` on the context, which other threads may be using too.
///
/// # Safety
/// `ctx` is null or from `newctx`, and not freed.
unsafe fn with(ctx: *mut c_void, body: impl FnOnce(&RandContext) -> c_int) -> c_int {
    // SAFETY: the caller passes null or a context of `newctx` that has not been freed.
    guard(0, || unsafe { ctx.cast::<RandContext>().as_ref() }.map_or(0, body))
}

unsafe extern "C" fn newctx(provctx: *mut c_void, _parent: *mut c_void, _parent_calls: *const Dispatch) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        adjunct::ops::attribute();
        abi::give(RandContext {
            // SAFETY: the pointer is the provider's, which outlives its contexts.
            provider: unsafe { provider(provctx) },
            generator: Generator::new(),
            state: AtomicU8::new(UNINITIALISED),
            cipher: AtomicBool::new(false),
            reseeds: AtomicU32::new(0),
            reseeded: AtomicI64::new(0),
            reseed_requests: AtomicU32::new(1 << 8),
            reseed_interval: AtomicI64::new(60 * 60),
        })
    })
}

unsafe extern "C" fn instantiate(
    ctx: *mut c_void,
    strength: c_uint,
    _resist: c_int,
    _personalisation: *const u8,
    _length: usize,
    params: *const Param,
) -> c_int {
    // SAFETY: the context is ours, the array OpenSSL's.
    unsafe {
        with(ctx, |c| {
            if c.set_params(params) != 1 {
                return 0;
            }
            if strength > STRENGTH {
                return c.fail(prov::INSUFFICIENT_DRBG_STRENGTH);
            }
            if c.state.load(Relaxed) == READY {
                // An error that OpenSSL's own tells, and no failure.
                c.fail(prov::ALREADY_INSTANTIATED);
                return 1;
            }
            c.start();
            1
        })
    }
}

unsafe extern "C" fn uninstantiate(ctx: *mut c_void) -> c_int {
    // SAFETY: the context is ours.
    unsafe {
        with(ctx, |c| {
            c.state.store(UNINITIALISED, Relaxed);
            1
        })
    }
}

unsafe extern "C" fn generate(
    ctx: *mut c_void,
    out: *mut u8,
    length: usize,
    strength: c_uint,
    resist: c_int,
    additional: *const u8,
    additional_length: usize,
) -> c_int {
    // SAFETY: the context is ours, the buffers OpenSSL's.
    unsafe {
        with(ctx, |c| c.generate(slice_mut(out, length), strength, resist != 0, slice(additional, additional_length)))
    }
}

unsafe extern "C" fn reseed(
    ctx: *mut c_void,
    _resist: c_int,
    _entropy: *const u8,
    _length: usize,
    _additional: *const u8,
    _additional_length: usize,
) -> c_int {
    // SAFETY: the context is ours.
    unsafe {
        with(ctx, |c| {
            if !c.ready() {
                return 0;
            }
            if !c.generator.reseed() {
                return c.fail(prov::INTERNAL_ERROR);
            }
            c.seeded();
            1
        })
    }
}

unsafe extern "C" fn nonce(ctx: *mut c_void, out: *mut u8, strength: c_uint, least: usize, most: usize) -> usize {
    let length = least.max(16).min(most);
    if out.is_null() {
        return length;
    }
    // SAFETY: the context is ours, the buffer OpenSSL's.
    let done = unsafe { with(ctx, |c| c.generate(slice_mut(out, length), strength, false, &[])) };
    if done == 1 { length } else { 0 }
}

/// Gives a generator below this one its seed, in a buffer [`clear_seed`] takes back.
///
/// # Safety
/// OpenSSL passes a live context of this generator, a place for a buffer, and `additional_length` readable bytes at `additional`.
unsafe extern "C" fn get_seed(
    ctx: *mut c_void,
    buffer: *mut *mut u8,
    entropy: c_int,
    least: usize,
    most: usize,
    resist: c_int,
    additional: *const u8,
    additional_length: usize,
) -> usize {
    let wanted = usize::try_from(entropy).unwrap_or(0).div_ceil(8);
    let length = wanted.max(least).clamp(1, MAX_REQUEST);
    if length > most || buffer.is_null() {
        return 0;
    }
    // SAFETY: the context is ours, the buffers OpenSSL's; the memory is given out only when filled.
    unsafe {
        let raw = libc::calloc(1, length).cast::<u8>();
        if raw.is_null() {
            return 0;
        }
        let additional = slice(additional, additional_length);
        if with(ctx, |c| c.generate(slice_mut(raw, length), 0, resist != 0, additional)) != 1 {
            libc::free(raw.cast());
            return 0;
        }
        *buffer = raw;
    }
    length
}

unsafe extern "C" fn clear_seed(_ctx: *mut c_void, buffer: *mut u8, length: usize) {
    // SAFETY: the buffer is from `get_seed`, of this length.
    unsafe {
        zeroize::Zeroize::zeroize(slice_mut(buffer, length));
        libc::free(buffer.cast());
    }
}

// Contexts share nothing that is not atomic.
unsafe extern "C" fn nothing_to_lock(_ctx: *mut c_void) -> c_int {
    1
}

unsafe extern "C" fn unlock(_ctx: *mut c_void) {}

unsafe extern "C" fn verify_zeroization(_ctx: *mut c_void) -> c_int {
    1
}

unsafe extern "C" fn get_ctx_params(ctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: the context is ours.
    unsafe { with(ctx, |c| c.get_params(params).into()) }
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: the context is ours.
    unsafe { with(ctx, |c| c.set_params(params)) }
}

static GETTABLE: [Param; 16] = [
    Param::describe(c"cipher", param::UTF8, 0),
    Param::describe(c"use_derivation_function", param::INTEGER, 4),
    Param::describe(c"state", param::INTEGER, 4),
    Param::describe(c"strength", param::UNSIGNED, 4),
    Param::describe(c"max_request", param::UNSIGNED, 8),
    Param::describe(c"min_entropylen", param::UNSIGNED, 8),
    Param::describe(c"max_entropylen", param::UNSIGNED, 8),
    Param::describe(c"min_noncelen", param::UNSIGNED, 8),
    Param::describe(c"max_noncelen", param::UNSIGNED, 8),
    Param::describe(c"max_perslen", param::UNSIGNED, 8),
    Param::describe(c"max_adinlen", param::UNSIGNED, 8),
    Param::describe(c"reseed_counter", param::UNSIGNED, 4),
    Param::describe(c"reseed_time", param::INTEGER, 8),
    Param::describe(c"reseed_requests", param::UNSIGNED, 4),
    Param::describe(c"reseed_time_interval", param::UNSIGNED, 8),
    Param::END,
];
static SETTABLE: [Param; 6] = [
    Param::describe(c"properties", param::UTF8, 0),
    Param::describe(c"cipher", param::UTF8, 0),
    Param::describe(c"use_derivation_function", param::INTEGER, 4),
    Param::describe(c"reseed_requests", param::UNSIGNED, 4),
    Param::describe(c"reseed_time_interval", param::INTEGER, 8),
    Param::END,
];

unsafe extern "C" fn gettable(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

unsafe extern "C" fn settable(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    SETTABLE.as_ptr()
}

static DISPATCH: &[Dispatch] = &[
    entry!(id::RAND_NEWCTX, newctx),
    entry!(id::RAND_FREECTX, abi::freed::<RandContext>),
    entry!(id::RAND_INSTANTIATE, instantiate),
    entry!(id::RAND_UNINSTANTIATE, uninstantiate),
    entry!(id::RAND_GENERATE, generate),
    entry!(id::RAND_RESEED, reseed),
    entry!(id::RAND_NONCE, nonce),
    entry!(id::RAND_ENABLE_LOCKING, nothing_to_lock),
    entry!(id::RAND_LOCK, nothing_to_lock),
    entry!(id::RAND_UNLOCK, unlock),
    entry!(id::RAND_GETTABLE_CTX_PARAMS, gettable),
    entry!(id::RAND_SETTABLE_CTX_PARAMS, settable),
    entry!(id::RAND_GET_CTX_PARAMS, get_ctx_params),
    entry!(id::RAND_SET_CTX_PARAMS, set_ctx_params),
    entry!(id::RAND_VERIFY_ZEROIZATION, verify_zeroization),
    entry!(id::RAND_GET_SEED, get_seed),
    entry!(id::RAND_CLEAR_SEED, clear_seed),
    Dispatch::END,
];
