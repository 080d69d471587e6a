//! `ica_ec_*`, `ica_ecdh_*`, `ica_ecdsa_*`. Buffers may overlap: results are made in memory of our own, and copied when all has
//! been read.

use super::{handle, number, secret};
use crate::ec::{Curve, IcaEcKey};
use crate::error::Errno;
use adjunct::ops::ec::{MAX_FIELD, MAX_POINT};
use adjunct_ossl::guard;
use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;
use zeroize::Zeroizing;

/// # Safety
/// `length` is null or the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ec_key_new(nid: c_uint, length: *mut c_uint) -> *mut IcaEcKey {
    guard(null_mut(), || match Curve::from_nid(nid) {
        Some(curve) if !length.is_null() => {
            // SAFETY: `length` is not null, so by the caller's word a place for a number.
            unsafe { length.write_unaligned(curve.length() as c_uint) };
            handle(IcaEcKey::new(curve)).unwrap_or(null_mut())
        }
        _ => null_mut(),
    })
}

/// # Safety
/// `key` is null or of `ica_ec_key_new`, and no other thread uses it; each number is null or as long as the key's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ec_key_init(x: *const u8, y: *const u8, d: *const u8, key: *mut IcaEcKey) -> c_int {
    // SAFETY: the caller passes null or a live key of `ica_ec_key_new` that no other thread uses; each number is null or as long as the key's.
    secret(|| unsafe {
        let key = key.as_mut().ok_or(Errno::INVALID)?;
        let length = key.length();
        if x.is_null() != y.is_null() {
            return Err(Errno::INVALID);
        }
        let part = |data: *const u8| (!data.is_null()).then(|| std::slice::from_raw_parts(data, length));
        key.set(part(x).zip(part(y)), part(d))
    })
}

/// # Safety
/// `key` is null or of `ica_ec_key_new`, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ec_key_generate(_handle: c_int, key: *mut IcaEcKey) -> c_int {
    // SAFETY: the caller passes null or a live key of `ica_ec_key_new` that no other thread uses.
    secret(|| unsafe { key.as_mut() }.ok_or(Errno::INVALID)?.generate())
}

/// # Safety
/// The keys are null or of `ica_ec_key_new`; `z` is null or has the length given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ecdh_derive_secret(
    _handle: c_int,
    private: *const IcaEcKey,
    public: *const IcaEcKey,
    z: *mut u8,
    length: c_uint,
) -> c_int {
    // SAFETY: the caller passes null or live keys of `ica_ec_key_new`, and a `z` that is null or has the length given.
    secret(|| unsafe {
        let (private, public) = (private.as_ref().ok_or(Errno::INVALID)?, public.as_ref().ok_or(Errno::INVALID)?);
        if z.is_null() || (length as usize) < private.length() {
            return Err(Errno::INVALID);
        }
        let mut room = Zeroizing::new([0; MAX_FIELD]);
        write(z, private.shared_secret(public, &mut room)?);
        Ok(())
    })
}

/// # Safety
/// As for [`ica_ecdsa_sign_ex`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ecdsa_sign(
    handle: c_int,
    key: *const IcaEcKey,
    hash: *const u8,
    hash_length: c_uint,
    signature: *mut u8,
    signature_length: c_uint,
) -> c_int {
    // SAFETY: the arguments are the caller's, as `ica_ecdsa_sign_ex` takes them; no nonce is given.
    unsafe { ica_ecdsa_sign_ex(handle, key, hash, hash_length, signature, signature_length, std::ptr::null()) }
}

/// The key, the hash and the length of a signature by the key, for which there is room.
///
/// # Safety
/// `key` is null or a live key of `ica_ec_key_new`; `hash` is null or has `hash_length` bytes; both stay as they are while the result is used.
unsafe fn operands<'a>(
    key: *const IcaEcKey,
    (hash, hash_length): (*const u8, c_uint),
    (signature, signature_length): (*const u8, c_uint),
) -> Result<(&'a IcaEcKey, &'a [u8], usize), Errno> {
    // SAFETY: the caller's key and hash.
    let (key, hash) = unsafe { (key.as_ref().ok_or(Errno::INVALID)?, self::hash(hash, hash_length)?) };
    let length = 2 * key.length();
    if signature.is_null() || (signature_length as usize) < length {
        return Err(Errno::INVALID);
    }
    Ok((key, hash, length))
}

/// Signs a hash with `nonce`, or with a random one where it is null.
///
/// # Safety
/// `key` is null or of `ica_ec_key_new`; `hash` and `signature` are null or have the lengths given; `nonce` is null or as long as
/// the private key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ecdsa_sign_ex(
    _handle: c_int,
    key: *const IcaEcKey,
    hash: *const u8,
    hash_length: c_uint,
    signature: *mut u8,
    signature_length: c_uint,
    nonce: *const u8,
) -> c_int {
    // SAFETY: the caller passes null or a live key of `ica_ec_key_new`, buffers that are null or have the lengths given, and a nonce that
    // is null or as long as the private key.
    secret(|| unsafe {
        let (key, hash, length) = operands(key, (hash, hash_length), (signature, signature_length))?;
        let mut room = [0; 2 * MAX_FIELD];
        let made = &mut room[..length];
        if nonce.is_null() {
            key.sign(hash, made)?;
        } else {
            key.sign_with_nonce(hash, std::slice::from_raw_parts(nonce, key.length()), made)?;
        }
        write(signature, made);
        Ok(())
    })
}

/// # Safety
/// `key` is null or of `ica_ec_key_new`; `hash` and `signature` are null or have the lengths given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ecdsa_verify(
    _handle: c_int,
    key: *const IcaEcKey,
    hash: *const u8,
    hash_length: c_uint,
    signature: *const u8,
    signature_length: c_uint,
) -> c_int {
    // SAFETY: the caller passes null or a live key of `ica_ec_key_new`, and buffers that are null or have the lengths given.
    number(|| unsafe {
        let (key, hash, length) = operands(key, (hash, hash_length), (signature, signature_length))?;
        key.verify(hash, std::slice::from_raw_parts(signature, length))
    })
}

/// Copies the public point; the length is told even if the key has no public half, which programs that look for one expect.
///
/// # Safety
/// `key` is null or of `ica_ec_key_new`; `q` is null or twice as long as the private key; `length` is null or the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ec_key_get_public_key(key: *const IcaEcKey, q: *mut u8, length: *mut c_uint) -> c_int {
    // SAFETY: the caller passes null or a live key of `ica_ec_key_new`, a `q` that is null or twice as long as the private key, and a
    // length or null.
    number(|| unsafe {
        let key = key.as_ref().ok_or(Errno::INVALID)?;
        let mut room = [0; MAX_POINT];
        get(key.public(&mut room), 2 * key.length(), q, length)
    })
}

/// Copies the private number of `key` to `d`, and its length to `length`, as [`ica_ec_key_get_public_key`] does the public key.
///
/// # Safety
/// `key` is null or of `ica_ec_key_new`; `d` is null or as long as the private key; `length` is null or the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ec_key_get_private_key(key: *const IcaEcKey, d: *mut u8, length: *mut c_uint) -> c_int {
    // SAFETY: the caller passes null or a live key of `ica_ec_key_new`, a `d` that is null or as long as the private key, and a length or null.
    secret(|| unsafe {
        let key = key.as_ref().ok_or(Errno::INVALID)?;
        get(key.private(), key.length(), d, length)
    })
}

/// # Safety
/// `key` is null or of `ica_ec_key_new`, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ica_ec_key_free(key: *mut IcaEcKey) {
    if !key.is_null() {
        // SAFETY: the key is not null; the caller has it from `ica_ec_key_new` and uses it no more. The private key is overwritten when it goes.
        guard((), || drop(unsafe { Box::from_raw(key) }));
    }
}

/// A hash of one of the lengths the interface takes.
///
/// # Safety
/// As for [`super::bytes`].
unsafe fn hash<'a>(hash: *const u8, length: c_uint) -> Result<&'a [u8], Errno> {
    if !matches!(length, 20 | 28 | 32 | 48 | 64) {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's buffer is readable for that length while the result lives.
    unsafe { super::bytes(hash, length) }
}

/// # Safety
/// The pointers are null or the caller's, `out` for `size` bytes.
unsafe fn get(half: Option<&[u8]>, size: usize, out: *mut u8, length: *mut c_uint) -> Result<(), Errno> {
    if out.is_null() || length.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: neither pointer is null, so by the caller's word `out` has room for `size` bytes, no fewer than the half has, and `length` is
    // a place for a number.
    unsafe {
        length.write_unaligned(size as c_uint);
        write(out, half.ok_or(Errno::INVALID)?);
    }
    Ok(())
}

/// # Safety
/// `out` is writable for the length of `data`, which is ours.
unsafe fn write(out: *mut u8, data: &[u8]) {
    // SAFETY: the caller has `out` writable for the length of `data`, which is ours, so that the two do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), out, data.len()) };
}
