//! Ed25519 signatures (RFC 8032, 5.1.6) in eight lanes.
//!
//! Method: the standard's, its hashes in lanes too; the base point's multiple by `edwards.rs`.
//!
//! Faults: a deterministic signature must not leave when anything was wrong with it. From two signatures of one message
//! that differ, in R or in s, the key follows (Romailler and Pelissier, "Practical fault attack against the Ed25519 and
//! EdDSA signature schemes", FDTC 2017), and verifying would not show a fault in the nonce. So all of it is done twice,
//! the second time in the next lane: both hashes, the multiple of the base point (compared without a second inversion),
//! the encoding and s. The public key is the caller's word: signing with one that is not the seed's gives the key away,
//! too (the double public key attack), so the caller keeps the pair together.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

use super::edwards::{self, Point};
use super::field::Factor;
use super::hash::sha512;
use super::scalar::{self, Reduced};
use super::words::{bytes, words};
use super::{KEY, clamp};
use crate::lanes::{LANES, Vector};
use zeroize::{Zeroize, Zeroizing};

/// IFMA instructions of [`sign`].
pub(super) const SIGN: u64 = 2 * (NONCE + RESPONSE + edwards::ENCODE) + edwards::AFFINE + edwards::EQUALS;
const NONCE: u64 = scalar::REDUCE + scalar::WORDS + edwards::MULTIPLY_BASE;
const RESPONSE: u64 = scalar::REDUCE + scalar::MULTIPLY_ADD;
/// IFMA instructions of [`public`].
pub(super) const PUBLIC: u64 = edwards::MULTIPLY_BASE + edwards::AFFINE + edwards::ENCODE + edwards::ON_CURVE;

/// The keys and messages that eight lanes sign; unused lanes hold zeros.
#[derive(Clone)]
pub(super) struct Inputs<'a> {
    pub seeds: Zeroizing<[[u8; KEY]; LANES]>,
    pub publics: [[u8; KEY]; LANES],
    pub messages: [&'a [u8]; LANES],
}

impl Inputs<'_> {
    /// The inputs of all lanes, moved one lane down.
    fn rotated(&self) -> Self {
        let mut next = self.clone();
        next.seeds.rotate_left(1);
        next.publics.rotate_left(1);
        next.messages.rotate_left(1);
        next
    }
}

/// The secret scalars and the prefixes of eight seeds (RFC 8032, 5.1.5).
#[target_feature(enable = "avx512f,avx512ifma")]
fn expand(seeds: &[[u8; KEY]; LANES]) -> (Zeroizing<[Vector; 4]>, Zeroizing<[[u8; KEY]; LANES]>) {
    let digests = sha512(&std::array::from_fn(|i| [&seeds[i][..]]));
    let mut scalars = Zeroizing::new([[0; KEY]; LANES]);
    let mut prefixes = Zeroizing::new([[0; KEY]; LANES]);
    for ((digest, scalar), prefix) in digests.iter().zip(scalars.iter_mut()).zip(prefixes.iter_mut()) {
        scalar.copy_from_slice(&digest[..KEY]);
        *scalar = clamp(*scalar);
        prefix.copy_from_slice(&digest[KEY..]);
    }
    (Zeroizing::new(words(&scalars)), prefixes)
}

/// The secret scalars, the nonces and the nonces' multiples of the base point.
#[target_feature(enable = "avx512f,avx512ifma")]
fn nonces(inputs: &Inputs) -> (Zeroizing<[Vector; 4]>, Reduced, Zeroizing<Point>) {
    let (scalars, prefixes) = expand(&inputs.seeds);
    let nonces = scalar::reduce(&sha512(&std::array::from_fn(|i| [&prefixes[i][..], inputs.messages[i]])));
    let words = Zeroizing::new(nonces.words());
    let point = Zeroizing::new(edwards::multiply_base(&words));
    (scalars, nonces, point)
}

/// s: the nonce + SHA-512(R, public key, message) * the secret scalar, modulo the group's order.
#[target_feature(enable = "avx512f,avx512ifma")]
fn responses(inputs: &Inputs, r: &[[u8; KEY]; LANES], scalars: &[Vector; 4], nonces: &Reduced) -> [[u8; KEY]; LANES] {
    let digests = sha512(&std::array::from_fn(|i| [&r[i][..], &inputs.publics[i][..], inputs.messages[i]]));
    bytes(&scalar::reduce(&digests).multiply_add(scalars, nonces))
}

/// The two halves of the signatures, and the lanes that came out alike twice.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn sign(inputs: &Inputs) -> ([[u8; KEY]; LANES], [[u8; KEY]; LANES], u8) {
    let (scalars, nonce, point) = nonces(inputs);
    let affine = point.affine::<false>();
    let mut r = bytes(&edwards::encode(&affine));
    let mut s = responses(inputs, &r, &scalars, &nonce);

    let again = inputs.rotated();
    let (scalars, nonce, point) = nonces(&again);
    let affine = affine.map(|a| Factor(edwards::rotate::<1, _>(&a.0)));
    let same_point = point.equals(&affine);
    r.rotate_left(1);
    let r_again = bytes(&edwards::encode(&affine));
    let mut s_again = responses(&again, &r, &scalars, &nonce);
    s.rotate_left(1);
    let mut right = 0;
    for lane in 0..LANES {
        let differ = |a: &[u8; KEY], b: &[u8; KEY]| a.iter().zip(b).fold(0, |d, (a, b)| d | a ^ b);
        let same = differ(&s[lane], &s_again[lane]) | differ(&r[lane], &r_again[lane]) == 0;
        right |= u8::from(same) << lane;
    }
    right &= same_point;
    s_again.zeroize();
    r.rotate_right(1);
    s.rotate_right(1);
    (r, s, right.rotate_left(1))
}

/// The public keys of eight seeds, and the lanes whose point is on the curve.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn public(seeds: &[[u8; KEY]; LANES]) -> ([[u8; KEY]; LANES], u8) {
    let (scalars, _) = expand(seeds);
    let point = Zeroizing::new(edwards::multiply_base(&scalars));
    (bytes(&edwards::encode(&point.affine::<false>())), point.is_on_curve())
}

/// The public key of a clamped secret scalar (RFC 8032, 5.1.5), and the lanes, which all work on it, whose point is on the curve.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) fn public_shared(scalar: &[Vector; 4]) -> ([[u8; KEY]; LANES], u8) {
    let point = Zeroizing::new(edwards::multiply_base_shared(scalar));
    (bytes(&edwards::encode(&point.affine::<true>())), point.is_on_curve())
}
