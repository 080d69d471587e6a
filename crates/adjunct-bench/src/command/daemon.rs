//! A daemon of the run's own, in a temporary folder.

use crate::crew;
use adjunct_card_protocol::crowd::Page;
use adjunct_card_state::control::{self, Device, Reply, Request};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Machine;
use adjunct_card_state::state::{self, Figures};
use adjunct_survey::module::{self, Choice, Make, Purpose};
use adjunct_tool::failure::cause;
use adjunct_tool::process::halves::Halves;
use adjunct_tool::{Failure, scratch};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time after which cards that have not found their known answers never will.
const TO_START: Duration = Duration::from_secs(20);
/// The service's (`Nice=` in adjunct-cards.service).
const NICENESS: i32 = -5;
/// Time after which a daemon that has not ended is killed.
const TO_END: Duration = Duration::from_secs(7);

/// The folder of cards' files, below the daemon's.
const FILES: &str = "files";

fn failed(error: std::io::Error) -> Failure {
    Failure::new(format!("adjunctd: {}", cause(&error)))
}

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
        let tables: String = (0..cards).map(|id| format!("[[card]]\nid = {id}\n")).collect();
        let ready = |folder: &Folder| Page::find(folder.path()).is_ok_and(|(page, _)| page.cards() == cards as u64);
        Daemon::launch(program, &(settings.to_owned() + &tables), on, |_| Ok(()), ready)
    }

    /// Starts a daemon with so many EP11 coprocessors, whose domains 0000 have one wrapping key, and waits until they take requests. The keys are in its
    /// folder, and gone with it.
    ///
    /// # Errors
    /// As for [`Daemon::start`].
    pub fn coprocessors(program: &Path, cards: u8) -> Result<Daemon, Failure> {
        let first = Daemon::of_coprocessors(program, 1, |_| Ok(()))?;
        first.begin()?;
        if cards == 1 {
            return Ok(first);
        }
        // What the first one's vault holds is what each further one begins with.
        let vault = std::fs::read(first.files().join("ep11-00.vault")).map_err(failed)?;
        drop(first);
        Daemon::of_coprocessors(program, cards, |files| {
            (0..cards).try_for_each(|card| {
                let path = files.join(format!("ep11-{card:02x}.vault"));
                std::fs::write(&path, &vault)?;
                std::fs::set_permissions(&path, Permissions::from_mode(0o600))
            })
        })
    }

    fn of_coprocessors(
        program: &Path,
        cards: u8,
        prepare: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<Daemon, Failure> {
        let of = |id| format!("[[card]]\nid = {id}\nmode = \"ep11\"\nseal = \"credential\"\nmode-bits = \"0600\"\n");
        let prepare = |files: &Path| {
            DirBuilder::new().mode(0o700).create(files)?;
            for card in 0..cards {
                // It opens no key but those that are made for this run.
                std::fs::write(files.join(format!("ep11-{card:02x}")), [7; 32])?;
            }
            prepare(files)
        };
        let ready = |folder: &Folder| {
            let served = state::read(&folder.state()).map(|machine| machine.cards);
            served.is_ok_and(|all| all.len() == usize::from(cards) && all.iter().all(|card| card.confined.is_some()))
        };
        Daemon::launch(program, &(0..cards).map(of).collect::<String>(), None, prepare, ready)
    }

    /// Has domain 0000 of card 00 begin with a wrapping key.
    fn begin(&self) -> Result<(), Failure> {
        let order = Request::Administer(Device { card: 0, domain: Some(0) }, json!({ "order": "wk-begin" }));
        match control::ask(&self.folder.control(), &order).map_err(Failure::because)? {
            Reply::Refused(_, why) => Err(Failure::new(format!("no wrapping key: {why}"))),
            _ => Ok(()),
        }
    }

    /// Where vaults and audit logs are.
    fn files(&self) -> PathBuf {
        self.folder.path().join(FILES)
    }

    /// Starts a daemon of this configuration, after `prepare` has been given the folder of its cards' files, and waits until it is `ready`.
    fn launch(
        program: &Path,
        config: &str,
        on: Option<&str>,
        prepare: impl FnOnce(&Path) -> std::io::Result<()>,
        ready: impl Fn(&Folder) -> bool,
    ) -> Result<Daemon, Failure> {
        let temporary = scratch::folder()?;
        if nix::unistd::geteuid().is_root() {
            std::fs::set_permissions(temporary.path(), Permissions::from_mode(0o755)).map_err(failed)?;
        }
        let folder = Folder::at(temporary.path());
        let (file, log) = (temporary.path().join("cards.conf"), temporary.path().join("log"));
        std::fs::write(&file, config).map_err(failed)?;
        let files = temporary.path().join(FILES);
        prepare(&files).map_err(failed)?;
        let said = std::fs::File::create(&log).map_err(failed)?;
        let mut command = Command::new(program);
        command.arg("--folder").arg(folder.path()).arg("--config").arg(&file).arg("--files").arg(&files);
        command.env("CREDENTIALS_DIRECTORY", &files);
        let mut command = Halves::pinned(on, &command);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        let child = crew::nice(crew::ends_with_us(&mut command), NICENESS).spawn().map_err(failed)?;
        let mut daemon = Daemon { child, folder, _temporary: temporary };
        let begin = Instant::now();
        loop {
            if ready(&daemon.folder) {
                return Ok(daemon);
            }
            let ended = daemon.child.try_wait().is_ok_and(|status| status.is_some());
            let machine = state::read(&daemon.folder.state()).ok();
            let remarks = machine.iter().flat_map(|machine| machine.cards.iter().map(|card| &card.remark));
            let remark = machine.iter().map(|machine| &machine.remark).chain(remarks).find(|remark| !remark.is_empty());
            if ended || remark.is_some() || begin.elapsed() > TO_START {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let said =
                    said.lines().next_back().unwrap_or("no card takes programs").trim_start_matches("adjunctd: ");
                let why = remark.map_or(said, |remark| remark);
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
