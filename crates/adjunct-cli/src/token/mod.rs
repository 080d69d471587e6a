//! `adjunct token`: the store tokens of adjunct's PKCS #11 module, from their initialization to the repair of their files.
//!
//! What PKCS #11 has a function for goes through the module, as any program would do it. Backup, restore, repair, what `explain` looks at and
//! sealing by a TPM work on the file ([`admin`]), which the module in other processes sees at once.

mod errors;
mod explain;
mod files;
mod keys;
mod list;
mod objects;
mod pins;
mod secret;

use adjunct_pkcs11::admin::{self, Configured};
use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{Module, Rv, Session};
use adjunct_survey::module;
use adjunct_survey::module::{Choice, Make, Purpose};
use adjunct_tool::{Failure, failure};
use secret::{Pins, Who};
use std::path::PathBuf;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  adjunct token init --label mine        a new token: asks for its two PINs
  adjunct token list                     the tokens there are
  adjunct token import key.pem --label web
  adjunct token objects                  what is in it
  adjunct token backup mine.backup
  adjunct token explain                  whatever is wrong, and what to do about it

PINs are asked for on the terminal, without echo. Scripts give them in files (--pin-file, --so-pin-file; - is standard input), in the \
environment (ADJUNCT_PIN, ADJUNCT_SO_PIN; new ones in ADJUNCT_NEW_PIN), or in a pipe, a line each in the order they are asked for: each once, where a terminal asks for a new one twice, and no line more. \
Never on the command line, where every user of the machine can read them.

Exit status: 0 done, 1 it failed (one line says why), 2 the command line is wrong.";

/// Set up and look after the tokens of the PKCS #11 module
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    List(list::Args),
    Init(pins::Init),
    #[command(subcommand)]
    Pin(pins::Command),
    Objects(objects::List),
    Show(objects::Show),
    Remove(objects::Remove),
    Import(keys::Import),
    Export(keys::Export),
    Backup(files::Backup),
    Restore(files::Restore),
    Repair(files::Repair),
    Explain(explain::Args),
}

/// Runs the subcommand.
///
/// # Errors
/// [`Failure`] with the one line to show.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::List(args) => list::run(args),
        Command::Init(args) => pins::init(args),
        Command::Pin(command) => pins::run(command),
        Command::Objects(args) => objects::list(args),
        Command::Show(args) => objects::show(args),
        Command::Remove(args) => objects::remove(args),
        Command::Import(args) => keys::import(args),
        Command::Export(args) => keys::export(args),
        Command::Backup(args) => files::backup(args),
        Command::Restore(args) => files::restore(args),
        Command::Repair(args) => files::repair(args),
        Command::Explain(args) => explain::run(args),
    }
}

/// Which token.
#[derive(Debug, clap::Args)]
struct Which {
    /// The token's slot; 3 is the user's own token
    #[arg(short, long, value_name = "NUMBER", default_value_t = 3)]
    slot: u32,
}

impl Which {
    /// The token as it is configured.
    fn configured(&self) -> Result<Configured, Failure> {
        let tokens = admin::tokens();
        let found = tokens.tokens.into_iter().find(|token| token.slot == CK_SLOT_ID::from(self.slot));
        found.ok_or_else(|| {
            let why = tokens.wrong.map_or_else(String::new, |wrong| format!(" ({wrong})"));
            Failure::new(format!("slot {}: there is no store token{why}; `adjunct token list` shows all", self.slot))
        })
    }
}

/// The module's file.
fn module_path() -> Result<PathBuf, Failure> {
    module::find_of(&Make::PKCS11, Choice::default(), Purpose::Run, module::pkcs11_folders)
}

/// A token in the module.
struct Token {
    module: Module,
    configured: Configured,
}

impl Token {
    fn open(which: &Which) -> Result<Token, Failure> {
        let configured = which.configured()?;
        // The module would say the same while it loads, and only that a device failed afterwards.
        if let Some(trouble) = admin::examine(&configured).trouble {
            return Err(Failure::new(trouble));
        }
        let path = module_path()?;
        let failed = |words: &str| Failure::new(format!("{}: {}", path.display(), adjunct_tool::escape::shown(words)));
        let mut module = Module::load(&path).map_err(|error| failed(&error.to_string()))?;
        module.initialize().map_err(|Rv(rv)| failed(name(rv)))?;
        Ok(Token { module, configured })
    }

    fn slot(&self) -> CK_SLOT_ID {
        self.configured.slot
    }

    /// Opens a session without a login.
    fn session(&self) -> Result<Session<'_>, Failure> {
        self.module.open_session(self.slot()).map_err(|rv| self.failed(rv, None))
    }

    /// Opens a session, and logs in as `who`.
    fn entered(&self, who: Who, pins: &Pins) -> Result<Session<'_>, Failure> {
        let session = self.session()?;
        let pin = pins.get(who)?;
        secret::all_used()?;
        session.login(who.user_type(), &pin).map_err(|rv| self.failed(rv, Some(who)))?;
        Ok(session)
    }

    /// A return value in a line; `who`: whose PIN was tried.
    fn failed(&self, Rv(rv): Rv, who: Option<Who>) -> Failure {
        let path = self.configured.path.display();
        let user = who.map_or_else(|| "user".to_owned(), |who| who.to_string());
        let left = || {
            let seen = admin::examine(&self.configured).users[usize::from(who == Some(Who::Officer))].tries_left?;
            Some(match seen {
                0 => "it is locked now".to_owned(),
                1 => "one try is left".to_owned(),
                left => format!("{left} tries are left"),
            })
        };
        let words = match rv {
            CKR_PIN_INCORRECT => {
                format!("wrong PIN of the {user}{}", left().map_or_else(String::new, |left| format!("; {left}")))
            }
            CKR_PIN_LOCKED if who == Some(Who::Officer) => {
                "the security officer's PIN is locked: nothing opens it again; the user's PIN still works".to_owned()
            }
            CKR_PIN_LOCKED => "the user's PIN is locked; `adjunct token pin unlock` gives a new one".to_owned(),
            CKR_PIN_LEN_RANGE => "a PIN has 4 to 255 bytes".to_owned(),
            CKR_USER_PIN_NOT_INITIALIZED => "the user has no PIN yet; `adjunct token pin set` gives one".to_owned(),
            CKR_TOKEN_NOT_INITIALIZED => {
                format!("{path}: there is no token yet; `adjunct token init` makes one")
            }
            CKR_TOKEN_WRITE_PROTECTED => format!("{path}: the token cannot be written to"),
            CKR_DEVICE_MEMORY => format!("{path}: the disk is full; nothing was changed"),
            CKR_SLOT_ID_INVALID => format!("slot {}: the module has no such slot", self.slot()),
            CKR_DEVICE_ERROR | CKR_TOKEN_NOT_RECOGNIZED => {
                let seen = admin::examine(&self.configured);
                let sealed = seen.users.iter().any(|user| user.sealed) || self.configured.tpm.is_some();
                let tpm = || Some(admin::tpm(&self.configured)).filter(|_| sealed);
                let tpm = || tpm().and_then(|(path, wrong)| Some(format!("{}: {}", path.display(), wrong?)));
                seen.trouble.or_else(tpm).unwrap_or_else(|| {
                    format!("{path}: what it holds is not what was written there; `adjunct token repair` keeps all that can be read")
                })
            }
            rv => {
                let busy = Some(rv).filter(|rv| *rv == CKR_FUNCTION_FAILED).and_then(|_| admin::busy(&self.configured));
                let other = || format!("{path}: {}; `adjunct token explain` may say more", name(rv));
                busy.map_or_else(other, |busy| busy.0)
            }
        };
        Failure::new(words)
    }
}

/// The name of a return value.
fn name(rv: CK_RV) -> &'static str {
    adjunct_ztools::pkcsconf::show::return_value(rv)
}

/// Prints what was done, unless the output is read by a program.
fn say(words: &str) {
    failure::eprint(words);
}

/// The line of a function on a token's file.
fn of_file(error: admin::Error) -> Failure {
    Failure::new(error.0)
}
