//! Commands that are the same for the card and a domain: administrators, attributes, control points; and zeroize.

use super::attributes::{self, number, permission};
use super::reason::{Done, Reason, demand, refuse};
use super::{NEVER, der, hex, initial_points, renew_instance, signers};
use crate::context::Bytes;
use adjunct_coprocessor::audit::Detail;
use adjunct_coprocessor::control::ControlPoints;
use adjunct_coprocessor::state::State;
use adjunct_coprocessor::unit::{Full, Ski, Unit};
use adjunct_ep11_wire::codes::control;

/// The number of a command on control points, less that of the first.
const ADD: u32 = 1;
const DELETE: u32 = 2;

fn full(why: Full) -> Reason {
    match why {
        Full::Exists => Reason::SkiFound,
        Full::Missing => Reason::SkiMissing,
        Full::Room => Reason::AdministratorsFull,
    }
}

/// Adds an administrator, whose certificate is the payload. The identifier.
pub(super) fn login(unit: &mut Unit, card: bool, payload: &[u8], detail: &mut Detail) -> Done<Bytes> {
    let administrator = signers::administrator(unit, card, payload)?;
    let ski = *administrator.ski();
    unit.add_administrator(administrator).map_err(full)?;
    detail.insert("administrator".to_owned(), hex(&ski).into());
    Ok(Bytes::new(ski.to_vec()))
}

/// Removes an administrator, whose identifier is the payload.
pub(super) fn logout(unit: &mut Unit, card: bool, payload: &[u8], detail: &mut Detail) -> Done<Bytes> {
    let ski: &Ski = payload.try_into().or(Err(Reason::SkiFormat))?;
    demand(unit.administrator(ski).is_some(), Reason::SkiMissing)?;
    if !attributes::in_imprint(unit, card) {
        let left = unit.administrators().len() - 1;
        let get = |of| attributes::get(unit, card, of);
        let threshold = get(number::SIGN_THR).max(get(number::REVOKE_THR)) as usize;
        demand(left > 0, Reason::LogoutLast)?;
        demand(left > 1 || get(number::PERMS) & permission::ONE_SIGNATURE != 0, Reason::LogoutSingle)?;
        demand(left >= threshold, Reason::LogoutThreshold)?;
    }
    unit.remove_administrator(ski).map_err(full)?;
    detail.insert("administrator".to_owned(), hex(ski).into());
    Ok(Bytes::default())
}

/// Puts an administrator in the place of another. The new one's identifier.
pub(super) fn replace(unit: &mut Unit, card: bool, payload: &[u8], detail: &mut Detail) -> Done<Bytes> {
    let (old, certificate) = der::replacement(payload).ok_or(Reason::Certificate)?;
    let old: &Ski = old.try_into().or(Err(Reason::SkiFormat))?;
    let administrator = signers::administrator(unit, card, certificate)?;
    let ski = *administrator.ski();
    unit.replace_administrator(old, administrator).map_err(full)?;
    detail.insert("administrator".to_owned(), hex(&ski).into());
    detail.insert("instead-of".to_owned(), hex(old).into());
    Ok(Bytes::new(ski.to_vec()))
}

/// Sets attributes. All of them.
pub(super) fn set_attributes(
    unit: &mut Unit,
    card: bool,
    payload: &[u8],
    card_imprint: bool,
    detail: &mut Detail,
) -> Done<Bytes> {
    let all = attributes::unpack(payload)?;
    attributes::set(unit, card, &all, card_imprint)?;
    let set = all.iter().map(|(of, value)| (of.to_string(), (*value).into())).collect();
    detail.insert("attributes".to_owned(), serde_json::Value::Object(set));
    Ok(Bytes::new(attributes::packed(unit, card)))
}

/// Sets control points, adds some (1), or takes some away (2). The points.
pub(super) fn points(unit: &mut Unit, how: u32, payload: &[u8], detail: &mut Detail) -> Done<Bytes> {
    let given = ControlPoints::from_bytes(payload.try_into().or(Err(Reason::PointsFormat))?);
    demand(given.iter().all(|point| point <= control::LAST), Reason::Points)?;
    let before = unit.points();
    let after = match how {
        ADD => before.union(given),
        DELETE => before.difference(given),
        _ => given,
    };
    let (added, deleted) = (after.difference(before), before.difference(after));
    demand(!NEVER.iter().any(|point| added.has(*point)), Reason::PointsInconsistent)?;
    demand(added == ControlPoints::NONE || before.has(control::ADD_CPS), Reason::PointsAdd)?;
    demand(deleted == ControlPoints::NONE || before.has(control::DELETE_CPS), Reason::PointsDelete)?;
    unit.set_points(after);
    for (name, points) in [("added", added), ("deleted", deleted)] {
        let numbers: Vec<_> = points.iter().map(serde_json::Value::from).collect();
        detail.insert(name.to_owned(), numbers.into());
    }
    Ok(Bytes::new(after.to_bytes().to_vec()))
}

/// Whether a domain is in a mask: domain 0 is the highest bit of the first byte.
pub(super) fn in_mask(mask: &[u8; 32], domain: u8) -> bool {
    mask[usize::from(domain / 8)] & 0x80 >> (domain % 8) != 0
}

/// A domain as it was when it was new, with another instance.
pub(super) fn zeroize(state: &mut State, domain: u8) -> Done<Bytes> {
    state.remove_domain(domain);
    state.domain_or_new(domain, ControlPoints::from_bytes(initial_points().0));
    renew_instance(state, domain)?;
    Ok(Bytes::default())
}

/// The domains of a mask.
pub(super) fn zeroize_domains(state: &mut State, payload: &[u8], detail: &mut Detail) -> Done<Bytes> {
    let mask: &[u8; 32] = payload.try_into().or(Err(Reason::DomainMask))?;
    let all: Vec<u8> = state.domains().map(|(number, _)| number).filter(|number| in_mask(mask, *number)).collect();
    detail.insert("domains".to_owned(), all.clone().into());
    all.iter().try_for_each(|domain| zeroize(state, *domain).map(drop))?;
    Ok(Bytes::default())
}

/// The card with all its domains. Its identity and its counter stay.
pub(super) fn zeroize_card(state: &mut State) -> Done<Bytes> {
    let all: Vec<u8> = state.domains().map(|(number, _)| number).collect();
    all.iter().try_for_each(|domain| zeroize(state, *domain).map(drop))?;
    let instances = state.card().setting(super::INSTANCES).cloned();
    let counter = *state.card().counter();
    let mut card = Unit::new(ControlPoints::from_bytes(initial_points().0));
    card.set_counter(counter);
    card.set_setting(super::INSTANCES, instances).or(refuse(Reason::ImportFailed))?;
    *state.card_mut() = card;
    Ok(Bytes::default())
}
