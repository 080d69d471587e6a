//! Counters of one test alone, with a few calls in them; gone in the end.

#![allow(dead_code, reason = "each test program uses a part")]

#[path = "../../../adjunct/tests/tally/mod.rs"]
pub mod tally;

use adjunct::catalogue::{Direction, Function};
use adjunct::counters::Apart;
use std::process::Command;
use tally::Tally;

pub const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");

pub struct Counters {
    pub key: String,
    /// A folder that no daemon of cards has.
    folder: tempfile::TempDir,
}

impl Counters {
    pub fn new(name: &str) -> Counters {
        Counters { key: format!("{name}-{}", std::process::id()), folder: tempfile::tempdir().unwrap() }
    }

    /// The folder of a test's files.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// A command with these counters and no cards.
    pub fn in_here(&self, mut command: Command) -> Command {
        command.env("ADJUNCT_STATS_KEY", &self.key).env("ADJUNCT_CARDS_DIR", self.folder());
        for variable in ["ADJUNCT_STATS", "ADJUNCT_CPU", "ADJUNCT_ACCELERATOR", "NO_COLOR"] {
            command.env_remove(variable);
        }
        command
    }

    pub fn adjunct(&self, args: &[&str]) -> Command {
        let mut command = Command::new(ADJUNCT);
        command.args(args);
        self.in_here(command)
    }

    /// Output of a command that succeeds.
    pub fn prints(&self, args: &[&str]) -> String {
        let output = self.adjunct(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Counts a few calls, in a process of its own: 3 of AES GCM in hardware if there is any, 2 handed to the default provider.
    pub fn count(&self) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "counted::count_a_few_calls", "--ignored"]);
        let output = self.in_here(command).env("ADJUNCT_STATS", "on").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        let apart = Apart::of(&self.key);
        apart.users().unwrap_or_default().into_iter().for_each(|uid| _ = apart.delete(uid));
    }
}

/// Not a test: the process whose calls the others look for.
#[test]
#[ignore = "run by Counters::count"]
fn count_a_few_calls() {
    adjunct::init();
    let gcm = Tally::new(Function::AesGcm, 256);
    (0..3).for_each(|_| gcm.count(Direction::Encrypt, 16));
    let delegated = Tally::delegated(Function::RsaCrt, 2048);
    (0..2).for_each(|_| delegated.count(Direction::Encrypt, 0));
}
