//! GCM (NIST SP 800-38D) as libica has it: in one call, as a stream whose state is the caller's, and by a context.

use crate::error::Errno;
use crate::serve::allow;
use adjunct::catalogue::Function;
use adjunct::ops::aead::gcm_parts::{self, Start, State};
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

/// Whether a tag is made or verified.
#[derive(Debug)]
pub enum Tag<'a> {
    /// Encrypt, and give the tag out.
    Make(&'a mut Block),
    /// Decrypt, and compare the first bytes of the tag.
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
    allow(Function::AesGcm, key.len() * 8)?;
    let mut made = [0; BLOCK];
    gcm_parts::message(key, matches!(tag, Tag::Make(_)), iv, aad, text.reborrow(), &mut made)?;
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

/// Whether a stream with so long an initialization vector may begin.
///
/// # Errors
/// [`Errno::INVALID`] for none; [`Errno::NO_DEVICE`] where it would have to be hashed in software and fallbacks are off.
pub fn may_start(iv: usize) -> Result<(), Errno> {
    match iv {
        0 => Err(Errno::INVALID),
        length if gcm_parts::hashes(length) => allow(Function::Ghash, 0),
        _ => Ok(()),
    }
}

/// Begins a stream that [may](may_start) begin.
///
/// # Errors
/// [`Errno::INVALID`] for a key that cannot be.
pub fn start(key: &[u8], iv: &[u8]) -> Result<Start, Errno> {
    Ok(gcm_parts::start(key, iv)?)
}

/// A part of a stream: additional data, then text.
///
/// # Errors
/// [`Errno::INVALID`] for a key that cannot be, or too long a message.
pub fn part(key: &[u8], state: &mut State, encrypt: bool, aad: &[u8], text: InOut<'_>) -> Result<(), Errno> {
    allow(Function::AesGcm, key.len() * 8)?;
    Ok(gcm_parts::part(key, state, encrypt, aad, text)?)
}

/// Ends a stream of such lengths: `hash` becomes its tag.
///
/// # Errors
/// [`Errno::INVALID`] for a key that cannot be.
pub fn finish(key: &[u8], subkey: &Block, icb: &Block, aad: u64, text: u64, hash: &mut Block) -> Result<(), Errno> {
    allow(Function::Ghash, 0)?;
    Ok(gcm_parts::last(key, subkey, icb, aad, text, hash)?)
}

/// A message by a context (`kma_ctx`).
#[derive(Debug, Default)]
pub struct Stream {
    gcm: gcm_parts::Stream,
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
        self.gcm.start(key, iv)?;
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
        allow(Function::AesGcm, self.bits)?;
        let bytes = text.len();
        // After text not even none may come.
        let aad = (!self.aad_ended).then_some(aad);
        self.gcm.part(self.encrypt, aad, text)?;
        self.aad_ended |= aad_ends;
        self.done += bytes as u64;
        if self.aad_ended && text_ends {
            self.tag = Some(self.gcm.tag());
        }
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
