//! What OpenSSL's core gives a provider: parameters of its configuration section, and its error queue.

use super::param::{self, Param};
use super::{Dispatch, id};
use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// Errors the provider raises on OpenSSL's queue; `get_reason_strings` gives the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Reason {
    Internal = 1,
    InvalidKey = 2,
    InvalidKeyLength = 3,
    InvalidIvLength = 4,
    InvalidTag = 5,
    InvalidTagLength = 6,
    InvalidParameter = 7,
    BufferTooSmall = 8,
    NotInitialised = 9,
    WrongFinalBlockLength = 10,
    BadDecrypt = 11,
    UnsupportedDigest = 12,
    UnsupportedCurve = 13,
    UnsupportedPadding = 14,
    MissingKey = 15,
    BadSignature = 16,
    InvalidPeer = 17,
    KeyTooSmall = 18,
    DataTooLarge = 19,
    InvalidInputLength = 20,
    IvReuse = 21,
    XtsDuplicatedKeys = 22,
    Delegation = 23,
    NoLibcrypto = 24,
    CipherFailed = 40,
    TagNotSet = 41,
    TagNotNeeded = 42,
    DataUnitTooLarge = 43,
}

impl Reason {
    /// Every reason with its words.
    pub const TEXTS: &[(Reason, &CStr)] = &[
        (Reason::Internal, c"internal error"),
        (Reason::InvalidKey, c"invalid key"),
        (Reason::InvalidKeyLength, c"invalid key length"),
        (Reason::InvalidIvLength, c"invalid iv length"),
        (Reason::InvalidTag, c"invalid tag"),
        (Reason::InvalidTagLength, c"invalid tag length"),
        (Reason::InvalidParameter, c"invalid parameter"),
        (Reason::BufferTooSmall, c"output buffer too small"),
        (Reason::NotInitialised, c"not initialised"),
        (Reason::WrongFinalBlockLength, c"wrong final block length"),
        (Reason::BadDecrypt, c"bad decrypt"),
        (Reason::UnsupportedDigest, c"unsupported digest"),
        (Reason::UnsupportedCurve, c"unsupported curve"),
        (Reason::UnsupportedPadding, c"unsupported padding"),
        (Reason::MissingKey, c"missing key"),
        (Reason::BadSignature, c"bad signature"),
        (Reason::InvalidPeer, c"invalid peer key"),
        (Reason::KeyTooSmall, c"key too small"),
        (Reason::DataTooLarge, c"data too large for key"),
        (Reason::InvalidInputLength, c"invalid input length"),
        (Reason::IvReuse, c"iv used twice"),
        (Reason::XtsDuplicatedKeys, c"xts duplicated keys"),
        (Reason::Delegation, c"OpenSSL's default provider refused"),
        (Reason::NoLibcrypto, c"no shared libcrypto whose default provider could be asked"),
        (Reason::CipherFailed, c"cipher operation failed"),
        (Reason::TagNotSet, c"tag not set"),
        (Reason::TagNotNeeded, c"tag not needed"),
        (Reason::DataUnitTooLarge, c"xts data unit is too large"),
    ];
}

type GetParams = unsafe extern "C" fn(*const c_void, *mut Param) -> c_int;
type GetLibctx = unsafe extern "C" fn(*const c_void) -> *mut c_void;
type NewError = unsafe extern "C" fn(*const c_void);
type SetErrorDebug = unsafe extern "C" fn(*const c_void, *const c_char, c_int, *const c_char);
// The last argument is a va_list; with a null format OpenSSL does not look at it.
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
}

// SAFETY: the handle is a provider object that OpenSSL locks itself; the functions may be called from any thread.
unsafe impl Send for Core {}
// SAFETY: as above.
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
        };
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
                    _ => {}
                }
                table = table.add(1);
            }
        }
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

    /// An address inside the libcrypto that loaded the provider.
    pub fn address(&self) -> *const c_void {
        self.get_params.map_or(std::ptr::null(), |f| f as *const c_void)
    }

    /// Puts an error on OpenSSL's queue.
    #[cold]
    pub fn raise(&self, reason: Reason) {
        if let (Some(new), Some(debug), Some(set)) = (self.new_error, self.set_error_debug, self.vset_error) {
            // SAFETY: the handle is the one given with the functions; a null format takes no arguments.
            unsafe {
                new(self.handle);
                debug(self.handle, c"adjunct".as_ptr(), 0, c"".as_ptr());
                set(self.handle, reason as u32, std::ptr::null(), std::ptr::null_mut());
            }
        }
    }
}
