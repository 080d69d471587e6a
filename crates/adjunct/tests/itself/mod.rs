//! This test program again, for tests that play their parts in processes of their own.

use std::process::Command;

/// A command that runs this program, in the emulator that runs it now if one does (`ADJUNCT_TEST_RUNNER`, from tests/cross).
pub fn itself() -> Command {
    let program = std::env::current_exe().expect("a path");
    match std::env::var_os("ADJUNCT_TEST_RUNNER") {
        Some(runner) => {
            let mut command = Command::new(runner);
            command.arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// Whether the processor is an emulated one, in qemu's user mode: some system calls are then not what they are on Linux.
#[allow(dead_code, reason = "for tests of those system calls")]
pub fn emulated() -> bool {
    std::env::var_os("ADJUNCT_TEST_RUNNER").is_some()
}

/// Whether this is no emulator; otherwise says why a test is not run.
#[allow(dead_code, reason = "for tests of those system calls")]
pub fn natively(why: &str) -> bool {
    if emulated() {
        println!("SKIPPED: {why}");
    }
    !emulated()
}
