//! `adjunct bench`: adjunct beside what the machine would otherwise use.

pub mod openssl;

use crate::Failure;
use std::process::ExitCode;

/// Measure adjunct beside what this machine would otherwise use
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Openssl(openssl::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::Openssl(args) => openssl::run(args),
    }
}
