//! What a store may suffer from, as return values and in words.

use super::tpm::Fault;
use crate::rv::Rv;
use cryptoki_sys::*;
use rustix::io::Errno;
use std::path::Path;

/// Why a store cannot be used, or not so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Written by a newer adjunct, in this version of the format.
    Newer(u32),
    Damaged,
    /// A directory or file that others may write to, or that belongs to somebody else, or is no directory or file.
    Unsafe,
    /// Whoever holds the lock does not let it go.
    Busy,
    TooLong,
    Memory,
    System(Errno),
    Tpm(Fault),
}

impl Trouble {
    /// One line for the administrator.
    pub fn line(self, path: &Path) -> String {
        let path = path.display();
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
            Trouble::Busy => format!("token store {path}: another process holds its lock"),
            Trouble::TooLong => format!("token store {path}: too much for one change"),
            Trouble::Memory => format!("token store {path}: out of memory"),
            Trouble::System(errno) => format!("token store {path}: {errno}"),
            Trouble::Tpm(fault) => format!("token store {path}: {fault}"),
        }
    }
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
            Trouble::Damaged | Trouble::Unsafe | Trouble::Busy | Trouble::System(_) | Trouble::Tpm(_) => {
                CKR_DEVICE_ERROR
            }
        })
    }
}
