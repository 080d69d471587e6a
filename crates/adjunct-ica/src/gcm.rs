//! GCM (NIST SP 800-38D) as libica has it: in one call, as a stream whose state is the caller's, and by a context.

use crate::error::Errno;
use crate::serve::{Operation, direction};
use adjunct::adapter::cpu::awslc::cipher_gcm::Gcm;
use adjunct::adapter::cpu::awslc::cipher_gcm_part::{self, Start, State};
use adjunct::catalogue::Direction;
use adjunct::catalogue::Function;
use adjunct::{InOut, wipe};
use subtle::ConstantTimeEq;

const BLOCK: usize = 16;
/// A block of AES, which a tag is too.
pub type Block = [u8; BLOCK];

/// Whether a tag may be that long.
pub const fn tag_length(length: usize) -> bool {
    matches!(length, 4 | 8 | 12..=16)
}

/// The most bytes of a message (SP 800-38D 5.2.1.1).
const MOST: u64 = (1 << 36) - 32;

/// Whether a message may be that long.
///
/// # Errors
/// [`Errno::INVALID`] where it may not.
pub fn text_length(length: u64) -> Result<(), Errno> {
    if length <= MOST { Ok(()) } else { Err(Errno::INVALID) }
}

/// What to do with a tag.
#[derive(Debug)]
pub enum Tag<'a> {
    /// Encrypt, and give it out.
    Make(&'a mut Block),
    /// Decrypt, and compare its first bytes.
    Verify(&'a [u8]),
}

/// A whole message. Where the tag does not verify, what was decrypted is wiped.
///
/// # Errors
/// [`Errno::INVALID`] for a key, initialization vector or tag that cannot be; [`Errno::FAULT`].
pub fn message(key: &[u8], iv: &[u8], aad: &[u8], mut text: InOut<'_>, tag: Tag<'_>) -> Result<(), Errno> {
    if iv.is_empty() || matches!(&tag, Tag::Verify(given) if !tag_length(given.len())) {
        return Err(Errno::INVALID);
    }
    let operation = Operation::new(Function::AesGcm, key.len() * 8)?;
    let (encrypt, bytes) = (matches!(tag, Tag::Make(_)), text.len());
    let mut made = [0; BLOCK];
    Gcm::once(key, encrypt, iv, aad, text.reborrow(), &mut made)?;
    operation.done(direction(encrypt), bytes);
    let right = match tag {
        Tag::Make(out) => {
            *out = made;
            true
        }
        Tag::Verify(given) => made[..given.len()].ct_eq(given).into(),
    };
    // What it should have been is nobody's to find.
    wipe(&mut made);
    if !right {
        clear(&mut text);
        return Err(Errno::FAULT);
    }
    Ok(())
}

/// A tag with zeros behind it; it has 16 bytes at most.
pub fn padded(tag: &[u8]) -> Block {
    let mut block = [0; BLOCK];
    block[..tag.len()].copy_from_slice(tag);
    block
}

/// Overwrites what was decrypted.
pub fn clear(text: &mut InOut<'_>) {
    // SAFETY: the output's own bytes, written and not read.
    unsafe { text.output().write_bytes(0, text.len()) };
    std::hint::black_box(text.output());
}

/// Whether a stream with so long an initialization vector may begin; what it counts as that it is hashed, if it is.
///
/// # Errors
/// [`Errno::INVALID`] for none; [`Errno::NO_DEVICE`] where it would have to be hashed in software and fallbacks are off.
pub fn may_start(iv: usize) -> Result<Option<Operation>, Errno> {
    match iv {
        0 => Err(Errno::INVALID),
        12 => Ok(None),
        _ => Operation::new(Function::Ghash, 0).map(Some),
    }
}

/// Begins a stream that [may](may_start) begin.
///
/// # Errors
/// [`Errno::INVALID`] for a key that cannot be.
pub fn start(key: &[u8], iv: &[u8], hashed: Option<Operation>) -> Result<Start, Errno> {
    let start = cipher_gcm_part::start(key, iv)?;
    if let Some(operation) = hashed {
        operation.done(Direction::Encrypt, iv.len());
    }
    Ok(start)
}

/// A part of a stream: additional data, then text.
///
/// # Errors
/// [`Errno::INVALID`] for a key that cannot be, or too long a message.
pub fn part(key: &[u8], state: &mut State, encrypt: bool, aad: &[u8], text: InOut<'_>) -> Result<(), Errno> {
    let operation = Operation::new(Function::AesGcm, key.len() * 8)?;
    let bytes = text.len();
    cipher_gcm_part::part(key, state, encrypt, aad, text)?;
    operation.done(direction(encrypt), bytes);
    Ok(())
}

/// Ends a stream of such lengths: `hash` becomes its tag.
///
/// # Errors
/// [`Errno::INVALID`] for a key that cannot be.
pub fn finish(key: &[u8], subkey: &Block, icb: &Block, aad: u64, text: u64, hash: &mut Block) -> Result<(), Errno> {
    let operation = Operation::new(Function::Ghash, 0)?;
    cipher_gcm_part::last(key, subkey, icb, aad, text, hash)?;
    operation.done(Direction::Encrypt, BLOCK);
    Ok(())
}

/// A message by a context (`kma_ctx`).
#[derive(Debug, Default)]
pub struct Stream {
    gcm: Gcm,
    encrypt: bool,
    bits: usize,
    iv: Vec<u8>,
    aad_ended: bool,
    /// Bytes of text so far.
    done: u64,
    tag: Option<Block>,
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(tag) = &mut self.tag {
            wipe(tag);
        }
    }
}

impl Stream {
    /// Begins a message.
    ///
    /// # Errors
    /// [`Errno::INVALID`] for a key or initialization vector that cannot be; [`Errno::NO_MEMORY`] for no room for the vector, which
    /// may have 4 GB.
    pub fn start(&mut self, encrypt: bool, key: &[u8], iv: &[u8]) -> Result<(), Errno> {
        if iv.is_empty() {
            return Err(Errno::INVALID);
        }
        self.iv.try_reserve_exact(iv.len().saturating_sub(self.iv.len())).map_err(|_| Errno::NO_MEMORY)?;
        self.gcm.set_key(key)?;
        self.gcm.set_iv(iv);
        let (encrypt, bits) = (encrypt, key.len() * 8);
        (self.encrypt, self.bits, self.aad_ended, self.done, self.tag) = (encrypt, bits, false, 0, None);
        self.iv.clear();
        self.iv.extend_from_slice(iv);
        Ok(())
    }

    /// The initialization vector.
    pub fn iv(&self) -> &[u8] {
        &self.iv
    }

    /// Whether the message is encrypted.
    pub const fn encrypts(&self) -> bool {
        self.encrypt
    }

    /// Whether a part of such lengths may come now: all but the last of additional data and of text are of whole blocks.
    ///
    /// # Errors
    /// [`Errno::INVALID`] before the start, after the end, for a part that is not of whole blocks, additional data after text, or
    /// too long a message.
    pub fn allows(&self, aad: usize, aad_ends: bool, text: usize, text_ends: bool) -> Result<(), Errno> {
        let odd = |length: usize, ends: bool| !ends && !length.is_multiple_of(BLOCK);
        let late = self.aad_ended && aad != 0;
        // Text before the end of the additional data would be hashed before it.
        let early = !aad_ends && !self.aad_ended && text != 0;
        if self.bits == 0 || self.tag.is_some() || late || early || odd(aad, aad_ends) || odd(text, text_ends) {
            return Err(Errno::INVALID);
        }
        text_length(self.done.saturating_add(text as u64))
    }

    /// Takes additional data and text in parts.
    ///
    /// # Errors
    /// As for [`Stream::allows`].
    pub fn part(&mut self, aad: &[u8], aad_ends: bool, text: InOut<'_>, text_ends: bool) -> Result<(), Errno> {
        self.allows(aad.len(), aad_ends, text.len(), text_ends)?;
        let operation = Operation::new(Function::AesGcm, self.bits)?;
        // After text not even none may come.
        if !self.aad_ended {
            self.gcm.aad(aad)?;
        }
        self.aad_ended |= aad_ends;
        let bytes = text.len();
        if self.encrypt {
            self.gcm.encrypt(text)?
        } else {
            self.gcm.decrypt(text)?
        }
        self.done += bytes as u64;
        if self.aad_ended && text_ends {
            self.tag = Some(self.gcm.tag());
        }
        operation.done(direction(self.encrypt), bytes);
        Ok(())
    }

    /// The tag of the message so far. Threads may ask for it at the same time.
    ///
    /// # Errors
    /// [`Errno::INVALID`] before the start.
    pub fn tag(&self) -> Result<Block, Errno> {
        if self.bits == 0 {
            return Err(Errno::INVALID);
        }
        Ok(self.tag.unwrap_or_else(|| self.gcm.clone().tag()))
    }

    /// Compares the tag.
    ///
    /// # Errors
    /// [`Errno::FAULT`] where it does not verify.
    pub fn verify(&self, given: &[u8]) -> Result<(), Errno> {
        let mut tag = self.tag()?;
        let right = bool::from(tag[..given.len()].ct_eq(given));
        wipe(&mut tag);
        if right { Ok(()) } else { Err(Errno::FAULT) }
    }
}
