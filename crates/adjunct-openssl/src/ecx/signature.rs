//! X25519 and Ed25519: signatures.

use crate::abi::Algorithm;

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[];
