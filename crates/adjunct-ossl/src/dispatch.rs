//! What a provider consists of (core_dispatch.h and core.h of OpenSSL 3.0): tables of functions, and the lists that name them.

use std::ffi::{CStr, c_char, c_int};

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

/// Makes an entry of a dispatch table: `entry!(id::CIPHER_NEWCTX, newctx)`.
#[macro_export]
macro_rules! entry {
    ($id:expr, $function:expr) => {{
        let function = $function as *const ();
        // SAFETY: a function pointer is a function pointer; OpenSSL casts it back to the type its id stands for.
        let function = unsafe { ::std::mem::transmute::<*const (), $crate::dispatch::AnyFunction>(function) };
        $crate::dispatch::Dispatch { id: $id, function: Some(function) }
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

// SAFETY: an entry is read only, and what it points to is not changed.
unsafe impl Sync for OsslAlgorithm {}
// SAFETY: an entry is read only, and what it points to belongs to no thread and is not changed.
unsafe impl Send for OsslAlgorithm {}

impl OsslAlgorithm {
    /// The end of a list.
    pub const END: OsslAlgorithm = OsslAlgorithm {
        names: std::ptr::null(),
        properties: std::ptr::null(),
        implementation: std::ptr::null(),
        description: std::ptr::null(),
    };

    /// An entry for a list to hand out. Names and properties live as long as the list.
    pub fn new(names: &CStr, properties: &CStr, dispatch: &'static [Dispatch], description: &'static CStr) -> Self {
        debug_assert!(dispatch.last().is_some_and(|d| d.id == 0));
        OsslAlgorithm {
            names: names.as_ptr(),
            properties: properties.as_ptr(),
            implementation: dispatch.as_ptr(),
            description: description.as_ptr(),
        }
    }

    /// The entries of a list that a provider has handed out; null is an empty one.
    ///
    /// # Safety
    /// The list ends, and stays as it is.
    pub(crate) unsafe fn list(mut entry: *const OsslAlgorithm) -> impl Iterator<Item = &'static OsslAlgorithm> {
        std::iter::from_fn(move || {
            // SAFETY: the caller answers for the list's end and for its staying as it is; the walk never passes the end.
            let current = unsafe { entry.as_ref() }.filter(|entry| !entry.names.is_null())?;
            // SAFETY: `current` is not the list's end, so another entry follows.
            entry = unsafe { entry.add(1) };
            Some(current)
        })
    }

    /// Whether one of the algorithm's names is `name`; for an entry of [`OsslAlgorithm::list`].
    pub(crate) fn is_named(&self, name: &CStr) -> bool {
        // SAFETY: the names of an entry before the end are a C string.
        let names = unsafe { CStr::from_ptr(self.names) }.to_bytes();
        names.split(|&b| b == b':').any(|n| n.eq_ignore_ascii_case(name.to_bytes()))
    }

    /// The properties, empty where it has none; to be asked of an entry of [`OsslAlgorithm::list`].
    pub(crate) fn properties(&self) -> &'static CStr {
        // SAFETY: a C string of the provider's, or null.
        if self.properties.is_null() { c"" } else { unsafe { CStr::from_ptr(self.properties) } }
    }

    /// The functions.
    pub(crate) const fn implementation(&self) -> *const Dispatch {
        self.implementation
    }
}
