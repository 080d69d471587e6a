//! The reports of `enable` and `disable`: the change as a unified diff, the checks, and notes.

use super::Target;
use super::check::{Check, Verdict};
use adjunct_tool::escape::shown;
use adjunct_tool::output::Style;
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The report of a change.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ChangeReport {
    /// `enable` or `disable`.
    pub action: &'static str,
    /// The target of the change.
    #[serde(rename = "for")]
    pub target: Target,
    /// The configuration.
    pub config: PathBuf,
    /// The files of the change.
    pub files: Vec<PathBuf>,
    /// Whether the target was changed.
    pub changed: bool,
    /// Whether the change was only tried (`--dry-run`).
    pub dry_run: bool,
    /// The module, of `enable`.
    pub module: Option<PathBuf>,
    /// The backup, where one is kept.
    pub backup: Option<PathBuf>,
    /// The change.
    pub diff: String,
    /// The checks.
    pub checks: Vec<Check>,
    /// Notes, one line each.
    pub notes: Vec<String>,
}

impl ChangeReport {
    /// A report of nothing done yet.
    pub fn new(action: &'static str, target: Target, config: &Path, dry_run: bool) -> ChangeReport {
        ChangeReport {
            action,
            target,
            config: config.to_owned(),
            files: Vec::new(),
            changed: false,
            dry_run,
            module: None,
            backup: None,
            diff: String::new(),
            checks: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// The checks, one line each.
pub(super) fn checks(checks: &[Check], style: Style) -> String {
    checks.iter().fold(String::new(), |mut text, check| {
        let (mark, detail) = match &check.verdict {
            Verdict::Passed(detail) => (style.good("yes"), detail),
            Verdict::Failed(detail) => (style.bad("no"), detail),
            Verdict::Skipped(detail) => (style.notice("not checked"), detail),
        };
        let _ = writeln!(text, "  {}: {mark} ({})", check.check, shown(detail));
        text
    })
}
