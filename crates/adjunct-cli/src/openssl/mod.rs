//! `adjunct openssl`.

use crate::Failure;
use std::process::ExitCode;

/// To come
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Machine-readable report
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = args.json;
    Err(Failure::new("openssl is not part of this build"))
}
