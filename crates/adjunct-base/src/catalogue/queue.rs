//! The queues of batches: which operations can share one.

/// A queue of the engine: requests of one queue can share a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Queue {
    Rsa2048 = 0,
    Rsa3072,
    Rsa4096,
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
    TdesCbc,
}

impl Queue {
    /// Every queue with its name in reports, in their order.
    pub const ALL: &[(Queue, &str)] = &[
        (Queue::Rsa2048, "RSA-2048 CRT"),
        (Queue::Rsa3072, "RSA-3072 CRT"),
        (Queue::Rsa4096, "RSA-4096 CRT"),
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
        (Queue::TdesCbc, "3DES CBC enc"),
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        Queue::ALL[self as usize].1
    }
}

/// The most jobs of a batch: the lanes of a vector.
pub const LANES: usize = 8;
