//! `/etc/adjunct/cards.conf`: which cards there are.
//!
//! ```toml
//! # What cards are called: ADJ8A as they are, or CEX8A for scripts that know IBM's alone.
//! type = "ADJ8"
//! # Of one user in a card: requests that may wait, connections, and its share of the workers' time, in hundredths.
//! waiting = 1024
//! connections = 512
//! share = 100
//! # Of coprocessors, in MiB: the longest request or reply, and what one user may have of long ones in a card.
//! bulk = 4
//! bulk-of-user = 32
//! # Cards on a CPU without lanes (AVX-512 IFMA, or AVX2 and FMA), too: they make nothing faster there, and programs ask them by ADJUNCT_CARDS=always alone.
//! without-lanes = false
//!
//! [[card]]
//! id = 0
//! mode = "accelerator"
//! domains = [0]
//! # Threads; as many as CPUs without it, for a coprocessor eight at least.
//! workers = 2
//! ```
//! A card whose keys belong to a domain has a socket for each domain, and says who may use them:
//!
//! ```toml
//! [[card]]
//! id = 1
//! mode = "ep11"
//! owner = "hsm"
//! group = "hsm-users"
//! mode-bits = "0660"
//! # What its vault is sealed by: tpm, credential, passphrase, or none, where master keys are gone when the card ends.
//! seal = "tpm"
//! # Opened keys that are kept, and sessions of a domain.
//! keys = 4096
//! sessions = 1024
//! # Groups that load the parts of a master key and set it, without which root does; and whether by different users.
//! first-group = "keys-1"
//! last-group = "keys-2"
//! set-group = "keys-3"
//! dual-control = true
//! ```
//! Without a file there is one accelerator, card 0 with domain 0.
#![forbid(unsafe_code)]

use crate::coprocessor::{Coprocessor, Table};
use crate::machine::Mode;
use crate::state::{MAX_CARDS, MAX_QUEUES};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Path of the configuration, unless the daemon is told otherwise.
pub const PATH: &str = "/etc/adjunct/cards.conf";

/// More than this is no configuration, in bytes.
const LONGEST: u64 = 1 << 20;

/// The configuration: the cards, and the limits of each user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The first four characters of a card's type.
    pub kind: String,
    /// The most requests of one user that may wait in a card.
    pub waiting: usize,
    /// The most connections of one user to a card.
    pub connections: usize,
    /// The share of the workers' time that one user may have, in hundredths.
    pub share: u32,
    /// The longest request or reply of a service that takes longer ones than a socket does, in MiB.
    pub bulk: usize,
    /// What one user may have of those in a card, in MiB.
    pub bulk_of_user: usize,
    /// Cards serve where the CPU has no lanes, too.
    pub without_lanes: bool,
    /// The cards, by ascending number.
    pub cards: Vec<CardConfig>,
}

/// The modes of which the adjunctd of this version has services.
pub const SERVED: [Mode; 2] = [Mode::Accelerator, Mode::Ep11];

/// Who may use the sockets of a card's domains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// The owner, by name or number; the daemon's user without it.
    pub owner: Option<String>,
    /// The group, by name or number; the daemon's without it.
    pub group: Option<String>,
    /// The permissions.
    pub mode: u32,
}

/// The permissions of a domain's socket, unless the configuration says otherwise.
const MODE_BITS: u32 = 0o660;

/// The most that a user may have.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests that may wait.
    pub waiting: usize,
    /// Part of the time of all workers, in hundredths.
    pub share: u32,
    /// Connections.
    pub connections: usize,
    /// Bytes of the longest request or reply that goes in a file.
    pub bulk: usize,
    /// Bytes of all of those that a card has.
    pub bulk_of_user: usize,
}

/// A card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardConfig {
    /// Its number.
    pub id: u8,
    /// The card's mode: the requests that it serves.
    pub mode: Mode,
    /// Its domains, ascending.
    pub domains: Vec<u8>,
    /// Its threads.
    pub workers: usize,
    /// Who may use the sockets of its domains; all may use the one socket of all accelerators.
    pub access: Access,
    /// The settings of a card whose keys belong to domains.
    pub coprocessor: Option<Coprocessor>,
}

/// An error that makes a configuration unusable.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {what}")]
pub struct Error {
    /// The file.
    pub path: String,
    /// What is wrong, and where.
    pub what: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "type", default = "kind")]
    kind: String,
    #[serde(default = "waiting")]
    waiting: usize,
    #[serde(default = "connections")]
    connections: usize,
    #[serde(default = "share")]
    share: u32,
    #[serde(default = "bulk")]
    bulk: usize,
    #[serde(default = "bulk_of_user", rename = "bulk-of-user")]
    bulk_of_user: usize,
    #[serde(default, rename = "without-lanes")]
    without_lanes: bool,
    #[serde(rename = "card", default)]
    cards: Vec<CardTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CardTable {
    id: u8,
    #[serde(default = "mode")]
    mode: String,
    #[serde(default = "domains")]
    domains: Vec<u8>,
    workers: Option<usize>,
    owner: Option<String>,
    group: Option<String>,
    #[serde(rename = "mode-bits")]
    mode_bits: Option<String>,
    seal: Option<String>,
    tpm: Option<String>,
    keys: Option<usize>,
    sessions: Option<usize>,
    #[serde(rename = "first-group")]
    first_group: Option<String>,
    #[serde(rename = "middle-group")]
    middle_group: Option<String>,
    #[serde(rename = "last-group")]
    last_group: Option<String>,
    #[serde(rename = "set-group")]
    set_group: Option<String>,
    #[serde(rename = "dual-control")]
    dual_control: Option<bool>,
}

impl CardTable {
    /// The mode, which is one of those that are served.
    fn mode(&self, served: &[Mode]) -> Result<Mode, String> {
        let (id, word) = (self.id, self.mode.escape_debug());
        let words = |modes: &[Mode]| modes.iter().map(|mode| mode.word()).collect::<Vec<_>>().join(", ");
        match Mode::named(&self.mode) {
            Some(mode) if served.contains(&mode) => Ok(mode),
            Some(_) => {
                Err(format!("card {id}: this adjunctd has no service for mode \"{word}\", but for {}", words(served)))
            }
            None => Err(format!("card {id}: mode = \"{word}\": it is one of {}", words(&Mode::ALL))),
        }
    }

    /// What it says of a coprocessor.
    fn coprocessor(&self) -> Table<'_> {
        Table {
            seal: self.seal.as_deref(),
            tpm: self.tpm.as_deref(),
            keys: self.keys,
            sessions: self.sessions,
            groups: [&self.first_group, &self.middle_group, &self.last_group, &self.set_group].map(Option::as_deref),
            dual_control: self.dual_control,
        }
    }

    /// Who may use its sockets.
    fn access(&self, mode: Mode) -> Result<Access, String> {
        let id = self.id;
        if !mode.is_by_domain() && (self.owner.is_some() || self.group.is_some() || self.mode_bits.is_some()) {
            return Err(format!(
                "card {id}: owner, group and mode-bits are for cards whose domains have sockets: all programs may use an {}",
                mode.word()
            ));
        }
        let names = [("owner", &self.owner), ("group", &self.group)];
        if let Some((what, _)) = names.iter().find(|(_, name)| name.as_ref().is_some_and(|name| !is_name(name))) {
            return Err(format!("card {id}: {what} is a name or a number"));
        }
        let bits = |text: &String| {
            let is_octal = (3..=4).contains(&text.len()) && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
            let bits = u32::from_str_radix(text, 8).ok().filter(|bits| is_octal && *bits <= 0o777 && bits & 0o111 == 0);
            bits.ok_or_else(|| format!("card {id}: mode-bits is read and write permissions in octal, as \"0660\""))
        };
        let mode = self.mode_bits.as_ref().map(bits).transpose()?.unwrap_or(MODE_BITS);
        Ok(Access { owner: self.owner.clone(), group: self.group.clone(), mode })
    }
}

/// Whether a text may be the name or number of a user or group.
fn is_name(text: &str) -> bool {
    (1..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
}

fn kind() -> String {
    "ADJ8".into()
}

fn waiting() -> usize {
    1024
}

fn connections() -> usize {
    512
}

fn share() -> u32 {
    100
}

fn bulk() -> usize {
    4
}

fn bulk_of_user() -> usize {
    32
}

fn mode() -> String {
    Mode::Accelerator.word().into()
}

fn domains() -> Vec<u8> {
    vec![0]
}

/// The CPUs that this process may use.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The text of a regular file. A FIFO is not waited for, and a device not read without end.
fn text_of(path: &Path) -> std::io::Result<String> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = std::fs::File::options().read(true).custom_flags(nonblocking).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidInput, "is no regular file"));
    }
    std::io::read_to_string(file.take(LONGEST))
}

impl Config {
    /// The limits of each user.
    pub fn limits(&self) -> Limits {
        let Config { waiting, connections, share, .. } = *self;
        Limits { waiting, connections, share, bulk: self.bulk << 20, bulk_of_user: self.bulk_of_user << 20 }
    }

    /// Reads a configuration of cards of the modes that are served. If the file does not exist and was not named (`must_be`), the configuration is one accelerator.
    ///
    /// # Errors
    /// [`Error`], with the line where the text is wrong.
    pub fn read(path: &Path, must_be: bool, served: &[Mode]) -> Result<Config, Error> {
        let failed = |what: String| Error { path: path.display().to_string(), what };
        match text_of(path) {
            Ok(text) => Config::parse(&text, served).map_err(failed),
            Err(error) if error.kind() == ErrorKind::NotFound && !must_be => {
                Config::parse("[[card]]\nid = 0\n", served).map_err(failed)
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Reads the text of a file, for an adjunctd with services for these modes.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str, served: &[Mode]) -> Result<Config, String> {
        let file: File = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let words: Vec<&str> = error.message().lines().collect();
            format!("line {}: {}", before.matches('\n').count() + 1, words.join(", "))
        })?;
        let digit = file.kind.chars().nth(3).is_some_and(|c| matches!(c, '4'..='9'));
        if file.kind.len() != 4 || !file.kind.bytes().all(|b| b.is_ascii_alphanumeric()) || !digit {
            return Err(format!(
                "type = \"{}\": three letters and a digit from 4 on, as ADJ8 or CEX8",
                file.kind.escape_debug()
            ));
        }
        for (name, value, most) in [
            ("waiting", file.waiting, 4096),
            ("connections", file.connections, 32_768),
            ("share", file.share as usize, 100),
            ("bulk", file.bulk, 64),
            ("bulk-of-user", file.bulk_of_user, 4096),
        ] {
            if !(1..=most).contains(&value) {
                return Err(format!("{name} = {value}: it is 1 to {most}"));
            }
        }
        if file.bulk_of_user < 2 * file.bulk {
            // A request and its reply.
            return Err(format!("bulk-of-user = {}: it is at least twice bulk, {}", file.bulk_of_user, 2 * file.bulk));
        }
        let mut cards = Vec::new();
        for card in &file.cards {
            let domains: BTreeSet<u8> = card.domains.iter().copied().collect();
            let mode = card.mode(served)?;
            // A batch of lanes is of operations that as many threads want at a time.
            let least = if mode.is_by_domain() { 8 } else { 1 };
            let workers = card.workers.unwrap_or_else(|| cpus().max(least));
            if domains.len() != card.domains.len() || domains.is_empty() {
                return Err(format!("card {}: domains are to be different numbers, one at least", card.id));
            }
            if !(1..=1024).contains(&workers) {
                return Err(format!("card {}: workers is 1 to 1024", card.id));
            }
            let (access, domains) = (card.access(mode)?, domains.into_iter().collect());
            let coprocessor = card.coprocessor().read(card.id, mode.is_by_domain(), is_name)?;
            cards.push(CardConfig { id: card.id, mode, domains, workers, access, coprocessor });
        }
        cards.sort_by_key(|card| card.id);
        if let Some(twice) = cards.windows(2).find(|pair| pair[0].id == pair[1].id) {
            return Err(format!("card {} stands there twice", twice[0].id));
        }
        let queues: usize = cards.iter().map(|card| card.domains.len()).sum();
        if cards.len() > MAX_CARDS || queues > MAX_QUEUES {
            return Err(format!("there may be {MAX_CARDS} cards and {MAX_QUEUES} domains of them in all"));
        }
        let File { kind, waiting, connections, share, bulk, bulk_of_user, without_lanes, .. } = file;
        Ok(Config { kind, waiting, connections, share, bulk, bulk_of_user, without_lanes, cards })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_file_there_is_one_accelerator() {
        let config = Config::read(Path::new("/nonexistent/cards.conf"), false, &SERVED).unwrap();
        assert_eq!(
            (config.kind.as_str(), config.cards.len(), config.cards[0].domains.as_slice()),
            ("ADJ8", 1, &[0][..])
        );
        assert!(Config::read(Path::new("/nonexistent/cards.conf"), true, &SERVED).is_err());
    }

    #[test]
    fn what_is_no_file_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for path in [fifo.as_path(), Path::new("/dev/zero"), dir.path()] {
            let error = Config::read(path, true, &SERVED).unwrap_err().to_string();
            assert!(error.contains("is no regular file"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("[[card]]\nid = 256\n", "line 2"),
            ("[[card]]\nid = 0\ncolour = 1\n", "colour"),
            ("[[card]]\nid = 0\n[[card]]\nid = 0\n", "twice"),
            ("[[card]]\nid = 0\ndomains = [1, 1]\n", "different"),
            ("[[card]]\nid = 0\nworkers = 0\n", "workers"),
            (
                "[[card]]\nid = 0\nmode = \"cca\"\n",
                "this adjunctd has no service for mode \"cca\", but for accelerator, ep11",
            ),
            ("[[card]]\nid = 0\nmode = \"sha\"\n", "mode = \"sha\": it is one of accelerator, cca, ep11"),
            ("[[card]]\nid = 0\ngroup = \"users\"\n", "card 0: owner, group and mode-bits are for"),
            ("[[card]]\nid = 0\nseal = \"tpm\"\n", "card 0: seal is for coprocessors"),
            ("[[card]]\nid = 0\nset-group = \"x\"\n", "card 0: set-group is for coprocessors"),
            ("[[card]]\nid = 0\nmode = \"ep11\"\nseal = \"disk\"\n", "it is one of none, passphrase, credential, tpm"),
            ("[[card]]\nid = 0\nmode = \"ep11\"\ntpm = \"/dev/tpm0\"\n", "tpm is for seal"),
            ("[[card]]\nid = 0\nmode = \"ep11\"\nseal = \"tpm\"\ntpm = \"tpm0\"\n", "from / on"),
            ("[[card]]\nid = 0\nmode = \"ep11\"\nkeys = 0\n", "card 0: keys = 0: it is 1 to 1048576"),
            ("[[card]]\nid = 0\nmode = \"ep11\"\nsessions = 70000\n", "sessions = 70000"),
            ("[[card]]\nid = 0\nmode = \"ep11\"\nlast-group = \"a b\"\n", "last-group is a name or a number"),
            ("[[card]]\nid = 0\nmode = \"ep11\"\ncolour = 1\n", "colour"),
            ("[[card]]\nid = 0\nmode = \"ep11\"\nkeys = \"many\"\n", "line "),
            ("type = \"CEX3\"\n", "from 4 on"),
            ("share = 0\n", "share = 0: it is 1 to 100"),
            ("connections = 0\n", "connections = 0: it is 1 to 32768"),
            ("waiting = 5000\n", "waiting = 5000"),
            ("bulk = 65\n", "bulk = 65: it is 1 to 64"),
            ("bulk = 20\n", "bulk-of-user = 32: it is at least twice bulk, 40"),
            ("x\n", "line 1"),
        ] {
            let error = Config::parse(text, &SERVED).unwrap_err();
            assert!(error.contains(expected) && error.lines().count() == 1, "{text:?}: {error}");
        }
        let config = Config::parse(
            "type = \"CEX8\"\n[[card]]\nid = 3\ndomains = [47, 5]\nworkers = 1\n[[card]]\nid = 1\n",
            &SERVED,
        )
        .unwrap();
        assert_eq!(config.cards.iter().map(|card| card.id).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(config.cards[1].domains, [5, 47]);
    }

    #[test]
    fn who_may_use_a_domain_is_said_for_modes_whose_keys_belong_to_one() {
        let parse = |lines: &str| Config::parse(&format!("[[card]]\nid = 1\nmode = \"ep11\"\n{lines}"), &Mode::ALL);
        let access = parse("").unwrap().cards[0].access.clone();
        assert_eq!(access, Access { owner: None, group: None, mode: 0o660 });
        let access = parse("owner = \"hsm\"\ngroup = \"1000\"\nmode-bits = \"600\"\n").unwrap().cards[0].access.clone();
        assert_eq!(access, Access { owner: Some("hsm".into()), group: Some("1000".into()), mode: 0o600 });
        for wrong in [
            "mode-bits = \"0770\"",
            "mode-bits = \"8\"",
            "mode-bits = \"1660\"",
            "mode-bits = 660",
            "group = \"\"",
            "owner = \"a b\"",
        ] {
            let error = parse(&format!("{wrong}\n")).unwrap_err();
            assert!(error.lines().count() == 1, "{wrong}: {error}");
        }
    }
}
