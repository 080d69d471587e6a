//! Wrapping keys that leave in parts, each encrypted for a holder of key parts.
//!
//! ```text
//! request, reply: SEQUENCE { OCTET STRING { type (2) | index (4) | contents } ... }
//! request:        27 number of parts, where told (4) | 28 number of parts that make the key (4) | 29 a holder's certificate, indices from 1 on
//! reply:          27 number of parts (4) | 28 number of parts that make the key (4) | 25 a part's RecipientInfo
//! ```
//!
//! The twelve bytes of a file's head (4, offset, length) may stand before a request. A part has 32 bytes and the whole key's verification pattern. All parts
//! together make the key, or each alone does where one is enough; shares of which some make the key are not offered.

use super::attributes::{self, number, permission};
use super::reason::{Done, Reason, demand};
use super::{importer, wk};
use crate::context::Bytes;
use adjunct::ops::random::random;
use adjunct_coprocessor::audit::Detail;
use adjunct_coprocessor::registers::Next;
use adjunct_coprocessor::state::Domain;
use adjunct_ep11_wire::message::{element, head_length, octets, put_octets};
use adjunct_mechanisms::der::tlv;
use zeroize::Zeroizing;

const PART: u16 = 25;
const COUNT: u16 = 27;
const LIMIT: u16 = 28;
const CERTIFICATE: u16 = 29;
/// A file that asks for an export.
const FILE: u32 = 4;
const MOST: usize = 20;

/// What a request asks for: the certificates of holders, and how many parts make the key.
struct Request<'a> {
    certificates: Vec<&'a [u8]>,
    limit: usize,
}

fn section(kind: u16, index: u32, contents: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &index.to_be_bytes(), contents].concat()
}

fn parse(payload: &[u8]) -> Done<Request<'_>> {
    let headed = payload.first_chunk() == Some(&FILE.to_be_bytes());
    let bytes = if headed { payload.get(12..) } else { Some(payload) };
    let invalid = Reason::ExportIndex;
    let (_, mut sections, _) =
        bytes.and_then(element).filter(|(tag, _, rest)| *tag == 0x30 && rest.is_empty()).ok_or(invalid)?;
    let (mut certificates, mut limit, mut count) = (Vec::new(), None, None);
    while !sections.is_empty() {
        let (one, rest) = octets(sections).ok_or(invalid)?;
        sections = rest;
        let (kind, one) = one.split_first_chunk().ok_or(invalid)?;
        let (index, contents) = one.split_first_chunk().ok_or(invalid)?;
        let number = || contents.try_into().map(u32::from_be_bytes).or(Err(Reason::ExportLimit));
        match u16::from_be_bytes(*kind) {
            LIMIT => {
                let told = number()? as usize;
                demand(limit.is_none_or(|limit| limit == told), Reason::ExportLimits)?;
                limit = Some(told);
            }
            COUNT => {
                let told = number()? as usize;
                demand(count.is_none_or(|count| count == told), Reason::ExportCounts)?;
                count = Some(told);
            }
            CERTIFICATE => {
                demand(u32::from_be_bytes(*index) as usize == certificates.len() + 1, invalid)?;
                demand(certificates.len() < MOST, Reason::ManyKeyParts)?;
                certificates.push(contents);
            }
            // What programs add for themselves.
            _ => {}
        }
    }
    demand(!certificates.is_empty(), Reason::NoKeyParts)?;
    demand(count.is_none_or(|count| count == certificates.len()), Reason::ExportCounts)?;
    let limit = limit.unwrap_or(certificates.len());
    demand(limit == 1 || limit == certificates.len(), Reason::ExportLimit)?;
    Ok(Request { certificates, limit })
}

/// The parts of a key.
fn parts(secret: &[u8; 32], pattern: &[u8; 32], request: &Request<'_>) -> Vec<Zeroizing<Vec<u8>>> {
    let count = request.certificates.len();
    let mut last = Zeroizing::new(*secret);
    let mut all = Vec::with_capacity(count);
    for _ in 1..count {
        let mut part = Zeroizing::new([0; 32]);
        if request.limit == 1 {
            part.copy_from_slice(secret);
        } else {
            random(&mut part[..]);
            last.iter_mut().zip(part.iter()).for_each(|(sum, byte)| *sum ^= byte);
        }
        all.push(part);
    }
    all.push(last);
    all.iter().map(|part| Zeroizing::new([&part[..], pattern].concat())).collect()
}

/// Exports the key in use, or the next one.
pub(super) fn export(domain: &Domain, next: bool, payload: &[u8], detail: &mut Detail) -> Done<Bytes> {
    let permissions = attributes::get(&domain.unit, false, number::PERMS);
    demand(permissions & permission::WK_EXPORT != 0, Reason::ImportProhibited)?;
    let request = parse(payload)?;
    demand(request.limit > 1 || permissions & permission::WK_ONE_PART != 0, Reason::ExportSingle)?;
    let registers = wk::registers(domain)?;
    let key = match next {
        false => registers.current().ok_or(Reason::WkMissing)?,
        true => registers.next().and_then(Next::key).ok_or(Reason::NextWkMissing)?,
    };
    let secret: &[u8; 32] = key.secret().try_into().or(Err(Reason::KeySize))?;
    let (count, limit) = (request.certificates.len() as u32, request.limit as u32);
    let mut sections = Vec::new();
    put_octets(&mut sections, &section(COUNT, 0, &count.to_be_bytes()));
    put_octets(&mut sections, &section(LIMIT, 0, &limit.to_be_bytes()));
    let parts = parts(secret, key.pattern(), &request);
    for ((index, part), certificate) in (1..).zip(&parts).zip(&request.certificates) {
        let spki = adjunct_mechanisms::der::certificate(certificate).ok_or(Reason::ExportCertificate)?.key;
        put_octets(&mut sections, &section(PART, index, &importer::seal_for(spki, part)?));
    }
    detail.insert("parts".to_owned(), count.into());
    detail.insert("pattern".to_owned(), super::hex(key.pattern()).into());
    let out = tlv(0x30, &sections);
    debug_assert_eq!(out.len(), head_length(sections.len()) + sections.len());
    Ok(Bytes::new(out))
}
