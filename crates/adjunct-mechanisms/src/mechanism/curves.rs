//! Elliptic curves: keys of all of them, ECDSA (FIPS 186-5), EdDSA (RFC 8032), and agreement (`derive/agree.rs`).

use super::generate::{Pair, no_params};
use super::hash::Hash;
use super::params::Shape;
use super::registry::{CURVE448, CURVES, Entry, SIGNS};
use super::sign::{ECDSA, EDDSA};
use super::{Mechanism, derive::Derive};
use crate::curve448;
use crate::object::attributes::Attributes;
use crate::object::key::{Curve, ObjectKey};
use crate::rv::{Result, Rv, ensure};
use adjunct::ops::ec;
use adjunct::ops::ecx::{ed448, ed25519, x448, x25519};
use cryptoki_sys::*;
use std::sync::Arc;

/// A mechanism of the curves in Weierstrass form, by the bits of their fields.
const fn weierstrass(kind: CK_MECHANISM_TYPE, flags: CK_FLAGS, shape: Shape) -> Entry {
    Entry::new(kind, 160, 521, flags | CURVES, shape)
}

/// A mechanism of Curve25519's and Curve448's forms.
const fn other(kind: CK_MECHANISM_TYPE, flags: CK_FLAGS, shape: Shape) -> Entry {
    Entry::new(kind, 255, CURVE448, flags | CURVES, shape)
}

const fn ecdsa(kind: CK_MECHANISM_TYPE, hash: Hash) -> Entry {
    weierstrass(kind, SIGNS, Shape::Bytes).hash(hash).signs(ECDSA)
}

pub const ENTRIES: &[Entry] = &[
    weierstrass(CKM_EC_KEY_PAIR_GEN, CKF_GENERATE_KEY_PAIR, Shape::Ignored)
        .pair(|mechanism, template| pair(mechanism, template, |curve| matches!(curve, Curve::Group(_)))),
    weierstrass(CKM_ECDSA, SIGNS, Shape::Bytes).signs(ECDSA),
    ecdsa(CKM_ECDSA_SHA1, Hash::Sha1),
    ecdsa(CKM_ECDSA_SHA224, Hash::Sha224),
    ecdsa(CKM_ECDSA_SHA256, Hash::Sha256),
    ecdsa(CKM_ECDSA_SHA384, Hash::Sha384),
    ecdsa(CKM_ECDSA_SHA512, Hash::Sha512),
    ecdsa(CKM_ECDSA_SHA3_224, Hash::Sha3_224),
    ecdsa(CKM_ECDSA_SHA3_256, Hash::Sha3_256),
    ecdsa(CKM_ECDSA_SHA3_384, Hash::Sha3_384),
    ecdsa(CKM_ECDSA_SHA3_512, Hash::Sha3_512),
    other(CKM_EC_EDWARDS_KEY_PAIR_GEN, CKF_GENERATE_KEY_PAIR, Shape::Ignored)
        .pair(|mechanism, template| pair(mechanism, template, |curve| matches!(curve, Curve::Ed25519 | Curve::Ed448))),
    other(CKM_EDDSA, SIGNS, Shape::Eddsa).signs(EDDSA),
    other(CKM_EC_MONTGOMERY_KEY_PAIR_GEN, CKF_GENERATE_KEY_PAIR, Shape::Ignored)
        .pair(|mechanism, template| pair(mechanism, template, |curve| matches!(curve, Curve::X25519 | Curve::X448))),
    weierstrass(CKM_ECDH1_DERIVE, CKF_DERIVE, Shape::Derive(Derive::Agree { cofactor: false })),
    weierstrass(CKM_ECDH1_COFACTOR_DERIVE, CKF_DERIVE, Shape::Derive(Derive::Agree { cofactor: true })),
];

fn pair(mechanism: Mechanism<'_>, template: &Attributes, is_for: fn(Curve) -> bool) -> Result<Pair> {
    no_params(mechanism)?;
    let params = template.need(CKA_EC_PARAMS)?;
    let curve = Curve::of(params)?;
    let fits = is_for(curve) && (!matches!(curve, Curve::Ed448 | Curve::X448) || curve448::is_available());
    ensure(fits, CKR_CURVE_NOT_SUPPORTED)?;
    // The point is the key's, and set when the object is made of it.
    ensure(!template.has(CKA_EC_POINT), CKR_TEMPLATE_INCONSISTENT)?;
    let mut private = Attributes::default();
    private.set(CKA_EC_PARAMS, params)?;
    let key = match curve {
        Curve::Group(group) => {
            let key = ec::EcKey::generate(group)?;
            private.set(CKA_VALUE, key.private().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            ObjectKey::Ec(key)
        }
        Curve::Ed25519 => {
            let (secret, public) = ed25519::generate();
            private.set(CKA_VALUE, secret.bytes().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            ObjectKey::Ed25519 { private: Some(secret), public }
        }
        Curve::X25519 => {
            let (secret, public) = x25519::generate();
            private.set(CKA_VALUE, secret.bytes().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            ObjectKey::X25519 { private: Some(secret), public }
        }
        Curve::Ed448 => {
            let (secret, public) = ed448::generate(curve448::ed448_public).ok_or(Rv(CKR_FUNCTION_FAILED))?;
            private.set(CKA_VALUE, secret.bytes().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            ObjectKey::Ed448 { private: Some(secret), public }
        }
        Curve::X448 => {
            let (secret, public) = x448::generate(curve448::x448_public).ok_or(Rv(CKR_FUNCTION_FAILED))?;
            private.set(CKA_VALUE, secret.bytes().ok_or(Rv(CKR_FUNCTION_FAILED))?)?;
            ObjectKey::X448 { private: Some(secret), public }
        }
    };
    Ok(Pair { kind: curve.key_type(), public: Attributes::default(), private, key: Arc::new(key) })
}
