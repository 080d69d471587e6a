//! Queries of administration: anybody may ask.

use super::reason::{Done, Reason, Refused, demand, refuse};
use super::{Command, attributes, importer::Importer, wk};
use crate::context::Bytes;
use crate::error::Rv;
use adjunct_coprocessor::registers::Next;
use adjunct_coprocessor::state::Domain;
use adjunct_coprocessor::unit::{Ski, Unit};
use adjunct_ep11_wire::admin::query as q;
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::message::number;

/// Whether a query is of the card.
pub(super) fn is_of_card(query: u32) -> bool {
    matches!(query, q::ADMIN | q::DEVICE_CERT | q::CTRLPOINTS | q::ATTRS | q::FCV | q::IMPORTER_CERT | q::SVCADMIN)
}

/// The administrators' identifiers, or the certificate of one.
fn administrators(unit: &Unit, payload: &[u8]) -> Done<Bytes> {
    if payload.is_empty() {
        return Ok(Bytes::new(unit.administrators().iter().flat_map(|one| *one.ski()).collect()));
    }
    let ski: &Ski = payload.try_into().or(Err(Reason::SkiFormat))?;
    let administrator = unit.administrator(ski).ok_or(Reason::SkiMissing)?;
    Ok(Bytes::new(administrator.certificate().to_vec()))
}

/// Answers a query.
pub(super) fn query(command: &Command<'_>, query: u32) -> Done<Bytes> {
    let (context, payload) = (command.context, command.block.payload);
    let state = command.keeping.state();
    let bytes = |bytes: &[u8]| Ok(Bytes::new(bytes.to_vec()));
    let asked = command.block.head.domain;
    demand(is_of_card(query) || asked == 0 || asked == u32::from(context.number), Reason::DomainRange)?;
    let domain: &Domain = state.domain(context.number).ok_or(Reason::DomainRange)?;
    let registers = wk::registers(domain)?;
    match query {
        q::ADMIN => administrators(state.card(), payload),
        q::DOMADMIN => administrators(&domain.unit, payload),
        q::DOM_IMPORTER_CERT => Ok(Bytes::new(Importer::load(&domain.unit)?.spki)),
        q::CTRLPOINTS => bytes(&state.card().points().to_bytes()),
        q::DOM_CTRLPOINTS => bytes(&domain.unit.points().to_bytes()),
        q::WK => bytes(registers.current().ok_or(Reason::WkMissing)?.pattern()),
        q::NEXT_WK => bytes(registers.next().and_then(Next::key).ok_or(Reason::NextWkMissing)?.pattern()),
        q::ATTRS => Ok(Bytes::new(attributes::packed(state.card(), true))),
        q::DOM_ATTRS => Ok(Bytes::new(attributes::packed(&domain.unit, false))),
        q::FCV => refuse(Reason::FcvMissing),
        q::WK_ORIGINS => Ok(wk::origins(domain, number(payload) == Some(1))),
        // No key is retained, and no service has an administrator.
        q::RKLIST | q::SVCADMIN => Ok(Bytes::default()),
        q::INTERNAL_STATE => refuse(Reason::FileUnsupported),
        q::DEVICE_CERT => refuse(Reason::CertificateIndex),
        q::IMPORTER_CERT => refuse(Reason::NoImporter),
        q::AUDIT_STATE => {
            let (count, chain) = command.keeping.last_audited().unwrap_or_default();
            Ok(Bytes::new([&count.to_be_bytes()[..], &chain].concat()))
        }
        // State is neither exported nor imported.
        q::LASTCMD_DOM_MASK => bytes(&[0; 32]),
        q::LOGIN_IMPORTER => {
            let kind = if payload.is_empty() { Some(super::login::P521) } else { number(payload) };
            let kind = kind.ok_or(Rv(rv::ARGUMENTS_BAD))?;
            Ok(command.keeping.logins().importer(context.number, kind).map_err(Refused::from)?)
        }
        _ => refuse(Reason::Function),
    }
}
