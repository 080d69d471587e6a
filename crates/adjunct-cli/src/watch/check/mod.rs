//! `adjunct check`: a plugin for Nagios, Icinga, Checkmk and others that start programs and read their exit status.

mod parts;
mod range;
mod report;

use super::ledger::Ledger;
use super::replace;
use super::sample::{Cards, Sample, Sampler};
use crate::cards::serving;
use adjunct::catalogue::Reason;
use adjunct::counters;
use adjunct_card_state::folder::Folder;
use adjunct_survey::module;
use adjunct_tool::failure::cause;
use adjunct_tool::{Failure, files, output, state};
use parts::{Counts, Required};
use range::Range;
use report::{CheckReport, Level, Part};
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

/// The largest state that is read, in bytes.
const STATE: u64 = 64 << 20;

const EXAMPLES: &str = "\
A range is one of the Monitoring Plugins: 20 alerts above 20, 20: below 20, 10:20 outside of them, @10:20 inside. Without --warning and --critical \
the share of software is shown and not judged. What was counted since the last run is kept in --state (by default below $XDG_STATE_HOME); the \
first run looks back to where the counters began, as --since-start always does. Two monitors of one machine take two states.

Besides: a card that is offline is a warning and one that was check-stopped is critical (with --cards, fewer than so many online are critical, \
and others may be off); a domain of an EP11 coprocessor that has no wrapping key, whose vault is locked, or that does not answer, is critical, with the reason among the details; a module that OpenSSL does not load is critical; so are lanes that gave wrong results, and instructions that are \
required and not there. Root, and who has CAP_IPC_OWNER, sees the counters of all users, anybody else their own.

Examples:
  adjunct check                                     OK, unless something is broken
  sudo adjunct check -w 20 -c 50                    alert where more runs in software
  sudo adjunct check -w 5 --ignore no-instruction   the same of what hardware could do
  adjunct check --require vaes,lanes --cards 1      the machine has to have these
  adjunct check --json | jq .state

Exit status: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (something could not be read, or the command line is wrong).";

/// Check software's share, cards and module, as a plugin for Nagios
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Warn by the share of software in percent
    #[arg(short, long, value_name = "RANGE", allow_hyphen_values = true)]
    warning: Option<Range>,
    /// Critical by the share of software in percent
    #[arg(short, long, value_name = "RANGE", allow_hyphen_values = true)]
    critical: Option<Range>,
    /// Leave out operations in software for these reasons
    #[arg(long, value_name = "REASON", value_delimiter = ',', value_parser = reasons())]
    ignore: Vec<Reason>,
    /// Judge the share of no fewer operations than these
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    min_operations: u64,
    /// Critical where fewer cards are online
    #[arg(long, value_name = "NUMBER")]
    cards: Option<usize>,
    /// Critical where the CPU lacks one of these: names as in ADJUNCT_CPU, and lanes
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    require: Vec<Required>,
    /// Where to keep what was counted until now
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Look at all that was counted, and keep nothing
    #[arg(long, conflicts_with = "state")]
    since_start: bool,
    /// Do not try the module
    #[arg(long, conflicts_with_all = ["module", "trust_module"])]
    no_module: bool,
    #[command(flatten)]
    module: module::Args,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The reasons by their keys.
fn reasons() -> impl clap::builder::TypedValueParser<Value = Reason> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let all = PossibleValuesParser::new(Reason::ALL.iter().map(|reason| reason.key()));
    all.try_map(|key| Reason::ALL.iter().copied().find(|reason| reason.key() == key).ok_or("no such reason"))
}

/// Runs the subcommand: whatever it meets is an answer.
///
/// # Errors
/// [`Failure`] where standard output cannot be written.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let report = checked(args).unwrap_or_else(|failure| unknown(&failure.to_string()));
    if args.json { output::print_json(&report.json()) } else { output::print(&report.text()) }?;
    Ok(ExitCode::from(report.level().status()))
}

/// The answer to a command line that is wrong, on standard output, where monitors read.
pub(crate) fn misused(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    let line = text.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or("the command line is wrong");
    let _ = output::print(&unknown(&format!("{line} (see adjunct check --help)")).text());
    ExitCode::from(Level::Unknown.status())
}

fn unknown(line: &str) -> CheckReport {
    let part = Part { name: "check", level: Level::Unknown, text: line.to_owned() };
    CheckReport { parts: vec![part], ..CheckReport::default() }
}

fn checked(args: &Args) -> Result<CheckReport, Failure> {
    range::agree(args.warning.as_ref(), args.critical.as_ref()).map_err(Failure::new)?;
    let sample = Sampler::default().take()?;
    let mut report = CheckReport::default();
    let (counts, since) =
        if args.since_start { counted(&sample, None)? } else { counted(&sample, Some(place(args)?.as_path()))? };
    let software = parts::software(&counts, &since, args, &mut report.perf, &mut report.details);
    report.parts.push(software);
    report.parts.extend(parts::faults(&counts, &mut report.perf));
    report.parts.push(parts::cards(&sample.cards, args.cards, &mut report.perf));
    if let Cards::Running(machine) = &sample.cards {
        let serving = serving::all(&Folder::found(), machine);
        report.parts.extend(parts::coprocessors(&serving, &mut report.perf, &mut report.details));
    }
    if !args.no_module {
        report.parts.push(parts::module(&args.module));
    }
    report.parts.extend(parts::required(&args.require));
    if !sample.wrong.is_empty() {
        report.parts.push(Part { name: "counters", level: Level::Unknown, text: sample.wrong.join("; ") });
    }
    if !counters::reads_all() {
        report.details.push("These are the counters of one user: those of all take root, or CAP_IPC_OWNER.".to_owned());
    }
    Ok(report)
}

/// Since when.
#[derive(Debug)]
enum Since {
    /// The counters began; whether another run is to look back to this one.
    Start { first: bool },
    /// Counted from this long ago on.
    Ago(Duration),
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Since::Start { first: false } => f.write_str("since counting began"),
            Since::Start { first: true } => f.write_str("since counting began (the first run)"),
            Since::Ago(time) => match time.as_secs() {
                seconds @ 0..120 => write!(f, "in the last {seconds} s"),
                seconds @ 120..7200 => write!(f, "in the last {} min", seconds / 60),
                seconds => write!(f, "in the last {} h", seconds / 3600),
            },
        }
    }
}

/// The file with the counts up to the last run.
fn place(args: &Args) -> Result<PathBuf, Failure> {
    if let Some(file) = &args.state {
        return Ok(file.clone());
    }
    let none = || Failure::new("neither XDG_STATE_HOME nor HOME is set: say --state FILE, or --since-start");
    let folder = state::folder().ok_or_else(none)?;
    state::made().map_err(|error| Failure::new(format!("{}: {}", folder.display(), cause(&error))))?;
    Ok(folder.join("check.json"))
}

/// The operations counted since the last run, or in total; keeps the counters for the next run.
fn counted(sample: &Sample, state: Option<&Path>) -> Result<(Counts, Since), Failure> {
    let kept = match state.map(|state| files::read(state, STATE)) {
        // What cannot be read, or is no file, would be replaced.
        Some(Err(error)) if error.kind() != ErrorKind::NotFound => {
            let state = state.unwrap_or(Path::new("")).display();
            return Err(Failure::new(format!("{state}: {}", cause(&error))));
        }
        read => read.and_then(Result::ok),
    };
    // What somebody else keeps there would be gone.
    if let (Some(state), Some(kept)) = (state, &kept)
        && !kept.iter().all(u8::is_ascii_whitespace)
        && !Ledger::is_one(&String::from_utf8_lossy(kept))
    {
        let state = state.display();
        return Err(Failure::new(format!(
            "{state}: is no state of 'adjunct check'; it is left alone: name another file, or remove it"
        )));
    }
    let first = state.is_some() && kept.is_none();
    let mut ledger =
        kept.map_or_else(|| Ledger::new(false), |kept| Ledger::kept(&String::from_utf8_lossy(&kept), false));
    let before: BTreeMap<_, _> = ledger.sums().iter().cloned().collect();
    let written = state.and_then(|state| std::fs::metadata(state).and_then(|about| about.modified()).ok());
    let ago = written.filter(|_| !before.is_empty()).and_then(|at| SystemTime::now().duration_since(at).ok());
    let now = sample.users.iter().map(|counted| (counted.user.uid, parts::values(counted))).collect();
    let grown = ledger.add(now).into_iter().map(|(key, sum)| {
        let grown = sum.saturating_sub(before.get(&key).copied().unwrap_or(0));
        (key, grown)
    });
    let counts = Counts(grown.collect());
    if let Some(state) = state {
        replace(state, &ledger.to_text(), 0o600)?;
    }
    Ok((counts, ago.map_or(Since::Start { first }, Since::Ago)))
}
