//! Rights of other users to read a token's file: what an administrator has allowed stays when the file is written anew.

use super::trouble::Trouble;
use rustix::fd::OwnedFd;
use rustix::fs::{self, FileType, Gid, Mode, XattrFlags};
use std::path::Path;

/// The POSIX access control list of a file: a version (4 bytes), then of each entry its kind (2), its rights (2) and whose they are (4).
const ACL: &str = "system.posix_acl_access";
/// The entry of the file's owner.
const OWNER: u16 = 1;
/// The right to read.
const READ: u16 = 4;
/// The longest access control list that Linux takes, in bytes.
const LONGEST: usize = 64 << 10;

/// Gives a new file the group of the one whose place it takes, and others' right to read it, by its mode or by its access control list: a server's
/// worker that has given up root may read the token by that alone. Where the system does not let this user give the group or the list, the
/// file stays its owner's alone.
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
    // Beside a list the mode's bits of the group are the most that anybody in the list may, and not what the group may.
    if let Some(list) = list_of(old) {
        let _ = fs::fsetxattr(new, ACL, &list, XattrFlags::empty());
        return Ok(());
    }
    Ok(fs::fchmod(new, Mode::from_raw_mode(own.st_mode) | readable)?)
}

/// The access control list of a file, without others' rights but to read it.
fn list_of(file: &Path) -> Option<Vec<u8>> {
    let mut list = vec![0; LONGEST];
    let length = fs::lgetxattr(file, ACL, &mut list[..]).ok()?;
    list.truncate(length);
    for entry in list.get_mut(4..)?.chunks_exact_mut(8) {
        let number = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
        if number(0) != OWNER {
            let rights = number(2) & READ;
            entry[2..4].copy_from_slice(&rights.to_le_bytes());
        }
    }
    Some(list)
}
