//! What a program asks an accelerator, and its reply: frames ([`frame`]) with the calls and fields of this service, over a SEQPACKET socket.
//!
//! A call is an operation with a size of its key ([`Kind::call`]). Numbers of keys are big-endian and as long as that size says, so that nothing
//! inside of a field is parsed: a field has the length that the call gives, or the message is no request.
//!
//! ```text
//! request:  field 1: place of the key (1)
//!           field 2: e (8) | n (M) | p, q, dp, dq, q^-1 mod p (M/2 each), where the request brings the key
//!           field 3: input (M)
//! reply:    field 1: output (M), where the request was done; else no field, and a status that says why ([`Status`])
//! ```
//!
//! A connection has four places for keys. A request that contains its key stores it in its place; one without a key uses the key that this connection
//! last stored in the place. A card may forget keys at any time, and then says so.
//!
//! A card closes the connection of a program whose frames are of another version, or have another service. The protocol before frames had messages
//! that began with "ADJQ" and "ADJR", which are no frames.
#![forbid(unsafe_code)]

use super::frame::{self, FIELD, Frame, HEAD, Head, Service};
use adjunct_base::catalogue::Queue;

/// Fields of a request.
const PLACE: u16 = 1;
const KEY: u16 = 2;
const INPUT: u16 = 3;
/// The field of a reply.
const OUTPUT: u16 = 1;
/// A connection's places for keys.
pub const PLACES: usize = 4;
/// The longest public exponent, in bytes.
pub const E: usize = 8;
/// The longest request, in bytes.
pub const MAX_REQUEST: usize = Kind::Rsa4096.request();
/// The longest reply, in bytes.
pub const MAX_REPLY: usize = Kind::Rsa4096.reply();

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
        self.again() + FIELD + self.key()
    }

    /// Bytes of a request without a key.
    pub const fn again(self) -> usize {
        HEAD + FIELD + 1 + FIELD + self.size()
    }

    /// Bytes of a reply with an output.
    pub const fn reply(self) -> usize {
        HEAD + FIELD + self.size()
    }

    /// The number of the call: RSA with the Chinese remainder theorem (RFC 8017, 5.1.2), with a modulus of this size and a clear key.
    pub const fn call(self) -> u16 {
        self as u16 + 1
    }

    /// What stands before the fields of a request of this kind, and of its reply.
    const fn head(self, status: Status) -> Head {
        Head { service: Service::Accelerator, domain: 0, call: self.call(), status: status as u16, number: 0 }
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

    /// The status with a number.
    pub fn with_number(number: u16) -> Option<Status> {
        Status::ALL.into_iter().find(|&status| status as u16 == number)
    }
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
        let fits = key.is_none_or(|key| key.len() == kind.key()) && input.len() == kind.size() && place < PLACES;
        if !fits {
            return None;
        }
        let mut request = Request { length: 0, bytes: [0; MAX_REQUEST] };
        let (head, place) = (kind.head(Status::Done), [place as u8]);
        request.length = match key {
            Some(key) => frame::write(&mut request.bytes, &head, &[(PLACE, &place), (KEY, key), (INPUT, input)]),
            None => frame::write(&mut request.bytes, &head, &[(PLACE, &place), (INPUT, input)]),
        }?;
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
    asked(&Frame::parse(message)?)
}

/// The request in a frame; `None` where it is none of an accelerator.
pub fn asked<'a>(frame: &Frame<'a>) -> Option<Asked<'a>> {
    let head = &frame.head;
    let kind = Kind::ALL.into_iter().find(|kind| kind.call() == head.call)?;
    if head.service != Service::Accelerator || head.status != 0 {
        return None;
    }
    let (place, key, input) = (frame.field(PLACE)?, frame.field(KEY), frame.field(INPUT)?);
    let &[place] = place else { return None };
    let fits = key.is_none_or(|key| key.len() == kind.key())
        && input.len() == kind.size()
        && usize::from(place) < PLACES
        && frame.tags().count() == 2 + usize::from(key.is_some());
    fits.then_some(Asked { kind, place: place.into(), key, input })
}

/// The fields of a reply with an output.
pub fn output(output: &[u8]) -> [(u16, &[u8]); 1] {
    [(OUTPUT, output)]
}

/// Writes a reply into `message`; its length. `out` is empty where the operation is not done.
pub fn write_reply(message: &mut [u8; MAX_REPLY], kind: Kind, status: Status, out: &[u8]) -> usize {
    let fields = output(out);
    let fields = if out.is_empty() { &[] } else { &fields[..] };
    frame::write(message, &kind.head(status), fields).unwrap_or(0)
}

/// Parses a message as the reply to a request of `kind`: the output, or why there is none.
pub fn reply(kind: Kind, message: &[u8]) -> Option<Result<&[u8], Status>> {
    let frame = Frame::parse(message)?;
    let status = Status::with_number(frame.head.status)?;
    if frame.head.service != Service::Accelerator {
        return None;
    }
    match (status, frame.field(OUTPUT), frame.tags().count()) {
        (Status::Done, Some(output), 1) if frame.head.call == kind.call() && output.len() == kind.size() => {
            Some(Ok(output))
        }
        (status, None, 0) if status != Status::Done => Some(Err(status)),
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
                assert_eq!(sent.bytes().len(), if key.is_some() { kind.request() } else { kind.again() });
                assert_eq!(request(sent.bytes()), Some(Asked { kind, place: 3, key, input: &input }));
                // Magic, version, service, call, status, the length of all fields; the first field's tag, zeros, length and the place.
                for at in (0..7).chain(8..16).chain(HEAD..HEAD + FIELD + 1) {
                    let mut other = sent.bytes().to_vec();
                    other[at] ^= 4;
                    assert_eq!(request(&other), None, "{at}");
                }
                assert_eq!(request(&sent.bytes()[1..]), None);
                assert!(Request::new(kind, PLACES, key, &input).is_none());
                assert!(Request::new(kind, 0, key, &input[1..]).is_none());
                // The call of another size, and a field more.
                let mut other = sent.bytes().to_vec();
                other[8] = (kind.call() % 3 + 1) as u8;
                assert_eq!(request(&other), None);
                let mut more = vec![0; MAX_REQUEST + 2 * FIELD];
                let fields: [(u16, &[u8]); 3] = [(PLACE, &[3]), (INPUT, &input), (9, b"")];
                let length = frame::write(&mut more, &kind.head(Status::Done), &fields).unwrap();
                assert_eq!(request(&more[..length]), None);
            }
            assert!(Request::new(kind, 0, Some(&key[1..]), &input).is_none());
        }
        assert_eq!(request(&[]), None);
    }

    #[test]
    fn a_reply_comes_as_it_was_sent() {
        let kind = Kind::Rsa2048;
        let (mut message, out) = ([0; MAX_REPLY], [5; 256]);
        let length = write_reply(&mut message, kind, Status::Done, &out);
        assert_eq!(length, kind.reply());
        assert_eq!(reply(kind, &message[..length]), Some(Ok(&out[..])));
        assert_eq!(reply(Kind::Rsa3072, &message[..length]), None);
        assert_eq!(reply(kind, &message[..length - 1]), None);
        let length = write_reply(&mut message, kind, Status::Busy, &[]);
        assert_eq!(reply(kind, &message[..length]), Some(Err(Status::Busy)));
        assert_eq!(reply(kind, &message[..length - 1]), None);
        assert_eq!(reply(kind, &[]), None);
        // Another version, another service, an unknown status.
        for (at, byte) in [(4, 9), (6, Service::Ep11 as u8), (10, 99)] {
            let mut other = message;
            other[at] = byte;
            assert_eq!(reply(kind, &other[..length]), None);
        }
    }
}
