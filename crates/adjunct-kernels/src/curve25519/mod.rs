//! X25519 (RFC 7748) and Ed25519 (RFC 8032), eight keys at once.
//!
//! * [`x25519`]: the shared secret, by the Montgomery ladder (`ladder.rs`).
//! * [`x25519_public`] and [`ed25519_public`]: the public key, by a fixed-base comb on the birationally equivalent
//!   Edwards curve (`edwards.rs`, `table.rs`).
//! * [`ed25519_sign`]: the signature, SHA-512 included (`ed25519.rs`, `hash.rs`, `scalar.rs`).
//!
//! A call takes one to eight jobs; fewer cost no less than eight. The answer has a bit for each job that is right; the
//! output of the others is zeroed. A bit is 0 where a check found a fault in the lane's arithmetic, and for an X25519
//! peer of small order. Nothing here branches or indexes memory by a secret; lengths are public.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

mod ed25519;
mod edwards;
#[doc(hidden)]
pub mod fault;
mod field;
mod hash;
mod ladder;
mod scalar;
mod table;
mod words;

use crate::lanes::{LANES, Vector, same, zero};
use zeroize::{Zeroize, Zeroizing};

/// The length of a key, a seed, a u coordinate and a shared secret, in bytes.
pub const KEY: usize = 32;

/// The length of a signature, in bytes.
pub const SIGNATURE: usize = 64;

/// 512-bit IFMA instructions of one call of [`x25519`], however many jobs it has.
pub const IFMA_X25519: u64 = ladder::LADDER;
/// 512-bit IFMA instructions of one call of [`x25519_public`].
pub const IFMA_PUBLIC: u64 = edwards::MULTIPLY_BASE + edwards::MONTGOMERY + edwards::ON_CURVE;
/// 512-bit IFMA instructions of one call of [`ed25519_public`].
pub const IFMA_ED25519_PUBLIC: u64 = ed25519::PUBLIC;
/// 512-bit IFMA instructions of one call of [`ed25519_sign`]; its hashes have none.
pub const IFMA_SIGN: u64 = ed25519::SIGN;

/// A shared secret to compute.
pub struct X25519Job<'a> {
    /// The private key; clamped here (RFC 7748, section 5).
    pub private: &'a [u8; KEY],
    /// The peer's public key; its top bit is ignored, values not below the prime are taken.
    pub peer: &'a [u8; KEY],
    /// The shared secret, zeros when the job's bit is 0.
    pub secret: &'a mut [u8; KEY],
}

/// A public key to compute.
pub struct PublicJob<'a> {
    /// The private key: of X25519, clamped here, or an Ed25519 seed.
    pub private: &'a [u8; KEY],
    /// The public key, zeros when the job's bit is 0.
    pub public: &'a mut [u8; KEY],
}

/// A message to sign.
pub struct SignJob<'a> {
    /// The private key.
    pub seed: &'a [u8; KEY],
    /// The public key of `seed`. It must be: a signature made with another gives the private key away.
    pub public: &'a [u8; KEY],
    /// The message. A call takes as long as its longest message, and one lane hashes slower than a scalar unit.
    pub message: &'a [u8],
    /// The signature, zeros when the job's bit is 0.
    pub signature: &'a mut [u8; SIGNATURE],
}

/// A private key with the bits set and cleared that RFC 7748 (section 5) and RFC 8032 (5.1.5) ask for.
fn clamp(mut key: [u8; KEY]) -> [u8; KEY] {
    key[0] &= 248;
    key[31] = key[31] & 127 | 64;
    key
}

/// The shared secrets of one to eight jobs (surplus ones are not done), and a bit for each that is right.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn x25519(jobs: &mut [X25519Job]) -> u8 {
    let mut scalars = [[0; KEY]; LANES];
    let mut peers = [[0; KEY]; LANES];
    for ((scalar, peer), job) in scalars.iter_mut().zip(&mut peers).zip(jobs.iter()) {
        (*scalar, *peer) = (clamp(*job.private), *job.peer);
    }
    let mut scalar_words = words::words(&scalars);
    let (mut secrets, right) = ladder::ladder(&scalar_words, &words::words(&peers));
    let right = right & filled(jobs.len());
    let mut out = words::bytes(&secrets);
    for (lane, (job, secret)) in jobs.iter_mut().zip(&out).enumerate() {
        *job.secret = if right & 1 << lane != 0 { *secret } else { [0; KEY] };
    }
    jobs.iter_mut().skip(LANES).for_each(|job| *job.secret = [0; KEY]);
    scalars.zeroize();
    scalar_words.zeroize();
    secrets.zeroize();
    out.zeroize();
    right
}

/// The X25519 public keys of one to eight private keys (surplus ones are not done), and a bit for each that is right.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn x25519_public(jobs: &mut [PublicJob]) -> u8 {
    let mut scalars = privates(jobs);
    scalars.iter_mut().for_each(|s| *s = clamp(*s));
    let words = Zeroizing::new(words::words(&scalars));
    let point = Zeroizing::new(edwards::multiply_base(&words));
    let (u, right) = point.montgomery::<false>();
    publish(jobs, &words::bytes(&u.to_words()), right & point.is_on_curve())
}

/// The Ed25519 public keys of one to eight seeds (surplus ones are not done), and a bit for each that is right.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn ed25519_public(jobs: &mut [PublicJob]) -> u8 {
    let (publics, right) = ed25519::public(&privates(jobs));
    publish(jobs, &publics, right)
}

fn privates(jobs: &[PublicJob]) -> Zeroizing<[[u8; KEY]; LANES]> {
    let mut keys = Zeroizing::new([[0; KEY]; LANES]);
    for (key, job) in keys.iter_mut().zip(jobs) {
        *key = *job.private;
    }
    keys
}

fn publish(jobs: &mut [PublicJob], publics: &[[u8; KEY]; LANES], right: u8) -> u8 {
    let right = right & filled(jobs.len());
    for (lane, job) in jobs.iter_mut().enumerate() {
        *job.public = if lane < LANES && right & 1 << lane != 0 { publics[lane] } else { [0; KEY] };
    }
    right
}

/// The X25519 public key of one private key, whose work the lanes share; `None` where a check found a fault.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn x25519_public_shared(private: &[u8; KEY]) -> Option<[u8; KEY]> {
    let point = Zeroizing::new(edwards::multiply_base_shared(&all_lanes(&Zeroizing::new(clamp(*private)))));
    let (u, right) = point.montgomery::<true>();
    let publics = words::bytes(&u.to_words());
    (right & point.is_on_curve() == ALL).then_some(publics[0])
}

/// The Ed25519 public key of one secret scalar, clamped, the lower half of the seed's hash (RFC 8032, 5.1.5), whose work the lanes
/// share; `None` where a check found a fault.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn ed25519_public_shared(scalar: &[u8; KEY]) -> Option<[u8; KEY]> {
    let (publics, right) = ed25519::public_shared(&all_lanes(scalar));
    (right == ALL).then_some(publics[0])
}

/// The words of one number in all lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn all_lanes(number: &[u8; KEY]) -> Zeroizing<[Vector; 4]> {
    let mut out = Zeroizing::new([zero(); 4]);
    for (word, bytes) in out.iter_mut().zip(number.as_chunks::<8>().0) {
        *word = same(u64::from_le_bytes(*bytes));
    }
    out
}

/// A bit for each lane.
const ALL: u8 = 0xFF;

/// Signs one to eight messages (surplus ones are not signed); a bit for each signature that is right.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn ed25519_sign(jobs: &mut [SignJob]) -> u8 {
    let mut seeds = Zeroizing::new([[0; KEY]; LANES]);
    let (mut publics, mut messages) = ([[0; KEY]; LANES], [&[][..]; LANES]);
    for (lane, job) in jobs.iter().take(LANES).enumerate() {
        (seeds[lane], publics[lane], messages[lane]) = (*job.seed, *job.public, job.message);
    }
    let (r, mut s, right) = ed25519::sign(&ed25519::Inputs { seeds, publics, messages });
    let right = right & filled(jobs.len());
    for (lane, job) in jobs.iter_mut().enumerate() {
        job.signature.fill(0);
        if lane < LANES && right & 1 << lane != 0 {
            job.signature[..KEY].copy_from_slice(&r[lane]);
            job.signature[KEY..].copy_from_slice(&s[lane]);
        }
    }
    s.zeroize();
    right
}

/// A bit for each of `jobs` lanes.
fn filled(jobs: usize) -> u8 {
    ((1u16 << jobs.min(LANES)) - 1) as u8
}

#[cfg(test)]
mod tests;
