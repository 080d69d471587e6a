//! The command line of `adjunctd`.
#![forbid(unsafe_code)]

use crate::folder::{self, Folder, SYSTEM};
use clap::Parser;
use std::path::PathBuf;

/// Runs the cards that programs of this machine share: adapters in processes of their own, which do private-key operations of many programs
/// in batches
#[derive(Debug, Parser)]
#[command(
    name = "adjunctd",
    version,
    after_help = "\
By systemd: `adjunct cards enable` starts it. By hand, without root:

    adjunctd --folder $XDG_RUNTIME_DIR/adjunct &
    ADJUNCT_CARDS_DIR=$XDG_RUNTIME_DIR/adjunct lszcrypt -V

Programs ask it that are started afterwards, by the same user or with ADJUNCT_CARDS_DIR set. It ends at SIGTERM and SIGINT, when the cards \
have finished what they work on.

Exit status: 0 it was told to end, 1 it does not start (one line says why), 2 the command line is wrong."
)]
pub struct Arguments {
    /// Where its sockets and its state are [default: $ADJUNCT_CARDS_DIR, or /run/adjunct where that is not set or empty]
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Which cards there are [default: /etc/adjunct/cards.conf; without it one accelerator]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the files are that cards keep when they end [default: /var/lib/adjunct/cards; with another folder its `files`]
    #[arg(long, value_name = "DIR", hide = true)]
    pub files: Option<PathBuf>,
    /// End as by SIGTERM when the process of this number ends, which has to be its parent
    #[arg(long, value_name = "PID", hide = true)]
    pub parent: Option<i32>,
    /// Only make the shared memory by which programs see how crowded the machine is: what a service does as root before it starts the
    /// daemon as another user
    #[arg(long)]
    pub prepare: bool,
}

impl Arguments {
    /// The daemon's folder.
    pub fn folder(&self) -> Folder {
        Folder::at(self.folder.clone().or_else(folder::named).unwrap_or_else(|| SYSTEM.into()))
    }
}
