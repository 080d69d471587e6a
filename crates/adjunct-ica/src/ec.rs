//! Elliptic curves: key pairs, ECDH and ECDSA on the NIST and Brainpool curves.

use crate::error::Errno;
use crate::serve::permit;
use adjunct::ops;
use adjunct::ops::ec::{Group, MAX_FIELD, MAX_POINT, Operation};
use std::ffi::c_uint;

/// A curve of the interface, and what serves it.
#[derive(Debug)]
pub struct Curve {
    /// OpenSSL's number of the curve.
    pub nid: c_uint,
    /// Its name in SEC 2 or RFC 5639.
    pub name: &'static str,
    /// The curve itself.
    pub group: Group,
}

/// Every curve of the interface.
pub static CURVES: [Curve; 12] = [
    curve(409, "secp192r1", Group::P192),
    curve(713, "secp224r1", Group::P224),
    curve(415, "secp256r1", Group::P256),
    curve(715, "secp384r1", Group::P384),
    curve(716, "secp521r1", Group::P521),
    curve(921, "brainpoolP160r1", Group::BrainpoolP160r1),
    curve(923, "brainpoolP192r1", Group::BrainpoolP192r1),
    curve(925, "brainpoolP224r1", Group::BrainpoolP224r1),
    curve(927, "brainpoolP256r1", Group::BrainpoolP256r1),
    curve(929, "brainpoolP320r1", Group::BrainpoolP320r1),
    curve(931, "brainpoolP384r1", Group::BrainpoolP384r1),
    curve(933, "brainpoolP512r1", Group::BrainpoolP512r1),
];

const fn curve(nid: c_uint, name: &'static str, group: Group) -> Curve {
    Curve { nid, name, group }
}

impl Curve {
    /// The curve of OpenSSL's number.
    pub fn from_nid(nid: c_uint) -> Option<&'static Curve> {
        CURVES.iter().find(|curve| curve.nid == nid)
    }

    /// The length of a coordinate, a private key and half a signature, in bytes.
    pub const fn length(&self) -> usize {
        self.group.field_len()
    }

    /// Whether an operation may run on this curve.
    fn allows(&self, operation: Operation) -> Result<(), Errno> {
        permit(operation.function(), operation.in_hardware(self.group))
    }
}

/// `ICA_EC_KEY`: a curve, and the public key, the private key or both, once there are any.
#[derive(Debug)]
pub struct IcaEcKey {
    curve: &'static Curve,
    halves: Option<ops::ec::EcKey>,
}

impl IcaEcKey {
    /// A key without either half.
    pub fn new(curve: &'static Curve) -> IcaEcKey {
        IcaEcKey { curve, halves: None }
    }

    /// The length of a coordinate, a private key and half a signature, in bytes.
    pub const fn length(&self) -> usize {
        self.curve.length()
    }

    /// Sets the public key's x and y, the private key, or both, each of [`IcaEcKey::length`] bytes, big-endian; a half that is not
    /// given stays. On an error both stay.
    ///
    /// # Errors
    /// [`Errno::INVALID`] for a point that is not on the curve, and a private key that is 0 or not below the order.
    pub fn set(&mut self, public: Option<(&[u8], &[u8])>, private: Option<&[u8]>) -> Result<(), Errno> {
        let mut room = [0; MAX_POINT];
        let public = match public {
            Some((x, y)) => Some(encoded(&mut room, &[x, y])),
            None => {
                let mut known = [0; MAX_POINT];
                self.public(&mut known).map(|known| encoded(&mut room, &[known]))
            }
        };
        let private = private.or_else(|| self.private());
        if public.is_some() || private.is_some() {
            self.halves = Some(ops::ec::EcKey::new(self.curve.group, public, private)?);
        }
        Ok(())
    }

    /// Makes both halves anew.
    ///
    /// # Errors
    /// [`Errno::NO_DEVICE`] where fallbacks are off and only software has it; [`Errno::IO`] where it fails.
    pub fn generate(&mut self) -> Result<(), Errno> {
        self.curve.allows(Operation::Generate)?;
        ops::attribute_now();
        self.halves = Some(ops::ec::EcKey::generate(self.curve.group)?);
        Ok(())
    }

    /// x and y, one after the other, of [`IcaEcKey::length`] bytes each, in `out`; `None` without a public key.
    pub fn public<'a>(&self, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        self.halves.as_ref()?.coordinates(out)
    }

    /// The private key, of [`IcaEcKey::length`] bytes; `None` without one.
    pub fn private(&self) -> Option<&[u8]> {
        self.halves.as_ref()?.private()
    }

    /// The shared secret of this private key and `peer`'s public key (SP 800-56A, 5.7.1.2), of [`IcaEcKey::length`] bytes: the part
    /// of `out` that is the result.
    ///
    /// # Errors
    /// [`Errno::INVALID`] for keys of different curves or without the half needed; [`Errno::NO_DEVICE`].
    pub fn shared_secret<'a>(&self, peer: &IcaEcKey, out: &'a mut [u8; MAX_FIELD]) -> Result<&'a [u8], Errno> {
        let (Some(own), Some(theirs)) = (&self.halves, &peer.halves) else { return Err(Errno::INVALID) };
        if self.curve.nid != peer.curve.nid || !own.has_private() {
            return Err(Errno::INVALID);
        }
        self.curve.allows(Operation::Agree)?;
        ops::attribute_now();
        Ok(own.shared_secret(theirs, out)?)
    }

    /// Signs a hash: r and s, of [`IcaEcKey::length`] bytes each, become the whole of `out`.
    ///
    /// # Errors
    /// [`Errno::INVALID`] without a private key; [`Errno::NO_DEVICE`].
    pub fn sign(&self, hash: &[u8], out: &mut [u8]) -> Result<(), Errno> {
        let key = self.signing()?;
        self.curve.allows(Operation::Sign)?;
        ops::attribute_now();
        Ok(key.sign_pair(hash, out)?)
    }

    /// Signs a hash with a given nonce of [`IcaEcKey::length`] bytes: r and s, of [`IcaEcKey::length`] bytes each, become the whole of `out`.
    ///
    /// # Errors
    /// As for [`IcaEcKey::sign`]; and [`Errno::INVALID`] for a nonce that is 0 or not below the order.
    pub fn sign_with_nonce(&self, hash: &[u8], nonce: &[u8], out: &mut [u8]) -> Result<(), Errno> {
        let key = self.signing()?;
        self.curve.allows(Operation::SignWithNonce)?;
        ops::attribute_now();
        Ok(key.sign_pair_with_nonce(hash, nonce, out)?)
    }

    fn signing(&self) -> Result<&ops::ec::EcKey, Errno> {
        self.halves.as_ref().filter(|key| key.has_private()).ok_or(Errno::INVALID)
    }

    /// Checks a signature of a hash: r and s, of [`IcaEcKey::length`] bytes each.
    ///
    /// # Errors
    /// [`Errno::FAULT`] where it does not fit; [`Errno::INVALID`] without a public key; [`Errno::NO_DEVICE`].
    pub fn verify(&self, hash: &[u8], signature: &[u8]) -> Result<(), Errno> {
        let key = self.halves.as_ref().ok_or(Errno::INVALID)?;
        self.curve.allows(Operation::Verify)?;
        ops::attribute_now();
        if key.verify_pair(hash, signature)? { Ok(()) } else { Err(Errno::FAULT) }
    }
}

/// An uncompressed point (SEC 1, 2.3.3) of its coordinates.
fn encoded<'a>(room: &'a mut [u8; MAX_POINT], parts: &[&[u8]]) -> &'a [u8] {
    room[0] = 4;
    let mut at = 1;
    for part in parts {
        room[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    &room[..at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_half_that_is_not_given_stays_and_so_do_both_on_an_error() {
        for curve in &CURVES {
            let mut whole = IcaEcKey::new(curve);
            whole.generate().unwrap();
            let mut room = [0; MAX_POINT];
            let public = whole.public(&mut room).unwrap();
            let (x, y) = public.split_at(curve.length());
            let mut other = IcaEcKey::new(curve);
            other.set(None, None).unwrap();
            assert!(other.private().is_none() && other.public(&mut [0; MAX_POINT]).is_none());
            other.set(Some((x, y)), None).unwrap();
            assert!(other.private().is_none());
            other.set(None, whole.private()).unwrap();
            assert_eq!(other.private(), whole.private());
            assert_eq!(other.public(&mut [0; MAX_POINT]), Some(public));
            let zero = vec![0; curve.length()];
            assert_eq!(other.set(Some((x, x)), None), Err(Errno::INVALID), "{}", curve.name);
            assert_eq!(other.set(None, Some(&zero)), Err(Errno::INVALID));
            assert_eq!(other.public(&mut [0; MAX_POINT]), Some(public));
            assert_eq!(other.private(), whole.private());
        }
    }

    #[test]
    fn curves_are_found_by_their_numbers() {
        assert_eq!(Curve::from_nid(927).map(|curve| curve.group), Some(Group::BrainpoolP256r1));
        assert!(Curve::from_nid(416).is_none());
        assert_eq!(CURVES.each_ref().map(|curve| curve.group), Group::ALL);
    }
}
