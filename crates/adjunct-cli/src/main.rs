//! The `adjunct` command. Called by a name of [`adjunct_ztools::Name`] it becomes that program.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    adjunct_cli::main(std::env::args_os().collect())
}
