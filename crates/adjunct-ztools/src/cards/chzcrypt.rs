//! `chzcrypt`: sets cards and domains online and offline, and parameters of the bus, with the options, messages and exit statuses of s390-tools'.
//!
//! Where the original writes an attribute and reads it back, this tool sends adjunctd a request; a refusal is reported in the original's words, with
//! the reason on another line.

use super::scan::{self, Scan};
use super::tool::{Answer, Request, Stop, Tool, UNAVAILABLE};
use adjunct_card_state::control::{Device, Request as Ask};
use adjunct_card_state::machine::{Card, Machine};
use adjunct_tool::getopt::{Options, Part};
use adjunct_tool::output;
use clap::{Arg, ArgAction, Command};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

const TOOL: Tool = Tool("chzcrypt");
/// The letters O, F, A, B and U stand for long names alone.
const OPTIONS: Options = Options {
    short: "edapnc:t:q:Vhv",
    long: &[
        ("enable", 'e'),
        ("disable", 'd'),
        ("all", 'a'),
        ("config-on", 'O'),
        ("config-off", 'F'),
        ("poll-thread-enable", 'p'),
        ("poll-thread-disable", 'n'),
        ("config-time", 'c'),
        ("poll-timeout", 't'),
        ("default-domain", 'q'),
        ("verbose", 'V'),
        ("se-associate=", 'A'),
        ("se-bind", 'B'),
        ("se-unbind", 'U'),
        ("help", 'h'),
        ("version", 'v'),
    ],
};
const NOTES: &str = "\
ID is a card (02, 0x2, card02) or one of its domains (02.0005), in hexadecimal. A card that is taken offline gives what waits in it to \
others, and programs do without: no operation fails. A card whose configuration is taken away has no process any more, and what that knew is \
wiped; where it is given back, it starts with a test, which also ends a check-stop.

Nothing polls here, so that -p, -n, -t and -c are kept and shown and change nothing else. The options --se-* are for guests in secure \
execution on IBM Z. What is set holds until adjunctd starts anew.

adjunctd does it, for root and the user it runs as.

Examples:
  chzcrypt -V -d 00           takes card 00 offline, and says so
  chzcrypt -e 00.0005         takes domain 5 of card 00 online
  chzcrypt --config-off 01    ends the process of card 01

Exit status: 0 done, 1 it failed or the command line is wrong.";

/// The command line's definition, for its help, man page and completions; [`request`] reads it.
pub fn command() -> Command {
    let long = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    let flag = |letter: char, name: &'static str, help: &'static str| long(name, help).short(letter);
    let value = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new(TOOL.0)
        .about("Take cards and domains on and off, and set the bus")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .after_help(NOTES)
        .args([
            flag('e', "enable", "Take online what is named"),
            flag('d', "disable", "Take offline what is named"),
            flag('a', "all", "All cards"),
            long("config-on", "Give the cards named their configuration"),
            long("config-off", "Take away the configuration of the cards named"),
            flag('p', "poll-thread-enable", "Switch the poll thread on"),
            flag('n', "poll-thread-disable", "Switch the poll thread off"),
            value("config-time", "SECONDS", "Set how often the configuration is read").short('c'),
            value("poll-timeout", "NANOSECONDS", "Set how often replies are polled for").short('t'),
            value("default-domain", "DOMAIN", "Set the default domain, in decimal or behind 0x").short('q'),
            flag('V', "verbose", "Say what is done"),
            value("se-associate", "INDEX", "In secure execution: associate a domain"),
            long("se-bind", "In secure execution: bind a domain"),
            long("se-unbind", "In secure execution: release a domain"),
            flag('v', "version", "Print the version"),
            Arg::new("ID").help("A card or domain").num_args(0..),
        ])
}

/// A change of devices.
#[derive(Debug, Clone, Copy)]
enum Change {
    Online(bool),
    Config(bool),
}

/// An action on the domain of a guest in secure execution.
#[derive(Debug)]
enum Secure {
    Associate(OsString),
    Bind,
    Unbind,
}

/// The change that the options ask for: of several, one is made, in the order of the fields.
#[derive(Debug, Default)]
struct Wanted {
    verbose: bool,
    all: bool,
    acts: bool,
    poll_thread: Option<bool>,
    config_time: Option<OsString>,
    poll_timeout: Option<OsString>,
    default_domain: Option<OsString>,
    secure: Option<Secure>,
    online: Option<bool>,
    config: Option<bool>,
}

/// What `args` ask for. An underscore stands for a dash, in whatever word.
pub fn request(args: &[OsString]) -> Request {
    let dashed = |word: &OsString| {
        let mut bytes = word.as_bytes().to_vec();
        bytes.iter_mut().skip(2).filter(|byte| **byte == b'_').for_each(|byte| *byte = b'-');
        OsString::from_vec(bytes)
    };
    Request::of(OPTIONS, &args.iter().map(dashed).collect::<Vec<_>>(), done)
}

fn done(parts: Vec<Part>, words: Vec<OsString>) -> Result<(), Stop> {
    let mut wanted = Wanted::default();
    for part in parts {
        match part {
            Part::Wrong(wrong) => return Err(TOOL.wrong(&wrong)),
            Part::Option('h', _) => return TOOL.help(command()),
            Part::Option('v', _) => return TOOL.version(),
            Part::Option(letter, value) => wanted.take(letter, value.unwrap_or_default()),
        }
    }
    if !wanted.acts {
        return Err(TOOL.misused("Error - missing argument."));
    }
    let machine = TOOL.machine(UNAVAILABLE)?;
    let work = Work { machine, verbose: wanted.verbose };
    if let Some(enabled) = wanted.poll_thread {
        return work.poll_thread(enabled);
    }
    if let Some(text) = &wanted.config_time {
        return work.config_time(text);
    }
    if let Some(text) = &wanted.poll_timeout {
        return work.poll_timeout(text);
    }
    if let Some(text) = &wanted.default_domain {
        return work.default_domain(text);
    }
    if let Some(secure) = &wanted.secure {
        return work.secure(secure, words.first());
    }
    let change = match (wanted.online, wanted.config) {
        (Some(online), _) => Change::Online(online),
        (None, Some(config)) => Change::Config(config),
        (None, None) => return Ok(()),
    };
    let words = if wanted.all {
        work.machine.cards.iter().map(|card| format!("card{:02x}", card.id).into()).collect()
    } else {
        words
    };
    match (words.is_empty(), wanted.all) {
        (true, true) => {
            TOOL.warn("Error - missing cryptographic device id(s).");
            TOOL.remark(&work.machine);
            Err(Stop::Said)
        }
        (true, false) => Err(TOOL.stop("Need to specify at least one device ID.")),
        (false, _) => words.iter().try_for_each(|word| work.change(change, word)),
    }
}

impl Wanted {
    fn take(&mut self, letter: char, value: OsString) {
        match letter {
            'V' => self.verbose = true,
            'a' => self.all = true,
            'e' | 'd' => self.online = Some(letter == 'e'),
            'O' | 'F' => self.config = Some(letter == 'O'),
            'p' | 'n' => self.poll_thread = Some(letter == 'p'),
            'c' => self.config_time = Some(value),
            't' => self.poll_timeout = Some(value),
            'q' => self.default_domain = Some(value),
            'A' => self.secure = Some(Secure::Associate(value)),
            'B' => self.secure = Some(Secure::Bind),
            'U' => self.secure = Some(Secure::Unbind),
            _ => {}
        }
        self.acts |= !matches!(letter, 'V' | 'a');
    }
}

/// A card or a domain by the name that messages have for it.
struct Named<'a> {
    card: &'a Card,
    domain: Option<u8>,
    name: String,
}

struct Work {
    machine: Machine,
    verbose: bool,
}

impl Work {
    /// Asks for a change of an attribute. A user who may not make it is told so in place of `says`; a refusal by the daemon is told after it.
    fn ask(&self, attribute: &str, says: &str, refused: &str, request: Option<&Ask>) -> Result<(), Stop> {
        // What the daemon could not even be told is refused as it would be.
        let answer = request.map_or_else(|| Ok(Answer::Refused(0, String::new())), |request| TOOL.ask(request))?;
        let denied = |why: &str| {
            let gap = if attribute.ends_with("/config") { "" } else { " " };
            let hint = format!("{gap}Wrong permissions or wrong tools version.");
            let words = format!("Error - can't write to /sys/bus/ap/{attribute}.\n{hint}");
            TOOL.stop(&format!("{words}\n{}: {}", TOOL.0, adjunct_tool::escape::shown(why)))
        };
        match &answer {
            Answer::Denied(why) => return Err(denied(why)),
            Answer::Refused(errno, why) if is_permission(*errno) => return Err(denied(why)),
            _ if self.verbose => output::print(&format!("{says}\n"))?,
            _ => {}
        }
        match answer {
            Answer::Refused(_, why) if why.is_empty() => Err(TOOL.stop(refused)),
            Answer::Refused(_, why) => {
                Err(TOOL.stop(&format!("{refused}\n{}: {}", TOOL.0, adjunct_tool::escape::shown(&why))))
            }
            _ => Ok(()),
        }
    }

    fn poll_thread(&self, enabled: bool) -> Result<(), Stop> {
        let says = if enabled { "Enabling poll thread." } else { "Disabling poll thread." };
        let refused = "Error - unable to change poll thread setting.";
        self.ask("poll_thread", says, refused, Some(&Ask::SetPollThread(enabled)))
    }

    fn config_time(&self, text: &OsStr) -> Result<(), Stop> {
        let seconds = number(text, "configuration timeout")?;
        let says = format!("Setting configuration timer to {seconds} seconds.");
        let request = u32::try_from(seconds).ok().map(Ask::SetConfigTime);
        self.ask("config_time", &says, "Error - unable to change configuration timer setting.", request.as_ref())
    }

    fn poll_timeout(&self, text: &OsStr) -> Result<(), Stop> {
        let nanoseconds = number(text, "poll timeout")?;
        // It is nanoseconds, and the original says seconds.
        let says = format!("Setting poll timeout to {nanoseconds} seconds.");
        let request = u64::try_from(nanoseconds).ok().map(Ask::SetPollTimeout);
        self.ask("poll_timeout", &says, "Error - unable to change poll timeout setting.", request.as_ref())
    }

    fn default_domain(&self, text: &OsStr) -> Result<(), Stop> {
        let domain = Scan::of(text.as_bytes()).any_base().and_then(|domain| u8::try_from(domain).ok());
        let Some(domain) = domain else {
            return Err(TOOL.stop(&format!("Error - invalid default domain '{}'.", adjunct_tool::escape::shown(text))));
        };
        let says = format!("Setting default domain to {domain}.");
        self.ask("ap_domain", &says, "Error - unable to change default domain.", Some(&Ask::SetDefaultDomain(domain)))?;
        if !self.machine.bus.usage_domains.has(domain) {
            output::print(&format!("Warning: Default domain 0x{domain:02x} is not available.\n"))?;
        }
        Ok(())
    }

    /// Answers for secure execution, which no card has: checks its arguments as IBM's tool does.
    fn secure(&self, what: &Secure, word: Option<&OsString>) -> Result<(), Stop> {
        let (option, attribute) = match what {
            Secure::Associate(_) => ("associate", "se_associate"),
            Secure::Bind => ("bind", "se_bind"),
            Secure::Unbind => ("unbind", "se_bind"),
        };
        let Some(word) = word else {
            return Err(TOOL.stop(&format!("Error - The --se-{option} needs a queue device given.")));
        };
        if !super::device::has_binding(&self.machine.bus) {
            return Err(TOOL.stop("Error - AP bus: SE bind support is not available."));
        }
        let shown = adjunct_tool::escape::shown(word);
        let Some((id, domain)) = scan::queue(word.as_bytes()) else {
            return Err(TOOL.stop(&format!("Error - Can't parse queue device '{shown}' as xy.abcd.")));
        };
        if self.find(id).is_none_or(|card| !card.queues.iter().any(|queue| i32::from(queue.domain) == domain)) {
            return Err(TOOL.stop(&format!("Error - Queue device {shown} does not exist.")));
        }
        if let Secure::Associate(index) = what {
            match Scan::of(index.as_bytes()).any_base() {
                None => {
                    let index = adjunct_tool::escape::shown(index);
                    return Err(TOOL.stop(&format!("Error - Can't parse association index '{index}' as number.")));
                }
                Some(index) if !(0..=0xffff).contains(&index) => {
                    return Err(TOOL.stop("Error - Association index needs to be in range [0...65535]."));
                }
                Some(_) => {}
            }
        }
        let path = format!("/sys/bus/ap/devices/card{id:02x}/{id:02x}.{domain:04x}/{attribute}");
        Err(TOOL.stop(&format!("Error - Can't write to {path} (errno 'No such file or directory').")))
    }

    fn find(&self, id: i32) -> Option<&Card> {
        self.machine.cards.iter().find(|card| i32::from(card.id) == id)
    }

    /// The device that a word names.
    fn named(&self, change: Change, word: &OsStr) -> Result<Named<'_>, Stop> {
        let (bytes, shown) = (word.as_bytes(), adjunct_tool::escape::shown(word));
        let digits = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_hexdigit);
        let card = match bytes {
            [b'c', b'a', b'r', b'd', rest @ ..] => Some(rest),
            [b'0', b'x', rest @ ..] => Some(rest),
            all => digits.then_some(all),
        };
        let (id, domain) = match (card, change) {
            (Some(text), _) => match Scan::of(text).hex(2) {
                Some((id, _)) => (id, None),
                None => return Err(TOOL.stop(&format!("Error - unable to parse '{shown}'."))),
            },
            (None, Change::Config(_)) => {
                let words = "Config on/off is only valid for card devices.";
                return Err(TOOL.stop(&format!("Error - invalid device {shown}\n {words}")));
            }
            (None, Change::Online(_)) => match scan::queue(bytes) {
                Some((id, domain)) => (id, Some(domain)),
                None => return Err(TOOL.stop(&format!("Error - cryptographic device {shown} malformed."))),
            },
        };
        let name = match domain {
            None => format!("card{id:02x}"),
            Some(domain) => format!("card{id:02x}/{id:02x}.{domain:04x}"),
        };
        let card = self.find(id);
        let known = domain.map(|domain| {
            let queues = card.map_or(&[][..], |card| &card.queues);
            queues.iter().find(|queue| i32::from(queue.domain) == domain).map(|queue| queue.domain)
        });
        match (card, known) {
            (Some(card), None) => Ok(Named { card, domain: None, name }),
            (Some(card), Some(Some(domain))) => Ok(Named { card, domain: Some(domain), name }),
            _ => Err(TOOL.stop(&format!("Error - cryptographic device {name} does not exist."))),
        }
    }

    fn change(&self, change: Change, word: &OsStr) -> Result<(), Stop> {
        let Named { card, domain, name } = self.named(change, word)?;
        let (says, attribute, request) = match change {
            Change::Online(online) => {
                if online && !card.config {
                    let shown = adjunct_tool::escape::shown(word);
                    TOOL.warn(&format!("Warning - device {shown} is deconfigured, can't set to online.\n"));
                    return Ok(());
                }
                let device = Device { card: card.id, domain };
                (if online { "online" } else { "offline" }, "online", Ask::SetOnline(device, online))
            }
            Change::Config(config) => {
                let says = if config { "config on" } else { "config off" };
                if config == card.config {
                    TOOL.warn(&format!("Warning - device {name} is already {says}."));
                    return Ok(());
                }
                (says, "config", Ask::SetConfig(card.id, config))
            }
        };
        self.ask(
            &format!("devices/{name}/{attribute}"),
            &format!("Setting cryptographic device {name} {says}"),
            &format!("Error - unable to set cryptographic device {name} {says}."),
            Some(&request),
        )
    }
}

/// Whether an error number of the driver's means that the user has no permission.
pub(super) fn is_permission(errno: i32) -> bool {
    use rustix::io::Errno;
    [Errno::PERM, Errno::ACCESS].iter().any(|error| error.raw_os_error() == errno)
}

fn number(text: &OsStr, what: &str) -> Result<i64, Stop> {
    let shown = adjunct_tool::escape::shown(text);
    Scan::of(text.as_bytes()).decimal().ok_or_else(|| TOOL.stop(&format!("Error - invalid {what} '{shown}'.")))
}
