//! Keys on secp256k1 (SEC 2, 2.4.1), by the crate k256: ECDSA (FIPS 186-5), Schnorr's signatures, ECDH (SP 800-56A, 5.7.1.2).

use super::schnorr::{self, Curve256, FIELD, random_number};
use super::{Curve, Own, Scheme, Secret, Shared};
use crate::der::{self, Pkcs8, Spki};
use crate::error::{Result, Rv, fail};
use adjunct::ops::random::random;
use adjunct_ep11_wire::codes::{control as c, key as k, rv};
use adjunct_mechanisms::object::attributes::Attributes;
use ecdsa::hazmat::{sign_prehashed_rfc6979, verify_prehashed};
use k256::ecdsa::Signature;
use k256::elliptic_curve::sec1::ToSec1Point;
use k256::sha2::Sha256;
use k256::{AffinePoint, NonZeroScalar, ProjectivePoint, Scalar, Secp256k1};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Bytes of an uncompressed point.
const POINT: usize = 1 + 2 * FIELD;

/// A key.
pub(super) struct Key {
    private: Option<Zeroizing<NonZeroScalar>>,
    public: AffinePoint,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("secp256k1")
    }
}

impl Key {
    fn of_scalar(scalar: Scalar) -> Option<Shared> {
        let scalar = NonZeroScalar::new(scalar).into_option()?;
        let public = ProjectivePoint::mul_by_generator(&scalar).to_affine();
        Some(Arc::new(Key { private: Some(Zeroizing::new(scalar)), public }))
    }

    pub(super) fn generate() -> Result<Shared> {
        Key::of_scalar(random_number::<Secp256k1>()).ok_or(Rv(rv::FUNCTION_FAILED))
    }

    /// The key of a number without or with leading zeros.
    pub(super) fn private(value: &[u8]) -> Option<Shared> {
        let zeros = value.iter().take_while(|byte| **byte == 0).count();
        let value = &value[zeros..];
        let first = FIELD.checked_sub(value.len())?;
        let mut padded = Zeroizing::new([0; FIELD]);
        padded[first..].copy_from_slice(value);
        Key::of_scalar(Secp256k1::number(&padded[..])?)
    }

    pub(super) fn public(point: &[u8]) -> Option<Shared> {
        Some(Arc::new(Key { private: None, public: Secp256k1::point(point)? }))
    }

    fn point(&self) -> [u8; POINT] {
        let point = self.public.to_sec1_point(false);
        point.as_bytes().try_into().unwrap_or([0; POINT])
    }
}

/// A digest as a number: its first 32 bytes, or all of one that is shorter.
fn number(digest: &[u8]) -> [u8; FIELD] {
    let digest = &digest[..digest.len().min(FIELD)];
    let mut number = [0; FIELD];
    number[FIELD - digest.len()..].copy_from_slice(digest);
    number
}

impl Own for Key {
    fn kind(&self) -> u32 {
        k::EC
    }

    fn bits(&self) -> u32 {
        256
    }

    fn strength(&self) -> u32 {
        128
    }

    fn points(&self) -> &'static [u8] {
        &[c::EC, c::SECG, c::NFIPS2009]
    }

    fn describe(&self, attributes: &mut Attributes) -> Result {
        super::describe(Curve::Secp256k1, &self.point(), attributes)
    }

    fn pkcs8(&self) -> Option<Secret> {
        let bytes = Zeroizing::new(Secp256k1::bytes(self.private.as_deref()?));
        Some(Pkcs8::put_ec(Curve::Secp256k1.oid(), &bytes[..], &self.point()))
    }

    fn spki(&self) -> Vec<u8> {
        Spki::put(der::oid::EC, &Curve::Secp256k1.params(), &self.point())
    }

    fn signature(&self, scheme: Scheme) -> Option<usize> {
        matches!(scheme, Scheme::Ecdsa(_) | Scheme::Ecsdsa | Scheme::EcsdsaMulti).then_some(schnorr::SIGNATURE)
    }

    fn sign(&self, scheme: Scheme, data: &[u8]) -> Result<Vec<u8>> {
        let private = self.private.as_deref().ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?;
        match scheme {
            Scheme::Ecdsa(_) => {
                // RFC 6979 with random bytes besides (3.6): neither a bad generator nor a fault gives the nonce away.
                let mut besides = [0; FIELD];
                random(&mut besides);
                let (signature, _) = sign_prehashed_rfc6979::<Secp256k1, Sha256>(private, &number(data), &besides);
                Ok(signature.to_bytes().to_vec())
            }
            Scheme::Ecsdsa => schnorr::sign::<Secp256k1>(private, &self.public, false, data),
            Scheme::EcsdsaMulti => schnorr::sign::<Secp256k1>(private, &self.public, true, data),
            _ => fail(rv::KEY_TYPE_INCONSISTENT),
        }
    }

    fn verify(&self, scheme: Scheme, data: &[u8], signature: &[u8]) -> bool {
        match scheme {
            Scheme::Ecdsa(_) => {
                let Ok(signature) = Signature::from_slice(signature) else { return false };
                // The crate takes the lower of two numbers for s; both are right by the standard.
                let point = ProjectivePoint::from(self.public);
                verify_prehashed(&point, &number(data), &signature.normalize_s()).is_ok()
            }
            Scheme::Ecsdsa => schnorr::verify::<Secp256k1>(&self.public, false, data, signature),
            Scheme::EcsdsaMulti => schnorr::verify::<Secp256k1>(&self.public, true, data, signature),
            _ => false,
        }
    }

    fn tested(&self) -> Option<Scheme> {
        Some(Scheme::Ecdsa(None))
    }

    fn agree(&self, peer: &[u8]) -> Result<Secret> {
        let private = self.private.as_deref().ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?;
        let inner = match peer {
            [4, length, inner @ ..] if usize::from(*length) == inner.len() && matches!(inner.len(), 33 | POINT) => {
                inner
            }
            peer => peer,
        };
        let peer = Secp256k1::point(inner).ok_or(Rv(rv::MECHANISM_PARAM_INVALID))?;
        let shared = Zeroizing::new((ProjectivePoint::from(peer) * **private).to_affine());
        let point = Zeroizing::new(shared.to_sec1_point(true).as_bytes().to_vec());
        // The order is prime: no product of a point and a number below it is infinite.
        Ok(Zeroizing::new(point[1..].to_vec()))
    }
}
