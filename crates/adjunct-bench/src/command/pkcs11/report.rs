//! The table and the JSON of `adjunct bench pkcs11`.

use super::worker::Trouble;
use crate::harness::header::now;
use crate::harness::row::{Column, Table, fixed};
use crate::harness::run;
use adjunct::cpu;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The figures of a module in a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// Operations a second of wall time, of all threads together.
    pub per_second: f64,
    /// Microseconds of CPU time of one.
    pub cpu_us: f64,
}

#[derive(Debug, Serialize)]
struct Measured {
    module: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_us: Option<f64>,
    /// Why there is no figure; `None` where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    /// The reason in a word.
    #[serde(skip)]
    short: &'static str,
}

impl Measured {
    /// The two columns of a module or of the provider: the rate, or a word for why there is none, and the CPU time.
    fn columns(name: &str, of: impl Fn(&Line) -> Option<&Measured> + Copy + 'static) -> [Column<Line>; 2] {
        let word = |measured: &Measured| measured.per_second.map_or_else(|| measured.short.to_owned(), rate);
        let cpu = |measured: &Measured| measured.cpu_us.map_or_else(String::new, time);
        [
            Column::right(10, format!("{name}: /s"), move |line| of(line).map_or_else(String::new, word)),
            Column::right(9, "us", move |line| of(line).map_or_else(String::new, cpu)),
        ]
    }
}

#[derive(Debug, Serialize)]
struct Line {
    row: String,
    threads: u16,
    modules: Vec<Measured>,
    /// The first module's rate over that of the fastest other.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    /// The provider's figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Measured>,
    /// The provider's CPU time of an operation over the first module's.
    #[serde(skip_serializing_if = "Option::is_none")]
    of_provider: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Module {
    name: String,
    path: PathBuf,
}

/// All of a run.
#[derive(Debug, Serialize)]
pub struct Pkcs11Report {
    cpu: String,
    cpus: usize,
    adjunct: &'static str,
    date: String,
    slice_ms: f64,
    repeats: usize,
    modules: Vec<Module>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Module>,
    rows: Table<Line>,
    #[serde(skip)]
    notes: Vec<String>,
}

/// Ratio to the provider's rate at which a module takes 5 % longer.
const NEAR: f64 = 1.0 / 1.05;

/// The width of the last column.
const OF_IT: usize = 8;

/// A rate in five places at most.
fn rate(value: f64) -> String {
    match value {
        v if v >= 1e7 => format!("{:.1}M", v / 1e6),
        v if v >= 1e6 => format!("{:.2}M", v / 1e6),
        v if v >= 1e4 => format!("{:.1}k", v / 1e3),
        v if v >= 100.0 => format!("{v:.0}"),
        v => format!("{v:.1}"),
    }
}

fn time(value: f64) -> String {
    match value {
        v if v >= 1000.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

impl Pkcs11Report {
    /// Makes a report without rows, of modules by the names they give themselves, and of the provider.
    pub fn new(
        modules: &[(String, PathBuf)],
        provider: Option<&(String, PathBuf)>,
        slice: Duration,
        repeats: usize,
    ) -> Pkcs11Report {
        let module = |(name, path): &(String, PathBuf)| Module { name: name.clone(), path: path.clone() };
        Pkcs11Report {
            cpu: cpu::model_name(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            adjunct: env!("CARGO_PKG_VERSION"),
            date: now(),
            slice_ms: slice.as_secs_f64() * 1e3,
            repeats,
            modules: modules.iter().map(module).collect(),
            provider: provider.map(module),
            rows: Table::new(columns(modules.len(), provider.is_some())),
            notes: Vec::new(),
        }
    }

    /// What one came to in a row.
    fn measured(&mut self, name: &str, row: (&str, u16), result: &Result<Figure, Trouble>) -> Measured {
        let measured = Measured { module: name.to_owned(), per_second: None, cpu_us: None, trouble: None, short: "" };
        match result {
            Ok(figure) => Measured { per_second: Some(figure.per_second), cpu_us: Some(figure.cpu_us), ..measured },
            Err(trouble) => {
                if !matches!(trouble, Trouble::Missing(_)) {
                    self.notes.push(format!("{name}: {}, {}: {}", row.0, row.1, trouble.words()));
                }
                Measured { trouble: Some(trouble.words()), short: trouble.short(), ..measured }
            }
        }
    }

    /// Adds a row, with what each module came to, and last the provider, if it is measured; its line of the table.
    pub fn add(&mut self, row: String, threads: u16, results: &[Result<Figure, Trouble>]) -> String {
        let names: Vec<String> = self.modules.iter().chain(&self.provider).map(|module| module.name.clone()).collect();
        let measured = names.iter().zip(results).map(|(name, result)| self.measured(name, (&row, threads), result));
        let mut modules: Vec<Measured> = measured.collect();
        let provider = if self.provider.is_some() { modules.pop() } else { None };
        let first = modules.first().and_then(|m| m.per_second);
        let fastest = modules.iter().skip(1).filter_map(|m| m.per_second).reduce(f64::max);
        let ratio = first.zip(fastest).map(|(first, fastest)| first / fastest);
        let cpu = |measured: Option<&Measured>| measured.and_then(|m| m.cpu_us);
        let of_provider = cpu(provider.as_ref()).zip(cpu(modules.first())).map(|(provider, first)| provider / first);
        // Nothing stands between a mark and the last number.
        let blank = if provider.is_some() && of_provider.is_none() { OF_IT } else { 0 };
        let mut line = self.rows.add(Line { row, threads, modules, ratio, provider, of_provider });
        line.truncate(line.len() - blank);
        let mark = if ratio.is_some_and(|ratio| ratio < 1.0) { " <" } else { "" };
        (line + mark).trim_end().to_owned() + "\n"
    }
}

impl run::Report for Pkcs11Report {
    fn heading(&self) -> String {
        let mut out = format!(
            "{}, {} CPUs; medians of {} slices of {:.0} ms each; per second, and us of CPU time each\n",
            self.cpu, self.cpus, self.repeats, self.slice_ms
        );
        for (number, module) in (1..).zip(&self.modules) {
            let _ = writeln!(out, "{number}: {} ({})", module.name, module.path.display());
        }
        if let Some(provider) = &self.provider {
            let _ = writeln!(out, "p: {} ({})", provider.name, provider.path.display());
        }
        out.push('\n');
        out += &self.rows.head();
        out + "\n"
    }

    fn summary(&self) -> String {
        let mut out = String::new();
        for note in &self.notes {
            let _ = writeln!(out, "{note}");
        }
        let ratios: Vec<f64> = self.rows.iter().filter_map(|line| line.ratio).collect();
        if !ratios.is_empty() {
            let behind = ratios.iter().filter(|ratio| **ratio < 1.0).count();
            let _ = writeln!(
                out,
                "{} of {} rows at least as fast as the fastest other",
                ratios.len() - behind,
                ratios.len()
            );
        }
        let beside: Vec<f64> = self.rows.iter().filter_map(|line| line.of_provider).collect();
        if !beside.is_empty() {
            let near = beside.iter().filter(|ratio| **ratio >= NEAR).count();
            let _ = writeln!(out, "{near} of {} rows within 5 % of the provider's CPU time, or below", beside.len());
        }
        out
    }
}

/// The columns of so many modules, and of the provider where it is measured.
fn columns(modules: usize, provider: bool) -> Vec<Column<Line>> {
    let ratio =
        |of: fn(&Line) -> Option<f64>| move |line: &Line| of(line).map_or_else(String::new, |ratio| fixed(ratio, 2));
    let mut columns = vec![
        Column::left(38, "", |line: &Line| line.row.clone()),
        Column::right(4, "thr", |line: &Line| line.threads.to_string()),
    ];
    for at in 0..modules {
        columns.extend(Measured::columns(&(at + 1).to_string(), move |line| line.modules.get(at)));
    }
    if modules > 1 {
        columns.push(Column::right(8, "ratio", ratio(|line| line.ratio)));
    }
    if provider {
        columns.extend(Measured::columns("p", |line| line.provider.as_ref()));
        columns.push(Column::right(OF_IT, "of it", ratio(|line| line.of_provider)));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::run::Report as _;

    #[test]
    fn a_row_has_a_ratio_to_the_fastest_other() {
        let modules = ["a", "b", "c"].map(|name| (name.to_owned(), PathBuf::from(name)));
        let mut report = Pkcs11Report::new(&modules, None, Duration::from_millis(100), 5);
        let figure = |per_second| Ok(Figure { per_second, cpu_us: 1.0 });
        let line = report.add("x".to_owned(), 1, &[figure(100.0), figure(50.0), figure(200.0)]);
        assert!(line.ends_with("0.50 <\n"), "{line}");
        let crashed = Err(Trouble::Crashed(Some(11)));
        let line = report.add("y".to_owned(), 16, &[figure(100.0), crashed, Err(Trouble::Missing("no".to_owned()))]);
        assert!(line.contains("crashed") && report.rows[1].ratio.is_none(), "{line}");
        assert!(report.summary().contains("b: y, 16: the module ended its process by signal 11"));
        assert!(report.summary().contains("0 of 1 rows"));
    }

    #[test]
    fn the_provider_is_no_module_and_has_columns_of_its_own() {
        let modules = ["a", "b"].map(|name| (name.to_owned(), PathBuf::from(name)));
        let provider = ("p".to_owned(), PathBuf::from("p"));
        let mut report = Pkcs11Report::new(&modules, Some(&provider), Duration::from_millis(100), 5);
        assert!(report.heading().contains("\np: p (p)\n") && report.heading().ends_with("of it\n"));
        let figure = |per_second, cpu_us| Ok(Figure { per_second, cpu_us });
        let line = report.add("x".to_owned(), 1, &[figure(100.0, 2.0), figure(50.0, 4.0), figure(200.0, 1.0)]);
        assert!(line.contains("2.00") && line.ends_with("0.50\n"), "{line}");
        let missing = Err(Trouble::Missing("no".to_owned()));
        let line = report.add("y".to_owned(), 1, &[figure(100.0, 1.0), figure(200.0, 1.0), missing]);
        assert!(line.contains("0.50") && line.ends_with("<\n"), "{line}");
        assert!(report.rows[1].of_provider.is_none() && report.rows[1].ratio == Some(0.5));
        assert!(report.summary().contains("1 of 2 rows at least") && report.summary().contains("0 of 1 rows within"));
    }
}
