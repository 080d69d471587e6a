//! What a run found: rows, as tables and as JSON, with the papers' rows beside.

use super::plan::{Case, Side};
use crate::crew::{Slice, percentile};
use crate::harness::figures::median;
use crate::harness::figures::{Sample, Verdict};
use crate::harness::row::{self, Column, Table, fixed, percent};
use crate::harness::run;
use crate::tls::Loaded;
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::fmt::Write as _;

/// The format of the JSON.
pub const FORMAT: u32 = 1;
/// Part of the CPU time of the load's processors above which the load, not the server, limits the transactions of a second.
const SATURATED: f64 = 0.95;

/// The results of a side's slices, with what the counters say of them.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    pub loaded: Vec<Loaded>,
    /// Private-key operations with the certificate's key, and those of them that dedicated instructions or cards did.
    pub operations: u64,
    pub hardware: u64,
    pub by_card: u64,
    /// The time that workers of cards were busy.
    pub card_busy: f64,
    /// The time of the slices with their lead-ins, over which cards and counters are read.
    pub seconds: f64,
}

/// A side of a case with a server. Keys are what scripts know: none changes its name or goes.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub server: &'static str,
    /// `1.2` or `1.3`.
    pub protocol: &'static str,
    /// The certificate's key.
    pub certificate: &'static str,
    /// The key exchange; `RSA` where it is the certificate's key.
    pub group: &'static str,
    /// `full`, or `resumed`.
    pub sessions: &'static str,
    pub client_auth: bool,
    pub side: Side,
    pub clients: usize,
    /// Transactions a second: the median of the rounds.
    pub tps: f64,
    /// Transactions a second over those of stock.
    pub ratio: Option<f64>,
    /// Stock's CPU time of a transaction over this one's.
    pub cpu_ratio: Option<f64>,
    /// CPU time of a transaction in microseconds: the server's processes, the daemon and its cards.
    pub cpu_us: f64,
    /// CPU time of the servers, the daemon and its cards, of all of the time of the servers' processors.
    pub cpu_utilisation: f64,
    /// The load's of all of the time of its processors.
    pub load_utilisation: f64,
    /// The time a worker of a card was busy, of all the time, on average of the cards.
    pub card_utilisation: Option<f64>,
    /// The share of private-key operations that dedicated instructions or cards did.
    pub by_hardware: Option<f64>,
    /// The share that cards did.
    pub by_card: Option<f64>,
    pub p50_us: f64,
    pub p99_us: f64,
    /// The slowest and the fastest round, transactions a second.
    pub slowest: f64,
    pub fastest: f64,
    pub errors: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// The title of the row's case in the table.
    pub title: String,
    /// Transactions a second of each round, and microseconds of CPU time for one.
    #[serde(skip)]
    pub rounds: [Vec<f64>; 2],
    /// The verdicts compared with stock, by transactions and by CPU time.
    #[serde(skip)]
    pub verdicts: [Option<Verdict>; 2],
}

impl row::Row for Row {
    fn columns() -> Vec<Column<Row>> {
        let ratio = |of: fn(&Row) -> Option<f64>| move |row: &Row| of(row).map(|ratio| fixed(ratio, 2));
        let part = |of: fn(&Row) -> Option<f64>| move |row: &Row| of(row).map(percent);
        vec![
            Column::right(7, "tps", |row: &Row| fixed(row.tps, 0) + if row.saturated() { "*" } else { " " })
                .named("transactions/s"),
            Column::right(7, "ratio", ratio(|row| row.ratio))
                .named("over stock")
                .judged(|row| row.verdicts[0].filter(|_| !row.saturated())),
            Column::right(8, "CPU us", |row: &Row| fixed(row.cpu_us, 0)).named("CPU µs"),
            Column::right(7, "ratio", ratio(|row| row.cpu_ratio))
                .named("stock's over it")
                .judged(|row| row.verdicts[1]),
            Column::right(6, "CPU%", part(|row| Some(row.cpu_utilisation))).named("CPU %"),
            Column::right(6, "card%", part(|row| row.card_utilisation)).named("card %"),
            Column::right(6, "load%", part(|row| Some(row.load_utilisation))).named("load %"),
            Column::right(6, "hw%", part(|row| row.by_hardware)).named("hardware %"),
            Column::right(6, "crd%", part(|row| row.by_card)).named("by card %"),
            Column::right(9, "p50 ms", |row: &Row| fixed(row.p50_us / 1e3, 2)),
            Column::right(9, "p99 ms", |row: &Row| fixed(row.p99_us / 1e3, 2)),
            Column::on_page("errors", |row: &Row| row.errors.to_string()),
        ]
    }
}

/// How many processors both sides have.
#[derive(Debug, Clone, Copy)]
pub struct Processors {
    pub servers: usize,
    pub load: usize,
}

impl Row {
    /// Makes a row of what was measured.
    pub fn new(
        (server, title): (&'static str, String),
        case: Case,
        side: Side,
        clients: usize,
        on: Processors,
        measured: &Measured,
    ) -> Row {
        let slices = || measured.loaded.iter().map(|loaded| &loaded.slice);
        let per = |slice: &Slice| slice.operations as f64 / slice.wall.as_secs_f64().max(1e-9);
        let rates: Vec<f64> = slices().map(per).collect();
        let wall: f64 = slices().map(|slice| slice.wall.as_secs_f64()).sum::<f64>().max(1e-9);
        let transactions = slices().map(|slice| slice.operations).sum::<u64>().max(1) as f64;
        let servers: f64 = slices().map(|slice| slice.others.as_secs_f64()).sum();
        let load: f64 = slices().map(|slice| slice.cpu.as_secs_f64()).sum();
        let cpu = |slice: &Slice| slice.others.as_secs_f64() * 1e6 / slice.operations.max(1) as f64;
        let costs: Vec<f64> = slices().map(cpu).collect();
        let share = |of: u64| (measured.operations > 0).then(|| of as f64 / measured.operations as f64);
        let cards = side.cards();
        let error = measured.loaded.iter().map(|loaded| &loaded.error).find(|error| !error.is_empty());
        Row {
            server,
            protocol: case.version(),
            certificate: case.key.name(),
            group: case.exchange(),
            sessions: if case.resumed { "resumed" } else { "full" },
            client_auth: case.authenticated,
            side,
            clients,
            tps: median(rates.iter().copied()),
            ratio: None,
            cpu_ratio: None,
            cpu_us: if transactions > 0.0 { median(costs.iter().copied()) } else { 0.0 },
            cpu_utilisation: servers / wall / on.servers as f64,
            load_utilisation: load / wall / on.load as f64,
            card_utilisation: (cards > 0)
                .then(|| measured.card_busy / measured.seconds.max(1e-9) / cards.max(1) as f64),
            by_hardware: share(measured.hardware),
            by_card: if cards > 0 { share(measured.by_card) } else { None },
            p50_us: percentile(slices(), 50),
            p99_us: percentile(slices(), 99),
            slowest: rates.iter().copied().fold(f64::INFINITY, f64::min).min(f64::MAX),
            fastest: rates.iter().copied().fold(0.0, f64::max),
            errors: measured.loaded.iter().map(|loaded| loaded.errors).sum(),
            error: error.cloned().unwrap_or_default(),
            title,
            rounds: [rates, costs],
            verdicts: [None; 2],
        }
    }

    /// Whether the load, not the server, is what limits its transactions of a second.
    pub fn saturated(&self) -> bool {
        self.load_utilisation >= SATURATED
    }

    /// The ratio to stock that is shown: of transactions, or of CPU time where the load was the limit.
    pub fn told(&self) -> Option<f64> {
        if self.saturated() { self.cpu_ratio } else { self.ratio }
    }

    /// Whether the row differs from stock, or may by chance.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdicts[usize::from(self.saturated())]
    }

    /// The verdicts compared with stock's rounds.
    fn beside(&self, stock: &[Vec<f64>; 2]) -> [Option<Verdict>; 2] {
        let verdict = |which: usize| {
            let [ours, theirs] = [&self.rounds, stock].map(|rounds| Sample::of(&rounds[which]));
            Some(Verdict::of(ours?, theirs?, which == 0))
        };
        [verdict(0), verdict(1)]
    }
}

/// A row of the papers' table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Paper {
    /// How many sessions are cached.
    pub caching_sid: &'static str,
    pub rsa_bits: u32,
    /// The operation with the certificate's key in a handshake.
    pub handshake: &'static str,
    pub client_auth: bool,
    /// Transactions a second.
    pub etr: u32,
    /// CPU utilisation in percent.
    pub cpu_utilisation: f64,
    pub crypto_utilisation: Option<f64>,
}

/// Source of the papers' figures.
pub const SOURCE: &str = "IBM z15 Performance of Cryptographic Operations (2019), 3.5.2: System SSL on z/OS V2R4, z15 8561-770 with 4 CPs, \
    TLS 1.2 with TLS_RSA_WITH_AES_256_GCM_SHA384, 2048 bytes; clients on other systems";

/// The papers' table.
pub const PAPERS: [Paper; 5] = [
    paper("100%", "Avoided", false, 38098, 99.01, None),
    paper("no", "Software", false, 255, 100.0, None),
    paper("no", "1 CEX7C", false, 10847, 44.40, Some(99.0)),
    paper("no", "1 CEX7A", false, 13456, 55.32, Some(98.6)),
    paper("no", "2 CEX7A", true, 14471, 91.50, Some(100.0)),
];

const fn paper(
    caching_sid: &'static str,
    handshake: &'static str,
    client_auth: bool,
    etr: u32,
    cpu_utilisation: f64,
    crypto_utilisation: Option<f64>,
) -> Paper {
    Paper { caching_sid, rsa_bits: 2048, handshake, client_auth, etr, cpu_utilisation, crypto_utilisation }
}

impl Paper {
    /// The row of this run that is its like: side, sessions, clients' certificates. A CCA coprocessor has none.
    fn is_like(&self, row: &Row) -> bool {
        let side = match self.handshake {
            "Avoided" => Side::Lanes,
            "Software" => Side::Stock,
            "1 CEX7A" => Side::Card,
            "2 CEX7A" => Side::Cards,
            _ => return false,
        };
        let sessions = if self.caching_sid == "100%" { "resumed" } else { "full" };
        row.protocol == "1.2" && (row.side, row.sessions, row.client_auth) == (side, sessions, self.client_auth)
    }
}

/// A server that was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Server {
    pub server: &'static str,
    /// Version of the server as it names itself.
    pub version: String,
}

/// The whole result of the benchmark; what serializes is the content of `--json`.
#[derive(Debug, Serialize)]
pub struct TlsReport {
    pub format: u32,
    pub cpu: String,
    pub openssl: String,
    pub adjunct: &'static str,
    pub date: String,
    /// Processors of the servers, the daemon and its cards, and those of the load; null where all share the only one.
    pub processors: Option<[String; 2]>,
    pub clients: usize,
    /// Seconds that a row is measured for, all sides together.
    pub seconds: f64,
    pub rounds: u32,
    /// Whether cards were asked for each operation, not only where that pays.
    pub always: bool,
    pub servers: Vec<Server>,
    pub rows: Table<Row>,
    pub papers: [Paper; PAPERS.len()],
    pub source: &'static str,
    /// Rows that were left out, with the reasons.
    pub missing: Vec<String>,
    #[serde(skip)]
    pub style: Style,
}

impl TlsReport {
    /// Adds the rows of a case, which get their ratios.
    pub fn add(&mut self, mut rows: Vec<Row>) -> String {
        let stock = rows.iter().find(|row| row.side == Side::Stock).map(|row| (row.tps, row.cpu_us));
        let rounds = rows.iter().find(|row| row.side == Side::Stock).map(|row| row.rounds.clone());
        for row in rows.iter_mut().filter(|row| row.side != Side::Stock) {
            row.ratio = stock.filter(|(tps, _)| *tps > 0.0).map(|(tps, _)| row.tps / tps);
            row.cpu_ratio = stock.filter(|_| row.cpu_us > 0.0).map(|(_, cpu)| cpu / row.cpu_us);
            row.verdicts = rounds.as_ref().map_or([None; 2], |stock| row.beside(stock));
        }
        let lines = rows.iter().enumerate().map(|(place, row)| self.line(row, place == 0)).collect();
        self.rows.extend(rows);
        lines
    }

    /// The head of a server's table.
    pub fn head(&self, server: &Server) -> String {
        let line = format!("{:<33}{:<8}{}", shown(&server.version).to_string(), "side", self.rows.head());
        format!("\n{}\n", self.style.strong(&line))
    }

    fn line(&self, row: &Row, first: bool) -> String {
        let cells = self.rows.line(row);
        let cells = match row.verdict() {
            _ if row.errors > 0 => self.style.bad(&cells),
            Some(verdict) => verdict.paint(self.style, &cells),
            None => cells,
        };
        let title = if first { row.title.as_str() } else { "" };
        let mut line = format!("{title:<33}{:<8}{cells}\n", row.side.name());
        if row.errors > 0 {
            let _ = writeln!(line, "{:<33}{} transactions failed: {}", "", row.errors, shown(&row.error));
        }
        line
    }

    /// The papers' rows, with a title, and their rate over that in software.
    pub fn papers(&self) -> impl Iterator<Item = (Paper, String, f64)> {
        let software = f64::from(PAPERS[1].etr);
        PAPERS.into_iter().map(move |paper| {
            let title = match paper.caching_sid {
                "100%" => "sessions cached".to_owned(),
                _ => paper.handshake.to_lowercase().replace("cex7", "CEX7").replace("7c", "7C").replace("7a", "7A"),
            };
            let title = if paper.client_auth { title + ", client auth." } else { title };
            (paper, title, f64::from(paper.etr) / software)
        })
    }

    /// The row that is most like a paper's row, for a server, and its rate over stock's with full handshakes.
    pub fn like(&self, paper: &Paper, server: &str) -> Option<(&Row, Option<f64>)> {
        let rows = || self.rows.iter().filter(|row| row.server == server);
        let row = rows().find(|row| paper.is_like(row))?;
        let software = rows().find(|row| PAPERS[1].is_like(row)).filter(|row| row.tps > 0.0);
        Some((row, software.map(|software| row.tps / software.tps)))
    }

    /// Transactions that failed.
    pub fn errors(&self) -> u64 {
        self.rows.iter().map(|row| row.errors).sum()
    }
}

impl run::Report for TlsReport {
    fn heading(&self) -> String {
        let mut text =
            format!("{}\n{}; adjunct {}\n", self.style.strong(&shown(&self.cpu)), shown(&self.openssl), self.adjunct);
        let _ = match &self.processors {
            Some([servers, load]) => writeln!(text, "servers and cards on processor {servers}, load on {load}"),
            None => {
                writeln!(text, "servers, cards and load share one processor: transactions a second are those of both")
            }
        };
        let (clients, seconds, rounds) = (self.clients, self.seconds, self.rounds);
        let _ =
            writeln!(text, "{clients} clients; medians of {rounds} rounds, {seconds} seconds a case, sides in turns");
        if self.always {
            text += "cards are asked for each RSA operation (--always)\n";
        }
        text
    }

    fn summary(&self) -> String {
        let mut text = String::new();
        if self.rows.iter().any(Row::saturated) {
            text +=
                "\n* the load had no processor time left: the server would do more, and CPU time (CPU us) decides\n";
        }
        let head = format!("{:<33}{:>7}{:>9}{:>9}{:>9}", "in the papers (z15)", "ETR", "ratio", "CPU%", "crypto%");
        let servers: Vec<&str> = self.servers.iter().map(|server| server.server).collect();
        let named: String = servers.iter().map(|server| format!("{server:>17}")).collect();
        let _ = writeln!(text, "\n{}", self.style.strong(&(head + &named)));
        for (paper, title, ratio) in self.papers() {
            let crypto = paper.crypto_utilisation.map_or_else(|| "NA".to_owned(), |value| format!("{value:.1}"));
            let _ = write!(text, "{title:<33}{:>7}{ratio:>9.1}{:>9.2}{crypto:>9}", paper.etr, paper.cpu_utilisation);
            for server in &servers {
                let cell = self.like(&paper, server).map_or_else(
                    || "-".to_owned(),
                    |(row, ratio)| {
                        format!("{:.0} ({})", row.tps, ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.1}")))
                    },
                );
                let _ = write!(text, "{cell:>17}");
            }
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "{}",
            self.style
                .faint("of this run: transactions a second (over stock's full handshakes without client certificates)")
        );
        if !self.missing.is_empty() {
            text.push('\n');
        }
        for missing in &self.missing {
            let _ = writeln!(text, "{} {}", self.style.notice("left out"), shown(missing));
        }
        text
    }

    /// Nothing is to be written where no case was done.
    fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::plan::ServerKind;
    use super::*;
    use crate::harness::run::Report as _;
    use std::time::Duration;

    fn row(server: &'static str, case: Case, side: Side, rate: u64, cpu: f64) -> Row {
        let loaded = |operations: u64| {
            let times = vec![1_000_000; operations as usize];
            let slice = Slice {
                wall: Duration::from_secs(1),
                cpu: Duration::from_secs_f64(cpu),
                others: Duration::from_millis(500),
                ..Slice::of_times(&times, operations)
            };
            Loaded { slice, ..Loaded::default() }
        };
        let measured = Measured {
            loaded: vec![loaded(rate - 10), loaded(rate), loaded(rate + 10)],
            operations: if side == Side::Stock { 0 } else { 400 },
            hardware: 300,
            by_card: 100,
            card_busy: 1.5,
            seconds: 3.0,
        };
        Row::new((server, case.title()), case, side, 32, Processors { servers: 1, load: 1 }, &measured)
    }

    /// A report of two servers, of every case and side.
    pub fn sample() -> TlsReport {
        let mut report = TlsReport {
            format: FORMAT,
            cpu: "CPU <1>".to_owned(),
            openssl: "OpenSSL 3".to_owned(),
            adjunct: "0",
            date: "2026-01-31T12:00:00Z".to_owned(),
            processors: Some(["0".to_owned(), "1".to_owned()]),
            clients: 32,
            seconds: 3.0,
            rounds: 3,
            always: false,
            servers: Vec::new(),
            rows: Table::default(),
            papers: PAPERS,
            source: SOURCE,
            missing: vec!["apache: <none>".to_owned()],
            style: Style::PLAIN,
        };
        for kind in [ServerKind::Nginx, ServerKind::Haproxy] {
            report.servers.push(Server { server: kind.name(), version: format!("{} <2>", kind.title()) });
            for case in Case::ALL {
                let sides = Side::ALL.into_iter().filter(|side| case.has(*side));
                let rate = |side| [1000, 2000, 1010, 500][side as usize];
                report.add(sides.map(|side| row(kind.name(), case, side, rate(side), 0.5)).collect());
            }
        }
        report
    }

    #[test]
    fn rows_have_what_scripts_know() {
        let report = sample();
        let json = serde_json::to_value(&report).unwrap();
        let row = json["rows"][2].as_object().unwrap();
        let known = [
            "server",
            "protocol",
            "certificate",
            "group",
            "sessions",
            "client_auth",
            "side",
            "clients",
            "tps",
            "ratio",
            "cpu_ratio",
            "cpu_us",
            "cpu_utilisation",
            "load_utilisation",
            "card_utilisation",
            "by_hardware",
            "by_card",
            "p50_us",
            "p99_us",
            "slowest",
            "fastest",
            "errors",
            "title",
        ];
        assert_eq!(row.keys().collect::<Vec<_>>(), known);
        assert_eq!((&row["side"], &row["tps"], &row["ratio"]), (&"card".into(), &1010.0.into(), &1.01.into()));
        assert_eq!(
            (&row["card_utilisation"], &row["by_hardware"], &row["by_card"]),
            (&0.5.into(), &0.75.into(), &0.25.into())
        );
        assert_eq!((&row["cpu_utilisation"], &row["slowest"]), (&0.5.into(), &1000.0.into()));
        let stock = json["rows"][0].as_object().unwrap();
        assert!(
            ["ratio", "card_utilisation", "by_hardware", "by_card"].iter().all(|key| stock[*key].is_null()),
            "{stock:?}"
        );
        assert_eq!(json["papers"][3]["etr"], 13456);
    }

    #[test]
    fn a_difference_is_told_by_the_rounds() {
        let report = sample();
        let of = |side| report.rows.iter().find(|row| row.side == side).unwrap().verdict();
        let told = [Side::Stock, Side::Lanes, Side::Card, Side::Cards].map(of);
        // 1010 beside 1000, where rounds of each are 20 apart, is none.
        assert_eq!(told, [None, Some(Verdict::Better), Some(Verdict::Same), Some(Verdict::Worse)]);
    }

    #[test]
    fn papers_rows_have_their_likes() {
        let report = sample();
        let like = |at: usize| {
            report.like(&PAPERS[at], "haproxy").map(|(row, ratio)| (row.side, row.sessions, row.client_auth, ratio))
        };
        assert_eq!(like(0), Some((Side::Lanes, "resumed", false, Some(2.0))));
        assert_eq!(like(1), Some((Side::Stock, "full", false, Some(1.0))));
        assert_eq!(like(2), None);
        assert_eq!(like(3), Some((Side::Card, "full", false, Some(1.01))));
        assert_eq!(like(4), Some((Side::Cards, "full", true, Some(0.5))));
        let text = report.summary();
        assert!(text.contains("1 CEX7A") && text.contains("2 CEX7A, client auth.") && text.contains("149.4"), "{text}");
        assert!(text.contains("left out apache: <none>") && !text.contains("* the load"), "{text}");
    }

    #[test]
    fn a_load_at_its_limit_is_told_and_cpu_time_decides() {
        let mut report = sample();
        let rows = [Side::Stock, Side::Lanes].map(|side| row("nginx", Case::ALL[0], side, 1000, 0.99));
        let line = report.add(rows.into());
        assert!(line.lines().all(|line| line.contains("1000*")), "{line}");
        assert!(report.summary().contains("* the load had no processor time left"));
        let last = report.rows.last().unwrap();
        assert_eq!((last.told(), last.saturated()), (last.cpu_ratio, true));
    }
}
