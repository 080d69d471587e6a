//! PINs and passwords: from a file, the environment, a terminal or a pipe.

use adjunct_pkcs11_client::sys::*;
use adjunct_tool::failure::cause;
use adjunct_tool::{Failure, files};
use adjunct_ztools::pkcsconf::prompt::{self, Line};
use std::fmt;
use std::io::{IsTerminal, Write as _};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
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

fn of_file(path: &Path) -> Result<Line, Failure> {
    if path == Path::new("-") {
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
/// question.
fn asked(question: &str) -> Result<Line, Failure> {
    let terminal = std::io::stdin().is_terminal();
    if terminal {
        let _ = write!(std::io::stderr(), "{question}: ");
    }
    let line = prompt::hidden_line();
    if terminal {
        let _ = writeln!(std::io::stderr());
    }
    let line = line?.ok_or_else(|| Failure::new(format!("{question}: standard input has ended")))?;
    let end = line.iter().position(|byte| *byte == b'\r').unwrap_or(line.len());
    Ok(Zeroizing::new(line[..end].to_vec()))
}

fn new(question: &str) -> Result<Line, Failure> {
    let first = asked(question)?;
    if std::io::stdin().is_terminal() && *asked("Once more")? != *first {
        return Err(Failure::new("the two are not the same"));
    }
    Ok(first)
}

impl Pins {
    fn given(&self, who: Who) -> Result<Option<Line>, Failure> {
        let (file, variable) = match who {
            Who::User => (&self.pin_file, "ADJUNCT_PIN"),
            Who::Officer => (&self.so_pin_file, "ADJUNCT_SO_PIN"),
        };
        file.as_deref().map_or_else(|| Ok(of_environment(variable)), |file| of_file(file).map(Some))
    }

    /// Asks for an existing PIN.
    pub fn get(&self, who: Who) -> Result<Line, Failure> {
        self.given(who)?.map_or_else(|| asked(&format!("PIN of the {who}")), Ok)
    }

    /// Asks for a new PIN.
    pub fn get_new(&self, who: Who) -> Result<Line, Failure> {
        self.given(who)?.map_or_else(|| new(&format!("New PIN of the {who}")), Ok)
    }
}

impl NewPin {
    /// The new PIN.
    pub fn get(&self, who: Who) -> Result<Line, Failure> {
        let given = match &self.new_pin_file {
            Some(file) => Some(of_file(file)?),
            None => of_environment("ADJUNCT_NEW_PIN"),
        };
        given.map_or_else(|| new(&format!("New PIN of the {who}")), Ok)
    }
}

impl Password {
    /// The password of `file`.
    pub fn get(&self, file: &Path) -> Result<Line, Failure> {
        let given = match &self.password_file {
            Some(path) => Some(of_file(path)?),
            None => of_environment("ADJUNCT_KEY_PASSWORD"),
        };
        given.map_or_else(|| asked(&format!("Password of {}", file.display())), Ok)
    }
}
