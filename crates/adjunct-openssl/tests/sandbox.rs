//! Sandboxes that kill: a filter made of what a program does with stock OpenSSL ends none that has the module.
//!
//! The program (`sandbox/program.c`) does the same work twice: with stock OpenSSL, where its system calls are recorded, and with
//! the module, where a filter allows those and kills for any other.
#![cfg(target_os = "linux")]

mod foreign;
#[path = "../../adjunct/tests/runner/mod.rs"]
mod runner;
#[path = "../../adjunct/tests/sandbox/mod.rs"]
mod sandbox;

use adjunct::catalogue::Function;
use adjunct::counters::Apart;
use sandbox::{Calls, by_chance, list, recorded, root, said};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const NOBODY: u32 = 65534;

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| foreign::compile("sandbox"))
}

/// A run of `steps`, with counters of its own, on the side of stock OpenSSL or of the module.
struct Run {
    folder: tempfile::TempDir,
    word: String,
}

impl Run {
    fn new(name: &str) -> Run {
        Run { folder: tempfile::tempdir().expect("a folder"), word: format!("sandbox-{name}-{}", std::process::id()) }
    }

    fn command(&self, ours: bool, list: &str, steps: &str) -> Command {
        let config = if ours {
            foreign::config(self.folder.path(), "")
        } else {
            let path = self.folder.path().join("stock.cnf");
            let text = "openssl_conf = main\n[main]\nproviders = providers\n[providers]\ndefault = stock\n[stock]\nactivate = 1\n";
            std::fs::write(&path, text).expect("the configuration is written");
            path
        };
        let mut command = Command::new(program());
        command.args([list.as_ref(), config.as_os_str()]);
        command.args([if ours { "provider=adjunct" } else { "provider=default" }, steps]);
        command.env("OPENSSL_CONF", "/dev/null").env("ADJUNCT_STATS_KEY", &self.word).env_remove("ADJUNCT_STATS");
        command.env("LD_PRELOAD", sandbox::LIBSECCOMP);
        command
    }

    fn survives(&self, list: &str, steps: &str) {
        let output = self.command(true, list, steps).output().expect("the program runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{steps}: {}", said(&output));
    }

    /// The digests counted for a user.
    fn digests(&self, uid: u32) -> u64 {
        let counted = Apart::of(&self.word).read(uid).expect("sound counters");
        counted.map_or(0, |c| {
            c.function(Function::Sha256).hardware_calls() + c.function(Function::Sha256).software_calls()
        })
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let apart = Apart::of(&self.word);
        for uid in apart.users().unwrap_or_default() {
            let _ = apart.delete(uid);
        }
        // SAFETY: no requirements.
        let _ = apart.delete(unsafe { libc::geteuid() });
    }
}

/// The system calls that the module may make in addition, for a program that takes these steps.
fn more(steps: &str) -> Calls {
    let mut calls = by_chance(steps);
    // Loaded by root: it looks who the user is.
    if root() && !steps.starts_with('U') {
        calls.insert(libc::SYS_geteuid);
    }
    calls
}

fn is_like_stock(steps: &str) {
    if !runner::natively("no seccomp in qemu's user mode") {
        return;
    }
    // In the gate each way once: alone and in company, before and after another user and a fork.
    let gate = ["LCD", "LCW", "LCUW", "LFUCW", "LPUCG", "LWFUCT", "ULCWFW", "ULPCG"];
    if !gate.contains(&steps) && std::env::var_os("ADJUNCT_DEEP").is_none() {
        return println!("SKIPPED: {steps}, without ADJUNCT_DEEP=1");
    }
    if steps.contains('U') && !root() {
        return println!("SKIPPED: {steps}: only root becomes another user");
    }
    let run = Run::new(steps);
    let Some(stock) = recorded(&mut run.command(false, "record", steps)) else { return };
    // So that it is known by name, in place of a signal.
    let Some(ours) = recorded(&mut run.command(true, "record", steps)) else { return };
    let allowed: Calls = stock.union(&more(steps)).copied().collect();
    let beyond: Vec<_> = ours.difference(&allowed).collect();
    assert!(beyond.is_empty(), "{steps}: system calls {beyond:?}, which stock does not make");
    run.survives(&list(&allowed), steps);
}

macro_rules! like_stock {
    ($($test:ident $steps:literal;)*) => { $(#[test] fn $test() { is_like_stock($steps); })* };
}

like_stock! {
    a_digest_makes_no_call "LCD";
    one_thread "LCW";
    one_thread_of_another_user "LUCW";
    one_thread_that_becomes_another_user_confined "LCUW";
    a_child "LCFW";
    a_child_of_another_user "LFUCW";
    a_child_of_one_that_has_worked "LWUFCWFW";
    eight_threads_that_waited "LPCG";
    eight_threads_that_waited_while_the_user_changed "LPUCG";
    eight_threads_started_confined "LUCT";
    eight_threads_of_a_child "LWFUCT";
    a_program_that_never_was_root "ULCWFW";
    eight_threads_that_never_were_roots "ULPCG";
}

/// Operations are still counted for the right user.
#[test]
fn what_is_done_confined_is_counted() {
    if !runner::natively("no seccomp in qemu's user mode") || !root() || adjunct::sandbox::filtered() {
        return println!("SKIPPED: without root, or under a filter");
    }
    let run = Run::new("counted");
    let Some(stock) = recorded(&mut run.command(false, "record", "LUCDFD")) else { return };
    let allowed: Calls = stock.union(&more("L")).copied().collect();
    run.survives(&list(&allowed), "LUCDFD");
    assert_eq!(run.digests(NOBODY), 600);
}

/// In a service whose filter is in force before the module is loaded, it serves and does not count.
#[cfg(target_arch = "x86_64")]
#[test]
fn in_a_service_with_a_filter_it_serves() {
    if !runner::natively("no seccomp in qemu's user mode") {
        return;
    }
    for filter in [sandbox::without_ipc(), sandbox::system_service()] {
        for steps in ["CLWFW", "CLT", "CLPG", "UCLW", "CLUWFT"] {
            if steps.contains('U') && !root() {
                continue;
            }
            let run = Run::new(steps);
            run.survives(&filter, steps);
            assert!(Apart::of(&run.word).users().expect("a list").is_empty(), "{steps}");
        }
    }
}
