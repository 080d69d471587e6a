//! DER around commands, as C has it: SignerInfos, RecipientInfos, public keys, files of key parts.

use super::administration::{only, read, returns, write};
use super::types::{AdminResponse, EncryptedKey, KeyHolder, Mechanism, RecipientInfo, StateSave, Ulong};
use super::value;
use crate::admin::blocks::{self, Failed, error};
use crate::admin::der::{self, Recipient};
use crate::error::int;
use crate::library::API;
use adjunct_ep11_wire::admin::command;
use adjunct_ep11_wire::function::Function;
use adjunct_ep11_wire::message::sequence;
use adjunct_ossl::guard;
use std::ffi::{c_char, c_int, c_long, c_uint};

/// Sections of files of key parts.
pub(crate) const PART: u16 = 25;
const PARTS: u16 = 27;
const ENOUGH: u16 = 28;
const CERTIFICATE: u16 = 29;
/// A file that asks for an export of key parts.
const REQUEST: u32 = 4;

/// # Safety
/// The caller's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_asn_tag(value_at: *mut usize, bytes: *const u8, length: usize) -> usize {
    guard(0, || {
        // SAFETY: the caller's buffer.
        let found = unsafe { read(bytes, length) }.and_then(der::measure);
        let Ok((_, head, contents)) = found else { return 0 };
        if !value_at.is_null() {
            // SAFETY: the caller's place.
            unsafe { value_at.write_unaligned(head) };
        }
        head + contents
    })
}

/// # Safety
/// The caller's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_asn_bytes(bytes: *const u8, length: usize) -> c_long {
    // SAFETY: the caller's buffer.
    returns(|| unsafe { der::measure(read(bytes, length)?).map(|(_, head, contents)| head + contents) })
}

/// # Safety
/// The caller's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_asn_value_offset(bytes: *const u8, length: usize) -> c_long {
    // SAFETY: the caller's buffer.
    returns(|| unsafe { der::measure(read(bytes, length)?).map(|(_, head, _)| head) })
}

/// # Safety
/// The caller's buffer and places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_asn_tlv(
    bytes: *const u8,
    length: usize,
    tag: c_uint,
    value_at: *mut usize,
    value_length: *mut usize,
) -> c_long {
    // SAFETY: the caller's buffer and places.
    returns(|| unsafe {
        if bytes.is_null() || length == 0 {
            return Err(int::ARG.into());
        }
        let (found, head, contents) = der::measure(read(bytes, length)?)?;
        if tag != 0 && tag != c_uint::from(found) {
            return Err(int::INVALID.into());
        }
        for (place, number) in [(value_at, head), (value_length, contents)] {
            if !place.is_null() {
                place.write_unaligned(number);
            }
        }
        Ok(head + contents)
    })
}

/// What finds a value in a public key, and where it is.
type Find = fn(&[u8]) -> Result<(usize, &[u8]), Failed>;

/// A public value: its bytes, and where it is; 0 for what has none.
///
/// # Safety
/// The caller's buffer and place.
unsafe fn public_value(find: Find, (bytes, length): (*const u8, usize), place: *mut usize) -> usize {
    guard(0, || {
        // SAFETY: the caller's buffer.
        let Ok((at, value)) = (unsafe { read(bytes, length) }).and_then(find) else { return 0 };
        if !place.is_null() {
            // SAFETY: the caller's place.
            unsafe { place.write_unaligned(at) };
        }
        value.len()
    })
}

/// # Safety
/// The caller's buffer and place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_dh_asn2y(bytes: *const u8, length: usize, place: *mut usize) -> usize {
    // SAFETY: the caller's buffer and place.
    unsafe { public_value(der::dh_value, (bytes, length), place) }
}

/// # Safety
/// The caller's buffer and place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_dh_pub2y(place: *mut usize, bytes: *const u8, length: usize) -> usize {
    // SAFETY: the caller's buffer and place.
    unsafe { public_value(der::dh_value, (bytes, length), place) }
}

/// # Safety
/// The caller's buffer and place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_ec_asn2y(bytes: *const u8, length: usize, place: *mut usize) -> usize {
    // SAFETY: the caller's buffer and place.
    unsafe { public_value(der::ec_value, (bytes, length), place) }
}

/// # Safety
/// The caller's buffer and place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_ec_pub2y(place: *mut usize, bytes: *const u8, length: usize) -> usize {
    // SAFETY: the caller's buffer and place.
    unsafe { public_value(der::ec_value, (bytes, length), place) }
}

/// # Safety
/// The caller's buffer and place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcp_spki2pubkey(place: *mut *const u8, spki: *const u8, length: usize) -> c_long {
    // SAFETY: the caller's buffer and place.
    returns(|| unsafe {
        if spki.is_null() {
            return Err(int::ARG.into());
        }
        let (_, bits) = der::public_bits(read(spki, length)?)?;
        if !place.is_null() {
            place.write_unaligned(bits.as_ptr());
        }
        Ok(bits.len())
    })
}

/// Writes a SignerInfo; without a signature, one of so many zeros.
///
/// # Safety
/// The caller's buffers and mechanisms.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcp_signerinfo(
    out: *mut u8,
    out_length: usize,
    ski: *const u8,
    ski_length: usize,
    signature: *const u8,
    signature_length: usize,
    signing: *const Mechanism,
    digest: *const Mechanism,
) -> c_long {
    // SAFETY: the caller's buffers and mechanisms.
    returns(|| unsafe {
        let signing = value(signing).map_err(|_| int::ARG)?.kind;
        let digest = value(digest).ok().map(|digest| digest.kind);
        if signature_length > 8192 {
            return Err(Failed(error::SI_SIZE));
        }
        let zeros = [0; 8192];
        let signature =
            if signature.is_null() { &zeros[..signature_length] } else { read(signature, signature_length)? };
        let info = der::signer_info(read(ski, ski_length)?, signature, signing, digest)?;
        write(out, out_length, &info)
    })
}

/// # Safety
/// The caller's buffer and places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcp_signerinfo_read(
    info: *const u8,
    length: usize,
    ski: *mut *const u8,
    ski_length: *mut usize,
    signature: *mut *const u8,
    signature_length: *mut usize,
    digest: *mut *const u8,
    digest_length: *mut usize,
    signing: *mut *const u8,
    signing_length: *mut usize,
    signing_mechanism: *mut Mechanism,
    digest_mechanism: *mut Mechanism,
) -> c_long {
    // SAFETY: the caller's buffer and places.
    returns(|| unsafe {
        if info.is_null() {
            return Err(int::ARG.into());
        }
        let found = der::read_signer_info(read(info, length)?)?;
        for (place, place_length, bytes) in [
            (ski, ski_length, found.ski),
            (signature, signature_length, found.signature),
            (digest, digest_length, found.digest.0),
            (signing, signing_length, found.signing.0),
        ] {
            if !place.is_null() {
                place.write_unaligned(bytes.as_ptr());
            }
            if !place_length.is_null() {
                place_length.write_unaligned(bytes.len());
            }
        }
        for (place, kind) in [(signing_mechanism, found.signing.1), (digest_mechanism, found.digest.1)] {
            if !place.is_null() {
                place.write_unaligned(Mechanism { kind: kind as Ulong, parameter: std::ptr::null(), length: 0 });
            }
        }
        Ok(found.length)
    })
}

/// # Safety
/// The caller's buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcp_rcptinfo_sharedinfo(
    out: *mut u8,
    length: usize,
    material: *const u8,
    material_length: usize,
    bits: c_uint,
    wrapping: c_int,
) -> c_long {
    // SAFETY: the caller's buffers.
    returns(|| unsafe { write(out, length, &der::shared_info(read(material, material_length)?, bits, wrapping)?) })
}

impl EncryptedKey {
    /// The RecipientInfo.
    pub(crate) fn recipient(&self) -> Result<Vec<u8>, Failed> {
        let of = |bytes: &'_ [u8], length: usize| length <= bytes.len();
        if !of(&self.raw, self.raw_length)
            || !of(&self.point, self.point_length)
            || !of(&self.material, self.material_length)
        {
            return Err(int::ARG.into());
        }
        let point = &self.point[..self.point_length];
        let origin = (!point.is_empty()).then_some((point, &self.material[..self.material_length]));
        let kind = u32::try_from(self.kind).map_err(|_| Failed(error::RI_IMPORTER))?;
        der::recipient(kind, &Recipient { ski: &self.ski, encrypted: &self.raw[..self.raw_length], origin })
    }
}

/// # Safety
/// The caller's structure and buffer. The mechanism is not looked at: the importer's type says it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcp_rcptinfo(
    out: *mut u8,
    length: usize,
    key: *const EncryptedKey,
    _mechanism: *const Mechanism,
) -> c_long {
    // SAFETY: the caller's structure and buffer.
    returns(|| unsafe { write(out, length, &value(key).map_err(|_| int::ARG)?.recipient()?) })
}

/// # Safety
/// The caller's buffer, and structure or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcp_rcptinfo_read(key: *mut EncryptedKey, info: *const u8, length: usize) -> c_long {
    // SAFETY: the caller's buffer and structure.
    returns(|| unsafe {
        if info.is_null() {
            return Err(int::ARG.into());
        }
        let (read_length, kind, found) = der::read_recipient(read(info, length)?)?;
        let Ok(mut filled) = value(key) else { return Ok(read_length) };
        let ski = found.ski.try_into().map_err(|_| Failed(error::RI_SKI))?;
        (filled.ski, filled.kind) = (ski, kind as c_int);
        let (point, material) = found.origin.unwrap_or_default();
        let fill = |place: &mut [u8], bytes: &[u8]| {
            place.get_mut(..bytes.len()).ok_or(int::SIZE)?.copy_from_slice(bytes);
            Ok::<usize, Failed>(bytes.len())
        };
        filled.raw_length = fill(&mut filled.raw, found.encrypted)?;
        filled.point_length = fill(&mut filled.point, point)?;
        filled.material_length = fill(&mut filled.material, material)?;
        key.write_unaligned(filled);
        Ok(read_length)
    })
}

/// # Safety
/// The caller's buffer and place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcp_valid_ec_oid2imprtype(kind: *mut c_uint, oid: *const u8, length: usize) -> c_int {
    guard(0, || {
        if oid.is_null() {
            return int::ARG;
        }
        // SAFETY: the caller's buffer.
        let found = unsafe { read(oid, length) }.ok().and_then(der::importer_of_curve);
        let Some(found) = found else { return 0 };
        if !kind.is_null() {
            // SAFETY: the caller's place.
            unsafe { kind.write_unaligned(found) };
        }
        1
    })
}

/// # Safety
/// The caller's places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcp_valid_ec_imprtype2oid(oid: *mut *const u8, length: *mut usize, kind: c_uint) -> c_int {
    guard(0, || {
        let Some(found) = der::curve_of_importer(kind) else { return 0 };
        // SAFETY: the caller's places.
        unsafe {
            if !oid.is_null() {
                oid.write_unaligned(found.as_ptr());
            }
            if !length.is_null() {
                length.write_unaligned(found.len());
            }
        }
        1
    })
}

/// A part of a wrapping key and who has signed it, as an import takes it.
pub(crate) fn key_part(domain: u32, block: &[u8], signatures: &[u8]) -> Vec<u8> {
    let function = (u32::from(API) << 16 | Function::Admin as u32).to_be_bytes();
    sequence(&[&function, &domain.to_be_bytes(), block, signatures]).to_vec()
}

/// # Safety
/// The caller's buffers, structure and target.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_import_keypart(
    out: *mut u8,
    length: usize,
    block: *const u8,
    block_length: usize,
    signatures: *const u8,
    signatures_length: usize,
    of: *const AdminResponse,
    target: u64,
) -> c_long {
    // SAFETY: the caller's buffers, structure and target.
    returns(|| unsafe {
        if block.is_null() {
            return Err(int::ARG.into());
        }
        let domain = match value(of) {
            Ok(of) => of.domain,
            Err(_) => only(target)?.domain.into(),
        };
        let part = key_part(domain, read(block, block_length)?, read(signatures, signatures_length)?);
        write(out, length, &part)
    })
}

/// # Safety
/// The caller's buffer and structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_import_cmdblock(
    out: *mut u8,
    length: usize,
    key: *const EncryptedKey,
    of: *const AdminResponse,
    counter: *const [u8; 16],
) -> c_long {
    // SAFETY: the caller's buffer and structures.
    returns(|| unsafe {
        let (key, of) = (value(key).map_err(|_| int::ARG)?, value(of).map_err(|_| int::ARG)?.of());
        let counter = value(counter).ok();
        write(out, length, &blocks::command(command::IMPORT_WK, &of, counter, &key.recipient()?)?)
    })
}

/// Makes what asks for an export of a wrapping key: certificates of holders of key parts. Of a state no export can be asked for: XCP_EAPI.
///
/// # Safety
/// The caller's buffer and structures.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_fill_export_req(
    out: *mut u8,
    length: usize,
    holders: *const KeyHolder,
    count: c_uint,
    of_state: c_int,
    _state: *const StateSave,
    restrictions: u32,
) -> c_long {
    // SAFETY: the caller's buffer and structures.
    returns(|| unsafe {
        if of_state != 0 || restrictions != 0 {
            return Err(int::API.into());
        }
        if !(1..=20).contains(&count) {
            return Err(int::ARG.into());
        }
        let number = count.to_be_bytes();
        let mut sections: Vec<(u16, u32, &[u8])> = vec![(PARTS, 0, &number), (ENOUGH, 0, &number)];
        for place in 0..count {
            let holder = value(holders.wrapping_add(place as usize)).map_err(|_| int::ARG)?;
            let certificate = read(holder.certificate, holder.certificate_length)?;
            if certificate.is_empty() {
                return Err(int::ARG.into());
            }
            sections.push((CERTIFICATE, place + 1, certificate));
        }
        let file = der::file_of_sections(&sections);
        let head = [REQUEST, 0, u32::try_from(file.len()).map_err(|_| int::SIZE)?].map(u32::to_be_bytes).concat();
        write(out, length, &[head, file].concat())
    })
}

/// Where the next encrypted key part behind a place is; 0 for none.
///
/// # Safety
/// The caller's buffer and place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_kp_next_section(
    file: *const u8,
    length: usize,
    behind: std::ffi::c_ulong,
    index: *mut u32,
) -> c_long {
    // SAFETY: the caller's buffer and place.
    returns(|| unsafe {
        let sections = der::sections(read(file, length)?)?;
        let next = sections.iter().find(|(at, kind, ..)| *kind == PART && *at > behind as usize);
        let Some((at, _, of, _)) = next else { return Ok(0) };
        if !index.is_null() {
            index.write_unaligned(*of);
        }
        Ok(*at)
    })
}

/// # Safety
/// The caller's buffer, and room for as many structures as is said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_kps_retrieve_rcptinfo(
    infos: *mut RecipientInfo,
    most: c_uint,
    file: *const u8,
    length: usize,
) -> c_long {
    // SAFETY: the caller's buffer and structures.
    returns(|| unsafe {
        let sections = der::sections(read(file, length)?)?;
        let parts = sections.iter().filter(|(_, kind, ..)| *kind == PART);
        let mut count = 0;
        for (.., contents) in parts {
            if count >= most as usize || infos.is_null() {
                return Err(int::SIZE.into());
            }
            let mut data = [0; 1024];
            data.get_mut(..contents.len()).ok_or(int::SIZE)?.copy_from_slice(contents);
            infos.add(count).write_unaligned(RecipientInfo { version: 1, data, length: contents.len() });
            count += 1;
        }
        Ok(count)
    })
}

/// Writes the head of a part of a file: file, offset and bytes.
///
/// # Safety
/// The caller's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcpa_write_filepart_hdr(
    out: *mut u8,
    length: usize,
    file: u32,
    offset: u32,
    bytes: u32,
) -> c_int {
    // SAFETY: the caller's buffer.
    let written = returns(|| unsafe {
        if out.is_null() {
            return Err(int::ARG.into());
        }
        write(out, length, &[file, offset, bytes].map(u32::to_be_bytes).concat())
    });
    c_int::try_from(written).unwrap_or(int::INTERNAL)
}

/// Reads a list of numbers and ranges, "0,3-5", into a mask; 0, or XCP_EARG and nothing is written.
///
/// # Safety
/// The caller's text, and a mask of so many bits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcp_args2mask(text: *const c_char, mask: *mut u8, bits: c_int) -> c_int {
    guard(int::INTERNAL, || {
        let Ok(bits) = usize::try_from(bits) else { return int::ARG };
        if text.is_null() || mask.is_null() || !bits.is_multiple_of(8) || bits > 1 << 16 {
            return int::ARG;
        }
        // SAFETY: the caller's text ends with a zero.
        let text = unsafe { std::ffi::CStr::from_ptr(text) };
        let Some(set) = text.to_str().ok().and_then(|text| of_ranges(text, bits)) else { return int::ARG };
        // SAFETY: the caller's mask has so many bits.
        unsafe { mask.copy_from_nonoverlapping(set.as_ptr(), set.len()) };
        int::OK
    })
}

fn of_ranges(text: &str, bits: usize) -> Option<Vec<u8>> {
    let mut mask = vec![0_u8; bits / 8];
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let [first, last] = [first, last].map(|number| number.trim().parse::<usize>().ok());
        for bit in first?..=last? {
            *mask.get_mut(bit / 8)? |= 0x80 >> (bit % 8);
        }
        (first <= last).then_some(())?;
    }
    Some(mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_become_masks() {
        assert_eq!(of_ranges("0, 3-5,15", 16), Some(vec![0b1001_1100, 1]));
        for wrong in ["", "16", "1-16", "5-3", "x", "1,,2", "-1"] {
            assert_eq!(of_ranges(wrong, 16), None, "{wrong}");
        }
    }
}
