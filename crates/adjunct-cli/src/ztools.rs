//! The tools for IBM Z, which are another program: started in place of this one where this one is called by the name of one.

use adjunct_survey::module::{self, Choice, Make, Purpose};
use adjunct_tool::Failure;
use adjunct_tool::failure::cause;
use adjunct_ztools::Name;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Where packages install it.
const FOLDER: &str = "/usr/libexec/adjunct";

/// Becomes the tool `name`, by the name that was called. Comes back only with what kept it from that.
pub fn start(name: Name, args: Vec<OsString>) -> Failure {
    let found = module::find_of(&Make::ZTOOLS, Choice::default(), Purpose::Run, || [PathBuf::from(FOLDER)]);
    let program = match found {
        Ok(program) => program,
        Err(failure) => return failure,
    };
    let mut args = args.into_iter();
    let called = args.next().unwrap_or_else(|| name.text().into());
    let error = Command::new(&program).arg0(called).args(args).exec();
    Failure::new(format!("{}: {}", program.display(), cause(&error)))
}
