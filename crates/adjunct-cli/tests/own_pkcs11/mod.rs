//! adjunct's PKCS #11 module, for tests of what loads one.

use std::path::{Path, PathBuf};

/// adjunct's own module, as cargo builds it for this crate.
pub fn own_pkcs11() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_adjunct")).parent()?;
    let found = [folder.to_owned(), folder.join("deps")].map(|folder| folder.join("libadjunct_pkcs11.so"));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: libadjunct_pkcs11.so is not built");
    }
    found
}
