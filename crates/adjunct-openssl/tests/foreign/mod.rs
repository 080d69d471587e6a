//! Foreign programs for the tests: C, compiled against the system's OpenSSL, so that nothing of Rust or of the CPU library
//! is in the process but what the module brings.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The module as cargo built it for these tests: beside the test program.
pub fn module() -> PathBuf {
    let module = std::env::current_exe().expect("a path").with_file_name("libadjunct_openssl.so");
    assert!(module.is_file(), "{} is missing", module.display());
    module
}

/// Compiles `tests/NAME/program.c`.
pub fn compile(name: &str) -> PathBuf {
    build(&format!("{name}/program.c"), name, &[], &["-lcrypto", "-ldl"])
}

/// Compiles `tests/NAME/program.c` with other options to a program of another name.
pub fn compile_with(name: &str, program: &str, options: &[&str]) -> PathBuf {
    build(&format!("{name}/program.c"), program, options, &["-lcrypto", "-ldl"])
}

/// Compiles `tests/NAME/program.c`, which does TLS.
pub fn compile_tls(name: &str) -> PathBuf {
    build(&format!("{name}/program.c"), name, &[], &["-lssl", "-lcrypto"])
}

/// Compiles `tests/NAME/program.c` with libssl and libcrypto inside; `None` where there is no `libcrypto.a`.
pub fn compile_static(name: &str) -> Option<PathBuf> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let find = |archive: &str| {
        let found = Command::new(&compiler).arg(format!("-print-file-name={archive}")).output().ok()?;
        // A bare name is none that was found.
        let path = String::from_utf8(found.stdout).ok()?.trim().to_owned();
        Path::new(&path).is_absolute().then_some(path)
    };
    let (ssl, crypto) = (find("libssl.a")?, find("libcrypto.a")?);
    Some(build(&format!("{name}/program.c"), &format!("{name}-static"), &[], &[&ssl, &crypto, "-ldl"]))
}

/// Compiles `tests/SOURCE` to a shared library.
pub fn compile_library(source: &str, name: &str) -> PathBuf {
    build(source, name, &["-shared", "-fPIC"], &[])
}

fn build(source: &str, name: &str, kind: &[&str], libraries: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Moved to its place when whole: a test run beside this one never runs a half-written program.
    let (unfinished, program) = (folder.join(format!("{name}-{}", std::process::id())), folder.join(name));
    // In another system's root, which has no compiler, by tests/versions.
    if std::env::var_os("ADJUNCT_TESTS_COMPILED").is_some() {
        assert!(
            program.is_file(),
            "{} is missing: run this test without ADJUNCT_TESTS_COMPILED first",
            program.display()
        );
        return program;
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(&compiler)
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-Wl,-z,now"])
        .args(kind)
        .arg("-o")
        .args([&unfinished, &source])
        .args(libraries)
        .output()
        .unwrap_or_else(|e| panic!("{compiler}: {e}; a C compiler is needed"));
    assert!(built.status.success(), "libssl-dev is needed:\n{}", String::from_utf8_lossy(&built.stderr));
    std::fs::rename(&unfinished, &program).expect("the program is moved to its place");
    program
}

/// A configuration that activates the default provider and ours; `more` are further lines of our section.
pub fn config(folder: &Path, more: &str) -> PathBuf {
    let path = folder.join("openssl.cnf");
    let text = format!(
        "openssl_conf = main\n[main]\nproviders = providers\n[providers]\ndefault = stock\nadjunct = ours\n[stock]\n\
         activate = 1\n[ours]\nmodule = {}\nactivate = 1\n{more}",
        module().display()
    );
    std::fs::write(&path, text).expect("the configuration is written");
    path
}
