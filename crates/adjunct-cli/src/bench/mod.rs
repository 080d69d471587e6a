//! `adjunct bench`: adjunct beside what the machine would otherwise use.
//!
//! The parts that the commands share: the libcrypto that is called (`libcrypto`) and what is done with it (`symmetric`,
//! `publickey`), interleaved timing (`measure`), the rates of the CPU's units (`units`), what a report says of machine and
//! libraries (`report`), and where it goes (`sink`).

#![allow(unsafe_code)]

pub mod accelerator;
pub mod bulk;
mod libcrypto;
mod measure;
mod meter;
pub mod openssl;
mod publickey;
mod report;
mod sink;
mod symmetric;
mod units;

use crate::Failure;
use meter::Meter;
pub(crate) use report::civil;
use std::path::PathBuf;
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
    Bulk(bulk::Args),
    Accelerator(accelerator::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    // Before anything opens the counters.
    let meter = Meter::start();
    match &args.command {
        Command::Openssl(args) => openssl::run(args),
        Command::Bulk(args) => bulk::run(args),
        Command::Accelerator(args) => accelerator::run(args, meter),
    }
}

/// Why nothing, or one row, could be measured.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("no usable libcrypto (OpenSSL 3.0 or newer): {0}")]
    Library(String),
    #[error("OpenSSL does not load {path}: {cause}", path = .0.display(), cause = .1)]
    Module(PathBuf, String),
    #[error("{path}: {cause}", path = .0.display(), cause = .1)]
    Root(PathBuf, String),
    #[error("{0}")]
    Operation(String),
    #[error("{0}")]
    Io(std::io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::new(error.to_string())
    }
}

/// Parses `--seconds`.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.001..=3600.0).contains(&value) => Ok(value),
        _ => Err("a number from 0.001 to 3600".to_owned()),
    }
}

/// Whether a row of this title is wanted: all are where no `--filter` is given.
fn wanted(title: &str, filters: &[String]) -> bool {
    let title = title.to_lowercase();
    filters.is_empty() || filters.iter().any(|f| title.contains(&f.to_lowercase()))
}

/// The failure of a command whose filters leave no row.
fn no_rows(filters: &[String]) -> Failure {
    Failure::Words(format!("no row's name contains {}", filters.join(" or ")))
}
