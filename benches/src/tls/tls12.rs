//! Clients of TLS 1.2 with a secret encrypted by RSA: the system's libssl, since newer libraries have left it out. It is loaded at run
//! time into the process of the load, whose `OPENSSL_CONF` the command sets.

use super::application::Talk as _;
use super::{NAME, Transaction};
use crate::libcrypto::Object;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_ulong, c_void};
use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::OnceLock;

/// The suite's name in libssl: `TLS_RSA_WITH_AES_256_GCM_SHA384`.
const SUITE: &CStr = c"AES256-GCM-SHA384";
const TLS1_2: c_long = 0x0303;
const SET_MIN_PROTO_VERSION: c_int = 123;
const SET_MAX_PROTO_VERSION: c_int = 124;
const FILETYPE_PEM: c_int = 1;
const VERIFY_NONE: c_int = 0;
const VERIFY_PEER: c_int = 1;
const ERROR_SYSCALL: c_int = 5;
const ERROR_ZERO_RETURN: c_int = 6;

macro_rules! functions {
    ($($name:ident($($arg:ty),*) $(-> $result:ty)?;)*) => {
        #[allow(non_snake_case)]
        struct Functions { $($name: unsafe extern "C" fn($($arg),*) $(-> $result)?,)* }

        impl Functions {
            fn resolve(library: &Library) -> Result<Functions, libloading::Error> {
                // SAFETY: the types are those of OpenSSL 3.0's headers; later versions keep them.
                unsafe { Ok(Functions { $($name: *library.get(concat!(stringify!($name), "\0"))?,)* }) }
            }
        }
    };
}

functions! {
    TLS_client_method() -> *const c_void;
    SSL_CTX_new(*const c_void) -> Object;
    SSL_CTX_free(Object);
    SSL_CTX_ctrl(Object, c_int, c_long, *mut c_void) -> c_long;
    SSL_CTX_set_cipher_list(Object, *const c_char) -> c_int;
    SSL_CTX_set_verify(Object, c_int, *const c_void);
    SSL_CTX_load_verify_locations(Object, *const c_char, *const c_char) -> c_int;
    SSL_CTX_use_certificate_file(Object, *const c_char, c_int) -> c_int;
    SSL_CTX_use_PrivateKey_file(Object, *const c_char, c_int) -> c_int;
    SSL_new(Object) -> Object;
    SSL_free(Object);
    SSL_set_fd(Object, c_int) -> c_int;
    SSL_set1_host(Object, *const c_char) -> c_int;
    SSL_set_session(Object, Object) -> c_int;
    SSL_connect(Object) -> c_int;
    SSL_read(Object, *mut c_void, c_int) -> c_int;
    SSL_write(Object, *const c_void, c_int) -> c_int;
    SSL_shutdown(Object) -> c_int;
    SSL_get_error(*const c_void, c_int) -> c_int;
    SSL_session_reused(*const c_void) -> c_int;
    SSL_get1_session(Object) -> Object;
    SSL_SESSION_free(Object);
    ERR_get_error() -> c_ulong;
    ERR_clear_error();
    ERR_reason_error_string(c_ulong) -> *const c_char;
}

impl Functions {
    /// libssl; it stays loaded.
    fn load() -> Result<&'static Functions, String> {
        static LOADED: OnceLock<Result<Functions, String>> = OnceLock::new();
        let load = || {
            let mut cause = String::new();
            for name in ["libssl.so.3", "libssl.so.4"] {
                // SAFETY: libssl's constructors have no requirements.
                let loaded = unsafe { Library::new(name) }.and_then(|library| {
                    let functions = Functions::resolve(&library)?;
                    std::mem::forget(library);
                    Ok(functions)
                });
                match loaded {
                    Ok(functions) => return Ok(functions),
                    Err(error) => cause = error.to_string(),
                }
            }
            Err(format!("no usable libssl (OpenSSL 3.0 or newer): {cause}"))
        };
        LOADED.get_or_init(load).as_ref().map_err(String::clone)
    }

    /// The oldest error on this thread's queue, which is emptied.
    fn error(&self) -> String {
        // SAFETY: no arguments; a static string or null.
        unsafe {
            let reason = (self.ERR_reason_error_string)((self.ERR_get_error)());
            (self.ERR_clear_error)();
            if reason.is_null() { "it failed".to_owned() } else { CStr::from_ptr(reason).to_string_lossy().into_owned() }
        }
    }
}

/// A client with a session of its own.
pub(super) struct Client {
    f: &'static Functions,
    transaction: Transaction,
    context: Object,
    session: Object,
    verified: bool,
}

// SAFETY: libssl's objects may move from thread to thread.
unsafe impl Send for Client {}

fn c_path(path: &Path) -> Result<CString, String> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| format!("{}: no such file", path.display()))
}

impl Client {
    /// A client.
    ///
    /// # Errors
    /// Where there is no libssl, and what it says of the suite, a certificate or a key.
    pub fn new(transaction: &Transaction, verified: bool) -> Result<Client, String> {
        let f = Functions::load()?;
        // SAFETY: a method that libssl gives; null is refused below.
        let context = unsafe { (f.SSL_CTX_new)((f.TLS_client_method)()) };
        if context.is_null() {
            return Err(format!("libssl: {}", f.error()));
        }
        let client = Client { f, transaction: transaction.clone(), context, session: null_mut(), verified };
        let done = |what: &str, result: bool| result.then_some(()).ok_or_else(|| format!("{what}: {}", f.error()));
        // SAFETY: the context lives; strings end with a zero and are copied.
        unsafe {
            for limit in [SET_MIN_PROTO_VERSION, SET_MAX_PROTO_VERSION] {
                done("TLS 1.2", (f.SSL_CTX_ctrl)(context, limit, TLS1_2, null_mut()) == 1)?;
            }
            done("AES256-GCM-SHA384", (f.SSL_CTX_set_cipher_list)(context, SUITE.as_ptr()) == 1)?;
            let mode = if verified { VERIFY_PEER } else { VERIFY_NONE };
            (f.SSL_CTX_set_verify)(context, mode, std::ptr::null());
            if verified {
                let authority = c_path(&transaction.authority)?;
                let loaded = (f.SSL_CTX_load_verify_locations)(context, authority.as_ptr(), std::ptr::null());
                done("the authority", loaded == 1)?;
            }
            if let Some((certificate, key)) = &transaction.certificate {
                let (certificate, key) = (c_path(certificate)?, c_path(key)?);
                let used = (f.SSL_CTX_use_certificate_file)(context, certificate.as_ptr(), FILETYPE_PEM) == 1
                    && (f.SSL_CTX_use_PrivateKey_file)(context, key.as_ptr(), FILETYPE_PEM) == 1;
                done("the client's certificate", used)?;
            }
        }
        Ok(client)
    }

    fn forget_session(&mut self) {
        // SAFETY: a session of ours, or null, which libssl takes too.
        unsafe { (self.f.SSL_SESSION_free)(self.session) };
        self.session = null_mut();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.forget_session();
        // SAFETY: a context of ours.
        unsafe { (self.f.SSL_CTX_free)(self.context) };
    }
}

/// TLS over a connection.
struct Tls {
    f: &'static Functions,
    ssl: Object,
    // After `ssl`, which has its descriptor: closed last.
    _stream: TcpStream,
}

impl Drop for Tls {
    fn drop(&mut self) {
        // SAFETY: an object of ours.
        unsafe { (self.f.SSL_free)(self.ssl) };
    }
}

impl Tls {
    fn outcome(&self, result: c_int) -> std::io::Result<usize> {
        if let Ok(length @ 1..) = usize::try_from(result) {
            return Ok(length);
        }
        let system = Error::last_os_error();
        // SAFETY: an object of ours, whose last call gave this result.
        match unsafe { (self.f.SSL_get_error)(self.ssl, result) } {
            ERROR_ZERO_RETURN => Ok(0),
            // A socket that has a time limit says that it would block.
            ERROR_SYSCALL if system.raw_os_error() == Some(0) => Err(ErrorKind::UnexpectedEof.into()),
            ERROR_SYSCALL => Err(system),
            2 | 3 => Err(ErrorKind::TimedOut.into()),
            _ => Err(Error::other(self.f.error())),
        }
    }
}

impl Read for Tls {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        // SAFETY: room as long as is said.
        let result = unsafe { (self.f.SSL_read)(self.ssl, to.as_mut_ptr().cast(), to.len() as c_int) };
        self.outcome(result)
    }
}

impl Write for Tls {
    fn write(&mut self, from: &[u8]) -> std::io::Result<usize> {
        // SAFETY: bytes as many as are said.
        let result = unsafe { (self.f.SSL_write)(self.ssl, from.as_ptr().cast(), from.len() as c_int) };
        self.outcome(result)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl super::Client for Client {
    fn once(&mut self) -> Result<bool, String> {
        let f = self.f;
        let stream = self.transaction.connect()?;
        let name = CString::new(NAME).unwrap_or_default();
        // SAFETY: the context lives; null is refused.
        let ssl = unsafe { (f.SSL_new)(self.context) };
        if ssl.is_null() {
            return Err(format!("libssl: {}", f.error()));
        }
        let descriptor = stream.as_raw_fd();
        let mut tls = Tls { f, ssl, _stream: stream };
        // SAFETY: an object that lives, the descriptor of a stream that lives as long, a string that is copied, a session of ours.
        unsafe {
            if (f.SSL_set_fd)(ssl, descriptor) != 1
                || (self.verified && (f.SSL_set1_host)(ssl, name.as_ptr()) != 1)
                || (!self.session.is_null() && (f.SSL_set_session)(ssl, self.session) != 1)
            {
                return Err(format!("libssl: {}", f.error()));
            }
            let connected = (f.SSL_connect)(ssl);
            if connected != 1 {
                return Err(tls.outcome(connected).map_or_else(|error| crate::cause(&error), |_| "no TLS".to_owned()));
            }
        }
        // SAFETY: the same object.
        let resumed = unsafe { (f.SSL_session_reused)(ssl) } == 1;
        let talked = self.transaction.application.within(&mut tls);
        // SAFETY: the same object; the queue may have what the end of the connection left.
        unsafe {
            (f.SSL_shutdown)(ssl);
            (f.ERR_clear_error)();
        }
        talked?;
        if self.transaction.resumed && !resumed {
            self.forget_session();
            // SAFETY: the same object; the session is ours from here on.
            self.session = unsafe { (f.SSL_get1_session)(ssl) };
        }
        Ok(resumed)
    }
}
