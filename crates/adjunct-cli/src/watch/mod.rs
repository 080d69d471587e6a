//! What watches adjunct: `adjunct exporter` for Prometheus, `adjunct check` for monitors, `adjunct top` for people.
//!
//! All of them read the counters that exist anyway (`sample.rs`), with the same code as `adjunct stats` and `adjunct cards`; nothing is counted for
//! them alone.

pub mod check;
pub mod exporter;
mod ledger;
pub(crate) mod sample;
pub mod top;

use adjunct_tool::Failure;
use adjunct_tool::failure::cannot_write;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Replaces a file by `text` in one step, so that no reader sees half of it.
///
/// # Errors
/// [`Failure`] that names the file.
fn replace(file: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: &std::io::Error| cannot_write(file, error);
    let mut new = tempfile::Builder::new()
        .prefix(".adjunct-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
        .map_err(|error| failed(&error))?;
    new.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    // The mask of the program has nothing to say here: who reads the file is another user.
    new.as_file().set_permissions(Permissions::from_mode(mode)).map_err(|error| failed(&error))?;
    new.persist(file).map_err(|error| failed(&error.error))?;
    Ok(())
}
