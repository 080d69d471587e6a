//! The other providers of the library context that loaded a provider, as OpenSSL tells of them (provider-base(7), the functions for
//! child library contexts).

use std::ffi::{CStr, c_char, c_int, c_void};

/// A provider, as OpenSSL names it to providers (`OSSL_CORE_HANDLE *`).
pub type Handle = *const c_void;

/// Called when a provider comes or goes; 0 refuses. OpenSSL holds locks meanwhile: nothing of it may be called but what [`Neighbours`] has.
pub type Notice = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;

/// Called with the default property query at first, and when it changes.
pub type Query = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;

pub(crate) type Register =
    unsafe extern "C" fn(Handle, Option<Notice>, Option<Notice>, Option<Query>, *mut c_void) -> c_int;
pub(crate) type Name = unsafe extern "C" fn(Handle) -> *const c_char;
pub(crate) type Count = unsafe extern "C" fn(Handle, c_int) -> c_int;

/// The functions that tell of other providers; all exist since OpenSSL 3.0.
#[derive(Debug, Clone, Copy)]
pub struct Neighbours {
    pub(crate) own: Handle,
    pub(crate) register: Register,
    pub(crate) name: Name,
    pub(crate) up_ref: Count,
    pub(crate) free: Count,
}

// SAFETY: the handle is a provider object that OpenSSL locks itself; the functions may be called from any thread.
unsafe impl Send for Neighbours {}
// SAFETY: OpenSSL locks the provider object behind the handle itself; the functions may be called from several threads at the same time.
unsafe impl Sync for Neighbours {}

impl Neighbours {
    /// Has `came` called for each provider that is active now, then for each that comes, `went` for each that goes and `query` for the
    /// default property query; says whether that will be. It lasts as long as the library context, whatever becomes of this provider.
    ///
    /// # Safety
    /// The functions may be called with `argument` until the process ends.
    pub unsafe fn register(&self, came: Notice, went: Notice, query: Query, argument: *mut c_void) -> bool {
        // SAFETY: the caller answers for the functions and `argument`; the handle is that of the provider which was given these functions.
        unsafe { (self.register)(self.own, Some(came), Some(went), Some(query), argument) == 1 }
    }

    /// Whether a provider is the one that was given these functions.
    pub fn is_own(&self, provider: Handle) -> bool {
        self.own == provider
    }

    /// The name of a provider.
    ///
    /// # Safety
    /// The handle is one that a [`Notice`] was given, in it or while the library context lives.
    pub unsafe fn name<'a>(&self, provider: Handle) -> &'a CStr {
        // SAFETY: the caller answers for the handle being one that a notice was given; the name lives as long as the provider, and that as
        // long as its library context.
        unsafe {
            let name = (self.name)(provider);
            if name.is_null() { c"" } else { CStr::from_ptr(name) }
        }
    }

    /// Number of references to a provider: OpenSSL has its own, and each library or program that has loaded it has one.
    ///
    /// # Safety
    /// As for [`Neighbours::name`].
    pub unsafe fn references(&self, provider: Handle) -> c_int {
        // SAFETY: the caller answers for the handle being one that a notice was given. One reference more tells their number, and is given
        // back; neither takes a lock that a notice is called with, for both only count.
        unsafe {
            let with_ours = (self.up_ref)(provider, 0);
            if with_ours > 0 {
                (self.free)(provider, 0);
            }
            with_ours - 1
        }
    }

    /// How many references there are to the provider that was given these functions.
    ///
    /// # Safety
    /// As for [`Neighbours::name`].
    pub unsafe fn own_references(&self) -> c_int {
        // SAFETY: the handle of this provider is live, as the caller says that the library context lives.
        unsafe { self.references(self.own) }
    }

    /// Takes one activation from a provider; after the last one it is asked for nothing any more.
    ///
    /// # Safety
    /// As for [`Neighbours::name`], not in a [`Notice`], and the activation is the caller's to take.
    pub unsafe fn deactivate(&self, provider: Handle) -> bool {
        // SAFETY: the caller answers for the handle being one that a notice was given, for not being in a notice, and for the activation
        // being its own to take.
        unsafe { (self.free)(provider, 1) == 1 }
    }
}
