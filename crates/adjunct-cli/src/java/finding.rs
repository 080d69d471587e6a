//! Findings about lines of a file.

use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// Worth knowing.
    Note,
    /// The line works, but not as was surely meant, or slowly.
    Warning,
    /// The line does not work.
    Error,
}

/// A sentence about a line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// Severity of the finding.
    pub severity: Severity,
    /// The JDK's behaviour.
    pub text: String,
    /// What to do.
    pub fix: String,
    /// The JDK's own words, which it shows to few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub java: Option<String>,
}

impl Finding {
    /// Whether the line does not work.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Writes the finding as a compiler would.
    pub fn line_of_text(&self, style: Style) -> String {
        let word = match self.severity {
            Severity::Error => style.bad("error"),
            Severity::Warning => style.notice("warning"),
            Severity::Note => style.faint("note"),
        };
        let java = self.java.as_ref().map_or_else(String::new, |java| format!(" (Java: \"{}\")", shown(java)));
        let fix = if self.fix.is_empty() { String::new() } else { format!("; {}", shown(&self.fix)) };
        format!("{}:{}: {word}: {}{java}{fix}\n", shown(&self.file), self.line, shown(&self.text))
    }
}

/// The findings about one file.
#[derive(Debug)]
pub(super) struct Findings<'a> {
    file: &'a Path,
    /// The findings, unsorted.
    pub all: Vec<Finding>,
}

impl<'a> Findings<'a> {
    /// Makes an empty list of findings about `file`.
    pub fn of(file: &'a Path) -> Findings<'a> {
        Findings { file, all: Vec::new() }
    }

    fn add(&mut self, severity: Severity, line: u32, text: impl Into<String>, fix: impl Into<String>) {
        let (file, text, fix) = (self.file.to_owned(), text.into(), fix.into());
        self.all.push(Finding { file, line, severity, text, fix, java: None });
    }

    /// Notes that a line does not work.
    pub fn error(&mut self, line: u32, text: impl Into<String>, fix: impl Into<String>) {
        self.add(Severity::Error, line, text, fix);
    }

    /// Notes that a line works in another way than was meant.
    pub fn warning(&mut self, line: u32, text: impl Into<String>, fix: impl Into<String>) {
        self.add(Severity::Warning, line, text, fix);
    }

    /// Worth knowing.
    pub fn note(&mut self, line: u32, text: impl Into<String>, fix: impl Into<String>) {
        self.add(Severity::Note, line, text, fix);
    }

    /// The findings by line, the worst of a line first.
    pub fn sorted(mut self) -> Vec<Finding> {
        self.all.sort_by_key(|f| (f.line, std::cmp::Reverse(f.severity)));
        self.all
    }
}
