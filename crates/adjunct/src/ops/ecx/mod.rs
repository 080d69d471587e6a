//! X25519, X448 (RFC 7748), Ed25519 and Ed448 (RFC 8032). The CPU library has the curves of 255 bits; those of 448 bits are here where
//! the CPU has instructions for them (CPACF), and else with the caller's library.

pub mod ed25519;
pub mod ed448;
pub mod x25519;
pub mod x448;

use super::material::{Elsewhere, Material};
use super::{Delegated, Tally};
use crate::catalogue::Outcome;
use crate::catalogue::{Direction, Function};
use crate::error::Error;
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// A private key of `N` bytes, or a card's.
#[derive(Clone)]
pub struct Private<const N: usize>(Material<Zeroizing<[u8; N]>>);

opaque_debug!(Private<const N>);

impl<const N: usize> Private<N> {
    /// Makes a key of these bytes, which are any (RFC 7748, 5; RFC 8032, 5.1.5 and 5.2.5).
    pub fn new(bytes: &[u8; N]) -> Private<N> {
        let mut private = Zeroizing::new([0; N]);
        private.copy_from_slice(bytes);
        Private(Material::Clear(private))
    }

    /// Makes a key of its bytes, or of a reference to a card's key ([`crate::ops::reference`]).
    ///
    /// # Errors
    /// [`Error::Length`] for another length; [`Error::CardKey`] for a reference that is damaged; [`Error::Memory`].
    pub fn of(bytes: &[u8]) -> Result<Private<N>, Error> {
        match Elsewhere::of(bytes)? {
            Some(elsewhere) => Ok(Private(Material::Elsewhere(elsewhere))),
            None => match bytes.try_into() {
                Ok(bytes) => Ok(Private::new(bytes)),
                Err(_) => Err(Error::Length { what: "private key", got: bytes.len(), expected: "the curve's" }),
            },
        }
    }

    /// Puts a key of these bytes into `place` without a copy anywhere else: what is moved leaves its bytes behind.
    pub fn put(place: &mut Option<Private<N>>, bytes: &[u8; N]) {
        let private = place.get_or_insert_with(|| Private(Material::Clear(Zeroizing::new([0; N]))));
        match &mut private.0 {
            Material::Clear(private) => private.copy_from_slice(bytes),
            Material::Elsewhere(_) => *private = Private::new(bytes),
        }
    }

    /// Bytes of the key; `None` where they are not given out.
    pub fn bytes(&self) -> Option<&[u8; N]> {
        self.0.clear().map(|private| &**private)
    }

    /// Whether both are the same; in constant time for clear ones. Two of a card are where the card knows them by the same.
    pub fn is(&self, other: &Private<N>) -> bool {
        match (&self.0, &other.0) {
            (Material::Clear(one), Material::Clear(two)) => subtle::ConstantTimeEq::ct_eq(&one[..], &two[..]).into(),
            (Material::Elsewhere(one), Material::Elsewhere(two)) => one.is(two),
            _ => false,
        }
    }

    /// The public half: by `clear` of a clear key, and else as the card gives it.
    fn public(&self, clear: impl FnOnce(&[u8; N]) -> Result<[u8; N], Error>) -> Result<[u8; N], Error> {
        match &self.0 {
            Material::Clear(private) => clear(private),
            Material::Elsewhere(elsewhere) => {
                let public = elsewhere.public(N)?;
                public[..].try_into().map_err(|_| elsewhere.wrong())
            }
        }
    }

    /// The public half as an operation, which counts as `function`: by `clear` of a clear key, which counts itself, and else as the card gives it.
    fn public_counted(
        &self,
        function: Function,
        clear: impl FnOnce(&[u8; N]) -> Result<[u8; N], Error>,
    ) -> Result<[u8; N], Error> {
        let public = self.public(clear)?;
        if self.0.elsewhere().is_some() {
            count(function, Outcome::Card);
        }
        Ok(public)
    }
}

/// Counts an operation by what ran it.
fn count(function: Function, outcome: Outcome) {
    Tally::new(function, 0).ran(outcome).count(Direction::Encrypt, 0);
}

/// The result by instructions, or else that of `library`, which is OpenSSL's default provider. Counts by which of them served; counts nothing where
/// that fails.
fn first<T>(function: Function, instructions: Option<T>, library: impl FnOnce() -> Option<T>) -> Option<T> {
    if instructions.is_some() {
        count(function, Outcome::Instructions);
        return instructions;
    }
    let done = library()?;
    Delegated::new(function, 0).done(Direction::Encrypt, 0);
    Some(done)
}
