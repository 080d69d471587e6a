//! Private keys of which only the Chinese-remainder part is known (RFC 8017, 3.2, second form, without n and e).

pub use adjunct_cpu::rsa_crt::turned;

use super::Crt;
use super::route::Routed;
use crate::catalogue::Outcome;
use crate::catalogue::{Direction, Function};
use crate::error::Error;
use crate::ops::Tally;
use adjunct_cpu::rsa_crt as cpu;

/// A private key without its public exponent, of any two odd primes, and where its operations count. Immutable; threads share it.
#[derive(Debug)]
pub struct CrtKey {
    cpu: cpu::CrtKey,
    routed: Routed,
    tally: Tally,
}

impl CrtKey {
    /// Makes a key of the numbers of RFC 8017, big-endian; `p` above `q`.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] unless both primes are odd and at least 3, `p` above `q`, the other numbers below their primes and
    /// above 0, dp and dq prime to p - 1 and q - 1 and of one public exponent, and `qinv * q` 1 modulo `p`; [`Error::Memory`].
    pub fn new(crt: &Crt<'_>) -> Result<CrtKey, Error> {
        let cpu = cpu::CrtKey::new(crt)?;
        let routed = Routed::new(cpu.key())?;
        let tally = Tally::on(cpu.path(), Function::RsaCrt, cpu.bits());
        Ok(CrtKey { cpu, routed, tally })
    }

    /// The size of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.cpu.bits()
    }

    /// Whether a number, big-endian and of any length, is below the modulus.
    pub fn takes(&self, number: &[u8]) -> bool {
        self.cpu.takes(number)
    }

    /// Whether hardware serves the key: instructions, or batches.
    pub fn in_hardware(&self) -> bool {
        self.tally.in_hardware()
    }

    /// `input^d mod n`, checked, in lanes where they take the key. Both buffers have one length, that of the modulus or more.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where `input` is not below the modulus, [`Error::Length`] where the buffers are too short or
    /// differ, [`Error::Verify`] where the result is wrong, [`Error::Memory`]; nothing of it is in `out` then.
    pub fn private(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let outcome = match self.elsewhere(input, out) {
            Some(outcome) => outcome,
            None => self.cpu.private(input, out)?,
        };
        self.tally.ran(outcome).count(Direction::Encrypt, 0);
        Ok(())
    }

    /// Does the operation in lanes or by a card; `None` where they do not take the key, or something is wrong with it or the input.
    fn elsewhere(&self, input: &[u8], out: &mut [u8]) -> Option<Outcome> {
        let taken = self.routed.taken()?;
        let zeros = out.len().checked_sub(taken.size()).filter(|_| input.len() == out.len())?;
        if !self.takes(input) {
            return None;
        }
        let (front, out) = out.split_at_mut(zeros);
        let outcome = taken.private(&input[zeros..], out)?;
        front.fill(0);
        Some(outcome)
    }
}
