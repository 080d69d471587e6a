//! A program with libcrypto linked into it: nothing can be handed to its default provider, so nothing is taken from it either.

mod foreign;

use std::path::Path;
use std::process::Command;

#[test]
fn a_static_libcrypto_keeps_what_could_not_be_handed_back() {
    let Some(program) = foreign::compile_static("static_program") else {
        println!("SKIPPED: no libcrypto.a here");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let ours = foreign::config(folder.path(), "");
    let stock = folder.path().join("stock.cnf");
    std::fs::write(&stock, "").expect("the configuration is written");
    let run = |config: &Path| {
        let output = Command::new(&program).arg(config).env("OPENSSL_CONF", "/dev/null").output().expect("it runs");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{out}{err}");
        assert_eq!(err, "");
        out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let (ours, stock) = (run(&ours), run(&stock));
    assert!(stock.iter().filter(|line| line.ends_with("works, errors none")).count() == 12, "{stock:#?}");
    let results = |lines: &[String]| lines.iter().filter(|line| line.contains(": ")).cloned().collect::<Vec<_>>();
    assert_eq!(results(&ours), results(&stock));
    // The module is loaded, and what needs nothing of libcrypto is its own.
    assert!(
        ours.contains(&"adjunct is there".to_owned()) && ours.contains(&"cipher of adjunct".to_owned()),
        "{ours:#?}"
    );
}
