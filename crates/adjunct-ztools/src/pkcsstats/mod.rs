//! `pkcsstats`: how often mechanisms of the PKCS #11 module were used, by user, slot and strength of the key, with the options, words
//! and exit statuses of openCryptoki's.
//!
//! The numbers are those of adjunct's module ([`adjunct::counters::uses`]), so that this module is always the one that is asked for slots and tokens.
//! A slot that is no number is refused; openCryptoki reads any text as slot 0.

mod report;

use crate::pkcsconf;
use crate::pkcsconf::show::return_value;
use crate::stats::User;
use adjunct::counters::{self, Use};
use adjunct_pkcs11_client::{Module, Rv};
use adjunct_tool::getopt::{Options, Part, parse};
use adjunct_tool::{Failure, failure, output};
use clap::{Arg, ArgAction, Command};
use report::{PkcsstatsReport, Slot};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

const NAME: &str = "pkcsstats";
const OPTIONS: Options = Options {
    short: "U:SAas:rRdDjh",
    long: &[
        ("user", 'U'),
        ("summary", 'S'),
        ("all", 'A'),
        ("all-mechs", 'a'),
        ("slot", 's'),
        ("reset", 'r'),
        ("reset-all", 'R'),
        ("delete", 'd'),
        ("delete-all", 'D'),
        ("json", 'j'),
        ("help", 'h'),
    ],
};
const USAGE: &str = " [OPTIONS]

Display mechanism usage statistics for openCryptoki.

OPTIONS:
 -U, --user USERID  show the statistics from one user. (root user only)
 -S, --summary      show the accumulated statistics from all users. (root user only)
 -A, --all          show the statistic tables from all users. (root user only)
 -a, --all-mechs    show all mechanisms, also those with all zero counters.
 -s, --slot SLOTID  show the statistics from one slot only.
 -r, --reset        set the own statistics to zero.
 -R, --reset-all    reset the statistics from all users. (root user only)
 -d, --delete       delete your own statistics.
 -D, --delete-all   delete the statistics from all users. (root user only)
 -j, --json         output the statistics in JSON format.
 -h, --help         display help information.
";
const NOTES: &str = "\
A use is an operation that was begun (C_SignInit and the like), or a key that was made, wrapped, unwrapped or derived, by adjunct's PKCS #11 \
module. Uses count for the effective user at C_Initialize. The strength is that of the key in bits of security: 0 is no key, or a weaker \
one; RSA with 2048 bits has 112, P-256 and AES-128 have 128, ML-DSA and ML-KEM that of their category. The strength of what was made is \
shown, of what wraps and derives that of the key that does it.

What the same operations came to in hardware and software stands in adjunct stats. ADJUNCT_STATS=off switches both off in the programs \
that count.

Exit status: 0 done, 1 it failed or the command line is wrong.";

/// The command line's definition, for its man page and completions; [`parse`] reads it.
pub(crate) fn command() -> Command {
    let flag = |letter: char, name: &'static str, help: &'static str| {
        Arg::new(name).short(letter).long(name).help(help).action(ArgAction::SetTrue)
    };
    Command::new(NAME)
        .about("Display how often mechanisms of the PKCS #11 module were used")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .after_help(NOTES)
        .args([
            Arg::new("user").short('U').long("user").value_name("USER").help("Show the statistics of one user"),
            flag('S', "summary", "Show the sum over all users (root only)"),
            flag('A', "all", "Show the statistics of all users (root only)"),
            flag('a', "all-mechs", "Show all mechanisms, also those that were not used"),
            Arg::new("slot").short('s').long("slot").value_name("SLOT").help("Show one slot only"),
            flag('r', "reset", "Set the own statistics to zero"),
            flag('R', "reset-all", "Set the statistics of all users to zero (root only)"),
            flag('d', "delete", "Delete the own statistics"),
            flag('D', "delete-all", "Delete the statistics of all users (root only)"),
            flag('j', "json", "Print the statistics as JSON"),
        ])
}

/// A command line, not yet understood: its meaning depends on the user who runs it, and on the other users there are.
#[derive(Debug)]
pub(crate) struct Request {
    called: String,
    parts: Vec<Part>,
    words: Vec<OsString>,
}

/// Why a run ends: all has been said, or standard output failed.
enum Stop {
    Said,
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

/// Ends with these words.
fn stop(words: &str) -> Stop {
    failure::eprint(&format!("{NAME}: {words}"));
    Stop::Said
}

/// The result of the options.
#[derive(Default)]
struct Wanted {
    letters: Vec<char>,
    user: Option<User>,
    slot: Option<u32>,
}

impl Wanted {
    fn has(&self, letter: char) -> bool {
        self.letters.contains(&letter)
    }
}

impl Request {
    /// The request that `args` make.
    pub(crate) fn of(args: &[OsString]) -> Request {
        let (parts, words) = parse(OPTIONS, args);
        Request { called: args.first().map_or_else(|| NAME.to_owned(), adjunct_tool::escape::shown), parts, words }
    }

    /// Carries the request out.
    ///
    /// # Errors
    /// [`Failure`] where standard output fails; all else is said here.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.done() {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(Stop::Said) => Ok(ExitCode::FAILURE),
            Err(Stop::Failed(failure)) => Err(failure),
        }
    }

    fn wanted(self) -> Result<Option<Wanted>, Stop> {
        let root = nix::unistd::geteuid().is_root();
        let all = |what: &str| stop(&format!("You have no rights to {what} the statistics from all users"));
        let mut wanted = Wanted::default();
        for part in self.parts {
            match part {
                Part::Wrong(words) => {
                    failure::eprint(&format!("{}: {words}", self.called));
                    return Err(Stop::Said);
                }
                Part::Option('h', _) => {
                    let called = Path::new(&self.called).file_name().unwrap_or_default().to_string_lossy();
                    output::print(&format!("Usage: {called}{USAGE}"))?;
                    return Ok(None);
                }
                Part::Option('U', Some(name)) => {
                    let shown = adjunct_tool::escape::shown(&name);
                    let user = name.to_str().and_then(|name| User::from_name(name).ok());
                    let user =
                        user.ok_or_else(|| stop(&format!("The username '{shown}' is not known on this system")))?;
                    if !root && user.uid != nix::unistd::geteuid().as_raw() {
                        return Err(stop("You have no rights to display the statistics from other users"));
                    }
                    wanted.user = Some(user);
                }
                Part::Option('s', Some(value)) => {
                    let slot = value.to_str().and_then(|text| text.trim_start().parse().ok());
                    let shown = adjunct_tool::escape::shown(&value);
                    wanted.slot = Some(slot.ok_or_else(|| stop(&format!("Slot parameter invalid: '{shown}'")))?);
                }
                Part::Option('S' | 'A', _) if !root => return Err(all("display")),
                Part::Option('R', _) if !root => return Err(all("reset")),
                Part::Option('D', _) if !root => return Err(all("delete")),
                Part::Option(letter, _) => wanted.letters.push(letter),
            }
        }
        if let Some(word) = self.words.first() {
            return Err(stop(&format!("unrecognized option '{}'", adjunct_tool::escape::shown(word))));
        }
        if wanted.user.is_some() && wanted.has('A') {
            return Err(stop("Options -u/--user and -A/--all can not be specified together"));
        }
        Ok(Some(wanted))
    }

    fn done(self) -> Result<(), Stop> {
        let Some(wanted) = self.wanted()? else { return Ok(()) };
        let user = wanted.user.clone().unwrap_or_else(User::myself);
        for (letter, long) in [('d', "delete"), ('D', "delete-all")] {
            if !wanted.has(letter) {
                continue;
            }
            if wanted.slot.is_some() {
                return Err(stop(&format!("Options -s/--slot and -{letter}/--{long} can not be specified together")));
            }
            return if letter == 'd' { delete(&user) } else { users()?.iter().try_for_each(delete) };
        }
        let module = pkcsconf::load(None).map_err(|lines| {
            lines.iter().for_each(|line| _ = stop(line));
            Stop::Said
        })?;
        let slots = slots(&module)?;
        // Who is shown as unknown is told so before the users' numbers: there may be none of them.
        let known = || match wanted.slot {
            Some(slot) if !slots.contains(&slot) => Err(stop(&format!("Slot {slot} is not available"))),
            _ => Ok(()),
        };
        if wanted.has('r') || wanted.has('R') {
            let users = if wanted.has('r') { vec![user] } else { users()? };
            return users.iter().try_for_each(|user| {
                if counters::uses(user.uid).map_err(|e| refused("open", user, &e))?.is_none() {
                    return Err(none(user));
                }
                known()?;
                reset(user, wanted.slot)
            });
        }
        let mut report = PkcsstatsReport::new(wanted.has('j'), wanted.has('a'));
        report.start()?;
        let shown = show(&mut report, &module, &wanted, &user, &slots, known);
        report.end()?;
        shown
    }
}

/// Shows what is wanted.
fn show(
    report: &mut PkcsstatsReport,
    module: &Module,
    wanted: &Wanted,
    user: &User,
    slots: &[u32],
    known: impl Fn() -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut table = |heading: Option<&User>, uses: &[Use]| {
        report.user(heading)?;
        for &slot in slots.iter().filter(|&&slot| wanted.slot.is_none_or(|wanted| wanted == slot)) {
            report.slot(&slot_of(module, slot)?, uses)?;
        }
        report.end_user()?;
        known()
    };
    if wanted.has('A') {
        return users()?.iter().try_for_each(|user| table(Some(user), &uses(user)?));
    }
    if wanted.has('S') {
        let mut all: Vec<Use> = Vec::new();
        for user in users()? {
            for one in uses(&user)? {
                match all.iter_mut().find(|known| (known.slot, known.mechanism) == (one.slot, one.mechanism)) {
                    Some(known) => known
                        .by_strength
                        .iter_mut()
                        .zip(one.by_strength)
                        .for_each(|(sum, more)| *sum = sum.saturating_add(more)),
                    None => all.push(one),
                }
            }
        }
        return table(None, &all);
    }
    table(Some(user), &uses(user)?)
}

fn none(user: &User) -> Stop {
    stop(&format!("No statistics are available for user '{user}'"))
}

fn refused<'a>(what: &'a str, user: &'a User, error: &'a adjunct::Error) -> Stop {
    stop(&format!("Failed to {what} statistics for user '{user}': {error}"))
}

/// The users who have statistics.
fn users() -> Result<Vec<User>, Stop> {
    let users = counters::users_of_uses().map_err(|error| stop(&error.to_string()))?;
    Ok(users.into_iter().map(User::from_uid).collect())
}

fn uses(user: &User) -> Result<Vec<Use>, Stop> {
    counters::uses(user.uid).map_err(|error| refused("open", user, &error))?.ok_or_else(|| none(user))
}

fn delete(user: &User) -> Result<(), Stop> {
    if !counters::delete_uses(user.uid).map_err(|error| refused("delete", user, &error))? {
        return Err(none(user));
    }
    Ok(output::print(&format!("Deleted statistics for user '{user}'\n"))?)
}

fn reset(user: &User, slot: Option<u32>) -> Result<(), Stop> {
    counters::reset_uses(user.uid, slot).map_err(|error| refused("open", user, &error))?;
    let slot = slot.map_or_else(String::new, |slot| format!(" and slot {slot}"));
    Ok(output::print(&format!("Resetted statistics for user '{user}'{slot}\n"))?)
}

fn failed(what: &str) -> impl Fn(Rv) -> Stop {
    move |Rv(rv)| stop(&format!("Error {what}: 0x{rv:X} ({})", return_value(rv)))
}

/// The slots of the module, by their numbers.
fn slots(module: &Module) -> Result<Vec<u32>, Stop> {
    let mut slots = module.slots(false).map_err(failed("getting slot list"))?;
    slots.sort_unstable();
    Ok(slots.into_iter().filter_map(|slot| u32::try_from(slot).ok()).collect())
}

/// The label and model of a slot's token, which the heading of its table has.
fn slot_of(module: &Module, number: u32) -> Result<Slot, Stop> {
    let field = |bytes: &[u8]| pkcsconf::show::text(bytes).trim_end_matches(' ').to_owned();
    let token = match module.token_info(number.into()) {
        Ok(info) => Some((field(&info.label), field(&info.model))),
        Err(Rv(adjunct_pkcs11_client::sys::CKR_TOKEN_NOT_PRESENT)) => None,
        Err(rv) => return Err(failed(&format!("getting token infos for slot {number}"))(rv)),
    };
    let mechanisms = module.mechanism_count(number.into()).and_then(|count| module.mechanisms(number.into(), count));
    Ok(Slot { number, token, mechanisms: mechanisms.unwrap_or_default() })
}
