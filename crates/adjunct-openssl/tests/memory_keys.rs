//! Memory that runs out in the middle of a call on a key: the call fails, and the process lives.

mod foreign;

use std::process::Command;

#[test]
fn out_of_memory_is_an_error_of_the_call() {
    let program = foreign::compile("memory_keys");
    let folder = tempfile::tempdir().expect("a folder");
    let config = foreign::config(folder.path(), "");
    let mut command = Command::new(program);
    command.arg(&config).arg("provider=adjunct").env("OPENSSL_CONF", "/dev/null");
    let output = command.output().expect("it runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}");
    let ended = out.lines().last().is_some_and(|line| line == "good" || line.starts_with("SKIPPED"));
    assert!(output.status.success() && ended, "{}: {out}{err}", output.status);
}
