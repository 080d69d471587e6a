//! Which cards and domains `zcryptstats` shows, and the mapping of unknown cards, which has nothing to map here.

use super::{TOOL, Wanted};
use crate::cards::device::Device;
use crate::cards::scan::{self, Scan};
use crate::cards::tool::Stop;
use adjunct_card_state::machine::Mask;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Cards and domains that are wanted.
#[derive(Debug)]
pub(super) struct Selection {
    cards: Mask,
    domains: Mask,
    /// Each with a card, a domain, or both; none where everything is wanted.
    named: Vec<(Option<u8>, Option<u8>)>,
}

impl Selection {
    /// The cards and domains that the words name; `highest` is the highest number that a card may have.
    pub(super) fn of(words: &[OsString], highest: u8, wanted: &Wanted) -> Result<Selection, Stop> {
        let mut selection = Selection { cards: Mask::default(), domains: Mask::default(), named: Vec::new() };
        let mut range = ((u8::MAX, 0), (u8::MAX, 0));
        for word in words {
            selection.add(word, highest, wanted, &mut range)?;
        }
        if words.is_empty() {
            (selection.cards, selection.domains) = (Mask::ALL, Mask::ALL);
            range = ((0, highest), (0, u8::MAX));
        }
        let (cards, domains) = range;
        wanted.say(&format!("Min card: {}, max card: {}", cards.0, cards.1));
        wanted.say(&format!("Min domain: {}, max domain: {}", domains.0, domains.1));
        Ok(selection)
    }

    fn add(
        &mut self,
        word: &OsStr,
        highest: u8,
        wanted: &Wanted,
        (cards, domains): &mut ((u8, u8), (u8, u8)),
    ) -> Result<(), Stop> {
        let shown = adjunct_tool::escape::shown(word);
        wanted.say(&format!("device_id: '{shown}'"));
        let wrong = |what: &str| TOOL.stop(&format!("Invalid {what} specified: {shown}"));
        // The lower end of domains is worked out with the upper one, as in the original: only -V tells of it.
        let mut domain_added = |domain: u8, mask: &mut Mask| {
            mask.set(domain, true);
            *domains = (domains.1.min(domain), domains.1.max(domain));
        };
        match scan::card_and_domain(word.as_bytes()) {
            (Some(card), domain) => {
                wanted.say(&format!("card: {card} domain: {}", domain.unwrap_or(-1)));
                let number = u8::try_from(card).ok().filter(|&card| card <= highest).ok_or_else(|| wrong("card"))?;
                self.cards.set(number, true);
                *cards = (cards.0.min(number), cards.1.max(number));
                let domain = match domain.filter(|&domain| domain >= 0) {
                    Some(domain) => {
                        let domain = u8::try_from(domain).map_err(|_| wrong("domain"))?;
                        domain_added(domain, &mut self.domains);
                        Some(domain)
                    }
                    None => {
                        self.domains = Mask::ALL;
                        *domains = (0, u8::MAX);
                        None
                    }
                };
                self.named.push((Some(number), domain));
            }
            (None, _) => {
                let rest = Scan::of(word.as_bytes()).literal(b'.').and_then(|rest| rest.hex(usize::MAX));
                let Some((domain, _)) = rest else { return Err(wrong("device ID")) };
                wanted.say(&format!("domain: {domain}"));
                let domain = u8::try_from(domain).map_err(|_| wrong("domain"))?;
                domain_added(domain, &mut self.domains);
                self.cards = Mask::ALL;
                *cards = (0, highest);
                self.named.push((None, Some(domain)));
            }
        }
        Ok(())
    }

    /// Whether a device is wanted.
    pub(super) fn has(&self, device: &Device<'_>, wanted: &Wanted) -> bool {
        let (card, domain) = (device.card.id, device.queue.map(|queue| queue.domain));
        let what = if domain.is_some() { "APQN" } else { "card" };
        let skipped = |why: &str, what: &str, id: &str| {
            wanted.say(&format!("Skipping {what} {id} ({why})"));
            false
        };
        if !self.cards.has(card) {
            return skipped("mask", "card", &format!("{card:02x}"));
        }
        if domain.is_some_and(|domain| !self.domains.has(domain)) {
            return skipped("mask", what, &device.id());
        }
        let named = |&(c, d): &(Option<u8>, Option<u8>)| {
            c.is_none_or(|c| c == card) && domain.is_none_or(|domain| d.is_none_or(|d| d == domain))
        };
        if !self.named.is_empty() && !self.named.iter().any(named) {
            return skipped("selection", what, &device.id());
        }
        if wanted.online && !(Device { card: device.card, queue: None }).online() {
            return skipped("not online", "card", &format!("{card:02x}"));
        }
        if wanted.online && !device.online() {
            return skipped("not online", what, &device.id());
        }
        true
    }
}

/// The kinds of cards that there were, by number: whether a mode of theirs has counters.
fn is_known(kind: i64, mode: i64) -> bool {
    match kind {
        3..=9 => mode == 0,
        10..=14 => (8..=10).contains(&mode),
        _ => false,
    }
}

/// Looks whether a mapping makes sense: nothing here is unknown, so that it maps nothing.
pub(super) fn check_map(map: &OsStr, wanted: &Wanted) -> Result<(), Stop> {
    for part in map.as_bytes().split(|&byte| byte == b',').filter(|part| !part.is_empty()) {
        let shown = adjunct_tool::escape::shown(OsStr::from_bytes(part));
        let Some([from, from_mode, to, to_mode]) = numbers(part) else {
            return Err(TOOL.stop(&format!("Invalid type mapping: {shown}")));
        };
        wanted.say(&format!("from_type: {from} from_mode: {from_mode} to_type: {to} to_mode: {to_mode}"));
        if is_known(from, from_mode) {
            return Err(TOOL.stop(&format!("Cannot map a known type/mode to another type/mode: {shown}")));
        }
        if !is_known(to, to_mode) {
            return Err(TOOL.stop(&format!("Cannot map a type/mode to an unknown type/mode: {shown}")));
        }
    }
    Ok(())
}

/// The four numbers of `TYPE:MODE=TYPE:MODE`.
fn numbers(part: &[u8]) -> Option<[i64; 4]> {
    let (from, to) = part.split_at(part.iter().position(|&byte| byte == b'=')?);
    let pair = |text: &[u8]| {
        let (kind, mode) = text.split_at(text.iter().position(|&byte| byte == b':')?);
        let whole = kind.trim_ascii_start().iter().all(u8::is_ascii_digit);
        Some((whole.then(|| Scan::of(kind).decimal()).flatten()?, Scan::of(&mode[1..]).decimal()?))
    };
    let ((a, b), (c, d)) = (pair(from)?, pair(&to[1..])?);
    Some([a, b, c, d])
}
