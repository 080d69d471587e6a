//! The frame of a message between a program and a card's service: who is to do what, and fields.
//!
//! All numbers are little-endian. A message is one datagram of a SEQPACKET socket, so its length is known before it is parsed.
//!
//! ```text
//! head:   0 "ADJF" | 4 version (2) | 6 service (1) | 7 domain (1) | 8 call (2) | 10 status (2) | 12 length of all fields (4) | 16 number (8)
//! field:  0 tag (2) | 2 zeros (2) | 4 length (4) | 8 bytes
//! ```
//!
//! A request has status 0. A reply has the service, domain, call and number of its request. Fields stand in ascending order of their tags, each tag
//! at most once; what a tag and a call mean is the service's to say. Nothing follows the last field.
#![forbid(unsafe_code)]

/// The first bytes of a frame.
const MAGIC: [u8; 4] = *b"ADJF";
/// The version of the layout. A frame of another version is none.
pub const VERSION: u16 = 1;
/// Bytes before the fields.
pub const HEAD: usize = 24;
/// Bytes of a field before its contents.
pub const FIELD: usize = 8;
/// The most fields of a frame.
pub const MOST: usize = 16;

/// A service that a card runs: the mode of the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Service {
    /// Public-key operations with clear keys, in batches.
    Accelerator = 1,
    /// The EP11 coprocessor: PKCS #11's mechanisms with secure keys.
    Ep11 = 2,
    /// The CCA coprocessor.
    Cca = 3,
    /// Any service of secure keys that tests run: adjunctd has none such.
    Test = 0xf0,
}

impl Service {
    /// Every service.
    pub const ALL: [Service; 4] = [Service::Accelerator, Service::Ep11, Service::Cca, Service::Test];

    /// The service with a number.
    pub fn with_number(number: u8) -> Option<Service> {
        Service::ALL.into_iter().find(|&service| service as u8 == number)
    }
}

/// What stands before the fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The service that is asked, or answers.
    pub service: Service,
    /// The domain of the card.
    pub domain: u8,
    /// The operation, by the service's numbers.
    pub call: u16,
    /// 0 in a request; in a reply 0 where the request was done, else why not, by [`super::wire::Status`] or the service's numbers.
    pub status: u16,
    /// The number by which a reply is known as that of its request.
    pub number: u64,
}

/// A frame as it came: its head, and its fields where the message has them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// What stands before the fields.
    pub head: Head,
    fields: [(u16, &'a [u8]); MOST],
    count: usize,
}

// Fields may be secret.
impl std::fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame").field("head", &self.head).field("count", &self.count).finish_non_exhaustive()
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl<'a> Frame<'a> {
    /// The frame in a message; `None` where it is none: another version, an unknown service, lengths that do not fit, fields out of order, more than
    /// [`MOST`].
    pub fn parse(message: &'a [u8]) -> Option<Frame<'a>> {
        let (first, mut rest) = message.split_at_checked(HEAD)?;
        if first[..4] != MAGIC || u16_at(first, 4)? != VERSION || u32_at(first, 12)? as usize != rest.len() {
            return None;
        }
        let head = Head {
            service: Service::with_number(first[6])?,
            domain: first[7],
            call: u16_at(first, 8)?,
            status: u16_at(first, 10)?,
            number: u64::from_le_bytes(*first[16..].first_chunk()?),
        };
        let mut frame = Frame { head, fields: [(0, &[]); MOST], count: 0 };
        while !rest.is_empty() {
            let (tag, zeros, length) = (u16_at(rest, 0)?, u16_at(rest, 2)?, u32_at(rest, 4)? as usize);
            let (bytes, after) = rest.get(FIELD..)?.split_at_checked(length)?;
            let in_order = frame.count == 0 || frame.fields[frame.count - 1].0 < tag;
            if zeros != 0 || !in_order || frame.count == MOST {
                return None;
            }
            frame.fields[frame.count] = (tag, bytes);
            frame.count += 1;
            rest = after;
        }
        Some(frame)
    }

    /// The contents of a field.
    pub fn field(&self, tag: u16) -> Option<&'a [u8]> {
        self.fields[..self.count].iter().find(|(other, _)| *other == tag).map(|(_, bytes)| *bytes)
    }

    /// The tags of all fields, ascending.
    pub fn tags(&self) -> impl Iterator<Item = u16> {
        self.fields[..self.count].iter().map(|(tag, _)| *tag)
    }
}

/// The length of a frame with such fields; `None` where it has too many, they are not in order, or one is too long.
pub fn length(fields: &[(u16, &[u8])]) -> Option<usize> {
    let in_order = fields.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let all = fields.iter().try_fold(0_usize, |sum, (_, bytes)| sum.checked_add(FIELD)?.checked_add(bytes.len()))?;
    (in_order && fields.len() <= MOST && u32::try_from(all).is_ok()).then_some(HEAD + all)
}

/// Writes a frame into `message`; its length. `None` where the fields are none of a frame ([`length`]), or there is no room.
pub fn write(message: &mut [u8], head: &Head, fields: &[(u16, &[u8])]) -> Option<usize> {
    let whole = length(fields)?;
    let (first, mut rest) = message.get_mut(..whole)?.split_at_mut(HEAD);
    first[..4].copy_from_slice(&MAGIC);
    first[4..6].copy_from_slice(&VERSION.to_le_bytes());
    first[6..8].copy_from_slice(&[head.service as u8, head.domain]);
    first[8..10].copy_from_slice(&head.call.to_le_bytes());
    first[10..12].copy_from_slice(&head.status.to_le_bytes());
    first[12..16].copy_from_slice(&u32::try_from(whole - HEAD).ok()?.to_le_bytes());
    first[16..].copy_from_slice(&head.number.to_le_bytes());
    for (tag, bytes) in fields {
        let (start, after) = rest.split_at_mut(FIELD);
        start[..2].copy_from_slice(&tag.to_le_bytes());
        start[2..4].fill(0);
        start[4..].copy_from_slice(&u32::try_from(bytes.len()).ok()?.to_le_bytes());
        let (contents, after) = after.split_at_mut(bytes.len());
        contents.copy_from_slice(bytes);
        rest = after;
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENT: Head = Head { service: Service::Test, domain: 7, call: 0x1234, status: 0, number: 1 << 40 };

    fn sent(fields: &[(u16, &[u8])]) -> Vec<u8> {
        let mut message = vec![0xff; length(fields).unwrap()];
        assert_eq!(write(&mut message, &SENT, fields), Some(message.len()));
        message
    }

    #[test]
    fn a_frame_comes_as_it_was_sent() {
        let three: [(u16, &[u8]); 3] = [(1, b"one"), (2, b""), (0xffff, b"three")];
        for fields in [&three[..0], &three[..1], &three[..]] {
            let message = sent(fields);
            let frame = Frame::parse(&message).unwrap();
            assert_eq!(frame.head, SENT);
            assert_eq!(frame.tags().collect::<Vec<_>>(), fields.iter().map(|(tag, _)| *tag).collect::<Vec<_>>());
            for (tag, bytes) in fields {
                assert_eq!(frame.field(*tag), Some(*bytes));
            }
            assert_eq!(frame.field(3), None);
        }
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let message = sent(&[(1, b"one"), (2, b"two")]);
        for length in 0..message.len() {
            assert_eq!(Frame::parse(&message[..length]), None);
        }
        assert_eq!(Frame::parse(&[&message[..], &[0]].concat()), None);
        // Magic, version, the service, the length of all fields, zeros and the length of the first field.
        for at in [0, 1, 2, 3, 4, 5, 6, 12, 13, 14, 15, HEAD + 2, HEAD + 3, HEAD + 4, HEAD + 7] {
            let mut other = message.clone();
            other[at] ^= 0x40;
            assert_eq!(Frame::parse(&other), None, "{at}");
        }
        assert_eq!(length(&[(2, b""), (1, b"")]), None);
        assert_eq!(length(&[(1, b""), (1, b"")]), None);
        let many: Vec<(u16, &[u8])> = (0..=MOST as u16).map(|tag| (tag, &[][..])).collect();
        assert_eq!((length(&many), length(&many[1..])), (None, Some(HEAD + MOST * FIELD)));
        assert_eq!(write(&mut [0; HEAD + 10], &SENT, &[(1, b"one")]), None);
        let mut twice = sent(&[(1, b"one"), (2, b"two")]);
        twice[HEAD + FIELD + 3] = 1;
        assert_eq!(Frame::parse(&twice), None);
    }
}
