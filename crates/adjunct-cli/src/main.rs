//! The `adjunct` command; also answers as `icainfo`, `icainfo-cex` and `icastats`.

use std::process::ExitCode;

fn main() -> ExitCode {
    adjunct_cli::main(std::env::args_os().collect())
}
