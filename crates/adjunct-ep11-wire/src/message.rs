//! Requests and replies: DER SEQUENCEs of OCTET STRINGs.
//!
//! ```text
//! request:  SEQUENCE { function (4: api << 16 | number) | domain (4) | argument ... }
//! reply:    SEQUENCE { function (4, as requested) | domain (4) | return value (4) | result ... }
//! ```
//!
//! Lengths are written in their shortest form. Longer forms of up to four bytes are read too: Linux's driver writes them where it fills in a length later.

use crate::function::Function;
use zeroize::Zeroizing;

const SEQUENCE: u8 = 0x30;
const OCTETS: u8 = 4;
/// The most fields of a message, the function included.
pub const MOST: usize = 16;

/// Splits the first element off: its tag, its contents and the rest. `None` where the bytes are no element.
pub fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (digits.iter().fold(0_usize, |length, digit| length << 8 | usize::from(*digit)), rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((tag, contents, rest))
}

/// Splits the first OCTET STRING off.
pub fn octets(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    element(bytes).filter(|(tag, ..)| *tag == OCTETS).map(|(_, contents, rest)| (contents, rest))
}

/// Bytes of an element's tag and length.
pub fn head_length(contents: usize) -> usize {
    match contents {
        0..=0x7f => 2,
        0x80..=0xff => 3,
        0x100..=0xffff => 4,
        0x1_0000..=0xff_ffff => 5,
        _ => 6,
    }
}

fn put_head(to: &mut Vec<u8>, tag: u8, length: usize) {
    let bytes = (length as u64).to_be_bytes();
    to.push(tag);
    match head_length(length) {
        2 => to.push(length as u8),
        head => {
            to.push(0x80 | (head - 2) as u8);
            to.extend_from_slice(&bytes[8 - (head - 2)..]);
        }
    }
}

/// Appends an OCTET STRING.
pub fn put_octets(to: &mut Vec<u8>, contents: &[u8]) {
    put_head(to, OCTETS, contents.len());
    to.extend_from_slice(contents);
}

/// A SEQUENCE of OCTET STRINGs, in memory that is wiped and had at once, so that no copy is left behind. Contents of 4 GiB and more do not fit into a
/// message of any transport.
pub fn sequence(fields: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let inner = fields.iter().map(|field| head_length(field.len()) + field.len()).sum();
    let mut out = Zeroizing::new(Vec::with_capacity(head_length(inner) + inner));
    put_head(&mut out, SEQUENCE, inner);
    fields.iter().for_each(|field| put_octets(&mut out, field));
    out
}

/// The fields of a SEQUENCE of OCTET STRINGs that is all of `bytes`; `None` where it is none, or of more than [`MOST`] fields.
pub fn fields(bytes: &[u8]) -> Option<Fields<'_>> {
    let (tag, mut inner, after) = element(bytes)?;
    if tag != SEQUENCE || !after.is_empty() {
        return None;
    }
    let mut fields = Fields { fields: [&[]; MOST], count: 0 };
    while !inner.is_empty() {
        let (contents, rest) = octets(inner)?;
        *fields.fields.get_mut(fields.count)? = contents;
        fields.count += 1;
        inner = rest;
    }
    Some(fields)
}

/// The fields of a message.
#[derive(Clone, Copy)]
pub struct Fields<'a> {
    fields: [&'a [u8]; MOST],
    count: usize,
}

// They may be secret.
impl std::fmt::Debug for Fields<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fields").field("count", &self.count).finish_non_exhaustive()
    }
}

impl<'a> Fields<'a> {
    /// All fields.
    pub fn all(&self) -> &[&'a [u8]] {
        &self.fields[..self.count]
    }
}

/// A number of four bytes, big-endian.
pub fn number(field: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(field.try_into().ok()?))
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The version of the interface that the caller knows.
    pub api: u16,
    /// The function.
    pub function: Function,
    /// The domain that the caller means.
    pub domain: u32,
    fields: Fields<'a>,
}

impl<'a> Request<'a> {
    /// The request in a message; `None` where it is none: no SEQUENCE of OCTET STRINGs, an unknown function, another number of arguments than
    /// the function has.
    pub fn parse(message: &'a [u8]) -> Option<Request<'a>> {
        let fields = fields(message)?;
        let [function, domain, arguments @ ..] = fields.all() else { return None };
        let (code, domain) = (number(function)?, number(domain)?);
        let function = Function::with_number(code as u16)?;
        (arguments.len() == function.arguments().len()).then_some(())?;
        Some(Request { api: (code >> 16) as u16, function, domain, fields })
    }

    /// The arguments, as many as the function has.
    pub fn arguments(&self) -> &[&'a [u8]] {
        &self.fields.all()[2..]
    }
}

/// Writes a request.
pub fn request(api: u16, function: Function, domain: u32, arguments: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let code = (u32::from(api) << 16 | u32::from(function as u16)).to_be_bytes();
    let domain = domain.to_be_bytes();
    let mut all: Vec<&[u8]> = vec![&code, &domain];
    all.extend_from_slice(arguments);
    sequence(&all)
}

/// A reply.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// The function that was asked.
    pub function: Function,
    /// The domain that did it.
    pub domain: u32,
    /// The return value ([`crate::codes`]).
    pub rv: u32,
    fields: Fields<'a>,
}

impl<'a> Reply<'a> {
    /// The reply in a message; `None` where it is none, or where its return value is `CKR_OK` and it has another number of results than the function.
    pub fn parse(message: &'a [u8]) -> Option<Reply<'a>> {
        let fields = fields(message)?;
        let [function, domain, rv, results @ ..] = fields.all() else { return None };
        let (function, rv) = (Function::with_number(number(function)? as u16)?, number(rv)?);
        (rv != 0 || results.len() == function.results().len()).then_some(())?;
        Some(Reply { function, domain: number(domain)?, rv, fields })
    }

    /// The results, as many as the function has where the return value is `CKR_OK`.
    pub fn results(&self) -> &[&'a [u8]] {
        &self.fields.all()[3..]
    }
}

/// Writes a reply.
pub fn reply(api: u16, function: Function, domain: u32, rv: u32, results: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let code = (u32::from(api) << 16 | u32::from(function as u16)).to_be_bytes();
    let (domain, rv) = (domain.to_be_bytes(), rv.to_be_bytes());
    let mut all: Vec<&[u8]> = vec![&code, &domain, &rv];
    all.extend_from_slice(results);
    sequence(&all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_as_they_were_sent() {
        for length in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0x100_0000] {
            let data = vec![7; length];
            let message = request(4, Function::EncryptSingle, 3, &[b"key", b"mech", &data]);
            assert_eq!(message.len(), message.capacity());
            let request = Request::parse(&message).unwrap();
            assert_eq!((request.api, request.function, request.domain), (4, Function::EncryptSingle, 3));
            assert_eq!(request.arguments(), [&b"key"[..], b"mech", &data]);
        }
        let message = reply(1, Function::SignSingle, 5, 0, &[b"signature"]);
        let reply_ = Reply::parse(&message).unwrap();
        assert_eq!((reply_.function, reply_.domain, reply_.rv), (Function::SignSingle, 5, 0));
        assert_eq!(reply_.results(), [b"signature"]);
        let refused = reply(1, Function::SignSingle, 5, 6, &[]);
        assert_eq!(Reply::parse(&refused).map(|reply| (reply.rv, reply.results().len())), Some((6, 0)));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let message = request(1, Function::GenerateRandom, 0, &[&16_u32.to_be_bytes()]);
        for length in 0..message.len() {
            assert!(Request::parse(&message[..length]).is_none(), "{length}");
        }
        assert!(Request::parse(&[&message[..], &[0]].concat()).is_none());
        assert!(Request::parse(&request(1, Function::GenerateRandom, 0, &[])).is_none());
        assert!(Request::parse(&sequence(&[&0xffff_u32.to_be_bytes(), &[0; 4]])).is_none());
        assert!(Request::parse(&sequence(&[&[0; 3], &[0; 4]])).is_none());
        assert!(fields(&sequence(&[&[][..]; MOST + 1])).is_none());
        assert!(Reply::parse(&reply(1, Function::SignSingle, 5, 0, &[])).is_none());
        // A length of 2^32 - 1, an indefinite one, one of five bytes.
        for head in [&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff][..], &[0x30, 0x80, 0, 0], &[0x30, 0x85, 0, 0, 0, 0, 0]] {
            assert!(fields(head).is_none());
        }
    }

    #[test]
    fn lengths_in_a_longer_form_are_read() {
        // As zcrypt_ep11misc writes the payload's length: always in two bytes.
        let long = [0x30, 0x82, 0, 20, 4, 4, 0, 1, 0, 4, 4, 4, 0, 0, 0, 0, 4, 0x82, 0, 4, 0, 0, 0, 16];
        let request = Request::parse(&long).unwrap();
        assert_eq!((request.function, request.arguments()), (Function::GenerateRandom, &[&[0, 0, 0, 16][..]][..]));
    }
}
