//! ECDSA signatures, ECDH and key generation on the NIST curves as kinds of the engine.

use super::{Asked, Kind, ask};
use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::Queue;
use adjunct_base::error::Error;
use adjunct_base::slab::Number;
use adjunct_cpu::curve::{Curve, MAX_FIELD, MAX_POINT};
use adjunct_cpu::ec::CpuEcKey;
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::nist;
use std::marker::PhantomData;

/// A curve with lanes.
trait Lanes: 'static {
    const CURVE: Curve;
    /// Queues of signatures, shared secrets and key pairs.
    const QUEUES: [Queue; 3];
    /// See [`Kind::BREAK_EVEN`].
    const BREAK_EVENS: [usize; 3];
    /// Makes nonces, and says which it made; none where the curve's are made one by one.
    #[cfg(target_arch = "x86_64")]
    fn nonces(jobs: &mut [nist::NonceJob]) -> u8;
    fn sign(jobs: &mut [SignJob]) -> Option<u8>;
    fn derive(jobs: &mut [DeriveJob]) -> Option<u8>;
    fn keygen(jobs: &mut [KeygenJob]) -> Option<u8>;
}

struct P256;
struct P384;
struct P521;

macro_rules! lanes {
    ($($curve:ident $queues:expr, $break_evens:expr, $nonces:expr;)*) => { $(
        impl Lanes for $curve {
            const CURVE: Curve = Curve::$curve;
            const QUEUES: [Queue; 3] = $queues;
            const BREAK_EVENS: [usize; 3] = $break_evens;
            #[cfg(target_arch = "x86_64")]
            fn nonces(jobs: &mut [nist::NonceJob]) -> u8 {
                let nonces: fn(&mut [nist::NonceJob]) -> u8 = $nonces;
                nonces(jobs)
            }
            #[cfg(target_arch = "x86_64")]
            fn sign(jobs: &mut [SignJob]) -> Option<u8> {
                // SAFETY: lanes run only where the engine has found the instructions.
                Some(kernel::sign::<Self>(jobs, |work| unsafe { nist::sign::<nist::$curve, _>(work) }))
            }
            #[cfg(target_arch = "x86_64")]
            fn derive(jobs: &mut [DeriveJob]) -> Option<u8> {
                // SAFETY: lanes run only where the engine has found the instructions.
                Some(kernel::derive::<Self>(jobs, |work| unsafe { nist::derive::<nist::$curve, _>(work) }))
            }
            #[cfg(target_arch = "x86_64")]
            fn keygen(jobs: &mut [KeygenJob]) -> Option<u8> {
                // SAFETY: lanes run only where the engine has found the instructions.
                Some(kernel::keygen::<Self>(jobs, |work| unsafe { nist::public::<nist::$curve, _>(work) }))
            }
            #[cfg(not(target_arch = "x86_64"))]
            fn sign(_: &mut [SignJob]) -> Option<u8> {
                None
            }
            #[cfg(not(target_arch = "x86_64"))]
            fn derive(_: &mut [DeriveJob]) -> Option<u8> {
                None
            }
            #[cfg(not(target_arch = "x86_64"))]
            fn keygen(_: &mut [KeygenJob]) -> Option<u8> {
                None
            }
        }
    )* };
}

lanes! {
    P256 [Queue::P256Sign, Queue::P256Derive, Queue::P256Keygen], [3, 2, 3], |_| 0;
    P384 [Queue::P384Sign, Queue::P384Derive, Queue::P384Keygen], [4, 2, 4],
        // SAFETY: lanes run only where the engine has found the instructions.
        |jobs| unsafe { nist::nonces::<nist::P384, _>(jobs) };
    P521 [Queue::P521Sign, Queue::P521Derive, Queue::P521Keygen], [4, 3, 4],
        // SAFETY: lanes run only where the engine has found the instructions.
        |jobs| unsafe { nist::nonces::<nist::P521, _>(jobs) };
}

/// ECDSA (FIPS 186-5, 6.4.1).
struct Sign<C>(PhantomData<C>);

#[derive(Clone, Copy)]
struct SignJob {
    key: Number,
    /// The part of the digest that counts, and its length.
    digest: ([u8; MAX_FIELD], usize),
    /// r and s, one after the other.
    signature: [u8; 2 * MAX_FIELD],
    done: bool,
}

impl<C: Lanes> Kind for Sign<C> {
    const QUEUE: Queue = C::QUEUES[0];
    const BREAK_EVEN: usize = C::BREAK_EVENS[0];
    type Job = SignJob;

    fn available() -> bool {
        super::for_curves()
    }

    fn scalar(job: &mut SignJob) -> Outcome {
        let Some(key) = CpuEcKey::of_number(job.key) else { return Outcome::Library };
        let made = key.sign(&job.digest.0[..job.digest.1], &mut job.signature);
        job.done = made.is_ok();
        made.unwrap_or(Outcome::Library)
    }

    fn lanes(jobs: &mut [SignJob]) -> Option<u8> {
        C::sign(jobs)
    }
}

/// ECDH (SP 800-56A, 5.7.1.2).
struct Derive<C>(PhantomData<C>);

#[derive(Clone, Copy)]
struct DeriveJob {
    key: Number,
    peer: Number,
    secret: [u8; MAX_FIELD],
    done: bool,
}

impl<C: Lanes> Kind for Derive<C> {
    const QUEUE: Queue = C::QUEUES[1];
    const BREAK_EVEN: usize = C::BREAK_EVENS[1];
    type Job = DeriveJob;

    fn available() -> bool {
        super::for_curves()
    }

    fn scalar(job: &mut DeriveJob) -> Outcome {
        let (Some(key), Some(peer)) = (CpuEcKey::of_number(job.key), CpuEcKey::of_number(job.peer)) else {
            return Outcome::Library;
        };
        let made = key.shared_secret(&peer, &mut job.secret).map(|(_, outcome)| outcome);
        job.done = made.is_ok();
        made.unwrap_or(Outcome::Library)
    }

    fn lanes(jobs: &mut [DeriveJob]) -> Option<u8> {
        C::derive(jobs)
    }
}

/// Key pairs (FIPS 186-5, A.2.2: candidates are drawn until one is below the order).
struct Keygen<C>(PhantomData<C>);

#[derive(Clone, Copy)]
struct KeygenJob {
    private: [u8; MAX_FIELD],
    /// x and y, one after the other.
    public: [u8; 2 * MAX_FIELD],
    done: bool,
}

impl<C: Lanes> Kind for Keygen<C> {
    const QUEUE: Queue = C::QUEUES[2];
    const BREAK_EVEN: usize = C::BREAK_EVENS[2];
    type Job = KeygenJob;

    fn available() -> bool {
        super::for_curves()
    }

    fn scalar(job: &mut KeygenJob) -> Outcome {
        let Ok((key, outcome)) = CpuEcKey::generate(C::CURVE.group()) else { return Outcome::Library };
        let length = C::CURVE.field_len();
        if let (Some(scalar), Some(point)) = (key.scalar(), key.coordinates(&mut [0; MAX_POINT])) {
            job.private[..length].copy_from_slice(scalar);
            job.public[..2 * length].copy_from_slice(point);
            job.done = true;
        }
        outcome
    }

    fn lanes(jobs: &mut [KeygenJob]) -> Option<u8> {
        C::keygen(jobs)
    }
}

/// Conversion between jobs and the kernels' numbers.
#[cfg(target_arch = "x86_64")]
mod kernel {
    use super::*;
    use adjunct_base::catalogue::LANES;
    use adjunct_cpu::nonce::{ADDED, Nonces, reduced, truncate};
    use adjunct_cpu::random;
    use adjunct_cpu::secret::Secret;

    /// A number of each job, wiped when they go.
    type Numbers<const N: usize> = [Secret<N>; LANES];

    fn numbers<const N: usize>() -> Numbers<N> {
        std::array::from_fn(|_| Secret([0; N]))
    }

    /// A key of each job; `None` where it is gone.
    fn keys<J>(jobs: &[J], number: impl Fn(&J) -> Number) -> [Option<CpuEcKey>; LANES] {
        std::array::from_fn(|i| jobs.get(i).and_then(|job| CpuEcKey::of_number(number(job))))
    }

    /// The key's scalar; empty where there is none, which the kernels refuse.
    fn scalar(key: &Option<CpuEcKey>) -> &[u8] {
        key.as_ref().and_then(CpuEcKey::scalar).unwrap_or(&[])
    }

    pub(super) fn sign<C: Lanes>(jobs: &mut [SignJob], run: impl FnOnce(&mut [nist::SignJob]) -> u8) -> u8 {
        let length = C::CURVE.field_len();
        let mut added = Secret([0; LANES * ADDED]);
        random(&mut added[..jobs.len() * ADDED]);
        let (mut nonces, mut signatures) = (numbers::<MAX_FIELD>(), [[0; 2 * MAX_FIELD]; LANES]);
        let mut digests = [[0; MAX_FIELD]; LANES];
        for (job, digest) in jobs.iter().zip(&mut digests) {
            *digest = truncate(C::CURVE, &job.digest.0[..job.digest.1]);
        }
        let keys = keys(jobs, |job| job.key);
        make_nonces::<C>(jobs.len(), &keys, &digests, &added, &mut nonces);
        let mut inputs = keys.iter().zip(&digests).zip(&nonces);
        // On the stack, and as many as there can be: a leader asks for no memory.
        let mut work = signatures.each_mut().map(|signature| {
            let ((key, digest), nonce) = inputs.next().unwrap_or(((&None, &digests[0]), &nonces[0]));
            nist::SignJob {
                private: scalar(key),
                digest: &digest[..length],
                nonce: &nonce[..length],
                signature: &mut signature[..2 * length],
            }
        });
        let good = run(&mut work[..jobs.len()]);
        for (job, signature) in jobs.iter_mut().zip(&signatures) {
            (job.signature, job.done) = (*signature, true);
        }
        good
    }

    /// A nonce of each of the first `count` jobs; without a private key it stays 0, and the kernel refuses the job.
    fn make_nonces<C: Lanes>(
        count: usize,
        keys: &[Option<CpuEcKey>; LANES],
        digests: &[[u8; MAX_FIELD]; LANES],
        added: &[u8; LANES * ADDED],
        nonces: &mut Numbers<MAX_FIELD>,
    ) {
        let length = C::CURVE.field_len();
        let added = || added.chunks(ADDED);
        let reduced = digests.each_ref().map(|digest| reduced(C::CURVE, digest));
        let mut inputs = keys.iter().zip(&reduced).zip(added());
        let mut work = nonces.each_mut().map(|nonce| {
            let ((key, digest), added) = inputs.next().unwrap_or(((&None, &reduced[0]), &[]));
            nist::NonceJob { private: scalar(key), digest: &digest[..length], added, nonce: &mut nonce[..length] }
        });
        let made = C::nonces(&mut work[..count]);
        for (i, (((key, digest), nonce), added)) in keys.iter().zip(digests).zip(nonces).zip(added()).enumerate() {
            // Not made in lanes, or a candidate that is to be refused.
            if made >> i & 1 == 1 && C::CURVE.in_range(&nonce[..length]) {
                continue;
            }
            if let Some(key) = key.as_ref().and_then(CpuEcKey::scalar).and_then(|scalar| Nonces::new(C::CURVE, scalar))
            {
                key.nonce(digest, added, nonce);
            }
        }
    }

    pub(super) fn derive<C: Lanes>(jobs: &mut [DeriveJob], run: impl FnOnce(&mut [nist::DeriveJob]) -> u8) -> u8 {
        let length = C::CURVE.field_len();
        let (mut secrets, mut peers) = (numbers::<MAX_FIELD>(), [[0; 2 * MAX_FIELD]; LANES]);
        for (key, peer) in keys(jobs, |job| job.peer).iter().zip(&mut peers) {
            // Zeros, where there is no public key, are no point of the curve.
            let mut room = [0; MAX_POINT];
            if let Some(point) = key.as_ref().and_then(|key| key.coordinates(&mut room)) {
                peer[..2 * length].copy_from_slice(point);
            }
        }
        let keys = keys(jobs, |job| job.key);
        let mut inputs = keys.iter().zip(&peers);
        let mut work = secrets.each_mut().map(|secret| {
            let (key, peer) = inputs.next().unwrap_or((&None, &peers[0]));
            nist::DeriveJob { private: scalar(key), peer: &peer[..2 * length], secret: &mut secret[..length] }
        });
        let good = run(&mut work[..jobs.len()]);
        for (job, secret) in jobs.iter_mut().zip(&secrets) {
            (job.secret, job.done) = (**secret, true);
        }
        good
    }

    pub(super) fn keygen<C: Lanes>(jobs: &mut [KeygenJob], run: impl FnOnce(&mut [nist::PublicJob]) -> u8) -> u8 {
        let length = C::CURVE.field_len();
        for job in jobs.iter_mut() {
            C::CURVE.draw(random, &mut job.private[..length]);
        }
        let mut publics = [[0; 2 * MAX_FIELD]; LANES];
        let mut inputs = jobs.iter();
        let mut work = publics.each_mut().map(|public| {
            let job = inputs.next().unwrap_or(&jobs[0]);
            nist::PublicJob { private: &job.private[..length], public: &mut public[..2 * length] }
        });
        let good = run(&mut work[..jobs.len()]);
        jobs.iter_mut().zip(publics).for_each(|(job, public)| (job.public, job.done) = (public, true));
        good
    }
}

/// Signs a digest with a key of that curve: r and s, one after the other, in twice [`Curve::field_len`] bytes of `out`. Says what has
/// made it.
///
/// # Errors
/// [`Error::InvalidKey`] without a private key; [`Error::Length`] for an `out` that is too short.
pub fn sign(curve: Curve, key: &CpuEcKey, digest: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
    let job = || SignJob { key: key.number(), digest: leftmost(digest), signature: [0; 2 * MAX_FIELD], done: false };
    let asked = match curve {
        Curve::P256 => ask::<Sign<P256>>(job),
        Curve::P384 => ask::<Sign<P384>>(job),
        Curve::P521 => ask::<Sign<P521>>(job),
    };
    match asked {
        Asked::Done(job, outcome) if job.done && out.len() == 2 * curve.field_len() => {
            out.copy_from_slice(&job.signature[..out.len()]);
            Ok(outcome)
        }
        Asked::Done(..) => key.sign(digest, out),
        Asked::Alone(alone) => alone.run(|| key.sign(digest, out)),
    }
}

/// The x coordinate of private * `peer`, of two keys of that curve, in [`Curve::field_len`] bytes: the part of `out` that was
/// written. Says what has computed it.
///
/// # Errors
/// [`Error::InvalidKey`] for keys without the half needed.
pub fn shared_secret<'a>(
    curve: Curve,
    key: &CpuEcKey,
    peer: &CpuEcKey,
    out: &'a mut [u8; MAX_FIELD],
) -> Result<(&'a [u8], Outcome), Error> {
    let job = || DeriveJob { key: key.number(), peer: peer.number(), secret: [0; MAX_FIELD], done: false };
    let asked = match curve {
        Curve::P256 => ask::<Derive<P256>>(job),
        Curve::P384 => ask::<Derive<P384>>(job),
        Curve::P521 => ask::<Derive<P521>>(job),
    };
    match asked {
        Asked::Done(job, outcome) if job.done => {
            *out = job.secret;
            Ok((&out[..curve.field_len()], outcome))
        }
        Asked::Done(..) => key.shared_secret(peer, out),
        Asked::Alone(alone) => alone.run(|| key.shared_secret(peer, out)),
    }
}

/// Generates a key pair (FIPS 186-5, A.2.2), and says what has made it.
///
/// # Errors
/// [`Error::Failed`] where memory runs out.
pub fn generate(curve: Curve) -> Result<(CpuEcKey, Outcome), Error> {
    let job = || KeygenJob { private: [0; MAX_FIELD], public: [0; 2 * MAX_FIELD], done: false };
    let asked = match curve {
        Curve::P256 => ask::<Keygen<P256>>(job),
        Curve::P384 => ask::<Keygen<P384>>(job),
        Curve::P521 => ask::<Keygen<P521>>(job),
    };
    match asked {
        Asked::Done(job, outcome) => Ok((finish(curve, &job)?, outcome)),
        Asked::Alone(alone) => alone.run(|| CpuEcKey::generate(curve.group())),
    }
}

/// Makes the key of a job's result.
fn finish(curve: Curve, job: &KeygenJob) -> Result<CpuEcKey, Error> {
    if !job.done {
        return Err(Error::Failed("key generation"));
    }
    let length = curve.field_len();
    CpuEcKey::of_pair(curve.group(), &job.private[..length], &job.public[..2 * length])
}

/// The part of a digest that any curve uses.
fn leftmost(digest: &[u8]) -> ([u8; MAX_FIELD], usize) {
    let (mut out, length) = ([0; MAX_FIELD], digest.len().min(MAX_FIELD));
    out[..length].copy_from_slice(&digest[..length]);
    (out, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_base::catalogue::LANES;
    use adjunct_cpu::curve::Form;

    fn keys<C: Lanes>(count: usize) -> Vec<CpuEcKey> {
        (0..count).map(|_| CpuEcKey::generate(C::CURVE.group()).unwrap().0).collect()
    }

    fn sign_job(key: &CpuEcKey, digest: ([u8; MAX_FIELD], usize)) -> SignJob {
        SignJob { key: key.number(), digest, signature: [0; 2 * MAX_FIELD], done: false }
    }

    fn derive_job(key: &CpuEcKey, peer: &CpuEcKey) -> DeriveJob {
        DeriveJob { key: key.number(), peer: peer.number(), secret: [0; MAX_FIELD], done: false }
    }

    fn all(count: usize) -> u8 {
        (0xFFu16 >> (LANES - count)) as u8
    }

    fn both_paths<C: Lanes>() {
        if !crate::tests::here() {
            return;
        }
        let length = C::CURVE.field_len();
        for count in 1..=LANES {
            let keys = keys::<C>(count);
            for size in [20, length, 64, 80] {
                let digest: Vec<u8> = (0..size).map(|i| (i * 31 + count) as u8).collect();
                let digest = leftmost(&digest);
                let mut jobs: Vec<_> = keys.iter().map(|key| sign_job(key, digest)).collect();
                assert_eq!(Sign::<C>::lanes(&mut jobs), Some(all(count)));
                let first = jobs[0].signature;
                for (job, key) in jobs.iter_mut().zip(&keys) {
                    for lane in [true, false] {
                        if !lane {
                            Sign::<C>::scalar(job);
                        }
                        let verified = key.verify(&digest.0[..digest.1], &job.signature[..2 * length]);
                        assert!(job.done && verified.unwrap().0);
                    }
                }
                // The nonce has randomness added.
                assert_eq!(Sign::<C>::lanes(&mut jobs[..1]), Some(1));
                assert_ne!(jobs[0].signature, first);
            }
            // Peers that were decoded, uncompressed and compressed, and one that was made here.
            let peers: Vec<CpuEcKey> = self::keys::<C>(count)
                .into_iter()
                .enumerate()
                .map(|(i, key)| {
                    let form = [Form::Uncompressed, Form::Compressed, Form::Hybrid][i % 3];
                    let mut point = [0; MAX_POINT];
                    let mut decoded =
                        || CpuEcKey::new(C::CURVE.group(), Some(key.public(form, &mut point).unwrap()), None);
                    if i % 4 == 3 { key.clone() } else { decoded().unwrap().public_only().unwrap() }
                })
                .collect();
            let mut jobs: Vec<_> = keys.iter().zip(&peers).map(|(key, peer)| derive_job(key, peer)).collect();
            assert_eq!(Derive::<C>::lanes(&mut jobs), Some(all(count)));
            for job in &mut jobs {
                let secret = std::mem::take(&mut job.done).then_some(job.secret);
                Derive::<C>::scalar(job);
                assert_eq!(secret, job.done.then_some(job.secret));
            }
            let job = KeygenJob { private: [0; MAX_FIELD], public: [0; 2 * MAX_FIELD], done: false };
            let mut jobs = vec![job; count + 1];
            assert_eq!(Keygen::<C>::lanes(&mut jobs[..count]), Some(all(count)));
            Keygen::<C>::scalar(&mut jobs[count]);
            assert!(jobs.iter().all(|job| finish(C::CURVE, job).unwrap().is_pair()));
        }
    }

    #[test]
    fn lanes_and_the_scalar_path_agree() {
        both_paths::<P256>();
        both_paths::<P384>();
        both_paths::<P521>();
    }

    #[test]
    fn keys_without_the_half_needed_are_refused_on_both_paths() {
        let whole = CpuEcKey::generate(Curve::P256.group()).unwrap().0;
        let public = whole.public_only().unwrap();
        let private = CpuEcKey::new(Curve::P256.group(), None, whole.scalar()).unwrap();
        assert!(sign(Curve::P256, &public, &[1; 32], &mut [0; 64]).is_err());
        assert!(sign(Curve::P256, &private, &[1; 32], &mut [0; 64]).is_ok());
        for (key, peer) in [(&public, &public), (&whole, &private)] {
            assert!(shared_secret(Curve::P256, key, peer, &mut [0; MAX_FIELD]).is_err());
        }
        if crate::tests::here() {
            let job = |key: &CpuEcKey| sign_job(key, leftmost(&[1; 32]));
            assert_eq!(Sign::<P256>::lanes(&mut [job(&whole), job(&public), job(&private)]), Some(0b101));
            let job = derive_job;
            assert_eq!(
                Derive::<P256>::lanes(&mut [job(&public, &public), job(&whole, &private), job(&private, &public)]),
                Some(0b100)
            );
        }
    }
}
