//! Sandboxes that kill: a filter made of what a program does with its low-level keys in stock OpenSSL ends none that has the
//! engine. `sandbox/program.c` does the same work with both.
#![cfg(target_os = "linux")]

#[path = "../../adjunct/tests/runner/mod.rs"]
mod runner;
#[path = "../../adjunct/tests/sandbox/mod.rs"]
mod sandbox;

use adjunct::counters::Apart;
use sandbox::{Calls, by_chance, list, recorded, root, said};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandbox/program.c");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("engine-sandbox-{}", std::process::id()));
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut command = Command::new(&compiler);
        command
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
            .args([&program, &source])
            .arg("-lcrypto");
        let built = command.output().unwrap_or_else(|e| panic!("{compiler}: {e}; a C compiler is needed"));
        assert!(built.status.success(), "libssl-dev is needed: {}", said(&built));
        program
    })
}

/// The program's counters, apart from the user's.
struct Counters(String);

impl Counters {
    fn command(&self, ours: bool, list: &str, steps: &str) -> Command {
        let module = std::env::current_exe().expect("a path").with_file_name("libadjunct_engine.so");
        let mut command = Command::new(program());
        command.arg(list).arg(if ours { module.as_path() } else { Path::new("-") }).arg(steps);
        command.env("OPENSSL_CONF", "/dev/null").env("ADJUNCT_STATS_KEY", &self.0).env_remove("ADJUNCT_STATS");
        command
    }

    fn survives(&self, list: &str, steps: &str) {
        let output = self.command(true, list, steps).output().expect("the program runs");
        assert!(output.status.success() && output.stderr.is_empty(), "{steps}: {}", said(&output));
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
fn a_filter_made_for_stock_openssl_kills_nothing() {
    if !runner::natively("no seccomp in qemu's user mode") {
        return;
    }
    for steps in ["LCW", "LUCWFW", "LFUCW", "LPUCG", "LWFUCT", "ULCW", "ULPCG"] {
        if steps.contains('U') && !root() {
            println!("SKIPPED: {steps}: only root becomes another user");
            continue;
        }
        let counters = Counters(format!("engine-sandbox-{steps}-{}", std::process::id()));
        let Some(mut allowed) = recorded(&mut counters.command(false, "record", steps)) else { return };
        allowed.extend(by_chance(steps));
        // Loaded by root it looks who the user is.
        if root() && !steps.starts_with('U') {
            allowed.insert(libc::SYS_geteuid);
        }
        let Some(ours) = recorded(&mut counters.command(true, "record", steps)) else { return };
        let beyond: Calls = ours.difference(&allowed).copied().collect();
        assert!(beyond.is_empty(), "{steps}: system calls {beyond:?}, which stock does not make");
        counters.survives(&list(&allowed), steps);
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn in_a_service_with_a_filter_it_serves_and_does_not_count() {
    if !runner::natively("no seccomp in qemu's user mode") {
        return;
    }
    for filter in [sandbox::without_ipc(), sandbox::system_service()] {
        for steps in ["CLWFW", "CLPG"] {
            let counters = Counters(format!("engine-service-{steps}-{}", std::process::id()));
            counters.survives(&filter, steps);
            assert!(Apart::of(&counters.0).users().expect("a list").is_empty(), "{steps}");
        }
    }
}
