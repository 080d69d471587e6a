//! Keys of ML-DSA and ML-KEM: parameter sets, and what their attributes hold (PKCS #11 3.2, 6.67 and 6.68).

use super::attributes::Attributes;
use crate::rv::{Result, Rv, ensure, not_a_key};
use adjunct::ops::{mldsa, mlkem};
use cryptoki_sys::*;
use spki::ObjectIdentifier;

/// NIST's object identifiers of algorithms (RFC 9881, 2; RFC 9935, 3).
const MLDSA: [(mldsa::Set, CK_ULONG, ObjectIdentifier); 3] = [
    (mldsa::Set::MlDsa44, CKP_ML_DSA_44, ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.17")),
    (mldsa::Set::MlDsa65, CKP_ML_DSA_65, ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.18")),
    (mldsa::Set::MlDsa87, CKP_ML_DSA_87, ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.3.19")),
];
const MLKEM: [(mlkem::Set, CK_ULONG, ObjectIdentifier); 3] = [
    (mlkem::Set::MlKem512, CKP_ML_KEM_512, ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.1")),
    (mlkem::Set::MlKem768, CKP_ML_KEM_768, ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.2")),
    (mlkem::Set::MlKem1024, CKP_ML_KEM_1024, ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.4.3")),
];

/// The parameter set that `CKA_PARAMETER_SET` names, in a list of them.
fn named<S: Copy>(attributes: &Attributes, sets: &[(S, CK_ULONG, ObjectIdentifier)]) -> Result<S> {
    let number = attributes.number(CKA_PARAMETER_SET).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    let set = sets.iter().find(|(_, other, _)| *other == number);
    set.map(|(set, ..)| *set).ok_or(Rv(CKR_PARAMETER_SET_NOT_SUPPORTED))
}

/// ML-DSA's parameter set.
///
/// # Errors
/// `CKR_TEMPLATE_INCOMPLETE`, `CKR_PARAMETER_SET_NOT_SUPPORTED`.
pub fn mldsa_set(attributes: &Attributes) -> Result<mldsa::Set> {
    named(attributes, &MLDSA)
}

/// ML-KEM's parameter set.
///
/// # Errors
/// As [`mldsa_set`].
pub fn mlkem_set(attributes: &Attributes) -> Result<mlkem::Set> {
    named(attributes, &MLKEM)
}

/// The type and the parameter set of keys of an algorithm.
pub fn of_oid(oid: ObjectIdentifier) -> Option<(CK_KEY_TYPE, CK_ULONG)> {
    let dsa = MLDSA.iter().find(|(.., other)| *other == oid).map(|(_, number, _)| (CKK_ML_DSA, *number));
    dsa.or_else(|| MLKEM.iter().find(|(.., other)| *other == oid).map(|(_, number, _)| (CKK_ML_KEM, *number)))
}

/// The algorithm of keys of a parameter set.
pub fn mldsa_oid(set: mldsa::Set) -> Option<ObjectIdentifier> {
    MLDSA.iter().find(|(other, ..)| *other == set).map(|(.., oid)| *oid)
}

/// The algorithm of keys of a parameter set.
pub fn mlkem_oid(set: mlkem::Set) -> Option<ObjectIdentifier> {
    MLKEM.iter().find(|(other, ..)| *other == set).map(|(.., oid)| *oid)
}

/// A seed of N bytes, if there is one.
fn seed<const N: usize>(attributes: &Attributes) -> Result<Option<&[u8; N]>> {
    let seed = attributes.bytes(CKA_SEED).filter(|seed| !seed.is_empty());
    seed.map(|seed| seed.try_into().map_err(|_| Rv(CKR_ATTRIBUTE_VALUE_INVALID))).transpose()
}

/// The value of a private key, which may be left out if the seed is there.
fn value(attributes: &Attributes) -> Option<&[u8]> {
    attributes.bytes(CKA_VALUE).filter(|value| !value.is_empty())
}

/// An ML-DSA key: of its value, of its seed, or of both, which must belong together.
///
/// # Errors
/// `CKR_TEMPLATE_INCOMPLETE`, `CKR_PARAMETER_SET_NOT_SUPPORTED`, `CKR_ATTRIBUTE_VALUE_INVALID`, `CKR_HOST_MEMORY`.
pub fn mldsa(attributes: &Attributes, private: bool) -> Result<mldsa::MlDsaKey> {
    let set = mldsa_set(attributes)?;
    if !private {
        return mldsa::MlDsaKey::public_only(set, attributes.need(CKA_VALUE)?).map_err(not_a_key);
    }
    match (seed(attributes)?, value(attributes)) {
        (None, None) => Err(Rv(CKR_TEMPLATE_INCOMPLETE)),
        (None, Some(value)) => mldsa::MlDsaKey::private(set, value).map_err(not_a_key),
        (Some(seed), value) => {
            let key = mldsa::MlDsaKey::of_seed(set, seed).map_err(not_a_key)?;
            let same = value.is_none_or(|value| key.private_bytes() == Some(value));
            ensure(same, CKR_ATTRIBUTE_VALUE_INVALID)?;
            Ok(key)
        }
    }
}

/// An ML-KEM key, as [`mldsa`].
///
/// # Errors
/// As [`mldsa`].
pub fn mlkem(attributes: &Attributes, private: bool) -> Result<mlkem::MlKemKey> {
    let set = mlkem_set(attributes)?;
    if !private {
        return mlkem::MlKemKey::public_only(set, attributes.need(CKA_VALUE)?).map_err(not_a_key);
    }
    match (seed(attributes)?, value(attributes)) {
        (None, None) => Err(Rv(CKR_TEMPLATE_INCOMPLETE)),
        (None, Some(value)) => mlkem::MlKemKey::private(set, value).map_err(not_a_key),
        (Some(seed), value) => {
            let key = mlkem::MlKemKey::of_seed(set, seed).map_err(not_a_key)?;
            let same = value.is_none_or(|value| key.private_bytes() == Some(value));
            ensure(same, CKR_ATTRIBUTE_VALUE_INVALID)?;
            Ok(key)
        }
    }
}

/// Sets the value of a private key that came as a seed.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn private_value(attributes: &mut Attributes, private: Option<&[u8]>) -> Result {
    match private {
        Some(bytes) if value(attributes).is_none() => attributes.set(CKA_VALUE, bytes),
        _ => Ok(()),
    }
}
