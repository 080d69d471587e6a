//! Ed448 (RFC 8032, 5.2): by instructions, or else by the caller's `library`, which gives `None` where it fails. With a context and as Ed448ph
//! by the library alone.

use super::{Private, first};
use crate::catalogue::{Direction, Function};
use crate::ops::Delegated;
use adjunct_cpu::curve448 as cpu;
use adjunct_cpu::random;
use zeroize::Zeroizing;

/// The length of every key, in bytes.
pub const KEY: usize = cpu::ED448;
/// The length of a signature, in bytes.
pub const SIGNATURE: usize = cpu::SIGNATURE;

/// Generates a key pair; `library` gives the public key of a private one.
pub fn generate(library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>) -> Option<(Private<KEY>, [u8; KEY])> {
    let mut bytes = Zeroizing::new([0; KEY]);
    random(&mut bytes[..]);
    let private = Private::new(&bytes);
    let public = public(&private, library)?;
    Some((private, public))
}

/// The public key of a private key.
pub fn public(private: &Private<KEY>, library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>) -> Option<[u8; KEY]> {
    let private = private.clear();
    first(Function::Ed448Keygen, cpu::ed448_public(private), || library(private))
}

/// The public key of a private key that is imported or checked. A part of that, which counts nothing.
pub fn other_half(private: &Private<KEY>, library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>) -> Option<[u8; KEY]> {
    cpu::ed448_public(private.clear()).or_else(|| library(private.clear()))
}

/// Signs `message`. `public` must be the public key of `private`: a signature made with another gives the private key away.
pub fn sign(
    private: &Private<KEY>,
    public: &[u8; KEY],
    message: &[u8],
    library: impl FnOnce(&[u8; KEY], &[u8; KEY], &[u8]) -> Option<[u8; SIGNATURE]>,
) -> Option<[u8; SIGNATURE]> {
    let private = private.clear();
    first(Function::Ed448Sign, cpu::ed448_sign(private, message), || library(private, public, message))
}

/// Whether `signature` is `public`'s of `message`.
pub fn verify(
    public: &[u8; KEY],
    message: &[u8],
    signature: &[u8; SIGNATURE],
    library: impl FnOnce(&[u8; KEY], &[u8], &[u8; SIGNATURE]) -> Option<bool>,
) -> Option<bool> {
    let verified = cpu::ed448_verify(public, message, signature);
    first(Function::Ed448Verify, verified, || library(public, message, signature))
}

/// Signs in a form that the instructions lack: by `library`, which knows the form, the message and the public key.
pub fn sign_form(
    private: &Private<KEY>,
    library: impl FnOnce(&[u8; KEY]) -> Option<[u8; SIGNATURE]>,
) -> Option<[u8; SIGNATURE]> {
    let signature = library(private.clear())?;
    Delegated::new(Function::Ed448Sign, 0).done(Direction::Encrypt, 0);
    Some(signature)
}

/// Checks a signature in a form that the instructions lack: by `library`, which knows the form, the message, the key and the signature.
pub fn verify_form(library: impl FnOnce() -> Option<bool>) -> Option<bool> {
    let good = library()?;
    Delegated::new(Function::Ed448Verify, 0).done(Direction::Encrypt, 0);
    Some(good)
}
