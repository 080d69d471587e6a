//! Copies of programs that tests then start.

use std::path::Path;
use std::process::Command;

/// Copies a program by a process of its own. A descriptor for writing in this one would go to whatever another test's thread forks
/// meanwhile, and while that holds it the copy could not be started ("Text file busy").
pub fn copy(program: impl AsRef<Path>, to: &Path) {
    let status = Command::new("cp").arg(program.as_ref()).arg(to).status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "cp to {}: {status:?}", to.display());
}
