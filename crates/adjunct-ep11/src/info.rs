//! `m_get_xcp_info`: structures as C has them.

use crate::error::Rv;
use crate::library::VERSION;
use adjunct_ep11_wire::codes::rv;
use adjunct_ep11_wire::query::{self, number};

/// The lowest number of a query that the library answers itself.
pub const HOST: u32 = 0xff00_0000;
/// Bytes of a CK_ULONG.
const ULONG: usize = size_of::<std::ffi::c_ulong>();

/// What a query for the library gives; no card is asked.
///
/// # Errors
/// CKR_ARGUMENTS_BAD for an unknown one.
pub fn host(query: u32) -> Result<Vec<u8>, Rv> {
    let [major, minor, correction] = VERSION.map(u32::from);
    let word = |word: u32| Ok(word.to_ne_bytes().to_vec());
    match query - HOST {
        // How many there are, this one included.
        0 => word(7),
        1 => word(major << 16 | minor << 8 | correction),
        2 => {
            // An identifier of this build: its name, which is no hash.
            let mut name = concat!("adjunct-ep11 ", env!("CARGO_PKG_VERSION")).as_bytes().to_vec();
            name.resize(32, 0);
            Ok(name)
        }
        // No diagnostics.
        3 => word(0),
        4 => Ok(format!("adjunct {} (EP11 host {major}.{minor}.{correction})", env!("CARGO_PKG_VERSION")).into_bytes()),
        // Groups.
        5 => word(1),
        // The parameter of ECDH may be the structure or the point alone.
        6 => word(0),
        _ => Err(Rv(rv::ARGUMENTS_BAD)),
    }
}

/// A CK_ULONG.
///
/// # Errors
/// [`Rv::DEVICE`] for a number that this machine's has no room for.
fn ulong(number: u64, out: &mut Vec<u8>) -> Result<(), Rv> {
    let number = std::ffi::c_ulong::try_from(number).map_err(|_| Rv::DEVICE)?;
    out.extend_from_slice(&number.to_ne_bytes());
    Ok(())
}

/// Zeros up to the alignment of a CK_ULONG.
fn align(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(ULONG), 0);
}

fn module(module: &query::Module) -> Result<Vec<u8>, Rv> {
    let mut out = Vec::new();
    ulong(module.firmware_api, &mut out)?;
    ulong(module.firmware_id, &mut out)?;
    for bytes in [
        &module.firmware_version[..],
        &module.csp_version,
        &module.firmware_config,
        &module.xcp_config,
        &module.csp_config,
        &module.serial,
        &module.utc_time,
    ] {
        out.extend_from_slice(bytes);
    }
    align(&mut out);
    for number in [
        module.op_mode2,
        module.op_mode1,
        module.flags,
        module.extended_flags,
        module.domains,
        module.symmetric_state_bytes,
        module.digest_state_bytes,
        module.pin_block_bytes,
        module.symmetric_key_bytes,
        module.spki_bytes,
        module.private_key_bytes,
        module.max_payload_bytes,
        module.cp_profile_bytes,
        module.control_points,
    ] {
        ulong(number, &mut out)?;
    }
    Ok(out)
}

fn domain(domain: &query::Domain) -> Result<Vec<u8>, Rv> {
    let mut out = Vec::new();
    ulong(domain.domain, &mut out)?;
    out.extend_from_slice(&domain.wk);
    out.extend_from_slice(&domain.next_wk);
    ulong(domain.flags, &mut out)?;
    out.extend_from_slice(&domain.mode);
    Ok(out)
}

/// Bytes of the query MODULE's structure in a message.
const MODULE: usize = 260;
/// Bytes of the query DOMAIN's structure in a message.
const DOMAIN: usize = 88;

/// Turns what a card says to a query into the bytes of C's structure. `room` is how much the caller has room for: some ask for a count in a word, some in a
/// CK_ULONG.
///
/// # Errors
/// [`Rv::DEVICE`] for what is no answer to the query.
pub fn structure(query: u32, subquery: u32, said: &[u8], room: usize) -> Result<Vec<u8>, Rv> {
    let words = |said: &[u8]| {
        let (words, rest) = said.as_chunks::<4>();
        rest.is_empty().then_some(words.iter().flat_map(|word| u32::from_be_bytes(*word).to_ne_bytes()).collect())
    };
    match (query, subquery) {
        (number::API, _) => {
            let (numbers, rest) = said.as_chunks::<8>();
            let mut out = Vec::new();
            numbers.iter().try_for_each(|number| ulong(u64::from_be_bytes(*number), &mut out))?;
            if rest.is_empty() { Ok(out) } else { Err(Rv::DEVICE) }
        }
        // The structure of version 0, and those of versions 1 and 2, which are longer.
        (number::MODULE, 0 | 4 | 7) => {
            let (first, more) = said.split_at_checked(MODULE).ok_or(Rv::DEVICE)?;
            let mut out = module(&query::Module::parse(first).ok_or(Rv::DEVICE)?)?;
            out.extend_from_slice(more);
            align(&mut out);
            Ok(out)
        }
        (number::DOMAIN | number::DOMAINS, _) => {
            let (domains, rest) = said.as_chunks::<DOMAIN>();
            let all: Result<Vec<Vec<u8>>, Rv> =
                domains.iter().map(|one| domain(&query::Domain::parse(one).ok_or(Rv::DEVICE)?)).collect();
            if rest.is_empty() { Ok(all?.concat()) } else { Err(Rv::DEVICE) }
        }
        (number::EXT_CAPS, _) => {
            let count = match *said {
                [a, b, c, d] | [0, 0, 0, 0, a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
                _ => return Err(Rv::DEVICE),
            };
            let mut out = Vec::new();
            if room >= ULONG {
                ulong(count.into(), &mut out)?
            } else {
                out.extend_from_slice(&count.to_ne_bytes())
            }
            Ok(out)
        }
        (number::EXT_CAPLIST, _) => words(said).ok_or(Rv::DEVICE),
        _ => Ok(said.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_structure_has_its_layout() {
        let sent = query::Module {
            firmware_api: 1,
            firmware_id: 2,
            firmware_version: [3, 4],
            csp_version: [5, 6],
            firmware_config: [7; 32],
            xcp_config: [8; 32],
            csp_config: [9; 32],
            serial: [10; 16],
            utc_time: [11; 16],
            op_mode2: 12,
            op_mode1: 13,
            flags: 14,
            extended_flags: 15,
            domains: 16,
            symmetric_state_bytes: 17,
            digest_state_bytes: 18,
            pin_block_bytes: 19,
            symmetric_key_bytes: 20,
            spki_bytes: 21,
            private_key_bytes: 22,
            max_payload_bytes: 23,
            cp_profile_bytes: 24,
            control_points: 25,
        };
        let bytes = sent.to_bytes();
        assert_eq!(bytes.len(), MODULE);
        let c = structure(number::MODULE, 0, &bytes, 0).unwrap();
        assert_eq!(c.len(), 16 + 4 + 96 + 32 + 4 + 14 * 8);
        assert_eq!(c[c.len() - 8..], 25_u64.to_ne_bytes());
        assert_eq!(c[152..160], 12_u64.to_ne_bytes());
        let longer = structure(number::MODULE, 4, &[&bytes[..], &[1; 92]].concat(), 0).unwrap();
        assert_eq!((longer.len(), &longer[c.len()..c.len() + 92]), ((c.len() + 92).next_multiple_of(8), &[1; 92][..]));
        assert_eq!(structure(number::MODULE, 0, &bytes[1..], 0), Err(Rv::DEVICE));
    }

    #[test]
    fn counts_come_as_the_caller_has_room_for() {
        let said = 9_u32.to_be_bytes();
        assert_eq!(structure(number::EXT_CAPS, 0, &said, 4).unwrap(), 9_u32.to_ne_bytes());
        assert_eq!(structure(number::EXT_CAPS, 0, &said, 8).unwrap(), 9_u64.to_ne_bytes());
        assert_eq!(structure(number::EXT_CAPS, 0, &said[1..], 8), Err(Rv::DEVICE));
        assert_eq!(
            structure(number::EXT_CAPLIST, 0, &[said, said].concat(), 8).unwrap(),
            [9, 9].map(u32::to_ne_bytes).concat()
        );
        assert_eq!(host(HOST + 1).unwrap(), 0x04_0200_u32.to_ne_bytes());
        assert!(host(HOST + 7).is_err() && host(u32::MAX).is_err());
    }
}
