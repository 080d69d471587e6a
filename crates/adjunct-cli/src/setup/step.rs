//! A step of the way: another command of this program, run to its end.
//!
//! Each command makes its change or leaves everything as it was, also when it is asked to end. So setup asks a command to end and waits for it, and
//! does not kill it in the middle of a change.

use adjunct_survey::module;
use adjunct_tool::interrupt::interrupted;
use adjunct_tool::process::tree::{kill, kill_tree};
use adjunct_tool::process::{Outcome, captured, last_line};
use adjunct_tool::{Failure, failure::cause};
use rustix::process::Signal;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a command may take by itself, and to end after it was asked to.
const LIMIT: Duration = Duration::from_secs(1800);
const END: Duration = Duration::from_secs(150);

/// A command that ran.
#[derive(Debug)]
pub(super) struct Ran(Outcome);

impl Ran {
    /// The JSON report of a command with `--json`.
    pub fn report(&self) -> Option<Value> {
        serde_json::from_slice(&self.0.stdout).ok()
    }

    /// The JSON report of a command that had to succeed.
    ///
    /// # Errors
    /// It failed: why.
    pub fn succeeded(&self) -> Result<Value, Failure> {
        match self.report() {
            Some(report) if self.code() == 0 => Ok(report),
            _ => Err(Failure::new(self.why())),
        }
    }

    /// Text that the command printed.
    pub fn said(&self) -> String {
        self.0.text()
    }

    /// Exit code of the command; -1 where a signal ended it.
    pub fn code(&self) -> i32 {
        self.0.code().unwrap_or(-1)
    }

    /// The line in which it said why it failed.
    pub fn why(&self) -> String {
        if self.0.stderr.trim().is_empty() {
            return self.0.why();
        }
        let said = last_line(&self.0.stderr);
        said.strip_prefix("adjunct: ").unwrap_or(said).to_owned()
    }
}

/// Runs this program with other arguments; `tick` is told now and then for how long it has run.
///
/// # Errors
/// It cannot be started, takes too long, or does not end when it is asked to.
pub(super) fn run(args: &[&str], tick: impl FnMut(Duration)) -> Result<Ran, Failure> {
    run_while(args, tick, || interrupted().is_ok())
}

/// Runs this program with other arguments to take something back; a signal that has come to this process does not end it.
///
/// # Errors
/// It cannot be started, or takes too long.
pub(super) fn run_to_end(args: &[&str]) -> Result<Ran, Failure> {
    run_while(args, |_| {}, || true)
}

fn run_while(args: &[&str], mut tick: impl FnMut(Duration), wanted: impl Fn() -> bool) -> Result<Ran, Failure> {
    let said = format!("adjunct {}", args.join(" "));
    let failed = |e: std::io::Error| format!("{said}: {}", cause(&e));
    let mut command = Command::new(module::program().map_err(|e| Failure::new(failed(e)))?);
    let ran = captured(command.args(args).stdin(Stdio::null()), |child| {
        let start = Instant::now();
        let mut asked = None;
        loop {
            if let Some(status) = child.try_wait().map_err(failed)? {
                return Ok(status);
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
                return Err(format!("{said} did not end and was killed"));
            }
            tick(start.elapsed());
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    ran.map(Ran).map_err(Failure::new)
}
