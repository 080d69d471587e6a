//! The daemon's sockets: systemd's, or its own.

use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, chmodat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::os::fd::FromRawFd;
use std::path::Path;

/// Programs that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// Sockets that systemd has made, by their names (`FileDescriptorName=`).
#[derive(Debug, Default)]
pub struct Given {
    /// For programs.
    pub cards: Option<OwnedFd>,
    /// For tools.
    pub control: Option<OwnedFd>,
}

/// Takes the sockets that systemd gives, if it does.
pub fn given() -> Given {
    let mut given = Given::default();
    for (fd, name) in sd_notify::listen_fds_with_names().into_iter().flatten() {
        // SAFETY: systemd gives it to this process, and the list is taken once.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let _ = rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC);
        // As systemd made them, accept would wait for the next program, and nothing else would be heard.
        let _ = rustix::io::ioctl_fionbio(&socket, true);
        match name.as_str() {
            "cards" => given.cards = Some(socket),
            "control" => given.control = Some(socket),
            _ => {}
        }
    }
    given
}

/// Makes a socket at a path, in place of one whose daemon is gone.
///
/// # Errors
/// What the system says; [`Errno::ADDRINUSE`] where a daemon listens there, or where something else is.
pub fn listen(path: &Path, mode: u32) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let new = || rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let address = SocketAddrUnix::new(path)?;
    if rustix::net::connect(new()?, &address) == Err(Errno::CONNREFUSED) {
        rustix::fs::unlink(path)?;
    }
    let socket = new()?;
    rustix::net::bind(&socket, &address)?;
    chmodat(CWD, path, Mode::from_raw_mode(mode), rustix::fs::AtFlags::empty())?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}
