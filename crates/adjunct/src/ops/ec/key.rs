//! A key, and what is done with it.

use super::{Curve, Form, Group, MAX_FIELD, MAX_POINT, MAX_SIGNATURE, Operation, cpu};
use crate::catalogue::Direction;
use crate::catalogue::Outcome;
use crate::error::Error;
use crate::ops::Tally;
use crate::ops::material::{Elsewhere, Material};
use adjunct_base::registry::{Adapter, Route, online};
use adjunct_card_protocol::secure::Call;
use adjunct_cpu::der;
use adjunct_lanes::nist as lanes;

/// A public key, a private key, or both, on one of the curves, and where its operations count. Immutable; usable from all threads;
/// a clone is the same key.
#[derive(Debug, Clone)]
pub struct EcKey {
    /// The key, which may have no private half; of a card's key the public half.
    key: cpu::CpuEcKey,
    material: Material<Route>,
    sign: Tally,
    verify: Tally,
    agree: Tally,
}

/// Counts an operation by what ran it.
fn count(tally: Tally, outcome: Outcome) {
    tally.ran(outcome).count(Direction::Encrypt, 0);
}

impl EcKey {
    fn of(key: cpu::CpuEcKey) -> EcKey {
        EcKey::with(key, Material::Clear(Route::new()))
    }

    fn with(key: cpu::CpuEcKey, material: Material<Route>) -> EcKey {
        let tally = |operation: Operation| operation.tally(key.group());
        let (sign, verify, agree) = (tally(Operation::Sign), tally(Operation::Verify), tally(Operation::Agree));
        EcKey { key, material, sign, verify, agree }
    }

    /// The curve, where operations go to the lanes.
    fn in_lanes(&self) -> Option<Curve> {
        let (curve, route) = (self.key.curve(), self.material.clear()?);
        curve.filter(|_| route.find(|| curve.map(|_| Adapter::Lanes)) == Adapter::Lanes)
    }

    /// Generates a key pair (FIPS 186-5, A.2.2).
    ///
    /// # Errors
    /// [`Error::Failed`] and [`Error::Memory`] where memory runs out.
    pub fn generate(group: impl Into<Group>) -> Result<EcKey, Error> {
        let group = group.into();
        let (key, outcome) = match group.curve().filter(|_| online(Adapter::Lanes)) {
            Some(curve) => lanes::generate(curve)?,
            None => cpu::CpuEcKey::generate(group)?,
        };
        count(Operation::Generate.tally(group), outcome);
        Ok(EcKey::of(key))
    }

    /// A key from an encoded point (SEC 1, 2.3.3), a big-endian private scalar of [`Group::field_len`] bytes, or both. That
    /// the two belong together is not checked; [`EcKey::is_pair`] does. Where a reference to a card's key ([`crate::ops::reference`]) stands for the
    /// scalar, the card does the operations with it, and gives the point where there is none.
    ///
    /// # Errors
    /// [`Error::CardKey`] for a reference that is damaged, [`Error::Device`] where no card gives the point. [`Error::InvalidKey`] for a point off the curve, at infinity or badly encoded, and a scalar that is zero or not
    /// below the order; [`Error::Memory`].
    pub fn new(group: impl Into<Group>, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<EcKey, Error> {
        let group = group.into();
        match private.map(Elsewhere::of_number).transpose()?.flatten() {
            None => Ok(EcKey::of(cpu::CpuEcKey::new(group, public, private)?)),
            Some(elsewhere) => EcKey::elsewhere(group, public, elsewhere),
        }
    }

    #[cold]
    fn elsewhere(group: Group, public: Option<&[u8]>, elsewhere: Elsewhere) -> Result<EcKey, Error> {
        let key = match public {
            Some(public) => cpu::CpuEcKey::new(group, Some(public), None),
            None => cpu::CpuEcKey::new(group, Some(&elsewhere.public(MAX_POINT)?), None),
        };
        let key = key.map_err(|error| match error {
            Error::InvalidKey(_) if public.is_none() => elsewhere.wrong(),
            // Nobody else can use it.
            Error::InvalidKey(what) => Error::CardKey(what),
            error => error,
        })?;
        Ok(EcKey::with(key, Material::Elsewhere(elsewhere)))
    }

    /// The public key of this key alone.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where there is none; [`Error::Failed`] and [`Error::Memory`] where memory runs out.
    pub fn public_only(&self) -> Result<EcKey, Error> {
        Ok(EcKey::of(self.key.public_only()?))
    }

    /// The curve.
    pub fn group(&self) -> Group {
        self.key.group()
    }

    /// Whether the key has its public half.
    pub fn has_public(&self) -> bool {
        self.key.has_public()
    }

    /// Whether the key has its private half.
    pub fn has_private(&self) -> bool {
        self.key.scalar().is_some() || self.material.elsewhere().is_some()
    }

    /// The private scalar, big-endian, in [`Group::field_len`] bytes; `None` if there is none, or it is not given out.
    pub fn private(&self) -> Option<&[u8]> {
        self.key.scalar()
    }

    /// Encodes the public key; the result is the part of `out` that was written, `None` without a public key.
    pub fn public<'a>(&self, form: Form, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        self.key.public(form, out)
    }

    /// The public key's x and y, one after the other, in twice [`Group::field_len`] bytes: the part of `out` that was written;
    /// `None` without a public key.
    pub fn coordinates<'a>(&self, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        self.key.coordinates(out)
    }

    /// Whether the private and the public half belong together; false where one is missing. A card's key signs for it, which counts nothing; false where no
    /// card does.
    pub fn is_pair(&self) -> bool {
        match &self.material {
            Material::Clear(_) => self.key.is_pair(),
            Material::Elsewhere(elsewhere) => {
                let mut pair = [0; 2 * MAX_FIELD];
                let pair = &mut pair[..2 * self.group().field_len()];
                self.sign_by_card(elsewhere, b"adjunct: whether these halves are one key", pair).is_ok()
            }
        }
    }

    /// Whether both have the same public key; `None` where one has none.
    pub fn same_public(&self, other: &EcKey) -> Option<bool> {
        self.key.same_public(&other.key)
    }

    /// Whether both have the same private key; `None` where one has none. Of a card's key the public halves tell.
    pub fn same_private(&self, other: &EcKey) -> Option<bool> {
        match (&self.material, &other.material) {
            (Material::Clear(_), Material::Clear(_)) => self.key.same_private(&other.key),
            (Material::Elsewhere(one), Material::Elsewhere(two)) if one.is(two) => Some(self.group() == other.group()),
            // What a card knows a key by says nothing of it.
            _ if self.has_private() && other.has_private() => self.same_public(other),
            _ => None,
        }
    }

    /// Signs a digest; the DER signature is the part of `out` that was written. Nonces are random and hedged.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] without a private key.
    pub fn sign<'a>(&self, digest: &[u8], out: &'a mut [u8; MAX_SIGNATURE]) -> Result<&'a [u8], Error> {
        let mut pair = [0; 2 * MAX_FIELD];
        let pair = &mut pair[..2 * self.group().field_len()];
        self.sign_pair(digest, pair)?;
        Ok(der::encode(pair, out))
    }

    /// Signs a digest; r and s, one after the other and each big-endian in [`Group::field_len`] bytes, become the whole of `out`.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] without a private key; [`Error::Length`] for an `out` of another length; of a card's key [`Error::Device`],
    /// [`Error::CardKey`], [`Error::CardInput`].
    pub fn sign_pair(&self, digest: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.halves(out)?;
        let outcome = match (&self.material, self.in_lanes()) {
            (Material::Elsewhere(elsewhere), _) => self.sign_by_card(elsewhere, digest, out)?,
            (Material::Clear(_), Some(curve)) => lanes::sign(curve, &self.key, digest, out)?,
            (Material::Clear(_), None) => self.key.sign(digest, out)?,
        };
        count(self.sign, outcome);
        Ok(())
    }

    /// A card's signature of a digest, checked with the public half. It counts nothing.
    #[cold]
    fn sign_by_card(&self, elsewhere: &Elsewhere, digest: &[u8], out: &mut [u8]) -> Result<Outcome, Error> {
        let signature = elsewhere.ask(Call::EcSign, &[], digest, out.len())?;
        elsewhere.checked(matches!(self.key.verify(digest, &signature), Ok((true, _))))?;
        out.copy_from_slice(&signature);
        Ok(Outcome::Card)
    }

    /// Signs a digest as [`EcKey::sign_pair`] does, with a nonce that is given, big-endian in [`Group::field_len`] bytes: for known answers.
    /// Two digests signed with one nonce give the private key away.
    ///
    /// # Errors
    /// As for [`EcKey::sign_pair`]; and [`Error::InvalidKey`] for a nonce that is zero or not below the order, [`Error::CardKey`] for a card's key, which
    /// takes none.
    pub fn sign_pair_with_nonce(&self, digest: &[u8], nonce: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.halves(out)?;
        if self.material.elsewhere().is_some() {
            return Err(Error::CardKey("it takes no nonce"));
        }
        let outcome = self.key.sign_with_nonce(digest, nonce, out)?;
        count(Operation::SignWithNonce.tally(self.group()), outcome);
        Ok(())
    }

    /// Checks that a buffer has the length of r and s.
    fn halves(&self, pair: &[u8]) -> Result<(), Error> {
        match pair.len() {
            length if length == 2 * self.group().field_len() => Ok(()),
            got => Err(Error::Length { what: "signature", got, expected: "twice the private key's" }),
        }
    }

    /// Whether a DER signature is one of a digest. Only the one DER encoding of a signature is accepted, as by OpenSSL.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for what is not such an encoding; [`Error::InvalidKey`] without a public key; [`Error::Failed`]
    /// where memory runs out.
    pub fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<bool, Error> {
        let mut pair = [0; 2 * MAX_FIELD];
        let pair = &mut pair[..2 * self.group().field_len()];
        der::decode(signature, pair).ok_or(Error::Unsupported("signature that is not DER"))?;
        self.verify_pair(digest, pair)
    }

    /// Whether a signature, r and s as [`EcKey::sign_pair`] writes them, is one of a digest.
    ///
    /// # Errors
    /// [`Error::Length`] for a signature of another length; [`Error::InvalidKey`] without a public key; [`Error::Failed`] where
    /// memory runs out.
    pub fn verify_pair(&self, digest: &[u8], signature: &[u8]) -> Result<bool, Error> {
        let (good, outcome) = self.key.verify(digest, signature)?;
        count(self.verify, outcome);
        Ok(good)
    }

    /// The x coordinate of private * `peer`, in [`Group::field_len`] bytes: the part of `out` that was written.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for keys without the half needed, and of different curves; of a card's key those of [`EcKey::sign_pair`].
    pub fn shared_secret<'a>(&self, peer: &EcKey, out: &'a mut [u8; MAX_FIELD]) -> Result<&'a [u8], Error> {
        if self.group() != peer.group() {
            return Err(Error::InvalidKey("curves differ"));
        }
        let (secret, outcome) = match (&self.material, self.in_lanes()) {
            (Material::Elsewhere(elsewhere), _) => {
                let mut room = [0; MAX_POINT];
                let point = peer.public(Form::Uncompressed, &mut room).ok_or(Error::InvalidKey("no public key"))?;
                let out = &mut out[..self.group().field_len()];
                elsewhere.fill(Call::EcDerive, &[], point, out)?;
                (&*out, Outcome::Card)
            }
            (Material::Clear(_), Some(curve)) => lanes::shared_secret(curve, &self.key, &peer.key, out)?,
            (Material::Clear(_), None) => self.key.shared_secret(&peer.key, out)?,
        };
        count(self.agree, outcome);
        Ok(secret)
    }
}
