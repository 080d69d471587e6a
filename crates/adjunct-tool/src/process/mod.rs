//! Programs that this command runs: to their end within a time limit, or watched while they run; ended by their number.
//!
//! `environment` has changes of a program's variables. `halves` places servers and their load apart; `tree` knows the processes below another
//! one, and what sessions leave behind.

mod environment;
pub mod halves;
pub mod tree;

use crate::Failure;
use crate::failure::cause;
use crate::files;
use crate::interrupt::interrupted;
pub use environment::Environment;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Seek;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
pub use tree::descendants;

/// How long a program may take, where nothing else is said, before it is ended: as long as sshd gives a login (`LoginGraceTime`). A machine that
/// is busy, or stands still for some time, is not to be taken for a program that hangs.
pub const LIMIT: Duration = Duration::from_secs(120);
/// More than this no program here has to say.
const LONGEST: u64 = 64 << 20;

/// The exit code of a child that found no program to execute.
const NOT_FOUND: i32 = 127;

/// Whether there is no such program, by its path or in the folders of `PATH`. Starting it does not always tell: qemu's user mode runs a
/// child of vfork as one of fork, whose failed exec the C library does not see. It then ends with [`NOT_FOUND`].
fn nowhere(program: &OsStr) -> bool {
    if program.as_bytes().contains(&b'/') {
        return !Path::new(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    !std::env::split_paths(&path).any(|folder| folder.join(program).exists())
}

/// How a program ended and what it wrote.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Whether the program ended with status 0.
    pub success: bool,
    /// Standard output of the program.
    pub stdout: Vec<u8>,
    /// Standard error of the program, as text.
    pub stderr: String,
    status: ExitStatus,
}

impl Outcome {
    /// Why the program failed: the first line it said, or how it ended.
    pub fn why(&self) -> String {
        use std::os::unix::process::ExitStatusExt;
        let said = self.stderr.lines().map(str::trim).find(|l| !l.is_empty());
        match (self.status.signal(), said) {
            (Some(signal), _) => format!("it crashed (signal {signal})"),
            (None, Some(said)) => said.to_owned(),
            (None, None) => format!("it ended with {} and gave no reason", self.status),
        }
    }

    /// Exit code of the program; `None` where a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Runs a program without input to its end, or to its time limit.
///
/// # Errors
/// One line: it cannot be started, or was ended.
pub fn run(command: &mut Command) -> Result<Outcome, String> {
    run_within(LIMIT, command.stdin(Stdio::null()))
}

/// Runs a program, with the standard input that it was given, to its end, or to `limit`.
///
/// # Errors
/// One line: it cannot be started, or was ended.
pub fn run_within(limit: Duration, command: &mut Command) -> Result<Outcome, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    captured(command, |child| {
        let start = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Err(e) => return Err(format!("{name}: {e}")),
                Ok(None) => {}
            }
            let stop = interrupted().err().map(|e| e.to_string());
            if stop.is_some() || start.elapsed() > limit {
                tree::kill_tree(child.id());
                let _ = child.wait();
                return Err(stop.unwrap_or_else(|| format!("{name} did not end within {} seconds", limit.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    })
}

/// Runs a program with the standard input that it was given; `end` waits for its end, and ends it where that takes too long.
///
/// # Errors
/// One line: it cannot be started, or what `end` says.
pub fn captured(
    command: &mut Command,
    end: impl FnOnce(&mut Child) -> Result<ExitStatus, String>,
) -> Result<Outcome, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    // Files in place of pipes: a program that writes much does not wait for us, and we do not wait for its children. In
    // memory: what a program says does not depend on room in the folder for temporary files.
    let file = || {
        let made = rustix::fs::memfd_create(c"adjunct", rustix::fs::MemfdFlags::CLOEXEC);
        made.map(File::from).map_err(|e| format!("a file in memory: {e}"))
    };
    let (mut stdout, mut stderr) = (file()?, file()?);
    let share = |f: &File| f.try_clone().map(Stdio::from).map_err(|e| e.to_string());
    command.stdout(share(&stdout)?).stderr(share(&stderr)?);
    let mut child = command.spawn().map_err(|e| format!("cannot run {name}: {}", cause(&e)))?;
    let status = end(&mut child)?;
    if status.code() == Some(NOT_FOUND) && nowhere(command.get_program()) {
        return Err(format!("cannot run {name}: no such program"));
    }
    let read = |file: &mut File| {
        let done = file.rewind().and_then(|()| files::all(file, LONGEST));
        done.map_err(|e| format!("{name}: its output {}", cause(&e)))
    };
    let (stdout, stderr) = (read(&mut stdout)?, read(&mut stderr)?);
    Ok(Outcome { success: status.success(), stdout, stderr: String::from_utf8_lossy(&stderr).into_owned(), status })
}

/// The last line of a program's output, without blanks around it.
pub fn last_line(text: &str) -> &str {
    text.lines().map(str::trim).rfind(|l| !l.is_empty()).unwrap_or("it gave no reason")
}

/// A program that runs. Dropped, it is ended with all below it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    /// Time that the process is given to end by itself once it is asked to; `None`: it is not asked.
    asked: Option<Duration>,
}

impl Running {
    /// Watches a child of this process.
    pub fn new(child: Child) -> Running {
        tree::note(child.id());
        Running { child, asked: None }
    }

    /// Has the process asked to end (SIGTERM) when this is dropped, and killed only after `limit`.
    pub fn ask_first(&mut self, limit: Duration) {
        self.asked = Some(limit);
    }

    /// Number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The process.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Whether the process has not ended.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the process with all below it, and waits for its end.
    pub fn kill(&mut self) {
        if self.runs() {
            tree::kill_tree(self.id());
        }
        let _ = self.child.wait();
    }

    /// The process's exit status, if it has ended.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, Failure> {
        self.child.try_wait().map_err(|e| Failure::new(format!("waiting for a program: {e}")))
    }

    /// Waits for the process to end; `None` after `limit`.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>, Failure> {
        let mut status = Ok(None);
        wait_for(limit, || {
            status = self.ended();
            !matches!(status, Ok(None))
        });
        status
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.runs()
            && let Some(limit) = self.asked
        {
            tree::kill(self.id(), Signal::TERM);
            let _ = self.wait(limit);
        }
        self.kill();
        tree::forget(self.id());
    }
}

/// Asks `done` again and again, at most for `limit`; whether it was.
pub fn wait_for(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > limit {
            return false;
        }
        std::thread::sleep(Duration::from_micros(300));
    }
    true
}

/// Waits until there is something to read, or the end; `false` after `limit`.
///
/// # Errors
/// [`Failure`] at an interrupt.
pub fn readable(from: &impl AsFd, limit: Duration) -> Result<bool, Failure> {
    let start = Instant::now();
    loop {
        interrupted()?;
        let mut fds = [PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)];
        if !matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 100_000_000 })), Ok(0) | Err(_)) {
            return Ok(true);
        }
        if start.elapsed() > limit {
            return Ok(false);
        }
    }
}

/// Processor seconds.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// Seconds in user mode.
    pub user: f64,
    /// Seconds in the kernel.
    pub system: f64,
}

impl Spent {
    /// CPU time of all children that this process has waited for, and of their children. The kernel adds a child's time when it is waited for, so
    /// that a difference is that child's time to the microsecond.
    pub fn by_children() -> Spent {
        let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
        getrusage(UsageWho::RUSAGE_CHILDREN).map_or(Spent { user: 0.0, system: 0.0 }, |usage| Spent {
            user: seconds(usage.user_time()),
            system: seconds(usage.system_time()),
        })
    }

    /// The processor time since `before`.
    pub fn since(self, before: Spent) -> Spent {
        Spent { user: self.user - before.user, system: self.system - before.system }
    }

    /// Seconds in user mode and in the kernel.
    pub fn all(self) -> f64 {
        self.user + self.system
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_told_from_one_that_is_missing() {
        assert!(!run(&mut Command::new("false")).unwrap().success);
        assert!(run(&mut Command::new("/nonexistent/program")).unwrap_err().starts_with("cannot run"));
    }

    #[test]
    fn a_program_that_is_nowhere_is_told_from_one_that_ends_with_127() {
        assert!(nowhere(OsStr::new("/none/such")));
        assert!(nowhere(OsStr::new("adjunct-none-such")));
        assert!(!nowhere(OsStr::new("/bin/sh")));
        assert!(!nowhere(OsStr::new("sh")));
        let outcome = run(Command::new("sh").args(["-c", "exit 127"])).unwrap();
        assert_eq!(outcome.code(), Some(NOT_FOUND));
        assert!(run(&mut Command::new("adjunct-none-such")).is_err());
    }
}
