//! The files that reports are written to: checked before anything is measured, written completely or not at all, and with standard output as a
//! fallback.
//!
//! A report whose file cannot be written (a full disk) is still shown, and the results of an interrupted run are kept apart from whole reports
//! ([`Ended`]).

use crate::failure::{cannot_write, cause};
use crate::{Failure, output, scratch};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use serde::Serialize;
use serde_json::Value;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The destination of one form of a report.
#[derive(Debug)]
pub enum Sink {
    /// Standard output, which then holds nothing else.
    Stdout,
    /// A file that is replaced at once, when its text is whole.
    File(PathBuf),
    /// A device or a pipe, or a file in a folder where none can be made: written where it is.
    InPlace(PathBuf, File),
}

impl Sink {
    /// The sink of an option's value, `-` for standard output, tried now: minutes of measuring are not lost to a wrong path.
    ///
    /// # Errors
    /// [`Failure`] where it cannot be written.
    pub fn open(path: &Path) -> Result<Sink, Failure> {
        if path == Path::new("-") {
            return Ok(Sink::Stdout);
        }
        let refused = |e: &std::io::Error| Failure::new(format!("{}: {}", path.display(), cause(e)));
        if path.is_dir() {
            return Err(Failure::new(format!("{}: this is a folder; name a file in it", path.display())));
        }
        // A link is followed, so that the file it leads to is replaced and not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let there = if target.exists() { Some(in_place(&target).map_err(|e| refused(&e))?) } else { None };
        match (beside(&target), there) {
            (_, Some(file)) if !target.is_file() => Ok(Sink::InPlace(target, file)),
            (Ok(trial), _) => {
                drop(trial);
                Ok(Sink::File(target))
            }
            (Err(_), Some(file)) => Ok(Sink::InPlace(target, file)),
            (Err(e), None) => Err(refused(&e)),
        }
    }

    /// The sink of an option that may not be given.
    ///
    /// # Errors
    /// As [`Sink::open`].
    pub fn of(path: Option<&Path>) -> Result<Option<Sink>, Failure> {
        path.map(Sink::open).transpose()
    }

    /// The sink of an option whose value may be left out, for standard output then.
    ///
    /// # Errors
    /// As [`Sink::open`].
    pub fn of_flag(given: Option<&Option<PathBuf>>) -> Result<Option<Sink>, Failure> {
        given.map(|path| path.as_deref().map_or(Ok(Sink::Stdout), Sink::open)).transpose()
    }

    /// Whether this is standard output.
    pub fn is_stdout(&self) -> bool {
        matches!(self, Sink::Stdout)
    }

    /// Whether both write to the same place.
    pub fn same(&self, other: &Sink) -> bool {
        match (self, other) {
            (Sink::Stdout, Sink::Stdout) => true,
            (Sink::File(a), Sink::File(b)) => a == b,
            _ => false,
        }
    }

    /// Writes the text. Where the file cannot be written, the text goes to standard output, and where that fails, to standard error.
    ///
    /// # Errors
    /// [`Failure`] where it cannot be written; a file is then what it was before.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        let (failure, rescued) = match self.try_write(text) {
            Ok(()) => return Ok(()),
            Err(failure) if self.is_stdout() => (failure, None),
            Err(failure) => (failure, output::print(text).is_ok().then_some("standard output")),
        };
        let rescued = match rescued {
            Some(place) => Some(place),
            None => std::io::stderr().write_all(output::harmless(text).as_bytes()).is_ok().then_some("standard error"),
        };
        Err(match rescued {
            Some(place) => Failure::new(format!("{failure}; what was to be written there went to {place}")),
            None => failure,
        })
    }

    fn try_write(&self, text: &str) -> Result<(), Failure> {
        match self {
            Sink::Stdout => output::print(text),
            Sink::InPlace(path, file) => {
                // A device has no length to set.
                let _ = file.set_len(0);
                (&*file).write_all(text.as_bytes()).map_err(|e| cannot_write(path, &e))
            }
            Sink::File(path) => replace(path, text).map_err(|e| cannot_write(path, &e)),
        }
    }

    /// Writes a report as JSON.
    ///
    /// # Errors
    /// As [`Sink::write`].
    pub fn write_json(&self, report: &impl Serialize) -> Result<(), Failure> {
        self.write(&json(report)?)
    }
}

fn json(report: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(report).map_err(|e| Failure::new(format!("JSON: {e}")))?;
    Ok(text + "\n")
}

/// Whether a run that measures was completed, failed or was interrupted.
#[derive(Debug)]
pub struct Ended(Option<Failure>);

impl Ended {
    /// Makes the end of what the measuring returned.
    pub fn of(done: Result<(), Failure>) -> Ended {
        Ended(done.err())
    }

    /// Whether all was measured.
    pub fn whole(&self) -> bool {
        self.0.is_none()
    }

    /// Writes a report as JSON, if that was asked for. That of a run which ended early has the member `incomplete` with the reason, and
    /// goes beside the file, as FILE.partial: FILE has whole reports only, and keeps the one that it has.
    ///
    /// # Errors
    /// As [`Sink::write`].
    pub fn write_json(&mut self, sink: Option<&Sink>, report: &impl Serialize) -> Result<(), Failure> {
        let Some(sink) = sink else { return Ok(()) };
        let Some(failure) = &self.0 else { return sink.write_json(report) };
        let mut value = serde_json::to_value(report).map_err(|e| Failure::new(format!("JSON: {e}")))?;
        if let Value::Object(members) = &mut value {
            members.insert("incomplete".to_owned(), failure.to_string().into());
        }
        let text = json(&value)?;
        self.write_partial(sink, &text)
    }

    /// Writes a text that a sink gets beside JSON, if that was asked for: a page, a table. The text of a run which ended early goes to FILE.partial.
    ///
    /// # Errors
    /// As [`Sink::write`].
    pub fn write(
        &mut self,
        sink: Option<&Sink>,
        text: impl FnOnce() -> Result<String, Failure>,
    ) -> Result<(), Failure> {
        match sink {
            None => Ok(()),
            Some(sink) if self.whole() => sink.write(&text()?),
            Some(sink) => self.write_partial(sink, &text()?),
        }
    }

    fn write_partial(&mut self, sink: &Sink, text: &str) -> Result<(), Failure> {
        let Sink::File(path) = sink else { return sink.write(text) };
        let mut name = path.clone().into_os_string();
        name.push(".partial");
        let beside = PathBuf::from(name);
        Sink::File(beside.clone()).write(text)?;
        if let Some(failure) = &mut self.0 {
            *failure = Failure::new(format!("{failure}; what was measured until then is in {}", beside.display()));
        }
        Ok(())
    }

    /// The end of the run after the report was written; `written` is the result of that.
    ///
    /// # Errors
    /// The [`Failure`] that ended the run early, or that of writing.
    pub fn told(self, written: Result<(), Failure>) -> Result<(), Failure> {
        match (self.0, written) {
            (None, written) => written,
            (Some(end), Ok(())) => Err(end),
            (Some(end), Err(failure)) => Err(Failure::new(format!("{end}; {failure}"))),
        }
    }
}

/// Opens an existing file to be written in place. A pipe without a reader is an error, because opening it would block without end.
fn in_place(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(opened) => {
            fcntl_setfl(&opened, fcntl_getfl(&opened)? & !OFlags::NONBLOCK)?;
            Ok(File::from(opened))
        }
        Err(Errno::NXIO) => Err(std::io::Error::other("nobody reads this pipe, or answers at this socket")),
        Err(e) => Err(e.into()),
    }
}

fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = beside(path)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    if let Ok(old) = fs::metadata(path) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.persist(path).map(|_| ()).map_err(|e| e.error)
}

/// A file in the same folder, that vanishes where it is not renamed.
fn beside(path: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // As any new file: the umask takes from this what it takes.
    scratch::beside(folder, 0o666)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report");
        let sink = Sink::open(&path).unwrap();
        assert!(!path.exists(), "nothing is made before there is something to write");
        sink.write("one").unwrap();
        Sink::open(&path).unwrap().write("2").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "2");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "old").unwrap();
        std::os::unix::fs::symlink("file", dir.path().join("link")).unwrap();
        Sink::open(&dir.path().join("link")).unwrap().write("new").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("file")).unwrap(), "new");
        assert!(dir.path().join("link").is_symlink());
    }

    #[test]
    fn what_cannot_be_written_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for bad in [dir.path().to_owned(), dir.path().join("no/such/file"), fifo] {
            assert!(Sink::open(&bad).is_err(), "{}", bad.display());
        }
        let full = Sink::open(Path::new("/dev/full")).unwrap().write("x").unwrap_err().to_string();
        assert_eq!(full, "/dev/full: the disk is full; what was to be written there went to standard output");
    }

    #[test]
    fn a_whole_report_stays_where_a_run_is_interrupted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("report");
        fs::write(&path, "whole").unwrap();
        let sink = Sink::open(&path).unwrap();
        let mut ended = Ended::of(Err(Failure::new("interrupted")));
        let written = ended.write_json(Some(&sink), &json!({ "rows": [1] }));
        let line = ended.told(written).unwrap_err().to_string();
        assert!(
            line.starts_with("interrupted; what was measured until then is in /") && line.ends_with("report.partial")
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        let partial: Value = serde_json::from_slice(&fs::read(dir.path().join("report.partial")).unwrap()).unwrap();
        assert_eq!(partial, json!({ "rows": [1], "incomplete": "interrupted" }));
        let mut ended = Ended::of(Ok(()));
        let written = ended.write_json(Some(&sink), &json!({ "rows": [1, 2] }));
        ended.told(written).unwrap();
        assert!(!fs::read_to_string(&path).unwrap().contains("incomplete"));
    }
}
