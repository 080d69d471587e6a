//! `adjunct bench`: what it reports and what it refuses. How fast anything is, is no test's matter.

#[path = "../../adjunct-cli/tests/copy/mod.rs"]
mod copy;
#[path = "../../adjunct-cli/tests/module/mod.rs"]
mod module;
#[path = "../../adjunct-cli/tests/segments/mod.rs"]
mod segments;

use copy::copy;
use segments::Segments;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(what: &str, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_adjunct-bench"))
        .args(["bench", what])
        .args(words)
        .output()
        .expect("the command runs")
}

fn report(what: &str, words: &[&str]) -> serde_json::Value {
    let output = run(what, &[words, &["--seconds", "0.002", "--json", "-"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn json(words: &[&str]) -> serde_json::Value {
    report("openssl", &[words, &["--noise"]].concat())
}

/// The names of a row's values, in their order.
fn names(row: &serde_json::Value) -> Vec<&str> {
    row.as_object().unwrap().keys().map(String::as_str).collect()
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
fn a_bulk_row_has_every_side_and_the_limit() {
    let report = report("bulk", &["--noise", "--filter", "128-ctr", "--filter", "sha", "--sizes", "16,100"]);
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "{rows:?}");
    for row in rows {
        let expected = [
            "function",
            "size",
            "unit",
            "stock",
            "adjunct",
            "ratio",
            "newest",
            "adjunct_newest",
            "ratio_newest",
            "library",
            "kernel",
            "ratio_library",
            "limit",
            "share",
            "evp",
        ];
        assert_eq!(names(row), expected);
        for key in ["stock", "adjunct", "ratio", "library", "kernel", "ratio_library", "evp"] {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
        }
        // AES has a unit to compare with where there are instructions at all; SHA-512 has none.
        let limited = row["function"] != "SHA-512" && report["aes_unit"].is_object();
        assert_eq!((row["limit"].is_f64(), row["share"].is_f64()), (limited, limited), "{row}");
    }
}

#[test]
fn every_bulk_row_gives_the_same_result_on_every_side() {
    let report = report("bulk", &["--noise", "--sizes", "1008"]);
    assert_eq!(report["failed"].as_array().unwrap().len(), 0, "{report}");
    assert!(report["rows"].as_array().unwrap().len() > 15);
}

#[test]
fn an_accelerator_row_has_what_scripts_know() {
    let report = report("accelerator", &["--noise", "--filter", "p-256", "--filter", "25519", "--threads", "1,3"]);
    assert_eq!(report["failed"].as_array().unwrap().len(), 0, "{report}");
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 7, "{rows:?}");
    for row in rows {
        let expected = ["function", "threads", "stock", "library", "adjunct", "ratio", "p50_us", "p99_us"];
        let besides = ["lanes", "alone", "alone_ratio", "alone_cpu_ratio", "library_ratio", "cpus", "capacity"];
        assert_eq!(names(row), [&expected[..], &besides].concat());
        assert_eq!(row["capacity"].is_f64(), report["units"]["ifma"].is_f64(), "{row}");
        for key in expected[2..].iter().chain(&besides[1..6]) {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
        }
        assert!(row["p99_us"].as_f64() >= row["p50_us"].as_f64(), "{row}");
        // Stock fills no lanes.
        assert!(row["lanes"].is_null(), "{row}");
    }
    assert_eq!(report["details"].as_array().unwrap().len(), rows.len() * 4);
    // One kernel a function where there are lanes, none where there are not, and the unit's rate says so too.
    let kernels = report["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), if report["units"]["ifma"].is_f64() { 7 } else { 0 });
    for row in kernels {
        assert_eq!(
            names(row),
            ["function", "operations", "library", "ratio", "reach", "instructions", "limit", "share"]
        );
        assert!(row["share"].as_f64().unwrap() > 0.0 && row["instructions"].as_f64().unwrap() > 100.0, "{row}");
    }
}

/// One thread works alone; several threads share batches where that is switched on.
#[test]
fn several_threads_share_batches_where_asked() {
    let Some(module) = module::module().filter(|path| path.to_string_lossy().contains("adjunct")) else { return };
    let lanes = |threads: &str, words: &[&str]| {
        let module = ["--trust-module", "--module", module.to_str().unwrap()];
        let fixed = ["--filter", "rsa-2048", "--threads", threads, "--seconds", "0.3", "--json", "-"];
        let output = run("accelerator", &[&fixed[..], &module, words].concat());
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(report["failed"].as_array().unwrap().len(), 0, "{report}");
        // A copy of the module works alone, whatever the environment asks for.
        let row = &report["rows"][0];
        assert!(row["alone"].as_f64().is_some_and(|rate| rate > 0.0), "{row}");
        row["lanes"].as_f64()
    };
    assert_eq!(lanes("1", &[]), None);
    let asked = lanes("8", &["--always"]);
    let there = cfg!(target_arch = "x86_64") && adjunct::ops::batches::available();
    assert!(!there || asked.is_some_and(|mean| mean > 2.0), "{asked:?}");
}

#[test]
fn without_ifma_the_report_says_so_and_has_no_kernels() {
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-bench"));
        command.args(["bench", "accelerator", "--noise", "--filter", "x25519", "--seconds", "0.01"]).args(words);
        let output =
            command.env("ADJUNCT_CPU", if cfg!(target_arch = "x86_64") { "-ifma" } else { "" }).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&["--threads", "2"]);
    let said =
        text.contains("there are no lanes") || text.contains("RSA has lanes of AVX2 and FMA, other functions none");
    assert!(said && !text.contains("IFMA/op"), "{text}");
    assert!(run(&["--kernels"]).contains("0 rows, 0 kernels, 0 failed"));
}

#[test]
fn a_run_leaves_no_counters_behind() {
    // Of this process's alone: other tests, and whatever else runs here, come and go with theirs.
    let measured = ["--noise", "--filter", "x25519 keygen", "--threads", "1", "--seconds"];
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-bench"));
        command.args(["bench", "accelerator"]).args(words).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut seen = 0;
    for words in [&[&measured[..], &["2"]].concat()[..], &["--module", env!("CARGO_BIN_EXE_adjunct-bench")]] {
        let before = Segments::now();
        let mut child = run(words);
        while child.try_wait().unwrap().is_none() {
            seen += before.made_since(child.id());
        }
        assert_eq!(before.made_since(child.id()), 0, "{words:?}");
    }
    assert!(seen > 0, "a run has counters");
}

fn refuse(what: &str, words: &[&str], text: &str) {
    let output = run(what, words);
    let line = String::from_utf8_lossy(&output.stderr);
    let one = line.contains(text) && line.lines().count() == 1;
    assert!(!output.status.success() && one && output.stdout.is_empty(), "{what} {words:?}: {line}");
}

#[test]
fn what_cannot_be_measured_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().to_str().unwrap();
    let lib = dir.path().join("usr/lib");
    std::fs::create_dir_all(&lib).unwrap();
    let crypto = lib.join("libcrypto.so.3");
    // Beside the program, which root takes for a run: no module, and the one that cargo built.
    let none = env!("CARGO_BIN_EXE_adjunct-bench");
    let built = Path::new(none).with_file_name("libadjunct_openssl.so");
    let (module, built) = (["--module", none], built.to_str().unwrap());
    for what in ["openssl", "bulk", "accelerator"] {
        refuse(what, &["--noise", "--filter", "no such row"], "no row");
        refuse(what, &["--libcrypto", "/nonexistent.so"], "/nonexistent.so: ");
        refuse(what, &module, &format!("{none}: is not a provider of OpenSSL 3: "));
        refuse(what, &["--module", "/nonexistent.so"], "/nonexistent.so: No such file");
        refuse(what, &["--noise", "--json", "/nonexistent/rows.json"], "No such file");
        refuse(what, &["--noise", "--json", root], "this is a folder");
    }
    let newest = |text: &str| refuse("bulk", &["--newest", root, "--trust-module", "--module", built], text);
    refuse("bulk", &["--newest", "/nonexistent", "--module", built], "/nonexistent: no such folder");
    newest("no libcrypto.so");
    std::fs::write(&crypto, "text").unwrap();
    newest("no dynamic loader");
    copy(env!("CARGO_BIN_EXE_adjunct-bench"), &lib.join("ld-linux.so.2"));
    newest("not an ELF file");
    std::fs::write(&crypto, elf_of_another_architecture()).unwrap();
    newest("another architecture");
    std::fs::copy(env!("CARGO_BIN_EXE_adjunct-bench"), &crypto).unwrap();
    newest("does not run under its libraries");
    assert!(!Path::new("/nonexistent").exists());
}

/// The beginning of an ELF file for the SPARC.
fn elf_of_another_architecture() -> Vec<u8> {
    let mut header = b"\x7fELF\x02\x01\x01".to_vec();
    header.resize(64, 0);
    header[18] = 2;
    header
}
