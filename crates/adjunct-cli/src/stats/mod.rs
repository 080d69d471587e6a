//! `adjunct stats`: what was used, hardware and software, per user and function.

mod json;
mod table;

use adjunct::counters::Snapshot;
use adjunct_tool::{Failure, output};
use adjunct_ztools::stats::{Selection, User, View, host_facts};
use json::report_json;
use std::process::ExitCode;
use table::{Look, report_table};

const EXAMPLES: &str = "\
Examples:
  adjunct stats                           what you used
  adjunct stats --bytes                   in bytes
  adjunct stats --all                     every function, used or not
  sudo adjunct stats -U sshd              what another user used
  sudo adjunct stats --all-users          what each user used
  adjunct stats -r; scp FILE HOST:; adjunct stats
  adjunct stats --json | jq '.users[0].functions[] | select(.function == \"AES GCM\")'

The table has the functions that were used; --all has them all, and so has JSON, unless --used is said.

ENC and DEC count encryption and decryption apart, CRYPT what has one direction. Hardware means that the code that ran
used dedicated instructions. Below them the accelerator: private-key operations done in lanes, up to eight threads' in one
batch, and alone; lanes that went wrong (done again alone, and never let out); and how many batches had 1, 2, ... 8 lanes
filled. In JSON that is users[].accelerator[], with the keys queue, lanes, alone, corrupted, batches, cards, not_on_cards, and
refused, which has not_on_cards by the reason (nobody, busy, offline, silent, invalid, gone, wrong). The counters live until they
are reset or deleted, or the machine restarts.

What programs that start as root (sshd, nginx) do as another user is counted for that user, and shown to root:
sudo adjunct stats -U USER. Your own programs' counters are yours. What keeps programs from counting (another's shared memory in
the way, the system's limits, a filter of system calls) is said here, on standard error.";

/// Show what was used, hardware and software, per user and function
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, version, disable_version_flag = true)]
pub struct Args {
    #[command(flatten)]
    selection: Selection,
    /// Show the statistic tables of all users (root user only)
    #[arg(short = 'A', long, conflicts_with_all = ["action", "user", "summary"])]
    all_users: bool,
    /// Show bytes in place of calls
    #[arg(short, long)]
    bytes: bool,
    /// Show every function, used or not; with --json this is the default
    #[arg(short, long, conflicts_with = "used")]
    all: bool,
    /// Show only functions that were used; without --json this is the default
    #[arg(short, long)]
    used: bool,
    /// Show version information
    #[arg(short, long, action = clap::ArgAction::Version)]
    version: Option<bool>,
}

/// Runs `adjunct stats`.
///
/// # Errors
/// [`Failure`]: no permission, an unknown user, damaged counters.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.selection.run(args)
}

impl View for Args {
    const NAME: &str = "adjunct";
    const REMARKS: bool = true;

    fn all_users(&self) -> bool {
        self.all_users
    }

    fn table(&self, user: &User, snapshot: &Snapshot) -> String {
        let look = Look { bytes: self.bytes, used: !self.all, style: output::Style::of_stdout() };
        report_table(user, snapshot, self.selection.key_sizes, look)
    }

    fn json(&self, users: &[(User, Snapshot)]) -> String {
        report_json(&host_facts(), users, self.selection.key_sizes, self.used)
    }

    fn done(&self, what: &str, user: &User) -> String {
        format!("{what} the counters of {user}\n")
    }
}
