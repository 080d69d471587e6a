//! X25519 (RFC 7748, 5 and 6.1).

use super::{Private, count};
use crate::adapter::cpu::awslc::ecx as cpu;
use crate::adapter::lanes::curve as lanes;
use crate::catalogue::Function;
use zeroize::Zeroizing;

/// The length of every key and of a shared secret, in bytes.
pub const KEY: usize = cpu::KEY;

/// Generates a key pair.
pub fn generate() -> (Private<KEY>, [u8; KEY]) {
    let private = Private::new(&cpu::x25519_generate());
    let public = public(&private);
    (private, public)
}

/// The public key of a private key, as an operation: it counts as the key pair's generation.
pub fn public(private: &Private<KEY>) -> [u8; KEY] {
    let (public, outcome) = lanes::x25519_public(private.clear());
    count(Function::X25519Keygen, outcome);
    public
}

/// The public key of a private key that is imported or checked. A part of that, which counts nothing.
pub fn other_half(private: &Private<KEY>) -> [u8; KEY] {
    cpu::x25519_public(private.clear()).0
}

/// The shared secret of a private key and a peer's public key; `None` where it is all zeros (a peer of small order), which counts
/// as well: it has been computed.
pub fn shared_secret(private: &Private<KEY>, peer: &[u8; KEY]) -> Option<Zeroizing<[u8; KEY]>> {
    let (secret, outcome) = lanes::x25519(private.clear(), peer);
    count(Function::X25519Derive, outcome);
    secret
}
