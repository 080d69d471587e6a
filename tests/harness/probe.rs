//! Loads OpenSSL's configuration in a fresh process and says what that took: nanoseconds, kilobytes of private memory,
//! threads. Run by the footprint test, once without and once with adjunct.

use std::ffi::{c_char, c_void};
use std::time::Instant;

#[link(name = "crypto")]
unsafe extern "C" {
    fn OPENSSL_init_crypto(options: u64, settings: *const c_void) -> i32;
    fn EVP_CIPHER_fetch(context: *mut c_void, name: *const c_char, properties: *const c_char) -> *mut c_void;
    fn EVP_MD_fetch(context: *mut c_void, name: *const c_char, properties: *const c_char) -> *mut c_void;
}

const LOAD_CONFIG: u64 = 0x40;

fn private_kilobytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let field = |name: &str| -> u64 {
        let line = text.lines().find(|l| l.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).unwrap_or(0)
    };
    field("Private_Clean:") + field("Private_Dirty:")
}

fn main() {
    let memory = private_kilobytes();
    let start = Instant::now();
    // SAFETY: documented call with no settings.
    let loaded = unsafe { OPENSSL_init_crypto(LOAD_CONFIG, std::ptr::null()) };
    let nanoseconds = start.elapsed().as_nanos();
    // What a program then does first.
    // SAFETY: C strings, the default context.
    let fetched = unsafe {
        let cipher = EVP_CIPHER_fetch(std::ptr::null_mut(), c"AES-128-GCM".as_ptr(), std::ptr::null());
        let digest = EVP_MD_fetch(std::ptr::null_mut(), c"SHA2-256".as_ptr(), std::ptr::null());
        !cipher.is_null() && !digest.is_null()
    };
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let descriptors = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let grown = private_kilobytes().saturating_sub(memory);
    let module = maps.contains("adjunct.so");
    println!("{loaded} {nanoseconds} {grown} {threads} {descriptors} {module} {fetched}");
}
