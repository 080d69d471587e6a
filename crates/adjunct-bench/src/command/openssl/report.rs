//! What the benchmark reports: rows as a table and as JSON.

use super::class::Imitated;
use crate::harness::header::Header;
use crate::harness::row::{self, Column, Table, Trouble, fixed};
use crate::harness::run;
use crate::libcrypto::Functions;
use crate::measure::{Plan, Rates};
use adjunct_cli::counted::Served;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::fmt::Write;

/// Rows under this are marked.
pub const FLOOR: f64 = 0.95;

/// The unit of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// 10^9 bytes a second.
    #[serde(rename = "GB/s")]
    Bytes,
    /// Operations a second.
    #[serde(rename = "op/s")]
    Operations,
}

impl Unit {
    /// A number of it.
    pub(super) fn number(self, value: f64) -> String {
        match self {
            Unit::Bytes => fixed(value, 3),
            Unit::Operations => fixed(value, usize::from(value < 100.0)),
        }
    }
}

/// One row.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub(super) function: String,
    pub(super) size: Option<usize>,
    pub(super) unit: Unit,
    pub(super) stock: f64,
    pub(super) adjunct: f64,
    pub(super) ratio: f64,
    /// Operations of adjunct's side, by what ran them.
    served: Served,
}

impl Row {
    /// The row of `rates` operations a second, each of `size` bytes where it has a size, of which adjunct counted `served`.
    pub fn new(function: String, size: Option<usize>, rates: Rates, served: Served) -> Row {
        let (unit, scale) = match size {
            Some(bytes) => (Unit::Bytes, bytes as f64 / 1e9),
            None => (Unit::Operations, 1.0),
        };
        let (stock, adjunct, ratio) = (rates.stock * scale, rates.adjunct * scale, rates.ratio());
        Row { function, size, unit, stock, adjunct, ratio, served }
    }

    /// Whether hardware or software ran adjunct's side, as the table shows it.
    pub(super) fn ran(&self) -> &'static str {
        match self.served {
            Served { hardware: 0, software: 0 } => "-",
            Served { hardware: 0, .. } => "sw",
            Served { software: 0, .. } => "hw",
            Served { .. } => "hw+sw",
        }
    }
}

impl row::Row for Row {
    fn columns() -> Vec<Column<Row>> {
        vec![
            Column::left(34, "function", |row: &Row| row.function.clone()),
            Column::right(9, "size", |row: &Row| row.size.map(|size| size.to_string())),
            Column::right(6, "unit", |row: &Row| if row.unit == Unit::Bytes { "GB/s" } else { "op/s" }.to_owned()),
            Column::right(12, "stock", |row: &Row| row.unit.number(row.stock)),
            Column::right(12, "adjunct", |row: &Row| row.unit.number(row.adjunct)),
            Column::right(7, "ratio", |row: &Row| fixed(row.ratio, 2)),
            Column::right(6, "ran", |row: &Row| row.ran().to_owned()),
        ]
    }
}

/// The whole result of the benchmark; what serializes is the content of `--json`.
#[derive(Debug, Serialize)]
pub struct OpenSslReport {
    pub(super) header: Header,
    /// The class of CPU that the rows are of, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) class: Option<Imitated>,
    pub(super) rows: Table<Row>,
    skipped: Vec<String>,
    failed: Vec<Trouble>,
    #[serde(skip)]
    style: Style,
}

impl OpenSslReport {
    /// An empty report.
    pub fn new(library: &Functions, stock_library: &Functions, plan: Plan, class: Option<Imitated>) -> OpenSslReport {
        let mut header = Header::new(library, plan);
        header.against = Some(stock_library.version()).filter(|stock| *stock != header.openssl);
        OpenSslReport {
            header,
            class,
            rows: Table::default(),
            skipped: Vec::new(),
            failed: Vec::new(),
            style: Style::of_stdout(),
        }
    }

    /// Adds a row; its line of the table.
    pub fn add(&mut self, row: Row) -> String {
        let mark = if row.ratio < FLOOR { self.style.bad("  < 0.95") } else { String::new() };
        self.rows.add(row) + &mark + "\n"
    }

    /// Notes that `side` does not have `function`.
    pub fn skip(&mut self, function: String, side: &str) {
        let entry = format!("{function} ({side} does not have it)");
        if !self.skipped.contains(&entry) {
            self.skipped.push(entry);
        }
    }

    /// Notes that a row failed; its line of the table.
    pub fn fail(&mut self, function: String, size: Option<usize>, error: &str) -> String {
        let bytes = size.map_or("-".to_owned(), |s| s.to_string());
        let line = format!("{function:<34} {bytes:>8} {}\n", self.style.bad(error));
        self.failed.push(Trouble::of_size(function, size, error));
        line
    }
}

impl run::Report for OpenSslReport {
    fn heading(&self) -> String {
        let mut out = self.header.text();
        if let Some(class) = &self.class {
            let _ = writeln!(out, "{}", class.line());
        }
        let _ = writeln!(out, "\n{}", self.style.strong(&self.rows.head()));
        out
    }

    fn summary(&self) -> String {
        let mut out = String::from("\n");
        for skipped in &self.skipped {
            let _ = writeln!(out, "skipped: {skipped}");
        }
        let low: Vec<&Row> = self.rows.iter().filter(|r| r.ratio < FLOOR).collect();
        let _ = writeln!(
            out,
            "{} rows, {} below {FLOOR}, {} failed, {} skipped",
            self.rows.len(),
            low.len(),
            self.failed.len(),
            self.skipped.len()
        );
        let served = self.rows.iter().fold(Served::default(), |sum, row| sum.plus(row.served));
        let _ = writeln!(
            out,
            "counted for this run alone: {} operations in hardware, {} in software",
            served.hardware, served.software
        );
        for row in low {
            let size = row.size.map_or(String::new(), |s| format!(", {s} bytes"));
            let _ = writeln!(out, "below {FLOOR}: {}{size}: {:.2}", row.function, row.ratio);
        }
        out
    }

    fn failed(&self) -> bool {
        !self.failed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_bytes_or_operations() {
        let rates = Rates { stock: 1e6, adjunct: 2e6 };
        let served = Served { hardware: 7, software: 0 };
        let json = serde_json::to_value(Row::new("AES".to_owned(), Some(1000), rates, served)).unwrap();
        let expected = serde_json::json!(
            {"function": "AES", "size": 1000, "unit": "GB/s", "stock": 1.0, "adjunct": 2.0, "ratio": 2.0,
            "served": {"hardware": 7, "software": 0}});
        assert_eq!(json, expected);
        assert_eq!(serde_json::to_value(Row::new("RSA".to_owned(), None, rates, served)).unwrap()["unit"], "op/s");
    }
}
