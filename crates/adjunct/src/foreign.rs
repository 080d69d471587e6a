//! What every module inside a foreign process needs: panics kept in, and the library that called us found.

pub mod param;

use std::ffi::{CStr, c_char, c_int, c_void};

/// Runs `body` and lets no panic out of it: a panic becomes `failure`.
// Always, and what many calls run by `move`: what a body captures goes through memory, by reference twice.
#[inline(always)]
pub fn guard<T>(failure: T, body: impl FnOnce() -> T) -> T {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(failure)
}

/// How much of the stack a call may leave secrets on, in bytes: the deepest multiplication on a curve uses some 13,000.
const STACK: usize = 16 * 1024;

/// Runs `body`, then overwrites the stack below it: what is moved, and what the CPU library keeps in variables, leaves copies of
/// keys there that nobody wipes.
#[inline]
pub fn traceless<T>(body: impl FnOnce() -> T) -> T {
    traceless_within::<STACK, T>(body)
}

/// The same where it is known that `body` uses no more than so many bytes of it: a thread may not have many.
#[inline]
pub fn traceless_within<const BYTES: usize, T>(body: impl FnOnce() -> T) -> T {
    traceless_where::<BYTES, T>(|_| true, body)
}

/// The same only after those results that `secret` says it of: where nothing is to be kept from the caller but after a failure.
#[inline]
pub fn traceless_where<const BYTES: usize, T>(secret: impl FnOnce(&T) -> bool, body: impl FnOnce() -> T) -> T {
    // Frames of their own, from the same place downwards.
    #[inline(never)]
    fn run<T>(body: impl FnOnce() -> T) -> T {
        body()
    }
    #[inline(never)]
    fn wipe<const BYTES: usize>() {
        std::hint::black_box(&mut [0u8; BYTES]);
    }
    let result = run(body);
    if secret(&result) {
        wipe::<BYTES>();
    }
    result
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
        let place = Place::of(address as usize)?;
        let raw = place.open();
        let object = Object { raw, base: place.base };
        (Place::of(object.symbol(probe)? as usize)?.base == place.base).then_some(object)
    }

    /// The first object with one of these names, and with the symbol `probe`: of those that the process has already, or else
    /// loaded now, with its symbols to itself.
    pub fn named(names: &[&CStr], probe: &CStr) -> Option<Object> {
        let open = |name: &&CStr, flags| {
            // SAFETY: a C string. What constructors run is that library's own.
            let raw = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | flags) };
            let object = Object { raw, base: 0 };
            let base = Place::of(object.symbol(probe)? as usize)?.base;
            Some(Object { base, ..object })
        };
        let there = names.iter().find_map(|name| open(name, libc::RTLD_NOLOAD));
        there.or_else(|| names.iter().find_map(|name| open(name, libc::RTLD_NODELETE)))
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

/// The libcrypto that the process has, or else the system's: it computes on Curve448 for libica's programs.
pub fn libcrypto() -> Option<Object> {
    Object::named(&[c"libcrypto.so.3", c"libcrypto.so.4"], c"OSSL_LIB_CTX_new")
}

/// A shared object that holds an address. (dladdr would tell it too, but searches all of the object's symbols for the nearest
/// one: in libcrypto that takes longer than all else a module does while it loads.)
struct Place {
    address: usize,
    base: usize,
    /// The path it was loaded from; empty for the program itself. It lives as long as the object, which its caller keeps.
    name: *const c_char,
}

impl Place {
    fn of(address: usize) -> Option<Place> {
        unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, place: *mut c_void) -> c_int {
            // SAFETY: the loader's description of an object, with its headers; the place is the caller's.
            let (info, place) = unsafe { (&*info, &mut *place.cast::<Place>()) };
            let headers = match info.dlpi_phnum {
                0 => &[],
                // SAFETY: as above.
                n => unsafe { std::slice::from_raw_parts(info.dlpi_phdr, n.into()) },
            };
            let holds = headers.iter().filter(|header| header.p_type == libc::PT_LOAD).any(|header| {
                let start = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
                place.address.wrapping_sub(start) < header.p_memsz as usize
            });
            if holds {
                (place.base, place.name) = (info.dlpi_addr as usize, info.dlpi_name);
            }
            holds.into()
        }
        let mut place = Place { address, base: 0, name: std::ptr::null() };
        // SAFETY: the function is called with `place` before this returns, and unwinds nowhere.
        let found = unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut place).cast()) };
        (found != 0 && address != 0).then_some(place)
    }

    fn open(&self) -> *mut c_void {
        // SAFETY: a name the loader knows, or none; what is loaded is only referred to.
        unsafe {
            let named = !self.name.is_null() && *self.name != 0;
            let raw =
                if named { libc::dlopen(self.name, libc::RTLD_NOLOAD | libc::RTLD_NOW) } else { std::ptr::null_mut() };
            // A library linked into the program itself, perhaps exported.
            if raw.is_null() { libc::dlopen(std::ptr::null(), libc::RTLD_NOW) } else { raw }
        }
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
