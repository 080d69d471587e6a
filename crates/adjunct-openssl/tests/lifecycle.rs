//! The module in a foreign program's life: loaded and unloaded, forked, threaded, sandboxed, left in every way.
//!
//! The program is C (`lifecycle/program.c`), so that nothing of Rust or of the CPU library is in the process but what the
//! module brings.

mod foreign;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| foreign::compile("lifecycle"))
}

/// A library that calls back when it ends.
fn late() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| foreign::compile_library("lifecycle/late.c", "liblate.so"))
}

fn run_with(scenario: &str, algorithms: &str) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let config = foreign::config(folder.path(), algorithms);
    let mut command = Command::new("timeout");
    command.arg("600").arg(program()).arg(&config).arg(foreign::module()).arg(scenario);
    // The program configures its own library contexts; OpenSSL's default one shall find nothing.
    command.env("OPENSSL_CONF", "/dev/null").env("LATE", late()).output().expect("the program runs")
}

/// Runs a scenario, which must succeed and say nothing on standard error; gives what it printed.
fn run(scenario: &str) -> String {
    run_well(scenario, "")
}

fn run_well(scenario: &str, algorithms: &str) -> String {
    let output = run_with(scenario, algorithms);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{scenario}: {}: {out}{err}", output.status);
    assert_eq!(err, "", "{scenario}");
    out.into_owned()
}

#[test]
fn a_thousand_loads_leave_nothing_behind() {
    print!("{}", run("reload"));
}

#[test]
fn a_load_starts_no_thread_keeps_no_descriptor_and_takes_little_memory() {
    print!("{}", run("footprint"));
}

#[test]
fn parent_and_child_both_go_on_after_a_fork() {
    let out = run("forks");
    let finished: Vec<&str> = out.lines().filter(|l| l.starts_with("finished")).collect();
    assert_eq!(finished.len(), 2, "{out}");
    assert_eq!(finished[0], finished[1], "both finish the same message");
}

#[test]
fn parent_and_children_draw_different_keys() {
    run("random");
}

#[test]
fn threads_end_before_and_after_the_module() {
    run("threads");
}

#[test]
fn the_library_can_be_opened_and_closed() {
    run("closes");
}

#[test]
fn a_program_may_exit_with_contexts_alive() {
    run("exit");
    run("exit-thread");
    run("exit-default");
}

#[test]
fn children_of_busy_threads_draw_random_bytes() {
    run_well("fork-busy", "algorithms = ALL, RAND\n");
}

#[test]
fn libraries_may_call_after_the_modules_end() {
    assert_eq!(run_well("late", "algorithms = ALL, RAND\n"), "late\n");
}

#[test]
fn it_works_in_the_sandbox_of_sshd() {
    run("sandbox");
}

#[test]
fn it_works_without_standard_error() {
    run("stderr-closed");
    run("stderr-socket");
}

#[test]
fn a_wrong_keyword_is_one_line_and_the_rest_works() {
    let output = run_with("simple", "algorithms = EC, CYPHERS, CIPHERS, DIGESTS, MACS\n");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}{err}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.starts_with("adjunct: ") && err.contains("CYPHERS"), "{err}");
    // The line is for people at standard error: none may be lost on a socket, none may break a program without one.
    for scenario in ["stderr-closed", "stderr-socket"] {
        let output = run_with(scenario, "algorithms = ALL, CYPHERS\n");
        assert!(output.status.success(), "{scenario}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
