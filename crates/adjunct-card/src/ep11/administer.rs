//! What an administrator orders of a card, beside the signed commands of EP11 that programs send: it is root, or the daemon's user, by the daemon's control socket.
//!
//! | order | for | answer |
//! | --- | --- | --- |
//! | `{"order": "status"}` | card | seal, whether it waits for a passphrase, findings, patterns of each domain's keys |
//! | `{"order": "unlock", "passphrase": "..."}` | card | the status; the first makes the vault |
//! | `{"order": "wk-generate"}`, `wk-commit`, `wk-finalize`, `wk-clear` | domain | the domain's status |
//! | `{"order": "wk-begin"}` | domain | the same; a random key is in use at once, where there is none |
//! | `{"order": "cps"}` | domain | its control points |
//! | `{"order": "audit"}` | card | number and chain value of the log's last line |

use super::Ep11;
use super::opening::Open;
use adjunct_card_host::peer::Peer;
use adjunct_coprocessor::registers::{Kind, MasterKey, Next, Registers, Wrong};
use adjunct_coprocessor::roles::{Caller, Refused, Rules, Step};
use adjunct_coprocessor::state::{Domain, State};
use serde_json::{Value, json};
use zeroize::Zeroizing;

/// Why a wrapping key is not changed.
#[derive(Debug, thiserror::Error)]
enum Not {
    #[error("there is no such domain")]
    Domain,
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("{0}")]
    Wrong(#[from] Wrong),
    #[error("the domain has a wrapping key: generate, commit and finalize the next one")]
    InUse,
}

/// The user as the coprocessor's rules know it.
pub fn caller(peer: &Peer) -> Caller {
    Caller { uid: peer.uid, gid: peer.gid, groups: peer.groups.clone() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A domain's wrapping keys, by the first halves of their patterns.
fn of_domain(number: u8, domain: &Domain) -> Value {
    let registers = domain.registers(Kind::Wrapping);
    let current = registers.and_then(Registers::current).map(|key| hex(&key.id()));
    let next = registers.and_then(Registers::next);
    let pattern = next.and_then(Next::key).map(|key| hex(&key.id()));
    let state = match next {
        None => "empty",
        Some(next) if next.is_committed() => "committed",
        Some(next) if next.key().is_some() => "full",
        Some(_) => "partial",
    };
    json!({ "domain": number, "current": current, "next": pattern, "next_state": state })
}

impl Ep11 {
    /// Does an order.
    pub(super) fn ordered(&self, from: &Peer, domain: Option<u8>, order: &Value) -> Result<Value, String> {
        let name = order["order"].as_str().ok_or("it is no order")?;
        match (name, domain) {
            ("status", None) => Ok(self.status()),
            ("unlock", None) => {
                let passphrase = order["passphrase"].as_str().ok_or("it brings no passphrase")?;
                self.unlock(Zeroizing::new(passphrase.to_owned()).as_bytes())?;
                Ok(self.status())
            }
            ("audit", None) => {
                let last = self.opened()?.keeper.last_audited();
                Ok(json!({ "last": last.map(|(number, _)| number), "chain": last.map(|(_, chain)| hex(&chain)) }))
            }
            ("cps", Some(number)) => {
                let state = self.opened()?.keeper.state();
                let domain = state.domain(number).ok_or("there is no such domain")?;
                Ok(json!({ "domain": number, "on": domain.unit.points().iter().collect::<Vec<_>>() }))
            }
            ("wk-show", Some(number)) => self.of(number),
            ("wk-generate" | "wk-begin" | "wk-commit" | "wk-finalize" | "wk-clear", Some(number)) => {
                self.change(&caller(from), number, name)?;
                self.of(number)
            }
            (_, None) => Err(format!("there is no order \"{}\" for a card", name.escape_debug())),
            (_, Some(_)) => Err(format!("there is no order \"{}\" for a domain", name.escape_debug())),
        }
    }

    fn of(&self, number: u8) -> Result<Value, String> {
        let state = self.opened()?.keeper.state();
        let domain = state.domain(number).ok_or("there is no such domain")?;
        let mut answer = of_domain(number, domain);
        let registers = domain.registers(Kind::Wrapping);
        let next = registers.and_then(Registers::next).and_then(Next::key);
        answer["current_pattern"] = registers.and_then(Registers::current).map(|key| hex(key.pattern())).into();
        answer["next_pattern"] = next.map(|key| hex(key.pattern())).into();
        Ok(answer)
    }

    fn change(&self, caller: &Caller, number: u8, order: &str) -> Result<(), String> {
        let open = self.opened()?;
        let rules = self.rules();
        let done = open.keeper.change(caller, Some(number), order, |state| step(state, caller, &rules, number, order));
        // Keys that were opened by a wrapping key that is gone; also where all was done and its record could not be written.
        open.module.forget();
        done.map_err(|error| error.to_string())
    }

    fn status(&self) -> Value {
        let open = self.open.get();
        let domains = open.map(|Open { keeper, .. }| {
            let state = keeper.state();
            state.domains().map(|(number, domain)| of_domain(number, domain)).collect::<Vec<_>>()
        });
        let findings = open.map(|open| open.keeper.findings().iter().map(ToString::to_string).collect::<Vec<_>>());
        let seal = self.seal();
        json!({
            "seal": seal.word(),
            "sentence": seal.sentence(),
            "locked": open.is_none(),
            "is_new": open.is_none() && self.closed.is_sealed().is_ok_and(|seal| seal.is_none()),
            "domains": domains.unwrap_or_default(),
            "findings": findings.unwrap_or_default(),
            "writes": open.and_then(|open| open.keeper.sequence()),
            "failures": self.failures(),
        })
    }
}

/// One change of a wrapping key.
fn step(state: &mut State, caller: &Caller, rules: &Rules, number: u8, order: &str) -> Result<(), Not> {
    let domain = state.domain_mut(number).ok_or(Not::Domain)?;
    let registers = domain.registers_mut(Kind::Wrapping).ok_or(Not::Domain)?;
    let pattern = registers.next().and_then(Next::key).map(|key| *key.pattern());
    match order {
        "wk-generate" => {
            rules.check_whole(caller)?;
            registers.generate_next(caller.uid)?;
        }
        "wk-begin" => {
            rules.check_whole(caller)?;
            rules.check(caller, Step::Set, Default::default())?;
            if registers.current().is_some() {
                return Err(Not::InUse);
            }
            registers.set_current(MasterKey::random(Kind::Wrapping))?;
        }
        "wk-commit" => {
            rules.check(caller, Step::Set, registers.loaders())?;
            registers.commit(&pattern.ok_or(Wrong::Empty)?)?;
        }
        "wk-finalize" => {
            rules.check(caller, Step::Set, registers.loaders())?;
            registers.finalize(&pattern.ok_or(Wrong::Empty)?)?;
        }
        _ => {
            rules.check(caller, Step::Set, Default::default())?;
            registers.clear_next();
        }
    }
    Ok(())
}
