//! The statistics as the table of `icastats`.

use super::{Rows, lines};
use adjunct::counters::Snapshot;
use std::fmt::Write;

/// The table of `icastats`, column for column.
pub fn ica_table(snapshot: &Snapshot, key_sizes: bool) -> String {
    let mut text = String::new();
    text += " function       |             hardware         |              software\n";
    text += "----------------+------------------------------+-----------------------------\n";
    text += "                |        ENC    CRYPT     DEC  |        ENC     CRYPT    DEC \n";
    text += "----------------+------------------------------+-----------------------------\n";
    for line in lines(snapshot, key_sizes, Rows::OfZ) {
        let [hw_enc, hw_dec] = line.counts.hardware.map(|c| c.calls);
        let [sw_enc, sw_dec] = line.counts.software.map(|c| c.calls);
        let label = line.label();
        let _ = if line.is_cipher() {
            writeln!(text, " {label:>14} |{hw_enc:>12}     {hw_dec:>12} |{sw_enc:>12}    {sw_dec:>12}")
        } else {
            writeln!(text, " {label:>14} |        {hw_enc:>12}          |         {sw_enc:>12}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::sample::sample;

    /// The whole of both tables, as `icastats` prints them on Z with every counter zero.
    #[test]
    fn icastats_prints_what_z_prints() {
        assert_eq!(ica_table(&Snapshot::new(0), false), include_str!("icastats.txt"));
        assert_eq!(ica_table(&Snapshot::new(0), true), include_str!("icastats-k.txt"));
    }

    #[test]
    fn icastats_counts_and_key_sizes() {
        let table = ica_table(&sample(), true);
        for row in [
            "        AES GCM |           7                5 |           0               0",
            "          - 256 |           7                5 |           0               0",
            "        RSA-CRT |                   3          |                    2",
            "         - 2048 |                   3          |                    0",
            "        - other |                   0          |                    2",
        ] {
            assert!(table.lines().any(|l| l == row), "{row}\n{table}");
        }
    }
}
