//! `adjunct ssh`: OpenSSH on this machine's crypto hardware.
//!
//! [`place`] and [`server`] are a private OpenSSH on loopback, with what its sshd needs of the system ([`runtime`])
//! and what its sessions leave out (`session`); [`copy`] is
//! one measured copy through it, [`tryout`] is the subcommand. [`measure`] measures connections of any suite, one by one;
//! [`tune`] chooses by that.

pub mod bench;
pub mod copy;
pub mod measure;
pub mod place;
pub mod runtime;
pub mod server;
mod session;
pub mod tryout;
pub mod tune;
pub mod verify;

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
    Bench(bench::Args),
    Try(tryout::Args),
    Verify(verify::Args),
    Tune(tune::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    crate::interrupt::catch_interrupts();
    match &args.command {
        Command::Bench(args) => bench::run(args),
        Command::Try(args) => tryout::run(args),
        Command::Verify(args) => verify::run(args),
        Command::Tune(args) => tune::run(args),
    }
}
