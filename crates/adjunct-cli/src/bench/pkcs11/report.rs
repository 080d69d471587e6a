//! The table and the JSON of `adjunct bench pkcs11`.

use super::super::report::now;
use super::worker::Trouble;
use adjunct::cpu;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// What a module came to in a row.
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
    /// Why there is no figure.
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
    rows: Vec<Line>,
    #[serde(skip)]
    notes: Vec<String>,
}

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
    /// An empty one, of modules by what they call themselves.
    pub fn new(modules: &[(String, PathBuf)], slice: Duration, repeats: usize) -> Report {
        let module = |(name, path): &(String, PathBuf)| Module { name: name.clone(), path: path.clone() };
        Report {
            cpu: cpu::model_name(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            adjunct: env!("CARGO_PKG_VERSION"),
            date: now(),
            slice_ms: slice.as_secs_f64() * 1e3,
            repeats,
            modules: modules.iter().map(module).collect(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// What stands above the table.
    pub fn heading(&self) -> String {
        let mut out = format!(
            "{}, {} CPUs; medians of {} slices of {:.0} ms each; per second, and us of CPU time each\n",
            self.cpu, self.cpus, self.repeats, self.slice_ms
        );
        for (number, module) in (1..).zip(&self.modules) {
            let _ = writeln!(out, "{number}: {} ({})", module.name, module.path.display());
        }
        let _ = write!(out, "\n{:<38} {:>3}", "", "thr");
        for number in 1..=self.modules.len() {
            let _ = write!(out, "  {:>8} {:>8}", format!("{number}: /s"), "us");
        }
        out + if self.modules.len() > 1 { "   ratio\n" } else { "\n" }
    }

    /// Adds a row, with what each module came to; its line of the table.
    pub fn add(&mut self, row: String, threads: u16, results: &[Result<Figure, Trouble>]) -> String {
        let mut out = format!("{row:<38} {threads:>3}");
        let mut modules = Vec::new();
        for (module, result) in self.modules.iter().zip(results) {
            let (figure, trouble) = match result {
                Ok(figure) => {
                    let _ = write!(out, "  {:>8} {:>8}", rate(figure.per_second), time(figure.cpu_us));
                    (Some(figure), None)
                }
                Err(trouble) => {
                    let _ = write!(out, "  {:>8} {:>8}", trouble.short(), "");
                    if !matches!(trouble, Trouble::Missing(_)) {
                        self.notes.push(format!("{}: {row}, {threads}: {}", module.name, trouble.words()));
                    }
                    (None, Some(trouble.words()))
                }
            };
            modules.push(Measured {
                module: module.name.clone(),
                per_second: figure.map(|f| f.per_second),
                cpu_us: figure.map(|f| f.cpu_us),
                trouble,
            });
        }
        let first = modules.first().and_then(|m| m.per_second);
        let fastest = modules.iter().skip(1).filter_map(|m| m.per_second).reduce(f64::max);
        let ratio = first.zip(fastest).map(|(first, fastest)| first / fastest);
        if let Some(ratio) = ratio {
            let _ = write!(out, "  {ratio:>6.2}{}", if ratio < 1.0 { " <" } else { "" });
        }
        self.rows.push(Line { row, threads, modules, ratio });
        out.trim_end().to_owned() + "\n"
    }

    /// What stands below the table.
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
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_ratio_to_the_fastest_other() {
        let modules = ["a", "b", "c"].map(|name| (name.to_owned(), PathBuf::from(name)));
        let mut report = Report::new(&modules, Duration::from_millis(100), 5);
        let figure = |per_second| Ok(Figure { per_second, cpu_us: 1.0 });
        let line = report.add("x".to_owned(), 1, &[figure(100.0), figure(50.0), figure(200.0)]);
        assert!(line.ends_with("0.50 <\n"), "{line}");
        let crashed = Err(Trouble::Crashed(Some(11)));
        let line = report.add("y".to_owned(), 16, &[figure(100.0), crashed, Err(Trouble::Missing("no".to_owned()))]);
        assert!(line.contains("crashed") && report.rows[1].ratio.is_none(), "{line}");
        assert!(report.summary().contains("b: y, 16: the module ended its process by signal 11"));
        assert!(report.summary().contains("0 of 1 rows"));
    }
}
