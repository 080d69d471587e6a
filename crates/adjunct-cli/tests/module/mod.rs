//! The module that tests of `adjunct openssl` name in configurations.

use std::path::PathBuf;
use std::process::Command;

/// A module that loads: adjunct's own where it is built, else any provider of OpenSSL's, under adjunct's name.
pub fn module() -> Option<PathBuf> {
    // Of the build that this test is of: beside the folder of tests.
    let test = std::env::current_exe().ok()?;
    let beside = test.ancestors().nth(2)?.join("libadjunct_openssl.so");
    let said = Command::new("openssl").args(["version", "-m"]).output().ok()?.stdout;
    let folder = String::from_utf8(said).ok()?.split('"').nth(1).map(PathBuf::from)?;
    let found = [beside, folder.join("adjunct.so"), folder.join("legacy.so")].into_iter().find(|p| p.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: no provider module on this machine");
    }
    found
}
