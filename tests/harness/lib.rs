//! What the end-to-end tests share: a lab with OpenSSL configurations and counters of its own, and the systems to test on.

pub mod counted;
pub mod keys;
pub mod lab;
pub mod listener;
pub mod session;
pub mod ssh;
pub mod system;
pub mod tls;

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
