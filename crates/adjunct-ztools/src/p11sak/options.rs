//! The command line.

use super::kinds::{KINDS, KeyKind, Selected};
use super::tasks::{self, TASKS, Task, options};
use super::wrap;
use super::{NAME, Result, Stop, bad, invalid};
use crate::pkcsconf::prompt::Line;
use adjunct_pkcs11_client::sys::*;
use adjunct_tool::getopt::{Part, parse};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A command line that makes sense.
pub(super) struct Wanted {
    pub task: Task,
    pub slot: CK_SLOT_ID,
    pub pin: Option<Line>,
    pub no_login: bool,
    pub so: bool,
    pub force_pin_prompt: bool,
    pub selected: Selected,
    /// Arguments behind the type.
    pub args: Vec<String>,
    pub label: Option<String>,
    pub id: Option<String>,
    pub attrs: Option<String>,
    pub force: bool,
    pub file: PathBuf,
    /// Password of a PEM file.
    pub password: Option<Line>,
    pub force_password_prompt: bool,
    pub encrypted_pem: bool,
    pub opaque: bool,
    pub spki: bool,
    pub uri_pem: bool,
    pub der: bool,
    pub authority: bool,
    pub wrap: wrap::Wanted,
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
    adjunct_tool::escape::shown(text)
}

/// The message of getopt about an option, in p11sak's words.
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
    /// The request that `args` make.
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
                    Some(word) if asks(&word, "-h", "--help") => tasks::help(None).map(|()| None),
                    Some(word) if asks(&word, "-v", "--version") => tasks::version().map(|()| None),
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
                Part::Option('h', _) => return tasks::help(Some(task)).map(|()| None),
                Part::Option('v', _) => return tasks::version().map(|()| None),
                _ => {}
            }
        }
        let mut wanted = Wanted::of(task);
        let mut has_slot = false;
        let (mechanism, args) = wrap::mechanism(task, &args)?;
        let (selected, args) = arguments(task, args)?;
        wanted.wrap.mechanism = mechanism;
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
            password: None,
            force_password_prompt: false,
            encrypted_pem: false,
            opaque: false,
            spki: false,
            uri_pem: false,
            der: false,
            authority: false,
            wrap: wrap::Wanted::default(),
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
                let words =
                    format!("Invalid argument '{}' for option '-s/--slot'", adjunct_tool::escape::shown(&given));
                self.slot = number.map_err(|_| bad(&words))?;
                *has_slot = true;
            }
            ('I' | tasks::HASH_ALG | tasks::MGF_ALG | tasks::SOURCE_DATA, Task::Wrap | Task::Unwrap) => {
                self.wrap.take(letter, &text().unwrap_or_default())?;
            }
            ('p', _) => self.pin = value.map(|pin| Line::new(pin.into_vec())),
            ('N', _) => self.no_login = true,
            (tasks::FORCE_PIN_PROMPT, _) => self.force_pin_prompt = true,
            (tasks::SO, _) => self.so = true,
            ('L', _) => self.label = text(),
            ('i', _) => self.id = text(),
            ('a', _) => self.attrs = text(),
            ('f', _) => self.force = true,
            ('F', _) => self.file = value.unwrap_or_default().into(),
            ('o', _) => self.opaque = true,
            ('S', Task::Export) => self.spki = true,
            ('S', _) => self.sort = text(),
            ('l', Task::List | Task::ListCert) => self.long = true,
            ('l', _) => self.new_label = text(),
            (tasks::DETAILED_URI, _) => self.detailed_uri = true,
            ('A', _) => self.new_attrs = text(),
            ('I', _) => self.new_id = text(),
            ('P', _) => self.password = value.map(|password| Line::new(password.into_vec())),
            (tasks::FORCE_PASSWORD_PROMPT, _) => self.force_password_prompt = true,
            (tasks::ENCRYPTED_PEM, _) => self.encrypted_pem = true,
            ('u', _) => self.uri_pem = true,
            ('D', _) => self.der = true,
            ('C', _) => self.authority = true,
            ('K', _) => self.wrap.label = text(),
            ('k', _) => self.wrap.id = text(),
            ('R', _) => self.wrap.raw = true,
            _ => {}
        }
        Ok(())
    }

    /// Checks that all that has to be given is there.
    fn complete(&self, has_slot: bool) -> Result {
        let lacking: Vec<_> = [
            (!has_slot, "-s/--slot"),
            (!self.task.selects() && self.label.is_none(), "-L/--label"),
            (self.task.has_file() && self.file.as_os_str().is_empty(), "-F/--file"),
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
fn values(kind: &KeyKind) -> Option<&'static [&'static str]> {
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

/// The words between command and options: a type of keys, and the parameters of a key to be made.
fn arguments(task: Task, words: &[OsString]) -> Result<(Selected, Vec<String>)> {
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if task.of_certificates() {
        return match texts.first().map(|word| word.eq_ignore_ascii_case("x509")) {
            Some(false) => Err(invalid(&texts[0], "CERTTYPE")),
            _ => no_more(texts.get(1)).map(|()| (Selected::Certificates, Vec::new())),
        };
    }
    let required = |what: &str| bad(&format!("Argument '{what}' is required but not specified"));
    let Some((word, rest)) = texts.split_first() else {
        let optional = task.selects() || task == Task::Unwrap;
        return if optional { Ok((Selected::All, Vec::new())) } else { Err(required("KEYTYPE")) };
    };
    let kind = KINDS.iter().find(|kind| kind.word == word);
    let selected = match (kind, word.as_str()) {
        (Some(kind), _) if task != Task::Extract || kind.pair => Selected::Of(kind),
        (None, "public") if task.selects() && !matches!(task, Task::Extract | Task::Wrap) => {
            Selected::Class(CKO_PUBLIC_KEY)
        }
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
                (None, "CURVE") => adjunct_mechanisms::der::curve(first).is_some(),
                _ => first.parse::<u32>().is_ok(),
            };
            if !fits {
                return Err(invalid(first, what));
            }
            if let Some(exponent) = rest.get(1).filter(|exponent| most == 2 && exponent.parse::<u64>().is_err()) {
                return Err(invalid(exponent, "PUBL-EXP"));
            }
        }
    } else if let (Task::Import, Selected::Of(KeyKind { pair: true, .. })) = (task, selected) {
        most = 1;
        let first = rest.first().ok_or_else(|| required("KIND"))?;
        if !["public", "private"].contains(&first.as_str()) {
            return Err(invalid(first, "KIND"));
        }
    }
    no_more(rest.get(most)).map(|()| (selected, rest.to_vec()))
}

/// Refuses a word that is one too many.
fn no_more(word: Option<&String>) -> Result {
    match word {
        Some(word) => Err(bad(&format!("Invalid argument '{}'", adjunct_tool::escape::shown(word)))),
        None => Ok(()),
    }
}
