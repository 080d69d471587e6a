//! A key, and what is done with it.

use super::{Curve, Form, Group, MAX_FIELD, MAX_POINT, MAX_SIGNATURE, Operation, cpu};
use crate::catalogue::Direction;
use crate::catalogue::Outcome;
use crate::error::Error;
use crate::ops::Tally;
use crate::ops::held::Held;
use adjunct_base::registry::{Adapter, Route, online};
use adjunct_cpu::der;
use adjunct_lanes::nist as lanes;

/// A public key, a private key, or both, on one of the curves, and where its operations count. Immutable; usable from all threads;
/// a clone is the same key.
#[derive(Debug, Clone)]
pub struct Key {
    /// The key, which may have no private half.
    held: Held<cpu::Key>,
    route: Route,
    sign: Tally,
    verify: Tally,
    agree: Tally,
}

/// Counts an operation by what ran it.
fn count(tally: Tally, outcome: Outcome) {
    tally.ran(outcome).count(Direction::Encrypt, 0);
}

impl Key {
    fn of(key: cpu::Key) -> Key {
        let tally = |operation: Operation| operation.tally(key.group());
        let (sign, verify, agree) = (tally(Operation::Sign), tally(Operation::Verify), tally(Operation::Agree));
        Key { held: Held::Clear(key), route: Route::new(), sign, verify, agree }
    }

    /// The key as the CPU and the lanes take it.
    fn clear(&self) -> &cpu::Key {
        self.held.clear()
    }

    /// The curve, where operations go to the lanes.
    fn in_lanes(&self) -> Option<Curve> {
        let curve = self.clear().curve();
        curve.filter(|_| self.route.find(|| curve.map(|_| Adapter::Lanes)) == Adapter::Lanes)
    }

    /// Generates a key pair (FIPS 186-5, A.2.2).
    ///
    /// # Errors
    /// [`Error::Failed`] and [`Error::Memory`] where memory runs out.
    pub fn generate(group: impl Into<Group>) -> Result<Key, Error> {
        let group = group.into();
        let (key, outcome) = match group.curve().filter(|_| online(Adapter::Lanes)) {
            Some(curve) => lanes::generate(curve)?,
            None => cpu::Key::generate(group)?,
        };
        count(Operation::Generate.tally(group), outcome);
        Ok(Key::of(key))
    }

    /// A key from an encoded point (SEC 1, 2.3.3), a big-endian private scalar of [`Group::field_len`] bytes, or both. That
    /// the two belong together is not checked; [`Key::is_pair`] does.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for a point off the curve, at infinity or badly encoded, and a scalar that is zero or not
    /// below the order; [`Error::Memory`].
    pub fn new(group: impl Into<Group>, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<Key, Error> {
        Ok(Key::of(cpu::Key::new(group.into(), public, private)?))
    }

    /// The public key of this key alone.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] where there is none; [`Error::Failed`] and [`Error::Memory`] where memory runs out.
    pub fn public_only(&self) -> Result<Key, Error> {
        Ok(Key::of(self.clear().public_only()?))
    }

    /// The curve.
    pub fn group(&self) -> Group {
        self.clear().group()
    }

    /// Whether the key has its public half.
    pub fn has_public(&self) -> bool {
        self.clear().has_public()
    }

    /// Whether the key has its private half.
    pub fn has_private(&self) -> bool {
        self.clear().scalar().is_some()
    }

    /// The private scalar, big-endian, in [`Group::field_len`] bytes; `None` if there is none, or it is not given out.
    pub fn private(&self) -> Option<&[u8]> {
        self.clear().scalar()
    }

    /// Encodes the public key; the result is the part of `out` that was written, `None` without a public key.
    pub fn public<'a>(&self, form: Form, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        self.clear().public(form, out)
    }

    /// The public key's x and y, one after the other, in twice [`Group::field_len`] bytes: the part of `out` that was written;
    /// `None` without a public key.
    pub fn coordinates<'a>(&self, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        self.clear().coordinates(out)
    }

    /// Whether the private and the public half belong together; false where one is missing.
    pub fn is_pair(&self) -> bool {
        self.clear().is_pair()
    }

    /// Whether both have the same public key; `None` where one has none.
    pub fn same_public(&self, other: &Key) -> Option<bool> {
        self.clear().same_public(other.clear())
    }

    /// Whether both have the same private key; `None` where one has none.
    pub fn same_private(&self, other: &Key) -> Option<bool> {
        self.clear().same_private(other.clear())
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
    /// [`Error::InvalidKey`] without a private key; [`Error::Length`] for an `out` of another length.
    pub fn sign_pair(&self, digest: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let key = self.clear();
        self.halves(out)?;
        let outcome = match self.in_lanes() {
            Some(curve) => lanes::sign(curve, key, digest, out)?,
            None => key.sign(digest, out)?,
        };
        count(self.sign, outcome);
        Ok(())
    }

    /// Signs a digest as [`Key::sign_pair`] does, with a nonce that is given, big-endian in [`Group::field_len`] bytes: for known answers.
    /// Two digests signed with one nonce give the private key away.
    ///
    /// # Errors
    /// As for [`Key::sign_pair`]; and [`Error::InvalidKey`] for a nonce that is zero or not below the order.
    pub fn sign_pair_with_nonce(&self, digest: &[u8], nonce: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.halves(out)?;
        let outcome = self.clear().sign_with_nonce(digest, nonce, out)?;
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

    /// Whether a signature, r and s as [`Key::sign_pair`] writes them, is one of a digest.
    ///
    /// # Errors
    /// [`Error::Length`] for a signature of another length; [`Error::InvalidKey`] without a public key; [`Error::Failed`] where
    /// memory runs out.
    pub fn verify_pair(&self, digest: &[u8], signature: &[u8]) -> Result<bool, Error> {
        let (good, outcome) = self.clear().verify(digest, signature)?;
        count(self.verify, outcome);
        Ok(good)
    }

    /// The x coordinate of private * `peer`, in [`Group::field_len`] bytes: the part of `out` that was written.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] for keys without the half needed, and of different curves.
    pub fn shared_secret<'a>(&self, peer: &Key, out: &'a mut [u8; MAX_FIELD]) -> Result<&'a [u8], Error> {
        let (key, peer) = (self.clear(), peer.clear());
        if key.group() != peer.group() {
            return Err(Error::InvalidKey("curves differ"));
        }
        let (secret, outcome) = match self.in_lanes() {
            Some(curve) => lanes::shared_secret(curve, key, peer, out)?,
            None => key.shared_secret(peer, out)?,
        };
        count(self.agree, outcome);
        Ok(secret)
    }
}
