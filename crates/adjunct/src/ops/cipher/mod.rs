//! Ciphers that do not authenticate: a key whose messages come in calls ([`Counted`], [`xts`]), and a key for one call ([`once`]).

pub mod aes;
mod card;
pub mod chacha;
pub mod des;
pub mod once;
pub mod xts;

use super::Tally;
use super::material::{Elsewhere, Material};
use crate::catalogue::{Direction, Function, Outcome};
use crate::error::Error;
use crate::memory::boxed;
use adjunct_card_protocol::secure;
use adjunct_kernels::InOut;
use modes::{Read, Work};

/// A block of AES, or an IV with zeros behind it.
pub type Block = [u8; 16];

/// The direction an operation counts in.
#[inline]
pub(crate) const fn direction(encrypt: bool) -> Direction {
    if encrypt { Direction::Encrypt } else { Direction::Decrypt }
}

/// Position in a message, which the interface keeps between its calls. Modes leave alone what they have no use for.
#[derive(Debug)]
pub struct Chain<'a> {
    /// The running IV, counter or shift register.
    pub iv: &'a mut Block,
    /// A begun block of CTR's key stream.
    pub stream: &'a mut Block,
    /// How many bytes of a begun block are used up, where a mode is [`Mode::PARTIAL`]; below 16.
    pub used: &'a mut u32,
    /// Whether what CFB-1 is given has its length in bits; the buffers are as long as those need.
    pub bits: bool,
}

mod modes {
    use super::Chain;
    use crate::error::Error;
    use adjunct_kernels::InOut;

    /// The work of a mode, for [`super::Counted`] alone: nothing is counted here.
    pub trait Work: Default + Clone {
        /// Sets a key.
        fn set_key(&mut self, key: &[u8], encrypt: bool) -> Result<(), Error>;

        /// Works on `io`.
        fn run(&mut self, encrypt: bool, chain: Chain<'_>, io: InOut<'_>);
    }

    /// The work of a mode that only reads its key, for [`super::Lent`] alone.
    pub trait Read: Work {
        /// Works on `io`, as [`Work::run`].
        fn read(&self, encrypt: bool, chain: Chain<'_>, io: InOut<'_>);
    }
}

/// A mode over a key, for [`Counted`].
pub trait Mode: Work {
    /// The function that the mode counts as.
    const FUNCTION: Function;
    /// The length of a block in bytes where it takes whole ones only, else 1.
    const BLOCK: usize;
    /// Whether a message may go on within a block ([`Chain::used`]).
    const PARTIAL: bool = false;
    /// Whether the mode's key sizes are counted apart.
    const SIZES: bool = true;
    /// Whether the mode's keys have bits of parity: [`des::random_key`] makes such a key.
    const PARITY: bool = false;
    /// Whether the mode may be given a length in bits ([`Chain::bits`]).
    const IN_BITS: bool = false;
    /// What the mode is for a card, where cards do it.
    const CARD: Option<secure::Mode> = None;
}

/// A mode that only reads its key: the position in a message is all in the [`Chain`], so that several messages may be under way at once.
pub trait Shared: Mode + Read {}

/// A mode whose key another [`Counted`] has ([`Counted::lend`]). It takes no other.
#[derive(Debug)]
pub struct Lent<'a, M>(Option<&'a M>);

impl<M> Clone for Lent<'_, M> {
    #[inline]
    fn clone(&self) -> Self {
        Lent(self.0)
    }
}

impl<M> Default for Lent<'_, M> {
    #[inline]
    fn default() -> Self {
        Lent(None)
    }
}

impl<M: Shared> Work for Lent<'_, M> {
    fn set_key(&mut self, _key: &[u8], _encrypt: bool) -> Result<(), Error> {
        Err(Error::Unsupported("another key than the one that was lent"))
    }

    #[inline(always)]
    fn run(&mut self, encrypt: bool, chain: Chain<'_>, io: InOut<'_>) {
        // As for any mode without a key, `Counted` does not come here where none was lent.
        self.0.expect("a key").read(encrypt, chain, io);
    }
}

impl<M: Shared> Mode for Lent<'_, M> {
    const FUNCTION: Function = M::FUNCTION;
    const BLOCK: usize = M::BLOCK;
    const PARTIAL: bool = M::PARTIAL;
    const SIZES: bool = M::SIZES;
    const PARITY: bool = M::PARITY;
    const IN_BITS: bool = M::IN_BITS;
    const CARD: Option<secure::Mode> = M::CARD;
}

/// Why a call with a card's key failed, small enough for a register: a call with a clear key has nothing to do with it.
#[derive(Debug)]
pub struct Failure(Option<Box<Error>>);

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Failure {
        Failure(boxed(error).ok())
    }
}

impl From<Failure> for Error {
    #[cold]
    fn from(failure: Failure) -> Error {
        failure.0.map_or(Error::Memory, |error| *error)
    }
}

/// A key that a card holds, and where its operations count.
#[derive(Debug, Clone)]
struct Remote {
    key: Elsewhere,
    tally: Tally,
}

/// A mode and where it counts: each call once, with its bytes, in its direction, after it ran.
#[derive(Debug, Clone)]
pub struct Counted<M> {
    /// The mode, with the key if it is here.
    mode: M,
    /// Where the key is, and where it counts; `None` before a key is set. That there is one and that it is here is one look.
    keyed: Option<Material<Tally, Remote>>,
}

impl<M: Default> Default for Counted<M> {
    #[inline]
    fn default() -> Counted<M> {
        Counted { mode: M::default(), keyed: None }
    }
}

impl<M: Mode> Counted<M> {
    /// Whether a key is set.
    #[inline]
    pub fn has_key(&self) -> bool {
        self.keyed.is_some()
    }

    /// The key, if it is one that this process holds. Interfaces ask for it first: what is done with it cannot fail.
    #[inline(always)]
    pub fn clear(&mut self) -> Option<Clear<'_, M>> {
        match self.keyed {
            Some(Material::Clear(tally)) => Some(Clear { mode: &mut self.mode, tally }),
            _ => None,
        }
    }

    /// Sets the key for one direction. One that is refused leaves the one before in force. A reference to a card's key
    /// ([`crate::ops::reference`]) may stand for a key where [`Mode::CARD`] is some; its operations count in the row of no size.
    ///
    /// # Errors
    /// [`Error::Length`] where the cipher has no key of that length; [`Error::CardKey`] for a reference that is damaged, or in another mode.
    #[inline]
    pub fn set_key(&mut self, key: &[u8], encrypt: bool) -> Result<(), Error> {
        if let Some(key) = Elsewhere::of(key)? {
            return self.set_elsewhere(key);
        }
        self.mode.set_key(key, encrypt)?;
        self.keyed = Some(Material::Clear(Tally::new(M::FUNCTION, if M::SIZES { key.len() * 8 } else { 0 })));
        Ok(())
    }

    #[cold]
    fn set_elsewhere(&mut self, key: Elsewhere) -> Result<(), Error> {
        M::CARD.ok_or(card::OTHER_MODE)?;
        let tally = Tally::new(M::FUNCTION, 0).ran(Outcome::Card);
        *self = Counted { mode: M::default(), keyed: Some(Material::Elsewhere(Remote { key, tally })) };
        Ok(())
    }

    /// Works on all bytes of a call: whole blocks for modes that take no others.
    ///
    /// # Errors
    /// Those of a card's key ([`Error::may_fall_back`] is false); nothing is counted then. A clear key has none.
    ///
    /// # Panics
    /// Without a key; for a length or a [`Chain::used`] that the mode does not take.
    #[inline(always)]
    pub fn run(&mut self, encrypt: bool, chain: Chain<'_>, io: InOut<'_>) -> Result<(), Failure> {
        if let Some(clear) = self.clear() {
            clear.run(encrypt, chain, io);
            return Ok(());
        }
        // By its parts, so that what a clear key does not use of the chain need not go through memory.
        let Chain { iv, stream, used, .. } = chain;
        card::run(&self.keyed, M::CARD, encrypt, (iv, stream, used), io)
    }

    /// Takes `bytes` bytes in one call: `work` runs the whole blocks that they make with those taken before, piece by piece.
    ///
    /// # Errors
    /// Those of `work`, with which the call is refused.
    ///
    /// # Panics
    /// As for [`Counted::run`].
    #[inline]
    pub fn update<R, E>(
        &mut self,
        encrypt: bool,
        bytes: usize,
        work: impl FnOnce(Pieces<'_, M>) -> Result<R, E>,
    ) -> Result<R, E> {
        let (tally, elsewhere) = match self.keyed.as_ref().expect("a key") {
            Material::Clear(tally) => (*tally, None),
            Material::Elsewhere(Remote { key, tally }) => (*tally, Some(key)),
        };
        let done = work(Pieces { mode: &mut self.mode, elsewhere, encrypt })?;
        tally.count(direction(encrypt), bytes);
        Ok(done)
    }

    /// The last block of a message, of bytes that [`Counted::update`] has taken and padding. It counts nothing: those are counted.
    ///
    /// # Errors
    /// As for [`Counted::run`].
    ///
    /// # Panics
    /// As for [`Counted::run`].
    #[inline]
    pub fn last(&mut self, encrypt: bool, chain: Chain<'_>, block: InOut<'_>) -> Result<(), Failure> {
        assert!(block.len() == M::BLOCK);
        let elsewhere = self.keyed.as_ref().expect("a key").elsewhere();
        Pieces { mode: &mut self.mode, elsewhere: elsewhere.map(|remote| &remote.key), encrypt }.run(chain, block)
    }
}

/// A key that this process holds, for one call ([`Counted::clear`]).
#[derive(Debug)]
pub struct Clear<'a, M> {
    mode: &'a mut M,
    tally: Tally,
}

impl<M: Mode> Clear<'_, M> {
    /// Works on all bytes of a call: whole blocks for modes that take no others.
    ///
    /// # Panics
    /// For a length or a [`Chain::used`] that the mode does not take.
    // A frame of its own, with what it is given passed on, costs a short message 30 instructions of 800.
    #[inline(always)]
    pub fn run(self, encrypt: bool, chain: Chain<'_>, io: InOut<'_>) {
        let bytes = if M::IN_BITS && chain.bits { io.len().div_ceil(8) } else { io.len() };
        self.mode.run(encrypt, chain, io);
        self.tally.count(direction(encrypt), bytes);
    }
}

impl<M: Shared> Counted<M> {
    /// Works on all bytes of a call, as [`Counted::run`], while other messages may be under way.
    ///
    /// # Errors
    /// As for [`Counted::run`].
    ///
    /// # Panics
    /// As for [`Counted::run`].
    #[inline(always)]
    pub fn read(&self, encrypt: bool, chain: Chain<'_>, io: InOut<'_>) -> Result<(), Failure> {
        if let Some(Material::Clear(tally)) = self.keyed {
            let bytes = if M::IN_BITS && chain.bits { io.len().div_ceil(8) } else { io.len() };
            self.mode.read(encrypt, chain, io);
            tally.count(direction(encrypt), bytes);
            return Ok(());
        }
        let Chain { iv, stream, used, .. } = chain;
        card::run(&self.keyed, M::CARD, encrypt, (iv, stream, used), io)
    }

    /// A handle of this mode and key for a message of one's own, while other messages may be under way.
    #[inline]
    pub fn lend(&self) -> Counted<Lent<'_, M>> {
        Counted { mode: Lent(Some(&self.mode)), keyed: self.keyed.clone() }
    }
}

/// The pieces of a call: [`Counted::update`] counts them.
#[derive(Debug)]
pub struct Pieces<'a, M> {
    mode: &'a mut M,
    /// A card's key, which then does the work.
    elsewhere: Option<&'a Elsewhere>,
    encrypt: bool,
}

impl<M: Mode> Pieces<'_, M> {
    /// Works on whole blocks.
    ///
    /// # Errors
    /// As for [`Counted::run`].
    ///
    /// # Panics
    /// As for [`Counted::run`].
    #[inline]
    pub fn run(&mut self, chain: Chain<'_>, io: InOut<'_>) -> Result<(), Failure> {
        match self.elsewhere {
            None => {
                self.mode.run(self.encrypt, chain, io);
                Ok(())
            }
            Some(key) => {
                let Chain { iv, stream, used, .. } = chain;
                card::pieces(key, M::CARD, self.encrypt, (iv, stream, used), io)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Chain, Counted, aes};
    use adjunct_kernels::InOut;

    #[test]
    fn a_key_of_another_length_changes_nothing() {
        let mut cipher = Counted::<aes::Ctr>::default();
        assert!(cipher.set_key(&[0; 15], true).is_err() && !cipher.has_key());
        assert!(cipher.set_key(&[0; 16], true).is_ok() && cipher.has_key());
        let run = |cipher: &mut Counted<aes::Ctr>| {
            let (mut iv, mut text) = ([0; 16], [0; 16]);
            let chain = Chain { iv: &mut iv, stream: &mut [0; 16], used: &mut 0, bits: false };
            cipher.run(true, chain, InOut::in_place(&mut text)).unwrap();
            text
        };
        let first = run(&mut cipher);
        assert!(cipher.set_key(&[1; 17], true).is_err() && cipher.has_key());
        assert_eq!(run(&mut cipher), first);
    }

    #[test]
    fn what_a_clear_key_does_by_itself_is_what_any_key_does() {
        let mut cipher = Counted::<aes::Cbc>::default();
        assert!(cipher.clear().is_none());
        cipher.set_key(&[9; 16], true).unwrap();
        let (mut ivs, mut texts) = ([[3; 16]; 2], [[5; 32]; 2]);
        let ([one, two], [first, second]) = (&mut ivs, &mut texts);
        let chain = Chain { iv: one, stream: &mut [0; 16], used: &mut 0, bits: false };
        cipher.clear().expect("a clear key").run(true, chain, InOut::in_place(first));
        let chain = Chain { iv: two, stream: &mut [0; 16], used: &mut 0, bits: false };
        cipher.run(true, chain, InOut::in_place(second)).unwrap();
        assert!(texts[0] == texts[1] && ivs[0] == ivs[1] && texts[0] != [5; 32]);
    }

    #[test]
    fn a_key_that_is_lent_works_as_the_own() {
        let mut own = Counted::<aes::Cbc>::default();
        own.set_key(&[7; 32], true).unwrap();
        let (mut one, mut two) = (own.lend(), own.lend());
        assert!(one.set_key(&[7; 32], true).is_err() && one.has_key());
        let (mut ivs, mut texts) = ([[0; 16]; 3], [[1; 32]; 3]);
        // Two messages by turns, and one by itself.
        for at in [0, 16] {
            for (cipher, message) in [(&mut one, 0), (&mut two, 1)] {
                let chain = Chain { iv: &mut ivs[message], stream: &mut [0; 16], used: &mut 0, bits: false };
                cipher.run(true, chain, InOut::in_place(&mut texts[message][at..at + 16])).unwrap();
            }
        }
        let chain = Chain { iv: &mut ivs[2], stream: &mut [0; 16], used: &mut 0, bits: false };
        own.run(true, chain, InOut::in_place(&mut texts[2])).unwrap();
        assert!(texts[0] == texts[2] && texts[1] == texts[2] && ivs[0] == ivs[2] && texts[0] != [1; 32]);
    }

    #[test]
    #[should_panic(expected = "a key")]
    fn nothing_runs_without_a_key() {
        let chain = Chain { iv: &mut [0; 16], stream: &mut [0; 16], used: &mut 0, bits: false };
        let _ = Counted::<aes::Cbc>::default().run(true, chain, InOut::in_place(&mut [0; 16]));
    }
}
