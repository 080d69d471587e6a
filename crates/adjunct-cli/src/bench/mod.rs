//! `adjunct bench`: adjunct beside what the machine would otherwise use.

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
    /// The provider beside OpenSSL's default provider, through the same EVP calls
    Openssl,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match args.command {
        Command::Openssl => Err(Failure::new("bench openssl is not part of this build")),
    }
}
