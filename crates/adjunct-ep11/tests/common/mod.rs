//! libep11.so.4, C programs built against it, and cards that only pretend.

#![allow(dead_code, reason = "each test uses its part")]

pub mod card;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

#[path = "../../../adjunct/tests/runner/mod.rs"]
mod runner;
pub use runner::*;

/// Runs a command that has to succeed, and gives what it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The compiler of C: `CC`, which tests/cross sets to a cross compiler.
pub fn compiler() -> Command {
    Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".to_owned()))
}

/// Path of this crate's folder.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The library that cargo has built for these tests.
pub fn library() -> PathBuf {
    std::env::current_exe().expect("a path").with_file_name("libadjunct_ep11.so")
}

/// Removes the folders of processes that are gone, and what an earlier one with this process's number has left.
fn remove_old() {
    let folders = std::fs::read_dir(env!("CARGO_TARGET_TMPDIR")).into_iter().flatten().flatten();
    for folder in folders {
        let name = folder.file_name();
        let Some(number) = name.to_str().and_then(|name| name.strip_prefix("ep11-")?.parse::<u32>().ok()) else {
            continue;
        };
        if number == std::process::id() || !Path::new(&format!("/proc/{number}")).exists() {
            _ = std::fs::remove_dir_all(folder.path());
        }
    }
}

/// Path of this process's folder, with the library by its names, and programs.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let made = || {
        remove_old();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ep11-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::copy(library(), folder.join("libep11.so.4")).expect("the library");
        std::os::unix::fs::symlink("libep11.so.4", folder.join("libep11.so")).expect("a link for cc");
        folder
    };
    FOLDER.get_or_init(made)
}

/// `tests/interface/NAME.c`, built with `cc -lep11` and ready to run with the cards in a folder.
pub fn program(name: &str, cards: &Path) -> Command {
    let program = folder().join(name);
    let interface = here().join("tests/interface");
    let mut command = compiler();
    command.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg("-I");
    command.arg(here().join("include")).arg("-I").arg(&interface).arg(interface.join(name).with_extension("c"));
    run(command.arg("-L").arg(folder()).arg("-lep11"));
    let mut command = start(&program);
    command.env("LD_LIBRARY_PATH", folder()).env("ADJUNCT_CARDS_DIR", cards).env_remove("ADJUNCT_CARDS");
    command
}
