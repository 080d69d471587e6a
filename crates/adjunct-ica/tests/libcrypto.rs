//! Curve448, which is libcrypto's: in programs that have none, with a configuration that must not be read, and without a libcrypto.

#![cfg(target_os = "linux")]

mod common;

use common::{compiler, here, libraries, run, start};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that links neither libica nor libcrypto.
fn alone() -> PathBuf {
    let program = libraries().join(format!("alone-{:?}", std::thread::current().id()));
    let mut compiling = compiler();
    compiling.args(["-O1", "-Wall", "-Wextra", "-Werror", "-I"]).arg(here().join("include")).arg("-o").arg(&program);
    run(compiling.arg(here().join("tests/libcrypto/alone.c")).arg("-ldl"));
    program
}

fn command(program: &Path, what: &str) -> Command {
    let mut command = start(program);
    command.arg(libraries().join("libica.so.4")).arg(what);
    command.env("ADJUNCT_STATS", "off").env_remove("LD_LIBRARY_PATH");
    command
}

/// Reading a configuration that is a FIFO would block without end.
#[test]
fn curve448_is_there_before_any_configuration_is_read() {
    let fifo = libraries().join("openssl.cnf");
    run(Command::new("mkfifo").arg(&fifo));
    assert_eq!(run(command(&alone(), "with").env("OPENSSL_CONF", &fifo)), "good\n");
}

#[test]
fn no_file_has_to_be_opened_later() {
    assert_eq!(run(command(&alone(), "busy").env("OPENSSL_CONF", "/dev/null")), "good\n");
}

/// A libcrypto without anything in it hides the system's.
#[test]
fn without_libcrypto_only_curve448_is_missing() {
    let folder = libraries().join("empty");
    std::fs::create_dir_all(&folder).expect("a folder");
    for version in [3, 4] {
        let name = format!("libcrypto.so.{version}");
        let mut compiling = compiler();
        compiling.args(["-shared", "-x", "c", "/dev/null"]).arg(format!("-Wl,-soname,{name}"));
        run(compiling.arg("-o").arg(folder.join(name)));
    }
    assert_eq!(run(command(&alone(), "without").env("LD_LIBRARY_PATH", folder)), "good\n");
}
