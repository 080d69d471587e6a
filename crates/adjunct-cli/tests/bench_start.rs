//! `adjunct bench` is a program of its own, which the command starts in its own place: what comes of that is the command's.

mod copy;

use copy::copy;
use std::path::Path;
use std::process::{Command, Output};

const ADJUNCT: &str = env!("CARGO_BIN_EXE_adjunct");
const ROW: [&str; 8] =
    ["bench", "openssl", "--noise", "--filter=sha2-256", "--sizes=64", "--seconds=0.001", "--json", "-"];

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether what measures is built beside the command: the workspace's build makes it.
fn is_built() -> bool {
    let there = Path::new(ADJUNCT).with_file_name("adjunct-bench").is_file();
    if !there {
        eprintln!("SKIPPED: adjunct-bench is not built");
    }
    there
}

#[test]
fn status_and_output_are_those_of_what_measures() {
    if !is_built() {
        return;
    }
    let done = Command::new(ADJUNCT).args(ROW).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(!report["rows"].as_array().unwrap().is_empty());
    let refused = Command::new(ADJUNCT).args(["bench", "openssl", "--filter", "no such row"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(said(&refused), "adjunct: no row's name contains no such row\n");
    // The command line is the command's own to refuse, and to explain.
    let wrong = Command::new(ADJUNCT).args(["bench", "openssl", "--no-such-option"]).output().unwrap();
    assert!(wrong.status.code() == Some(2) && said(&wrong).contains("adjunct bench openssl"), "{}", said(&wrong));
}

#[test]
fn what_starts_the_command_starts_what_measures() {
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"].map(Path::new);
    let Some(loader) = loader.into_iter().find(|loader| loader.exists()).filter(|_| is_built()) else { return };
    let done = Command::new(loader).arg(ADJUNCT).args(ROW).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    assert!(serde_json::from_slice::<serde_json::Value>(&done.stdout).is_ok());
}

#[test]
fn without_the_program_a_line_says_so() {
    if Path::new("/usr/libexec/adjunct/adjunct-bench").exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("adjunct");
    copy(ADJUNCT, &alone);
    for words in [["bench", "openssl"], ["ssh", "bench"]] {
        let done = Command::new(&alone).args(words).output().unwrap();
        let line = said(&done);
        assert_eq!(done.status.code(), Some(1), "{line}");
        assert_eq!(line, "adjunct: adjunct-bench is neither beside this program nor in /usr/libexec/adjunct\n");
    }
    let help = Command::new(&alone).args(["bench", "openssl", "--help"]).output().unwrap();
    assert!(help.status.success() && String::from_utf8_lossy(&help.stdout).contains("--class"));
}
