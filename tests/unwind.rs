//! The modules have the unwinder in themselves: none loads libgcc_s, and panics are caught without it.

use std::path::Path;
use std::process::Command;

#[test]
fn no_module_needs_the_shared_unwinder() {
    let panics = Path::new(env!("CARGO_BIN_EXE_adjunct-panics"));
    let modules = ["openssl", "engine", "pkcs11"].map(|name| panics.with_file_name(format!("libadjunct_{name}.so")));
    for file in modules.iter().map(|module| module.as_path()).chain([panics]) {
        let bytes = std::fs::read(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let has = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
        assert!(!has(b"libgcc_s.so.1\0"), "{} needs libgcc_s", file.display());
        // It would take glibc 2.35.
        assert!(!has(b"\0_dl_find_object\0"), "{} asks the C library for what to unwind", file.display());
    }
}

#[test]
fn panics_are_caught() {
    let outcome = Command::new(env!("CARGO_BIN_EXE_adjunct-panics")).env("ADJUNCT_STATS", "off").status().unwrap();
    assert!(outcome.success(), "{outcome}");
}
