//! What the end-to-end tests share: a lab with OpenSSL configurations and counters of its own, and the systems to test on.

pub mod cards;
pub mod counted;
pub mod keys;
pub mod lab;
pub mod listener;
pub mod load;
pub mod ports;
pub mod prefork;
pub mod session;
pub mod ssh;
pub mod system;
pub mod tls;
pub mod token;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Says, once a program, what is not tested and why, past the capture of tests' output, which is not shown for a test that passes.
pub fn skipped(why: &str) {
    use std::io::Write;
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(why.to_owned()) {
        let _ = std::io::stderr().write_all(format!("SKIPPED: {why}\n").as_bytes());
    }
}

/// Whether to try everything (`./check deep`), not every behaviour once.
pub fn deep() -> bool {
    std::env::var_os("ADJUNCT_DEEP").is_some()
}

/// Chooses a number: that of the whole test (`./check deep`), or that of the one that every change must pass.
pub fn either<T>(whole: T, short: T) -> T {
    if deep() { whole } else { short }
}

/// The SHA-256 of `data` by the system's OpenSSL without adjunct, in hexadecimal.
pub fn sha256(lab: &lab::Lab, data: &[u8]) -> String {
    let out = lab.openssl(&system::System::here(), lab.stock(), &["dgst", "-sha256", "-r"], data);
    String::from_utf8_lossy(&out).split_whitespace().next().unwrap_or_default().to_owned()
}

/// `len` bytes of the system's generator.
pub fn random(len: usize) -> Vec<u8> {
    use std::io::Read;
    let mut bytes = vec![0; len];
    std::fs::File::open("/dev/urandom").and_then(|mut f| f.read_exact(&mut bytes)).expect("/dev/urandom");
    bytes
}
