//! Standard output: whole reports, no panic when the reader goes away, colours only where a person looks.

use crate::Failure;
use crate::escape::escaped;
use crate::failure::cause;
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write};

/// Writes a report. A reader that went away (`| head`) is no failure; a full disk is.
///
/// # Errors
/// [`Failure::Failed`] where standard output cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    write(&harmless(text))
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::new(format!("standard output: {}", cause(&e)))),
        _ => Ok(()),
    }
}

/// A line beside a report, on standard error, where a person looks.
pub fn note(line: &str) {
    if std::io::stderr().is_terminal() {
        crate::failure::eprint(line);
    }
}

/// Writes what is exact to the byte, backspaces too; the caller has made harmless what others chose.
///
/// # Errors
/// As [`print()`].
pub fn print_with_backspaces(text: &str) -> Result<(), Failure> {
    write(&text.split('\x08').map(harmless).collect::<Vec<_>>().join("\x08"))
}

/// Writes `value` as JSON, two blanks deep, with a line end.
///
/// # Errors
/// As [`print()`].
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::new(format!("JSON: {e}")))?;
    // JSON's own rules let some through that drive a terminal (DEL, the C1 set). They stand in strings alone.
    let text = escaped(&text, |text, c| match c {
        '\n' => text.push(c),
        c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| _ = write!(text, "\\u{unit:04x}")),
    });
    print(&(text + "\n"))
}

/// Makes a whole report harmless for a terminal: its lines and tabs, and the colours of [`Style`], stay.
pub fn harmless(report: &str) -> String {
    let mut parts = report.split('\x1b');
    let lines = |part: &str| {
        escaped(part, |text, c| match c {
            '\n' | '\t' => text.push(c),
            c => text.extend(c.escape_default()),
        })
    };
    let mut text = lines(parts.next().unwrap_or_default());
    for part in parts {
        let own = COLOURS
            .iter()
            .find_map(|code| Some((code, part.strip_prefix('[')?.strip_prefix(code)?.strip_prefix('m')?)));
        match own {
            Some((code, rest)) => text += &format!("\x1b[{code}m{}", lines(rest)),
            None => text += &format!("\\u{{1b}}{}", lines(part)),
        }
    }
    text
}

/// The codes that [`Style`] writes between `ESC [` and `m`.
const COLOURS: [&str; 6] = ["0", "1", "2", "31", "32", "33"];

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

    /// The colour of text about what is as it should be (hardware, added).
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// The colour of text that an administrator should look at (software, removed).
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

    /// The colour of less important text.
    pub fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// A text in lines of at most `wide` characters, broken between words where possible.
pub fn wrapped(text: &str, wide: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let characters: Vec<char> = word.chars().collect();
        for (at, part) in characters.chunks(wide.max(1)).enumerate() {
            let part: String = part.iter().collect();
            let line = lines
                .last_mut()
                .filter(|line| at == 0 && (line.is_empty() || line.chars().count() + 1 + part.chars().count() <= wide));
            match line {
                Some(line) if line.is_empty() => *line = part,
                Some(line) => *line = format!("{line} {part}"),
                None => lines.push(part),
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_written_out() {
        let report = format!("{}\tb\n", Style::COLOUR.good("a"));
        assert_eq!(harmless(&report), report);
        assert_eq!(harmless("\x1b[31mx\x1b[2J\x1b\u{9b}0m\r\n"), "\x1b[31mx\\u{1b}[2J\\u{1b}\\u{9b}0m\\r\n");
    }

    #[test]
    fn long_texts_go_on_below() {
        assert_eq!(wrapped("a few  words", 20), ["a few words"]);
        assert_eq!(wrapped("a few words", 5), ["a few", "words"]);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
        assert_eq!(wrapped("", 3), [""]);
    }
}
