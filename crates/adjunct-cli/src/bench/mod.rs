//! `adjunct bench`: adjunct beside what the machine would otherwise use.
//!
//! Here are the options and reports; what calls libcrypto, AWS-LC and the kernels, and times them, is [`adjunct_bench`].
//! The commands share what a report says of machine and libraries (`report`).

pub mod accelerator;
pub mod bulk;
pub mod cards;
mod daemon;
pub mod openssl;
pub mod pkcs11;
mod report;
pub(crate) mod seconds;
pub mod tls;

use crate::counted::Counted;
use crate::module::{self, Choice, Purpose};
use adjunct_bench::libcrypto::Functions;
use adjunct_tool::Failure;
pub(crate) use report::civil;
use std::path::{Path, PathBuf};
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
    Cards(cards::Args),
    Tls(tls::Args),
    Pkcs11(pkcs11::Args),
    Java(crate::java::bench::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    if let Command::Pkcs11(args) = &args.command
        && args.is_worker()
    {
        // It counts where the process counts that started it.
        return pkcs11::run(args);
    }
    if let Command::Cards(args) = &args.command
        && let Some(worker) = args.worker()
    {
        return cards::serve(worker);
    }
    if let Command::Tls(args) = &args.command {
        // It counts nothing itself: the servers do.
        return tls::run(args);
    }
    if let Command::Openssl(args) = &args.command
        && openssl::prepare(args)?
    {
        return Ok(ExitCode::SUCCESS);
    }
    // Before anything opens the counters, and before there is a thread that waits for signals.
    let counted = Counted::here();
    match &args.command {
        Command::Openssl(args) => openssl::run(args, &counted),
        Command::Bulk(args) => bulk::run(args),
        Command::Accelerator(args) => accelerator::run(args, &counted),
        Command::Cards(args) => cards::run(args),
        Command::Tls(args) => tls::run(args),
        Command::Pkcs11(args) => pkcs11::run(args),
        Command::Java(args) => crate::java::bench::run(args),
    }
}

/// The libcrypto to measure: the one at `path`, or the system's own; `choice` says what root trusts.
///
/// # Errors
/// [`Failure`] where it does not load, and where root must not load it.
fn library(path: Option<&Path>, choice: Choice<'_>) -> Result<&'static Functions, Failure> {
    if let Some(path) = path {
        module::check_library(path, choice.trusted)?;
    }
    Functions::load(path).map_err(Failure::because)
}

/// The module to measure: the one chosen, or the one beside this program or where `library` looks for modules.
///
/// # Errors
/// [`Failure`] where there is none, or one that root must not load.
fn module(library: &Functions, choice: Choice<'_>) -> Result<PathBuf, Failure> {
    module::find(choice, Purpose::Run, || library.modules_directory())
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
