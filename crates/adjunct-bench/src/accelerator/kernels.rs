//! The kernels by themselves: eight full lanes on one core, without a thread beside them and without OpenSSL.

use super::library::AwsLcKey;
use super::subject::{Curve, Function, MESSAGE};
use crate::measure::Work;
use adjunct::cpu::{self, RsaLanes};
use adjunct::ops::rsa::{Hash, pkcs1_sign};
use adjunct_cpu::digest::{Digest, SHA256};
use adjunct_kernels::curve25519;
use adjunct_kernels::nist::{self, P256, P384};
use adjunct_kernels::rsa::{self, fma};
use std::mem::MaybeUninit;

/// Jobs of a call.
pub const LANES: usize = 8;
const ALL: u8 = 0xff;

/// A kernel with its full batch.
#[derive(Debug)]
pub struct Kernel {
    /// IFMA instructions of a call; `None` of lanes without them.
    pub instructions: Option<u64>,
    /// A call of the kernel: [`LANES`] operations a repetition. The proof is the first lane's result.
    pub work: Work,
}

/// The kernel of a row, with `key` where the row has one; `None` where this CPU has no lanes or the key does not fit.
pub fn kernel(function: Function, key: Option<&AwsLcKey>) -> Option<Kernel> {
    match (function, cpu::rsa_lanes()?) {
        (Function::Rsa(2048), RsaLanes::Fma) => return rsa_private_of_digits::<20, 40, 22, 45>(key?),
        (Function::Rsa(3072), RsaLanes::Fma) => return rsa_private_of_digits::<30, 60, 33, 69>(key?),
        (Function::Rsa(_), RsaLanes::Fma) => return rsa_private_of_digits::<40, 80, 45, 94>(key?),
        (_, RsaLanes::Ifma) => {}
        (_, RsaLanes::AvxIfma | RsaLanes::Fma) => return None,
    }
    match function {
        Function::Rsa(2048) => rsa_private::<20, 40>(key?),
        Function::Rsa(3072) => rsa_private::<30, 60>(key?),
        Function::Rsa(_) => rsa_private::<40, 80>(key?),
        Function::Ecdsa(Curve::P256) => ecdsa::<P256, _>(key?),
        Function::Ecdsa(Curve::P384) => ecdsa::<P384, _>(key?),
        Function::Ecdh(Curve::P256) => ecdh::<P256, _>(key?),
        Function::Ecdh(Curve::P384) => ecdh::<P384, _>(key?),
        Function::Keygen(Curve::P256) => keygen::<P256, _>(),
        Function::Keygen(Curve::P384) => keygen::<P384, _>(),
        Function::X25519 => x25519(key?),
        Function::X25519Keygen => public(curve25519::x25519_public, curve25519::IFMA_PUBLIC),
        Function::Ed25519 => ed25519(key?),
        Function::Ed25519Keygen => public(curve25519::ed25519_public, curve25519::IFMA_ED25519_PUBLIC),
    }
}

/// A kernel of so many IFMA instructions (or none) whose calls answer with a bit a job, into [`LANES`] outputs of `size` bytes; `same`: every call gives the same.
fn batch(
    instructions: u64,
    size: usize,
    same: bool,
    mut call: impl FnMut(&mut [Vec<u8>; LANES]) -> u8 + 'static,
) -> Option<Kernel> {
    let mut outputs = [const { Vec::new() }; LANES];
    outputs.iter_mut().for_each(|output| output.resize(size, 0));
    let done = call(&mut outputs) == ALL;
    let proof = if same { outputs[0].clone() } else { Vec::new() };
    done.then(|| {
        let work = Work::new(proof, move |n| (0..n).all(|_| call(&mut outputs) == ALL));
        Kernel { instructions: (instructions > 0).then_some(instructions), work }
    })
}

/// A job for each output.
fn jobs<'a, J>(outputs: &'a mut [Vec<u8>; LANES], mut job: impl FnMut(usize, &'a mut Vec<u8>) -> J) -> [J; LANES] {
    let mut lane = 0;
    outputs.each_mut().map(|output| {
        lane += 1;
        job(lane - 1, output)
    })
}

fn rsa_private<const P: usize, const M: usize>(key: &AwsLcKey) -> Option<Kernel> {
    let numbers = key.rsa_numbers()?;
    let ([n, e], [p, q, dp, dq, qinv]) = (&numbers.public, &numbers.private);
    let key = rsa::PrivateKey::<P, M>::new(n, e, p, q, dp, dq, qinv)?;
    let size = rsa::PrivateKey::<P, M>::BYTES;
    let inputs = inputs(size)?;
    let mut scratch: Box<MaybeUninit<rsa::Scratch<P, M>>> = Box::new_uninit();
    batch(rsa::private_count(size as u64 * 8), size, true, move |outputs| {
        let mut jobs = jobs(outputs, |lane, output| rsa::PrivateJob { key: &key, input: &inputs[lane], output });
        // SAFETY: the CPU was asked.
        unsafe { rsa::private(&mut jobs, &mut scratch) }
    })
}

/// An RSA private-key kernel in four lanes, called twice for eight operations.
fn rsa_private_of_digits<const P: usize, const M: usize, const D: usize, const E: usize>(
    key: &AwsLcKey,
) -> Option<Kernel> {
    let numbers = key.rsa_numbers()?;
    let ([n, e], [p, q, dp, dq, qinv]) = (&numbers.public, &numbers.private);
    let key = fma::PrivateKey::<P, M, D, E>::new(n, e, p, q, dp, dq, qinv)?;
    let inputs = inputs(fma::PrivateKey::<P, M, D, E>::BYTES)?;
    let mut scratch: Box<MaybeUninit<fma::Scratch<P, M, D, E>>> = Box::new_uninit();
    batch(0, fma::PrivateKey::<P, M, D, E>::BYTES, true, move |outputs| {
        let mut jobs = jobs(outputs, |lane, output| fma::PrivateJob { key: &key, input: &inputs[lane], output });
        let fours = jobs.chunks_mut(fma::LANES).enumerate();
        // SAFETY: the CPU was asked.
        fours.fold(0, |done, (at, jobs)| done | unsafe { fma::private(jobs, &mut scratch, true) } << (fma::LANES * at))
    })
}

/// Each lane's own message, padded; the first that of the other sides.
fn inputs(size: usize) -> Option<Vec<Vec<u8>>> {
    let mut inputs = vec![vec![0; size]; LANES];
    for (lane, input) in inputs.iter_mut().enumerate() {
        pkcs1_sign(Some(Hash::One(&SHA256)), &digest(lane), input).ok()?;
    }
    Some(inputs)
}

fn ecdsa<C: nist::Curve<N>, const N: usize>(key: &AwsLcKey) -> Option<Kernel> {
    let (private, _) = key.ec_numbers()?;
    let digests: Vec<Vec<u8>> = (0..LANES).map(|lane| right_aligned::<C, N>(&digest(lane))).collect();
    let mut nonces: Vec<Vec<u8>> = (0..LANES).map(|lane| small::<C, N>(lane)).collect();
    batch(nist::ifma_sign::<C, N>(), 2 * C::BYTES, false, move |outputs| {
        nonces.iter_mut().for_each(|nonce| next(nonce));
        let mut jobs = jobs(outputs, |lane, signature| nist::SignJob {
            private: &private,
            digest: &digests[lane],
            nonce: &nonces[lane],
            signature,
        });
        // SAFETY: the CPU was asked.
        unsafe { nist::sign::<C, N>(&mut jobs) }
    })
}

fn ecdh<C: nist::Curve<N>, const N: usize>(key: &AwsLcKey) -> Option<Kernel> {
    let (private, peer) = key.ec_numbers()?;
    batch(nist::ifma_derive::<C, N>(), C::BYTES, true, move |outputs| {
        let mut jobs = jobs(outputs, |_, secret| nist::DeriveJob { private: &private, peer: &peer, secret });
        // SAFETY: the CPU was asked.
        unsafe { nist::derive::<C, N>(&mut jobs) }
    })
}

fn keygen<C: nist::Curve<N>, const N: usize>() -> Option<Kernel> {
    let mut privates: Vec<Vec<u8>> = (0..LANES).map(|lane| small::<C, N>(lane)).collect();
    batch(nist::ifma_public::<C, N>(), 2 * C::BYTES, false, move |outputs| {
        privates.iter_mut().for_each(|private| next(private));
        let mut jobs = jobs(outputs, |lane, public| nist::PublicJob { private: &privates[lane], public });
        // SAFETY: the CPU was asked.
        unsafe { nist::public::<C, N>(&mut jobs) }
    })
}

fn x25519(key: &AwsLcKey) -> Option<Kernel> {
    let (private, peer) = key.raw()?;
    batch(curve25519::IFMA_X25519, curve25519::KEY, true, move |outputs| {
        let mut secrets = [[0; curve25519::KEY]; LANES];
        let mut jobs =
            secrets.each_mut().map(|secret| curve25519::X25519Job { private: &private, peer: &peer, secret });
        // SAFETY: the CPU was asked.
        let right = unsafe { curve25519::x25519(&mut jobs) };
        outputs[0].copy_from_slice(&secrets[0]);
        right
    })
}

fn ed25519(key: &AwsLcKey) -> Option<Kernel> {
    let (seed, public) = key.raw()?;
    batch(curve25519::IFMA_SIGN, curve25519::SIGNATURE, true, move |outputs| {
        let mut signatures = [[0; curve25519::SIGNATURE]; LANES];
        let mut jobs = signatures.each_mut().map(|signature| curve25519::SignJob {
            seed: &seed,
            public: &public,
            message: &MESSAGE,
            signature,
        });
        // SAFETY: the CPU was asked.
        let right = unsafe { curve25519::ed25519_sign(&mut jobs) };
        outputs[0].copy_from_slice(&signatures[0]);
        right
    })
}

/// Public keys of Curve25519.
fn public(call: unsafe fn(&mut [curve25519::PublicJob<'_>]) -> u8, instructions: u64) -> Option<Kernel> {
    let mut privates = [[0x5a; curve25519::KEY]; LANES];
    batch(instructions, 0, false, move |_| {
        privates.iter_mut().for_each(|private| next(private));
        let mut publics = [[0; curve25519::KEY]; LANES];
        let mut lane = 0;
        let mut jobs = publics.each_mut().map(|public| {
            lane += 1;
            curve25519::PublicJob { private: &privates[lane - 1], public }
        });
        // SAFETY: the CPU was asked.
        let right = unsafe { call(&mut jobs) };
        std::hint::black_box(&publics);
        right
    })
}

/// SHA-256 of the message, which has another last byte in each lane but the first.
fn digest(lane: usize) -> [u8; 32] {
    let mut message = MESSAGE;
    message[31] ^= lane as u8;
    let mut out = [0; 32];
    let mut state = Digest::new(&SHA256);
    state.update(&message);
    state.finish(&mut out);
    out
}

/// A number of a curve's length.
fn right_aligned<C: nist::Curve<N>, const N: usize>(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0; C::BYTES];
    out[C::BYTES - bytes.len()..].copy_from_slice(bytes);
    out
}

/// A number below any order, another for each lane.
fn small<C: nist::Curve<N>, const N: usize>(lane: usize) -> Vec<u8> {
    let mut out = vec![0x3c; C::BYTES];
    out[1] = lane as u8;
    out
}

/// Changes the lower half of `number`'s bytes, so that each signature gets another input.
fn next(number: &mut [u8]) {
    let last = number.len() - 1;
    number[last] = number[last].wrapping_add(1);
}
