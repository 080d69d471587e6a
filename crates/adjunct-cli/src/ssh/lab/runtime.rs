//! The folder that sshd's privilege separation needs. Where the system has none (no sshd was ever started on it), it is made for this process alone
//! or, where that is not allowed, as sshd's service makes it.

use crate::ssh::lab::Environment;
use adjunct_tool::Failure;
use adjunct_tool::process::{last_line, run};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

/// The words before a program that run it in a mount namespace of its own, where `dir`, below /run, is all that its parent contains.
pub(crate) fn in_its_own(dir: &str) -> [&str; 6] {
    let script = "mount -t tmpfs -o mode=755 adjunct \"${0%/*}\" && mkdir -m 755 \"$0\" && exec \"$@\"";
    ["unshare", "--mount", "sh", "-c", script, dir]
}

/// Makes sure that sshd, run with the configuration `config` in this environment, can start: gives the words to run it by, before its own name.
///
/// # Errors
/// [`Failure`] with sshd's own words where something else keeps it from starting.
pub(super) fn words(sshd: &Path, config: &Path, environment: &Environment) -> Result<Vec<String>, Failure> {
    let mut words: Vec<&str> = Vec::new();
    let refused = refused(sshd, config, environment)?;
    if let Err(said) = &refused {
        let Some(dir) = missing(said) else {
            return Err(Failure::new(format!("sshd refuses its configuration: {}", last_line(said))));
        };
        let own = in_its_own(dir);
        if runs(&[&own[..], &["true"]].concat()) {
            words.extend(own);
        } else {
            make(Path::new(dir))?;
        }
    }
    // It dies with us.
    let with_us = ["setpriv", "--pdeathsig", "TERM"];
    if runs(&[&with_us[..], &["true"]].concat()) {
        words.extend(with_us);
    }
    Ok(words.into_iter().map(str::to_owned).collect())
}

fn runs(words: &[&str]) -> bool {
    run(Command::new(words[0]).args(&words[1..])).is_ok_and(|outcome| outcome.success)
}

/// Makes sure that sshd, run by this thread with the configuration `config`, can start.
///
/// A missing folder below /run is made in a mount namespace, which only this thread and the programs it starts live in from
/// here on; where that is not allowed, it is made for real. Nothing then runs between us and sshd that would cost time.
///
/// # Errors
/// [`Failure`] with sshd's own words where something else keeps it from starting.
pub(in crate::ssh) fn provide(sshd: &Path, config: &Path) -> Result<(), Failure> {
    let refused = || refused(sshd, config, &Environment::default());
    let Err(said) = refused()? else { return Ok(()) };
    let Some(dir) = missing(&said).map(Path::new) else {
        return Err(Failure::new(format!("sshd does not start: {}", last_line(&said))));
    };
    if in_a_namespace(dir) && refused()?.is_ok() {
        return Ok(());
    }
    make(dir)
}

/// The folder that sshd misses, if its message is about that.
pub(crate) fn missing(said: &str) -> Option<&str> {
    said.lines().find_map(|l| l.trim().strip_prefix("Missing privilege separation directory: "))
}

/// Makes the folder for real, as sshd's service does when it starts, and leaves it: it is empty and gone with the next start of the system, and
/// another process may have come to rely on it, which sees only that sshd starts.
///
/// # Errors
/// [`Failure`] where that is not allowed.
fn make(dir: &Path) -> Result<(), Failure> {
    match fs::DirBuilder::new().mode(0o755).create(dir) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            Err(Failure::new(format!("{}, which sshd needs: {e}", dir.display())))
        }
        _ => Ok(()),
    }
}

/// Whether sshd rejects its configuration, with its message.
fn refused(sshd: &Path, config: &Path, environment: &Environment) -> Result<Result<(), String>, Failure> {
    let mut command = Command::new(sshd);
    environment.apply(&mut command);
    let outcome = run(command.args(["-t", "-f"]).arg(config)).map_err(Failure::new)?;
    Ok(if outcome.success { Ok(()) } else { Err(outcome.stderr) })
}

/// Covers /run with an empty file system that has only `dir`, for this thread and what it starts.
fn in_a_namespace(dir: &Path) -> bool {
    let Some(parent) = dir.parent().filter(|p| *p == Path::new("/run") || *p == Path::new("/var/run")) else {
        return false;
    };
    // What was made below it for us would be hidden.
    if std::env::temp_dir().starts_with("/run") || std::env::temp_dir().starts_with("/var/run") {
        return false;
    }
    let none: Option<&str> = None;
    unshare(CloneFlags::CLONE_NEWNS).is_ok()
        && mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).is_ok()
        && mount(Some("adjunct"), parent, Some("tmpfs"), MsFlags::empty(), Some("mode=755")).is_ok()
        && fs::create_dir(dir).is_ok()
        && fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).is_ok()
}
