//! `zcryptctl`: nodes, each a socket of its own that allows some cards, domains and requests, with the commands, words and exit statuses of
//! s390-tools'.
//!
//! On IBM Z a node is a character device with attributes; here adjunctd keeps the nodes, and the tool sends it requests.

mod config;

use super::scan::Scan;
use super::tool::{Answer, Request, Stop, Tool};
use adjunct_card_state::control::{Item, Node, Request as Ask};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Mask;
use adjunct_tool::getopt::{Options, Part};
use adjunct_tool::output;
use clap::{Arg, ArgAction, Command};
use serde_json::{Value, json};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

const TOOL: Tool = Tool("zcryptctl");
/// The letter J stands for a long name alone.
const OPTIONS: Options = Options { short: "hv", long: &[("help", 'h'), ("version", 'v'), ("json", 'J')] };
/// The message where there are no nodes at all.
const UNAVAILABLE: &str = "Directory class/zcrypt is missing in sysfs.\nMultiple zcrypt node support is not available";
const NOTES: &str = "\
NODE is a socket in /run/adjunct/nodes that allows the cards (adapters), domains, control domains and requests that were added to it, and at \
first none. Programs in a container use it in place of all cards where it is mounted there as /run/adjunct/cards.sock. What is added or \
taken away holds at once, for programs that have it open too.

A number is decimal, octal behind 0, or hexadecimal behind 0x; ALL is all of 0 to 255. Requests (ioctls) are ICARSAMODEXPO, ICARSACRT, \
ZSECSENDCPRB, ZSENDEP11CPRB, ZCRYPT_DEVICE_STATUS, ZCRYPT_STATUS_MASK, ZCRYPT_QDEPTH_MASK and ZCRYPT_PERDEV_REQCNT, or numbers.

config reads what listconfig prints: `node = NAME` makes a node, and `aps =`, `doms =`, `ctrls =` and `ioctls =` allow it what is listed, \
with commas or blanks between. # starts a comment. It ends at the first line that is wrong or fails; what was done by then stays.

adjunctd does it, for root and the user it runs as. Nodes end with it.

Examples:
  zcryptctl create web           makes the node web
  zcryptctl addap web 0          allows it card 0,
  zcryptctl adddom web 5         domain 5,
  zcryptctl addioctl web ALL     and all requests
  zcryptctl list --json          shows all nodes, for programs

Exit status: 0 done, 1 it failed or the command line is wrong.";

/// Requests that have names, with their numbers.
const IOCTLS: [(&str, u8); 8] = [
    ("ICARSAMODEXPO", 0x05),
    ("ICARSACRT", 0x06),
    ("ZSECSENDCPRB", 0x81),
    ("ZSENDEP11CPRB", 0x04),
    ("ZCRYPT_DEVICE_STATUS", 0x5f),
    ("ZCRYPT_STATUS_MASK", 0x58),
    ("ZCRYPT_QDEPTH_MASK", 0x59),
    ("ZCRYPT_PERDEV_REQCNT", 0x5a),
];

/// The list of a node that a command changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Adapters,
    Domains,
    Controls,
    Ioctls,
}

/// A command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    List,
    ListConfig,
    Create,
    Destroy,
    Config,
    Change(List, bool),
}

/// The commands: name, action, arguments, and the line of help.
const COMMANDS: [(&str, Verb, &str, &str); 13] = [
    ("list", Verb::List, "", "Show all nodes, and what they allow."),
    (
        "create",
        Verb::Create,
        "[NODE]",
        "Make a node that allows nothing, of the next free name (zcrypt_0, ...) where none is given.",
    ),
    ("destroy", Verb::Destroy, "NODE", "Remove a node."),
    ("addap", Verb::Change(List::Adapters, true), "NODE NUMBER", "Allow a node a card: 0 to 255, or ALL."),
    ("delap", Verb::Change(List::Adapters, false), "NODE NUMBER", "No longer allow a node a card: 0 to 255, or ALL."),
    ("adddom", Verb::Change(List::Domains, true), "NODE NUMBER", "Allow a node a domain: 0 to 255, or ALL."),
    ("deldom", Verb::Change(List::Domains, false), "NODE NUMBER", "No longer allow a node a domain: 0 to 255, or ALL."),
    (
        "addctrl",
        Verb::Change(List::Controls, true),
        "NODE NUMBER",
        "Allow a node to administer a domain: 0 to 255, or ALL.",
    ),
    (
        "delctrl",
        Verb::Change(List::Controls, false),
        "NODE NUMBER",
        "No longer allow a node to administer a domain: 0 to 255, or ALL.",
    ),
    ("addioctl", Verb::Change(List::Ioctls, true), "NODE IOCTL", "Allow a node a request: its name, 0 to 255, or ALL."),
    (
        "delioctl",
        Verb::Change(List::Ioctls, false),
        "NODE IOCTL",
        "No longer allow a node a request: its name, 0 to 255, or ALL.",
    ),
    ("config", Verb::Config, "FILE", "Make the nodes that a file describes, as listconfig prints them."),
    ("listconfig", Verb::ListConfig, "", "Show all nodes as config reads them."),
];

/// The command line's definition, for its help, man page and completions; [`request`] reads it.
pub fn command() -> Command {
    let commands = COMMANDS.iter().fold("Commands:\n".to_owned(), |text, (name, _, rest, help)| {
        format!("{text}  {:<22}{help}\n", format!("{name} {rest}"))
    });
    let flag = |name: &'static str, help: &'static str| Arg::new(name).long(name).help(help).action(ArgAction::SetTrue);
    Command::new(TOOL.0)
        .about("Make nodes for containers, and say what they allow")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .after_help(format!("{commands}\n{NOTES}"))
        .args([
            flag("json", "Print nodes as JSON; not among the options of s390-tools"),
            flag("version", "Print the version").short('v'),
            Arg::new("COMMAND").help("What to do").value_parser(COMMANDS.map(|(name, ..)| name)),
            Arg::new("NODE").help("The node, or the file of config"),
            Arg::new("NUMBER").help("The card, domain or request"),
        ])
}

/// What `args` ask for.
pub fn request(args: &[OsString]) -> Request {
    Request::of(OPTIONS, args, done)
}

fn done(parts: Vec<Part>, words: Vec<OsString>) -> Result<(), Stop> {
    let place = |word: &OsString| COMMANDS.iter().position(|(name, ..)| word.as_os_str() == *name);
    // The first word that is one, wherever it stands.
    let verb = words.iter().find_map(place);
    let mut json = false;
    for part in parts {
        match (part, verb) {
            (Part::Wrong(wrong), _) => return Err(TOOL.wrong(&wrong)),
            (Part::Option('h', _), None) => return TOOL.help(command()),
            (Part::Option('h', _), Some(place)) => {
                let (name, _, rest, help) = COMMANDS[place];
                let usage = format!("Usage: zcryptctl {name} {rest}");
                return Ok(output::print(&format!("{}\n{help}\n", usage.trim_end()))?);
            }
            (Part::Option('v', _), _) => return TOOL.version(),
            (Part::Option(..), _) => json = true,
        }
    }
    let Some(place) = verb else {
        return Err(TOOL.stop("Missing or invalid command argument"));
    };
    // So that nothing is tried where no daemon runs, whatever the command.
    TOOL.machine(UNAVAILABLE)?;
    let (first, second) = (words.get(1), words.get(2));
    let missing = |what: &str| TOOL.stop(&format!("Missing {what} argument"));
    match COMMANDS[place].1 {
        Verb::List => list(json),
        Verb::ListConfig => Ok(output::print(&listed(&nodes()?, Form::Config))?),
        Verb::Create => create(first.map(OsString::as_os_str)),
        Verb::Destroy => destroy(first.ok_or_else(|| missing("node name"))?),
        Verb::Config => config::read(first.ok_or_else(|| missing("filename"))?),
        Verb::Change(list, add) => {
            let node = first.ok_or_else(|| missing("node name"))?;
            let value = second.ok_or_else(|| missing(list.word()))?;
            change(list, add, &known(node)?, value)
        }
    }
}

/// All nodes.
fn nodes() -> Result<Vec<Node>, Stop> {
    match TOOL.ask(&Ask::ListNodes)? {
        Answer::Done(nodes) => Ok(nodes),
        Answer::Refused(_, why) | Answer::Denied(why) => Err(TOOL.stop(&adjunct_tool::escape::shown(&why))),
    }
}

/// Asks for a change; what is not done has the original's words, and the reason below them.
fn ask(request: &Ask, failed: &str) -> Result<(), Stop> {
    match TOOL.ask(request)? {
        Answer::Done(_) => Ok(()),
        Answer::Refused(_, why) | Answer::Denied(why) => {
            Err(TOOL.stop(&format!("{failed}\n{}: {}", TOOL.0, adjunct_tool::escape::shown(&why))))
        }
    }
}

/// The name of a node, which may be given as the path of its device.
fn name(word: &OsStr) -> &OsStr {
    let bytes = word.as_bytes();
    OsStr::from_bytes(bytes.rsplit(|&byte| byte == b'/').next().unwrap_or(bytes))
}

/// The name of an existing node.
fn known(word: &OsStr) -> Result<String, Stop> {
    let unknown = || TOOL.stop(&format!("Invalid or unknown nodename '{}'", adjunct_tool::escape::shown(word)));
    let name = name(word).to_str().ok_or_else(unknown)?;
    if nodes()?.iter().any(|node| node.name == name) { Ok(name.to_owned()) } else { Err(unknown()) }
}

fn create(word: Option<&OsStr>) -> Result<(), Stop> {
    let failed = "Could not write into sysfs entry to create zdev node";
    let name = word.map(|word| name(word).to_str().map(str::to_owned).ok_or_else(|| TOOL.stop(failed))).transpose()?;
    ask(&Ask::CreateNode(name), failed)?;
    Ok(output::print("Device node created\n")?)
}

fn destroy(word: &OsStr) -> Result<(), Stop> {
    let name = known(word)?;
    let shown = adjunct_tool::escape::shown(&name);
    ask(&Ask::DestroyNode(name), &format!("Could not write into sysfs entry to destroy zdev node '{shown}'"))?;
    Ok(output::print(&format!("Device node '{shown}' marked for destruction\n"))?)
}

impl List {
    /// Name of the list in errors.
    fn word(self) -> &'static str {
        match self {
            List::Adapters => "adapter",
            List::Domains | List::Controls => "domain",
            List::Ioctls => "ioctl",
        }
    }

    /// Words of what was done: for one entry, and for all.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            List::Adapters => ("Adapter", "adapters"),
            List::Domains => ("Domain", "domains"),
            List::Controls => ("Control domain", "control domains"),
            List::Ioctls => ("Ioctl", "Ioctls"),
        }
    }

    fn item(self, number: u8) -> Item {
        match self {
            List::Adapters => Item::Adapter(number),
            List::Domains => Item::Domain(number),
            List::Controls => Item::Control(number),
            List::Ioctls => Item::Ioctl(number),
        }
    }

    /// Parses a word as a number of the list.
    fn number(self, word: &OsStr) -> Result<u8, Stop> {
        let bytes = word.as_bytes();
        let named = IOCTLS.iter().find(|(name, _)| self == List::Ioctls && name.as_bytes().eq_ignore_ascii_case(bytes));
        if let Some(&(_, number)) = named {
            return Ok(number);
        }
        let (word, shown) = (self.word(), adjunct_tool::escape::shown(word));
        let number =
            Scan::of(bytes).any_base().ok_or_else(|| TOOL.stop(&format!("Invalid {word} argument '{shown}'")))?;
        let capital = ["Adapter", "Domain", "Ioctl"].into_iter().find(|capital| capital.eq_ignore_ascii_case(word));
        u8::try_from(number).map_err(|_| {
            TOOL.stop(&format!("{} argument '{shown}' out of range [0..255]", capital.unwrap_or_default()))
        })
    }
}

/// Allows a node something, or withdraws the permission.
fn change(list: List, add: bool, node: &str, value: &OsStr) -> Result<(), Stop> {
    let all = value.as_bytes().eq_ignore_ascii_case(b"ALL");
    let numbers = if all { 0..=u8::MAX } else { list.number(value).map(|number| number..=number)? };
    let verb = if add { "add" } else { "remove" };
    let done = if add { "added" } else { "removed" };
    for number in numbers.clone() {
        let what = list.word();
        let failed = format!(
            "Could not write into sysfs entry to {verb} {what} {number} for zdev node '{}'",
            adjunct_tool::escape::shown(node)
        );
        ask(&Ask::ChangeNode(node.to_owned(), list.item(number), add), &failed)?;
    }
    let (one, every) = list.words();
    let shown = if list == List::Ioctls { adjunct_tool::escape::shown(value) } else { numbers.start().to_string() };
    Ok(output::print(&if all { format!("All {every} {done}\n") } else { format!("{one} {shown} {done}\n") })?)
}

/// How nodes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Table,
    Config,
}

fn list(json: bool) -> Result<(), Stop> {
    let nodes = nodes()?;
    if json {
        return Ok(output::print_json(&nodes.iter().map(as_json).collect::<Vec<_>>())?);
    }
    Ok(output::print(&listed(&nodes, Form::Table))?)
}

fn listed(nodes: &[Node], form: Form) -> String {
    if nodes.is_empty() {
        return "No additional zcrypt device nodes defined\n".to_owned();
    }
    let mut text = String::new();
    for node in nodes {
        let name = adjunct_tool::escape::shown(&node.name);
        // A socket has no numbers of a device.
        let _ = match form {
            Form::Config => writeln!(text, "node = {name}"),
            Form::Table => writeln!(
                text,
                "zcrypt node name:\t{name}\n  device node:\t{}\n  major:minor:\t0:0",
                adjunct_tool::escape::shown(&node.path)
            ),
        };
        let titles = match form {
            Form::Config => ["aps =", "doms =", "ctrls =", "ioctls ="].map(|title| format!(" {title}")),
            Form::Table => ["adapter:", "domains:", "control domains:", "ioctls:"].map(|title| format!("  {title}")),
        };
        let lists =
            [joined(&node.adapters), joined(&node.domains), joined(&node.controls), names(&node.ioctls).join(",")];
        for (title, list) in titles.into_iter().zip(lists) {
            let gap = match form {
                _ if list.is_empty() => "",
                Form::Config => " ",
                Form::Table => "\t",
            };
            let _ = writeln!(text, "{title}{gap}{list}");
        }
    }
    text
}

fn joined(mask: &Mask) -> String {
    mask.numbers().map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}

fn names(mask: &Mask) -> Vec<String> {
    let name = |number: u8| IOCTLS.iter().find(|(_, known)| *known == number).map(|(name, _)| (*name).to_owned());
    mask.numbers().map(|number| name(number).unwrap_or_else(|| number.to_string())).collect()
}

fn as_json(node: &Node) -> Value {
    let numbers = |mask: &Mask| mask.numbers().collect::<Vec<_>>();
    json!({
        "node": node.name,
        "path": node.path,
        "adapters": numbers(&node.adapters),
        "domains": numbers(&node.domains),
        "controls": numbers(&node.controls),
        "ioctls": names(&node.ioctls),
    })
}

/// The nodes of the daemon, if the user may see them: for the tree of sysfs.
pub fn visible() -> Vec<Node> {
    use adjunct_card_state::control::{self, Reply};
    match control::ask(&Folder::found().control(), &Ask::ListNodes) {
        Ok(Reply::Nodes(nodes)) => nodes,
        _ => Vec::new(),
    }
}
