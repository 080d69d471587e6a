//! A question at a terminal, answered by a line.

use crate::interrupt::interrupted;
use crate::{Failure, escape::shown, output};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::IsTerminal;

/// Whether a user sees the question and can answer.
pub fn somebody() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Whether a question before a change can be answered: by `yes` on the command line, or at a terminal. Nobody's silence is a yes.
///
/// # Errors
/// [`Failure`] with what to give where it cannot: without a terminal, or where standard output is JSON.
pub fn can_consent(yes: bool, json: bool) -> Result<(), Failure> {
    let why = match (yes, json) {
        (true, _) => return Ok(()),
        (false, true) => "--json cannot ask",
        (false, false) if somebody() => return Ok(()),
        (false, false) => "there is no terminal to ask at",
    };
    Err(Failure::Words(format!("{why}: say --yes, or --dry-run to change nothing; nothing was changed")))
}

/// Asks whether to make a change, unless `yes` has said so.
///
/// # Errors
/// The answer is no, there is no terminal to ask at ([`can_consent`]), or a signal came.
pub fn consented(question: &str, yes: bool, json: bool) -> Result<(), Failure> {
    can_consent(yes, json)?;
    if yes || is_yes(&line(&format!("{question} [y/N]"))?) {
        return Ok(());
    }
    Err(Failure::new("nothing was changed"))
}

/// Asks; the answer is trimmed and in small letters, and empty where standard input has ended.
///
/// # Errors
/// A signal came.
pub fn line(question: &str) -> Result<String, Failure> {
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
pub fn is_yes(answer: &str) -> bool {
    matches!(answer, "y" | "yes")
}
