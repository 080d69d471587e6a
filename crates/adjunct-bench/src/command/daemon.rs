//! A daemon of the run's own, in a temporary folder.

use crate::crew;
use adjunct_card_protocol::crowd::Page;
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Machine;
use adjunct_card_state::state::{self, Figures};
use adjunct_survey::module::{self, Choice, Make, Purpose};
use adjunct_tool::failure::cause;
use adjunct_tool::process::halves::Halves;
use adjunct_tool::{Failure, scratch};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time after which cards that have not found their known answers never will.
const TO_START: Duration = Duration::from_secs(20);
/// The service's (`Nice=` in adjunct-cards.service).
const NICENESS: i32 = -5;
/// Time after which a daemon that has not ended is killed.
const TO_END: Duration = Duration::from_secs(7);

/// The daemon's program: beside this one, or where the package installs it.
///
/// # Errors
/// [`Failure`] where there is none, or one that root must not run.
pub fn program(choice: Choice<'_>) -> Result<PathBuf, Failure> {
    let choice = Choice { path: None, ..choice };
    module::find_of(&Make::DAEMON, choice, Purpose::Run, || [PathBuf::from("/usr/sbin")])
}

/// A daemon with its cards. Dropped, it ends, and its folder and its page go.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    folder: Folder,
    _temporary: scratch::Folder,
}

impl Daemon {
    /// Starts a daemon with so many accelerators, on some processors or on all, and waits until they take programs. Root's serves all users, and has
    /// the service's niceness, as the machine's does.
    ///
    /// # Errors
    /// [`Failure`] in its own words where it has any.
    pub fn start(program: &Path, cards: usize, on: Option<&str>) -> Result<Daemon, Failure> {
        Daemon::start_with(program, cards, on, "")
    }

    /// Starts a daemon with `cards` accelerators, on some processors or on all, and with settings of `cards.conf` besides, and waits until they take
    /// programs.
    ///
    /// # Errors
    /// As for [`Daemon::start`].
    pub fn start_with(program: &Path, cards: usize, on: Option<&str>, settings: &str) -> Result<Daemon, Failure> {
        let failed = |e: std::io::Error| Failure::new(format!("adjunctd: {}", cause(&e)));
        let temporary = scratch::folder()?;
        if nix::unistd::geteuid().is_root() {
            std::fs::set_permissions(temporary.path(), Permissions::from_mode(0o755)).map_err(failed)?;
        }
        let folder = Folder::at(temporary.path());
        let (config, log) = (temporary.path().join("cards.conf"), temporary.path().join("log"));
        let tables: String = (0..cards).map(|id| format!("[[card]]\nid = {id}\n")).collect();
        std::fs::write(&config, settings.to_owned() + &tables).map_err(failed)?;
        let said = std::fs::File::create(&log).map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("--folder").arg(folder.path()).arg("--config").arg(&config);
        let mut command = Halves::pinned(on, &command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let child = crew::nice(crew::ends_with_us(&mut command), NICENESS).spawn().map_err(failed)?;
        let mut daemon = Daemon { child, folder, _temporary: temporary };
        let begin = Instant::now();
        loop {
            if Page::find(daemon.folder.path()).is_ok_and(|(page, _)| page.cards() == cards as u64) {
                return Ok(daemon);
            }
            let ended = daemon.child.try_wait().is_ok_and(|status| status.is_some());
            let remark = state::read(&daemon.folder.state()).map(|machine| machine.remark).unwrap_or_default();
            if ended || !remark.is_empty() || begin.elapsed() > TO_START {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let said =
                    said.lines().next_back().unwrap_or("no card takes programs").trim_start_matches("adjunctd: ");
                let why = if remark.is_empty() { said } else { &remark };
                return Err(Failure::new(format!("adjunctd: {why}")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Path of the daemon's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Figures of what the daemon's cards did so far.
    pub fn figures(&self) -> Figures {
        state::figures(&self.folder.state()).unwrap_or_default()
    }

    /// The daemon's cards and what they did so far, as tools see them.
    pub fn machine(&self) -> Option<Machine> {
        state::read(&self.folder.state()).ok()
    }

    /// Number of the daemon's process, whose children the cards are.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The daemon's process, then its cards'.
    pub fn processes(&self) -> Vec<u32> {
        [self.child.id()].into_iter().chain(self.figures().processes).collect()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let begin = Instant::now();
        while begin.elapsed() < TO_END && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        Page::remove(self.folder.path());
    }
}
