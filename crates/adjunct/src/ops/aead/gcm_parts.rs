//! AES-GCM (SP 800-38D) without rules for the IV: a message at once, in parts whose state is the caller's, and as a stream. Each
//! counts once, with its bytes, after it ran.

use crate::catalogue::{Direction, Function};
use crate::error::Error;
use crate::memory::boxed;
use crate::ops::Tally;
use crate::ops::cipher::{Block, direction};
use adjunct_cpu::cipher::gcm::Gcm;
use adjunct_cpu::cipher::gcm_part;
pub use adjunct_cpu::cipher::gcm_part::{Start, State};
use adjunct_kernels::InOut;

/// A whole message under a key of which nothing is kept, and its tag. Decrypting, what comes out is not authenticated until the tag has
/// been compared.
///
/// # Errors
/// [`Error::Length`] for a key that is not 16, 24 or 32 bytes; [`Error::Failed`] for too long a message or additional data.
///
/// # Panics
/// If the IV is empty.
#[inline]
pub fn message(key: &[u8], encrypt: bool, iv: &[u8], aad: &[u8], io: InOut<'_>, tag: &mut Block) -> Result<(), Error> {
    let bytes = io.len();
    Gcm::once(key, encrypt, iv, aad, io, tag)?;
    Tally::new(Function::AesGcm, key.len() * 8).count(direction(encrypt), bytes);
    Ok(())
}

/// Encrypts or decrypts a message as [`message`], but counts nothing: for a part of another operation, or for callers whose work is not counted.
///
/// # Errors
/// As for [`message`].
///
/// # Panics
/// If the IV is empty.
pub fn within(key: &[u8], encrypt: bool, iv: &[u8], aad: &[u8], io: InOut<'_>, tag: &mut Block) -> Result<(), Error> {
    Gcm::once(key, encrypt, iv, aad, io, tag)
}

/// A key for messages at once, made ready once; several threads may use it at once. Wiped when dropped.
#[derive(Debug, Clone)]
pub struct GcmMessageKey {
    key: Gcm,
    tally: Tally,
}

impl GcmMessageKey {
    /// Makes a key in memory of its own, where the key is set: a value that is moved leaves a copy of the key behind.
    ///
    /// # Errors
    /// [`Error::Length`] for a key that is not 16, 24 or 32 bytes; [`Error::Memory`].
    pub fn boxed(key: &[u8]) -> Result<Box<GcmMessageKey>, Error> {
        let mut made =
            boxed(GcmMessageKey { key: Gcm::default(), tally: Tally::new(Function::AesGcm, key.len() * 8) })?;
        let gcm = &mut made.key;
        gcm.set_key(key)?;
        gcm.prepare();
        Ok(made)
    }

    /// Encrypts or decrypts a message under this key and counts it, as [`message`].
    ///
    /// # Errors
    /// [`Error::Failed`] for too long a message or additional data.
    ///
    /// # Panics
    /// If the IV is empty.
    #[inline]
    pub fn message(&self, encrypt: bool, iv: &[u8], aad: &[u8], io: InOut<'_>, tag: &mut Block) -> Result<(), Error> {
        let bytes = io.len();
        self.key.message(encrypt, iv, aad, io, tag)?;
        self.tally.count(direction(encrypt), bytes);
        Ok(())
    }
}

/// Whether an IV of `iv` bytes is hashed, which is an operation of GHASH.
pub const fn hashes(iv: usize) -> bool {
    iv != 12
}

/// Begins a message in parts. An IV that is [hashed](hashes) counts.
///
/// # Errors
/// [`Error::Length`] for a key that is not 16, 24 or 32 bytes.
#[inline]
pub fn start(key: &[u8], iv: &[u8]) -> Result<Start, Error> {
    let start = gcm_part::start(key, iv)?;
    if hashes(iv.len()) {
        Tally::new(Function::Ghash, 0).count(Direction::Encrypt, iv.len());
    }
    Ok(start)
}

/// A part of a message: additional data, then text, zeros behind either to a whole block.
///
/// # Errors
/// As for [`message`].
#[inline]
pub fn part(key: &[u8], state: &mut State, encrypt: bool, aad: &[u8], text: InOut<'_>) -> Result<(), Error> {
    let bytes = text.len();
    gcm_part::part(key, state, encrypt, aad, text)?;
    Tally::new(Function::AesGcm, key.len() * 8).count(direction(encrypt), bytes);
    Ok(())
}

/// Ends a message of `aad` bytes of additional data and `text` bytes of text, whose initial counter block is `first`: `hash` becomes its tag.
///
/// # Errors
/// As for [`start`].
#[inline]
pub fn last(key: &[u8], subkey: &Block, first: &Block, aad: u64, text: u64, hash: &mut Block) -> Result<(), Error> {
    gcm_part::last(key, subkey, first, aad, text, hash)?;
    Tally::new(Function::Ghash, 0).count(Direction::Encrypt, hash.len());
    Ok(())
}

/// A key and the message at hand; wiped when dropped.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    key: Gcm,
    /// `None` before a key is set.
    tally: Option<Tally>,
}

impl Stream {
    /// Whether a message has been begun.
    pub const fn begun(&self) -> bool {
        self.tally.is_some()
    }

    /// Begins a message under a key.
    ///
    /// # Errors
    /// [`Error::Length`] for a key that is not 16, 24 or 32 bytes, and an empty IV.
    pub fn start(&mut self, key: &[u8], iv: &[u8]) -> Result<(), Error> {
        if iv.is_empty() {
            return Err(Error::Length { what: "AES-GCM IV", got: 0, expected: "1 and more" });
        }
        let gcm = &mut self.key;
        gcm.set_key(key)?;
        gcm.set_iv(iv);
        self.tally = Some(Tally::new(Function::AesGcm, key.len() * 8));
        Ok(())
    }

    /// A part: additional data, where any may come, and text, which counts even if it is none.
    ///
    /// # Errors
    /// [`Error::Failed`] before the start, for additional data (even none) after text, and for too long a message.
    pub fn part(&mut self, encrypt: bool, aad: Option<&[u8]>, text: InOut<'_>) -> Result<(), Error> {
        let Some(tally) = self.tally else { return Err(Error::Failed("AES-GCM without a key")) };
        let (gcm, bytes) = (&mut self.key, text.len());
        if let Some(aad) = aad {
            gcm.aad(aad)?;
        }
        if encrypt { gcm.encrypt(text) } else { gcm.decrypt(text) }?;
        tally.count(direction(encrypt), bytes);
        Ok(())
    }

    /// Ends the message and gives its tag.
    ///
    /// # Panics
    /// Before the start.
    pub fn tag(&mut self) -> Block {
        self.key.tag()
    }
}
