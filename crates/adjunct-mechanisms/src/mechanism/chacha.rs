//! ChaCha20 and ChaCha20-Poly1305 (RFC 8439), and their keys.

use super::aead::{self, AeadKind};
use super::generate::random_key;
use super::params::Shape;
use super::registry::{CIPHERS, Entry, MESSAGES, WRAPS};
use super::streams;
use cryptoki_sys::*;

/// A mechanism with keys of 32 bytes.
const fn entry(kind: CK_MECHANISM_TYPE, flags: CK_FLAGS, shape: Shape) -> Entry {
    Entry::new(kind, 32, 32, flags, shape)
}

pub const ENTRIES: &[Entry] = &[
    entry(CKM_CHACHA20_KEY_GEN, CKF_GENERATE, Shape::Ignored)
        .secret(|mechanism, template| random_key(mechanism, template, CKK_CHACHA20, Some(32), |_| true)),
    entry(CKM_CHACHA20, CIPHERS, Shape::ChaCha).cipher(streams::chacha20),
    entry(CKM_CHACHA20_POLY1305, CIPHERS | WRAPS | MESSAGES, Shape::ChaChaPoly)
        .cipher(|mechanism, key, encrypt| aead::begin(AeadKind::ChaChaPoly, &mechanism.params, key, encrypt)),
];
