//! Who else may read a token's file: what an administrator has allowed stays when the file is written anew.

use super::trouble::Trouble;
use rustix::fd::OwnedFd;
use rustix::fs::{self, FileType, Gid, Mode};
use std::path::Path;

/// Gives a new file the group of the one whose place it takes, and others' right to read it: a server's worker that has given up root may read
/// the token by that alone. Where the system does not let this user give the group, the file stays its owner's alone.
///
/// # Errors
/// What the system says of the new file.
pub(super) fn keep(new: &OwnedFd, old: &Path) -> Result<(), Trouble> {
    let Ok(before) = fs::lstat(old) else { return Ok(()) };
    let readable = Mode::from_raw_mode(before.st_mode) & (Mode::RGRP | Mode::ROTH);
    if FileType::from_raw_mode(before.st_mode) != FileType::RegularFile || readable.is_empty() {
        return Ok(());
    }
    let own = fs::fstat(new)?;
    if own.st_gid != before.st_gid && fs::fchown(new, None, Some(Gid::from_raw(before.st_gid))).is_err() {
        return Ok(());
    }
    Ok(fs::fchmod(new, Mode::from_raw_mode(own.st_mode) | readable)?)
}
