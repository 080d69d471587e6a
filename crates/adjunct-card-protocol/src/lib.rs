//! What programs and cards say to each other. Cards are adapters in processes of their own, run by adjunctd and shared by all programs of the
//! machine.
//!
//! * [`wire`]: what an accelerator is asked and replies.
//! * [`frame`]: the frame of a message to a service of any mode.
//! * [`mod@reference`]: what stands for a key that only a card can use.
//! * [`secure`]: the client for such keys.
//! * [`coprocessor`]: the client of a coprocessor's own interface, whose requests name their card and domain.
//! * [`bulk`]: messages longer than a socket takes.
//! * [`crowd`]: the page by which all know how crowded the machine is.
//! * This module: the client, which asks a card for an operation.
//!
//! A private operation of RSA, which takes long enough, goes to a card where it would otherwise run alone and the machine is so crowded that a card
//! is faster ([`crowd`]). Where a filter of system calls is in force or to be expected, cards are asked only if `ADJUNCT_CARDS` says so. Each result
//! is raised to the public exponent and compared with the input before it is used. Whatever else becomes of the request (no card, no answer in time,
//! a wrong one), the caller does the operation itself.
//!
//! # Who is trusted
//! A key is sent only to a socket whose other side is root's, or the user's own. For root's page of the crowd that socket is in
//! `/run/adjunct`, whose folder is root's.
//!
//! # Environment
//! `ADJUNCT_CARDS=off` has this program ask no card, `always` all the time (for tests); `on` has it ask also where a filter of system calls is
//! in force, as in most containers, or to be expected. `ADJUNCT_CARDS_DIR` names the folder of the daemon; else it is `/run/adjunct`, or where
//! nothing is there `$XDG_RUNTIME_DIR/adjunct`. They are ignored in programs that run with another's rights.

pub mod bulk;
mod connection;
pub mod coprocessor;
pub mod crowd;
mod deadline;
pub mod frame;
pub mod reference;
pub mod secure;
pub mod wire;

use adjunct_base::catalogue::{Queue, Refusal};
use adjunct_base::counters::{self, Event};
use adjunct_base::environment::secure_env;
use adjunct_base::fork;
use adjunct_base::registry::{self, Adapter};
use adjunct_base::sandbox;
use adjunct_base::slab::Number;
use connection::{Refused, Wanted};
use crowd::Page;
use rustix::net::SocketAddrUnix;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::time::Instant;
use wire::{Kind, Status};

/// The folder of the machine's daemon.
pub const SYSTEM: &str = "/run/adjunct";
/// The socket in a daemon's folder.
pub const SOCKET: &str = "cards.sock";
/// The end of the names of domains' sockets.
pub const SUFFIX: &str = ".sock";

/// The name of a domain's socket without its [`SUFFIX`], which is also that by which systemd gives it: `ep11-00.0005`.
pub fn socket_name(mode: &str, card: u8, domain: u16) -> String {
    format!("{mode}-{card:02x}.{domain:04x}")
}

/// Milliseconds before this process asks again after it found no daemon, and ([`SOON`]) where the next connection may be taken soon.
const NOBODY: u64 = 1000;
const SOON: u64 = 20;
/// The longest pause, in milliseconds, after no reply came in time: it begins at [`SOON`] and doubles each time.
const SILENT: u64 = 5000;
/// Milliseconds before this process asks again after its user had too many connections.
const TOO_MANY: u64 = 1000;

/// Private operations of a process after which a connection is made whatever it costs: servers whose processes do one operation each never reach this
/// number.
const MANY: u32 = 8;

/// Private operations that this process has done, up to [`MANY`], with the generation of the process.
static DONE: AtomicU32 = AtomicU32::new(0);
static OF: AtomicU32 = AtomicU32::new(0);

/// Whether this process has a connection, or is likely to do so many operations that the cost of making one does not matter.
fn is_connected() -> bool {
    let generation = fork::generation();
    if OF.load(Relaxed) != generation {
        // A child of fork begins anew; of several threads that begin, each may.
        OF.store(generation, Relaxed);
        DONE.store(0, Relaxed);
    }
    let done = DONE.load(Relaxed);
    if done < MANY {
        DONE.store(done + 1, Relaxed);
    }
    done >= MANY || connection::is_there()
}

/// Settings that do not change in the life of a process.
struct Client {
    page: &'static Page,
    /// Owner of the page: the peer has to be root's or this user's.
    owner: u32,
    address: SocketAddrUnix,
    /// Cards are asked under a filter of system calls, too.
    under_filters: bool,
}

static CLIENT: OnceLock<Option<Client>> = OnceLock::new();
/// Whether cards are asked whenever there is one, crowded or not.
static ALWAYS: AtomicBool = AtomicBool::new(false);
/// Milliseconds of the clock before which no card is asked.
static NOT_BEFORE: AtomicU64 = AtomicU64::new(0);
/// Milliseconds of the clock before which a process does not ask, whatever it prefers, that got no connection: the connection was refused,
/// or three times in a row no reply came in time and a connection was not accepted.
static NOT_CONNECTED_BEFORE: AtomicU64 = AtomicU64::new(0);
/// Milliseconds that this process did not ask after the last reply that came too late.
static LATE: AtomicU64 = AtomicU64::new(0);

/// Finds the page of the daemon: the only system calls of a process that never asks a card. Where a filter of system calls is in force or to
/// be expected, only if that is asked for.
pub fn prime() {
    CLIENT.get_or_init(Client::find);
    secure::prime();
}

/// Sets whether cards are asked whenever there is one, or only where the machine is so crowded that it pays, which is the default. On a CPU without
/// lanes it holds for keys that are made afterwards.
pub fn prefer(cards: bool) {
    if cards {
        registry::set_online(Adapter::Card, true);
    }
    ALWAYS.store(cards, Relaxed);
}

/// Whether a card takes operations of this process.
pub fn online() -> bool {
    CLIENT.get().is_some_and(|client| client.as_ref().is_some_and(|client| client.page.cards() != 0))
}

/// The folders where a daemon's sockets may be.
fn folders() -> Vec<PathBuf> {
    let folder = |name| secure_env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    match folder("ADJUNCT_CARDS_DIR") {
        Some(named) => vec![named],
        None => {
            let runtime = folder("XDG_RUNTIME_DIR").filter(|runtime| runtime.is_absolute());
            let own = runtime.map(|runtime| runtime.join("adjunct"));
            [Some(PathBuf::from(SYSTEM)), own].into_iter().flatten().collect()
        }
    }
}

impl Client {
    fn find() -> Option<Client> {
        let asked = secure_env("ADJUNCT_CARDS");
        match asked.as_deref() {
            Some("off") => return None,
            Some("on") => {}
            _ if sandbox::filtered() || sandbox::expected() => return None,
            Some("always") => prefer(true),
            _ => {}
        }
        folders().into_iter().find_map(|folder| {
            let (page, owner) = Page::find(&folder).ok()?;
            let user = rustix::process::geteuid().as_raw();
            let address = SocketAddrUnix::new(folder.join(SOCKET)).ok()?;
            let under_filters = asked.as_deref() == Some("on");
            (owner == 0 || owner == user).then_some(Client { page, owner, address, under_filters })
        })
    }
}

/// A private operation on its way: how long it takes is added to what the machine knows.
pub struct Operation {
    client: &'static Client,
    kind: Kind,
    begin: Instant,
}

impl Drop for Operation {
    fn drop(&mut self) {
        let time = u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.client.page.ended(self.kind, crowd::now(), time);
    }
}

impl Operation {
    /// Begins an operation; `None` where there is no daemon, or no card takes such operations.
    #[inline]
    pub fn begin(queue: Queue) -> Option<Operation> {
        let client = CLIENT.get()?.as_ref()?;
        Some(Operation { client, kind: Kind::of(queue)?, begin: Instant::now() })
    }

    /// Has a card do it, where that is likely to be faster: `key` is what [`wire`] says of the key with this number, which no other key of
    /// this process has had, and `out` holds the result where `right` finds it to be right. `false` where the caller is to do it.
    #[inline]
    pub fn by_card<'a>(
        &self,
        queue: Queue,
        number: Number,
        key: impl Fn() -> Option<&'a [u8]>,
        input: &[u8],
        out: &mut [u8],
        right: impl FnOnce(&[u8]) -> bool,
    ) -> bool {
        let now = crowd::now();
        if !self.is_asked(now) {
            return false;
        }
        let done = self
            .ask(&Wanted { kind: self.kind, number, key: &key, input }, out, now)
            .and_then(|()| if right(out) { Ok(()) } else { Err(Refusal::Wrong) });
        counters::note(queue, done.map_or_else(Event::NotOnCard, |()| Event::OnCard));
        done.is_ok()
    }

    #[inline]
    fn is_asked(&self, now: u64) -> bool {
        let page = self.client.page;
        if now < NOT_CONNECTED_BEFORE.load(Relaxed) {
            false
        } else if ALWAYS.load(Relaxed) {
            page.cards() != 0
        } else {
            now >= NOT_BEFORE.load(Relaxed) && page.pays(self.kind, now, is_connected()) && !page.is_out(now)
        }
    }

    #[cold]
    #[inline(never)]
    fn ask(&self, wanted: &Wanted<'_, '_>, out: &mut [u8], now: u64) -> Result<(), Refusal> {
        let client = self.client;
        let until = now + deadline::patience(client.page, wanted.kind, now);
        let Err(refused) = connection::exchange(client, wanted, out, until) else {
            LATE.store(0, Relaxed);
            return Ok(());
        };
        let (refusal, pause) = match refused {
            Refused::Unreachable => (Refusal::Nobody, NOBODY),
            Refused::Nobody => {
                client.page.nobody(crowd::now());
                (Refusal::Nobody, NOBODY)
            }
            Refused::Silent | Refused::NotAccepted => {
                // One that answers others is there.
                if !client.page.answers(now) {
                    client.page.nobody(crowd::now());
                }
                let pause = (2 * LATE.load(Relaxed)).clamp(SOON, SILENT);
                LATE.store(pause, Relaxed);
                // Each new connection waits behind all that others make; one or two may have come while the card's process waited for a CPU.
                if refused == Refused::NotAccepted && pause > 2 * SOON {
                    NOT_CONNECTED_BEFORE.store(crowd::now() + pause, Relaxed);
                }
                (Refusal::Silent, pause)
            }
            Refused::Full => (Refusal::Busy, SOON),
            Refused::Gone => (Refusal::Gone, NOBODY),
            Refused::Said(Status::Again) => (Refusal::Offline, SOON),
            Refused::Said(Status::Connections) => {
                NOT_CONNECTED_BEFORE.store(crowd::now() + TOO_MANY, Relaxed);
                (Refusal::Busy, 0)
            }
            // The next one may be taken.
            Refused::Said(Status::Busy) => (Refusal::Busy, 0),
            Refused::Said(_) | Refused::Unfit => (Refusal::Invalid, 0),
        };
        if pause != 0 {
            NOT_BEFORE.store(crowd::now() + pause, Relaxed);
        }
        Err(refusal)
    }
}
