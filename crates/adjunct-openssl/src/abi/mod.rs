//! OpenSSL's provider interface as Rust types: core_dispatch.h and core.h of OpenSSL 3.0.

pub mod build;
pub mod core;
pub mod id;
pub mod reason;

pub use adjunct::foreign::{guard, param};

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// A dispatch function with its type erased, as OpenSSL passes it.
pub type AnyFunction = unsafe extern "C" fn();

/// `OSSL_DISPATCH`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    /// `OSSL_FUNC_*`; 0 ends a table.
    pub id: c_int,
    /// The function.
    pub function: Option<AnyFunction>,
}

impl Dispatch {
    /// The end of a table.
    pub const END: Dispatch = Dispatch { id: 0, function: None };
}

/// One entry of a dispatch table: `entry!(id::CIPHER_NEWCTX, newctx)`.
#[macro_export]
macro_rules! entry {
    ($id:expr, $function:expr) => {{
        let function = $function as *const ();
        // SAFETY: a function pointer is a function pointer; OpenSSL casts it back to the type its id stands for.
        let function = unsafe { core::mem::transmute::<*const (), $crate::abi::AnyFunction>(function) };
        $crate::abi::Dispatch { id: $id, function: Some(function) }
    }};
}

/// `OSSL_ALGORITHM`.
#[repr(C)]
#[derive(Debug)]
pub struct OsslAlgorithm {
    names: *const c_char,
    properties: *const c_char,
    implementation: *const Dispatch,
    description: *const c_char,
}

impl OsslAlgorithm {
    /// Whether this ends a list.
    pub fn is_end(&self) -> bool {
        self.names.is_null()
    }

    /// An entry of ours whose names and properties are made at run time; both live as long as the list it is put in.
    pub fn made(names: &CStr, properties: &CStr, dispatch: &'static [Dispatch], description: &'static CStr) -> Self {
        debug_assert!(dispatch.last().is_some_and(|d| d.id == 0));
        OsslAlgorithm {
            names: names.as_ptr(),
            properties: properties.as_ptr(),
            implementation: dispatch.as_ptr(),
            description: description.as_ptr(),
        }
    }

    /// The properties of another provider's entry; empty where it has none.
    ///
    /// # Safety
    /// It is an entry before the end of a provider's algorithm list.
    pub unsafe fn properties<'a>(&self) -> &'a CStr {
        // SAFETY: a C string of the provider's, or null.
        if self.properties.is_null() { c"" } else { unsafe { CStr::from_ptr(self.properties) } }
    }

    /// The functions.
    pub fn implementation(&self) -> *const Dispatch {
        self.implementation
    }
}

// SAFETY: what is pointed to is not changed.
unsafe impl Sync for OsslAlgorithm {}
// SAFETY: as above.
unsafe impl Send for OsslAlgorithm {}

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
    /// The entry OpenSSL reads.
    pub fn to_ossl(self) -> OsslAlgorithm {
        debug_assert!(self.dispatch.last().is_some_and(|d| d.id == 0));
        OsslAlgorithm {
            names: self.names.as_ptr(),
            properties: c"provider=adjunct".as_ptr(),
            implementation: self.dispatch.as_ptr(),
            description: self.description.as_ptr(),
        }
    }

    /// Reads another provider's entry: whether one of its names is `name`, and its functions.
    ///
    /// # Safety
    /// `entry` is an entry before the end of a provider's algorithm list.
    pub unsafe fn named(entry: &OsslAlgorithm, name: &CStr) -> Option<*const Dispatch> {
        // SAFETY: the names of an entry before the end are a C string.
        let names = unsafe { CStr::from_ptr(entry.names) }.to_bytes();
        let found = names.split(|&b| b == b':').any(|n| n.eq_ignore_ascii_case(name.to_bytes()));
        found.then_some(entry.implementation)
    }

    /// The end of an algorithm list.
    pub const fn end() -> OsslAlgorithm {
        let null = std::ptr::null();
        OsslAlgorithm { names: null, properties: null, implementation: null.cast(), description: null }
    }
}

/// A context pointer on its way to OpenSSL.
pub fn into_raw<T>(context: Box<T>) -> *mut c_void {
    Box::into_raw(context).cast()
}

/// A new context on its way to OpenSSL; null where there is no memory for it, as OpenSSL's own give.
pub fn give<T>(context: T) -> *mut c_void {
    adjunct::memory::boxed(context).map_or(std::ptr::null_mut(), into_raw)
}

/// A copy of a text as C has it; `None` where there is no memory for it, or a zero byte in it.
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
    // SAFETY: see above.
    unsafe { pointer.cast::<T>().as_mut() }
}

/// Frees a context; null is fine.
///
/// # Safety
/// As for [`context`]; the pointer is not used again.
pub unsafe fn free<T>(pointer: *mut c_void) {
    if !pointer.is_null() {
        // SAFETY: see above.
        drop(unsafe { Box::from_raw(pointer.cast::<T>()) });
    }
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
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(pointer, length) }
}

/// The same, to write to.
///
/// # Safety
/// As for [`slice()`], and nothing else refers to those bytes.
#[inline]
pub unsafe fn slice_mut<'a>(pointer: *mut u8, length: usize) -> &'a mut [u8] {
    if length == 0 || pointer.is_null() {
        return &mut [];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts_mut(pointer, length) }
}
