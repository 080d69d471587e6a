//! ML-KEM (FIPS 203): key pairs, encapsulation and decapsulation.

use super::Tally;
use super::material::{Elsewhere, Material};
use crate::catalogue::{Direction, Function, Outcome};
use crate::error::Error;
use crate::memory::zeros;
use adjunct_card_protocol::secure::Call;
use adjunct_cpu::mlkem as cpu;
use adjunct_kernels::opaque_debug;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

pub use adjunct_cpu::mlkem::{RANDOM, SECRET, SEED, Set};

/// A key: the public half, and the private one if there is one. Immutable; threads share it.
#[derive(Clone)]
pub struct MlKemKey {
    set: Set,
    public: Vec<u8>,
    private: Option<Material<Zeroizing<Vec<u8>>>>,
}

opaque_debug!(MlKemKey);

fn copied(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut copy = zeros(bytes.len())?;
    copy.copy_from_slice(bytes);
    Ok(std::mem::take(&mut *copy))
}

fn count(function: Function, set: Set) {
    Tally::new(function, set.number()).count(Direction::Encrypt, 0);
}

impl MlKemKey {
    /// Generates a key pair, and the seed that it is made of.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Failed`] where the library fails.
    pub fn generate(set: Set) -> Result<(MlKemKey, Zeroizing<[u8; SEED]>), Error> {
        let seed = cpu::seed();
        Ok((MlKemKey::generate_of(set, &seed)?, seed))
    }

    /// Generates the key pair of a seed that is given: for known answers.
    ///
    /// # Errors
    /// As for [`MlKemKey::generate`].
    pub fn generate_of(set: Set, seed: &[u8; SEED]) -> Result<MlKemKey, Error> {
        let key = MlKemKey::of_seed(set, seed)?;
        count(Function::MlKemKeygen, set);
        Ok(key)
    }

    /// The key pair of a seed. A part of an import, which counts nothing.
    ///
    /// # Errors
    /// As for [`MlKemKey::generate`].
    pub fn of_seed(set: Set, seed: &[u8; SEED]) -> Result<MlKemKey, Error> {
        let (mut public, mut private) = (zeros(set.public())?, zeros(set.private())?);
        if !cpu::keypair(set, seed, &mut public, &mut private) {
            return Err(Error::Failed("ML-KEM.KeyGen"));
        }
        Ok(MlKemKey { set, public: std::mem::take(&mut *public), private: Some(Material::Clear(private)) })
    }

    /// A public key, checked as FIPS 203 wants it before encapsulation (7.2).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where it is none; [`Error::Memory`].
    pub fn public_only(set: Set, public: &[u8]) -> Result<MlKemKey, Error> {
        if !cpu::is_public(set, public) {
            return Err(Error::InvalidKey("not an ML-KEM public key"));
        }
        Ok(MlKemKey { set, public: copied(public)?, private: None })
    }

    /// A private key, checked as FIPS 203 wants it before decapsulation (7.3), with the public key that it holds; of a reference to a card's key
    /// ([`crate::ops::reference`]) the card gives that.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where it is none; [`Error::Memory`]; those of a card's key.
    pub fn private(set: Set, private: &[u8]) -> Result<MlKemKey, Error> {
        if let Some(elsewhere) = Elsewhere::of(private)? {
            let public = elsewhere.public(set.public())?;
            elsewhere.checked(cpu::is_public(set, &public))?;
            return Ok(MlKemKey { set, public: copied(&public)?, private: Some(Material::Elsewhere(elsewhere)) });
        }
        let public = cpu::public(set, private).ok_or(Error::InvalidKey("not an ML-KEM private key"))?;
        let mut copy = zeros(private.len())?;
        copy.copy_from_slice(private);
        Ok(MlKemKey { set, public: copied(public)?, private: Some(Material::Clear(copy)) })
    }

    /// The public key of this key alone.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn without_private(&self) -> Result<MlKemKey, Error> {
        Ok(MlKemKey { set: self.set, public: copied(&self.public)?, private: None })
    }

    /// The parameter set.
    pub fn set(&self) -> Set {
        self.set
    }

    /// The public key's bytes.
    pub fn public_bytes(&self) -> &[u8] {
        &self.public
    }

    /// The private key's bytes; `None` if there is none, or it is not given out.
    pub fn private_bytes(&self) -> Option<&[u8]> {
        self.private.as_ref()?.clear().map(|private| private.as_slice())
    }

    /// Whether the key has its private half, here or with a card.
    pub fn has_private(&self) -> bool {
        self.private.is_some()
    }

    /// Whether the private half decapsulates what the public half encapsulates; false if there is none. A part of an import, which counts nothing.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Failed`] where the library fails.
    pub fn is_pair(&self) -> Result<bool, Error> {
        let Some(private) = self.private.as_ref() else { return Ok(false) };
        let mut ciphertext = zeros(self.set.ciphertext())?;
        let hidden = cpu::encapsulate(self.set, &self.public, None, &mut ciphertext);
        let hidden = hidden.ok_or(Error::Failed("ML-KEM.Encaps"))?;
        let found = self.found(private, &ciphertext)?.0;
        Ok(hidden[..].ct_eq(&found[..]).into())
    }

    /// Makes a new shared secret, and in `out`, of [`Set::ciphertext`] bytes, the ciphertext that gives it to the owner of the private key.
    ///
    /// # Errors
    /// [`Error::Length`] for an `out` of another length; [`Error::Failed`] where the library fails.
    pub fn encapsulate(&self, out: &mut [u8]) -> Result<Zeroizing<[u8; SECRET]>, Error> {
        self.encapsulate_of(None, out)
    }

    /// Encapsulates as [`MlKemKey::encapsulate`], with the random bytes that are given, if there are any: for known answers.
    ///
    /// # Errors
    /// As for [`MlKemKey::encapsulate`].
    pub fn encapsulate_of(
        &self,
        random: Option<&[u8; RANDOM]>,
        out: &mut [u8],
    ) -> Result<Zeroizing<[u8; SECRET]>, Error> {
        if out.len() != self.set.ciphertext() {
            return Err(Error::Length { what: "ciphertext", got: out.len(), expected: "the parameter set's" });
        }
        let secret = cpu::encapsulate(self.set, &self.public, random, out).ok_or(Error::Failed("ML-KEM.Encaps"))?;
        count(Function::MlKemEncapsulate, self.set);
        Ok(secret)
    }

    /// The shared secret of a ciphertext. A ciphertext that was not made for this key gives a secret that its sender does not know.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] without a private key; [`Error::Length`] for a ciphertext of another length; [`Error::Failed`] where
    /// the library fails; those of a card's key.
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Result<Zeroizing<[u8; SECRET]>, Error> {
        let private = self.private.as_ref().ok_or(Error::InvalidKey("no private half"))?;
        if ciphertext.len() != self.set.ciphertext() {
            return Err(Error::Length { what: "ciphertext", got: ciphertext.len(), expected: "the parameter set's" });
        }
        let (secret, outcome) = self.found(private, ciphertext)?;
        let tally = Tally::new(Function::MlKemDecapsulate, self.set.number());
        outcome.map_or(tally, |outcome| tally.ran(outcome)).count(Direction::Encrypt, 0);
        Ok(secret)
    }

    /// The secret of a ciphertext of the right length, and what found it where that was not this CPU.
    fn found(
        &self,
        private: &Material<Zeroizing<Vec<u8>>>,
        ciphertext: &[u8],
    ) -> Result<(Zeroizing<[u8; SECRET]>, Option<Outcome>), Error> {
        match private {
            Material::Clear(private) => {
                let secret = cpu::decapsulate(self.set, private, ciphertext);
                Ok((secret.ok_or(Error::Failed("ML-KEM.Decaps"))?, None))
            }
            Material::Elsewhere(elsewhere) => {
                let mut secret = Zeroizing::new([0; SECRET]);
                elsewhere.fill(Call::MlKemDecapsulate, &[], ciphertext, &mut secret[..])?;
                Ok((secret, Some(Outcome::Card)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_have_the_secret_and_nobody_else() {
        for set in Set::ALL {
            let (key, seed) = MlKemKey::generate(set).unwrap();
            assert_eq!(MlKemKey::of_seed(set, &seed).unwrap().private_bytes(), key.private_bytes());
            let imported = MlKemKey::private(set, key.private_bytes().unwrap()).unwrap();
            let public = MlKemKey::public_only(set, key.public_bytes()).unwrap();
            assert_eq!(imported.public_bytes(), public.public_bytes());
            let mut ciphertext = vec![0; set.ciphertext()];
            let secret = public.encapsulate(&mut ciphertext).unwrap();
            assert_eq!(key.decapsulate(&ciphertext).unwrap(), secret);
            assert_eq!(imported.decapsulate(&ciphertext).unwrap(), secret);
            ciphertext[3] ^= 1;
            assert_ne!(key.decapsulate(&ciphertext).unwrap(), secret);
            assert!(key.decapsulate(&ciphertext[1..]).is_err() && public.decapsulate(&ciphertext).is_err());
            assert!(MlKemKey::public_only(set, &vec![0xff; set.public()]).is_err());
            assert!(MlKemKey::private(set, &vec![0; set.private()]).is_err());
        }
    }
}
