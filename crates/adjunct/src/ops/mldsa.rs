//! ML-DSA (FIPS 204): key pairs and signatures, of messages and of their digests.

use super::Tally;
use super::material::{Elsewhere, Material};
use crate::catalogue::{Direction, Function, Outcome};
use crate::error::Error;
use crate::memory::zeros;
use adjunct_card_protocol::secure::Call;
use adjunct_cpu::mldsa as cpu;
use adjunct_kernels::opaque_debug;
use zeroize::Zeroizing;

pub use adjunct_cpu::mldsa::{SEED, Set};

/// The longest context of a signature, in bytes.
pub const MAX_CONTEXT: usize = 255;

/// A key: the public half, and the private one if there is one. Immutable; threads share it.
#[derive(Clone)]
pub struct MlDsaKey {
    set: Set,
    public: Vec<u8>,
    private: Option<Material<Zeroizing<Vec<u8>>>>,
}

opaque_debug!(MlDsaKey);

/// What is signed (FIPS 204, 5.2 and 5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form<'a> {
    /// The context.
    pub context: &'a [u8],
    /// For a message's digest: the DER of the digest's object identifier. `None` for the message itself.
    pub digest: Option<&'a [u8]>,
}

impl Form<'_> {
    /// The bytes before the message.
    fn prefix(&self) -> Result<Vec<u8>, Error> {
        if self.context.len() > MAX_CONTEXT {
            return Err(Error::Length { what: "context", got: self.context.len(), expected: "at most 255" });
        }
        let head = [u8::from(self.digest.is_some()), self.context.len() as u8];
        Ok([&head, self.context, self.digest.unwrap_or_default()].concat())
    }
}

fn count(function: Function, set: Set) {
    Tally::new(function, set.number()).count(Direction::Encrypt, 0);
}

impl MlDsaKey {
    /// Generates a key pair, and the seed that it is made of.
    ///
    /// # Errors
    /// [`Error::Memory`]; [`Error::Failed`] where the library fails.
    pub fn generate(set: Set) -> Result<(MlDsaKey, Zeroizing<[u8; SEED]>), Error> {
        let seed = cpu::seed();
        let key = MlDsaKey::of_seed(set, &seed)?;
        count(Function::MlDsaKeygen, set);
        Ok((key, seed))
    }

    /// The key pair of a seed. A part of an import, which counts nothing.
    ///
    /// # Errors
    /// As for [`MlDsaKey::generate`].
    pub fn of_seed(set: Set, seed: &[u8; SEED]) -> Result<MlDsaKey, Error> {
        let (mut public, mut private) = (zeros(set.public())?, zeros(set.private())?);
        if !cpu::keypair(set, seed, &mut public, &mut private) {
            return Err(Error::Failed("ML-DSA.KeyGen"));
        }
        Ok(MlDsaKey { set, public: std::mem::take(&mut *public), private: Some(Material::Clear(private)) })
    }

    /// A public key.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for one of another length.
    pub fn public_only(set: Set, public: &[u8]) -> Result<MlDsaKey, Error> {
        if public.len() != set.public() {
            return Err(Error::InvalidKey("length of an ML-DSA public key"));
        }
        Ok(MlDsaKey { set, public: public.to_vec(), private: None })
    }

    /// A private key, with the public key that follows from it; of a reference to a card's key ([`crate::ops::reference`]) the card gives that.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for one of another length, or whose parts do not belong together; [`Error::Memory`]; those of a card's key.
    pub fn private(set: Set, private: &[u8]) -> Result<MlDsaKey, Error> {
        if let Some(elsewhere) = Elsewhere::of(private)? {
            let mut public = elsewhere.public(set.public())?;
            elsewhere.checked(public.len() == set.public())?;
            return Ok(MlDsaKey {
                set,
                public: std::mem::take(&mut *public),
                private: Some(Material::Elsewhere(elsewhere)),
            });
        }
        if private.len() != set.private() {
            return Err(Error::InvalidKey("length of an ML-DSA private key"));
        }
        let (mut public, mut copy) = (zeros(set.public())?, zeros(set.private())?);
        copy.copy_from_slice(private);
        if !cpu::public(set, private, &mut public) {
            return Err(Error::InvalidKey("parts of an ML-DSA private key"));
        }
        Ok(MlDsaKey { set, public: std::mem::take(&mut *public), private: Some(Material::Clear(copy)) })
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

    /// Signs into `out`, of [`Set::signature`] bytes: with fresh randomness, or without any where `deterministic` (FIPS 204, 3.4).
    ///
    /// # Errors
    /// [`Error::InvalidKey`] without a private key; [`Error::Length`] for a context that is too long, or an `out` of another length;
    /// [`Error::Failed`] where the library fails; those of a card's key.
    pub fn sign(&self, form: Form<'_>, message: &[u8], deterministic: bool, out: &mut [u8]) -> Result<(), Error> {
        let private = self.private.as_ref().ok_or(Error::InvalidKey("no private half"))?;
        let prefix = form.prefix()?;
        if out.len() != self.set.signature() {
            return Err(Error::Length { what: "signature", got: out.len(), expected: "the parameter set's" });
        }
        let private = match private {
            Material::Clear(private) => private,
            Material::Elsewhere(elsewhere) => {
                let parameters = [&[u8::from(deterministic)], &prefix[..]].concat();
                let signature = elsewhere.ask(Call::MlDsaSign, &parameters, message, out.len())?;
                elsewhere.checked(cpu::verify(self.set, &self.public, &prefix, message, &signature))?;
                out.copy_from_slice(&signature);
                Tally::new(Function::MlDsaSign, self.set.number()).ran(Outcome::Card).count(Direction::Encrypt, 0);
                return Ok(());
            }
        };
        let randomness = if deterministic { Zeroizing::new([0; cpu::RANDOM]) } else { cpu::seed() };
        if !cpu::sign(self.set, private, &prefix, message, &randomness, out) {
            return Err(Error::Failed("ML-DSA.Sign"));
        }
        count(Function::MlDsaSign, self.set);
        Ok(())
    }

    /// Whether `signature` is this key's of that message; never where the context is too long.
    pub fn verify(&self, form: Form<'_>, message: &[u8], signature: &[u8]) -> bool {
        let Ok(prefix) = form.prefix() else { return false };
        let good = cpu::verify(self.set, &self.public, &prefix, message, signature);
        count(Function::MlDsaVerify, self.set);
        good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_verifies_and_nothing_else_does() {
        for set in Set::ALL {
            let (key, seed) = MlDsaKey::generate(set).unwrap();
            let again = MlDsaKey::of_seed(set, &seed).unwrap();
            assert_eq!(key.public_bytes(), again.public_bytes());
            let imported = MlDsaKey::private(set, key.private_bytes().unwrap()).unwrap();
            assert_eq!(imported.public_bytes(), key.public_bytes());
            let public = MlDsaKey::public_only(set, key.public_bytes()).unwrap();
            let form = Form { context: b"context", digest: None };
            let (mut one, mut two) = (vec![0; set.signature()], vec![0; set.signature()]);
            key.sign(form, b"message", true, &mut one).unwrap();
            imported.sign(form, b"message", true, &mut two).unwrap();
            assert_eq!(one, two);
            key.sign(form, b"message", false, &mut two).unwrap();
            assert_ne!(one, two);
            for signature in [&one, &two] {
                assert!(public.verify(form, b"message", signature));
                assert!(!public.verify(form, b"massage", signature));
                assert!(!public.verify(Form { context: b"", ..form }, b"message", signature));
                assert!(!public.verify(Form { digest: Some(&[6, 1, 1]), ..form }, b"message", signature));
                assert!(!public.verify(form, b"message", &signature[1..]));
            }
            let long = Form { context: &[0; 256], digest: None };
            assert!(key.sign(long, b"", false, &mut one).is_err() && !public.verify(long, b"", &one));
            assert!(public.sign(form, b"", false, &mut one).is_err());
            assert!(MlDsaKey::private(set, &vec![0; set.private()]).is_err());
            assert!(MlDsaKey::private(set, &[0; 7]).is_err() && MlDsaKey::public_only(set, &[0; 7]).is_err());
        }
    }
}
