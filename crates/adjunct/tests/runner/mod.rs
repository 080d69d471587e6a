//! Programs that tests start: this test once more, for parts played in processes of their own, and others that were built here.
//! tests/cross sets `ADJUNCT_TEST_RUNNER` to the emulator that runs all of them. The one place that knows; also for the tests of
//! other crates.

#![allow(dead_code, reason = "each test uses its part")]

use std::path::Path;
use std::process::Command;

fn runner() -> Option<std::ffi::OsString> {
    std::env::var_os("ADJUNCT_TEST_RUNNER")
}

/// A command that runs a program that was built here.
pub fn start(program: &Path) -> Command {
    match runner() {
        Some(runner) => {
            let mut command = Command::new(runner);
            command.arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// A command that runs this program.
pub fn itself() -> Command {
    start(&std::env::current_exe().expect("a path"))
}

/// Whether the processor is an emulated one, in qemu's user mode: it takes many times as long for everything, and some system
/// calls are not what they are on Linux.
pub fn emulated() -> bool {
    runner().is_some()
}

/// Whether this is no emulator; otherwise says why a test is not run.
pub fn natively(why: &str) -> bool {
    if emulated() {
        println!("SKIPPED: {why}");
    }
    !emulated()
}
