//! The user at the other side of a connection: uid, gid and groups, as they were when the program connected.
//!
//! By the C library's calls: rustix's type has no place for the process 0, which stands there where the other side is in a PID namespace that this one
//! does not see, and it has no groups.

#![allow(unsafe_code)]

use rustix::fd::OwnedFd;
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

/// The most groups of a user that are read: more than Linux has for a process.
const GROUPS: usize = 65_536;

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The effective user.
    pub uid: u32,
    /// The effective group.
    pub gid: u32,
    /// The supplementary groups, where the service wants them.
    pub groups: Vec<u32>,
}

impl Peer {
    /// Whether the user has a group.
    pub fn is_in(&self, group: u32) -> bool {
        self.gid == group || self.groups.contains(&group)
    }
}

fn failed() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// The user who made the connection, without its groups.
///
/// # Errors
/// What the system says.
pub fn user(socket: impl AsFd) -> Result<Peer, Errno> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of_val(&found) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    // SAFETY: the descriptor is open while it is borrowed; the option writes at most `length` bytes, for which there is room.
    let done = unsafe {
        libc::getsockopt(socket.as_fd().as_raw_fd(), level, option, (&raw mut found).cast(), &raw mut length)
    };
    if done == 0 { Ok(Peer { uid: found.uid, gid: found.gid, groups: Vec::new() }) } else { Err(failed()) }
}

/// The supplementary groups of the user who made the connection.
///
/// # Errors
/// What the system says.
pub fn groups(socket: impl AsFd) -> Result<Vec<u32>, Errno> {
    let mut groups: Vec<u32> = vec![0; 64];
    loop {
        let mut length = size_of_val(&groups[..]) as libc::socklen_t;
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERGROUPS);
        // SAFETY: the descriptor is open while it is borrowed; the option writes at most `length` bytes, which is the room that there is.
        let done = unsafe {
            libc::getsockopt(socket.as_fd().as_raw_fd(), level, option, groups.as_mut_ptr().cast(), &raw mut length)
        };
        let count = length as usize / size_of::<u32>();
        match done {
            0 => {
                groups.truncate(count);
                return Ok(groups);
            }
            // There are more, and this many.
            _ if failed() == Errno::RANGE && count > groups.len() && count <= GROUPS => groups.resize(count, 0),
            _ => return Err(failed()),
        }
    }
}

/// Accepts the next connection to a listening socket, without waiting, with the user who made it; `None` where no connection waits.
///
/// # Errors
/// What the system says.
pub fn accept(listener: impl AsFd) -> Result<Option<(OwnedFd, Peer)>, Errno> {
    loop {
        match accept_with(&listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => {
                let peer = user(&socket)?;
                return Ok(Some((socket, peer)));
            }
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType, socketpair};

    #[test]
    fn the_other_side_is_this_process() {
        let (one, _other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let found = user(&one).unwrap();
        assert_eq!((found.uid, found.gid), (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()));
        let mut ours: Vec<u32> = rustix::process::getgroups().unwrap().into_iter().map(|gid| gid.as_raw()).collect();
        let mut theirs = groups(&one).unwrap();
        ours.sort_unstable();
        theirs.sort_unstable();
        assert_eq!(theirs, ours);
        let peer = Peer { uid: 1, gid: 2, groups: vec![3] };
        assert!(peer.is_in(2) && peer.is_in(3) && !peer.is_in(1));
    }
}
