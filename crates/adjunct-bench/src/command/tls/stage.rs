//! What all servers of a run have in common: folders, certificates, processors, and the user they run as.

use super::certificates::Certificates;
use adjunct_tool::Failure;
use adjunct_tool::failure::cannot_write;
use adjunct_tool::process::halves::{self, Halves};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The user and the group with no rights, by their number: PostgreSQL does not run as root.
const NOBODY: u32 = 65534;

/// The folders, certificates and processors that all servers of a run share.
#[derive(Debug)]
pub struct Stage<'a> {
    pub folder: &'a Path,
    pub certificates: &'a Certificates,
    /// The processors of servers, as taskset takes them; all where there is only one.
    pub on: Option<&'a str>,
    pub processors: usize,
    pub clients: usize,
    /// OpenSSL's configurations without adjunct and with it.
    pub stock: &'a Path,
    pub adjunct: &'a Path,
}

/// The user and the group that a server is told to run as: as root those with no rights; `None` for those that it has.
pub fn user() -> Option<(String, String)> {
    if !nix::unistd::geteuid().is_root() {
        return None;
    }
    let user = nix::unistd::User::from_uid(NOBODY.into()).ok().flatten()?;
    let group = nix::unistd::Group::from_gid(NOBODY.into()).ok().flatten()?;
    Some((user.name, group.name))
}

/// A command that does not run as root.
pub fn without_rights(command: &Command) -> Command {
    if !nix::unistd::geteuid().is_root() {
        return Halves::pinned(None, command);
    }
    let nobody = NOBODY.to_string();
    let mut words = Command::new("setpriv");
    words.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]).arg(command.get_program());
    halves::copy(words, command)
}

/// Gives a file or folder to the user that a server runs as.
///
/// # Errors
/// [`Failure`] that says which.
pub fn own(path: &Path) -> Result<(), Failure> {
    if !nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).map_err(|e| cannot_write(path, &e))
}

/// Gives a copy of a key to the user that a server runs as, who alone may read it.
///
/// # Errors
/// [`Failure`] that says where.
pub fn own_key(key: &Path, to: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    let copied = fs::copy(key, to).and_then(|_| fs::set_permissions(to, fs::Permissions::from_mode(0o600)));
    copied.map_err(|e| cannot_write(to, &e))?;
    own(to)
}
