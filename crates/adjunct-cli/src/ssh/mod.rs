//! `adjunct ssh`: OpenSSH on this machine's crypto hardware.

use crate::Failure;
use std::process::ExitCode;

/// Try and tune OpenSSH on this machine's crypto hardware
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Copy real data through a private sshd, stock and with adjunct, and show the counters that moved
    Try,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Try => Err(Failure::new("ssh try is not part of this build")),
    }
}
