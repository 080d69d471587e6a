//! What every module inside a foreign process needs: panics kept in, and the library that called us found.

use std::ffi::{CStr, c_void};

/// Runs `body` and lets no panic out of it: a panic becomes `failure`.
// Always, and what many calls run by `move`: what a body captures goes through memory, by reference twice.
#[inline(always)]
pub fn guard<T>(failure: T, body: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(failure)
}

/// A shared object of this process, kept loaded from here on.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    raw: *mut c_void,
    base: usize,
}

// SAFETY: a handle of dlopen may be used from all threads, and is never closed.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// The object around `address`, if it has the symbol `probe` itself: another one of the process with that symbol is
    /// not the one that called us.
    pub fn around<T>(address: *const T, probe: &CStr) -> Option<Object> {
        let address = address.cast::<c_void>();
        if address.is_null() {
            return None;
        }
        // SAFETY: dladdr looks the address up and reads nothing there; it fills the structure; the name it gives lives as long as the object, which its caller keeps.
        unsafe {
            let mut info: libc::Dl_info = std::mem::zeroed();
            if libc::dladdr(address, &raw mut info) == 0 {
                return None;
            }
            let mut raw = libc::dlopen(info.dli_fname, libc::RTLD_NOLOAD | libc::RTLD_NOW);
            if raw.is_null() {
                // The name of the program itself is not one dlopen knows: a library linked in, perhaps exported.
                raw = libc::dlopen(std::ptr::null(), libc::RTLD_NOW);
            }
            let object = Object { raw, base: info.dli_fbase as usize };
            let probe = object.symbol(probe)?;
            if libc::dladdr(probe, &raw mut info) == 0 || info.dli_fbase as usize != object.base {
                return None;
            }
            Some(object)
        }
    }

    /// Where it is loaded.
    pub const fn base(self) -> usize {
        self.base
    }

    /// The address of a symbol.
    pub fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        if self.raw.is_null() {
            return None;
        }
        // SAFETY: the handle is from dlopen.
        let address = unsafe { libc::dlsym(self.raw, name.as_ptr()) };
        (!address.is_null()).then_some(address)
    }
}

/// A structure of functions of a shared object, each with the type its header gives it, and `find`, which is `None` where
/// one of them is missing.
#[macro_export]
macro_rules! functions {
    ($(#[$attribute:meta])* $visibility:vis $name:ident: $($field:ident $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        $(#[$attribute])*
        #[allow(missing_docs, reason = "a symbol is documented by its library")]
        $visibility struct $name { $($visibility $field: unsafe extern "C" fn($($argument),*) $(-> $result)?),* }

        impl $name {
            /// Looks all of them up.
            $visibility fn find(object: $crate::foreign::Object) -> Option<$name> {
                Some($name { $($field: {
                    let address = object.symbol($symbol)?;
                    // SAFETY: the symbol has the type of its header, written at the use of this macro.
                    unsafe {
                        std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(address)
                    }
                }),* })
            }
        }
    };
}
