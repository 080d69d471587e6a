//! Writes one line to the administrator, only where that is safe for the program.

use rustix::fs::{FileType, fstat};

/// Writes a line, `adjunct: MESSAGE`, to standard error. Nothing is written where descriptor 2 is closed or a socket: in a foreign process that may
/// be a connection to a peer. Call it only while a module loads, or from the command.
pub fn warn(message: &str) {
    warn_later(standard_error(), message);
}

/// Identity of the file that standard error is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandardError {
    device: u64,
    inode: u64,
}

/// The file that standard error is now; `None` where nothing is to be written to it.
#[allow(clippy::unnecessary_cast)]
pub fn standard_error() -> Option<StandardError> {
    // SAFETY: descriptor 2 is only borrowed for the call; if it is closed that fails.
    let stat = fstat(unsafe { rustix::fd::BorrowedFd::borrow_raw(2) }).ok()?;
    let socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
    (!socket).then_some(StandardError { device: stat.st_dev as u64, inode: stat.st_ino as u64 })
}

/// Warns at a time after the module's load: writes nothing where descriptor 2 is another file than it `was` at the load, for a program that has
/// closed it may have opened a file of its own there.
pub fn warn_later(was: Option<StandardError>, message: &str) {
    if was.is_none() || standard_error() != was {
        return;
    }
    // SAFETY: descriptor 2 is only borrowed for the call; if it is closed meanwhile that fails and nothing happens.
    let stderr = unsafe { rustix::fd::BorrowedFd::borrow_raw(2) };
    let line = format!("adjunct: {}\n", message.replace(['\n', '\r'], " "));
    let _ = rustix::io::write(stderr, line.as_bytes());
}
