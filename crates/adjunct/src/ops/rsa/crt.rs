//! Private keys of which only the Chinese-remainder part is known (RFC 8017, 3.2, second form, without n and e).

use super::route::Routed;
use super::{Crt, Part, RsaKey};
use crate::catalogue::Outcome;
use crate::catalogue::{Direction, Function};
use crate::error::Error;
use crate::ops::Tally;
use crate::ops::material::{Elsewhere, Material};
use adjunct_card_protocol::reference;
use adjunct_cpu::rsa_crt as cpu;
use zeroize::Zeroizing;

/// A private key without its public exponent, of any two odd primes, and where its operations count. Immutable; threads share it.
#[derive(Debug)]
pub struct CrtKey {
    material: Material<Clear, RsaKey>,
    tally: Tally,
}

#[derive(Debug)]
struct Clear {
    cpu: cpu::CrtKey,
    routed: Routed,
}

/// What becomes the key's qinv, as long as p, where p is below q and the key has to be turned round. A reference to a card's key, in the place of p,
/// stays as it is.
///
/// # Errors
/// [`Error::InvalidKey`] for primes that are even, one number or not coprime; [`Error::Memory`].
pub fn turned(p: &[u8], q: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    if reference::begins_number(p) { Ok(None) } else { cpu::turned(p, q) }
}

impl CrtKey {
    /// Makes a key of the numbers of RFC 8017, big-endian; `p` above `q`. Where a reference to a card's key ([`crate::ops::reference`]) stands for
    /// `p`, the others are not looked at, and the card gives the public half.
    ///
    /// # Errors
    /// [`Error::CardKey`] for a reference that is damaged, [`Error::Device`] where no card gives the public half. [`Error::InvalidKey`] unless both primes are odd and at least 3, `p` above `q`, the other numbers below their primes and
    /// above 0, dp and dq prime to p - 1 and q - 1 and of one public exponent, and `qinv * q` 1 modulo `p`; [`Error::Memory`].
    pub fn new(crt: &Crt<'_>) -> Result<CrtKey, Error> {
        if let Some(elsewhere) = Elsewhere::of_number(crt.p)? {
            let key = RsaKey::of_card(elsewhere)?;
            let tally = Tally::new(Function::RsaCrt, key.bits()).ran(Outcome::Card);
            return Ok(CrtKey { material: Material::Elsewhere(key), tally });
        }
        let cpu = cpu::CrtKey::new(crt)?;
        let routed = Routed::new(cpu.key())?;
        let tally = Tally::on(cpu.path(), Function::RsaCrt, cpu.bits());
        Ok(CrtKey { material: Material::Clear(Clear { cpu, routed }), tally })
    }

    /// The size of the modulus in bits.
    pub fn bits(&self) -> usize {
        match &self.material {
            Material::Clear(clear) => clear.cpu.bits(),
            Material::Elsewhere(key) => key.bits(),
        }
    }

    /// Whether a number, big-endian and of any length, is below the modulus.
    pub fn takes(&self, number: &[u8]) -> bool {
        match &self.material {
            Material::Clear(clear) => clear.cpu.takes(number),
            Material::Elsewhere(key) => {
                let number = &number[number.iter().take_while(|&&b| b == 0).count()..];
                let n = key.number(Part::N).ok().flatten();
                n.is_some_and(|n| (number.len(), number) < (n.len(), &n[..]))
            }
        }
    }

    /// Whether hardware serves the key: instructions, batches, or the card that holds it.
    pub fn in_hardware(&self) -> bool {
        self.tally.in_hardware()
    }

    /// `input^d mod n`, checked, in lanes where they take the key. Both buffers have one length, that of the modulus or more.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where `input` is not below the modulus, [`Error::Length`] where the buffers are too short or
    /// differ, [`Error::Verify`] where the result is wrong, [`Error::Memory`], and those of a card's key; nothing of it is in `out` then.
    pub fn private(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let outcome = match &self.material {
            Material::Clear(clear) => match clear.elsewhere(input, out) {
                Some(outcome) => outcome,
                None => clear.cpu.private(input, out)?,
            },
            Material::Elsewhere(key) => {
                let n = key.number(Part::N)?.unwrap_or_default();
                key.power(input, &n, out)?
            }
        };
        self.tally.ran(outcome).count(Direction::Encrypt, 0);
        Ok(())
    }
}

impl Clear {
    /// Does the operation in lanes or by an accelerator; `None` where they do not take the key, or something is wrong with it or the input.
    fn elsewhere(&self, input: &[u8], out: &mut [u8]) -> Option<Outcome> {
        let taken = self.routed.taken()?;
        let zeros = out.len().checked_sub(taken.size()).filter(|_| input.len() == out.len())?;
        if !self.cpu.takes(input) {
            return None;
        }
        let (front, out) = out.split_at_mut(zeros);
        let outcome = taken.private(&input[zeros..], out)?;
        front.fill(0);
        Some(outcome)
    }
}
