//! `adjunct bench ep11`: what it reports, what it leaves behind and what it refuses. How fast anything is, is no test's matter.

mod left;
#[path = "../../adjunct-cli/tests/segments/mod.rs"]
mod segments;

use left::{left, words};
use rustix::process::{Pid, Signal, kill_process};
use segments::Segments;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The command with a folder for temporary files of its own; `None` where it has no daemon or library.
fn command(temporary: &Path, words: &[&str]) -> Option<Command> {
    let program = Path::new(env!("CARGO_BIN_EXE_adjunct-bench"));
    for needed in ["adjunctd", "libadjunct_ep11.so"] {
        if !program.with_file_name(needed).is_file() {
            eprintln!("SKIPPED: {needed} is not built");
            return None;
        }
    }
    let mut command = Command::new(program);
    command.args(["bench", "ep11", "--trust-module"]).args(words).env("TMPDIR", temporary);
    Some(command)
}

#[test]
fn rows_stand_beside_the_card_with_one_and_two_of_ours_and_nothing_stays() {
    let (temporary, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let page = elsewhere.path().join("page.html");
    let filters = ["small", "Encipher 4096", "Verify SHA-256 256", "RSA 1024", "Curve 256", "PK AES", "PK Ed25519"];
    let mut arguments: Vec<&str> = filters.iter().flat_map(|filter| ["--filter", filter]).collect();
    arguments.extend(["--seconds", "0.02", "--json", "-", "--html", page.to_str().unwrap()]);
    let Some(mut command) = command(temporary.path(), &arguments) else { return };
    let before = Segments::now();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!((left(temporary.path()), before.made_since(pid)), (Vec::new(), 0));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    // Two small ones, two ciphers, an HMAC, seven of RSA, three of the curve, wrapping and unwrapping by AES and of Ed25519: with one card and with two.
    assert_eq!(rows.len(), 2 * (2 + 2 + 1 + 7 + 3 + 4), "{report}");
    for row in rows {
        let pair = row["function"].as_str().unwrap().starts_with("Key Generate");
        assert_eq!((row["one"].is_object(), row["eight"].is_object()), (true, !pair), "{row}");
        for figures in [&row["one"], &row["eight"]].into_iter().filter(|figures| figures.is_object()) {
            let [rate, beside, times, client, card] =
                ["per_second", "beside", "times", "client_us", "card_us"].map(|name| figures[name].as_f64().unwrap());
            assert!(rate > 0.0 && beside > 0.0 && (rate / beside / times - 1.0).abs() < 1e-9, "{row}");
            assert!(client > 0.0 && card > 0.0, "{row}");
            assert!(times >= 1.0 || row["lost"] == true, "{row}");
        }
    }
    let find =
        |function: &str| rows.iter().find(|row| row["function"] == function && row["group"] == "express").unwrap();
    assert_eq!(find("PKS Prime Curve 256")["eight"]["beside"], 12207.0);
    assert_eq!(
        find("Key Generate RSA 1024")["risk"],
        "primes are found by one CPU alone, and the card has units for it"
    );
    assert_eq!(rows[0]["one"]["beside"], 50_000.0);
    let page = std::fs::read_to_string(&page).unwrap();
    for words in ["PKD RSA 1024", "Small requests", "CEX7P", "How it was measured"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("<script") && !page.contains("http-equiv=\"refresh\""));
}

#[test]
fn what_was_measured_before_somebody_ends_it_is_kept() {
    let (temporary, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let json = elsewhere.path().join("rows.json");
    let arguments = ["--filter", "HMAC", "--cards", "1", "--seconds", "0.05", "--json", json.to_str().unwrap()];
    let Some(mut command) = command(temporary.path(), &arguments) else { return };
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    // Until the second row.
    lines
        .by_ref()
        .map(Result::unwrap)
        .filter(|line| line.starts_with("HMAC"))
        .nth(1)
        .expect("rows are shown as they come");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    lines.for_each(drop);
    assert!(!child.wait().unwrap().success());
    assert_eq!(left(temporary.path()), Vec::<String>::new());
    let report: Value = serde_json::from_slice(&std::fs::read(json.with_extension("json.partial")).unwrap()).unwrap();
    assert!((2..48).contains(&report["rows"].as_array().unwrap().len()), "{report}");
}

#[test]
fn what_cannot_be_measured_is_one_line() {
    let temporary = tempfile::tempdir().unwrap();
    for (words, text) in [
        (&["--filter", "no such row"][..], "no row's name"),
        (&["--library", "/nonexistent.so"], "/nonexistent.so: No such file"),
        (&["--library", "/etc/passwd", "--filter", "small"], "/etc/passwd"),
        (&["--json", "/nowhere/rows.json"], "/nowhere/rows.json"),
        (&["--json", "-", "--html", "-"], "same"),
    ] {
        let Some(mut command) = command(temporary.path(), words) else { return };
        let output = command.output().unwrap();
        let said = self::words(&output);
        assert!(!output.status.success() && said.contains(text) && said.lines().count() == 1, "{words:?}: {said}");
    }
    assert_eq!(left(temporary.path()), Vec::<String>::new());
}
