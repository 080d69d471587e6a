//! Messages between the daemon and a card's process, over a pair of SEQPACKET sockets: frames ([`frame`]) with a kind, a number and fields, some with a
//! descriptor.
#![forbid(unsafe_code)]

use crate::peer::Peer;
use adjunct_card_protocol::frame::{self, Frame, Head, Service};
use adjunct_card_state::control;
use adjunct_kernels::wipe;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

/// The daemon tells a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The descriptor is a connection of a program of this user, without its groups, for the queue in this place of the state.
    Serve {
        /// The queue's place.
        queue: u16,
        /// The user whose connection it is.
        peer: Peer,
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
    /// The descriptor is the next of the service's files. These come before everything else.
    File,
    /// What an administrator orders, in the service's own words (JSON): it is answered by [`Report::Administered`] with the same number.
    Administer {
        /// The number of the order.
        number: u64,
        /// The user who orders it, with groups where the service wants them.
        from: Peer,
        /// The domain that it is for; `None` for the card.
        domain: Option<u8>,
        /// The order.
        order: Vec<u8>,
    },
}

/// A card tells the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The card's tests have passed: it takes programs.
    Ready {
        /// Whether a filter of system calls is in force.
        confined: bool,
    },
    /// The machine lacks what the service needs: a sentence.
    Unfit(String),
    /// A self-test failed, or results were wrong: it is not to be used. A sentence.
    Faulty(String),
    /// The answer to an administrator's order.
    Administered {
        /// The number of the order.
        number: u64,
        /// The answer (JSON), or a sentence why there is none.
        answer: Result<Vec<u8>, String>,
    },
}

/// Fields of orders and reports.
const QUEUE: u16 = 1;
const UID: u16 = 2;
const GID: u16 = 3;
const GROUPS: u16 = 4;
const DOMAIN: u16 = 5;
const TEXT: u16 = 6;
const CONFINED: u16 = 7;
/// The longest order or report, in bytes: with all groups that a user may have.
const MAX: usize = control::MAX_MESSAGE + (256 << 10) + 1024;

/// One end of a link, for a card of a service.
#[derive(Debug)]
pub struct Link {
    socket: OwnedFd,
    service: Service,
    /// Room for a message. Most of it is never touched.
    buffer: Mutex<Vec<u8>>,
}

impl AsFd for Link {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn u16_of(frame: &Frame<'_>, tag: u16) -> Option<u16> {
    Some(u16::from_le_bytes(frame.field(tag)?.try_into().ok()?))
}

fn u32_of(frame: &Frame<'_>, tag: u16) -> Option<u32> {
    Some(u32::from_le_bytes(frame.field(tag)?.try_into().ok()?))
}

fn text_of(frame: &Frame<'_>) -> Option<String> {
    Some(String::from_utf8_lossy(frame.field(TEXT)?).into_owned())
}

fn peer_of(frame: &Frame<'_>) -> Option<Peer> {
    let groups = frame.field(GROUPS).unwrap_or_default().chunks_exact(4);
    let groups = groups.filter_map(|group| Some(u32::from_le_bytes(group.try_into().ok()?))).collect();
    Some(Peer { uid: u32_of(frame, UID)?, gid: u32_of(frame, GID)?, groups })
}

/// The frame in a message of a link of a service.
fn frame_of(service: Service, message: &[u8]) -> Option<Frame<'_>> {
    Frame::parse(message).filter(|frame| frame.head.service == service)
}

impl Order {
    /// The order in a message to a card of a service; `None` where it is none.
    pub fn parse(service: Service, message: &[u8]) -> Option<Order> {
        let frame = frame_of(service, message)?;
        let queue = || u16_of(&frame, QUEUE);
        Some(match frame.head.call {
            1 => Order::Serve { queue: queue()?, peer: peer_of(&frame)? },
            2 => Order::Flush { queue: queue()? },
            3 => Order::Leave,
            4 => Order::Listen { queue: queue()? },
            5 => Order::Deaf,
            6 => Order::File,
            7 => {
                let domain = frame.field(DOMAIN).and_then(|domain| domain.first().copied());
                let (number, order) = (frame.head.number, frame.field(TEXT)?.to_vec());
                Order::Administer { number, from: peer_of(&frame)?, domain, order }
            }
            _ => return None,
        })
    }
}

impl Report {
    /// The report in a message of a card of a service; `None` where it is none.
    pub fn parse(service: Service, message: &[u8]) -> Option<Report> {
        let frame = frame_of(service, message)?;
        let number = frame.head.number;
        Some(match (frame.head.call, frame.head.status) {
            (1, 0) => Report::Ready { confined: frame.field(CONFINED)? == [1] },
            (2, 0) => Report::Unfit(text_of(&frame)?),
            (3, 0) => Report::Faulty(text_of(&frame)?),
            (4, 0) => Report::Administered { number, answer: Ok(frame.field(TEXT)?.to_vec()) },
            (4, _) => Report::Administered { number, answer: Err(text_of(&frame)?) },
            _ => return None,
        })
    }
}

impl Link {
    /// The link over a socket.
    pub fn new(socket: OwnedFd, service: Service) -> Link {
        Link { socket, service, buffer: Mutex::new(vec![0; MAX]) }
    }

    fn head(&self, call: u16, number: u64) -> Head {
        Head { service: self.service, domain: 0, call, status: 0, number }
    }

    fn send(
        &self,
        head: &Head,
        fields: &[(u16, &[u8])],
        descriptor: Option<&OwnedFd>,
        how: SendFlags,
    ) -> Result<(), Errno> {
        let mut message = vec![0; frame::length(fields).filter(|&length| length <= MAX).ok_or(Errno::MSGSIZE)?];
        let length = frame::write(&mut message, head, fields).ok_or(Errno::MSGSIZE)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let list = descriptor.map(|fd| [fd.as_fd()]);
        if let Some(list) = &list {
            rights.push(SendAncillaryMessage::ScmRights(list));
        }
        sendmsg(&self.socket, &[IoSlice::new(&message[..length])], &mut rights, SendFlags::NOSIGNAL | how).map(|_| ())
    }

    /// Takes the next message, as `parse` reads it, and its descriptor; `None` where the other side has ended.
    fn receive<T>(&self, parse: impl FnOnce(&[u8]) -> Option<T>) -> Result<Option<(T, Option<OwnedFd>)>, Errno> {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let length = recvmsg(&self.socket, &mut [IoSliceMut::new(&mut buffer)], &mut rights, flags)?.bytes;
        let mut descriptor = None;
        for message in rights.drain() {
            if let RecvAncillaryMessage::ScmRights(mut list) = message {
                descriptor = list.next();
            }
        }
        if length == 0 {
            return Ok(None);
        }
        let parsed = buffer.get(..length).and_then(parse);
        // Orders of administrators may be secret.
        wipe(&mut buffer[..length]);
        parsed.map(|parsed| Some((parsed, descriptor))).ok_or(Errno::PROTO)
    }

    /// Sends an order, with a descriptor where it is one that brings one.
    ///
    /// # Errors
    /// What the system says.
    pub fn order(&self, order: &Order, descriptor: Option<&OwnedFd>) -> Result<(), Errno> {
        let send = |call, number, fields: &[(u16, &[u8])]| {
            self.send(&self.head(call, number), fields, descriptor, SendFlags::DONTWAIT)
        };
        match order {
            Order::Serve { queue, peer } => {
                let (queue, uid, gid) = (queue.to_le_bytes(), peer.uid.to_le_bytes(), peer.gid.to_le_bytes());
                send(1, 0, &[(QUEUE, &queue), (UID, &uid), (GID, &gid)])
            }
            Order::Flush { queue } => send(2, 0, &[(QUEUE, &queue.to_le_bytes())]),
            Order::Leave => send(3, 0, &[]),
            Order::Listen { queue } => send(4, 0, &[(QUEUE, &queue.to_le_bytes())]),
            Order::Deaf => send(5, 0, &[]),
            Order::File => send(6, 0, &[]),
            Order::Administer { number, from, domain, order } => {
                let (uid, gid) = (from.uid.to_le_bytes(), from.gid.to_le_bytes());
                let groups: Vec<u8> = from.groups.iter().flat_map(|group| group.to_le_bytes()).collect();
                let domain = domain.map(|domain| [domain]);
                let mut fields: Vec<(u16, &[u8])> = vec![(UID, &uid), (GID, &gid), (GROUPS, &groups)];
                fields.extend(domain.as_ref().map(|domain| (DOMAIN, &domain[..])));
                fields.push((TEXT, order));
                send(7, *number, &fields)
            }
        }
    }

    /// Takes the next order; `None` where the daemon has ended.
    ///
    /// # Errors
    /// What the system says: [`Errno::AGAIN`] where there is none now; [`Errno::PROTO`] where it is no order.
    pub fn next_order(&self) -> Result<Option<(Order, Option<OwnedFd>)>, Errno> {
        self.receive(|message| Order::parse(self.service, message))
    }

    /// Sends a report.
    ///
    /// # Errors
    /// What the system says.
    pub fn report(&self, report: &Report) -> Result<(), Errno> {
        let send = |call, number, status, fields: &[(u16, &[u8])]| {
            self.send(&Head { status, ..self.head(call, number) }, fields, None, SendFlags::empty())
        };
        match report {
            Report::Ready { confined } => send(1, 0, 0, &[(CONFINED, &[u8::from(*confined)])]),
            Report::Unfit(why) => send(2, 0, 0, &[(TEXT, why.as_bytes())]),
            Report::Faulty(why) => send(3, 0, 0, &[(TEXT, why.as_bytes())]),
            Report::Administered { number, answer: Ok(answer) } => send(4, *number, 0, &[(TEXT, answer)]),
            Report::Administered { number, answer: Err(why) } => send(4, *number, 1, &[(TEXT, why.as_bytes())]),
        }
    }

    /// Takes the next report; `None` where the card has ended.
    ///
    /// # Errors
    /// What the system says: [`Errno::AGAIN`] where there is none now; [`Errno::PROTO`] where it is no report.
    pub fn next_report(&self) -> Result<Option<Report>, Errno> {
        Ok(self.receive(|message| Report::parse(self.service, message))?.map(|(report, _)| report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
    }

    fn links() -> (Link, Link) {
        let (daemon, card) = pair();
        (Link::new(daemon, Service::Test), Link::new(card, Service::Test))
    }

    #[test]
    fn orders_and_descriptors_come_as_they_were_sent() {
        let ((daemon, card), (mine, theirs)) = (links(), pair());
        assert!(matches!(card.next_order(), Err(Errno::AGAIN)));
        let peer = Peer { uid: 0xfeed_beef, gid: 7, groups: Vec::new() };
        let from = Peer { groups: (0..70_000).collect(), ..peer.clone() };
        let order = vec![b'x'; control::MAX_MESSAGE];
        let orders = [
            (Order::Serve { queue: 258, peer }, Some(&theirs)),
            (Order::Flush { queue: 3 }, None),
            (Order::Listen { queue: 7 }, Some(&theirs)),
            (Order::Deaf, None),
            (Order::File, Some(&theirs)),
            (Order::Administer { number: 1 << 40, from: from.clone(), domain: None, order: Vec::new() }, None),
            (
                Order::Administer { number: 9, from: Peer { groups: vec![1, 2], ..from }, domain: Some(255), order },
                None,
            ),
            (Order::Leave, None),
        ];
        for (order, descriptor) in orders {
            // More groups than a user can have.
            let sent = daemon.order(&order, descriptor);
            if matches!(&order, Order::Administer { from, .. } if from.groups.len() > 65_536) {
                assert_eq!(sent, Err(Errno::MSGSIZE));
                continue;
            }
            sent.unwrap();
            let (came, with) = card.next_order().unwrap().unwrap();
            assert_eq!((&came, with.is_some()), (&order, descriptor.is_some()));
            if let Some(with) = with {
                rustix::net::send(&mine, b"x", SendFlags::empty()).unwrap();
                assert_eq!(rustix::net::recv(with, &mut [0; 2][..], RecvFlags::empty()).unwrap().0, 1);
            }
        }
        drop(daemon);
        assert!(matches!(card.next_order(), Ok(None)));
    }

    #[test]
    fn reports_come_as_they_were_sent() {
        let (daemon, card) = links();
        let answer = |answer| Report::Administered { number: 77, answer };
        for report in [
            Report::Ready { confined: true },
            Report::Ready { confined: false },
            Report::Unfit("No lanes.".into()),
            Report::Faulty(String::new()),
            answer(Ok(b"{}".to_vec())),
            answer(Err("no".into())),
        ] {
            card.report(&report).unwrap();
            assert_eq!(daemon.next_report(), Ok(Some(report)));
        }
        // A message of another service, and what is no message.
        Link::new(card.socket.try_clone().unwrap(), Service::Ep11).report(&Report::Faulty(String::new())).unwrap();
        assert_eq!(daemon.next_report(), Err(Errno::PROTO));
        rustix::net::send(&card, b"junk", SendFlags::empty()).unwrap();
        assert_eq!(daemon.next_report(), Err(Errno::PROTO));
        drop(card);
        assert_eq!(daemon.next_report(), Ok(None));
    }
}
