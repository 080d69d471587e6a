//! `adjunct java`: Java's SunPKCS11 with adjunct's PKCS #11 module, or another one.
//!
//! [`check`] tells what a JDK will make of configuration files. [`config`] writes them, with the mechanisms that win when each call is
//! measured. [`verify`] tells who serves TLS in a JVM that has them.

pub mod check;
pub mod config;
pub mod dialect;

mod cfg;
pub mod choose;
mod finding;
pub mod jdk;
mod lint;
mod names;
mod nss;
mod program;
mod properties;
mod security;
#[cfg(test)]
mod tests;
mod token;
mod tokenizer;
pub mod verify;

use adjunct_tool::Failure;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  adjunct java config --output adjunct-java   measure this JDK, and write the two files that a server is started with
  adjunct java check adjunct-java/*           what the JDK will make of them, line by line
  adjunct java verify                         TLS in a JVM: which provider and which hardware served it

docs/java.md tells for which JDK and which load it pays.";

/// Configure Java to use it through PKCS #11, and check that
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::Args),
    Config(config::Args),
    Verify(verify::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    adjunct_tool::interrupt::catch_interrupts();
    match &args.command {
        Command::Check(args) => check::run(args),
        Command::Config(args) => config::run(args),
        Command::Verify(args) => verify::run(args),
    }
}

/// Reads bytes as each kind of file, in every dialect that differs, and tells of them. For fuzzing; it must never panic.
pub fn fuzz(bytes: &[u8]) {
    for dialect in ["openjdk-17", "openjdk-25", "semeru", "ibm8"] {
        if let Ok(dialect) = dialect.parse() {
            check::fuzz(bytes, dialect);
        }
    }
}
