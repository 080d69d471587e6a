//! The metrics as a file for node_exporter's textfile collector, which reads `*.prom` in one folder whenever it is scraped.
//!
//! A file is replaced by rename, so that a reader never gets half of one. Beside it `FILE.state` keeps the parts of the sums, for the next run: a
//! timer starts a new program each time. Only its owner reads that, as it has every user's numbers.

use super::families::{Format, text};
use super::{Failure, Source};
use crate::watch::ledger::Ledger;
use crate::watch::replace;
use adjunct_tool::failure::eprint;
use adjunct_tool::files;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The largest state that is read, in bytes.
const STATE: u64 = 64 << 20;

/// Writes the file, again each `every`, or once.
///
/// # Errors
/// [`Failure`] where the first one cannot be written; what later ones meet is said.
pub(super) fn write(file: &Path, every: Option<Duration>, source: &mut Source) -> Result<ExitCode, Failure> {
    if file.extension().is_none_or(|extension| extension != "prom") {
        let name = adjunct_tool::escape::shown(file);
        return Err(Failure::Words(format!("{name}: node_exporter reads only files whose names end in .prom")));
    }
    let state = PathBuf::from(file).with_extension("prom.state");
    if let Ok(kept) = files::read(&state, STATE) {
        source.ledger = Ledger::kept(&String::from_utf8_lossy(&kept), source.ledger.is_by_user());
    }
    let mut once = || -> Result<(), Failure> {
        let page = text(&source.families()?, Format::Text);
        // First what the sums were made of: whoever is ended in between has counted nothing twice.
        replace(&state, &source.ledger.to_text(), 0o600)?;
        replace(file, &page, 0o644)
    };
    once()?;
    let Some(every) = every else { return Ok(ExitCode::SUCCESS) };
    super::ready();
    let mut next = Instant::now();
    loop {
        next += every;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        next = next.max(Instant::now());
        if let Err(failure) = once() {
            eprint(&format!("adjunct: {failure}"));
        }
    }
}
