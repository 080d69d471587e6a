//! Whose counters are touched by what: benchmarks leave the user's alone, and `adjunct stats` says what is in their way.
#![cfg(target_os = "linux")]

mod segments;

use adjunct::counters::Apart;
use segments::Segments;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The counters under the word that a user has set: programs without counters of their own count there.
struct Counters {
    word: String,
}

impl Counters {
    fn new(name: &str) -> Counters {
        Counters { word: format!("{name}-{}", std::process::id()) }
    }

    fn apart(&self) -> Apart {
        Apart::of(&self.word)
    }

    fn adjunct(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
        command.args(words).env("ADJUNCT_STATS_KEY", &self.word).env("ADJUNCT_STATS", "on");
        command.output().expect("the command runs")
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        let _ = self.apart().delete(me());
    }
}

fn me() -> u32 {
    // SAFETY: no requirements.
    unsafe { libc::geteuid() }
}

#[test]
fn a_benchmark_leaves_the_users_counters_alone() {
    let counters = Counters::new("bench");
    // With the module where it was built for the tests too: it counts in the command's process.
    let deps = std::env::current_exe().expect("a path");
    let module = deps.with_file_name("libadjunct_openssl.so").to_string_lossy().into_owned();
    let sides =
        if Path::new(&module).is_file() { vec!["--trust-module", "--module", &module] } else { vec!["--noise"] };
    for what in [
        &["openssl", "--filter", "sha2-256", "--sizes", "64", "--seconds", "0.002"][..],
        &["bulk", "--filter", "128-ctr", "--sizes", "64", "--seconds", "0.002"],
        &["accelerator", "--filter", "P-256", "--kernels", "--seconds", "0.002"],
    ] {
        let output = counters.adjunct(&[&["bench"], what, &sides, &["--json", "-"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        // Where this CPU has no lanes the last says so; it opens no counters of the user's all the same.
        assert!(output.status.success() || what[0] == "accelerator", "{what:?}: {said}");
        assert_eq!(counters.apart().users().expect("a list"), [0; 0], "{what:?}");
    }
}

/// A benchmark of the provider that is interrupted while it measures, and one that is not: neither leaves counters, and what it reports as
/// hardware and software is what its own rows did.
#[test]
fn what_a_benchmark_reports_is_its_own() {
    let deps = std::env::current_exe().expect("a path");
    let module = deps.with_file_name("libadjunct_openssl.so");
    if !module.is_file() {
        println!("SKIPPED: the provider is not built; cargo build -p adjunct-openssl with the same profile");
        return;
    }
    let module = ["--trust-module", "--module", module.to_str().expect("text")];
    let counters = Counters::new("own");
    let row = ["bench", "openssl", "--filter", "sha2-256", "--sizes", "64"];
    let report = |more: &[&str]| -> serde_json::Value {
        let output = counters.adjunct(&[&row[..], &["--seconds", "0.01", "--json", "-"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let served = |report: &serde_json::Value| {
        let rows = report["rows"].as_array().expect("rows").iter().map(|row| &row["served"]);
        rows.map(|s| s["hardware"].as_u64().expect("a number") + s["software"].as_u64().expect("a number")).sum::<u64>()
    };
    assert!(served(&report(&module)) > 0);
    assert_eq!(served(&report(&["--noise"])), 0, "stock on both sides");

    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
    command.args(["bench", "openssl"]).args(module).env("ADJUNCT_STATS_KEY", &counters.word);
    let before = Segments::now();
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command runs");
    let begin = Instant::now();
    while before.made_since(child.id()) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "it has counters of its own");
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw).expect("a process");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("sent");
    let output = child.wait_with_output().expect("it ends");
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert_eq!(before.made_since(pid.as_raw_nonzero().get().unsigned_abs()), 0);
    assert_eq!(counters.apart().users().expect("a list"), [0; 0]);
}

#[test]
fn what_is_in_the_way_of_counters_is_said() {
    let counters = Counters::new("way");
    let quiet = counters.adjunct(&["stats", "--used"]);
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{}", String::from_utf8_lossy(&quiet.stderr));
    // SAFETY: no memory is involved.
    let id = unsafe { libc::shmget(counters.apart().key(me()), 4096, libc::IPC_CREAT | libc::IPC_EXCL | 0o600) };
    assert!(id >= 0, "{}", std::io::Error::last_os_error());
    let output = counters.adjunct(&["stats", "--used"]);
    // SAFETY: no buffer is taken.
    unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("wrong size") && said.contains(&format!("'ipcrm -m {id}'")), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("nothing was counted"));
}
