//! What numbers are found again by, without keeping them.

use crate::adapter::cpu::awslc::digest::{Digest, SHA256};
use crate::adapter::cpu::awslc::random;
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// Fingerprints of lists of numbers: SHA-256 behind a random prefix, so that they say nothing about the numbers to who has not the
/// prefix. A part of what an interface keeps between operations, not one of an application's: nothing is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprints {
    prefix: [u8; 32],
}

opaque_debug!(Fingerprints);

impl Fingerprints {
    /// Without a prefix yet: for a place that is filled later.
    pub const UNSET: Fingerprints = Fingerprints { prefix: [0; 32] };

    /// With a new prefix.
    pub fn new() -> Fingerprints {
        let mut prefix = [0; 32];
        random(&mut prefix);
        Fingerprints { prefix }
    }

    /// The fingerprint of these numbers; where one ends counts. Compare it in constant time.
    pub fn of(&self, numbers: &[&[u8]]) -> Zeroizing<[u8; 32]> {
        let mut digest = Digest::new(&SHA256);
        digest.update(&self.prefix);
        for number in numbers {
            digest.update(&number.len().to_be_bytes());
            digest.update(number);
        }
        let mut out = Zeroizing::new([0; 32]);
        digest.finish(&mut out[..]);
        out
    }
}

impl Default for Fingerprints {
    fn default() -> Fingerprints {
        Fingerprints::new()
    }
}
