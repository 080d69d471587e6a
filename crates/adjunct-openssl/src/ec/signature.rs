//! Elliptic-curve keys on the NIST curves: signatures.

use crate::abi::Algorithm;

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[];
