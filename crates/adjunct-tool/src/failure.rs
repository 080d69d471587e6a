//! Why a command failed: one line for people, one exit status for scripts.

use std::fmt;

/// Why a command failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The command line is wrong, or asks for its help: clap has the words. Exit status 2, or 0 for help.
    Usage(clap::Error),
    /// The command line makes no sense in a way clap cannot see. Exit status 2.
    Words(String),
    /// A command failed. Exit status 1.
    Failed(String),
}

impl Failure {
    /// A failure with its one line, without the numbers of the system's errors.
    pub fn new(line: impl Into<String>) -> Failure {
        Failure::Failed(without_numbers(line.into()))
    }

    /// A failure for the reason that an error gives.
    pub fn because(error: impl fmt::Display) -> Failure {
        Failure::new(error.to_string())
    }

    /// Says why on standard error, after `name`; help goes to standard output.
    pub fn report(&self, name: &str) {
        match self {
            Failure::Usage(error) => drop(error.print()),
            Failure::Words(line) | Failure::Failed(line) => eprint_line(name, line),
        }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Usage(error) if !error.use_stderr() => 0,
            Failure::Usage(_) | Failure::Words(_) => 2,
            Failure::Failed(_) => 1,
        }
    }
}

/// A line without "(os error 2)", which the words before it say better.
fn without_numbers(line: String) -> String {
    const NUMBER: &str = " (os error ";
    let Some((before, rest)) = line.split_once(NUMBER) else { return line };
    let Some((number, after)) = rest.split_once(')') else { return line };
    if number.bytes().all(|digit| digit.is_ascii_digit()) { without_numbers(format!("{before}{after}")) } else { line }
}

/// An error of the system in words, without its number.
pub fn cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    match error.kind() {
        std::io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        _ => text.split(" (os error").next().unwrap_or(&text).to_owned(),
    }
}

/// The failure of a write, in words; a full disk is named as such.
pub fn cannot_write(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {}", path.display(), cause(error)))
}

fn eprint_line(name: &str, line: &str) {
    eprint(&format!("{name}: {line}"));
}

/// Writes a line to standard error. `eprintln!` panics where that is closed or full; this does not.
pub fn eprint(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{}", crate::escape::shown(line));
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(error) => error.fmt(f),
            Failure::Words(line) | Failure::Failed(line) => f.write_str(line),
        }
    }
}

impl std::error::Error for Failure {}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Failure {
        Failure::Usage(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_no_numbers_of_the_system() {
        let error = std::io::Error::from_raw_os_error(2);
        let line = |text: String| match Failure::new(text) {
            Failure::Failed(line) => line,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            line(format!("a: {error}; b: {error}")),
            "a: No such file or directory; b: No such file or directory"
        );
        assert_eq!(line("a file (os error) (os error x)".to_owned()), "a file (os error) (os error x)");
    }
}
