//! Counters for tests of what shows them.

use adjunct::catalogue::{Direction, Function, Queue, Reason};
use adjunct::counters::{Cell, Lanes, Snapshot};

/// A snapshot with a few counters of every shape.
pub fn sample() -> Snapshot {
    let mut s = Snapshot::new(1000);
    let gcm = s.row_mut(Function::AesGcm.row(256));
    *gcm.cell_mut(true, Direction::Encrypt) = Cell { calls: 7, bytes: 114_688 };
    *gcm.cell_mut(true, Direction::Decrypt) = Cell { calls: 5, bytes: 81_920 };
    s.row_mut(Function::RsaCrt.row(2048)).cell_mut(true, Direction::Encrypt).calls = 3;
    s.row_mut(Function::RsaCrt.row(1536)).cell_mut(false, Direction::Encrypt).calls = 2;
    s.fallbacks_mut(Function::RsaCrt, Reason::Parameter).calls = 2;
    *s.row_mut(Function::Sha512.row(0)).cell_mut(false, Direction::Encrypt) = Cell { calls: 11, bytes: 1408 };
    *s.fallbacks_mut(Function::Sha512, Reason::NoInstruction) = s.row(Function::Sha512.row(0)).software[0];
    s.row_mut(Function::RsaKeygenCrt.row(2048)).cell_mut(false, Direction::Encrypt).calls = 1;
    *s.lanes_mut(Queue::Rsa2048) = Lanes {
        batches: [0, 0, 0, 1, 0, 0, 0, 2],
        in_lanes: 19,
        alone: 4,
        corrupted: 1,
        on_card: 6,
        not_on_card: [0, 2, 0, 1, 0, 0, 0],
    };
    s
}
