//! Keys and key pairs that are made here.

use super::Mechanism;
use super::derive::tls;
use super::params::Params;
use crate::object::attributes::Attributes;
use crate::object::key::{Curve, Key, has_curve448};
use crate::object::lattice;
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::cipher::des;
use adjunct::ops::ec;
use adjunct::ops::ecx::{ed448, ed25519, x448, x25519};
use adjunct::ops::random::random;
use adjunct::ops::rsa::{self, Part};
use adjunct::ops::{kdf, mldsa, mlkem};
use adjunct_ossl::default_provider::curve448;
use cryptoki_sys::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The longest key of a password, in bytes.
const LONGEST: CK_ULONG = 4096;

/// Whether keys are made by `kind` and it has no parameter. Programs leave there what memory has (openCryptoki's own tests do), and
/// no other token looks at it.
pub fn has_no_parameter(kind: CK_MECHANISM_TYPE) -> bool {
    match kind {
        CKM_AES_KEY_GEN
        | CKM_AES_XTS_KEY_GEN
        | CKM_GENERIC_SECRET_KEY_GEN
        | CKM_HKDF_KEY_GEN
        | CKM_DES2_KEY_GEN
        | CKM_DES3_KEY_GEN
        | CKM_CHACHA20_KEY_GEN
        | CKM_RSA_PKCS_KEY_PAIR_GEN
        | CKM_EC_KEY_PAIR_GEN
        | CKM_EC_EDWARDS_KEY_PAIR_GEN
        | CKM_EC_MONTGOMERY_KEY_PAIR_GEN
        | CKM_ML_DSA_KEY_PAIR_GEN
        | CKM_ML_KEM_KEY_PAIR_GEN => true,
        kind => hmac(kind).is_some(),
    }
}

/// The bytes and the type of a new secret key, by a template.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_TEMPLATE_INCOMPLETE`, `CKR_KEY_SIZE_RANGE`, `CKR_HOST_MEMORY`.
pub fn secret(mechanism: Mechanism<'_>, template: &Attributes) -> Result<(CK_KEY_TYPE, Zeroizing<Vec<u8>>)> {
    let given = template.number(CKA_VALUE_LEN);
    match (mechanism.kind, mechanism.params) {
        (CKM_PKCS5_PBKD2, Params::Pbkdf2 { hash, password, salt, iterations }) => {
            let length = given.or_else(|| own_length(template)).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
            ensure((1..=LONGEST).contains(&length), CKR_KEY_SIZE_RANGE)?;
            let mut value = adjunct::memory::zeros(length as usize)?;
            kdf::pbkdf2(hash.method(), password, salt, iterations, &mut value)?;
            return Ok((CKK_GENERIC_SECRET, value));
        }
        (CKM_TLS_PRE_MASTER_KEY_GEN, Params::Version(version)) => {
            ensure(given.is_none_or(|length| length == tls::SECRET as CK_ULONG), CKR_TEMPLATE_INCONSISTENT)?;
            let mut value = adjunct::memory::zeros(tls::SECRET)?;
            random(&mut value);
            value[..2].copy_from_slice(&version);
            return Ok((CKK_GENERIC_SECRET, value));
        }
        (_, params) => ensure(params == Params::None, CKR_MECHANISM_PARAM_INVALID)?,
    }
    let length = given.ok_or(Rv(CKR_TEMPLATE_INCOMPLETE));
    let (kind, length) = match mechanism.kind {
        CKM_AES_KEY_GEN => (CKK_AES, length?),
        CKM_AES_XTS_KEY_GEN => (CKK_AES_XTS, length?),
        CKM_GENERIC_SECRET_KEY_GEN => (CKK_GENERIC_SECRET, length?),
        CKM_HKDF_KEY_GEN => (CKK_HKDF, length?),
        CKM_DES2_KEY_GEN => (CKK_DES2, given.unwrap_or(16)),
        CKM_DES3_KEY_GEN => (CKK_DES3, given.unwrap_or(24)),
        CKM_CHACHA20_KEY_GEN => (CKK_CHACHA20, given.unwrap_or(32)),
        // Of an HMAC as long as its result, where the template does not say.
        kind => {
            let (kind, size) = hmac(kind).ok_or(Rv(CKR_MECHANISM_INVALID))?;
            (kind, given.unwrap_or(size))
        }
    };
    let sizes = super::table::find(mechanism.kind).ok_or(Rv(CKR_MECHANISM_INVALID))?;
    ensure((sizes.least..=sizes.most).contains(&length), CKR_KEY_SIZE_RANGE)?;
    ensure(kind != CKK_AES || matches!(length, 16 | 24 | 32), CKR_KEY_SIZE_RANGE)?;
    ensure(kind != CKK_AES_XTS || matches!(length, 32 | 64), CKR_KEY_SIZE_RANGE)?;
    let mut value = adjunct::memory::zeros(length as usize)?;
    match kind {
        CKK_DES2 | CKK_DES3 => des::random_key(&mut value),
        _ => random(&mut value),
    }
    Ok((kind, value))
}

/// The length of keys of a type that has one.
fn own_length(template: &Attributes) -> Option<CK_ULONG> {
    match template.number(CKA_KEY_TYPE)? {
        CKK_DES2 => Some(16),
        CKK_DES3 => Some(24),
        CKK_CHACHA20 => Some(32),
        _ => None,
    }
}

/// The type of keys for one HMAC alone, and the length of its result.
const fn hmac(mechanism: CK_MECHANISM_TYPE) -> Option<(CK_KEY_TYPE, CK_ULONG)> {
    Some(match mechanism {
        CKM_SHA_1_KEY_GEN => (CKK_SHA_1_HMAC, 20),
        CKM_SHA224_KEY_GEN => (CKK_SHA224_HMAC, 28),
        CKM_SHA256_KEY_GEN => (CKK_SHA256_HMAC, 32),
        CKM_SHA384_KEY_GEN => (CKK_SHA384_HMAC, 48),
        CKM_SHA512_KEY_GEN => (CKK_SHA512_HMAC, 64),
        CKM_SHA512_224_KEY_GEN => (CKK_SHA512_224_HMAC, 28),
        CKM_SHA512_256_KEY_GEN => (CKK_SHA512_256_HMAC, 32),
        CKM_SHA3_224_KEY_GEN => (CKK_SHA3_224_HMAC, 28),
        CKM_SHA3_256_KEY_GEN => (CKK_SHA3_256_HMAC, 32),
        CKM_SHA3_384_KEY_GEN => (CKK_SHA3_384_HMAC, 48),
        CKM_SHA3_512_KEY_GEN => (CKK_SHA3_512_HMAC, 64),
        _ => return None,
    })
}

/// A new key pair.
#[derive(Debug)]
pub struct Pair {
    pub kind: CK_KEY_TYPE,
    /// The attributes of the public key besides those of its template.
    pub public: Attributes,
    pub private: Attributes,
    pub key: Arc<Key>,
}

/// Makes a key pair, by the public key's template.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_TEMPLATE_INCOMPLETE`, `CKR_KEY_SIZE_RANGE`, `CKR_ATTRIBUTE_VALUE_INVALID`, `CKR_CURVE_NOT_SUPPORTED`,
/// `CKR_HOST_MEMORY`.
pub fn pair(mechanism: Mechanism<'_>, template: &Attributes) -> Result<Pair> {
    ensure(mechanism.params == Params::None, CKR_MECHANISM_PARAM_INVALID)?;
    match mechanism.kind {
        CKM_RSA_PKCS_KEY_PAIR_GEN => rsa_pair(template),
        CKM_EC_KEY_PAIR_GEN | CKM_EC_EDWARDS_KEY_PAIR_GEN | CKM_EC_MONTGOMERY_KEY_PAIR_GEN => {
            curve_pair(mechanism.kind, template)
        }
        CKM_ML_DSA_KEY_PAIR_GEN => {
            let (key, seed) = mldsa::Key::generate(lattice::mldsa_set(template)?)?;
            let public = key.public_bytes().to_vec();
            lattice_pair(CKK_ML_DSA, template, &public, &seed[..], Key::MlDsa(key))
        }
        CKM_ML_KEM_KEY_PAIR_GEN => {
            let (key, seed) = mlkem::Key::generate(lattice::mlkem_set(template)?)?;
            let public = key.public_bytes().to_vec();
            lattice_pair(CKK_ML_KEM, template, &public, &seed[..], Key::MlKem(key))
        }
        _ => fail(CKR_MECHANISM_INVALID),
    }
}

fn lattice_pair(kind: CK_KEY_TYPE, template: &Attributes, value: &[u8], seed: &[u8], key: Key) -> Result<Pair> {
    let (mut public, mut private) = (Attributes::default(), Attributes::default());
    public.set(CKA_VALUE, value)?;
    private.set(CKA_PARAMETER_SET, template.need(CKA_PARAMETER_SET)?)?;
    private.set(CKA_SEED, seed)?;
    lattice::private_value(&mut private, key.lattice_private())?;
    Ok(Pair { kind, public, private, key: Arc::new(key) })
}

fn rsa_pair(template: &Attributes) -> Result<Pair> {
    let bits = template.number(CKA_MODULUS_BITS).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))? as usize;
    let e = template.bytes(CKA_PUBLIC_EXPONENT).unwrap_or(&[1, 0, 1]);
    ensure((512..=16384).contains(&bits), CKR_KEY_SIZE_RANGE)?;
    let key = rsa::Key::generate_any(bits, e).map_err(|error| match error {
        adjunct::Error::Unsupported(_) => Rv(CKR_ATTRIBUTE_VALUE_INVALID),
        error => error.into(),
    })?;
    let (mut public, mut private) = (Attributes::default(), Attributes::default());
    for (kind, part, secret) in [
        (CKA_MODULUS, Part::N, false),
        (CKA_PUBLIC_EXPONENT, Part::E, false),
        (CKA_PRIVATE_EXPONENT, Part::D, true),
        (CKA_PRIME_1, Part::P, true),
        (CKA_PRIME_2, Part::Q, true),
        (CKA_EXPONENT_1, Part::Dp, true),
        (CKA_EXPONENT_2, Part::Dq, true),
        (CKA_COEFFICIENT, Part::Qinv, true),
    ] {
        let number = key.number(part)?.ok_or(Rv(CKR_FUNCTION_FAILED))?;
        private.set(kind, &number)?;
        if !secret {
            public.set(kind, &number)?;
        }
    }
    Ok(Pair { kind: CKK_RSA, public, private, key: Arc::new(Key::Rsa(key)) })
}

fn curve_pair(mechanism: CK_MECHANISM_TYPE, template: &Attributes) -> Result<Pair> {
    let params = template.need(CKA_EC_PARAMS)?;
    let curve = Curve::of(params)?;
    let fits = match mechanism {
        CKM_EC_EDWARDS_KEY_PAIR_GEN => matches!(curve, Curve::Ed25519 | Curve::Ed448),
        CKM_EC_MONTGOMERY_KEY_PAIR_GEN => matches!(curve, Curve::X25519 | Curve::X448),
        _ => matches!(curve, Curve::Group(_)),
    };
    let fits = fits && (!matches!(curve, Curve::Ed448 | Curve::X448) || has_curve448());
    ensure(fits, CKR_CURVE_NOT_SUPPORTED)?;
    // The point is the key's, and set when the object is made of it.
    ensure(!template.has(CKA_EC_POINT), CKR_TEMPLATE_INCONSISTENT)?;
    let mut private = Attributes::default();
    private.set(CKA_EC_PARAMS, params)?;
    let key = match curve {
        Curve::Group(group) => {
            let key = ec::Key::generate(group)?;
            private.set(CKA_VALUE, key.private().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            Key::Ec(key)
        }
        Curve::Ed25519 => {
            let (secret, public) = ed25519::generate();
            private.set(CKA_VALUE, secret.bytes().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            Key::Ed25519 { private: Some(secret), public }
        }
        Curve::X25519 => {
            let (secret, public) = x25519::generate();
            private.set(CKA_VALUE, secret.bytes().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            Key::X25519 { private: Some(secret), public }
        }
        Curve::Ed448 => {
            let (secret, public) = ed448::generate(curve448::ed448_public).ok_or(Rv(CKR_FUNCTION_FAILED))?;
            private.set(CKA_VALUE, secret.bytes().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            Key::Ed448 { private: Some(secret), public }
        }
        Curve::X448 => {
            let (secret, public) = x448::generate(curve448::x448_public).ok_or(Rv(CKR_FUNCTION_FAILED))?;
            private.set(CKA_VALUE, secret.bytes().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            Key::X448 { private: Some(secret), public }
        }
    };
    Ok(Pair { kind: curve.key_type(), public: Attributes::default(), private, key: Arc::new(key) })
}
