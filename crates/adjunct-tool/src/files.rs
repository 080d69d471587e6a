//! The one way to read a file whose path or contents another user may have chosen.
//!
//! Root's commands come to files that other users name: a configuration in their home, one that their program's libcrypto reads, a file that one of
//! these includes. Opened in the ordinary way, a FIFO blocks, a device may act on being opened (/dev/watchdog, a tape), and /dev/zero is read without
//! end. Here nothing but a regular file is opened at all, opening never waits (not for a lease either), and reading stops at a limit.

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

/// More than this is no configuration file.
pub const CONFIG: u64 = 16 << 20;
/// More than this the kernel has to tell of no process.
const PROCESS: u64 = 64 << 20;

/// Opens a regular file for reading.
///
/// # Errors
/// As `open(2)`; [`ErrorKind::InvalidInput`] where it is no regular file.
pub fn open(path: &Path) -> Result<File> {
    // A descriptor that only names the file: nothing of the file itself is opened, so nothing waits and no device acts.
    let named = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    regular(&named)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let same = format!("/proc/self/fd/{}", named.as_raw_fd());
    let opened = match rustix::fs::open(same.as_str(), flags, Mode::empty()) {
        // A bare chroot has no /proc. Another file may lie there by now; what it is, is asked again below.
        Err(Errno::NOENT) => rustix::fs::open(path, flags, Mode::empty())?,
        opened => opened?,
    };
    regular(&opened)?;
    Ok(File::from(opened))
}

fn regular(file: &OwnedFd) -> Result<()> {
    match FileType::from_raw_mode(rustix::fs::fstat(file.as_fd())?.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Error::new(ErrorKind::IsADirectory, "is a folder")),
        _ => Err(Error::new(ErrorKind::InvalidInput, "is no regular file")),
    }
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`open`]; [`ErrorKind::FileTooLarge`] where there is more.
pub fn read(path: &Path, limit: u64) -> Result<Vec<u8>> {
    all(&open(path)?, limit)
}

/// Reads what is left of a file that [`open`] gave, at most `limit` bytes.
///
/// # Errors
/// [`ErrorKind::FileTooLarge`] where there is more.
pub fn all(file: &File, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("is longer than {} MiB", limit >> 20)));
    }
    Ok(bytes)
}

/// Reads a configuration file.
///
/// # Errors
/// As [`read`].
pub fn config(path: &Path) -> Result<Vec<u8>> {
    read(path, CONFIG)
}

/// Reads a configuration file as text; what is no UTF-8 is replaced.
///
/// # Errors
/// As [`read`].
pub fn text(path: &Path) -> Result<String> {
    config(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads what the kernel tells of a process, below /proc.
///
/// # Errors
/// As [`read`].
pub fn of_process(path: &Path) -> Result<Vec<u8>> {
    read(path, PROCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_are_opened_and_read_to_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("file"), b"12345").unwrap();
        symlink("file", path("link")).unwrap();
        assert_eq!(read(&path("link"), 5).unwrap(), b"12345");
        assert_eq!(read(&path("file"), 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        nix::unistd::mkfifo(&path("fifo"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        symlink("/dev/zero", path("endless")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        for name in ["fifo", "endless", "socket"] {
            assert_eq!(config(&path(name)).unwrap_err().to_string(), "is no regular file", "{name}");
        }
        assert_eq!(config(dir.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(config(&path("none")).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(!of_process(Path::new("/proc/self/maps")).unwrap().is_empty());
    }
}
