//! Whether EP11 coprocessors serve, and why not: for `adjunct doctor`, `adjunct check` and `adjunct exporter`.

use super::coprocessor::order;
use crate::ep11::has_wrapping_key;
use adjunct_card_state::control::Device;
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::{Card, Machine, Mode};
use adjunct_tool::escape::shown;
use rustix::fs::{Access, access};
use serde::Serialize;
use serde_json::{Value, json};

/// Why a domain of a coprocessor does not serve. A cause keeps its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cause {
    /// The card was stopped, is deconfigured, or was set offline.
    CardDown,
    /// This user may not write to the domain's socket, or does not see it.
    SocketPermission,
    /// The vault waits for its passphrase.
    VaultLocked,
    /// The domain has no wrapping key.
    NoWrappingKey,
    /// The card gives no answer.
    NoAnswer,
}

impl Cause {
    pub(crate) const ALL: [Cause; 5] =
        [Cause::CardDown, Cause::SocketPermission, Cause::VaultLocked, Cause::NoWrappingKey, Cause::NoAnswer];

    /// The number of its advice.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Cause::CardDown => "ADJ-P001",
            Cause::SocketPermission => "ADJ-P002",
            Cause::VaultLocked => "ADJ-P003",
            Cause::NoWrappingKey => "ADJ-P004",
            Cause::NoAnswer => "ADJ-P005",
        }
    }

    /// The word for scripts.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Cause::CardDown => "card-down",
            Cause::SocketPermission => "socket-permission",
            Cause::VaultLocked => "vault-locked",
            Cause::NoWrappingKey => "no-wrapping-key",
            Cause::NoAnswer => "no-answer",
        }
    }
}

/// Whether a domain serves this user.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Serving {
    pub(crate) card: u8,
    pub(crate) domain: u8,
    /// None where it serves.
    pub(crate) cause: Option<Cause>,
    pub(crate) advice: Option<&'static str>,
    /// What is wrong and what to do, or that nothing is.
    pub(crate) sentence: String,
}

impl Serving {
    /// The sentence with card and domain, and the number of its advice.
    pub(crate) fn line(&self) -> String {
        let number = self.advice.map_or_else(String::new, |id| format!(" [{id}]"));
        format!("EP11 coprocessor {:02x}.{:04x}: {}{number}", self.card, self.domain, self.sentence)
    }
}

/// What a card tells of itself; none where this user is told nothing.
pub(crate) fn status(folder: &Folder, card: &Card) -> Option<Value> {
    let device = Device { card: card.id, domain: None };
    card.is_online().then(|| order(folder, device, json!({ "order": "status" })).ok()).flatten()
}

/// All domains of the coprocessors of a machine.
pub(crate) fn all(folder: &Folder, machine: &Machine) -> Vec<Serving> {
    let cards = machine.cards.iter().filter(|card| card.mode == Mode::Ep11);
    cards
        .flat_map(|card| {
            let locked = status(folder, card).is_some_and(|status| status["locked"] == true);
            card.queues.iter().map(move |queue| {
                let cause = why(folder, card, queue.domain, queue.online, locked);
                let (domain, advice) = (queue.domain, cause.map(Cause::id));
                Serving { card: card.id, domain, cause, advice, sentence: sentence(folder, card, domain, cause) }
            })
        })
        .collect()
}

fn why(folder: &Folder, card: &Card, domain: u8, online: bool, locked: bool) -> Option<Cause> {
    if !card.is_online() || !online {
        return Some(Cause::CardDown);
    }
    if locked {
        return Some(Cause::VaultLocked);
    }
    let socket = folder.domain_socket(Mode::Ep11, card.id, domain);
    if access(&socket, Access::WRITE_OK).is_err() {
        return Some(Cause::SocketPermission);
    }
    match has_wrapping_key(card.id, domain) {
        Ok(true) => None,
        Ok(false) => Some(Cause::NoWrappingKey),
        Err(_) => Some(Cause::NoAnswer),
    }
}

fn sentence(folder: &Folder, card: &Card, domain: u8, cause: Option<Cause>) -> String {
    let id = card.id;
    match cause {
        None => "it serves".to_owned(),
        Some(Cause::CardDown) if !card.remark.is_empty() => {
            format!("the card is down: {}", shown(card.remark.trim_end_matches('.')))
        }
        Some(Cause::CardDown) => {
            let (state, option) = match () {
                () if card.chkstop => ("was stopped after faults", "restart adjunctd"),
                () if !card.config => ("is deconfigured", "chzcrypt --config-on"),
                () => ("is offline", "chzcrypt -e"),
            };
            format!("the card {state}: {option} {id:02x}")
        }
        Some(Cause::SocketPermission) => {
            let socket = folder.domain_socket(Mode::Ep11, id, domain);
            match socket.symlink_metadata() {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    format!("there is no socket {}: in a container it has to be mounted", shown(&socket))
                }
                _ => format!(
                    "you may not write to {}: owner, group and mode-bits in cards.conf say who may",
                    shown(&socket)
                ),
            }
        }
        Some(Cause::VaultLocked) => {
            format!("its vault waits for its passphrase: sudo adjunct cards unlock {id:02x}")
        }
        Some(Cause::NoWrappingKey) => {
            format!("it has no wrapping key: sudo adjunct ep11 wk generate --in-use {id:02x}.{domain:04x}")
        }
        Some(Cause::NoAnswer) => "it does not answer: 'sudo adjunct cards status' says what is wrong".to_owned(),
    }
}
