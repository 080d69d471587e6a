//! Scripts that tests then start.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes a script that can be started, in a process of its own, for the reason given in `copy`: the kernel refuses to start a script that any
/// process has open for writing.
pub fn script(path: &Path, text: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", "cat >\"$1\" && chmod 755 \"$1\"", "sh"]).arg(path).stdin(Stdio::piped());
    let mut writer = command.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let status = writer.wait().unwrap();
    assert!(status.success(), "{}: {status}", path.display());
}
