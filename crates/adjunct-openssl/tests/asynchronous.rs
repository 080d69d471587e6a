//! Operations in OpenSSL's asynchronous jobs, in a foreign program (`asynchronous/program.c`) that is its own event loop: that they pause, wake their
//! loop and are right, and what becomes of jobs that are never resumed.
//!
//! The program puts a page that faults below every job's stack.

mod foreign;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| foreign::compile("asynchronous"))
}

fn run_on(scenario: &str, cpu: &str) -> String {
    run_with(scenario, cpu, "")
}

/// Runs a scenario with further lines in adjunct's section of the configuration.
fn run_with(scenario: &str, cpu: &str, more: &str) -> String {
    run_in(&[("ADJUNCT_CPU", cpu)], scenario, more)
}

fn run_in(environment: &[(&str, &str)], scenario: &str, more: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let config = foreign::config(folder.path(), more);
    let mut command = Command::new("timeout");
    command
        .arg("600")
        .arg(program())
        .arg(&config)
        .arg(scenario)
        .env("OPENSSL_CONF", "/dev/null")
        .envs(environment.iter().copied());
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success() && err.is_empty(), "{scenario} in {environment:?}: {status}: {out}{err}");
    out.into_owned()
}

/// Runs a scenario with and without lanes; gives what it printed with them, as `NAME NUMBER` lines, where this CPU has them.
fn run(scenario: &str) -> Option<Vec<(String, u32)>> {
    run_on(scenario, "-ifma");
    run_in(&[("ADJUNCT_ACCELERATOR", "off")], scenario, "");
    let out = run_on(scenario, "");
    let lanes = adjunct::ops::batches::available();
    lanes.then(|| {
        let line = |line: &str| {
            let (name, number) = line.rsplit_once(' ').expect("two words");
            (name.to_owned(), number.parse().expect("a number"))
        };
        out.lines().map(line).collect()
    })
}

#[test]
fn sixteen_jobs_of_a_kind_make_two_full_batches() {
    let Some(pauses) = run("batches") else { return };
    // Seven of eight pause and the eighth runs them all.
    for kind in ["rsa-2048", "rsa-3072", "rsa-4096", "p-256", "p-384", "ed25519", "x25519", "ecdh-256", "ecdh-384"] {
        let found = pauses.iter().find(|(name, _)| name == kind);
        assert_eq!(found.map(|(_, number)| *number), Some(14), "{kind}: {pauses:?}");
    }
}

/// The CPU library's ML-KEM takes more of a stack than a job has.
#[test]
fn mlkem_has_room() {
    run("kems");
}

#[test]
fn all_kinds_in_one_loop() {
    let Some(pauses) = run("mixed") else { return };
    assert!(pauses[0].1 > 100, "{pauses:?}");
}

#[test]
fn fewer_than_eight_wait_until_the_loop_has_come_round() {
    let Some(pauses) = run("few") else { return };
    for (jobs, (_, number)) in (1..8).zip(&pauses) {
        // Once each at the start; once more each but the last, as the loop had just queued that one.
        assert!((jobs..2 * jobs).contains(number), "{pauses:?}");
    }
}

#[test]
fn what_must_not_pause_does_not() {
    run("blocked");
}

#[test]
fn without_descriptors_operations_run_at_once() {
    let Some(paused) = run("poor") else { return };
    assert!((5..=15).contains(&paused[0].1), "half of 32 descriptors: {paused:?}");
}

#[test]
fn jobs_that_are_never_resumed_harm_nobody() {
    let Some(pauses) = run("abandoned") else { return };
    assert_eq!(pauses[0].1, 14, "more were left behind than can wait at a time, yet full batches form: {pauses:?}");
}

#[test]
fn parent_and_child_both_go_on_with_paused_jobs() {
    run("forked");
}

#[test]
fn several_loops_and_threads_without_one() {
    run("threads");
    // The threads without a loop in the jobs' batches, too.
    run_with("threads", "", "accelerator = always\n");
}

#[test]
fn a_loop_may_be_called_instead_of_polling() {
    let Some(called) = run("callbacks") else { return };
    assert!(called[0].1 > 0, "{called:?}");
}

#[test]
fn a_program_that_is_to_close_a_filter_has_no_batches_unless_it_asks() {
    let preloaded = ("LD_PRELOAD", "libseccomp.so.2");
    let without = run_on("mixed", "-ifma,-fma");
    // A file that many programs read does not ask.
    assert_eq!(run_in(&[preloaded], "mixed", "accelerator = on\n"), without);
    let asked = run_in(&[preloaded, ("ADJUNCT_ACCELERATOR", "on")], "mixed", "");
    assert_eq!(asked != without, adjunct::ops::batches::available(), "{asked}");
}
