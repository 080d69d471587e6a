//! A configuration file on disk: read, replaced as a whole or not at all, with its owner, mode and attributes.

use adjunct_tool::Failure;
use adjunct_tool::escape::word;
use adjunct_tool::failure::cause;
use adjunct_tool::files;
use adjunct_tool::scratch;
use rustix::fs::{XattrFlags, fchown, fgetxattr, flistxattr, fsetxattr};
use rustix::process::{Gid, Uid};
use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file longer than this is no openssl.cnf.
const LONGEST: u64 = 4 << 20;

/// A configuration file as it was when it was opened.
#[derive(Debug)]
pub struct ConfigFile {
    /// The path, with symbolic links resolved: what is replaced is the file they lead to.
    pub path: PathBuf,
    /// The content.
    pub bytes: Vec<u8>,
    file: File,
    owner: (u32, u32),
    mode: u32,
}

impl ConfigFile {
    /// Opens and reads a file.
    ///
    /// # Errors
    /// [`Failure`] with the path and why it is left alone: not there, not readable, no regular file, several names.
    pub fn open(path: &Path) -> Result<ConfigFile, Failure> {
        let failed = |what: &str| Failure::new(format!("{}: {what}", path.display()));
        let real = fs::canonicalize(path).map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                failed("no such file; make it first, where it is to be a new one (an empty file will do)")
            }
            _ => failed(&cause(&e)),
        })?;
        let file = files::open(&real).map_err(|e| match e.kind() {
            ErrorKind::IsADirectory => failed("is no regular file"),
            _ => failed(&cause(&e)),
        })?;
        let metadata = file.metadata().map_err(|e| failed(&cause(&e)))?;
        if metadata.nlink() > 1 {
            return Err(failed("has several names (hard links), and replacing one would leave the others behind"));
        }
        if metadata.len() > LONGEST {
            return Err(failed("is too long for a configuration file"));
        }
        let bytes = files::all(&file, LONGEST).map_err(|e| failed(&cause(&e)))?;
        let (owner, mode) = ((metadata.uid(), metadata.gid()), metadata.permissions().mode() & 0o7777);
        Ok(ConfigFile { path: real, bytes, file, owner, mode })
    }

    /// Replaces the content in one step: readers see the old file or the new one.
    ///
    /// # Errors
    /// [`Failure`]; the file is then as it was. Also where another program changed it since it was opened.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), Failure> {
        let new = self.prepared(bytes)?;
        let now = files::config(&self.path).map_err(|e| self.failed(&e))?;
        let same_file = fs::symlink_metadata(&self.path)
            .is_ok_and(|now| self.file.metadata().is_ok_and(|was| (now.dev(), now.ino()) == (was.dev(), was.ino())));
        if now != self.bytes || !same_file {
            let text = format!("{}: another program changed it meanwhile; nothing was done", self.path.display());
            return Err(Failure::new(text));
        }
        new.persist(&self.path).map_err(|e| self.failed(&e.error))?;
        self.sync_folder();
        Ok(())
    }

    /// The place of the backup.
    pub fn backup_path(&self) -> PathBuf {
        beside(&self.path, ".adjunct-backup")
    }

    /// Writes `bytes` as the backup. An existing backup is kept under a numbered name.
    ///
    /// # Errors
    /// [`Failure`] where it cannot be written.
    pub fn back_up(&self, bytes: &[u8]) -> Result<PathBuf, Failure> {
        let path = self.backup_path();
        match files::config(&path) {
            Ok(there) if there == bytes => return Ok(path),
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            _ => {
                let free =
                    (1..1000).map(|n| beside(&path, &format!(".{n}"))).find(|p| fs::symlink_metadata(p).is_err());
                let free = free.ok_or_else(|| Failure::new(format!("{}: too many backups", path.display())))?;
                fs::rename(&path, free).map_err(|e| self.failed(&e))?;
            }
        }
        self.prepared(bytes)?.persist_noclobber(&path).map_err(|e| self.failed(&e.error))?;
        self.sync_folder();
        Ok(path)
    }

    /// Puts the backup in the file's place. It takes no space, so a full disk cannot keep it from being done.
    ///
    /// # Errors
    /// [`Failure`] with what to do by hand.
    pub fn restore(&self, backup: &Path) -> Result<(), Failure> {
        fs::rename(backup, &self.path).map_err(|e| {
            let path = self.path.display();
            let (from, to) = (word(backup), word(&self.path));
            Failure::new(format!("{path} could not be put back ({e}); do it by hand: mv {from} {to}"))
        })?;
        self.sync_folder();
        Ok(())
    }

    /// A new file beside this one with `bytes`, this one's owner, mode and attributes, safe on disk.
    fn prepared(&self, bytes: &[u8]) -> Result<NamedTempFile, Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let mut new = scratch::beside(folder, 0o600).map_err(|e| self.failed(&e))?;
        new.write_all(bytes).map_err(|e| self.failed(&e))?;
        let file = new.as_file();
        let made = file.metadata().map_err(|e| self.failed(&e))?;
        if (made.uid(), made.gid()) != self.owner {
            fchown(file, Some(Uid::from_raw(self.owner.0)), Some(Gid::from_raw(self.owner.1))).map_err(|_| {
                Failure::new(format!("{}: its owner could not be kept; run it as root", self.path.display()))
            })?;
        }
        // After the owner: changing that takes special bits away.
        file.set_permissions(Permissions::from_mode(self.mode)).map_err(|e| self.failed(&e))?;
        copy_attributes(&self.file, file);
        file.sync_all().map_err(|e| self.failed(&e))?;
        Ok(new)
    }

    /// The content as it was when the file was opened, ready beside it to be put back in one step.
    ///
    /// # Errors
    /// [`Failure`] where it cannot be written.
    pub fn spare(&self) -> Result<NamedTempFile, Failure> {
        self.prepared(&self.bytes)
    }

    fn sync_folder(&self) {
        if let Some(folder) = self.path.parent().and_then(|p| File::open(p).ok()) {
            let _ = folder.sync_all();
        }
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        failed(&self.path, error)
    }
}

/// The failure of a change, with what to do where a right is lacking.
pub(super) fn failed(path: &Path, error: &std::io::Error) -> Failure {
    let denied = error.kind() == ErrorKind::PermissionDenied && !nix::unistd::geteuid().is_root();
    let hint = if denied { "; run it as root" } else { "" };
    Failure::new(format!("{}: {}{hint}", path.display(), cause(error)))
}

/// `path` with `suffix` added to its last part.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Copies extended attributes (access lists, security labels), as far as the system allows.
fn copy_attributes(from: &File, to: &File) {
    let mut names = vec![0u8; 64 << 10];
    let Ok(length) = flistxattr(from, &mut names[..]) else { return };
    for name in names[..length].split(|&b| b == 0).filter(|n| !n.is_empty()) {
        let mut value = vec![0u8; 64 << 10];
        if let Ok(length) = fgetxattr(from, name, &mut value[..]) {
            let _ = fsetxattr(to, name, &value[..length], XattrFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_and_through_links() {
        let dir = folder();
        let (real, link) = (dir.path().join("real.cnf"), dir.path().join("link.cnf"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o640)).unwrap();
        symlink("real.cnf", &link).unwrap();
        let file = ConfigFile::open(&link).unwrap();
        let backup = file.back_up(&file.bytes).unwrap();
        file.replace(b"new").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o7777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        file.restore(&backup).unwrap();
        assert_eq!(fs::read(&link).unwrap(), b"old");
        assert_eq!(fs::metadata(&real).unwrap().mode() & 0o7777, 0o640);
        assert_eq!(names(dir.path()), ["link.cnf", "real.cnf"]);
    }

    #[test]
    fn what_is_no_plain_file_is_left_alone() {
        let dir = folder();
        let path = |n: &str| dir.path().join(n);
        let line = |n: &str| ConfigFile::open(&path(n)).unwrap_err().to_string();
        assert!(line("missing").contains("no such file"));
        fs::create_dir(path("dir")).unwrap();
        assert!(line("dir").contains("no regular file"));
        fs::write(path("one"), "").unwrap();
        fs::hard_link(path("one"), path("two")).unwrap();
        assert!(line("one").contains("several names"));
        symlink("loop", path("loop")).unwrap();
        assert!(line("loop").starts_with(&path("loop").display().to_string()));
        nix::unistd::mkfifo(&path("fifo"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(line("fifo").contains("no regular file"));
        fs::write(path("long"), vec![b'\n'; (LONGEST + 1) as usize]).unwrap();
        assert!(line("long").contains("too long"));
    }

    #[test]
    fn a_change_by_another_is_not_overwritten() {
        let dir = folder();
        let path = dir.path().join("a.cnf");
        fs::write(&path, "old").unwrap();
        let file = ConfigFile::open(&path).unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(file.replace(b"ours").unwrap_err().to_string().contains("meanwhile"));
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(dir.path()), ["a.cnf"]);
    }

    #[test]
    fn an_older_backup_is_kept() {
        let dir = folder();
        let path = dir.path().join("a.cnf");
        fs::write(&path, "new").unwrap();
        fs::write(dir.path().join("a.cnf.adjunct-backup"), "older").unwrap();
        let file = ConfigFile::open(&path).unwrap();
        file.back_up(b"new").unwrap();
        file.back_up(b"new").unwrap();
        assert_eq!(names(dir.path()), ["a.cnf", "a.cnf.adjunct-backup", "a.cnf.adjunct-backup.1"]);
        assert_eq!(fs::read(dir.path().join("a.cnf.adjunct-backup.1")).unwrap(), b"older");
    }
}
