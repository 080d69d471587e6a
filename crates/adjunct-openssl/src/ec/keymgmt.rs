//! Elliptic-curve keys on the NIST curves: keys.

use crate::abi::Algorithm;

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[];
