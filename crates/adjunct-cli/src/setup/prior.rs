//! What was there before: the files that a step may change, byte for byte, to be put back where a later step fails.

use crate::openssl::file::ConfigFile;
use adjunct_tool::failure::{cannot_write, cause};
use adjunct_tool::{Failure, files, scratch};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

/// A file as it was.
#[derive(Debug)]
struct Was {
    path: PathBuf,
    /// Bytes, mode, user and group of the file; `None` where there was none.
    content: Option<(Vec<u8>, u32, u32, u32)>,
}

/// Files as they were.
#[derive(Debug, Default)]
pub(super) struct Prior(Vec<Was>);

impl Prior {
    /// Notes a file, before it is changed.
    ///
    /// # Errors
    /// Where it is there and cannot be read.
    pub fn note(&mut self, path: &Path) -> Result<(), Failure> {
        if self.0.iter().any(|was| was.path == path) {
            return Ok(());
        }
        let failed = |e: std::io::Error| Failure::new(format!("{}: {}", path.display(), cause(&e)));
        let content = match files::config(path) {
            Ok(bytes) => {
                let about = fs::metadata(path).map_err(failed)?;
                Some((bytes, about.mode() & 0o7777, about.uid(), about.gid()))
            }
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(failed(e)),
        };
        self.0.push(Was { path: path.to_owned(), content });
        Ok(())
    }

    /// The files that have changed.
    pub fn changed(&self) -> Vec<&Path> {
        let same = |was: &&Was| match (&was.content, files::config(&was.path)) {
            (Some((bytes, ..)), Ok(now)) => *bytes == now,
            (None, Err(e)) => e.kind() == ErrorKind::NotFound,
            _ => false,
        };
        self.0.iter().filter(|was| !same(was)).map(|was| was.path.as_path()).collect()
    }

    /// Puts back the files that have changed.
    ///
    /// # Errors
    /// The first that cannot be put back; the others are.
    pub fn put_back(&self) -> Result<(), Failure> {
        let mut failure = None;
        let changed: Vec<PathBuf> = self.changed().into_iter().map(Path::to_owned).collect();
        for was in self.0.iter().filter(|was| changed.contains(&was.path)) {
            if let Err(e) = was.put_back() {
                failure.get_or_insert(e);
            }
        }
        failure.map_or(Ok(()), Err)
    }
}

impl Was {
    /// Restores the file in one step: a reader finds either the old contents or the new ones.
    fn put_back(&self) -> Result<(), Failure> {
        let failed = |e: std::io::Error| cannot_write(&self.path, &e);
        let Some((bytes, mode, user, group)) = &self.content else {
            return fs::remove_file(&self.path).map_err(failed);
        };
        if self.path.exists() {
            return ConfigFile::open(&self.path)?.replace(bytes);
        }
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let new = scratch::whole(folder, bytes, *mode).map_err(failed)?;
        chown(new.path(), Some(*user), Some(*group)).map_err(failed)?;
        new.persist(&self.path).map_err(|e| failed(e.error))?;
        fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_was_there_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let [old, new, link] = ["old", "new", "link"].map(|name| dir.path().join(name));
        fs::write(&old, "old").unwrap();
        fs::set_permissions(&old, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&old, &link).unwrap();
        let mut prior = Prior::default();
        [&old, &new].iter().for_each(|path| prior.note(path).unwrap());
        assert!(prior.changed().is_empty());
        fs::write(&old, "changed").unwrap();
        fs::write(&new, "new").unwrap();
        assert_eq!(prior.changed(), [old.as_path(), new.as_path()]);
        prior.put_back().unwrap();
        assert!(prior.changed().is_empty() && !new.exists());
        assert_eq!(fs::metadata(&old).unwrap().mode() & 0o7777, 0o640);
        let mut through = Prior::default();
        through.note(&link).unwrap();
        fs::write(&old, "other").unwrap();
        through.put_back().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&old).unwrap(), b"old");
        fs::remove_file(&old).unwrap();
        prior.put_back().unwrap();
        assert_eq!((fs::read(&old).unwrap(), fs::metadata(&old).unwrap().mode() & 0o7777), (b"old".to_vec(), 0o640));
    }
}
