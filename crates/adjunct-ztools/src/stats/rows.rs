//! The rows of the statistics: which, in which order, under which names.

use adjunct::catalogue::Queue;
use adjunct::catalogue::{CounterSplit, Function};
use adjunct::counters::{Counts, Lanes, Snapshot};

/// A row of a statistics table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The function.
    pub function: Function,
    /// `None` for the whole function, else the key size in bits; 0 stands for all sizes without a row of their own.
    pub size: Option<u16>,
    /// Counters of the row.
    pub counts: Counts,
}

impl Line {
    /// The first cell of the table: the function, or `- 256` below it.
    pub fn label(&self) -> String {
        match self.size {
            None => self.function.info().stats_name.to_owned(),
            Some(0) => "- other".to_owned(),
            Some(bits) => format!("- {bits}"),
        }
    }

    /// The `function` value in JSON: `ECDSA Sign`, `ECDSA Sign - 256`.
    pub fn json_name(&self) -> String {
        match self.size {
            None => self.label(),
            Some(_) => format!("{} {}", self.function.info().stats_name, self.label()),
        }
    }

    /// Whether encryption and decryption are told apart.
    pub fn is_cipher(&self) -> bool {
        self.function.info().kind == CounterSplit::Cipher
    }
}

/// The rows of a snapshot that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// All.
    All,
    /// Rows that counted something.
    Used,
    /// Rows of `icastats` on IBM Z, which scripts expect, and any other row that counted something.
    OfZ,
}

impl Rows {
    fn shows(self, line: &Line) -> bool {
        !line.counts.is_zero() || self == Rows::All || self == Rows::OfZ && line.of_z()
    }
}

impl Line {
    /// Whether Z has the row. It counts RSA-3072 as RSA-2048.
    fn of_z(&self) -> bool {
        of_z(self.function)
            && !matches!((self.function, self.size), (_, Some(0)) | (Function::RsaMe | Function::RsaCrt, Some(3072)))
    }
}

/// Whether `icastats` has rows for it. It has none for RSA key generation, so those two of `icainfo` stand with ours.
fn of_z(function: Function) -> bool {
    function.info().z && !matches!(function, Function::RsaKeygenMe | Function::RsaKeygenCrt)
}

/// Every function, those of `icastats` first and in its order.
pub fn order() -> impl Iterator<Item = Function> {
    let all = || Function::ALL.iter().copied();
    all().filter(|&f| of_z(f)).chain(all().filter(|&f| !of_z(f)))
}

/// The rows of `snapshot`; with `key_sizes` each function's total is followed by its key sizes. Sizes that no table lists
/// have a row only where they were used.
pub fn lines(snapshot: &Snapshot, key_sizes: bool, rows: Rows) -> Vec<Line> {
    let mut lines = Vec::new();
    for function in order() {
        lines.push(Line { function, size: None, counts: snapshot.function(function) });
        if !key_sizes || function.info().sizes.is_empty() {
            continue;
        }
        for (size, row) in function.rows() {
            let counts = snapshot.row(row);
            if size.is_some() || !counts.is_zero() {
                lines.push(Line { function, size: Some(size.unwrap_or(0)), counts });
            }
        }
    }
    lines.retain(|line| rows.shows(line));
    lines
}

/// The accelerator's queues with their names.
pub fn queues(snapshot: &Snapshot) -> impl Iterator<Item = (&'static str, Lanes)> {
    Queue::ALL.iter().map(|&(queue, name)| (name, snapshot.lanes(queue)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::sample::sample;
    use adjunct::catalogue::Direction;

    #[test]
    fn the_order_is_that_of_icastats_then_ours() {
        let names: Vec<_> = order().map(|f| f.info().stats_name).collect();
        let place = |n: &str| names.iter().position(|&x| x == n).unwrap();
        assert_eq!(names.len(), Function::ALL.len());
        assert_eq!(place("RSA-ME"), place("X448 Derive") + 1);
        assert_eq!(place("RSA-CRT") + 1, place("DES ECB"));
        assert_eq!(place("AES GCM") + 1, place("RSA Keygen ME"));
        assert!(place("AES CCM") > place("AES GCM"));
    }

    #[test]
    fn key_sizes_follow_their_function() {
        let lines = lines(&sample(), true, Rows::Used);
        let labels: Vec<_> = lines.iter().map(Line::label).collect();
        assert_eq!(labels, ["SHA-512", "RSA-CRT", "- 2048", "- other", "AES GCM", "- 256", "RSA Keygen CRT", "- 2048"]);
        assert_eq!(lines[1].counts.hardware_calls() + lines[1].counts.software_calls(), 5);
        assert_eq!(lines[2].json_name(), "RSA-CRT - 2048");
    }

    #[test]
    fn nothing_counted_nothing_shown() {
        assert!(lines(&Snapshot::new(0), true, Rows::Used).is_empty());
        assert_eq!(lines(&Snapshot::new(0), false, Rows::All).len(), Function::ALL.len());
    }

    #[test]
    fn what_z_does_not_have_is_shown_once_it_is_used() {
        let labels = |snapshot: &Snapshot, sizes| {
            lines(snapshot, sizes, Rows::OfZ).iter().map(Line::json_name).collect::<Vec<_>>()
        };
        let mut used = Snapshot::new(0);
        assert_eq!((labels(&used, false).len(), labels(&used, true).len()), (52, 52 + 4 * 8 + 2 * 4 + 7 * 3 + 2));
        for (function, bits) in [(Function::RsaCrt, 3072), (Function::AesCcm, 128), (Function::RsaKeygenMe, 2048)] {
            used.row_mut(function.row(bits)).cell_mut(true, Direction::Encrypt).calls = 1;
        }
        let (before, after) = (labels(&Snapshot::new(0), true), labels(&used, true));
        let new: Vec<_> = after.iter().filter(|label| !before.contains(label)).collect();
        assert_eq!(new, ["RSA-CRT - 3072", "RSA Keygen ME", "RSA Keygen ME - 2048", "AES CCM", "AES CCM - 128"]);
    }
}
