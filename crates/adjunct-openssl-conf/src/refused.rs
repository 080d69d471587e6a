//! Why a configuration file is left alone.

use super::Place;

/// Why a file cannot be edited safely: one line that names the place and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// adjunct's block is in the file already.
    AlreadyEnabled,
    /// A block that begins and does not end, in this line.
    Damaged(usize),
    /// OpenSSL itself would not read the file.
    Syntax(Place, &'static str),
    /// An included file that cannot be read, or whose path depends on where a program runs.
    Include(Place, String),
    /// A value that matters depends on an environment variable.
    Uncertain(Place, String),
    /// The file's contents conflict with adjunct.
    Conflict(Place, String),
    /// The edit would not have the effect it is made for.
    NoEffect,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::AlreadyEnabled => f.write_str("adjunct is enabled in it already"),
            Refused::Damaged(line) => {
                write!(f, "line {line}: adjunct's block begins here and has no end; remove it by hand")
            }
            Refused::Syntax(place, what) => write!(f, "{place}: OpenSSL cannot read this: {what}"),
            Refused::Include(place, what) | Refused::Uncertain(place, what) | Refused::Conflict(place, what) => {
                write!(f, "{place}: {what}")
            }
            Refused::NoEffect => f.write_str("what stands in it keeps the edit from taking effect"),
        }
    }
}

impl std::error::Error for Refused {}
