//! Ed448 (RFC 8032, 5.2): by instructions, or else by the caller's `library`, which gives `None` where it fails. With a context and as Ed448ph
//! by the library alone.

use super::{Material, Private, count, first};
use crate::catalogue::{Direction, Function, Outcome};
use crate::error::Error;
use crate::ops::Delegated;
use adjunct_card_protocol::secure::Call;
use adjunct_cpu::curve448 as cpu;
use adjunct_cpu::random;
use zeroize::Zeroizing;

/// The length of every key, in bytes.
pub const KEY: usize = cpu::ED448;
/// The length of a signature, in bytes.
pub const SIGNATURE: usize = cpu::SIGNATURE;

/// The error where neither instructions nor the library computed it.
const FAILED: Error = Error::Failed("Ed448");

/// Generates a key pair; `library` gives the public key of a private one.
pub fn generate(library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>) -> Option<(Private<KEY>, [u8; KEY])> {
    let mut bytes = Zeroizing::new([0; KEY]);
    random(&mut bytes[..]);
    let public = first(Function::Ed448Keygen, cpu::ed448_public(&bytes), || library(&bytes))?;
    Some((Private::new(&bytes), public))
}

/// The public key of a private key.
///
/// # Errors
/// [`Error::Failed`] where the library fails; those of a card's key.
pub fn public(
    private: &Private<KEY>,
    library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>,
) -> Result<[u8; KEY], Error> {
    private.public_counted(Function::Ed448Keygen, |private| {
        first(Function::Ed448Keygen, cpu::ed448_public(private), || library(private)).ok_or(FAILED)
    })
}

/// The public key of a private key that is imported or checked. A part of that, which counts nothing.
///
/// # Errors
/// As for [`public`].
pub fn other_half(
    private: &Private<KEY>,
    library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>,
) -> Result<[u8; KEY], Error> {
    private.public(|private| cpu::ed448_public(private).or_else(|| library(private)).ok_or(FAILED))
}

/// Signs `message`. `public` must be the public key of `private`: a signature made with another gives the private key away. A card's signature is checked where
/// there are instructions for that.
///
/// # Errors
/// [`Error::Failed`] where the library fails; those of a card's key.
pub fn sign(
    private: &Private<KEY>,
    public: &[u8; KEY],
    message: &[u8],
    library: impl FnOnce(&[u8; KEY], &[u8; KEY], &[u8]) -> Option<[u8; SIGNATURE]>,
) -> Result<[u8; SIGNATURE], Error> {
    match &private.0 {
        Material::Clear(private) => {
            let signed = cpu::ed448_sign(private, message);
            first(Function::Ed448Sign, signed, || library(private, public, message)).ok_or(FAILED)
        }
        Material::Elsewhere(elsewhere) => {
            let mut signature = [0; SIGNATURE];
            elsewhere.fill(Call::EdSign, &[0], message, &mut signature)?;
            elsewhere.checked(cpu::ed448_verify(public, message, &signature) != Some(false))?;
            count(Function::Ed448Sign, Outcome::Card);
            Ok(signature)
        }
    }
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
///
/// # Errors
/// [`Error::Failed`] where the library fails; [`Error::CardKey`] for a card's key, which signs messages alone.
pub fn sign_form(
    private: &Private<KEY>,
    library: impl FnOnce(&[u8; KEY]) -> Option<[u8; SIGNATURE]>,
) -> Result<[u8; SIGNATURE], Error> {
    let private = private.0.clear().ok_or(Error::CardKey("it signs with Ed448 in its plain form alone"))?;
    let signature = library(private).ok_or(FAILED)?;
    Delegated::new(Function::Ed448Sign, 0).done(Direction::Encrypt, 0);
    Ok(signature)
}

/// Checks a signature in a form that the instructions lack: by `library`, which knows the form, the message, the key and the signature.
pub fn verify_form(library: impl FnOnce() -> Option<bool>) -> Option<bool> {
    let good = library()?;
    Delegated::new(Function::Ed448Verify, 0).done(Direction::Encrypt, 0);
    Some(good)
}
