//! A user's counters at one moment, as plain numbers.

use crate::catalogue::{Direction, Reason};
use crate::catalogue::{Function, Row};
use crate::catalogue::{LANES, Queue, Refusal};

/// Calls and bytes of one direction on one path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cell {
    /// Operations.
    pub calls: u64,
    /// Bytes that the calls processed; 0 for public-key operations.
    pub bytes: u64,
}

/// The counters of one row, or the sum of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Hardware, by [`Direction`].
    pub hardware: [Cell; 2],
    /// Software, by [`Direction`].
    pub software: [Cell; 2],
}

impl Cell {
    fn zip(self, other: Cell, f: impl Fn(u64, u64) -> u64) -> Cell {
        Cell { calls: f(self.calls, other.calls), bytes: f(self.bytes, other.bytes) }
    }
}

impl Counts {
    /// Whether nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == Counts::default()
    }

    /// Calls on hardware, in both directions.
    pub fn hardware_calls(&self) -> u64 {
        self.hardware.iter().map(|c| c.calls).sum()
    }

    /// Calls in software, in both directions.
    pub fn software_calls(&self) -> u64 {
        self.software.iter().map(|c| c.calls).sum()
    }

    /// The cell of a path and a direction.
    pub fn cell_mut(&mut self, hardware: bool, direction: Direction) -> &mut Cell {
        let side = if hardware { &mut self.hardware } else { &mut self.software };
        &mut side[direction as usize]
    }

    fn zip(self, other: Counts, f: impl Fn(u64, u64) -> u64) -> Counts {
        let cells = |a: [Cell; 2], b: [Cell; 2]| std::array::from_fn(|i| a[i].zip(b[i], &f));
        Counts { hardware: cells(self.hardware, other.hardware), software: cells(self.software, other.software) }
    }
}

/// The accelerator's counts of one queue, or the sum of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Batches run in lanes, by the lanes filled: 1, 2, ... 8.
    pub batches: [u64; LANES],
    /// Operations that were done in a lane of a batch.
    pub in_lanes: u64,
    /// Operations that were done one at a time.
    pub alone: u64,
    /// Lanes that went wrong; the operation was done again, alone, and is counted there.
    pub corrupted: u64,
    /// Operations that cards did for this queue's programs.
    pub on_card: u64,
    /// Operations that a card was asked for and did not do, by the reason, in the order of [`Refusal::ALL`]: done by the program itself, and
    /// counted there.
    pub not_on_card: [u64; Refusal::ALL.len()],
}

impl Lanes {
    /// Operations that a card was asked for and did not do, for whatever reason.
    pub fn refused(&self) -> u64 {
        self.not_on_card.iter().fold(0, |sum, count| sum.wrapping_add(*count))
    }

    /// Whether nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == Lanes::default()
    }

    fn zip(self, other: Lanes, f: impl Fn(u64, u64) -> u64) -> Lanes {
        Lanes {
            batches: std::array::from_fn(|i| f(self.batches[i], other.batches[i])),
            in_lanes: f(self.in_lanes, other.in_lanes),
            alone: f(self.alone, other.alone),
            corrupted: f(self.corrupted, other.corrupted),
            on_card: f(self.on_card, other.on_card),
            not_on_card: std::array::from_fn(|i| f(self.not_on_card[i], other.not_on_card[i])),
        }
    }
}

/// A user's counters at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The user.
    pub uid: u32,
    rows: Vec<Counts>,
    fallbacks: Vec<Cell>,
    lanes: Vec<Lanes>,
}

impl Snapshot {
    /// An empty snapshot.
    pub fn new(uid: u32) -> Snapshot {
        Snapshot {
            uid,
            rows: vec![Counts::default(); Row::COUNT],
            fallbacks: vec![Cell::default(); Function::ALL.len() * Reason::ALL.len()],
            lanes: vec![Lanes::default(); Queue::ALL.len()],
        }
    }

    /// The counters of one row.
    pub fn row(&self, row: Row) -> Counts {
        self.rows[row.index()]
    }

    /// The counters of one row, to fill in.
    pub fn row_mut(&mut self, row: Row) -> &mut Counts {
        &mut self.rows[row.index()]
    }

    /// The counters of a function, all key sizes together.
    pub fn function(&self, function: Function) -> Counts {
        function.rows().fold(Counts::default(), |sum, (_, row)| sum.zip(self.row(row), u64::saturating_add))
    }

    /// The operations of `function` in software for `reason`: calls and bytes, both directions and all key sizes together.
    pub fn fallbacks(&self, function: Function, reason: Reason) -> Cell {
        self.fallbacks[function as usize * Reason::ALL.len() + reason as usize]
    }

    /// The count of operations of `function` that ran in software for `reason`, to fill in.
    pub fn fallbacks_mut(&mut self, function: Function, reason: Reason) -> &mut Cell {
        &mut self.fallbacks[function as usize * Reason::ALL.len() + reason as usize]
    }

    /// The accelerator's counts of a queue.
    pub fn lanes(&self, queue: Queue) -> Lanes {
        self.lanes[queue as usize]
    }

    /// The accelerator's counts of a queue, to fill in.
    pub fn lanes_mut(&mut self, queue: Queue) -> &mut Lanes {
        &mut self.lanes[queue as usize]
    }

    /// The accelerator's counts, all queues together.
    pub fn all_lanes(&self) -> Lanes {
        self.lanes.iter().fold(Lanes::default(), |sum, lanes| sum.zip(*lanes, u64::saturating_add))
    }

    /// The counts between `earlier` and this snapshot.
    pub fn since(&self, earlier: &Snapshot) -> Snapshot {
        self.zip(earlier, u64::wrapping_sub)
    }

    /// The sum of this and `other` (the `-S` table). Like that of a function's key sizes it ends at the largest number: a sum
    /// that began anew would report less than there was.
    pub fn plus(&self, other: &Snapshot) -> Snapshot {
        self.zip(other, u64::saturating_add)
    }

    /// Combines each number of `self` with the same number of `other` by `both`.
    fn zip(&self, other: &Snapshot, both: fn(u64, u64) -> u64) -> Snapshot {
        Snapshot {
            uid: self.uid,
            rows: self.rows.iter().zip(&other.rows).map(|(a, b)| a.zip(*b, both)).collect(),
            fallbacks: self.fallbacks.iter().zip(&other.fallbacks).map(|(a, b)| a.zip(*b, both)).collect(),
            lanes: self.lanes.iter().zip(&other.lanes).map(|(a, b)| a.zip(*b, both)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stay_at_the_largest_number() {
        let mut much = Snapshot::new(0);
        for bits in [128, 256] {
            much.row_mut(Function::AesGcm.row(bits)).cell_mut(true, Direction::Encrypt).bytes = u64::MAX - 1;
        }
        assert_eq!(much.function(Function::AesGcm).hardware[0].bytes, u64::MAX);
        assert_eq!(much.plus(&much).row(Function::AesGcm.row(128)).hardware[0].bytes, u64::MAX);
    }
}
