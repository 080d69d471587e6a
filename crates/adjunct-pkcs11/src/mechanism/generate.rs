//! Keys and key pairs that are made here.

use super::Mechanism;
use super::params::Params;
use crate::object::attributes::Attributes;
use crate::object::key::{Curve, Key};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::ec;
use adjunct::ops::ecx::{ed25519, x25519};
use adjunct::ops::random::random;
use adjunct::ops::rsa::{self, Part};
use cryptoki_sys::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The bytes and the type of a new secret key, by a template.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_TEMPLATE_INCOMPLETE`, `CKR_KEY_SIZE_RANGE`, `CKR_HOST_MEMORY`.
pub fn secret(mechanism: Mechanism<'_>, template: &Attributes) -> Result<(CK_KEY_TYPE, Zeroizing<Vec<u8>>)> {
    ensure(mechanism.params == Params::None, CKR_MECHANISM_PARAM_INVALID)?;
    let length = template.number(CKA_VALUE_LEN);
    let (kind, length) = match mechanism.kind {
        CKM_AES_KEY_GEN => (CKK_AES, length.ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?),
        CKM_GENERIC_SECRET_KEY_GEN => (CKK_GENERIC_SECRET, length.ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?),
        _ => return fail(CKR_MECHANISM_INVALID),
    };
    let sizes = super::table::find(mechanism.kind).ok_or(Rv(CKR_MECHANISM_INVALID))?;
    ensure((sizes.least..=sizes.most).contains(&length), CKR_KEY_SIZE_RANGE)?;
    ensure(kind != CKK_AES || matches!(length, 16 | 24 | 32), CKR_KEY_SIZE_RANGE)?;
    let mut value = adjunct::memory::zeros(length as usize)?;
    random(&mut value);
    Ok((kind, value))
}

/// A new key pair.
#[derive(Debug)]
pub struct Pair {
    pub kind: CK_KEY_TYPE,
    /// What the halves have besides their templates.
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
        _ => fail(CKR_MECHANISM_INVALID),
    }
}

fn rsa_pair(template: &Attributes) -> Result<Pair> {
    let bits = template.number(CKA_MODULUS_BITS).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))? as usize;
    let e = template.bytes(CKA_PUBLIC_EXPONENT).unwrap_or(&[1, 0, 1]);
    ensure((512..=16384).contains(&bits), CKR_KEY_SIZE_RANGE)?;
    ensure(rsa::Key::generates(bits, e), CKR_ATTRIBUTE_VALUE_INVALID)?;
    let key = rsa::Key::generate(bits, e, None)?;
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
        CKM_EC_EDWARDS_KEY_PAIR_GEN => curve == Curve::Ed25519,
        CKM_EC_MONTGOMERY_KEY_PAIR_GEN => curve == Curve::X25519,
        _ => matches!(curve, Curve::Group(_)),
    };
    ensure(fits, CKR_CURVE_NOT_SUPPORTED)?;
    let (mut public, mut private) = (Attributes::default(), Attributes::default());
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
    };
    let mut room = [0; ec::MAX_POINT];
    public.set(CKA_EC_POINT, key.point(&mut room).ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
    Ok(Pair { kind: curve.key_type(), public, private, key: Arc::new(key) })
}
