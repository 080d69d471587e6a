//! TLS with each group of algorithms by itself, and with libcrypto in the program: both sides agree on the same as with stock OpenSSL.

mod foreign;

use std::path::Path;
use std::process::Command;

fn run(program: &Path, config: &Path) -> (String, bool) {
    let output = Command::new(program).arg(config).env("OPENSSL_CONF", "/dev/null").output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
}

/// Compares what the program prints with no configuration, and with each group of adjunct's algorithms.
fn compare(program: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let stock = folder.path().join("stock.cnf");
    std::fs::write(&stock, "").expect("the configuration is written");
    let (stock, good) = run(program, &stock);
    assert!(good && stock.lines().count() == 2, "{stock}");
    for groups in ["ALL", "RSA", "EC", "CIPHERS", "DIGESTS", "MACS", "KEM", "RSA,EC", "CIPHERS,DIGESTS,MACS"] {
        let ours = foreign::config(folder.path(), &format!("algorithms = {groups}\n"));
        let text = std::fs::read_to_string(&ours).expect("the configuration");
        let preferred = text.replace("[main]\n", "[main]\nalg_section = preferred\n");
        std::fs::write(&ours, preferred + "[preferred]\ndefault_properties = ?provider=adjunct\n")
            .expect("it is written");
        assert_eq!(run(program, &ours), (stock.clone(), true), "algorithms = {groups}");
    }
}

#[test]
fn tls_needs_no_group_of_algorithms() {
    compare(&foreign::compile_tls("handshake"));
}

#[test]
fn tls_in_a_program_that_has_libcrypto_in_itself() {
    match foreign::compile_static("handshake") {
        Some(program) => compare(&program),
        None => println!("SKIPPED: no libssl.a and libcrypto.a here"),
    }
}
