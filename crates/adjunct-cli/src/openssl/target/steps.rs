//! Changes of several files that are made together or not at all.

use crate::openssl::file::{ConfigFile, failed};
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_tool::interrupt::Hold;
use adjunct_tool::scratch;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// Changes made so far; dropped without [`Steps::keep`] they are taken back, the last first.
#[derive(Debug, Default)]
pub(super) struct Steps {
    undo: Vec<Undo>,
    /// A lock held while there may be something to take back.
    hold: Option<Hold>,
}

#[derive(Debug)]
enum Undo {
    Remove(PathBuf),
    RemoveFolder(PathBuf),
    /// The old content, ready beside the file: putting it back takes no space.
    PutBack(PathBuf, NamedTempFile),
}

impl Steps {
    /// Makes a folder, and those above it.
    ///
    /// # Errors
    /// [`Failure`] with the path and the cause.
    pub fn folder(&mut self, path: &Path) -> Result<(), Failure> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(above) = path.parent() {
            self.folder(above)?;
        }
        fs::DirBuilder::new().mode(0o755).create(path).map_err(|e| failed(path, &e))?;
        self.note(Undo::RemoveFolder(path.to_owned()));
        Ok(())
    }

    /// Makes a new file, whole on disk before it has its name.
    ///
    /// # Errors
    /// [`Failure`]; also where there is such a file.
    pub fn create(&mut self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let new = scratch::whole(folder, bytes, mode).map_err(|e| failed(path, &e))?;
        new.persist_noclobber(path).map_err(|e| failed(path, &e.error))?;
        self.note(Undo::Remove(path.to_owned()));
        Ok(())
    }

    /// Replaces the content of a file.
    ///
    /// # Errors
    /// As [`ConfigFile::replace`].
    pub fn replace(&mut self, file: &ConfigFile, bytes: &[u8]) -> Result<(), Failure> {
        let old = file.spare()?;
        file.replace(bytes)?;
        self.note(Undo::PutBack(file.path.clone(), old));
        Ok(())
    }

    fn note(&mut self, step: Undo) {
        self.hold.get_or_insert_with(Hold::begin);
        self.undo.push(step);
    }

    /// The changes stay.
    pub fn keep(mut self) {
        self.undo.clear();
    }

    /// Takes the changes back. What could not be undone is added to `why`.
    pub fn back(mut self, why: Failure) -> Failure {
        let problems = self.take_back();
        match problems.first() {
            None => why,
            Some(problem) => Failure::new(format!("{why}; and {problem}")),
        }
    }

    fn take_back(&mut self) -> Vec<String> {
        let mut problems = Vec::new();
        while let Some(step) = self.undo.pop() {
            let (path, done) = match step {
                Undo::Remove(path) => (path.clone(), fs::remove_file(path)),
                Undo::RemoveFolder(path) => (path.clone(), fs::remove_dir(path)),
                Undo::PutBack(path, old) => (path.clone(), old.persist(path).map(drop).map_err(|e| e.error)),
            };
            if let Err(error) = done {
                problems.push(format!("{} could not be put back: {}", path.display(), cause(&error)));
            }
        }
        problems
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.take_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_is_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let (old, new) = (dir.path().join("old"), dir.path().join("a/b/new"));
        fs::write(&old, "old").unwrap();
        let change = |steps: &mut Steps| {
            steps.folder(new.parent().unwrap())?;
            steps.create(&new, b"new", 0o644)?;
            steps.replace(&ConfigFile::open(&old)?, b"changed")
        };
        let mut steps = Steps::default();
        change(&mut steps).unwrap();
        assert_eq!((fs::read(&old).unwrap(), fs::read(&new).unwrap()), (b"changed".to_vec(), b"new".to_vec()));
        assert_eq!(steps.back(Failure::new("why")).to_string(), "why");
        let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!((fs::read(&old).unwrap(), names), (b"old".to_vec(), vec!["old".into()]));
        let mut steps = Steps::default();
        change(&mut steps).unwrap();
        steps.keep();
        assert_eq!(fs::read(&old).unwrap(), b"changed");
        assert!(change(&mut Steps::default()).unwrap_err().to_string().contains("exists"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
