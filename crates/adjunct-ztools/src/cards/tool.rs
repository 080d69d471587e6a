//! What the tools for cards have in common: how they report, and how they reach the state and the daemon.

use adjunct_card_state::control::{self, Reply};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Machine;
use adjunct_card_state::state;
use adjunct_tool::failure::{cause, eprint};
use adjunct_tool::getopt::{self, Options, Part, Wrong};
use adjunct_tool::{Failure, output};
use std::ffi::OsString;
use std::process::ExitCode;

/// The version of s390-tools whose options and words these are.
const OF_S390_TOOLS: &str = "2.43.0";
/// The message that scripts look for where there is no driver; here where no daemon runs.
pub const UNAVAILABLE: &str = "Crypto device driver not available.";

/// A command line of a tool's.
#[derive(Debug)]
pub struct Request {
    parts: Vec<Part>,
    words: Vec<OsString>,
    done: fn(Vec<Part>, Vec<OsString>) -> Result<(), Stop>,
}

impl Request {
    /// What `args` ask for, which `done` does.
    pub fn of(options: Options, args: &[OsString], done: fn(Vec<Part>, Vec<OsString>) -> Result<(), Stop>) -> Request {
        let (parts, words) = getopt::parse(options, args);
        Request { parts, words, done }
    }

    /// Carries the request out.
    ///
    /// # Errors
    /// [`Failure`] where standard output fails; all else is said here.
    pub fn run(self) -> Result<ExitCode, Failure> {
        ended((self.done)(self.parts, self.words))
    }
}

/// Why a tool ends: all has been said, or standard output failed.
#[derive(Debug)]
pub enum Stop {
    /// All has been said.
    Said,
    /// Standard output failed.
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

/// A tool, by its name.
#[derive(Debug, Clone, Copy)]
pub struct Tool(pub &'static str);

impl Tool {
    /// Says something on standard error, behind the tool's name; further lines stand by themselves.
    pub fn warn(self, text: &str) {
        format!("{}: {text}", self.0).split('\n').for_each(eprint);
    }

    /// Ends the tool with these words.
    pub fn stop(self, text: &str) -> Stop {
        self.warn(text);
        Stop::Said
    }

    /// Ends the tool with these words, and says below them how to go on.
    pub fn misused(self, text: &str) -> Stop {
        self.stop(&format!("{text}\nTry '{} --help' for more information.", self.0))
    }

    /// Ends with what is wrong with an option.
    pub fn wrong(self, option: &Wrong) -> Stop {
        self.misused(&option.of_s390)
    }

    /// Prints the help that the definition of the command line has.
    pub fn help(self, mut command: clap::Command) -> Result<(), Stop> {
        Ok(output::print(&command.render_help().to_string())?)
    }

    /// Prints the version: that of s390-tools first, where scripts look for it.
    pub fn version(self) -> Result<(), Stop> {
        let (name, build) = (self.0, env!("CARGO_PKG_VERSION"));
        Ok(output::print(&format!("{name} version {OF_S390_TOOLS}\nbuild: adjunct {build}\n"))?)
    }

    /// The cards; where no daemon runs, `unavailable` is said, and below it what to do.
    pub fn machine(self, unavailable: &str) -> Result<Machine, Stop> {
        state::read(&Folder::found().state()).map_err(|error| match error {
            state::Error::NotRunning => self.stop(&format!("{unavailable}\n{}: {error}", self.0)),
            error => self.stop(&unreadable(&error)),
        })
    }

    /// Asks the daemon. What it refuses is the caller's to say.
    pub fn ask(self, request: &control::Request) -> Result<Answer, Stop> {
        match control::ask(&Folder::found().control(), request) {
            Ok(Reply::Done) => Ok(Answer::Done(Vec::new())),
            Ok(Reply::Nodes(nodes)) => Ok(Answer::Done(nodes)),
            // No tool orders that.
            Ok(Reply::Administered(_)) => Ok(Answer::Done(Vec::new())),
            Ok(Reply::Refused(errno, sentence)) => Ok(Answer::Refused(errno, sentence)),
            Err(error @ control::Error::Denied(_)) => Ok(Answer::Denied(error.to_string())),
            Err(control::Error::Io { path, cause: error }) => {
                Err(self.stop(&format!("{}: {}", adjunct_tool::escape::shown(&path), cause(&error))))
            }
            Err(error) => Err(self.stop(&error.to_string())),
        }
    }

    /// Says why no card serves, where none can.
    pub fn remark(self, machine: &Machine) {
        if !machine.remark.is_empty() {
            self.warn(&adjunct_tool::escape::shown(&machine.remark));
        }
    }
}

/// The daemon's answer.
#[derive(Debug)]
pub enum Answer {
    /// The order was carried out; the nodes that were asked for.
    Done(Vec<control::Node>),
    /// The order was not carried out: the driver's error number, and why.
    Refused(i32, String),
    /// The user may not give the order; with the reason.
    Denied(String),
}

/// Why the state cannot be read, on one line.
pub fn unreadable(error: &state::Error) -> String {
    match error {
        state::Error::Io(path, error) => format!("{}: {}", adjunct_tool::escape::shown(path), cause(error)),
        error => adjunct_tool::escape::shown(&error.to_string()),
    }
}

/// The exit status of a tool.
pub fn ended(done: Result<(), Stop>) -> Result<ExitCode, Failure> {
    match done {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Stop::Said) => Ok(ExitCode::FAILURE),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}
