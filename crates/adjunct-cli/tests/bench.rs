//! `adjunct bench openssl`: what it reports and what it refuses. How fast anything is, is no test's matter.

use std::process::{Command, Output};

fn bench(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_adjunct"))
        .args(["bench", "openssl"])
        .args(words)
        .output()
        .expect("the command runs")
}

fn json(words: &[&str]) -> serde_json::Value {
    let output = bench(&[words, &["--noise", "--seconds", "0.002", "--json", "-"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_cipher_has_a_row_for_every_size() {
    let report = json(&["--filter", "aes-128-gcm", "--sizes", "16,100"]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{rows:?}");
    for row in rows {
        assert!(row["function"].as_str().unwrap().starts_with("AES-128-GCM "));
        assert_eq!(row["unit"], "GB/s");
        let [stock, adjunct, ratio] = ["stock", "adjunct", "ratio"].map(|k| row[k].as_f64().unwrap());
        assert!(stock > 0.0 && ((adjunct / stock) - ratio).abs() < 1e-9);
    }
    assert!(report["header"]["openssl"].as_str().unwrap().starts_with("OpenSSL "));
    assert!(report["header"]["features"].is_array() && report["header"]["date"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn every_kind_of_row_works() {
    // Stock has all of them; the two sides' results are compared, so a wrong use of EVP fails here.
    let filters = ["AES-256", "DES", "ChaCha", "SHA", "MD5", "CMAC", "RSA-2048 e", "RSA-2048 d", "RSA-2048 s", "P-256"];
    let words: Vec<&str> = filters.iter().flat_map(|f| ["--filter", f]).collect();
    let report = json(&[&words[..], &["--filter", "25519", "--sizes", "1024"]].concat());
    assert_eq!(report["skipped"].as_array().unwrap().len(), 0, "{report}");
    assert_eq!(report["failed"].as_array().unwrap().len(), 0, "{report}");
    assert!(report["rows"].as_array().unwrap().len() > 50);
}

#[test]
fn what_cannot_be_measured_is_one_line() {
    for (words, text) in [
        (&["--noise", "--filter", "no such row"][..], "no row"),
        (&["--libcrypto", "/nonexistent.so"][..], "no usable libcrypto"),
        (&["--module", "/nonexistent.so"][..], "does not load /nonexistent.so"),
    ] {
        let output = bench(words);
        let line = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && line.contains(text) && line.lines().count() == 1, "{words:?}: {line}");
    }
}
