//! Orders of tools to the daemon: one message of JSON and one in reply, over a SEQPACKET socket that root and the daemon's own user may use.
#![forbid(unsafe_code)]

use crate::machine::Mask;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io;
use std::path::Path;

/// The longest message, in bytes.
pub const MAX_MESSAGE: usize = 64 << 10;
/// Seconds that a tool waits for the daemon.
const PATIENCE: i64 = 10;

/// A card, or a domain of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The adapter's number.
    pub card: u8,
    /// The domain's; `None` for the card.
    pub domain: Option<u8>,
}

/// A card, domain or request that a node may allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Item {
    /// An adapter.
    Adapter(u8),
    /// A domain to use.
    Domain(u8),
    /// A domain to administer.
    Control(u8),
    /// A request, by the number of the driver's ioctl.
    Ioctl(u8),
}

/// A node: a socket of its own, through which programs reach only what it allows. zcryptctl makes nodes for containers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Path of the node's socket.
    pub path: String,
    /// Adapters, domains, control domains and ioctls that it allows.
    pub adapters: Mask,
    /// See `adapters`.
    pub domains: Mask,
    /// See `adapters`.
    pub controls: Mask,
    /// See `adapters`.
    pub ioctls: Mask,
}

/// A request of a tool to the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Sets a device online or offline. Requests that wait in a device that goes offline are given to others.
    SetOnline(Device, bool),
    /// Starts a card's process, or ends it with all that it knows.
    SetConfig(u8, bool),
    /// Sets the default domain.
    SetDefaultDomain(u8),
    /// See [`crate::machine::Bus`].
    SetPollThread(bool),
    /// See [`crate::machine::Bus`].
    SetPollTimeout(u64),
    /// See [`crate::machine::Bus`].
    SetConfigTime(u32),
    /// Sets the counts of requests of a card, or of all, to zero.
    ResetCounts(Option<u8>),
    /// What a card, or a domain of it, is to do, in the words of its service: "self-test" does every service.
    Administer(Device, Value),
    /// All nodes but the default one.
    ListNodes,
    /// Makes a node that allows nothing; without a name, by the next free one.
    CreateNode(Option<String>),
    /// Removes a node.
    DestroyNode(String),
    /// Allows a node something, or withdraws the permission.
    ChangeNode(String, Item, bool),
}

/// The daemon's answer to an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// The order was carried out.
    Done,
    /// The nodes that were asked for, or made.
    Nodes(Vec<Node>),
    /// What a service answered to [`Request::Administer`].
    Administered(Value),
    /// The order was not carried out: the error number that the driver gives for it (`ENODEV`, `EINVAL`, `EPERM`, ...), and a sentence.
    Refused(i32, String),
}

/// Why the daemon did not answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No daemon answers.
    #[error("no daemon listens at {0}: `adjunct cards enable` starts it")]
    NotRunning(String),
    /// The socket may not be used.
    #[error("{0} may be used by root alone")]
    Denied(String),
    /// Anything else.
    #[error("{path}: {cause}")]
    Io {
        /// The socket.
        path: String,
        /// What the system says.
        cause: io::Error,
    },
}

/// The process that listens at the control socket at `path`, as the system knows it.
///
/// # Errors
/// [`Error`] where no process listens.
pub fn daemon(path: &Path) -> Result<u32, Error> {
    let listens = || {
        let socket = connected(path)?;
        rustix::net::sockopt::socket_peercred(&socket).map(|peer| peer.pid.as_raw_nonzero().get().cast_unsigned())
    };
    listens().map_err(|error| failed(path, error))
}

/// Asks the daemon whose control socket is at `path`.
///
/// # Errors
/// [`Error`] where it does not answer; what it refuses is a [`Reply`].
pub fn ask(path: &Path, request: &Request) -> Result<Reply, Error> {
    exchange(path, request).map_err(|error| failed(path, error))
}

fn failed(path: &Path, error: Errno) -> Error {
    match error {
        Errno::NOENT | Errno::CONNREFUSED => Error::NotRunning(path.display().to_string()),
        Errno::ACCESS | Errno::PERM => Error::Denied(path.display().to_string()),
        _ => Error::Io { path: path.display().to_string(), cause: error.into() },
    }
}

fn connected(path: &Path) -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

fn exchange(path: &Path, request: &Request) -> Result<Reply, Errno> {
    let socket = connected(path)?;
    let message = serde_json::to_vec(request).map_err(|_| Errno::INVAL)?;
    rustix::net::send(&socket, &message, SendFlags::NOSIGNAL)?;
    let mut wait = [PollFd::new(&socket, PollFlags::IN)];
    if poll(&mut wait, Some(&Timespec { tv_sec: PATIENCE, tv_nsec: 0 }))? == 0 {
        return Err(Errno::TIMEDOUT);
    }
    let mut buffer = vec![0; MAX_MESSAGE];
    let (length, _) = rustix::net::recv(&socket, &mut buffer[..], RecvFlags::empty())?;
    serde_json::from_slice(&buffer[..length]).map_err(|_| if length == 0 { Errno::CONNRESET } else { Errno::PROTO })
}
