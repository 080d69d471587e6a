//! HMAC and CMAC: each message counts itself when its MAC is given, once, over the bytes of the message. The digests and block ciphers
//! within count nothing.

mod cmac;

use super::Tally;
use super::digest::{MAX_SAVED, MAX_SIZE, Method, restored, saved};
use super::material::{Elsewhere, Material};
use super::tally::Message;
use crate::catalogue::Outcome;
use crate::error::Error;
use adjunct_card_protocol::secure::{Call, MAX_INPUT};
pub use adjunct_cpu::cmac::BlockCipher;
use adjunct_cpu::digest::Digest as State;
use adjunct_cpu::mac as cpu;
pub use adjunct_cpu::mac::TLS_HEADER;
use adjunct_kernels::opaque_debug;
pub use cmac::{Cmac, CmacMessage, CmacOnce, MAX_SAVED_CMAC};
use zeroize::Zeroizing;

/// A message for a card's key, which is kept until its end.
#[derive(Clone, Default)]
struct Collected {
    bytes: Zeroizing<Vec<u8>>,
    /// The message is longer than a card takes, or there was no memory for it.
    lost: bool,
}

opaque_debug!(Collected);

impl Collected {
    #[cold]
    fn add(&mut self, data: &[u8]) {
        let fits = self.bytes.len() + data.len() < MAX_INPUT && self.bytes.try_reserve(data.len()).is_ok();
        if fits && !self.lost {
            self.bytes.extend_from_slice(data);
        }
        self.lost |= !fits;
    }

    #[cold]
    fn begin(&mut self) {
        self.bytes.clear();
        self.lost = false;
    }

    /// Ends the message: the MAC, which fills `out`, by a card.
    #[cold]
    fn finish(&mut self, key: &Elsewhere, call: Call, parameters: &[u8], out: &mut [u8]) -> Result<(), Error> {
        if self.lost {
            return Err(key.refused("message, which is too long"));
        }
        key.fill(call, parameters, &self.bytes, out)?;
        self.begin();
        Ok(())
    }
}

/// A card's key of a MAC over `U`, a digest or a cipher, and the message at hand.
#[derive(Clone, Debug)]
struct Remote<U> {
    key: Elsewhere,
    under: U,
    collected: Collected,
}

impl<U> Remote<U> {
    fn new(key: Elsewhere, under: U) -> Remote<U> {
        Remote { key, under, collected: Collected::default() }
    }

    /// Ends the message at hand by a card, with a MAC of `size` bytes, and counts it. By itself, so that a clear key has nothing to do with its errors.
    #[cold]
    #[inline(never)]
    fn finish(
        &mut self,
        call: Call,
        parameters: &[u8],
        size: usize,
        message: Message,
        out: &mut [u8],
    ) -> Result<(), Error> {
        self.collected.finish(&self.key, call, parameters, &mut out[..size])?;
        message.count();
        Ok(())
    }
}

/// The error of what a card's key does not do.
const NOT_OF_A_CARD: Error = Error::CardKey("its card does not do that");

/// HMAC (RFC 2104, FIPS 198-1), keyed once.
#[derive(Clone, Debug)]
pub struct Hmac {
    message: Message,
    mac: Material<cpu::Hmac, Remote<&'static Method>>,
}

impl Hmac {
    /// Keys an HMAC over `method`, ready for a first message. A reference to a card's key ([`crate::ops::reference`]) may stand for the key.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an extendable-output function, over which none is defined; [`Error::CardKey`] for a reference that is damaged.
    #[inline]
    pub fn new(method: &'static Method, key: &[u8]) -> Result<Hmac, Error> {
        let function = method.hmac.ok_or(Error::Unsupported("HMAC over an extendable-output function"))?;
        let tally = Tally::new(function, 0);
        if let Some(key) = Elsewhere::of(key)? {
            return Ok(Hmac::of_card(key, method, tally));
        }
        Ok(Hmac { mac: Material::Clear(cpu::Hmac::new(method, key)?), message: Message::new(tally) })
    }

    #[cold]
    fn of_card(key: Elsewhere, method: &'static Method, tally: Tally) -> Hmac {
        let message = Message::new(tally.ran(Outcome::Card));
        Hmac { mac: Material::Elsewhere(Remote::new(key, method)), message }
    }

    /// Keys the HMAC anew in place, over the same digest, ready for a first message.
    ///
    /// # Errors
    /// As for [`Hmac::new`].
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        let remote = Elsewhere::of(key)?;
        match (&mut self.mac, remote) {
            (Material::Clear(mac), None) => {
                self.message.bytes = 0;
                mac.set_key(key);
            }
            _ => *self = Hmac::new(self.method(), key)?,
        }
        Ok(())
    }

    /// The digest.
    #[inline]
    pub fn method(&self) -> &'static Method {
        match &self.mac {
            Material::Clear(mac) => mac.method(),
            Material::Elsewhere(remote) => remote.under,
        }
    }

    /// The key in the form HMAC uses: another HMAC keyed with it gives the same results.
    ///
    /// # Errors
    /// [`Error::CardKey`] for a card's key, which is not given out.
    pub fn block_key(&self) -> Result<&[u8], Error> {
        Ok(self.mac.clear().ok_or(NOT_OF_A_CARD)?.block_key())
    }

    /// Begins a new message with the same key.
    #[inline]
    pub fn reset(&mut self) {
        self.message.bytes = 0;
        match &mut self.mac {
            Material::Clear(mac) => mac.reset(),
            Material::Elsewhere(remote) => remote.collected.begin(),
        }
    }

    /// Takes in a part of the message.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.message.add(data);
        match &mut self.mac {
            Material::Clear(mac) => mac.update(data),
            Material::Elsewhere(remote) => remote.collected.add(data),
        }
    }

    /// Ends the message: the first [`Method::size`] bytes of `out`.
    ///
    /// # Errors
    /// Those of a card's key, and then nothing is counted. A clear key has none.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, out: &mut [u8]) -> Result<(), Error> {
        match &mut self.mac {
            Material::Clear(mac) => {
                mac.finish(out);
                self.message.count();
                Ok(())
            }
            Material::Elsewhere(remote) => {
                let under = remote.under;
                remote.finish(Call::Hmac, under.name.as_bytes(), under.size, self.message, out)
            }
        }
    }

    /// Saves the state of a message, for [`Hmac::restore`] under the same key, which goes on with it. Counts nothing, for the message goes on here
    /// too.
    ///
    /// # Errors
    /// [`Error::CardKey`] for a message under a card's key.
    pub fn save<'a>(&self, out: &'a mut [u8; MAX_SAVED]) -> Result<&'a [u8], Error> {
        let mac = self.mac.clear().ok_or(NOT_OF_A_CARD)?;
        Ok(saved(self.message, out, |out| mac.save(out).len()))
    }

    /// Goes on with a message that [`Hmac::save`] has saved. At its end it counts as a whole.
    ///
    /// # Errors
    /// [`Error::Length`] where it is not of this digest; [`Error::CardKey`] for a card's key.
    pub fn restore(&mut self, saved: &[u8]) -> Result<(), Error> {
        match &mut self.mac {
            Material::Clear(mac) => restored(&mut self.message, saved, |saved| mac.restore(saved)),
            Material::Elsewhere(_) => Err(NOT_OF_A_CARD),
        }
    }

    /// Begins a message whose state is kept beside the key: several may be under way at once, and the key is only read.
    #[inline]
    pub fn begin(&self) -> HmacMessage {
        let state = match &self.mac {
            Material::Clear(mac) => Material::Clear(mac.begin()),
            Material::Elsewhere(_) => Material::Elsewhere(Collected::default()),
        };
        HmacMessage { message: Message { bytes: 0, ..self.message }, state }
    }

    /// Whether [`Hmac::tls_record`] serves this digest.
    pub fn has_tls_record(&self) -> bool {
        self.mac.clear().is_some_and(cpu::Hmac::has_tls_record)
    }

    /// The MAC of a decrypted TLS record in CBC whose content's length is secret: `record` is content, MAC and padding
    /// together, `content` the length of the first. Neither timing nor memory accesses tell it (CVE-2013-0169).
    ///
    /// # Errors
    /// [`Error::Unsupported`] where [`Hmac::has_tls_record`] says no, [`Error::Length`] for lengths no record has.
    pub fn tls_record(&self, header: &[u8; TLS_HEADER], record: &[u8], content: usize) -> Result<RecordMac, Error> {
        let (mac, length) = self.mac.clear().ok_or(NOT_OF_A_CARD)?.tls_record(header, record, content)?;
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
    state: Material<State, Collected>,
}

impl HmacMessage {
    /// Begins another message, under a key of the same digest. Nothing is left of this one.
    #[inline]
    pub fn begin(&mut self, key: &Hmac) {
        self.message.bytes = 0;
        match (&key.mac, &mut self.state) {
            (Material::Clear(mac), Material::Clear(state)) => mac.begin_again(state),
            _ => *self = key.begin(),
        }
    }

    /// Takes in a part of the message.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        self.message.add(data);
        match &mut self.state {
            Material::Clear(state) => state.update(data),
            Material::Elsewhere(collected) => collected.add(data),
        }
    }

    /// Ends the message: the first [`Method::size`] bytes of `out`.
    ///
    /// # Errors
    /// As for [`Hmac::finish`]; [`Error::CardKey`] where one of key and message is a card's and the other is not.
    ///
    /// # Panics
    /// Where `out` is too short, and where the key is of another digest than the one it was begun with.
    #[inline]
    pub fn finish(&mut self, key: &Hmac, out: &mut [u8]) -> Result<(), Error> {
        match (&key.mac, &mut self.state) {
            (Material::Clear(mac), Material::Clear(state)) => {
                mac.end(state, out);
                self.message.count();
                Ok(())
            }
            (Material::Elsewhere(Remote { key, under, .. }), Material::Elsewhere(collected)) => {
                collected.finish(key, Call::Hmac, under.name.as_bytes(), &mut out[..under.size])?;
                self.message.count();
                Ok(())
            }
            _ => Err(NOT_OF_A_CARD),
        }
    }

    /// Saves the state of the message ([`Hmac::save`]).
    ///
    /// # Errors
    /// As for [`Hmac::save`].
    pub fn save<'a>(&self, out: &'a mut [u8; MAX_SAVED]) -> Result<&'a [u8], Error> {
        let state = self.state.clear().ok_or(NOT_OF_A_CARD)?;
        Ok(saved(self.message, out, |out| state.save(out).len()))
    }

    /// Restores a saved state of a message ([`Hmac::restore`]).
    ///
    /// # Errors
    /// As for [`Hmac::restore`].
    pub fn restore(&mut self, saved: &[u8]) -> Result<(), Error> {
        match &mut self.state {
            Material::Clear(state) => restored(&mut self.message, saved, |saved| state.restore(saved)),
            Material::Elsewhere(_) => Err(NOT_OF_A_CARD),
        }
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
                alone.finish(&mut expected).unwrap();
                // Two by turns.
                let mut both = [shared.begin(), shared.begin()];
                for part in message[..length].chunks(13) {
                    both.iter_mut().for_each(|message| message.update(&shared, part));
                }
                for mut one in both {
                    let mut out = [0; 16];
                    one.finish(&shared, &mut out).unwrap();
                    assert_eq!((out, one.message.bytes), (expected, length), "{cipher:?} of {length}");
                }
            }
        }
    }

    #[test]
    fn cmacs_go_on_elsewhere_from_what_was_saved() {
        let message: Vec<u8> = (0..70).collect();
        for cipher in [BlockCipher::Aes(16), BlockCipher::Aes(24), BlockCipher::Aes(32), BlockCipher::TripleDes] {
            let key = Cmac::boxed(cipher, &message[..cipher.key_length()]).expect("a key");
            let mut expected = [0; 16];
            key.whole(&message, &mut expected).unwrap();
            for split in 0..=message.len() {
                let (mut one, mut other, mut saved) = (key.begin(), key.begin(), [0; MAX_SAVED_CMAC]);
                one.update(&key, &message[..split]);
                other.update(&key, b"dropped");
                one.save(&mut saved).unwrap();
                other.restore(&key, &saved).unwrap();
                other.update(&key, &message[split..]);
                let mut out = [0; 16];
                other.finish(&key, &mut out).unwrap();
                assert_eq!((out, other.message.bytes), (expected, message.len()), "{cipher:?} split at {split}");
                saved[MAX_SAVED_CMAC - 1] = cipher.block() as u8 + 1;
                assert!(one.restore(&key, &saved).is_err() && one.restore(&key, &saved[1..]).is_err());
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
            other.restore(one.save(&mut [0; MAX_SAVED]).expect("a state")).expect("what was saved");
            again.restore(digest.save(&mut [0; MAX_SAVED]).expect("a state")).expect("what was saved");
            assert!(again.clone().restore(&[0; 7]).is_err());
            let (mut a, mut b) = ([0; 2 * MAX_SIZE], [0; 2 * MAX_SIZE]);
            for (hmac, digest, out) in [(&mut one, &mut digest, &mut a), (&mut other, &mut again, &mut b)] {
                hmac.update(b"rest");
                hmac.finish(&mut out[..MAX_SIZE]).unwrap();
                digest.update(b"rest");
                digest.finish(&mut out[MAX_SIZE..]);
            }
            assert_eq!(a, b, "{method:?}");
            assert_eq!((one.message.bytes, other.message.bytes, again.is_empty()), (304, 304, false));
        }
    }
}
