//! The statistics as the table of `adjunct stats`.

use adjunct::catalogue::Function;
use adjunct::catalogue::{Reason, Refusal};
use adjunct::counters::{Cell, Snapshot};
use adjunct_tool::output::Style;
use adjunct_ztools::stats::{Line, Rows, User, lines, order, queues};
use std::fmt::Write;

/// How `adjunct stats` shows its table.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// Bytes in place of calls.
    pub bytes: bool,
    /// Show only rows that counted something.
    pub used: bool,
    /// Colours or not.
    pub style: Style,
}

/// The table of `adjunct stats`, and below it why software ran.
pub fn report_table(user: &User, snapshot: &Snapshot, key_sizes: bool, look: Look) -> String {
    let rows = lines(snapshot, key_sizes, if look.used { Rows::Used } else { Rows::All });
    let unit = if look.bytes { "bytes" } else { "calls" };
    let mut text = format!("User {user}, {unit}\n");
    if rows.is_empty() {
        text += "  nothing was counted\n";
        return text;
    }
    let value = |cell: Cell| if look.bytes { cell.bytes } else { cell.calls };
    let cells: Vec<[String; 6]> = rows.iter().map(|line| columns(line, value)).collect();
    let wide = cells.iter().flatten().map(String::len).max().unwrap_or(0).max(8);
    let name = rows.iter().map(|l| l.label().len()).max().unwrap_or(0).max(14);
    let side = 3 * wide + 2;
    let bar = format!("-{}-+-{}-+-{}", "-".repeat(name), "-".repeat(side), "-".repeat(side));
    let head = format!(" {:<name$} | {:<side$} | # software", "function", "# hardware");
    let _ = writeln!(text, "{}", look.style.strong(&head));
    let columns = format!("{:>wide$} {:>wide$} {:>wide$}", "ENC", "CRYPT", "DEC");
    let _ = writeln!(text, " {:name$} | {columns} | {columns}\n{bar}", "");
    for (line, cell) in rows.iter().zip(&cells) {
        let join = |c: &[String]| c.iter().map(|c| format!("{c:>wide$}")).collect::<Vec<_>>().join(" ");
        let (mut hardware, mut software) = (join(&cell[..3]), join(&cell[3..]).trim_end().to_owned());
        if line.counts.hardware_calls() > 0 {
            hardware = look.style.good(&hardware);
        }
        if line.counts.software_calls() > 0 {
            software = look.style.notice(&software);
        }
        let _ = writeln!(text, " {:>name$} | {hardware} | {software}", line.label());
    }
    text + &reasons(snapshot, look.bytes) + &accelerator(snapshot, look.style) + &cards(snapshot)
}

/// What the accelerator did, where it did anything: operations in lanes and alone, and batches by the lanes filled.
fn accelerator(snapshot: &Snapshot, style: Style) -> String {
    let used: Vec<_> = queues(snapshot).filter(|(_, lanes)| !lanes.is_zero()).collect();
    if used.is_empty() {
        return String::new();
    }
    let counts = used.iter().flat_map(|(_, l)| [l.in_lanes, l.alone, l.corrupted].into_iter().chain(l.batches));
    let wide = counts.map(|c| c.to_string().len()).max().unwrap_or(0);
    let (name, wide, narrow) = (used.iter().map(|(n, _)| n.len()).max().unwrap_or(0).max(14), wide.max(9), wide.max(5));
    let join =
        |cells: &[String], wide: usize| cells.iter().map(|c| format!("{c:>wide$}")).collect::<Vec<_>>().join(" ");
    let row = |label: &str, operations: [String; 3], batches: [String; 8]| {
        format!(" {label:>name$} | {} | {}", join(&operations, wide), join(&batches, narrow))
    };
    let numbers: [String; 8] = std::array::from_fn(|i| (i + 1).to_string());
    let head = row("", ["in lanes", "alone", "corrupted"].map(String::from), numbers);
    let mut text = format!("Accelerator: operations, and batches by the lanes filled\n{}\n", style.strong(&head));
    for (label, lanes) in used {
        let operations = [lanes.in_lanes, lanes.alone, lanes.corrupted].map(|c| c.to_string());
        let _ = writeln!(text, "{}", row(label, operations, lanes.batches.map(|c| c.to_string())));
    }
    text
}

/// The counters of cards for this user's programs, where cards were asked.
fn cards(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    for (name, lanes) in queues(snapshot).filter(|(_, lanes)| lanes.on_card + lanes.refused() != 0) {
        let _ = write!(text, "  {name} {}", lanes.on_card);
        if lanes.refused() != 0 {
            let reasons = Refusal::ALL.iter().zip(lanes.not_on_card).filter(|(_, count)| *count != 0);
            let reasons: Vec<String> = reasons.map(|(refusal, count)| format!("{count} {}", refusal.text())).collect();
            let _ = write!(text, ", and {} that no card did: {}", lanes.refused(), reasons.join(", "));
        }
        text.push('\n');
    }
    if text.is_empty() { text } else { format!("Done by cards\n{text}") }
}

/// The cells of a row: ENC, CRYPT, DEC in hardware, then in software; empty where the function has no such column.
fn columns(line: &Line, value: impl Fn(Cell) -> u64) -> [String; 6] {
    let side = |cells: [Cell; 2]| {
        let [first, second] = cells.map(|c| value(c).to_string());
        if line.is_cipher() { [first, String::new(), second] } else { [String::new(), first, String::new()] }
    };
    let ([a, b, c], [d, e, f]) = (side(line.counts.hardware), side(line.counts.software));
    [a, b, c, d, e, f]
}

/// Why operations ran in software, functions with the same reason together: calls, or bytes where the table has bytes.
fn reasons(snapshot: &Snapshot, bytes: bool) -> String {
    let mut text = String::new();
    for &reason in Reason::ALL {
        let mut functions = Vec::new();
        for function in order() {
            let cell = snapshot.fallbacks(function, reason);
            let value = if bytes { cell.bytes } else { cell.calls };
            if value > 0 {
                functions.push(format!("{} {value}", Function::info(function).stats_name));
            }
        }
        if !functions.is_empty() {
            let _ = writeln!(text, "  {}: {}", reason.text(), functions.join(", "));
        }
    }
    let head = if bytes { "Bytes in software, because" } else { "In software, because" };
    if text.is_empty() { text } else { format!("{head}\n{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_ztools::stats::sample::sample;

    const LOOK: Look = Look { bytes: false, used: true, style: Style::PLAIN };

    fn user() -> User {
        User { uid: 1000, name: "alice".into() }
    }

    #[test]
    fn the_report_of_adjunct() {
        let text = report_table(&user(), &sample(), false, LOOK);
        let expected = "\
User alice, calls
 function       | # hardware                 | # software
                |      ENC    CRYPT      DEC |      ENC    CRYPT      DEC
----------------+----------------------------+---------------------------
        SHA-512 |                 0          |                11
        RSA-CRT |                 3          |                 2
        AES GCM |        7                 5 |        0                 0
 RSA Keygen CRT |                 0          |                 1
In software, because
  no instruction for it on this architecture: SHA-512 11
  no hardware path for this key size or parameter: RSA-CRT 2
Accelerator: operations, and batches by the lanes filled
                |  in lanes     alone corrupted |     1     2     3     4     5     6     7     8
   RSA-2048 CRT |        19         4         1 |     0     0     0     1     0     0     0     2
Done by cards
  RSA-2048 CRT 6, and 3 that no card did: 2 busy, 1 no answer in time
";
        assert_eq!(text, expected);
    }

    #[test]
    fn reasons_count_what_the_table_counts() {
        let text = report_table(&user(), &sample(), false, Look { bytes: true, ..LOOK });
        let (_, reasons) = text.split_once("software, because\n").unwrap();
        let (reasons, _) = reasons.split_once("Accelerator").unwrap();
        // Public-key operations have no bytes.
        assert_eq!(reasons, "  no instruction for it on this architecture: SHA-512 1408\n");
        assert!(text.contains("\nBytes in software, because\n"), "{text}");
    }

    #[test]
    fn bytes_widen_the_columns_and_stay_aligned() {
        let mut snapshot = sample();
        let cell = snapshot.row_mut(Function::AesGcm.row(256)).cell_mut(true, adjunct::catalogue::Direction::Encrypt);
        cell.bytes = u64::MAX;
        let text = report_table(&user(), &snapshot, false, Look { bytes: true, ..LOOK });
        assert!(text.contains("18446744073709551615"));
        let (text, _) = text.split_once("Accelerator").unwrap();
        let bars: Vec<_> = text.lines().filter(|l| l.contains(" | ")).map(|l| l.rfind('|')).collect();
        assert!(bars.windows(2).all(|w| w[0] == w[1]), "{text}");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn an_empty_report_says_so() {
        let text = report_table(&user(), &Snapshot::new(0), true, LOOK);
        assert_eq!(text, "User alice, calls\n  nothing was counted\n");
    }
}
