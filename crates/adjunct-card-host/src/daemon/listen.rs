//! The daemon's sockets: systemd's, or its own; and the lock by which one daemon alone has a folder.

use crate::watch::refuse_descriptors;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, chmodat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::FromRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// Programs that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// Sockets that systemd has made, by their names (`FileDescriptorName=`).
#[derive(Debug, Default)]
pub struct Given {
    /// The socket for programs.
    pub cards: Option<OwnedFd>,
    /// The socket for tools.
    pub control: Option<OwnedFd>,
    /// Sockets of domains, by their names ([`socket_name`](adjunct_card_state::folder::socket_name)).
    pub domains: Vec<(String, OwnedFd)>,
}

/// Takes the sockets that systemd gives, if it gives any.
pub fn given() -> Given {
    let mut given = Given::default();
    for (fd, name) in sd_notify::listen_fds_with_names().into_iter().flatten() {
        // SAFETY: systemd gives it to this process, and the list is taken once.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        let _ = rustix::io::fcntl_setfd(&socket, rustix::io::FdFlags::CLOEXEC);
        // As systemd made them, accept would wait for the next program, and nothing else would be heard.
        let _ = rustix::io::ioctl_fionbio(&socket, true);
        refuse_descriptors(&socket);
        match name.as_str() {
            "cards" => given.cards = Some(socket),
            "control" => given.control = Some(socket),
            _ => given.domains.push((name, socket)),
        }
    }
    given
}

/// How often a lock is tried for, with a pause between: a process that another daemon is just starting has a copy of its lock.
const TRIES: u32 = 10;
const BETWEEN: Duration = Duration::from_millis(5);

/// Locks a file, which is made if it does not exist, for as long as it is open: the system releases the lock whatever becomes of this process, and
/// the file stays. Only the daemon's user may open it, so that no other user can keep a daemon from starting. `None` where another daemon has the
/// lock.
///
/// # Errors
/// What the system says.
pub fn alone(path: &Path) -> io::Result<Option<File>> {
    for _ in 0..TRIES {
        let nofollow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let opened = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(nofollow)
            .open(path);
        let file = match opened {
            Ok(file) => file,
            // Left by a daemon of root's in a folder that is this user's.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && std::fs::remove_file(path).is_ok() => {
                continue;
            }
            Err(error) => return Err(error),
        };
        match file.try_lock() {
            // Of the file that is there, and not of one that was removed meanwhile.
            Ok(()) if std::fs::metadata(path)?.ino() == file.metadata()?.ino() => return Ok(Some(file)),
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(None)
}

/// How many times a socket's path is checked for a process that still listens there.
const LOOKS: u32 = 200;

/// Makes a socket at a path, in place of one whose daemon is gone. The caller has the folder alone ([`alone`]): otherwise two daemons that find such
/// a socket would each remove the other's. So a process that still listens is a card of a daemon that was killed; it ends when it notices that, and
/// is waited for, a second at most.
///
/// # Errors
/// What the system says; [`Errno::ADDRINUSE`] where a daemon listens there, or where something else is.
pub fn listen(path: &Path, mode: u32) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let new = || rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let address = SocketAddrUnix::new(path)?;
    for _ in 0..LOOKS {
        match rustix::net::connect(new()?, &address) {
            Ok(()) | Err(Errno::AGAIN) => std::thread::sleep(BETWEEN),
            Err(Errno::CONNREFUSED) => {
                // A file that is no socket refuses connections, too, and is not ours to remove.
                let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
                if is_socket {
                    rustix::fs::unlink(path)?;
                }
                break;
            }
            Err(_) => break,
        }
    }
    let socket = new()?;
    rustix::net::bind(&socket, &address)?;
    chmodat(CWD, path, Mode::from_raw_mode(mode), rustix::fs::AtFlags::empty())?;
    refuse_descriptors(&socket);
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}
