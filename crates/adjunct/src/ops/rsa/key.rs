//! A key, and the two raw operations with it.

use super::route::Routed;
use super::{Numbers, Part};
use crate::catalogue::{Direction, Function, Outcome};
use crate::error::Error;
use crate::memory::{Kept, WriteOnce, zeros};
use crate::ops::Tally;
use crate::ops::material::{Elsewhere, Material};
use adjunct_card_protocol::secure::Call;
use adjunct_cpu::digest::{Digest, SHA256};
use adjunct_cpu::{rsa as cpu, rsa_any};
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

/// A key, public or private, and where its operations count. Immutable; threads share it.
pub struct RsaKey {
    /// The whole key, or of one that a card holds the public half.
    cpu: cpu::CpuRsaKey,
    material: Material<Routed>,
    /// The key's part in implicit rejection.
    d_hash: WriteOnce<Zeroizing<[u8; 32]>>,
    private: Tally,
    public: Tally,
}

opaque_debug!(RsaKey);

impl RsaKey {
    /// Makes a key of its numbers. Cheap: no primality test. Checked is what later operations rely on: sizes, oddness, `n = pq` and reduced CRT
    /// values; what is wrong beyond that shows when each result is checked against `e`. Where a reference to a card's key
    /// ([`crate::ops::reference`]) stands for `d`, the card does the private operations, and CRT values are not looked at.
    ///
    /// # Errors
    /// [`Error::CardKey`] for a reference that is damaged. [`Error::Unsupported`] for keys that OpenSSL may take but this does not: modulus even, below 512 or above 16384
    /// bits; `e` even, below 3, not below `n`, or (RFC 8017 allows it, OpenSSL only up to 3072-bit moduli) above 64 bits;
    /// CRT values that do not belong to the modulus. [`Error::Memory`].
    pub fn new(numbers: &Numbers<'_>) -> Result<RsaKey, Error> {
        match numbers.d.map(Elsewhere::of_number).transpose()?.flatten() {
            None => RsaKey::clear(cpu::CpuRsaKey::new(numbers)?),
            Some(elsewhere) => RsaKey::elsewhere(numbers, elsewhere),
        }
    }

    fn elsewhere(numbers: &Numbers<'_>, elsewhere: Elsewhere) -> Result<RsaKey, Error> {
        let cpu = cpu::CpuRsaKey::new(&Numbers { d: None, crt: None, ..*numbers }).map_err(|error| match error {
            // Nobody else can use it.
            Error::Unsupported(_) => Error::CardKey("its modulus or public exponent is not one of those served"),
            error => error,
        })?;
        let (private, public) = (Tally::new(Function::RsaCrt, cpu.bits()), Tally::new(Function::RsaMe, cpu.bits()));
        Ok(RsaKey { cpu, material: Material::Elsewhere(elsewhere), d_hash: WriteOnce::default(), private, public })
    }

    /// The key of a reference alone: the card gives the public half.
    ///
    /// # Errors
    /// As for [`RsaKey::new`]; [`Error::Device`].
    pub(super) fn of_card(elsewhere: Elsewhere) -> Result<RsaKey, Error> {
        let public = elsewhere.public(4 + 2 * super::MAX_SIZE)?;
        let numbers = || {
            let (length, rest) = public.split_first_chunk()?;
            rest.split_at_checked(u32::from_le_bytes(*length) as usize)
        };
        let (e, n) = numbers().ok_or_else(|| elsewhere.wrong())?;
        RsaKey::elsewhere(&Numbers { n, e, d: None, crt: None }, elsewhere)
    }

    /// Whether [`RsaKey::generate`] makes keys of this size and public exponent (big-endian): multiples of 128 bits from 512 to 16384,
    /// exponents of at most 32 bits. [`RsaKey::generate_any`] makes others.
    pub fn generates(bits: usize, e: &[u8]) -> bool {
        cpu::CpuRsaKey::generates(bits, e)
    }

    /// Generates a key of two primes. `report` is called at each step with the two numbers of `BN_GENCB`, and ends the search by returning `false`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where [`RsaKey::generates`] is false; [`Error::Failed`] when told to end, and once in 2^80;
    /// [`Error::Memory`].
    pub fn generate(bits: usize, e: &[u8], report: Option<&mut dyn FnMut(i32, i32) -> bool>) -> Result<RsaKey, Error> {
        let (key, outcome) = cpu::CpuRsaKey::generate(bits, e, report)?;
        let key = RsaKey::clear(key)?;
        Tally::new(Function::RsaKeygenCrt, bits).ran(outcome).count(Direction::Encrypt, 0);
        Ok(key)
    }

    /// Generates a key of two primes, of any size from 512 to 16384 bits, with any public exponent that FIPS 186-5 knows: odd, above 1 and
    /// below 2^256; with moduli above 3072 bits below 2^64.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another size or exponent; [`Error::Failed`] where no key was found, once in 2^80; [`Error::Memory`].
    pub fn generate_any(bits: usize, e: &[u8]) -> Result<RsaKey, Error> {
        if cpu::CpuRsaKey::generates(bits, e) {
            return RsaKey::generate(bits, e, None);
        }
        if !(512..=super::MAX_SIZE * 8).contains(&bits) {
            return Err(Error::Unsupported("RSA key size"));
        }
        let (made, outcome) = rsa_any::generate(bits, e)?;
        let key = RsaKey::new(&Numbers { n: &made.n, e, d: Some(&made.d), crt: Some(made.crt()) })?;
        Tally::new(Function::RsaKeygenCrt, bits).ran(outcome).count(Direction::Encrypt, 0);
        Ok(key)
    }

    fn clear(cpu: cpu::CpuRsaKey) -> Result<RsaKey, Error> {
        let public = Tally::new(Function::RsaMe, cpu.bits());
        let private = cpu.by_primes().map_or(public, |path| Tally::on(path, Function::RsaCrt, cpu.bits()));
        let material = Material::Clear(Routed::new(Some(&cpu))?);
        Ok(RsaKey { cpu, material, d_hash: WriteOnce::default(), private, public })
    }

    /// The public half.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::Failed`].
    pub fn to_public(&self) -> Result<RsaKey, Error> {
        RsaKey::clear(self.cpu.to_public()?)
    }

    /// The size of the modulus in bits.
    pub fn bits(&self) -> usize {
        self.cpu.bits()
    }

    /// The size of the modulus, a signature or a ciphertext in bytes.
    pub fn size(&self) -> usize {
        self.bits().div_ceil(8)
    }

    /// Whether there is a private half.
    pub fn is_private(&self) -> bool {
        self.cpu.is_private() || self.material.elsewhere().is_some()
    }

    /// A number of the key as big-endian bytes without leading zeros; `None` where the key lacks it or does not give it.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn number(&self, part: Part) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        self.cpu.number(part)
    }

    /// Whether two keys have the same number there; where either lacks it, they have not.
    pub fn same(&self, other: &RsaKey, part: Part) -> bool {
        self.cpu.same(&other.cpu, part)
    }

    /// The function that private operations count as: with the Chinese remainder theorem or without.
    pub fn private_function(&self) -> Function {
        self.private.function()
    }

    /// `input^e mod n`: verification and encryption. Both buffers have [`RsaKey::size`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] where they do not, [`Error::Unsupported`] where `input` is not below the modulus.
    pub fn public(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.cpu.public(input, out)?;
        self.public.count(Direction::Encrypt, 0);
        Ok(())
    }

    /// `input^d mod n`, checked with `e`: signing and decryption, in lanes where they take the key. Both buffers have
    /// [`RsaKey::size`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] where they do not, [`Error::Unsupported`] where `input` is not below the modulus,
    /// [`Error::InvalidKey`] without a private exponent or with one that does not belong to `e`, [`Error::Memory`]; of a card's key
    /// [`Error::Device`], [`Error::CardKey`], [`Error::CardInput`].
    pub fn private(&self, input: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let outcome = match &self.material {
            Material::Clear(routed) => {
                let elsewhere = match routed.taken() {
                    Some(taken) if out.len() == input.len() => taken.private(input, out),
                    _ => None,
                };
                match elsewhere {
                    Some(outcome) => outcome,
                    None => self.cpu.private(input, out)?.outcome,
                }
            }
            Material::Elsewhere(elsewhere) => self.by_card(elsewhere, input, out)?,
        };
        self.private.ran(outcome).count(Direction::Encrypt, 0);
        Ok(())
    }

    /// The private operation as a part of another: it counts nothing.
    #[cold]
    fn by_card(&self, elsewhere: &Elsewhere, input: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        let size = self.size();
        if input.len() != size || out.len() != size {
            return Err(super::length("RSA block", input.len(), "the modulus's"));
        }
        let n = self.cpu.number(Part::N)?.unwrap_or_default();
        if input >= &n[..] {
            return Err(super::TOO_LONG);
        }
        let mut back = zeros(size)?;
        let output = elsewhere.ask(Call::RsaPrivate, &[], input, size)?;
        let opened = output[..] < n[..] && self.cpu.public(&output, &mut back).is_ok();
        elsewhere.checked(opened && back[..] == *input)?;
        out.copy_from_slice(&output);
        Ok(Outcome::Card)
    }

    /// The private operation of `power` with bare numbers, whose function counts: both buffers may have zeros before the number.
    pub(super) fn power(&self, input: &[u8], modulus: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        let size = self.size();
        let modulus = &modulus[modulus.iter().take_while(|&&b| b == 0).count()..];
        let zeros = input.len().checked_sub(size).filter(|_| input.len() == out.len());
        let (Some(zeros), Some(n)) = (zeros, self.cpu.number(Part::N)?) else {
            return Err(super::length("RSA block", input.len(), "the modulus's"));
        };
        if input[..zeros].iter().any(|&b| b != 0) {
            return Err(super::TOO_LONG);
        }
        match self.material.elsewhere() {
            Some(elsewhere) if n[..] == *modulus => {
                let outcome = self.by_card(elsewhere, &input[zeros..], &mut out[zeros..])?;
                out[..zeros].fill(0);
                Ok(outcome)
            }
            _ => Err(Error::CardKey("it belongs to another modulus")),
        }
    }

    /// The key's part in implicit rejection, which nobody knows who cannot use the key: SHA-256 of the private exponent, padded to the modulus's length; of
    /// a card's key, of the result for an input that no encoding gives. All zero for a public key. A part of decryption, which counts.
    ///
    /// # Errors
    /// [`Error::Memory`]; of a card's key those of [`RsaKey::private`].
    pub(super) fn d_hash(&self) -> Result<Kept<'_, Zeroizing<[u8; 32]>>, Error> {
        self.d_hash.get_or_make(|| {
            let mut hash = Zeroizing::new([0; 32]);
            let secret = match &self.material {
                Material::Clear(_) => self.cpu.number(Part::D)?,
                Material::Elsewhere(elsewhere) => {
                    let (mut input, mut out) = (zeros(self.size())?, zeros(self.size())?);
                    // Two bytes of zeros come first, which neither a signature nor a ciphertext of RFC 8017 has.
                    let label = b"adjunct: implicit rejection";
                    input.iter_mut().skip(2).zip(label).for_each(|(byte, label)| *byte = *label);
                    self.by_card(elsewhere, &input, &mut out)?;
                    Some(out)
                }
            };
            if let Some(secret) = secret {
                let zeros = [0; super::MAX_SIZE];
                let mut digest = Digest::new(&SHA256);
                digest.update(&zeros[..self.size() - secret.len()]);
                digest.update(&secret);
                digest.finish(&mut hash[..]);
            }
            Ok(hash)
        })
    }
}
