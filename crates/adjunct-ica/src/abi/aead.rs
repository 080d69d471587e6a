//! `ica_aes_ccm`, `ica_aes_gcm*` and `ica_aes_gcm_kma_*`.

use super::{aes_key, array, bytes, bytes_mut, code, encrypts, handle, in_out, number, put, put_tag, verified};
use crate::error::Errno;
use crate::gcm::{self, Stream, Tag, tag_length};
use crate::serve::allow;
use adjunct::catalogue::Function;
use adjunct::ops::aead::ccm::Ccm;
use adjunct::ops::aead::gcm_parts::State;
use adjunct::ops::aead::random_iv;
use adjunct::{InOut, wipe};
use adjunct_ossl::guard;
use std::ffi::{c_int, c_uint, c_ulong};
use subtle::ConstantTimeEq;

/// Runs `body` on plaintext and ciphertext in the direction given; both may be null where there is no text.
///
/// # Safety
/// `plain` and `cipher` are null or have `length` bytes, which no other code writes during the call.
unsafe fn text(
    encrypt: bool,
    plain: *mut u8,
    cipher: *mut u8,
    length: c_ulong,
    body: impl FnOnce(InOut<'_>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    if length == 0 {
        return body(InOut::in_place(&mut []));
    }
    let (input, output) = if encrypt { (plain, cipher) } else { (cipher, plain) };
    // SAFETY: the caller's buffers.
    unsafe { in_out(input, output, length, body) }
}

/// # Safety
/// The caller's buffers, of the lengths given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_ccm(
    payload: *mut u8,
    length: c_ulong,
    cipher: *mut u8,
    mac_length: c_uint,
    aad: *const u8,
    aad_length: c_ulong,
    nonce: *const u8,
    nonce_length: c_uint,
    aes_key: *const u8,
    key_length: c_uint,
    direction: c_uint,
) -> c_uint {
    // SAFETY: the caller's buffers have the lengths given.
    verified(|| unsafe {
        let (encrypt, key) = (encrypts(direction)?, self::aes_key(aes_key, key_length)?);
        if cipher.is_null() || length == 0 && aad_length == 0 || !matches!(mac_length, 4..=16) {
            return Err(Errno::INVALID);
        }
        let mut ccm = Ccm::default();
        // First, for all else is there before the round keys are.
        ccm.set_key(key)?;
        ccm.start(bytes(nonce, nonce_length)?, mac_length as usize, super::length(length)?)?;
        let aad = bytes(aad, aad_length)?;
        allow(Function::AesCcm, key.len() * 8)?;
        // Before the output is written, which may lie there.
        let mac = cipher.add(length as usize);
        let mut given = [0; 16];
        if !encrypt {
            given[..mac_length as usize].copy_from_slice(bytes(mac, mac_length)?);
        }
        text(encrypt, payload, cipher, length, |mut io| {
            let (mut made, mac_length) = (ccm.whole(encrypt, aad, io.reborrow())?, mac_length as usize);
            if encrypt {
                put_tag(mac, &made, mac_length);
                return Ok(());
            }
            let right = bool::from(made[..mac_length].ct_eq(&given[..mac_length]));
            // What it should have been is nobody's to find.
            wipe(&mut made);
            if !right {
                gcm::clear(&mut io);
                return Err(Errno::FAULT);
            }
            Ok(())
        })
    }) as c_uint
}

/// # Safety
/// The caller's buffers, of the lengths given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm(
    plain: *mut u8,
    length: c_ulong,
    cipher: *mut u8,
    iv: *const u8,
    iv_length: c_uint,
    aad: *const u8,
    aad_length: c_ulong,
    tag: *mut u8,
    tag_length: c_uint,
    aes_key: *const u8,
    key_length: c_uint,
    direction: c_uint,
) -> c_uint {
    // SAFETY: the caller's buffers have the lengths given.
    verified(|| unsafe {
        let (encrypt, key) = (encrypts(direction)?, self::aes_key(aes_key, key_length)?);
        let (iv, aad) = (bytes(iv, iv_length)?, bytes(aad, aad_length)?);
        if tag.is_null() {
            return Err(Errno::INVALID);
        }
        gcm::text_length(length)?;
        if !self::tag_length(tag_length as usize) {
            return Err(Errno::INVALID);
        }
        // The one to compare is read before the output is written, which may lie there.
        let length_of_tag = tag_length as usize;
        if encrypt {
            let mut made = [0; 16];
            text(true, plain, cipher, length, |io| gcm::message(key, iv, aad, io, Tag::Make(&mut made)))?;
            put_tag(tag, &made, length_of_tag);
            return Ok(());
        }
        let given = gcm::padded(bytes(tag, tag_length)?);
        text(false, plain, cipher, length, |io| gcm::message(key, iv, aad, io, Tag::Verify(&given[..length_of_tag])))
    }) as c_uint
}

/// Begins a stream. The vector, of this length, is asked for (in this direction) once nothing else is refused.
///
/// # Safety
/// `aes_key` is null or has `key_length` bytes; `icb`, `ucb` and `subkey` are null or blocks that no other code uses during the call.
unsafe fn begin<'a>(
    iv_length: c_uint,
    (aes_key, key_length): (*const u8, c_uint),
    [icb, ucb, subkey]: [*mut u8; 3],
    direction: c_uint,
    iv: impl FnOnce(bool) -> Result<&'a [u8], Errno>,
) -> Result<(), Errno> {
    // SAFETY: the caller's buffers, blocks each.
    unsafe {
        let encrypt = encrypts(direction)?;
        self::aes_key(aes_key, key_length)?;
        if icb.is_null() || ucb.is_null() || subkey.is_null() {
            return Err(Errno::INVALID);
        }
        gcm::may_start(super::length(iv_length)?)?;
        // The key is looked at after the vector, which may be written.
        let iv = iv(encrypt)?;
        let start = gcm::start(self::aes_key(aes_key, key_length)?, iv)?;
        put(icb, &start.first);
        put(ucb, &start.next);
        put(subkey, &start.subkey);
    }
    Ok(())
}

/// # Safety
/// The caller's buffers, of the lengths given; the last three are blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_initialize(
    iv: *const u8,
    iv_length: c_uint,
    aes_key: *const u8,
    key_length: c_uint,
    icb: *mut u8,
    ucb: *mut u8,
    subkey: *mut u8,
    direction: c_uint,
) -> c_uint {
    // SAFETY: the caller's buffers have the lengths given; `icb`, `ucb` and the subkey are blocks.
    code(|| unsafe { begin(iv_length, (aes_key, key_length), [icb, ucb, subkey], direction, |_| bytes(iv, iv_length)) })
}

/// The least length of an initialization vector made here.
const LEAST_IV: c_uint = 12;

/// # Safety
/// As for [`ica_aes_gcm_initialize`]; encrypting, the vector is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_initialize_fips(
    iv: *mut u8,
    iv_length: c_uint,
    aes_key: *const u8,
    key_length: c_uint,
    icb: *mut u8,
    ucb: *mut u8,
    subkey: *mut u8,
    direction: c_uint,
) -> c_uint {
    // SAFETY: the caller's buffers have the lengths given; `icb`, `ucb` and the subkey are blocks; encrypting, the vector is writable.
    code(|| unsafe {
        if iv_length < LEAST_IV {
            return Err(Errno::INVALID);
        }
        begin(iv_length, (aes_key, key_length), [icb, ucb, subkey], direction, |encrypt| {
            if encrypt {
                random_iv(bytes_mut(iv, iv_length)?);
            }
            bytes(iv, iv_length)
        })
    })
}

/// # Safety
/// The caller's buffers, of the lengths given; the counter, the tag and the subkey are blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_intermediate(
    plain: *mut u8,
    length: c_ulong,
    cipher: *mut u8,
    ucb: *mut u8,
    aad: *const u8,
    aad_length: c_ulong,
    tag: *mut u8,
    tag_length: c_uint,
    aes_key: *const u8,
    key_length: c_uint,
    subkey: *const u8,
    direction: c_uint,
) -> c_uint {
    // SAFETY: the caller's buffers have the lengths given; the counter, the tag and the subkey are blocks.
    code(|| unsafe {
        let (encrypt, key) = (encrypts(direction)?, self::aes_key(aes_key, key_length)?);
        let subkey = array(subkey)?;
        if !self::tag_length(tag_length as usize) {
            return Err(Errno::INVALID);
        }
        gcm::text_length(length)?;
        let mut state = State { counter: *array(ucb)?, hash: *array(tag)?, subkey: *subkey };
        let aad = bytes(aad, aad_length)?;
        text(encrypt, plain, cipher, length, |io| gcm::part(key, &mut state, encrypt, aad, io))?;
        put(ucb, &state.counter);
        put(tag, &state.hash);
        Ok(())
    })
}

/// # Safety
/// The caller's buffers, of the lengths given; the counter, the tag and the subkey are blocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_last(
    icb: *const u8,
    aad_length: c_ulong,
    length: c_ulong,
    tag: *mut u8,
    final_tag: *const u8,
    final_length: c_uint,
    aes_key: *const u8,
    key_length: c_uint,
    subkey: *const u8,
    direction: c_uint,
) -> c_uint {
    // SAFETY: the caller's buffers have the lengths given; the counter, the tag and the subkey are blocks.
    verified(|| unsafe {
        let (encrypt, key) = (encrypts(direction)?, self::aes_key(aes_key, key_length)?);
        let subkey = array(subkey)?;
        if !encrypt && !tag_length(final_length as usize) {
            return Err(Errno::INVALID);
        }
        let mut hash = *array::<16>(tag)?;
        // Read before `tag` is written, which may be the same.
        let given = if encrypt { None } else { Some(gcm::padded(bytes(final_tag, final_length)?)) };
        gcm::finish(key, subkey, array(icb)?, aad_length, length, &mut hash)?;
        if let Some(given) = given
            && !bool::from(hash[..final_length as usize].ct_eq(&given[..final_length as usize]))
        {
            // What it should have been is nobody's to find.
            wipe(&mut hash);
            return Err(Errno::FAULT);
        }
        put(tag, &hash);
        Ok(())
    }) as c_uint
}

/// `kma_ctx`.
pub type Context = Stream;

/// Gives a context, or null where there is no memory.
#[unsafe(no_mangle)]
pub extern "C" fn ica_aes_gcm_kma_ctx_new() -> *mut Context {
    guard(std::ptr::null_mut(), || handle(Stream::default()).unwrap_or(std::ptr::null_mut()))
}

/// # Safety
/// Null or a context from [`ica_aes_gcm_kma_ctx_new`], which is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_kma_ctx_free(context: *mut Context) {
    guard((), || {
        if !context.is_null() {
            // SAFETY: the pointer is not null; the caller passes a context from `ica_aes_gcm_kma_ctx_new` and does not use it again.
            drop(unsafe { Box::from_raw(context) });
        }
    });
}

/// The caller's context.
///
/// # Safety
/// `context` is null or a live context that no other thread uses while the result lives.
unsafe fn context<'a>(context: *mut Context) -> Result<&'a mut Context, Errno> {
    // SAFETY: null or a live context, used by one thread at a time.
    unsafe { context.as_mut() }.ok_or(Errno::INVALID)
}

/// The caller's context, to read.
///
/// # Safety
/// `context` is null or a live context that no thread changes while the result lives.
unsafe fn constant<'a>(context: *const Context) -> Result<&'a Context, Errno> {
    // SAFETY: null or a live context, changed by no thread meanwhile.
    unsafe { context.as_ref() }.ok_or(Errno::INVALID)
}

/// # Safety
/// The caller's buffers and context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_kma_init(
    direction: c_uint,
    iv: *const u8,
    iv_length: c_uint,
    aes_key: *const u8,
    key_length: c_uint,
    ctx: *mut Context,
) -> c_int {
    // SAFETY: the caller's buffers have the lengths given, and the context is live and the caller's.
    number(|| unsafe {
        context(ctx)?.start(encrypts(direction)?, self::aes_key(aes_key, key_length)?, bytes(iv, iv_length)?)
    })
}

/// # Safety
/// The caller's buffers and context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_kma_init_fips(
    direction: c_uint,
    iv_length: c_uint,
    aes_key: *const u8,
    key_length: c_uint,
    ctx: *mut Context,
) -> c_int {
    // A vector of our own is for what it encrypts: of as many bytes as the original takes, every one random.
    const MOST_IV: usize = 260;
    // SAFETY: the caller's buffers have the lengths given, and the context is live and the caller's.
    number(|| unsafe {
        let length = super::length(iv_length)?;
        if iv_length < LEAST_IV || length > MOST_IV || !encrypts(direction)? {
            return Err(Errno::INVALID);
        }
        let mut iv = [0; MOST_IV];
        random_iv(&mut iv[..length]);
        context(ctx)?.start(true, self::aes_key(aes_key, key_length)?, &iv[..length])
    })
}

/// # Safety
/// The caller's buffers and context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_kma_get_iv(ctx: *const Context, iv: *mut u8, iv_length: *mut c_uint) -> c_int {
    // SAFETY: the caller's buffers have the lengths given, and the context is live and the caller's.
    number(|| unsafe {
        let own = constant(ctx)?.iv();
        if iv_length.is_null() {
            return Err(Errno::INVALID);
        }
        let room = iv_length.read_unaligned() as usize;
        iv_length.write_unaligned(own.len() as c_uint);
        if iv.is_null() {
            return Ok(());
        }
        if room < own.len() {
            return Err(Errno::NO_MEMORY);
        }
        bytes_mut(iv, own.len())?.copy_from_slice(own);
        Ok(())
    })
}

/// # Safety
/// The caller's buffers and context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_kma_update(
    input: *const u8,
    output: *mut u8,
    length: c_ulong,
    aad: *const u8,
    aad_length: c_ulong,
    end_of_aad: c_uint,
    end_of_data: c_uint,
    ctx: *mut Context,
) -> c_int {
    // SAFETY: the caller's buffers have the lengths given, and the context is live and the caller's.
    number(|| unsafe {
        let (context, aad) = (context(ctx)?, bytes(aad, aad_length)?);
        context.allows(aad.len(), end_of_aad != 0, super::length(length)?, end_of_data != 0)?;
        let mut run = |io: InOut<'_>| context.part(aad, end_of_aad != 0, io, end_of_data != 0);
        if length == 0 {
            return run(InOut::in_place(&mut []));
        }
        if input.is_null() || output.is_null() {
            return Err(Errno::FAULT);
        }
        in_out(input, output, length, run)
    })
}

/// # Safety
/// The caller's buffers and context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_kma_get_tag(tag: *mut u8, length: c_uint, ctx: *const Context) -> c_int {
    // SAFETY: the caller's buffers have the lengths given, and the context is live and the caller's.
    number(|| unsafe {
        let context = constant(ctx)?;
        if tag.is_null() || !tag_length(length as usize) {
            return Err(Errno::INVALID);
        }
        if !context.encrypts() {
            return Err(Errno::FAULT);
        }
        bytes_mut(tag, length)?.copy_from_slice(&context.tag()?[..length as usize]);
        Ok(())
    })
}

/// # Safety
/// The caller's buffers and context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_aes_gcm_kma_verify_tag(tag: *const u8, length: c_uint, ctx: *const Context) -> c_int {
    // SAFETY: the caller's buffers have the lengths given, and the context is live and the caller's.
    verified(|| unsafe {
        let context = constant(ctx)?;
        if tag.is_null() || !tag_length(length as usize) || context.encrypts() {
            return Err(Errno::INVALID);
        }
        context.verify(bytes(tag, length)?)
    })
}
