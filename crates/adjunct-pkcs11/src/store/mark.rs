//! A second record of a token's last change: the file of the writers' lock, beside the token's own.
//!
//! Nothing inside a token's file shows that the whole file is an older copy that was put back. So each change notes the token's identifier and the
//! number of its frame in the other file, and a token's file with a lower number is an older copy, which is reported and not refused. That finds
//! copies that were put back by accident, and not an attacker who puts back both files. The note is neither secret nor authenticated: every user who
//! may write it may also write the token's file.

use super::file::{self, Held, Place};
use super::format::{Behind, Header, Uid, number, u32_at, u64_at};
use super::{FRAMES, Initialized};
use rustix::fs::{Mode, OFlags, open};

const MAGIC: &[u8; 8] = b"adjmark1";
const BYTES: usize = 52;

/// The note of a token's last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    id: Uid,
    key: Uid,
    number: u64,
}

impl Mark {
    fn of(header: &Header, number: u64) -> Mark {
        Mark { id: header.id, key: header.key, number }
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..24].copy_from_slice(&self.id);
        bytes[24..40].copy_from_slice(&self.key);
        bytes[40..48].copy_from_slice(&self.number.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..48]);
        bytes[48..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Mark> {
        let bytes = bytes.get(..BYTES).filter(|bytes| bytes[..8] == *MAGIC)?;
        let whole = crc32fast::hash(&bytes[..48]) == u32_at(bytes, 48);
        whole.then(|| Mark { id: number(bytes, 8), key: number(bytes, 24), number: u64_at(bytes, 40) })
    }

    /// How many changes later it was made than the file was that has come so far, if it was; 0 where both came as far, on different ways.
    fn is_ahead(&self, header: &Header, number: u64) -> Option<u64> {
        let same = self.id == header.id;
        (same && (self.number > number || (self.number == number && self.key != header.key)))
            .then(|| self.number - number)
    }
}

impl Place {
    /// The note, if it can be read.
    pub fn mark(&self) -> Option<Mark> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = open(self.beside(".lock"), flags, Mode::empty()).ok()?;
        Mark::decode(&file::read(&file, 0, BYTES as u64).ok()?)
    }

    /// Notes how far the token has come. It is not waited for, so the file is never behind what is noted; and what is ahead of the file stays
    /// noted, unless `whatever`: an older copy was put back on purpose.
    pub fn note(&self, held: &Held, header: &Header, number: u64, whatever: bool) {
        let noted = || Mark::decode(&file::read(held.file(), 0, BYTES as u64).ok()?);
        if whatever || noted().is_none_or(|noted| noted.is_ahead(header, number).is_none()) {
            let _ = file::write(held.file(), 0, &Mark::of(header, number).encode());
        }
    }
}

impl Initialized {
    /// How many changes older than what is noted the file is, if it is.
    pub(super) fn behind_by(&self, mark: Option<&Mark>) -> Option<u64> {
        mark?.is_ahead(&self.header, self.number)
    }

    /// A remark for the administrator about a file of `length` bytes that is not damaged.
    pub(super) fn remark(&self, mark: Option<&Mark>, length: u64) -> Option<String> {
        if let Some(changes) = self.behind_by(mark) {
            return Some(format!("{}; `adjunct token explain` says what to do", older(changes)));
        }
        (self.behind == Behind::Foreign).then(|| foreign(length.saturating_sub(self.end.max(FRAMES as u64))))
    }
}

/// The remark that an older copy was put in the token's place.
pub fn older(changes: u64) -> String {
    let missing = match changes {
        0 => "its last changes are missing".to_owned(),
        1 => "the last change is missing".to_owned(),
        changes => format!("the last {changes} changes are missing"),
    };
    format!("an older copy was put in its place, {missing}")
}

/// The remark that bytes at the file's end are not adjunct's.
pub fn foreign(bytes: u64) -> String {
    format!(
        "{bytes} bytes at its end are not adjunct's; all before them is there, and `adjunct token repair` takes them away"
    )
}

#[cfg(test)]
mod tests {
    use super::super::format::Version;
    use super::*;

    #[test]
    fn an_older_copy_is_behind_its_mark() {
        let header = Header { version: Version::Two, id: [1; 16], key: [2; 16], serial: [b'0'; 16], label: [b' '; 32] };
        let mark = Mark::of(&header, 9);
        assert_eq!(Mark::decode(&mark.encode()), Some(mark));
        assert_eq!((mark.is_ahead(&header, 9), mark.is_ahead(&header, 10)), (None, None));
        assert_eq!(mark.is_ahead(&header, 7), Some(2));
        let before = Header { key: [3; 16], ..header.clone() };
        assert_eq!(mark.is_ahead(&before, 9), Some(0));
        // Another token's.
        assert_eq!(mark.is_ahead(&Header { id: [4; 16], ..header }, 1), None);
        for at in 0..BYTES {
            let mut bytes = mark.encode();
            bytes[at] ^= 1;
            assert_eq!(Mark::decode(&bytes), None, "{at}");
        }
        assert_eq!(Mark::decode(b""), None);
    }
}
