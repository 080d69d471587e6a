//! What may be wrong with a store, as return values and in words.

use adjunct_mechanisms::rv::Rv;
use adjunct_tpm::Fault;
use cryptoki_sys::*;
use rustix::fs::lstat;
use rustix::io::Errno;
use rustix::process::geteuid;
use std::path::Path;

/// Why a store cannot be used, or not so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Written by a newer adjunct, in this version of the format.
    Newer(u32),
    Damaged,
    /// A directory or file that others may write to, or that belongs to another user, or is no directory or file.
    Unsafe,
    /// The file or its directory exists, and this user may not read it.
    Unreadable(Errno),
    /// The holder of the lock does not release it in time; with its process, where that can be found out.
    Busy(Option<u32>),
    /// There is a token already where a new one was to be made.
    Exists,
    TooLong,
    Memory,
    System(Errno),
    Tpm(Fault),
}

impl Trouble {
    /// The trouble as a line for the administrator.
    pub fn line(self, place: &Path) -> String {
        let path = place.display();
        match self {
            Trouble::Newer(version) => {
                format!(
                    "token store {path}: written by a newer adjunct (version {version} of the format); update this one to use it"
                )
            }
            Trouble::Damaged => {
                format!("token store {path}: damaged; `adjunct token repair` keeps all that can be read")
            }
            Trouble::Unsafe => format!(
                "token store {path}: not used, for it or its directory is writable by others, belongs to another user, or is a link"
            ),
            Trouble::Unreadable(errno) => format!("token store {path}: {}", unreadable(place, errno)),
            Trouble::System(Errno::ISDIR) => format!("token store {path}: a directory, where a file is to be"),
            Trouble::Busy(holder) => format!("token store {path}: {}", busy(holder)),
            Trouble::Exists => format!("token store {path}: there is a token already"),
            Trouble::TooLong => format!("token store {path}: too much for one change"),
            Trouble::Memory => format!("token store {path}: out of memory"),
            Trouble::System(errno) => format!("token store {path}: {}", words(errno)),
            Trouble::Tpm(fault) => format!("token store {path}: {fault}"),
        }
    }
}

/// Says who keeps others from writing.
fn busy(holder: Option<u32>) -> String {
    let Some(process) = holder else {
        return "another process, which cannot be told from here, keeps it locked; nothing is wrong with it, and nothing was changed"
            .to_owned();
    };
    let name = std::fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    let name: String = String::from_utf8_lossy(&name).trim_end().escape_debug().collect();
    format!("process {process} ({name}) keeps it locked; nothing is wrong with it, and nothing was changed")
}

/// An error of the system without its number.
pub(super) fn words(errno: Errno) -> String {
    let text = errno.to_string();
    text.split(" (os error ").next().unwrap_or(&text).to_owned()
}

/// Says in a line which user may not read a file, whose it is, and what lets a group read it.
fn unreadable(place: &Path, errno: Errno) -> String {
    let user = geteuid().as_raw();
    let cause = words(errno);
    let Ok(stat) = lstat(place) else {
        return format!(
            "user {user} may not look into its directory ({cause}); `chgrp GROUP` and `chmod 0750` of the directory let a group do it"
        );
    };
    let (owner, group, mode) = (stat.st_uid, stat.st_gid, stat.st_mode & 0o7777);
    format!(
        "user {user} may not read it ({cause}): it is user {owner}'s and group {group}'s, with mode {mode:04o}; `chgrp GROUP` and `chmod 0640` let a group read it"
    )
}

impl From<Errno> for Trouble {
    fn from(errno: Errno) -> Trouble {
        match errno {
            // A link where there is to be none.
            Errno::LOOP | Errno::NOTDIR => Trouble::Unsafe,
            errno => Trouble::System(errno),
        }
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Tpm(fault)
    }
}

impl From<std::collections::TryReserveError> for Trouble {
    fn from(_: std::collections::TryReserveError) -> Trouble {
        Trouble::Memory
    }
}

impl From<Trouble> for Rv {
    fn from(trouble: Trouble) -> Rv {
        Rv(match trouble {
            Trouble::Newer(_) => CKR_TOKEN_NOT_RECOGNIZED,
            Trouble::Memory | Trouble::System(Errno::NOMEM) => CKR_HOST_MEMORY,
            Trouble::TooLong | Trouble::System(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => CKR_DEVICE_MEMORY,
            Trouble::System(Errno::ACCESS | Errno::PERM | Errno::ROFS) => CKR_TOKEN_WRITE_PROTECTED,
            // The file is whole, and another try may succeed.
            Trouble::Exists | Trouble::Busy(_) => CKR_FUNCTION_FAILED,
            // What cannot be read is not what cannot be written.
            Trouble::Damaged | Trouble::Unsafe | Trouble::Unreadable(_) | Trouble::System(_) | Trouble::Tpm(_) => {
                CKR_DEVICE_ERROR
            }
        })
    }
}
