//! `pkcsconf`: shows and sets up the tokens of a PKCS #11 module, with the options, words and exit statuses of openCryptoki's.
//!
//! What is said beyond openCryptoki's words goes to standard error, where those leave open what to do. An input that ends is an error,
//! as is a step that fails before others that were asked for.

pub mod prompt;
pub mod show;
pub(crate) mod uri;

use adjunct_pkcs11_client::sys::*;
use adjunct_pkcs11_client::{LoadError, Module, Rv, Session};
use adjunct_survey::module::{self, Choice, Make, Purpose};
use adjunct_tool::getopt::{Options, Part, parse};
use adjunct_tool::{Failure, failure, output};
use clap::{Arg, ArgAction, Command};
use prompt::Line;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::ExitCode;
use zeroize::Zeroizing;

const NAME: &str = "pkcsconf";
const OPTIONS: Options = Options { short: "itsmIc:S:U:upPn:lh", long: &[] };
/// The usage after the program's name.
const USAGE: &str = " [-itsmIupPh] [-c slotnumber -U userPIN -S SOPin -n newpin]
\t-i display PKCS11 info
\t-t display token info
\t-s display slot info
\t-m display mechanism list
\t-l display slot description
\t-I initialize token\x20
\t-u initialize user PIN
\t-p set the user PIN
\t-P set the SO PIN
\t-h show this help
";
/// The number of slots that openCryptoki and our module have at most.
const SLOTS: i64 = 1024;
/// Number of slots above all numbers that other modules use.
const SLOTS_OF_OTHERS: i64 = 1 << 32;
/// The status after a wrong command line, and where that of a return value would be taken for success.
const WRONG: u8 = 255;
/// The status for a module without slots: that of -ENODEV.
const NO_SLOTS: u8 = 237;

const NOTES: &str = "\
The module is adjunct's own; PKCSLIB=PATH names another. As root, a module that others than root could change is not loaded.

Without -c, what is shown is shown of all slots. -I, -u, -P and -p need -c. PINs that are not on the command line are asked for, without \
echo where standard input is a terminal.

Exit status: 0 done, 255 the command line is wrong, else the low byte of the PKCS #11 return value: 160 wrong PIN, 161 and 162 a PIN that \
cannot be, 164 locked, 224 no token, 237 no slots, 6 the module could not be loaded.";

/// The command line's definition, for its man page and completions; [`parse`] reads it.
pub(crate) fn command() -> Command {
    let flag = |letter: char, id: &'static str, help: &'static str| {
        Arg::new(id).short(letter).help(help).action(ArgAction::SetTrue)
    };
    let value =
        |letter: char, name: &'static str, help: &'static str| Arg::new(name).short(letter).value_name(name).help(help);
    Command::new(NAME)
        .about("Show and set up the tokens of a PKCS #11 module")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .disable_help_flag(true)
        .after_help(NOTES)
        .args([
            flag('i', "info", "Display PKCS11 info"),
            flag('t', "token", "Display token info"),
            flag('s', "slot", "Display slot info"),
            flag('m', "mechanisms", "Display mechanism list"),
            flag('l', "list", "Display slot description"),
            flag('I', "initialize", "Initialize token: all its objects go"),
            flag('u', "user", "Initialize user PIN"),
            flag('p', "user-pin", "Set the user PIN"),
            flag('P', "so-pin", "Set the SO PIN"),
            flag('h', "help", "Show this help"),
            value('c', "SLOT", "The slot's number"),
            value('S', "SO-PIN", "The SO PIN"),
            value('U', "USER-PIN", "The user PIN"),
            value('n', "NEW-PIN", "The new PIN"),
        ])
}

/// A command line.
#[derive(Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// The letters of options without a value, each once.
    letters: Vec<char>,
    slot: Option<CK_SLOT_ID>,
    so_pin: Option<Line>,
    user_pin: Option<Line>,
    new_pin: Option<Line>,
}

impl fmt::Debug for Request {
    /// Shows a request without its PINs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("letters", &self.letters).field("slot", &self.slot).finish_non_exhaustive()
    }
}

/// The text on how to use the tool, for a command line that asks for nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The name it was called by.
    called: String,
    /// What is wrong.
    lines: Vec<String>,
}

impl Request {
    /// Parses `args`, for adjunct's module or the `other` one that PKCSLIB names.
    ///
    /// # Errors
    /// The [`Usage`] is to be shown.
    pub(crate) fn of(args: &[OsString], other: bool) -> Result<Request, Usage> {
        let slots = if other { SLOTS_OF_OTHERS } else { SLOTS };
        let called = args.first().map_or_else(|| NAME.to_owned(), adjunct_tool::escape::shown);
        let (mut request, mut lines) = (Request::default(), Vec::new());
        let (parts, words) = parse(OPTIONS, args);
        for part in parts {
            let twice = |what: &str| format!("{NAME}: Must specify a single {what}.");
            match part {
                Part::Wrong(words) => lines.push(format!("{called}: {words}")),
                Part::Option('h', _) => return Err(Usage { called, lines }),
                Part::Option('c', Some(_)) if request.letters.contains(&'c') => lines.push(twice("slot")),
                Part::Option('c', Some(value)) => {
                    request.letters.push('c');
                    request.slot =
                        slot(&value, slots).map_err(|words| lines.extend(words.iter().map(ToString::to_string))).ok();
                }
                Part::Option(letter, Some(value)) => {
                    let (pin, what) = match letter {
                        'S' => (&mut request.so_pin, "SO PIN"),
                        'U' => (&mut request.user_pin, "user PIN"),
                        _ => (&mut request.new_pin, "user PIN"),
                    };
                    match pin {
                        Some(_) => lines.push(twice(what)),
                        None => *pin = Some(Zeroizing::new(value.into_vec())),
                    }
                }
                Part::Option(letter, None) if !request.letters.contains(&letter) => request.letters.push(letter),
                Part::Option(..) => {}
            }
        }
        if let Some(word) = words.first() {
            lines.push(format!("{NAME}: unrecognized option --- '{}'", adjunct_tool::escape::shown(word)));
        }
        let changes = ['I', 'u', 'p', 'P'].iter().any(|&letter| request.asks(letter));
        if lines.is_empty() && !request.letters.is_empty() && (!changes || request.slot.is_some()) {
            Ok(request)
        } else {
            Err(Usage { called, lines })
        }
    }

    fn asks(&self, letter: char) -> bool {
        self.letters.contains(&letter)
    }
}

/// The number of a slot as strtol(3) reads it: what follows the digits does not matter.
fn slot(value: &OsStr, slots: i64) -> Result<CK_SLOT_ID, Vec<String>> {
    let wrong = || format!("{NAME}: Must specify a decimal number as slot.");
    let text = value.as_bytes().trim_ascii_start();
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let digits: String = digits.iter().take_while(|byte| byte.is_ascii_digit()).map(|&byte| char::from(byte)).collect();
    let sign = if text.starts_with(b"-") { "-" } else { "" };
    match (digits.is_empty(), format!("{sign}{digits}").parse::<i64>()) {
        (false, Ok(number)) if (0..slots).contains(&number) => CK_SLOT_ID::try_from(number).map_err(|_| vec![wrong()]),
        (false, Err(_)) => Err(vec!["strtol: Numerical result out of range".to_owned(), wrong()]),
        _ => Err(vec![wrong()]),
    }
}

/// Does what was asked for, or shows how to ask.
///
/// # Errors
/// [`Failure`] where standard input or output fails; what goes wrong with a token is said here.
pub(crate) fn run(request: Result<Request, Usage>) -> Result<ExitCode, Failure> {
    match request.map(Request::run) {
        Ok(Ok(())) => Ok(ExitCode::SUCCESS),
        Ok(Err(Stop::Status(status))) => Ok(ExitCode::from(status)),
        Ok(Err(Stop::Failed(failure))) => Err(failure),
        Err(Usage { called, lines }) => {
            lines.iter().for_each(|line| failure::eprint(line));
            output::print(&format!("usage:\t{called}{USAGE}")).map(|()| ExitCode::from(WRONG))
        }
    }
}

/// Why a request ends before all is done.
enum Stop {
    /// All has been said.
    Status(u8),
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

/// Says what went wrong, as the original does.
fn say(words: &str) {
    failure::eprint(&format!("{NAME}: {words}"));
}

/// Ends with the status of a return value: its low byte, and never success.
fn stop(rv: CK_RV) -> Stop {
    let status = rv.to_le_bytes()[0];
    Stop::Status(if status == 0 { WRONG } else { status })
}

/// Says what a call came to, and ends.
fn failed(what: &str) -> impl FnOnce(Rv) -> Stop {
    move |Rv(rv)| {
        say(&format!("Error {what}: 0x{rv:X} ({})", show::return_value(rv)));
        stop(rv)
    }
}

fn print(text: &str) -> Result<(), Stop> {
    output::print_with_backspaces(text).map_err(Stop::Failed)
}

impl Request {
    fn run(mut self) -> Result<(), Stop> {
        let module = load(other_module().as_deref()).map_err(|lines| {
            lines.iter().for_each(|line| say(line));
            stop(CKR_FUNCTION_FAILED)
        })?;
        let with_token = !self.asks('s') && !self.asks('l');
        if module.slot_count(with_token).map_err(failed("getting number of slots"))? == 0 {
            say("C_GetSlotList returned 0 slots. Check that your tokens are installed correctly.");
            return Err(Stop::Status(NO_SLOTS));
        }
        let mut slots = module.slots(with_token).map_err(failed("getting slot list"))?;
        // openCryptoki's order, which pkcsconf shows, is that of the numbers; our module lists slots in the order in which programs are to
        // take them. What another module's order means is its own.
        if module.info().is_ok_and(|info| show::text(&info.manufacturerID).trim_end() == "adjunct") {
            slots.sort_unstable();
        }
        if self.asks('p') && self.asks('P') {
            say("Setting the SO and user PINs are mutually exclusive.");
            return Err(stop(CKR_FUNCTION_FAILED));
        }
        self.display(&module, &slots)?;
        let Some(slot) = self.slot else { return Ok(()) };
        let token = Token { module: &module, slot };
        if self.asks('I') {
            let so_pin = given(&mut self.so_pin, "Enter the SO PIN: ")?;
            let label = prompt::label()?.ok_or_else(|| ended("label"))?;
            module.init_token(slot, so_pin, label).map_err(|rv| token.refused(rv, "initializing token", CKU_SO))?;
        }
        if self.asks('u') {
            let so_pin = given(&mut self.so_pin, "Enter the SO PIN: ")?;
            let user_pin = chosen(self.new_pin.take(), "user")?;
            token.as_user(CKU_SO, so_pin, true, |session| session.init_pin(&user_pin))?;
        }
        if self.asks('P') {
            let so_pin = given(&mut self.so_pin, "Enter the SO PIN: ")?;
            let new_pin = chosen(self.new_pin.take(), "SO")?;
            token.as_user(CKU_SO, so_pin, false, |session| session.set_pin(so_pin, &new_pin))?;
        }
        if self.asks('p') {
            let user_pin = given(&mut self.user_pin, "Enter user PIN: ")?;
            let new_pin = chosen(self.new_pin.take(), "user")?;
            token.as_user(CKU_USER, user_pin, false, |session| session.set_pin(user_pin, &new_pin))?;
        }
        Ok(())
    }

    /// Shows what was asked for, of the chosen slot or of all.
    fn display(&self, module: &Module, slots: &[CK_SLOT_ID]) -> Result<(), Stop> {
        let (one, all) = (self.slot.is_some(), self.slot.as_ref().map_or(slots, std::slice::from_ref));
        // Among all slots one without a token ends the list, and is no failure.
        let absent = |Rv(rv): &Rv| !one && *rv == CKR_TOKEN_NOT_PRESENT;
        if self.asks('i') {
            print(&show::module(&module.info().map_err(failed("getting PKCS#11 info"))?))?;
        }
        if self.asks('t') {
            for &slot in all {
                match module.token_info(slot) {
                    Err(rv) if absent(&rv) => break,
                    info => print(&show::token(slot, &info.map_err(failed("getting token info"))?))?,
                }
            }
        }
        if self.asks('s') {
            for &slot in all {
                match module.slot_info(slot) {
                    Err(rv) if absent(&rv) => break,
                    info => print(&show::slot(slot, &info.map_err(failed("getting slot info"))?))?,
                }
            }
        }
        if self.asks('l') {
            for &slot in all {
                print(&show::slot_line(slot, &module.slot_info(slot).map_err(failed("getting slot info"))?))?;
            }
        }
        if self.asks('m') {
            for &slot in all {
                if !one {
                    print(&format!("Mechanism Info for Slot #{slot}:\n"))?;
                }
                match mechanisms(module, slot) {
                    // Of many slots, one whose mechanisms cannot be had does not keep the others from being shown.
                    Err(Stop::Status(_)) if !one => {}
                    shown => shown?,
                }
            }
        }
        Ok(())
    }
}

fn mechanisms(module: &Module, slot: CK_SLOT_ID) -> Result<(), Stop> {
    let count = match module.mechanism_count(slot) {
        Err(Rv(CKR_TOKEN_NOT_PRESENT)) => return Ok(()),
        count => count.map_err(failed("getting number of mechanisms"))?,
    };
    let mechanisms = module.mechanisms(slot, count).map_err(failed("getting mechanisms list"))?;
    for (place, &mechanism) in mechanisms.iter().enumerate() {
        let info = module.mechanism_info(slot, mechanism).map_err(failed("getting mechanisms info"))?;
        print(&show::mechanism(place, mechanism, &info))?;
    }
    Ok(())
}

/// The PIN of the command line, else one that is asked for, once.
fn given<'a>(pin: &'a mut Option<Line>, question: &str) -> Result<&'a [u8], Stop> {
    let line = match pin.take() {
        Some(line) => line,
        None => prompt::pin(question)?.ok_or_else(|| ended("PIN"))?,
    };
    Ok(pin.insert(line))
}

/// The new PIN of the command line, else one that is asked for twice.
fn chosen(pin: Option<Line>, whose: &str) -> Result<Line, Stop> {
    let typed = match pin {
        Some(pin) => Some(pin),
        None => prompt::new_pin(&format!("Enter the new {whose} PIN: "), &format!("Re-enter the new {whose} PIN: "))?,
    };
    typed.ok_or_else(|| {
        say(&format!("Invalid new {} pin", whose.to_ascii_lowercase()));
        stop(CKR_PIN_INVALID)
    })
}

/// Standard input ended where an answer was due.
fn ended(what: &str) -> Stop {
    say(&format!("No {what} was entered: standard input has ended."));
    stop(CKR_FUNCTION_CANCELED)
}

/// The token that is changed.
struct Token<'a> {
    module: &'a Module,
    slot: CK_SLOT_ID,
}

impl Token<'_> {
    /// Has `work` change a PIN in a session of `user`.
    fn as_user(
        &self,
        user: CK_USER_TYPE,
        pin: &[u8],
        logout: bool,
        work: impl FnOnce(&Session<'_>) -> Result<(), Rv>,
    ) -> Result<(), Stop> {
        let session = self.module.open_session(self.slot).map_err(failed("opening session"))?;
        session.login(user, pin).map_err(|rv| self.refused(rv, "logging in", user))?;
        let mut done = work(&session).map_err(|rv| {
            let stop = failed("setting PIN")(rv);
            self.explain(rv, user);
            stop
        });
        if logout {
            done = done.and(session.logout().map_err(failed("logging out")));
        }
        done.and(session.close().map_err(failed("closing session")))
    }

    /// Says why a PIN was not taken.
    fn refused(&self, rv: Rv, what: &str, user: CK_USER_TYPE) -> Stop {
        let stop = if rv.0 == CKR_PIN_INCORRECT {
            say("Incorrect PIN entered.");
            stop(rv.0)
        } else {
            failed(what)(rv)
        };
        self.explain(rv, user);
        stop
    }

    /// Prints what the token's state adds to a return value.
    fn explain(&self, Rv(rv): Rv, user: CK_USER_TYPE) {
        let Ok(info) = self.module.token_info(self.slot) else { return };
        let of_user = |officer: CK_FLAGS, normal: CK_FLAGS| if user == CKU_SO { officer } else { normal };
        let last = of_user(CKF_SO_PIN_FINAL_TRY, CKF_USER_PIN_FINAL_TRY);
        let locked = of_user(CKF_SO_PIN_LOCKED, CKF_USER_PIN_LOCKED);
        let length = || format!("A PIN of this token has {} to {} characters.", info.ulMinPinLen, info.ulMaxPinLen);
        match rv {
            CKR_PIN_INCORRECT if info.flags & locked != 0 => say("The PIN is locked now."),
            CKR_PIN_INCORRECT if info.flags & last != 0 => say("One try is left: another wrong PIN locks it."),
            CKR_PIN_INCORRECT => {}
            CKR_PIN_LEN_RANGE => say(&length()),
            CKR_PIN_INVALID => say("The new PIN is the old one, or one that this token does not take."),
            CKR_PIN_LOCKED if user == CKU_USER => say("The security officer gives the user a new PIN with -u."),
            CKR_USER_PIN_NOT_INITIALIZED => say("The security officer gives the user a PIN with -u."),
            _ if info.flags & (CKF_LOGIN_REQUIRED | CKF_USER_PIN_INITIALIZED) == 0
                && info.flags & CKF_TOKEN_INITIALIZED != 0 =>
            {
                say("This token has no PINs: it needs no login and no initialization.");
            }
            _ => {}
        }
    }
}

/// The module that PKCSLIB names, if it is set.
pub(crate) fn other_module() -> Option<OsString> {
    std::env::var_os("PKCSLIB").filter(|path| !path.is_empty())
}

/// Loads and initializes the module of that path or name, or adjunct's.
///
/// # Errors
/// The lines to be said.
pub(crate) fn load(path: Option<&OsStr>) -> Result<Module, Vec<String>> {
    let path = match path.map(Path::new) {
        // A name without a folder is the loader's to find.
        Some(name) if !name.as_os_str().as_bytes().contains(&b'/') => name.to_owned(),
        path => module::find_of(&Make::PKCS11, Choice { path, trusted: false }, Purpose::Run, module::pkcs11_folders)
            .map_err(|failure| vec!["Error loading PKCS#11 library".to_owned(), failure.to_string()])?,
    };
    let mut module = Module::load(&path).map_err(|error| {
        let words = adjunct_tool::escape::shown(&error.to_string());
        match error {
            LoadError::Loader(_) => vec!["Error loading PKCS#11 library".to_owned(), format!("dlopen error: {words}")],
            LoadError::NoFunctionList(_) => {
                vec![format!("Error getting function list, symbol not found, error: {words}")]
            }
            LoadError::Refused => vec!["Error getting function list, C_GetFunctionList returned NULL".to_owned()],
        }
    })?;
    module.initialize().map_err(|Rv(rv)| {
        vec![format!("Error initializing the PKCS11 library: 0x{rv:X} ({})", show::return_value(rv))]
    })?;
    Ok(module)
}

#[cfg(test)]
mod tests;
