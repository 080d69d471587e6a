//! The command line of `adjunctd`.
#![forbid(unsafe_code)]

use crate::folder::{SYSTEM, VARIABLE};
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
    /// Where its sockets and its state are
    #[arg(long, value_name = "DIR", env = VARIABLE, default_value = SYSTEM)]
    pub folder: PathBuf,
    /// Which cards there are [default: /etc/adjunct/cards.conf; without it one accelerator]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where the files are that cards keep when they end [default: /var/lib/adjunct; with another folder its `files`]
    #[arg(long, value_name = "DIR", hide = true)]
    pub files: Option<PathBuf>,
    /// Only make the shared memory by which programs see how crowded the machine is: what a service does as root before it starts the
    /// daemon as another user
    #[arg(long)]
    pub prepare: bool,
}
