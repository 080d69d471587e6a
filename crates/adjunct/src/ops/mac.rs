//! HMAC and CMAC: each message counts itself when its MAC is given, once, over the bytes of the message. The digests and block ciphers
//! within count nothing.

use super::Tally;
use super::digest::{MAX_SAVED, MAX_SIZE, Method, restored, saved};
use super::tally::Message;
use crate::catalogue::{Direction, Path};
use crate::error::Error;
use crate::memory::boxed;
use adjunct_cpu::cmac;
pub use adjunct_cpu::cmac::BlockCipher;
use adjunct_cpu::digest::Digest as State;
use adjunct_cpu::mac as cpu;
pub use adjunct_cpu::mac::TLS_HEADER;
use adjunct_kernels::opaque_debug;

/// HMAC (RFC 2104, FIPS 198-1), keyed once.
#[derive(Clone, Debug)]
pub struct Hmac {
    message: Message,
    mac: cpu::Hmac,
}

impl Hmac {
    /// Keys an HMAC over `method`, ready for a first message.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an extendable-output function, over which none is defined.
    #[inline]
    pub fn new(method: &'static Method, key: &[u8]) -> Result<Hmac, Error> {
        let function = method.hmac.ok_or(Error::Unsupported("HMAC over an extendable-output function"))?;
        Ok(Hmac { mac: cpu::Hmac::new(method, key)?, message: Message::new(Tally::new(function, 0)) })
    }

    /// Keys the HMAC anew in place, over the same digest, ready for a first message.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) {
        self.message.bytes = 0;
        self.mac.set_key(key);
    }

    /// The digest.
    #[inline]
    pub fn method(&self) -> &'static Method {
        self.mac.method()
    }

    /// The key in the form HMAC uses: another HMAC keyed with it gives the same results.
    pub fn block_key(&self) -> &[u8] {
        self.mac.block_key()
    }

    /// Begins a new message with the same key.
    #[inline]
    pub fn reset(&mut self) {
        self.message.bytes = 0;
        self.mac.reset();
    }

    /// Takes in a part of the message.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.message.add(data);
        self.mac.update(data);
    }

    /// Ends the message: the first [`Method::size`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) {
        self.mac.finish(out);
        self.message.count();
    }

    /// Saves the state of a message, for [`Hmac::restore`] under the same key, which goes on with it. Counts nothing, for the message goes on here
    /// too.
    pub fn save<'a>(&self, out: &'a mut [u8; MAX_SAVED]) -> &'a [u8] {
        saved(self.message, out, |out| self.mac.save(out).len())
    }

    /// Goes on with a message that [`Hmac::save`] has saved. At its end it counts as a whole.
    ///
    /// # Errors
    /// [`Error::Length`] where it is not of this digest.
    pub fn restore(&mut self, saved: &[u8]) -> Result<(), Error> {
        restored(&mut self.message, saved, |saved| self.mac.restore(saved))
    }

    /// Begins a message whose state is kept beside the key: several may be under way at once, and the key is only read.
    #[inline]
    pub fn begin(&self) -> HmacMessage {
        HmacMessage { message: Message { bytes: 0, ..self.message }, state: self.mac.begin() }
    }

    /// Whether [`Hmac::tls_record`] serves this digest.
    pub fn has_tls_record(&self) -> bool {
        self.mac.has_tls_record()
    }

    /// The MAC of a decrypted TLS record in CBC whose content's length is secret: `record` is content, MAC and padding
    /// together, `content` the length of the first. Neither timing nor memory accesses tell it (CVE-2013-0169).
    ///
    /// # Errors
    /// [`Error::Unsupported`] where [`Hmac::has_tls_record`] says no, [`Error::Length`] for lengths no record has.
    pub fn tls_record(&self, header: &[u8; TLS_HEADER], record: &[u8], content: usize) -> Result<RecordMac, Error> {
        let (mac, length) = self.mac.tls_record(header, record, content)?;
        // The length of the record, not of its secret content.
        Ok(RecordMac { mac, length, message: Message { bytes: record.len(), ..self.message } })
    }
}

/// Computes the HMAC of the parts of a message, for a part of another operation or for callers whose work is not counted: it counts nothing. Writes
/// the first [`Method::size`] bytes of `out`.
///
/// # Errors
/// As for [`Hmac::new`].
///
/// # Panics
/// Where `out` is too short.
pub fn hmac_within(method: &'static Method, key: &[u8], parts: &[&[u8]], out: &mut [u8]) -> Result<(), Error> {
    let mut mac = cpu::Hmac::new(method, key)?;
    parts.iter().for_each(|part| mac.update(part));
    mac.finish(out);
    Ok(())
}

/// A message under an [`Hmac`] that stays as it is. Its state is wiped when it goes.
#[derive(Clone, Debug)]
pub struct HmacMessage {
    message: Message,
    state: State,
}

impl HmacMessage {
    /// Begins another message, under a key of the same digest. Nothing is left of this one.
    #[inline]
    pub fn begin(&mut self, key: &Hmac) {
        self.message.bytes = 0;
        key.mac.begin_again(&mut self.state);
    }

    /// Takes in a part of the message.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.message.add(data);
        self.state.update(data);
    }

    /// Ends the message: the first [`Method::size`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short, and where the key is of another digest than the one it was begun with.
    #[inline]
    pub fn finish(&mut self, key: &Hmac, out: &mut [u8]) {
        key.mac.end(&mut self.state, out);
        self.message.count();
    }

    /// Saves the state of the message ([`Hmac::save`]).
    pub fn save<'a>(&self, out: &'a mut [u8; MAX_SAVED]) -> &'a [u8] {
        saved(self.message, out, |out| self.state.save(out).len())
    }

    /// Restores a saved state of a message ([`Hmac::restore`]).
    ///
    /// # Errors
    /// [`Error::Length`] where it is not of this digest.
    pub fn restore(&mut self, saved: &[u8]) -> Result<(), Error> {
        restored(&mut self.message, saved, |saved| self.state.restore(saved))
    }
}

/// The MAC of a TLS record, which has not been given out yet.
#[derive(Clone, Copy)]
pub struct RecordMac {
    mac: [u8; MAX_SIZE],
    length: usize,
    message: Message,
}

opaque_debug!(RecordMac);

impl RecordMac {
    /// Length of the MAC in bytes.
    pub const fn length(&self) -> usize {
        self.length
    }

    /// Gives the MAC out, in the first [`RecordMac::length`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    pub fn finish(&self, out: &mut [u8]) {
        out[..self.length].copy_from_slice(&self.mac[..self.length]);
        self.message.count();
    }
}

fn tally(cipher: BlockCipher) -> Tally {
    let (function, bits) = cipher.cmac();
    Tally::new(function, bits)
}

/// CMAC (NIST SP 800-38B), keyed once.
#[derive(Clone, Debug)]
pub struct Cmac {
    message: Message,
    mac: cmac::Cmac,
}

impl Cmac {
    /// Keys a CMAC, ready for a first message.
    ///
    /// # Errors
    /// [`Error::Length`] where the key's length is not the cipher's.
    #[inline]
    pub fn new(cipher: BlockCipher, key: &[u8]) -> Result<Cmac, Error> {
        let mut cmac = Cmac { message: Message::new(tally(cipher)), mac: cmac::Cmac::default() };
        cmac.mac.set_key(cipher, key)?;
        Ok(cmac)
    }

    /// Keys a CMAC in memory of its own, where the key is set: a value that is moved leaves a copy of the key behind.
    ///
    /// # Errors
    /// As for [`Cmac::new`]; [`Error::Memory`].
    pub fn boxed(cipher: BlockCipher, key: &[u8]) -> Result<Box<Cmac>, Error> {
        let mut cmac = boxed(Cmac { message: Message::new(tally(cipher)), mac: cmac::Cmac::default() })?;
        cmac.mac.set_key(cipher, key)?;
        Ok(cmac)
    }

    /// Begins a message whose state is kept beside the key: several may be under way at once, and the key is only read.
    #[inline]
    pub fn begin(&self) -> CmacMessage {
        CmacMessage { message: Message { bytes: 0, ..self.message }, state: cmac::CmacMessage::default() }
    }

    /// The MAC of a whole message, while others may be under way: the first [`BlockCipher::block`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn whole(&self, message: &[u8], out: &mut [u8]) {
        self.mac.whole(message, out);
        Message { bytes: message.len(), ..self.message }.count();
    }

    /// Keys the CMAC anew in place, with the same cipher, ready for a first message.
    ///
    /// # Errors
    /// [`Error::Length`] where the key's length is not the cipher's: nothing has changed.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.mac.set_key(self.mac.cipher(), key)?;
        self.message.bytes = 0;
        Ok(())
    }

    /// The cipher.
    #[inline]
    pub fn cipher(&self) -> BlockCipher {
        self.mac.cipher()
    }

    /// Begins a new message with the same key.
    #[inline]
    pub fn reset(&mut self) {
        self.message.bytes = 0;
        self.mac.reset();
    }

    /// Takes in a part of the message.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.message.add(data);
        self.mac.update(data);
    }

    /// Ends the message: the first [`BlockCipher::block`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) {
        self.mac.finish(out);
        self.message.count();
    }
}

/// A message under a [`Cmac`] that stays as it is. Its state is wiped when it goes.
#[derive(Clone, Debug)]
pub struct CmacMessage {
    message: Message,
    state: cmac::CmacMessage,
}

impl CmacMessage {
    /// Begins another message, under the same key. Nothing is left of this one.
    #[inline]
    pub fn begin(&mut self) {
        self.message.bytes = 0;
        self.state.begin();
    }

    /// Takes in a part of the message, under the key that it was begun with.
    #[inline]
    pub fn update(&mut self, key: &Cmac, data: &[u8]) {
        self.message.add(data);
        key.mac.take(&mut self.state, data);
    }

    /// Ends the message: the first [`BlockCipher::block`] bytes of `out`.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, key: &Cmac, out: &mut [u8]) {
        key.mac.end(&mut self.state, out);
        self.message.count();
    }
}

/// CMAC of a message, or of a part of one whose chaining block the caller keeps, under a key of which nothing is kept.
#[derive(Clone, Copy, Debug)]
pub struct CmacOnce {
    cipher: BlockCipher,
    tally: Tally,
}

impl CmacOnce {
    /// Makes a CMAC of that cipher.
    #[inline]
    pub fn new(cipher: BlockCipher) -> CmacOnce {
        CmacOnce { cipher, tally: tally(cipher) }
    }

    /// Whether instructions of this machine serve the MAC.
    #[inline]
    pub fn in_hardware(self) -> bool {
        self.tally.path() == Path::Hardware
    }

    /// The MAC of a message, or of its end after parts that led to `chain`: the first [`BlockCipher::block`] bytes of `mac`. Counts in `direction`,
    /// for what the caller does with it.
    ///
    /// # Errors
    /// [`Error::Length`] where the key's length is not the cipher's.
    ///
    /// # Panics
    /// Where `chain` is not a block.
    #[inline]
    pub fn finish(
        self,
        direction: Direction,
        key: &[u8],
        chain: Option<&[u8]>,
        message: &[u8],
        mac: &mut [u8; 16],
    ) -> Result<(), Error> {
        cmac::Cmac::once(self.cipher, key, chain, message, mac)?;
        self.tally.count(direction, message.len());
        Ok(())
    }

    /// Takes in a part of a message that others follow, of whole blocks: `chain`, a block, is the chaining value before it, and becomes the one
    /// behind it. Counts in `direction`.
    ///
    /// # Errors
    /// [`Error::Length`] where the key's length is not the cipher's.
    ///
    /// # Panics
    /// Where `chain` is not a block.
    pub fn absorb(self, direction: Direction, key: &[u8], blocks: &[u8], chain: &mut [u8]) -> Result<(), Error> {
        let mut cmac = cmac::Cmac::default();
        cmac.set_key(self.cipher, key)?;
        cmac.resume(chain);
        chain.copy_from_slice(cmac.chain(blocks));
        self.tally.count(direction, blocks.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::digest::{Digest, METHODS};
    use super::*;

    #[test]
    fn messages_beside_a_key_come_to_what_they_do_alone() {
        let message: Vec<u8> = (0..100).collect();
        for cipher in [BlockCipher::Aes(16), BlockCipher::Aes(32), BlockCipher::TripleDes] {
            let key = &message[..cipher.key_length()];
            let shared = Cmac::boxed(cipher, key).expect("a key");
            assert!(Cmac::boxed(cipher, &key[1..]).is_err());
            for length in [0, 7, 8, 16, 40, 100] {
                let mut alone = Cmac::new(cipher, key).expect("a key");
                let mut expected = [0; 16];
                alone.update(&message[..length]);
                alone.finish(&mut expected);
                // Two by turns.
                let mut both = [shared.begin(), shared.begin()];
                for part in message[..length].chunks(13) {
                    both.iter_mut().for_each(|message| message.update(&shared, part));
                }
                for mut one in both {
                    let mut out = [0; 16];
                    one.finish(&shared, &mut out);
                    assert_eq!((out, one.message.bytes), (expected, length), "{cipher:?} of {length}");
                }
            }
        }
    }

    #[test]
    fn messages_go_on_elsewhere_from_what_was_saved() {
        for method in METHODS.iter().filter(|method| !method.xof) {
            let (mut one, mut other) =
                (Hmac::new(method, b"key").expect("a key"), Hmac::new(method, b"key").expect("a key"));
            let (mut digest, mut again) = (Digest::new(method), Digest::new(method));
            one.update(&[7; 300]);
            digest.update(&[7; 300]);
            other.update(b"dropped");
            other.restore(one.save(&mut [0; MAX_SAVED])).expect("what was saved");
            again.restore(digest.save(&mut [0; MAX_SAVED]).expect("a state")).expect("what was saved");
            assert!(again.clone().restore(&[0; 7]).is_err());
            let (mut a, mut b) = ([0; 2 * MAX_SIZE], [0; 2 * MAX_SIZE]);
            for (hmac, digest, out) in [(&mut one, &mut digest, &mut a), (&mut other, &mut again, &mut b)] {
                hmac.update(b"rest");
                hmac.finish(&mut out[..MAX_SIZE]);
                digest.update(b"rest");
                digest.finish(&mut out[MAX_SIZE..]);
            }
            assert_eq!(a, b, "{method:?}");
            assert_eq!((one.message.bytes, other.message.bytes, again.is_empty()), (304, 304, false));
        }
    }
}
