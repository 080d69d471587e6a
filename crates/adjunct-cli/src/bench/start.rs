//! `adjunct-bench` in this command's place: what measures links what nothing else here needs.

use crate::module::{self, Choice, Make, Purpose};
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Where the package has the program.
const INSTALLED: &str = "/usr/libexec/adjunct";

/// Puts `adjunct-bench` in this process's place, with the words that this command was called with. What started this command, a loader of
/// another system for example, starts it.
///
/// # Errors
/// [`Failure`] where it is not there, or one that root must not run, or does not start.
pub fn start() -> Result<ExitCode, Failure> {
    let program = module::find_of(&Make::BENCH, Choice::default(), Purpose::Run, || [PathBuf::from(INSTALLED)])?;
    let words = std::fs::read("/proc/self/cmdline").map_err(|e| Failure::new(format!("/proc/self/cmdline: {e}")))?;
    let mut words = words.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect::<Vec<_>>();
    // Behind the last zero is nothing.
    words.pop();
    // A loader's own words come before the program's name.
    let loaders = words.len().saturating_sub(std::env::args_os().len());
    let mut command = Command::new(if loaders == 0 { program.as_path() } else { Path::new("/proc/self/exe") });
    if let Some(name) = words.first() {
        command.arg0(name);
    }
    if loaders > 0 {
        words[loaders] = program.clone().into_os_string();
    }
    command.args(words.into_iter().skip(1));
    Err(Failure::new(format!("{}: {}", program.display(), cause(&command.exec()))))
}
