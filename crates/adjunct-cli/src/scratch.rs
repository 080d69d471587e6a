//! Temporary files and folders, gone when they are dropped.

use crate::Failure;
use crate::failure::cause;
use std::fs::Permissions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::{Builder, NamedTempFile, TempDir};

/// Sees to it that the folder for temporary files takes what a session needs: keys, logs, data. Programs that find it full
/// say anything, or nothing.
///
/// # Errors
/// [`Failure`] that names the folder.
pub(crate) fn room() -> Result<(), Failure> {
    /// More than twice what a login check writes.
    const NEEDED: usize = 2 << 20;
    let written = Builder::new().prefix("adjunct-").tempfile().and_then(|mut file| {
        // Written, not only set aside: some file systems promise more than they have.
        file.write_all(&vec![0x5a; NEEDED])?;
        file.as_file().sync_data()
    });
    written.map_err(|e| no_room(&e))
}

fn no_room(error: &io::Error) -> Failure {
    let folder = std::env::temp_dir();
    let folder = folder.display();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Failure::new(format!(
            "{folder}: the folder for temporary files is full, or nearly (2 MiB are needed); make room, or name another by TMPDIR"
        )),
        _ => Failure::new(format!("{folder}: {}; the folder for temporary files can be named by TMPDIR", cause(error))),
    }
}

/// A folder that only this user opens (mode 0700).
///
/// # Errors
/// [`Failure`] that names the folder for temporary files.
pub(crate) fn folder() -> Result<TempDir, Failure> {
    Builder::new().prefix("adjunct-").permissions(Permissions::from_mode(0o700)).tempdir().map_err(|e| no_room(&e))
}

/// A configuration of OpenSSL that only this user reads.
pub(crate) fn config(text: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = Builder::new().prefix("adjunct-").suffix(".cnf").tempfile()?;
    file.write_all(text)?;
    Ok(file)
}

/// An empty file in `folder`, to be filled and renamed. The umask takes from its mode.
pub(crate) fn beside(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    Builder::new().prefix(".adjunct-").suffix(".tmp").permissions(Permissions::from_mode(mode)).tempfile_in(folder)
}

/// A file in `folder` of exactly this mode, whole on disk, to be renamed.
pub(crate) fn whole(folder: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let mut file = beside(folder, 0o600)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    Ok(file)
}
