//! An adjunctd of a lab, with two cards, and all the ways in which its cards go away while programs use them.

use crate::lab::{Lab, copy_program, spawn};
use crate::listener::{eventually, until};
use crate::load::Load;
use crate::system::target;
use adjunct::card::work;
use adjunct_card_protocol::crowd::Page;
use adjunct_card_state::control::{self, Device, Reply, Request};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::state;
use adjunct_tool::process::descendants;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Numbers of the daemon's cards.
const CARDS: [u8; 2] = [0, 3];
const CONFIG: &str = "[[card]]\nid = 0\ndomains = [5, 47]\n[[card]]\nid = 3\ndomains = [5]\n";
/// Logins to wait for while no card is there, and while cards are.
const FEW: usize = 5;

/// Whether programs here can have cards; says so where they cannot.
pub fn can_be() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let filtered = status.lines().any(|line| line.starts_with("Seccomp:") && !line.ends_with('0'));
    if filtered {
        crate::skipped("cards: a filter of system calls is in force here, under which programs ask none");
    }
    !filtered
}

/// When programs ask cards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Ask a card for each operation.
    Always,
    /// Ask a card where the machine is so crowded that it pays.
    WhenCrowded,
}

/// The daemon; it ends, and all that belongs to it goes, when it is dropped.
#[derive(Debug)]
pub struct Daemon {
    folder: Folder,
    /// When programs ask the daemon's cards.
    pub asked: Asked,
    command: Box<Path>,
    child: Option<Child>,
}

impl Daemon {
    /// Starts a daemon, and waits until its cards are ready.
    pub fn start(lab: &Lab, asked: Asked) -> Daemon {
        let command = lab.path("adjunctd");
        copy_program(&target().join("adjunctd"), &command);
        lab.write("cards.conf", format!("without-lanes = {}\n{CONFIG}", !work::available()));
        let folder = Folder::at(lab.path("cards"));
        let mut daemon = Daemon { folder, asked, command: command.into(), child: None };
        daemon.start_again();
        daemon
    }

    fn start_again(&mut self) {
        let mut command = Command::new(&*self.command);
        command.arg("--folder").arg(self.folder.path()).arg("--config").arg(self.command.with_file_name("cards.conf"));
        self.child = Some(spawn(command.stdin(Stdio::null()).stderr(Stdio::null())));
        until("a daemon with cards", || {
            state::read(&self.folder.state()).is_ok()
                && Page::find(self.folder.path()).is_ok_and(|page| page.0.cards() != 0)
        });
    }

    /// The environment by which programs find it.
    pub fn environment(&self) -> Vec<(String, String)> {
        let folder = self.folder.path().display().to_string();
        let always = (self.asked == Asked::Always).then(|| ("ADJUNCT_CARDS".to_owned(), "always".to_owned()));
        [("ADJUNCT_CARDS_DIR".to_owned(), folder)].into_iter().chain(always).collect()
    }

    fn pid(&self) -> u32 {
        self.child.as_ref().expect("the daemon runs").id()
    }

    fn ask(&self, request: &Request) {
        let reply = control::ask(&self.folder.control(), request).expect("the daemon answers");
        assert_eq!(reply, Reply::Done, "{request:?}");
    }

    /// Operations that the daemon's cards have done, for any program.
    fn requests(&self) -> u64 {
        let machine = state::read(&self.folder.state()).expect("the daemon's state");
        machine.cards.iter().map(|card| card.requests).sum()
    }

    /// Waits until some more clients have been served, and, where cards are always asked, cards have.
    fn serves(&self, load: &Load) {
        let before = self.requests();
        load.more(FEW);
        if self.asked == Asked::Always {
            until("operations on cards", || load.is_over() || self.requests() >= before + FEW as u64);
        }
    }

    /// Takes cards away from a load, in all the ways in which they go: offline and online, killed, configured off and on; the daemon killed,
    /// and ended as for an upgrade. The load goes on while none is there, and has cards again before the next.
    pub fn fail(&mut self, load: &Load) {
        self.serves(load);
        for online in [false, true] {
            for card in CARDS {
                self.ask(&Request::SetOnline(Device { card, domain: None }, online));
                load.more(FEW);
            }
        }
        self.serves(load);
        let before = descendants(self.pid());
        // One alone, whose work goes to the other; then all.
        before.iter().take(1).for_each(|&card| signal(card, libc::SIGKILL));
        load.more(FEW);
        descendants(self.pid()).into_iter().for_each(|card| signal(card, libc::SIGKILL));
        until("cards that start again", || {
            let now = descendants(self.pid());
            now.len() == CARDS.len() && now.iter().all(|card| !before.contains(card))
        });
        self.serves(load);
        for config in [false, true] {
            for card in CARDS {
                self.ask(&Request::SetConfig(card, config));
                load.more(FEW);
            }
        }
        self.serves(load);
        for end in [libc::SIGKILL, libc::SIGTERM] {
            assert!(self.end(end), "cards go on without their daemon");
            load.more(FEW);
            self.start_again();
            self.serves(load);
        }
    }

    /// Ends the daemon by a signal; whether its cards have ended with it.
    fn end(&mut self, by: i32) -> bool {
        let Some(mut child) = self.child.take() else { return true };
        let cards = descendants(child.id());
        signal(child.id(), by);
        let _ = child.wait();
        let is_there = |pid: &u32| Path::new(&format!("/proc/{pid}")).exists();
        eventually(|| !cards.iter().any(is_there))
    }

    /// Waits until cards have nothing more to do.
    pub fn rests(&self) {
        until("nothing under way in cards", || {
            let machine = state::read(&self.folder.state()).expect("the daemon's state");
            let mut queues = machine.cards.iter().flat_map(|card| &card.queues);
            queues.all(|queue| queue.requestq + queue.pendingq + queue.load == 0)
        });
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.end(libc::SIGKILL);
        Page::remove(self.folder.path());
    }
}

fn signal(pid: u32, signal: i32) {
    // SAFETY: a signal to a process of ours; no pointers.
    unsafe { libc::kill(pid.cast_signed(), signal) };
}
