//! Standard output: whole reports, no panic when the reader goes away, colours only where a person looks.

use crate::Failure;
use std::io::{ErrorKind, IsTerminal, Write};

/// Writes a report. A reader that went away (`| head`) is no failure; a full disk is.
///
/// # Errors
/// [`Failure::Failed`] where standard output takes no more.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::new(format!("standard output: {e}"))),
        _ => Ok(()),
    }
}

/// Writes `value` as JSON, two blanks deep, with a line end.
///
/// # Errors
/// As [`print()`].
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::new(format!("JSON: {e}")))?;
    print(&(text + "\n"))
}

/// How to colour: nothing, or the escape sequences of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    colour: bool,
}

impl Style {
    /// No colours.
    pub const PLAIN: Style = Style { colour: false };
    /// Colours.
    pub const COLOUR: Style = Style { colour: true };

    /// Colours if standard output is a terminal that takes them and `NO_COLOR` is unset or empty.
    pub fn of_stdout() -> Style {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|t| t == "dumb");
        Style { colour: std::io::stdout().is_terminal() && !refused && !dumb }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// What is as it should be (hardware, added).
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What an administrator should look at (software, removed).
    pub fn notice(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// What is wrong or goes away.
    pub fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// A heading.
    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What matters less.
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }
}
