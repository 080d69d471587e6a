//! `adjunct stats`.

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
    Err(Failure::new("stats is not part of this build"))
}

/// The command under the name `icastats`
#[derive(Debug, clap::Parser)]
#[command(name = "icastats")]
pub struct IcaStats {
    /// show statistics per key size.
    #[arg(short, long)]
    key_sizes: bool,
    /// output the statistics in JSON format.
    #[arg(short, long)]
    json: bool,
}

impl IcaStats {
    /// Runs it.
    ///
    /// # Errors
    /// [`Failure`] with the one line to show.
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let _ = (self.key_sizes, self.json);
        Err(Failure::new("not part of this build"))
    }
}
