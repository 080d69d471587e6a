//! The command line.

use super::kinds::{KINDS, Kind};
use super::{NAME, Result, Stop, bad};
use crate::getopt::{Options, Part, parse};
use crate::output;
use crate::pkcsconf::prompt::Line;
use adjunct_pkcs11_client::sys::*;
use clap::{Arg, ArgAction, Command};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    Generate,
    List,
    Remove,
    Set,
    Copy,
    Import,
    Export,
    Extract,
}

/// The tasks, with their words.
const TASKS: [(Task, &[&str], &str); 8] = [
    (Task::Generate, &["generate-key", "gen-key", "gen"], "Make a key, or a key pair"),
    (Task::List, &["list-key", "ls-key", "ls"], "List keys"),
    (Task::Remove, &["remove-key", "rm-key", "rm"], "Remove keys"),
    (Task::Set, &["set-key-attr", "set-key", "set"], "Change attributes of keys"),
    (Task::Copy, &["copy-key", "copy", "cp"], "Copy keys"),
    (Task::Import, &["import-key", "import", "imp"], "Import a key from a file, binary or PEM"),
    (Task::Export, &["export-key", "export", "exp"], "Export keys to a file, binary or PEM"),
    (Task::Extract, &["extract-pubkey", "extr-pubkey", "expub"], "Make the public keys of private ones"),
];

impl Task {
    pub(super) fn word(self) -> &'static str {
        TASKS.iter().find(|(task, ..)| *task == self).map_or("", |(_, words, _)| words[0])
    }

    pub(super) const fn writes(self) -> bool {
        !matches!(self, Task::List | Task::Export)
    }

    /// Whether keys are selected for it.
    const fn selects(self) -> bool {
        !matches!(self, Task::Generate | Task::Import)
    }
}

// Long names without a letter.
const FORCE_PIN_PROMPT: char = '\x01';
const SO: char = '\x02';
const DETAILED_URI: char = '\x03';
const FORCE_PASSWORD_PROMPT: char = '\x04';

const COMMON: [(&str, char); 7] = [
    ("slot", 's'),
    ("pin", 'p'),
    ("force-pin-prompt", FORCE_PIN_PROMPT),
    ("no-login", 'N'),
    ("so", SO),
    ("help", 'h'),
    ("version", 'v'),
];

/// The options of a task: letters, a colon behind each that takes a value, and long names.
const fn options(task: Task) -> Options {
    match task {
        Task::Generate => Options {
            short: "s:p:Nhv\x01\x02L:a:i:",
            long: &[
                COMMON[0],
                COMMON[1],
                COMMON[2],
                COMMON[3],
                COMMON[4],
                COMMON[5],
                COMMON[6],
                ("label", 'L'),
                ("attr", 'a'),
                ("id", 'i'),
            ],
        },
        Task::List => Options {
            short: "s:p:Nhv\x01\x02\x03L:a:i:lS:",
            long: &[
                COMMON[0],
                COMMON[1],
                COMMON[2],
                COMMON[3],
                COMMON[4],
                COMMON[5],
                COMMON[6],
                ("label", 'L'),
                ("attr", 'a'),
                ("id", 'i'),
                ("long", 'l'),
                ("detailed-uri", DETAILED_URI),
                ("sort", 'S'),
            ],
        },
        Task::Remove => Options {
            short: "s:p:Nhv\x01\x02L:a:i:f",
            long: &[
                COMMON[0],
                COMMON[1],
                COMMON[2],
                COMMON[3],
                COMMON[4],
                COMMON[5],
                COMMON[6],
                ("label", 'L'),
                ("attr", 'a'),
                ("id", 'i'),
                ("force", 'f'),
            ],
        },
        Task::Set | Task::Copy | Task::Extract => Options {
            short: "s:p:Nhv\x01\x02L:a:i:fA:l:I:",
            long: &[
                COMMON[0],
                COMMON[1],
                COMMON[2],
                COMMON[3],
                COMMON[4],
                COMMON[5],
                COMMON[6],
                ("label", 'L'),
                ("attr", 'a'),
                ("id", 'i'),
                ("force", 'f'),
                ("new-attr", 'A'),
                ("new-label", 'l'),
                ("new-id", 'I'),
            ],
        },
        Task::Import => Options {
            short: "s:p:Nhv\x01\x02\x04L:a:i:F:P:o",
            long: &[
                COMMON[0],
                COMMON[1],
                COMMON[2],
                COMMON[3],
                COMMON[4],
                COMMON[5],
                COMMON[6],
                ("label", 'L'),
                ("attr", 'a'),
                ("id", 'i'),
                ("file", 'F'),
                ("pem-password", 'P'),
                ("force-pem-pwd-prompt", FORCE_PASSWORD_PROMPT),
                ("opaque", 'o'),
            ],
        },
        Task::Export => Options {
            short: "s:p:Nhv\x01\x02L:a:i:fF:oS",
            long: &[
                COMMON[0],
                COMMON[1],
                COMMON[2],
                COMMON[3],
                COMMON[4],
                COMMON[5],
                COMMON[6],
                ("label", 'L'),
                ("attr", 'a'),
                ("id", 'i'),
                ("force", 'f'),
                ("file", 'F'),
                ("opaque", 'o'),
                ("spki", 'S'),
            ],
        },
    }
}

const NOTES: &str = "\
Commands: generate-key (gen) TYPE [SIZE...], list-key (ls), remove-key (rm), set-key-attr (set), copy-key (cp), import-key (imp) TYPE \
[public|private], export-key (exp), extract-pubkey (expub), each with [TYPE] to select keys where nothing else is said.

Types: 3des; generic BITS; sha-hmac, sha224-hmac, sha256-hmac, sha384-hmac, sha512-hmac, sha512-224-hmac, sha512-256-hmac, sha3-224-hmac, \
sha3-256-hmac, sha3-384-hmac, sha3-512-hmac BITS; aes 128|192|256; aes-xts 128|256; rsa BITS [EXPONENT]; ec CURVE; ec-edwards ed25519; \
ec-montgomery curve25519; ml-dsa 44|65|87; ml-kem 512|768|1024. To select: also public, private, secret, all.

Attributes are letters, upper case for true and lower case for false: P private, M modifiable, B copyable, Y destroyable, R derive, E encrypt, \
D decrypt, G sign, C sign-recover, V verify, O verify-recover, W wrap, U unwrap, S sensitive, X extractable, T trusted, I wrap-with-trusted, \
H always-authenticate, J encapsulate, Q decapsulate; to look for also L local, A always-sensitive, N never-extractable. Of a key pair \
PUBLIC:PRIVATE.

The module is adjunct's own; PKCSLIB=PATH names another. The PIN may stand in PKCS11_USER_PIN or PKCS11_SO_PIN. The exit status is the low \
byte of the PKCS #11 return value, 255 where that would be 0; 7 where the command line is wrong.";

/// The command line's definition, for its man page and completions; it is read by getopt's ways.
pub(crate) fn command() -> Command {
    let flag = |letter: char, long: &'static str, help: &'static str| {
        Arg::new(long).short(letter).long(long).help(help).action(ArgAction::SetTrue)
    };
    let long = |long: &'static str, help: &'static str| Arg::new(long).long(long).help(help).action(ArgAction::SetTrue);
    let value = |letter: char, long: &'static str, name: &'static str, help: &'static str| {
        Arg::new(long).short(letter).long(long).value_name(name).help(help)
    };
    let words: Vec<&str> = TASKS.iter().flat_map(|(_, words, _)| words.iter().copied()).collect();
    Command::new(NAME)
        .about("Make, list, change, import, export and remove keys of a PKCS #11 token")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .disable_help_flag(true)
        .after_help(NOTES)
        .args([
            Arg::new("COMMAND").help("What to do").value_parser(words),
            Arg::new("ARGS").help("The type of key, and what it wants").action(ArgAction::Append),
            value('s', "slot", "SLOT", "The slot's number"),
            value('p', "pin", "PIN", "The user's PIN, or the SO's with --so"),
            long("force-pin-prompt", "Ask for the PIN, whatever is given"),
            flag('N', "no-login", "Do not log in: only public objects are seen"),
            long("so", "Log in as the security officer"),
            value(
                'L',
                "label",
                "LABEL",
                "The label: of what is made (PUBLIC:PRIVATE), or to select keys, with * and ?",
            ),
            value('i', "id", "ID", "The identifier in hexadecimal"),
            value('a', "attr", "ATTRS", "Attribute letters"),
            flag('f', "force", "Do not ask before each key"),
            value('F', "file", "FILE", "The file to import or export"),
            value('P', "pem-password", "PASSWORD", "The password of the PEM file"),
            long("force-pem-pwd-prompt", "Ask for the password of the PEM file"),
            flag('o', "opaque", "Keys are blobs of secure keys (IBM's modules only)"),
            long("spki", "Export the public key of private keys (-S)"),
            flag('l', "long", "List all attributes; for set, copy and extract: -l LABEL, the new label"),
            long("detailed-uri", "List URIs with the module and the slot"),
            value('S', "sort", "FIELDS", "Sort by l(abel), k(ey type), c(lass), s(ize), each with :a or :d"),
            value('A', "new-attr", "ATTRS", "The new attributes"),
            Arg::new("new-label").long("new-label").value_name("LABEL").help("The new label (-l)"),
            value('I', "new-id", "ID", "The new identifier"),
            flag('h', "help", "Print help"),
            flag('v', "version", "Print the version"),
        ])
}

/// Which keys are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selected {
    All,
    Class(CK_OBJECT_CLASS),
    Of(&'static Kind),
}

/// A command line that makes sense.
pub(super) struct Wanted {
    pub task: Task,
    pub slot: CK_SLOT_ID,
    pub pin: Option<Line>,
    pub no_login: bool,
    pub so: bool,
    pub force_pin_prompt: bool,
    pub selected: Selected,
    /// Behind the type.
    pub args: Vec<String>,
    pub label: Option<String>,
    pub id: Option<String>,
    pub attrs: Option<String>,
    pub force: bool,
    pub file: PathBuf,
    pub opaque: bool,
    pub spki: bool,
    pub long: bool,
    pub detailed_uri: bool,
    pub sort: Option<String>,
    pub new_attrs: Option<String>,
    pub new_label: Option<String>,
    pub new_id: Option<String>,
}

/// A command line.
#[derive(Debug)]
pub(crate) struct Request(Vec<OsString>);

fn shown(text: &OsStr) -> String {
    crate::escape::shown(text)
}

/// What getopt says of an option, in p11sak's words.
fn wrong(words: &str) -> String {
    let quoted = |text: &str| text.split('\'').nth(1).unwrap_or_default().to_owned();
    if words.starts_with("invalid option") {
        format!("Invalid option '-{}'", quoted(words))
    } else if words.starts_with("option requires") {
        format!("Option '-{}' requires an argument", quoted(words))
    } else if words.ends_with("requires an argument") {
        format!("Option '{}' requires an argument", quoted(words))
    } else {
        format!("Invalid option '{}'", quoted(words))
    }
}

impl Request {
    /// What `args` ask for.
    pub(crate) fn of(args: &[OsString]) -> Request {
        // Read here as well: nothing of it may panic.
        TASKS.iter().for_each(|(task, ..)| _ = parse(options(*task), args));
        Request(args.to_vec())
    }

    /// The command line, understood; none where it asked for help or the version.
    pub(super) fn wanted(self) -> Result<Option<Wanted>> {
        let called = self.0.first().cloned().unwrap_or_else(|| NAME.into());
        let mut words = self.0.into_iter().skip(1).peekable();
        let is_word = |word: &OsString| !word.as_encoded_bytes().starts_with(b"-");
        let task = match words.next_if(is_word) {
            Some(word) => {
                let known = TASKS.iter().find(|(_, words, _)| words.iter().any(|known| word == **known));
                known.ok_or_else(|| bad(&format!("Invalid command '{}'", shown(&word))))?.0
            }
            None => {
                let asks = |word: &OsString, short, long| word == short || word == long;
                return match words.next() {
                    Some(word) if asks(&word, "-h", "--help") => help(None).map(|()| None),
                    Some(word) if asks(&word, "-v", "--version") => version().map(|()| None),
                    Some(word) => Err(bad(&format!("Invalid option '{}'", shown(&word)))),
                    None => Err(bad("A command is required. Use '-h'/'--help' to see the list of supported commands")),
                };
            }
        };
        let mut args = Vec::new();
        while let Some(word) = words.next_if(is_word) {
            args.push(word);
        }
        let line: Vec<OsString> = std::iter::once(called).chain(words).collect();
        let (parts, rest) = parse(options(task), &line);
        for part in &parts {
            match part {
                Part::Option('h', _) => return help(Some(task)).map(|()| None),
                Part::Option('v', _) => return version().map(|()| None),
                _ => {}
            }
        }
        let mut wanted = Wanted::of(task);
        let mut has_slot = false;
        let (selected, args) = arguments(task, &args)?;
        for part in parts {
            wanted.take(part, &mut has_slot)?;
        }
        if let Some(word) = rest.first() {
            return Err(bad(&format!("Invalid argument '{}'", shown(word))));
        }
        (wanted.selected, wanted.args) = (selected, args);
        wanted.complete(has_slot)?;
        Ok(Some(wanted))
    }
}

impl Wanted {
    fn of(task: Task) -> Wanted {
        Wanted {
            task,
            slot: 0,
            pin: None,
            no_login: false,
            so: false,
            force_pin_prompt: false,
            selected: Selected::All,
            args: Vec::new(),
            label: None,
            id: None,
            attrs: None,
            force: false,
            file: PathBuf::new(),
            opaque: false,
            spki: false,
            long: false,
            detailed_uri: false,
            sort: None,
            new_attrs: None,
            new_label: None,
            new_id: None,
        }
    }

    /// Takes an option.
    fn take(&mut self, part: Part, has_slot: &mut bool) -> Result {
        let (letter, value) = match part {
            Part::Wrong(words) => return Err(bad(&wrong(&words.words))),
            Part::Option(letter, value) => (letter, value),
        };
        let text = || value.as_deref().map(|value| value.to_string_lossy().into_owned());
        match (letter, self.task) {
            ('s', _) => {
                let given = text().unwrap_or_default();
                let number = given.trim_start().parse();
                let words = format!("Invalid argument '{}' for option '-s/--slot'", crate::escape::shown(&given));
                self.slot = number.map_err(|_| bad(&words))?;
                *has_slot = true;
            }
            ('p', _) => self.pin = value.map(|pin| Line::new(pin.into_vec())),
            ('N', _) => self.no_login = true,
            (FORCE_PIN_PROMPT, _) => self.force_pin_prompt = true,
            (SO, _) => self.so = true,
            ('L', _) => self.label = text(),
            ('i', _) => self.id = text(),
            ('a', _) => self.attrs = text(),
            ('f', _) => self.force = true,
            ('F', _) => self.file = value.unwrap_or_default().into(),
            ('o', _) => self.opaque = true,
            ('S', Task::Export) => self.spki = true,
            ('S', _) => self.sort = text(),
            ('l', Task::List) => self.long = true,
            ('l', _) => self.new_label = text(),
            (DETAILED_URI, _) => self.detailed_uri = true,
            ('A', _) => self.new_attrs = text(),
            ('I', _) => self.new_id = text(),
            // A password: PEM files with one are refused when they are read.
            _ => {}
        }
        Ok(())
    }

    /// Checks that what has to be there is.
    fn complete(&self, has_slot: bool) -> Result {
        let file = matches!(self.task, Task::Import | Task::Export);
        let lacking: Vec<_> = [
            (!has_slot, "-s/--slot"),
            (!self.task.selects() && self.label.is_none(), "-L/--label"),
            (file && self.file.as_os_str().is_empty(), "-F/--file"),
        ]
        .into_iter()
        .filter_map(|(lacks, option)| lacks.then_some(option))
        .collect();
        for option in &lacking {
            super::say(&format!("Option '{option}' is required but not specified"));
        }
        if lacking.is_empty() { Ok(()) } else { Err(Stop::Rv(CKR_ARGUMENTS_BAD)) }
    }
}

/// The values that a word behind the type may have; none for any.
fn values(kind: &Kind) -> Option<&'static [&'static str]> {
    Some(match kind.word {
        "aes" => &["128", "192", "256"],
        "aes-xts" => &["128", "256"],
        "ec-edwards" => &["ed25519", "ed448"],
        "ec-montgomery" => &["curve25519", "curve448"],
        "ml-dsa" => &["44", "65", "87"],
        "ml-kem" => &["512", "768", "1024"],
        _ => return None,
    })
}

/// What the words between command and options say: a type of keys, and what is to be known of the key to be made.
fn arguments(task: Task, words: &[OsString]) -> Result<(Selected, Vec<String>)> {
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let invalid =
        |text: &str, what: &str| bad(&format!("Invalid argument '{}' for '{what}'", crate::escape::shown(text)));
    let required = |what: &str| bad(&format!("Argument '{what}' is required but not specified"));
    let Some((word, rest)) = texts.split_first() else {
        return if task.selects() { Ok((Selected::All, Vec::new())) } else { Err(required("KEYTYPE")) };
    };
    let kind = KINDS.iter().find(|kind| kind.word == word);
    let selected = match (kind, word.as_str()) {
        (Some(kind), _) if task != Task::Extract || kind.pair => Selected::Of(kind),
        (None, "public") if task.selects() && task != Task::Extract => Selected::Class(CKO_PUBLIC_KEY),
        (None, "private") if task.selects() => Selected::Class(CKO_PRIVATE_KEY),
        (None, "secret") if task.selects() && task != Task::Extract => Selected::Class(CKO_SECRET_KEY),
        (None, "all") if task.selects() => Selected::All,
        _ => return Err(invalid(word, "KEYTYPE")),
    };
    let mut most = 0;
    if let (Task::Generate, Selected::Of(kind)) = (task, selected) {
        let what = match kind.word {
            "des" | "3des" => None,
            "ec" | "ec-edwards" | "ec-montgomery" => Some("CURVE"),
            "ml-dsa" | "ml-kem" => Some("VERSION"),
            _ => Some("KEYBITS"),
        };
        if let Some(what) = what {
            most = if kind.word == "rsa" { 2 } else { 1 };
            let first = rest.first().ok_or_else(|| required(what))?;
            let fits = match (values(kind), what) {
                (Some(values), _) => values.contains(&first.as_str()),
                (None, "CURVE") => adjunct_pkcs11::der::curve(first).is_some(),
                _ => first.parse::<u32>().is_ok(),
            };
            if !fits {
                return Err(invalid(first, what));
            }
            if let Some(exponent) = rest.get(1).filter(|exponent| most == 2 && exponent.parse::<u64>().is_err()) {
                return Err(invalid(exponent, "PUBL-EXP"));
            }
        }
    } else if let (Task::Import, Selected::Of(Kind { pair: true, .. })) = (task, selected) {
        most = 1;
        let first = rest.first().ok_or_else(|| required("KIND"))?;
        if !["public", "private"].contains(&first.as_str()) {
            return Err(invalid(first, "KIND"));
        }
    }
    match rest.get(most) {
        Some(word) => Err(bad(&format!("Invalid argument '{}'", crate::escape::shown(word)))),
        None => Ok((selected, rest.to_vec())),
    }
}

fn version() -> Result {
    Ok(output::print(&format!("{NAME} version {}\n", env!("CARGO_PKG_VERSION")))?)
}

fn help(task: Option<Task>) -> Result {
    let mut text = match task {
        None => format!("\nUsage: {NAME} COMMAND [ARGS] [OPTIONS]\n\nCOMMANDS:\n"),
        Some(task) => format!("\nUsage: {NAME} {} [ARGS] [OPTIONS]\n\nOPTIONS:\n", task.word()),
    };
    match task {
        None => TASKS.iter().for_each(|(_, words, about)| text += &format!("    {:<16} {about}.\n", words[0])),
        Some(task) => {
            let options = options(task);
            for (long, letter) in options.long {
                let value = options.short.find(*letter).is_some_and(|at| options.short[at + 1..].starts_with(':'));
                let short = if letter.is_ascii_graphic() { format!("-{letter}, ") } else { "    ".to_owned() };
                text += &format!("    {short}--{long}{}\n", if value { " VALUE" } else { "" });
            }
        }
    }
    Ok(output::print(&format!("{text}\n{NOTES}\n"))?)
}
