//! Temporary files and folders, removed when they are dropped, when a signal ends the command by force ([`remove_all`]), and otherwise (SIGKILL, a
//! crash, a power failure) by the next run that makes one.

use crate::Failure;
use crate::failure::cause;
use crate::interrupt::catch_interrupts;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tempfile::{Builder, NamedTempFile};

/// How the name of a folder begins. Nothing else has such names: the next run may remove what lies there.
const PREFIX: &str = "adjunct-run-";
/// Age from which a folder without a lock counts as abandoned: between its making and its lock there is an instant.
const SETTLED: Duration = Duration::from_secs(60);

/// Checks that the folder for temporary files has room for what a session needs: keys, logs, data. Programs that find it full say anything, or
/// nothing.
///
/// # Errors
/// [`Failure`] that names the folder.
pub fn room() -> Result<(), Failure> {
    /// More than twice what a login check writes.
    const NEEDED: usize = 2 << 20;
    let written = Builder::new().prefix("adjunct-").tempfile().and_then(|mut file| {
        // Written, not only set aside: some file systems promise more than they have.
        file.write_all(&vec![0x5a; NEEDED])?;
        file.as_file().sync_data()
    });
    written.map_err(|e| no_room(&e))
}

fn no_room(error: &io::Error) -> Failure {
    let folder = std::env::temp_dir();
    let folder = folder.display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::new(format!(
            "{folder}: the folder for temporary files is full, or nearly (2 MiB are needed); make room, or name another by TMPDIR"
        )),
        _ => Failure::new(format!("{folder}: {}; the folder for temporary files can be named by TMPDIR", cause(error))),
    }
}

/// A temporary folder; removed with all in it when this is dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Another name of the folder that every configuration takes, where `path` has blanks or the like.
    link: Option<PathBuf>,
    /// The lock that says that the folder is in use; `None` where the file system has no locks.
    _lock: Option<OwnedFd>,
}

impl Folder {
    /// Path of the folder: a name without blanks, quotes and signs that stand for something else in a configuration.
    pub fn path(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.path)
    }

    /// Path of the folder itself, for callers that move it.
    pub fn itself(&self) -> &Path {
        &self.path
    }

    fn names(&self) -> impl Iterator<Item = &PathBuf> {
        self.link.iter().chain([&self.path])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.names().for_each(|path| remove(path));
        living().retain(|path| !self.names().any(|mine| mine == path));
    }
}

/// Whether sshd, nginx, Apache, HAProxy, Java and shells all take a path without quotes.
fn is_plain(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@".contains(c)))
}

/// A link to `folder` whose name is plain; in the first place that takes one.
fn plain_link(folder: &Path) -> io::Result<PathBuf> {
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let places = ["/tmp", "/var/tmp", "/dev/shm", "/run"].map(PathBuf::from).into_iter().chain(own);
    for place in places.filter(|place| is_plain(place) && place.is_absolute()) {
        let made = Builder::new().prefix(PREFIX).make_in(&place, |path| std::os::unix::fs::symlink(folder, path));
        if let Ok(link) = made {
            // From here on this value removes it.
            return link.into_temp_path().keep().map_err(|e| e.error);
        }
    }
    let why = "servers' configurations do not take such a path, and no folder takes a link to it";
    Err(io::Error::new(ErrorKind::InvalidFilename, why))
}

/// Makes a folder that only this user opens (mode 0700). From then on signals no longer end the process at once.
///
/// # Errors
/// [`Failure`] that names the folder for temporary files.
pub fn folder() -> Result<Folder, Failure> {
    folder_in(&std::env::temp_dir()).map_err(|e| no_room(&e))
}

/// A folder below `place` that only this user opens (mode 0700). From here on signals no longer end the process at once.
///
/// # Errors
/// As `mkdir(2)`.
pub fn folder_in(place: &Path) -> io::Result<Folder> {
    catch_interrupts();
    sweep(place, SETTLED);
    // Programs are given its name, and some run elsewhere.
    let place = std::path::absolute(place)?;
    let dir = Builder::new().prefix(PREFIX).permissions(Permissions::from_mode(0o700)).tempdir_in(place)?;
    let lock = lock(dir.path());
    let link = if is_plain(dir.path()) { None } else { Some(plain_link(dir.path())?) };
    let folder = Folder { path: dir.keep(), link, _lock: lock };
    living().extend(folder.names().cloned());
    Ok(folder)
}

/// Takes the lock of a folder, if it is free.
fn lock(folder: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty()).ok()?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(opened)
}

/// Removes what runs left that were killed: this user's folders that no process has locked, and that are older than `settled`.
fn sweep(place: &Path, settled: Duration) {
    let me = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let Ok(about) = entry.metadata() else { continue };
        let age = about.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
        if about.uid() != me || age.is_none_or(|age| age < settled) {
            continue;
        }
        let path = entry.path();
        if about.is_symlink() && !path.exists() {
            // The folder has been removed by a run that could not have known of the link.
            remove(&path);
        } else if about.is_dir()
            && let Some(_lock) = lock(&path)
        {
            remove(&path);
        }
    }
}

/// Removes a folder, or a link. A program that was just killed may still have put a file there.
fn remove(path: &Path) {
    for _ in 0..20 {
        // A link is not followed by this: it is removed itself.
        let done = if path.is_symlink() { fs::remove_file(path) } else { fs::remove_dir_all(path) };
        match done {
            Ok(()) => return,
            Err(e) if e.kind() == ErrorKind::NotFound => return,
            Err(_) => std::thread::sleep(Duration::from_millis(25)),
        }
    }
}

/// Folders that exist, so that a process that exits without dropping values can remove them.
static LIVING: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn living() -> MutexGuard<'static, Vec<PathBuf>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all folders in use: the process is about to be ended.
pub fn remove_all() {
    living().iter().for_each(|path| remove(path));
}

/// A file in a temporary folder of its own; removed with it when this is dropped.
#[derive(Debug)]
pub struct Config {
    path: PathBuf,
    _folder: Folder,
}

impl Config {
    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A configuration of OpenSSL that only this user reads.
pub fn config(text: &[u8]) -> io::Result<Config> {
    let folder = folder_in(&std::env::temp_dir())?;
    let path = folder.path().join("openssl.cnf");
    fs::write(&path, text)?;
    Ok(Config { path, _folder: folder })
}

/// An empty file in `folder`, to be filled and renamed. The umask takes from its mode.
pub fn beside(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    Builder::new().prefix(".adjunct-").suffix(".tmp").permissions(Permissions::from_mode(mode)).tempfile_in(folder)
}

/// A file in `folder` of exactly this mode, whole on disk, to be renamed.
pub fn whole(folder: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let mut file = beside(folder, 0o600)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_removed_and_what_is_in_use_stays() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
            path
        };
        let (left, used, other) = (make("adjunct-run-left"), make("adjunct-run-used"), make("adjunct-of-others"));
        let lock = lock(&used).unwrap();
        sweep(place.path(), Duration::from_secs(3600));
        assert!(left.exists(), "it may be one that is just being made");
        sweep(place.path(), Duration::ZERO);
        assert!(!left.exists() && used.exists() && other.exists());
        drop(lock);
        // A child that another test has just forked has the lock, too, until it runs its program.
        for _ in 0..400 {
            sweep(place.path(), Duration::ZERO);
            if !used.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        panic!("what is not in use any more stays");
    }

    #[test]
    fn every_configuration_takes_its_name() {
        let place = tempfile::tempdir().unwrap();
        let blank = place.path().join("a \"b\" $c%h;#");
        fs::create_dir(&blank).unwrap();
        let folder = folder_in(&blank).unwrap();
        let link = folder.path().to_owned();
        assert!(is_plain(&link) && folder.itself().starts_with(&blank), "{}", link.display());
        fs::write(link.join("file"), "x").unwrap();
        assert!(folder.itself().join("file").exists() && living().contains(&link));
        drop(folder);
        assert!(!link.is_symlink() && fs::read_dir(&blank).unwrap().count() == 0 && !living().contains(&link));
        let plain = folder_in(place.path()).unwrap();
        assert_eq!(plain.path(), plain.itself(), "no link where none is needed");
        // What is left of a link whose folder has gone.
        let dangling = place.path().join("adjunct-run-link");
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        sweep(place.path(), Duration::ZERO);
        assert!(!dangling.is_symlink());
    }

    #[test]
    fn a_folder_is_locked_while_it_is_there_and_goes() {
        let folder = folder().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(path.is_absolute() && lock(&path).is_none() && living().contains(&path));
        drop(folder);
        assert!(!path.exists() && !living().contains(&path));
        let config = config(b"text").unwrap();
        let path = config.path().to_owned();
        assert_eq!(fs::read(&path).unwrap(), b"text");
        drop(config);
        assert!(!path.parent().unwrap().exists());
    }
}
