//! `cpacfstats`: what dedicated instructions did for all users together, as counters that are enabled, disabled, reset and printed.
//!
//! On IBM Z a daemon keeps these counters, which the machine counts. Here they are the counters of all users (`adjunct stats --all-users`), hardware
//! alone, and a file of root's holds the values from which each is shown (`state`), so that resetting them does not change those of `icastats`, and
//! no daemon is needed.

mod counter;
mod state;

use crate::stats::require_root;
use adjunct::counters;
use adjunct_tool::getopt::{Options, Part, parse};
use adjunct_tool::{Failure, output};
use clap::{Arg, ArgAction, Command};
pub use counter::Counter;
use serde_json::json;
use state::{Raw, State};
use std::ffi::OsString;
use std::fmt::Write;
use std::process::ExitCode;

const NAME: &str = "cpacfstats";
const OPTIONS: Options = Options {
    short: "hvedrpnj",
    long: &[
        ("help", 'h'),
        ("version", 'v'),
        ("enable", 'e'),
        ("disable", 'd'),
        ("reset", 'r'),
        ("print", 'p'),
        ("nonzero", 'n'),
        ("json", 'j'),
    ],
};
const USAGE: &str = "\
Usage: cpacfstats [OPTIONS [COUNTER]]

Enable, disable, reset and read CPACF Crypto Activity Counters
Use OPTIONS described below:

\t-h, --help                Print this help, then exit
\t-v, --version             Print version information, then exit
\t-e, --enable  [counter]   Enable one or all counters
\t-d, --disable [counter]   Disable one or all counters
\t-r, --reset   [counter]   Reset one or all counter values
\t-p, --print   [counter]   Print one or all counter values
\t-n, --nonzero             Print all PAI counters
\t-j, --json                Print all counter values in JSON format
\tcounter can be: 'aes' 'des' 'rng' 'sha' 'ecc'
\t                'pai_user' 'pai_kernel' or 'all'
";
const NOTES: &str = "\
COUNTER is des, aes, sha, rng, ecc, pai_user, pai_kernel or all (the default). A counter is the number of operations that dedicated \
instructions did for all users: what adjunct stats --all-users shows as hardware. It is unsupported where this machine has no instructions \
for any of them. All counters are enabled from the start; what runs while one is disabled is not shown by it. None of this changes \
what icastats shows, and resetting that does not change these by more than what was counted before. Root alone may do any of it.

The counters pai_user and pai_kernel, of single instructions, exist on IBM Z only.

Exit status: 0 done, 1 it failed or the command line is wrong.";

/// The command line's definition, for its man page and completions; [`parse`] reads it.
pub(crate) fn command() -> Command {
    let flag = |letter: char, name: &'static str, help: &'static str| {
        Arg::new(name).short(letter).long(name).help(help).action(ArgAction::SetTrue)
    };
    Command::new(NAME)
        .about("Enable, disable, reset and read counters of what dedicated instructions did")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .after_help(NOTES)
        .args([
            flag('e', "enable", "Enable one or all counters"),
            flag('d', "disable", "Disable one or all counters"),
            flag('r', "reset", "Reset one or all counters to zero"),
            flag('p', "print", "Print one or all counters"),
            flag('n', "nonzero", "Print only PAI counters that are not zero"),
            flag('j', "json", "Print all counters as JSON"),
            flag('v', "version", "Print the version"),
            Arg::new("COUNTER").help("The counter").value_parser(Counter::NAMES),
        ])
}

/// The action that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Enable,
    Disable,
    Reset,
    Print,
}

/// A command line that makes sense.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Help,
    Version,
    Do { action: Action, counter: Option<Counter>, json: bool },
}

impl Request {
    /// What `args` ask for.
    ///
    /// # Errors
    /// [`Failure::Words`] in the words of the original.
    pub(crate) fn of(args: &[OsString]) -> Result<Request, Failure> {
        let (mut action, mut json) = (Action::Print, false);
        let (parts, words) = parse(OPTIONS, args);
        for part in parts {
            (action, json) = match part {
                Part::Option('h', _) => return Ok(Request::Help),
                Part::Option('v', _) => return Ok(Request::Version),
                Part::Option('e', _) => (Action::Enable, false),
                Part::Option('d', _) => (Action::Disable, false),
                Part::Option('r', _) => (Action::Reset, json),
                Part::Option('p', _) => (Action::Print, false),
                Part::Option('j', _) => (Action::Print, true),
                Part::Option(..) => (action, json),
                Part::Wrong(_) => {
                    return Err(Failure::Words("Invalid argument, try -h or --help for more information".to_owned()));
                }
            };
        }
        let counter = match words.first().map(|word| (word, Counter::named(word))) {
            Some((word, None)) => {
                return Err(Failure::Words(format!("Unknown counter '{}'", adjunct_tool::escape::shown(word))));
            }
            Some((_, Some(one))) if !json => one,
            _ => None,
        };
        Ok(Request::Do { action, counter, json })
    }

    /// Carries the request out.
    ///
    /// # Errors
    /// [`Failure`]: not root, counters or state that cannot be read or kept.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let (action, counter, json) = match self {
            Request::Help => return output::print(USAGE).map(|()| ExitCode::SUCCESS),
            Request::Version => {
                let version = env!("CARGO_PKG_VERSION");
                return output::print(&format!("{NAME}: Crypto Activity Counters\nbuild: adjunct {version}\n"))
                    .map(|()| ExitCode::SUCCESS);
            }
            Request::Do { action, counter, json } => (action, counter, json),
        };
        require_root("the counters of all users")?;
        let (raw, code) = raw()?;
        let chosen: Vec<Counter> = Counter::ALL.into_iter().filter(|one| counter.is_none_or(|c| c == *one)).collect();
        let each = |work: fn(&mut State, Counter, &Raw)| {
            state::change(|state| chosen.iter().for_each(|&counter| work(state, counter, &raw)))
        };
        let state = match action {
            Action::Enable => each(State::enable)?,
            Action::Disable => each(State::disable)?,
            Action::Reset => each(State::reset)?,
            Action::Print => state::read()?,
        };
        output::print(&if json { as_json(&chosen, &state, &raw) } else { as_text(&chosen, &state, &raw) })?;
        Ok(code)
    }
}

/// What each counter of each user is. A user whose counters are damaged is named, and does not keep the others from being shown.
fn raw() -> Result<(Raw, ExitCode), Failure> {
    let (mut raw, mut code) = (Raw::default(), ExitCode::SUCCESS);
    for uid in counters::users().map_err(Failure::because)? {
        match counters::read(uid) {
            Ok(Some(snapshot)) => raw.add(&snapshot),
            Ok(None) => {}
            Err(error) => {
                Failure::because(error).report(NAME);
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok((raw, code))
}

/// The state of a counter as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Unsupported,
    Disabled,
    Value(u64),
}

fn shown(counter: Counter, state: &State, raw: &Raw) -> Shown {
    if !raw.counted(counter) && !counter.supported() {
        return Shown::Unsupported;
    }
    state.value(counter, raw).map_or(Shown::Disabled, Shown::Value)
}

fn as_text(counters: &[Counter], state: &State, raw: &Raw) -> String {
    let mut text = String::new();
    for &counter in counters {
        let name = counter.name();
        let _ = match shown(counter, state, raw) {
            _ if counter.is_pai() => writeln!(text, " {name:<11}: unsupported"),
            Shown::Unsupported => writeln!(text, " {name} counter: unsupported"),
            Shown::Disabled => writeln!(text, " {name} counter: disabled"),
            Shown::Value(value) => writeln!(text, " {name} counter: {value}"),
        };
    }
    text
}

/// The counters as one line of JSON without a line end, as in IBM's tool.
fn as_json(counters: &[Counter], state: &State, raw: &Raw) -> String {
    let values = counters.iter().filter_map(|&counter| match shown(counter, state, raw) {
        Shown::Value(value) => Some(json!({ "counter": counter.name(), "value": value })),
        Shown::Unsupported | Shown::Disabled => None,
    });
    // CPUs that come and go take no counts of ours with them.
    let all: Vec<_> = values.chain([json!({ "counter": "hotplug detected", "value": 0 })]).collect();
    serde_json::Value::Array(all).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &[&str]) -> Result<Request, String> {
        let args: Vec<OsString> = ["cpacfstats"].iter().chain(words).map(OsString::from).collect();
        Request::of(&args).map_err(|e| e.to_string())
    }

    fn ask(action: Action, counter: Option<Counter>, json: bool) -> Result<Request, String> {
        Ok(Request::Do { action, counter, json })
    }

    #[test]
    fn the_last_option_decides() {
        assert_eq!(request(&[]), ask(Action::Print, None, false));
        assert_eq!(request(&["aes", "-e"]), ask(Action::Enable, Some(Counter::Aes), false));
        assert_eq!(request(&["-e", "--dis", "all"]), ask(Action::Disable, None, false));
        assert_eq!(request(&["-jr", "sha"]), ask(Action::Reset, None, true));
        assert_eq!(request(&["-rj"]), ask(Action::Print, None, true));
        assert_eq!(request(&["-jp", "rng", "more"]), ask(Action::Print, Some(Counter::Rng), false));
        assert_eq!(request(&["-n", "pai_user"]), ask(Action::Print, Some(Counter::PaiUser), false));
        assert_eq!(request(&["-vx"]), Ok(Request::Version));
        assert_eq!(request(&["-eh"]), Ok(Request::Help));
    }

    #[test]
    fn what_makes_no_sense_is_said_as_there() {
        let invalid = "Invalid argument, try -h or --help for more information";
        assert_eq!(request(&["-x"]), Err(invalid.to_owned()));
        assert_eq!(request(&["--nope", "aes"]), Err(invalid.to_owned()));
        assert_eq!(request(&["prng"]), Err("Unknown counter 'prng'".to_owned()));
        assert_eq!(request(&["-j", "x\u{1b}"]), Err("Unknown counter 'x\\u{1b}'".to_owned()));
    }

    #[test]
    fn it_prints_what_z_prints() {
        let mut raw = Raw::default();
        for (counter, calls) in [(Counter::Aes, 765_217_315), (Counter::Sha, 978_682_749), (Counter::Rng, 35_667_176)] {
            raw.set(counter, 0, calls);
        }
        raw.set(Counter::Des, 0, 7);
        let mut state = State::default();
        state.disable(Counter::Sha, &raw);
        state.reset(Counter::Des, &raw);
        let four = [Counter::Des, Counter::Aes, Counter::Sha, Counter::Rng, Counter::PaiUser, Counter::PaiKernel];
        let text = " des counter: 0\n aes counter: 765217315\n sha counter: disabled\n rng counter: 35667176\n \
                    pai_user   : unsupported\n pai_kernel : unsupported\n";
        assert_eq!(as_text(&four, &state, &raw), text);
        let json = r#"[{"counter":"des","value":0},{"counter":"aes","value":765217315},{"counter":"rng","value":35667176},{"counter":"hotplug detected","value":0}]"#;
        assert_eq!(as_json(&four, &state, &raw), json);
    }
}
