//! Calls and bytes per user and function, shared by all processes of the machine.

use crate::route::{Direction, Tally};

/// Maps this user's counters. Never fails; without them nothing is counted.
pub fn open() {}

/// Counts `calls` calls and `bytes` bytes.
#[inline]
pub fn add(tally: Tally, direction: Direction, calls: u64, bytes: u64) {
    let _ = (tally, direction, calls, bytes);
}
