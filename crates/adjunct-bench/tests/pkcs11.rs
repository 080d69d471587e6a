//! `adjunct bench pkcs11`: what it reports and what it refuses. How fast anything is, is no test's matter.

#[path = "../../adjunct-cli/tests/own_pkcs11/mod.rs"]
mod own_pkcs11;

use own_pkcs11::own_pkcs11;
use std::process::{Command, Output};

fn run(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-bench"));
    command.args(["bench", "pkcs11", "--trust-module"]).args(words).output().expect("the command runs")
}

#[test]
fn a_row_has_every_module() {
    let Some(module) = own_pkcs11() else { return };
    let module = module.to_str().unwrap();
    let accelerator = format!("{module},slot=1");
    let filters =
        ["P-256 sign", "GCM 64", "SHA-256 64", "session", "AES-256 key", "random", "create", "find", "login", "C_Init"];
    let mut words =
        vec!["--module", module, "--module", &accelerator, "--seconds", "0.01", "--threads", "1,2", "--json", "-"];
    words.extend(filters.iter().flat_map(|filter| ["--filter", filter]));
    words.extend(["--objects", "50", "--token-objects", "20"]);
    let output = run(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = report["rows"].as_array().unwrap();
    // Ed25519's and others' rows are left out; the rest has one for each number of threads, but for those of one alone.
    assert!(rows.len() >= 20, "{}", rows.len());
    for row in rows {
        let (name, modules) = (row["row"].as_str().unwrap(), row["modules"].as_array().unwrap());
        assert_eq!(modules.len(), 2);
        assert!(
            modules[0]["per_second"].as_f64().unwrap() > 0.0 && modules[0]["cpu_us"].as_f64().unwrap() >= 0.0,
            "{row}"
        );
        // The accelerator token keeps nothing: a key that stays is missing there, and nobody logs in.
        let stays = name == "create token object" || name.starts_with("load to a first find");
        let kept = name.starts_with("P-256 sign") && !name.contains("own key") || stays;
        if kept {
            assert!(modules[1]["trouble"].as_str().unwrap().contains("0xe2"), "{row}");
        } else if name != "login" {
            assert!(row["ratio"].as_f64().unwrap() > 0.0, "{row}");
        }
    }
    assert!(report["modules"][0]["name"].as_str().unwrap().starts_with("adjunct"));
}

#[test]
fn the_provider_is_measured_beside_modules() {
    let Some(module) = own_pkcs11() else { return };
    let provider = module.with_file_name("libadjunct_openssl.so");
    if !provider.is_file() {
        eprintln!("SKIPPED: libadjunct_openssl.so is not built");
        return;
    }
    let (module, provider) = (module.to_str().unwrap(), provider.to_str().unwrap());
    let mut words = vec!["--module", module, "--provider", provider, "--seconds", "0.01", "--threads", "1,2"];
    let filters = ["P-256 sign", "Ed25519 sign", "AES-256-G", "AES-256-C", "HMAC", "SHA-256 64", "random"];
    words.extend(filters.iter().flat_map(|filter| ["--filter", filter]));
    words.extend(["--json", "-"]);
    let output = run(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(report["provider"]["name"].as_str().unwrap().starts_with("adjunct's provider"));
    let rows = report["rows"].as_array().unwrap();
    assert!(rows.len() >= 30, "{}", rows.len());
    for row in rows {
        let name = row["row"].as_str().unwrap();
        assert_eq!(row["modules"].as_array().unwrap().len(), 1);
        // EVP has no such thing, or no context that could be kept.
        if name.contains("random") || name.contains("new session") || name.contains("among") {
            assert!(row["provider"]["trouble"].is_string() && row["of_provider"].is_null(), "{row}");
        } else {
            assert!(row["of_provider"].as_f64().unwrap() > 0.0, "{row}");
        }
    }
}

#[test]
fn what_cannot_be_measured_is_one_line() {
    for (words, text) in [
        (&["--module", "/nowhere.so"][..], "nowhere.so"),
        (&["--module", "/etc/passwd"], "/etc/passwd"),
        (&["--module", "/x.so,slot=x"], "slot"),
        (&["--filter", "no such row"], "no row's name"),
    ] {
        let output = run(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(text), "{words:?}: {said}");
    }
}
