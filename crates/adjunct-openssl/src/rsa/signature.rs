//! RSA: signatures.

use crate::abi::Algorithm;

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[];
