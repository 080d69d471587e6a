//! Sandboxes that kill: a filter that allows only the system calls a program makes without libica kills it for no call of libica. `sandbox/program.c`
//! runs with those calls and without them.
#![cfg(target_os = "linux")]

mod common;
#[path = "../../adjunct/tests/sandbox/mod.rs"]
mod sandbox;

use adjunct::counters::Apart;
use common::natively;
use sandbox::{Calls, by_chance, list, recorded, root, said};
use std::process::Command;

/// The program's counters, apart from the user's.
struct Counters(String);

impl Counters {
    fn command(&self, list: &str, kind: &str, steps: &str) -> Command {
        let mut command = common::program("sandbox/program");
        command.args([list, kind, steps]).env("ADJUNCT_STATS_KEY", &self.0).env_remove("ADJUNCT_STATS");
        command.env("LD_PRELOAD", sandbox::LIBSECCOMP);
        command
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        let apart = Apart::of(&self.0);
        for uid in apart.users().unwrap_or_default() {
            let _ = apart.delete(uid);
        }
    }
}

#[test]
fn a_filter_made_without_libica_kills_nothing() {
    if !natively("no seccomp in qemu's user mode") {
        return;
    }
    for steps in ["KCW", "KUCWFW", "KFUCW", "KPUCG", "KWFUCT"] {
        if steps.contains('U') && !root() {
            println!("SKIPPED: {steps}: only root becomes another user");
            continue;
        }
        let counters = Counters(format!("ica-sandbox-{steps}-{}", std::process::id()));
        let Some(mut allowed) = recorded(&mut counters.command("record", "idle", steps)) else { return };
        allowed.extend(by_chance(steps));
        if root() {
            allowed.insert(libc::SYS_geteuid);
        }
        // The generator of a child is seeded by the system.
        if steps.contains('F') {
            allowed.insert(libc::SYS_getrandom);
        }
        let Some(ours) = recorded(&mut counters.command("record", "busy", steps)) else { return };
        let beyond: Calls = ours.difference(&allowed).copied().collect();
        assert!(beyond.is_empty(), "{steps}: system calls {beyond:?}");
        let output = counters.command(&list(&allowed), "busy", steps).output().expect("the program runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{steps}: {}", said(&output));
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn in_a_service_with_a_filter_it_serves_and_does_not_count() {
    if !natively("no seccomp in qemu's user mode") {
        return;
    }
    for filter in [sandbox::without_ipc(), sandbox::system_service()] {
        for steps in ["CXKWFW", "CXKPG"] {
            let counters = Counters(format!("ica-service-{steps}-{}", std::process::id()));
            let output = counters.command(&filter, "busy", steps).env("ADJUNCT_STATS", "off").output();
            let output = output.expect("the program runs");
            assert!(output.status.success() && output.stderr.is_empty(), "{steps}: {}", said(&output));
            assert!(Apart::of(&counters.0).users().expect("a list").is_empty(), "{steps}");
        }
    }
}
