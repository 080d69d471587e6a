//! AES-CCM (SP 800-38C): one message with lengths known before, which counts once, with its bytes, after it ran.

use crate::catalogue::Function;
use crate::error::Error;
use crate::ops::Tally;
use crate::ops::cipher::{Block, direction};
use adjunct_cpu::cipher::ccm;
use adjunct_kernels::InOut;

/// A key and the message at hand; wiped when dropped.
#[derive(Debug, Clone, Default)]
pub struct Ccm {
    key: ccm::Ccm,
    /// `None` before a key is set.
    tally: Option<Tally>,
}

impl Ccm {
    /// Whether there is a key.
    #[inline]
    pub const fn has_key(&self) -> bool {
        self.tally.is_some()
    }

    /// Sets the key.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 16, 24 or 32 bytes.
    #[inline]
    pub fn set_key(&mut self, key: &[u8]) -> Result<(), Error> {
        self.key.set_key(key)?;
        self.tally = Some(Tally::new(Function::AesCcm, key.len() * 8));
        Ok(())
    }

    /// Begins a message of `message` bytes with a tag of `tag` bytes. The nonce has 7 to 13 bytes and leaves 15 less that
    /// for the length.
    ///
    /// # Errors
    /// [`Error::Length`] if one of the three does not fit.
    #[inline]
    pub fn start(&mut self, nonce: &[u8], tag: usize, message: usize) -> Result<(), Error> {
        self.key.start(nonce, tag, message)
    }

    /// Takes the additional data, all at once; of several the last counts. Without a key it does nothing.
    #[inline]
    pub fn aad(&mut self, data: &[u8]) {
        let ccm = &mut self.key;
        if self.tally.is_some() {
            ccm.aad(data);
        }
    }

    /// Encrypts or decrypts the message; then [`Ccm::tag`] has its tag.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not as long as was said; [`Error::Failed`] without a key.
    #[inline]
    pub fn message(&mut self, encrypt: bool, io: InOut<'_>) -> Result<(), Error> {
        self.counted(encrypt, io, |ccm, io| ccm.message(encrypt, io))
    }

    /// Works on additional data and message of a started message at once, and gives the tag, of which the first bytes count.
    ///
    /// # Errors
    /// As for [`Ccm::message`].
    #[inline]
    pub fn whole(&mut self, encrypt: bool, aad: &[u8], io: InOut<'_>) -> Result<Block, Error> {
        self.counted(encrypt, io, |ccm, io| ccm.whole(encrypt, aad, io))
    }

    #[inline]
    fn counted<R>(
        &mut self,
        encrypt: bool,
        io: InOut<'_>,
        work: impl FnOnce(&mut ccm::Ccm, InOut<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let Some(tally) = self.tally else { return Err(Error::Failed("AES-CCM without a key")) };
        let (ccm, bytes) = (&mut self.key, io.len());
        let done = work(ccm, io)?;
        tally.count(direction(encrypt), bytes);
        Ok(done)
    }

    /// The tag of the message, of which the first bytes count.
    pub fn tag(&self) -> Block {
        self.key.tag()
    }
}
