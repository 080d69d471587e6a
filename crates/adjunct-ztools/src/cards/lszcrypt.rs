//! `lszcrypt`: the cards, their domains, and the bus, with the options, columns, words and exit statuses of s390-tools'.

use super::device::{self, Device};
use super::scan::{self, Scan};
use super::table::{Column, Side, Table};
use super::tool::{Request, Stop, Tool, UNAVAILABLE};
use adjunct_card_state::machine::{Bus, Card, Machine};
use adjunct_tool::getopt::{Options, Part};
use adjunct_tool::output;
use clap::{Arg, ArgAction, Command};
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

const TOOL: Tool = Tool("lszcrypt");
/// The letters A, C, E, K, Q and J stand for long names alone.
const OPTIONS: Options = Options {
    short: "bc:dVshv",
    long: &[
        ("bus", 'b'),
        ("capability", 'c'),
        ("domains", 'd'),
        ("verbose", 'V'),
        ("accelonly", 'A'),
        ("ccaonly", 'C'),
        ("ep11only", 'E'),
        ("cardonly", 'K'),
        ("queueonly", 'Q'),
        ("serial", 's'),
        ("json", 'J'),
        ("help", 'h'),
        ("version", 'v'),
    ],
};
const NOTES: &str = "\
ID is a card (02), one of its domains (02.0005), or a domain of all cards (.0005), in hexadecimal; without one, all are shown. With -c, a \
card is given in decimal or, behind 0x, in hexadecimal. The first of -b, -c, -d and -s is what is shown, and the rest of the command line \
is not looked at.

STATUS is online, offline (chzcrypt -d), deconfig (chzcrypt --config-off: there is no process) or chkstop (stopped for faults). REQUESTS \
were queued since adjunctd started; PENDING are under way. The letters under FUNCTIONS: M and C, RSA of 4096 bits without and with the CRT; \
A, an accelerator; D, a CCA coprocessor; X, an EP11 coprocessor; F, all functions, R, some.

What is shown is what adjunctd last wrote down; it is not asked, and any user may look.

Examples:
  lszcrypt                  the cards and their domains
  lszcrypt -V 00            card 00, with all columns
  lszcrypt --json -V | jq   the same for programs

Exit status: 0 done, 1 it failed or the command line is wrong.";

/// The command line's definition, for its help, man page and completions; [`request`] reads it.
pub fn command() -> Command {
    let long = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    let flag = |letter: char, name: &'static str, help: &'static str| long(name, help).short(letter);
    Command::new(TOOL.0)
        .about("Show cards, their domains, and how the bus is set")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .after_help(NOTES)
        .args([
            flag('b', "bus", "Show how the bus is set"),
            Arg::new("capability")
                .short('c')
                .long("capability")
                .value_name("ID")
                .help("Show what a card or domain can do"),
            flag('d', "domains", "Show which domains may be used and administered"),
            flag('V', "verbose", "Show all columns"),
            long("accelonly", "Show accelerators alone"),
            long("ccaonly", "Show CCA coprocessors alone"),
            long("ep11only", "Show EP11 coprocessors alone"),
            long("cardonly", "Show cards, and not their domains"),
            long("queueonly", "Show domains, and not their cards"),
            flag('s', "serial", "Show the serial numbers of coprocessors"),
            long("json", "Print as JSON; not among the options of s390-tools"),
            flag('v', "version", "Print the version"),
            Arg::new("ID").help("A card or domain").num_args(0..),
        ])
}

/// Which devices are shown, and how.
#[derive(Debug, Default)]
struct Wanted {
    verbose: bool,
    json: bool,
    kinds: Vec<char>,
    cards: bool,
    queues: bool,
}

impl Wanted {
    fn has(&self, device: &Device<'_>) -> bool {
        let last = device.card.kind.chars().last();
        let other = |kind: char| !self.kinds.is_empty() && !self.kinds.contains(&kind);
        let kind = !last.is_some_and(|last| "ACP".contains(last) && other(last));
        let level = if device.queue.is_some() { self.queues } else { self.cards };
        kind && level
    }
}

/// What `args` ask for.
pub fn request(args: &[OsString]) -> Request {
    Request::of(OPTIONS, args, done)
}

fn done(parts: Vec<Part>, words: Vec<OsString>) -> Result<(), Stop> {
    let json = parts.contains(&Part::Option('J', None));
    let mut wanted = Wanted { json, ..Wanted::default() };
    for part in parts {
        match part {
            Part::Wrong(wrong) => return Err(TOOL.wrong(&wrong)),
            Part::Option('h', _) => return TOOL.help(command()),
            Part::Option('v', _) => return TOOL.version(),
            Part::Option('b', _) => return report(json, |machine| Ok((bus(&machine.bus), json!(machine.bus)))),
            Part::Option('c', id) => return report(json, |machine| capability(machine, &id.unwrap_or_default())),
            Part::Option('d', _) => return report(json, |machine| Ok(domains(&machine.bus))),
            Part::Option('s', _) => return report(json, serials),
            Part::Option('V', _) => wanted.verbose = true,
            Part::Option('A', _) => wanted.kinds.push('A'),
            Part::Option('C', _) => wanted.kinds.push('C'),
            Part::Option('E', _) => wanted.kinds.push('P'),
            Part::Option('K', _) => wanted.cards = true,
            Part::Option('Q', _) => wanted.queues = true,
            Part::Option(..) => {}
        }
    }
    wanted.kinds.sort_unstable();
    wanted.kinds.dedup();
    if wanted.kinds.len() > 1 {
        return Err(TOOL.stop("Only one of --accelonly or --ccaonly or --ep11only can be specified"));
    }
    if wanted.cards && wanted.queues {
        return Err(TOOL.stop("Only one of --cardonly or --queueonly can be specified"));
    }
    if !wanted.cards && !wanted.queues {
        (wanted.cards, wanted.queues) = (true, true);
    }
    let machine = TOOL.machine(UNAVAILABLE)?;
    if words.is_empty() { all(TOOL, &machine, &wanted) } else { some(&machine, &wanted, &words) }
}

/// Prints what `make` makes of the cards, as text or as JSON.
fn report(json: bool, make: impl FnOnce(&Machine) -> Result<(String, Value), Stop>) -> Result<(), Stop> {
    let machine = TOOL.machine(UNAVAILABLE)?;
    let (text, value) = make(&machine)?;
    Ok(if json { output::print_json(&value) } else { output::print(&text) }?)
}

/// `adjunct cards list`: every card and domain, with all columns.
pub fn list(tool: Tool, machine: &Machine, json: bool) -> Result<(), Stop> {
    let wanted = Wanted { verbose: true, json, kinds: Vec::new(), cards: true, queues: true };
    all(tool, machine, &wanted)
}

/// Shows every device that is wanted.
fn all(tool: Tool, machine: &Machine, wanted: &Wanted) -> Result<(), Stop> {
    if wanted.json {
        let devices: Vec<_> = Device::all(machine).filter(|device| wanted.has(device)).map(|d| d.json()).collect();
        output::print_json(&json!({ "bus": machine.bus, "devices": devices, "remark": machine.remark }))?;
        return Ok(());
    }
    let mut report = LszcryptReport::new(machine, wanted);
    let shown = machine.cards.iter().try_for_each(|card| report.card(card));
    if shown.is_ok()
        && let Some(warning) = device::warning_of_domain(&machine.bus)
    {
        report.text += &warning;
    }
    output::print(&report.text)?;
    tool.remark(machine);
    shown.map_err(|words| tool.stop(&words))
}

/// Shows the devices that are named.
fn some(machine: &Machine, wanted: &Wanted, words: &[OsString]) -> Result<(), Stop> {
    let mut report = LszcryptReport::new(machine, wanted);
    let shown = words.iter().try_for_each(|word| report.named(word));
    if wanted.json {
        let value = json!({ "devices": report.devices.iter().map(Device::json).collect::<Vec<_>>() });
        shown.map_err(|words| TOOL.stop(&words))?;
        return Ok(output::print_json(&value)?);
    }
    output::print(&report.text)?;
    shown.map_err(|words| TOOL.stop(&words))
}

/// A table that is being made. An error comes back in words, for the tool to print below the table.
struct LszcryptReport<'a> {
    machine: &'a Machine,
    wanted: &'a Wanted,
    table: Table,
    text: String,
    devices: Vec<Device<'a>>,
}

impl<'a> LszcryptReport<'a> {
    fn new(machine: &'a Machine, wanted: &'a Wanted) -> LszcryptReport<'a> {
        let table = device::table(machine, wanted.verbose);
        let text = table.heading();
        LszcryptReport { machine, wanted, table, text, devices: Vec::new() }
    }

    fn device(&mut self, device: Device<'a>) {
        if self.wanted.has(&device) {
            self.text += &device.row(&self.table);
            self.devices.push(device);
        }
    }

    /// A card, then its domains.
    fn card(&mut self, card: &'a Card) -> Result<(), String> {
        self.device(Device { card, queue: None });
        let only_others = Wanted { queues: true, cards: true, kinds: self.wanted.kinds.clone(), ..Wanted::default() };
        if !self.wanted.queues || !only_others.has(&Device { card, queue: None }) {
            return Ok(());
        }
        if card.queues.is_empty() {
            return Err(format!("Error - no subdevices found for /sys/devices/ap/card{:02x}.\n", card.id));
        }
        card.queues.iter().for_each(|queue| self.device(Device { card, queue: Some(queue) }));
        Ok(())
    }

    fn find(&self, id: i32) -> Option<&'a Card> {
        self.machine.cards.iter().find(|card| i32::from(card.id) == id)
    }

    /// Selects the card or domain that a word names.
    fn named(&mut self, word: &OsStr) -> Result<(), String> {
        let word = word.as_bytes();
        match scan::card_and_domain(word) {
            (Some(id), Some(domain)) if id >= 0 && domain >= 0 => {
                let card = self.find(id);
                let queue = card.and_then(|card| card.queues.iter().find(|queue| i32::from(queue.domain) == domain));
                let (Some(card), Some(_)) = (card, queue) else {
                    let path = format!("/sys/devices/ap/card{id:02x}/{id:02x}.{domain:04x}");
                    return Err(format!("Error - cryptographic device {path} does not exist."));
                };
                self.device(Device { card, queue });
                Ok(())
            }
            (Some(id), _) => match self.find(id) {
                Some(card) => self.card(card),
                None => Err(format!("Error - cryptographic device card{id:02x} does not exist.")),
            },
            (None, _) => self.domain(word),
        }
    }

    /// A domain of all cards; that a card lacks it is not an error.
    fn domain(&mut self, word: &[u8]) -> Result<(), String> {
        let domain = word.get(1..).and_then(|rest| Scan::of(rest).hex(usize::MAX));
        let Some((domain, _)) = domain else {
            self.text += "Invalid adpater id!\n";
            return Ok(());
        };
        if self.machine.cards.is_empty() {
            return Err("No crypto card devices found.".to_owned());
        }
        let has = |device: &Device<'_>| device.queue.is_some_and(|queue| i32::from(queue.domain) == domain);
        let found: Vec<_> = Device::all(self.machine).filter(has).collect();
        if found.is_empty() {
            return Err("No queue devices with given domain value found.".to_owned());
        }
        found.into_iter().for_each(|device| self.device(device));
        Ok(())
    }
}

fn bus(bus: &Bus) -> String {
    let mut text = String::new();
    let features = if bus.features.is_empty() { "-".to_owned() } else { bus.features.join(" ") };
    let _ = writeln!(text, "features: {}", adjunct_tool::escape::shown(&features));
    let _ = match bus.default_domain {
        None => writeln!(text, "ap_domain=-1 (not set)"),
        Some(domain) if bus.usage_domains.has(domain) => writeln!(text, "ap_domain=0x{domain:02x}"),
        Some(domain) => writeln!(text, "ap_domain=0x{domain:02x} (unavailable)"),
    };
    let poll = if bus.poll_thread { "enabled" } else { "disabled" };
    text += "ap_max_domain_id=0xff\nap_interrupts are enabled\n";
    let _ = writeln!(text, "config_time={} (seconds)", bus.config_time);
    let _ = writeln!(text, "poll_thread is {poll}");
    let _ = writeln!(text, "poll_timeout={} (nanoseconds)", bus.poll_timeout);
    text
}

/// The grid of domains.
fn domains(bus: &Bus) -> (String, Value) {
    let columns = (0..16).fold("DOMAIN".to_owned(), |line, column| format!("{line} {column:02x}"));
    let mut text = format!("{columns}\n{}\n", "-".repeat(columns.len()));
    for row in 0..16u8 {
        let _ = write!(text, "{:>6}", format!("{:02x}", row * 16));
        for domain in row * 16..=row * 16 + 15 {
            text += match (bus.control_domains.has(domain), bus.usage_domains.has(domain)) {
                (true, true) => "  B",
                (true, false) => "  C",
                (false, true) => "  U",
                (false, false) => "  .",
            };
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", "-".repeat(54));
    text += "C: Control domain\nU: Usage domain\nB: Both (Control + Usage domain)\n";
    text += &device::warning_of_domain(bus).unwrap_or_default();
    let numbers = |mask: &adjunct_card_state::machine::Mask| mask.numbers().collect::<Vec<_>>();
    let value = json!({
        "default": bus.default_domain,
        "usage": numbers(&bus.usage_domains),
        "control": numbers(&bus.control_domains),
    });
    (text, value)
}

/// The serial numbers of coprocessors.
fn serials(machine: &Machine) -> Result<(String, Value), Stop> {
    const COLUMNS: [Column; 5] = [
        ("CARD.DOM", Side::Left, 8),
        ("TYPE", Side::Left, 5),
        ("MODE", Side::Left, 11),
        ("STATUS", Side::Left, 10),
        ("SERIALNR", Side::Left, 8),
    ];
    if machine.cards.is_empty() {
        TOOL.warn("No crypto card devices found.");
        TOOL.remark(machine);
        return Err(Stop::Said);
    }
    let table = Table::new(&COLUMNS);
    let (mut text, mut values) = (table.heading(), Vec::new());
    for card in &machine.cards {
        let device = Device { card, queue: None };
        if card.functions & (device::COPROCESSOR | device::EP11) == 0 {
            continue;
        }
        // A card of both kinds, which there is not, is what the first of the two says.
        let serial = card.serial.chars().take(8).collect::<String>();
        let serial = if serial.is_empty() { "-".to_owned() } else { adjunct_tool::escape::shown(&serial) };
        let mode = if card.functions & device::COPROCESSOR == 0 { "EP11-Coproc" } else { "CCA-Coproc" };
        text += &table.row([device.id(), device.kind(), mode.to_owned(), device.status().to_owned(), serial]);
        values.push(json!({ "device": device.id(), "type": card.kind, "mode": mode, "status": device.status(), "serial": card.serial }));
    }
    Ok((text, json!(values)))
}

/// The capabilities of a card or domain.
fn capability(machine: &Machine, word: &OsStr) -> Result<(String, Value), Stop> {
    if let (Some(id), Some(domain)) = scan::card_and_domain(word.as_bytes()) {
        let card = machine.cards.iter().find(|card| i32::from(card.id) == id);
        if card.is_none_or(|card| !card.queues.iter().any(|queue| i32::from(queue.domain) == domain)) {
            return Err(TOOL.stop(&format!("Error - cryptographic queue device {id:02x}.{domain:04x} does not exist.")));
        }
        let name = format!("{id:02x}.{domain:04x}");
        return Ok((format!("queue {name} capabilities:\n"), json!({ "device": name, "capabilities": [] })));
    }
    let number = Scan::of(word.as_bytes()).whole().and_then(|number| u8::try_from(number).ok());
    let Some(id) = number else {
        let shown = adjunct_tool::escape::shown(word);
        return Err(TOOL.stop(&format!("Error - '{shown}' is an invalid cryptographic device id.")));
    };
    let name = format!("card{id:02x}");
    let Some(card) = machine.cards.iter().find(|card| card.id == id) else {
        return Err(TOOL.stop(&format!("Error - cryptographic device {name} does not exist.")));
    };
    let lines = capabilities(card, &name);
    let text = format!("{name} provides capability for:\n{}\n", lines.join("\n"));
    Ok((text, json!({ "device": format!("{id:02x}"), "capabilities": lines })))
}

fn capabilities(card: &Card, name: &str) -> Vec<String> {
    let has = |bits| card.functions & bits != 0;
    let rsa = if has(device::RSA_4K) { "RSA 4K Clear Key" } else { "RSA 2K Clear Key" };
    let class = match () {
        () if has(device::FULL) => " (full function set)",
        () if has(device::RESTRICTED) => " (restricted function set)",
        () => "",
    };
    let unknown =
        format!("Detailed capability information for {name} (hardware type {}) is not available.", card.hwtype);
    let cca = format!("CCA Secure Key{class}");
    let filter = "Hardware support for stateless filtering";
    let old_or_known: Vec<&str> = match card.hwtype {
        6 | 8 => vec![rsa],
        7 | 9 => vec!["RSA 4K Clear Key", &cca, "Long RNG"],
        10..=14 if has(device::ACCELERATOR) => vec![rsa],
        10..=14 if has(device::COPROCESSOR) && has(device::STATELESS) => {
            vec!["RSA 4K Clear Key", &cca, filter, "Long RNG"]
        }
        10..=14 if has(device::COPROCESSOR) => vec!["RSA 4K Clear Key", &cca, "Long RNG"],
        10..=14 if has(device::EP11) => vec!["EP11 Secure Key"],
        _ => vec![&unknown],
    };
    let size = format!("AP bus max message size limit {} Kb", card.max_message / 1024);
    let sized = (10..=14).contains(&card.hwtype) && card.max_message > 0;
    old_or_known.into_iter().map(str::to_owned).chain(sized.then_some(size)).collect()
}
