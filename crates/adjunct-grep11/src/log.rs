//! Lines about what happens, on standard error: one a failure, none with a secret.

use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What keeps the server from serving.
    Error,
    /// What its administrator should know.
    Warning,
    /// Each call that failed.
    Info,
    /// Each call.
    Debug,
}

static LEVEL: AtomicU8 = AtomicU8::new(Level::Info as u8);

impl Level {
    /// The level that IBM's configuration names.
    pub fn named(name: &str) -> Option<Level> {
        match name.to_ascii_lowercase().as_str() {
            "error" | "fatal" | "panic" => Some(Level::Error),
            "warning" | "warn" => Some(Level::Warning),
            "info" => Some(Level::Info),
            "debug" | "trace" => Some(Level::Debug),
            _ => None,
        }
    }

    /// Says no more than this from now on.
    pub fn set(self) {
        LEVEL.store(self as u8, Ordering::Relaxed);
    }
}

/// Whether lines of a level are written.
pub fn shows(level: Level) -> bool {
    level as u8 <= LEVEL.load(Ordering::Relaxed)
}

/// Writes a warning at any level: of what lets in who should not be.
pub fn always(text: &str) {
    write(Level::Warning, text);
}

/// Writes a line, without characters that a terminal would obey.
pub fn line(level: Level, text: &str) {
    if shows(level) {
        write(level, text);
    }
}

fn write(level: Level, text: &str) {
    let text: String = text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    let name = match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "info",
        Level::Debug => "debug",
    };
    // Nobody reads it any more: the calls go on.
    let _ = writeln!(std::io::stderr().lock(), "adjunct-grep11: {name}: {text}");
}
