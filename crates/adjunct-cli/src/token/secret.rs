//! PINs and passwords: from a file, the environment, a terminal or a pipe.

use adjunct_pkcs11::admin::PIN_LENGTHS;
use adjunct_pkcs11_client::sys::*;
use adjunct_tool::failure::cause;
use adjunct_tool::{Failure, files};
use adjunct_ztools::pkcsconf::prompt::{self, Line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fmt;
use std::io::{IsTerminal, Write as _};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use zeroize::Zeroizing;

/// The role whose PIN it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    User,
    Officer,
}

impl Who {
    pub fn user_type(self) -> CK_USER_TYPE {
        match self {
            Who::User => CKU_USER,
            Who::Officer => CKU_SO,
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Who::User => "user",
            Who::Officer => "security officer",
        })
    }
}

/// Where PINs come from, if not from a terminal or a pipe.
#[derive(Debug, clap::Args)]
pub(super) struct Pins {
    /// The user's PIN stands in this file's first line; - is standard input
    #[arg(long, value_name = "FILE")]
    pin_file: Option<PathBuf>,
    /// The security officer's PIN stands in this file's first line; - is standard input
    #[arg(long, value_name = "FILE")]
    so_pin_file: Option<PathBuf>,
}

/// Where a new PIN comes from.
#[derive(Debug, clap::Args)]
pub(super) struct NewPin {
    /// The new PIN stands in this file's first line; - is standard input
    #[arg(long, value_name = "FILE")]
    new_pin_file: Option<PathBuf>,
}

/// Where the password of a file of keys comes from.
#[derive(Debug, clap::Args)]
pub(super) struct Password {
    /// The password of encrypted keys stands in this file's first line; - is standard input
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Whether a line was read from standard input.
static READ: AtomicBool = AtomicBool::new(false);

/// Refuses lines of a pipe that are left when all was asked for: whoever gives a line more, as a terminal would want it, has given one in another's
/// place. Called before anything is tried or done.
pub(super) fn all_used() -> Result<(), Failure> {
    let stdin = std::io::stdin();
    // Who writes line by line and keeps the pipe open has a moment for another one.
    let moment = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };
    while READ.load(Relaxed) && !stdin.is_terminal() {
        let mut input = [PollFd::new(&stdin, PollFlags::IN)];
        if !poll(&mut input, Some(&moment)).is_ok_and(|ready| ready > 0) {
            break;
        }
        match prompt::hidden_line()? {
            None => break,
            Some(line) if line.trim_ascii().is_empty() => {}
            Some(_) => {
                return Err(Failure::new(
                    "standard input has more lines than were asked for: from a pipe each PIN is read once; nothing was done",
                ));
            }
        }
    }
    Ok(())
}

/// Refuses one PIN for both roles.
pub(super) fn differ(officer: &Line, user: &Line) -> Result<(), Failure> {
    if officer != user {
        return Ok(());
    }
    Err(Failure::new(
        "the user's PIN is the security officer's: they have to differ (from a pipe each PIN is read once); nothing was done",
    ))
}

/// Refuses a PIN that nobody can have set, which would cost a try; `from` says where it is from.
fn possible(line: Line, from: &str) -> Result<Line, Failure> {
    let [shortest, longest] = PIN_LENGTHS;
    let what = match line.len() {
        0 => "empty",
        length if length < shortest => "too short",
        length if length > longest => "too long",
        _ => return Ok(line),
    };
    Err(Failure::new(format!("{from}: {what}; a PIN has {shortest} to {longest} bytes (no try was counted)")))
}

fn of_file(path: &Path) -> Result<Line, Failure> {
    if path == Path::new("-") {
        READ.store(true, Relaxed);
        return prompt::hidden_line()?.ok_or_else(|| Failure::new("standard input: no PIN, it has ended"));
    }
    let bytes = files::read(path, 4096).map(Zeroizing::new);
    let bytes = bytes.map_err(|error| Failure::new(format!("{}: {}", path.display(), cause(&error))))?;
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len());
    Ok(Zeroizing::new(bytes[..end].to_vec()))
}

fn of_environment(name: &str) -> Option<Line> {
    std::env::var_os(name).map(|value| Zeroizing::new(value.into_vec()))
}

/// A question on standard error, so that output stays what was asked for; answered on standard input, where it is a pipe without the
/// question. `ways`: how else it is answered.
fn asked(question: &str, ways: &str) -> Result<Line, Failure> {
    READ.store(true, Relaxed);
    let terminal = std::io::stdin().is_terminal();
    if terminal {
        let _ = write!(std::io::stderr(), "{question}: ");
    }
    let line = prompt::hidden_line();
    if terminal {
        let _ = writeln!(std::io::stderr());
    }
    let line = line?.ok_or_else(|| Failure::new(format!("{question}: standard input has ended; {ways} gives it")))?;
    let end = line.iter().position(|byte| *byte == b'\r').unwrap_or(line.len());
    Ok(Zeroizing::new(line[..end].to_vec()))
}

fn new(question: &str, ways: &str) -> Result<Line, Failure> {
    let first = possible(asked(question, ways)?, question)?;
    if std::io::stdin().is_terminal() && *asked("Once more", ways)? != *first {
        return Err(Failure::new("the two are not the same"));
    }
    Ok(first)
}

/// The name of a file that a PIN is read from.
fn named(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// The PIN that a file or else a variable gives.
fn given(file: Option<&Path>, variable: &str) -> Result<Option<Line>, Failure> {
    match file {
        Some(file) => possible(of_file(file)?, &named(file)).map(Some),
        None => of_environment(variable).map(|line| possible(line, variable)).transpose(),
    }
}

impl Pins {
    fn given(&self, who: Who) -> Result<Option<Line>, Failure> {
        match who {
            Who::User => given(self.pin_file.as_deref(), "ADJUNCT_PIN"),
            Who::Officer => given(self.so_pin_file.as_deref(), "ADJUNCT_SO_PIN"),
        }
    }

    fn ways(who: Who) -> &'static str {
        match who {
            Who::User => "--pin-file or ADJUNCT_PIN",
            Who::Officer => "--so-pin-file or ADJUNCT_SO_PIN",
        }
    }

    /// Asks for an existing PIN.
    pub fn get(&self, who: Who) -> Result<Line, Failure> {
        let question = format!("PIN of the {who}");
        let ask = || possible(asked(&question, Pins::ways(who))?, &question);
        self.given(who)?.map_or_else(ask, Ok)
    }

    /// Asks for a new PIN.
    pub fn get_new(&self, who: Who) -> Result<Line, Failure> {
        self.given(who)?.map_or_else(|| new(&format!("New PIN of the {who}"), Pins::ways(who)), Ok)
    }
}

impl NewPin {
    /// The new PIN.
    pub fn get(&self, who: Who) -> Result<Line, Failure> {
        let ask = || new(&format!("New PIN of the {who}"), "--new-pin-file or ADJUNCT_NEW_PIN");
        given(self.new_pin_file.as_deref(), "ADJUNCT_NEW_PIN")?.map_or_else(ask, Ok)
    }
}

impl Password {
    /// The password of `file`.
    pub fn get(&self, file: &Path) -> Result<Line, Failure> {
        let given = match &self.password_file {
            Some(path) => Some(of_file(path)?),
            None => of_environment("ADJUNCT_KEY_PASSWORD"),
        };
        let ask = || asked(&format!("Password of {}", file.display()), "--password-file or ADJUNCT_KEY_PASSWORD");
        given.map_or_else(ask, Ok)
    }
}
