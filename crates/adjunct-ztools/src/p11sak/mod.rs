//! `p11sak`: makes, lists, changes, imports, exports, wraps and removes keys and certificates of a token, with the commands, options, words
//! and exit statuses of openCryptoki's (version 3.27; its help is our own).
//!
//! Works with any module (`PKCSLIB`). DH, DSA, wrapping by two mechanisms at once and IBM's own types of keys are left out, and said to be.

mod certs;
mod change;
mod kinds;
mod leave;
mod list;
mod make;
mod options;
mod pem;
mod select;
mod tasks;
mod wrap;

use crate::libcrypto;
use crate::pkcsconf::show::return_value;
use crate::pkcsconf::{self, prompt};
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Module, Rv, Session, Template};
use adjunct_tool::{Failure, failure, output};
pub(crate) use options::Request;
use options::Wanted;
use std::process::ExitCode;
use tasks::Task;
pub(crate) use tasks::command;

const NAME: &str = "p11sak";
/// The status where that of a return value would be taken for success.
const WRONG: u8 = 255;

/// Why a task ends before all is done: a return value that has been reported, or a failure of standard input or output.
enum Stop {
    Rv(CK_RV),
    Failed(Failure),
}

type Result<T = ()> = std::result::Result<T, Stop>;

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

fn say(words: &str) {
    failure::eprint(&format!("{NAME}: {words}"));
}

/// Says what is wrong with a command line.
fn bad(words: &str) -> Stop {
    say(words);
    Stop::Rv(CKR_ARGUMENTS_BAD)
}

/// Says that an argument is none of those that there may be.
fn invalid(text: &str, what: &str) -> Stop {
    bad(&format!("Invalid argument '{}' for '{what}'", adjunct_tool::escape::shown(text)))
}

/// A return value as messages show it.
fn named(rv: CK_RV) -> String {
    format!("0x{rv:X}: {}", return_value(rv))
}

/// Says what a call came to, and ends.
fn failed(what: &str) -> impl FnOnce(Rv) -> Stop {
    move |Rv(rv)| {
        say(&format!("{what}: {}", named(rv)));
        Stop::Rv(rv)
    }
}

fn print(text: &str) -> Result {
    Ok(output::print(text)?)
}

/// A session with a token, and what was asked for.
struct World<'a> {
    module: &'a Module,
    session: Session<'a>,
    wanted: Wanted,
}

impl Request {
    /// Carries the request out.
    ///
    /// # Errors
    /// [`Failure`] where standard input or output fails; all else is said here.
    pub(crate) fn run(self) -> std::result::Result<ExitCode, Failure> {
        match self.done() {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(Stop::Rv(rv)) => {
                let status = rv.to_le_bytes()[0];
                Ok(ExitCode::from(if status == 0 { WRONG } else { status }))
            }
            Err(Stop::Failed(failure)) => Err(failure),
        }
    }

    fn done(self) -> Result {
        let Some(wanted) = self.wanted()? else { return Ok(()) };
        libcrypto::offer();
        let pin = pin(&wanted)?;
        let module = pkcsconf::load(pkcsconf::other_module().as_deref()).map_err(|lines| {
            lines.iter().for_each(|line| say(line));
            Stop::Rv(CKR_FUNCTION_FAILED)
        })?;
        let slot = wanted.slot;
        let what = format!("Slot {slot} is not available: C_GetSlotInfo");
        module.slot_info(slot).map_err(failed(&what))?;
        let what = format!("Token at slot {slot} is not available: C_GetTokenInfo");
        module.token_info(slot).map_err(failed(&what))?;
        let session = if wanted.task.writes() { module.open_session(slot) } else { module.open_reading(slot) };
        let session = session.map_err(failed("Opening a session failed: C_OpenSession"))?;
        if let Some(pin) = pin {
            let user = if wanted.so { CKU_SO } else { CKU_USER };
            session.login(user, &pin).map_err(failed("Login failed: C_Login"))?;
        }
        let world = World { module: &module, session, wanted };
        let (task, word) = (world.wanted.task, world.wanted.task.word());
        let done = match task {
            Task::Generate => world.generate(),
            Task::List => world.list(),
            Task::ListCert => world.list_certificates(),
            Task::Remove | Task::RemoveCert => world.remove(),
            Task::Set | Task::SetCert => world.set(),
            Task::Copy | Task::CopyCert => world.copy(),
            Task::Import => world.import(),
            Task::ImportCert => world.import_certificate(),
            Task::Export => world.export(),
            Task::ExportCert => world.export_certificates(),
            Task::Extract | Task::ExtractCert => world.extract(),
            Task::Wrap => world.wrap(),
            Task::Unwrap => world.unwrap(),
        };
        if let Err(Stop::Rv(rv)) = &done {
            say(&format!("Failed to perform the '{word}' command: {}", return_value(*rv)));
        }
        done
    }
}

/// The PIN of the command line or of the environment, or one that is asked for; `None` where no login is needed.
fn pin(wanted: &Wanted) -> Result<Option<prompt::Line>> {
    if wanted.no_login {
        for (given, option) in
            [(wanted.pin.is_some(), "-p'/'--pin"), (wanted.force_pin_prompt, "--force-pin-prompt"), (wanted.so, "--so")]
        {
            if given {
                return Err(bad(&format!("Option '{option}' is not allowed with '-N'/'--no-login'")));
            }
        }
        return Ok(None);
    }
    let (variable, question) = if wanted.so {
        ("PKCS11_SO_PIN", "Please enter SO PIN: ")
    } else {
        ("PKCS11_USER_PIN", "Please enter user PIN: ")
    };
    let of_environment = || {
        use std::os::unix::ffi::OsStringExt;
        std::env::var_os(variable).map(|pin| prompt::Line::new(pin.into_vec()))
    };
    let given = wanted.pin.clone().or_else(of_environment).filter(|_| !wanted.force_pin_prompt);
    match given {
        Some(pin) => Ok(Some(pin)),
        None => match prompt::pin(question)? {
            Some(pin) => Ok(Some(pin)),
            None => {
                say("No PIN was entered: standard input has ended.");
                Err(Stop::Rv(CKR_FUNCTION_FAILED))
            }
        },
    }
}

impl World<'_> {
    /// The password of the PEM file: of the command line or of the environment, or one that is asked for.
    fn password(&self) -> Result<prompt::Line> {
        let of_environment = || {
            use std::os::unix::ffi::OsStringExt;
            let names = ["PKCS11_PEM_PASSWORD", "P11SAK_PEM_PASSWORD"];
            names.iter().find_map(std::env::var_os).map(|password| prompt::Line::new(password.into_vec()))
        };
        let given = self.wanted.password.clone().or_else(of_environment);
        if let Some(password) = given.filter(|_| !self.wanted.force_password_prompt) {
            return Ok(password);
        }
        let file = adjunct_tool::escape::shown(self.wanted.file.as_os_str());
        prompt::pin(&format!("Please enter PEM password for '{file}': "))?.ok_or_else(|| {
            say("Failed to prompt for PEM password: standard input has ended.");
            Stop::Rv(CKR_FUNCTION_FAILED)
        })
    }
}

/// Sets the flags of attribute letters, as far as objects of this type and class have them, or all.
fn set_letters(
    template: &mut Template,
    letters: &str,
    of: Option<(&kinds::KeyKind, CK_OBJECT_CLASS)>,
    so: bool,
) -> Result {
    for letter in letters.chars() {
        let Some(known) = kinds::Letter::of(letter) else {
            let shown = adjunct_tool::escape::shown(&letter.to_string());
            return Err(bad(&format!("Attribute '{shown}' is not valid")));
        };
        if let Some((kind, class)) = of
            && (!known.settable || !kind.has(known, class))
        {
            continue;
        }
        let value = letter.is_ascii_uppercase();
        if of.is_some() && known.kind == CKA_TRUSTED && value && !so {
            let words = format!("Attribute {} ('{}') can only be set to TRUE by SO", known.name, known.letter);
            return Err(bad(&words));
        }
        template.set_flag(known.kind, value);
    }
    Ok(())
}

/// The bytes of a hexadecimal identifier.
fn id(text: &str) -> Result<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let Some(digits) = digits.filter(|digits| !digits.is_empty()) else {
        return Err(bad(&format!("Hex string '{}' is not valid", adjunct_tool::escape::shown(text))));
    };
    let odd = digits.len() % 2;
    let first = digits[..odd].iter().copied();
    Ok(first.chain(digits[odd..].chunks(2).map(|pair| pair[0] << 4 | pair[1])).collect())
}

/// A number of an attribute.
fn number(value: &[u8]) -> Option<CK_ULONG> {
    value.try_into().ok().map(CK_ULONG::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_whole_bytes() {
        let of = |text: &str| id(text).ok();
        assert_eq!(of("0102"), Some(vec![1, 2]));
        assert_eq!(of("fFf"), Some(vec![0xf, 0xff]));
        assert_eq!(of("00"), Some(vec![0]));
        assert_eq!((of(""), of("0x1")), (None, None));
    }
}
