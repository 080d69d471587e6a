//! Other programs of the package in this command's place: each links what nothing else needs.

use adjunct_survey::module::{self, Choice, Make, Purpose};
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the package has these programs.
const INSTALLED: &str = "/usr/libexec/adjunct";

/// Puts `adjunct-bench` in this process's place, with the words that this command was called with. Returns only why it did not start.
pub fn bench() -> Failure {
    start(&Make::BENCH, None).unwrap_or_else(|failure| failure)
}

/// Puts the program of the tools for IBM Z in this process's place, as the tool by whose name this command was called. Returns only why it did
/// not start.
pub fn tool(name: adjunct_ztools::Name) -> Failure {
    start(&Make::ZTOOLS, Some(name.text())).unwrap_or_else(|failure| failure)
}

/// Starts the program by what started this command: by itself, or a loader, of another system for example. A loader gives the program its path
/// as the first word; `name` is then the second.
fn start(make: &Make, name: Option<&str>) -> Result<Failure, Failure> {
    let program = module::find_of(make, Choice::default(), Purpose::Run, || [PathBuf::from(INSTALLED)])?;
    // Run by a loader, the file that runs is the loader's.
    let own = ["/proc/self/exe".into()].into_iter().chain(module::program().ok());
    if own.into_iter().any(|own: PathBuf| is_same(&own, &program)) {
        return Err(Failure::new(format!(
            "{}: leads to this command itself; install the package again",
            program.display()
        )));
    }
    let words = std::fs::read("/proc/self/cmdline").map_err(|e| Failure::new(format!("/proc/self/cmdline: {e}")))?;
    let mut words = words.split(|&byte| byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect::<Vec<_>>();
    // Behind the last zero is nothing.
    words.pop();
    // A loader's own words come before the program's name.
    let loaders = words.len().saturating_sub(std::env::args_os().len());
    let mut command = Command::new(if loaders == 0 { program.as_path() } else { Path::new("/proc/self/exe") });
    if let Some(called) = words.first() {
        command.arg0(called);
    }
    if loaders > 0 {
        words[loaders] = program.clone().into_os_string();
        words.splice(loaders + 1..loaders + 1, name.map(OsString::from));
    }
    command.args(words.into_iter().skip(1));
    Ok(Failure::new(format!("{}: {}", program.display(), cause(&command.exec()))))
}

/// Whether two paths lead to one file, which may have several names.
fn is_same(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| std::fs::metadata(path).map(|about| (about.dev(), about.ino())).ok();
    id(one).is_some() && id(one) == id(other)
}
