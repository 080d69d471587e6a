//! X448 (RFC 7748, 5 and 6.2): by instructions, or else by the caller's `library`, which gives `None` where it fails.

use super::{Material, Private, count, first};
use crate::catalogue::{Function, Outcome};
use crate::error::Error;
use adjunct_card_protocol::secure::Call;
use adjunct_cpu::curve448 as cpu;
use adjunct_cpu::random;
use zeroize::Zeroizing;

/// The length of every key and of a shared secret, in bytes.
pub const KEY: usize = cpu::X448;

/// The error where neither instructions nor the library computed it.
const FAILED: Error = Error::Failed("X448");

/// Generates a key pair; `library` gives the public key of a private one.
pub fn generate(library: impl FnOnce(&[u8; KEY]) -> Option<[u8; KEY]>) -> Option<(Private<KEY>, [u8; KEY])> {
    let mut bytes = Zeroizing::new([0; KEY]);
    random(&mut bytes[..]);
    bytes[0] &= 252;
    bytes[55] |= 128;
    let public = first(Function::X448Keygen, cpu::x448_public(&bytes), || library(&bytes))?;
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
    private.public_counted(Function::X448Keygen, |private| {
        first(Function::X448Keygen, cpu::x448_public(private), || library(private)).ok_or(FAILED)
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
    private.public(|private| cpu::x448_public(private).or_else(|| library(private)).ok_or(FAILED))
}

/// The shared secret of a private key and a peer's public key.
///
/// # Errors
/// [`Error::InvalidKey`] for a peer of small order, [`Error::Failed`] where the library fails; those of a card's key.
pub fn shared_secret(
    private: &Private<KEY>,
    peer: &[u8; KEY],
    library: impl FnOnce(&[u8; KEY], &[u8; KEY]) -> Option<Zeroizing<[u8; KEY]>>,
) -> Result<Zeroizing<[u8; KEY]>, Error> {
    let secret = match &private.0 {
        Material::Clear(private) => {
            first(Function::X448Derive, cpu::x448(private, peer), || library(private, peer)).ok_or(FAILED)?
        }
        Material::Elsewhere(elsewhere) => {
            let mut secret = Zeroizing::new([0; KEY]);
            elsewhere.fill(Call::XDerive, &[], peer, &mut secret[..])?;
            count(Function::X448Derive, Outcome::Card);
            secret
        }
    };
    let any = secret.iter().fold(0, |all, b| all | b) != 0;
    if any { Ok(secret) } else { Err(Error::InvalidKey("public key of small order")) }
}
