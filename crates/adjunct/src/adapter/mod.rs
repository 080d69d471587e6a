//! What runs operations: the CPU (its instructions, else software), the lanes (batches in this process) and cards (processes of their own).
//!
//! [`choice`] says which of hardware and software serves a function here, [`registry`] which adapter a key's operations go to; an adapter
//! says what ran each operation.

pub mod card;
pub mod choice;
pub mod cpu;
pub mod lanes;
pub mod registry;

use crate::catalogue::Reason;

/// How a public-key operation ran, as the adapter that ran it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The lanes: a batch. Hardware where they are dedicated instructions' ([`choice::lanes`]).
    Lanes,
    /// A card, in its own process. Hardware.
    Card,
    /// The CPU, with instructions of the function's own (CPACF; AVX-512 IFMA for RSA, ECDSA signatures and
    /// key pairs). Hardware.
    Instructions,
    /// The CPU without dedicated instructions: software, for the reason that is known of the function and key ([`choice::path`]).
    Library,
    /// The CPU without dedicated instructions, for this reason, though it has them for other operations of the function.
    Software(Reason),
}
