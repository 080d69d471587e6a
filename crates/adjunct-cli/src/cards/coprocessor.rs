//! What the commands for coprocessors have in common: orders to a card by the daemon's control socket, and what a card says of itself.

use adjunct_card_state::control::{self, Device, Reply, Request};
use adjunct_card_state::folder::{Folder, SYSTEM};
use adjunct_card_state::machine::{Card, Machine, Mode};
use adjunct_card_state::state;
use adjunct_tool::escape::shown;
use adjunct_tool::{Failure, output};
use adjunct_ztools::cards::tool::unreadable;
use adjunct_ztools::pkcsconf::prompt;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a coprocessor here is, in one sentence.
pub(crate) const HONEST: &str = "A coprocessor here is an emulation in an isolated process, for development and test: it has no FIPS certificate and no \
tamper response, and its keys do not open in IBM's hardware.";

/// The machine, or a failure that says that no daemon runs.
pub(crate) fn machine(folder: &Folder) -> Result<Machine, Failure> {
    state::read(&folder.state()).map_err(|error| match error {
        state::Error::NotRunning => {
            Failure::new("adjunctd does not run: adjunct cards enable --ep11 (as root), or adjunct ep11 dev")
        }
        error => Failure::new(unreadable(&error)),
    })
}

/// The EP11 coprocessors; at least one.
pub(crate) fn cards(folder: &Folder) -> Result<Vec<Card>, Failure> {
    let mut cards = machine(folder)?.cards;
    cards.retain(|card| card.mode == Mode::Ep11);
    if cards.is_empty() {
        return Err(Failure::new("no card is an EP11 coprocessor: adjunct cards enable --ep11 adds one"));
    }
    Ok(cards)
}

/// Has a card, or a domain of it, do an order.
pub(crate) fn order(folder: &Folder, device: Device, order: Value) -> Result<Value, Failure> {
    match control::ask(&folder.control(), &Request::Administer(device, order)).map_err(Failure::because)? {
        Reply::Administered(answer) => Ok(answer),
        Reply::Refused(_, why) => Err(Failure::new(format!("card {:02x}: {}", device.card, shown(&why)))),
        Reply::Done | Reply::Nodes(_) => {
            Err(Failure::new("adjunctd answers something else: is it of another version?"))
        }
    }
}

/// The status of a card; why there is none, in words.
fn status_of(folder: &Folder, card: &Card) -> Result<Value, String> {
    if !card.is_online() {
        return Err("it is offline".to_owned());
    }
    let device = Device { card: card.id, domain: None };
    order(folder, device, json!({ "order": "status" })).map_err(|failure| failure.to_string())
}

/// What each coprocessor says of itself, for `adjunct cards status --json`: only the daemon's user and root are told.
pub(super) fn statuses(folder: &Folder, cards: &[Card]) -> Value {
    let of = |card: &Card| {
        let status = status_of(folder, card);
        let words = status.unwrap_or_else(|why| json!({ "unknown": why }));
        (format!("{:02x}", card.id), words)
    };
    cards.iter().filter(|card| card.mode == Mode::Ep11).map(of).collect::<serde_json::Map<_, _>>().into()
}

/// Lines on each coprocessor, and one on what they all are.
pub(super) fn sentences(folder: &Folder, cards: &[Card]) -> String {
    let mut text = String::new();
    for card in cards.iter().filter(|card| card.mode == Mode::Ep11) {
        let id = card.id;
        match status_of(folder, card) {
            Err(why) => text += &format!("Card {id:02x} (EP11): {}.\n", shown(why.trim_end_matches('.'))),
            Ok(status) => text += &sentence(id, &status),
        }
    }
    if !text.is_empty() {
        text += HONEST;
        text.push('\n');
    }
    text
}

fn sentence(id: u8, status: &Value) -> String {
    let word = |name: &str| shown(status[name].as_str().unwrap_or("?"));
    let mut text = format!("Card {id:02x} (EP11), sealed by {}: {}\n", word("seal"), word("sentence"));
    if status["locked"] == true {
        text += &format!("  It waits for its passphrase: sudo adjunct cards unlock {id:02x}\n");
    }
    for domain in status["domains"].as_array().into_iter().flatten() {
        text += &format!("  {}\n", of_domain(id, domain));
    }
    for finding in status["findings"].as_array().into_iter().flatten() {
        text += &format!("  Warning: {}.\n", shown(finding.as_str().unwrap_or("?")));
    }
    text
}

/// A domain's wrapping keys in one line.
pub(crate) fn of_domain(card: u8, domain: &Value) -> String {
    let pattern = |name: &str| domain[name].as_str().map_or_else(|| "none".to_owned(), shown);
    let number = domain["domain"].as_u64().unwrap_or_default();
    let next = match domain["next_state"].as_str() {
        None | Some("empty") => "empty".to_owned(),
        Some(state) => format!("{} ({})", pattern("next"), shown(state)),
    };
    format!("{card:02x}.{number:04x}  wrapping key {}, next {next}", pattern("current"))
}

/// What a domain says of its keys; `None` where this user is told nothing, or the card does not serve.
pub(super) fn keys(folder: &Folder, card: &Card, domain: u8) -> Option<Value> {
    let device = Device { card: card.id, domain: Some(domain) };
    card.is_online().then(|| order(folder, device, json!({ "order": "wk-show" })).ok()).flatten()
}

/// Enter the passphrase of a coprocessor's vault
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A card with seal = \"passphrase\" in cards.conf does nothing until its passphrase was entered, after each start. The first one makes the vault. It is read from the \
terminal without echo, or as one line from standard input.

Examples:
  sudo adjunct cards unlock             the one card that waits
  sudo adjunct cards unlock 01 < file   card 01

Exit status: 0 it is unlocked, 1 it is not (one line says why), 2 the command line is wrong.")]
pub(super) struct Unlock {
    /// The card, in hexadecimal digits; the one that waits without it
    #[arg(value_parser = number)]
    card: Option<u8>,
}

/// The number of a card, as lszcrypt shows it.
pub(crate) fn number(text: &str) -> Result<u8, String> {
    let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    u8::from_str_radix(text, 16)
        .ok()
        .filter(|_| digits)
        .ok_or_else(|| "two hexadecimal digits, as lszcrypt shows them".into())
}

/// Runs `adjunct cards unlock`.
pub(super) fn unlock(args: &Unlock) -> Result<ExitCode, Failure> {
    let folder = Folder::found();
    let cards = cards(&folder)?;
    let waits = |card: &&Card| status_of(&folder, card).is_ok_and(|status| status["locked"] == true);
    let card = match args.card {
        Some(wanted) => cards.iter().find(|card| card.id == wanted),
        None => cards.iter().find(waits),
    };
    let card = card.ok_or_else(|| match args.card {
        Some(wanted) => Failure::new(format!("card {wanted:02x} is no EP11 coprocessor: lszcrypt shows them")),
        // Why none was asked is more than that none waits.
        None => match cards.iter().find_map(|card| status_of(&folder, card).err()) {
            Some(why) => Failure::new(why),
            None => Failure::new("no card waits for a passphrase"),
        },
    })?;
    let status = status_of(&folder, card).map_err(Failure::new)?;
    let is_new = status["is_new"] == true;
    let asked = |words: &str| {
        if adjunct_tool::ask::somebody() {
            output::note(&format!("{words} of card {:02x}: ", card.id));
        }
        prompt::hidden_line()?.ok_or_else(|| Failure::new("standard input has no passphrase"))
    };
    let line = asked(if is_new { "New passphrase" } else { "Passphrase" })?;
    // A vault that is sealed by a slip of the finger opens never again.
    if is_new && adjunct_tool::ask::somebody() && asked("Once more, the new passphrase")? != line {
        return Err(Failure::new("these are two passphrases: nothing is changed"));
    }
    let passphrase = std::str::from_utf8(&line).map_err(|_| Failure::new("the passphrase is no UTF-8"))?;
    let device = Device { card: card.id, domain: None };
    let status = order(&folder, device, json!({ "order": "unlock", "passphrase": passphrase }))?;
    output::print(&sentence(card.id, &status))?;
    Ok(ExitCode::SUCCESS)
}

/// Where the files of a daemon's cards are.
fn files(folder: &Folder) -> PathBuf {
    match folder.path() == Path::new(SYSTEM) {
        true => PathBuf::from("/var/lib/adjunct/cards"),
        false => folder.path().join("files"),
    }
}

/// The audit log of a card.
pub(super) fn audit_file(folder: &Folder, card: u8) -> PathBuf {
    files(folder).join(format!("ep11-{card:02x}.audit"))
}

/// Number and chain value of the line that a card wrote last, where it runs.
pub(super) fn last_audited(folder: &Folder, card: u8) -> Option<(u64, [u8; 32])> {
    let answer = order(folder, Device { card, domain: None }, json!({ "order": "audit" })).ok()?;
    let text = answer["chain"].as_str().filter(|text| text.len() == 64 && text.is_ascii())?;
    let mut chain = [0; 32];
    for (to, digits) in chain.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *to = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some((answer["last"].as_u64()?, chain))
}
