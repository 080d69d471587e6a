//! X25519 (RFC 7748) and Ed25519 (RFC 8032), on plain arrays. Each function that computes says what ran it, for the counters.
//!
//! A public key takes half the time of AWS-LC's where the lanes of AVX-512 IFMA share the work; if the result fails its check, AWS-LC computes it.

use super::digest::{Digest, SHA512};
use crate::awslc::curve25519 as library;
use crate::cpacf;
use crate::random;
use adjunct_base::catalogue::Outcome;
#[cfg(target_arch = "x86_64")]
use adjunct_base::stack;
use adjunct_kernels::cpacf::{Edwards, Montgomery};
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::curve25519 as kernel;
use zeroize::Zeroizing;

/// The length of every key and of a shared secret, in bytes.
pub const KEY: usize = 32;
/// The length of a signature, in bytes.
pub const SIGNATURE: usize = 64;

/// Generates an X25519 private key, its fixed bits set as OpenSSL stores them.
pub fn x25519_generate() -> Zeroizing<[u8; KEY]> {
    let mut private = Zeroizing::new([0; KEY]);
    random(&mut private[..]);
    private[0] &= 248;
    private[31] = private[31] & 127 | 64;
    private
}

/// The X25519 public key of a private key.
pub fn x25519_public(private: &[u8; KEY]) -> ([u8; KEY], Outcome) {
    if let Some(cpacf) = cpacf::here() {
        let mut u = [0; KEY];
        u[0] = 9;
        if cpacf.exchange(Montgomery::X25519, private, &mut u).is_ok() {
            return (u, Outcome::Instructions);
        }
    }
    #[cfg(target_arch = "x86_64")]
    if crate::lanes() {
        // SAFETY: `crate::lanes` has found AVX-512 IFMA.
        if let Some(public) = stack::with_room(|| unsafe { kernel::x25519_public_shared(private) }).flatten() {
            return (public, Outcome::Instructions);
        }
    }
    (x25519_public_of_library(private), Outcome::Library)
}

/// The public key of an X25519 private key, by AWS-LC alone.
pub fn x25519_public_of_library(private: &[u8; KEY]) -> [u8; KEY] {
    library::x25519_public(private)
}

/// The X25519 shared secret; `None` where it is all zeros (a peer point of small order).
pub fn x25519(private: &[u8; KEY], peer: &[u8; KEY]) -> (Option<Zeroizing<[u8; KEY]>>, Outcome) {
    let mut secret = Zeroizing::new([0; KEY]);
    if let Some(cpacf) = cpacf::here() {
        *secret = *peer;
        if cpacf.exchange(Montgomery::X25519, private, &mut secret[..]).is_ok() {
            return ((secret.iter().fold(0, |all, b| all | b) != 0).then_some(secret), Outcome::Instructions);
        }
    }
    let sound = library::x25519(private, peer, &mut secret);
    (sound.then_some(secret), Outcome::Library)
}

/// Generates an Ed25519 private key (the seed).
pub fn ed25519_generate() -> Zeroizing<[u8; KEY]> {
    let mut seed = Zeroizing::new([0; KEY]);
    random(&mut seed[..]);
    seed
}

/// The Ed25519 public key of a private key.
pub fn ed25519_public(seed: &[u8; KEY]) -> ([u8; KEY], Outcome) {
    if let Some(cpacf) = cpacf::here() {
        let mut public = [0; KEY];
        if cpacf.edwards_public(Edwards::Ed25519, &scalar(seed)[..], &mut public).is_ok() {
            return (public, Outcome::Instructions);
        }
    }
    #[cfg(target_arch = "x86_64")]
    if crate::lanes() {
        // SAFETY: `crate::lanes` has found AVX-512 IFMA.
        if let Some(public) = stack::with_room(|| unsafe { kernel::ed25519_public_shared(&scalar(seed)) }).flatten() {
            return (public, Outcome::Instructions);
        }
    }
    (ed25519_public_of_library(seed), Outcome::Library)
}

/// The secret scalar of a seed (RFC 8032, 5.1.5).
fn scalar(seed: &[u8; KEY]) -> Zeroizing<[u8; KEY]> {
    let (mut hash, mut scalar) = (Zeroizing::new([0; 2 * KEY]), Zeroizing::new([0; KEY]));
    let mut digest = Digest::new(&SHA512);
    digest.update(seed);
    digest.finish(&mut hash[..]);
    scalar.copy_from_slice(&hash[..KEY]);
    scalar[0] &= 248;
    scalar[31] = scalar[31] & 63 | 64;
    scalar
}

/// The public key of an Ed25519 seed, by AWS-LC alone.
pub fn ed25519_public_of_library(seed: &[u8; KEY]) -> [u8; KEY] {
    library::ed25519_public(seed)
}

/// Signs `message`. `public` must be the public key of `seed`; the pair saves computing it again.
pub fn ed25519_sign(seed: &[u8; KEY], public: &[u8; KEY], message: &[u8]) -> (Option<[u8; SIGNATURE]>, Outcome) {
    if let Some(cpacf) = cpacf::here() {
        let mut signature = [0; SIGNATURE];
        if cpacf.eddsa_sign(Edwards::Ed25519, seed, message, &mut signature).is_ok() {
            return (Some(signature), Outcome::Instructions);
        }
    }
    (library::ed25519_sign(seed, public, message), Outcome::Library)
}

/// Whether `signature` is `public`'s of `message`.
pub fn ed25519_verify(public: &[u8; KEY], message: &[u8], signature: &[u8; SIGNATURE]) -> (bool, Outcome) {
    if let Some(Ok(good)) = cpacf::here().map(|cpacf| cpacf.eddsa_verify(Edwards::Ed25519, public, message, signature))
    {
        return (good, Outcome::Instructions);
    }
    (library::ed25519_verify(public, message, signature), Outcome::Library)
}

/// A form of Ed25519 that instructions do not have (RFC 8032, 5.1): with a context, of 1 to 255 bytes, or of the message's SHA-512 with
/// a context that may be empty. Both are computed by the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ed25519Form<'a> {
    /// Ed25519ph; else Ed25519ctx.
    pub prehash: bool,
    /// The context.
    pub context: &'a [u8],
}

/// Signs `message` in a form. `public` must be the public key of `seed`. `None` where the context is too long, or memory runs out.
pub fn ed25519_sign_form(
    form: Ed25519Form<'_>,
    seed: &[u8; KEY],
    public: &[u8; KEY],
    message: &[u8],
) -> Option<[u8; SIGNATURE]> {
    library::ed25519_sign_form(form.prehash, form.context, seed, public, message)
}

/// Whether `signature` is `public`'s of `message` in a form.
pub fn ed25519_verify_form(
    form: Ed25519Form<'_>,
    public: &[u8; KEY],
    message: &[u8],
    signature: &[u8; SIGNATURE],
) -> bool {
    library::ed25519_verify_form(form.prehash, form.context, public, message, signature)
}

/// Whether `public` is an encoding all Ed25519 decoders read alike: y below the field's prime, and no sign on an x of 0
/// (RFC 8032, 5.1.3, refuses the others; OpenSSL takes them).
pub fn ed25519_is_ordinary(public: &[u8; KEY]) -> bool {
    let (sign, top) = (public[31] >> 7, public[31] & 127);
    // p = 2^255 - 19: y is at least p - 1 only where all the middle is ones.
    let high = top == 127 && public[1..31].iter().all(|&b| b == 255);
    let low = top == 0 && public[1..31].iter().all(|&b| b == 0);
    let reduced = !(high && public[0] >= 0xed);
    // x is 0 for y = 1 and y = p - 1.
    let zero_x = low && public[0] == 1 || high && public[0] == 0xec;
    reduced && !(zero_x && sign == 1)
}
