//! `adjunct bench cards`: what it reports, what it leaves behind and what it refuses. How fast anything is, is no test's matter.

#[path = "../../adjunct-cli/tests/copy/mod.rs"]
mod copy;
mod left;
#[path = "../../adjunct-cli/tests/module/mod.rs"]
mod module;
#[path = "../../adjunct-cli/tests/segments/mod.rs"]
mod segments;

use copy::copy;
use left::{left, words};
use segments::Segments;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The command with a folder for temporary files of its own.
fn command(temporary: &Path, words: &[&str]) -> Option<Command> {
    let module = module::module().filter(|path| path.to_string_lossy().contains("adjunct"))?;
    if !Path::new(env!("CARGO_BIN_EXE_adjunct-bench")).with_file_name("adjunctd").is_file() {
        eprintln!("SKIPPED: adjunctd is not built");
        return None;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-bench"));
    command.args(["bench", "cards", "--trust-module", "--module"]).arg(module).args(words).env("TMPDIR", temporary);
    Some(command)
}

fn there_are_lanes() -> bool {
    let there = cfg!(target_arch = "x86_64") && adjunct::ops::batches::available();
    if !there {
        println!("SKIPPED: this CPU has no AVX-512 IFMA, or it is masked");
    }
    there
}

#[test]
fn a_row_has_what_scripts_know_and_nothing_stays() {
    let temporary = tempfile::tempdir().unwrap();
    let row = ["--filter", "rsa-2048", "--processes", "2", "--seconds", "0.1", "--json", "-"];
    let Some(mut command) = command(temporary.path(), &row) else { return };
    let before = Segments::now();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!((left(temporary.path()), before.made_since(pid)), (Vec::new(), 0));
    if !there_are_lanes() {
        assert!(!output.status.success() && words(&output).contains("AVX-512 IFMA"), "{}", words(&output));
        return;
    }
    assert!(output.status.success(), "{}", words(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let (rows, details) = (report["rows"].as_array().unwrap(), report["details"].as_array().unwrap());
    assert_eq!((rows.len(), details.len()), (1, 1), "{report}");
    let names: Vec<&str> = rows[0].as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["function", "processes", "stock", "alone", "card", "ratio", "p50_us", "p99_us", "lanes", "cpu_us"];
    assert_eq!(names, expected);
    for key in ["stock", "alone", "card", "ratio", "p50_us", "p99_us", "cpu_us"] {
        assert!(rows[0][key].as_f64().unwrap() > 0.0, "{key}: {report}");
    }
    for side in ["stock", "alone", "card"] {
        assert!(details[0][side]["cpu_us"].as_f64().unwrap() > 0.0, "{side}: {report}");
    }
    assert!(details[0]["capacity"].as_f64().unwrap() > 0.0 && report["units"]["ifma"].is_f64(), "{report}");
}

#[test]
fn a_run_that_is_interrupted_leaves_nothing() {
    let temporary = tempfile::tempdir().unwrap();
    // Many short rows: it looks whether it is to end after each slice.
    let row = ["--filter", "p-384", "--processes", "2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2", "--seconds", "1"];
    let Some(mut command) = command(temporary.path(), &row) else { return };
    if !there_are_lanes() {
        return;
    }
    let before = Segments::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let page = |path: &Path| adjunct_card_protocol::crowd::Page::find(path).is_ok_and(|(page, _)| page.cards() == 1);
    let folder: PathBuf = loop {
        let entry = std::fs::read_dir(temporary.path()).unwrap().flatten().map(|entry| entry.path()).find(|p| page(p));
        assert!(child.try_wait().unwrap().is_none(), "it ended before its card was there");
        match entry {
            Some(folder) => break folder,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::TERM).unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(adjunct_card_protocol::crowd::Page::find(&folder).is_err());
    assert_eq!((left(temporary.path()), before.made_since(child.id())), (Vec::new(), 0));
}

#[test]
fn what_cannot_be_measured_is_one_line() {
    let temporary = tempfile::tempdir().unwrap();
    let program = temporary.path().join("adjunct");
    copy(env!("CARGO_BIN_EXE_adjunct-bench"), &program);
    let Some(module) = module::module() else { return };
    let module = module.to_str().unwrap();
    let refused = |words: &[&str], text: &str| {
        let output = Command::new(&program).args(["bench", "cards", "--trust-module"]).args(words).output().unwrap();
        let line = self::words(&output);
        assert!(!output.status.success() && line.contains(text) && line.lines().count() == 1, "{words:?}: {line}");
    };
    refused(&["--filter", "no such row"], "no row's name");
    refused(&["--module", "/nonexistent.so"], "/nonexistent.so: No such file");
    if module.contains("adjunct") && !Path::new("/usr/sbin/adjunctd").exists() {
        refused(&["--module", module], "adjunctd is neither beside this program nor in /usr/sbin");
    }
}
