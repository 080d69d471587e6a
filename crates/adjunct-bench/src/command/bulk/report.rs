//! The bulk report: rows as a table and as JSON.

use crate::harness::header::Header;
use crate::harness::row::{self, Column, Table, Trouble, fixed, percent};
use crate::harness::run;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::fmt::Write;

/// A ratio below this is marked.
pub const FLOOR: f64 = 0.95;
/// The least share of the kernel's speed that is to remain through EVP, from [`LARGE`] bytes on.
pub const THROUGH: f64 = 0.85;
/// Size of a message in bytes from which it counts as large.
pub const LARGE: usize = 16384;

/// The rates of one row's sides in GB/s; `None` where a side does not have the function.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rates {
    /// OpenSSL's default provider, through EVP.
    pub stock: Option<f64>,
    /// adjunct through the same EVP.
    pub adjunct: Option<f64>,
    /// The newest OpenSSL's default provider through its EVP.
    pub newest: Option<f64>,
    /// adjunct through the newest OpenSSL's EVP.
    pub adjunct_newest: Option<f64>,
    /// AWS-LC, called directly.
    pub library: Option<f64>,
    /// adjunct's code, called directly.
    pub kernel: Option<f64>,
    /// The limit of the AES unit, measured in the same turns.
    pub limit: Option<f64>,
}

/// One row.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    function: String,
    size: usize,
    unit: &'static str,
    stock: Option<f64>,
    adjunct: Option<f64>,
    ratio: Option<f64>,
    newest: Option<f64>,
    adjunct_newest: Option<f64>,
    ratio_newest: Option<f64>,
    library: Option<f64>,
    kernel: Option<f64>,
    ratio_library: Option<f64>,
    limit: Option<f64>,
    /// The kernel's share of the limit.
    share: Option<f64>,
    /// The share of the kernel's speed that remains through the system's EVP.
    evp: Option<f64>,
}

impl Row {
    /// Makes the row of these rates.
    pub fn new(function: String, size: usize, rates: Rates) -> Row {
        let Rates { stock, adjunct, newest, adjunct_newest, library, kernel, limit } = rates;
        let over = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a / b);
        Row {
            function,
            size,
            unit: "GB/s",
            stock,
            adjunct,
            ratio: over(adjunct, stock),
            newest,
            adjunct_newest,
            ratio_newest: over(adjunct_newest, newest),
            library,
            kernel,
            ratio_library: over(kernel, library),
            limit,
            share: over(kernel, limit),
            evp: over(adjunct, kernel),
        }
    }

    /// Whether adjunct is slower than what it is compared with, in any of the ratios.
    pub fn slow(&self) -> bool {
        [self.ratio, self.ratio_newest, self.ratio_library].into_iter().flatten().any(|ratio| ratio < FLOOR)
    }

    /// Losing too much of the kernel's speed in EVP.
    pub fn lossy(&self) -> bool {
        self.size >= LARGE && self.evp.is_some_and(|evp| evp < THROUGH)
    }
}

impl row::Row for Row {
    fn columns() -> Vec<Column<Row>> {
        // Two sides and their ratio.
        let rate = |width: usize, head: &str, of: fn(&Row) -> Option<f64>| {
            Column::right(width, head, move |row: &Row| of(row).map(|rate| fixed(rate, 3)))
        };
        let ratio = |of: fn(&Row) -> Option<f64>| {
            Column::right(6, "ratio", move |row: &Row| of(row).map(|ratio| fixed(ratio, 2)))
        };
        let share = |width: usize, head: &str, of: fn(&Row) -> Option<f64>| {
            Column::right(width, head, move |row: &Row| of(row).map(|part| percent(part) + " %"))
        };
        vec![
            Column::left(26, "GB/s", |row: &Row| row.function.clone()),
            Column::right(6, "size", |row: &Row| row.size.to_string()),
            rate(9, "stock", |row| row.stock),
            rate(8, "adjunct", |row| row.adjunct),
            ratio(|row| row.ratio),
            rate(9, "newest", |row| row.newest),
            rate(8, "adjunct", |row| row.adjunct_newest),
            ratio(|row| row.ratio_newest),
            rate(9, "AWS-LC", |row| row.library),
            rate(8, "kernel", |row| row.kernel),
            ratio(|row| row.ratio_library),
            share(7, "share", |row| row.share),
            share(6, "EVP", |row| row.evp),
        ]
    }
}

/// The rate of the AES unit.
#[derive(Debug, Serialize)]
pub struct AesUnit {
    /// The instruction.
    pub instruction: &'static str,
    /// The rate of the instruction, in 10^9 a second.
    pub giga_per_second: f64,
}

/// The whole result of the benchmark; what serializes is the content of `--json`.
#[derive(Debug, Serialize)]
pub struct BulkReport {
    header: Header,
    aes_unit: Option<AesUnit>,
    rows: Table<Row>,
    failed: Vec<Trouble>,
    #[serde(skip)]
    style: Style,
}

impl BulkReport {
    /// An empty report.
    pub fn new(header: Header, aes_unit: Option<AesUnit>) -> BulkReport {
        BulkReport { header, aes_unit, rows: Table::default(), failed: Vec::new(), style: Style::of_stdout() }
    }

    /// Adds a row; its line of the table.
    pub fn add(&mut self, row: Row) -> String {
        let mut mark = String::new();
        if row.slow() {
            mark += &self.style.bad(&format!("  < {FLOOR}"));
        }
        if row.lossy() {
            mark += &self.style.bad(&format!("  EVP < {:.0} %", THROUGH * 100.0));
        }
        self.rows.add(row) + &mark + "\n"
    }

    /// Notes that a row failed; its line of the table.
    pub fn fail(&mut self, function: String, size: usize, error: &str) -> String {
        let line = format!("{function:<26} {size:>7} {}\n", self.style.bad(error));
        self.failed.push(Trouble::of_size(function, Some(size), error));
        line
    }
}

impl run::Report for BulkReport {
    fn heading(&self) -> String {
        let mut out = self.header.text();
        let _ = match &self.aes_unit {
            Some(unit) => {
                writeln!(out, "AES unit: {:.2} G instructions a second ({})", unit.giga_per_second, unit.instruction)
            }
            None => writeln!(out, "no AES instructions: software, and no limit to compare with"),
        };
        let _ = writeln!(out, "\n{}", self.style.strong(&self.rows.head()));
        out
    }

    fn summary(&self) -> String {
        let count = |which: fn(&Row) -> bool| self.rows.iter().filter(|r| which(r)).count();
        let mut out = format!(
            "\n{} rows, {} with a ratio below {FLOOR}, {} of {LARGE} bytes or more where EVP leaves less than {:.0} % of the \
             kernel, {} failed\n",
            self.rows.len(),
            count(Row::slow),
            count(Row::lossy),
            THROUGH * 100.0,
            self.failed.len()
        );
        if self.header.newest.is_none() {
            out += "The newest OpenSSL was not measured: --newest ROOT, or benches/bulk, which unpacks one.\n";
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
    fn a_row_compares_like_with_like() {
        let rates = Rates {
            stock: Some(2.0),
            adjunct: Some(3.0),
            newest: Some(4.0),
            adjunct_newest: Some(3.0),
            library: None,
            kernel: Some(8.0),
            limit: Some(10.0),
        };
        let row = Row::new("AES".to_owned(), LARGE, rates);
        assert!(row.slow() && row.lossy());
        let expected = serde_json::json!({
            "function": "AES", "size": LARGE, "unit": "GB/s", "stock": 2.0, "adjunct": 3.0, "ratio": 1.5, "newest": 4.0,
            "adjunct_newest": 3.0, "ratio_newest": 0.75, "library": null, "kernel": 8.0, "ratio_library": null,
            "limit": 10.0, "share": 0.8, "evp": 0.375});
        assert_eq!(serde_json::to_value(&row).unwrap(), expected);
        let row = Row::new("AES".to_owned(), 16, Rates { newest: None, ..rates });
        assert!(!row.slow() && !row.lossy());
    }
}
