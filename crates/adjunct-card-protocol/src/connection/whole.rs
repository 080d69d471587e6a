//! Requests and replies of any length, to a service of secure keys: a message that a socket does not take goes in a sealed file ([`crate::bulk`]).

use super::{Connection, LOWEST, Nobody, Peer, Refused, SERVICES, send};
use crate::bulk::{self, Unfit};
use crate::crowd;
use crate::frame::{Frame, Head};
use adjunct_base::memory::zeros;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg,
    sendmsg_addr,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use zeroize::Zeroizing;

/// Sends a frame whole, in a file where it is too long; false where it is not sent. See [`send`] for who takes it.
fn send_whole(socket: BorrowedFd<'_>, head: &Head, message: &[u8]) -> bool {
    if message.len() <= bulk::INLINE {
        return send(socket, message);
    }
    let Ok(file) = bulk::sealed(message) else { return false };
    // Some programs rely on the number of the lowest free descriptor.
    let file = rustix::io::fcntl_dupfd_cloexec(&file, LOWEST).unwrap_or(file);
    let cover = bulk::cover(head, message.len());
    let mut space = [MaybeUninit::uninit(); bulk::ROOM];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let list = [file.as_fd()];
    if !rights.push(SendAncillaryMessage::ScmRights(&list)) {
        return false;
    }
    const FASTOPEN: SendFlags = SendFlags::from_bits_retain(libc::MSG_FASTOPEN as u32);
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT | FASTOPEN;
    sendmsg_addr(socket, &Nobody, &[IoSlice::new(&cover)], &mut rights, flags) == Ok(cover.len())
}

impl Connection {
    /// Receives a frame, until a time of the clock.
    fn receive_whole(&self, most: usize, until: u64) -> Result<Zeroizing<Vec<u8>>, Refused> {
        loop {
            let left = until.saturating_sub(crowd::now()).cast_signed();
            let limit = Timespec { tv_sec: left / 1000, tv_nsec: left % 1000 * 1_000_000 };
            // SAFETY: the number is not -1. Whatever it is by now is waited for, which changes nothing of it.
            let descriptor = unsafe { BorrowedFd::borrow_raw(self.fd) };
            let waited = poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&limit));
            if matches!(waited, Err(error) if error != Errno::INTR) {
                return Err(Refused::Gone);
            }
            match self.take_whole(most) {
                Err(Errno::AGAIN | Errno::INTR) if left == 0 => return Err(Refused::Silent),
                Err(Errno::AGAIN | Errno::INTR) => {}
                // Let go with a request that was not read, before which something may have been said.
                Err(Errno::CONNRESET) => return self.take_whole(most).map_err(|_| Refused::Gone),
                Err(Errno::NOMEM) => return Err(Refused::Unfit),
                taken => return taken.map_err(|_| Refused::Gone),
            }
        }
    }

    /// Takes a frame that has arrived, of at most so many bytes.
    fn take_whole(&self, most: usize) -> Result<Zeroizing<Vec<u8>>, Errno> {
        // Its length, first: so that there is memory for it, and no more.
        let peek = RecvFlags::DONTWAIT | RecvFlags::PEEK | RecvFlags::TRUNC;
        let (_, length) = rustix::net::recv(self.socket().ok_or(Errno::PIPE)?, &mut [0; 1][..], peek)?;
        if length == 0 || length > bulk::INLINE {
            return Err(Errno::PIPE);
        }
        let mut message = zeros(length).map_err(|_| Errno::NOMEM)?;
        let mut space = [MaybeUninit::uninit(); bulk::ROOM];
        let mut rights = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let socket = self.socket().ok_or(Errno::PIPE)?;
        let received = recvmsg(socket, &mut [IoSliceMut::new(&mut message)], &mut rights, flags)?;
        let file = bulk::descriptor(&mut rights).map_err(|_| Errno::PIPE)?;
        if received.bytes != length || received.flags.contains(ReturnFlags::TRUNC) {
            return Err(Errno::PIPE);
        }
        let Some(file) = file else { return Ok(message) };
        let frame = Frame::parse(&message).ok_or(Errno::PIPE)?;
        let length = bulk::covered(&frame).filter(|&length| length <= most).ok_or(Errno::PIPE)?;
        bulk::borrowed(file, &frame.head, length).map_err(|unfit| match unfit {
            Unfit::Memory => Errno::NOMEM,
            Unfit::Sender => Errno::PIPE,
        })
    }
}

/// Sends a frame with this head to a service and receives its reply, of at most so many bytes. Until a time of the clock it is waited for; once more if the service
/// went away, which it may have done since the last frame. `is_reply` says whether a frame is the reply; another, which is given back too, ends the connection.
pub(in super::super) fn converse_whole(
    to: &Peer<'_>,
    head: &Head,
    message: &[u8],
    most: usize,
    until: u64,
    is_reply: impl Fn(&Head) -> bool,
) -> Result<Zeroizing<Vec<u8>>, Refused> {
    loop {
        let kept = Connection::waiting(&SERVICES, to.of);
        let again = kept.is_some();
        let connection = match kept {
            Some(connection) => connection,
            None => Connection::open(to)?,
        };
        let received = match connection.socket() {
            Some(socket) if send_whole(socket, head, message) => connection.receive_whole(most, until),
            // A card that lets somebody go says why before.
            Some(_) => connection.take_whole(most).map_err(|_| Refused::Gone),
            None => Err(Refused::Gone),
        };
        match received {
            Ok(message) if Frame::parse(&message).is_some_and(|frame| is_reply(&frame.head)) => {
                connection.keep(&SERVICES);
                return Ok(message);
            }
            // Each such connection is closed, and a new one is the last.
            Err(Refused::Gone) if again => connection.close(),
            // A reply may still come: for nobody.
            received => {
                connection.close();
                return received;
            }
        }
    }
}
