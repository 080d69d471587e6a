//! AES-XTS (IEEE 1619, SP 800-38E).

use super::{Block, direction};
use crate::catalogue::Function;
use crate::error::Error;
use crate::ops::Tally;
use adjunct_card_protocol::reference;
use adjunct_cpu::cipher::xts;
pub use adjunct_cpu::cipher::xts::MAX_UNIT;
use adjunct_kernels::InOut;

/// The keys of AES-XTS and the tally: each call counts once, in the direction of the keys, after it ran.
#[derive(Debug, Clone, Default)]
pub struct Xts {
    keys: xts::Xts,
    encrypt: bool,
    /// `None` before keys are set.
    tally: Option<Tally>,
}

impl Xts {
    /// Whether keys are set.
    #[inline]
    pub const fn has_key(&self) -> bool {
        self.tally.is_some()
    }

    /// Sets both keys for one direction: the first half is the data's, the second the tweak's.
    ///
    /// # Errors
    /// [`Error::Length`] if it is not 32 or 64 bytes; [`Error::CardKey`] for a reference to a card's key.
    pub fn set_key(&mut self, key: &[u8], encrypt: bool) -> Result<(), Error> {
        if reference::begins(key) {
            return Err(Error::CardKey("its card does not do XTS"));
        }
        let (data, tweak) = key.split_at(key.len() / 2);
        self.set_keys(data, tweak, encrypt)
    }

    /// Sets both keys for one direction.
    ///
    /// # Errors
    /// [`Error::Length`] if they are not 16 or 32 bytes each.
    #[inline]
    pub fn set_keys(&mut self, data: &[u8], tweak: &[u8], encrypt: bool) -> Result<(), Error> {
        self.keys.set_keys(data, tweak, encrypt)?;
        self.encrypt = encrypt;
        self.tally = Some(Tally::new(Function::AesXts, data.len() * 8));
        Ok(())
    }

    /// Works on one data unit.
    ///
    /// # Errors
    /// [`Error::Length`] below one block or above [`MAX_UNIT`]; [`Error::Failed`] without keys.
    #[inline]
    pub fn unit(&self, iv: &Block, io: InOut<'_>) -> Result<(), Error> {
        self.counted(io, |keys, io| keys.unit(iv, io))
    }

    /// Computes the tweak that [`Xts::part`] begins with. It counts nothing, being a part of that operation.
    #[inline]
    pub fn tweak(&self, iv: &Block) -> Block {
        assert!(self.has_key());
        self.keys.tweak(iv)
    }

    /// Works on a part of a data unit of any length; `tweak` becomes the next part's. Only the last part may be other than whole
    /// blocks.
    ///
    /// # Errors
    /// [`Error::Length`] below one block; [`Error::Failed`] without keys.
    #[inline]
    pub fn part(&self, tweak: &mut Block, io: InOut<'_>) -> Result<(), Error> {
        self.counted(io, |keys, io| keys.part(tweak, io))
    }

    #[inline]
    fn counted(
        &self,
        io: InOut<'_>,
        work: impl FnOnce(&xts::Xts, InOut<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(tally) = self.tally else { return Err(Error::Failed("AES-XTS without keys")) };
        let (keys, bytes) = (&self.keys, io.len());
        work(keys, io)?;
        tally.count(direction(self.encrypt), bytes);
        Ok(())
    }
}
