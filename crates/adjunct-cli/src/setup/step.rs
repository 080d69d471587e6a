//! A step of the way: another command of this program, run to its end.
//!
//! Each command is whole by itself: it makes its change or leaves everything as it was, also when it is asked to end. So it is asked, and
//! waited for, and not killed in the middle of a change.

use crate::failure::cause;
use crate::interrupt::interrupted;
use crate::process::tree::{kill, kill_tree};
use crate::{Failure, files, module};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::io::Seek;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How long a command may take by itself, and to end after it was asked to.
const LIMIT: Duration = Duration::from_secs(1800);
const END: Duration = Duration::from_secs(150);
/// The most that one has to say, in bytes.
const LONGEST: u64 = 16 << 20;

/// A command that ran.
#[derive(Debug)]
pub(super) struct Ran {
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: String,
}

impl Ran {
    /// Its report, of a command with `--json`.
    pub fn report(&self) -> Option<Value> {
        serde_json::from_slice(&self.stdout).ok()
    }

    /// What it said.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Its exit code; -1 where a signal ended it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
    }

    /// The line in which it said why it failed.
    pub fn why(&self) -> String {
        let said = self.stderr.lines().map(str::trim).rfind(|line| !line.is_empty());
        let said = said.map(|line| line.strip_prefix("adjunct: ").unwrap_or(line).to_owned());
        said.unwrap_or_else(|| format!("it ended with {} and gave no reason", self.status))
    }
}

/// Runs this program with other arguments; `tick` is told now and then for how long it has run.
///
/// # Errors
/// It cannot be started, takes too long, or does not end when it is asked to.
pub(super) fn run(args: &[&str], tick: impl FnMut(Duration)) -> Result<Ran, Failure> {
    run_while(args, tick, || interrupted().is_ok())
}

/// Runs this program with other arguments to take something back: no signal that has come to this process ends it.
///
/// # Errors
/// It cannot be started, or takes too long.
pub(super) fn run_to_end(args: &[&str]) -> Result<Ran, Failure> {
    run_while(args, |_| {}, || true)
}

fn run_while(args: &[&str], mut tick: impl FnMut(Duration), wanted: impl Fn() -> bool) -> Result<Ran, Failure> {
    let failed = |e: std::io::Error| Failure::new(format!("adjunct {}: {}", args.join(" "), cause(&e)));
    let memory = || rustix::fs::memfd_create(c"adjunct", rustix::fs::MemfdFlags::CLOEXEC).map(File::from);
    let (mut stdout, mut stderr) = (memory().map_err(|e| failed(e.into()))?, memory().map_err(|e| failed(e.into()))?);
    let mut command = Command::new(module::program().map_err(failed)?);
    command.args(args).stdin(Stdio::null());
    command.stdout(stdout.try_clone().map_err(failed)?).stderr(stderr.try_clone().map_err(failed)?);
    let mut child = command.spawn().map_err(failed)?;
    let start = Instant::now();
    let mut asked = None;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        let late = start.elapsed() > LIMIT;
        if asked.is_none() && (late || !wanted()) {
            // A terminal's interrupt has reached it already; a signal to this process alone has not.
            kill(child.id(), Signal::TERM);
            asked = Some(Instant::now());
        }
        if asked.is_some_and(|asked| asked.elapsed() > END) {
            kill_tree(child.id());
            let _ = child.wait();
            return Err(Failure::new(format!("adjunct {} did not end and was killed", args.join(" "))));
        }
        tick(start.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    };
    let read = |file: &mut File| file.rewind().and_then(|()| files::all(file, LONGEST)).map_err(failed);
    let (stdout, stderr) = (read(&mut stdout)?, read(&mut stderr)?);
    Ok(Ran { status, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() })
}
