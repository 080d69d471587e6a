//! A program's connection, its requests, and their answers.
#![forbid(unsafe_code)]

use super::bulk::{Accounts, Charge};
use crate::peer::Peer;
use adjunct_card_protocol::bulk;
use adjunct_card_protocol::frame::{self, Head, Service};
use adjunct_card_protocol::wire::Status;
use adjunct_kernels::wipe;
use rustix::fd::OwnedFd;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};
use zeroize::Zeroizing;

/// The longest answer that needs no memory of its own, in bytes.
const SHORT: usize = 1024;

/// A program's connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) socket: OwnedFd,
    pub(super) peer: Peer,
    /// The queue that it is for: its place in the state.
    pub(super) queue: u16,
    /// A request of the client waits or is worked on: there may be one at a time.
    busy: AtomicBool,
    /// The number of the client among all, and what long messages are charged to, where the service takes any.
    number: u64,
    accounts: Option<Arc<Accounts>>,
    /// A reply to it is in a file.
    has_lent: AtomicBool,
}

impl Client {
    /// Makes a client that has not asked yet.
    pub(super) fn new(socket: OwnedFd, peer: Peer, queue: u16, accounts: Option<Arc<Accounts>>) -> Client {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (number, has_lent) = (NUMBER.fetch_add(1, Relaxed), AtomicBool::new(false));
        Client { socket, peer, queue, busy: AtomicBool::new(false), number, accounts, has_lent }
    }

    /// What long messages are charged to.
    pub(super) fn accounts(&self) -> Option<&Arc<Accounts>> {
        self.accounts.as_ref()
    }

    /// Takes back the memory of a long reply: the client asks again, or goes.
    pub(super) fn take_back(&self) {
        if let Some(accounts) = &self.accounts
            && self.has_lent.swap(false, AcqRel)
        {
            accounts.take_back(self.peer.uid, self.number);
        }
    }

    /// Whether a request of it waits or is worked on.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Notes that the client asks; false where it does so before its last request was answered.
    pub(super) fn begins(&self) -> bool {
        !self.busy.swap(true, AcqRel)
    }

    /// Answers the client's request. A client that does not take its answers is let go: the reader sees its end.
    fn answer(&self, head: &Head, fields: &[(u16, &[u8])]) {
        // First: it may ask again as soon as it has the answer.
        self.busy.swap(false, AcqRel);
        if !self.send(head, fields) {
            let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
        }
    }
}

// A reply may have been sent after the reader let the client go: nobody has it to read then.
impl Drop for Client {
    fn drop(&mut self) {
        self.take_back();
    }
}

impl Client {
    fn send(&self, head: &Head, fields: &[(u16, &[u8])]) -> bool {
        let is_long = frame::length(fields).is_some_and(|length| length > bulk::INLINE);
        let (Some(accounts), true) = (&self.accounts, is_long) else { return answer(&self.socket, head, fields) };
        let said = match written(head, fields) {
            Ok(message) => {
                self.has_lent.store(true, Relaxed);
                let sent = accounts.send(&self.socket, (self.peer.uid, self.number), head, &message);
                // Again: who asks before it has its answer may have had it taken back before it was noted.
                self.has_lent.store(true, Relaxed);
                sent
            }
            Err(status) => Err(status),
        };
        said.unwrap_or_else(|status| answer(&self.socket, &Head { status: status as u16, ..*head }, &[]))
    }
}

/// A long answer.
fn written(head: &Head, fields: &[(u16, &[u8])]) -> Result<Zeroizing<Vec<u8>>, Status> {
    let length = frame::length(fields).ok_or(Status::Failed)?;
    let mut message = Zeroizing::new(Vec::new());
    message.try_reserve_exact(length).map_err(|_| Status::Busy)?;
    message.resize(length, 0);
    frame::write(&mut message, head, fields).ok_or(Status::Failed)?;
    Ok(message)
}

/// The program that waits for the answer to a request. Where it is dropped without one, the program is told that the card could not do it.
#[derive(Debug)]
pub struct Asker {
    client: Option<Arc<Client>>,
    head: Head,
    /// What its user is charged for the request.
    charge: Option<Charge>,
}

impl Asker {
    pub(super) fn new(client: Arc<Client>, head: Head, charge: Option<Charge>) -> Asker {
        Asker { client: Some(client), head, charge }
    }

    /// The user who asks; `None` where that has been answered.
    pub fn peer(&self) -> Option<&Peer> {
        self.client.as_ref().map(|client| &client.peer)
    }

    /// The head of the request.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// Answers: [`Status::Done`] with fields, or why not.
    pub fn answer(mut self, status: Status, fields: &[(u16, &[u8])]) {
        self.answer_with(status as u16, fields);
    }

    /// Answers with a status of the service's own numbers.
    pub fn answer_with(&mut self, status: u16, fields: &[(u16, &[u8])]) {
        if let Some(client) = self.client.take() {
            // The reply is charged for itself.
            self.charge = None;
            client.answer(&Head { status, ..self.head }, fields);
        }
    }

    pub(super) fn is(&self, other: &Arc<Client>) -> bool {
        self.client.as_ref().is_some_and(|client| Arc::ptr_eq(client, other))
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        self.answer_with(Status::Failed as u16, &[]);
    }
}

/// A request of a batch: who asked, and what the service made of it.
#[derive(Debug)]
pub struct Request<W> {
    /// The program that waits for the answer.
    pub asker: Asker,
    /// The request.
    pub work: W,
}

/// Tells a program that has connected that there are too many. Its request is taken off the socket, but for its first byte unread: the end of
/// a socket where something waits is an error to the other side, which it sees before the answer.
pub fn refuse(socket: &OwnedFd, service: Service) {
    let _ = rustix::net::recv(socket, &mut [0; 1][..], RecvFlags::DONTWAIT);
    let status = Status::Connections as u16;
    answer(socket, &Head { service, domain: 0, call: 0, status, number: 0 }, &[]);
}

/// Sends an answer; false where the other side has gone, or has not taken earlier ones.
fn answer(socket: &OwnedFd, head: &Head, fields: &[(u16, &[u8])]) -> bool {
    let (mut short, mut long) = ([0; SHORT], Vec::new());
    let Some(length) = frame::length(fields) else { return false };
    let message = if length <= SHORT {
        &mut short[..length]
    } else {
        long.resize(length, 0);
        &mut long[..]
    };
    let sent = frame::write(message, head, fields).is_some()
        && rustix::net::send(socket, message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT).is_ok();
    // What is decrypted is secret.
    wipe(message);
    sent
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_card_state::config::Limits;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    #[test]
    fn a_reply_after_the_client_was_let_go_is_charged_to_nobody() {
        let limits = Limits { waiting: 1, share: 100, connections: 1, bulk: 1 << 20, bulk_of_user: 2 << 20 };
        let accounts = Accounts::new(1 << 20, &limits).unwrap();
        let (program, card) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::NONBLOCK, None).unwrap();
        let peer = Peer { uid: 7, gid: 7, groups: Vec::new() };
        let client = Arc::new(Client::new(card, peer, 0, Some(Arc::clone(&accounts))));
        let head = Head { service: Service::Test, domain: 0, call: 1, status: 0, number: 1 };
        assert!(client.begins());
        let asker = Asker::new(Arc::clone(&client), head, None);
        // It ends its side; the reader lets it go while its request is worked on.
        rustix::net::shutdown(&program, Shutdown::Write).unwrap();
        client.take_back();
        drop(client);
        asker.answer(Status::Done, &[(1, &vec![5; 300_000])]);
        assert_eq!(accounts.used(), 0);
        assert!(rustix::net::recv(&program, &mut [0; 64][..], RecvFlags::DONTWAIT).is_ok_and(|(length, _)| length > 0));
    }
}
