//! Encryption that authenticates: AES-GCM, AES-CCM, ChaCha20-Poly1305.
//!
//! What was decrypted is given out at the end, once the tag was found right: parts of a message to decrypt give nothing before. AES-CCM, whose
//! tag begins with the length, gives everything at the end in both directions.

use super::common::{keep, secret};
use super::params::{Params, Shape};
use super::registry::Entry;
use crate::object::Held;
use crate::object::prepared::Prepared;
use crate::operation::{Again, Cipher, Follows};
use crate::rv::{Result, Rv, ensure, fail, key_size};
use adjunct::InOut;
use adjunct::ops::aead::ccm::Ccm;
use adjunct::ops::aead::chacha::ChaCha20Poly1305;
use adjunct::ops::aead::{gcm_parts, same_tag};
use cryptoki_sys::*;
use zeroize::Zeroizing;

const TAG: usize = 16;
/// The longest message that is kept as a whole.
const LONGEST: usize = 1 << 36;

/// The ciphers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AeadKind {
    /// AES-GCM.
    Gcm,
    /// AES-CCM.
    Ccm,
    /// ChaCha20-Poly1305.
    ChaChaPoly,
}

impl AeadKind {
    /// The cipher of a mechanism, by its parameter.
    ///
    /// # Errors
    /// `CKR_MECHANISM_INVALID`.
    pub fn of(entry: &Entry) -> Result<AeadKind> {
        Ok(match entry.shape {
            Shape::Gcm => AeadKind::Gcm,
            Shape::Ccm => AeadKind::Ccm,
            Shape::ChaChaPoly => AeadKind::ChaChaPoly,
            _ => return fail(CKR_MECHANISM_INVALID),
        })
    }

    /// Checks a nonce and the length of a tag in bytes.
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    pub fn check(self, nonce: &[u8], tag: u64) -> Result {
        let fits = match self {
            AeadKind::Gcm => !nonce.is_empty() && (4..=16).contains(&tag),
            AeadKind::Ccm => (7..=13).contains(&nonce.len()) && (4..=16).contains(&tag) && tag.is_multiple_of(2),
            AeadKind::ChaChaPoly => nonce.len() == 12 && tag == 16,
        };
        ensure(fits, CKR_MECHANISM_PARAM_INVALID)
    }

    /// Checks the length that was announced of a message, perhaps with its tag: CCM writes it into the bytes that the nonce leaves of 15 (RFC 3610,
    /// 2.1).
    ///
    /// # Errors
    /// `CKR_MECHANISM_PARAM_INVALID`.
    fn check_length(self, nonce: &[u8], said: Option<u64>) -> Result {
        let bits = 8 * 15_u32.saturating_sub(nonce.len() as u32);
        let fits = self != AeadKind::Ccm
            || said.is_none_or(|said| said.saturating_sub(TAG as u64).checked_shr(bits).unwrap_or(0) == 0);
        ensure(fits, CKR_MECHANISM_PARAM_INVALID)
    }
}

/// A cipher with a key.
#[derive(Debug, Clone)]
pub enum Keyed {
    /// AES-GCM.
    Gcm(Prepared<gcm_parts::GcmMessageKey>),
    /// AES-CCM.
    Ccm(Prepared<Ccm>),
    /// ChaCha20-Poly1305, whose key has nothing to prepare.
    ChaChaPoly(Held),
}

impl Keyed {
    /// Prepares a key for a cipher.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`, `CKR_KEY_SIZE_RANGE`, `CKR_HOST_MEMORY`.
    #[inline]
    pub fn new(kind: AeadKind, key: Held) -> Result<Keyed> {
        Ok(match kind {
            AeadKind::Gcm => Keyed::Gcm(Prepared::new(key, ())?),
            AeadKind::Ccm => Keyed::Ccm(Prepared::new(key, ())?),
            AeadKind::ChaChaPoly => {
                secret(&key, CKK_CHACHA20)?;
                Keyed::ChaChaPoly(key)
            }
        })
    }

    /// The key.
    pub fn key(&self) -> &Held {
        match self {
            Keyed::Gcm(key) => key.key(),
            Keyed::Ccm(key) => key.key(),
            Keyed::ChaChaPoly(key) => key,
        }
    }

    fn kind(&self) -> AeadKind {
        match self {
            Keyed::Gcm(_) => AeadKind::Gcm,
            Keyed::Ccm(_) => AeadKind::Ccm,
            Keyed::ChaChaPoly(_) => AeadKind::ChaChaPoly,
        }
    }

    /// Works on a whole message; its tag, of which the first `size` bytes count. `nonce` and `size` were checked.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE`, `CKR_HOST_MEMORY`.
    pub fn run(&self, encrypt: bool, nonce: &[u8], aad: &[u8], size: usize, io: InOut<'_>) -> Result<[u8; TAG]> {
        let too_long = if encrypt { CKR_DATA_LEN_RANGE } else { CKR_ENCRYPTED_DATA_LEN_RANGE };
        match self {
            Keyed::Gcm(key) => {
                let mut tag = [0; TAG];
                key.get()?.message(encrypt, nonce, aad, io, &mut tag).map_err(|_| Rv(too_long))?;
                Ok(tag)
            }
            Keyed::Ccm(key) => {
                let mut ccm = key.get()?.clone();
                ccm.start(nonce, size, io.len()).map_err(|_| Rv(too_long))?;
                ccm.whole(encrypt, aad, io).map_err(|_| Rv(too_long))
            }
            Keyed::ChaChaPoly(key) => {
                let nonce = nonce.try_into().map_err(|_| Rv(CKR_MECHANISM_PARAM_INVALID))?;
                let mut cipher = ChaCha20Poly1305::default();
                cipher.set_key(key.value()?).map_err(key_size)?;
                cipher.set_nonce(nonce);
                cipher.aad(aad);
                cipher.message(encrypt, io);
                Ok(cipher.tag())
            }
        }
    }

    /// Decrypts a whole message into `out`, which holds nothing of it unless the tag is right.
    ///
    /// # Errors
    /// `CKR_ENCRYPTED_DATA_INVALID`, and as [`Keyed::run`].
    pub fn open(&self, nonce: &[u8], aad: &[u8], tag: &[u8], text: &[u8], out: &mut [u8]) -> Result {
        let made =
            self.run(false, nonce, aad, tag.len(), InOut::apart(text, out)).inspect_err(|_| adjunct::wipe(out))?;
        let mut wanted = [0; TAG];
        wanted[..tag.len()].copy_from_slice(tag);
        if !same_tag(&made, &wanted, tag.len()) {
            adjunct::wipe(out);
            return fail(CKR_ENCRYPTED_DATA_INVALID);
        }
        Ok(())
    }
}

/// Nonce, additional data, length of the tag in bytes, and of the data where it was said.
struct Given<'a> {
    nonce: &'a [u8],
    aad: &'a [u8],
    tag: u64,
    data: Option<u64>,
}

fn given<'a>(params: &Params<'a>) -> Result<Given<'a>> {
    Ok(match *params {
        Params::Gcm { iv, aad, tag_bits } => {
            ensure(tag_bits.is_multiple_of(8), CKR_MECHANISM_PARAM_INVALID)?;
            Given { nonce: iv, aad, tag: tag_bits / 8, data: None }
        }
        // Whoever has not said how long the data are has said 0.
        Params::Ccm { data, nonce, aad, mac } => {
            Given { nonce, aad, tag: mac, data: Some(data).filter(|data| *data != 0) }
        }
        Params::ChaChaPoly { nonce, aad } => Given { nonce, aad, tag: 16, data: None },
        _ => return fail(CKR_MECHANISM_PARAM_INVALID),
    })
}

/// A message that is kept until its end.
struct Whole {
    cipher: Keyed,
    encrypt: bool,
    nonce: Short,
    aad: Short,
    tag: usize,
    data: Option<u64>,
    waiting: Zeroizing<Vec<u8>>,
}

/// A message that is encrypted as it comes.
struct Sealing<S> {
    /// Begun with the first part: a message at once needs none.
    stream: Option<Box<S>>,
    /// The state for a message that is processed at once.
    whole: Whole,
}

/// Bytes of a caller's, in memory of their own only where they are many. No enumeration, for those are put together elsewhere and moved.
struct Short {
    here: [u8; 16],
    length: usize,
    long: Option<Box<[u8]>>,
}

impl Short {
    const NONE: Short = Short { here: [0; 16], length: 0, long: None };

    /// Sets the bytes, if there are none yet.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    #[inline]
    fn set(&mut self, bytes: &[u8]) -> Result {
        if !self.fits(bytes) {
            self.long = Some(boxed(bytes)?);
        }
        Ok(())
    }

    /// Sets the bytes, if there are none yet and they need no memory of their own; whether it did.
    #[inline]
    fn fits(&mut self, bytes: &[u8]) -> bool {
        self.length = bytes.len();
        if let Ok(usual) = <&[u8; 12]>::try_from(bytes) {
            // A copy of a length that is known takes no call.
            self.here[..12].copy_from_slice(usual);
        } else if let Some(here) = self.here.get_mut(..bytes.len()) {
            here.copy_from_slice(bytes);
        } else {
            return false;
        }
        true
    }
}

impl std::ops::Deref for Short {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.long.as_deref().unwrap_or_else(|| &self.here[..self.length])
    }
}

/// Bytes of a caller's in a box of their own.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn boxed(bytes: &[u8]) -> Result<Box<[u8]>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy.into_boxed_slice())
}

/// Begins a message of a cipher.
///
/// # Errors
/// As [`super::Mechanism::cipher`].
pub fn begin(kind: AeadKind, params: &Params<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    let given = given(params)?;
    kind.check(given.nonce, given.tag)?;
    kind.check_length(given.nonce, given.data)?;
    let cipher = Keyed::new(kind, key)?;
    match kind {
        AeadKind::Gcm if encrypt => sealing::<gcm_parts::Stream>(cipher, &given),
        AeadKind::ChaChaPoly if encrypt => sealing::<ChaCha20Poly1305>(cipher, &given),
        _ => {
            let mut made = adjunct::memory::boxed(Whole::new(cipher, encrypt, &given))?;
            made.take(&given)?;
            Ok(made)
        }
    }
}

fn sealing<S: Stream + 'static>(cipher: Keyed, given: &Given<'_>) -> Result<Box<dyn Cipher>> {
    let mut made = adjunct::memory::boxed(Sealing::<S> { stream: None, whole: Whole::new(cipher, true, given) })?;
    made.whole.take(given)?;
    Ok(made)
}

impl Whole {
    /// Makes a cipher without nonce and additional data, which [`Whole::take`] copies to where they stay.
    #[inline]
    fn new(cipher: Keyed, encrypt: bool, given: &Given<'_>) -> Whole {
        let (nonce, aad, waiting) = (Short::NONE, Short::NONE, Zeroizing::new(Vec::new()));
        Whole { cipher, encrypt, nonce, aad, tag: given.tag as usize, data: given.data, waiting }
    }

    #[inline]
    fn take(&mut self, given: &Given<'_>) -> Result {
        self.nonce.set(given.nonce)?;
        self.aad.set(given.aad)
    }

    /// Wipes what is left of a message that has ended ([`Again::rest`]).
    #[inline]
    fn end(&mut self) {
        (self.nonce.long, self.aad.long) = (None, None);
        if self.waiting.capacity() > 0 {
            self.waiting = Zeroizing::new(Vec::new());
        }
    }

    /// Begins another message with these parameters ([`Again::again`]); false where that cannot be.
    #[inline]
    fn next(&mut self, kind: AeadKind, params: &Params<'_>) -> bool {
        let Ok(given) = given(params) else { return false };
        let sound = kind.check(given.nonce, given.tag).and_then(|()| kind.check_length(given.nonce, given.data));
        if sound.is_err() || !self.nonce.fits(given.nonce) || !self.aad.fits(given.aad) {
            return false;
        }
        (self.tag, self.data) = (given.tag as usize, given.data);
        true
    }

    /// All of a message at once.
    fn all(&self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let length = self.length(input.len());
        let out = out.get_mut(..length).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        let said = |length: usize| self.data.is_none_or(|data| data == length as u64);
        if self.encrypt {
            ensure(said(input.len()), CKR_DATA_LEN_RANGE)?;
            let (text, tag) = out.split_at_mut(input.len());
            let made = self.cipher.run(true, &self.nonce, &self.aad, self.tag, InOut::apart(input, text))?;
            tag.copy_from_slice(&made[..self.tag]);
        } else {
            let short = Rv(CKR_ENCRYPTED_DATA_LEN_RANGE);
            let (text, tag) = input.split_at_checked(input.len().wrapping_sub(self.tag)).ok_or(short)?;
            // Some say the length with the tag.
            ensure(said(text.len()) || said(input.len()), CKR_ENCRYPTED_DATA_LEN_RANGE)?;
            self.cipher.open(&self.nonce, &self.aad, tag, text, out)?;
        }
        Ok(length)
    }

    fn length(&self, input: usize) -> usize {
        if self.encrypt { input + self.tag } else { input.saturating_sub(self.tag) }
    }
}

impl Again for Whole {
    fn follows(&self) -> Follows {
        self.cipher.key().follows()
    }

    fn rest(&mut self) {
        self.end();
    }

    fn again(&mut self, params: &Params<'_>) -> bool {
        self.next(self.cipher.kind(), params)
    }
}

impl Cipher for Whole {
    fn update_length(&self, _: usize) -> usize {
        0
    }

    fn update(&mut self, input: &[u8], _: &mut [u8]) -> Result<usize> {
        let wrong = if self.encrypt { CKR_DATA_LEN_RANGE } else { CKR_ENCRYPTED_DATA_LEN_RANGE };
        ensure(input.len() <= LONGEST - self.waiting.len(), wrong)?;
        keep(&mut self.waiting, input).map(|()| 0)
    }

    fn final_length(&self) -> usize {
        self.length(self.waiting.len())
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        self.all(&self.waiting, out)
    }

    fn once_length(&self, input: usize) -> usize {
        self.length(input)
    }

    fn once(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        self.all(input, out)
    }
}

/// A cipher that takes a message to encrypt as it comes.
trait Stream: Default + Send {
    /// Begins a message.
    ///
    /// # Errors
    /// `CKR_KEY_SIZE_RANGE`, `CKR_MECHANISM_PARAM_INVALID`.
    fn begin(&mut self, key: &[u8], nonce: &[u8]) -> Result;

    /// Encrypts a part; the first takes the additional data.
    ///
    /// # Errors
    /// `CKR_DATA_LEN_RANGE`.
    fn part(&mut self, aad: Option<&[u8]>, io: InOut<'_>) -> Result;

    /// The tag.
    fn end(&mut self) -> [u8; TAG];
}

impl Stream for gcm_parts::Stream {
    fn begin(&mut self, key: &[u8], nonce: &[u8]) -> Result {
        self.start(key, nonce).map_err(key_size)
    }

    fn part(&mut self, aad: Option<&[u8]>, io: InOut<'_>) -> Result {
        gcm_parts::Stream::part(self, true, aad, io).map_err(|_| Rv(CKR_DATA_LEN_RANGE))
    }

    fn end(&mut self) -> [u8; TAG] {
        self.tag()
    }
}

impl Stream for ChaCha20Poly1305 {
    fn begin(&mut self, key: &[u8], nonce: &[u8]) -> Result {
        self.set_key(key).map_err(key_size)?;
        self.set_nonce(nonce.try_into().map_err(|_| Rv(CKR_MECHANISM_PARAM_INVALID))?);
        Ok(())
    }

    fn part(&mut self, aad: Option<&[u8]>, io: InOut<'_>) -> Result {
        self.aad(aad.unwrap_or_default());
        self.message(true, io);
        Ok(())
    }

    fn end(&mut self) -> [u8; TAG] {
        self.tag()
    }
}

impl<S: Stream> Again for Sealing<S> {
    fn follows(&self) -> Follows {
        self.whole.follows()
    }

    fn rest(&mut self) {
        self.stream = None;
        self.whole.end();
    }

    fn again(&mut self, params: &Params<'_>) -> bool {
        self.whole.again(params)
    }
}

impl<S: Stream> Cipher for Sealing<S> {
    fn update_length(&self, input: usize) -> usize {
        input
    }

    fn update(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        let out = out.get_mut(..input.len()).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        let Whole { cipher, nonce, aad, .. } = &self.whole;
        let io = InOut::apart(input, out);
        if let Some(stream) = &mut self.stream {
            stream.part(None, io)?;
        } else {
            let mut stream = adjunct::memory::boxed(S::default())?;
            stream.begin(cipher.key().value()?, nonce)?;
            self.stream.insert(stream).part(Some(aad), io)?;
        }
        Ok(input.len())
    }

    fn final_length(&self) -> usize {
        self.whole.tag
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let Some(stream) = &mut self.stream else { return self.whole.all(&[], out) };
        let out = out.get_mut(..self.whole.tag).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        out.copy_from_slice(&stream.end()[..out.len()]);
        Ok(out.len())
    }

    fn once(&mut self, input: &[u8], out: &mut [u8]) -> Result<usize> {
        self.whole.all(input, out)
    }
}
