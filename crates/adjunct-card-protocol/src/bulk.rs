//! Messages that are longer than a SEQPACKET socket takes: the frame is in a memory file (memfd_create) whose descriptor a short frame brings.
//!
//! The short frame, the *cover*, has the head of the long one and one field ([`COVER`]) with its length (8 bytes, little-endian). The file holds the long frame and
//! nothing else, and is sealed against every change (`F_SEAL_SHRINK`, `F_SEAL_GROW`, `F_SEAL_WRITE`): so the receiver's copy is what is parsed, whatever
//! the sender does, and to copy it waits for nobody. The receiver looks at the seals before it does anything else with a descriptor: only a memory file has any.
//! A reply's file is not sealed against `F_SEAL_SHRINK`: its memory counts as the card's for as long as anybody has the descriptor, so the card empties it when the program
//! asks again or goes.
#![forbid(unsafe_code)]

use crate::frame::{self, FIELD, Frame, HEAD, Head};
use adjunct_base::memory::zeros;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage};
use zeroize::Zeroizing;

/// The field of a cover: the length of the frame in the file.
pub const COVER: u16 = 0xffff;
/// Bytes of a cover.
pub const COVER_LENGTH: usize = HEAD + FIELD + 8;
/// The longest frame that is sent by itself, in bytes: a longer one goes in a file.
pub const INLINE: usize = 100 << 10;
/// Room for the descriptor of a message. The system rounds it up to two on most machines: more come to nobody.
pub const ROOM: usize = rustix::cmsg_space!(ScmRights(1));

/// What the file of a request is sealed against.
const REQUEST: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE);
/// What the file of a reply is: its memory is the card's, which empties it when it has been read.
const REPLY: SealFlags = SealFlags::GROW.union(SealFlags::WRITE);

/// Why a frame does not come out of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// It is no memory file, is not sealed, has another length, or another head than its cover.
    Sender,
    /// There is no memory for the copy.
    Memory,
}

/// The cover of a frame of such a length.
pub fn cover(head: &Head, length: usize) -> [u8; COVER_LENGTH] {
    let mut message = [0; COVER_LENGTH];
    let written = frame::write(&mut message, head, &[(COVER, &(length as u64).to_le_bytes())]);
    debug_assert_eq!(written, Some(COVER_LENGTH));
    message
}

/// The length that a cover says; `None` for a frame that is none.
pub fn covered(frame: &Frame<'_>) -> Option<usize> {
    let is_alone = frame.tags().eq([COVER]);
    let length = u64::from_le_bytes(frame.field(COVER)?.try_into().ok()?);
    usize::try_from(length).ok().filter(|_| is_alone)
}

/// A file that holds these bytes, of a request.
///
/// # Errors
/// What the system says.
pub fn sealed(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    written(bytes, REQUEST)
}

/// A file that holds these bytes, of a reply.
///
/// # Errors
/// What the system says.
pub fn lent(bytes: &[u8]) -> Result<OwnedFd, Errno> {
    written(bytes, REPLY)
}

fn written(bytes: &[u8], seals: SealFlags) -> Result<OwnedFd, Errno> {
    let file = memfd_create("adjunct", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        match rustix::io::write(&file, rest) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => rest = &rest[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    fcntl_add_seals(&file, seals | SealFlags::SEAL)?;
    Ok(file)
}

/// A copy of the request in a file, of the length that its cover says. The descriptor is closed in any case.
///
/// # Errors
/// [`Unfit`].
pub fn opened(file: OwnedFd, head: &Head, length: usize) -> Result<Zeroizing<Vec<u8>>, Unfit> {
    copied(file, REQUEST, head, length)
}

/// A copy of the reply in a file, likewise.
///
/// # Errors
/// [`Unfit`].
pub fn borrowed(file: OwnedFd, head: &Head, length: usize) -> Result<Zeroizing<Vec<u8>>, Unfit> {
    copied(file, REPLY, head, length)
}

fn copied(file: OwnedFd, seals: SealFlags, head: &Head, length: usize) -> Result<Zeroizing<Vec<u8>>, Unfit> {
    if !fcntl_get_seals(&file).is_ok_and(|found| found.contains(seals)) {
        return Err(Unfit::Sender);
    }
    let mut copy = zeros(length).map_err(|_| Unfit::Memory)?;
    // A request's length cannot change any more.
    if read_at(&file, &mut copy, 0) != length || read_at(&file, &mut [0], length) != 0 {
        return Err(Unfit::Sender);
    }
    drop(file);
    match Frame::parse(&copy) {
        Some(frame) if frame.head == *head && covered(&frame).is_none() => Ok(copy),
        _ => Err(Unfit::Sender),
    }
}

/// Reads until the end or until the bytes are full; how many came.
fn read_at(file: impl AsFd, bytes: &mut [u8], at: usize) -> usize {
    let mut length = 0;
    while length < bytes.len() {
        match rustix::io::pread(&file, &mut bytes[length..], (at + length) as u64) {
            Ok(count @ 1..) => length += count,
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => break,
        }
    }
    length
}

/// The descriptor that came with a message: the only one. `Err` where more came; all are closed then.
///
/// # Errors
/// Nothing but that.
pub fn descriptor(rights: &mut RecvAncillaryBuffer<'_>) -> Result<Option<OwnedFd>, Unfit> {
    let mut all = rights.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(list) => list.collect(),
        _ => Vec::new(),
    });
    match (all.next(), all.next()) {
        (first, None) => Ok(first),
        _ => Err(Unfit::Sender),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Service;

    const OF: Head = Head { service: Service::Test, domain: 3, call: 9, status: 0, number: 77 };

    fn frame_of(head: &Head, bytes: &[u8]) -> Vec<u8> {
        let mut message = vec![0; frame::length(&[(1, bytes)]).unwrap()];
        frame::write(&mut message, head, &[(1, bytes)]).unwrap();
        message
    }

    fn unsealed(bytes: &[u8], seals: SealFlags) -> OwnedFd {
        let file = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        assert_eq!(rustix::io::write(&file, bytes), Ok(bytes.len()));
        fcntl_add_seals(&file, seals).unwrap();
        file
    }

    #[test]
    fn a_frame_comes_out_of_its_file() {
        let message = frame_of(&OF, &vec![7; 300_000]);
        let cover = cover(&OF, message.len());
        let parsed = Frame::parse(&cover).unwrap();
        assert_eq!((parsed.head, covered(&parsed)), (OF, Some(message.len())));
        let file = sealed(&message).unwrap();
        assert_eq!(rustix::io::pwrite(&file, b"x", 0), Err(Errno::PERM));
        assert_eq!(opened(file, &OF, message.len()).unwrap()[..], message[..]);
        let (file, emptied) = (lent(&message).unwrap(), lent(&message).unwrap());
        assert_eq!(rustix::io::pwrite(&file, b"x", 0), Err(Errno::PERM));
        assert_eq!(opened(file.try_clone().unwrap(), &OF, message.len()), Err(Unfit::Sender));
        assert_eq!(borrowed(file, &OF, message.len()).unwrap()[..], message[..]);
        rustix::fs::ftruncate(&emptied, 0).unwrap();
        assert_eq!(borrowed(emptied, &OF, message.len()), Err(Unfit::Sender));
    }

    #[test]
    fn what_could_change_or_is_of_another_length_or_another_frame_is_refused() {
        let message = frame_of(&OF, b"bytes");
        let length = message.len();
        for missing in [SealFlags::SHRINK, SealFlags::GROW, SealFlags::WRITE] {
            let file = unsealed(&message, REQUEST.difference(missing));
            assert_eq!(opened(file, &OF, length), Err(Unfit::Sender), "{missing:?}");
        }
        for other in [0, 1, length - 1, length + 1, 2 * length] {
            assert_eq!(opened(sealed(&message).unwrap(), &OF, other), Err(Unfit::Sender), "{other}");
        }
        for head in [Head { number: 78, ..OF }, Head { domain: 4, ..OF }, Head { call: 8, ..OF }] {
            assert_eq!(opened(sealed(&message).unwrap(), &head, length), Err(Unfit::Sender), "{head:?}");
        }
        assert_eq!(opened(sealed(&message).unwrap(), &OF, usize::MAX), Err(Unfit::Memory));
        let again = cover(&OF, length);
        assert_eq!(opened(sealed(&again).unwrap(), &OF, again.len()), Err(Unfit::Sender), "a cover of a cover");
        let (reader, writer) = std::io::pipe().unwrap();
        for other in [OwnedFd::from(reader), writer.into(), std::fs::File::open("/dev/zero").unwrap().into()] {
            assert_eq!(opened(other, &OF, length), Err(Unfit::Sender));
        }
    }

    #[test]
    fn a_cover_has_its_length_and_nothing_else() {
        let parsed = |fields: &[(u16, &[u8])]| {
            let mut message = vec![0; frame::length(fields).unwrap()];
            frame::write(&mut message, &OF, fields).unwrap();
            covered(&Frame::parse(&message).unwrap())
        };
        assert_eq!(parsed(&[(COVER, &5_u64.to_le_bytes())]), Some(5));
        assert_eq!(parsed(&[(1, b"x"), (COVER, &5_u64.to_le_bytes())]), None);
        assert_eq!((parsed(&[(COVER, &[5; 4])]), parsed(&[(1, &[0; 8])])), (None, None));
    }
}
