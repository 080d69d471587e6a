//! Names of X.500 (RFC 5280, 4.1.2.4) in one line.

use ::spki::ObjectIdentifier;
use pkcs1::der::asn1::AnyRef;
use pkcs1::der::{Decode, Reader, SliceReader, Tag, Tagged};
use std::fmt::Write;

/// The names of the parts of a name, as OpenSSL writes them.
const KINDS: &[(&str, &str)] = &[
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.13", "description"),
    ("2.5.4.15", "businessCategory"),
    ("2.5.4.17", "postalCode"),
    ("2.5.4.41", "name"),
    ("2.5.4.42", "GN"),
    ("2.5.4.43", "initials"),
    ("2.5.4.44", "generationQualifier"),
    ("2.5.4.46", "dnQualifier"),
    ("2.5.4.65", "pseudonym"),
    ("2.5.4.97", "organizationIdentifier"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
    ("1.2.840.113549.1.9.2", "unstructuredName"),
];

fn element<'a>(reader: &mut SliceReader<'a>) -> Option<AnyRef<'a>> {
    AnyRef::from_der(reader.tlv_bytes().ok()?).ok()
}

fn within<'a>(any: AnyRef<'a>, tag: Tag) -> Option<SliceReader<'a>> {
    (any.tag() == tag).then(|| SliceReader::new(any.value()).ok()).flatten()
}

/// A name as `/C=DE/CN=web`, with `\xHH` for each byte that is no printable ASCII, as OpenSSL's `X509_NAME_oneline` has it; `None` where
/// it is none.
pub fn one_line(der: &[u8]) -> Option<String> {
    let mut parts = within(AnyRef::from_der(der).ok()?, Tag::Sequence)?;
    let mut line = String::new();
    while !parts.is_finished() {
        let mut set = within(element(&mut parts)?, Tag::Set)?;
        while !set.is_finished() {
            let mut part = within(element(&mut set)?, Tag::Sequence)?;
            let kind: ObjectIdentifier = element(&mut part)?.decode_as().ok()?;
            let value = element(&mut part)?;
            let kind = kind.to_string();
            let name = KINDS.iter().find(|(oid, _)| *oid == kind).map_or(kind.as_str(), |(_, name)| name);
            let _ = write!(line, "/{name}=");
            // Characters of more than one byte: the upper ones are left out where they are none.
            let width = match value.tag() {
                Tag::BmpString => 2,
                Tag::ContextSpecific { .. } => return None,
                _ => 1,
            };
            for character in value.value().chunks(width) {
                let bytes = if width == 2 && character.first() == Some(&0) { &character[1..] } else { character };
                for byte in bytes {
                    match byte {
                        b' '..=b'~' => line.push(char::from(*byte)),
                        _ => _ = write!(line, "\\x{byte:02X}"),
                    }
                }
            }
        }
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tlv(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
        let contents = contents.concat();
        [&[tag, contents.len() as u8], contents.as_slice()].concat()
    }

    #[test]
    fn names_are_written_as_openssl_does() {
        let part = |oid: &[u8], tag, text: &[u8]| tlv(0x30, &[&tlv(6, &[oid]), &tlv(tag, &[text])]);
        let (country, name) = ([0x55, 4, 6], [0x55, 4, 3]);
        let email = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0xd, 1, 9, 1];
        let der = tlv(
            0x30,
            &[
                &tlv(0x31, &[&part(&country, 0x13, b"DE")]),
                &tlv(0x31, &[&part(&name, 0xc, "a\u{fc}\x1b/".as_bytes()), &part(&[0x55, 4, 99], 0xc, b"x")]),
                &tlv(0x31, &[&part(&email, 0x1e, &[0, b'm', 0x20, 0xac])]),
            ],
        );
        assert_eq!(one_line(&der).unwrap(), "/C=DE/CN=a\\xC3\\xBC\\x1B//2.5.4.99=x/emailAddress=m \\xAC");
        assert_eq!(one_line(&tlv(0x30, &[])).unwrap(), "");
        for end in 0..der.len() {
            assert!(one_line(&der[..end]).is_none(), "{end}");
        }
    }
}
