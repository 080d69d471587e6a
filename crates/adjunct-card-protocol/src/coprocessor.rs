//! The client of a coprocessor's own interface: a request goes to a card and domain that the caller names, and its reply comes back, both as the bytes of that
//! interface (for EP11 the DER of a request and of its reply).
//!
//! A request is a frame ([`crate::frame`]) of the service with the call's number and the field [`Field::Input`]; its reply has the field [`Field::Output`] and status 0,
//! or another status ([`Status`]) and no field. What is longer than a socket takes goes in a sealed file ([`crate::bulk`]). What the coprocessor says of a request in its own
//! codes is within the reply's bytes: a status is said only of requests that it has not looked at.
//!
//! Connections are kept between requests, each for one thread at a time; a child of fork makes its own. A request goes only to a process of root or of the user's own, which is
//! asked of the system when the connection is made, and only to the socket of that connection ([`crate::secure`] has the same). A busy card is waited for. Where
//! a card goes during a request, the caller is told and may take another.
//!
//! A program that calls a coprocessor's interface has nothing else that could serve it. So filters of system calls, which keep other programs from asking cards unless they are told to, do
//! not matter here; `ADJUNCT_CARDS=off` does.
#![forbid(unsafe_code)]

use crate::connection::{self, Peer, Refused};
use crate::frame::{self, FIELD, Frame, HEAD, Head, Service};
use crate::secure::{Field, Status, address, is_for_tests, number_of, places as places_of, settings};
use crate::{crowd, reference, wire};
use adjunct_base::memory::zeros;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use zeroize::Zeroizing;

/// The call that brings a request of EP11 in its DER form.
pub const EP11_REQUEST: u16 = 0x100;
/// The longest request or reply, in bytes: a card may take less.
pub const LONGEST: usize = 64 << 20;
/// The longest that a request is waited for: the generation of a long key takes minutes.
pub const LIMIT: Duration = Duration::from_secs(600);
/// The longest pause between two requests to a busy card.
const PAUSE: Duration = Duration::from_millis(50);

/// A domain of a card that has a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The card.
    pub card: u8,
    /// The domain.
    pub domain: u8,
}

/// Why there is no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failed {
    /// The user has switched cards off for this program (`ADJUNCT_CARDS=off`).
    Off,
    /// There is no such card and domain, nobody serves it, or this user may not use it.
    Nobody,
    /// The card ended, or went offline, while it was asked. Whether it has done the request is not known.
    Gone,
    /// The card had enough to do, for all of the time.
    Busy,
    /// No reply came in time.
    Silent,
    /// The request is longer than [`LONGEST`], or than the card takes.
    TooLong,
    /// The card could not do it: it lacks memory, or the reply was longer than it sends.
    Failed,
    /// There is no memory.
    Memory,
}

impl Failed {
    /// Whether another card with the same keys may do the request.
    pub fn another_may(self) -> bool {
        matches!(self, Failed::Nobody | Failed::Gone | Failed::Busy | Failed::Silent | Failed::Failed)
    }

    /// Why, in words.
    pub fn why(self) -> &'static str {
        match self {
            Failed::Off => "cards are switched off for this program (ADJUNCT_CARDS=off)",
            Failed::Nobody => "nobody serves that card and domain for this user",
            Failed::Gone => "the card went offline during the request",
            Failed::Busy => "the card is busy",
            Failed::Silent => "the card did not reply in time",
            Failed::TooLong => "the request is too long",
            Failed::Failed => "the card could not do it",
            Failed::Memory => "there is no memory for it",
        }
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.why())
    }
}

impl std::error::Error for Failed {}

/// The folders whose sockets of a service count, with their numbers.
fn folders(service: Service) -> impl Iterator<Item = (usize, &'static PathBuf)> {
    let all = settings().folders.iter().enumerate();
    all.filter(move |(_, folder)| service != Service::Test || is_for_tests(folder))
}

/// The cards and domains of a service that have sockets, ascending. Whether somebody listens, and serves this user, is seen when one is asked.
pub fn places(service: Service) -> Vec<Place> {
    let Some(mode) = reference::mode(service).filter(|_| !settings().off) else { return Vec::new() };
    let found = folders(service).flat_map(|(_, folder)| places_of(folder, mode));
    let place = |place| Some(Place { card: (place >> 16) as u8, domain: u8::try_from(place & 0xffff).ok()? });
    let mut found: Vec<Place> = found.filter_map(place).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Has a card and domain of a service do a request; the bytes of the reply. It is waited for that long, and not longer than [`LIMIT`].
///
/// # Errors
/// [`Failed`]. Where the card went during the request and a new connection could be made, the request was sent once more.
pub fn exchange(
    service: Service,
    place: Place,
    call: u16,
    input: &[u8],
    patience: Duration,
) -> Result<Zeroizing<Vec<u8>>, Failed> {
    static NUMBER: AtomicU64 = AtomicU64::new(1 << 32);
    if settings().off {
        return Err(Failed::Off);
    }
    if input.len() > LONGEST {
        return Err(Failed::TooLong);
    }
    let number = NUMBER.fetch_add(1, Relaxed);
    let head = Head { service, domain: place.domain, call, status: 0, number };
    let fields: [(u16, &[u8]); 1] = [(Field::Input as u16, input)];
    let mut message = zeros(HEAD + FIELD + input.len()).map_err(|_| Failed::Memory)?;
    frame::write(&mut message, &head, &fields).ok_or(Failed::TooLong)?;
    let milliseconds = u64::try_from(patience.min(LIMIT).as_millis()).unwrap_or(u64::MAX);
    let until = crowd::now().saturating_add(milliseconds);
    let mut pause = Duration::from_millis(1);
    loop {
        match ask(place, &head, &message, until) {
            Err(Failed::Busy) if crowd::now() < until => {
                std::thread::sleep(pause);
                pause = (2 * pause).min(PAUSE);
            }
            done => return done,
        }
    }
}

/// Asks once: in the first folder where the card and domain has a socket.
fn ask(place: Place, head: &Head, message: &[u8], until: u64) -> Result<Zeroizing<Vec<u8>>, Failed> {
    let mode = reference::mode(head.service).ok_or(Failed::Nobody)?;
    let number = u32::from(place.card) << 16 | u32::from(place.domain);
    let is_reply = |reply: &Head| Head { status: 0, ..*reply } == *head;
    for (folder, path) in folders(head.service) {
        let Some(address) = address(path, mode, number) else { continue };
        let peer = Peer::of_domain(&address, number_of(head.service, folder, number), path, true);
        match connection::converse_whole(&peer, head, message, LONGEST, until, is_reply) {
            Ok(reply) => return output(reply, is_reply),
            Err(Refused::Unreachable | Refused::Nobody) => {}
            Err(Refused::Full) => return Err(Failed::Busy),
            Err(Refused::Silent | Refused::NotAccepted) => return Err(Failed::Silent),
            Err(Refused::Unfit) => return Err(Failed::Memory),
            Err(Refused::Gone | Refused::Said(_)) => return Err(Failed::Gone),
        }
    }
    Err(Failed::Nobody)
}

/// The output of a reply, which is moved to the front of its memory.
fn output(mut reply: Zeroizing<Vec<u8>>, is_reply: impl Fn(&Head) -> bool) -> Result<Zeroizing<Vec<u8>>, Failed> {
    let frame = Frame::parse(&reply).ok_or(Failed::Gone)?;
    if !is_reply(&frame.head) {
        // What a card says to whom it does not take in has no number.
        let is_refusal = frame.head.number == 0 && frame.head.status == wire::Status::Connections as u16;
        return Err(if is_refusal { Failed::Busy } else { Failed::Gone });
    }
    match Status::ALL.into_iter().find(|&status| status as u16 == frame.head.status) {
        Some(Status::Done) => {}
        Some(Status::Busy) => return Err(Failed::Busy),
        Some(Status::Again) => return Err(Failed::Gone),
        Some(Status::Input) => return Err(Failed::TooLong),
        _ => return Err(Failed::Failed),
    }
    let length = frame.field(Field::Output as u16).filter(|_| frame.tags().count() == 1).map(<[u8]>::len);
    let length = length.ok_or(Failed::Gone)?;
    let start = reply.len() - length;
    reply.copy_within(start.., 0);
    reply.truncate(length);
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Head = Head { service: Service::Ep11, domain: 5, call: EP11_REQUEST, status: 0, number: 1 << 40 };

    fn replied(head: &Head, fields: &[(u16, &[u8])]) -> Result<Vec<u8>, Failed> {
        let mut message = zeros(frame::length(fields).unwrap()).unwrap();
        frame::write(&mut message, head, fields).unwrap();
        output(message, |reply| Head { status: 0, ..*reply } == ASKED).map(|output| output.to_vec())
    }

    #[test]
    fn the_output_or_the_reason_comes_out_of_a_reply() {
        let done: &[(u16, &[u8])] = &[(Field::Output as u16, b"reply")];
        assert_eq!(replied(&ASKED, done).unwrap(), b"reply");
        assert_eq!(replied(&Head { number: 7, ..ASKED }, done), Err(Failed::Gone));
        assert_eq!(replied(&ASKED, &[]), Err(Failed::Gone));
        assert_eq!(replied(&ASKED, &[(3, b"x"), (4, b"y")]), Err(Failed::Gone));
        for (status, failed) in [
            (Status::Busy, Failed::Busy),
            (Status::Again, Failed::Gone),
            (Status::Input, Failed::TooLong),
            (Status::Failed, Failed::Failed),
        ] {
            assert_eq!(replied(&Head { status: status as u16, ..ASKED }, &[]), Err(failed));
        }
        let refused = Head { domain: 0, call: 0, number: 0, status: wire::Status::Connections as u16, ..ASKED };
        assert_eq!(replied(&refused, &[]), Err(Failed::Busy));
    }

    #[test]
    fn without_a_card_there_is_nobody() {
        let place = Place { card: 0xfe, domain: 0xfe };
        let asked = exchange(Service::Ep11, place, EP11_REQUEST, b"", Duration::from_secs(1));
        assert_eq!(asked.map(drop), Err(Failed::Nobody));
        assert_eq!(exchange(Service::Accelerator, place, 1, b"", Duration::ZERO).map(drop), Err(Failed::Nobody));
        assert!(places(Service::Accelerator).is_empty());
    }
}
