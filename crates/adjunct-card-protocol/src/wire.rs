//! The protocol between a program and a card: a request and a reply, of fixed layout, over a SEQPACKET socket.
//!
//! Numbers of keys are big-endian and as long as their size says, so that nothing is parsed: a message has the length that its operation
//! and size give, or is none. The other numbers are little-endian.
//!
//! ```text
//! request:  0 "ADJQ" | 4 version (2) | 6 operation (2) | 8 bytes of the modulus (2) | 10 place of the key (1) | 11 zeros (5)
//!           16 e (8) | n (M) | p, q, dp, dq, q^-1 mod p (M/2 each), where the operation brings the key | input (M)
//! reply:    0 "ADJR" | 4 version (2) | 6 status (2) | 8 jobs of the batch (1) | 9 zeros (7) | 16 output (M), where it is done
//! ```
//!
//! A connection has four places for keys. A request that contains its key stores it in its place; one without a key uses the key that this connection
//! last stored in the place. A card may forget keys at any time, and then says so.
#![forbid(unsafe_code)]

use adjunct_base::catalogue::Queue;

const REQUEST: [u8; 4] = *b"ADJQ";
const REPLY: [u8; 4] = *b"ADJR";
/// Raised whenever the layout changes. A card closes the connection of a version that it does not know.
const VERSION: u16 = 2;
/// RSA with the Chinese remainder theorem (RFC 8017, 5.1.2), with a clear key.
const RSA_CRT: u16 = 1;
/// RSA with the Chinese remainder theorem (RFC 8017, 5.1.2), with the key of a place.
const RSA_CRT_AGAIN: u16 = 2;
/// A connection's places for keys.
pub const PLACES: usize = 4;
/// Bytes before the numbers, and where among them the place of the key is.
const HEAD: usize = 16;
const PLACE: usize = 10;
/// The longest public exponent, in bytes.
pub const E: usize = 8;
/// The largest modulus, in bytes.
pub const MAX_SIZE: usize = 512;
/// The longest request, in bytes.
pub const MAX_REQUEST: usize = Kind::Rsa4096.request();
/// The longest reply, in bytes.
pub const MAX_REPLY: usize = HEAD + MAX_SIZE;

/// The kind of a request: operations of one kind can share a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Rsa2048 = 0,
    Rsa3072,
    Rsa4096,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Kind; 3] = [Kind::Rsa2048, Kind::Rsa3072, Kind::Rsa4096];

    /// The kind of a queue of batches; `None` for what cards do not take.
    pub const fn of(queue: Queue) -> Option<Kind> {
        match queue {
            Queue::Rsa2048 => Some(Kind::Rsa2048),
            Queue::Rsa3072 => Some(Kind::Rsa3072),
            Queue::Rsa4096 => Some(Kind::Rsa4096),
            _ => None,
        }
    }

    /// Bytes of the modulus, of an input and of an output.
    pub const fn size(self) -> usize {
        match self {
            Kind::Rsa2048 => 256,
            Kind::Rsa3072 => 384,
            Kind::Rsa4096 => 512,
        }
    }

    /// Bytes of a key.
    pub const fn key(self) -> usize {
        E + self.size() + 5 * (self.size() / 2)
    }

    /// Bytes of a request that brings its key.
    pub const fn request(self) -> usize {
        HEAD + self.key() + self.size()
    }

    /// Bytes of a request without a key.
    pub const fn again(self) -> usize {
        HEAD + self.size()
    }

    /// Bytes of a reply with an output.
    pub const fn reply(self) -> usize {
        HEAD + self.size()
    }
}

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Status {
    /// The request was done.
    Done = 0,
    /// The card has enough to do, or does not work for this user now.
    Busy,
    /// The card goes offline: another one may do it.
    Again,
    /// The key or the input cannot be worked with.
    Invalid,
    /// The card could not do it.
    Failed,
    /// The card does not know the key of this place, or not any more: it is to be brought.
    NoKey,
    /// The user has as many connections as it may have, with requests under way on all: this one ends.
    Connections,
}

impl Status {
    const ALL: [Status; 7] = [
        Status::Done,
        Status::Busy,
        Status::Again,
        Status::Invalid,
        Status::Failed,
        Status::NoKey,
        Status::Connections,
    ];
}

/// A request, wiped when it is dropped.
pub struct Request {
    length: usize,
    bytes: [u8; MAX_REQUEST],
}

adjunct_kernels::opaque_debug!(Request);

impl Drop for Request {
    fn drop(&mut self) {
        adjunct_kernels::wipe(&mut self.bytes[..self.length]);
    }
}

impl Request {
    /// Makes a request for a key's place below [`PLACES`], with the key of [`Kind::key`] bytes or, without it, for the key that was brought for that
    /// place before; `input` has [`Kind::size`] bytes. `None` where a length or the place is wrong.
    pub fn new(kind: Kind, place: usize, key: Option<&[u8]>, input: &[u8]) -> Option<Request> {
        let (operation, length) = match key {
            Some(_) => (RSA_CRT, kind.request()),
            None => (RSA_CRT_AGAIN, kind.again()),
        };
        let key = key.unwrap_or_default();
        if HEAD + key.len() + input.len() != length || input.len() != kind.size() || place >= PLACES {
            return None;
        }
        let mut request = Request { length, bytes: [0; MAX_REQUEST] };
        let head = head(REQUEST, operation, kind.size() as u16, place as u8);
        let (to_head, rest) = request.bytes.split_at_mut(HEAD);
        let (to_key, rest) = rest.split_at_mut(key.len());
        to_head.copy_from_slice(&head);
        to_key.copy_from_slice(key);
        rest[..input.len()].copy_from_slice(input);
        Some(request)
    }

    /// The bytes to send.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The contents of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// The kind of operation.
    pub kind: Kind,
    /// The place of the request's key: below [`PLACES`].
    pub place: usize,
    /// The key, if the request brings it.
    pub key: Option<&'a [u8]>,
    /// The input.
    pub input: &'a [u8],
}

/// The request in a message; `None` where it is no request.
pub fn request(message: &[u8]) -> Option<Asked<'_>> {
    let lengths = |kind: Kind| [(kind, RSA_CRT, kind.request()), (kind, RSA_CRT_AGAIN, kind.again())];
    let (kind, operation, _) =
        Kind::ALL.into_iter().flat_map(lengths).find(|(_, _, length)| *length == message.len())?;
    let place = message[PLACE];
    if message[..HEAD] != head(REQUEST, operation, kind.size() as u16, place) || usize::from(place) >= PLACES {
        return None;
    }
    let (key, input) = message[HEAD..].split_at(message.len() - HEAD - kind.size());
    Some(Asked { kind, place: place.into(), key: (operation == RSA_CRT).then_some(key), input })
}

/// The first bytes of a message.
fn head(magic: [u8; 4], word: u16, other: u16, place: u8) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&magic);
    head[4..6].copy_from_slice(&VERSION.to_le_bytes());
    head[6..8].copy_from_slice(&word.to_le_bytes());
    head[8..10].copy_from_slice(&other.to_le_bytes());
    head[PLACE] = place;
    head
}

/// Writes a reply into `message`; its length. `output` is empty where the operation is not done.
pub fn write_reply(message: &mut [u8; MAX_REPLY], status: Status, jobs: usize, output: &[u8]) -> usize {
    let output = &output[..output.len().min(MAX_SIZE)];
    message[..HEAD].copy_from_slice(&head(REPLY, status as u16, jobs.min(0xff) as u16, 0));
    message[HEAD..HEAD + output.len()].copy_from_slice(output);
    HEAD + output.len()
}

/// Parses a message as the reply to a request of `kind`: the output, or why there is none.
pub fn reply(kind: Kind, message: &[u8]) -> Option<Result<&[u8], Status>> {
    let first = message.get(..HEAD)?;
    let word = u16::from_le_bytes([first[6], first[7]]);
    let status = Status::ALL.into_iter().find(|&status| status as u16 == word)?;
    if first[..8] != head(REPLY, word, 0, 0)[..8] || first[10..] != [0; 6] {
        return None;
    }
    match (status, message.len()) {
        (Status::Done, length) if length == kind.reply() => Some(Ok(&message[HEAD..])),
        (status, HEAD) if status != Status::Done => Some(Err(status)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_comes_as_it_was_sent() {
        for kind in Kind::ALL {
            let (key, input) = (vec![7; kind.key()], vec![9; kind.size()]);
            for key in [Some(&key[..]), None] {
                let sent = Request::new(kind, 3, key, &input).unwrap();
                assert_eq!(request(sent.bytes()), Some(Asked { kind, place: 3, key, input: &input }));
                // Anything else in the head, and any other length.
                for at in 0..HEAD {
                    let mut other = sent.bytes().to_vec();
                    other[at] ^= 4;
                    assert_eq!(request(&other), None, "{at}");
                }
                assert_eq!(request(&sent.bytes()[1..]), None);
                assert!(Request::new(kind, PLACES, key, &input).is_none());
                assert!(Request::new(kind, 0, key, &input[1..]).is_none());
            }
            assert!(Request::new(kind, 0, Some(&key[1..]), &input).is_none());
        }
        assert_eq!(request(&[]), None);
    }

    #[test]
    fn a_reply_comes_as_it_was_sent() {
        let kind = Kind::Rsa2048;
        let (mut message, output) = ([0; MAX_REPLY], [5; 256]);
        let length = write_reply(&mut message, Status::Done, 8, &output);
        assert_eq!(reply(kind, &message[..length]), Some(Ok(&output[..])));
        assert_eq!(reply(Kind::Rsa3072, &message[..length]), None);
        assert_eq!(reply(kind, &message[..length - 1]), None);
        let length = write_reply(&mut message, Status::Busy, 0, &[]);
        assert_eq!(reply(kind, &message[..length]), Some(Err(Status::Busy)));
        assert_eq!(reply(kind, &message[..length - 1]), None);
        assert_eq!(reply(kind, &[]), None);
        message[6] = 99;
        assert_eq!(reply(kind, &message[..length]), None);
    }
}
