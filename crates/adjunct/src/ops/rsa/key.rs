//! A key, and the two raw operations with it.

use super::route::Routed;
use super::{Numbers, Part};
use crate::catalogue::{Direction, Function};
use crate::error::Error;
use crate::memory::{Kept, WriteOnce};
use crate::ops::Tally;
use crate::ops::held::Held;
use adjunct_cpu::digest::{Digest, SHA256};
use adjunct_cpu::{rsa as cpu, rsa_any};
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// A key, public or private, and where its operations count. Immutable; threads share it.
pub struct Key {
    held: Held<Clear>,
    private: Tally,
    public: Tally,
}

struct Clear {
    cpu: cpu::Key,
    routed: Routed,
    /// SHA-256 of `d`, the key's part in implicit rejection.
    d_hash: WriteOnce<Zeroizing<[u8; 32]>>,
}

opaque_debug!(Key);

impl Key {
    /// Makes a key of its numbers. Cheap: no primality test. Checked is what later operations rely on: sizes, oddness, `n = pq` and reduced CRT
    /// values; what is wrong beyond that shows when each result is checked against `e`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for keys that OpenSSL may take but this does not: modulus even, below 512 or above 16384
    /// bits; `e` even, below 3, not below `n`, or (RFC 8017 allows it, OpenSSL only up to 3072-bit moduli) above 64 bits;
    /// CRT values that do not belong to the modulus. [`Error::Memory`].
    pub fn new(numbers: &Numbers<'_>) -> Result<Key, Error> {
        Key::clear(cpu::Key::new(numbers)?)
    }

    /// Whether [`Key::generate`] makes keys of this size and public exponent (big-endian): multiples of 128 bits from 512 to 16384,
    /// exponents of at most 32 bits. [`Key::generate_any`] makes others.
    pub fn generates(bits: usize, e: &[u8]) -> bool {
        cpu::Key::generates(bits, e)
    }

    /// Generates a key of two primes. `report` is called at each step with the two numbers of `BN_GENCB`, and ends the search by returning `false`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where [`Key::generates`] is false; [`Error::Failed`] when told to end, and once in 2^80;
    /// [`Error::Memory`].
    pub fn generate(bits: usize, e: &[u8], report: Option<&mut dyn FnMut(i32, i32) -> bool>) -> Result<Key, Error> {
        let (key, outcome) = cpu::Key::generate(bits, e, report)?;
        let key = Key::clear(key)?;
        Tally::new(Function::RsaKeygenCrt, bits).ran(outcome).count(Direction::Encrypt, 0);
        Ok(key)
    }

    /// Generates a key of two primes, of any size from 512 to 16384 bits, with any public exponent that FIPS 186-5 knows: odd, above 1 and
    /// below 2^256; with moduli above 3072 bits below 2^64.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another size or exponent; [`Error::Failed`] where no key was found, once in 2^80; [`Error::Memory`].
    pub fn generate_any(bits: usize, e: &[u8]) -> Result<Key, Error> {
        if cpu::Key::generates(bits, e) {
            return Key::generate(bits, e, None);
        }
        if !(512..=super::MAX_SIZE * 8).contains(&bits) {
            return Err(Error::Unsupported("RSA key size"));
        }
        let (made, outcome) = rsa_any::generate(bits, e)?;
        let key = Key::new(&Numbers { n: &made.n, e, d: Some(&made.d), crt: Some(made.crt()) })?;
        Tally::new(Function::RsaKeygenCrt, bits).ran(outcome).count(Direction::Encrypt, 0);
        Ok(key)
    }

    fn clear(cpu: cpu::Key) -> Result<Key, Error> {
        let public = Tally::new(Function::RsaMe, cpu.bits());
        let private = cpu.by_primes().map_or(public, |path| Tally::on(path, Function::RsaCrt, cpu.bits()));
        let routed = Routed::new(Some(&cpu))?;
        Ok(Key { held: Held::Clear(Clear { cpu, routed, d_hash: WriteOnce::default() }), private, public })
    }

    /// The public half.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::Failed`].
    pub fn to_public(&self) -> Result<Key, Error> {
        Key::clear(self.held.clear().cpu.to_public()?)
    }

    /// The size of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.held.clear().cpu.bits()
    }

    /// The size of the modulus, a signature or a ciphertext in bytes.
    pub fn size(&self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Whether there is a private half.
    pub fn is_private(&self) -> bool {
        self.held.clear().cpu.is_private()
    }

    /// A number of the key as big-endian bytes without leading zeros; `None` where the key lacks it or does not give it.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn number(&self, part: Part) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        self.held.clear().cpu.number(part)
    }

    /// Whether two keys have the same number there; where either lacks it, they have not.
    pub fn same(&self, other: &Key, part: Part) -> bool {
        self.held.clear().cpu.same(&other.held.clear().cpu, part)
    }

    /// The function that private operations count as: with the Chinese remainder theorem or without.
    pub fn private_function(&self) -> Function {
        self.private.function()
    }

    /// `input^e mod n`: verification and encryption. Both buffers have [`Key::size`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] where they do not, [`Error::Unsupported`] where `input` is not below the modulus.
    pub fn public(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.held.clear().cpu.public(input, out)?;
        self.public.count(Direction::Encrypt, 0);
        Ok(())
    }

    /// `input^d mod n`, checked with `e`: signing and decryption, in lanes where they take the key. Both buffers have
    /// [`Key::size`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] where they do not, [`Error::Unsupported`] where `input` is not below the modulus,
    /// [`Error::InvalidKey`] without a private exponent or with one that does not belong to `e`, [`Error::Memory`].
    pub fn private(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let Clear { cpu, routed, .. } = self.held.clear();
        let elsewhere = match routed.taken() {
            Some(taken) if out.len() == input.len() => taken.private(input, out),
            _ => None,
        };
        let outcome = match elsewhere {
            Some(outcome) => outcome,
            None => cpu.private(input, out)?.outcome,
        };
        self.private.ran(outcome).count(Direction::Encrypt, 0);
        Ok(())
    }

    /// SHA-256 of the private exponent, padded to the modulus's length; all zero for a public key. A part of decryption, which
    /// counts.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(super) fn d_hash(&self) -> Result<Kept<'_, Zeroizing<[u8; 32]>>, Error> {
        let clear = self.held.clear();
        clear.d_hash.get_or_make(|| {
            let mut hash = Zeroizing::new([0; 32]);
            if let Some(d) = clear.cpu.number(Part::D)? {
                let zeros = [0; super::MAX_SIZE];
                let mut digest = Digest::new(&SHA256);
                digest.update(&zeros[..self.size() - d.len()]);
                digest.update(&d);
                digest.finish(&mut hash[..]);
            }
            Ok(hash)
        })
    }
}
