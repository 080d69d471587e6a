//! The dispatch of the simple modes: ECB and CBC, which take whole blocks, and CTR, CFB and OFB, which take anything.

use super::state::{self, CipherContext, Mode, State, mode};
use super::tls_cbc;
use crate::abi::param::Param;
use crate::abi::reason::{Reason, prov};
use crate::abi::{self, Dispatch, guard, id};
use crate::entry;
use crate::provider::provider;
use adjunct::InOut;
use adjunct::ops::cipher::{self, Counted, Pieces};
use std::ffi::{c_int, c_void};

unsafe extern "C" fn newctx<M: Mode>(provctx: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), move || {
        // SAFETY: provctx is OpenSSL's.
        let state = unsafe { State::new(provctx, &M::INFO) };
        abi::give(CipherContext::<M> { state, cipher: Counted::default() })
    })
}

unsafe extern "C" fn get_params<M: Mode>(params: *mut Param) -> c_int {
    // SAFETY: params is OpenSSL's.
    guard(0, move || unsafe { state::describe(&M::INFO, params) })
}

unsafe extern "C" fn get_ctx_params<M: Mode>(ctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: both are OpenSSL's.
    guard(0, move || unsafe {
        let Some(c) = abi::context::<CipherContext<M>>(ctx) else { return 0 };
        let updated = || M::updated_iv(&c.cipher, &c.state);
        if M::FIXED {
            return c.state.get_fixed(&M::INFO, updated, params);
        }
        c.state.get_params(&M::INFO, updated(), params)
    })
}

unsafe extern "C" fn gettable_ctx_params<M: Mode>(_ctx: *mut c_void, provctx: *mut c_void) -> *const Param {
    if M::FIXED {
        // SAFETY: provctx is OpenSSL's.
        return state::fixed_ctx(guard(false, || unsafe { provider(provctx) }.tells_chacha20_counter()));
    }
    if M::INFO.random_key { state::GETTABLE_CTX_RANDOM_KEY.as_ptr() } else { state::GETTABLE_CTX.as_ptr() }
}

unsafe extern "C" fn settable_ctx_params<M: Mode>(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    if M::FIXED { state::fixed_ctx(false) } else { state::SETTABLE_CTX.as_ptr() }
}

/// # Safety
/// `params` is OpenSSL's.
unsafe fn set_params<M: Mode>(state: &mut State, params: *const Param) -> c_int {
    // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
    unsafe { if M::FIXED { state.check_lengths(&M::INFO, params) } else { state.set_params(params) } }
}

unsafe extern "C" fn set_ctx_params<M: Mode>(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: both are OpenSSL's.
    guard(0, move || unsafe {
        let Some(c) = abi::context::<CipherContext<M>>(ctx) else { return 0 };
        set_params::<M>(&mut c.state, params)
    })
}

unsafe extern "C" fn init<M: Mode, const ENCRYPT: bool>(
    ctx: *mut c_void,
    key: *const u8,
    key_len: usize,
    iv: *const u8,
    iv_len: usize,
    params: *const Param,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(CipherContext { state, cipher }) = (unsafe { abi::context::<CipherContext<M>>(ctx) }) else {
            return 0;
        };
        state.num = 0;
        state.buffered = 0;
        state.encrypt = ENCRYPT;
        if !iv.is_null() && M::INFO.mode != mode::ECB {
            // SAFETY: `iv` is not null; OpenSSL passes `iv_len` readable bytes there, which nobody changes during the call.
            let iv = unsafe { abi::slice(iv, iv_len) };
            if !state.set_iv(iv, M::INFO.iv) {
                return 0;
            }
            M::set_iv(cipher, iv);
        } else if state.iv_set && matches!(M::INFO.mode, mode::CBC | mode::CFB | mode::OFB) {
            // A new message under the same key without a new IV begins where the first did, as in OpenSSL 1.1.1.
            state.iv = state.original_iv;
        }
        if !key.is_null() {
            // SAFETY: `key` is not null; OpenSSL passes `key_len` readable bytes there, which nobody changes during the call.
            let key = unsafe { abi::slice(key, key_len) };
            if key.len() == state.key_len {
                M::before_key(cipher, state);
            }
            if key.len() != state.key_len || cipher.set_key(key, ENCRYPT).is_err() {
                return state.fail(prov::INVALID_KEY_LENGTH);
            }
        }
        if params.is_null() {
            return 1;
        }
        // SAFETY: `params` is OpenSSL's parameter array, which ends and lives through the call.
        unsafe { set_params::<M>(state, params) }
    })
}

/// Works on all bytes of one call, without padding: `EVP_Cipher`, and an update of the modes that take any length.
///
/// # Safety
/// OpenSSL passes null or a live context of this mode, `len` readable bytes at `input`, `out_size` writable ones at `out`, and a place for the
/// length.
unsafe extern "C" fn cipher<M: Mode>(
    ctx: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(context) = (unsafe { abi::context::<CipherContext<M>>(ctx) }) else { return 0 };
        let CipherContext { state, cipher } = &mut *context;
        // The common case: a clear key and whole blocks.
        if (1..=out_size).contains(&len)
            && len.is_multiple_of(M::INFO.block)
            && !input.is_null()
            && !out.is_null()
            && let Some(clear) = cipher.clear()
        {
            // SAFETY: neither pointer is null; OpenSSL passes `len` readable bytes at `input` and `out_size` writable ones at `out`, and `len` is at
            // most `out_size`.
            clear.run(state.encrypt, state.chain(), unsafe { InOut::from_raw(input, out, len) });
            // SAFETY: OpenSSL passes the address of a variable of its own for the length.
            unsafe { *out_len = len };
            return 1;
        }
        // SAFETY: OpenSSL passes `len` readable bytes at `input`, `out_size` writable ones at `out`, and a variable of its own at `out_len`.
        unsafe { cipher_any(context, out, out_len, out_size, input, len) }
    })
}

/// [`cipher`] in all cases.
///
/// # Safety
/// As for [`cipher`].
#[inline(never)]
unsafe fn cipher_any<M: Mode>(
    CipherContext { state, cipher }: &mut CipherContext<M>,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    if !cipher.has_key() {
        return state.fail(prov::NO_KEY_SET);
    }
    if out_size < len {
        return state.fail(prov::OUTPUT_BUFFER_TOO_SMALL);
    }
    // What is not whole blocks stays unwritten in ECB; in CBC it is the caller's error (EVP_Cipher(3)).
    let usable = len - len % M::INFO.block;
    if usable != len && M::INFO.mode == mode::CBC {
        return state.fail(prov::INVALID_INPUT_LENGTH);
    }
    if usable > 0 {
        if input.is_null() || out.is_null() {
            return 0;
        }
        // SAFETY: neither pointer is null; the caller passes `len` readable bytes at `input` and `out_size` writable ones at `out`, and `usable` is
        // at most either.
        let done = cipher.run(state.encrypt, state.chain(), unsafe { InOut::from_raw(input, out, usable) });
        if done.is_err() {
            return state.fail(prov::CIPHER_OPERATION_FAILED);
        }
    }
    // SAFETY: the caller passes a place for the length.
    unsafe { *out_len = len };
    1
}

unsafe extern "C" fn stream_final<M: Mode>(
    ctx: *mut c_void,
    _out: *mut u8,
    out_len: *mut usize,
    _out_size: usize,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's.
        let Some(CipherContext { state, cipher }) = (unsafe { abi::context::<CipherContext<M>>(ctx) }) else {
            return 0;
        };
        if !cipher.has_key() {
            return state.fail(prov::NO_KEY_SET);
        }
        // SAFETY: OpenSSL passes the address of a variable of its own for the length.
        unsafe { *out_len = 0 };
        1
    })
}

unsafe extern "C" fn block_update<M: Mode>(
    ctx: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's, valid for the lengths given.
        let Some(context) = (unsafe { abi::context::<CipherContext<M>>(ctx) }) else { return 0 };
        let CipherContext { state, cipher } = &mut *context;
        // The common case: a clear key, whole blocks, nothing held, nothing to hold.
        if state.buffered == 0
            && state.tls_version == 0
            && (state.encrypt || !state.pad)
            && len.is_multiple_of(M::INFO.block)
            && (1..=out_size).contains(&len)
            && !input.is_null()
            && !out.is_null()
            && let Some(clear) = cipher.clear()
        {
            // SAFETY: neither pointer is null; OpenSSL passes `len` readable bytes at `input` and `out_size` writable ones at `out`, and `len` is at
            // most `out_size`.
            clear.run(state.encrypt, state.chain(), unsafe { InOut::from_raw(input, out, len) });
            // SAFETY: OpenSSL passes the address of a variable of its own for the length.
            unsafe { *out_len = len };
            return 1;
        }
        // SAFETY: OpenSSL passes `len` readable bytes at `input`, `out_size` writable ones at `out`, and a variable of its own at `out_len`.
        unsafe { block_update_any(context, out, out_len, out_size, input, len) }
    })
}

/// [`block_update`] in all cases.
///
/// # Safety
/// As for [`block_update`].
#[inline(never)]
unsafe fn block_update_any<M: Mode>(
    CipherContext { state, cipher }: &mut CipherContext<M>,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
    input: *const u8,
    len: usize,
) -> c_int {
    if !cipher.has_key() {
        return state.fail(prov::NO_KEY_SET);
    }
    if state.tls_version > 0 {
        // SAFETY: the caller passes `len` readable bytes at `input`, `out_size` writable ones at `out` and a place for the length; `update` refuses
        // null pointers.
        return unsafe { tls_cbc::update::<M>(state, cipher, out, out_len, out_size, input, len) };
    }
    if input.is_null() && len > 0 {
        return 0;
    }
    let written = cipher.update(state.encrypt, len, |pieces| {
        // SAFETY: the caller passes `len` readable bytes at `input`, which is null only where `len` is 0, and `out_size` writable ones at `out`,
        // whose null `blocks` refuses.
        unsafe { blocks(state, pieces, out, out_size, input, len) }
    });
    let written = match written {
        Ok(written) => written,
        Err(reason) => return state.fail(reason),
    };
    // SAFETY: the caller passes a place for the length.
    unsafe { *out_len = written };
    1
}

/// Runs what makes whole blocks and keeps the rest. Decrypting with padding the last whole block is kept too: it may be
/// the padded one.
///
/// # Errors
/// The output is too small; or the cipher failed.
///
/// # Safety
/// `input` is valid for `len` bytes and `out` for `out_size`.
#[inline]
unsafe fn blocks<C: cipher::Mode>(
    state: &mut State,
    mut pieces: Pieces<'_, C>,
    mut out: *mut u8,
    out_size: usize,
    mut input: *const u8,
    mut len: usize,
) -> Result<usize, Reason> {
    let block = C::BLOCK;
    let keep_last = !state.encrypt && state.pad;
    let mut written = 0;
    if state.buffered > 0 {
        let take = len.min(block - state.buffered);
        // SAFETY: take bytes remain in the input and fit in the buffer; memory is only copied.
        unsafe { std::ptr::copy(input, state.buffer.as_mut_ptr().add(state.buffered), take) };
        state.buffered += take;
        // SAFETY: within the input.
        input = unsafe { input.add(take) };
        len -= take;
        if state.buffered == block && (!keep_last || len > 0) {
            if out_size < block || out.is_null() {
                return Err(prov::OUTPUT_BUFFER_TOO_SMALL);
            }
            let full = state.buffer;
            // SAFETY: the output has room for a block.
            let done = pieces.run(state.chain(), unsafe { InOut::from_raw(full.as_ptr(), out, block) });
            done.map_err(|_| prov::CIPHER_OPERATION_FAILED)?;
            state.buffered = 0;
            written = block;
            // SAFETY: within the output.
            out = unsafe { out.add(block) };
        }
    }
    let mut whole = len - len % block;
    if whole > 0 && whole == len && keep_last {
        whole -= block;
    }
    if whole > 0 {
        if out_size - written < whole || out.is_null() {
            return Err(prov::OUTPUT_BUFFER_TOO_SMALL);
        }
        // SAFETY: whole bytes remain in the input and fit in the output.
        let done = pieces.run(state.chain(), unsafe { InOut::from_raw(input, out, whole) });
        done.map_err(|_| prov::CIPHER_OPERATION_FAILED)?;
        written += whole;
        // SAFETY: within the input.
        input = unsafe { input.add(whole) };
        len -= whole;
    }
    if len > 0 {
        // SAFETY: at most a block remains, and the buffer is empty here.
        unsafe { std::ptr::copy(input, state.buffer.as_mut_ptr(), len) };
        state.buffered = len;
    }
    Ok(written)
}

unsafe extern "C" fn block_final<M: Mode>(
    ctx: *mut c_void,
    out: *mut u8,
    out_len: *mut usize,
    out_size: usize,
) -> c_int {
    guard(0, move || {
        // SAFETY: the pointers are OpenSSL's.
        let Some(CipherContext { state, cipher }) = (unsafe { abi::context::<CipherContext<M>>(ctx) }) else {
            return 0;
        };
        if !cipher.has_key() {
            return state.fail(prov::NO_KEY_SET);
        }
        if state.tls_version > 0 {
            // Records are complete in themselves.
            return state.fail(prov::CIPHER_OPERATION_FAILED);
        }
        let block = M::INFO.block;
        let mut last = [0u8; 16];
        let last = &mut last[..block];
        let length = match finish::<M>(state, cipher, last) {
            Ok(length) => length,
            Err(reason) => return state.fail(reason),
        };
        if length > 0 {
            if out_size < length {
                return state.fail(prov::OUTPUT_BUFFER_TOO_SMALL);
            }
            // SAFETY: the output has room.
            unsafe { std::ptr::copy_nonoverlapping(last.as_ptr(), out, length) };
        }
        state.buffered = 0;
        // SAFETY: OpenSSL passes the address of a variable of its own for the length.
        unsafe { *out_len = length };
        1
    })
}

/// The last block, into `last`: how many of its bytes are output.
fn finish<M: Mode>(state: &mut State, cipher: &mut Counted<M::Cipher>, last: &mut [u8]) -> Result<usize, Reason> {
    let block = last.len();
    let held = state.buffered;
    if state.encrypt {
        if state.pad {
            state.buffer[held..block].fill((block - held) as u8);
        } else if held == 0 {
            return Ok(0);
        } else if held != block {
            return Err(prov::WRONG_FINAL_BLOCK_LENGTH);
        }
    } else if held != block {
        return if held == 0 && !state.pad { Ok(0) } else { Err(prov::WRONG_FINAL_BLOCK_LENGTH) };
    }
    last.copy_from_slice(&state.buffer[..block]);
    let done = cipher.last(state.encrypt, state.chain(), InOut::in_place(last));
    done.map_err(|_| prov::CIPHER_OPERATION_FAILED)?;
    if state.encrypt || !state.pad {
        return Ok(block);
    }
    // What stays where the padding is bad.
    state.buffer[..block].copy_from_slice(last);
    unpad(last).ok_or(prov::BAD_DECRYPT)
}

/// The length without PKCS#7 padding. All of the block is looked at whatever its content; that the padding was bad is
/// told to the caller all the same, who must have authenticated the ciphertext (EVP_DecryptFinal(3)).
fn unpad(block: &[u8]) -> Option<usize> {
    let length = block.len();
    let pad = block[length - 1] as usize;
    let mut bad = pad == 0 || pad > length;
    for (i, &b) in block.iter().rev().enumerate() {
        bad |= (i < pad) & (usize::from(b) != pad);
    }
    (!bad).then(|| length - pad)
}

/// The dispatch tables of a mode.
pub struct Table<M>(std::marker::PhantomData<M>);

impl<M: Mode> Table<M> {
    /// The table of modes that take whole blocks.
    pub const BLOCK: [Dispatch; 15] = Self::table(block_update::<M> as *const (), block_final::<M> as *const ());
    /// The table of modes that take any length.
    pub const STREAM: [Dispatch; 15] = Self::table(cipher::<M> as *const (), stream_final::<M> as *const ());

    const fn table(update: *const (), last: *const ()) -> [Dispatch; 15] {
        [
            entry!(id::CIPHER_NEWCTX, newctx::<M>),
            entry!(id::CIPHER_FREECTX, abi::freed::<CipherContext<M>>),
            entry!(id::CIPHER_DUPCTX, abi::copied::<CipherContext<M>>),
            entry!(id::CIPHER_ENCRYPT_INIT, init::<M, true>),
            entry!(id::CIPHER_DECRYPT_INIT, init::<M, false>),
            entry!(id::CIPHER_UPDATE, update),
            entry!(id::CIPHER_FINAL, last),
            entry!(id::CIPHER_CIPHER, cipher::<M>),
            entry!(id::CIPHER_GET_PARAMS, get_params::<M>),
            entry!(id::CIPHER_GETTABLE_PARAMS, state::gettable_params),
            entry!(id::CIPHER_GET_CTX_PARAMS, get_ctx_params::<M>),
            entry!(id::CIPHER_GETTABLE_CTX_PARAMS, gettable_ctx_params::<M>),
            entry!(id::CIPHER_SET_CTX_PARAMS, set_ctx_params::<M>),
            entry!(id::CIPHER_SETTABLE_CTX_PARAMS, settable_ctx_params::<M>),
            Dispatch::END,
        ]
    }
}
