//! A card's process, as the daemon sees it.

use crate::link::{Link, Order};
use crate::process::Setup;
use adjunct_card_protocol::frame::Service;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::fs::File;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The first argument by which this program runs as a card.
pub const CARD: &str = "card";
/// Deaths within [`SPAN`] after which a card is not started any more.
const DEATHS: usize = 3;
const SPAN: Duration = Duration::from_secs(60);

/// How long a process that was killed is waited for. One that is in a system call which no signal ends may take for ever.
const KILLED_IN: Duration = Duration::from_secs(1);
/// Processes that were killed and have not ended in that time: they are looked at when the next one is started or killed.
static REMAIN: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// The variables that a card's process gets: what is masked of the CPU for the daemon is for its cards, and where systemd has put credentials.
const KEPT: [&str; 2] = ["ADJUNCT_CPU", "CREDENTIALS_DIRECTORY"];

/// A process that runs.
#[derive(Debug)]
pub struct Process {
    child: Child,
    link: Link,
    /// Its tests have passed.
    pub ready: bool,
}

impl Process {
    /// Starts a card's process, with the state's file and the files of its service.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(setup: &Setup, service: Service, state: &File, files: &[OwnedFd]) -> io::Result<Process> {
        let (link, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        let link = Link::new(link, service);
        reap(None);
        files.iter().try_for_each(|file| link.order(&Order::File, Some(file)))?;
        // Not by its name: that may be another version's after an upgrade. Its two descriptors come as standard input and output.
        let child = Command::new("/proc/self/exe")
            .arg(CARD)
            .args(setup.words())
            .env_clear()
            .envs(KEPT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(state.try_clone()?))
            .spawn()?;
        Ok(Process { child, link, ready: false })
    }

    /// The daemon's end of the link to the process.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends the process an order; whether it could be sent.
    pub fn order(&self, order: &Order, descriptor: Option<&OwnedFd>) -> bool {
        self.link.order(order, descriptor).is_ok()
    }

    /// Waits at most `milliseconds` until the process can take an order.
    pub fn wait(&self, milliseconds: i64) {
        let limit = Timespec { tv_sec: 0, tv_nsec: milliseconds * 1_000_000 };
        let _ = poll(&mut [PollFd::new(&self.link, PollFlags::OUT)], Some(&limit));
    }

    /// Kills the process where it has not ended yet; how it ended, in words.
    pub fn end(mut self) -> String {
        // One that ended by itself has closed its link a moment before the system says that it has.
        let limit = Instant::now() + Duration::from_millis(100);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) if Instant::now() < limit => std::thread::sleep(Duration::from_millis(1)),
                _ => break,
            }
        }
        self.kill()
    }

    /// Kills the process, and waits for that at most [`KILLED_IN`]; how it ended, in words.
    fn kill(mut self) -> String {
        let _ = self.child.kill();
        let limit = Instant::now() + KILLED_IN;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.to_string(),
                Ok(None) if Instant::now() < limit => std::thread::sleep(Duration::from_millis(1)),
                Ok(None) => break,
                Err(error) => return error.to_string(),
            }
        }
        eprintln!("adjunctd: process {} was killed and does not end: it is waited for no longer", self.child.id());
        reap(Some(self.child));
        "killed, and not ended yet".to_owned()
    }

    /// Has the process finish what it works on and end, and waits for that until `limit`.
    pub fn leave(mut self, limit: Instant) {
        self.order(&Order::Leave, None);
        while Instant::now() < limit {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                _ => return,
            }
        }
        self.kill();
    }
}

/// Has the system forget the processes that have ended since they were killed; one more is one that has not.
fn reap(one_more: Option<Child>) {
    let mut remain = REMAIN.lock().unwrap_or_else(PoisonError::into_inner);
    remain.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
    remain.extend(one_more);
}

/// The ends of a card's processes.
#[derive(Debug, Default)]
pub struct Deaths(Vec<Instant>);

impl Deaths {
    /// Notes one more end of a process; whether the card is to be started again.
    pub fn one_more(&mut self) -> bool {
        let now = Instant::now();
        self.0.retain(|then| now.duration_since(*then) < SPAN);
        self.0.push(now);
        self.0.len() < DEATHS
    }
}
