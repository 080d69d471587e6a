//! The `adjunct` command; also answers as `icainfo` and `icastats`.

use std::process::ExitCode;

fn main() -> ExitCode {
    adjunct_cli::main(std::env::args_os().collect())
}
