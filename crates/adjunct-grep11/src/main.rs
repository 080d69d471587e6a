//! The program `adjunct-grep11`.
#![forbid(unsafe_code)]

use adjunct_grep11::cli::Cli;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("adjunct-grep11: {why}");
            ExitCode::FAILURE
        }
    }
}
