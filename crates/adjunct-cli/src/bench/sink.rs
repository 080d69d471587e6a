//! Where a report goes: a table for people, JSON for programs.

use crate::failure::cause;
use crate::{Failure, output};
use serde::Serialize;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The target of `--json`, opened before anything is measured: minutes of work are not lost to a wrong path.
#[derive(Debug)]
pub enum Json {
    /// Not asked for.
    None,
    /// Standard output, which then holds nothing else.
    Stdout,
    /// A file; what it held stays until there is something to write.
    File(File, PathBuf),
}

impl Json {
    /// Opens the target of `--json`.
    ///
    /// # Errors
    /// [`Failure`] where the file cannot be written.
    pub fn open(path: Option<&Path>) -> Result<Json, Failure> {
        match path {
            None => Ok(Json::None),
            Some(path) if path == Path::new("-") => Ok(Json::Stdout),
            Some(path) => match File::options().write(true).create(true).truncate(false).open(path) {
                Ok(file) => Ok(Json::File(file, path.to_owned())),
                Err(error) => Err(refused(path, &error)),
            },
        }
    }

    /// Whether people get no table, since JSON takes its place.
    pub fn replaces_table(&self) -> bool {
        matches!(self, Json::Stdout)
    }

    /// Writes the report.
    ///
    /// # Errors
    /// [`Failure`] where the target takes no more.
    pub fn write(self, report: &impl Serialize) -> Result<(), Failure> {
        match self {
            Json::None => Ok(()),
            Json::Stdout => output::print_json(report),
            Json::File(mut file, path) => {
                let text = serde_json::to_string_pretty(report).map_err(|e| Failure::new(format!("JSON: {e}")))?;
                // A device has no length to set.
                let _ = file.set_len(0);
                file.write_all((text + "\n").as_bytes()).map_err(|e| refused(&path, &e))
            }
        }
    }
}

fn refused(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {}", path.display(), cause(error)))
}
