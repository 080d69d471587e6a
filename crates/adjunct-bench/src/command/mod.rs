//! The subcommands of `adjunct-bench`: how each measures what it is asked for, and what it reports.
//!
//! The options are the command's ([`adjunct_cli::bench`]). They run on the [`crate::harness`].
#![forbid(unsafe_code)]

pub mod accelerator;
pub mod bulk;
pub mod cards;
mod daemon;
pub mod ep11;
pub mod java;
pub mod openssl;
pub mod pkcs11;
pub mod ssh;
pub mod tls;

use crate::libcrypto::Functions;
use crate::meter;
use adjunct_cli::bench::{Command, Measurement};
use adjunct_survey::module::{self, Choice, Purpose};
use adjunct_tool::Failure;
use adjunct_tool::interrupt::catch_interrupts;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs the command line `args` of `adjunct` (the first is the name it was called by), which asks for a measurement, and reports what went
/// wrong.
pub fn main(args: Vec<OsString>) -> ExitCode {
    adjunct_cli::ended(run(args))
}

fn run(args: Vec<OsString>) -> Result<ExitCode, Failure> {
    match Measurement::asked_for(args)? {
        Measurement::Bench(command) => bench(&command),
        Measurement::Ssh(args) => {
            catch_interrupts();
            ssh::run(&args)
        }
    }
}

fn bench(command: &Command) -> Result<ExitCode, Failure> {
    if let Command::Cards(args) = command
        && let Some(title) = &args.worker
    {
        return cards::serve(args, title);
    }
    match command {
        // It counts where the process counts that started it.
        Command::Pkcs11(args) if args.worker => return pkcs11::run(args),
        Command::Ep11(args) if args.worker => return ep11::run(args),
        // It counts nothing itself: the servers do.
        Command::Tls(args) => return tls::run(args),
        Command::Openssl(args) if openssl::prepare(args)? => return Ok(ExitCode::SUCCESS),
        _ => {}
    }
    // Before anything opens the counters, and before there is a thread that waits for signals.
    let counted = meter::count_apart();
    match command {
        Command::Openssl(args) => openssl::run(args, &counted),
        Command::Bulk(args) => bulk::run(args),
        Command::Accelerator(args) => accelerator::run(args, &counted),
        Command::Cards(args) => cards::run(args),
        Command::Tls(args) => tls::run(args),
        Command::Pkcs11(args) => pkcs11::run(args),
        Command::Java(args) => java::run(args),
        Command::Ep11(args) => ep11::run(args),
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
