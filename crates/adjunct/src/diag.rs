//! One line to the administrator, where it can do no harm.

use rustix::fs::{FileType, fstat};

/// Writes one line, `adjunct: MESSAGE`, to standard error. Nothing is written where descriptor 2 is closed or a socket:
/// in a foreign process it may be the peer's. Call it only while a module loads, or from the command.
pub fn warn(message: &str) {
    // SAFETY: descriptor 2 is only borrowed for two calls; if it is closed both fail and nothing happens.
    let stderr = unsafe { rustix::fd::BorrowedFd::borrow_raw(2) };
    let Ok(stat) = fstat(stderr) else { return };
    if FileType::from_raw_mode(stat.st_mode) == FileType::Socket {
        return;
    }
    let line = format!("adjunct: {}\n", message.replace(['\n', '\r'], " "));
    let _ = rustix::io::write(stderr, line.as_bytes());
}
