//! A run from its first row to its exit status: what is shown as it comes, what is written, and what is kept of a run that ends early.

use adjunct_tool::interrupt::interrupted;
use adjunct_tool::progress::Rows;
use adjunct_tool::sink::{Ended, Sink};
use adjunct_tool::{Failure, output};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// Everything that was measured; what serializes is the content of `--json`.
pub trait Report: Serialize {
    /// What stands above the first table.
    fn heading(&self) -> String;

    /// What stands below the last.
    fn summary(&self) -> String;

    /// Whether something could not be measured: the exit status says so.
    fn failed(&self) -> bool {
        false
    }

    /// Whether there is nothing to be written of a run that ended early.
    fn is_empty(&self) -> bool {
        false
    }
}

/// Whether tables are shown: not where a report takes standard output.
#[derive(Debug, Clone, Copy)]
pub struct Shown(bool);

impl Shown {
    /// Prints, if tables are shown.
    ///
    /// # Errors
    /// [`Failure`] where standard output takes nothing.
    pub fn print(self, text: &str) -> Result<(), Failure> {
        if self.0 { output::print(text) } else { Ok(()) }
    }
}

/// What makes another form of a report than JSON.
pub type Form<R> = fn(&R) -> Result<String, Failure>;

/// Where the forms of a report go.
pub struct Outputs<R> {
    json: Option<Sink>,
    others: Vec<(Sink, Form<R>)>,
    shown: Shown,
}

impl<R: Report> Outputs<R> {
    /// JSON to this file, if to any, and other forms. All are tried now: minutes of measuring are not lost to a wrong path.
    ///
    /// # Errors
    /// [`Failure`] where one cannot be written.
    pub fn open(json: Option<&Path>, others: &[(Option<&Path>, Form<R>)]) -> Result<Outputs<R>, Failure> {
        let json = Sink::of(json)?;
        let others = others.iter().filter_map(|(path, form)| Some((path.as_ref()?, form)));
        let others = others.map(|(path, form)| Ok((Sink::open(path)?, *form))).collect::<Result<_, Failure>>()?;
        let mut outputs = Outputs { json, others, shown: Shown(true) };
        let taken = outputs.all().any(Sink::is_stdout);
        outputs.shown = Shown(!taken);
        Ok(outputs)
    }

    fn all(&self) -> impl Iterator<Item = &Sink> {
        self.json.iter().chain(self.others.iter().map(|(sink, _)| sink))
    }

    /// Whether two forms go to the same place.
    pub fn collide(&self) -> bool {
        let all: Vec<&Sink> = self.all().collect();
        (0..all.len()).any(|at| all[..at].iter().any(|other| other.same(all[at])))
    }

    /// The same outputs, without tables where something else takes standard output.
    #[must_use]
    pub fn without_tables(self, taken: bool) -> Outputs<R> {
        Outputs { shown: Shown(self.shown.0 && !taken), ..self }
    }

    /// Whether tables are shown.
    pub fn shown(&self) -> Shown {
        self.shown
    }

    /// Shows the heading, has `measure` measure, and writes and shows what came of it.
    ///
    /// # Errors
    /// [`Failure`] that ended the run early, or of writing.
    pub fn run(
        &self,
        report: &mut R,
        measure: impl FnOnce(&mut R, Shown) -> Result<(), Failure>,
    ) -> Result<ExitCode, Failure> {
        self.shown.print(&report.heading())?;
        let done = measure(report, self.shown);
        self.end(report, done)
    }

    /// Writes the report, whose measuring returned `done`, and shows what stands below the tables.
    ///
    /// # Errors
    /// [`Failure`] that ended the run early, or of writing.
    pub fn end(&self, report: &R, done: Result<(), Failure>) -> Result<ExitCode, Failure> {
        let mut ended = Ended::of(done);
        let mut written = Ok(());
        if ended.whole() || !report.is_empty() {
            written = ended.write_json(self.json.as_ref(), report);
            for (sink, form) in &self.others {
                written = written.and(ended.write(Some(sink), || form(report)));
            }
            written = written.and(self.shown.print(&report.summary()));
        }
        ended.told(written)?;
        Ok(if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Rows as they are measured: a bar says which comes, and their lines of the table are shown as they are done.
#[derive(Debug)]
pub struct Lines {
    bar: Rows,
    shown: Shown,
}

impl Lines {
    /// Before the first of so many.
    pub fn new(rows: usize, shown: Shown) -> Lines {
        Lines { bar: Rows::new(rows), shown }
    }

    /// Measures the row of this title. What was measured while somebody ended it is no measurement.
    ///
    /// # Errors
    /// [`Failure`] where somebody ends it.
    pub fn measure<T>(&self, title: &str, measure: impl FnOnce() -> T) -> Result<T, Failure> {
        interrupted()?;
        self.bar.begin(title);
        let measured = measure();
        interrupted()?;
        Ok(measured)
    }

    /// Shows what is no row.
    ///
    /// # Errors
    /// [`Failure`] where standard output takes nothing.
    pub fn show(&self, text: &str) -> Result<(), Failure> {
        if text.is_empty() { Ok(()) } else { self.bar.aside(|| self.shown.print(text)) }
    }

    /// Shows the line of the row that is done; nothing where it has none.
    ///
    /// # Errors
    /// [`Failure`] where standard output takes nothing.
    pub fn done(&mut self, line: &str) -> Result<(), Failure> {
        self.bar.end();
        self.show(line)
    }
}
