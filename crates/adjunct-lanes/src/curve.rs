//! X25519 (RFC 7748) and Ed25519 (RFC 8032) in the batch engine.
//!
//! Each function gives its result and what has computed it.

#![allow(unsafe_code)]

use super::{Asked, Kind, ask};
#[cfg(any(test, target_arch = "x86_64"))]
use adjunct_base::catalogue::LANES;
use adjunct_base::catalogue::Outcome;
use adjunct_base::catalogue::Queue;
use adjunct_cpu::ecx::{self, KEY, SIGNATURE};
#[cfg(target_arch = "x86_64")]
use adjunct_kernels::curve25519 as kernel;
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// The longest message that is signed in lanes, in bytes: a longer one would have its batch wait for one lane's hash. TLS signs up to 146 bytes, SSH
/// a hash or a few hundred.
pub const MESSAGE: usize = 512;

/// The shared secret of a private key and a peer's public key; `None` where it is all zeros (a peer of small order).
pub fn x25519(private: &[u8; KEY], peer: &[u8; KEY]) -> (Option<Zeroizing<[u8; KEY]>>, Outcome) {
    match ask::<X25519>(|| Derive { private: *private, peer: *peer, secret: [0; KEY], sound: false }) {
        Asked::Done(job, outcome) => (job.sound.then(|| Zeroizing::new(job.secret)), outcome),
        Asked::Alone(alone) => alone.run(|| ecx::x25519(private, peer)),
    }
}

/// The X25519 public key of a private key.
pub fn x25519_public(private: &[u8; KEY]) -> ([u8; KEY], Outcome) {
    match ask::<X25519Keygen>(|| Keygen { private: *private, public: [0; KEY] }) {
        Asked::Done(job, outcome) => (job.public, outcome),
        Asked::Alone(alone) => alone.run(|| ecx::x25519_public(private)),
    }
}

/// The Ed25519 public key of a private key.
pub fn ed25519_public(seed: &[u8; KEY]) -> ([u8; KEY], Outcome) {
    match ask::<Ed25519Keygen>(|| Keygen { private: *seed, public: [0; KEY] }) {
        Asked::Done(job, outcome) => (job.public, outcome),
        Asked::Alone(alone) => alone.run(|| ecx::ed25519_public(seed)),
    }
}

/// Whether lanes sign a message of `message` bytes; [`ed25519_sign`] has the CPU sign others.
pub const fn takes(message: usize) -> bool {
    message <= MESSAGE
}

/// Signs `message` by Ed25519. `public` must be the public key of `seed`: a signature made with another gives the private
/// key away.
pub fn ed25519_sign(seed: &[u8; KEY], public: &[u8; KEY], message: &[u8]) -> (Option<[u8; SIGNATURE]>, Outcome) {
    if !takes(message.len()) {
        return ecx::ed25519_sign(seed, public, message);
    }
    let job = || {
        let mut job = Sign {
            seed: *seed,
            public: *public,
            message: [0; MESSAGE],
            length: message.len(),
            signature: [0; SIGNATURE],
            done: false,
        };
        job.message[..message.len()].copy_from_slice(message);
        job
    };
    match ask::<Ed25519Sign>(job) {
        Asked::Done(job, outcome) => (job.done.then_some(job.signature), outcome),
        Asked::Alone(alone) => alone.run(|| ecx::ed25519_sign(seed, public, message)),
    }
}

/// X25519 key agreement.
pub struct X25519;

/// An X25519 key agreement.
#[derive(Clone, Copy)]
pub struct Derive {
    private: [u8; KEY],
    peer: [u8; KEY],
    secret: [u8; KEY],
    /// Whether the secret is one: not all zeros.
    sound: bool,
}

impl Kind for X25519 {
    const QUEUE: Queue = Queue::X25519Derive;
    const BREAK_EVEN: usize = 2;
    type Job = Derive;

    fn available() -> bool {
        super::for_curves()
    }

    fn scalar(job: &mut Derive) -> Outcome {
        let (secret, outcome) = ecx::x25519(&job.private, &job.peer);
        job.sound = secret.is_some();
        job.secret = secret.map_or([0; KEY], |secret| *secret);
        outcome
    }

    #[cfg(target_arch = "x86_64")]
    fn lanes(jobs: &mut [Derive]) -> Option<u8> {
        let mut secrets = Zeroizing::new([[0; KEY]; LANES]);
        let mut inputs = jobs.iter();
        let mut work = secrets.each_mut().map(|secret| {
            let job = inputs.next().unwrap_or(&jobs[0]);
            kernel::X25519Job { private: &job.private, peer: &job.peer, secret }
        });
        // SAFETY: the engine asks for lanes where there are the instructions for them.
        let mut right = unsafe { kernel::x25519(&mut work[..jobs.len()]) };
        for (lane, (job, secret)) in jobs.iter_mut().zip(secrets.iter()).enumerate() {
            (job.secret, job.sound) = (*secret, right & 1 << lane != 0);
            // A peer of small order gives no bit, as a fault does, but is none.
            if !job.sound && ecx::x25519(&job.private, &job.peer).0.is_none() {
                right |= 1 << lane;
            }
        }
        Some(right)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn lanes(_: &mut [Derive]) -> Option<u8> {
        None
    }
}

/// X25519 public keys.
pub struct X25519Keygen;
/// Ed25519 public keys.
pub struct Ed25519Keygen;

/// A public key to compute.
#[derive(Clone, Copy)]
pub struct Keygen {
    private: [u8; KEY],
    public: [u8; KEY],
}

impl Kind for X25519Keygen {
    const QUEUE: Queue = Queue::X25519Keygen;
    const BREAK_EVEN: usize = 3;
    type Job = Keygen;

    fn available() -> bool {
        super::for_curves()
    }

    fn scalar(job: &mut Keygen) -> Outcome {
        let (public, outcome) = ecx::x25519_public(&job.private);
        job.public = public;
        outcome
    }

    #[cfg(target_arch = "x86_64")]
    fn lanes(jobs: &mut [Keygen]) -> Option<u8> {
        Some(publics(jobs, kernel::x25519_public))
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn lanes(_: &mut [Keygen]) -> Option<u8> {
        None
    }
}

impl Kind for Ed25519Keygen {
    const QUEUE: Queue = Queue::Ed25519Keygen;
    const BREAK_EVEN: usize = 3;
    type Job = Keygen;

    fn available() -> bool {
        super::for_curves()
    }

    fn scalar(job: &mut Keygen) -> Outcome {
        let (public, outcome) = ecx::ed25519_public(&job.private);
        job.public = public;
        outcome
    }

    #[cfg(target_arch = "x86_64")]
    fn lanes(jobs: &mut [Keygen]) -> Option<u8> {
        Some(publics(jobs, kernel::ed25519_public))
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn lanes(_: &mut [Keygen]) -> Option<u8> {
        None
    }
}

#[cfg(target_arch = "x86_64")]
fn publics(jobs: &mut [Keygen], call: unsafe fn(&mut [kernel::PublicJob]) -> u8) -> u8 {
    let mut publics = [[0; KEY]; LANES];
    let mut inputs = jobs.iter();
    let mut work = publics.each_mut().map(|public| {
        let job = inputs.next().unwrap_or(&jobs[0]);
        kernel::PublicJob { private: &job.private, public }
    });
    // SAFETY: the engine asks for lanes where there are the instructions for them.
    let right = unsafe { call(&mut work[..jobs.len()]) };
    jobs.iter_mut().zip(publics).for_each(|(job, public)| job.public = public);
    right
}

opaque_debug!(Derive, Keygen, Sign);

/// Ed25519 signatures.
pub struct Ed25519Sign;

/// A message to sign.
#[derive(Clone, Copy)]
pub struct Sign {
    seed: [u8; KEY],
    public: [u8; KEY],
    message: [u8; MESSAGE],
    length: usize,
    signature: [u8; SIGNATURE],
    done: bool,
}

impl Kind for Ed25519Sign {
    const QUEUE: Queue = Queue::Ed25519Sign;
    const BREAK_EVEN: usize = 4;
    type Job = Sign;

    fn available() -> bool {
        super::for_curves()
    }

    fn scalar(job: &mut Sign) -> Outcome {
        let (signature, outcome) = ecx::ed25519_sign(&job.seed, &job.public, &job.message[..job.length]);
        job.done = signature.is_some();
        job.signature = signature.unwrap_or([0; SIGNATURE]);
        outcome
    }

    #[cfg(target_arch = "x86_64")]
    fn lanes(jobs: &mut [Sign]) -> Option<u8> {
        let mut signatures = [[0; SIGNATURE]; LANES];
        let mut inputs = jobs.iter();
        let mut work = signatures.each_mut().map(|signature| {
            let job = inputs.next().unwrap_or(&jobs[0]);
            let message = &job.message[..job.length];
            kernel::SignJob { seed: &job.seed, public: &job.public, message, signature }
        });
        // SAFETY: the engine asks for lanes where there are the instructions for them.
        let right = unsafe { kernel::ed25519_sign(&mut work[..jobs.len()]) };
        for (lane, (job, signature)) in jobs.iter_mut().zip(signatures).enumerate() {
            (job.signature, job.done) = (signature, right & 1 << lane != 0);
        }
        Some(right)
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn lanes(_: &mut [Sign]) -> Option<u8> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>() -> [u8; N] {
        let mut bytes = [0; N];
        adjunct_cpu::random(&mut bytes);
        bytes
    }

    /// Checks that a kind's lanes and its single operation agree, for every number of jobs.
    fn both<K: Kind>(job: impl Fn(usize) -> K::Job, same: impl Fn(&K::Job, &K::Job) -> bool) {
        if !crate::tests::here() {
            return;
        }
        for count in 1..=LANES {
            let mut jobs: Vec<_> = (0..count).map(&job).collect();
            let mut alone = jobs.clone();
            alone.iter_mut().for_each(|job| _ = K::scalar(job));
            assert_eq!(K::lanes(&mut jobs), Some(u8::MAX >> (LANES - count)), "{count} jobs");
            assert!(jobs.iter().zip(&alone).all(|(a, b)| same(a, b)), "{count} jobs");
        }
    }

    #[test]
    fn lanes_give_what_the_scalar_path_gives() {
        // Every third peer is of small order: right, and without a secret.
        let peer = |i| if i % 3 == 2 { [0; KEY] } else { ecx::x25519_public(&bytes()).0 };
        let derive = |i| Derive { private: bytes(), peer: peer(i), secret: [0; KEY], sound: false };
        both::<X25519>(derive, |a, b| a.secret == b.secret && a.sound == b.sound);
        let keygen = |_| Keygen { private: bytes(), public: [0; KEY] };
        both::<X25519Keygen>(keygen, |a, b| a.public == b.public);
        both::<Ed25519Keygen>(keygen, |a, b| a.public == b.public);
        let sign = |i: usize| {
            let seed = bytes();
            let (public, _) = ecx::ed25519_public(&seed);
            Sign { seed, public, message: bytes(), length: MESSAGE - i * 73, signature: [0; SIGNATURE], done: false }
        };
        both::<Ed25519Sign>(sign, |a, b| a.signature == b.signature && a.done && b.done);
    }

    #[test]
    fn long_messages_are_signed_too() {
        let seed = bytes();
        let (public, _) = ecx::ed25519_public(&seed);
        for length in [0, MESSAGE, MESSAGE + 1, 5000] {
            let message = vec![7; length];
            let signature = ed25519_sign(&seed, &public, &message);
            assert_eq!(signature, ecx::ed25519_sign(&seed, &public, &message), "{length}");
        }
        assert!(x25519(&seed, &[0; KEY]).0.is_none());
    }
}
