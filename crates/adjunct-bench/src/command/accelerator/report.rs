//! The accelerator's report: rows as tables and as JSON.

use crate::accelerator::load::Measured;
use crate::accelerator::subject::Function;
use crate::harness::header::Header;
use crate::harness::row::{self, Column, Table, Trouble, fixed, number, percent};
use crate::harness::run;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::fmt::Write;

/// A row: a function and a number of threads.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    function: String,
    threads: usize,
    /// Operations a second of wall time.
    stock: f64,
    library: f64,
    adjunct: f64,
    /// adjunct over stock.
    ratio: f64,
    /// Latency of adjunct's operations in microseconds.
    p50_us: f64,
    p99_us: f64,
    /// Lanes filled in a batch, on average; null where there was no batch, or nothing was counted.
    lanes: Option<f64>,
    /// Operations a second with the accelerator off, and adjunct's over that, by wall and by CPU time.
    alone: f64,
    alone_ratio: f64,
    alone_cpu_ratio: f64,
    /// adjunct over AWS-LC.
    library_ratio: f64,
    /// CPUs that adjunct's threads kept busy, on average.
    cpus: f64,
    /// The row's share of what the kernel would do on all CPUs; null where the function has no kernel.
    capacity: Option<f64>,
    /// Stock's latency, and how far adjunct's slices scatter: among the details in JSON.
    #[serde(skip)]
    stock_us: [f64; 2],
    #[serde(skip)]
    scatter: f64,
}

impl row::Row for Row {
    fn columns() -> Vec<Column<Row>> {
        vec![
            Column::left(18, "operations/s", |row: &Row| row.function.clone()),
            Column::right(4, "thr", |row: &Row| row.threads.to_string()),
            Column::rate(9, "stock", |row| row.stock),
            Column::rate(9, "AWS-LC", |row| row.library),
            Column::rate(9, "alone", |row| row.alone),
            Column::rate(9, "adjunct", |row| row.adjunct),
            Column::ratio(7, "ratio", |row| row.ratio),
            Column::ratio(6, "lib", |row| row.library_ratio),
            Column::ratio(7, "alone", |row| row.alone_ratio),
            Column::ratio(6, "CPU", |row| row.alone_cpu_ratio),
            Column::ratio(6, "CPUs", |row| row.cpus),
            Column::right(6, "cap", |row: &Row| row.capacity.map(|capacity| fixed(capacity, 2))),
            Column::rate(9, "p50 us", |row| row.p50_us),
            Column::rate(9, "p99 us", |row| row.p99_us),
            Column::rate(11, "stock p50", |row| row.stock_us[0]),
            Column::rate(9, "p99", |row| row.stock_us[1]),
            Column::right(6, "lanes", |row: &Row| row.lanes.map(|lanes| fixed(lanes, 1))),
            Column::right(7, "+-", |row: &Row| percent(row.scatter) + " %"),
        ]
    }
}

/// Further figures of one side in one row.
#[derive(Debug, Clone, Serialize)]
struct Detail {
    function: String,
    threads: usize,
    side: &'static str,
    /// Operations a second of wall time, and of CPU time.
    rate: f64,
    cpu_rate: f64,
    /// The slowest and the fastest slice, over the median.
    slowest: f64,
    fastest: f64,
    p50_us: f64,
    p99_us: f64,
}

/// A kernel by itself, on one core.
#[derive(Debug, Clone, Serialize)]
pub struct KernelRow {
    /// The function.
    pub function: String,
    /// Operations a second of CPU time, all lanes full.
    pub operations: f64,
    /// AWS-LC's, one after the other.
    pub library: f64,
    /// The first over the second.
    pub ratio: f64,
    /// The share of the first that is left where threads hand each operation over, as measured without the operations.
    pub reach: f64,
    /// IFMA instructions an operation: an eighth of a batch's; null for lanes of AVX2 and FMA.
    pub instructions: Option<f64>,
    /// Operations a second if the unit did nothing else.
    pub limit: Option<f64>,
    /// The kernel's rate as a share of [`limit`](Self::limit).
    pub share: Option<f64>,
}

impl row::Row for KernelRow {
    fn columns() -> Vec<Column<KernelRow>> {
        vec![
            Column::left(18, "lanes full", |row: &KernelRow| row.function.clone()),
            Column::right(13, "op/s a core", |row: &KernelRow| number(row.operations)),
            Column::right(9, "AWS-LC", |row: &KernelRow| number(row.library)),
            Column::right(7, "ratio", |row: &KernelRow| fixed(row.ratio, 2)),
            Column::right(9, "IFMA/op", |row: &KernelRow| row.instructions.map(number)),
            Column::right(11, "limit op/s", |row: &KernelRow| row.limit.map(number)),
            Column::right(7, "share", |row: &KernelRow| row.share.map(|share| percent(share) + " %")),
            Column::right(7, "reach", |row: &KernelRow| fixed(row.reach, 2)),
        ]
    }
}

/// The rates of the CPU's units, in 10^9 instructions a second.
#[derive(Debug, Default, Serialize)]
pub struct Units {
    /// IFMA, 512 bits; `None` without.
    pub ifma: Option<f64>,
    /// A round of AES, and how wide; `None` without.
    pub aes: Option<f64>,
    /// The instruction of the AES unit.
    pub aes_instruction: Option<&'static str>,
    /// Nanoseconds of CPU time that handing an operation over costs at least.
    pub handing_over_ns: f64,
}

/// The whole result of the benchmark; what serializes is the content of `--json`.
#[derive(Debug, Serialize)]
pub struct AcceleratorReport {
    header: Header,
    units: Units,
    cpus: usize,
    /// Whether the threads share batches.
    always: bool,
    rows: Table<Row>,
    kernels: Table<KernelRow>,
    details: Vec<Detail>,
    failed: Vec<Trouble>,
    #[serde(skip)]
    express: Vec<String>,
    #[serde(skip)]
    style: Style,
}

/// The sides of a row, in the order of the table.
pub const SIDES: [&str; 4] = ["stock", "library", "alone", "adjunct"];

impl AcceleratorReport {
    /// An empty report.
    pub fn new(header: Header, units: Units, always: bool) -> AcceleratorReport {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let (rows, kernels, details) = (Table::default(), Table::default(), Vec::new());
        let (failed, express, style) = (Vec::new(), Vec::new(), Style::of_stdout());
        AcceleratorReport { header, units, cpus, always, rows, kernels, details, failed, express, style }
    }

    /// The head of the table of loads.
    pub fn load_head(&self) -> String {
        format!("\n{}\n", self.style.strong(&self.rows.head()))
    }

    /// Adds a row; its line of the table.
    pub fn add(
        &mut self,
        function: Function,
        threads: usize,
        sides: &[Measured; SIDES.len()],
        lanes: Option<f64>,
    ) -> String {
        let [stock, library, alone, adjunct] = sides;
        let title = function.title();
        for (side, m) in SIDES.into_iter().zip(sides) {
            self.details.push(Detail {
                function: title.clone(),
                threads,
                side,
                rate: m.rate.median,
                cpu_rate: m.cpu_rate,
                slowest: m.rate.slowest,
                fastest: m.rate.fastest,
                p50_us: m.p50,
                p99_us: m.p99,
            });
        }
        let kernel = self.kernels.iter().find(|row| row.function == title).map(|row| row.operations);
        let row = Row {
            function: title,
            threads,
            stock: stock.rate.median,
            library: library.rate.median,
            adjunct: adjunct.rate.median,
            ratio: adjunct.rate.median / stock.rate.median,
            p50_us: adjunct.p50,
            p99_us: adjunct.p99,
            lanes,
            alone: alone.rate.median,
            alone_ratio: adjunct.rate.median / alone.rate.median,
            alone_cpu_ratio: adjunct.cpu_rate / alone.cpu_rate,
            library_ratio: adjunct.rate.median / library.rate.median,
            cpus: adjunct.rate.median / adjunct.cpu_rate,
            capacity: kernel.map(|rate| adjunct.rate.median / (rate * self.cpus as f64)),
            stock_us: [stock.p50, stock.p99],
            scatter: adjunct.rate.half(),
        };
        self.rows.add(row) + "\n"
    }

    /// The papers' table: operations a second with 1 job and with 8; empty where these were not both measured.
    pub fn papers(&mut self, function: Function) {
        let title = function.title();
        let rate = |threads| self.rows.iter().find(|r| r.function == title && r.threads == threads).map(|r| r.adjunct);
        let Some((one, eight)) = rate(1).zip(rate(8)) else { return };
        let mut line = format!("{title:<18}{:>10}{:>10}{:>7.2}", number(one), number(eight), eight / one);
        if let Some((one, eight)) = function.crypto_express() {
            let _ = write!(line, "{:>14}{:>10}{:>7.2}", number(one), number(eight), eight / one);
        }
        self.express.push(line);
    }

    /// The head of the kernels' table.
    pub fn kernel_head(&self) -> String {
        format!("\n{}\n", self.style.strong(&self.kernels.head()))
    }

    /// Adds a kernel's row; its line.
    pub fn add_kernel(&mut self, row: KernelRow) -> String {
        self.kernels.add(row) + "\n"
    }

    /// Notes that a function failed; its line of the table.
    pub fn fail(&mut self, function: Function, error: &str) -> String {
        let function = function.title();
        let line = format!("{function:<18} {}\n", self.style.bad(error));
        self.failed.push(Trouble::new(function, error));
        line
    }

    /// The functions none of whose rows is below stock's or AWS-LC's rate.
    fn paying(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.rows.iter().map(|row| row.function.as_str()).collect();
        names.dedup();
        let below = |row: &&Row| row.adjunct < row.stock || row.adjunct < row.library;
        names.retain(|name| !self.rows.iter().filter(below).any(|row| row.function == *name));
        names
    }
}

impl run::Report for AcceleratorReport {
    fn heading(&self) -> String {
        let mut out = self.header.text();
        let _ = write!(out, "{} CPUs; G instructions a second: ", self.cpus);
        let ifma = self.units.ifma.map(|rate| format!("IFMA {rate:.2} (vpmadd52luq, 512 bits)"));
        let aes = self.units.aes.zip(self.units.aes_instruction).map(|(rate, name)| format!("AES {rate:.2} ({name})"));
        let all: Vec<String> = ifma.into_iter().chain(aes).collect();
        let _ =
            writeln!(out, "{}", if all.is_empty() { "neither IFMA nor AES here".to_owned() } else { all.join(", ") });
        let microseconds = self.units.handing_over_ns / 1e3;
        let _ = writeln!(
            out,
            "Handing an operation over: {microseconds:.1} us of CPU time (64 threads, eight that sleep and wake together)"
        );
        match adjunct::cpu::rsa_lanes() {
            None => {
                let text = "Neither AVX-512 IFMA nor AVX2 and FMA (not in this CPU, or taken away): there are no lanes, and adjunct does \
                            these operations one after the other, as AWS-LC does.\n";
                out += &self.style.notice(text);
                return out;
            }
            Some(lanes) if !lanes.are_dedicated() => {
                let text = "No AVX-512 IFMA (not in this CPU, or taken away): RSA has lanes of AVX2 and FMA, other functions none.\n";
                out += &self.style.notice(text);
            }
            Some(_) => {}
        }
        if self.always {
            out += "Threads that call at once always share batches, as with accelerator = always in openssl.cnf.\n";
        } else {
            out += "Threads that call at once share batches where that was measured to be faster, as by default.\n";
        }
        out
    }

    fn summary(&self) -> String {
        let mut out = String::new();
        if !self.express.is_empty() {
            let head = format!(
                "{:<18}{:>10}{:>10}{:>7}{:>14}{:>10}{:>7}",
                "operations/s", "1 job", "8 jobs", "times", "CEX7S 1 job", "8 jobs", "times"
            );
            let _ = writeln!(out, "\n{}\n{}", self.style.strong(&head), self.express.join("\n"));
        }
        if self.always && !self.rows.is_empty() {
            let paying = self.paying();
            let names = if paying.is_empty() { "none".to_owned() } else { paying.join(", ") };
            let _ = writeln!(out, "\nAt least as fast as stock and as AWS-LC in every row: {names}");
        }
        let _ =
            writeln!(out, "\n{} rows, {} kernels, {} failed", self.rows.len(), self.kernels.len(), self.failed.len());
        out
    }

    fn failed(&self) -> bool {
        !self.failed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::figures::Rates;
    use crate::harness::run::Report as _;

    #[test]
    fn a_row_has_the_values_in_the_order_that_scripts_know() {
        let library = crate::libcrypto::Functions::load(None).unwrap();
        let plan = crate::measure::Plan { slice: std::time::Duration::from_millis(1), repeats: 1 };
        let mut report = AcceleratorReport::new(Header::new(library, plan), Units::default(), true);
        let side = |rate: f64| Measured {
            rate: Rates { median: rate, slowest: 0.9, fastest: 1.1 },
            cpu_rate: rate,
            p50: 1.5,
            p99: 2.5,
            extra: Vec::new(),
        };
        let sides = [side(10.0), side(20.0), side(15.0), side(30.0)];
        for threads in [1, 8] {
            report.add(Function::Rsa(2048), threads, &sides, Some(7.5));
        }
        report.papers(Function::Rsa(2048));
        let json = serde_json::to_value(&report).unwrap();
        let expected = serde_json::json!({
            "function": "RSA-2048 sign", "threads": 1, "stock": 10.0, "library": 20.0, "adjunct": 30.0, "ratio": 3.0,
            "p50_us": 1.5, "p99_us": 2.5, "lanes": 7.5, "alone": 15.0, "alone_ratio": 2.0, "alone_cpu_ratio": 2.0,
            "library_ratio": 1.5, "cpus": 1.0, "capacity": null});
        assert_eq!(json["rows"][0].to_string(), expected.to_string());
        assert_eq!(json["details"].as_array().unwrap().len(), 8);
        assert!(report.summary().contains("1912") && report.heading().contains("neither IFMA nor AES here"));
        // One row below AWS-LC is enough, and one below stock.
        report.add(Function::Rsa(3072), 2, &sides, None);
        report.add(Function::Rsa(3072), 4, &[side(10.0), side(40.0), side(15.0), side(30.0)], None);
        report.add(Function::Rsa(4096), 2, &[side(31.0), side(20.0), side(15.0), side(30.0)], None);
        assert_eq!(report.paying(), ["RSA-2048 sign"]);
        assert!(report.summary().contains("in every row: RSA-2048 sign\n"));
    }
}
