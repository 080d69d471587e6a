//! A daemon in a folder of its own, and programs that ask its cards: this test program itself, started again.

#![allow(dead_code, reason = "each test program uses its part")]

use adjunct::catalogue::{Queue, Refusal};
use adjunct::counters::{Apart, Lanes};
use adjunct::ops::rsa::{Crt, CrtKey};
use adjunct_card_protocol::crowd::Page;
use adjunct_card_protocol::wire::Kind;
use adjunct_card_state::control::{self, Reply, Request};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Machine;
use adjunct_card_state::state;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The keys, inputs and outputs that cards test themselves with.
static KNOWN: &[u8] = include_bytes!("../../src/accelerator/known.bin");

/// The bytes of a kind's key as the wire has it, an input and its output.
pub fn known(kind: Kind) -> [&'static [u8]; 3] {
    let before = Kind::ALL.iter().take_while(|&&other| other != kind);
    let from: usize = before.map(|kind| kind.key() + 2 * kind.size()).sum();
    let (key, rest) = KNOWN[from..].split_at(kind.key());
    let (input, rest) = rest.split_at(kind.size());
    [key, input, &rest[..kind.size()]]
}

/// The key for the core.
pub fn key(kind: Kind) -> CrtKey {
    let [bytes, ..] = known(kind);
    let half = kind.size() / 2;
    let part = |at: usize| &bytes[8 + kind.size() + at * half..][..half];
    CrtKey::new(&Crt { p: part(0), q: part(1), dp: part(2), dq: part(3), qinv: part(4) }).unwrap()
}

/// Does an operation, and finds its result right.
pub fn operate(key: &CrtKey, kind: Kind) {
    let [_, input, output] = known(kind);
    let mut out = vec![0; kind.size()];
    key.private(input, &mut out).unwrap();
    assert!(out == output, "a wrong result");
}

/// Whether there can be cards; says so where there cannot.
pub fn there_can_be_cards() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let filtered = status.lines().any(|line| line.starts_with("Seccomp:") && !line.ends_with('0'));
    if filtered {
        println!("SKIPPED: a filter of system calls is in force here, under which programs ask no card");
    }
    !filtered
}

/// Waits for something to hold.
pub fn until(what: &str, holds: impl Fn() -> bool) {
    let limit = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < limit, "{what}: not within 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A daemon, or a folder for one, with all that belongs to it.
pub struct Daemon {
    pub folder: tempfile::TempDir,
    child: Option<Child>,
    config: String,
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
        Page::remove(self.folder.path());
        // SAFETY: no requirements.
        let uid = unsafe { libc::geteuid() };
        let _ = Apart::of(&self.word()).delete(uid);
    }
}

/// Operations whose reply did not come in time.
pub fn late(counted: &Lanes) -> u64 {
    counted.not_on_card[Refusal::Silent as usize]
}

impl Daemon {
    /// A folder without a daemon.
    pub fn none(config: &str) -> Daemon {
        let lanes = adjunct::card::work::available();
        let config = format!("without-lanes = {}\n{config}", !lanes);
        Daemon { folder: tempfile::tempdir().unwrap(), child: None, config }
    }

    /// Starts a daemon with this `cards.conf`, and waits until its cards are ready.
    pub fn start(config: &str) -> Daemon {
        let mut daemon = Daemon::none(config);
        daemon.start_again();
        daemon
    }

    pub fn start_again(&mut self) {
        let command = self.command();
        self.start_by(command);
    }

    /// Starts the daemon by this command, and waits until its cards are ready.
    pub fn start_by(&mut self, command: Command) {
        assert!(self.try_start_by(command), "adjunctd cannot be started");
    }

    /// Starts the daemon by this command and waits for its cards; whether the command could be started.
    pub fn try_start_by(&mut self, command: Command) -> bool {
        let path = self.folder.path().join("cards.conf");
        std::fs::write(&path, &self.config).unwrap();
        // One that was killed has left its cards there.
        if let Ok((page, _)) = Page::find(self.folder.path()) {
            page.set_cards(0, 1);
        }
        if !self.try_start_without_cards_by(command) {
            return false;
        }
        until("cards that are ready", || {
            let Ok(machine) = state::read(&self.of().state()) else { return false };
            let ready = Page::find(self.folder.path()).map_or(0, |(page, _)| page.cards());
            ready == machine.cards.len() as u64
        });
        true
    }

    /// Starts the daemon by this command, whatever becomes of its cards; whether the command could be started.
    pub fn try_start_without_cards_by(&mut self, mut command: Command) -> bool {
        self.child = command.spawn().ok();
        self.child.is_some()
    }

    /// The command that starts the daemon.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunctd"));
        command.arg("--folder").arg(self.folder.path()).arg("--config").arg(self.folder.path().join("cards.conf"));
        command
    }

    pub fn of(&self) -> Folder {
        Folder::at(self.folder.path())
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Number of a card's process; 0 while there is none.
    pub fn pid_of(&self, id: u8) -> u32 {
        let bytes = std::fs::read(self.of().state()).unwrap();
        let word = |at: usize| u64::from_ne_bytes(bytes[8 * at..][..8].try_into().unwrap());
        let place = |place: usize| state::HEAD + place * state::CARD;
        let place = (0..state::MAX_CARDS).map(place).find(|&at| word(at + state::Card::Id as usize) == u64::from(id));
        word(place.unwrap() + state::Card::Pid as usize) as u32
    }

    pub fn machine(&self) -> Machine {
        state::read(&self.of().state()).unwrap()
    }

    pub fn ask(&self, request: &Request) -> Reply {
        control::ask(&self.of().control(), request).unwrap()
    }

    /// Ends the daemon as an administrator would; how it ended.
    pub fn end(&mut self) -> Output {
        let child = self.child.take().unwrap();
        signal(child.id(), libc::SIGTERM);
        child.wait_with_output().unwrap()
    }

    /// Kills the daemon.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    fn word(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// What programs of this daemon had done, of 2048 bits.
    pub fn counted(&self) -> Lanes {
        self.counted_of(Queue::Rsa2048)
    }

    /// Counts a queue's operations that programs of this daemon have done.
    pub fn counted_of(&self, queue: Queue) -> Lanes {
        // SAFETY: no requirements.
        let uid = unsafe { libc::geteuid() };
        let counted = Apart::of(&self.word()).read(uid).unwrap();
        counted.map_or_else(Lanes::default, |snapshot| snapshot.lanes(queue))
    }

    /// Operations of 2048 bits that programs sent to a card, and that a card did, or, on a machine that is busy otherwise, did too late;
    /// nothing else came between.
    pub fn on_card_or_late(&self) -> u64 {
        let counted = self.counted();
        assert_eq!(counted.refused(), late(&counted), "{counted:?}");
        counted.on_card + late(&counted)
    }

    /// Whether programs asked a card for this many operations of 2048 bits; fewer count only where three or more replies were late, after which a
    /// program asks no more for a while.
    pub fn was_asked(&self, operations: u64) -> bool {
        let (asked, late) = (self.on_card_or_late(), late(&self.counted()));
        asked == operations || late >= 3 && asked < operations
    }

    /// This test program as a program that asks cards: it runs `test`, which is otherwise ignored.
    pub fn program(&self, test: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", test, "--ignored", "--nocapture"])
            .env("ADJUNCT_CARDS_DIR", self.folder.path())
            .env("ADJUNCT_CARDS", "always")
            .env("ADJUNCT_STATS_KEY", self.word())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a program whose only card is `card`, which gets each of its connections.
    pub fn run_with(&self, test: &str, mut card: impl FnMut(rustix::fd::OwnedFd) + Send) {
        let (page, _) = Page::make(self.folder.path()).unwrap();
        page.set_cards(1, 1);
        let listener = new_socket();
        rustix::net::bind(&listener, &rustix::net::SocketAddrUnix::new(self.of().socket()).unwrap()).unwrap();
        rustix::net::listen(&listener, 64).unwrap();
        let ends = AtomicBool::new(false);
        let serve = || {
            loop {
                let connection = rustix::net::accept_with(&listener, rustix::net::SocketFlags::CLOEXEC).unwrap();
                if ends.load(Relaxed) {
                    return;
                }
                card(connection);
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(serve);
            self.run(test);
            ends.store(true, Relaxed);
            drop(connect(&self.of().socket()));
        });
    }

    /// Runs the program to its end, and checks that it succeeded.
    pub fn run(&self, test: &str) {
        succeeded(self.program(test).spawn().unwrap());
    }
}

pub fn succeeded(program: Child) {
    let output = program.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

pub fn signal(pid: u32, signal: i32) {
    // SAFETY: no pointers.
    assert_eq!(unsafe { libc::kill(pid.cast_signed(), signal) }, 0);
}

/// A socket of the kind that programs and cards have between them.
pub fn new_socket() -> rustix::fd::OwnedFd {
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
}

/// A connection such as programs make; `None` where no process listens.
pub fn connect(path: &Path) -> Option<rustix::fd::OwnedFd> {
    let socket = new_socket();
    rustix::net::connect(&socket, &rustix::net::SocketAddrUnix::new(path).unwrap()).ok()?;
    Some(socket)
}

/// Sends a message, if the other side is still there.
pub fn send(socket: &rustix::fd::OwnedFd, message: &[u8]) {
    let _ = rustix::net::send(socket, message, rustix::net::SendFlags::NOSIGNAL);
}

/// The next message; empty where the other side has closed, or says nothing for five seconds.
pub fn receive(socket: &rustix::fd::OwnedFd) -> Vec<u8> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut buffer = vec![0; 4096];
    let limit = Timespec { tv_sec: 5, tv_nsec: 0 };
    if poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&limit)).unwrap() == 0 {
        return Vec::new();
    }
    let length =
        rustix::net::recv(socket, &mut buffer[..], rustix::net::RecvFlags::DONTWAIT).map_or(0, |(length, _)| length);
    buffer.truncate(length);
    buffer
}
