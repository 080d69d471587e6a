//! The table and the JSON of `adjunct bench pkcs11`.

use super::super::report::now;
use super::worker::Trouble;
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
pub struct Report {
    cpu: String,
    cpus: usize,
    adjunct: &'static str,
    date: String,
    slice_ms: f64,
    repeats: usize,
    modules: Vec<Module>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<Module>,
    rows: Vec<Line>,
    #[serde(skip)]
    notes: Vec<String>,
}

/// Ratio to the provider's rate at which a module takes 5 % longer.
const NEAR: f64 = 1.0 / 1.05;

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

impl Report {
    /// Makes a report without rows, of modules by the names they give themselves, and of the provider.
    pub fn new(
        modules: &[(String, PathBuf)],
        provider: Option<&(String, PathBuf)>,
        slice: Duration,
        repeats: usize,
    ) -> Report {
        let module = |(name, path): &(String, PathBuf)| Module { name: name.clone(), path: path.clone() };
        Report {
            cpu: cpu::model_name(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            adjunct: env!("CARGO_PKG_VERSION"),
            date: now(),
            slice_ms: slice.as_secs_f64() * 1e3,
            repeats,
            modules: modules.iter().map(module).collect(),
            provider: provider.map(module),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The text above the table.
    pub fn heading(&self) -> String {
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
        let _ = write!(out, "\n{:<38} {:>3}", "", "thr");
        for number in 1..=self.modules.len() {
            let _ = write!(out, "  {:>8} {:>8}", format!("{number}: /s"), "us");
        }
        if self.modules.len() > 1 {
            out.push_str("   ratio");
        }
        if self.provider.is_some() {
            let _ = write!(out, "  {:>8} {:>8}   of it", "p: /s", "us");
        }
        out + "\n"
    }

    /// The figure of a side in a row, and its cells of the table.
    fn measured(&mut self, name: &str, row: (&str, u16), result: &Result<Figure, Trouble>) -> (Measured, String) {
        let (figure, trouble, cells) = match result {
            Ok(figure) => (Some(figure), None, format!("  {:>8} {:>8}", rate(figure.per_second), time(figure.cpu_us))),
            Err(trouble) => {
                if !matches!(trouble, Trouble::Missing(_)) {
                    self.notes.push(format!("{name}: {}, {}: {}", row.0, row.1, trouble.words()));
                }
                (None, Some(trouble.words()), format!("  {:>8} {:>8}", trouble.short(), ""))
            }
        };
        let (per_second, cpu_us) = (figure.map(|f| f.per_second), figure.map(|f| f.cpu_us));
        (Measured { module: name.to_owned(), per_second, cpu_us, trouble }, cells)
    }

    /// Adds a row, with what each module came to, and last the provider, if it is measured; its line of the table.
    pub fn add(&mut self, row: String, threads: u16, results: &[Result<Figure, Trouble>]) -> String {
        let mut out = format!("{row:<38} {threads:>3}");
        let names: Vec<String> = self.modules.iter().chain(&self.provider).map(|module| module.name.clone()).collect();
        let mut modules = Vec::new();
        let mut cells = Vec::new();
        for (name, result) in names.iter().zip(results) {
            let (measured, text) = self.measured(name, (&row, threads), result);
            modules.push(measured);
            cells.push(text);
        }
        let of_provider = self.provider.is_some().then(|| (modules.pop(), cells.pop()));
        out.extend(cells);
        let first = modules.first().and_then(|m| m.per_second);
        let fastest = modules.iter().skip(1).filter_map(|m| m.per_second).reduce(f64::max);
        let ratio = first.zip(fastest).map(|(first, fastest)| first / fastest);
        if let Some(ratio) = ratio {
            let _ = write!(out, "  {ratio:>6.2}");
        } else if modules.len() > 1 {
            let _ = write!(out, "  {:>6}", "");
        }
        let (provider, text) = of_provider.unwrap_or_default();
        out.push_str(text.as_deref().unwrap_or_default());
        let cpu = |measured: Option<&Measured>| measured.and_then(|m| m.cpu_us);
        let of_provider = cpu(provider.as_ref()).zip(cpu(modules.first())).map(|(provider, first)| provider / first);
        if let Some(of_provider) = of_provider {
            let _ = write!(out, "  {of_provider:>6.2}");
        }
        if ratio.is_some_and(|ratio| ratio < 1.0) {
            out.push_str(" <");
        }
        self.rows.push(Line { row, threads, modules, ratio, provider, of_provider });
        out.trim_end().to_owned() + "\n"
    }

    /// The text below the table.
    pub fn summary(&self) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_ratio_to_the_fastest_other() {
        let modules = ["a", "b", "c"].map(|name| (name.to_owned(), PathBuf::from(name)));
        let mut report = Report::new(&modules, None, Duration::from_millis(100), 5);
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
        let mut report = Report::new(&modules, Some(&provider), Duration::from_millis(100), 5);
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
