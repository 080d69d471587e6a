//! Elliptic-curve keys on the NIST curves: key exchange.

use crate::abi::Algorithm;

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[];
