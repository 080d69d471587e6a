//! One change at a time: what two commands find out, write and take back would mix.

use adjunct_tool::Failure;
use adjunct_tool::escape::shown;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::progress::Progress;
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time after which a command does not wait any longer for another; a change with its checks takes half a minute at most.
const LIMIT: Duration = Duration::from_secs(120);

/// The lock of a configuration, held to the end of a command: a file beside it, which no other user can open. It goes with the command.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock of `config`; waits for a command that holds it. `None` where no file can be made beside the configuration, since nothing can be
    /// changed there either.
    ///
    /// # Errors
    /// [`Failure`] where another command holds it for long, or the user interrupts.
    pub fn take(config: &Path) -> Result<Option<Lock>, Failure> {
        let Ok(real) = fs::canonicalize(config) else { return Ok(None) };
        let mut name = real.clone().into_os_string();
        name.push(".adjunct-lock");
        let path = PathBuf::from(name);
        let start = Instant::now();
        let mut wait = None;
        loop {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let Ok(file) = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).map(File::from) else {
                return Ok(None);
            };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // Whoever held it before may have removed it.
                Ok(()) if is_at(&file, &path) => return Ok(Some(Lock { path, _file: file })),
                Ok(()) | Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => {}
                Err(_) => return Ok(None),
            }
            interrupted()?;
            if start.elapsed() > LIMIT {
                let text = "another 'adjunct openssl' is changing it; try again when that has ended";
                return Err(Failure::new(format!("{}: {text}", shown(&real))));
            }
            wait.get_or_insert_with(|| Progress::waiting("another 'adjunct openssl' is changing the configuration"));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let same =
        |there: fs::Metadata| file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (there.dev(), there.ino()));
    fs::symlink_metadata(path).is_ok_and(same)
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still held: a file made after this one is locked by itself.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_held_by_one_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("a.cnf");
        assert!(Lock::take(&config).unwrap().is_none(), "there is no such file");
        fs::write(&config, "").unwrap();
        let inside = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let _lock = Lock::take(&config).unwrap().unwrap();
                        assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        std::thread::sleep(Duration::from_millis(2));
                        inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
