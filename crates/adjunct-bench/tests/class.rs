//! `adjunct bench openssl --class`: the masks are in force on both sides, and what cannot be imitated is refused.

#![cfg(target_arch = "x86_64")]

use adjunct::catalogue::{Class, Feature};
use adjunct::cpu;
use std::process::{Command, Output};

fn bench(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-bench"));
    command
        .args(["bench", "openssl", "--noise", "--filter", "SHA2-512", "--sizes", "16,1024", "--seconds", "0.002"])
        .args(words);
    for name in ["ADJUNCT_CPU", "OPENSSL_ia32cap"] {
        command.env_remove(name);
    }
    command
}

fn run(words: &[&str]) -> Output {
    bench(words).output().expect("the command runs")
}

fn refused(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What this CPU has, whatever this test's own environment takes away.
fn here(feature: Feature) -> bool {
    cpu::features().has(feature) || cpu::features().masked(feature)
}

#[test]
fn every_class_is_measured_or_refused_with_what_it_takes() {
    for class in Class::here() {
        let lacking = class.lacking(here);
        let output = run(&["--class", class.name, "--json", "-"]);
        if let Some(feature) = lacking.first() {
            let said = refused(&output);
            assert!(said.contains(class.name) && said.contains(feature.text()), "{said}");
            continue;
        }
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["class"]["name"], class.name);
        assert_eq!(report["rows"].as_array().unwrap().len(), 4 * 2, "{report}");
        let features = report["header"]["features"].as_array().unwrap();
        let gone: Vec<_> = class.excess(here).iter().map(|feature| feature.text()).collect();
        assert!(features.iter().all(|text| !gone.contains(&text.as_str().unwrap())), "{features:?}");
        // Masked for ours, by OpenSSL's variable for stock's; nothing where this CPU is of the class.
        let masks = report["class"]["masks"].as_array().unwrap();
        assert_eq!(masks.len(), if gone.is_empty() { 0 } else { 2 }, "{masks:?}");
    }
}

#[test]
fn what_stands_in_the_environment_or_has_no_name_is_refused() {
    let class = Class::here().find(|class| class.lacking(here).is_empty());
    let Some(class) = class else { return println!("SKIPPED: this CPU is of no class, and imitates none") };
    let output = bench(&["--class", class.name]).env("ADJUNCT_CPU", "-sha").output().expect("the command runs");
    assert!(refused(&output).contains("ADJUNCT_CPU is set"));
    assert!(refused(&run(&["--class", "z80"])).contains("avx2"));
}

#[test]
fn the_list_names_every_class() {
    let output = run(&["--class", "list"]);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success() && Class::here().all(|class| text.contains(class.text)), "{text}");
}

#[test]
fn tables_have_a_column_for_each_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("table.md");
    let output = run(&["--markdown", file.to_str().expect("a name")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&file).expect("a table");
    assert!(text.contains("| 16 | 1024 | ran |"), "{text}");
    let row = text.lines().find(|line| line.starts_with("| SHA2-512 |")).expect("a row");
    assert_eq!(row.matches('|').count(), 5, "{row}");
}
