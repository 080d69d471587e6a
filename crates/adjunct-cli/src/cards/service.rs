//! The service of the cards: enabled and disabled, by systemd.

use crate::process::run;
use crate::{Failure, output};
use adjunct::card::crowd::Page;
use adjunct_card::folder::{Folder, SYSTEM};
use adjunct_card::machine::Machine;
use adjunct_card::state;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

const SOCKETS: [&str; 2] = ["adjunct-cards.socket", "adjunct-cards-control.socket"];
const SERVICE: &str = "adjunct-cards.service";
/// Where the package has its units, and the local administrator theirs.
const UNITS: [&str; 3] = ["/usr/lib/systemd/system", "/lib/systemd/system", "/etc/systemd/system"];
const SYSUSERS: &str = "/usr/lib/sysusers.d/adjunct.conf";
/// How long cards may take to find their known answers.
const STARTS_IN: Duration = Duration::from_secs(10);

/// Start the cards, now and at each start of the machine
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Makes the user adjunct, under which adjunctd runs, and has systemd start it. Programs that are started afterwards send private-key operations \
to cards while the machine is so crowded with them that this is faster; those that run now do so when they are restarted. Nothing else \
changes. `adjunct cards disable` takes it back.

Example:
  sudo adjunct cards enable && sudo systemctl restart nginx")]
pub struct Enable {}

/// Stop the cards, now and for good
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Cards finish what they work on; programs then do their operations themselves, without an error. The user adjunct stays.

Example:
  sudo adjunct cards disable")]
pub struct Disable {}

/// Whether this may be done here.
///
/// # Errors
/// One line: not root, no systemd, no units.
fn may_be_done() -> Result<(), Failure> {
    if !nix::unistd::geteuid().is_root() {
        return Err(Failure::new(
            "only root may do this for the machine; for yourself: adjunctd --folder \"$XDG_RUNTIME_DIR/adjunct\"",
        ));
    }
    if !Path::new("/run/systemd/system").is_dir() {
        return Err(Failure::new(
            "systemd does not run here: start the cards by hand (`adjunctd &`, as root), and end them by SIGTERM",
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

/// Runs `adjunct cards enable`.
///
/// # Errors
/// One line.
pub fn enable() -> Result<ExitCode, Failure> {
    may_be_done()?;
    make_user()?;
    let units = [SOCKETS[0], SOCKETS[1], SERVICE];
    let started = systemctl(&["daemon-reload"])
        .and_then(|()| systemctl(&[&["enable", "--now"], &units[..]].concat()))
        .and_then(|()| {
            ready().ok_or_else(|| {
                Failure::new(format!("no card is ready after {} s: systemctl status {SERVICE}", STARTS_IN.as_secs()))
            })
        });
    match started {
        Ok(machine) if machine.cards.iter().any(adjunct_card::machine::Card::is_online) => {
            let cards = machine.cards.iter().filter(|card| card.is_online()).count();
            let plural = if cards == 1 { "card is" } else { "cards are" };
            output::print(&format!(
                "{cards} {plural} online; programs that are started from now on use them where it pays\n"
            ))?;
            Ok(ExitCode::SUCCESS)
        }
        // A service that cannot do anything is not left behind.
        not => {
            let why = not.map_or_else(|error| error.to_string(), |machine| machine.remark);
            let _ = systemctl(&[&["disable", "--now"], &units[..]].concat());
            Err(Failure::new(format!("the cards are not enabled: {why}")))
        }
    }
}

/// The cards, as soon as one is ready or there is a reason why none will be.
fn ready() -> Option<Machine> {
    let mut found = None;
    crate::process::wait_for(STARTS_IN, || {
        let machine = state::read(&Folder::at(SYSTEM).state()).ok();
        found = machine.filter(|machine| {
            !machine.remark.is_empty() || machine.cards.iter().any(adjunct_card::machine::Card::is_online)
        });
        found.is_some()
    });
    found
}

/// Runs `adjunct cards disable`.
///
/// # Errors
/// One line.
pub fn disable() -> Result<ExitCode, Failure> {
    may_be_done()?;
    systemctl(&["disable", "--now", SOCKETS[0], SOCKETS[1], SERVICE])?;
    Page::remove(Path::new(SYSTEM));
    // The folder, which stays while the service is restarted. Where it is not there, there is nothing to clean.
    if Path::new(SYSTEM).exists() {
        systemctl(&["clean", "--what=runtime", SERVICE])?;
    }
    output::print("there are no cards any more; programs do their operations themselves\n")?;
    Ok(ExitCode::SUCCESS)
}
