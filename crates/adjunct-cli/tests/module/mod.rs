//! The module that tests of `adjunct openssl` name in configurations.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A module that loads: adjunct's own where it is built, else any provider of OpenSSL's, under adjunct's name.
pub fn module() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_BIN_EXE_adjunct")).with_file_name("libadjunct_openssl.so");
    let said = Command::new("openssl").args(["version", "-m"]).output().ok()?.stdout;
    let folder = String::from_utf8(said).ok()?.split('"').nth(1).map(PathBuf::from)?;
    let found = [beside, folder.join("adjunct.so"), folder.join("legacy.so")].into_iter().find(|p| p.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: no provider module on this machine");
    }
    found
}
