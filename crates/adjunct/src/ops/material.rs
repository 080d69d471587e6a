//! Where the private part of a key is: here in the clear, or with a card.
//!
//! This is the one type by which each family says what it does for each kind of key. There is no access to the clear part that does not ask.

use crate::error::Error;
use crate::memory::Shared;
use adjunct_card_protocol::reference::{self, Reference};
use adjunct_card_protocol::secure::{Call, Key};
use zeroize::Zeroizing;

/// The private part of a key.
#[derive(Debug, Clone)]
pub(super) enum Material<T, E = Elsewhere> {
    /// This process holds it: `T` is what the CPU and the lanes take, with the state of a message where it has one.
    Clear(T),
    /// A card holds it, protected or secure: this process has what the card knows it by.
    Elsewhere(E),
}

impl<T: Default, E> Default for Material<T, E> {
    #[inline]
    fn default() -> Material<T, E> {
        Material::Clear(T::default())
    }
}

impl<T, E> Material<T, E> {
    /// The clear part, if it is here.
    #[inline(always)]
    pub(super) fn clear(&self) -> Option<&T> {
        match self {
            Material::Clear(clear) => Some(clear),
            Material::Elsewhere(_) => None,
        }
    }

    /// Sets the clear part, which takes the place of a card's. What fails leaves the one before.
    #[inline(always)]
    pub(super) fn set(&mut self, set: impl FnOnce(&mut T) -> Result<(), Error>) -> Result<(), Error>
    where
        T: Default,
    {
        match self {
            Material::Clear(clear) => set(clear),
            Material::Elsewhere(_) => {
                let before = std::mem::take(self);
                let done = match self {
                    Material::Clear(clear) => set(clear),
                    Material::Elsewhere(_) => Ok(()),
                };
                if done.is_err() {
                    *self = before;
                }
                done
            }
        }
    }

    /// The card's part, if it is there.
    pub(super) fn elsewhere(&self) -> Option<&E> {
        match self {
            Material::Clear(_) => None,
            Material::Elsewhere(elsewhere) => Some(elsewhere),
        }
    }
}

/// Checks that a private number may go to something else than the core, which would compute with it. For interfaces that hand over what the core does not
/// take.
///
/// # Errors
/// [`Error::CardKey`] for a reference to a card's key.
pub fn may_leave(number: &[u8]) -> Result<(), Error> {
    if reference::begins_number(number) { Err(Error::CardKey("its card does not do that with it")) } else { Ok(()) }
}

/// A key that cards of one mode can use, protected or secure. A clone is the same key.
#[derive(Debug, Clone)]
pub(super) struct Elsewhere(Shared<Key>);

impl Elsewhere {
    /// The key in what stands where the bytes of a key stand; `None` where they are a clear key.
    ///
    /// # Errors
    /// [`Error::CardKey`] for a reference that is damaged; [`Error::Memory`].
    #[inline]
    pub(super) fn of(bytes: &[u8]) -> Result<Option<Elsewhere>, Error> {
        Reference::parse(bytes)?.map(Elsewhere::new).transpose()
    }

    /// The key in what stands where a big-endian number of a key stands, perhaps with zeros before it; `None` where that is a clear one.
    ///
    /// # Errors
    /// As for [`Elsewhere::of`].
    pub(super) fn of_number(bytes: &[u8]) -> Result<Option<Elsewhere>, Error> {
        Reference::parse_number(bytes)?.map(Elsewhere::new).transpose()
    }

    #[cold]
    fn new(reference: Reference<'_>) -> Result<Elsewhere, Error> {
        Ok(Elsewhere(Shared::new(Key::new(&reference)?)?))
    }

    /// Has a card do a call whose output has `length` bytes.
    ///
    /// # Errors
    /// As for [`Key::ask`]; [`Error::Device`] for an output of another length.
    pub(super) fn ask(
        &self,
        call: Call,
        parameters: &[u8],
        input: &[u8],
        length: usize,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let output = self.0.ask(call, parameters, input, length)?;
        if output.len() == length { Ok(output) } else { Err(self.0.wrong()) }
    }

    /// Has a card fill `out`.
    ///
    /// # Errors
    /// As for [`Elsewhere::ask`]; nothing is in `out` then.
    pub(super) fn fill(&self, call: Call, parameters: &[u8], input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        out.copy_from_slice(&self.ask(call, parameters, input, out.len())?);
        Ok(())
    }

    /// The public half, of at most `most` bytes, as [`Call::Public`] gives it.
    ///
    /// # Errors
    /// As for [`Key::ask`].
    pub(super) fn public(&self, most: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.0.ask(Call::Public, &[], &[], most)
    }

    /// Whether both are what one card knows one key by. That they differ does not say that the keys do.
    pub(super) fn is(&self, other: &Elsewhere) -> bool {
        self.0.is(&other.0)
    }

    /// The error of an input that no card is asked with.
    pub(super) fn refused(&self, what: &'static str) -> Error {
        Error::CardInput { mode: self.0.mode(), what }
    }

    /// The error of a result that is wrong.
    pub(super) fn wrong(&self) -> Error {
        self.0.wrong()
    }

    /// The result, if a check with the public half finds it right.
    pub(super) fn checked(&self, right: bool) -> Result<(), Error> {
        if right { Ok(()) } else { Err(self.wrong()) }
    }
}
