//! CMAC (NIST SP 800-38B).

use super::{BlockCipher, Collected, NOT_OF_A_CARD, Remote};
use crate::catalogue::{Direction, Outcome, Path};
use crate::error::Error;
use crate::memory::boxed;
use crate::ops::Tally;
use crate::ops::material::{Elsewhere, Material};
use crate::ops::tally::Message;
use adjunct_card_protocol::secure::Call;
use adjunct_cpu::cmac;

/// Bytes of a CMAC in progress as it is saved.
pub const MAX_SAVED_CMAC: usize = 8 + cmac::SAVED;

const NOT_SAVED: Error = Error::Length { what: "saved CMAC", got: 0, expected: "what was saved" };

fn tally(cipher: BlockCipher) -> Tally {
    let (function, bits) = cipher.cmac();
    Tally::new(function, bits)
}

/// CMAC (NIST SP 800-38B), keyed once.
#[derive(Clone, Debug)]
pub struct Cmac {
    message: Message,
    mac: Material<cmac::Cmac, Remote<BlockCipher>>,
}

/// A card's key for a CMAC with AES, in a reference; `None` for a clear one.
#[inline]
fn cmac_of_card(cipher: BlockCipher, key: &[u8]) -> Result<Option<Cmac>, Error> {
    match (Elsewhere::of(key)?, cipher) {
        (None, _) => Ok(None),
        // The length of the key is the card's to know.
        (Some(key), BlockCipher::Aes(_)) => {
            let message = Message::new(Tally::new(cipher.cmac().0, 0).ran(Outcome::Card));
            Ok(Some(Cmac { message, mac: Material::Elsewhere(Remote::new(key, cipher)) }))
        }
        (Some(_), _) => Err(NOT_OF_A_CARD),
    }
}

impl Cmac {
    /// Keys a CMAC, ready for a first message. A reference to a card's key ([`crate::ops::reference`]) may stand for a key of AES; its operations count
    /// in the row of no size.
    ///
    /// # Errors
    /// [`Error::Length`] where the key's length is not the cipher's; [`Error::CardKey`] for a reference that is damaged, or for another cipher.
    #[inline]
    pub fn new(cipher: BlockCipher, key: &[u8]) -> Result<Cmac, Error> {
        if let Some(cmac) = cmac_of_card(cipher, key)? {
            return Ok(cmac);
        }
        let mut cmac = Cmac { message: Message::new(tally(cipher)), mac: Material::default() };
        cmac.mac.set(|mac| mac.set_key(cipher, key))?;
        Ok(cmac)
    }

    /// Keys a CMAC in memory of its own, where the key is set: a value that is moved leaves a copy of the key behind.
    ///
    /// # Errors
    /// As for [`Cmac::new`]; [`Error::Memory`].
    pub fn boxed(cipher: BlockCipher, key: &[u8]) -> Result<Box<Cmac>, Error> {
        if let Some(cmac) = cmac_of_card(cipher, key)? {
            return boxed(cmac);
        }
        let mut cmac = boxed(Cmac { message: Message::new(tally(cipher)), mac: Material::default() })?;
        cmac.mac.set(|mac| mac.set_key(cipher, key))?;
        Ok(cmac)
    }

    /// Begins a message whose state is kept beside the key: several may be under way at once, and the key is only read.
    #[inline]
    pub fn begin(&self) -> CmacMessage {
        let state = match &self.mac {
            Material::Clear(_) => Material::default(),
            Material::Elsewhere(_) => Material::Elsewhere(Collected::default()),
        };
        CmacMessage { message: Message { bytes: 0, ..self.message }, state }
    }

    /// The MAC of a whole message, while others may be under way: the first [`BlockCipher::block`] bytes of `out`.
    ///
    /// # Errors
    /// As for [`Cmac::finish`].
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn whole(&self, message: &[u8], out: &mut [u8]) -> Result<(), Error> {
        match &self.mac {
            Material::Clear(mac) => mac.whole(message, out),
            Material::Elsewhere(Remote { key, under, .. }) => {
                key.fill(Call::Cmac, &[], message, &mut out[..under.block()])?;
            }
        }
        Message { bytes: message.len(), ..self.message }.count();
        Ok(())
    }

    /// Keys the CMAC anew in place, with the same cipher, ready for a first message.
    ///
    /// # Errors
    /// As for [`Cmac::new`]: nothing has changed.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        let cipher = self.cipher();
        match (cmac_of_card(cipher, key)?, &mut self.mac) {
            (Some(other), _) => *self = other,
            (None, Material::Clear(mac)) => {
                mac.set_key(cipher, key)?;
                self.message.bytes = 0;
            }
            (None, Material::Elsewhere(_)) => *self = Cmac::new(cipher, key)?,
        }
        Ok(())
    }

    /// The cipher.
    #[inline]
    pub fn cipher(&self) -> BlockCipher {
        match &self.mac {
            Material::Clear(mac) => mac.cipher(),
            Material::Elsewhere(remote) => remote.under,
        }
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

    /// Ends the message: the first [`BlockCipher::block`] bytes of `out`.
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
            Material::Elsewhere(remote) => remote.finish(Call::Cmac, &[], remote.under.block(), self.message, out),
        }
    }
}

/// A message under a [`Cmac`] that stays as it is. Its state is wiped when it goes.
#[derive(Clone, Debug)]
pub struct CmacMessage {
    pub(super) message: Message,
    state: Material<cmac::CmacMessage, Collected>,
}

impl CmacMessage {
    /// Begins another message, under the same key. Nothing is left of this one.
    #[inline]
    pub fn begin(&mut self) {
        self.message.bytes = 0;
        match &mut self.state {
            Material::Clear(state) => state.begin(),
            Material::Elsewhere(collected) => collected.begin(),
        }
    }

    /// Takes in a part of the message, under the key that it was begun with.
    #[inline]
    pub fn update(&mut self, key: &Cmac, data: &[u8]) {
        self.message.add(data);
        match (&key.mac, &mut self.state) {
            (Material::Clear(mac), Material::Clear(state)) => mac.take(state, data),
            (_, Material::Elsewhere(collected)) => collected.add(data),
            (Material::Elsewhere(_), Material::Clear(_)) => {}
        }
    }

    /// Saves the state of the message, for [`CmacMessage::restore`] under the same key, which goes on with it. Counts nothing, for the message goes on
    /// here too.
    ///
    /// # Errors
    /// [`Error::CardKey`] for a message under a card's key.
    pub fn save(&self, out: &mut [u8; MAX_SAVED_CMAC]) -> Result<(), Error> {
        let state = self.state.clear().ok_or(NOT_OF_A_CARD)?;
        let (count, rest) = out.split_first_chunk_mut().ok_or(NOT_SAVED)?;
        *count = (self.message.bytes as u64).to_be_bytes();
        state.save(rest.first_chunk_mut().ok_or(NOT_SAVED)?);
        Ok(())
    }

    /// Goes on with a message that [`CmacMessage::save`] has saved. At its end it counts as a whole.
    ///
    /// # Errors
    /// [`Error::Length`] where it is none; [`Error::CardKey`] for a card's key.
    pub fn restore(&mut self, key: &Cmac, saved: &[u8]) -> Result<(), Error> {
        let (Material::Clear(mac), Material::Clear(state)) = (&key.mac, &mut self.state) else {
            return Err(NOT_OF_A_CARD);
        };
        let (count, rest) = saved.split_first_chunk().ok_or(NOT_SAVED)?;
        if !state.restore(mac.cipher().block(), rest.try_into().map_err(|_| NOT_SAVED)?) {
            return Err(NOT_SAVED);
        }
        self.message.bytes = u64::from_be_bytes(*count) as usize;
        Ok(())
    }

    /// Ends the message: the first [`BlockCipher::block`] bytes of `out`.
    ///
    /// # Errors
    /// As for [`Cmac::finish`]; [`Error::CardKey`] where one of key and message is a card's and the other is not.
    ///
    /// # Panics
    /// Where `out` is too short.
    #[inline]
    pub fn finish(&mut self, key: &Cmac, out: &mut [u8]) -> Result<(), Error> {
        match (&key.mac, &mut self.state) {
            (Material::Clear(mac), Material::Clear(state)) => {
                mac.end(state, out);
                self.message.count();
                Ok(())
            }
            (Material::Elsewhere(Remote { key, under, .. }), Material::Elsewhere(collected)) => {
                collected.finish(key, Call::Cmac, &[], &mut out[..under.block()])?;
                self.message.count();
                Ok(())
            }
            _ => Err(NOT_OF_A_CARD),
        }
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
