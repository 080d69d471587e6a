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
//! | 84 | 16 | identifier of the token key, random, new with each key |
//! | 100 | 24 | zeros |
//! | 124 | 4 | CRC-32 of all that |
//! | 128 | 2 x 32 | failed tries of the PINs, twice: written in turn, in place, so that a disk that is full stops no login and one that is torn loses none that was acknowledged. Number of the change (8), tries of the user and of the security officer (1 each), zeros (2), how often records were ended in place without a frame (4), zeros (12), CRC-32 (4) |
//! | 192 | 64 | identifier, serial number and the first 28 bytes of the label once more, CRC-32 (4): for repair |
//! | 256 | | frames |
//!
//! A frame is a transaction: it counts as a whole or not at all. Magic (4), length of its records (4), its number (8; the next one's is
//! 1 more), its joint (4), CRC-32 of these (4); the records; its link of the chain (16); CRC-32 of all that but slots (4).
//!
//! A record is a head of 64 bytes, a slot of 32 where it is an object's, and a body: kind (1), zeros (3), length of the body (4),
//! identifier (16), number of the frame that it was first written in (8), nonce (12), tag (16), zeros (4).
//!
//! * Kinds: an object whose attributes anybody may read; one that is sealed and private; one that is sealed and public (a key, which is never
//!   written in clear); that an object is gone; a role (identifier 1 the user, 2 the security officer) with how its PIN opens the token key.
//! * A slot is 28 random bytes and their CRC-32 (4), a part of the record's key. When the record no longer counts, the slot is overwritten in place,
//!   once and for good, by 28 bytes that only a holder of the token key can make (HMAC-SHA-256 of identifier and number) and the complement of their
//!   CRC-32: from then on nothing opens the record, not even the token key in a file that was cut before the frame which says that the object is
//!   gone. On a disk without room for such a frame the overwriting alone destroys an object.
//! * Tags are those of AES-256-GCM under a key for this identifier, number and slot (HMAC-SHA-256 of them under the token key). What is
//!   authenticated: the token's identifier, the first 32 bytes of the head, and the body where it is not sealed.
//! * The body of an object is all its attributes ([`super::body`]), that of a role a [`super::role::Role`].
//! * A joint is the CRC-32 of the last 20 bytes of the frame before, of the first 128 bytes of the file for the first, never 0: without
//!   any key it shows frames of two writers that did not know of each other.
//! * A link of the chain is HMAC-SHA-256, 16 bytes of it, over the link before, the frame's head and its records' heads; the first is over the file's
//!   first 128 bytes. So frames cannot be removed, inserted or moved, except that the last ones can be cut off; the file itself does not show that an
//!   old file was put back as a whole ([`super::mark`] does).
//! * Roles are in the first frames alone: a change of a PIN writes a new file under a new token key ([`super::renew`]).
//!
//! Version 1, which older modules write and read, has no slots, no identifier of the key, roles in any frame (the last of each counts), and zeros in
//! the place of joints, unless a newer module has added a frame. Such a file stays in version 1, so that programs that still run the older module can
//! use it, until a PIN is changed, or a sealed object in a large file is destroyed: the file is then written anew in version 2.
//!
//! Bytes after the last whole frame come from a writer that was killed or had no room, and are ignored, if they are fewer than the frame should have
//! or end in zeros. Other bytes there, with which no frame begins, are ignored: all before them counts. All else that does not fit is damage. Heads
//! of frames are found again by their magic and CRC, and each record stands for itself, so what can be read of a damaged file can be kept.

use super::trouble::Trouble;

/// A version of this format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One = 1,
    Two = 2,
}

pub const MAGIC: &[u8; 16] = b"adjunct-token\r\n\x1a";
/// Bytes of the header.
pub const HEADER: usize = 128;
/// Offset of the counters; each has [`COUNTER`] bytes.
pub const COUNTERS: usize = 128;
pub const COUNTER: usize = 32;
/// Offset of the second copy of what the header says.
pub const AGAIN: usize = 192;
/// Offset of the first frame.
pub const FRAMES: usize = 256;
const FRAME_MAGIC: [u8; 4] = *b"\x89Fr\n";
pub const FRAME_HEAD: usize = 24;
const FRAME_TAIL: usize = 20;
/// Bytes of a record's head; those of it that are authenticated.
pub const RECORD_HEAD: usize = 64;
pub const RECORD_BOUND: usize = 32;
/// Bytes of a slot; those of it that are random.
pub const SLOT: usize = 32;
pub const SLOT_RANDOM: usize = 28;
/// The longest records of a frame. No transaction comes near.
const LONGEST: usize = 1 << 28;

/// The highest number of a frame. No token comes near, and the next ones are numbers still.
pub const MOST_FRAMES: u64 = 1 << 62;

/// Identifiers of tokens and objects.
pub type Uid = [u8; 16];
pub type Link = [u8; 16];
type Result<T> = std::result::Result<T, Trouble>;

pub fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut number = [0; N];
    number.copy_from_slice(&bytes[at..at + N]);
    number
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(number(bytes, at))
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
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

/// The header of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub version: Version,
    pub id: Uid,
    /// Identifier of the token key; zeros in version 1.
    pub key: Uid,
    pub serial: [u8; 16],
    pub label: [u8; 32],
}

impl Header {
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..16].copy_from_slice(MAGIC);
        bytes[16..20].copy_from_slice(&(self.version as u32).to_le_bytes());
        bytes[20..36].copy_from_slice(&self.id);
        bytes[36..52].copy_from_slice(&self.serial);
        bytes[52..84].copy_from_slice(&self.label);
        bytes[84..100].copy_from_slice(&self.key);
        seal_crc(&mut bytes);
        bytes
    }

    /// The second copy of the header's contents, at offset 192.
    pub fn encode_again(&self) -> [u8; FRAMES - AGAIN] {
        let mut bytes = [0; FRAMES - AGAIN];
        bytes[..16].copy_from_slice(&self.id);
        match self.version {
            Version::One => {
                bytes[16..32].copy_from_slice(&self.serial);
                bytes[32..60].copy_from_slice(&self.label[..28]);
                seal_crc(&mut bytes);
            }
            Version::Two => {
                bytes[16..32].copy_from_slice(&self.key);
                for (byte, digits) in bytes[32..40].iter_mut().zip(self.serial.as_chunks::<2>().0) {
                    let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
                    *byte = digit(digits[0]) << 4 | digit(digits[1]);
                }
                bytes[40..60].copy_from_slice(&self.label[..20]);
                seal_crc(&mut bytes);
                // No copy of one version is taken for one of the other.
                bytes[60..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
        bytes
    }

    /// The header by its second copy, for a file whose header is damaged.
    pub fn decode_again(bytes: &[u8]) -> Option<Header> {
        let mut again: [u8; FRAMES - AGAIN] = number(bytes.get(AGAIN..FRAMES)?, 0);
        let (mut label, mut serial, mut key) = ([b' '; 32], [0; 16], [0; 16]);
        let version = if crc_fits(&again) {
            serial.copy_from_slice(&again[16..32]);
            label[..28].copy_from_slice(&again[32..60]);
            Version::One
        } else {
            again[60..].iter_mut().for_each(|byte| *byte = !*byte);
            if !crc_fits(&again) {
                return None;
            }
            key.copy_from_slice(&again[16..32]);
            for (digits, byte) in serial.as_chunks_mut::<2>().0.iter_mut().zip(&again[32..40]) {
                *digits = [byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]);
            }
            label[..20].copy_from_slice(&again[40..60]);
            // The rest as it stands in the header, as far as that can be believed.
            if bytes[52..72] == label[..20] {
                label.copy_from_slice(&bytes[52..84]);
            }
            Version::Two
        };
        Some(Header { version, id: number(&again, 0), key, serial, label })
    }

    /// # Errors
    /// [`Trouble::Newer`], [`Trouble::Damaged`].
    pub fn decode(bytes: &[u8]) -> Result<Header> {
        if bytes.len() < FRAMES || bytes[..16] != *MAGIC || !crc_fits(&bytes[..HEADER]) {
            return Err(Trouble::Damaged);
        }
        let version = match u32_at(bytes, 16) {
            1 => Version::One,
            2 => Version::Two,
            0 => return Err(Trouble::Damaged),
            newer => return Err(Trouble::Newer(newer)),
        };
        let (id, serial, label) = (number(bytes, 20), number(bytes, 36), number(bytes, 52));
        Ok(Header { version, id, key: number(bytes, 84), serial, label })
    }
}

/// Failed tries of PINs since the last that was right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    change: u64,
    /// Failed tries of the user's PIN and of the security officer's.
    pub tries: [u8; 2],
    /// The number of records that were ended in place without a frame that says so.
    pub ended: u32,
}

impl Counters {
    /// Makes the counters that are written next, and the place where they go.
    pub fn next(self, tries: [u8; 2], ended: u32) -> (Counters, usize) {
        let change = self.change + 1;
        (Counters { change, tries, ended }, COUNTERS + COUNTER * (change % 2) as usize)
    }

    pub fn encode(self) -> [u8; COUNTER] {
        let mut bytes = [0; COUNTER];
        bytes[..8].copy_from_slice(&self.change.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.tries);
        bytes[12..16].copy_from_slice(&self.ended.to_le_bytes());
        seal_crc(&mut bytes);
        bytes
    }

    /// The newer of both, of [`FRAMES`] bytes of a file.
    ///
    /// # Errors
    /// [`Trouble::Damaged`] where neither is whole.
    pub fn decode(bytes: &[u8]) -> Result<Counters> {
        let places = bytes.get(COUNTERS..).unwrap_or_default().chunks_exact(COUNTER).take(2);
        let read = places.filter(|place| crc_fits(place)).map(|place| Counters {
            change: u64_at(place, 0),
            tries: number(place, 8),
            ended: u32_at(place, 12),
        });
        read.max_by_key(|counters| counters.change).ok_or(Trouble::Damaged)
    }
}

/// The first bytes of a file, with these tries.
pub fn first_bytes(header: &Header, tries: [u8; 2]) -> Vec<u8> {
    let mut first = header.encode().to_vec();
    first.resize(FRAMES, 0);
    let (counters, at) = Counters::default().next(tries, 0);
    first[at..at + COUNTER].copy_from_slice(&counters.encode());
    first[AGAIN..].copy_from_slice(&header.encode_again());
    first
}

/// Kinds of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    Open = 1,
    Private = 2,
    Sealed = 3,
    Gone = 4,
    Role = 5,
}

impl RecordKind {
    pub fn is_object(self) -> bool {
        matches!(self, RecordKind::Open | RecordKind::Private | RecordKind::Sealed)
    }

    /// Whether the record's body cannot be read without the token key.
    pub fn is_sealed(self) -> bool {
        matches!(self, RecordKind::Private | RecordKind::Sealed)
    }

    fn slot(self, version: Version) -> usize {
        if version == Version::Two && self.is_object() { SLOT } else { 0 }
    }
}

/// The contents of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// No slot: the record has none.
    None,
    /// A part of the record's key.
    Live,
    /// The record was ended in place.
    Ended,
    /// Neither a part of a key nor the mark of an ended record: damaged, or half overwritten.
    Torn,
}

/// A new slot of these random bytes.
pub fn live_slot(random: &[u8; SLOT_RANDOM]) -> [u8; SLOT] {
    let mut slot = [0; SLOT];
    slot[..SLOT_RANDOM].copy_from_slice(random);
    seal_crc(&mut slot);
    slot
}

/// The bytes by which the slot of an ended record is overwritten.
pub fn ended_slot(proof: &[u8; SLOT_RANDOM]) -> [u8; SLOT] {
    let mut slot = live_slot(proof);
    slot[SLOT_RANDOM..].iter_mut().for_each(|byte| *byte = !*byte);
    slot
}

/// A record in a file.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    pub kind: RecordKind,
    pub uid: Uid,
    pub version: u64,
    pub head: &'a [u8],
    pub slot: &'a [u8],
    pub body: &'a [u8],
    /// Head, slot and body.
    pub whole: &'a [u8],
}

impl Record<'_> {
    pub fn state(&self) -> Slot {
        if self.slot.is_empty() {
            return Slot::None;
        }
        let (bytes, crc) = self.slot.split_at(SLOT_RANDOM);
        match u32_at(crc, 0) ^ crc32fast::hash(bytes) {
            0 => Slot::Live,
            u32::MAX => Slot::Ended,
            _ => Slot::Torn,
        }
    }

    /// Whether the record says that its object was destroyed.
    pub fn is_end(&self) -> bool {
        self.kind == RecordKind::Gone || self.state() == Slot::Ended
    }

    /// Whether the fields without a meaning have the values that they are written with: few bytes that are no record look so.
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
pub fn record_head(kind: RecordKind, uid: &Uid, version: u64, body: usize) -> [u8; RECORD_HEAD] {
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

/// Parses the record that some bytes begin with; `None` where they cannot be one.
pub fn record(bytes: &[u8], version: Version) -> Option<Record<'_>> {
    let kind = match bytes.first()? {
        1 => RecordKind::Open,
        2 => RecordKind::Private,
        3 => RecordKind::Sealed,
        4 => RecordKind::Gone,
        5 => RecordKind::Role,
        _ => return None,
    };
    let front = RECORD_HEAD + kind.slot(version);
    let whole = bytes.get(..front + u32_at(bytes.get(..RECORD_HEAD)?, 4) as usize)?;
    let (head, rest) = whole.split_at(RECORD_HEAD);
    let (slot, body) = rest.split_at(front - RECORD_HEAD);
    Some(Record { kind, uid: number(head, 8), version: u64_at(head, 24), head, slot, body, whole })
}

/// The records in some bytes.
///
/// # Errors
/// [`Trouble::Damaged`].
pub fn records(mut bytes: &[u8], version: Version) -> Result<Vec<Record<'_>>> {
    // Most often it is one.
    let mut records = Vec::with_capacity(1);
    while !bytes.is_empty() {
        let record = record(bytes, version).ok_or(Trouble::Damaged)?;
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
    /// Offset of the records from the frame's beginning.
    pub at: usize,
    pub link: Link,
    /// See [`tail`].
    pub tail: &'a [u8],
    /// Length of the whole frame in bytes.
    pub length: usize,
}

/// The last bytes of a frame, which differ between any two frames.
pub fn tail(frame: &[u8]) -> &[u8] {
    &frame[frame.len().saturating_sub(FRAME_TAIL)..]
}

/// The joint of a frame: `before` has the last bytes of the frame before it, or the first bytes of the header.
pub fn joint(before: &[u8]) -> u32 {
    crc32fast::hash(before).max(1)
}

/// The version, number and joint that the next frame follows.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    pub version: Version,
    /// The number of the frame before, 0 where there is none.
    pub number: u64,
    pub joint: u32,
}

/// The bytes after the last whole frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// Nothing is behind the last frame.
    Nothing,
    /// A frame that a writer had not finished.
    Torn,
    /// Bytes that no frame begins with.
    Foreign,
}

/// Frames that were read.
#[derive(Debug)]
pub struct Frames<'a> {
    pub frames: Vec<Frame<'a>>,
    /// Whether each says which it follows.
    pub joined: bool,
    pub behind: Behind,
}

/// Whether bytes may be the begin of a frame that was not written to its end.
fn may_be_torn(rest: &[u8]) -> bool {
    let begins = rest.iter().zip(FRAME_MAGIC).all(|(byte, magic)| *byte == magic);
    rest.ends_with(&[0; 4]) || (rest.len() < FRAME_HEAD && begins)
}

/// Reads the frames that `bytes` begin with. What is behind them is no frame, or not a whole one.
///
/// # Errors
/// [`Trouble::Damaged`].
pub fn frames(bytes: &[u8], mut before: Before) -> Result<Frames<'_>> {
    let (version, mut at) = (before.version, 0);
    let mut read = Frames { frames: Vec::new(), joined: true, behind: Behind::Nothing };
    while at < bytes.len() {
        let rest = &bytes[at..];
        let head = &rest[..FRAME_HEAD.min(rest.len())];
        if head.len() < FRAME_HEAD || head[..4] != FRAME_MAGIC || !crc_fits(head) {
            if (1..rest.len()).any(|at| frame_head(&rest[at..]).is_some()) {
                return Err(Trouble::Damaged);
            }
            read.behind = if may_be_torn(rest) { Behind::Torn } else { Behind::Foreign };
            break;
        }
        let (records_length, frame, joint) = (u32_at(head, 4) as usize, u64_at(head, 8), u32_at(head, 16));
        let follows = (1..=MOST_FRAMES).contains(&frame) && (before.number == 0 || frame == before.number + 1);
        let joined = joint == before.joint;
        if records_length > LONGEST || !follows || !(joined || joint == 0 && version == Version::One) {
            return Err(Trouble::Damaged);
        }
        let length = FRAME_HEAD + records_length + FRAME_TAIL;
        if rest.len() < length {
            read.behind = Behind::Torn;
            break;
        }
        let whole = &rest[..length];
        if frame_crc(whole, version) != Some(u32_at(whole, length - 4)) {
            if !may_be_torn(rest) || rest[length..].iter().any(|byte| *byte != 0) {
                return Err(Trouble::Damaged);
            }
            read.behind = Behind::Torn;
            break;
        }
        let records = records(&rest[FRAME_HEAD..FRAME_HEAD + records_length], version)?;
        let (link, tail) = (number(rest, FRAME_HEAD + records_length), tail(whole));
        before = Before { version, number: frame, joint: self::joint(tail) };
        read.joined &= joined;
        read.frames.push(Frame { number: frame, head, records, at: at + FRAME_HEAD, link, tail, length });
        at += length;
    }
    Ok(read)
}

/// The CRC-32 of a frame without its own four bytes and without slots; `None` where its bytes cannot be split into records.
fn frame_crc(frame: &[u8], version: Version) -> Option<u32> {
    let bytes = &frame[..frame.len() - 4];
    if version == Version::One {
        return Some(crc32fast::hash(bytes));
    }
    let (front, mut records) = bytes[..bytes.len() - (FRAME_TAIL - 4)].split_at(FRAME_HEAD);
    let mut crc = crc32fast::Hasher::new();
    crc.update(front);
    while !records.is_empty() {
        let record = record(records, version)?;
        crc.update(record.head);
        crc.update(record.body);
        records = &records[record.whole.len()..];
    }
    crc.update(&bytes[bytes.len() - (FRAME_TAIL - 4)..]);
    Some(crc.finalize())
}

/// The number of a frame that bytes begin with, by its head alone, and the part of its records that is there.
pub fn frame_head(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let head = bytes.get(..FRAME_HEAD).filter(|head| head[..4] == FRAME_MAGIC && crc_fits(head))?;
    let records = &bytes[FRAME_HEAD..];
    Some((u64_at(head, 8), records.get(..u32_at(head, 4) as usize).unwrap_or(records)))
}

/// The records of a frame that bytes begin with, if its checksum says that they are as they were written.
pub fn whole_frame(bytes: &[u8], version: Version) -> Option<Vec<Record<'_>>> {
    let (_, records) = frame_head(bytes)?;
    let whole = bytes.get(..FRAME_HEAD + u32_at(bytes, 4) as usize + FRAME_TAIL)?;
    let fits = frame_crc(whole, version) == Some(u32_at(whole, whole.len() - 4));
    self::records(records, version).ok().filter(|_| fits)
}

/// Makes a frame of records, behind the one that it follows; `link` makes its link of its head and of the records.
///
/// # Errors
/// [`Trouble::TooLong`].
pub fn frame(before: Before, records: &[u8], link: impl FnOnce(&[u8]) -> Link) -> Result<(Vec<u8>, Link)> {
    if records.len() > LONGEST || before.number >= MOST_FRAMES {
        return Err(Trouble::TooLong);
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(FRAME_HEAD + records.len() + FRAME_TAIL).map_err(|_| Trouble::Memory)?;
    bytes.extend(FRAME_MAGIC);
    bytes.extend((records.len() as u32).to_le_bytes());
    bytes.extend((before.number + 1).to_le_bytes());
    bytes.extend(before.joint.to_le_bytes());
    bytes.extend([0; 4]);
    seal_crc(&mut bytes);
    let link = link(&bytes);
    bytes.extend_from_slice(records);
    bytes.extend(link);
    bytes.extend([0; 4]);
    let (crc, at) = (frame_crc(&bytes, before.version).ok_or(Trouble::TooLong)?, bytes.len() - 4);
    bytes[at..].copy_from_slice(&crc.to_le_bytes());
    Ok((bytes, link))
}
