//! Operations and bytes, as sums and as rates.

use super::table::Cell;
use adjunct::catalogue::Function;
use adjunct::counters::{Counts, Snapshot};

/// Operations and bytes, on either path.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    pub(super) hardware: u64,
    pub(super) software: u64,
    pub(super) bytes: u64,
}

impl Work {
    /// The work of one function by its counters.
    pub(super) fn of(counts: Counts) -> Work {
        let bytes =
            counts.hardware.iter().chain(&counts.software).fold(0u64, |sum, cell| sum.saturating_add(cell.bytes));
        Work { hardware: counts.hardware_calls(), software: counts.software_calls(), bytes }
    }

    /// All functions of a snapshot.
    pub(super) fn all(snapshot: &Snapshot) -> Work {
        Function::ALL.iter().fold(Work::default(), |sum, &function| sum.plus(Work::of(snapshot.function(function))))
    }

    /// Adds two counts.
    pub(super) fn plus(self, other: Work) -> Work {
        Work {
            hardware: self.hardware.saturating_add(other.hardware),
            software: self.software.saturating_add(other.software),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Operations on both paths, hardware and software.
    pub(super) fn operations(self) -> u64 {
        self.hardware.saturating_add(self.software)
    }

    /// The part that hardware did; `None` where nothing was done.
    pub(super) fn share(self) -> Option<f64> {
        (self.operations() > 0).then(|| self.hardware as f64 / self.operations() as f64)
    }

    /// Operations, hardware, software a second; the share; bytes a second.
    pub(super) fn cells(self, seconds: f64) -> [Cell; 5] {
        let rate = |number: u64| Cell::Real(Some(number as f64 / seconds));
        [rate(self.operations()), rate(self.hardware), rate(self.software), Cell::Real(self.share()), rate(self.bytes)]
    }
}
