//! Messages between the daemon and a card's process, over a pair of SEQPACKET sockets: eight bytes each, some with a descriptor.
#![forbid(unsafe_code)]

use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    SocketFlags, accept_with, recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;

/// The daemon tells a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The descriptor is a connection of a program of `uid`, for the queue in this place of the state.
    Serve {
        /// The queue's place.
        queue: u16,
        /// The user whose connection it is.
        uid: u32,
    },
    /// The descriptor is a socket where programs of this queue's connect: the card is to accept them itself, and hand none on.
    Listen {
        /// The queue's place.
        queue: u16,
    },
    /// The daemon accepts programs again.
    Deaf,
    /// The queue in this place accepts no further requests: those that wait for it are refused, its connections are closed, and new ones are not
    /// accepted.
    Flush {
        /// The queue's place.
        queue: u16,
    },
    /// All queues, and then the process ends.
    Leave,
}

/// A card tells the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The card's tests have passed: it takes programs.
    Ready,
    /// A known answer was not found, or results of batches were wrong: it is not to be used.
    Faulty,
    /// The CPU has no lanes.
    NoLanes,
}

const LENGTH: usize = 8;

impl Order {
    fn bytes(self) -> [u8; LENGTH] {
        let (what, queue, uid) = match self {
            Order::Serve { queue, uid } => (1, queue, uid),
            Order::Flush { queue } => (2, queue, 0),
            Order::Leave => (3, 0, 0),
            Order::Listen { queue } => (4, queue, 0),
            Order::Deaf => (5, 0, 0),
        };
        let mut bytes = [0; LENGTH];
        bytes[0] = what;
        bytes[2..4].copy_from_slice(&queue.to_ne_bytes());
        bytes[4..].copy_from_slice(&uid.to_ne_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; LENGTH]) -> Option<Order> {
        let [what, _, a, b, c, d, e, f] = bytes;
        let (queue, uid) = (u16::from_ne_bytes([a, b]), u32::from_ne_bytes([c, d, e, f]));
        match what {
            1 => Some(Order::Serve { queue, uid }),
            2 => Some(Order::Flush { queue }),
            3 => Some(Order::Leave),
            4 => Some(Order::Listen { queue }),
            5 => Some(Order::Deaf),
            _ => None,
        }
    }
}

impl Report {
    const ALL: [Report; 3] = [Report::Ready, Report::Faulty, Report::NoLanes];
}

/// Sends an order, with a descriptor where it is [`Order::Serve`] or [`Order::Listen`].
///
/// # Errors
/// What the system says.
pub fn order(socket: impl AsFd, order: Order, descriptor: Option<&OwnedFd>) -> Result<(), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let list = descriptor.map(|fd| [fd.as_fd()]);
    if let Some(list) = &list {
        rights.push(SendAncillaryMessage::ScmRights(list));
    }
    let bytes = order.bytes();
    sendmsg(socket, &[IoSlice::new(&bytes)], &mut rights, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).map(|_| ())
}

/// Takes the next order; `None` where the other side has ended.
///
/// # Errors
/// What the system says: [`Errno::AGAIN`] where there is none now.
pub fn next_order(socket: impl AsFd) -> Result<Option<(Order, Option<OwnedFd>)>, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; LENGTH];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut bytes)], &mut rights, flags)?;
    let mut descriptor = None;
    for message in rights.drain() {
        if let RecvAncillaryMessage::ScmRights(mut list) = message {
            descriptor = list.next();
        }
    }
    match (received.bytes, Order::from_bytes(bytes)) {
        (LENGTH, Some(order)) => Ok(Some((order, descriptor))),
        (0, _) => Ok(None),
        _ => Err(Errno::PROTO),
    }
}

/// Accepts the next connection to a listening socket, without waiting, with the uid of the user who made it; `None` where no connection waits.
///
/// # Errors
/// What the system says.
pub fn accept(listener: impl AsFd) -> Result<Option<(OwnedFd, u32)>, Errno> {
    loop {
        match accept_with(&listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => {
                let uid = socket_peercred(&socket)?.uid.as_raw();
                return Ok(Some((socket, uid)));
            }
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends a report.
///
/// # Errors
/// What the system says.
pub fn report(socket: impl AsFd, report: Report) -> Result<(), Errno> {
    rustix::net::send(socket, &[report as u8], SendFlags::NOSIGNAL).map(|_| ())
}

/// Takes the next report; `None` where the card has ended.
///
/// # Errors
/// What the system says: [`Errno::AGAIN`] where there is none now.
pub fn next_report(socket: impl AsFd) -> Result<Option<Report>, Errno> {
    let mut byte = [0; 1];
    let (length, _) = rustix::net::recv(socket, &mut byte[..], RecvFlags::DONTWAIT)?;
    match (length, Report::ALL.into_iter().find(|&report| report as u8 == byte[0])) {
        (0, _) => Ok(None),
        (_, Some(report)) => Ok(Some(report)),
        (_, None) => Err(Errno::PROTO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType, socketpair};

    #[test]
    fn orders_and_descriptors_come_as_they_were_sent() {
        let pair = || socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        let ((daemon, card), (mine, theirs)) = (pair(), pair());
        assert!(matches!(next_order(&card), Err(Errno::AGAIN)));
        let serve = Order::Serve { queue: 258, uid: 0xfeed_beef };
        order(&daemon, serve, Some(&theirs)).unwrap();
        order(&daemon, Order::Flush { queue: 3 }, None).unwrap();
        order(&daemon, Order::Listen { queue: 7 }, Some(&theirs)).unwrap();
        order(&daemon, Order::Deaf, None).unwrap();
        let (came, descriptor) = next_order(&card).unwrap().unwrap();
        assert_eq!(came, serve);
        rustix::net::send(&mine, b"x", SendFlags::empty()).unwrap();
        let mut byte = [0; 2];
        assert_eq!(rustix::net::recv(descriptor.unwrap(), &mut byte[..], RecvFlags::empty()).unwrap().0, 1);
        assert!(matches!(next_order(&card), Ok(Some((Order::Flush { queue: 3 }, None)))));
        assert!(matches!(next_order(&card), Ok(Some((Order::Listen { queue: 7 }, Some(_))))));
        assert!(matches!(next_order(&card), Ok(Some((Order::Deaf, None)))));
        report(&card, Report::Ready).unwrap();
        assert_eq!(next_report(&daemon), Ok(Some(Report::Ready)));
        drop(daemon);
        assert!(matches!(next_order(&card), Ok(None)));
    }
}
