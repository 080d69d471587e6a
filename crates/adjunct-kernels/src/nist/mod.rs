//! P-256, P-384 and P-521 in eight lanes: ECDSA signatures, ECDH, public keys. For P-192 and three of Brainpool's curves: single signatures and
//! public keys, whose work the lanes share.
//!
//! One code for all curves over the data of [`Curve`]; each file opens with its method and its count of IFMA instructions.
//! ECDSA is FIPS 186-5, 6.4.1, with the nonce from outside; ECDH is SP 800-56A rev. 3, 5.7.1.2, with full validation of the
//! peer's point (5.6.2.3.3: the curves' orders are prime, so a point on the curve other than infinity is in the group).
//!
//! A call takes one to eight jobs, each with keys and data of its own; fewer cost the same as eight. It answers with a bit a
//! job: 0 where a private key or a nonce is not of [1, n - 1], a peer is no point of the curve, r or s came out as 0, a
//! length is wrong, or a check of the result failed; that job's output is zeros then. The checks are against faults in the
//! arithmetic: a point computed from a secret must lie on the curve, and a signature must fulfil s * nonce = digest + r *
//! private, computed again.
//!
//! Time and memory accesses depend on the number of jobs alone. What secrets leave behind in memory is overwritten.

// The one safety rule is the target feature; the lint takes it for an unsafe function.
#![allow(clippy::missing_safety_doc)]

mod comb;
mod curve;
mod field;
mod nonce;
mod order;
mod point;
mod shared;
#[cfg(test)]
mod tests;

pub use curve::{BrainpoolP256, BrainpoolP384, BrainpoolP512, Curve, P192, P256, P384, P521, Twist};
pub use nonce::{MAX_ADDED, NonceJob, Nonced, nonces};

use crate::lanes::{LANES, Number, constant, gather, limbs_from_be, limbs_to_be, scatter, select, zero};
use crate::opaque_debug;
use crate::wipe::burn;
use point::{Affine, Point};
use std::arch::x86_64::*;

/// An ECDSA signature to be made. All numbers are big-endian and of [`Curve::BYTES`] bytes.
pub struct SignJob<'a> {
    /// The private key.
    pub private: &'a [u8],
    /// The digest, its leftmost bits if it was longer than the order.
    pub digest: &'a [u8],
    /// The nonce, k.
    pub nonce: &'a [u8],
    /// Takes r and s, one after the other.
    pub signature: &'a mut [u8],
}

/// A shared secret to be computed. All numbers are big-endian and of [`Curve::BYTES`] bytes.
pub struct DeriveJob<'a> {
    /// The private key.
    pub private: &'a [u8],
    /// The peer's x and y, one after the other.
    pub peer: &'a [u8],
    /// Takes the x of private * peer.
    pub secret: &'a mut [u8],
}

/// A public key to be computed. All numbers are big-endian and of [`Curve::BYTES`] bytes.
pub struct PublicJob<'a> {
    /// The private key.
    pub private: &'a [u8],
    /// Takes x and y, one after the other.
    pub public: &'a mut [u8],
}

opaque_debug!(SignJob<'_>, DeriveJob<'_>, PublicJob<'_>);

/// IFMA instructions of one call of [`sign`].
pub const fn ifma_sign<C: Curve<N>, const N: usize>() -> u64 {
    let generate = generate_ifma::<C, N>();
    // Into Montgomery form, three times; r * private, twice; the nonce's inverse times the sum, and back.
    generate + order::invert_ifma::<C, N>() + 7 * order::product_ifma::<N>()
}

/// IFMA instructions of one call of [`fn@derive`].
pub const fn ifma_derive<C: Curve<N>, const N: usize>() -> u64 {
    let check = point::on_curve_ifma::<C, N>();
    let product = point::multiply_ifma::<C, N>() + point::affine_ifma::<C, N>();
    product + 2 * check + 6 * field::product_ifma::<C, N>()
}

/// IFMA instructions of one call of [`public`].
pub const fn ifma_public<C: Curve<N>, const N: usize>() -> u64 {
    generate_ifma::<C, N>()
}

const fn generate_ifma<C: Curve<N>, const N: usize>() -> u64 {
    let point = comb::multiply_ifma::<C, N>() + point::affine_ifma::<C, N>();
    point + point::on_curve_ifma::<C, N>() + 4 * field::product_ifma::<C, N>()
}

/// Words of stack that operations write, for each limb of a number: operations on eight jobs (most of it the table of ECDH), and those whose work the
/// lanes share.
const STACK: usize = 1024;
const SHARED_STACK: usize = 640;

/// Loads eight numbers, one of each job; zeros in the lanes of no job.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn load<'a, const N: usize>(numbers: impl Iterator<Item = &'a [u8]>) -> Number<N> {
    let mut limbs = [[0; N]; LANES];
    for (limbs, number) in limbs.iter_mut().zip(numbers) {
        *limbs = limbs_from_be(number);
    }
    let out = gather(&limbs);
    wipe(&mut limbs);
    out
}

/// Writes the lanes of `good` to their jobs, zeros to the others.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn store<'a, const N: usize>(good: __mmask8, numbers: &Number<N>, out: impl Iterator<Item = &'a mut [u8]>) {
    let mut limbs = scatter(&select(good, &[zero(); N], numbers));
    for (limbs, out) in limbs.iter().zip(out) {
        limbs_to_be(limbs, out);
    }
    wipe(&mut limbs);
}

/// A bit for each of the first eight jobs that fulfils `lengths`.
// Not inlined, where the loads of the lengths would become a gather; there shall be none in a kernel.
#[inline(never)]
fn present<J>(jobs: &[J], lengths: impl Fn(&J) -> bool) -> u8 {
    jobs.iter().take(LANES).enumerate().fold(0, |all, (i, job)| all | u8::from(lengths(job)) << i)
}

/// Signs digests.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn sign<C: Curve<N>, const N: usize>(jobs: &mut [SignJob]) -> u8 {
    let good = sign_jobs::<C, N>(jobs);
    burn::<STACK, N>();
    good
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sign_jobs<C: Curve<N>, const N: usize>(jobs: &mut [SignJob]) -> u8 {
    let lengths = |j: &SignJob| {
        [j.private.len(), j.digest.len(), j.nonce.len()] == [C::BYTES; 3] && j.signature.len() == 2 * C::BYTES
    };
    let present = present(jobs, lengths);
    let private = load::<N>(jobs.iter().map(|j| j.private));
    let digest = load::<N>(jobs.iter().map(|j| j.digest));
    let nonce = load::<N>(jobs.iter().map(|j| j.nonce));
    let point = generate::<C, N>(&nonce);
    let inverse = order::invert::<C, N>(&order::enter::<C, N>(&nonce));
    let (good, r, s) = sign_lanes::<C, N>(&private, &digest, &nonce, point, &inverse);
    let good = good & present;
    store(good, &r, jobs.iter_mut().map(|j| halves(j.signature).0));
    store(good, &s, jobs.iter_mut().map(|j| halves(j.signature).1));
    good
}

/// Signs a digest in lanes that share the work. False, and zeros as output, where a job's bit would be 0.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn sign_shared<C: Curve<N>, const N: usize>(job: &mut SignJob) -> bool {
    let good = sign_lane::<C, N>(job);
    burn::<SHARED_STACK, N>();
    good
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sign_lane<C: Curve<N>, const N: usize>(job: &mut SignJob) -> bool {
    let lengths =
        [job.private.len(), job.digest.len(), job.nonce.len()] == [C::BYTES; 3] && job.signature.len() == 2 * C::BYTES;
    let mut limbs = [job.private, job.digest, job.nonce].map(limbs_from_be::<N>);
    let [private, digest, nonce] = limbs.each_ref().map(|limbs| constant(limbs));
    let point = shared::multiply::<C, N>(&limbs[2]).point;
    wipe(&mut limbs);
    let [z, inverse] = shared::invert_both::<C, N>(&point.z, &order::enter::<C, N>(&nonce));
    let (good, r, s) = sign_lanes::<C, N>(&private, &digest, &nonce, checked::<C, N>(&point, &z), &inverse);
    let good = lengths && good == 0xFF;
    let chosen = __mmask8::from(good).wrapping_neg();
    let (first, second) = halves(job.signature);
    store(chosen, &r, std::iter::once(first));
    store(chosen, &s, std::iter::once(second));
    good
}

fn halves(bytes: &mut [u8]) -> (&mut [u8], &mut [u8]) {
    bytes.split_at_mut(bytes.len() / 2)
}

/// The signatures, by the generator's multiples of the nonces and by the nonces' inverses.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sign_lanes<C: Curve<N>, const N: usize>(
    private: &Number<N>,
    digest: &Number<N>,
    nonce: &Number<N>,
    (on_curve, point): (__mmask8, Affine<N>),
    inverse: &Number<N>,
) -> (__mmask8, Number<N>, Number<N>) {
    let in_range = order::in_range::<C, N>(private) & order::in_range::<C, N>(nonce);
    // p is below 2n.
    let r = order::canonical::<C, N>(&point.x);
    // digest + r * private; the factor in Montgomery form takes the other's R away.
    let key = order::enter::<C, N>(private);
    let sum = order::add(&order::multiply::<C, N>(&key, &r), digest);
    let s = order::canonical::<C, N>(&order::multiply::<C, N>(&sum, inverse));
    let again = order::add(&order::multiply::<C, N>(&order::enter::<C, N>(&r), private), digest);
    let fits = order::congruent::<C, N>(&again, &order::multiply::<C, N>(&s, &order::enter::<C, N>(nonce)));
    let good = in_range & on_curve & fits & !order::is_zero(&r) & !order::is_zero(&s);
    (good, r, s)
}

/// The generator's multiples, and whether they came out as points of the curve.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn generate<C: Curve<N>, const N: usize>(scalar: &Number<N>) -> (__mmask8, Affine<N>) {
    let point = comb::multiply::<C, N>(scalar).point;
    checked::<C, N>(&point, &field::invert::<C, N>(&point.z))
}

/// The affine coordinates of points by the inverses of their z, and whether they came out as points of the curve.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn checked<C: Curve<N>, const N: usize>(point: &Point<N>, inverse: &Number<N>) -> (__mmask8, Affine<N>) {
    let affine = point::affine::<C, N>(point, inverse);
    let point = match const { C::TWIST } {
        None => leave::<C, N>(&affine),
        // The factors, which are not in Montgomery form, take the coordinates' R away.
        Some(twist) => {
            let times = |a, b| field::canonical::<C, N>(&field::carry(field::multiply::<C, N>(a, &constant(b))));
            Affine { x: times(&affine.x, &twist.x), y: times(&affine.y, &twist.y) }
        }
    };
    // The result itself is checked, the way out of Montgomery form included.
    (point::on_curve::<C, N>(&enter::<C, N>(&point)), point)
}

/// Into Montgomery form.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn enter<C: Curve<N>, const N: usize>(point: &Affine<N>) -> Affine<N> {
    Affine { x: field::enter::<C, N>(&point.x), y: field::enter::<C, N>(&point.y) }
}

/// Out of Montgomery form, the coordinates below p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn leave<C: Curve<N>, const N: usize>(point: &Affine<N>) -> Affine<N> {
    Affine { x: field::leave::<C, N>(&point.x), y: field::leave::<C, N>(&point.y) }
}

/// Computes shared secrets.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn derive<C: Curve<N>, const N: usize>(jobs: &mut [DeriveJob]) -> u8 {
    let good = derive_jobs::<C, N>(jobs);
    burn::<STACK, N>();
    good
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn derive_jobs<C: Curve<N>, const N: usize>(jobs: &mut [DeriveJob]) -> u8 {
    let lengths = |j: &DeriveJob| [j.private.len(), j.secret.len()] == [C::BYTES; 2] && j.peer.len() == 2 * C::BYTES;
    let present = present(jobs, lengths);
    let private = load::<N>(jobs.iter().map(|j| j.private));
    let x = load::<N>(jobs.iter().map(|j| &j.peer[..j.peer.len() / 2]));
    let y = load::<N>(jobs.iter().map(|j| &j.peer[j.peer.len() / 2..]));
    let (good, secret) = derive_lanes::<C, N>(&private, &x, &y);
    let good = good & present;
    store(good, &secret, jobs.iter_mut().map(|j| &mut *j.secret));
    good
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn derive_lanes<C: Curve<N>, const N: usize>(
    private: &Number<N>,
    x: &Number<N>,
    y: &Number<N>,
) -> (__mmask8, Number<N>) {
    const { assert!(C::TWIST.is_none()) };
    let below = order::below(x, &C::P) & order::below(y, &C::P);
    let peer = enter::<C, N>(&Affine { x: *x, y: *y });
    let valid = below & point::on_curve::<C, N>(&peer) & order::in_range::<C, N>(private);
    let product = point::multiply::<C, N>(private, &peer).point;
    let (on_curve, product) = checked::<C, N>(&product, &field::invert::<C, N>(&product.z));
    (valid & on_curve, product.x)
}

/// Computes public keys.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn public<C: Curve<N>, const N: usize>(jobs: &mut [PublicJob]) -> u8 {
    let good = public_jobs::<C, N>(jobs);
    burn::<STACK, N>();
    good
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn public_jobs<C: Curve<N>, const N: usize>(jobs: &mut [PublicJob]) -> u8 {
    let lengths = |j: &PublicJob| j.private.len() == C::BYTES && j.public.len() == 2 * C::BYTES;
    let present = present(jobs, lengths);
    let private = load::<N>(jobs.iter().map(|j| j.private));
    let (good, x, y) = public_lanes::<C, N>(&private);
    let good = good & present;
    store(good, &x, jobs.iter_mut().map(|j| halves(j.public).0));
    store(good, &y, jobs.iter_mut().map(|j| halves(j.public).1));
    good
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn public_lanes<C: Curve<N>, const N: usize>(private: &Number<N>) -> (__mmask8, Number<N>, Number<N>) {
    let in_range = order::in_range::<C, N>(private);
    let (on_curve, point) = generate::<C, N>(private);
    (in_range & on_curve, point.x, point.y)
}

/// Computes the public key of one private key, whose work the lanes share: x and y, as [`PublicJob`] has them. False, and zeros, as for
/// the bits of jobs.
#[target_feature(enable = "avx512f,avx512ifma")]
pub fn public_shared<C: Curve<N>, const N: usize>(private: &[u8], public: &mut [u8]) -> bool {
    let good = public_lane::<C, N>(private, public);
    burn::<SHARED_STACK, N>();
    good
}

#[inline(never)]
#[target_feature(enable = "avx512f,avx512ifma")]
fn public_lane<C: Curve<N>, const N: usize>(private: &[u8], public: &mut [u8]) -> bool {
    let lengths = private.len() == C::BYTES && public.len() == 2 * C::BYTES;
    let mut limbs = limbs_from_be(private);
    let in_range = order::in_range::<C, N>(&constant(&limbs));
    let point = shared::multiply::<C, N>(&limbs).point;
    wipe(&mut limbs);
    let (on_curve, point) = checked::<C, N>(&point, &shared::invert::<C, N>(&point.z));
    let good = lengths && in_range & on_curve == 0xFF;
    let chosen = __mmask8::from(good).wrapping_neg();
    let (x, y) = halves(public);
    store(chosen, &point.x, std::iter::once(x));
    store(chosen, &point.y, std::iter::once(y));
    good
}

/// Overwrites `value` with zeros so that the compiler cannot leave it out; for types to which zeros are a value.
fn wipe<T: Copy>(value: &mut T) {
    // SAFETY: exclusive and of this size; used on arrays of integers and vectors only.
    unsafe { std::ptr::write_bytes(value, 0, 1) };
    std::hint::black_box(value);
}
