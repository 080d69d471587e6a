//! `adjunct ssh`: OpenSSH on this machine's crypto hardware.
//!
//! [`lab`] is a private OpenSSH on loopback, which all here and the checks of `adjunct openssl` log in to; [`copy`] is one measured
//! copy through it, [`tryout`] is the subcommand. [`measure`] measures connections of any suite, one by one; [`tune`] chooses by
//! that.

pub mod bench;
pub mod copy;
pub mod lab;
pub mod measure;
pub mod tryout;
pub mod tune;
pub mod verify;

use crate::start;
use adjunct_tool::Failure;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  adjunct ssh try                                  what adjunct changes here, in a private sshd: nothing else is touched
  sudo adjunct ssh tune --quick --apply --reload   the fastest algorithms first, measured; 'adjunct ssh tune --undo' takes it back
  adjunct ssh verify HOST                          a real session: which part of it which hardware did

'adjunct setup' does the whole way, enabling too. docs/openssh.md tells whom it helps.";

/// Try and tune OpenSSH on this machine's crypto hardware
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Bench(bench::Args),
    Try(tryout::Args),
    Verify(verify::Args),
    Tune(tune::Args),
}

impl Args {
    /// The options of the measurement, if it is one that is asked for.
    pub(crate) fn measurement(self) -> Option<bench::Args> {
        match self.command {
            Command::Bench(args) => Some(args),
            _ => None,
        }
    }
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Command::Bench(_) = &args.command {
        return Err(start::bench());
    }
    adjunct_tool::interrupt::catch_interrupts();
    match &args.command {
        Command::Bench(_) => Err(start::bench()),
        Command::Try(args) => tryout::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Tune(args) => tune::run(args),
    }
}
