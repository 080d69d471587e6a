//! The foreign layer: `adjunct-ossl`'s types of OpenSSL's provider interface, and what this provider offers and hands out of them.

pub(crate) use adjunct_ossl::dispatch::{Dispatch, OsslAlgorithm};
pub(crate) use adjunct_ossl::{build, core, guard, id, param, reason};

use std::ffi::{CStr, CString, c_void};

/// An algorithm a module offers.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Names and OIDs, separated by colons, exactly as OpenSSL's default provider lists them.
    pub names: &'static CStr,
    /// The functions, ending with [`Dispatch::END`].
    pub dispatch: &'static [Dispatch],
    /// Words for `openssl list`.
    pub description: &'static CStr,
}

impl Algorithm {
    /// The entry that OpenSSL reads. The property `adjunct.own!=yes` keeps its random generator away from adjunct: a query about providers would
    /// replace what the default query says of them.
    pub fn to_ossl(self) -> OsslAlgorithm {
        OsslAlgorithm::new(self.names, c"provider=adjunct,adjunct.own=yes", self.dispatch, self.description)
    }
}

/// A context pointer on its way to OpenSSL.
pub fn into_raw<T>(context: Box<T>) -> *mut c_void {
    Box::into_raw(context).cast()
}

/// Hands a new context to OpenSSL; null where there is no memory for it, as OpenSSL's own functions give.
pub fn give<T>(context: T) -> *mut c_void {
    adjunct::memory::boxed(context).map_or(std::ptr::null_mut(), into_raw)
}

/// Copies a text as a C string; `None` where there is no memory for it, or a zero byte in it.
pub fn c_string(text: &[u8]) -> Option<CString> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(text.len() + 1).ok()?;
    bytes.extend_from_slice(text);
    bytes.push(0);
    CString::from_vec_with_nul(bytes).ok()
}

/// The context behind a pointer OpenSSL hands back.
///
/// # Safety
/// `pointer` came from [`into_raw`] of the same type and has not been freed; OpenSSL uses a context from one thread at a time.
#[inline]
pub unsafe fn context<'a, T>(pointer: *mut c_void) -> Option<&'a mut T> {
    // SAFETY: the caller passes null or a pointer from `into_raw` of the same type that has not been freed; OpenSSL uses a context from one
    // thread at a time.
    unsafe { pointer.cast::<T>().as_mut() }
}

/// Frees a context; null is fine.
///
/// # Safety
/// As for [`context`]; the pointer is not used again.
pub unsafe fn free<T>(pointer: *mut c_void) {
    if !pointer.is_null() {
        // SAFETY: the pointer is not null; by the caller's word it came from `into_raw` of the same type, has not been freed and is not used again.
        drop(unsafe { Box::from_raw(pointer.cast::<T>()) });
    }
}

/// Frees a context or key of a type, for OpenSSL.
///
/// # Safety
/// As for [`free`].
pub unsafe extern "C" fn freed<T>(pointer: *mut c_void) {
    // SAFETY: OpenSSL passes null or a context or key of this type that has not been freed, and does not use it again.
    guard((), || unsafe { free::<T>(pointer) });
}

/// Copies a context of a type, for OpenSSL; null where there is no memory.
///
/// # Safety
/// As for [`context`].
pub unsafe extern "C" fn copied<T: Clone>(pointer: *mut c_void) -> *mut c_void {
    guard(std::ptr::null_mut(), || {
        // SAFETY: OpenSSL passes null or a context of this type that has not been freed, and uses it from one thread at a time.
        let context = unsafe { context::<T>(pointer) };
        context.map_or(std::ptr::null_mut(), |c| give(c.clone()))
    })
}

/// A buffer OpenSSL passes as pointer and length; an empty one may be null.
///
/// # Safety
/// `pointer` is valid for `length` bytes for the duration of the call.
#[inline]
pub unsafe fn slice<'a>(pointer: *const u8, length: usize) -> &'a [u8] {
    if length == 0 || pointer.is_null() {
        return &[];
    }
    // SAFETY: the pointer is not null, and by the caller's word valid for `length` bytes, which nobody changes during the call.
    unsafe { std::slice::from_raw_parts(pointer, length) }
}

/// A buffer OpenSSL passes as pointer and length, to be written to; an empty one may be null.
///
/// # Safety
/// As for [`slice()`], and nothing else refers to those bytes.
#[inline]
pub unsafe fn slice_mut<'a>(pointer: *mut u8, length: usize) -> &'a mut [u8] {
    if length == 0 || pointer.is_null() {
        return &mut [];
    }
    // SAFETY: the pointer is not null, and by the caller's word valid for `length` bytes, to which nothing else refers during the call.
    unsafe { std::slice::from_raw_parts_mut(pointer, length) }
}
