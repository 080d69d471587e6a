//! Counts as an operation does, without doing any: for tests and benchmarks of the counters, and of what shows them.

#![allow(dead_code, reason = "each test program uses its part")]

use adjunct_base::catalogue::{Direction, Function, Path, Reason};
use adjunct_base::counters::{Place, add};

/// Where an operation counts.
#[derive(Debug, Clone, Copy)]
pub struct Tally {
    place: Place,
    path: Path,
}

impl Tally {
    /// Makes the tally of an operation of `function` with a key of `bits`, by what serves it here.
    pub fn new(function: Function, bits: usize) -> Tally {
        Tally::on(adjunct::ops::choice::path(function, bits), function, bits)
    }

    /// Makes the tally of an operation that OpenSSL's default provider does.
    pub fn delegated(function: Function, bits: usize) -> Tally {
        Tally::on(Path::Software(Reason::Delegated), function, bits)
    }

    fn on(path: Path, function: Function, bits: usize) -> Tally {
        Tally { place: Place::new(function.row(bits), function, path), path }
    }

    pub fn path(self) -> Path {
        self.path
    }

    #[inline]
    pub fn count(self, direction: Direction, bytes: usize) {
        add(self.place, direction, 1, bytes as u64);
    }
}
