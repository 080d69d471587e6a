//! X448 (RFC 7748) and Ed448 (RFC 8032) by CPACF. The CPU library has neither: where no instruction has them, nothing here does,
//! and each function gives `None`.

use super::cpacf::here;
use super::digest::{Digest, SHAKE256};
use adjunct_kernels::cpacf::{Edwards, Montgomery};
use zeroize::Zeroizing;

/// The length of X448's keys and shared secrets, in bytes.
pub const X448: usize = 56;
/// The length of Ed448's keys, in bytes.
pub const ED448: usize = 57;
/// The length of a signature, in bytes.
pub const SIGNATURE: usize = 2 * ED448;

/// The X448 shared secret of a private key and a peer's public one; all zeros where the peer's point is of small order and the
/// instruction takes it.
pub fn x448(private: &[u8; X448], peer: &[u8; X448]) -> Option<Zeroizing<[u8; X448]>> {
    let here = here()?;
    let mut u = Zeroizing::new(*peer);
    here.exchange(Montgomery::X448, private, &mut u[..]).ok()?;
    Some(u)
}

/// The X448 public key of a private key.
pub fn x448_public(private: &[u8; X448]) -> Option<[u8; X448]> {
    let mut base = [0; X448];
    base[0] = 5;
    x448(private, &base).map(|public| *public)
}

/// The Ed448 public key of a private key.
pub fn ed448_public(private: &[u8; ED448]) -> Option<[u8; ED448]> {
    let here = here()?;
    // RFC 8032, 5.2.5.
    let mut scalar = Zeroizing::new([0; ED448]);
    let mut digest = Digest::new(&SHAKE256);
    digest.update(private);
    digest.squeeze(&mut scalar[..]);
    scalar[0] &= 252;
    scalar[55] |= 128;
    scalar[56] = 0;
    let mut public = [0; ED448];
    here.edwards_public(Edwards::Ed448, &scalar[..], &mut public).ok()?;
    Some(public)
}

/// Signs a message, without a context.
pub fn ed448_sign(private: &[u8; ED448], message: &[u8]) -> Option<[u8; SIGNATURE]> {
    let mut signature = [0; SIGNATURE];
    here()?.eddsa_sign(Edwards::Ed448, private, message, &mut signature).ok()?;
    Some(signature)
}

/// Whether `signature` is `public`'s of `message`, without a context.
pub fn ed448_verify(public: &[u8; ED448], message: &[u8], signature: &[u8; SIGNATURE]) -> Option<bool> {
    here()?.eddsa_verify(Edwards::Ed448, public, message, signature).ok()
}
