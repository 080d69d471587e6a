//! The table and the JSON of `adjunct bench ep11`.

use crate::ep11::row::{Group, Row};
use crate::harness::busy::Watch;
use crate::harness::figures::{Verdict, median};
use crate::harness::header::now;
use crate::harness::row::{self, Column, Table, fixed, number};
use crate::harness::run;
use crate::load::{Done, Why};
use adjunct::cpu;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What threads did in a slice, and the CPU time of the cards for it.
#[derive(Debug, Clone, Copy)]
pub struct Slice {
    /// Of the threads.
    pub done: Done,
    /// Of the cards and the daemon.
    pub card: Duration,
}

/// The figures with so many jobs at a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Figures {
    pub per_second: f64,
    /// What they stand beside.
    pub beside: f64,
    pub times: f64,
    /// CPU time of an operation: the calling threads', and the cards' with the daemon's.
    pub client_us: f64,
    pub card_us: f64,
}

/// A row with so many cards.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    pub function: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<usize>,
    pub cards: u8,
    pub group: Group,
    /// With one job and with eight; none where the group has none, or it could not be measured.
    pub one: Option<Figures>,
    pub eight: Option<Figures>,
    pub lost: bool,
    /// Why it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The letter of the reason below the tables.
    #[serde(skip)]
    letter: Option<char>,
}

impl Line {
    fn note(&self) -> String {
        let letter = self.letter.map_or_else(String::new, |letter| format!(" ({letter})"));
        match (&self.error, &self.missing, self.lost) {
            (Some(error), ..) => error.clone(),
            (_, Some(missing), _) => format!("missing: {missing}"),
            (_, _, true) => format!("lost{letter}"),
            _ => String::new(),
        }
    }
}

fn verdict(figures: Option<&Figures>) -> Option<Verdict> {
    figures.map(|figures| if figures.times < 1.0 { Verdict::Worse } else { Verdict::Better })
}

impl row::Row for Line {
    fn columns() -> Vec<Column<Line>> {
        type Of = fn(&Line) -> Option<&Figures>;
        let of = |get: Of, judge: fn(&Line) -> Option<Verdict>, name: &'static str| {
            let column = |width, head: &'static str, text: fn(&Figures) -> String| {
                Column::right(width, head, move |line: &Line| get(line).map(text)).named(head)
            };
            [
                column(10, name, |figures| number(figures.per_second)),
                column(8, "CEX7P", |figures| number(figures.beside)),
                column(8, "times", |figures| fixed(figures.times, 2)).judged(judge),
                column(9, "us", |figures| number(figures.client_us)),
                column(9, "card us", |figures| number(figures.card_us)),
            ]
        };
        let mut columns = vec![
            Column::left(27, "operations/s", |line: &Line| line.function.clone()),
            Column::right(8, "bytes", |line: &Line| Some(line.size.map_or_else(String::new, |size| size.to_string()))),
            Column::right(6, "cards", |line: &Line| line.cards.to_string()),
        ];
        columns.extend(of(|line| line.one.as_ref(), |line| verdict(line.one.as_ref()), "1 job"));
        columns.extend(of(|line| line.eight.as_ref(), |line| verdict(line.eight.as_ref()), "8 jobs"));
        columns.push(Column::left(0, "", |line: &Line| line.note()).named("note"));
        columns
    }
}

/// All of a run.
#[derive(Debug, Serialize)]
pub struct Ep11Report {
    pub(super) cpu: String,
    pub(super) features: Vec<&'static str>,
    pub(super) cpus: usize,
    pub(super) adjunct: &'static str,
    pub(super) date: String,
    library: PathBuf,
    pub(super) cards: u8,
    slice_ms: f64,
    repeats: usize,
    pub(super) rows: Table<Line>,
    #[serde(skip)]
    pub(super) reasons: Vec<&'static str>,
    #[serde(skip)]
    style: Style,
    /// Whether the machine was quiet.
    #[serde(skip)]
    pub watch: Watch,
}

fn figures(slices: &[Slice], beside: f64, is_uneven: bool) -> Figures {
    let sum = |of: fn(&Slice) -> f64| slices.iter().map(of).sum::<f64>().max(f64::MIN_POSITIVE);
    let operations = sum(|slice| slice.done.operations as f64);
    let rate = |slice: &Slice| slice.done.operations as f64 / slice.done.wall.as_secs_f64().max(1e-9);
    let per_second = if is_uneven {
        operations / sum(|slice| slice.done.wall.as_secs_f64())
    } else {
        median(slices.iter().map(rate))
    };
    let us = |seconds: f64| seconds * 1e6 / operations;
    Figures {
        per_second,
        beside,
        times: per_second / beside,
        client_us: us(sum(|slice| slice.done.cpu.as_secs_f64())),
        card_us: us(sum(|slice| slice.card.as_secs_f64())),
    }
}

impl Ep11Report {
    /// Makes a report without rows.
    pub fn new(library: &Path, cards: u8, slice: Duration, repeats: usize) -> Ep11Report {
        Ep11Report {
            cpu: cpu::model_name(),
            features: cpu::features().iter().map(|feature| feature.text()).collect(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            adjunct: env!("CARGO_PKG_VERSION"),
            date: now(),
            library: library.to_owned(),
            cards,
            slice_ms: slice.as_secs_f64() * 1e3,
            repeats,
            rows: Table::default(),
            reasons: Vec::new(),
            style: Style::of_stdout(),
            watch: Watch::start(),
        }
    }

    /// Adds a row with what one job and eight came to; its line of the table.
    pub fn add(&mut self, row: &Row, cards: u8, results: [Option<&Result<Vec<Slice>, Why>>; 2]) -> String {
        let (mut missing, mut error) = (None, None);
        let mut of = |result: Option<&Result<Vec<Slice>, Why>>, beside: Option<f64>| match result? {
            Ok(slices) => Some(figures(slices, beside?, row.is_uneven())),
            Err(Why::Missing(why)) => {
                missing = Some(why.clone());
                None
            }
            Err(Why::Failed(why)) => {
                error = Some(why.clone());
                None
            }
        };
        let [one, eight] = [of(results[0], row.beside[0]), of(results[1], row.beside[1])];
        let lost = one.iter().chain(&eight).any(|figures| figures.times < 1.0);
        let risk = row.risk();
        let letter = risk.filter(|_| lost).map(|reason| {
            let at = self.reasons.iter().position(|other| *other == reason).unwrap_or_else(|| {
                self.reasons.push(reason);
                self.reasons.len() - 1
            });
            ('a'..='z').nth(at).unwrap_or('z')
        });
        let (function, size, group) = (row.title(), row.size, row.group);
        let line = Line { function, size, cards, group, one, eight, lost, risk, missing, error, letter };
        let note = line.note();
        let note = if note.is_empty() { note } else { format!("  {}", self.style.bad(&note)) };
        // The first of another group comes below a head of its own.
        let apart = self.rows.last().is_some_and(|last| last.group != line.group);
        let head = if apart { format!("\n{}\n", self.style.strong(&self.rows.head())) } else { String::new() };
        format!("{head}{}{note}\n", self.rows.add(line))
    }

    /// How the machine was, how it was measured.
    pub(super) fn method(&self) -> String {
        format!(
            "{} CPUs; one thread and eight; medians of {} slices of {:.0} ms wall time; clients and cards share the CPUs",
            self.cpus, self.repeats, self.slice_ms
        )
    }

    /// How many figures there are, and how many of them are at least those beside them.
    pub(super) fn won(&self) -> (usize, usize) {
        let all = || self.rows.iter().flat_map(|line| line.one.iter().chain(&line.eight));
        (all().filter(|figures| figures.times >= 1.0).count(), all().count())
    }

    /// The sentence on what was measured.
    pub(super) fn sentence(&self) -> String {
        let (won, all) = self.won();
        let missing = self.rows.iter().filter(|line| line.missing.is_some()).count();
        let failed = self.rows.iter().filter(|line| line.error.is_some()).count();
        format!(
            "{won} of {all} figures are at least those beside them; rows that are missing: {missing}, that failed: {failed}."
        )
    }
}

impl run::Report for Ep11Report {
    fn heading(&self) -> String {
        format!(
            "{}, {}\n{}\nCEX7P: one Crypto Express7S card of an IBM z15 as EP11 coprocessor; for the first rows, the goal for small requests\n\n{}\n",
            self.cpu,
            self.features.join(" "),
            self.method(),
            self.style.strong(&self.rows.head())
        )
    }

    fn summary(&self) -> String {
        let mut out = "\n".to_owned();
        for (letter, reason) in ('a'..='z').zip(&self.reasons) {
            let _ = writeln!(out, "({letter}) {reason}.");
        }
        let _ = writeln!(out, "{}", self.sentence());
        if let Some(busy) = self.watch.said() {
            let _ = writeln!(out, "{busy}");
        }
        out
    }

    fn failed(&self) -> bool {
        self.rows.iter().any(|line| line.error.is_some())
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::run::Report as _;

    fn slices(operations: u64) -> Result<Vec<Slice>, Why> {
        let second = Duration::from_secs(1);
        let done = Done { operations, wall: second, cpu: second / 4 };
        Ok(vec![Slice { done, card: second / 2 }; 3])
    }

    #[test]
    fn a_row_that_is_lost_says_so_with_its_reason() {
        let rows = Row::all();
        let row = |name: &str| *rows.iter().find(|row| row.name() == name).unwrap();
        let mut report = Ep11Report::new(Path::new("/x"), 1, Duration::from_millis(100), 3);
        let won = report.add(&row("PKS Prime Curve 256"), 1, [Some(&slices(5474)), Some(&slices(12207))]);
        assert!(won.contains("2.00") && won.contains("1.00") && !won.contains("lost"), "{won}");
        let lost = report.add(&row("PKS BrainPool 512"), 1, [Some(&slices(921)), Some(&slices(3242))]);
        assert!(lost.contains("0.50") && lost.contains("lost (a)"), "{lost}");
        // One job alone; a reason is told only where a row is lost.
        let pairs = report.add(&row("Key Generate RSA 2048"), 1, [Some(&slices(408)), None]);
        assert!(pairs.contains("10.00") && !pairs.contains("lost"), "{pairs}");
        let missing = Err(Why::Missing("m_GenerateKeyPair: 0x70".to_owned()));
        let missing = report.add(&row("PKV Dilithium"), 1, [Some(&missing), Some(&missing)]);
        assert!(missing.contains("missing: m_GenerateKeyPair"), "{missing}");
        assert!(!report.failed());
        let summary = report.summary();
        assert!(summary.contains("(a) a curve for which") && summary.contains("4 of 5 figures"), "{summary}");
        let json = serde_json::to_value(&report).unwrap();
        let first = &json["rows"][0]["one"];
        let expected = serde_json::json!({ "per_second": 5474.0, "beside": 2737.0, "times": 2.0,
            "client_us": 250_000.0 / 5474.0, "card_us": 500_000.0 / 5474.0 });
        assert_eq!(first.to_string(), expected.to_string());
        assert_eq!((&json["rows"][1]["lost"], &json["rows"][2]["eight"]), (&true.into(), &serde_json::Value::Null));
        let broken = Err(Why::Failed("m_SignSingle: 0x30".to_owned()));
        report.add(&row("PKS RSA 1024"), 1, [Some(&broken), None]);
        assert!(report.failed());
        let page = super::super::page::text(&report);
        assert!(page.contains("PKS BrainPool 512") && page.contains("class=\"bad\"") && !page.contains("<script"));
    }
}
