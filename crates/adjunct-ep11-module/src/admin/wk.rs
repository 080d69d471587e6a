//! Wrapping keys: made or imported as the next one, committed, put in use, cleared.

use super::attributes::{self, number, permission};
use super::importer::Importer;
use super::reason::{Done, Reason, Refused, demand, refuse};
use super::signers::Authority;
use super::{Command, der, hex};
use crate::context::Bytes;
use adjunct_coprocessor::audit::Detail;
use adjunct_coprocessor::registers::{Kind, MasterKey, Pattern, Registers, Wrong};
use adjunct_coprocessor::state::Domain;
use adjunct_coprocessor::unit::Setting;
use adjunct_ep11_wire::admin::{Block, command};
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::{fields, number as word};
use zeroize::Zeroizing;

/// The most key parts of an import.
const MOST_PARTS: usize = 20;
/// Where a domain keeps the patterns of the parts of its wrapping key, and of the next one.
pub(super) const ORIGINS: u32 = 0xe11_0002;
const NEXT_ORIGINS: u32 = 0xe11_0003;

fn wrong(why: Wrong) -> Refused {
    match why {
        Wrong::Key | Wrong::Same => Reason::RecipientSize.into(),
        Wrong::Empty | Wrong::NoFirst => Reason::NextWkMissing.into(),
        Wrong::NotCommitted => Reason::NotCommitted.into(),
        Wrong::Pattern => Reason::WkMismatch.into(),
        Wrong::NotEmpty | Wrong::Committed => Reason::WksPresent.into(),
    }
}

/// The registers of a domain's wrapping keys.
pub(super) fn registers(domain: &Domain) -> Done<&Registers> {
    Ok(domain.registers(Kind::Wrapping).ok_or(Reason::WkMissing)?)
}

fn registers_mut(domain: &mut Domain) -> Done<&mut Registers> {
    Ok(domain.registers_mut(Kind::Wrapping).ok_or(Reason::WkMissing)?)
}

fn permits(domain: &Domain, permission: u32) -> bool {
    attributes::get(&domain.unit, false, number::PERMS) & permission != 0
}

/// The pattern that a command tells.
fn pattern(payload: &[u8]) -> Done<&Pattern> {
    Ok(payload.try_into().or(Err(Reason::WkMismatch))?)
}

fn note(detail: &mut Detail, pattern: &Pattern) -> Bytes {
    detail.insert("pattern".to_owned(), hex(pattern).into());
    Bytes::new(pattern.to_vec())
}

fn keep_origins(domain: &mut Domain, at: u32, origins: Option<Vec<u8>>) -> Done {
    domain.unit.set_setting(at, origins.map(Setting::Bytes)).or(Err(Refused { rv: rv::DEVICE_MEMORY, reason: 0 }))
}

/// Makes a random key: the one in use where there is none, else the next. Its pattern.
pub(super) fn generate(domain: &mut Domain, uid: u32, detail: &mut Detail) -> Done<Bytes> {
    demand(permits(domain, permission::WK_RANDOM), Reason::RandomWk)?;
    let registers = registers_mut(domain)?;
    let key = MasterKey::random(Kind::Wrapping);
    let pattern = *key.pattern();
    if registers.current().is_none() && registers.next().is_none() {
        registers.set_current(key).map_err(wrong)?;
        keep_origins(domain, ORIGINS, None)?;
    } else {
        demand(registers.next().is_none(), Reason::WksPresent)?;
        registers.set_next(key, uid).map_err(wrong)?;
        keep_origins(domain, NEXT_ORIGINS, None)?;
    }
    Ok(note(detail, &pattern))
}

/// Imports the next key: the XOR of parts, each in a command block of its own, which one administrator at least has signed. Its pattern.
pub(super) fn import(command: &Command<'_>, domain: &mut Domain, uid: u32, detail: &mut Detail) -> Done<Bytes> {
    demand(permits(domain, permission::WK_IMPORT), Reason::ImportProhibited)?;
    let requests = der::sequences(command.block.payload, usize::MAX).ok_or(Reason::PartEnvelope)?;
    demand(!requests.is_empty(), Reason::NoKeyParts)?;
    demand(requests.len() <= MOST_PARTS, Reason::ManyKeyParts)?;
    demand(requests.len() > 1 || permits(domain, permission::WK_ONE_PART), Reason::SingleKeyPart)?;
    let importer = Importer::load(&domain.unit)?;
    let parts = requests.iter().map(|request| part(command, domain, &importer, request)).collect::<Done<Vec<_>>>()?;
    let whole = parts[0].len();
    demand(parts.iter().all(|part| part.len() == whole), Reason::PartsMixed)?;
    demand(parts.iter().all(|part| part[32..] == parts[0][32..]), Reason::PartsPatterns)?;
    let key = MasterKey::of_parts(Kind::Wrapping, parts.iter().map(|part| &part[..32])).ok_or(Reason::KeySize)?;
    demand(whole == 32 || parts[0][32..] == key.pattern()[..], Reason::PartsPattern)?;
    let pattern = *key.pattern();
    let mut origins = Vec::new();
    for part in &parts {
        if let Some(part) = MasterKey::new(Kind::Wrapping, &part[..32]) {
            origins.extend_from_slice(part.pattern());
        }
    }
    registers_mut(domain)?.set_next(key, uid).map_err(wrong)?;
    keep_origins(domain, NEXT_ORIGINS, Some(origins))?;
    detail.insert("parts".to_owned(), parts.len().into());
    Ok(note(detail, &pattern))
}

/// A part: 32 bytes, and 32 bytes of the whole key's pattern where they are there.
fn part(command: &Command<'_>, domain: &Domain, importer: &Importer, request: &[u8]) -> Done<Zeroizing<Vec<u8>>> {
    let request = fields(request).ok_or(Reason::PartFields)?;
    let [function, index, bytes, signatures] = request.all() else { return refuse(Reason::PartFields) };
    let admin = word(function).is_some_and(|function| function as u16 == Function::Admin as u16);
    demand(admin, Reason::PartFunction)?;
    demand(word(index) == Some(command.context.number.into()), Reason::PartDomain)?;
    let block = Block::parse(bytes).ok_or(Reason::PartBlock)?;
    let (inner, outer) = (&block.head, &command.block.head);
    demand(inner.number == command::IMPORT_WK, Reason::PartFunction)?;
    demand(inner.domain == outer.domain, Reason::PartDomain)?;
    demand(inner.instance == outer.instance, Reason::PartInstance)?;
    demand(inner.module == outer.module, Reason::Module)?;
    demand(inner.counter == outer.counter, Reason::Counter)?;
    if !attributes::in_imprint(&domain.unit, false) {
        demand(!signatures.is_empty(), Reason::PartNoSignature)?;
        let state = command.keeping.state();
        Authority::of_domain(&domain.unit, state.card(), false).check(bytes, signatures, 1)?;
    }
    let part = importer.open(block.payload)?;
    demand(matches!(part.len(), 32 | 64), Reason::KeySize)?;
    Ok(part)
}

/// Commits the next key, whose pattern is told.
pub(super) fn commit(domain: &mut Domain, payload: &[u8], detail: &mut Detail) -> Done<Bytes> {
    let pattern = pattern(payload)?;
    registers_mut(domain)?.commit(pattern).map_err(wrong)?;
    Ok(note(detail, pattern))
}

/// Puts the committed key, whose pattern is told, in use.
pub(super) fn finalize(domain: &mut Domain, payload: &[u8], detail: &mut Detail) -> Done<Bytes> {
    let pattern = pattern(payload)?;
    registers_mut(domain)?.finalize(pattern).map_err(wrong)?;
    let origins = match domain.unit.setting(NEXT_ORIGINS) {
        Some(Setting::Bytes(origins)) => Some(origins.clone()),
        _ => None,
    };
    keep_origins(domain, ORIGINS, origins)?;
    keep_origins(domain, NEXT_ORIGINS, None)?;
    Ok(note(detail, pattern))
}

/// Forgets the key in use.
pub(super) fn clear(domain: &mut Domain) -> Done<Bytes> {
    let registers = registers_mut(domain)?;
    demand(registers.current().is_some(), Reason::WkMissing)?;
    registers.clear_current();
    keep_origins(domain, ORIGINS, None)?;
    Ok(Bytes::default())
}

/// Forgets the next key.
pub(super) fn clear_next(domain: &mut Domain) -> Done<Bytes> {
    let registers = registers_mut(domain)?;
    demand(registers.next().is_some(), Reason::NextWkMissing)?;
    registers.clear_next();
    keep_origins(domain, NEXT_ORIGINS, None)?;
    Ok(Bytes::default())
}

/// The patterns of the parts of the key in use, or of the next one.
pub(super) fn origins(domain: &Domain, next: bool) -> Bytes {
    match domain.unit.setting(if next { NEXT_ORIGINS } else { ORIGINS }) {
        Some(Setting::Bytes(origins)) => Bytes::new(origins.clone()),
        _ => Bytes::default(),
    }
}
