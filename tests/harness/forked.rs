//! A server that forks a process for each connection, as PostgreSQL does, and what such a process takes: pages it is given (minor
//! faults) and CPU time. Run by the footprint test and by `benches/forked`, once without and once with adjunct in OPENSSL_CONF.
//!
//! The parent reads the certificate and its key and makes PostgreSQL's `SSL_CTX`; each child does one handshake, writes 2048 bytes
//! and ends by exit(3), with libcrypto's destructors. The client is a process of its own, forked before OpenSSL is there, and reads no
//! configuration.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uchar, c_ulong, c_void};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::ptr::{null, null_mut};

#[link(name = "ssl")]
unsafe extern "C" {
    fn TLS_method() -> *const c_void;
    fn SSL_CTX_new(method: *const c_void) -> *mut c_void;
    fn SSL_CTX_use_certificate_chain_file(context: *mut c_void, path: *const c_char) -> c_int;
    fn SSL_CTX_use_PrivateKey_file(context: *mut c_void, path: *const c_char, form: c_int) -> c_int;
    fn SSL_CTX_check_private_key(context: *const c_void) -> c_int;
    fn SSL_CTX_ctrl(context: *mut c_void, what: c_int, number: c_long, pointer: *mut c_void) -> c_long;
    fn SSL_CTX_set_options(context: *mut c_void, options: u64) -> u64;
    fn SSL_CTX_set_cipher_list(context: *mut c_void, list: *const c_char) -> c_int;
    fn SSL_new(context: *mut c_void) -> *mut c_void;
    fn SSL_free(connection: *mut c_void);
    fn SSL_set_fd(connection: *mut c_void, descriptor: c_int) -> c_int;
    fn SSL_accept(connection: *mut c_void) -> c_int;
    fn SSL_connect(connection: *mut c_void) -> c_int;
    fn SSL_read(connection: *mut c_void, data: *mut c_void, length: c_int) -> c_int;
    fn SSL_write(connection: *mut c_void, data: *const c_void, length: c_int) -> c_int;
    fn SSL_shutdown(connection: *mut c_void) -> c_int;
}

#[link(name = "crypto")]
unsafe extern "C" {
    fn OPENSSL_init_crypto(options: u64, settings: *const c_void) -> c_int;
    fn ERR_get_error() -> c_ulong;
    fn ERR_error_string_n(error: c_ulong, text: *mut c_char, length: usize);
}

const NO_LOAD_CONFIG: u64 = 0x80;
const LOAD_CONFIG: u64 = 0x40;
const PEM: c_int = 1;
const SET_SESSION_CACHE: c_int = 44;
const SET_GROUPS_LIST: c_int = 92;
const SET_MIN_VERSION: c_int = 123;
const SET_MAX_VERSION: c_int = 124;
/// SSL_OP_NO_TICKET, SSL_OP_CIPHER_SERVER_PREFERENCE, SSL_OP_NO_RENEGOTIATION, as PostgreSQL's.
const OPTIONS: u64 = (1 << 14) | (1 << 22) | (1 << 30);
const LENGTH: usize = 2048;

/// Ends the program with OpenSSL's reason.
fn failed(what: &str) -> ! {
    let mut text = [0; 256];
    // SAFETY: the text's length is given.
    let reason = unsafe {
        ERR_error_string_n(ERR_get_error(), text.as_mut_ptr(), text.len());
        CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
    };
    eprintln!("adjunct-forked: {what}: {reason}");
    std::process::exit(1)
}

fn sure(done: bool, what: &str) {
    if !done {
        failed(what);
    }
}

/// A context of either side.
fn context(version: c_long) -> *mut c_void {
    // SAFETY: documented calls; the list is a C string.
    unsafe {
        let context = SSL_CTX_new(TLS_method());
        sure(!context.is_null(), "SSL_CTX_new");
        SSL_CTX_ctrl(context, SET_MIN_VERSION, version, null_mut());
        SSL_CTX_ctrl(context, SET_MAX_VERSION, version, null_mut());
        SSL_CTX_ctrl(context, SET_SESSION_CACHE, 0, null_mut());
        let groups = c"prime256v1".as_ptr().cast_mut().cast();
        sure(SSL_CTX_ctrl(context, SET_GROUPS_LIST, 0, groups) == 1, "groups");
        context
    }
}

/// Runs a handshake, and sends data from the server to the client.
fn connection(context: *mut c_void, stream: &UnixStream, server: bool) {
    let mut data = [7 as c_uchar; LENGTH];
    // SAFETY: the descriptor is open, the data as long as is said.
    unsafe {
        let connection = SSL_new(context);
        sure(!connection.is_null() && SSL_set_fd(connection, stream.as_raw_fd()) == 1, "SSL_new");
        if server {
            sure(SSL_accept(connection) == 1, "SSL_accept");
            sure(SSL_write(connection, data.as_ptr().cast(), LENGTH as c_int) == LENGTH as c_int, "SSL_write");
            SSL_shutdown(connection);
        } else {
            sure(SSL_connect(connection) == 1, "SSL_connect");
            sure(SSL_read(connection, data.as_mut_ptr().cast(), LENGTH as c_int) == LENGTH as c_int, "SSL_read");
            SSL_shutdown(connection);
        }
        SSL_free(connection);
    }
}

/// Runs the clients: a process that answers any connection.
fn clients(streams: &[(UnixStream, UnixStream)], version: c_long, suite: Option<&CStr>) -> ! {
    // SAFETY: documented call.
    sure(unsafe { OPENSSL_init_crypto(NO_LOAD_CONFIG, null()) } == 1, "OPENSSL_init_crypto");
    let context = context(version);
    if let Some(suite) = suite {
        // SAFETY: a C string.
        sure(unsafe { SSL_CTX_set_cipher_list(context, suite.as_ptr()) } == 1, "the cipher");
    }
    for (stream, _) in streams {
        connection(context, stream, false);
    }
    std::process::exit(0)
}

fn microseconds(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64
}

fn fork() -> libc::pid_t {
    // SAFETY: this program has one thread.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    pid
}

/// Waits for a child, which must have ended well; gives what it took.
fn wait(pid: libc::pid_t) -> libc::rusage {
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::zeroed());
    // SAFETY: both are written where the call succeeds.
    let done = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    assert!(done == pid && status == 0, "a child ended with {status:#x}");
    // SAFETY: written; zeros are one as well.
    unsafe { usage.assume_init() }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, certificate, key, version, children] = &words[..] else {
        eprintln!("use: adjunct-forked CERTIFICATE KEY VERSION CHILDREN");
        std::process::exit(2)
    };
    let (version, suite) = match version.as_str() {
        "1.2" => (0x303, Some(c"AES256-GCM-SHA384")),
        "1.2-ecdhe" => (0x303, Some(c"ECDHE+AESGCM")),
        _ => (0x304, None),
    };
    let children: usize = children.parse().expect("a number of children");
    let streams: Vec<_> = (0..children).map(|_| UnixStream::pair().expect("a socket")).collect();
    let client = fork();
    if client == 0 {
        clients(&streams, version, suite);
    }
    let path = |text: &String| CString::new(text.as_str()).expect("a path");
    // SAFETY: documented calls; the paths are C strings.
    let context = unsafe {
        sure(OPENSSL_init_crypto(LOAD_CONFIG, null()) == 1, "OPENSSL_init_crypto");
        let context = context(version);
        SSL_CTX_set_options(context, OPTIONS);
        sure(SSL_CTX_use_certificate_chain_file(context, path(certificate).as_ptr()) == 1, "the certificate");
        sure(SSL_CTX_use_PrivateKey_file(context, path(key).as_ptr(), PEM) == 1, "the key");
        sure(SSL_CTX_check_private_key(context) == 1, "the key and the certificate");
        context
    };
    let (mut faults, mut cpu) = (Vec::new(), Vec::new());
    for (_, stream) in &streams {
        let child = fork();
        if child == 0 {
            connection(context, stream, true);
            // With the destructors of libraries: what PostgreSQL's processes do at their end.
            std::process::exit(0);
        }
        let usage = wait(child);
        faults.push(usage.ru_minflt as u64);
        cpu.push(microseconds(usage.ru_utime) + microseconds(usage.ru_stime));
    }
    wait(client);
    let sum: u64 = cpu.iter().sum();
    faults.sort_unstable();
    cpu.sort_unstable();
    println!("{} {} {}", faults[children / 2], cpu[children / 2], sum / children as u64);
}
