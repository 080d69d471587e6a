//! What `adjunct bench openssl` measured on this machine: kept by a run of all rows, or named by `--from`.

use super::pays::{Effect, short};
use adjunct_tool::output::{Style, wrapped};
use adjunct_tool::{Failure, escape::shown, failure::cause, files, state};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The size of the messages whose rows are shown, in bytes: that of a record of TLS.
const RECORD: u64 = 16384;

/// The part of a report of `adjunct bench openssl --json` that is read.
#[derive(Debug, Deserialize)]
struct MeasuredReport {
    header: Header,
    rows: Vec<Row>,
    #[serde(default)]
    incomplete: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Header {
    cpu: String,
    openssl: String,
    #[serde(default)]
    against: Option<String>,
    date: String,
}

#[derive(Debug, Deserialize)]
struct Row {
    function: String,
    size: Option<u64>,
    ratio: f64,
}

/// A measurement of this machine.
#[derive(Debug, Serialize)]
pub struct Measured {
    openssl: String,
    date: String,
    /// The greatest ratio first.
    rows: Vec<Figure>,
}

#[derive(Debug, Serialize)]
struct Figure {
    function: String,
    ratio: f64,
    effect: Effect,
}

/// Where a run of all rows keeps its report.
pub fn place() -> Option<PathBuf> {
    Some(state::folder()?.join("bench-openssl.json"))
}

/// The measurement that is named, or else the one that is kept, if it is of this CPU; `Ok(Err(line))` tells why one is not taken.
///
/// # Errors
/// [`Failure`] where a file that was named is none.
pub(super) fn find(named: Option<&Path>, cpu: &str) -> Result<Result<Option<Measured>, String>, Failure> {
    let place = place();
    let Some(path) = named.or(place.as_deref()) else { return Ok(Ok(None)) };
    let read = match files::config(path) {
        Err(e) if named.is_none() && e.kind() == ErrorKind::NotFound => return Ok(Ok(None)),
        Err(e) => Err(format!("{}: {}", path.display(), cause(&e))),
        Ok(bytes) => Measured::of(&bytes, cpu).map_err(|why| format!("{}: {why}", path.display())),
    };
    match (read, named) {
        (Err(line), Some(_)) => Err(Failure::new(line)),
        (read, _) => Ok(read.map(Some)),
    }
}

impl Measured {
    fn of(bytes: &[u8], cpu: &str) -> Result<Measured, String> {
        let report: MeasuredReport =
            serde_json::from_slice(bytes).map_err(|e| format!("no report of 'adjunct bench openssl --json': {e}"))?;
        if let Some(why) = report.incomplete {
            return Err(format!("the measurement is not whole ({why})"));
        }
        if report.header.cpu != cpu {
            return Err(format!("it was measured on another CPU ({})", report.header.cpu));
        }
        let shown = |row: &Row| row.size.is_none_or(|size| size == RECORD) && row.ratio.is_finite() && row.ratio > 0.0;
        let of =
            |row: Row| Figure { effect: Effect::of(row.ratio, row.ratio), function: row.function, ratio: row.ratio };
        let mut rows: Vec<Figure> = report.rows.into_iter().filter(shown).map(of).collect();
        if rows.is_empty() {
            return Err(format!("it has no row of {RECORD} bytes and none of a key"));
        }
        rows.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        let openssl = report.header.against.unwrap_or(report.header.openssl);
        Ok(Measured { openssl, date: report.header.date, rows })
    }

    fn those(&self, effect: Effect) -> Vec<&Figure> {
        self.rows.iter().filter(|row| row.effect == effect).collect()
    }

    /// The answer in a sentence.
    pub fn answer(&self) -> String {
        let [gains, level, loses] =
            [Effect::Gains, Effect::Level, Effect::Loses].map(|effect| self.those(effect).len());
        let word = match gains {
            0 => "no",
            _ if gains > level + loses => "yes",
            _ => "in part",
        };
        format!("{word}: of {} functions {gains} gain, {level} stay as they are, {loses} lose", self.rows.len())
    }

    /// Text for people: the names of functions that gain and that lose, and the number of the others.
    pub fn text(&self, style: Style) -> String {
        /// The columns that fit a terminal.
        const WIDE: usize = 70;
        let mut text =
            format!("  measured here on {} beside {}, times as fast\n", shown(&self.date), shown(&self.openssl));
        for (effect, word) in [(Effect::Gains, "gains"), (Effect::Level, "level"), (Effect::Loses, "loses")] {
            let those = self.those(effect);
            let names: Vec<String> =
                those.iter().map(|row| format!("{} {}", shown(&row.function), short(row.ratio))).collect();
            let list = match effect {
                _ if names.is_empty() => continue,
                Effect::Level => format!("{} others, between 0.95 and 1.05", names.len()),
                _ => names.join(", "),
            };
            for (at, line) in wrapped(&list, WIDE).iter().enumerate() {
                let head = format!("{:<6}", if at == 0 { word } else { "" });
                let head = match effect {
                    Effect::Gains => style.good(&head),
                    Effect::Level => head,
                    Effect::Loses => style.notice(&head),
                };
                let _ = writeln!(text, "    {head} {line}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(cpu: &str) -> serde_json::Value {
        let row = |function: &str, size: Option<u64>, ratio: f64| json!({ "function": function, "size": size, "ratio": ratio });
        json!({
            "header": { "cpu": cpu, "openssl": "OpenSSL 3.0.22", "date": "2026-11-27T10:00:00Z" },
            "rows": [
                row("AES-128-GCM encrypt", Some(16), 0.5), row("AES-128-GCM encrypt", Some(16384), 2.7), row("SHA2-256", Some(16384), 1.0),
                row("RSA-2048 sign", None, 1.8), row("SHA2-512", Some(16384), 0.8),
            ],
        })
    }

    fn of(value: &serde_json::Value) -> Result<Measured, String> {
        Measured::of(value.to_string().as_bytes(), "this one")
    }

    #[test]
    fn what_was_measured_here_is_the_answer() {
        let measured = of(&report("this one")).unwrap();
        assert_eq!(measured.answer(), "in part: of 4 functions 2 gain, 1 stay as they are, 1 lose");
        let text = measured.text(Style::PLAIN);
        assert!(text.contains("gains  AES-128-GCM encrypt 2.7, RSA-2048 sign 1.8\n"), "{text}");
        assert!(text.contains("level  1 others") && text.contains("loses  SHA2-512 0.8\n"), "{text}");
    }

    #[test]
    fn what_says_nothing_of_this_machine_is_not_taken() {
        assert!(of(&report("another")).unwrap_err().contains("on another CPU (another)"));
        let mut partial = report("this one");
        partial["incomplete"] = json!("interrupted");
        assert!(of(&partial).unwrap_err().contains("not whole (interrupted)"));
        partial = report("this one");
        partial["rows"] = json!([]);
        assert!(of(&partial).unwrap_err().contains("no row"));
        assert!(Measured::of(b"{}", "this one").unwrap_err().contains("no report of"));
    }
}
