//! `adjunct bench tls`: what it reports, what it leaves behind and what it refuses. How fast anything is, is no test's matter.

#[path = "../../adjunct-cli/tests/copy/mod.rs"]
mod copy;
mod left;
#[path = "../../adjunct-cli/tests/module/mod.rs"]
mod module;

use copy::copy;
use left::{left, words};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The command with a folder for temporary files of its own.
fn command(temporary: &Path, words: &[&str]) -> Option<Command> {
    let module = module::module().filter(|path| path.to_string_lossy().contains("adjunct"))?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-bench"));
    command.args(["bench", "tls", "--trust-module", "--module"]).arg(module).args(words).env("TMPDIR", temporary);
    Some(command)
}

/// A folder for temporary files that servers which give up root's rights may enter.
fn temporary() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// The report of a run with a server; every row has done something, and nothing has failed.
fn report(server: &str, more: &[&str]) -> Option<Value> {
    let temporary = temporary();
    let page = temporary.path().join("page.html");
    let words = [
        &["--server", server, "--rounds", "1", "--clients", "8", "--json", "-", "--html"],
        &[page.to_str().unwrap()][..],
        more,
    ]
    .concat();
    let output = command(temporary.path(), &words)?.output().unwrap();
    assert!(output.status.success(), "{}", self::words(&output));
    let page_text = std::fs::read_to_string(&page).unwrap();
    assert!(page_text.contains("<svg") && page_text.contains("38098"));
    std::fs::remove_file(&page).unwrap();
    assert_eq!(left(temporary.path()), [""; 0]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for row in report["rows"].as_array().unwrap() {
        for key in ["tps", "cpu_us", "cpu_utilisation", "load_utilisation", "p50_us", "p99_us"] {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
        }
        assert_eq!((&row["errors"], &row["server"]), (&0.into(), &server.into()), "{row}");
        let stock = row["side"] == "stock";
        assert_eq!((row["ratio"].is_null(), row["cpu_ratio"].is_null()), (stock, stock), "{row}");
        // What was counted: nothing of stock's, and no private-key operation where sessions are resumed.
        assert!(stock == row["by_hardware"].is_null() || row["sessions"] == "resumed", "{row}");
    }
    Some(report)
}

fn installed(program: &str) -> bool {
    let there = ["/usr/sbin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(program).exists());
    if !there {
        println!("SKIPPED: no {program} here");
    }
    there
}

#[test]
fn a_case_has_a_row_for_each_side() {
    let Some(report) =
        report("s_server", &["--seconds", "0.4", "--filter", "1.3 P-256 X25519", "--side", "stock,lanes"])
    else {
        return;
    };
    let rows = report["rows"].as_array().unwrap();
    // Full, with client certificates, resumed.
    assert_eq!(rows.len(), 6, "{report}");
    assert_eq!(
        (&rows[0]["protocol"], &rows[0]["certificate"], &rows[0]["group"]),
        (&"1.3".into(), &"P-256".into(), &"X25519".into())
    );
    assert_eq!((&rows[3]["client_auth"], &rows[5]["sessions"]), (&true.into(), &"resumed".into()));
    assert_eq!(report["papers"][4]["etr"], 14471);
}

#[test]
fn the_papers_suite_is_measured_beside_a_card() {
    if !installed("nginx") {
        return;
    }
    let there_are_cards = cfg!(target_arch = "x86_64")
        && adjunct::ops::batches::available()
        && Path::new(env!("CARGO_BIN_EXE_adjunct-bench")).with_file_name("adjunctd").is_file();
    let Some(report) = report("nginx", &["--seconds", "0.6", "--protocol", "1.2", "--always"]) else { return };
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), if there_are_cards { 10 } else { 6 }, "{report}");
    if there_are_cards {
        // Cards were asked for each operation; a card that was late is none.
        let card = rows.iter().find(|row| row["side"] == "card").unwrap();
        assert!(card["by_card"].as_f64().unwrap() > 0.0 && card["card_utilisation"].as_f64().unwrap() > 0.0, "{card}");
    }
}

/// Every server in every case; the gate has one of each of what they do.
#[test]
fn every_server_and_case() {
    if std::env::var_os("ADJUNCT_DEEP").is_none() {
        return;
    }
    for (server, program) in [
        ("nginx", "nginx"),
        ("apache", "apache2"),
        ("haproxy", "haproxy"),
        ("postgresql", "psql"),
        ("s_server", "openssl"),
    ] {
        if installed(program) {
            let Some(report) = report(server, &["--seconds", "0.8"]) else { return };
            let rows = report["rows"].as_array().unwrap().len();
            assert!(rows >= 12, "{server}: {rows} rows");
        }
    }
}

#[test]
fn a_run_that_is_interrupted_leaves_nothing() {
    let temporary = temporary();
    let row = ["--server", "s_server", "--filter", "p-384", "--seconds", "60", "--side", "stock,lanes"];
    let Some(mut command) = command(temporary.path(), &row) else { return };
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    while !left(temporary.path()).iter().any(|line| line.contains("s_server")) {
        assert!(child.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(left(temporary.path()), [""; 0]);
}

#[test]
fn what_cannot_be_measured_is_one_line() {
    let temporary = tempfile::tempdir().unwrap();
    let program = temporary.path().join("adjunct");
    copy(env!("CARGO_BIN_EXE_adjunct-bench"), &program);
    let refused = |words: &[&str], text: &str| {
        let output = Command::new(&program).args(["bench", "tls", "--trust-module"]).args(words).output().unwrap();
        let line = self::words(&output);
        assert!(!output.status.success() && line.contains(text), "{words:?}: {line}");
        line
    };
    assert_eq!(refused(&["--filter", "no such case"], "no row's name").lines().count(), 1);
    assert_eq!(refused(&["--module", "/nonexistent.so"], "/nonexistent.so: No such file").lines().count(), 1);
    refused(&["--server", "iis"], "invalid value 'iis'");
    refused(&["--clients", "0"], "--clients");
    let Some(module) = module::module() else { return };
    let module = module.to_str().unwrap();
    let line = refused(&["--module", module, "--html", "/nonexistent/page"], "/nonexistent/page: No such file");
    assert_eq!(line.lines().count(), 1, "{line}");
}
