//! A vault: what a coprocessor must remember (master keys, control points, administrators), encrypted in one file.
//!
//! The file has two slots. A change is written whole into the slot that does not hold the newest contents, and counts once it is on disk: after a crash
//! at any moment, and where the disk is full or fails, the newest slot that is whole holds the contents of before the change or of after it. All room
//! is taken when the file is made. Each slot has a sequence number; who keeps the number elsewhere (a counter of a TPM, the audit log) can tell that the
//! file was replaced by an older copy.
//!
//! ```text
//! header, 4096 bytes:  0 "ADJVAULT" | 8 version (4) | 12 bytes of room (4) | 16 name of the file, random (16) | zeros | 4064 SHA-256
//! slot 0 at 4096, slot 1 behind it, each with room for a head and the text:
//!   head, 4096 bytes:  0 "ADJS" | 4 length of the text (4) | 8 sequence (8) | 16 salt, random (32) | 48 tag (16) | 64 length of the seal (4) | 68 seal
//!                      | zeros | 4064 SHA-256 of the head before it and of the text
//!   text:              AES-256-GCM of: length (4) | contents | zeros up to a multiple of 4096
//! ```
//!
//! Numbers are little-endian. The key of a slot is HMAC-SHA-256 of the salt under the vault's key, so that no key encrypts twice, even where an older
//! copy of the file was put back. The file's name and the head, but for the tag, are authenticated. The vault's key is random and stands in the seal of each
//! slot, encrypted by what opens it ([`crate::seal`]), so that another passphrase comes in by a write like any other.
//!
//! While a file is being made it begins with "ADJVNEW\0"; such a file is made anew, for nothing was ever answered out of it.
//!
//! System calls: `pread64` and `flock` to open, `pwrite64` and `fdatasync` to write, and `fallocate` to make one. Who makes the file makes its folder's
//! entry durable (`fsync` of the folder).

use crate::crypt::{Secret, TAG, decrypt, encrypt, hmac, sha256};
use crate::seal::{self, Failed, Method, Opener};
use adjunct::ops::random::random;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use zeroize::Zeroizing;

const MAGIC: &[u8; 8] = b"ADJVAULT";
/// What a file begins with while it is being made.
const UNFINISHED: &[u8; 8] = b"ADJVNEW\0";
const VERSION: u32 = 1;
/// Bytes of the header and of a slot's head, and the unit of texts.
const PAGE: usize = 4096;
const NAME: usize = 16;
/// Where the sums are in a header and in a head, and where the seal is.
const SUM: usize = PAGE - 32;
const SEAL: usize = 68;
/// Bytes of a head before the tag.
const BOUND: usize = 48;
/// The most contents, in bytes.
pub const MOST: usize = 32 << 20;
/// Room for the contents that is enough for a card: 256 domains with their keys, and the certificates of some hundred administrators.
pub const ROOM: usize = 1 << 20;

/// Why a vault cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is none of a vault's.
    #[error("it is no vault of a coprocessor")]
    NoVault,
    /// The file is of another version.
    #[error("it is a vault of version {0}, and this adjunct reads version {VERSION}")]
    Version(u32),
    /// The header, or both slots.
    #[error("it is damaged: put a copy of it back, or remove it and load the master keys anew")]
    Damaged,
    /// Something else than what the vault is sealed by was given.
    #[error("it is sealed by {}, and is to be opened by {}", .0.by(), .1.by())]
    Method(Method, Method),
    /// The passphrase or credential is another.
    #[error("the passphrase or credential does not open it")]
    Secret,
    /// The TPM.
    #[error("{0}")]
    Tpm(adjunct_tpm::Fault),
    /// Another process has it open.
    #[error("another process uses it")]
    Busy,
    /// The contents are longer than the room that the file was made with.
    #[error("{0} bytes are more than it has room for")]
    Room(usize),
    /// An earlier write failed, so that it is not known which contents are on disk.
    #[error("a write failed before: start the card again")]
    Unsure,
    /// The system refused.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Memory ran out.
    #[error("out of memory")]
    Memory,
}

impl From<Failed> for Error {
    fn from(failed: Failed) -> Error {
        match failed {
            Failed::Secret => Error::Secret,
            Failed::Damaged => Error::Damaged,
            Failed::Memory => Error::Memory,
            Failed::Tpm(fault) => Error::Tpm(fault),
            Failed::Method(by, to_be) => Error::Method(by, to_be),
        }
    }
}

/// What a vault holds; wiped when it is dropped.
pub type Contents = Zeroizing<Vec<u8>>;

/// An open vault.
pub struct Vault {
    file: File,
    name: [u8; NAME],
    key: Secret,
    seal: Vec<u8>,
    method: Method,
    room: usize,
    /// The slot with the newest contents, and their number.
    newest: usize,
    sequence: u64,
    unsure: bool,
}

adjunct::opaque_debug!(Vault);

/// What a header says.
struct Header {
    name: [u8; NAME],
    room: usize,
}

/// A slot that is whole: nothing in it was cut or damaged, though it may be forged.
struct Slot {
    head: Box<[u8; PAGE]>,
    text: Contents,
}

impl Slot {
    fn sequence(&self) -> u64 {
        number(&self.head[8..])
    }

    fn seal(&self) -> &[u8] {
        let length = number(&self.head[64..68]) as usize;
        self.head[SEAL..SUM].get(..length).unwrap_or_default()
    }
}

/// The number that at most eight bytes are.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Bytes of a text with so much of contents.
fn text_length(contents: usize) -> usize {
    (4 + contents).next_multiple_of(PAGE)
}

fn zeros(length: usize) -> Result<Contents, Error> {
    let mut bytes = Zeroizing::new(Vec::new());
    bytes.try_reserve_exact(length).map_err(|_| Error::Memory)?;
    bytes.resize(length, 0);
    Ok(bytes)
}

/// Reads as much as there is.
fn read_up_to(file: &File, mut to: &mut [u8], mut at: u64) -> io::Result<usize> {
    let wanted = to.len();
    while !to.is_empty() {
        match file.read_at(to, at) {
            Ok(0) => break,
            Ok(read) => (to, at) = (&mut to[read..], at + read as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(wanted - to.len())
}

/// The header; `None` where the file is empty, or was never finished.
fn header(file: &File) -> Result<Option<Header>, Error> {
    let mut header = [0; PAGE];
    let length = read_up_to(file, &mut header, 0)?;
    if length < 8 {
        let begun = header[..length] == UNFINISHED[..length] || header[..length] == [0; 8][..length];
        return if begun { Ok(None) } else { Err(Error::NoVault) };
    }
    if header[..8] == *UNFINISHED {
        return Ok(None);
    }
    if header[..8] != *MAGIC {
        return Err(Error::NoVault);
    }
    let version = number(&header[8..12]) as u32;
    if version != VERSION {
        return Err(Error::Version(version));
    }
    let (room, name) = (number(&header[12..16]) as usize, *header[16..].first_chunk().ok_or(Error::Damaged)?);
    if sha256(&[&header[..SUM]]) != header[SUM..] || room > MOST {
        return Err(Error::Damaged);
    }
    Ok(Some(Header { name, room }))
}

fn place(slot: usize, room: usize) -> u64 {
    (PAGE + slot * (PAGE + text_length(room))) as u64
}

/// A slot; `None` where it is not whole.
fn slot(file: &File, which: usize, room: usize) -> Result<Option<Slot>, Error> {
    let mut head = Box::new([0; PAGE]);
    let at = place(which, room);
    if read_up_to(file, &mut head[..], at)? != PAGE || head[..4] != *b"ADJS" {
        return Ok(None);
    }
    let length = number(&head[4..8]) as usize;
    if length == 0 || !length.is_multiple_of(PAGE) || length > text_length(room) {
        return Ok(None);
    }
    let mut text = zeros(length)?;
    if read_up_to(file, &mut text, at + PAGE as u64)? != length || sha256(&[&head[..SUM], &text]) != head[SUM..] {
        return Ok(None);
    }
    Ok(Some(Slot { head, text }))
}

/// The newest slot that is whole, with its place.
fn newest(file: &File, room: usize) -> Result<(usize, Slot), Error> {
    let mut found: Option<(usize, Slot)> = None;
    for which in 0..2 {
        if let Some(slot) = slot(file, which, room)?
            && found.as_ref().is_none_or(|(_, other)| slot.sequence() > other.sequence())
        {
            found = Some((which, slot));
        }
    }
    found.ok_or(Error::Damaged)
}

/// How a file is sealed; `None` for one that is empty, so that a new vault can be made in it.
///
/// # Errors
/// [`Error::NoVault`], [`Error::Version`], [`Error::Damaged`], [`Error::Io`], [`Error::Memory`].
pub fn method(file: &File) -> Result<Option<Method>, Error> {
    let Some(header) = header(file)? else { return Ok(None) };
    let (_, slot) = newest(file, header.room)?;
    seal::method(slot.seal()).map(Some).ok_or(Error::Damaged)
}

impl Vault {
    /// Opens a vault, or makes one in an empty file, with the contents that `new` makes and room for contents of `room` bytes ([`ROOM`]). The newest
    /// contents, which are the new ones where it was made.
    ///
    /// # Errors
    /// All but [`Error::Unsure`]; [`Error::Room`] only where it is made.
    pub fn open_or_create(
        file: File,
        opener: &Opener<'_>,
        room: usize,
        new: impl FnOnce() -> Option<Contents>,
    ) -> Result<(Vault, Contents), Error> {
        if header(&file)?.is_some() {
            return Vault::open(file, opener);
        }
        let contents = new().ok_or(Error::Memory)?;
        Ok((Vault::create(file, opener, room, &contents)?, contents))
    }

    /// Makes a vault in a file that is empty, with room for contents of `room` bytes. Where that fails, or is cut by a crash, the file counts as empty.
    ///
    /// # Errors
    /// [`Error::NoVault`] for a file that is not empty; [`Error::Room`] for more than [`MOST`] bytes of room, or contents that are longer than it;
    /// [`Error::Busy`], [`Error::Tpm`], [`Error::Io`], [`Error::Memory`].
    pub fn create(file: File, opener: &Opener<'_>, room: usize, contents: &[u8]) -> Result<Vault, Error> {
        lock(&file)?;
        if room > MOST || contents.len() > room {
            return Err(Error::Room(room.max(contents.len())));
        }
        if header(&file)?.is_some() {
            return Err(Error::NoVault);
        }
        let (mut name, key) = ([0; NAME], Zeroizing::new([0; 32]));
        random(&mut name);
        let (seal, method) = (Vec::new(), opener.method());
        let mut vault = Vault { file, name, key, seal, method, room, newest: 1, sequence: 0, unsure: false };
        vault.new_key(opener)?;
        let file = &vault.file;
        file.write_all_at(UNFINISHED, 0)?;
        let whole = place(2, room);
        match fallocate(file, FallocateFlags::empty(), 0, whole) {
            // Where there is no such call, a write that does not fit fails, and leaves the contents before it.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            result => result.map_err(io::Error::from)?,
        }
        let mut header = [0; PAGE];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&(room as u32).to_le_bytes());
        header[16..16 + NAME].copy_from_slice(&name);
        let sum = sha256(&[&header[..SUM]]);
        header[SUM..].copy_from_slice(&sum);
        file.write_all_at(&header[8..], 8)?;
        vault.write(contents)?;
        // Eight bytes of one sector: they are there or not.
        vault.file.write_all_at(MAGIC, 0)?;
        vault.file.sync_data()?;
        Ok(vault)
    }

    /// Opens a vault; the newest contents.
    ///
    /// # Errors
    /// All but [`Error::Room`] and [`Error::Unsure`]; [`Error::NoVault`] also for an empty file.
    pub fn open(file: File, opener: &Opener<'_>) -> Result<(Vault, Contents), Error> {
        lock(&file)?;
        let Header { name, room } = header(&file)?.ok_or(Error::NoVault)?;
        let (newest, mut slot) = newest(&file, room)?;
        let sealed = slot.seal().to_vec();
        let key = seal::open(opener, &name, &sealed)?;
        let sequence = slot.sequence();
        let vault =
            Vault { file, name, key, seal: sealed, method: opener.method(), room, newest, sequence, unsure: false };
        let slot_key = hmac(&vault.key[..], &[&slot.head[16..BOUND]]).ok_or(Error::Memory)?;
        let tag: &[u8; TAG] = slot.head[BOUND..].first_chunk().ok_or(Error::Damaged)?;
        // It was whole: somebody has made it so.
        decrypt(&slot_key, &vault.bound(&slot.head[..]), &mut slot.text, tag).ok_or(Error::Damaged)?;
        let length = number(&slot.text[..4]) as usize;
        let contents = slot.text[4..].get(..length).ok_or(Error::Damaged)?;
        let mut copy = zeros(length)?;
        copy.copy_from_slice(contents);
        Ok((vault, copy))
    }

    /// What opens it.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// The number of the newest contents: one more with each write.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Whether a write failed, so that it takes no more.
    #[must_use]
    pub fn is_unsure(&self) -> bool {
        self.unsure
    }

    /// The random name of the file.
    #[must_use]
    pub fn name(&self) -> &[u8; NAME] {
        &self.name
    }

    /// Replaces the contents. They are on disk when this returns. After an error the contents on disk are the former or the new ones.
    ///
    /// # Errors
    /// [`Error::Room`], [`Error::Memory`], after which the vault is as before; [`Error::Io`], after which it takes no more; [`Error::Unsure`].
    pub fn write(&mut self, contents: &[u8]) -> Result<(), Error> {
        if self.unsure {
            return Err(Error::Unsure);
        }
        if contents.len() > self.room {
            return Err(Error::Room(contents.len()));
        }
        let (slot, sequence) = (1 - self.newest, self.sequence + 1);
        let mut bytes = zeros(PAGE + text_length(contents.len()))?;
        let (head, text) = bytes.split_at_mut(PAGE);
        head[..4].copy_from_slice(b"ADJS");
        head[4..8].copy_from_slice(&(text.len() as u32).to_le_bytes());
        head[8..16].copy_from_slice(&sequence.to_le_bytes());
        random(&mut head[16..BOUND]);
        head[64..68].copy_from_slice(&(self.seal.len() as u32).to_le_bytes());
        head[SEAL..SEAL + self.seal.len()].copy_from_slice(&self.seal);
        text[..4].copy_from_slice(&(contents.len() as u32).to_le_bytes());
        text[4..4 + contents.len()].copy_from_slice(contents);
        let key = hmac(&self.key[..], &[&head[16..BOUND]]).ok_or(Error::Memory)?;
        let tag = encrypt(&key, &self.bound(head), text).ok_or(Error::Memory)?;
        head[BOUND..BOUND + TAG].copy_from_slice(&tag);
        let sum = sha256(&[&head[..SUM], text]);
        head[SUM..].copy_from_slice(&sum);
        self.unsure = true;
        self.file.write_all_at(&bytes, place(slot, self.room))?;
        self.file.sync_data()?;
        (self.newest, self.sequence, self.unsure) = (slot, sequence, false);
        Ok(())
    }

    /// Seals it by something else, with a new key, and writes the contents so into both slots: what opened it before opens nothing in it any more.
    ///
    /// # Errors
    /// As [`Vault::write`]; [`Error::Tpm`]. After [`Error::Io`] the vault is opened by the former or by the new.
    pub fn reseal(&mut self, opener: &Opener<'_>, contents: &[u8]) -> Result<(), Error> {
        if self.unsure {
            return Err(Error::Unsure);
        }
        if contents.len() > self.room {
            return Err(Error::Room(contents.len()));
        }
        self.new_key(opener)?;
        self.write(contents)?;
        self.write(contents)
    }

    /// A new key, sealed.
    fn new_key(&mut self, opener: &Opener<'_>) -> Result<(), Error> {
        let mut key = Zeroizing::new([0; 32]);
        random(&mut key[..]);
        let sealed = seal::seal(opener, &self.name, &key)?;
        if sealed.len() > SUM - SEAL {
            return Err(Error::Damaged);
        }
        self.key.copy_from_slice(&key[..]);
        (self.seal, self.method) = (sealed, opener.method());
        Ok(())
    }

    /// What is authenticated beside the text of a slot.
    fn bound(&self, head: &[u8]) -> Vec<u8> {
        [&self.name, &head[..BOUND], &head[BOUND + TAG..SUM]].concat()
    }
}

/// One process at a time: the lock goes with the descriptor.
fn lock(file: &File) -> Result<(), Error> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Error::Busy),
        result => Ok(result.map_err(io::Error::from)?),
    }
}

/// Makes bytes that are like a vault's file whole: with the sums that they should have. For fuzzing, which finds no sums.
pub(crate) fn made_whole(bytes: &[u8]) -> Vec<u8> {
    let mut whole = bytes.to_vec();
    whole.resize(bytes.len().max(PAGE), 0);
    whole[..8].copy_from_slice(MAGIC);
    whole[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let sum = sha256(&[&whole[..SUM]]);
    whole[SUM..PAGE].copy_from_slice(&sum);
    let room = number(&whole[12..16]) as usize;
    for which in 0..2 {
        let Some(slot) = whole.get_mut(place(which, room.min(MOST)) as usize..) else { continue };
        if slot.len() < PAGE {
            continue;
        }
        let (head, text) = slot.split_at_mut(PAGE);
        let length = number(&head[4..8]) as usize;
        let sum = sha256(&[&head[..SUM], text.get(..length).unwrap_or(text)]);
        head[SUM..].copy_from_slice(&sum);
    }
    whole
}

#[cfg(test)]
mod tests;
