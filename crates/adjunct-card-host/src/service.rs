//! A service: what a card does for programs. The host of its process reads, queues, counts and answers; the service parses a request, does batches of
//! them, and administers itself.
//!
//! A service is a type that implements [`Service`], and a line in the table of an adjunctd ([`Entry::of`]). A card's process is compiled for its
//! service as a whole: a request costs no call through a table.
#![forbid(unsafe_code)]

use crate::peer::Peer;
use crate::process::{Batch, Request, Setup};
use adjunct_card_protocol::frame::{self, Frame};
use adjunct_card_protocol::wire::Status;
use adjunct_card_state::config::Limits;
use adjunct_card_state::coprocessor::Coprocessor;
use adjunct_card_state::machine::Mode;
use rustix::fd::OwnedFd;
use serde_json::Value;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// What is fixed of a service.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// The mode of its cards.
    pub mode: Mode,
    /// Its number in frames.
    pub service: frame::Service,
    /// The generation that tools are told: 14 is that of a Crypto Express8S.
    pub hwtype: u32,
    /// Operations that a queue works on at a time, as tools are told.
    pub depth: u32,
    /// The functions that tools are told: `ap_functions` of the driver.
    pub functions: u32,
    /// The longest message that tools are told, in bytes.
    pub max_message: u32,
    /// The names of its counters.
    pub counters: &'static [&'static str],
    /// Files that a card's process gets from the daemon, by the ends of their names: a vault, an audit log. They are opened for reading and writing
    /// before the process gives up to open any.
    pub files: &'static [&'static str],
}

/// Why a card does not serve.
#[derive(Debug)]
pub enum Unfit {
    /// The machine lacks what the service needs: a sentence.
    Here(String),
    /// A self-test failed: a sentence.
    Faulty(String),
    /// What the system says.
    Io(io::Error),
}

impl Unfit {
    /// The reason in words.
    pub fn why(self) -> String {
        match self {
            Unfit::Here(why) | Unfit::Faulty(why) => why,
            Unfit::Io(error) => error.to_string(),
        }
    }
}

impl From<io::Error> for Unfit {
    fn from(error: io::Error) -> Unfit {
        Unfit::Io(error)
    }
}

/// What a service starts with.
#[derive(Debug)]
pub struct Start<'a> {
    /// The daemon's folder.
    pub folder: &'a Path,
    /// The card's number, and its domains.
    pub card: u8,
    /// See `card`.
    pub domains: &'a [u8],
    /// The threads that do batches.
    pub workers: usize,
    /// The limits of each user.
    pub limits: Limits,
    /// Whether the card is to serve where the CPU has no lanes.
    pub without_lanes: bool,
    /// The settings of a coprocessor, whose groups are numbers.
    pub coprocessor: Option<&'a Coprocessor>,
    /// The files of [`Facts::files`], in that order.
    pub files: Vec<OwnedFd>,
}

/// What a service made of a message.
#[derive(Debug)]
pub enum Taken<W> {
    /// A request of a kind.
    Work(usize, W),
    /// Nothing to be done: the answer, which is not [`Status::Done`].
    Answer(Status),
    /// No request: the connection ends.
    NoRequest,
}

/// Whether requests wait for others of their kind while no worker is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// They do not.
    No,
    /// For so long, and then for as long again where another has come.
    WhileMoreCome(Duration),
    /// For so long, and then it is asked again.
    For(Duration),
}

/// A service.
pub trait Service: Sized + Send + Sync + 'static {
    /// What is fixed of it.
    const FACTS: Facts;
    /// The longest message of a program, in bytes; a longer one is no request.
    const MAX_REQUEST: usize;
    /// The longest request or reply in a file, in bytes; 0 where messages bring no descriptors. `cards.conf` may allow less.
    const MAX_BULK: usize = 0;
    /// The kinds of its requests, which are numbered from 0. Requests of a batch are of one kind.
    const KINDS: usize;
    /// Whether a user that has as many requests waiting as it may have is read no further; else its next requests are refused, because their programs
    /// can do them by themselves.
    const BACKPRESSURE: bool = false;
    /// Whether the groups of a user are wanted, beside uid and gid.
    const GROUPS: bool = false;
    /// System calls that its process makes beside those of the host.
    const CALLS: &'static [libc::c_long] = &[];
    /// What it knows of a connection.
    type Session: Default + Send;
    /// A request, as it waits.
    type Work: Send;

    /// Makes the service, before its process gives up what it does not need.
    ///
    /// # Errors
    /// Why it cannot serve here.
    fn start(start: Start<'_>) -> Result<Self, Unfit>;

    /// Tests that it computes what it should; before it serves, and when it is told to.
    ///
    /// # Errors
    /// What was wrong.
    fn self_test(&self) -> Result<(), Unfit>;

    /// The most requests of a batch.
    fn width(&self) -> usize {
        1
    }

    /// How much of a card a request of a kind takes, beside others.
    fn weight(_kind: usize) -> u64 {
        1
    }

    /// The counter of a kind.
    fn counter(kind: usize) -> usize {
        kind
    }

    /// Takes a request of a connection. One thread at a time does this.
    fn take(&self, session: &mut Self::Session, peer: &Peer, frame: &Frame<'_>) -> Taken<Self::Work>;

    /// Does requests of one kind, and answers each. What has to be counted is told ([`Batch::computed`]) before the first answer.
    fn serve(&self, kind: usize, requests: Vec<Request<Self::Work>>, batch: &mut Batch<'_>);

    /// Does what an administrator orders; the answer.
    ///
    /// # Errors
    /// Why not: a sentence.
    fn administer(&self, from: &Peer, domain: Option<u8>, order: &Value) -> Result<Value, String>;

    /// Whether `waiting` requests of a kind wait for more, since a time.
    fn patience(&self, _kind: usize, _waiting: usize, _since: Instant) -> Patience {
        Patience::No
    }

    /// Requests have waited for others: until there was a whole batch, or in vain.
    fn gathered(&self, _whole: bool) {}

    /// A connection cost this process so many nanoseconds.
    fn connected(&self, _cost: u64) {}

    /// Whether it keeps what is to be wiped when no request has come for a while.
    fn keeps(&self) -> bool {
        false
    }

    /// Wipes that.
    fn forget(&self) {}
}

/// A service of an adjunctd.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// What is fixed of it.
    pub facts: Facts,
    /// Its messages may bring descriptors.
    pub(crate) bulk: bool,
    /// Runs a card's process.
    pub(crate) run: fn(Setup) -> io::Result<()>,
}

impl Entry {
    /// The line of a service in a table.
    pub const fn of<S: Service>() -> Entry {
        Entry { facts: S::FACTS, bulk: S::MAX_BULK > 0, run: crate::process::run::<S> }
    }
}
