//! The libcrypto that is measured: loaded at run time, so that the command itself never links one.

use crate::Error;
pub use adjunct_ossl::param::Param;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint, c_void};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Any of OpenSSL's opaque objects.
pub type Object = *mut c_void;

macro_rules! functions {
    ($($name:ident($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of libcrypto that the benchmark calls.
        #[allow(non_snake_case)]
        #[derive(Debug)]
        pub struct Functions { $(#[allow(missing_docs)] pub $name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)* }

        impl Functions {
            fn resolve(library: &Library) -> Result<Functions, libloading::Error> {
                // SAFETY: the types are those of OpenSSL 3.0's headers; later versions keep them.
                unsafe { Ok(Functions { $($name: *library.get(concat!(stringify!($name), "\0"))?,)* }) }
            }
        }
    };
}

functions! {
    OPENSSL_init_crypto(u64, Object) -> c_int;
    OpenSSL_version(c_int) -> *const c_char;
    OPENSSL_info(c_int) -> *const c_char;
    ERR_get_error() -> std::ffi::c_ulong;
    ERR_error_string_n(std::ffi::c_ulong, *mut c_char, usize);
    OSSL_LIB_CTX_new() -> Object;
    OSSL_LIB_CTX_load_config(Object, *const c_char) -> c_int;
    OSSL_PROVIDER_available(Object, *const c_char) -> c_int;
    EVP_set_default_properties(Object, *const c_char) -> c_int;
    EVP_CIPHER_fetch(Object, *const c_char, *const c_char) -> Object;
    EVP_CIPHER_free(Object);
    EVP_CIPHER_CTX_new() -> Object;
    EVP_CIPHER_CTX_free(Object);
    EVP_CIPHER_CTX_ctrl(Object, c_int, c_int, *mut c_void) -> c_int;
    EVP_CIPHER_CTX_set_padding(Object, c_int) -> c_int;
    EVP_CIPHER_get_key_length(Object) -> c_int;
    EVP_CIPHER_get_iv_length(Object) -> c_int;
    EVP_CipherInit_ex2(Object, Object, *const u8, *const u8, c_int, *const Param) -> c_int;
    EVP_CipherUpdate(Object, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
    EVP_CipherFinal_ex(Object, *mut u8, *mut c_int) -> c_int;
    EVP_Cipher(Object, *mut u8, *const u8, c_uint) -> c_int;
    EVP_MD_fetch(Object, *const c_char, *const c_char) -> Object;
    EVP_MD_free(Object);
    EVP_MD_CTX_new() -> Object;
    EVP_MD_CTX_free(Object);
    EVP_DigestInit_ex2(Object, Object, *const Param) -> c_int;
    EVP_DigestUpdate(Object, *const u8, usize) -> c_int;
    EVP_DigestFinal_ex(Object, *mut u8, *mut c_uint) -> c_int;
    EVP_DigestFinalXOF(Object, *mut u8, usize) -> c_int;
    EVP_MAC_fetch(Object, *const c_char, *const c_char) -> Object;
    EVP_MAC_free(Object);
    EVP_MAC_CTX_new(Object) -> Object;
    EVP_MAC_CTX_free(Object);
    EVP_MAC_init(Object, *const u8, usize, *const Param) -> c_int;
    EVP_MAC_update(Object, *const u8, usize) -> c_int;
    EVP_MAC_final(Object, *mut u8, *mut usize, usize) -> c_int;
    EVP_PKEY_free(Object);
    EVP_PKEY_CTX_new_from_name(Object, *const c_char, *const c_char) -> Object;
    EVP_PKEY_CTX_new_from_pkey(Object, Object, *const c_char) -> Object;
    EVP_PKEY_CTX_free(Object);
    EVP_PKEY_CTX_set_params(Object, *const Param) -> c_int;
    EVP_PKEY_keygen_init(Object) -> c_int;
    EVP_PKEY_generate(Object, *mut Object) -> c_int;
    EVP_PKEY_todata(Object, c_int, *mut *mut Param) -> c_int;
    EVP_PKEY_fromdata_init(Object) -> c_int;
    EVP_PKEY_fromdata(Object, *mut Object, c_int, *mut Param) -> c_int;
    i2d_PrivateKey(Object, *mut *mut u8) -> c_int;
    d2i_AutoPrivateKey_ex(*mut Object, *mut *const u8, c_long, Object, *const c_char) -> Object;
    EVP_PKEY_sign_init(Object) -> c_int;
    EVP_PKEY_sign(Object, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_verify_init(Object) -> c_int;
    EVP_PKEY_verify(Object, *const u8, usize, *const u8, usize) -> c_int;
    EVP_PKEY_encrypt_init(Object) -> c_int;
    EVP_PKEY_encrypt(Object, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_decrypt_init(Object) -> c_int;
    EVP_PKEY_decrypt(Object, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_PKEY_derive_init(Object) -> c_int;
    EVP_PKEY_derive_set_peer(Object, Object) -> c_int;
    EVP_PKEY_derive(Object, *mut u8, *mut usize) -> c_int;
    EVP_DigestSignInit_ex(Object, *mut Object, *const c_char, Object, *const c_char, Object, *const Param) -> c_int;
    EVP_DigestSign(Object, *mut u8, *mut usize, *const u8, usize) -> c_int;
    EVP_DigestVerifyInit_ex(Object, *mut Object, *const c_char, Object, *const c_char, Object, *const Param) -> c_int;
    EVP_DigestVerify(Object, *const u8, usize, *const u8, usize) -> c_int;
    OSSL_PARAM_free(*mut Param);
}

/// The loader's message; the error itself only names the call.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), |source| source.to_string())
}

const NO_LOAD_CONFIG: u64 = 0x80;
const INFO_MODULES_DIR: c_int = 1003;

impl Functions {
    /// Loads libcrypto from `path`, or the system's own. It stays loaded: contexts outlive every scope.
    ///
    /// # Errors
    /// [`Error::Library`] where it does not load.
    pub fn load(path: Option<&Path>) -> Result<&'static Functions, Error> {
        let candidates: Vec<&Path> = match path {
            Some(path) => vec![path],
            None => vec![Path::new("libcrypto.so.3"), Path::new("libcrypto.so.4")],
        };
        let mut cause = None;
        for candidate in candidates {
            // SAFETY: libcrypto's constructors have no requirements.
            let loaded = unsafe { Library::new(candidate) }.and_then(|library| {
                let functions = Functions::resolve(&library)?;
                std::mem::forget(library);
                Ok(functions)
            });
            match loaded {
                Ok(functions) => {
                    let functions: &Functions = Box::leak(Box::new(functions));
                    // The measured contexts are configured here, not by the machine's openssl.cnf.
                    // SAFETY: plain initialisation.
                    unsafe { (functions.OPENSSL_init_crypto)(NO_LOAD_CONFIG, std::ptr::null_mut()) };
                    return Ok(functions);
                }
                Err(error) => cause = Some(reason(&error)),
            }
        }
        Err(Error::Library(cause.unwrap_or_default()))
    }

    /// `OpenSSL 3.0.17 1 Jul 2025`.
    pub fn version(&self) -> String {
        // SAFETY: a static string.
        unsafe { CStr::from_ptr((self.OpenSSL_version)(0)) }.to_string_lossy().into_owned()
    }

    /// The folder where this libcrypto looks for modules.
    pub fn modules_directory(&self) -> Option<PathBuf> {
        // SAFETY: null or a static string.
        unsafe {
            let text = (self.OPENSSL_info)(INFO_MODULES_DIR);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned().into())
        }
    }

    /// The errors on OpenSSL's queue, which is emptied.
    pub fn errors(&self) -> String {
        let mut all = Vec::new();
        loop {
            // SAFETY: the buffer is as long as stated; OpenSSL terminates what it writes.
            unsafe {
                let code = (self.ERR_get_error)();
                if code == 0 {
                    return all.join("; ");
                }
                let mut text = [0 as c_char; 256];
                (self.ERR_error_string_n)(code, text.as_mut_ptr(), text.len());
                all.push(CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned());
            }
        }
    }
}

/// One of the two that are compared: a library context and the property query that selects its implementations.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// libcrypto.
    pub f: &'static Functions,
    /// The library context.
    pub context: Object,
    /// The property query of every fetch.
    pub query: &'static CStr,
    /// Name of the side in messages.
    pub name: &'static str,
}

// SAFETY: libcrypto lets several threads use one library context at once; the other fields are never changed.
unsafe impl Send for Side {}
// SAFETY: libcrypto lets several threads use one library context at once; the other fields are never changed.
unsafe impl Sync for Side {}

impl Side {
    /// OpenSSL's default provider, in a library context that nothing else has been loaded into.
    pub fn stock(f: &'static Functions) -> Result<Side, Error> {
        // SAFETY: no arguments.
        let context = unsafe { (f.OSSL_LIB_CTX_new)() };
        Side { f, context, query: c"provider=default", name: "stock" }.checked(c"default")
    }

    /// adjunct's module, beside the default provider, as `adjunct openssl enable` configures it, and with AES-ECB.
    ///
    /// # Errors
    /// [`Error::Module`] where OpenSSL does not load it, with its words.
    pub fn adjunct(f: &'static Functions, module: &Path) -> Result<Side, Error> {
        Side::of_module(f, module, module, "", "adjunct")
    }

    /// adjunct's module beside the default provider, with the accelerator off: each operation is done by itself. It is loaded from a copy of
    /// the module, which has settings of its own.
    ///
    /// # Errors
    /// As for [`Side::adjunct`]; [`Error::Io`] where the module cannot be copied into memory.
    pub fn alone(f: &'static Functions, module: &Path) -> Result<Side, Error> {
        let file = memory_file("adjunct.so", &std::fs::read(module).map_err(Error::Io)?).map_err(Error::Io)?;
        let path = path_of(&file);
        let side = Side::of_module(f, module, &path, "accelerator = off\n", "alone");
        // Another file under its number would be taken for it.
        std::mem::forget(file);
        side
    }

    /// `module` for messages, `path` where it is loaded from, `more` lines for its section.
    fn of_module(
        f: &'static Functions,
        module: &Path,
        path: &Path,
        more: &str,
        name: &'static str,
    ) -> Result<Side, Error> {
        let configuration = format!(
            "openssl_conf = main\n[main]\nproviders = providers\n[providers]\ndefault = stock\nadjunct = ours\n\
             [stock]\nactivate = 1\n[ours]\nmodule = {}\nactivate = 1\nalgorithms = ALL,ECB\n{more}",
            path.display()
        );
        let file = memory_file("openssl.cnf", configuration.as_bytes()).map_err(Error::Io)?;
        let path = CString::new(path_of(&file).into_os_string().into_encoded_bytes()).unwrap_or_default();
        // SAFETY: the path is a terminated string; the context is new.
        let context = unsafe {
            let context = (f.OSSL_LIB_CTX_new)();
            if (f.OSSL_LIB_CTX_load_config)(context, path.as_ptr()) != 1 {
                return Err(Error::Module(module.to_owned(), f.errors()));
            }
            (f.EVP_set_default_properties)(context, c"?provider=adjunct".as_ptr());
            context
        };
        let side = Side { f, context, query: c"provider=adjunct", name };
        side.checked(c"adjunct").map_err(|error| match error {
            Error::Library(cause) if cause.is_empty() => Error::Module(module.to_owned(), "no reason given".to_owned()),
            Error::Library(cause) => Error::Module(module.to_owned(), cause),
            other => other,
        })
    }

    fn checked(self, provider: &CStr) -> Result<Side, Error> {
        // SAFETY: the context is ours.
        match unsafe { (self.f.OSSL_PROVIDER_available)(self.context, provider.as_ptr()) } {
            1 => Ok(self),
            _ => Err(Error::Library(self.f.errors())),
        }
    }

    /// The error of a call that failed on this side.
    pub fn failure(&self, what: &str) -> Error {
        Error::Operation(format!("{what} ({}): {}", self.name, self.f.errors()))
    }

    /// `Ok` when `result` is 1, OpenSSL's success.
    pub fn check(&self, what: &str, result: c_int) -> Result<(), Error> {
        if result == 1 { Ok(()) } else { Err(self.failure(what)) }
    }

    /// Takes ownership of the result of a `_new` or `_fetch` function; `None` for null.
    pub fn own(&self, object: Object, free: unsafe extern "C" fn(Object)) -> Option<Owned> {
        (!object.is_null()).then_some(Owned { object, free })
    }
}

/// An OpenSSL object, freed when dropped.
#[derive(Debug)]
pub struct Owned {
    object: Object,
    free: unsafe extern "C" fn(Object),
}

impl Owned {
    /// The object, valid as long as this lives.
    #[inline]
    pub fn get(&self) -> Object {
        self.object
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: owned, and freed once.
        unsafe { (self.free)(self.object) }
    }
}

/// A parameter array with the values it points to.
#[derive(Debug, Default)]
pub struct Params {
    list: Vec<Param>,
    texts: Vec<CString>,
    // Boxed, because the parameters point to them.
    #[allow(clippy::vec_box)]
    numbers: Vec<Box<c_uint>>,
}

impl Params {
    /// Adds a text.
    pub fn text(mut self, key: &'static CStr, value: &str) -> Params {
        let value = CString::new(value).unwrap_or_default();
        self.list.push(Param::text(key, &value));
        self.texts.push(value);
        self
    }

    /// Adds an unsigned number.
    pub fn number(mut self, key: &'static CStr, value: u32) -> Params {
        let mut value = Box::new(value);
        self.list.push(Param::number(key, &raw mut *value));
        self.numbers.push(value);
        self
    }

    /// The array for OpenSSL; it lives as long as this.
    pub fn array(&mut self) -> *const Param {
        if self.list.last().is_none_or(|p| !p.key.is_null()) {
            self.list.push(Param::END);
        }
        self.list.as_ptr()
    }
}

/// Makes a file in memory that holds `bytes`; `name` is shown in /proc.
fn memory_file(name: &str, bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(file);
    file.write_all(bytes)?;
    Ok(file.into())
}

/// A path that leads to an open file in this process.
fn path_of(file: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file)).into()
}
