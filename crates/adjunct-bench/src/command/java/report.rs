//! What a run found, and its table.

use crate::harness::row::{self, Column, Table, fixed};
use crate::harness::run;
use adjunct::catalogue::Function;
use adjunct::counters::Snapshot;
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use adjunct_ztools::cpacfstats::Counter;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The format of the JSON.
pub(super) const FORMAT: u32 = 1;

#[derive(Debug, Serialize)]
pub(super) struct JavaReport {
    pub format: u32,
    pub cpu: String,
    pub java: String,
    pub versions: String,
    pub protocol: &'static str,
    pub suite: &'static str,
    pub rsa_bits: u32,
    pub threads: u32,
    pub users: u32,
    pub think_ms: u32,
    pub seconds: f64,
    pub rounds: u32,
    /// Processors of the servers, and those of the load.
    pub processors: Option<[String; 2]>,
    /// How busy the machine was when it began, without the run itself.
    pub busy: f64,
    pub rows: Vec<Row>,
    pub missing: Vec<String>,
    #[serde(skip)]
    pub style: Style,
}

/// A server under one way of connecting.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Row {
    pub name: String,
    /// The way of connecting, in words.
    pub about: String,
    /// `new`: a full handshake for each request; `kept`: connections are kept.
    pub connections: &'static str,
    pub requests_per_second: f64,
    pub handshakes_per_second: f64,
    pub average_ms: f64,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub most_ms: f64,
    /// Processor seconds of the server for 1000 requests.
    pub cpu_per_1000: f64,
    /// MiB that live in the heap after each round.
    pub heap_mib: Vec<f64>,
    pub rss_mib: Vec<f64>,
    pub errors: u64,
    pub error: String,
    /// The counters of icastats.
    pub icastats: Vec<Counted>,
    /// The counters of cpacfstats.
    pub cpacfstats: BTreeMap<&'static str, u64>,
    #[serde(skip)]
    pub totals: Totals,
    /// Throughput over HTTPS by the JDK alone: of a row that is shown.
    #[serde(skip)]
    pub to_stock: Option<f64>,
}

impl row::Row for Row {
    fn columns() -> Vec<Column<Row>> {
        let last = |of: fn(&Row) -> &Vec<f64>| move |row: &Row| of(row).last().map(|mib| fixed(*mib, 0));
        let digits = |digits: usize, of: fn(&Row) -> f64| move |row: &Row| fixed(of(row), digits);
        vec![
            Column::right(9, "req/s", digits(0, |row| row.requests_per_second)).named("requests/s"),
            Column::right(9, "hands/s", digits(0, |row| row.handshakes_per_second)).named("handshakes/s"),
            Column::right(8, "avg ms", digits(1, |row| row.average_ms)),
            Column::right(8, "p50", digits(0, |row| row.p50_ms)).named("p50 ms"),
            Column::right(8, "p99", digits(0, |row| row.p99_ms)).named("p99 ms"),
            Column::right(8, "max", digits(0, |row| row.most_ms)).named("max ms"),
            Column::right(9, "CPU s/k", digits(2, |row| row.cpu_per_1000)).named("CPU s/1000"),
            Column::right(8, "heap", last(|row| &row.heap_mib)).named("heap MiB"),
            Column::right(8, "RSS", last(|row| &row.rss_mib)).named("RSS MiB"),
            Column::right(7, "errors", |row: &Row| row.errors.to_string()),
            Column::right(9, "to stock", |row: &Row| row.to_stock.map(|ratio| fixed(ratio, 2))).before("×\u{2009}"),
        ]
    }
}

/// Sums over the rounds.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals {
    pub requests: f64,
    pub seconds: f64,
    pub connections: f64,
    pub cpu: f64,
    pub weighted_ms: f64,
    pub rounds: f64,
    pub counted: Option<Snapshot>,
}

impl Row {
    /// Whether a round of the row was measured.
    pub fn was_measured(&self) -> bool {
        self.totals.rounds > 0.0
    }

    /// Takes in what a round found.
    pub fn add(&mut self, seen: &super::load::Seen, cpu: f64, moved: &Snapshot) {
        let totals = &mut self.totals;
        totals.requests += seen.requests;
        totals.seconds += seen.seconds;
        totals.connections += seen.connections;
        totals.cpu += cpu;
        totals.weighted_ms += seen.average_ms * seen.requests;
        totals.rounds += 1.0;
        let sum = totals.counted.take().map_or_else(|| moved.clone(), |old| old.plus(moved));
        // Percentiles of rounds are averaged: a round has thousands of requests.
        let mean = |old: f64, new: f64| old + (new - old) / totals.rounds;
        self.p50_ms = mean(self.p50_ms, seen.p50_ms);
        self.p99_ms = mean(self.p99_ms, seen.p99_ms);
        self.most_ms = self.most_ms.max(seen.most_ms);
        self.errors += seen.errors as u64;
        if !seen.error.is_empty() {
            self.error.clone_from(&seen.error);
        }
        let requests = totals.requests.max(1.0);
        self.requests_per_second = totals.requests / totals.seconds.max(1e-9);
        self.handshakes_per_second =
            if self.name == "http" { 0.0 } else { totals.connections / totals.seconds.max(1e-9) };
        self.average_ms = totals.weighted_ms / requests;
        self.cpu_per_1000 = totals.cpu / requests * 1000.0;
        (self.icastats, self.cpacfstats) = counts(&sum);
        totals.counted = Some(sum);
    }
}

/// A function, what ran in hardware, what in software.
type Counted = (String, u64, u64);

fn counts(moved: &Snapshot) -> (Vec<Counted>, BTreeMap<&'static str, u64>) {
    let (mut ica, mut cpacf) = (Vec::new(), BTreeMap::new());
    for &function in Function::ALL {
        let counts = moved.function(function);
        let (hardware, software) = (counts.hardware_calls(), counts.software_calls());
        if hardware + software > 0 {
            ica.push((function.info().stats_name.to_owned(), hardware, software));
        }
        if let Some(counter) = Counter::of(function)
            && hardware > 0
        {
            *cpacf.entry(counter.name()).or_insert(0) += hardware;
        }
    }
    (ica, cpacf)
}

impl JavaReport {
    /// The rows of one way of connecting.
    pub fn of<'a>(&'a self, connections: &'a str) -> impl Iterator<Item = &'a Row> {
        self.rows.iter().filter(move |r| r.connections == connections)
    }

    /// What is said of a row beside another one's: throughput, and the server's processor time for a request, both as "times better".
    pub fn beside(&self, row: &Row, other: &str) -> Option<(f64, f64)> {
        let other = self.of(row.connections).find(|r| r.name == other)?;
        let valid = other.requests_per_second > 0.0 && row.cpu_per_1000 > 0.0;
        valid.then(|| (row.requests_per_second / other.requests_per_second, other.cpu_per_1000 / row.cpu_per_1000))
    }

    /// The rows of one way of connecting as they are shown.
    pub fn table(&self, connections: &str) -> Table<Row> {
        let mut table = Table::default();
        table.extend(self.of(connections).map(|row| {
            let to_stock = self.beside(row, "stock").map(|(times, _)| times);
            Row { to_stock, ..row.clone() }
        }));
        table
    }

    /// As tables.
    fn text(&self, style: Style) -> String {
        let mut text = format!("{}\n", style.strong(&shown(&self.cpu)));
        let _ = writeln!(text, "{}; {}", shown(&self.java), self.versions);
        let _ = writeln!(
            text,
            "{} {}, RSA-{}; {} threads, {} users, {} ms think time; {} s a row in {} rounds",
            self.protocol,
            self.suite,
            self.rsa_bits,
            self.threads,
            self.users,
            self.think_ms,
            self.seconds,
            self.rounds
        );
        if let Some([server, load]) = &self.processors {
            let _ = writeln!(
                text,
                "servers on processor {server}, load on {load}; load average before the run {:.1}",
                self.busy
            );
        }
        for (connections, title) in WAYS {
            let rows = self.table(connections);
            if rows.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n{}\n{:<12}{}", style.strong(title), "row", rows.head());
            for row in rows.iter() {
                let line = format!("{:<12}{}", row.name, rows.line(row));
                let _ = writeln!(text, "{}", if row.errors > 0 { style.bad(&line) } else { line });
                if row.errors > 0 {
                    let _ = writeln!(text, "            {}", shown(&row.error));
                }
            }
            for row in self.of(connections).filter(|row| row.rss_mib.len() > 1) {
                let each = |all: &[f64]| all.iter().map(|mib| format!(" {mib:.0}")).collect::<String>();
                let (heap, rss) = (each(&row.heap_mib), each(&row.rss_mib));
                let _ = writeln!(text, "{:<12}after each round, MiB: heap{heap}; RSS{rss}", row.name);
            }
        }
        let counted: Vec<&Row> = self.rows.iter().filter(|r| !r.icastats.is_empty()).collect();
        if !counted.is_empty() {
            let _ = writeln!(
                text,
                "\n{}",
                style.strong("icastats (hardware, and software where there was any); cpacfstats")
            );
        }
        for row in counted {
            let ica = row.icastats.iter().map(|(name, hardware, software)| match software {
                0 => format!("{name} {hardware}"),
                software => format!("{name} {hardware}+{software}"),
            });
            let cpacf = row.cpacfstats.iter().map(|(name, value)| format!("{name} {value}"));
            let (ica, cpacf) = (ica.collect::<Vec<_>>().join(", "), cpacf.collect::<Vec<_>>().join(", "));
            let _ = writeln!(text, "{:<12}{:<5} {ica}; {cpacf}", row.name, row.connections);
        }
        text.push('\n');
        for row in &self.rows {
            let _ = match row.name.as_str() {
                "all" | "chosen" | "rsa" => {
                    let other = if row.name == "rsa" { "stock" } else { "rsa" };
                    let Some((times, cpu)) = self.beside(row, other) else { continue };
                    writeln!(
                        text,
                        "{} to {other}, {}: throughput {times:.2}, requests for a processor second {cpu:.2}",
                        row.name, row.connections
                    )
                }
                _ => Ok(()),
            };
        }
        for missing in &self.missing {
            let _ = writeln!(text, "{} {}", style.notice("left out"), shown(missing));
        }
        text
    }
}

impl run::Report for JavaReport {
    /// All tables stand below: rows get their last figures in the last round.
    fn heading(&self) -> String {
        String::new()
    }

    fn summary(&self) -> String {
        self.text(self.style)
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

/// The ways of connecting, and their titles.
pub(super) const WAYS: [(&str, &str); 2] =
    [("new", "a new connection and a full handshake for each request"), ("kept", "connections are kept")];

#[cfg(test)]
pub(super) mod tests {
    use super::super::load::Seen;
    use super::*;

    fn row(name: &str, connections: &'static str, requests: f64) -> Row {
        let mut row = Row { name: name.to_owned(), about: format!("about <{name}>"), connections, ..Row::default() };
        let seen = Seen {
            requests,
            seconds: 10.0,
            average_ms: 5.0,
            p50_ms: 4.0,
            p99_ms: 9.0,
            most_ms: 20.0,
            connections: requests,
            ..Seen::default()
        };
        let mut moved = Snapshot::new(0);
        if name != "http" {
            moved.row_mut(Function::RsaCrt.row(2048)).cell_mut(true, adjunct::catalogue::Direction::Encrypt).calls = 7;
            moved.row_mut(Function::Sha256.row(0)).cell_mut(true, adjunct::catalogue::Direction::Encrypt).calls = 3;
        }
        for _ in 0..2 {
            row.add(&seen, 10.0, &moved);
            row.heap_mib.push(40.0);
            row.rss_mib.push(300.0);
        }
        row
    }

    /// A report of every kind of row.
    pub(in crate::command::java) fn sample() -> JavaReport {
        let rows = [("http", 9000.0), ("stock", 1000.0), ("rsa", 2500.0), ("all", 2250.0)];
        let rows = WAYS.iter().flat_map(|(way, _)| rows.iter().map(move |(name, n)| row(name, way, *n))).collect();
        JavaReport {
            format: FORMAT,
            cpu: "CPU <1>".to_owned(),
            java: "OpenJDK 17".to_owned(),
            versions: "Open Liberty".to_owned(),
            protocol: "TLSv1.2",
            suite: "S",
            rsa_bits: 2048,
            threads: 50,
            users: 100,
            think_ms: 3,
            seconds: 20.0,
            rounds: 2,
            processors: Some(["0".to_owned(), "1".to_owned()]),
            busy: 0.5,
            rows,
            style: Style::PLAIN,
            missing: vec!["peer-rsa: no module".to_owned()],
        }
    }

    #[test]
    fn rounds_are_added_up() {
        let report = sample();
        let rsa = &report.rows[2];
        assert_eq!((rsa.requests_per_second, rsa.average_ms, rsa.cpu_per_1000), (250.0, 5.0, 4.0));
        assert_eq!(rsa.icastats, [("SHA-256".to_owned(), 6, 0), ("RSA-CRT".to_owned(), 14, 0)]);
        assert_eq!(rsa.cpacfstats.get("sha"), Some(&6));
        assert_eq!(report.beside(rsa, "stock"), Some((2.5, 2.5)));
        assert_eq!(report.rows[0].handshakes_per_second, 0.0);
    }

    #[test]
    fn the_table_has_every_row() {
        let text = sample().text(Style::PLAIN);
        assert!(text.contains("all to rsa, new: throughput 0.90"), "{text}");
        assert!(text.contains("left out peer-rsa: no module") && text.matches("\nstock ").count() == 6, "{text}");
    }
}
