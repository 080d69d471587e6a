//! Symmetric ciphers.

use crate::abi::Algorithm;

/// What this module offers.
pub static ALGORITHMS: &[Algorithm] = &[];

/// What this module offers.
pub static ECB_ALGORITHMS: &[Algorithm] = &[];
