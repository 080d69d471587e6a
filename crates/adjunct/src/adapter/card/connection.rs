//! Connections of this process to cards: taken for one request, and given back.
//!
//! Descriptors are the program's, not ours: it may close all of them (closefrom), and the number of one of ours may be somebody else's file
//! then. So what is connected is known by the socket's cookie, which the system gives to no other socket, and which is asked for before
//! anything is sent. A child of fork leaves its parent's connections alone and has its own.
//!
//! All calls are the bare system calls: no wait of theirs can be cancelled by pthread_cancel, and errno stays as it is.

#![allow(unsafe_code)]

use super::Client;
use super::crowd::{self, Page, Side};
use super::wire::{self, Kind, MAX_REPLY, Request, Status, reply};
use crate::fork;
use crate::slab::Number;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_cookie};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::thread::{SecureComputingMode, secure_computing_mode};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::time::Duration;

/// Connections that are kept.
const PLACES: usize = 16;
/// Descriptors of ours are above this number, where the program may have so many: some count on what the lowest free one is.
const LOWEST: RawFd = 64;
/// Milliseconds that a reply is waited for where no card answers anybody, and where cards do: a machine with a hundred runnable processes
/// gives each CPU time a few times a second.
const PATIENCE: u64 = 250;
const LONGEST: u64 = 2000;

/// Why a card did not do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// The socket is not to be reached: it is not there, no permission, a chroot, a filter of system calls.
    Unreachable,
    /// It is there, and nobody listens.
    Nobody,
    /// Too many wait to be accepted.
    Full,
    /// The card said no.
    Said(Status),
    /// The connection ended, or what came is no reply.
    Gone,
    /// No reply in time.
    Silent,
    /// No request can be made of it.
    Unfit,
}

/// What a card is asked for.
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
    cookie: AtomicU64,
    keys: [AtomicU64; wire::PLACES],
}

static PLACES_OF_PROCESS: [Place; PLACES] = [const {
    Place {
        fd: AtomicI32::new(0),
        taken: AtomicU32::new(0),
        generation: AtomicU32::new(0),
        cookie: AtomicU64::new(0),
        keys: [const { AtomicU64::new(0) }; wire::PLACES],
    }
}; PLACES];

/// A connection.
struct Connection {
    fd: RawFd,
    cookie: u64,
    keys: Keys,
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

    /// One of those that wait.
    fn waiting() -> Option<Connection> {
        let generation = fork::generation();
        for place in &PLACES_OF_PROCESS {
            if place.fd.load(Relaxed) == 0 || place.taken.swap(1, Acquire) != 0 {
                continue;
            }
            let fd = place.fd.swap(0, AcqRel);
            let keys = place.keys.each_ref().map(|key| key.load(Relaxed));
            let found = Connection { fd: fd - 1, cookie: place.cookie.load(Relaxed), keys };
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

    /// Keeps it for the next request, or closes it where there is no place.
    fn keep(self) {
        for place in &PLACES_OF_PROCESS {
            if place.fd.load(Relaxed) != 0 || place.taken.swap(1, Acquire) != 0 {
                continue;
            }
            let free = place.fd.load(Relaxed) == 0;
            if free {
                place.cookie.store(self.cookie, Relaxed);
                place.keys.iter().zip(self.keys).for_each(|(place, key)| place.store(key, Relaxed));
                place.generation.store(fork::generation(), Relaxed);
                place.fd.store(self.fd + 1, Release);
            }
            place.taken.store(0, Release);
            if free {
                return;
            }
        }
        self.close();
    }

    /// A new one, to a daemon of root or of who made the page.
    fn new(client: &Client) -> Result<Connection, Refused> {
        // Not the first connection of all alone: a filter may have been closed at any time.
        if !client.under_filters && filtered() {
            return Err(Refused::Unreachable);
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let begin = crowd::cpu_time();
        let connected = || {
            let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
            // It does not wait: where too many wait to be accepted, it fails.
            rustix::net::connect(&socket, &client.address)?;
            let peer = peer(&socket)?;
            if peer != 0 && peer != client.owner {
                return Err(Errno::PERM);
            }
            // From here on a call waits, so that a reply takes one call and not two.
            rustix::io::ioctl_fionbio(&socket, false)?;
            set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_millis(PATIENCE)))?;
            let socket = match rustix::io::fcntl_dupfd_cloexec(&socket, LOWEST) {
                Ok(above) => above,
                Err(_) => socket,
            };
            let cookie = socket_cookie(&socket)?;
            Ok::<_, Errno>(Connection { fd: socket.into_raw_fd(), cookie, keys: Keys::default() })
        };
        let made = connected().inspect(|_| {
            client.page.connected(Side::Program, crowd::cpu_time().saturating_sub(begin));
        });
        made.map_err(|error| match error {
            Errno::CONNREFUSED => Refused::Nobody,
            Errno::AGAIN => Refused::Full,
            _ => Refused::Unreachable,
        })
    }

    /// Has a card do it, with the key where this connection has not brought it yet; the output is in `out`.
    fn ask(&mut self, page: &Page, wanted: &Wanted<'_, '_>, out: &mut [u8], now: u64) -> Result<(), Refused> {
        let number = wanted.number.get();
        let place = number as usize % wire::PLACES;
        if self.keys[place] == number {
            match self.exchange(page, wanted, place, None, out, now) {
                // It has forgotten it.
                Err(Refused::Said(Status::NoKey)) => {}
                done => return done,
            }
        }
        self.keys[place] = 0;
        let key = (wanted.key)().ok_or(Refused::Unfit)?;
        self.exchange(page, wanted, place, Some(key), out, now)?;
        self.keys[place] = number;
        Ok(())
    }

    /// Sends a request and takes its reply.
    fn exchange(
        &self,
        page: &Page,
        wanted: &Wanted<'_, '_>,
        place: usize,
        key: Option<&[u8]>,
        out: &mut [u8],
        now: u64,
    ) -> Result<(), Refused> {
        let request = Request::new(wanted.kind, place, key, wanted.input).ok_or(Refused::Unfit)?;
        let socket = self.socket().ok_or(Refused::Gone)?;
        match rustix::net::send(socket, request.bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(sent) if sent == request.bytes().len() => {}
            _ => return Err(Refused::Gone),
        }
        let mut message = [0; MAX_REPLY];
        let length = receive(socket, &mut message, page, now)?;
        match message.get(..length).and_then(|message| reply(wanted.kind, message)) {
            Some(Ok(output)) if output.len() == out.len() => {
                out.copy_from_slice(output);
                Ok(())
            }
            Some(Err(status)) => Err(Refused::Said(status)),
            _ => Err(Refused::Gone),
        }
    }
}

/// Whether a connection waits to be used. It may be gone until it is.
pub(super) fn is_there() -> bool {
    let generation = fork::generation();
    PLACES_OF_PROCESS.iter().any(|place| place.fd.load(Relaxed) != 0 && place.generation.load(Relaxed) == generation)
}

/// Whether a filter of system calls is in force. Where prctl is what it kills for, a socket would be as well.
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

/// Receives a message; its length. Waits longer than the socket's own limit only where cards answer others.
fn receive(socket: BorrowedFd<'_>, message: &mut [u8], page: &Page, begin: u64) -> Result<usize, Refused> {
    loop {
        let error = match rustix::net::recv(socket, &mut *message, RecvFlags::empty()) {
            Ok((0, _)) => return Err(Refused::Gone),
            Ok((length, _)) => return Ok(length),
            Err(error) => error,
        };
        let (now, passed) = (crowd::now(), crowd::now().saturating_sub(begin));
        match error {
            Errno::INTR | Errno::AGAIN if passed >= LONGEST => return Err(Refused::Silent),
            Errno::INTR | Errno::AGAIN if passed >= PATIENCE => {
                if !page.answers(now - PATIENCE) {
                    return Err(Refused::Silent);
                }
            }
            // A signal: the rest of the time.
            Errno::INTR => {}
            // It does not wait any more: somebody has set it to that.
            _ => return Err(Refused::Gone),
        }
    }
}

/// Has a card do a request, over a connection that is there or a new one; once more where the card went away.
pub(super) fn exchange(client: &Client, wanted: &Wanted<'_, '_>, out: &mut [u8], now: u64) -> Result<(), Refused> {
    let mut found = Connection::waiting();
    for last in [false, true] {
        let mut connection = match found.take() {
            Some(connection) => connection,
            None => Connection::new(client)?,
        };
        match connection.ask(client.page, wanted, out, now) {
            Ok(()) => {
                connection.keep();
                return Ok(());
            }
            Err(Refused::Gone | Refused::Said(Status::Again)) if !last => connection.close(),
            Err(refused @ (Refused::Said(Status::Busy | Status::Invalid) | Refused::Unfit)) => {
                connection.keep();
                return Err(refused);
            }
            // A reply may still come: for nobody.
            Err(refused) => {
                connection.close();
                return Err(refused);
            }
        }
    }
    Err(Refused::Gone)
}
