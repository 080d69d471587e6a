//! Where an operation counts: resolved once, when a context gets its key.

use crate::catalogue::Outcome;
use crate::catalogue::{Direction, Function, Path, Reason, Row};
use adjunct_base::counters;
use adjunct_cpu::choice::{self, known, path};
use adjunct_lanes as lanes;

/// The place where a context counts: a row and a path. Copy it into the context once the key is known; [`Tally::count`] is then a few instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    row: Row,
    function: Function,
    path: Path,
    place: counters::Place,
}

impl Tally {
    /// The tally of an operation of `function` with a key of `bits` (0 where it has none), on the path that serves it here.
    #[inline]
    pub fn new(function: Function, bits: usize) -> Tally {
        let (row, listed) = function.row_of(bits);
        // Rows of one size, or of functions without any: the answer is always the same, and asked for at every call of libica.
        let path = if bits == 0 && function.info().sizes.is_empty() || listed {
            known(function, bits, row)
        } else {
            path(function, bits)
        };
        Tally::at(path, function, row)
    }

    /// The tally of an operation that is handed to OpenSSL's default provider.
    pub fn delegated(function: Function, bits: usize) -> Tally {
        Tally::on(Path::Software(Reason::Delegated), function, bits)
    }

    /// The tally of an operation with a parameter that no instructions and no batches take, though they take others of its size.
    pub(super) fn of_parameter(function: Function, bits: usize) -> Tally {
        Tally::on(Path::Software(Reason::Parameter), function, bits)
    }

    /// The tally of an operation that the batches of its function do not take (a nonce that is given, a long message): alone or not, it is
    /// software.
    #[must_use]
    pub(super) fn out_of_batches(self) -> Tally {
        match self.path {
            Path::Software(Reason::Alone) => Tally::at(Path::Software(Reason::Parameter), self.function, self.row),
            _ => self,
        }
    }

    /// The tally of an operation whose key says what serves it.
    pub(super) fn on(path: Path, function: Function, bits: usize) -> Tally {
        Tally::at(path, function, function.row(bits))
    }

    // The only place that makes one: `place` follows from the other three.
    fn at(path: Path, function: Function, row: Row) -> Tally {
        Tally { row, function, path, place: counters::Place::new(row, function, path) }
    }

    /// The tally of a public-key operation, by what ran it.
    #[must_use]
    pub fn ran(self, outcome: Outcome) -> Tally {
        let path = match (outcome, self.path) {
            (Outcome::Card | Outcome::Instructions, _) => Path::Hardware,
            (Outcome::Lanes, _) => choice::lanes(),
            // Instructions serve others of the function and size, and have left this one.
            (Outcome::Library, Path::Hardware) => Path::Software(Reason::Parameter),
            (Outcome::Software(reason), Path::Hardware) => Path::Software(reason),
            (Outcome::Library | Outcome::Software(_), software) => software,
        };
        if path == self.path { self } else { Tally::at(path, self.function, self.row) }
    }

    /// Whether hardware serves such operations: instructions, or batches of plain threads' operations on this machine, though one
    /// alone is done in software. Whether another thread asks at the same time is not the caller's to know.
    pub fn in_hardware(self) -> bool {
        self.path == Path::Hardware || self.path == Path::Software(Reason::Alone) && lanes::of_threads()
    }

    /// The path counted.
    pub const fn path(self) -> Path {
        self.path
    }

    /// The row counted.
    #[cfg(test)]
    pub(super) const fn row(self) -> Row {
        self.row
    }

    /// The function counted.
    pub const fn function(self) -> Function {
        self.function
    }

    /// Counts an operation over `bytes` bytes (0 for public-key operations).
    #[inline]
    pub fn count(self, direction: Direction, bytes: usize) {
        counters::add(self.place, direction, 1, bytes as u64);
    }
}

/// A message that comes in parts and is one operation, which counts when it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) tally: Tally,
    /// The bytes so far.
    pub(super) bytes: usize,
}

impl Message {
    #[inline]
    pub(super) fn new(tally: Tally) -> Message {
        Message { tally, bytes: 0 }
    }

    /// Takes in a part.
    #[inline(always)]
    pub(super) fn add(&mut self, data: &[u8]) {
        self.bytes = self.bytes.wrapping_add(data.len());
    }

    /// Counts the message, as ended. Another begins by setting the bytes to none.
    #[inline(always)]
    pub(super) fn count(self) {
        self.tally.count(Direction::Encrypt, self.bytes);
    }
}

/// Whether hardware serves `function` with a key of `bits` (0 where it has none) on this machine: instructions, or batches of plain
/// threads' operations. For interfaces that may refuse what only software has.
pub fn in_hardware(function: Function, bits: usize) -> bool {
    Tally::new(function, bits).in_hardware()
}
