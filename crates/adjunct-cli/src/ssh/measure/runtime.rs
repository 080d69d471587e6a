//! The folder that sshd's privilege separation needs: where the system has none (no sshd was ever started on it), it is
//! there for us alone.

use crate::Failure;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder made for as long as this lives.
#[derive(Debug, Default)]
pub struct Runtime {
    made: Option<PathBuf>,
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(dir) = self.made.take() {
            let _ = fs::remove_dir(dir);
        }
    }
}

/// Sees to it that sshd, run by this thread with the configuration `config`, starts.
///
/// A missing folder below /run is made in a mount namespace, which only this thread and the programs it starts live in from
/// here on; where that is not allowed, it is made for real and removed again when the result is dropped.
///
/// # Errors
/// [`Failure`] with sshd's own words where something else keeps it from starting.
pub fn provide(sshd: &Path, config: &Path) -> Result<Runtime, Failure> {
    let Err(said) = refused(sshd, config)? else { return Ok(Runtime::default()) };
    let missing = said.lines().find_map(|l| l.trim().strip_prefix("Missing privilege separation directory: "));
    let Some(dir) = missing.map(Path::new) else {
        return Err(Failure::new(format!("sshd does not start: {}", crate::ssh::place::last_line(&said))));
    };
    if in_a_namespace(dir) && refused(sshd, config)?.is_ok() {
        return Ok(Runtime::default());
    }
    match fs::create_dir(dir) {
        Ok(()) => {
            let made = Runtime { made: Some(dir.to_owned()) };
            let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o755));
            Ok(made)
        }
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(Runtime::default()),
        Err(e) => Err(Failure::new(format!("{}, which sshd needs: {e}", dir.display()))),
    }
}

/// What sshd says against its configuration, if anything.
fn refused(sshd: &Path, config: &Path) -> Result<Result<(), String>, Failure> {
    let output = Command::new(sshd).args(["-t", "-f"]).arg(config).stdin(Stdio::null()).output();
    let output = output.map_err(|e| Failure::new(format!("{}: {e}", sshd.display())))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(if output.status.success() { Ok(()) } else { Err(said) })
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
