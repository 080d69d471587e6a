//! `zcryptstats`: what cards and domains did in intervals of time, with the options, columns, words and exit statuses of s390-tools'.
//!
//! The original asks the firmware, for which it has to be root. Here the numbers are those that the card processes count, and any user may look. A
//! card whose numbers are smaller than before was restarted, and is shown from the next interval on.

mod measure;
mod print;
mod select;

use super::tool::{Request, Stop, Tool};
use adjunct_tool::getopt::{Options, Part};
use clap::{Arg, ArgAction, Command};
use print::Format;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

const TOOL: Tool = Tool("zcryptstats");
/// The letter J stands for a long name alone.
const OPTIONS: Options = Options {
    short: "i:c:o:tTaM:AOVhv",
    long: &[
        ("interval", 'i'),
        ("count", 'c'),
        ("output", 'o'),
        ("no-totals", 't'),
        ("only-totals", 'T'),
        ("no-apqn", 'a'),
        ("map-type", 'M'),
        ("all", 'A'),
        ("only-online", 'O'),
        ("verbose", 'V'),
        ("json", 'J'),
        ("help", 'h'),
        ("version", 'v'),
    ],
};
const NOTES: &str = "\
ID is a card (02), one of its domains (02.0005), or a domain of all cards (.0005), in hexadecimal; without one, all are shown.

OPS are the operations of the interval, RATE those of a second, UTILIZATION the time in which a worker of the card was busy with them, and \
AVG.DURATION what one took of it: operations that are done together, in lanes, share their time. A card with several workers can be busy for \
more than 100 %. The first interval ends one interval after the start.

The counters of an accelerator are RSA by size, without (ME) and with the CRT; the last is spelled CTR, as scripts know it. Operations of \
other kinds and sizes are counted with the nearest.

Examples:
  zcryptstats -i 5               every five seconds, until interrupted
  zcryptstats -i 1 -c 1 -o CSV   the next second, for a spreadsheet
  zcryptstats -T 00              card 00 and its domains, totals alone

Exit status: 0 done, 1 it failed or the command line is wrong.";

/// The command line's definition, for its help, man page and completions; [`request`] reads it.
pub fn command() -> Command {
    let long = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    let flag = |letter: char, name: &'static str, help: &'static str| long(name, help).short(letter);
    let value = |letter: char, name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).short(letter).long(name).value_name(value).help(help)
    };
    Command::new(TOOL.0)
        .about("Show what cards and domains did in intervals of time")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .after_help(NOTES)
        .args([
            value('i', "interval", "SECONDS", "How long an interval is [default: 10]"),
            value('c', "count", "COUNT", "How many intervals [default: until interrupted]"),
            value('o', "output", "FORMAT", "Print as JSON, TABLE or CSV; TABLE and CSV have totals alone")
                .value_parser(["JSON", "TABLE", "CSV"])
                .ignore_case(true),
            flag('t', "no-totals", "Leave out totals"),
            flag('T', "only-totals", "Show totals alone"),
            flag('a', "no-apqn", "Show cards, and not their domains"),
            value('M', "map-type", "MAP", "On IBM Z: count unknown cards as known ones (TYPE:MODE=TYPE:MODE,...)"),
            flag('A', "all", "All cards of the machine: here those that are shown without it"),
            flag('O', "only-online", "Show what is online alone"),
            flag('V', "verbose", "Say what is done"),
            long("json", "The same as -o JSON; not among the options of s390-tools"),
            flag('v', "version", "Print the version"),
            Arg::new("ID").help("A card or domain").num_args(0..),
        ])
}

/// The options: what is measured, and how it is shown.
#[derive(Debug)]
struct Wanted {
    interval: u64,
    count: u64,
    format: Format,
    totals: bool,
    counters: bool,
    queues: bool,
    online: bool,
    verbose: bool,
}

impl Wanted {
    /// Prints what is done, if messages are wanted.
    fn say(&self, text: &str) {
        if self.verbose {
            TOOL.warn(text);
        }
    }
}

/// What `args` ask for.
pub fn request(args: &[OsString]) -> Request {
    Request::of(OPTIONS, args, done)
}

fn done(parts: Vec<Part>, words: Vec<OsString>) -> Result<(), Stop> {
    let (mut only_totals, mut all, mut map) = (false, false, None);
    let mut wanted = Wanted {
        interval: 10,
        count: 0,
        format: Format::Report,
        totals: true,
        counters: true,
        queues: true,
        online: false,
        verbose: false,
    };
    for part in parts {
        match part {
            Part::Wrong(wrong) => return Err(TOOL.wrong(&wrong)),
            Part::Option('h', _) => return TOOL.help(command()),
            Part::Option('v', _) => return TOOL.version(),
            Part::Option('i', value) => wanted.interval = positive("interval", 'i', &value.unwrap_or_default())?,
            Part::Option('c', value) => wanted.count = positive("count", 'c', &value.unwrap_or_default())?,
            Part::Option('o', value) => {
                let value = value.unwrap_or_default();
                wanted.format = Format::named(&value).ok_or_else(|| invalid("output", 'o', &value))?;
                only_totals |= matches!(wanted.format, Format::Table | Format::Csv);
            }
            Part::Option('J', _) => wanted.format = Format::Json,
            Part::Option('t', _) => wanted.totals = false,
            Part::Option('T', _) => only_totals = true,
            Part::Option('a', _) => wanted.queues = false,
            Part::Option('M', value) => map = value,
            Part::Option('A', _) => all = true,
            Part::Option('O', _) => wanted.online = true,
            Part::Option(..) => wanted.verbose = true,
        }
    }
    if only_totals && !wanted.totals {
        return Err(TOOL.stop("Either --no-totals or --only-totals can be specified, but not both"));
    }
    if wanted.online && all {
        return Err(TOOL.stop("Either --only-online or --all can be specified, but not both"));
    }
    wanted.counters = !only_totals;
    wanted.say(&format!("Interval: {} Count: {}", wanted.interval, wanted.count));
    let machine = TOOL.machine("Crypto device driver is not available")?;
    let Some(last) = machine.cards.last() else {
        TOOL.warn("No crypto card devices found");
        TOOL.remark(&machine);
        return Err(Stop::Said);
    };
    let highest = if last.id < 64 { 63 } else { 255 };
    wanted.say(&format!("Max card index used: {highest}"));
    let selection = select::Selection::of(&words, highest, &wanted)?;
    if let Some(map) = map {
        select::check_map(&map, &wanted)?;
    }
    measure::run(&wanted, &selection)
}

fn invalid(long: &str, short: char, value: &OsStr) -> Stop {
    TOOL.misused(&format!("Invalid value for '--{long}'|'-{short}': '{}'", adjunct_tool::escape::shown(value)))
}

fn positive(long: &str, short: char, value: &OsStr) -> Result<u64, Stop> {
    let number = super::scan::Scan::of(value.as_bytes()).whole();
    number.and_then(|number| u64::try_from(number).ok()).filter(|&n| n > 0).ok_or_else(|| invalid(long, short, value))
}
