//! X448 (RFC 7748, 5 and 6.2): by instructions, or else by the caller's `library`, which gives `None` where it fails.

use super::{Private, first};
use crate::catalogue::Function;
use adjunct_cpu::curve448 as cpu;
use adjunct_cpu::random;
use zeroize::Zeroizing;

/// The length of every key and of a shared secret, in bytes.
pub const KEY: usize = cpu::X448;

/// Generates a key pair; `library` gives the public key of a private one.
pub fn generate(library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>) -> Option<(Private<KEY>, [u8; KEY])> {
    let mut bytes = Zeroizing::new([0; KEY]);
    random(&mut bytes[..]);
    bytes[0] &= 252;
    bytes[55] |= 128;
    let private = Private::new(&bytes);
    let public = public(&private, library)?;
    Some((private, public))
}

/// The public key of a private key.
pub fn public(private: &Private<KEY>, library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>) -> Option<[u8; KEY]> {
    let private = private.clear();
    first(Function::X448Keygen, cpu::x448_public(private), || library(private))
}

/// The public key of a private key that is imported or checked. A part of that, which counts nothing.
pub fn other_half(private: &Private<KEY>, library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>) -> Option<[u8; KEY]> {
    cpu::x448_public(private.clear()).or_else(|| library(private.clear()))
}

/// The shared secret of a private key and a peer's public key; `None` where it is all zeros (a peer of small order), too.
pub fn shared_secret(
    private: &Private<KEY>,
    peer: &[u8; KEY],
    library: impl FnOnce(&[u8; KEY], &[u8; KEY]) -> Option<Zeroizing<[u8; KEY]>>,
) -> Option<Zeroizing<[u8; KEY]>> {
    let private = private.clear();
    let secret = first(Function::X448Derive, cpu::x448(private, peer), || library(private, peer))?;
    (secret.iter().fold(0, |all, b| all | b) != 0).then_some(secret)
}
