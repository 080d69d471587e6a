//! The metrics as a file for node_exporter's textfile collector, which reads `*.prom` in one folder whenever it is scraped.
//!
//! A file is replaced by rename, so that nobody reads half of one. Beside it `FILE.state` keeps what sums were made of, for the next run: a
//! timer starts a new program each time. Only its owner reads that, as it has every user's numbers.

use super::families::{Format, text};
use super::ledger::Ledger;
use super::{Failure, Source};
use crate::failure::{cannot_write, eprint};
use crate::files;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
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
        let name = crate::escape::shown(file);
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

/// Puts `text` in the place of a file.
pub(crate) fn replace(file: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: &std::io::Error| cannot_write(file, error);
    let mut new = tempfile::Builder::new()
        .prefix(".adjunct-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(|error| failed(&error))?;
    new.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    // The mask of the program has nothing to say here: who reads the file is another user.
    new.as_file().set_permissions(Permissions::from_mode(mode)).map_err(|error| failed(&error))?;
    new.persist(file).map_err(|error| failed(&error.error))?;
    Ok(())
}
