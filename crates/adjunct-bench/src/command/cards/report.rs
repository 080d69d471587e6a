//! The report of cards: rows as tables and as JSON.

use crate::accelerator::subject::Function;
use crate::command::accelerator::report::Units;
use crate::crew::{Slice, percentile};
use crate::harness::figures::Rates;
use crate::harness::header::Header;
use crate::harness::row::{self, Column, Table, Trouble, fixed, number, percent};
use crate::harness::run;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::fmt::Write;

/// RSA-2048 CRT operations a second of Crypto Express7S cards with 1 job and with 8 (IBM z15 performance): accelerator and coprocessor.
const EXPRESS: [(&str, f64, f64); 2] = [("CEX7A", 1912.0, 15232.0), ("CEX7C", 1642.0, 11128.0)];

/// The sides of a row, in the order of the table.
pub const SIDES: [&str; 3] = ["stock", "alone", "card"];

/// A row: a function and a number of processes. `card` is the side whose latency and CPU time are in the row.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    function: String,
    processes: u16,
    /// Operations a second of wall time, of all processes together.
    stock: f64,
    alone: f64,
    card: f64,
    /// card over stock.
    ratio: f64,
    p50_us: f64,
    p99_us: f64,
    /// Jobs of a card's batch, on average; null where there was none.
    lanes: Option<f64>,
    /// CPU time of an operation, of the processes and of the cards.
    cpu_us: f64,
    /// What else its line of the table has.
    #[serde(skip)]
    detail: Detail,
}

impl row::Row for Row {
    fn columns() -> Vec<Column<Row>> {
        vec![
            Column::left(18, "operations/s", |row: &Row| row.function.clone()),
            Column::right(5, "proc", |row: &Row| row.processes.to_string()),
            Column::rate(9, "stock", |row| row.stock),
            Column::rate(9, "alone", |row| row.alone),
            Column::rate(9, "card", |row| row.card),
            Column::ratio(7, "ratio", |row| row.ratio),
            Column::ratio(7, "alone", |row| row.detail.alone_ratio),
            Column::ratio(6, "CPU", |row| row.detail.alone_cpu_ratio),
            Column::right(6, "cap", |row: &Row| row.detail.capacity.map(|capacity| fixed(capacity, 2))),
            Column::rate(9, "p50 us", |row| row.p50_us),
            Column::rate(9, "p99 us", |row| row.p99_us),
            Column::rate(11, "stock p50", |row| row.detail.stock.p50_us),
            Column::rate(9, "p99", |row| row.detail.stock.p99_us),
            Column::right(6, "card", |row: &Row| percent(row.detail.by_card) + "%"),
            Column::right(6, "lanes", |row: &Row| row.lanes.map(|lanes| fixed(lanes, 1))),
            Column::rate(9, "CPU us", |row| row.cpu_us),
            Column::rate(7, "alone", |row| row.detail.alone.cpu_us),
            Column::rate(7, "stock", |row| row.detail.stock.cpu_us),
            Column::right(6, "+-", |row: &Row| {
                percent((row.detail.card.fastest - row.detail.card.slowest) / 2.0) + "%"
            }),
        ]
    }
}

/// Further figures of one side in a row.
#[derive(Debug, Clone, Serialize)]
pub struct OfSide {
    /// Operations a second of wall time: the median of the slices.
    pub rate: f64,
    /// The slowest and the fastest slice, over the median.
    slowest: f64,
    fastest: f64,
    p50_us: f64,
    p99_us: f64,
    cpu_us: f64,
}

impl OfSide {
    /// Makes a side's figures of its slices.
    pub fn new(slices: &[Slice]) -> OfSide {
        let per = |slice: &Slice| slice.operations as f64 / slice.wall.as_secs_f64();
        let Rates { median: rate, slowest, fastest } = Rates::of(slices.iter().map(per));
        let cpu: f64 = slices.iter().map(|slice| (slice.cpu + slice.others).as_secs_f64()).sum();
        let operations: u64 = slices.iter().map(|slice| slice.operations).sum();
        OfSide {
            rate,
            slowest,
            fastest,
            p50_us: percentile(slices, 50),
            p99_us: percentile(slices, 99),
            cpu_us: cpu * 1e6 / operations.max(1) as f64,
        }
    }
}

#[derive(Debug, Clone, Serialize)]
struct Detail {
    function: String,
    processes: u16,
    stock: OfSide,
    alone: OfSide,
    card: OfSide,
    /// card over alone: operations a second, and operations a second of CPU time.
    alone_ratio: f64,
    alone_cpu_ratio: f64,
    /// The share of what the kernel would do on all CPUs; null where the function has no kernel.
    capacity: Option<f64>,
    /// The share of the operations that a card did.
    by_card: f64,
}

/// The papers' rows: operations a second with 1 job at a time and with 8.
#[derive(Debug, Clone, Serialize)]
pub struct Paper {
    /// The function.
    pub function: String,
    /// Cards.
    pub cards: usize,
    /// Rate with 1 job.
    pub one: f64,
    /// Rate with 8 jobs.
    pub eight: f64,
}

/// The whole result of the benchmark; what serializes is the content of `--json`.
#[derive(Debug, Serialize)]
pub struct CardsReport {
    header: Header,
    units: Units,
    cpus: usize,
    cards: usize,
    rows: Table<Row>,
    details: Vec<Detail>,
    papers: Vec<Paper>,
    failed: Vec<Trouble>,
    #[serde(skip)]
    style: Style,
}

/// A row's measurements, in the order of [`SIDES`], and what cards did meanwhile.
#[derive(Debug)]
pub struct Measured {
    /// The slices.
    pub slices: [Vec<Slice>; SIDES.len()],
    /// Operations of cards, and their batches.
    pub operations: u64,
    /// See `operations`.
    pub batches: u64,
}

impl CardsReport {
    /// An empty report.
    pub fn new(header: Header, units: Units, cards: usize) -> CardsReport {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let (rows, details, papers, failed) = (Table::default(), Vec::new(), Vec::new(), Vec::new());
        CardsReport { header, units, cpus, cards, rows, details, papers, failed, style: Style::of_stdout() }
    }

    /// Adds a row; its line of the table. `kernel` are the operations a second of one CPU in full lanes.
    pub fn add(&mut self, function: Function, processes: u16, measured: &Measured, kernel: Option<f64>) -> String {
        let [stock, alone, card] = measured.slices.each_ref().map(|slices| OfSide::new(slices));
        let all: u64 = measured.slices[2].iter().map(|slice| slice.all).sum();
        let (alone_ratio, alone_cpu_ratio) =
            (card.rate / alone.rate, alone.cpu_us / card.cpu_us.max(f64::MIN_POSITIVE));
        let detail = Detail {
            function: function.title(),
            processes,
            alone_ratio,
            alone_cpu_ratio,
            capacity: kernel.map(|rate| card.rate / (rate * self.cpus as f64)),
            by_card: measured.operations as f64 / all.max(1) as f64,
            stock,
            alone,
            card,
        };
        self.details.push(detail.clone());
        let Detail { stock, alone, card, .. } = &detail;
        self.rows.add(Row {
            function: function.title(),
            processes,
            stock: stock.rate,
            alone: alone.rate,
            card: card.rate,
            ratio: card.rate / stock.rate,
            p50_us: card.p50_us,
            p99_us: card.p99_us,
            lanes: (measured.batches > 0).then(|| measured.operations as f64 / measured.batches as f64),
            cpu_us: card.cpu_us,
            detail,
        }) + "\n"
    }

    /// The rate of the card side with `processes` processes, where that was measured.
    pub fn rate(&self, function: Function, processes: u16) -> Option<f64> {
        let title = function.title();
        self.rows.iter().find(|row| row.function == title && row.processes == processes).map(|row| row.card)
    }

    /// Adds a row of the papers.
    pub fn add_paper(&mut self, paper: Paper) {
        self.papers.push(paper);
    }

    /// Notes that a function failed; its line of the table.
    pub fn fail(&mut self, function: Function, error: &str) -> String {
        let function = function.title();
        let line = format!("{function:<18} {}\n", self.style.bad(error));
        self.failed.push(Trouble::new(function, error));
        line
    }
}

impl run::Report for CardsReport {
    fn heading(&self) -> String {
        let mut out = self.header.text();
        let rate = self.units.ifma.map_or("no IFMA".to_owned(), |rate| {
            format!("IFMA {rate:.2} G instructions a second (vpmadd52luq, 512 bits)")
        });
        let cards = if self.cards == 1 { "1 card".to_owned() } else { format!("{} cards", self.cards) };
        let _ = writeln!(out, "{} CPUs; {rate}; {cards}", self.cpus);
        let _ = writeln!(out, "\n{}", self.style.strong(&self.rows.head()));
        out
    }

    fn summary(&self) -> String {
        let mut out = String::new();
        if !self.papers.is_empty() {
            let head = format!("{:<18}{:>7}{:>10}{:>10}{:>7}", "operations/s", "cards", "1 job", "8 jobs", "times");
            let _ = writeln!(out, "\n{}", self.style.strong(&head));
            let mut line = |function: &str, cards: &str, one: f64, eight: f64| {
                let (first, second) = (number(one), number(eight));
                let _ = writeln!(out, "{function:<18}{cards:>7}{first:>10}{second:>10}{:>7.2}", eight / one);
            };
            for paper in &self.papers {
                line(&paper.function, &paper.cards.to_string(), paper.one, paper.eight);
            }
            if self.papers.iter().any(|paper| paper.function == Function::Rsa(2048).title()) {
                EXPRESS.iter().for_each(|(name, one, eight)| line("RSA-2048 CRT", name, *one, *eight));
            }
        }
        let _ = writeln!(out, "\n{} rows, {} failed", self.rows.len(), self.failed.len());
        out
    }

    fn failed(&self) -> bool {
        !self.failed.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::run::Report as _;
    use std::time::Duration;

    #[test]
    fn a_row_has_the_values_in_the_order_that_scripts_know() {
        let library = crate::libcrypto::Functions::load(None).unwrap();
        let plan = crate::measure::Plan { slice: Duration::from_millis(1), repeats: 1 };
        let mut report = CardsReport::new(Header::new(library, plan), Units::default(), 1);
        let side = |operations| {
            let (wall, cpu, others) = (Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(1));
            vec![Slice { operations, wall, cpu, others, all: 2 * operations, times: vec![(10, 1), (20, 1)] }]
        };
        let measured = Measured { slices: [side(10), side(20), side(30)], operations: 45, batches: 9 };
        let function = Function::Rsa(2048);
        assert!(report.add(function, 8, &measured, Some(20.0)).starts_with("RSA-2048 sign"));
        report.add_paper(Paper { function: function.title(), cards: 2, one: 5.0, eight: 30.0 });
        assert_eq!((report.rate(function, 8), report.rate(function, 1)), (Some(30.0), None));
        let json = serde_json::to_value(&report).unwrap();
        let expected = serde_json::json!({
            "function": "RSA-2048 sign", "processes": 8, "stock": 10.0, "alone": 20.0, "card": 30.0, "ratio": 3.0,
            "p50_us": 0.01, "p99_us": 0.02, "lanes": 5.0, "cpu_us": 100_000.0});
        assert_eq!(json["rows"][0].to_string(), expected.to_string());
        let detail = &json["details"][0];
        assert_eq!((&detail["alone_ratio"], &detail["by_card"]), (&1.5.into(), &0.75.into()));
        let summary = report.summary();
        assert!(summary.contains("15232") && summary.contains("11128") && summary.contains("6.00"), "{summary}");
    }
}
