//! A question at a terminal, answered by a line.

use crate::interrupt::interrupted;
use crate::{Failure, escape::shown, output};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::IsTerminal;

/// Whether somebody sees the question and can answer.
pub(crate) fn somebody() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Asks; the answer is trimmed and in small letters, and empty where standard input has ended.
///
/// # Errors
/// A signal came.
pub(crate) fn line(question: &str) -> Result<String, Failure> {
    output::print(&format!("{} ", shown(question)))?;
    // A signal is only noted: it must not have to wait for the answer.
    let stdin = std::io::stdin();
    loop {
        interrupted()?;
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 100_000_000 })).is_ok_and(|ready| ready > 0) {
            break;
        }
    }
    let mut answer = String::new();
    let _ = stdin.read_line(&mut answer);
    Ok(answer.trim().to_ascii_lowercase())
}

/// Whether an answer is a yes.
pub(crate) fn is_yes(answer: &str) -> bool {
    matches!(answer, "y" | "yes")
}
