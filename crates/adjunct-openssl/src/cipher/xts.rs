//! AES-XTS: one call is one data unit, and the IV is its tweak (IEEE 1619, SP 800-38E).

use super::state::{self, Info, State, mode};
use crate::abi::param::{self, Param};
use crate::abi::reason::prov;
use crate::abi::{self, Dispatch, guard, id};
use crate::entry;
use adjunct::InOut;
use adjunct::ops::cipher::xts::{MAX_UNIT, Xts};
use std::ffi::{c_int, c_void};
use subtle::ConstantTimeEq;

/// Parameters of AES-XTS with `bits` bits in each of its two keys.
const fn info(bits: usize) -> Info {
    Info { custom_iv: true, ..Info::plain(mode::XTS, bits / 4, 1, 16) }
}

#[derive(Clone)]
struct XtsContext {
    state: State,
    xts: Xts,
}

impl XtsContext {
    /// # Safety
    /// The pointers are null or valid for the lengths given.
    unsafe fn unit(&mut self, out: *mut u8, input: *const u8, len: usize) -> bool {
        let state = &self.state;
        if !self.xts.has_key() || !state.iv_set || out.is_null() || input.is_null() || len < 16 {
            return false;
        }
        if len > MAX_UNIT {
            state.provider.core.raise(prov::XTS_DATA_UNIT_IS_TOO_LARGE);
            return false;
        }
        // SAFETY: neither pointer is null, so by the caller's word both are valid for `len` bytes.
        self.xts.unit(&state.iv, unsafe { InOut::from_raw(input, out, len) }).is_ok()
    }
}

unsafe extern "C" fn newctx<const BITS: usize>(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), move || {
        // SAFETY: provctx is OpenSSL's.
        let state = unsafe { State::new(provctx, &info(BITS)) };
        abi::give(XtsContext { state, xts: Xts::default() })
    })
}

unsafe extern "C" fn init<const BITS: usize, const ENCRYPT: bool>(
    ctx: *mut c_void,
    key: *const u8,
    key_len: usize,
    iv: *const u8,
    iv_len: usize,
    params: *const Param,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(XtsContext { state, xts }) = (unsafe { abi::context::<XtsContext>(ctx) }) else { return 0 };
        state.encrypt = ENCRYPT;
        // SAFETY: OpenSSL passes `iv_len` readable bytes at an `iv` that is not null, and nobody changes them during the call.
        if !iv.is_null() && !state.set_iv(unsafe { abi::slice(iv, iv_len) }, 16) {
            return 0;
        }
        if !key.is_null() {
            // SAFETY: `key` is not null; OpenSSL passes `key_len` readable bytes there, which nobody changes during the call.
            let key = unsafe { abi::slice(key, key_len) };
            if key.len() != info(BITS).key {
                return state.fail(prov::INVALID_KEY_LENGTH);
            }
            // Two equal keys are no XTS; what others encrypted with such may be read (SP 800-38E, FIPS 140-2 IG A.9).
            let (data, tweak) = key.split_at(key.len() / 2);
            if ENCRYPT && bool::from(data.ct_eq(tweak)) {
                return state.fail(prov::XTS_DUPLICATED_KEYS);
            }
            if xts.set_key(key, ENCRYPT).is_err() {
                return state.fail(prov::INVALID_KEY_LENGTH);
            }
        }
        if params.is_null() {
            return 1;
        }
        // SAFETY: `ctx` is the live context OpenSSL passes, to which no other reference is used from here on, and `params` its parameter array.
        unsafe { set_ctx_params(ctx, params) }
    })
}

unsafe extern "C" fn cipher(
    ctx: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    _out_size: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(c) = (unsafe { abi::context::<XtsContext>(ctx) }) else { return 0 };
        // SAFETY: OpenSSL passes `len` readable bytes at `input` and at least as many writable ones at `out`, or null pointers, which
        // `unit` refuses.
        if !unsafe { c.unit(out, input, len) } {
            return 0;
        }
        // SAFETY: OpenSSL passes the address of a variable of its own for the length.
        unsafe { *out_len = len };
        1
    })
}

unsafe extern "C" fn update(
    ctx: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(c) = (unsafe { abi::context::<XtsContext>(ctx) }) else { return 0 };
        if out_size < len {
            return c.state.fail(prov::OUTPUT_BUFFER_TOO_SMALL);
        }
        // SAFETY: OpenSSL passes `len` readable bytes at `input` and `out_size`, at least `len`, writable ones at `out`, or null pointers,
        // which `unit` refuses.
        if !unsafe { c.unit(out, input, len) } {
            return c.state.fail(prov::CIPHER_OPERATION_FAILED);
        }
        // SAFETY: OpenSSL passes the address of a variable of its own for the length.
        unsafe { *out_len = len };
        1
    })
}

unsafe extern "C" fn last(_ctx: *mut c_void, _out: *mut u8, out_len: *mut usize, _out_size: usize) -> c_int {
    // SAFETY: OpenSSL's pointer.
    unsafe { *out_len = 0 };
    1
}

unsafe extern "C" fn get_params<const BITS: usize>(params: *mut Param) -> c_int {
    // SAFETY: params is OpenSSL's.
    guard(0, move || unsafe { state::describe(&info(BITS), params) })
}

unsafe extern "C" fn get_ctx_params<const BITS: usize>(ctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: both are OpenSSL's.
    guard(0, move || unsafe {
        abi::context::<XtsContext>(ctx).map_or(0, |c| c.state.get_params(&info(BITS), c.state.iv, params))
    })
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const Param) -> c_int {
    guard(0, move || {
        // SAFETY: both are OpenSSL's.
        let Some(c) = (unsafe { abi::context::<XtsContext>(ctx) }) else { return 0 };
        // SAFETY: `params` is OpenSSL's parameter array, which ends and lives through the call.
        for p in unsafe { param::iter(params) } {
            // The key's length is fixed; saying so again is no error.
            if p.name() == c"keylen" {
                match p.get_usize() {
                    None => return c.state.fail(prov::FAILED_TO_GET_PARAMETER),
                    Some(length) if length != c.state.key_len => return 0,
                    Some(_) => {}
                }
            }
        }
        1
    })
}

static SETTABLE: [Param; 2] = [Param::describe(c"keylen", param::UNSIGNED, 8), Param::END];

unsafe extern "C" fn settable_ctx_params(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    SETTABLE.as_ptr()
}

const fn table<const BITS: usize>() -> [Dispatch; 15] {
    [
        entry!(id::CIPHER_NEWCTX, newctx::<BITS>),
        entry!(id::CIPHER_FREECTX, abi::freed::<XtsContext>),
        entry!(id::CIPHER_DUPCTX, abi::copied::<XtsContext>),
        entry!(id::CIPHER_ENCRYPT_INIT, init::<BITS, true>),
        entry!(id::CIPHER_DECRYPT_INIT, init::<BITS, false>),
        entry!(id::CIPHER_UPDATE, update),
        entry!(id::CIPHER_FINAL, last),
        entry!(id::CIPHER_CIPHER, cipher),
        entry!(id::CIPHER_GET_PARAMS, get_params::<BITS>),
        entry!(id::CIPHER_GETTABLE_PARAMS, state::gettable_params),
        entry!(id::CIPHER_GET_CTX_PARAMS, get_ctx_params::<BITS>),
        entry!(id::CIPHER_GETTABLE_CTX_PARAMS, state::gettable_ctx_params),
        entry!(id::CIPHER_SET_CTX_PARAMS, set_ctx_params),
        entry!(id::CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params),
        Dispatch::END,
    ]
}

pub(super) static XTS128: [Dispatch; 15] = table::<128>();
pub(super) static XTS256: [Dispatch; 15] = table::<256>();
