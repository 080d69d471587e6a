//! What OpenSSL's core gives a provider: parameters of its configuration section, and its error queue.

use crate::dispatch::Dispatch;
use crate::id;
use crate::neighbours::{self, Neighbours};
use crate::object::Object;
use crate::param::{self, Param};
use crate::reason::{Reason, Words};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Display;

type GetParams = unsafe extern "C" fn(*const c_void, *mut Param) -> c_int;
type GetLibctx = unsafe extern "C" fn(*const c_void) -> *mut c_void;
type NewError = unsafe extern "C" fn(*const c_void);
type SetErrorDebug = unsafe extern "C" fn(*const c_void, *const c_char, c_int, *const c_char);
// The last argument is a va_list, on every architecture of ours a pointer where it is an argument.
type VsetError = unsafe extern "C" fn(*const c_void, u32, *const c_char, *mut c_void);

/// The core: OpenSSL as a provider sees it.
#[derive(Debug, Clone, Copy)]
pub struct Core {
    handle: *const c_void,
    get_params: Option<GetParams>,
    get_libctx: Option<GetLibctx>,
    new_error: Option<NewError>,
    set_error_debug: Option<SetErrorDebug>,
    vset_error: Option<VsetError>,
    libcrypto: Option<Object>,
    neighbours: Option<Neighbours>,
}

// SAFETY: the handle is a provider object that OpenSSL locks itself; the functions may be called from any thread.
unsafe impl Send for Core {}
// SAFETY: OpenSSL locks the provider object behind the handle itself; the functions may be called from several threads at the same time.
unsafe impl Sync for Core {}

impl Core {
    /// Reads the dispatch table `OSSL_provider_init` is given.
    ///
    /// # Safety
    /// `handle` and `table` are those of `OSSL_provider_init`.
    pub unsafe fn new(handle: *const c_void, mut table: *const Dispatch) -> Core {
        let mut core = Core {
            handle,
            get_params: None,
            get_libctx: None,
            new_error: None,
            set_error_debug: None,
            vset_error: None,
            libcrypto: None,
            neighbours: None,
        };
        let (mut register, mut name, mut up_ref, mut free) = (None, None, None, None);
        // SAFETY: the table ends with id 0, and each id stands for the type it is cast to (core_dispatch.h).
        unsafe {
            while let Dispatch { id, function: Some(function) } = *table {
                let function = function as *const ();
                match id {
                    id::CORE_GET_PARAMS => {
                        core.get_params = Some(std::mem::transmute::<*const (), GetParams>(function))
                    }
                    id::CORE_GET_LIBCTX => {
                        core.get_libctx = Some(std::mem::transmute::<*const (), GetLibctx>(function))
                    }
                    id::CORE_NEW_ERROR => core.new_error = Some(std::mem::transmute::<*const (), NewError>(function)),
                    id::CORE_SET_ERROR_DEBUG => {
                        core.set_error_debug = Some(std::mem::transmute::<*const (), SetErrorDebug>(function));
                    }
                    id::CORE_VSET_ERROR => {
                        core.vset_error = Some(std::mem::transmute::<*const (), VsetError>(function))
                    }
                    id::PROVIDER_REGISTER_CHILD_CB => {
                        register = Some(std::mem::transmute::<*const (), neighbours::Register>(function));
                    }
                    id::PROVIDER_NAME => name = Some(std::mem::transmute::<*const (), neighbours::Name>(function)),
                    id::PROVIDER_UP_REF => up_ref = Some(std::mem::transmute::<*const (), neighbours::Count>(function)),
                    id::PROVIDER_FREE => free = Some(std::mem::transmute::<*const (), neighbours::Count>(function)),
                    _ => {}
                }
                table = table.add(1);
            }
        }
        if let (Some(register), Some(name), Some(up_ref), Some(free)) = (register, name, up_ref, free) {
            core.neighbours = Some(Neighbours { own: handle, register, name, up_ref, free });
        }
        core.libcrypto = Object::around(core.address(), c"OSSL_LIB_CTX_new");
        core
    }

    /// A value of the module's configuration section.
    pub fn config(&self, name: &str) -> Option<String> {
        let get = self.get_params?;
        let name = CString::new(name).ok()?;
        let mut value: *const c_char = std::ptr::null();
        let mut request = [
            Param {
                key: name.as_ptr(),
                data_type: param::UTF8_PTR,
                data: (&raw mut value).cast(),
                data_size: 0,
                return_size: param::UNMODIFIED,
            },
            Param::END,
        ];
        // SAFETY: the request lives through the call; the value is OpenSSL's and copied at once.
        unsafe {
            if get(self.handle, request.as_mut_ptr()) != 1 || value.is_null() {
                return None;
            }
            CStr::from_ptr(value).to_str().ok().map(str::to_owned)
        }
    }

    /// The library context (`OSSL_LIB_CTX *`) that loaded the provider; null where unknown.
    pub fn library_context(&self) -> *mut c_void {
        // SAFETY: the handle is the one given with the function.
        self.get_libctx.map_or(std::ptr::null_mut(), |f| unsafe { f(self.handle) })
    }

    /// The functions that tell of the other providers of that library context.
    pub const fn neighbours(&self) -> Option<Neighbours> {
        self.neighbours
    }

    /// An address inside the libcrypto that loaded the provider.
    pub fn address(&self) -> *const c_void {
        self.get_params.map_or(std::ptr::null(), |f| f as *const c_void)
    }

    /// The libcrypto that loaded the provider; `None` where it is linked statically into a program that does not export it.
    pub const fn libcrypto(&self) -> Option<Object> {
        self.libcrypto
    }

    /// Puts an error on OpenSSL's queue, under the library and reason that OpenSSL's own providers give.
    #[cold]
    pub fn raise(&self, reason: Reason) {
        self.raise_with(reason, reason.data());
    }

    /// Raises an error with words that are known only now. A `%` and a zero in them are left out, and what is longer than 255 bytes is cut.
    #[cold]
    pub fn raise_words(&self, reason: Reason, words: impl Display) {
        self.raise_with(reason, Some(Words::new(words).text()));
    }

    fn raise_with(&self, reason: Reason, data: Option<&CStr>) {
        if let (Some(new), Some(debug), Some(set)) = (self.new_error, self.set_error_debug, self.vset_error) {
            let data = data.map_or(std::ptr::null(), CStr::as_ptr);
            // No format of ours takes an argument, but the list is copied on its way where it is a structure (AArch64).
            let mut arguments = [0u64; 8];
            // SAFETY: the handle is the one given with the functions; the format takes no arguments, and the list is as long
            // as the longest of the ABIs (32 bytes on AArch64 and s390x).
            unsafe {
                new(self.handle);
                debug(self.handle, c"adjunct".as_ptr(), 0, c"".as_ptr());
                set(self.handle, reason.code(), data, arguments.as_mut_ptr().cast());
            }
        }
    }
}
