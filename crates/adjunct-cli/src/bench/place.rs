//! Where the provider module and the command itself lie.

use super::Error;
use super::libcrypto::Functions;
use crate::Failure;
use std::path::{Path, PathBuf};

/// The module to measure: the one that was named, or the one found.
///
/// # Errors
/// [`Failure`] where there is none.
pub fn module(named: Option<&Path>, library: &Functions) -> Result<PathBuf, Failure> {
    match named {
        Some(path) => Ok(std::path::absolute(path).map_err(Error::Io)?),
        None => find_module(library).ok_or_else(|| Failure::new("adjunct.so not found; say --module PATH")),
    }
}

/// The module beside the command (a build's, an installation's), or where this libcrypto looks for modules.
fn find_module(library: &Functions) -> Option<PathBuf> {
    let beside = |path: PathBuf| path.parent().map(Path::to_owned);
    [std::env::current_exe().ok().and_then(beside), called().and_then(beside), library.modules_directory()]
        .into_iter()
        .flatten()
        .flat_map(|folder| ["adjunct.so", "libadjunct_openssl.so"].map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

/// What the command was called by. Run by a loader of another root, the command is its argument, not the running program.
fn called() -> Option<PathBuf> {
    std::env::args_os().next().map(PathBuf::from).and_then(|p| std::path::absolute(p).ok())
}

/// The file of this command.
///
/// # Errors
/// Where the system does not say.
pub fn command() -> std::io::Result<PathBuf> {
    let running = std::env::current_exe()?;
    let by_loader = running.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-"));
    Ok(if by_loader { called().unwrap_or(running) } else { running })
}
