//! What a certificate says of itself (RFC 5280, 4.1).

use pkcs1::der::asn1::AnyRef;
use pkcs1::der::{Decode, Reader, SliceReader, Tag, Tagged};

/// The contents of a certificate: DER, except the days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Certificate<'a> {
    /// The serial number.
    pub serial: &'a [u8],
    /// The issuer's name.
    pub issuer: &'a [u8],
    /// The subject's name.
    pub subject: &'a [u8],
    /// The public key's information.
    pub key: &'a [u8],
    /// First and last day of validity: year, month and day in digits.
    pub days: [[u8; 8]; 2],
    /// Whether its basic constraints make it an authority's.
    pub authority: bool,
}

/// An element: its tag, its contents, and all its bytes.
type Element<'a> = (Tag, &'a [u8], &'a [u8]);

fn element<'a>(reader: &mut SliceReader<'a>) -> Option<Element<'a>> {
    let whole = reader.tlv_bytes().ok()?;
    let any = AnyRef::from_der(whole).ok()?;
    Some((any.tag(), any.value(), whole))
}

/// A reader of a sequence's contents.
fn within<'a>((tag, contents, _): Element<'a>) -> Option<SliceReader<'a>> {
    (tag == Tag::Sequence).then(|| SliceReader::new(contents).ok()).flatten()
}

/// The day of a UTCTime or GeneralizedTime (RFC 5280, 4.1.2.5).
fn day((tag, contents, _): Element<'_>) -> Option<[u8; 8]> {
    let mut day = [0; 8];
    match tag {
        Tag::UtcTime => {
            let digits = contents.get(..6)?;
            let century = if digits[0] < b'5' { b"20" } else { b"19" };
            day[..2].copy_from_slice(century);
            day[2..].copy_from_slice(digits);
        }
        Tag::GeneralizedTime => day.copy_from_slice(contents.get(..8)?),
        _ => return None,
    }
    day.iter().all(u8::is_ascii_digit).then_some(day)
}

/// Whether extensions have basic constraints that make an authority (RFC 5280, 4.2.1.9).
fn authority(extensions: Element<'_>) -> Option<bool> {
    const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
    let mut explicit = SliceReader::new(extensions.1).ok()?;
    let mut list = within(element(&mut explicit)?)?;
    while !list.is_finished() {
        let mut one = within(element(&mut list)?)?;
        let (_, kind, _) = element(&mut one)?;
        let mut value = element(&mut one)?;
        if value.0 == Tag::Boolean {
            value = element(&mut one)?;
        }
        if kind == BASIC_CONSTRAINTS {
            let mut inside = SliceReader::new(value.1).ok()?;
            let mut constraints = within(element(&mut inside)?)?;
            if constraints.is_finished() {
                return Some(false);
            }
            let (tag, contents, _) = element(&mut constraints)?;
            return Some(tag == Tag::Boolean && contents != [0]);
        }
    }
    Some(false)
}

/// The parts of a certificate; `None` where it is none.
pub fn certificate(der: &[u8]) -> Option<Certificate<'_>> {
    let mut file = SliceReader::new(der).ok()?;
    let mut outer = within(element(&mut file)?)?;
    if !file.is_finished() {
        return None;
    }
    let mut inner = within(element(&mut outer)?)?;
    let first = element(&mut inner)?;
    // Version 1 says no version.
    let (_, _, serial) = if first.0 == Tag::Integer { first } else { element(&mut inner)? };
    let mut next = || element(&mut inner);
    let (_, issuer, validity, subject, key) = (next()?, next()?, next()?, next()?, next()?);
    let mut validity = within(validity)?;
    let days = [day(element(&mut validity)?)?, day(element(&mut validity)?)?];
    let mut of_authority = false;
    while !inner.is_finished() {
        let rest = element(&mut inner)?;
        // The extensions are [3], behind the unique identifiers [1] and [2] that nobody uses.
        if rest.2.first() == Some(&0xa3) {
            of_authority = authority(rest)?;
        }
    }
    Some(Certificate { serial, issuer: issuer.2, subject: subject.2, key: key.2, days, authority: of_authority })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tlv(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
        let contents = contents.concat();
        assert!(contents.len() < 128);
        [&[tag, contents.len() as u8], contents.as_slice()].concat()
    }

    #[test]
    fn versions_days_and_authorities() {
        let (serial, name) = (tlv(2, &[&[5]]), tlv(0x30, &[]));
        let validity = tlv(0x30, &[&tlv(0x17, &[b"491231000000Z"]), &tlv(0x18, &[b"20500102000000Z"])]);
        let (algorithm, key) = (tlv(0x30, &[]), tlv(0x30, &[&tlv(5, &[])]));
        let of = |first: &[u8], rest: &[u8]| {
            let body = tlv(0x30, &[first, &serial, &algorithm, &name, &validity, &name, &key, rest]);
            tlv(0x30, &[&body, &algorithm])
        };
        let old = of(&[], &[]);
        let read = certificate(&old).unwrap();
        assert_eq!((read.serial, read.subject, read.key), (&serial[..], &name[..], &key[..]));
        assert_eq!((read.days, read.authority), ([*b"20491231", *b"20500102"], false));
        let version = tlv(0xa0, &[&tlv(2, &[&[2]])]);
        let extension = |critical: &[u8], constraints: &[u8]| {
            let value = tlv(4, &[&tlv(0x30, &[constraints])]);
            tlv(0xa3, &[&tlv(0x30, &[&tlv(0x30, &[&tlv(6, &[&[0x55, 0x1d, 0x13]]), critical, &value])])])
        };
        let yes = tlv(1, &[&[0xff]]);
        for (critical, constraints, authority) in
            [(&yes[..], &yes[..], true), (&[], &yes[..], true), (&yes[..], &[], false), (&[], &tlv(1, &[&[0]]), false)]
        {
            let der = of(&version, &extension(critical, constraints));
            assert_eq!(certificate(&der).unwrap().authority, authority);
            for end in 0..der.len() {
                assert!(certificate(&der[..end]).is_none(), "{end}");
            }
            assert!(certificate(&[&der[..], &[0]].concat()).is_none());
        }
    }
}
