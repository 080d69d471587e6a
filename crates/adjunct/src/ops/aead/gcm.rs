//! AES-GCM with the rules of its IV (SP 800-38D, 8.2): each is good for one message; one that a context makes is counted up. And
//! TLS 1.2 records in place (RFC 5288). Each piece of text and each record counts once, after it was encrypted or decrypted.

use super::{DEFAULT_IV, EXPLICIT_IV, FIXED_IV, TLS_AAD, same_tag};
use crate::catalogue::Function;
use crate::error::Error;
use crate::ops::Tally;
use crate::ops::cipher::direction;
use adjunct_cpu::cipher::gcm::Gcm;
pub use adjunct_cpu::cipher::gcm::TAG;
use adjunct_cpu::random;
use adjunct_kernels::{InOut, opaque_debug, wipe};

/// The longest IV in bytes.
pub const MAX_IV: usize = 128;

/// The state of the IV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Iv {
    /// No IV yet.
    Unset,
    /// Set, and the cipher not yet told.
    Set,
    /// The IV is in use by the cipher.
    Used,
    /// The IV's message is over: it must not be used again.
    Over,
}

/// A key, an IV and the message at hand; wiped when dropped.
#[derive(Clone)]
pub struct Session {
    gcm: Gcm,
    /// `None` before a key is set.
    tally: Option<Tally>,
    state: Iv,
    /// Whether IVs are made here, after the part that is fixed.
    generates: bool,
    random: bool,
    /// Length of the IV, at most [`MAX_IV`].
    iv_length: u8,
    /// Length of the tag, at most [`TAG`].
    tag_length: Option<u8>,
    /// The tag computed or to be compared.
    tag: [u8; TAG],
    tls_records: u64,
    iv: [u8; MAX_IV],
}

opaque_debug!(Session);

impl Drop for Session {
    fn drop(&mut self) {
        wipe(&mut self.iv);
        wipe(&mut self.tag);
    }
}

impl Default for Session {
    #[inline]
    fn default() -> Session {
        Session {
            gcm: Gcm::default(),
            tally: None,
            state: Iv::Unset,
            generates: false,
            random: false,
            iv_length: DEFAULT_IV as u8,
            tag_length: None,
            tag: [0; TAG],
            tls_records: 0,
            iv: [0; MAX_IV],
        }
    }
}

impl Session {
    /// Whether there is a key.
    #[inline]
    pub const fn has_key(&self) -> bool {
        self.tally.is_some()
    }

    /// Sets the key. A message begun under another one cannot go on under it.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.gcm.set_key(key)?;
        self.tally = Some(Tally::new(Function::AesGcm, key.len() * 8));
        self.tls_records = 0;
        if self.state == Iv::Used {
            self.state = Iv::Set;
        }
        Ok(())
    }

    /// The IV, where there has been one.
    pub fn iv(&self) -> Option<&[u8]> {
        (self.state != Iv::Unset).then(|| &self.iv[..self.iv_length()])
    }

    /// Length in bytes of the IV that is set, or that is expected.
    #[inline]
    pub const fn iv_length(&self) -> usize {
        self.iv_length as usize
    }

    /// Whether random bytes were made for the IV.
    pub const fn iv_is_random(&self) -> bool {
        self.random
    }

    /// Expects IVs of another length: one already there was made for another. False for a length that cannot be.
    pub fn set_iv_length(&mut self, length: usize) -> bool {
        if length == 0 || length > MAX_IV {
            return false;
        }
        if length != self.iv_length() {
            if self.state != Iv::Unset {
                self.state = Iv::Over;
            }
            self.iv_length = length as u8;
        }
        true
    }

    /// Sets an IV, and its length. False for a length that cannot be.
    #[inline]
    pub fn set_iv(&mut self, iv: &[u8]) -> bool {
        if iv.is_empty() || iv.len() > MAX_IV {
            return false;
        }
        self.iv_length = iv.len() as u8;
        self.iv[..iv.len()].copy_from_slice(iv);
        self.random = false;
        self.state = Iv::Set;
        true
    }

    /// Makes a random IV if there is none yet (SP 800-38D 8.2.2): at least 96 bits of it, and for encryption only.
    #[cold]
    pub fn random_iv(&mut self, encrypt: bool) -> bool {
        if self.state != Iv::Unset || !encrypt || self.iv_length() < DEFAULT_IV {
            return false;
        }
        let length = self.iv_length();
        random(&mut self.iv[..length]);
        self.state = Iv::Set;
        self.random = true;
        true
    }

    /// Sets the part of the IV that stays for a connection, or, where `whole` says so, all of it: as many bytes as it has.
    pub fn fix_iv(&mut self, fixed: &[u8], whole: bool, encrypt: bool) -> bool {
        let length = self.iv_length();
        if !whole && (fixed.len() < FIXED_IV || fixed.len() + EXPLICIT_IV > length) {
            return false;
        }
        self.iv[..fixed.len()].copy_from_slice(fixed);
        if !whole && encrypt {
            random(&mut self.iv[fixed.len()..length]);
            self.random = true;
        }
        self.generates = true;
        self.state = Iv::Set;
        true
    }

    /// Uses the IV, gives out its last bytes, and counts its invocation field up (SP 800-38D 8.2.1).
    pub fn generate_iv(&mut self, out: &mut [u8]) -> bool {
        let length = self.iv_length();
        if !self.generates || !self.has_key() || length < EXPLICIT_IV || out.len() > length {
            return false;
        }
        self.start();
        let iv = &mut self.iv[..length];
        out.copy_from_slice(&iv[iv.len() - out.len()..]);
        let Some(field) = iv.last_chunk_mut::<EXPLICIT_IV>() else { return false };
        *field = u64::from_be_bytes(*field).wrapping_add(1).to_be_bytes();
        true
    }

    /// Uses the IV with the last bytes that the peer sent.
    pub fn receive_iv(&mut self, invocation: &[u8], encrypt: bool) -> bool {
        let length = self.iv_length();
        if !self.generates || !self.has_key() || encrypt || invocation.len() > length {
            return false;
        }
        self.iv[length - invocation.len()..length].copy_from_slice(invocation);
        self.start();
        true
    }

    /// Sets the cipher's IV.
    #[inline]
    fn start(&mut self) {
        self.gcm.set_iv(&self.iv[..self.iv_length()]);
        self.state = Iv::Used;
    }

    /// Whether a message is begun, or can be and is. There must be a key.
    #[inline]
    pub fn begin(&mut self) -> bool {
        match self.state {
            Iv::Used => true,
            Iv::Set => {
                self.start();
                true
            }
            Iv::Unset | Iv::Over => false,
        }
    }

    /// Takes additional data of a message that is begun. False where text has come already, or for too much.
    #[inline]
    pub fn aad(&mut self, data: &[u8]) -> bool {
        self.gcm.aad(data).is_ok()
    }

    /// Encrypts or decrypts the next piece of a message that is begun, and counts it; false without a key and beyond 2^36 - 32 bytes.
    #[inline]
    pub fn crypt(&mut self, encrypt: bool, io: InOut<'_>) -> bool {
        let (Some(tally), bytes) = (self.tally, io.len()) else { return false };
        let done = if encrypt { self.gcm.encrypt(io) } else { self.gcm.decrypt(io) }.is_ok();
        if done {
            tally.count(direction(encrypt), bytes);
        }
        done
    }

    /// Ends the message: makes the tag, or compares it with the one that was set. Where none was, that is false, and the message goes
    /// on. The IV is in use until [`Session::end`].
    // Copies of it in update and final cost short messages more than the calls do.
    #[inline(never)]
    pub fn close(&mut self, encrypt: bool) -> bool {
        let length = match self.tag_length {
            _ if encrypt => TAG,
            Some(length) => length.into(),
            None => return false,
        };
        let made = self.gcm.tag();
        if encrypt {
            (self.tag, self.tag_length) = (made, Some(TAG as u8));
            return true;
        }
        same_tag(&made, &self.tag, length)
    }

    /// Makes the IV unusable for further messages.
    #[inline]
    pub fn end(&mut self) {
        self.state = Iv::Over;
    }

    /// The length of the tag, where one was made or set.
    #[inline]
    pub fn tag_length(&self) -> Option<usize> {
        self.tag_length.map(usize::from)
    }

    /// The first bytes of the tag that was made; `None` where none was, or for a length that cannot be.
    #[inline]
    pub fn tag(&self, length: usize, encrypt: bool) -> Option<&[u8]> {
        (encrypt && self.tag_length.is_some() && (1..=TAG).contains(&length)).then(|| &self.tag[..length])
    }

    /// Sets the tag to compare with, of 16 bytes at most. False for an empty one, and for encryption.
    pub fn set_tag(&mut self, tag: &[u8], encrypt: bool) -> bool {
        self.tag[..tag.len()].copy_from_slice(tag);
        if tag.is_empty() || encrypt {
            return false;
        }
        self.tag_length = Some(tag.len() as u8);
        true
    }

    /// Encrypts or decrypts a TLS record in place: explicit IV, payload, tag. Gives the length of the result. The payload counts once it is encrypted
    /// or decrypted, whether or not the tag is right.
    pub fn tls_record(&mut self, encrypt: bool, aad: [u8; TLS_AAD], record: &mut [u8]) -> Option<usize> {
        if !self.has_key() || record.len() < EXPLICIT_IV + TAG {
            return None;
        }
        let length = record.len();
        let (explicit, rest) = record.split_at_mut(EXPLICIT_IV);
        let (payload, tag) = rest.split_last_chunk_mut::<TAG>()?;
        if encrypt {
            self.tls_records = self.tls_records.checked_add(1)?;
        }
        let started = if encrypt { self.generate_iv(explicit) } else { self.receive_iv(explicit, encrypt) };
        if !started || !self.aad(&aad) || !self.crypt(encrypt, InOut::in_place(payload)) {
            return None;
        }
        let made = self.gcm.tag();
        if encrypt {
            *tag = made;
            return Some(length);
        }
        if !same_tag(&made, tag, TAG) {
            // What does not authenticate must not be seen.
            wipe(payload);
            return None;
        }
        Some(payload.len())
    }

    /// Takes what a record ended with for the tag: of one encrypted, the tag made; of one decrypted, its length alone.
    pub fn tag_of_record(&mut self, encrypt: bool, record: &[u8]) {
        self.tag_length = Some(TAG as u8);
        if let (true, Some(tag)) = (encrypt, record.last_chunk()) {
            self.tag = *tag;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{InOut, Session, TAG, TLS_AAD};

    fn session() -> Session {
        let mut session = Session::default();
        session.set_key(&[7; 16]).unwrap();
        session
    }

    #[test]
    fn an_iv_is_good_for_one_message() {
        let mut session = session();
        assert!(!session.begin());
        assert!(session.set_iv(&[1; 12]) && session.begin() && session.close(true));
        session.end();
        assert!(!session.begin());
        assert!(session.set_iv(&[2; 12]) && session.set_iv_length(13) && !session.begin());
        assert!(!session.set_iv(&[]) && !session.set_iv_length(0) && !session.set_iv_length(129));
    }

    #[test]
    fn a_generated_iv_counts_up_and_runs_over() {
        let mut session = session();
        assert!(!session.generate_iv(&mut [0; 8]));
        let mut iv = [0xff; 12];
        iv[..4].copy_from_slice(b"abcd");
        assert!(!session.fix_iv(&iv, false, true) && session.fix_iv(&iv, true, true));
        let mut out = [0; 12];
        assert!(session.generate_iv(&mut out) && out == iv);
        assert!(session.generate_iv(&mut out) && out == *b"abcd\0\0\0\0\0\0\0\0");
        assert!(session.generate_iv(&mut out[..8]) && out[..8] == [0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn no_tag_is_no_right_tag() {
        let mut session = session();
        let mut text = [0; 4];
        assert!(session.set_iv(&[1; 12]) && session.begin() && session.crypt(false, InOut::in_place(&mut text)));
        assert!(!session.close(false) && !session.set_tag(&[], false) && !session.close(false));
    }

    #[test]
    fn a_record_comes_back_and_a_forged_one_does_not() {
        let (mut one, mut other) = (session(), session());
        assert!(one.fix_iv(b"salt", false, true) && other.fix_iv(b"salt", false, false));
        for forged in [false, true] {
            let mut record = [0; 8 + 5 + TAG];
            record[8..13].copy_from_slice(b"hello");
            assert_eq!(one.tls_record(true, [3; TLS_AAD], &mut record), Some(29));
            record[28] ^= u8::from(forged);
            let opened = other.tls_record(false, [3; TLS_AAD], &mut record);
            assert_eq!(
                (opened, &record[8..13]),
                if forged { (None, &[0; 5][..]) } else { (Some(5), b"hello".as_slice()) }
            );
        }
    }
}
