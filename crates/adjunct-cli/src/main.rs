//! The `adjunct` command; also answers by the names of [`adjunct_cli::Name`].

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    adjunct_cli::main(std::env::args_os().collect())
}
