//! The folder in which the command keeps data between runs, for the user who runs it.

use std::path::PathBuf;

/// The folder: below `XDG_STATE_HOME`, or `.local/state` in the home; none where neither is set. It may not be there yet.
pub fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_STATE_HOME").filter(|folder| folder.is_absolute());
    Some(folder.or_else(|| set("HOME").map(|home| home.join(".local/state")))?.join("adjunct"))
}

/// The folder where the command keeps its state, made if it does not exist; only this user opens it. `None` where neither `XDG_STATE_HOME` nor `HOME`
/// is set.
///
/// # Errors
/// As `mkdir(2)`.
pub fn made() -> std::io::Result<Option<PathBuf>> {
    use std::os::unix::fs::DirBuilderExt;
    let Some(folder) = folder() else { return Ok(None) };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    Ok(Some(folder))
}
