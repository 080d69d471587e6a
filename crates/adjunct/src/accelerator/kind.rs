//! What can be run in lanes: the queues, and the trait that ties one to its scalar and its lane path.

use crate::route::Reason;

/// A queue of the engine: requests of one queue can share a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Queue {
    Rsa2048 = 0,
    Rsa3072,
    Rsa4096,
    RsaPublic2048,
    RsaPublic3072,
    RsaPublic4096,
    P256Sign,
    P256Derive,
    P256Keygen,
    P384Sign,
    P384Derive,
    P384Keygen,
    P521Sign,
    P521Derive,
    P521Keygen,
    X25519Derive,
    X25519Keygen,
    Ed25519Sign,
    Ed25519Keygen,
    /// For tests of the engine itself.
    #[doc(hidden)]
    TestA,
    #[doc(hidden)]
    TestB,
}

impl Queue {
    /// Every queue with its name in reports, in their order.
    pub const ALL: &[(Queue, &str)] = &[
        (Queue::Rsa2048, "RSA-2048 CRT"),
        (Queue::Rsa3072, "RSA-3072 CRT"),
        (Queue::Rsa4096, "RSA-4096 CRT"),
        (Queue::RsaPublic2048, "RSA-2048 public"),
        (Queue::RsaPublic3072, "RSA-3072 public"),
        (Queue::RsaPublic4096, "RSA-4096 public"),
        (Queue::P256Sign, "ECDSA P-256 sign"),
        (Queue::P256Derive, "ECDH P-256"),
        (Queue::P256Keygen, "P-256 keygen"),
        (Queue::P384Sign, "ECDSA P-384 sign"),
        (Queue::P384Derive, "ECDH P-384"),
        (Queue::P384Keygen, "P-384 keygen"),
        (Queue::P521Sign, "ECDSA P-521 sign"),
        (Queue::P521Derive, "ECDH P-521"),
        (Queue::P521Keygen, "P-521 keygen"),
        (Queue::X25519Derive, "X25519"),
        (Queue::X25519Keygen, "X25519 keygen"),
        (Queue::Ed25519Sign, "Ed25519 sign"),
        (Queue::Ed25519Keygen, "Ed25519 keygen"),
        (Queue::TestA, "test a"),
        (Queue::TestB, "test b"),
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        Queue::ALL[self as usize].1
    }
}

/// The most jobs of a batch: the lanes of a vector.
pub const LANES: usize = 8;

/// The largest job, in bytes.
pub const MAX_JOB: usize = 2048;

/// An operation that can be done one at a time or in lanes.
///
/// A job is copied into memory of the engine and may be worked on by another thread, so it owns all it needs: numbers by
/// value, keys by `Arc`; and it wipes its secrets when it is dropped (the engine wipes the places it moved a job from).
/// The results are fields of the job, a failure among them. Neither path keeps locks, blocks, or calls back into the engine, and
/// neither ends the process where memory runs out: the jobs of others are among those it does.
pub trait Kind: 'static {
    /// Where its requests wait; one kind per queue.
    const QUEUE: Queue;
    /// The fewest jobs for which [`Kind::lanes`] takes less time than as many calls of [`Kind::scalar`], as measured.
    const BREAK_EVEN: usize;
    /// The operation's input and output.
    type Job: Clone + Send + 'static;

    /// Does one job: the low-latency path, and what is done again where a lane went wrong. Says what did it.
    fn scalar(job: &mut Self::Job) -> Outcome;

    /// Does 1 to [`LANES`] jobs at once. Bit `i` of the result says that job `i` is right; of the others nothing is used. `None`
    /// where there was no memory to do any: each is then done alone. Called only where [`super::available`].
    fn lanes(jobs: &mut [Self::Job]) -> Option<u8>;
}

/// Which path an operation took, for the counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// In a lane of a batch (AVX-512 IFMA: hardware).
    Lanes,
    /// Alone, by what serves one such operation on this machine.
    Scalar,
    /// Alone, in software, for this reason: also where instructions serve such operations, but this one they did not do.
    Software(Reason),
}

impl Outcome {
    /// Alone, by the CPU library. On s390x that is software: its code there has no instructions for public keys, and an operation
    /// comes to it when CPACF has no function for it, or has refused it.
    pub(crate) const LIBRARY: Outcome =
        if cfg!(target_arch = "s390x") { Outcome::Software(Reason::Parameter) } else { Outcome::Scalar };
}
