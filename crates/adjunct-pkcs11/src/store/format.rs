//! The file of a store token.
//!
//! One file holds a token: `header, counters, frame, frame, ...`. It only grows, by whole frames, until it is written anew and put in
//! its place by rename. All numbers are little endian, whatever the machine.
//!
//! | at | bytes | what |
//! | --- | --- | --- |
//! | 0 | 16 | magic |
//! | 16 | 4 | version; the first 128 bytes keep their meaning in every version |
//! | 20 | 16 | identifier of the token, random, new with each initialization |
//! | 36 | 16 | serial number, text |
//! | 52 | 32 | label, blanks behind |
//! | 84 | 40 | zeros |
//! | 124 | 4 | CRC-32 of all that |
//! | 128 | 2 x 32 | failed tries of the PINs, twice: written in turn, in place, so that a disk that is full stops no login and one that is torn loses none that was acknowledged. Number of the change (8), tries of the user and of the security officer (1 each), zeros (18), CRC-32 (4) |
//! | 192 | 64 | identifier, serial number and the first 28 bytes of the label once more, CRC-32 (4): for repair |
//! | 256 | | frames |
//!
//! A frame is a transaction: it counts as a whole or not at all. Magic (4), length of its records (4), its number (8; the next one's is
//! 1 more), zeros (4), CRC-32 of these (4); the records; its link of the chain (16); CRC-32 of all that (4).
//!
//! A record is a head of 64 bytes and a body: kind (1), zeros (3), length of the body (4), identifier (16), number of the frame that it
//! was first written in (8), nonce (12), tag (16), zeros (4).
//!
//! * Kinds: an object whose attributes anybody may read; one that is sealed and private; one that is sealed and public (a key, which is never
//!   written in clear); that an object is gone; a role (identifier 1 the user, 2 the security officer) with how its PIN opens the token key.
//! * Tags are those of AES-256-GCM under a key for this identifier and number (HMAC-SHA-256 of both under the token key). What is
//!   authenticated: the token's identifier, the first 32 bytes of the head, and the body where it is not sealed.
//! * The body of an object is all its attributes ([`super::body`]), that of a role a [`Role`].
//! * A link of the chain is HMAC-SHA-256, 16 bytes of it, over the link before, the frame's head and its records' heads; the first is over the
//!   file's first 128 bytes. So frames cannot be taken away, put in or moved, but for the last ones: who can put back an old file
//!   as a whole is not found out.
//!
//! What is behind the last whole frame is of a writer that was killed or had no room, and counts as not there, if it is shorter than it
//! should be or ends in zeros. All else that does not fit is damage. Heads of frames are found again by their magic and CRC, and each
//! record stands for itself, so what can be read of a damaged file can be kept.

use super::tpm::Sealed;
use super::trouble::Trouble;

/// The version of this format.
pub const VERSION: u32 = 1;
pub const MAGIC: &[u8; 16] = b"adjunct-token\r\n\x1a";
/// Bytes of the header.
pub const HEADER: usize = 128;
/// Where the counters are, and bytes of each.
pub const COUNTERS: usize = 128;
pub const COUNTER: usize = 32;
/// Where what a header says stands again.
pub const AGAIN: usize = 192;
/// Where the frames begin.
pub const FRAMES: usize = 256;
const FRAME_MAGIC: [u8; 4] = *b"\x89Fr\n";
const FRAME_HEAD: usize = 24;
const FRAME_TAIL: usize = 20;
/// Bytes of a record's head; those of it that are authenticated.
pub const RECORD_HEAD: usize = 64;
pub const RECORD_BOUND: usize = 32;
/// The longest records of a frame. No transaction comes near.
const LONGEST: usize = 1 << 28;

/// Identifiers of tokens and objects.
pub type Uid = [u8; 16];
pub type Link = [u8; 16];
type Result<T> = std::result::Result<T, Trouble>;

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut number = [0; N];
    number.copy_from_slice(&bytes[at..at + N]);
    number
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(number(bytes, at))
}

/// Ends bytes with the CRC of those before.
fn seal_crc(bytes: &mut [u8]) {
    let at = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..at]);
    bytes[at..].copy_from_slice(&crc.to_le_bytes());
}

fn crc_fits(bytes: &[u8]) -> bool {
    let at = bytes.len() - 4;
    crc32fast::hash(&bytes[..at]) == u32_at(bytes, at)
}

/// What a file begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub id: Uid,
    pub serial: [u8; 16],
    pub label: [u8; 32],
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..20].copy_from_slice(&VERSION.to_le_bytes());
        bytes[20..36].copy_from_slice(&self.id);
        bytes[36..52].copy_from_slice(&self.serial);
        bytes[52..84].copy_from_slice(&self.label);
        seal_crc(&mut bytes);
        bytes
    }

    /// What stands at 192.
    pub fn encode_again(&self) -> [u8; FRAMES - AGAIN] {
        let mut bytes = [0; FRAMES - AGAIN];
        bytes[..16].copy_from_slice(&self.id);
        bytes[16..32].copy_from_slice(&self.serial);
        bytes[32..60].copy_from_slice(&self.label[..28]);
        seal_crc(&mut bytes);
        bytes
    }

    /// What can be read of it where it is damaged.
    pub fn decode_again(bytes: &[u8]) -> Option<Header> {
        let again = bytes.get(AGAIN..FRAMES).filter(|again| crc_fits(again))?;
        let mut label = [b' '; 32];
        label[..28].copy_from_slice(&again[32..60]);
        Some(Header { id: number(again, 0), serial: number(again, 16), label })
    }

    /// # Errors
    /// [`Trouble::Newer`], [`Trouble::Damaged`].
    pub fn decode(bytes: &[u8]) -> Result<Header> {
        if bytes.len() < FRAMES || bytes[..16] != *MAGIC || !crc_fits(&bytes[..HEADER]) {
            return Err(Trouble::Damaged);
        }
        match u32_at(bytes, 16) {
            VERSION => Ok(Header { id: number(bytes, 20), serial: number(bytes, 36), label: number(bytes, 52) }),
            0 => Err(Trouble::Damaged),
            newer => Err(Trouble::Newer(newer)),
        }
    }
}

/// Failed tries of PINs since the last that was right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    change: u64,
    /// Of the user and of the security officer.
    pub tries: [u8; 2],
}

impl Counters {
    /// Those that are written next, and where.
    pub fn next(self, tries: [u8; 2]) -> (Counters, usize) {
        let change = self.change + 1;
        (Counters { change, tries }, COUNTERS + COUNTER * (change % 2) as usize)
    }

    pub fn encode(self) -> [u8; COUNTER] {
        let mut bytes = [0; COUNTER];
        bytes[..8].copy_from_slice(&self.change.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.tries);
        seal_crc(&mut bytes);
        bytes
    }

    /// The newer of both, of [`FRAMES`] bytes of a file.
    ///
    /// # Errors
    /// [`Trouble::Damaged`] where neither is whole.
    pub fn decode(bytes: &[u8]) -> Result<Counters> {
        let places = bytes[COUNTERS..].chunks_exact(COUNTER).take(2).filter(|place| crc_fits(place));
        let read = places.map(|place| Counters { change: u64_at(place, 0), tries: number(place, 8) });
        read.max_by_key(|counters| counters.change).ok_or(Trouble::Damaged)
    }
}

/// Kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Open = 1,
    Private = 2,
    Sealed = 3,
    Gone = 4,
    Role = 5,
}

/// A record in a file.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    pub kind: Kind,
    pub uid: Uid,
    pub version: u64,
    pub head: &'a [u8],
    pub body: &'a [u8],
    /// Head and body.
    pub whole: &'a [u8],
}

impl Record<'_> {
    /// Whether what means nothing is as it is written: few bytes that are no record look so.
    pub fn is_plausible(&self) -> bool {
        self.head[1..4] == [0; 3] && self.head[60..] == [0; 4]
    }

    pub fn nonce(&self) -> [u8; 12] {
        number(self.head, 32)
    }

    pub fn tag(&self) -> [u8; 16] {
        number(self.head, 44)
    }
}

/// The head of a record, without nonce and tag.
pub fn record_head(kind: Kind, uid: &Uid, version: u64, body: usize) -> [u8; RECORD_HEAD] {
    let mut head = [0; RECORD_HEAD];
    head[0] = kind as u8;
    head[4..8].copy_from_slice(&(body as u32).to_le_bytes());
    head[8..24].copy_from_slice(uid);
    head[24..32].copy_from_slice(&version.to_le_bytes());
    head
}

/// Writes nonce and tag into the head of a record.
pub fn close_record(head: &mut [u8], nonce: &[u8; 12], tag: &[u8; 16]) {
    head[32..44].copy_from_slice(nonce);
    head[44..60].copy_from_slice(tag);
}

/// The record that some bytes begin with; `None` where they cannot be one.
pub fn record(bytes: &[u8]) -> Option<Record<'_>> {
    let kind = match bytes.first()? {
        1 => Kind::Open,
        2 => Kind::Private,
        3 => Kind::Sealed,
        4 => Kind::Gone,
        5 => Kind::Role,
        _ => return None,
    };
    let whole = bytes.get(..RECORD_HEAD + u32_at(bytes.get(..RECORD_HEAD)?, 4) as usize)?;
    let (head, body) = whole.split_at(RECORD_HEAD);
    Some(Record { kind, uid: number(head, 8), version: u64_at(head, 24), head, body, whole })
}

/// The records in some bytes.
///
/// # Errors
/// [`Trouble::Damaged`].
pub fn records(mut bytes: &[u8]) -> Result<Vec<Record<'_>>> {
    // Most often it is one.
    let mut records = Vec::with_capacity(1);
    while !bytes.is_empty() {
        let record = record(bytes).ok_or(Trouble::Damaged)?;
        bytes = &bytes[record.whole.len()..];
        records.push(record);
    }
    Ok(records)
}

/// A frame in a file.
#[derive(Debug)]
pub struct Frame<'a> {
    pub number: u64,
    pub head: &'a [u8],
    pub records: Vec<Record<'a>>,
    pub link: Link,
    /// See [`tail`].
    pub tail: &'a [u8],
    /// All its bytes.
    pub length: usize,
}

/// What no two frames end with alike.
pub fn tail(frame: &[u8]) -> &[u8] {
    &frame[frame.len().saturating_sub(FRAME_TAIL)..]
}

/// The frames that `bytes` begin with, the first with any number if `after` is 0. What is behind them is not whole.
///
/// # Errors
/// [`Trouble::Damaged`].
pub fn frames(bytes: &[u8], after: u64) -> Result<Vec<Frame<'_>>> {
    let (mut frames, mut at, mut after) = (Vec::new(), 0, after);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let torn = || if rest.ends_with(&[0; 4]) { Ok(()) } else { Err(Trouble::Damaged) };
        if rest.len() < FRAME_HEAD {
            break;
        }
        let head = &rest[..FRAME_HEAD];
        if head[..4] != FRAME_MAGIC || !crc_fits(head) {
            torn()?;
            break;
        }
        let (records_length, frame) = (u32_at(head, 4) as usize, u64_at(head, 8));
        if records_length > LONGEST || (after != 0 && frame != after + 1) || frame == 0 {
            return Err(Trouble::Damaged);
        }
        let length = FRAME_HEAD + records_length + FRAME_TAIL;
        if rest.len() < length {
            break;
        }
        if !crc_fits(&rest[..length]) {
            if rest[length..].iter().any(|byte| *byte != 0) {
                return Err(Trouble::Damaged);
            }
            torn()?;
            break;
        }
        let records = records(&rest[FRAME_HEAD..FRAME_HEAD + records_length])?;
        let link = number(rest, FRAME_HEAD + records_length);
        frames.push(Frame { number: frame, head, records, link, tail: tail(&rest[..length]), length });
        (at, after) = (at + length, frame);
    }
    Ok(frames)
}

/// The number of a frame that bytes begin with, by its head alone, and what is there of its records.
pub fn frame_head(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let head = bytes.get(..FRAME_HEAD).filter(|head| head[..4] == FRAME_MAGIC && crc_fits(head))?;
    let records = &bytes[FRAME_HEAD..];
    Some((u64_at(head, 8), records.get(..u32_at(head, 4) as usize).unwrap_or(records)))
}

/// A frame of records; `link` makes its link of its head and of the records.
///
/// # Errors
/// [`Trouble::TooLong`].
pub fn frame(number: u64, records: &[u8], link: impl FnOnce(&[u8]) -> Link) -> Result<(Vec<u8>, Link)> {
    if records.len() > LONGEST {
        return Err(Trouble::TooLong);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(FRAME_HEAD + records.len() + FRAME_TAIL).map_err(|_| Trouble::Memory)?;
    bytes.extend(FRAME_MAGIC);
    bytes.extend((records.len() as u32).to_le_bytes());
    bytes.extend(number.to_le_bytes());
    bytes.extend([0; 8]);
    seal_crc(&mut bytes);
    let link = link(&bytes);
    bytes.extend_from_slice(records);
    bytes.extend(link);
    bytes.extend([0; 4]);
    seal_crc(&mut bytes);
    Ok((bytes, link))
}

/// How a PIN opens the token key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Of Argon2id: KiB of memory, passes, lanes.
    pub cost: [u32; 3],
    pub salt: [u8; 32],
    pub nonce: [u8; 12],
    pub sealed: [u8; 32],
    pub tag: [u8; 16],
    /// The secret that is needed, too, where a TPM is.
    pub tpm: Option<Sealed>,
}

impl Role {
    const BYTES: usize = 108;
    /// The derivation. 1: Argon2id, version 0x13; 2: the same, and a secret that a TPM has sealed: behind the rest stand the storage key's
    /// point (64), and the public and the private area of the secret, each behind its length (2).
    const ARGON2ID: u32 = 1;
    const WITH_TPM: u32 = 2;

    pub fn encode(&self) -> Vec<u8> {
        let bound = self.bound();
        let (front, behind) = bound.split_at(48);
        [front, &self.nonce, &self.sealed, &self.tag, behind].concat()
    }

    /// What the derivation depends on.
    pub fn bound(&self) -> Vec<u8> {
        let derivation = if self.tpm.is_some() { Role::WITH_TPM } else { Role::ARGON2ID };
        let numbers = [derivation, self.cost[0], self.cost[1], self.cost[2]];
        let mut bytes = [numbers.map(u32::to_le_bytes).as_flattened(), &self.salt].concat();
        if let Some(sealed) = &self.tpm {
            bytes.extend(sealed.parent);
            for area in [&sealed.public, &sealed.private] {
                bytes.extend((area.len() as u16).to_le_bytes());
                bytes.extend_from_slice(area);
            }
        }
        bytes
    }

    /// # Errors
    /// [`Trouble::Damaged`].
    pub fn decode(bytes: &[u8]) -> Result<Role> {
        let behind = bytes.get(Role::BYTES..).ok_or(Trouble::Damaged)?;
        let tpm = match u32_at(bytes, 0) {
            Role::ARGON2ID if behind.is_empty() => None,
            Role::WITH_TPM => Some(sealed(behind).ok_or(Trouble::Damaged)?),
            _ => return Err(Trouble::Damaged),
        };
        Ok(Role {
            cost: [4, 8, 12].map(|at| u32_at(bytes, at)),
            salt: number(bytes, 16),
            nonce: number(bytes, 48),
            sealed: number(bytes, 60),
            tag: number(bytes, 92),
            tpm,
        })
    }
}

/// What a TPM has sealed, of the bytes behind a role's.
fn sealed(bytes: &[u8]) -> Option<Sealed> {
    let (parent, mut rest) = bytes.split_at_checked(64)?;
    let mut areas = [Vec::new(), Vec::new()];
    for area in &mut areas {
        let (length, behind) = rest.split_at_checked(2)?;
        let (bytes, behind) = behind.split_at_checked(usize::from(u16::from_le_bytes(number(length, 0))))?;
        (*area, rest) = (bytes.to_vec(), behind);
    }
    let [public, private] = areas;
    rest.is_empty().then(|| Sealed { parent: number(parent, 0), public, private })
}
