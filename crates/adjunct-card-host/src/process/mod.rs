//! A card's process: its service tests itself, the process gives up what it does not need, and it works for the programs whose connections the daemon
//! hands it.
//!
//! Keys are in its memory alone, which is in no core dump, and locked where the limit allows it.

mod bulk;
mod client;
mod confine;
mod connections;
mod parked;
mod pending;
mod reader;
mod worker;

use crate::link::{Link, Order, Report};
use crate::service::{Entry, Service, Start, Unfit};
use crate::watch;
use adjunct_card_state::config::Limits;
use adjunct_card_state::coprocessor::Coprocessor;
use adjunct_card_state::machine::Mode;
use adjunct_card_state::state::Shared;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, OwnedFd};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use worker::Card;

pub use client::{Asker, Request, refuse};
pub use worker::Batch;

/// What a card's process is started with.
#[derive(Debug)]
pub struct Setup {
    /// The mode of the card.
    pub mode: Mode,
    /// The daemon's folder.
    pub folder: PathBuf,
    /// The card's number, and its domains.
    pub card: u8,
    /// See `card`.
    pub domains: Vec<u8>,
    /// Its threads.
    pub workers: usize,
    /// The limits of each user.
    pub limits: Limits,
    /// Whether the card serves where the CPU has no lanes.
    pub without_lanes: bool,
    /// The settings of a coprocessor, whose groups are numbers.
    pub coprocessor: Option<Coprocessor>,
}

impl Setup {
    /// The words that follow [`crate::daemon::CARD`] on the command line of the process.
    pub fn words(&self) -> Vec<OsString> {
        let domains: Vec<String> = self.domains.iter().map(u8::to_string).collect();
        let Limits { waiting, share, connections, bulk, bulk_of_user } = self.limits;
        let lanes = usize::from(self.without_lanes);
        let numbers = [self.workers, waiting, connections, share as usize, bulk, bulk_of_user, lanes];
        let mut words = vec![self.mode.word().into(), self.folder.clone().into_os_string()];
        words.extend([self.card.to_string(), domains.join(",")].map(OsString::from));
        words.extend(numbers.map(|number| number.to_string().into()));
        words.push(serde_json::to_string(&self.coprocessor).unwrap_or_default().into());
        words
    }

    /// Reads these words.
    fn from_words(words: &[OsString]) -> Option<Setup> {
        fn number<T: FromStr>(word: &OsStr) -> Option<T> {
            word.to_str()?.parse().ok()
        }
        let [
            mode,
            folder,
            card,
            domains,
            workers,
            waiting,
            connections,
            share,
            bulk,
            of_user,
            without_lanes,
            coprocessor,
        ] = words
        else {
            return None;
        };
        let limits = Limits {
            waiting: number(waiting)?,
            share: number(share)?,
            connections: number(connections)?,
            bulk: number(bulk)?,
            bulk_of_user: number(of_user)?,
        };
        let domains = domains.to_str()?.split(',').map(|domain| domain.parse().ok());
        Some(Setup {
            mode: Mode::named(mode.to_str()?)?,
            folder: folder.into(),
            card: number(card)?,
            domains: domains.collect::<Option<_>>()?,
            workers: number(workers)?,
            limits,
            without_lanes: number::<u8>(without_lanes)? != 0,
            coprocessor: serde_json::from_str(coprocessor.to_str()?).ok()?,
        })
    }
}

/// Runs the card that these words say ([`Setup::words`]); does not come back but for an error, or where the service does not serve here.
///
/// # Errors
/// What the system says.
pub fn start(services: &'static [Entry], words: &[OsString]) -> io::Result<()> {
    let setup = Setup::from_words(words);
    let entry = setup.and_then(|setup| {
        let entry = services.iter().find(|entry| entry.facts.mode == setup.mode)?;
        Some((entry, setup))
    });
    let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "a card's process is started by the daemon alone");
    let (entry, setup) = entry.ok_or_else(wrong)?;
    (entry.run)(setup)
}

/// The link to the daemon, which is standard input, and the state, whose file is standard output.
fn inherited<S: Service>() -> io::Result<(Link, Shared)> {
    let state = io::stdout().as_fd().try_clone_to_owned()?;
    let daemon = io::stdin().as_fd().try_clone_to_owned()?;
    let null = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok((Link::new(daemon, S::FACTS.service), Shared::map(&state)?))
}

/// The files of the service, which the daemon sends first.
fn files<S: Service>(daemon: &Link) -> io::Result<Vec<OwnedFd>> {
    let mut files = Vec::new();
    while files.len() < S::FACTS.files.len() {
        let _ = poll(&mut [PollFd::new(daemon, PollFlags::IN)], None);
        match daemon.next_order() {
            Ok(Some((Order::File, Some(file)))) => files.push(file),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the daemon sends no file")),
        }
    }
    Ok(files)
}

/// Runs a card of a service; does not come back but for an error, or where the service does not serve here.
///
/// # Errors
/// What the system says.
pub(crate) fn run<S: Service>(setup: Setup) -> io::Result<()> {
    let workers = setup.workers.max(1);
    // Before there is any key.
    confine::hide_memory()?;
    confine::keep_freed_memory();
    confine::have_descriptors();
    let (daemon, state) = inherited::<S>()?;
    let start = Start {
        folder: &setup.folder,
        card: setup.card,
        domains: &setup.domains,
        workers,
        limits: setup.limits,
        without_lanes: setup.without_lanes,
        coprocessor: setup.coprocessor.as_ref(),
        files: files::<S>(&daemon)?,
    };
    let service = match S::start(start).and_then(|service| service.self_test().map(|()| service)) {
        Ok(service) => service,
        Err(Unfit::Here(why)) => return Ok(daemon.report(&Report::Unfit(why))?),
        Err(Unfit::Faulty(why)) => return Ok(daemon.report(&Report::Faulty(why))?),
        Err(Unfit::Io(error)) => return Err(error),
    };
    let card = Arc::new(Card::new(service, state, daemon, workers, setup.limits)?);
    // With the one that watches.
    let of_long_requests = if S::MAX_BULK > 0 { bulk::USERS * setup.limits.bulk_of_user } else { 0 };
    if !confine::lock_memory(workers + 1, of_long_requests)? {
        eprintln!("adjunctd: a card's memory is not locked (RLIMIT_MEMLOCK): keys may get into the swap");
    }
    watch::start()?;
    let gate = Arc::new(std::sync::Barrier::new(workers));
    for _ in 1..workers {
        let (card, gate) = (Arc::clone(&card), Arc::clone(&gate));
        std::thread::Builder::new().name("worker".into()).spawn(move || {
            wake_in_time();
            watch::this_thread();
            // Started, and then: confined.
            gate.wait();
            gate.wait();
            card.work();
        })?;
    }
    wake_in_time();
    watch::this_thread();
    gate.wait();
    let confined = confine::close_filter(S::CALLS, S::GROUPS, S::MAX_BULK > 0)?;
    if !confined {
        eprintln!(
            "adjunctd: card {:02x} runs without a filter of system calls, which this architecture has not",
            setup.card
        );
    }
    card.report(&Report::Ready { confined });
    gate.wait();
    card.work();
    Ok(())
}

/// Has this thread's short waits end when they are over, and not up to 50 microseconds later, which is the system's default.
fn wake_in_time() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjunct_card_state::coprocessor::Seal;

    #[test]
    fn a_process_is_started_as_was_said() {
        let setup = Setup {
            mode: Mode::Ep11,
            folder: "/run/adjunct".into(),
            card: 7,
            domains: vec![5, 255],
            workers: 3,
            limits: Limits { waiting: 10, share: 50, connections: 20, bulk: 5, bulk_of_user: 10 },
            without_lanes: true,
            coprocessor: Some(Coprocessor {
                seal: Seal::Tpm,
                tpm: Some("/dev/tpmrm0".into()),
                keys: 7,
                sessions: 8,
                groups: [None, Some("1000".into()), None, Some("7".into())],
                dual_control: true,
            }),
        };
        let words = setup.words();
        assert_eq!(Setup::from_words(&words).map(|read| read.words()), Some(words.clone()));
        assert!(Setup::from_words(&words[1..]).is_none() && Setup::from_words(&[]).is_none());
    }
}
