//! X25519, X448 (RFC 7748), Ed25519 and Ed448 (RFC 8032). The CPU library has the curves of 255 bits; those of 448 bits are here where
//! the CPU has instructions for them (CPACF), and else with the caller's library.

pub mod ed25519;
pub mod ed448;
pub mod x25519;
pub mod x448;

use super::held::Held;
use super::{Delegated, Tally};
use crate::catalogue::Outcome;
use crate::catalogue::{Direction, Function};
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// A private key of `N` bytes.
#[derive(Clone)]
pub struct Private<const N: usize>(Held<Zeroizing<[u8; N]>>);

opaque_debug!(Private<const N>);

impl<const N: usize> Private<N> {
    /// Makes a key of these bytes, which are any (RFC 7748, 5; RFC 8032, 5.1.5 and 5.2.5).
    pub fn new(bytes: &[u8; N]) -> Private<N> {
        let mut private = Private(Held::Clear(Zeroizing::new([0; N])));
        private.clear_mut().copy_from_slice(bytes);
        private
    }

    /// Puts a key of these bytes into `place` without a copy anywhere else: what is moved leaves its bytes behind.
    pub fn put(place: &mut Option<Private<N>>, bytes: &[u8; N]) {
        place.get_or_insert_with(|| Private::new(&[0; N])).clear_mut().copy_from_slice(bytes);
    }

    /// Bytes of the key; `None` where they are not given out.
    pub fn bytes(&self) -> Option<&[u8; N]> {
        Some(self.clear())
    }

    /// Whether both are the same; in constant time.
    pub fn is(&self, other: &Private<N>) -> bool {
        subtle::ConstantTimeEq::ct_eq(&self.clear()[..], &other.clear()[..]).into()
    }

    /// The key as the CPU and the lanes take it.
    fn clear(&self) -> &[u8; N] {
        self.0.clear()
    }

    fn clear_mut(&mut self) -> &mut [u8; N] {
        self.0.clear_mut()
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
