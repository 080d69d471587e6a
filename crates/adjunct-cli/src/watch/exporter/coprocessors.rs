//! The metrics of EP11 coprocessors that are asked for, beside the counts of cards that are there for everybody.

use super::families::{Family, FamilyKind, labels};
use crate::cards::serving::{self, Cause, Serving};
use crate::watch::sample::Cards;
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Mode;
use serde_json::Value;

/// What cards say of themselves, by their numbers.
type Statuses = Vec<(u8, Value)>;

/// The metrics of the coprocessors, which are asked now; none where there are none.
pub(super) fn asked(cards: &Cards) -> Vec<Family> {
    let Cards::Running(machine) = cards else { return Vec::new() };
    let folder = Folder::found();
    let coprocessors = machine.cards.iter().filter(|card| card.mode == Mode::Ep11);
    let statuses = coprocessors.filter_map(|card| Some((card.id, serving::status(&folder, card)?))).collect();
    families(&serving::all(&folder, machine), &statuses)
}

fn families(all: &[Serving], statuses: &Statuses) -> Vec<Family> {
    if all.is_empty() {
        return Vec::new();
    }
    let gauge = |name, help| Family::new(name, help, FamilyKind::Gauge);
    let mut serves = gauge(
        "adjunct_ep11_domain_serving",
        "Whether a domain of an EP11 coprocessor serves programs; only of domains whose socket this program may use.",
    );
    let mut cause =
        gauge("adjunct_ep11_domain_cause", "Why a domain of an EP11 coprocessor serves no program: its cause has 1.");
    // What this program may not use serves others.
    for one in all.iter().filter(|one| one.cause != Some(Cause::SocketPermission)) {
        let (card, domain) = (format!("{:02x}", one.card), format!("{:04x}", one.domain));
        let pairs = [("card", &*card), ("domain", &*domain)];
        serves.put(labels(&pairs), one.cause.is_none().into());
        if let Some(why) = one.cause {
            cause.put(labels(&[pairs[0], pairs[1], ("cause", why.word())]), 1);
        }
    }
    let mut locked = gauge("adjunct_ep11_vault_locked", "Whether a card waits for the passphrase of its vault.");
    let mut findings = gauge("adjunct_ep11_vault_findings", "What is wrong with a card's vault: findings.");
    let mut failures = Family::new(
        "adjunct_ep11_failures",
        "Requests that an EP11 coprocessor refused, by the return value of PKCS #11 or of IBM.",
        FamilyKind::Counter,
    );
    for (card, status) in statuses {
        let card = format!("{card:02x}");
        let card = [("card", &*card)];
        locked.put(labels(&card), (status["locked"] == true).into());
        findings.put(labels(&card), status["findings"].as_array().map_or(0, |all| all.len() as u64));
        for (code, count) in status["failures"].as_object().into_iter().flatten() {
            failures.put(labels(&[card[0], ("code", code)]), count.as_u64().unwrap_or_default());
        }
    }
    let told = [locked, findings, failures].into_iter().filter(|family| !family.series.is_empty());
    [serves, cause].into_iter().filter(|family| !family.series.is_empty()).chain(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_card_says_becomes_series() {
        let one = |domain, cause: Option<Cause>| Serving {
            card: 1,
            domain,
            cause,
            advice: cause.map(Cause::id),
            sentence: String::new(),
        };
        let all = [one(0, None), one(5, Some(Cause::NoWrappingKey)), one(6, Some(Cause::SocketPermission))];
        let status = serde_json::json!({ "locked": false, "findings": ["a"], "failures": { "0x00000070": 3 } });
        let found = families(&all, &vec![(1, status)]);
        let names: Vec<&str> = found.iter().map(|family| family.name).collect();
        assert_eq!(
            names,
            [
                "adjunct_ep11_domain_serving",
                "adjunct_ep11_domain_cause",
                "adjunct_ep11_vault_locked",
                "adjunct_ep11_vault_findings",
                "adjunct_ep11_failures"
            ]
        );
        let series = |at: usize| found[at].series.iter().map(|(labels, _)| labels.as_str()).collect::<Vec<_>>();
        assert_eq!(series(0), [r#"card="01",domain="0000""#, r#"card="01",domain="0005""#]);
        assert_eq!(series(1), [r#"card="01",domain="0005",cause="no-wrapping-key""#]);
        assert_eq!(series(4), [r#"card="01",code="0x00000070""#]);
        assert!(families(&[], &Vec::new()).is_empty());
    }
}
