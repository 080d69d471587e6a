//! `adjunct-ztools`: the tool by whose name it is called, one of [`adjunct_ztools::Name`].

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    adjunct_ztools::main(std::env::args_os().collect())
}
