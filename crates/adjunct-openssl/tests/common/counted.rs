//! Tests in processes of their own, each with counters of its own.

use adjunct::counters::{self, Apart, Snapshot};
use std::process::Command;

/// Runs the test `name` (kept from the usual run by `#[ignore]`) in a process of its own.
pub fn alone(name: &str, environment: &[(&str, &str)]) {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let key = format!("{:x}", u64::from(std::process::id()) << 8 | number);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored", "--nocapture"]).env("ADJUNCT_STATS_KEY", &key);
    let output = command.envs(environment.iter().copied()).output().unwrap();
    // Whether it passed or not.
    let _ = Apart::of(&key).delete(unsafe { libc::geteuid() });
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// What this process has counted.
pub fn counted() -> Snapshot {
    let uid = unsafe { libc::geteuid() };
    counters::read(uid).unwrap().unwrap_or_else(|| Snapshot::new(uid))
}
