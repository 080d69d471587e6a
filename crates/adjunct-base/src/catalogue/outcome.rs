//! What ran an operation, as the adapter that ran it says.

use super::Reason;

/// How a public-key operation ran, as the adapter that ran it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The lanes: a batch. Hardware where they are dedicated instructions'.
    Lanes,
    /// A card, in its own process. Hardware.
    Card,
    /// The CPU, with instructions of the function's own (CPACF; AVX-512 IFMA for RSA, ECDSA signatures and
    /// key pairs). Hardware.
    Instructions,
    /// The CPU without dedicated instructions: software, for the reason that is known of the function and key.
    Library,
    /// The CPU without dedicated instructions, for this reason, though it has them for other operations of the function.
    Software(Reason),
}
