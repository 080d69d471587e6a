//! The little of DER (X.690) that keys are written in which the core does not have, or in forms that it does not read.

use adjunct_ep11_wire::message::element;
use zeroize::Zeroizing;

pub(crate) const INTEGER: u8 = 2;
pub(crate) const BITS: u8 = 3;
pub(crate) const OCTETS: u8 = 4;
pub(crate) const OID: u8 = 6;
pub(crate) const SEQUENCE: u8 = 0x30;
/// [1], constructed.
pub(crate) const ONE: u8 = 0xa1;

/// The contents of object identifiers.
pub(crate) mod oid {
    /// id-ecPublicKey (RFC 5480, 2.1.1).
    pub(crate) const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
}

/// Reads elements in their order.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next element's tag, contents, and all of it.
    pub(crate) fn any(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        let (tag, contents, rest) = element(self.0)?;
        let whole = &self.0[..self.0.len() - rest.len()];
        self.0 = rest;
        Some((tag, contents, whole))
    }

    /// The contents of the next element where it has this tag; one with another stays the next.
    pub(crate) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (_, contents, rest) = element(self.0).filter(|(other, ..)| *other == tag)?;
        self.0 = rest;
        Some(contents)
    }

    /// The elements within the next one, which has this tag.
    pub(crate) fn within(&mut self, tag: u8) -> Option<Reader<'a>> {
        self.take(tag).map(Reader)
    }

    /// The bytes of a BIT STRING that is whole bytes.
    pub(crate) fn bits(&mut self) -> Option<&'a [u8]> {
        self.take(BITS)?.strip_prefix(&[0])
    }

    pub(crate) fn ends(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// An element. Its contents may be secret: the memory is had at once, so that none is moved.
pub(crate) fn put(tag: u8, contents: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let length: usize = contents.iter().map(|part| part.len()).sum();
    let digits = length.to_be_bytes();
    let first = digits.iter().take_while(|byte| **byte == 0).count();
    let mut out = Zeroizing::new(Vec::with_capacity(length + 10));
    out.push(tag);
    if length >= 0x80 {
        out.push(0x80 | (digits.len() - first) as u8);
        out.extend_from_slice(&digits[first..]);
    } else {
        out.push(length as u8);
    }
    contents.iter().for_each(|part| out.extend_from_slice(part));
    out
}

/// A private key's PKCS #8: the algorithm's identifier with its parameters, and what is within the OCTET STRING.
pub(crate) struct Pkcs8<'a> {
    /// The algorithm.
    pub(crate) oid: &'a [u8],
    /// What follows its identifier.
    pub(crate) parameters: Reader<'a>,
    /// The key.
    pub(crate) key: &'a [u8],
}

impl<'a> Pkcs8<'a> {
    /// Reads a structure that is all of `der` (RFC 5208, 5; RFC 5958, 2). Attributes and a public key behind the private one are not read.
    pub(crate) fn of(der: &'a [u8]) -> Option<Pkcs8<'a>> {
        let mut all = Reader(der);
        let mut info = all.within(SEQUENCE)?;
        all.ends()?;
        matches!(info.take(INTEGER)?, [0 | 1]).then_some(())?;
        let mut algorithm = info.within(SEQUENCE)?;
        let oid = algorithm.take(OID)?;
        Some(Pkcs8 { oid, parameters: algorithm, key: info.take(OCTETS)? })
    }

    /// Writes that of a key on a curve, with its point.
    pub(crate) fn put_ec(curve: &[u8], value: &[u8], point: &[u8]) -> Zeroizing<Vec<u8>> {
        let point = put(ONE, &[&put(BITS, &[&[0], point])]);
        let key = put(SEQUENCE, &[&[INTEGER, 1, 1], &put(OCTETS, &[value]), &point]);
        Pkcs8::put(oid::EC, &put(OID, &[curve]), &key)
    }

    /// Writes one; `parameters` are whole elements.
    pub(crate) fn put(oid: &[u8], parameters: &[u8], key: &[u8]) -> Zeroizing<Vec<u8>> {
        let algorithm = put(SEQUENCE, &[&put(OID, &[oid]), parameters]);
        put(SEQUENCE, &[&[INTEGER, 1, 0], &algorithm, &put(OCTETS, &[key])])
    }
}

/// A SubjectPublicKeyInfo (RFC 5280, 4.1).
pub(crate) struct Spki<'a> {
    /// The algorithm.
    pub(crate) oid: &'a [u8],
    /// What follows its identifier.
    pub(crate) parameters: Reader<'a>,
    /// The key.
    pub(crate) key: &'a [u8],
}

impl<'a> Spki<'a> {
    /// Reads a structure that is all of `der`.
    pub(crate) fn of(der: &'a [u8]) -> Option<Spki<'a>> {
        let mut all = Reader(der);
        let mut info = all.within(SEQUENCE)?;
        all.ends()?;
        let mut algorithm = info.within(SEQUENCE)?;
        let oid = algorithm.take(OID)?;
        let key = info.bits()?;
        info.ends()?;
        Some(Spki { oid, parameters: algorithm, key })
    }

    /// Writes one; `parameters` are whole elements.
    pub(crate) fn put(oid: &[u8], parameters: &[u8], key: &[u8]) -> Vec<u8> {
        let algorithm = put(SEQUENCE, &[&put(OID, &[oid]), parameters]);
        put(SEQUENCE, &[&algorithm, &put(BITS, &[&[0], key])]).to_vec()
    }
}

/// A private key on a curve as RFC 5915 writes it.
pub(crate) struct EcPrivate<'a> {
    /// The number.
    pub(crate) value: &'a [u8],
    /// The point.
    pub(crate) point: Option<&'a [u8]>,
}

impl<'a> EcPrivate<'a> {
    /// Reads a structure that is all of `der`, of a key on the curve of that identifier; one that is empty fits any.
    pub(crate) fn of(der: &'a [u8], curve: &[u8]) -> Option<EcPrivate<'a>> {
        let mut all = Reader(der);
        let mut key = all.within(SEQUENCE)?;
        all.ends()?;
        (key.take(INTEGER)? == [1]).then_some(())?;
        let value = key.take(OCTETS)?;
        if let Some(named) = key.take(0xa0) {
            let mut named = Reader(named);
            let named_curve = named.take(OID)?;
            (curve.is_empty() || named_curve == curve).then_some(())?;
            named.ends()?;
        }
        let point = match key.take(ONE) {
            Some(bits) => {
                let mut bits = Reader(bits);
                let point = bits.bits()?;
                bits.ends()?;
                Some(point)
            }
            None => None,
        };
        key.ends()?;
        Some(EcPrivate { value, point })
    }
}
