//! The foreign layer: it turns C's pointers and lengths into slices and numbers, and results into return codes. No panic leaves it.

pub mod aead;
pub mod block;
pub mod ec;
pub mod ecx;
pub mod hash;
pub mod library;
pub mod list;
pub mod random;
pub mod rsa;
mod traceless;

use crate::error::Errno;
use adjunct::InOut;
use adjunct_ossl::guard;
use std::ffi::{c_int, c_uint};
use traceless::{traceless, traceless_where};
use zeroize::Zeroizing;

/// Runs a function of the interface that returns an errno, or 0.
#[inline]
pub fn code(body: impl FnOnce() -> Result<(), Errno>) -> c_uint {
    number(body) as c_uint
}

/// Runs a function of the interface that returns an errno, or 0, as an `int`.
#[inline]
pub fn number(body: impl FnOnce() -> Result<(), Errno>) -> c_int {
    guard(libc::EIO, || body().map_or_else(|errno| errno.0, |()| 0))
}

/// Runs a function of the interface that works with private keys and returns an errno, or 0, as an `int`: no copy of a key stays on the stack.
#[inline]
pub fn secret(body: impl FnOnce() -> Result<(), Errno>) -> c_int {
    traceless(|| number(body))
}

/// Runs a function of the interface that compares a tag or MAC and returns an errno, or 0, as an `int`: no copy of the one that a forged
/// message should have had stays on the stack.
#[inline]
pub fn verified(body: impl FnOnce() -> Result<(), Errno>) -> c_int {
    traceless_where::<{ 16 * 1024 }, _>(|result| *result == libc::EFAULT, || number(body))
}

/// A length as Rust counts.
///
/// # Errors
/// [`Errno::INVALID`] for one that no buffer can have.
#[inline]
pub fn length(length: impl TryInto<usize>) -> Result<usize, Errno> {
    length.try_into().ok().filter(|&length| isize::try_from(length).is_ok()).ok_or(Errno::INVALID)
}

/// A buffer to read.
///
/// # Errors
/// [`Errno::INVALID`] for a null pointer, unless the length is 0, and for a length that no buffer can have.
///
/// # Safety
/// The caller's buffer is readable for that length while the result lives.
#[inline]
pub unsafe fn bytes<'a>(data: *const u8, length: impl TryInto<usize>) -> Result<&'a [u8], Errno> {
    match self::length(length)? {
        0 => Ok(&[]),
        _ if data.is_null() => Err(Errno::INVALID),
        // SAFETY: the pointer is not null, and the caller's buffer is readable for that length while the result lives.
        length => Ok(unsafe { std::slice::from_raw_parts(data, length) }),
    }
}

/// A buffer to write.
///
/// # Errors
/// As for [`bytes`].
///
/// # Safety
/// The caller's buffer is writable, and nobody else's, for that length while the result lives.
#[inline]
pub unsafe fn bytes_mut<'a>(data: *mut u8, length: impl TryInto<usize>) -> Result<&'a mut [u8], Errno> {
    match self::length(length)? {
        0 => Ok(&mut []),
        _ if data.is_null() => Err(Errno::INVALID),
        // SAFETY: the pointer is not null, and the caller's buffer is writable, and nobody else's, for that length while the result lives.
        length => Ok(unsafe { std::slice::from_raw_parts_mut(data, length) }),
    }
}

/// `N` bytes to read: what a context, key or block is. To be copied before anything is written.
///
/// # Errors
/// [`Errno::INVALID`] for a null pointer.
///
/// # Safety
/// `N` bytes are readable, and nobody writes them while the result lives.
// A reference, not the bytes: those the compiler would take apart and put together again.
#[inline(always)]
pub unsafe fn array<'a, const N: usize>(data: *const u8) -> Result<&'a [u8; N], Errno> {
    // SAFETY: the caller passes null or `N` readable bytes that nobody writes while the result lives.
    unsafe { data.cast::<[u8; N]>().as_ref() }.ok_or(Errno::INVALID)
}

/// Writes `N` bytes.
///
/// # Safety
/// `N` bytes are writable.
#[inline]
pub unsafe fn put<const N: usize>(data: *mut u8, value: &[u8; N]) {
    // SAFETY: the caller has `N` writable bytes at `data`.
    unsafe { data.cast::<[u8; N]>().write(*value) };
}

/// Writes the first bytes of a tag or MAC, mostly all of them, which is one store.
///
/// # Safety
/// So many bytes, 16 at most, are writable.
#[inline]
pub unsafe fn put_tag(to: *mut u8, tag: &[u8; 16], length: usize) {
    // SAFETY: the caller has `length` writable bytes at `to`, 16 at most, which are apart from `tag`.
    unsafe {
        match length {
            16 => put(to, tag),
            _ => to.copy_from_nonoverlapping(tag[..length].as_ptr(), length),
        }
    }
}

/// Runs `body` on an input and an output that may be the same. Where they overlap in part, it works on a copy of the input.
///
/// # Errors
/// [`Errno::INVALID`] for null pointers and lengths that cannot be; [`Errno::NO_MEMORY`] for no room for a copy; those of `body`.
///
/// # Safety
/// The caller's buffers are readable and writable for that length.
#[inline]
pub unsafe fn in_out(
    input: *const u8,
    output: *mut u8,
    length: impl TryInto<usize>,
    body: impl FnOnce(InOut<'_>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let length = self::length(length)?;
    if input.is_null() || output.is_null() {
        return Err(Errno::INVALID);
    }
    let apart = (input as usize).abs_diff(output as usize);
    if apart == 0 || apart >= length {
        // SAFETY: neither pointer is null, so by the caller's word both are valid for `length` bytes; they are the same memory, or apart.
        return body(unsafe { InOut::from_raw(input, output, length) });
    }
    let mut copy = Zeroizing::new(Vec::new());
    copy.try_reserve_exact(length).map_err(|_| Errno::NO_MEMORY)?;
    // SAFETY: neither pointer is null, so by the caller's word both are valid for `length` bytes; the copy has the room, and is apart from
    // the output.
    unsafe {
        copy.extend_from_slice(std::slice::from_raw_parts(input, length));
        body(InOut::from_raw(copy.as_ptr(), output, length))
    }
}

/// What a handle points to: memory of its own, for `Box::from_raw` to free.
///
/// # Errors
/// [`Errno::NO_MEMORY`].
pub fn handle<T>(value: T) -> Result<*mut T, Errno> {
    Ok(Box::into_raw(adjunct::memory::boxed(value)?))
}

/// Whether to encrypt.
///
/// # Errors
/// [`Errno::INVALID`] for a number that is no direction.
#[inline]
pub fn encrypts(direction: c_uint) -> Result<bool, Errno> {
    match direction {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Errno::INVALID),
    }
}

/// The key of a function of AES: 16, 24 or 32 bytes.
///
/// # Errors
/// [`Errno::INVALID`] for another length, or a null pointer.
///
/// # Safety
/// As for [`bytes`].
#[inline]
pub unsafe fn aes_key<'a>(key: *const u8, length: c_uint) -> Result<&'a [u8], Errno> {
    if !matches!(length, 16 | 24 | 32) {
        return Err(Errno::INVALID);
    }
    // SAFETY: the caller's buffer is readable for that length while the result lives.
    unsafe { bytes(key, length) }
}
