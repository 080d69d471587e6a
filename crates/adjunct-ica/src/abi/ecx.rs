//! `ica_x25519_*`, `ica_x448_*`, `ica_ed25519_*` and `ica_ed448_*`: 0 or -1, and nothing is written but by a success.

use super::traceless::traceless;
use super::{array, bytes, handle, put};
use crate::ecx::{Agreement, Curve, Ed448, Ed25519, IcaEcxKey, Signatures, X448, X25519};
use crate::error::Errno;
use adjunct_ossl::guard;
use std::ffi::c_int;

fn status(body: impl FnOnce() -> Result<(), Errno>) -> c_int {
    guard(-1, || body().map_or(-1, |()| 0))
}

/// Runs a function of the interface that works with private keys and returns 0 or -1: no copy of a key stays on the stack.
fn traceless_status(body: impl FnOnce() -> Result<(), Errno>) -> c_int {
    traceless(|| status(body))
}

/// The caller's key.
///
/// # Safety
/// Null, or a live context of that curve.
unsafe fn key<'a, C, const N: usize>(key: *const IcaEcxKey<C, N>) -> Result<&'a IcaEcxKey<C, N>, Errno> {
    // SAFETY: the caller passes null or a live context of that curve.
    unsafe { key.as_ref() }.ok_or(Errno::INVALID)
}

/// The caller's key, to be changed.
///
/// # Safety
/// Null, or a live context of that curve, which no other thread uses meanwhile.
unsafe fn key_mut<'a, C, const N: usize>(key: *mut IcaEcxKey<C, N>) -> Result<&'a mut IcaEcxKey<C, N>, Errno> {
    // SAFETY: the caller passes null or a live context of that curve that no other thread uses meanwhile.
    unsafe { key.as_mut() }.ok_or(Errno::INVALID)
}

unsafe fn new<C: Curve<N>, const N: usize>(context: *mut *mut IcaEcxKey<C, N>) -> Result<(), Errno> {
    if context.is_null() {
        return Err(Errno::INVALID);
    }
    let key = handle(IcaEcxKey::new()?)?;
    // SAFETY: the caller's pointer.
    unsafe { context.write(key) };
    Ok(())
}

unsafe fn set<C: Curve<N>, const N: usize>(
    context: *mut IcaEcxKey<C, N>,
    private: *const u8,
    public: *const u8,
) -> Result<(), Errno> {
    // SAFETY: the caller's context and keys.
    unsafe {
        let context = key_mut(context)?;
        context.set(private.cast::<[u8; N]>().as_ref(), public.cast::<[u8; N]>().as_ref())
    }
}

unsafe fn get<C: Curve<N>, const N: usize>(
    context: *const IcaEcxKey<C, N>,
    private: *mut u8,
    public: *mut u8,
) -> Result<(), Errno> {
    if private.is_null() && public.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's context and buffers.
    unsafe {
        let context = key(context)?;
        let half = if public.is_null() { None } else { Some(context.public()?) };
        if !private.is_null() {
            put(private, context.private()?);
        }
        if let Some(half) = half {
            put(public, &half);
        }
    }
    Ok(())
}

unsafe fn delete<C, const N: usize>(context: *mut *mut IcaEcxKey<C, N>) -> Result<(), Errno> {
    // SAFETY: the caller's pointer to a live context, or to null.
    unsafe {
        if context.is_null() || (*context).is_null() {
            return Err(Errno::INVALID);
        }
        drop(Box::from_raw(*context));
        *context = std::ptr::null_mut();
    }
    Ok(())
}

unsafe fn derive<C: Agreement<N>, const N: usize>(
    context: *const IcaEcxKey<C, N>,
    secret: *mut u8,
    peer: *const u8,
) -> Result<(), Errno> {
    if secret.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's context and buffers, which may be one.
    unsafe {
        let shared = key(context)?.derive(array(peer)?)?;
        put(secret, &shared);
    }
    Ok(())
}

unsafe fn sign<C: Signatures<N, S>, const N: usize, const S: usize>(
    context: *const IcaEcxKey<C, N>,
    signature: *mut u8,
    message: (*const u8, usize),
) -> Result<(), Errno> {
    if signature.is_null() {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's context and buffers, which may overlap: the message has been read when the signature is written.
    unsafe {
        let made = key(context)?.sign(bytes(message.0, message.1)?)?;
        put(signature, &made);
    }
    Ok(())
}

unsafe fn verify<C: Signatures<N, S>, const N: usize, const S: usize>(
    context: *const IcaEcxKey<C, N>,
    signature: *const u8,
    message: (*const u8, usize),
) -> Result<(), Errno> {
    // SAFETY: the caller's context and buffers.
    unsafe { key(context)?.verify(bytes(message.0, message.1)?, array(signature)?) }
}

/// The functions that all four curves have: context, key, deletion.
macro_rules! keys {
    ($curve:ty, $length:literal, $new:ident $set:ident $get:ident $generate:ident $delete:ident) => {
        /// # Safety
        /// A pointer to write a context to.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $new(context: *mut *mut IcaEcxKey<$curve, $length>) -> c_int {
            // SAFETY: the caller passes a pointer to write a context to, or null.
            status(|| unsafe { new(context) })
        }

        /// # Safety
        /// A live context that no other thread uses, and keys of the header's lengths.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $set(
            context: *mut IcaEcxKey<$curve, $length>,
            private: *const u8,
            public: *const u8,
        ) -> c_int {
            // SAFETY: the caller passes null or a live context that no other thread uses, and keys of the header's lengths or null.
            traceless_status(|| unsafe { set(context, private, public) })
        }

        /// # Safety
        /// A live context, and room for keys of the header's lengths.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            context: *mut IcaEcxKey<$curve, $length>,
            private: *mut u8,
            public: *mut u8,
        ) -> c_int {
            // SAFETY: the caller passes null or a live context, and room for keys of the header's lengths or null.
            traceless_status(|| unsafe { get(context, private, public) })
        }

        /// # Safety
        /// A live context that no other thread uses.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $generate(context: *mut IcaEcxKey<$curve, $length>) -> c_int {
            // SAFETY: the caller passes null or a live context that no other thread uses.
            traceless_status(|| unsafe { key_mut(context)?.generate() })
        }

        /// # Safety
        /// A pointer to a live context, or to null.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $delete(context: *mut *mut IcaEcxKey<$curve, $length>) -> c_int {
            // SAFETY: the caller passes a pointer to a live context or to null, or null.
            status(|| unsafe { delete(context) })
        }
    };
}

macro_rules! agreement {
    ($curve:ty, $length:literal, $derive:ident) => {
        /// # Safety
        /// A live context, and buffers of the key's length.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $derive(
            context: *mut IcaEcxKey<$curve, $length>,
            secret: *mut u8,
            peer: *const u8,
        ) -> c_int {
            // SAFETY: the caller passes null or a live context, and buffers of the key's length or null.
            traceless_status(|| unsafe { derive(context, secret, peer) })
        }
    };
}

macro_rules! signatures {
    ($curve:ty, $length:literal, $sign:ident $verify:ident) => {
        /// # Safety
        /// A live context, room for a signature, and a message of that length.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $sign(
            context: *mut IcaEcxKey<$curve, $length>,
            signature: *mut u8,
            message: *const u8,
            length: usize,
        ) -> c_int {
            // SAFETY: the caller passes null or a live context, room for a signature or null, and a message of that length.
            traceless_status(|| unsafe { sign(context, signature, (message, length)) })
        }

        /// # Safety
        /// A live context, a signature, and a message of that length.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $verify(
            context: *mut IcaEcxKey<$curve, $length>,
            signature: *const u8,
            message: *const u8,
            length: usize,
        ) -> c_int {
            // SAFETY: the caller passes null or a live context, a signature or null, and a message of that length.
            traceless_status(|| unsafe { verify(context, signature, (message, length)) })
        }
    };
}

keys!(X25519, 32, ica_x25519_ctx_new ica_x25519_key_set ica_x25519_key_get ica_x25519_key_gen ica_x25519_ctx_del);
agreement!(X25519, 32, ica_x25519_derive);
keys!(X448, 56, ica_x448_ctx_new ica_x448_key_set ica_x448_key_get ica_x448_key_gen ica_x448_ctx_del);
agreement!(X448, 56, ica_x448_derive);
keys!(Ed25519, 32, ica_ed25519_ctx_new ica_ed25519_key_set ica_ed25519_key_get ica_ed25519_key_gen ica_ed25519_ctx_del);
signatures!(Ed25519, 32, ica_ed25519_sign ica_ed25519_verify);
keys!(Ed448, 57, ica_ed448_ctx_new ica_ed448_key_set ica_ed448_key_get ica_ed448_key_gen ica_ed448_ctx_del);
signatures!(Ed448, 57, ica_ed448_sign ica_ed448_verify);
