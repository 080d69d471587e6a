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

/// Where what is started is this command again, it says so; it does not start itself without end.
#[test]
fn the_command_does_not_start_itself() {
    // Root starts nothing in everybody's folder.
    let folder = tempfile::tempdir_in(Path::new(ADJUNCT).parent().unwrap()).unwrap();
    let alone = folder.path().join("adjunct");
    copy(ADJUNCT, &alone);
    let bench = folder.path().join("adjunct-bench");
    let refused = || {
        let done = Command::new("timeout").arg("60").arg(&alone).args(["bench", "openssl"]).output().unwrap();
        let line = said(&done);
        assert!(done.status.code() == Some(1) && line.contains("leads to this command itself"), "{done:?}");
        std::fs::remove_file(&bench).unwrap();
    };
    std::os::unix::fs::symlink(&alone, &bench).unwrap();
    refused();
    std::fs::hard_link(&alone, &bench).unwrap();
    refused();
    // A copy is another file, which then finds itself.
    copy(&alone, &bench);
    refused();
}

/// What a third user has put beside the program is not run, by root or by anybody else.
#[test]
fn what_a_third_user_has_put_beside_the_program_is_not_run() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("SKIPPED: only root makes files of others");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let [alone, bench] = ["adjunct", "adjunct-bench"].map(|name| folder.path().join(name));
    copy(ADJUNCT, &alone);
    std::fs::write(&bench, "#!/bin/sh\necho it ran\n").unwrap();
    std::fs::set_permissions(&bench, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::chown(&bench, Some(65534), None).unwrap();
    for user in [0, 33] {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={user}"), &format!("--regid={user}"), "--clear-groups"]);
        let done = command.arg(&alone).args(["bench", "openssl"]).output().unwrap();
        assert!(done.status.code() == Some(1) && done.stdout.is_empty(), "{done:?}");
        assert!(said(&done).contains("belongs to another user"), "{done:?}");
    }
}
