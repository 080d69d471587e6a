//! Keys that the core does not have: what each is and does stands behind one trait ([`Own`]), a file a family. A key of the core is
//! [`adjunct_mechanisms::object::Object`]'s; [`crate::key::Material`] has either.

mod beside;
mod bls;
pub(crate) mod dilithium;
mod finite;
mod modular;
mod running;
mod schnorr;
mod secp256k1;

pub(crate) use beside::of as beside;
pub(crate) use bls::{aggregate_keys, aggregate_signatures, child, master};
pub(crate) use finite::{Domain, PRIMES, Use};
pub(crate) use running::{signer, verifier};

use crate::der::{Pkcs8, Reader, Spki};
use crate::error::{Result, Rv, ensure, fail};
use crate::mechanisms::Wanted;
use adjunct_ep11_wire::codes::{mechanism as m, rv};
use adjunct_ep11_wire::mechanism::Parameter;
use adjunct_mechanisms::mechanism::hash::Hash;
use adjunct_mechanisms::object::attributes::Attributes;
use cryptoki_sys::*;
use std::fmt::Debug;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Bytes that are wiped.
pub(crate) type Secret = Zeroizing<Vec<u8>>;

/// How data are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheme {
    /// ECDSA of a digest, or of data that are hashed here.
    Ecdsa(Option<Hash>),
    /// ECSDSA by SHA-256 (ISO/IEC 14888-3, BSI TR-03111).
    Ecsdsa,
    /// That with the compressed point and the signer's public key hashed too.
    EcsdsaMulti,
    /// BLS (draft-irtf-cfrg-bls-signature-05).
    Bls,
    /// DSA of a digest, or of data that are hashed here.
    Dsa(Option<Hash>),
    /// Dilithium of the second or third round.
    Dilithium,
}

impl Scheme {
    /// The scheme of a mechanism that signs; `None` where the core alone has it.
    pub(crate) fn of(mechanism: &Wanted<'_>) -> Result<Option<Scheme>> {
        if mechanism.entry.kind == m::IBM_ECDSA_OTHER {
            return Ok(Some(match mechanism.parameter {
                Parameter::Number(3) => Scheme::Ecsdsa,
                Parameter::Number(5) => Scheme::EcsdsaMulti,
                Parameter::Number(6) => Scheme::Bls,
                _ => return fail(rv::MECHANISM_PARAM_INVALID),
            }));
        }
        let scheme = match mechanism.entry.core {
            kind if kind == CK_MECHANISM_TYPE::from(m::IBM_DILITHIUM) => Scheme::Dilithium,
            CKM_DSA => Scheme::Dsa(None),
            CKM_DSA_SHA1 => Scheme::Dsa(Some(Hash::Sha1)),
            CKM_ECDSA => Scheme::Ecdsa(None),
            CKM_ECDSA_SHA1 => Scheme::Ecdsa(Some(Hash::Sha1)),
            CKM_ECDSA_SHA224 => Scheme::Ecdsa(Some(Hash::Sha224)),
            CKM_ECDSA_SHA256 => Scheme::Ecdsa(Some(Hash::Sha256)),
            CKM_ECDSA_SHA384 => Scheme::Ecdsa(Some(Hash::Sha384)),
            CKM_ECDSA_SHA512 => Scheme::Ecdsa(Some(Hash::Sha512)),
            _ => return Ok(None),
        };
        mechanism.has_no_parameter()?;
        Ok(Some(scheme))
    }

    /// The hash that data go through as they come.
    pub(crate) fn hash(self) -> Option<Hash> {
        match self {
            Scheme::Ecdsa(hash) | Scheme::Dsa(hash) => hash,
            _ => None,
        }
    }
}

/// A key: its public half, or both.
pub(crate) trait Own: Debug + Send + Sync {
    /// The type.
    fn kind(&self) -> u32;

    /// Its length in bits.
    fn bits(&self) -> u32;

    /// Its strength in bits, by SP 800-57.
    fn strength(&self) -> u32;

    /// The control points of such keys, beside those of strengths.
    fn points(&self) -> &'static [u8];

    /// Sets the attributes that are public.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    fn describe(&self, attributes: &mut Attributes) -> Result;

    /// Whether the private half is there.
    fn is_private(&self) -> bool {
        self.pkcs8().is_some()
    }

    /// The PKCS #8 of a private key.
    fn pkcs8(&self) -> Option<Secret>;

    /// The SubjectPublicKeyInfo.
    fn spki(&self) -> Vec<u8>;

    /// Bytes of a signature by a scheme; `None` where the key does not sign so.
    fn signature(&self, scheme: Scheme) -> Option<usize>;

    /// Signs data, or the digest where the scheme hashes.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT` of a public key.
    fn sign(&self, scheme: Scheme, data: &[u8]) -> Result<Vec<u8>>;

    /// Whether a signature is one of data, or of the digest where the scheme hashes.
    fn verify(&self, scheme: Scheme, data: &[u8], signature: &[u8]) -> bool;

    /// The scheme by which a new pair is tested.
    fn tested(&self) -> Option<Scheme>;

    /// The secret that a private key shares with a peer's public value.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT`, `CKR_MECHANISM_PARAM_INVALID`.
    fn agree(&self, _peer: &[u8]) -> Result<Secret> {
        fail(rv::KEY_TYPE_INCONSISTENT)
    }
}

/// A key that all who have it share.
pub(crate) type Shared = Arc<dyn Own>;

/// A curve that the core does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    /// SEC 2, 2.4.1.
    Secp256k1,
    /// With public keys in the smaller group.
    Bls12381,
}

impl Curve {
    const ALL: [Curve; 2] = [Curve::Secp256k1, Curve::Bls12381];

    /// The contents of the object identifier: of SEC's, or of IBM's.
    pub(crate) const fn oid(self) -> &'static [u8] {
        match self {
            Curve::Secp256k1 => &[0x2b, 0x81, 4, 0, 10],
            Curve::Bls12381 => &[0x2b, 6, 1, 4, 1, 2, 0x82, 0x0b, 0x87, 0x67, 3, 2],
        }
    }

    const fn name(self) -> &'static [u8] {
        match self {
            Curve::Secp256k1 => b"secp256k1",
            Curve::Bls12381 => b"bls12_381_et",
        }
    }

    /// `CKA_EC_PARAMS`.
    pub(crate) fn params(self) -> Vec<u8> {
        [&[6, self.oid().len() as u8], self.oid()].concat()
    }

    /// The curve of `CKA_EC_PARAMS`: the DER of an object identifier or of a printable string.
    pub(crate) fn of(params: &[u8]) -> Option<Curve> {
        let named = |curve: &Curve| match params {
            [6, length, oid @ ..] => usize::from(*length) == oid.len() && oid == curve.oid(),
            [0x13, length, name @ ..] => usize::from(*length) == name.len() && name == curve.name(),
            _ => false,
        };
        Curve::ALL.into_iter().find(named)
    }

    fn of_oid(oid: &[u8]) -> Option<Curve> {
        Curve::ALL.into_iter().find(|curve| curve.oid() == oid)
    }

    /// A new private key.
    ///
    /// # Errors
    /// `CKR_FUNCTION_FAILED`.
    pub(crate) fn generate(self) -> Result<Shared> {
        match self {
            Curve::Secp256k1 => secp256k1::Key::generate(),
            Curve::Bls12381 => bls::Key::generate(),
        }
    }

    /// The private key of a number.
    pub(crate) fn private(self, value: &[u8]) -> Option<Shared> {
        match self {
            Curve::Secp256k1 => secp256k1::Key::private(value),
            Curve::Bls12381 => bls::Key::private(value),
        }
    }

    /// The public key of a point, as [`Own::spki`] has it.
    pub(crate) fn public(self, point: &[u8]) -> Option<Shared> {
        match self {
            Curve::Secp256k1 => secp256k1::Key::public(point),
            Curve::Bls12381 => bls::Key::public(point),
        }
    }
}

/// The curve that the parameters of id-ecPublicKey name.
fn curve_of(oid: &[u8], mut parameters: Reader<'_>) -> Option<Curve> {
    let curve = (oid == crate::der::oid::EC).then(|| parameters.take(crate::der::OID))??;
    parameters.ends()?;
    Curve::of_oid(curve)
}

/// The private key of PKCS #8; `None` where it is not of a kind that is here. What comes from elsewhere (`foreign`) is checked more.
pub(crate) fn of_pkcs8(der: &[u8], foreign: bool) -> Option<Result<Shared>> {
    if let Some(key) = finite::of_pkcs8(der, foreign).or_else(|| dilithium::of_pkcs8(der)) {
        return Some(key);
    }
    let info = Pkcs8::of(der)?;
    let curve = curve_of(info.oid, info.parameters)?;
    let invalid = Rv(rv::WRAPPED_KEY_INVALID);
    let read = || {
        let read = crate::der::EcPrivate::of(info.key, curve.oid()).ok_or(invalid)?;
        let key = curve.private(read.value).ok_or(invalid)?;
        if let Some(point) = read.point {
            let other = curve.public(point).ok_or(invalid)?;
            ensure(other.spki() == key.spki(), rv::WRAPPED_KEY_INVALID)?;
        }
        Ok(key)
    };
    Some(read())
}

/// The public key of a SubjectPublicKeyInfo that is all of `der`; `None` where it is not of a kind that is here.
pub(crate) fn of_spki(der: &[u8]) -> Option<Result<Shared>> {
    if let Some(key) = finite::of_spki(der).or_else(|| dilithium::of_spki(der)) {
        return Some(key);
    }
    let info = Spki::of(der)?;
    let curve = curve_of(info.oid, info.parameters)?;
    Some(curve.public(info.key).ok_or(Rv(rv::IBM_BLOB_ERROR)))
}

/// The attributes of a key on a curve.
fn describe(curve: Curve, point: &[u8], attributes: &mut Attributes) -> Result {
    attributes.set(CKA_EC_PARAMS, &curve.params())?;
    Ok(attributes.set(CKA_EC_POINT, &adjunct_mechanisms::object::key::octet_string(point))?)
}
