//! Long requests and replies ([`adjunct_card_protocol::bulk`]): how much memory of a card each user has for them.
//!
//! A long request is charged to its user until it is answered. A long reply is in a file that the card can empty: its memory is the card's for as long as anybody has the
//! descriptor, and a program might keep that for ever. So it is charged until the program asks again or goes, and where its user wants more than it may
//! have, files of its that are older than [`OLD`] are emptied. All users together have at most [`USERS`] times what one may have; where that is too
//! little, old files of all users are emptied.
#![forbid(unsafe_code)]

use adjunct_card_protocol::bulk::{self, Unfit};
use adjunct_card_protocol::frame::{Frame, Head};
use adjunct_card_protocol::wire::Status;
use adjunct_card_state::config::Limits;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::collections::{HashMap, VecDeque};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// How many times what one user may have all users have together.
pub const USERS: usize = 4;
/// The time in which a program has copied a reply.
const OLD: Duration = Duration::from_secs(5);

/// A reply that a program has.
#[derive(Debug)]
struct Lent {
    client: u64,
    since: Instant,
    file: OwnedFd,
    bytes: usize,
}

impl Lent {
    /// Gives its memory back, whoever has the descriptor.
    fn empty(self) {
        let _ = rustix::fs::ftruncate(&self.file, 0);
    }
}

/// What one user has.
#[derive(Debug, Default)]
struct Account {
    used: usize,
    lent: VecDeque<Lent>,
}

#[derive(Debug, Default)]
struct Books {
    users: HashMap<u32, Account>,
    used: usize,
}

/// What all users have, and may have.
#[derive(Debug)]
pub struct Accounts {
    /// The longest frame, in bytes.
    longest: usize,
    each: usize,
    books: Mutex<Books>,
}

/// Bytes that a user has, until it is dropped.
#[derive(Debug)]
pub struct Charge {
    accounts: Arc<Accounts>,
    uid: u32,
    bytes: usize,
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.accounts.lock().give_back(self.uid, self.bytes);
    }
}

impl Books {
    fn give_back(&mut self, uid: u32, bytes: usize) {
        self.used = self.used.saturating_sub(bytes);
        if let Some(account) = self.users.get_mut(&uid) {
            account.used = account.used.saturating_sub(bytes);
            if account.used == 0 && account.lent.is_empty() {
                self.users.remove(&uid);
            }
        }
    }

    /// Empties the replies of a user for which `is` holds, from the oldest on.
    fn empty(&mut self, uid: u32, is: impl Fn(&Lent) -> bool) {
        let lent = self.users.get_mut(&uid).map(|account| std::mem::take(&mut account.lent));
        let (emptied, kept): (VecDeque<_>, VecDeque<_>) = lent.unwrap_or_default().into_iter().partition(is);
        if let Some(account) = self.users.get_mut(&uid) {
            account.lent = kept;
        }
        for lent in emptied {
            let bytes = lent.bytes;
            lent.empty();
            self.give_back(uid, bytes);
        }
    }

    /// Empties the old replies of a user who wants more than it may have; where all have too much together, those of every user.
    fn empty_old(&mut self, uid: u32, is_for_all: bool) {
        let users: Vec<u32> = if is_for_all { self.users.keys().copied().collect() } else { vec![uid] };
        for uid in users {
            self.empty(uid, |lent| lent.since.elapsed() > OLD);
        }
    }

    /// Charges a user; false where that is too much.
    fn charge(&mut self, uid: u32, bytes: usize, each: usize) -> bool {
        for again in [false, true] {
            let has = self.users.get(&uid).map_or(0, |account| account.used);
            if has.saturating_add(bytes) <= each && self.used.saturating_add(bytes) <= USERS * each {
                self.users.entry(uid).or_default().used += bytes;
                self.used += bytes;
                return true;
            }
            if !again {
                self.empty_old(uid, self.used.saturating_add(bytes) > USERS * each);
            }
        }
        false
    }
}

impl Accounts {
    /// The accounts of a card whose service takes frames of at most so many bytes; `None` where it takes none that a socket does not.
    pub fn new(most: usize, limits: &Limits) -> Option<Arc<Accounts>> {
        let longest = most.min(limits.bulk);
        let new = || Arc::new(Accounts { longest, each: limits.bulk_of_user, books: Mutex::default() });
        (most > 0).then(new)
    }

    fn lock(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn charge(self: &Arc<Self>, uid: u32, bytes: usize) -> Option<Charge> {
        let charged = self.lock().charge(uid, bytes, self.each);
        charged.then(|| Charge { accounts: Arc::clone(self), uid, bytes })
    }

    /// The frame in a file that a user has sent with its cover, and what is charged for it.
    ///
    /// # Errors
    /// The answer to the user; `None` where the connection is to end.
    pub fn uncover(
        self: &Arc<Self>,
        cover: &Frame<'_>,
        file: OwnedFd,
        uid: u32,
    ) -> Result<(Zeroizing<Vec<u8>>, Charge), Option<Status>> {
        let length = bulk::covered(cover).ok_or(None)?;
        if length > self.longest {
            return Err(Some(Status::Invalid));
        }
        let charge = self.charge(uid, length).ok_or(Some(Status::Busy))?;
        match bulk::opened(file, &cover.head, length) {
            Ok(copy) => Ok((copy, charge)),
            Err(Unfit::Memory) => Err(Some(Status::Busy)),
            Err(Unfit::Sender) => Err(None),
        }
    }

    /// Sends a long answer; false where the other side has gone.
    ///
    /// # Errors
    /// What is to be answered instead.
    pub fn send(
        &self,
        socket: &OwnedFd,
        (uid, client): (u32, u64),
        head: &Head,
        message: &[u8],
    ) -> Result<bool, Status> {
        if message.len() > self.longest {
            return Err(Status::Failed);
        }
        if !self.lock().charge(uid, message.len(), self.each) {
            return Err(Status::Busy);
        }
        let given_back = |_| {
            self.lock().give_back(uid, message.len());
            Status::Busy
        };
        let file = bulk::lent(message).map_err(given_back)?;
        let ours = file.try_clone().map_err(|_| given_back(Errno::MFILE))?;
        // Before it is sent: the program may ask again, or go, as soon as it has the reply.
        let lent = Lent { client, since: Instant::now(), file: ours, bytes: message.len() };
        self.lock().users.entry(uid).or_default().lent.push_back(lent);
        let sent = with_descriptor(socket, &bulk::cover(head, message.len()), &file);
        if !sent {
            self.take_back(uid, client);
        }
        Ok(sent)
    }

    /// Empties the replies that a client has had: it asks again, or has gone.
    pub fn take_back(&self, uid: u32, client: u64) {
        self.lock().empty(uid, |lent| lent.client == client);
    }
}

fn with_descriptor(socket: &OwnedFd, message: &[u8], file: &OwnedFd) -> bool {
    let mut space = [MaybeUninit::uninit(); bulk::ROOM];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let list = [file.as_fd()];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rights.push(SendAncillaryMessage::ScmRights(&list))
        && sendmsg(socket, &[IoSlice::new(message)], &mut rights, flags) == Ok(message.len())
}

/// Takes a message and the descriptor that it brings.
///
/// # Errors
/// What the system says; [`Errno::PROTO`] where more than one came.
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> Result<(usize, Option<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); bulk::ROOM];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let length = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut rights, flags)?.bytes;
    let file = bulk::descriptor(&mut rights).map_err(|_| Errno::PROTO)?;
    Ok((length, file))
}

#[cfg(test)]
impl Accounts {
    /// What all users have.
    pub(super) fn used(&self) -> usize {
        self.lock().used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { waiting: 1, share: 100, connections: 1, bulk: 400, bulk_of_user: 1000 };

    fn accounts() -> Arc<Accounts> {
        Accounts::new(1 << 20, &LIMITS).unwrap()
    }

    #[test]
    fn nobody_has_more_than_he_may_and_all_not_more_than_four() {
        let accounts = accounts();
        let of = |uid, bytes| accounts.charge(uid, bytes);
        let (first, second) = (of(1, 600).unwrap(), of(1, 400).unwrap());
        assert!(of(1, 1).is_none());
        drop(second);
        let _second = of(1, 400).unwrap();
        let others: Vec<Charge> = (2..5).map(|uid| of(uid, 1000).unwrap()).collect();
        assert!(of(9, 1).is_none(), "four users have all");
        drop(first);
        assert!(of(9, 600).is_some() && of(9, 601).is_none());
        drop(others);
        assert!(of(9, 1000).is_some());
        assert_eq!(accounts.lock().users.len(), 1, "nothing is kept of who has nothing");
        assert!(Accounts::new(0, &LIMITS).is_none());
    }

    #[test]
    fn what_was_lent_is_emptied_whoever_has_it() {
        let accounts = accounts();
        let lend = |client| {
            assert!(accounts.lock().charge(7, 300, 1000));
            let file = bulk::lent(&[5; 300]).unwrap();
            let theirs = file.try_clone().unwrap();
            let lent = Lent { client, since: Instant::now(), file, bytes: 300 };
            accounts.lock().users.entry(7).or_default().lent.push_back(lent);
            theirs
        };
        let length = |file: &OwnedFd| rustix::fs::fstat(file).unwrap().st_size;
        let (first, second) = (lend(1), lend(2));
        assert_eq!((length(&first), length(&second), accounts.lock().used), (300, 300, 600));
        accounts.take_back(7, 1);
        assert_eq!((length(&first), length(&second), accounts.lock().used), (0, 300, 300));
        accounts.lock().users.get_mut(&7).unwrap().lent[0].since -= 2 * OLD;
        assert!(accounts.charge(7, 900).is_some(), "an old one goes for a new one");
        assert_eq!((length(&second), accounts.lock().used), (0, 0));
    }

    #[test]
    fn old_replies_of_all_go_where_all_have_too_much() {
        let accounts = accounts();
        for uid in 1..=4 {
            assert!(accounts.lock().charge(uid, 1000, 1000));
            let lent = Lent { client: 1, since: Instant::now(), file: bulk::lent(&[5; 10]).unwrap(), bytes: 1000 };
            accounts.lock().users.get_mut(&uid).unwrap().lent.push_back(lent);
        }
        assert!(accounts.charge(9, 300).is_none(), "they are new");
        for account in accounts.lock().users.values_mut() {
            account.lent[0].since -= 2 * OLD;
        }
        assert!(accounts.charge(9, 300).is_some());
        assert_eq!(accounts.used(), 0);
    }
}
