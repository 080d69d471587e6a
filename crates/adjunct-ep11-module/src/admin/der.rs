//! The little of CMS (RFC 5652, RFC 5753) that commands carry: SignerInfos by subject key identifier, RecipientInfos with a part of a wrapping key, and
//! the bits of a SubjectPublicKeyInfo.
//!
//! ```text
//! SignerInfo:  SEQUENCE { 3 | [0] SKI | SEQUENCE { digest OID, NULL } | SEQUENCE { signature OID, NULL } | OCTET STRING signature }
//! RSA:         SEQUENCE { 2 | [0] SKI | SEQUENCE { OID, NULL } | OCTET STRING encrypted }
//! ECDH:        SEQUENCE or [1] { 3 | [0] { [1] { SEQUENCE algorithm | BIT STRING point } } | [1] { OCTET STRING user key material } optional
//!              | SEQUENCE { scheme OID, SEQUENCE { wrap OID ... } } | SEQUENCE { SEQUENCE { [0] { OCTET STRING SKI } | OCTET STRING wrapped } } }
//! ```

use crate::der::{BITS, INTEGER, OCTETS, OID, Reader, SEQUENCE};
use adjunct_mechanisms::der::tlv;

/// An object identifier's contents.
pub(super) mod oid {
    pub const SHA256: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1];
    pub const SHA384: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2];
    pub const SHA512: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3];
    pub const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
    pub const RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
    pub const RSA_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 13];
    pub const ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    pub const ECDSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
    pub const ECDSA_SHA512: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 4];
    /// dhSinglePass-stdDH-sha1kdf-scheme.
    pub const ECDH_SHA1: &[u8] = &[0x2b, 0x81, 5, 0x10, 0x86, 0x48, 0x3f, 0, 2];
    /// dhSinglePass-stdDH-sha256kdf-scheme.
    pub const ECDH_SHA256: &[u8] = &[0x2b, 0x81, 4, 1, 11, 1];
    /// dhSinglePass-stdDH-sha512kdf-scheme.
    pub const ECDH_SHA512: &[u8] = &[0x2b, 0x81, 4, 1, 11, 3];
    pub const AES256_WRAP: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1, 45];
    pub(crate) use crate::der::oid::EC;
}

/// Who has signed, how, and the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SignerInfo<'a> {
    pub ski: &'a [u8],
    pub digest: &'a [u8],
    pub algorithm: &'a [u8],
    pub signature: &'a [u8],
}

/// The object identifier of an algorithm, with what follows it.
fn algorithm(mut reader: Reader<'_>) -> Option<(&[u8], Reader<'_>)> {
    Some((reader.take(OID)?, reader))
}

/// SignerInfos, one behind the other, without a SET; `None` where the bytes are none, or more than `most`.
pub(super) fn signer_infos(bytes: &[u8], most: usize) -> Option<Vec<SignerInfo<'_>>> {
    let (mut all, mut found) = (Reader(bytes), Vec::new());
    while !all.0.is_empty() {
        let mut one = all.within(SEQUENCE)?;
        (one.take(INTEGER)? == [3]).then_some(())?;
        let ski = one.take(0x80)?;
        let (digest, _) = algorithm(one.within(SEQUENCE)?)?;
        let (signing, _) = algorithm(one.within(SEQUENCE)?)?;
        let signature = one.take(OCTETS)?;
        one.ends()?;
        (found.len() < most).then_some(())?;
        found.push(SignerInfo { ski, digest, algorithm: signing, signature });
    }
    Some(found)
}

/// Writes a SignerInfo.
#[must_use]
pub fn signer_info(ski: &[u8], digest: &[u8], algorithm: &[u8], signature: &[u8]) -> Vec<u8> {
    let named = |oid: &[u8]| tlv(SEQUENCE, &[tlv(OID, oid), vec![5, 0]].concat());
    let parts = [tlv(INTEGER, &[3]), tlv(0x80, ski), named(digest), named(algorithm), tlv(OCTETS, signature)];
    tlv(SEQUENCE, &parts.concat())
}

/// A key part for an importer key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recipient<'a> {
    /// Encrypted by RSA, PKCS #1 v1.5.
    Rsa { ski: &'a [u8], encrypted: &'a [u8] },
    /// Wrapped by AES-256 (RFC 3394) under a key that ECDH and X9.63's derivation gave.
    Ec { ski: &'a [u8], scheme: &'a [u8], point: &'a [u8], material: Option<&'a [u8]>, wrapped: &'a [u8] },
}

/// Reads a RecipientInfo that is all of `bytes`.
pub(super) fn recipient(bytes: &[u8]) -> Option<Recipient<'_>> {
    let mut all = Reader(bytes);
    let (tag, contents, _) = all.any()?;
    all.ends()?;
    let mut info = Reader(contents);
    match (tag, info.take(INTEGER)?) {
        (SEQUENCE, [2]) => {
            let ski = info.take(0x80)?;
            let (kind, _) = algorithm(info.within(SEQUENCE)?)?;
            (kind == oid::RSA).then_some(())?;
            let encrypted = info.take(OCTETS)?;
            info.ends()?;
            Some(Recipient::Rsa { ski, encrypted })
        }
        (SEQUENCE | 0xa1, [3]) => {
            let mut originator = info.within(0xa0)?.within(0xa1)?;
            originator.take(SEQUENCE)?;
            let point = originator.bits()?;
            let mut next = info;
            let material = match next.any()? {
                (0xa1, contents, _) => {
                    info = next;
                    Some(Reader(contents).take(OCTETS)?)
                }
                _ => None,
            };
            let (scheme, mut wrap) = algorithm(info.within(SEQUENCE)?)?;
            let (wrapping, _) = algorithm(wrap.within(SEQUENCE)?)?;
            (wrapping == oid::AES256_WRAP).then_some(())?;
            let mut key = info.within(SEQUENCE)?.within(SEQUENCE)?;
            info.ends()?;
            let ski = key.within(0xa0)?.take(OCTETS)?;
            let wrapped = key.take(OCTETS)?;
            key.ends()?;
            Some(Recipient::Ec { ski, scheme, point, material, wrapped })
        }
        _ => None,
    }
}

impl Recipient<'_> {
    /// Writes the RecipientInfo.
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            Recipient::Rsa { ski, encrypted } => {
                let kind = tlv(SEQUENCE, &[tlv(OID, oid::RSA), vec![5, 0]].concat());
                tlv(SEQUENCE, &[tlv(INTEGER, &[2]), tlv(0x80, ski), kind, tlv(OCTETS, encrypted)].concat())
            }
            Recipient::Ec { ski, scheme, point, material, wrapped } => {
                let bits = tlv(BITS, &[&[0], point].concat());
                let key = tlv(0xa1, &[tlv(SEQUENCE, &tlv(OID, oid::EC)), bits].concat());
                let material = material.map(|material| tlv(0xa1, &tlv(OCTETS, material))).unwrap_or_default();
                let scheme = tlv(SEQUENCE, &[tlv(OID, scheme), aes_wrap()].concat());
                let own = [tlv(0xa0, &tlv(OCTETS, ski)), tlv(OCTETS, wrapped)].concat();
                let keys = tlv(SEQUENCE, &tlv(SEQUENCE, &own));
                tlv(SEQUENCE, &[tlv(INTEGER, &[3]), tlv(0xa0, &key), material, scheme, keys].concat())
            }
        }
    }
}

/// The algorithm AES-256 key wrap.
fn aes_wrap() -> Vec<u8> {
    tlv(SEQUENCE, &tlv(OID, oid::AES256_WRAP))
}

/// ECC-CMS-SharedInfo (RFC 5753, 7.2) for a key of 256 bits.
pub(super) fn shared_info(material: Option<&[u8]>) -> Vec<u8> {
    let material = material.map(|material| tlv(0xa0, &tlv(OCTETS, material))).unwrap_or_default();
    tlv(SEQUENCE, &[aes_wrap(), material, tlv(0xa2, &tlv(OCTETS, &256_u32.to_be_bytes()))].concat())
}

/// What a SubjectPublicKeyInfo has as its key: the contents of its BIT STRING.
pub(super) fn key_bits(spki: &[u8]) -> Option<&[u8]> {
    let mut all = Reader(spki);
    let mut info = all.within(SEQUENCE)?;
    all.ends()?;
    info.take(SEQUENCE)?;
    info.bits()
}

/// The two numbers of an ECDSA signature, each filled up to `length` bytes.
pub(super) fn signature_pair(der: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut all = Reader(der);
    let mut pair = all.within(SEQUENCE)?;
    all.ends()?;
    let mut out = Vec::with_capacity(2 * length);
    for _ in 0..2 {
        let number = pair.take(INTEGER)?;
        let digits = match number {
            [0, rest @ ..] => rest,
            digits => digits,
        };
        out.resize(out.len() + length.checked_sub(digits.len())?, 0);
        out.extend_from_slice(digits);
    }
    pair.ends()?;
    Some(out)
}

/// The two fields of a certificate's replacement: SEQUENCE { OCTET STRING SKI, OCTET STRING certificate }.
pub(super) fn replacement(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    match adjunct_ep11_wire::message::fields(bytes)?.all() {
        [ski, certificate] => Some((ski, certificate)),
        _ => None,
    }
}

/// The elements of a run of SEQUENCEs; `None` where the bytes are none, or more than `most`.
pub(super) fn sequences(bytes: &[u8], most: usize) -> Option<Vec<&[u8]>> {
    let (mut all, mut found) = (Reader(bytes), Vec::new());
    while !all.0.is_empty() {
        let (tag, _, whole) = all.any()?;
        (tag == SEQUENCE && found.len() < most).then_some(())?;
        found.push(whole);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signer_infos_come_as_they_were_written() {
        let one = signer_info(&[1; 32], oid::SHA256, oid::RSA_SHA256, &[7; 256]);
        let two = signer_info(&[2; 32], oid::SHA512, oid::ECDSA_SHA512, &[8; 139]);
        let both = [&one[..], &two].concat();
        let infos = signer_infos(&both, 2).unwrap();
        assert_eq!(infos.len(), 2);
        assert_eq!((infos[0].ski, infos[0].digest, infos[0].signature), (&[1; 32][..], oid::SHA256, &[7; 256][..]));
        assert_eq!((infos[1].ski, infos[1].algorithm), (&[2; 32][..], oid::ECDSA_SHA512));
        assert_eq!(signer_infos(&both, 1), None);
        assert_eq!(signer_infos(&[], 0), Some(Vec::new()));
        for length in 1..one.len() {
            assert_eq!(signer_infos(&one[..length], 2), None, "{length}");
        }
    }

    #[test]
    fn recipients_come_as_they_were_written() {
        let rsa = Recipient::Rsa { ski: &[1; 32], encrypted: &[2; 256] };
        assert_eq!(recipient(&rsa.to_bytes()), Some(rsa));
        for material in [None, Some(&[3; 40][..])] {
            let ec = Recipient::Ec {
                ski: &[1; 32],
                scheme: oid::ECDH_SHA256,
                point: &[4; 133],
                material,
                wrapped: &[5; 40],
            };
            let bytes = ec.to_bytes();
            assert_eq!(recipient(&bytes), Some(ec));
            let mut choice = bytes.clone();
            choice[0] = 0xa1;
            assert_eq!(recipient(&choice), Some(ec));
            for length in 0..bytes.len() {
                assert_eq!(recipient(&bytes[..length]), None, "{length}");
            }
        }
        // Shared information has a length of one byte, as the interface's helper writes it.
        let info = shared_info(Some(&[7; 40]));
        assert_eq!((info.len(), usize::from(info[1])), (info.len(), info.len() - 2));
    }

    #[test]
    fn signatures_are_filled_up() {
        let der = [0x30, 7, 2, 2, 0, 0x81, 2, 1, 5];
        assert_eq!(signature_pair(&der, 3), Some(vec![0, 0, 0x81, 0, 0, 5]));
        assert_eq!(signature_pair(&[0x30, 6, 2, 1, 1, 2, 1, 5, 0], 3), None);
        assert_eq!(signature_pair(&[0x30, 9, 2, 4, 1, 2, 3, 4, 2, 1, 5], 3), None);
    }
}
