//! The files a report is written to: tried before anything is measured, and written whole or not at all.

use crate::failure::cause;
use crate::{Failure, output, scratch};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where one form of the report goes.
#[derive(Debug)]
pub enum Sink {
    /// Standard output, which then holds nothing else.
    Stdout,
    /// A file that is replaced at once, when its text is whole.
    File(PathBuf),
    /// A device or a pipe, or a file in a folder where none can be made: written where it is.
    InPlace(PathBuf),
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
        let exists = target.exists();
        if exists {
            File::options().append(true).open(&target).map_err(|e| refused(&e))?;
            if !target.is_file() {
                return Ok(Sink::InPlace(target));
            }
        }
        match beside(&target) {
            Ok(trial) => {
                drop(trial);
                Ok(Sink::File(target))
            }
            Err(_) if exists => Ok(Sink::InPlace(target)),
            Err(e) => Err(refused(&e)),
        }
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

    /// Writes the text.
    ///
    /// # Errors
    /// [`Failure`] where it takes no more; a file is then what it was before.
    pub fn write(&self, text: &str) -> Result<(), Failure> {
        let refused = |path: &Path, e: &std::io::Error| Failure::new(format!("{}: {}", path.display(), cause(e)));
        match self {
            Sink::Stdout => output::print(text),
            Sink::InPlace(path) => {
                let file = File::options().write(true).open(path);
                let written = file.and_then(|mut file| {
                    // A device has no length to set.
                    let _ = file.set_len(0);
                    file.write_all(text.as_bytes())
                });
                written.map_err(|e| refused(path, &e))
            }
            Sink::File(path) => replace(path, text).map_err(|e| refused(path, &e)),
        }
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
        for bad in [dir.path().to_owned(), dir.path().join("no/such/file")] {
            assert!(Sink::open(&bad).is_err(), "{}", bad.display());
        }
        assert!(Sink::open(Path::new("/dev/full")).unwrap().write("x").unwrap_err().to_string().contains("full"));
    }
}
