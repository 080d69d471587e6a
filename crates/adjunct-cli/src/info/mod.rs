//! `adjunct info`.

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
    Err(Failure::new("info is not part of this build"))
}

/// The command under the name `icainfo`
#[derive(Debug, clap::Parser)]
#[command(name = "icainfo")]
pub struct IcaInfo {
    /// list supported EC curves
    #[arg(short = 'c', long)]
    list_curves: bool,
}

impl IcaInfo {
    /// Runs it.
    ///
    /// # Errors
    /// [`Failure`] with the one line to show.
    pub fn run(&self) -> Result<ExitCode, Failure> {
        let _ = self.list_curves;
        Err(Failure::new("not part of this build"))
    }
}
