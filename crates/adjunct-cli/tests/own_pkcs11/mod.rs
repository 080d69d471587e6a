//! adjunct's PKCS #11 module, for tests of what loads one.

use std::path::{Path, PathBuf};

/// adjunct's own module, of the build that this test is of.
pub fn own_pkcs11() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let folder = test.parent().and_then(Path::parent)?;
    let found = [folder.to_owned(), folder.join("deps")].map(|folder| folder.join("libadjunct_pkcs11.so"));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: libadjunct_pkcs11.so is not built");
    }
    found
}
