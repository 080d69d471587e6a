//! Connections of this process to cards: taken for one request, and given back.
//!
//! Descriptors are the program's, not ours: it may close all of them (closefrom), and the number of one of ours may then refer to another file. So a
//! connection is recognized by the socket's cookie, which the system gives to no other socket; it is read before anything is sent and before anything
//! is received. A child of fork leaves its parent's connections alone and has its own.
//!
//! Another thread may close the descriptor between that check and the call that sends, and get its number for another file. So a message is sent with
//! flags and an address ([`send`]) that only sockets of the same kind accept: files, pipes, and all sockets of TCP, UDP and of other kinds refuse
//! them, and the program is left without a card. What remains is another SEQPACKET socket of the UNIX domain that the program opens in that moment;
//! it would get the request, and with it a key.
//!
//! All calls are the bare system calls: no wait of theirs can be cancelled by pthread_cancel, and errno stays as it is.

#![allow(unsafe_code)]

mod whole;

use super::Client;
use super::crowd::{self, Side};
use super::wire::{self, Kind, MAX_REPLY, Request, Status, reply};
use adjunct_base::fork;
use adjunct_base::slab::Number;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::net::addr::{SocketAddrArg, SocketAddrLen, SocketAddrOpaque};
use rustix::net::sockopt::socket_cookie;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use rustix::thread::{SecureComputingMode, secure_computing_mode};
use std::path::Path;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

pub(super) use whole::converse_whole;

/// The most connections that are kept.
const PLACES: usize = 16;
/// Lowest number of our descriptors, if the program may have as many: some programs rely on the number of the lowest free one.
const LOWEST: RawFd = 64;

/// Why a card did not do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The socket is not to be reached: it is not there, no permission, a chroot, a filter of system calls.
    Unreachable,
    /// The socket exists, and no process listens.
    Nobody,
    /// Too many wait to be accepted.
    Full,
    /// The card said no.
    Said(Status),
    /// The connection ended, or what came is no reply.
    Gone,
    /// No reply in time, on a connection that has had one.
    Silent,
    /// No reply in time on a new connection: perhaps it was not accepted yet.
    NotAccepted,
    /// The operation cannot be expressed as a request.
    Unfit,
}

/// An operation for a card.
pub(super) struct Wanted<'a, 'k> {
    pub kind: Kind,
    /// The key's, which no other key of this process has had.
    pub number: Number,
    /// The key as a request brings it.
    pub key: &'a dyn Fn() -> Option<&'k [u8]>,
    pub input: &'a [u8],
}

/// The keys that a connection has brought, by place: their numbers, or 0.
type Keys = [u64; wire::PLACES];

/// A connection that waits to be used. Taken and given back by one instruction each, so that a signal's handler and a fork may come at
/// any time.
struct Place {
    /// The descriptor, plus 1; 0 for none, and while it is being put there.
    fd: AtomicI32,
    taken: AtomicU32,
    generation: AtomicU32,
    /// The [`Peer::of`] of the connection.
    of: AtomicU32,
    cookie: AtomicU64,
    keys: [AtomicU64; wire::PLACES],
}

/// The connections of this process that wait to be used.
struct Pool([Place; PLACES]);

impl Pool {
    const fn new() -> Pool {
        Pool(
            [const {
                Place {
                    fd: AtomicI32::new(0),
                    taken: AtomicU32::new(0),
                    generation: AtomicU32::new(0),
                    of: AtomicU32::new(0),
                    cookie: AtomicU64::new(0),
                    keys: [const { AtomicU64::new(0) }; wire::PLACES],
                }
            }; PLACES],
        )
    }
}

/// Connections to accelerators.
static ACCELERATORS: Pool = Pool::new();
/// Connections to services of secure keys.
static SERVICES: Pool = Pool::new();

/// A socket, and whom this process takes for its owner.
pub(super) struct Peer<'a> {
    pub(super) address: &'a SocketAddrUnix,
    /// The socket, as a number of its own among the addresses that this process asks.
    pub(super) of: u32,
    /// The user beside root who may be at the other side.
    pub(super) owner: u32,
    /// Whether the socket is in the folder of the machine's daemon, whose owner may be there, too: root has made that folder.
    pub(super) of_machine: bool,
    /// Whether the socket is asked under a filter of system calls, too.
    pub(super) under_filters: bool,
}

impl<'a> Peer<'a> {
    /// The socket of a card's domain in a daemon's folder: root's, the user's own, or the machine's daemon's in its folder.
    pub(super) fn of_domain(address: &'a SocketAddrUnix, of: u32, folder: &Path, under_filters: bool) -> Peer<'a> {
        let owner = rustix::process::geteuid().as_raw();
        Peer { address, of, owner, of_machine: folder == Path::new(crate::SYSTEM), under_filters }
    }
}

/// The user whose processes listen in the folder of the machine's daemon.
fn owner_of_machine() -> Option<u32> {
    rustix::fs::stat(crate::SYSTEM).ok().map(|folder| folder.st_uid)
}

/// A connection.
struct Connection {
    fd: RawFd,
    cookie: u64,
    /// The [`Peer::of`] of the socket.
    of: u32,
    keys: Keys,
    /// No reply has come yet.
    new: bool,
}

impl Connection {
    /// The socket, if the descriptor still is it.
    fn socket(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the number is not -1. Whether it is open, and what it is, is asked before anything is done with it.
        let fd = unsafe { BorrowedFd::borrow_raw(self.fd) };
        (socket_cookie(fd) == Ok(self.cookie)).then_some(fd)
    }

    fn close(self) {
        if self.socket().is_some() {
            // SAFETY: it is ours, as the cookie says.
            drop(unsafe { OwnedFd::from_raw_fd(self.fd) });
        }
    }

    /// Takes one of this process's idle connections to a socket.
    fn waiting(pool: &Pool, of: u32) -> Option<Connection> {
        let generation = fork::generation();
        for place in &pool.0 {
            if place.fd.load(Relaxed) == 0 || place.of.load(Relaxed) != of || place.taken.swap(1, Acquire) != 0 {
                continue;
            }
            if place.of.load(Relaxed) != of {
                place.taken.store(0, Release);
                continue;
            }
            let fd = place.fd.swap(0, AcqRel);
            let keys = place.keys.each_ref().map(|key| key.load(Relaxed));
            let found = Connection { fd: fd - 1, cookie: place.cookie.load(Relaxed), of, keys, new: false };
            let ours = place.generation.load(Relaxed) == generation;
            place.taken.store(0, Release);
            match (fd, ours) {
                (0, _) => {}
                (_, true) => return Some(found),
                // A parent's: its copy here is closed, so that its end is seen at the other side.
                (_, false) => found.close(),
            }
        }
        None
    }

    /// Keeps the connection for the next request, or closes it where there is no place.
    fn keep(self, pool: &Pool) {
        for place in &pool.0 {
            if place.fd.load(Relaxed) != 0 || place.taken.swap(1, Acquire) != 0 {
                continue;
            }
            let free = place.fd.load(Relaxed) == 0;
            if free {
                place.cookie.store(self.cookie, Relaxed);
                place.keys.iter().zip(self.keys).for_each(|(place, key)| place.store(key, Relaxed));
                place.generation.store(fork::generation(), Relaxed);
                place.of.store(self.of, Relaxed);
                place.fd.store(self.fd + 1, Release);
            }
            place.taken.store(0, Release);
            if free {
                return;
            }
        }
        self.close();
    }

    /// Makes a connection to an accelerator, by a daemon of root or of the user who made the page.
    fn new(client: &Client) -> Result<Connection, Refused> {
        let begin = crowd::cpu_time();
        let peer = Peer {
            address: &client.address,
            of: 0,
            owner: client.owner,
            of_machine: false,
            under_filters: client.under_filters,
        };
        Connection::open(&peer).inspect(|_| {
            client.page.connected(Side::Program, crowd::cpu_time().saturating_sub(begin));
        })
    }

    /// Makes a connection, to a process of root or of the owner.
    fn open(to: &Peer<'_>) -> Result<Connection, Refused> {
        // Not the first connection of all alone: a filter may have been closed at any time.
        if !to.under_filters && filtered() {
            return Err(Refused::Unreachable);
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let connected = || {
            let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
            // It does not wait: where too many wait to be accepted, it fails.
            rustix::net::connect(&socket, to.address)?;
            let peer = peer(&socket)?;
            if peer != 0 && peer != to.owner && !(to.of_machine && owner_of_machine() == Some(peer)) {
                return Err(Errno::PERM);
            }
            let socket = match rustix::io::fcntl_dupfd_cloexec(&socket, LOWEST) {
                Ok(above) => above,
                Err(_) => socket,
            };
            let cookie = socket_cookie(&socket)?;
            Ok::<_, Errno>(Connection { fd: socket.into_raw_fd(), cookie, of: to.of, keys: Keys::default(), new: true })
        };
        connected().map_err(|error| match error {
            Errno::CONNREFUSED => Refused::Nobody,
            Errno::AGAIN => Refused::Full,
            _ => Refused::Unreachable,
        })
    }

    /// Has a card do it, with the key where this connection has not brought it yet; the output is in `out`. Until then, in milliseconds of
    /// the clock, it is waited for.
    fn ask(&mut self, wanted: &Wanted<'_, '_>, out: &mut [u8], until: u64) -> Result<(), Refused> {
        let number = wanted.number.get();
        let place = number as usize % wire::PLACES;
        if self.keys[place] == number {
            match self.exchange(wanted, place, None, out, until) {
                // It has forgotten it.
                Err(Refused::Said(Status::NoKey)) => {}
                done => return done,
            }
        }
        self.keys[place] = 0;
        let key = (wanted.key)().ok_or(Refused::Unfit)?;
        self.exchange(wanted, place, Some(key), out, until)?;
        self.keys[place] = number;
        Ok(())
    }

    /// Sends a request and takes its reply.
    fn exchange(
        &self,
        wanted: &Wanted<'_, '_>,
        place: usize,
        key: Option<&[u8]>,
        out: &mut [u8],
        until: u64,
    ) -> Result<(), Refused> {
        let request = Request::new(wanted.kind, place, key, wanted.input).ok_or(Refused::Unfit)?;
        let socket = self.socket().ok_or(Refused::Gone)?;
        let sent = send(socket, request.bytes());
        let mut message = [0; MAX_REPLY];
        // A card that lets somebody go says why before.
        let length =
            if sent { self.receive(&mut message, until) } else { self.take(&mut message).ok_or(Refused::Gone) };
        let length = length?;
        let said = message.get(..length).and_then(|message| reply(wanted.kind, message));
        let done = match said {
            Some(Ok(output)) if output.len() == out.len() => {
                out.copy_from_slice(output);
                Ok(())
            }
            Some(Err(status)) => Err(Refused::Said(status)),
            _ => Err(Refused::Gone),
        };
        // What was decrypted is secret.
        adjunct_kernels::wipe(&mut message[..length]);
        done
    }

    /// Receives a message, until a time of the clock; its length.
    fn receive(&self, message: &mut [u8], until: u64) -> Result<usize, Refused> {
        loop {
            let left = until.saturating_sub(crowd::now()) as i64;
            let limit = Timespec { tv_sec: left / 1000, tv_nsec: left % 1000 * 1_000_000 };
            // SAFETY: the number is not -1. Whatever it is by now is waited for, which changes nothing of it.
            let descriptor = unsafe { BorrowedFd::borrow_raw(self.fd) };
            let waited = poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&limit));
            if matches!(waited, Err(error) if error != Errno::INTR) {
                return Err(Refused::Gone);
            }
            let socket = self.socket().ok_or(Refused::Gone)?;
            match rustix::net::recv(socket, &mut *message, RecvFlags::DONTWAIT) {
                Ok((length @ 1.., _)) => return Ok(length),
                // After a wait that was over: what came in the meantime has been looked for.
                Err(Errno::AGAIN | Errno::INTR) if left == 0 => return Err(Refused::Silent),
                Err(Errno::AGAIN | Errno::INTR) => {}
                // Let go with a request that was not read, before which something may have been said.
                Err(Errno::CONNRESET) => return self.take(message).ok_or(Refused::Gone),
                Ok(_) | Err(_) => return Err(Refused::Gone),
            }
        }
    }

    /// Takes a message that has arrived; gives its length.
    fn take(&self, message: &mut [u8]) -> Option<usize> {
        let (length, _) = rustix::net::recv(self.socket()?, message, RecvFlags::DONTWAIT).ok()?;
        (length > 0).then_some(length)
    }
}

/// An address that names no socket: it has our socket's family and nothing else.
struct Nobody;

// SAFETY: what is pointed to lives as long as the call, and is as long as is said.
unsafe impl SocketAddrArg for Nobody {
    unsafe fn with_sockaddr<R>(&self, f: impl FnOnce(*const SocketAddrOpaque, SocketAddrLen) -> R) -> R {
        let family = libc::AF_UNIX as libc::sa_family_t;
        f((&raw const family).cast(), size_of_val(&family) as SocketAddrLen)
    }
}

/// Sends a message whole; false where it is not sent. Only a SEQPACKET socket of the UNIX domain takes it: that ignores the address and the
/// flag (unix_seqpacket_sendmsg in Linux' net/unix/af_unix.c). The address is not one of another family, nor one of a datagram socket of the
/// same (EINVAL), and a stream of the same takes none (EISCONN). TCP looks at addresses by MSG_FASTOPEN alone: its socket is then connected
/// already (EISCONN) or cannot be by this one. All else is no socket (ENOTSOCK).
fn send(socket: BorrowedFd<'_>, message: &[u8]) -> bool {
    const FASTOPEN: SendFlags = SendFlags::from_bits_retain(libc::MSG_FASTOPEN as u32);
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT | FASTOPEN;
    rustix::net::sendto(socket, message, flags, &Nobody) == Ok(message.len())
}

/// Whether a connection waits to be used. It may be gone until it is.
pub(super) fn is_there() -> bool {
    let generation = fork::generation();
    ACCELERATORS.0.iter().any(|place| place.fd.load(Relaxed) != 0 && place.generation.load(Relaxed) == generation)
}

/// Whether a filter of system calls is in force. A filter that kills for prctl would kill for a socket, too.
fn filtered() -> bool {
    secure_computing_mode() != Ok(SecureComputingMode::Disabled)
}

/// The uid of the other side. By the C library's call: rustix's type has no place for the process 0, which stands there where the other side
/// is in a PID namespace that this one does not see, as from a container.
fn peer(socket: &OwnedFd) -> Result<u32, Errno> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the option writes at most `length` bytes, for which there is room.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    if failed == 0 { Ok(found.uid) } else { Err(Errno::IO) }
}

/// Has a card do a request until a time of the clock, over a kept connection or a new one; once more if the card went away.
pub(super) fn exchange(client: &Client, wanted: &Wanted<'_, '_>, out: &mut [u8], until: u64) -> Result<(), Refused> {
    let mut found = Connection::waiting(&ACCELERATORS, 0);
    for last in [false, true] {
        let mut connection = match found.take() {
            Some(connection) => connection,
            None => Connection::new(client)?,
        };
        match connection.ask(wanted, out, until) {
            Ok(()) => {
                connection.keep(&ACCELERATORS);
                return Ok(());
            }
            // Where the daemon has ended meanwhile, a connection to a socket of systemd's would start it again.
            Err(Refused::Gone | Refused::Said(Status::Again)) if !last && client.page.cards() != 0 => {
                connection.close()
            }
            Err(refused @ (Refused::Said(Status::Busy | Status::Invalid) | Refused::Unfit)) => {
                connection.keep(&ACCELERATORS);
                return Err(refused);
            }
            // A reply may still come: for nobody.
            Err(refused) => {
                let new = connection.new;
                connection.close();
                return Err(if new && refused == Refused::Silent { Refused::NotAccepted } else { refused });
            }
        }
    }
    Err(Refused::Gone)
}

/// Sends a message to a service and receives its reply, which `is_reply` knows: its length. Until a time of the clock it is waited for; once more if the
/// service went away, which it may have done since the last message.
pub(super) fn converse(
    to: &Peer<'_>,
    message: &[u8],
    reply: &mut [u8],
    until: u64,
    is_reply: impl Fn(&[u8]) -> bool,
) -> Result<usize, Refused> {
    loop {
        let kept = Connection::waiting(&SERVICES, to.of);
        let again = kept.is_some();
        let connection = match kept {
            Some(connection) => connection,
            None => Connection::open(to)?,
        };
        let received = match connection.socket() {
            Some(socket) if send(socket, message) => connection.receive(reply, until),
            _ => Err(Refused::Gone),
        };
        match received {
            Ok(length) if is_reply(&reply[..length]) => {
                connection.keep(&SERVICES);
                return Ok(length);
            }
            // Each such connection is closed, and a new one is the last.
            Err(Refused::Gone) if again => connection.close(),
            // A reply may still come: for nobody.
            received => {
                connection.close();
                return Err(received.err().unwrap_or(Refused::Gone));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;
    use std::os::unix::net::{UnixDatagram, UnixStream};

    fn nothing_came(mut other: impl Read) {
        assert_eq!(other.read(&mut [0; 16]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }

    #[test]
    fn only_a_socket_like_ours_takes_what_is_sent() {
        let pair = |kind| rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::NONBLOCK, None).unwrap();
        let (ours, card) = pair(SocketType::SEQPACKET);
        assert!(send(ours.as_fd(), b"request"));
        assert_eq!(rustix::net::recv(&card, &mut [0; 16][..], RecvFlags::empty()).unwrap().0, 7);
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut other, _) = listener.accept().unwrap();
            other.set_nonblocking(true).unwrap();
            assert!(!send(stream.as_fd(), b"request") && !send(listener.as_fd(), b"request"));
            nothing_came(&other);
            // It goes on as if nothing had been.
            stream.write_all(b"ok").unwrap();
            other.set_nonblocking(false).unwrap();
            let mut came = [0; 2];
            other.read_exact(&mut came).unwrap();
            assert_eq!(&came, b"ok");
            let [near, far] = [(); 2].map(|()| UdpSocket::bind(address).unwrap());
            assert!(!send(near.as_fd(), b"request"));
            near.connect(far.local_addr().unwrap()).unwrap();
            far.set_nonblocking(true).unwrap();
            assert!(!send(near.as_fd(), b"request") && far.recv(&mut [0; 16]).is_err());
        }
        let (stream, other) = UnixStream::pair().unwrap();
        other.set_nonblocking(true).unwrap();
        assert!(!send(stream.as_fd(), b"request"));
        nothing_came(&other);
        let (datagrams, other) = UnixDatagram::pair().unwrap();
        other.set_nonblocking(true).unwrap();
        assert!(!send(datagrams.as_fd(), b"request") && other.recv(&mut [0; 16]).is_err());
        let (mut reader, writer) = std::io::pipe().unwrap();
        assert!(!send(writer.as_fd(), b"request"));
        drop(writer);
        assert_eq!(reader.read(&mut [0; 16]).unwrap(), 0);
        let file = std::fs::File::from(rustix::fs::memfd_create("other", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
        assert!(!send(file.as_fd(), b"request") && file.metadata().unwrap().len() == 0);
        for kind in [libc::SOCK_RAW, libc::SOCK_DGRAM] {
            // SAFETY: no pointers.
            let netlink = unsafe { libc::socket(libc::AF_NETLINK, kind | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
            if netlink >= 0 {
                // SAFETY: a descriptor of this test's.
                let netlink = unsafe { OwnedFd::from_raw_fd(netlink) };
                assert!(!send(netlink.as_fd(), b"request"));
            }
        }
    }
}
