//! The `adjunct` command, as a library so that its tests and fuzz targets reach every part of it.
//!
//! One module per subcommand, each with its `Args` (what clap reads) and `run`. Subcommands print reports by [`adjunct_tool::output::print`], and
//! return errors as a [`Failure`].
#![forbid(unsafe_code)]

pub mod bench;
pub mod cards;
pub mod counted;
mod diff;
pub mod doctor;
mod ep11;
pub mod generate;
mod grep11;
mod help;
pub mod info;
pub mod java;
pub mod openssl;
pub mod setup;
pub mod ssh;
mod start;
pub mod stats;
mod token;
pub mod watch;

pub use adjunct_tool::Failure;
use adjunct_tool::interrupt;
use adjunct_ztools::Name;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// The text below the options of `adjunct --help`.
const EXAMPLES: &str = "\
Examples:
  adjunct info             what this CPU serves, and whether that pays
  sudo adjunct setup       let OpenSSL and OpenSSH use it, measured and proved
  adjunct stats            what was used since: hardware and software

What to do when:
  adjunct info                         before anything is installed into OpenSSL: what is there, and does it pay on this CPU?
  sudo adjunct setup --dry-run         what would be changed, and what that buys; nothing is changed
  sudo adjunct setup                   let OpenSSL and OpenSSH use it, measured before and proved after
  adjunct doctor nginx                 whether a program is served, and if not why and what to do
  sudo adjunct doctor --restarts       what is to be started again after that, or after an upgrade; asks, and does it
  adjunct ssh verify                   whether an ssh session uses it, part by part
  adjunct ssh bench --html b.html      what it buys: OpenSSH in software, stock and with adjunct
  adjunct stats                        what was used: hardware and software, per function
  sudo adjunct stats --all-users       the same of every user
  sudo adjunct top                     what runs now, by function, user, process and card
  sudo adjunct setup --undo            everything as it was before

Called by the name icainfo, icainfo-cex, icastats, cpacfstats, pkcsconf, pkcsstats, p11sak, lszcrypt, chzcrypt, zcryptctl or zcryptstats,
the command is the tool of that name: it takes its options and prints what it prints.

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong (as a tool of those names: 1).";

/// Crypto hardware for OpenSSL and OpenSSH, with proof that it is used
///
/// An OpenSSL provider and engine, a PKCS #11 module and libica's interface run on the CPU's crypto instructions, in batches of several
/// threads' operations, or on cards that processes share; what no hardware serves runs in software, and both are counted.
#[derive(Debug, Parser)]
#[command(name = "adjunct", version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
enum Command {
    Setup(setup::Args),
    Info(info::Args),
    Stats(stats::Args),
    Doctor(doctor::Args),
    Openssl(openssl::Args),
    Ssh(ssh::Args),
    Java(java::Args),
    Token(token::Args),
    Cards(cards::Args),
    Ep11(ep11::Args),
    Grep11(grep11::Args),
    Top(watch::top::Args),
    Exporter(watch::exporter::Args),
    Check(watch::check::Args),
    Bench(bench::Args),
    #[command(flatten)]
    Generate(generate::Command),
}

impl Cli {
    /// The measurement that it asks for, if it is one.
    fn measurement(self) -> Option<bench::Measurement> {
        match self.command {
            Command::Bench(args) => Some(bench::Measurement::Bench(args.command)),
            Command::Ssh(args) => args.measurement().map(bench::Measurement::Ssh),
            _ => None,
        }
    }

    fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Setup(args) => setup::run(&args),
            Command::Info(args) => info::run(&args),
            Command::Stats(args) => stats::run(&args),
            Command::Doctor(args) => doctor::run(&args),
            Command::Openssl(args) => openssl::run(&args),
            Command::Ssh(args) => ssh::run(&args),
            Command::Java(args) => java::run(&args),
            Command::Token(args) => token::run(&args),
            Command::Cards(args) => cards::run(&args),
            Command::Ep11(args) => ep11::run(&args),
            Command::Grep11(args) => grep11::run(&args),
            Command::Top(args) => watch::top::run(&args),
            Command::Check(args) => watch::check::run(&args),
            Command::Exporter(args) => watch::exporter::run(&args),
            Command::Bench(_) => Err(start::bench()),
            Command::Generate(args) => generate::run(&args),
        }
    }
}

/// Runs the command line `args` (the first is the name the command was called by) and reports what went wrong.
pub fn main(args: Vec<OsString>) -> ExitCode {
    // Monitors have their own status for a command line that is wrong.
    let for_monitors = args.get(1).is_some_and(|word| word == "check");
    match run(args) {
        Err(Failure::Usage(error)) if for_monitors && error.use_stderr() => watch::check::misused(&error),
        done => ended(done),
    }
}

/// How a process of the command ends: what went wrong is reported.
pub fn ended(done: Result<ExitCode, Failure>) -> ExitCode {
    done.unwrap_or_else(|failure| {
        let failure = interrupt::named(failure);
        failure.report("adjunct");
        ExitCode::from(failure.status())
    })
}

fn run(args: Vec<OsString>) -> Result<ExitCode, Failure> {
    match args.first().and_then(|called| Name::of(called)) {
        Some(name) => Err(start::tool(name)),
        None => parsed(args)?.run(),
    }
}

fn parsed(args: Vec<OsString>) -> Result<Cli, Failure> {
    Ok(Cli::from_arg_matches(&parser().try_get_matches_from(args)?)?)
}

/// The definition of the command line.
fn parser() -> clap::Command {
    help::dressed(Cli::command())
}

/// Parses a command line and runs nothing: whether it would be accepted. For fuzzing; it must never panic.
pub fn parse_args(args: Vec<OsString>) -> bool {
    match args.first().and_then(|called| Name::of(called)) {
        Some(_) => adjunct_ztools::parse_args(args),
        None => parsed(args).is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        parser().debug_assert();
    }

    #[test]
    fn the_name_called_by_decides() {
        let words = |w: &[&str]| w.iter().map(OsString::from).collect::<Vec<_>>();
        assert!(parse_args(words(&["adjunct", "info", "--json"])));
        assert!(parse_args(words(&["/usr/bin/icainfo", "-c"])));
        assert!(!parse_args(words(&["adjunct", "-k"])));
        assert!(parse_args(words(&["adjunct", "cards", "list", "--json"])));
        assert!(parse_args(words(&["adjunct", "doctor", "localhost:443", "--json"])));
        assert!(!parse_args(Vec::new()));
    }
}
