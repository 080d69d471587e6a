//! The service of the cards: enabled and disabled, by systemd.

use super::enabled;
use adjunct_card_protocol::crowd::Page;
use adjunct_card_state::config::{self, Config};
use adjunct_card_state::control;
use adjunct_card_state::folder::{Folder, SYSTEM};
use adjunct_card_state::machine::{Machine, Mode, NO_LANES};
use adjunct_card_state::state::{self, Error};
use adjunct_tool::process::run;
use adjunct_tool::{Failure, output};
use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

const SOCKETS: [&str; 2] = ["adjunct-cards.socket", "adjunct-cards-control.socket"];
const SERVICE: &str = "adjunct-cards.service";
/// Folders with systemd's units: the packages', and the local administrator's.
const UNITS: [&str; 3] = ["/usr/lib/systemd/system", "/lib/systemd/system", "/etc/systemd/system"];
const SYSUSERS: &str = "/usr/lib/sysusers.d/adjunct.conf";
/// How long cards may take to find their known answers.
const STARTS_IN: Duration = Duration::from_secs(10);

/// Start the cards, now and at each start of the machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Makes the user adjunct, under which adjunctd runs, and has systemd start it. Programs that are started afterwards send private-key operations \
to cards while the machine is so crowded with them that this is faster; those that run now do so when they are restarted. Nothing else \
changes. Where the cards are enabled and adjunctd runs, nothing is done. `adjunct cards disable` takes it back.

With --ep11 a coprocessor for secure keys is added to cards.conf, where there is none, with domain 0000: its socket is for the group adjunct, and its keys are \
in memory alone until cards.conf says what seals them (seal: tpm, credential or passphrase). It serves on any CPU. adjunctd is started again for it.

Examples:
  sudo adjunct cards enable && sudo systemctl restart nginx
  sudo adjunct cards enable --ep11

Exit status: 0 they are enabled, 1 they are not (one line, or with --json the report, says why), 2 the command line is wrong.")]
pub struct Enable {
    /// Add an EP11 coprocessor, where there is none
    #[arg(long)]
    ep11: bool,
    #[command(flatten)]
    how: How,
}

/// Stop the cards, now and for good
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Cards finish what they work on; programs then do their operations themselves, without an error. The user adjunct stays. Where systemd does \
not run, this ends the adjunctd that was started by hand.

Example:
  sudo adjunct cards disable")]
pub struct Disable {
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct How {
    /// Change nothing: tell what would be changed
    #[arg(long)]
    dry_run: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The report of an action.
#[derive(Debug, Serialize)]
struct ServiceReport<'a> {
    action: &'a str,
    /// Whether anything was changed, or would have been.
    changed: bool,
    dry_run: bool,
    /// Whether this machine can have cards.
    possible: bool,
    /// The cards that are online.
    online: usize,
    /// Why the machine can have none, where that is so.
    why: &'a str,
}

impl How {
    /// Prints the report, or a sentence.
    fn tell(&self, report: &ServiceReport<'_>, sentence: &str) -> Result<ExitCode, Failure> {
        if self.json { output::print_json(report) } else { output::print(&format!("{sentence}\n")) }?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Fails unless the user is root.
///
/// # Errors
/// One line.
fn is_root() -> Result<(), Failure> {
    match nix::unistd::geteuid().is_root() {
        true => Ok(()),
        false => Err(Failure::new(
            "only root may do this for the machine; for yourself: adjunctd --folder \"$XDG_RUNTIME_DIR/adjunct\"",
        )),
    }
}

fn systemd_runs() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// Whether systemd can do this here.
///
/// # Errors
/// One line: no systemd, no units.
fn by_systemd() -> Result<(), Failure> {
    if !systemd_runs() {
        return Err(Failure::new(
            "systemd does not run here: start the cards by hand (`adjunctd &`, as root); `adjunct cards disable` ends them",
        ));
    }
    if !UNITS.iter().any(|folder| Path::new(folder).join(SERVICE).exists()) {
        return Err(Failure::new(format!("systemd has no unit {SERVICE}: the package adjunct brings it")));
    }
    Ok(())
}

fn systemctl(words: &[&str]) -> Result<(), Failure> {
    done("systemctl", words)
}

fn done(program: &str, words: &[&str]) -> Result<(), Failure> {
    let ended = run(Command::new(program).args(words)).map_err(Failure::new)?;
    if ended.success { Ok(()) } else { Err(Failure::new(format!("{program} {}: {}", words.join(" "), ended.why()))) }
}

/// The user that the unit names, made where there is none.
fn make_user() -> Result<(), Failure> {
    let there = || nix::unistd::User::from_name("adjunct").is_ok_and(|user| user.is_some());
    if there() {
        return Ok(());
    }
    let by_systemd = done("systemd-sysusers", &[SYSUSERS]);
    if there() {
        return Ok(());
    }
    done("useradd", &["--system", "--no-create-home", "--home-dir", SYSTEM, "--shell", "/usr/sbin/nologin", "adjunct"])
        .map_err(|error| by_systemd.err().unwrap_or(error))
}

/// The state of each unit: `is-enabled` or `is-active`.
fn have(state: &str) -> impl Iterator<Item = bool> {
    units()
        .into_iter()
        .map(move |unit| run(Command::new("systemctl").args([state, "--quiet", unit])).is_ok_and(|ended| ended.success))
}

fn units() -> [&'static str; 3] {
    [SOCKETS[0], SOCKETS[1], SERVICE]
}

fn online(machine: &Machine) -> usize {
    machine.cards.iter().filter(|card| card.is_online()).count()
}

fn not_enabled(why: &str) -> Failure {
    Failure::new(format!("the cards are not enabled: {why}"))
}

/// Runs `adjunct cards enable`.
///
/// # Errors
/// One line.
pub fn enable(args: &Enable) -> Result<ExitCode, Failure> {
    let How { dry_run, json } = args.how;
    is_root()?;
    by_systemd()?;
    let mut report = ServiceReport { action: "enable", changed: false, dry_run, possible: true, online: 0, why: "" };
    let path = Path::new(config::PATH);
    let mut config = Config::read(path, false, &config::SERVED).map_err(|error| not_enabled(&error.to_string()))?;
    let has_lanes = adjunct::card::work::available();
    let text = if args.ep11 { enabled::with_coprocessor(path, &config, has_lanes)? } else { None };
    if let Some(text) = &text {
        config = Config::parse(text, &config::SERVED).map_err(|error| not_enabled(&error))?;
    }
    let has_coprocessor = config.cards.iter().any(|card| card.mode == Mode::Ep11);
    // Asked here, before anything is started: a card's process would say the same.
    if !has_lanes && !config.without_lanes && !has_coprocessor {
        if !json {
            return Err(not_enabled(NO_LANES));
        }
        output::print_json(&ServiceReport { possible: false, why: NO_LANES, ..report })?;
        return Ok(ExitCode::FAILURE);
    }
    // An administrator may have taken cards offline: that stays.
    let runs = have("is-enabled").chain(have("is-active")).all(|state| state);
    if text.is_none()
        && runs
        && let Ok(machine) = state::read(&Folder::at(SYSTEM).state())
    {
        report.online = online(&machine);
        return args.how.tell(&report, &format!("the cards are enabled already, {} of them online", report.online));
    }
    report.changed = true;
    if dry_run {
        let added = text.map_or_else(String::new, |_| format!(", and {} would get an EP11 coprocessor", config::PATH));
        return args.how.tell(&report, &format!("the cards would be enabled{added}"));
    }
    make_user()?;
    if let Some(text) = &text {
        enabled::write(path, text)?;
    }
    let started = systemctl(&["daemon-reload"])
        .and_then(|()| systemctl(&[&["enable", "--now"], &units()[..]].concat()))
        .and_then(|()| if text.is_some() && runs { systemctl(&["restart", SERVICE]) } else { Ok(()) })
        .and_then(|()| {
            ready().ok_or_else(|| {
                Failure::new(format!("no card is ready after {} s: systemctl status {SERVICE}", STARTS_IN.as_secs()))
            })
        });
    match started {
        Ok(machine) if online(&machine) > 0 => {
            report.online = online(&machine);
            let are = if report.online == 1 { "card is" } else { "cards are" };
            let then = match args.ep11 {
                true => {
                    "adjunct ep11 domains shows the coprocessor's; its first wrapping key: adjunct ep11 wk generate --in-use"
                }
                false => "programs that are started from now on use them where it pays",
            };
            args.how.tell(&report, &format!("{} {are} online; {then}", report.online))
        }
        // A service that cannot do anything is not left behind.
        not => {
            let why = not.map_or_else(|error| error.to_string(), |machine| machine.remark);
            let _ = systemctl(&[&["disable", "--now"], &units()[..]].concat());
            Err(not_enabled(&why))
        }
    }
}

/// Waits for the cards: until one is ready or there is a reason why none will be.
fn ready() -> Option<Machine> {
    let mut found = None;
    adjunct_tool::process::wait_for(STARTS_IN, || {
        let machine = state::read(&Folder::at(SYSTEM).state()).ok();
        found = machine.filter(|machine| !machine.remark.is_empty() || online(machine) > 0);
        found.is_some()
    });
    found
}

/// Runs `adjunct cards disable`.
///
/// # Errors
/// One line.
pub fn disable(args: &Disable) -> Result<ExitCode, Failure> {
    let dry_run = args.how.dry_run;
    is_root()?;
    if !systemd_runs() {
        return end_by_hand(&args.how);
    }
    by_systemd()?;
    // The folder stays while the service is restarted, or was stopped by hand. It may also be that of a daemon that systemd did not start.
    let folder = Path::new(SYSTEM);
    let is_left = || folder.exists() && matches!(state::read(&Folder::at(SYSTEM).state()), Err(Error::NotRunning));
    let changed = have("is-enabled").chain(have("is-active")).any(|state| state) || is_left();
    let possible = adjunct::card::work::available();
    let report = ServiceReport { action: "disable", changed, dry_run, possible, online: 0, why: "" };
    let said = match (changed, dry_run) {
        (false, _) => "the cards are not enabled",
        (true, true) => "the cards would be disabled",
        (true, false) => "there are no cards any more; programs do their operations themselves",
    };
    if changed && !dry_run {
        systemctl(&[&["disable", "--now"], &units()[..]].concat())?;
        Page::remove(folder);
        // Where it is not there, there is nothing to clean.
        if folder.exists() {
            systemctl(&["clean", "--what=runtime", SERVICE])?;
        }
    }
    args.how.tell(&report, said)
}

/// Ends a daemon that was started by hand, where systemd does not run.
fn end_by_hand(how: &How) -> Result<ExitCode, Failure> {
    let folder = Folder::at(SYSTEM);
    // Who listens there, by the system's word: root ends no process that a file names.
    let pid = control::daemon(&folder.control()).ok();
    let is_ours =
        |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "adjunctd");
    let pid = pid.filter(is_ours).and_then(|pid| Pid::from_raw(pid.cast_signed()));
    let possible = adjunct::card::work::available();
    let changed = pid.is_some() || Page::find(folder.path()).is_ok_and(|(page, _)| page.cards() != 0);
    let report = ServiceReport { action: "disable", changed, dry_run: how.dry_run, possible, online: 0, why: "" };
    let said = match (changed, how.dry_run) {
        (false, _) => "no adjunctd runs, and systemd does not: there is nothing to disable",
        (true, true) => "adjunctd would be ended",
        (true, false) => "there are no cards any more; programs do their operations themselves",
    };
    if changed && !how.dry_run {
        if let Some(pid) = pid {
            kill_process(pid, Signal::TERM).map_err(|error| Failure::new(format!("adjunctd: {error}")))?;
            let gone = || matches!(state::read(&folder.state()), Err(Error::NotRunning));
            if !adjunct_tool::process::wait_for(STARTS_IN, gone) {
                return Err(Failure::new(format!("adjunctd (process {pid}) does not end")));
            }
        }
        Page::remove(folder.path());
    }
    how.tell(&report, said)
}
