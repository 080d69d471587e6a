//! The audit log of a coprocessor: who did what, and what was refused. A line of JSON a record; each has the SHA-256 of the line before it and of
//! itself, so that a line that was changed, taken out or put in between shows.
//!
//! ```text
//! {"number":7,"time":"2026-11-27T23:20:01.5Z","event":"commit","uid":0,"domain":5,"result":"done","vault":12,"detail":{...},"chain":"<64 hex digits>"}
//! ```
//!
//! `chain` is SHA-256 of the former line's `chain` (32 zeros before the first) and of the line up to `,"chain"`. Who cuts lines off the end leaves a chain
//! that is whole: the last chain value is therefore kept in the vault as well ([`Log::last`]), and [`verify`] says where the file ends before it. `vault` is the
//! number of the vault's contents when the line was written: a vault whose contents have a lower one was replaced by an older copy.
//!
//! A file may be taken away while no card uses it: the next begins with the number after, and its chain goes on from the vault's value.
//!
//! System calls: `lseek`, `read` and `ftruncate` to open; `write`, `fdatasync` and `fallocate` to write.

use crate::crypt::sha256;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, SeekFrom, Write};

/// The value of a chain: of the last line, or zeros before the first.
pub type Chain = [u8; 32];
/// What an event has to say beside its kind: names and values, never a secret.
pub type Detail = serde_json::Map<String, serde_json::Value>;

/// What stands in a line before its chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Number of the line, from 1 on.
    pub number: u64,
    /// Time of the machine's clock (RFC 3339, UTC).
    pub time: String,
    /// The kind of event.
    pub event: String,
    /// The user of the process that asked.
    pub uid: u32,
    /// The domain that it was about; none for the whole card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<u8>,
    /// `done`, or why not.
    pub result: String,
    /// The number of the vault's contents, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vault: Option<u64>,
    /// All else that the event has to say: never a secret.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub detail: Detail,
}

/// An event that is to be written.
#[derive(Debug, Clone)]
pub struct Event<'a> {
    /// The kind of event.
    pub event: &'a str,
    /// The user of the process that asked.
    pub uid: u32,
    /// The domain that it is about; none for the whole card.
    pub domain: Option<u8>,
    /// `done`, or why not.
    pub result: &'a str,
    /// The number of the vault's contents, where there is one.
    pub vault: Option<u64>,
    /// All else.
    pub detail: Detail,
}

/// The longest line that is read, in bytes.
const LONGEST: u64 = 64 << 10;
const CHAIN: &str = ",\"chain\":\"";

/// Room that is asked for before a change, so that its record finds a place: more than a line.
const ROOM: u64 = 2 * LONGEST;

/// An audit log that is written to.
#[derive(Debug)]
pub struct Log {
    file: File,
    number: u64,
    chain: Chain,
    /// Bytes of the whole lines.
    length: u64,
    /// The number of the vault's contents in the last line.
    vault: Option<u64>,
    /// A write failed, and part of a line may be behind them.
    torn: bool,
}

impl Log {
    /// Goes on with a file, which is open for reading and writing, best for appending. A last line that has no end, which a crash leaves, is taken out, and the
    /// chain goes on from the last whole line.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::InvalidData`] where the last whole line is none of an audit log.
    pub fn open(mut file: File) -> io::Result<Log> {
        let length = file.seek(SeekFrom::End(0))?;
        let from = length.saturating_sub(2 * LONGEST);
        file.seek(SeekFrom::Start(from))?;
        let mut end = Vec::new();
        Read::by_ref(&mut file).take(2 * LONGEST).read_to_end(&mut end)?;
        let whole = end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let last = end[..whole].strip_suffix(b"\n").unwrap_or_default().rsplit(|&byte| byte == b'\n').next();
        let (number, chain, vault) = match last.filter(|line| !line.is_empty()) {
            None if from == 0 && whole == 0 => (0, [0; 32], None),
            line => {
                let (record, chain, _) = line.and_then(parsed).ok_or_else(|| {
                    io::Error::new(io::ErrorKind::InvalidData, "the audit log's last line is none of an audit log")
                })?;
                (record.number, chain, record.vault)
            }
        };
        let torn = whole < end.len();
        let length = from + whole as u64;
        if torn {
            file.set_len(length)?;
        }
        file.seek(SeekFrom::Start(length))?;
        Ok(Log { file, number, chain, length, vault, torn: false })
    }

    /// Number and chain value of the last line.
    #[must_use]
    pub fn last(&self) -> (u64, Chain) {
        (self.number, self.chain)
    }

    /// The number of the vault's contents in the last line.
    #[must_use]
    pub fn vault(&self) -> Option<u64> {
        self.vault
    }

    /// Goes on after a line that is not in this file.
    pub(crate) fn go_on(&mut self, (number, chain): (u64, Chain)) {
        (self.number, self.chain) = (number, chain);
    }

    /// Sees to it that the next line finds room on disk, where the file system can.
    ///
    /// # Errors
    /// What the system says: the disk is full.
    pub fn reserve(&self) -> io::Result<()> {
        match fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.length, ROOM) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            result => Ok(result?),
        }
    }

    /// Writes an event; where it is to be `durable`, it is on disk when this returns.
    ///
    /// # Errors
    /// What the system says: the event is not in the log then. What was written of its line is taken out, now or when the next is written.
    pub fn write(&mut self, event: &Event<'_>, durable: bool) -> io::Result<()> {
        let record = Record {
            number: self.number + 1,
            time: jiff::Timestamp::now().to_string(),
            event: event.event.to_owned(),
            uid: event.uid,
            domain: event.domain,
            result: event.result.to_owned(),
            vault: event.vault,
            detail: event.detail.clone(),
        };
        let (line, chain) = line(&record, &self.chain)?;
        if line.len() as u64 > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "an event of more than 64 KB"));
        }
        if self.torn {
            self.take_back()?;
        }
        self.torn = true;
        let done = self.file.write_all(line.as_bytes());
        let done = done.and_then(|()| if durable { self.file.sync_data() } else { Ok(()) });
        if let Err(error) = done {
            let _ = self.take_back();
            return Err(error);
        }
        (self.number, self.chain, self.vault, self.torn) = (record.number, chain, record.vault, false);
        self.length += line.len() as u64;
        Ok(())
    }

    /// Takes out what was written behind the whole lines.
    fn take_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length))?;
        self.torn = false;
        Ok(())
    }
}

/// The line of a record, and its chain value.
fn line(record: &Record, before: &Chain) -> io::Result<(String, Chain)> {
    let mut text = serde_json::to_string(record)?;
    text.pop();
    let chain = sha256(&[before, text.as_bytes()]);
    text.push_str(CHAIN);
    chain.iter().for_each(|byte| text.push_str(&format!("{byte:02x}")));
    text.push_str("\"}\n");
    Ok((text, chain))
}

/// The record of a line without its end, its chain value, and the bytes that this is of.
fn parsed(line: &[u8]) -> Option<(Record, Chain, &[u8])> {
    let text = std::str::from_utf8(line).ok()?;
    let (bound, digits) = text.rsplit_once(CHAIN)?;
    let digits = digits.strip_suffix("\"}").filter(|digits| digits.len() == 64 && digits.is_ascii())?;
    let mut chain = [0; 32];
    for (byte, at) in chain.iter_mut().zip((0..).step_by(2)) {
        let pair = digits.get(at..at + 2)?;
        if !pair.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    let record = serde_json::from_str(&format!("{bound}}}")).ok()?;
    Some((record, chain, bound.as_bytes()))
}

/// What is wrong with a log.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// A line is none of an audit log: its number, from 1 on.
    #[error("line {0} is none of an audit log")]
    Line(u64),
    /// A line was changed, or one before it was taken out or put in.
    #[error("line {0} does not follow from the line before it: something was changed, taken out or put in")]
    Chain(u64),
    /// The log ends before the line that the card wrote last.
    #[error("it ends with line {0}, and the card has written line {1}: the end was cut off")]
    Cut(u64, u64),
    /// The log's last lines are others than the card wrote.
    #[error("line {0} is another than the card has written")]
    Other(u64),
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads a log from its begin, and gives each record to `each`; number and chain value of its last line. `before` is the line before the file's first, where
/// that is not the first of all ((0, zeros)); `known` is the line that the card wrote last, where that is known. A last line without an end is left out: it is
/// being written, or a crash cut it.
///
/// # Errors
/// [`Broken`]; the records before have been given.
pub fn verify(
    mut log: impl BufRead,
    before: (u64, Chain),
    known: Option<(u64, Chain)>,
    mut each: impl FnMut(Record),
) -> Result<(u64, Chain), Broken> {
    let (mut number, mut chain) = before;
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        Read::by_ref(&mut log).take(LONGEST).read_until(b'\n', &mut bytes)?;
        let next = number.saturating_add(1);
        let Some(line) = bytes.strip_suffix(b"\n") else {
            if bytes.len() as u64 == LONGEST {
                return Err(Broken::Line(next));
            }
            break;
        };
        let (record, claimed, bound) = parsed(line).ok_or(Broken::Line(next))?;
        if record.number != next || sha256(&[&chain, bound]) != claimed {
            return Err(Broken::Chain(next));
        }
        (number, chain) = (next, claimed);
        if known.is_some_and(|(of, value)| of == number && value != chain) {
            return Err(Broken::Other(number));
        }
        each(record);
    }
    match known {
        Some((of, _)) if of > number => Err(Broken::Cut(number, of)),
        _ => Ok((number, chain)),
    }
}

#[cfg(test)]
mod tests;
