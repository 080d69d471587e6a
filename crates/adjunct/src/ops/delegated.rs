//! What OpenSSL's default provider does in place of an operation of ours.

use super::Tally;
use crate::catalogue::{Direction, Function};

/// An operation that OpenSSL's default provider does: software, counted as delegated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delegated(Tally);

impl Delegated {
    /// Makes an operation of `function` with a key of `bits` bits (0 where it has none).
    pub fn new(function: Function, bits: usize) -> Delegated {
        Delegated(Tally::delegated(function, bits))
    }

    /// Counts the operation, once it has been done over `bytes` bytes (0 for public-key operations).
    pub fn done(self, direction: Direction, bytes: usize) {
        self.0.count(direction, bytes);
    }
}
