//! Elliptic curves: key pairs, ECDH and ECDSA on the NIST and Brainpool curves. Those that have lanes run in batches where
//! several threads call at once.

use crate::error::Errno;
use crate::serve::Operation;
use adjunct::adapter::cpu::awslc::ec::{self, MAX_FIELD, MAX_POINT, MAX_SIGNATURE};
use adjunct::adapter::cpu::awslc::group::{self, Group};
use adjunct::catalogue::Function;
use adjunct::ops::Tally;
use std::ffi::c_uint;

/// A curve of the interface, and what serves it.
#[derive(Debug)]
pub struct Curve {
    /// OpenSSL's number of the curve.
    pub nid: c_uint,
    /// Its name in SEC 2 or RFC 5639.
    pub name: &'static str,
    /// What serves one operation alone, and all that has no lanes.
    pub group: Group,
    /// Whose lanes serve signatures, shared secrets and key pairs in batches, where the machine has the instructions.
    pub lanes: Option<ec::Curve>,
}

/// Every curve of the interface.
pub static CURVES: [Curve; 12] = [
    curve(409, "secp192r1", Group::P192, None),
    curve(713, "secp224r1", Group::P224, None),
    curve(415, "secp256r1", Group::P256, Some(ec::Curve::P256)),
    curve(715, "secp384r1", Group::P384, Some(ec::Curve::P384)),
    curve(716, "secp521r1", Group::P521, Some(ec::Curve::P521)),
    curve(921, "brainpoolP160r1", Group::BrainpoolP160r1, None),
    curve(923, "brainpoolP192r1", Group::BrainpoolP192r1, None),
    curve(925, "brainpoolP224r1", Group::BrainpoolP224r1, None),
    curve(927, "brainpoolP256r1", Group::BrainpoolP256r1, None),
    curve(929, "brainpoolP320r1", Group::BrainpoolP320r1, None),
    curve(931, "brainpoolP384r1", Group::BrainpoolP384r1, None),
    curve(933, "brainpoolP512r1", Group::BrainpoolP512r1, None),
];

const fn curve(nid: c_uint, name: &'static str, group: Group, lanes: Option<ec::Curve>) -> Curve {
    Curve { nid, name, group, lanes }
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

    /// Where `function` counts on this curve, and what serves it: a Brainpool curve has no lanes though one of its size has.
    pub fn tally(&self, function: Function) -> Tally {
        let bits = self.group.bits();
        if self.lanes.is_some() { Tally::new(function, bits) } else { Tally::without_lanes(function, bits) }
    }

    fn operation(&self, function: Function) -> Result<Operation, Errno> {
        Operation::of(self.tally(function))
    }
}

/// `ICA_EC_KEY`: a curve, and the public key, the private key or both, once there are any.
#[derive(Debug)]
pub struct Key {
    curve: &'static Curve,
    halves: Option<Halves>,
}

#[derive(Debug)]
enum Halves {
    Lanes(ec::Key),
    Alone(group::Key),
}

impl Halves {
    fn new(curve: &Curve, public: Option<&[u8]>, private: Option<&[u8]>) -> Result<Halves, Errno> {
        Ok(match curve.lanes {
            Some(lanes) => Halves::Lanes(ec::Key::new(lanes, public, private)?),
            None => Halves::Alone(group::Key::new(curve.group, public, private)?),
        })
    }

    fn alone(&self) -> &group::Key {
        match self {
            Halves::Lanes(key) => key.alone(),
            Halves::Alone(key) => key,
        }
    }
}

impl Key {
    /// A key without either half.
    pub fn new(curve: &'static Curve) -> Key {
        Key { curve, halves: None }
    }

    /// The length of a coordinate, a private key and half a signature, in bytes.
    pub const fn length(&self) -> usize {
        self.curve.length()
    }

    /// Sets the public key's x and y, the private key, or both, each of [`Key::length`] bytes, big-endian; a half that is not
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
            self.halves = Some(Halves::new(self.curve, public, private)?);
        }
        Ok(())
    }

    /// Makes both halves anew.
    ///
    /// # Errors
    /// [`Errno::NO_DEVICE`] where fallbacks are off and only software has it; [`Errno::IO`] where it fails.
    pub fn generate(&mut self) -> Result<(), Errno> {
        let operation = self.curve.operation(Function::EcKeygen)?;
        let (halves, outcome) = match self.curve.lanes {
            Some(lanes) => {
                let (key, outcome) = ec::Key::generate(lanes)?;
                (Halves::Lanes(key), outcome)
            }
            None => {
                let (key, outcome) = group::Key::generate(self.curve.group)?;
                (Halves::Alone(key), outcome)
            }
        };
        self.halves = Some(halves);
        operation.ran(outcome);
        Ok(())
    }

    /// x and y, one after the other, of [`Key::length`] bytes each, in `out`; `None` without a public key.
    pub fn public<'a>(&self, out: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        self.halves.as_ref()?.alone().coordinates(out)
    }

    /// The private key, of [`Key::length`] bytes; `None` without one.
    pub fn private(&self) -> Option<&[u8]> {
        self.halves.as_ref()?.alone().scalar()
    }

    /// The shared secret of this private key and `peer`'s public key (SP 800-56A, 5.7.1.2), of [`Key::length`] bytes: the part
    /// of `out` that is the result.
    ///
    /// # Errors
    /// [`Errno::INVALID`] for keys of different curves or without the half needed; [`Errno::NO_DEVICE`].
    pub fn shared_secret<'a>(&self, peer: &Key, out: &'a mut [u8; MAX_FIELD]) -> Result<&'a [u8], Errno> {
        let (Some(own), Some(theirs)) = (&self.halves, &peer.halves) else { return Err(Errno::INVALID) };
        if self.curve.nid != peer.curve.nid || own.alone().scalar().is_none() {
            return Err(Errno::INVALID);
        }
        let operation = self.curve.operation(Function::Ecdh)?;
        let (secret, outcome) = match (own, theirs) {
            (Halves::Lanes(own), Halves::Lanes(theirs)) => own.shared_secret(theirs, out)?,
            _ => own.alone().shared_secret(theirs.alone(), out)?,
        };
        operation.ran(outcome);
        Ok(secret)
    }

    /// Signs a hash: r and s, of [`Key::length`] bytes each, become the whole of `out`.
    ///
    /// # Errors
    /// [`Errno::INVALID`] without a private key; [`Errno::NO_DEVICE`].
    pub fn sign(&self, hash: &[u8], out: &mut [u8]) -> Result<(), Errno> {
        let key = self.signing()?;
        let operation = self.curve.operation(Function::EcdsaSign)?;
        let outcome = match key {
            Halves::Lanes(key) => {
                let mut der = [0; MAX_SIGNATURE];
                let (der, outcome) = key.sign(hash, &mut der)?;
                raw(der, out);
                outcome
            }
            Halves::Alone(key) => key.sign(hash, out)?,
        };
        operation.ran(outcome);
        Ok(())
    }

    /// The same with a given nonce of [`Key::length`] bytes.
    ///
    /// # Errors
    /// As for [`Key::sign`]; and [`Errno::INVALID`] for a nonce that is 0 or not below the order.
    pub fn sign_with_nonce(&self, hash: &[u8], nonce: &[u8], out: &mut [u8]) -> Result<(), Errno> {
        let key = self.signing()?;
        // Lanes draw their nonces themselves.
        let operation = Operation::of(self.curve.tally(Function::EcdsaSign).out_of_batches())?;
        operation.ran(key.alone().sign_with_nonce(hash, nonce, out)?);
        Ok(())
    }

    fn signing(&self) -> Result<&Halves, Errno> {
        self.halves.as_ref().filter(|halves| halves.alone().scalar().is_some()).ok_or(Errno::INVALID)
    }

    /// Checks a signature of a hash: r and s, of [`Key::length`] bytes each.
    ///
    /// # Errors
    /// [`Errno::FAULT`] where it does not fit; [`Errno::INVALID`] without a public key; [`Errno::NO_DEVICE`].
    pub fn verify(&self, hash: &[u8], signature: &[u8]) -> Result<(), Errno> {
        let key = self.halves.as_ref().ok_or(Errno::INVALID)?;
        let operation = self.curve.operation(Function::EcdsaVerify)?;
        let (right, outcome) = key.alone().verify(hash, signature)?;
        operation.ran(outcome);
        if right { Ok(()) } else { Err(Errno::FAULT) }
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

/// r and s of a signature that the core has just encoded (RFC 3279, 2.2.3), each filling half of `out`.
fn raw(der: &[u8], out: &mut [u8]) {
    // The first length takes a byte more from 128 on.
    let mut rest = &der[if der[1] < 0x80 { 2 } else { 3 }..];
    let length = out.len() / 2;
    out.fill(0);
    for half in out.chunks_exact_mut(length) {
        let (number, after) = rest[2..].split_at(usize::from(rest[1]));
        // A number whose first bit is set has a zero before it.
        let number = &number[number.len().saturating_sub(length)..];
        half[length - number.len()..].copy_from_slice(number);
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_of_every_length_are_taken_apart() {
        let mut out = [9; 8];
        raw(&[0x30, 0x06, 0x02, 0x01, 0x7F, 0x02, 0x01, 0x01], &mut out);
        assert_eq!(out, [0, 0, 0, 0x7F, 0, 0, 0, 1]);
        raw(&[0x30, 0x0C, 0x02, 0x05, 0, 0x80, 1, 2, 3, 0x02, 0x03, 0, 0xFF, 0xFE], &mut out);
        assert_eq!(out, [0x80, 1, 2, 3, 0, 0, 0xFF, 0xFE]);
        let long = [&[0x30, 0x81, 0x88, 0x02, 0x42, 1][..], &[5; 65], &[0x02, 0x42, 1], &[6; 65]].concat();
        let mut out = [0; 132];
        raw(&long, &mut out);
        assert_eq!((out[0], out[1], out[66], out[131]), (1, 5, 1, 6));
    }

    #[test]
    fn a_half_that_is_not_given_stays_and_so_do_both_on_an_error() {
        for curve in &CURVES {
            let mut whole = Key::new(curve);
            whole.generate().unwrap();
            let mut room = [0; MAX_POINT];
            let public = whole.public(&mut room).unwrap();
            let (x, y) = public.split_at(curve.length());
            let mut other = Key::new(curve);
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
    fn brainpool_curves_have_no_lanes() {
        let tally = |nid| Curve::from_nid(nid).unwrap().tally(Function::EcdsaSign);
        assert_eq!(tally(927).path(), adjunct::catalogue::Path::Software(adjunct::catalogue::Reason::Parameter));
        assert_eq!(tally(927).row(), tally(415).row());
        assert!(Curve::from_nid(416).is_none());
    }
}
