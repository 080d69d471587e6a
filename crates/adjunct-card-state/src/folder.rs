//! The folder of a daemon: `/run/adjunct` for the machine's, a user's own else.
#![forbid(unsafe_code)]

use crate::machine::Mode;
use std::env;
use std::path::{Path, PathBuf};

/// The variable that names another folder.
pub const VARIABLE: &str = "ADJUNCT_CARDS_DIR";

pub use adjunct_card_protocol::SYSTEM;

/// The name of a domain's socket, which is also that by which systemd gives it: `ep11-00.0005`.
pub fn socket_name(mode: Mode, card: u8, domain: u8) -> String {
    adjunct_card_protocol::socket_name(mode.word(), card, domain.into())
}

/// The folder that the environment names; an empty variable names none.
pub(crate) fn named() -> Option<PathBuf> {
    env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from)
}

/// A daemon's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Folder {
        Folder(path.into())
    }

    /// Finds the folder that tools look at: `ADJUNCT_CARDS_DIR`; else the machine's, where a daemon has run there; else the user's own
    /// (`$XDG_RUNTIME_DIR/adjunct`, where that variable is an absolute path), where it exists; else the machine's.
    pub fn found() -> Folder {
        if let Some(named) = named() {
            return Folder(named);
        }
        let has_state = |folder: &Folder| folder.state().exists();
        let system = Folder(SYSTEM.into());
        // Empty or relative it would name a folder of whoever owns the working folder.
        let runtime = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|runtime| runtime.is_absolute());
        let own = runtime.map(|runtime| Folder(runtime.join("adjunct")));
        own.filter(|own| !has_state(&system) && has_state(own)).unwrap_or(system)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Path of the file that shows the cards.
    pub fn state(&self) -> PathBuf {
        self.0.join("cards")
    }

    /// The socket of programs.
    pub fn socket(&self) -> PathBuf {
        self.0.join(adjunct_card_protocol::SOCKET)
    }

    /// The socket of a domain, for programs whose keys belong to it.
    pub fn domain_socket(&self, mode: Mode, card: u8, domain: u8) -> PathBuf {
        self.0.join(socket_name(mode, card, domain) + adjunct_card_protocol::SUFFIX)
    }

    /// The socket of tools.
    pub fn control(&self) -> PathBuf {
        self.0.join("control.sock")
    }

    /// Path of the file that the daemon keeps locked while it runs: of two that start, one gets the lock.
    pub fn lock(&self) -> PathBuf {
        self.0.join("lock")
    }

    /// The sockets of nodes.
    pub fn nodes(&self) -> PathBuf {
        self.0.join("nodes")
    }
}
