//! The `adjunct` command; also answers as `icainfo`, `icainfo-cex`, `icastats`, `cpacfstats` and `pkcsconf`.

use std::process::ExitCode;

fn main() -> ExitCode {
    adjunct_cli::main(std::env::args_os().collect())
}
