//! Public keys as X.509 writes them (RFC 5280, 4.1.2.7; RFC 5480; RFC 8410): `CKA_PUBLIC_KEY_INFO`.

use super::key::{Curve, ObjectKey};
use crate::rv::{Result, Rv};
use adjunct::ops::ec::MAX_POINT;
use adjunct::ops::rsa::Part;
use cryptoki_sys::CKR_FUNCTION_FAILED;
use pkcs1::der::asn1::{AnyRef, BitStringRef, UintRef};
use pkcs1::der::{Encode, Error};
use pkcs1::{ALGORITHM_OID, RsaPublicKey};
use spki::{AlgorithmIdentifierRef, ObjectIdentifier, SubjectPublicKeyInfoRef};

/// RFC 5480, 2.1.1.
pub const EC_PUBLIC_KEY: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");

fn failed(_: Error) -> Rv {
    Rv(CKR_FUNCTION_FAILED)
}

/// The DER of a key's public half; `None` of a key that has none, or where it is not known.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn of(key: &ObjectKey, curve: Option<Curve>) -> Result<Option<Vec<u8>>> {
    let mut room = [0; MAX_POINT];
    let point = curve.and_then(|curve| Some((curve, key.point(&mut room)?)));
    of_point(key, point)
}

/// The DER of a key's public half, with the point of a key on a curve given: to work it out takes long. `None` of a key that has no public
/// half, or where it is not known.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn of_point(key: &ObjectKey, point: Option<(Curve, &[u8])>) -> Result<Option<Vec<u8>>> {
    if let ObjectKey::Rsa(key) = key {
        let (Some(n), Some(e)) = (key.number(Part::N)?, key.number(Part::E)?) else { return Ok(None) };
        let numbers = RsaPublicKey {
            modulus: UintRef::new(&n).map_err(failed)?,
            public_exponent: UintRef::new(&e).map_err(failed)?,
        };
        let bits = numbers.to_der().map_err(failed)?;
        return encode(ALGORITHM_OID, Some(AnyRef::NULL), &bits).map(Some);
    }
    if let Some((oid, bits)) = key.lattice_public() {
        return encode(oid, None, bits).map(Some);
    }
    let Some((curve, point)) = point else { return Ok(None) };
    match curve {
        Curve::Group(_) => {
            let named = curve.oid();
            encode(EC_PUBLIC_KEY, Some(AnyRef::from(&named)), point).map(Some)
        }
        _ => encode(curve.oid(), None, point).map(Some),
    }
}

fn encode(oid: ObjectIdentifier, parameters: Option<AnyRef<'_>>, bits: &[u8]) -> Result<Vec<u8>> {
    let info = SubjectPublicKeyInfoRef {
        algorithm: AlgorithmIdentifierRef { oid, parameters },
        subject_public_key: BitStringRef::from_bytes(bits).map_err(failed)?,
    };
    info.to_der().map_err(failed)
}
