//! `adjunct info`: whether it pays on this CPU, by its class and by what was measured here.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn info(state: &Path, mask: Option<&str>, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct"));
    command.arg("info").args(words).env("XDG_STATE_HOME", state).env_remove("ADJUNCT_CPU");
    mask.map(|mask| command.env("ADJUNCT_CPU", mask));
    command.output().unwrap()
}

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn report(cpu: &str, gcm: f64) -> Value {
    json!({
        "header": { "cpu": cpu, "openssl": "OpenSSL 3.0.22", "date": "2026-11-27T10:00:00Z" },
        "rows": [{ "function": "AES-128-GCM encrypt", "size": 16384, "ratio": gcm }, { "function": "SHA2-256", "size": 16384, "ratio": 1.01 }],
    })
}

#[test]
fn a_batch_is_explained_where_functions_run_in_batches() {
    let state = tempfile::tempdir().unwrap();
    let text = good(&info(state.path(), None, &[]));
    let explained = text.lines().any(|line| line.starts_with("Lanes: ") && line.contains(" at once, a batch, by "));
    assert!(explained || !text.contains("in batches"), "{text}");
}

#[test]
fn by_the_class_of_the_cpu() {
    let state = tempfile::tempdir().unwrap();
    let text = good(&info(state.path(), None, &[]));
    let (_, answer) = text.split_once("\nDoes it pay on this CPU?\n").unwrap();
    assert!(answer.contains("adjunct bench openssl --quick"), "{answer}");
    let pays =
        |mask| serde_json::from_str::<Value>(&good(&info(state.path(), mask, &["--json"]))).unwrap()["pays"].clone();
    let here = pays(None);
    assert!(here["class"].is_string() && here["answer"].is_string() && here["measured"].is_null(), "{here}");
    if cfg!(target_arch = "x86_64") {
        let without = pays(Some("-aes"));
        assert_eq!(without["class"], "no-aes");
        assert!(
            without["answer"].as_str().unwrap().starts_with("no: ") && without["by_class"] == json!([]),
            "{without}"
        );
    }
}

#[test]
fn by_what_was_measured_here() {
    let state = tempfile::tempdir().unwrap();
    let facts: Value = serde_json::from_str(&good(&info(state.path(), None, &["--json"]))).unwrap();
    let cpu = facts["cpu"].as_str().unwrap();
    let kept = state.path().join("adjunct/bench-openssl.json");
    fs::create_dir(kept.parent().unwrap()).unwrap();
    fs::write(&kept, report(cpu, 2.5).to_string()).unwrap();
    let text = good(&info(state.path(), None, &[]));
    assert!(text.contains("in part: of 2 functions 1 gain, 1 stay as they are, 0 lose"), "{text}");
    assert!(text.contains("gains  AES-128-GCM encrypt 2.5") && !text.contains("on CPUs of this class"), "{text}");
    // Of another CPU it says nothing here: it is named, and the class answers.
    fs::write(&kept, report("another", 2.5).to_string()).unwrap();
    let text = good(&info(state.path(), None, &[]));
    assert!(text.contains("it was measured on another CPU (another)") && !text.contains("in part: of 2"), "{text}");
    // One that is named has to be one.
    let file = state.path().join("report.json");
    fs::write(&file, report(cpu, 0.5).to_string()).unwrap();
    let named = ["--from", file.to_str().unwrap()];
    assert!(good(&info(state.path(), None, &named)).contains("no: of 2 functions 0 gain, 1 stay as they are, 1 lose"));
    fs::write(&file, "{}").unwrap();
    let refused = info(state.path(), None, &named);
    let line = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && line.contains("no report of 'adjunct bench openssl --json'"), "{line}");
}
