//! The DER around commands: SignerInfos (RFC 5652) that name their signer by a subject key identifier, RecipientInfos (RFC 5652, RFC 5753) of parts of wrapping
//! keys, and what is in public keys.

use super::blocks::{Failed, error};
use crate::error::int;
use adjunct_ep11_wire::message::{element, put_octets};

const INTEGER: u8 = 2;
const BITS: u8 = 3;
const OCTETS: u8 = 4;
const OID: u8 = 6;
const SEQUENCE: u8 = 0x30;

const INVALID: Failed = Failed(int::INVALID as i64);

/// Writes an element with its length in the shortest form.
fn tlv(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_octets(&mut out, contents);
    out[0] = tag;
    out
}

/// Reads elements in their order.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn any(&mut self) -> Result<(u8, &'a [u8]), Failed> {
        let (tag, contents, rest) = element(self.0).ok_or(INVALID)?;
        self.0 = rest;
        Ok((tag, contents))
    }

    fn take(&mut self, tag: u8) -> Result<&'a [u8], Failed> {
        self.any().and_then(|(other, contents)| if other == tag { Ok(contents) } else { Err(INVALID) })
    }

    fn within(&mut self, tag: u8) -> Result<Reader<'a>, Failed> {
        self.take(tag).map(Reader)
    }
}

/// An element: its tag, where its contents begin, and their length.
///
/// # Errors
/// XCP_EINVALID for what is no element; XCP_ESIZE where it is longer than the bytes.
pub fn measure(bytes: &[u8]) -> Result<(u8, usize, usize), Failed> {
    let [tag, first, rest @ ..] = bytes else { return Err(INVALID) };
    let (head, length) = match *first {
        0..=0x7f => (2, usize::from(*first)),
        0x81..=0x84 => {
            let count = usize::from(first & 0x7f);
            let digits = rest.get(..count).ok_or(Failed(int::SIZE.into()))?;
            (2 + count, digits.iter().fold(0_usize, |length, digit| length << 8 | usize::from(*digit)))
        }
        _ => return Err(INVALID),
    };
    if bytes.len() - head < length { Err(int::SIZE.into()) } else { Ok((*tag, head, length)) }
}

/// What the BIT STRING of a SubjectPublicKeyInfo holds, and where it is; fields of a MACed one may follow.
///
/// # Errors
/// XCP_EINVALID for what is none.
pub fn public_bits(spki: &[u8]) -> Result<(usize, &[u8]), Failed> {
    let mut info = Reader(spki).within(SEQUENCE)?;
    info.take(SEQUENCE)?;
    let bits = info.take(BITS)?.strip_prefix(&[0]).ok_or(INVALID)?;
    if info.0.is_empty() { Ok((offset(spki, bits), bits)) } else { Err(INVALID) }
}

/// Where a part of bytes begins in them.
fn offset(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

/// The public value of a key of Diffie-Hellman, leading zeros included, and where it is.
///
/// # Errors
/// XCP_EINVALID for what is none.
pub fn dh_value(spki: &[u8]) -> Result<(usize, &[u8]), Failed> {
    let (_, bits) = public_bits(spki)?;
    let mut reader = Reader(bits);
    let value = reader.take(INTEGER)?;
    if value.is_empty() || !reader.0.is_empty() { Err(INVALID) } else { Ok((offset(spki, value), value)) }
}

/// The point of a key on a curve, and where it is.
///
/// # Errors
/// XCP_EINVALID for what is none.
pub fn ec_value(spki: &[u8]) -> Result<(usize, &[u8]), Failed> {
    let (at, bits) = public_bits(spki)?;
    if bits.is_empty() { Err(INVALID) } else { Ok((at, bits)) }
}

/// Object identifiers' contents.
mod oid {
    pub const SHA1: &[u8] = &[0x2b, 0x0e, 3, 2, 0x1a];
    pub const SHA224: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 4];
    pub const SHA256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
    pub const SHA384: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2];
    pub const SHA512: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3];
    pub const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
    pub const RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
    pub const RSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 12];
    pub const RSA_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13];
    pub const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    pub const ECDSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
    pub const ECDSA_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4];
    pub const ECDH_SHA256: &[u8] = &[0x2b, 0x81, 4, 1, 11, 1];
    pub const ECDH_SCHEMES: [&[u8]; 3] =
        [&[0x2b, 0x81, 5, 0x10, 0x86, 0x48, 0x3f, 0, 2], ECDH_SHA256, &[0x2b, 0x81, 4, 1, 11, 3]];
    pub const AES256_WRAP: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 45];
    pub const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
}

/// Mechanisms by which commands are signed, with their digest and their identifier. The first of an identifier is the one that is read.
const SIGNING: [(u64, u64, &[u8]); 9] = [
    (0x40, 0x250, oid::RSA_SHA256),
    (0x41, 0x260, oid::RSA_SHA384),
    (0x42, 0x270, oid::RSA_SHA512),
    (0x1044, 0x250, oid::ECDSA_SHA256),
    (0x1045, 0x260, oid::ECDSA_SHA384),
    (0x1046, 0x270, oid::ECDSA_SHA512),
    (0x8001_0009, 0x250, oid::ECDSA_SHA256),
    (0x8001_000a, 0x260, oid::ECDSA_SHA384),
    (0x8001_000b, 0x270, oid::ECDSA_SHA512),
];
/// RSA and ECDSA of a digest that is told apart.
const RSA_X_509: u64 = 3;
const ECDSA: u64 = 0x1041;
/// Digests.
const DIGESTS: [(u64, &[u8]); 5] =
    [(0x220, oid::SHA1), (0x255, oid::SHA224), (0x250, oid::SHA256), (0x260, oid::SHA384), (0x270, oid::SHA512)];

/// Who has signed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignerInfo<'a> {
    /// Bytes of all of it.
    pub length: usize,
    /// The identifier of the signer's key.
    pub ski: &'a [u8],
    /// The signature.
    pub signature: &'a [u8],
    /// The digest's identifier, and its mechanism.
    pub digest: (&'a [u8], u64),
    /// The signature's identifier, and its mechanism.
    pub signing: (&'a [u8], u64),
}

/// Bytes with a length of two bytes.
fn long(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len() as u16;
    [&[tag, 0x82], &length.to_be_bytes()[..], contents].concat()
}

/// Writes a SignerInfo. The signature's length, and that of all, have two bytes.
///
/// # Errors
/// XCP_EARG for an identifier of another length than 32; XCP_ADMERR_SI_....
pub fn signer_info(ski: &[u8], signature: &[u8], signing: u64, digest: Option<u64>) -> Result<Vec<u8>, Failed> {
    if ski.len() != 32 {
        return Err(int::ARG.into());
    }
    if signature.is_empty() || signature.len() > 8192 {
        return Err(Failed(error::SI_SIZE));
    }
    let named_digest = |digest: u64| DIGESTS.iter().find(|(of, _)| *of == digest).map(|(_, oid)| *oid);
    let of_digest = || digest.and_then(named_digest).ok_or(Failed(error::SI_HASH));
    let (digest, signing) = match signing {
        RSA_X_509 => (of_digest()?, oid::RSA),
        ECDSA => {
            let of = |(mechanism, of, oid): &(u64, u64, &'static [u8])| {
                (*mechanism > ECDSA && Some(*of) == digest).then_some(*oid)
            };
            let digest = of_digest()?;
            (digest, SIGNING.iter().find_map(of).ok_or(Failed(error::SI_MISMATCH))?)
        }
        signing => {
            let (_, digest, signing) =
                SIGNING.iter().find(|(of, ..)| *of == signing).ok_or(Failed(error::SI_SIGNATURE))?;
            (named_digest(*digest).ok_or(Failed(error::SI_HASH))?, *signing)
        }
    };
    let named = |oid: &[u8]| tlv(SEQUENCE, &[tlv(OID, oid), vec![5, 0]].concat());
    let parts = [tlv(INTEGER, &[3]), tlv(0x80, ski), named(digest), named(signing), long(OCTETS, signature)];
    Ok(long(SEQUENCE, &parts.concat()))
}

/// Reads the SignerInfo that bytes begin with.
///
/// # Errors
/// XCP_EINVALID for what is none; XCP_ADMERR_SI_....
pub fn read_signer_info(bytes: &[u8]) -> Result<SignerInfo<'_>, Failed> {
    let mut all = Reader(bytes);
    let mut info = all.within(SEQUENCE)?;
    if info.take(INTEGER)? != [3] {
        return Err(INVALID);
    }
    let ski = info.take(0x80)?;
    let digest = info.within(SEQUENCE)?.take(OID)?;
    let signing = info.within(SEQUENCE)?.take(OID)?;
    let signature = info.take(OCTETS)?;
    if ski.is_empty() || !info.0.is_empty() {
        return Err(INVALID);
    }
    if signature.is_empty() {
        return Err(Failed(error::SI_EMPTY));
    }
    let (hash, _) = DIGESTS.iter().find(|(_, oid)| *oid == digest).ok_or(Failed(error::SI_HASH))?;
    let mechanism = if signing == oid::RSA {
        RSA_X_509
    } else {
        let (mechanism, of, _) = SIGNING.iter().find(|(.., oid)| *oid == signing).ok_or(Failed(error::SI_SIGNATURE))?;
        if of != hash {
            return Err(Failed(error::SI_MISMATCH));
        }
        *mechanism
    };
    let length = bytes.len() - all.0.len();
    Ok(SignerInfo { length, ski, signature, digest: (digest, *hash), signing: (signing, mechanism) })
}

/// Bytes of the SignerInfos that a buffer begins with, zeros after them.
pub fn signatures_length(buffer: &[u8]) -> usize {
    let mut rest = buffer;
    while let Some((SEQUENCE, _, after)) = element(rest) {
        rest = after;
    }
    buffer.len() - rest.len()
}

/// Bits of the modulus of importers by RSA, and the curves of the others: type, bytes of a point, identifier with tag and length.
const RSA_IMPORTERS: [(u32, usize); 3] = [(0, 2048), (7, 3072), (1, 4096)];
const EC_IMPORTERS: [(u32, usize, &[u8]); 6] = [
    (2, 65, &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]),
    (3, 133, &[6, 5, 0x2b, 0x81, 4, 0, 0x23]),
    (4, 65, &[6, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 7]),
    (5, 81, &[6, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 9]),
    (6, 129, &[6, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, 13]),
    (8, 133, &[6, 5, 0x2b, 0x81, 4, 0, 0x23]),
];

/// The type of importer of a curve.
pub fn importer_of_curve(oid: &[u8]) -> Option<u32> {
    EC_IMPORTERS.iter().find(|(.., of)| *of == oid).map(|(kind, ..)| *kind)
}

/// The curve of a type of importer.
pub fn curve_of_importer(kind: u32) -> Option<&'static [u8]> {
    EC_IMPORTERS.iter().find(|(of, ..)| *of == kind).map(|(.., oid)| *oid)
}

/// A part of a wrapping key, encrypted for an importer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient<'a> {
    /// The identifier of the importer's key.
    pub ski: &'a [u8],
    /// The encrypted part.
    pub encrypted: &'a [u8],
    /// Of curves: the originator's point, and user key material.
    pub origin: Option<(&'a [u8], &'a [u8])>,
}

/// ECC-CMS-SharedInfo (RFC 5753, 7.2) for a key of 256 bits that AES-256 wraps.
///
/// # Errors
/// XCP_ADMERR_RI_....
pub fn shared_info(material: &[u8], bits: u32, wrapping: i32) -> Result<Vec<u8>, Failed> {
    if !matches!(bits, 0 | 256) {
        return Err(Failed(error::RI_WRAP_SIZE));
    }
    if wrapping != 0 {
        return Err(Failed(error::RI_WRAP_ALGORITHM));
    }
    // All of it has a length of one byte.
    if material.len() > 64 {
        return Err(Failed(error::RI_UKM));
    }
    let material = if material.is_empty() { Vec::new() } else { tlv(0xa0, &tlv(OCTETS, material)) };
    let parts = [wrap(), material, tlv(0xa2, &tlv(OCTETS, &256_u32.to_be_bytes()))];
    Ok(tlv(SEQUENCE, &parts.concat()))
}

fn wrap() -> Vec<u8> {
    tlv(SEQUENCE, &tlv(OID, oid::AES256_WRAP))
}

/// Writes a RecipientInfo for an importer of a type.
///
/// # Errors
/// XCP_ADMERR_RI_....
pub fn recipient(kind: u32, of: &Recipient<'_>) -> Result<Vec<u8>, Failed> {
    if of.encrypted.is_empty() {
        return Err(Failed(error::RI_EMPTY));
    }
    match of.origin {
        None => {
            let bits = RSA_IMPORTERS.iter().find(|(rsa, _)| *rsa == kind).map(|(_, bits)| *bits);
            if bits != Some(of.encrypted.len() * 8) {
                return Err(Failed(error::RI_IMPORTER));
            }
            let named = tlv(SEQUENCE, &[tlv(OID, oid::RSA), vec![5, 0]].concat());
            let parts = [tlv(INTEGER, &[2]), tlv(0x80, of.ski), named, tlv(OCTETS, of.encrypted)];
            Ok(tlv(SEQUENCE, &parts.concat()))
        }
        Some((point, material)) => {
            let curve = EC_IMPORTERS.iter().find(|(ec, ..)| *ec == kind).ok_or(Failed(error::RI_IMPORTER))?;
            if point.len() != curve.1 {
                return Err(Failed(error::RI_POINT));
            }
            let bits = tlv(BITS, &[&[0], point].concat());
            let key = tlv(0xa1, &[tlv(SEQUENCE, &tlv(OID, oid::EC)), bits].concat());
            let material = if material.is_empty() { Vec::new() } else { tlv(0xa1, &tlv(OCTETS, material)) };
            let scheme = tlv(SEQUENCE, &[tlv(OID, oid::ECDH_SHA256), wrap()].concat());
            let own = [tlv(0xa0, &tlv(OCTETS, of.ski)), tlv(OCTETS, of.encrypted)].concat();
            let keys = tlv(SEQUENCE, &tlv(SEQUENCE, &own));
            Ok(tlv(SEQUENCE, &[tlv(INTEGER, &[3]), tlv(0xa0, &key), material, scheme, keys].concat()))
        }
    }
}

/// Reads the RecipientInfo that bytes begin with: its length, the type of importer (of several curves with points of one length the first), and what it holds.
///
/// # Errors
/// XCP_EINVALID for what is none; XCP_ADMERR_RI_....
pub fn read_recipient(bytes: &[u8]) -> Result<(usize, u32, Recipient<'_>), Failed> {
    let mut all = Reader(bytes);
    let (tag, contents) = all.any()?;
    let length = bytes.len() - all.0.len();
    let mut info = Reader(contents);
    match (tag, info.take(INTEGER)?) {
        (SEQUENCE, [2]) => {
            let ski = info.take(0x80).map_err(|_| Failed(error::RI_SKI))?;
            if info.within(SEQUENCE)?.take(OID)? != oid::RSA {
                return Err(Failed(error::RI_RSA_OID));
            }
            let encrypted = info.take(OCTETS)?;
            let kind = RSA_IMPORTERS.iter().find(|(_, bits)| *bits == encrypted.len() * 8);
            let (kind, _) = kind.ok_or(Failed(error::RI_IMPORTER))?;
            Ok((length, *kind, Recipient { ski, encrypted, origin: None }))
        }
        (SEQUENCE | 0xa1, [3]) => {
            let mut originator = info.within(0xa0)?.within(0xa1)?;
            originator.take(SEQUENCE)?;
            let point = originator.take(BITS)?.strip_prefix(&[0]).ok_or(Failed(error::RI_POINT))?;
            let (mut material, mut next) = (&[][..], info);
            if let (0xa1, contents) = next.any()? {
                (material, info) = (Reader(contents).take(OCTETS)?, next);
            }
            let mut scheme = info.within(SEQUENCE)?;
            if !oid::ECDH_SCHEMES.contains(&scheme.take(OID)?) {
                return Err(Failed(error::RI_EC_OID));
            }
            let mut key = info.within(SEQUENCE)?.within(SEQUENCE)?;
            let ski = key.within(0xa0)?.take(OCTETS).map_err(|_| Failed(error::RI_SKI))?;
            let encrypted = key.take(OCTETS)?;
            let kind = EC_IMPORTERS.iter().find(|(_, bytes, _)| *bytes == point.len());
            let (kind, ..) = kind.ok_or(Failed(error::RI_IMPORTER))?;
            Ok((length, *kind, Recipient { ski, encrypted, origin: Some((point, material)) }))
        }
        (SEQUENCE | 0xa1, _) => Err(Failed(error::RI_VERSION)),
        _ => Err(INVALID),
    }
}

/// A section of a file: where it is, its type, its index, and its contents.
pub type Section<'a> = (usize, u16, u32, &'a [u8]);

/// The sections of a file: each is an OCTET STRING of the type (2 bytes), an index (4) and the contents, in one SEQUENCE.
///
/// # Errors
/// XCP_EINVALID for what is no file.
pub fn sections(file: &[u8]) -> Result<Vec<Section<'_>>, Failed> {
    let mut inside = Reader(file).within(SEQUENCE)?;
    let mut found = Vec::new();
    while !inside.0.is_empty() {
        let at = offset(file, inside.0);
        let section = inside.take(OCTETS)?;
        let (kind, rest) = section.split_first_chunk().ok_or(INVALID)?;
        let (index, contents) = rest.split_first_chunk().ok_or(INVALID)?;
        found.push((at, u16::from_be_bytes(*kind), u32::from_be_bytes(*index), contents));
    }
    Ok(found)
}

/// A file of sections.
pub fn file_of_sections(sections: &[(u16, u32, &[u8])]) -> Vec<u8> {
    let one = |(kind, index, contents): &(u16, u32, &[u8])| {
        tlv(OCTETS, &[&kind.to_be_bytes()[..], &index.to_be_bytes(), contents].concat())
    };
    tlv(SEQUENCE, &sections.iter().flat_map(one).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signers_come_as_they_were_written() {
        for (signing, digest, read) in [
            (0x40, None, (0x40, 0x250)),
            (0x1046, None, (0x1046, 0x270)),
            (0x8001_000b, None, (0x1046, 0x270)),
            (ECDSA, Some(0x270), (0x1046, 0x270)),
            (RSA_X_509, Some(0x260), (RSA_X_509, 0x260)),
        ] {
            let bytes = signer_info(&[7; 32], &[9; 139], signing, digest).unwrap();
            assert_eq!(bytes[..2], [0x30, 0x82]);
            let info = read_signer_info(&[&bytes[..], b"more"].concat())
                .map(|info| (info.length, info.ski.to_vec(), info.signature.to_vec(), (info.signing.1, info.digest.1)));
            assert_eq!(info, Ok((bytes.len(), vec![7; 32], vec![9; 139], read)));
            let mut buffer = [&bytes[..], &bytes].concat();
            buffer.resize(4096, 0);
            assert_eq!(signatures_length(&buffer), 2 * bytes.len());
        }
        assert_eq!(signatures_length(&[0; 100]), 0);
        assert_eq!(signer_info(&[7; 31], &[9], 0x40, None), Err(Failed(int::ARG.into())));
        assert_eq!(signer_info(&[7; 32], &[], 0x40, None), Err(Failed(error::SI_SIZE)));
        assert_eq!(signer_info(&[7; 32], &[9], 0x41041, None), Err(Failed(error::SI_SIGNATURE)));
        assert_eq!(signer_info(&[7; 32], &[9], RSA_X_509, None), Err(Failed(error::SI_HASH)));
        assert_eq!(signer_info(&[7; 32], &[9], ECDSA, Some(0x220)), Err(Failed(error::SI_MISMATCH)));
        assert_eq!(read_signer_info(b"none"), Err(INVALID));
    }

    #[test]
    fn recipients_come_as_they_were_written() {
        let rsa = Recipient { ski: &[1; 32], encrypted: &[2; 256], origin: None };
        let bytes = recipient(0, &rsa).unwrap();
        assert_eq!(read_recipient(&bytes), Ok((bytes.len(), 0, rsa)));
        assert_eq!(recipient(1, &rsa), Err(Failed(error::RI_IMPORTER)));
        for material in [&[5; 40][..], &[]] {
            let ec = Recipient { ski: &[1; 32], encrypted: &[2; 40], origin: Some((&[4; 133], material)) };
            let bytes = recipient(8, &ec).unwrap();
            assert_eq!(read_recipient(&bytes), Ok((bytes.len(), 3, ec)));
            for length in 0..bytes.len() {
                assert!(read_recipient(&bytes[..length]).is_err());
            }
        }
        let wrong = Recipient { ski: &[1; 32], encrypted: &[2; 40], origin: Some((&[4; 65], &[])) };
        assert_eq!(recipient(3, &wrong), Err(Failed(error::RI_POINT)));
        assert_eq!(importer_of_curve(curve_of_importer(5).unwrap()), Some(5));
        assert_eq!((importer_of_curve(&[6, 1, 9]), curve_of_importer(0)), (None, None));
        let info = shared_info(&[5; 40], 0, 0).unwrap();
        assert_eq!((info[0], usize::from(info[1]) + 2), (0x30, info.len()));
        assert_eq!(shared_info(&[], 128, 0), Err(Failed(error::RI_WRAP_SIZE)));
        assert_eq!(shared_info(&[], 256, 1), Err(Failed(error::RI_WRAP_ALGORITHM)));
        assert_eq!(shared_info(&[0; 65], 256, 0), Err(Failed(error::RI_UKM)));
    }

    #[test]
    fn public_values_are_found() {
        let info = tlv(SEQUENCE, &tlv(OID, &[1, 2]));
        let of = |bits: &[u8]| tlv(SEQUENCE, &[info.clone(), tlv(BITS, &[&[0], bits].concat())].concat());
        let point = of(&[4, 7, 7]);
        assert_eq!(ec_value(&point), Ok((point.len() - 3, &[4, 7, 7][..])));
        // A MAC and what else it is of stand behind.
        let maced = [&point[..], &tlv(OCTETS, &[1; 16])].concat();
        assert_eq!(ec_value(&maced), Ok((point.len() - 3, &[4, 7, 7][..])));
        let dh = of(&tlv(INTEGER, &[0, 0x99]));
        assert_eq!(dh_value(&dh), Ok((dh.len() - 2, &[0, 0x99][..])));
        assert!(dh_value(&point).is_err() && public_bits(b"none").is_err());
        assert_eq!(measure(&[0x30, 0x81, 3, 1, 2, 3, 9]), Ok((0x30, 3, 3)));
        assert_eq!((measure(&[0x30, 5, 1]), measure(&[0x30, 0x80])), (Err(Failed(int::SIZE.into())), Err(INVALID)));
        let file = file_of_sections(&[(27, 0, &[0, 0, 0, 2]), (25, 1, b"part")]);
        let found = sections(&file).unwrap();
        assert_eq!((found.len(), found[1].1, found[1].2, found[1].3), (2, 25, 1, &b"part"[..]));
        assert_eq!(file[found[1].0], OCTETS);
    }
}
