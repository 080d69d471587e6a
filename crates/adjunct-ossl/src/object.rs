//! Shared objects of the process: the libcrypto that called the module, or any other that is loaded, and its functions.

use std::ffi::{CStr, c_char, c_int, c_void};

/// A shared object of this process, kept loaded from here on.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    raw: *mut c_void,
    base: usize,
}

// SAFETY: a handle of dlopen may be used from all threads, and is never closed.
unsafe impl Send for Object {}
// SAFETY: the handle is one of dlopen, which all threads may use at the same time, and is never closed.
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

    /// Address where the object is loaded.
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

/// The libcrypto that the process has, or else the system's: for callers that no libcrypto has called.
pub fn libcrypto() -> Option<Object> {
    Object::named(&[c"libcrypto.so.3", c"libcrypto.so.4"], c"OSSL_LIB_CTX_new")
}

/// `Elf64_Phdr`, `Elf32_Phdr`.
#[cfg(target_pointer_width = "64")]
pub type Header = libc::Elf64_Phdr;
/// `Elf64_Phdr`, `Elf32_Phdr`.
#[cfg(target_pointer_width = "32")]
pub type Header = libc::Elf32_Phdr;

/// A loaded object as the loader describes it (dl_iterate_phdr(3)).
#[derive(Debug, Clone, Copy)]
pub struct Loaded<'a> {
    /// The load bias: added to the addresses in the file.
    pub base: usize,
    /// Path that the object was loaded from; empty or null for the program itself. It lives as long as the object.
    name: *const c_char,
    /// Its program headers.
    pub headers: &'a [Header],
}

impl Loaded<'_> {
    /// Whether the name of its file begins so.
    pub fn is_named(&self, start: &[u8]) -> bool {
        // SAFETY: a C string that lives as long as the object, or null.
        let path = unsafe { if self.name.is_null() { c"" } else { CStr::from_ptr(self.name) } }.to_bytes();
        path.rsplit(|&b| b == b'/').next().is_some_and(|name| name.starts_with(start))
    }

    /// Address where a segment is loaded.
    pub fn start(&self, header: &Header) -> usize {
        self.base.wrapping_add(header.p_vaddr as usize)
    }

    /// The loaded segment that holds an address.
    pub fn segment(&self, address: usize) -> Option<&Header> {
        let holds = |header: &&Header| address.wrapping_sub(self.start(header)) < header.p_memsz as usize;
        self.headers.iter().filter(|header| header.p_type == libc::PT_LOAD).find(holds)
    }
}

/// What `find` gives of the first loaded object that it gives something of. The program comes first. A panic of `find` ends the
/// process.
pub fn find_loaded<T, F: FnMut(Loaded<'_>) -> Option<T>>(find: F) -> Option<T> {
    unsafe extern "C" fn visit<T, F: FnMut(Loaded<'_>) -> Option<T>>(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader's description of an object, with its headers; the search is the caller's below.
        let (info, (find, found)) = unsafe { (&*info, &mut *search.cast::<(F, Option<T>)>()) };
        let headers = match info.dlpi_phnum {
            0 => &[],
            // SAFETY: so many headers, which stay while the object is visited.
            n => unsafe { std::slice::from_raw_parts(info.dlpi_phdr, n.into()) },
        };
        *found = find(Loaded { base: info.dlpi_addr as usize, name: info.dlpi_name, headers });
        found.is_some().into()
    }
    let mut search = (find, None);
    // SAFETY: the function is called with `search` before this returns, and unwinds nowhere.
    unsafe { libc::dl_iterate_phdr(Some(visit::<T, F>), (&raw mut search).cast()) };
    search.1
}

/// A shared object that holds an address. (dladdr would tell it too, but searches all of the object's symbols for the nearest
/// one: in libcrypto that takes longer than all else a module does while it loads.)
struct Place {
    base: usize,
    /// Path that the object was loaded from; empty for the program itself. It lives as long as the object, which its caller keeps.
    name: *const c_char,
}

impl Place {
    fn of(address: usize) -> Option<Place> {
        if address == 0 {
            return None;
        }
        find_loaded(|object| object.segment(address).map(|_| Place { base: object.base, name: object.name }))
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
/// one of them is missing: `functions! { Name: field c"symbol" (argument types) -> result; ... }`. Other such structures may be
/// part of it: `functions! { Name { errors: Errors }: ... }`.
#[macro_export]
macro_rules! functions {
    (
        $(#[$attribute:meta])* $visibility:vis $name:ident $({ $($part:ident: $type:ty),* })?:
        $($field:ident $symbol:literal ($($argument:ty),*) $(-> $result:ty)?;)*
    ) => {
        $(#[$attribute])*
        #[allow(missing_docs, reason = "a symbol is documented by its library")]
        $visibility struct $name {
            $($($visibility $part: $type,)*)?
            $($visibility $field: unsafe extern "C" fn($($argument),*) $(-> $result)?),*
        }

        impl $name {
            /// Looks up all functions.
            $visibility fn find(object: $crate::object::Object) -> Option<$name> {
                Some($name {
                    $($($part: <$type>::find(object)?,)*)?
                    $($field: {
                        let address = object.symbol($symbol)?;
                        // SAFETY: the symbol has the type of its header, written at the use of this macro.
                        unsafe {
                            std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(
                                address,
                            )
                        }
                    }),*
                })
            }
        }
    };
}
