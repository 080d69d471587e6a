//! `cpacfstats` as scripts for IBM Z call it: its words, its exit statuses, and counters of all users.

#[path = "../../adjunct/tests/tally/mod.rs"]
mod tally;

use adjunct::catalogue::{Direction, Function};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};
use tally::Tally;

const ZTOOLS: &str = env!("CARGO_BIN_EXE_adjunct-ztools");

/// Counters of this test alone, and their state; gone in the end.
struct Stage {
    key: String,
}

impl Stage {
    fn new(name: &str) -> Stage {
        Stage { key: format!("{name}-{}", std::process::id()) }
    }

    fn called(&self, name: &str, args: &[&str]) -> Output {
        let mut command = Command::new(ZTOOLS);
        command.arg0(name).args(args).env("ADJUNCT_STATS_KEY", &self.key).env_remove("ADJUNCT_CPU").output().unwrap()
    }

    fn said(&self, args: &[&str]) -> String {
        let output = self.called("cpacfstats", args);
        assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What counts a few calls, in hardware where the machine has it.
    fn count(&self) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "count_a_few_calls", "--ignored"]).env("ADJUNCT_STATS_KEY", &self.key);
        let output = command.env_remove("ADJUNCT_STATS").env_remove("ADJUNCT_CPU").output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.called("icastats", &["-d"]);
        let apart = adjunct::counters::Apart::of(&self.key);
        let _ = std::fs::remove_file(format!("/run/adjunct/cpacfstats-{:08x}.json", apart.key(0)));
    }
}

/// Not a test: the process whose calls the others look for.
#[test]
#[ignore = "run by the_counters_are_those_of_all_users"]
fn count_a_few_calls() {
    adjunct::init();
    let gcm = Tally::new(Function::AesGcm, 256);
    (0..3).for_each(|_| gcm.count(Direction::Encrypt, 16));
    Tally::new(Function::AesCbc, 128).count(Direction::Decrypt, 16);
    Tally::new(Function::RsaCrt, 2048).count(Direction::Encrypt, 0);
}

#[test]
fn its_words_are_those_of_z() {
    let stage = Stage::new("cp1");
    let usage = stage.said(&["-h"]);
    assert!(usage.starts_with("Usage: cpacfstats [OPTIONS [COUNTER]]\n\nEnable, disable, reset and read CPACF"));
    assert!(usage.contains("\n\t-j, --json                Print all counter values in JSON format\n"));
    assert!(usage.ends_with("'pai_user' 'pai_kernel' or 'all'\n"));
    assert!(stage.said(&["--version"]).starts_with("cpacfstats: "));
    for (args, line) in [
        (&["-x"][..], "cpacfstats: Invalid argument, try -h or --help for more information\n"),
        (&["--nope"], "cpacfstats: Invalid argument, try -h or --help for more information\n"),
        (&["-e", "prng"], "cpacfstats: Unknown counter 'prng'\n"),
    ] {
        let output = stage.called("cpacfstats", args);
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(1), line.to_owned()));
        assert!(output.stdout.is_empty());
    }
}

/// Runs only as root, who alone sees the counters of all users.
#[test]
fn the_counters_are_those_of_all_users() {
    let stage = Stage::new("cp2");
    if !nix::unistd::geteuid().is_root() {
        let output = stage.called("cpacfstats", &[]);
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(1) && line.starts_with("cpacfstats: only root may see or change"),
            "{line}"
        );
        return;
    }
    let hardware = adjunct::ops::choice::served(Function::AesGcm, 256).instructions;
    let value = |args: &[&str], name: &str| {
        let said = stage.said(args);
        let line = said.lines().find_map(|line| line.strip_prefix(&format!(" {name} counter: ")).map(str::to_owned));
        line.unwrap_or_else(|| panic!("{name}: {said}"))
    };
    let names = |said: &str| said.lines().map(|l| l.split_whitespace().next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&stage.said(&[])), ["des", "aes", "sha", "rng", "ecc", "pai_user", "pai_kernel"]);
    assert!(stage.said(&[]).ends_with(" pai_user   : unsupported\n pai_kernel : unsupported\n"));
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert_eq!(value(&[], "des"), "unsupported");
    }
    stage.count();
    if !hardware {
        return assert_eq!(value(&[], "aes"), "unsupported");
    }
    assert_eq!(value(&["-p", "aes"], "aes"), "4");
    assert_eq!(stage.said(&["-p", "aes"]), " aes counter: 4\n");
    // Disabled, and counted meanwhile.
    assert_eq!(stage.said(&["-d", "aes"]), " aes counter: disabled\n");
    stage.count();
    assert_eq!(value(&["--print"], "aes"), "disabled");
    assert!(!stage.said(&["-j"]).contains("aes"));
    assert_eq!(stage.said(&["--enable", "aes"]), " aes counter: 4\n");
    stage.count();
    assert_eq!(stage.said(&["aes"]), " aes counter: 8\n");
    let json = stage.said(&["-j", "sha"]);
    assert!(json.contains(r#"{"counter":"aes","value":8}"#) && !json.ends_with('\n'), "{json}");
    assert!(json.ends_with(r#",{"counter":"hotplug detected","value":0}]"#), "{json}");
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(parsed.as_array().unwrap().iter().all(|one| one["value"].is_u64()));
    // Their reset is not icastats', nor is that theirs.
    assert_eq!(stage.said(&["-r", "aes"]), " aes counter: 0\n");
    let gcm = stage.called("icastats", &[]).stdout;
    let gcm = String::from_utf8(gcm).unwrap();
    let row = gcm.lines().find(|line| line.trim_start().starts_with("AES GCM")).unwrap();
    assert_eq!(row.split_whitespace().nth(3), Some("9"), "{row}");
    stage.count();
    assert_eq!(stage.said(&["-p", "aes"]), " aes counter: 4\n");
    stage.called("icastats", &["-r"]);
    stage.count();
    assert_eq!(stage.said(&["-p", "aes"]), " aes counter: 4\n");
}
