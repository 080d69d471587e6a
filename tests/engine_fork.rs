//! A child forked while another thread is within OpenSSL: the engine that the provider registers takes no lock that stock
//! OpenSSL does not take (`battery/fork.c`).
//!
//! `ADJUNCT_DEEP=1` also counts, of 2000 children beside busy threads, how many hang: OpenSSL's own locks make some, with stock
//! as with adjunct.

use adjunct_e2e::deep;
use adjunct_e2e::lab::{Lab, adjunct_conf};
use adjunct_e2e::system::System;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn program(lab: &Lab) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("battery/fork.c");
    let program = lab.path("fork");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    command.args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg(source).arg("-lcrypto");
    let built = command.output().unwrap_or_else(|e| panic!("{compiler}: {e}; a C compiler is needed"));
    assert!(built.status.success(), "libssl-dev is needed:\n{}", String::from_utf8_lossy(&built.stderr));
    program
}

fn run(lab: &Lab, system: &System, program: &Path, conf: &Path, args: &[&str]) -> String {
    let mut command = system.run(program);
    command.args(args).env("OPENSSL_CONF", conf).envs(lab.environment()).stdin(Stdio::null());
    let out = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{}, {}: {}: {said}", system.name, conf.display(), out.status);
    String::from_utf8_lossy(&out.stdout).trim().to_owned()
}

/// The configurations: stock, what `enable` writes for sshd, and all that can be asked for.
fn configurations(lab: &Lab) -> [PathBuf; 3] {
    let own =
        |name: &str, engine: &str| lab.write(name, adjunct_conf(&lab.module(), &format!("engine = {engine}"), ""));
    [lab.stock().to_owned(), own("asked.cnf", "RSA,EC"), own("all.cnf", "ALL")]
}

/// Deterministic: the lock is held by a thread that is not in the child.
#[test]
fn a_child_needs_no_lock_of_engines() {
    let lab = Lab::new();
    let program = program(&lab);
    for system in if deep() { System::all() } else { vec![System::here()] } {
        for conf in configurations(&lab) {
            assert_eq!(run(&lab, &system, &program, &conf, &["held"]), "good", "{}, {}", system.name, conf.display());
        }
    }
}

/// An engine's ciphers and digests need that lock at each use. They are not registered, and why is said.
#[test]
fn ciphers_and_digests_are_refused_with_the_reason() {
    let lab = Lab::new();
    for (word, said) in [("CIPHERS", true), ("RSA,DIGESTS", true), ("ALL", false)] {
        let conf = lab.write("words.cnf", adjunct_conf(&lab.module(), &format!("engine = {word}"), ""));
        let out = lab.try_openssl(&System::here(), &conf, &["dgst", "-sha256", "-r"], b"abc");
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.stdout.starts_with(b"ba7816bf"), "{word}: {text}");
        assert_eq!(text.contains("is refused: libcrypto takes a lock"), said, "{word}: {text}");
        assert_eq!(text.lines().count(), usize::from(said), "{word}: {text}");
    }
}

#[test]
fn no_more_children_hang_than_with_stock() {
    if !deep() {
        return;
    }
    let lab = Lab::new();
    let (program, system) = (program(&lab), System::here());
    for work in ["keys", "all"] {
        let hung = configurations(&lab).map(|conf| {
            let said = run(&lab, &system, &program, &conf, &["count", "2000", work]);
            said.parse::<u32>().unwrap_or_else(|_| panic!("{work}, {}: {said}", conf.display()))
        });
        println!("{work}: of 2000 children hung with stock, engine = RSA,EC and engine = ALL: {hung:?}");
        // Two counts of the same rate differ by chance: by less than this in all but one of ten thousand.
        let bound = hung[0] + 8 + 6 * f64::from(hung[0]).sqrt() as u32;
        assert!(hung.iter().all(|&own| own <= bound), "{work}: {hung:?}, at most {bound}");
    }
}
