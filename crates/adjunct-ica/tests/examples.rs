//! The examples in C, built by their Makefile with plain `cc ... -lica`, and run.

#![cfg(target_os = "linux")]

mod common;

use adjunct::catalogue::Function;
use common::{emulated, here, libraries, run, start};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The folder with the programs.
fn examples() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = libraries().join("examples");
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut make = Command::new("make");
        make.arg("-s").arg("-C").arg(here().join("../../examples/ica")).arg(format!("OUT={}", folder.display()));
        make.arg(format!("CC={}", std::env::var("CC").unwrap_or_else(|_| "cc".to_owned())));
        make.arg("CFLAGS=-O1 -Wall -Wextra -Werror").arg(format!("CPPFLAGS=-I{}", here().join("include").display()));
        make.arg(format!("LDFLAGS=-L{}", libraries().display()));
        run(&mut make);
        folder
    })
}

/// A program, in `folder`, that counts nothing.
fn program(name: &str, folder: &Path) -> Command {
    let mut command = start(&examples().join(name));
    command.env("LD_LIBRARY_PATH", libraries()).env("ADJUNCT_STATS", "off").current_dir(folder);
    command
}

/// Runs a command that has to fail, and gives what it said.
fn fails(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert_eq!(output.status.code(), Some(1), "{command:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn folder(name: &str) -> PathBuf {
    let folder = examples().join(format!("in-{name}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 31 + i / 251) as u8).collect()
}

#[test]
fn a_file_is_sealed_and_opened_again_and_a_changed_one_refused() {
    let folder = folder("gcmfile");
    let write = |name: &str, data: &[u8]| std::fs::write(folder.join(name), data).expect("written");
    let read = |name: &str| std::fs::read(folder.join(name)).expect("read");
    for (length, key) in [(0, 16), (1, 24), (15, 32), (16, 32), (1 << 20, 32), ((1 << 20) + 1, 16), (2_500_000, 32)] {
        write("plain", &bytes(length));
        write("key", &bytes(key));
        run(program("gcmfile", &folder).args(["encrypt", "key", "plain", "sealed"]));
        let sealed = read("sealed");
        assert_eq!(sealed.len(), 20 + length + 16);
        run(program("gcmfile", &folder).args(["decrypt", "key", "sealed", "opened"]));
        assert_eq!(read("opened"), bytes(length));
        std::fs::remove_file(folder.join("opened")).expect("removed");
        // A bit of the nonce, of the text, of the tag: an error that says what is wrong, and no output.
        let before = files(&folder);
        for at in [8, 20 + length / 2, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 4;
            write("changed", &changed);
            let said = fails(program("gcmfile", &folder).args(["decrypt", "key", "changed", "opened"]));
            assert!(said.contains("changed: the tag is wrong"), "{said}");
            std::fs::remove_file(folder.join("changed")).expect("removed");
            assert_eq!(files(&folder), before);
        }
    }
    write("short", b"ICAGCM1\n");
    for (arguments, wanted) in [
        (["decrypt", "key", "short", "opened"], "not a file of gcmfile"),
        (["decrypt", "key", "plain", "opened"], "not a file of gcmfile"),
        (["encrypt", "short", "plain", "opened"], "a key has 16, 24 or 32 bytes"),
        (["encrypt", "key", "none", "opened"], "No such file"),
        (["encrypt", "key", "plain", "none/opened"], "No such file"),
    ] {
        let said = fails(program("gcmfile", &folder).args(arguments));
        assert!(said.contains(wanted), "{said}");
    }
    assert_eq!(files(&folder), ["key", "plain", "sealed", "short"]);
    // Two messages of one file do not look alike.
    let first = read("sealed");
    run(program("gcmfile", &folder).args(["encrypt", "key", "plain", "sealed"]));
    assert_ne!(first[..36], read("sealed")[..36]);
}

#[test]
fn digests_are_those_of_the_system_s_programs() {
    let folder = folder("icasum");
    for length in [0, 1, 63, 64, 32 * 1024, 64 * 1024, 100_000] {
        std::fs::write(folder.join("file"), bytes(length)).expect("written");
        for algorithm in ["sha1", "sha224", "sha256", "sha384", "sha512"] {
            let ours = run(program("icasum", &folder).args(["-a", algorithm, "file"]));
            let theirs = run(Command::new(format!("{algorithm}sum")).arg("file").current_dir(&folder));
            assert_eq!(ours, theirs, "{length} bytes");
        }
        for algorithm in ["sha3-256", "sha3-512"] {
            let ours = run(program("icasum", &folder).args(["-a", algorithm, "file"]));
            let theirs = run(Command::new("openssl")
                .args(["dgst", "-r", &format!("-{algorithm}"), "file"])
                .current_dir(&folder)
                .env("OPENSSL_CONF", "/dev/null"));
            assert_eq!(ours.split(' ').next(), theirs.split(' ').next(), "{length} bytes");
        }
    }
    assert!(fails(program("icasum", &folder).arg("none")).contains("none: No such file"));
}

#[test]
fn a_key_is_made_signs_and_verifies() {
    let folder = folder("rsasign");
    std::fs::write(folder.join("file"), bytes(1000)).expect("written");
    // Making large keys takes an emulator long.
    let sizes = if emulated() { 1 } else { 3 };
    let counts = common::counted("examples", |run| {
        for bits in ["1024", "2048", "3072"].into_iter().take(sizes) {
            let said = run(program("rsasign", &folder).args([bits, "file"]));
            assert!(said.starts_with(&format!("RSA-{bits}: signed and verified file")), "{said}");
        }
    });
    match counts {
        Ok(Some(counts)) => {
            let counts = counts.function(Function::RsaCrt);
            assert!(counts.hardware_calls() + counts.software_calls() >= sizes as u64);
        }
        _ => println!("SKIPPED: no shared memory for counters here"),
    }
}

/// What pkg-config says for `name` in a package below a folder.
fn pkg_config(package: &Path, name: &str, what: &[&str]) -> String {
    let mut command = Command::new("pkg-config");
    command.args(what).arg(name).env("PKG_CONFIG_LIBDIR", package.join("pkgconfig"));
    // The folders of the system would be left out.
    run(command.env("PKG_CONFIG_ALLOW_SYSTEM_CFLAGS", "1").env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1"))
}

#[test]
fn pkg_config_builds_the_examples() {
    if !Command::new("pkg-config").arg("--version").status().is_ok_and(|status| status.success()) {
        println!("SKIPPED: no pkg-config here");
        return;
    }
    // As a package lays them out.
    let package = libraries().join("pkg-config");
    std::fs::create_dir_all(package.join("include")).expect("a folder");
    std::fs::copy(here().join("include/ica_api.h"), package.join("include/ica_api.h")).expect("the header");
    run(Command::new(here().join("pkgconfig")).arg(&package).arg(libraries()).arg(package.join("pkgconfig")));
    for name in ["libica", "libica-cex"] {
        assert_eq!(pkg_config(&package, name, &["--modversion"]), "4.4.0\n");
        let flags = pkg_config(&package, name, &["--cflags", "--libs"]);
        let out = package.join(format!("icasum-{name}"));
        let source = here().join("../../examples/ica/icasum.c");
        let mut compiler = common::compiler();
        run(compiler.args(["-Wall", "-Werror", "-o"]).arg(&out).arg(source).args(flags.split_whitespace()));
        let mut program = start(&out);
        let folder = folder("pkg-config");
        std::fs::write(folder.join("file"), "abc").expect("written");
        program.env("LD_LIBRARY_PATH", libraries()).env("ADJUNCT_STATS", "off").current_dir(folder);
        let said = run(program.arg("file"));
        assert_eq!(said, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  file\n");
    }
}
