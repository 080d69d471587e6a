//! `adjunct-bench`: what `adjunct bench` and `adjunct ssh bench` measure. The command starts it, in its own place, with its own words.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    adjunct_bench::command::main(std::env::args_os().collect())
}
