//! RSA: keys, encryption, signatures (RFC 8017).

use super::generate::{Pair, no_params};
use super::hash::Hash;
use super::params::Shape;
use super::registry::{CIPHERS, Entry, RECOVERS, SIGNS, WRAPS};
use super::sign::{PKCS1, PSS, RAW};
use super::{Mechanism, rsa_cipher};
use crate::object::attributes::Attributes;
use crate::object::key::ObjectKey;
use crate::rv::{Result, Rv, ensure};
use adjunct::ops::rsa::{self, Part};
use cryptoki_sys::*;
use std::sync::Arc;

/// The sizes of keys that the standard's functions name, in bits.
const LEAST: CK_ULONG = 512;
const MOST: CK_ULONG = 16384;

const fn entry(kind: CK_MECHANISM_TYPE, flags: CK_FLAGS, shape: Shape) -> Entry {
    Entry::new(kind, LEAST, MOST, flags, shape)
}

const fn pkcs1(kind: CK_MECHANISM_TYPE, hash: Hash) -> Entry {
    entry(kind, SIGNS, Shape::Bytes).hash(hash).signs(PKCS1)
}

const fn pss(kind: CK_MECHANISM_TYPE, hash: Hash) -> Entry {
    entry(kind, SIGNS, Shape::Pss).hash(hash).signs(PSS)
}

pub const ENTRIES: &[Entry] = &[
    entry(CKM_RSA_PKCS_KEY_PAIR_GEN, CKF_GENERATE_KEY_PAIR, Shape::Ignored).pair(pair),
    entry(CKM_RSA_PKCS, CIPHERS | WRAPS | SIGNS | RECOVERS, Shape::Bytes).cipher(rsa_cipher::pkcs1).signs(PKCS1),
    entry(CKM_RSA_X_509, CIPHERS | SIGNS | RECOVERS, Shape::Bytes).cipher(rsa_cipher::raw).signs(RAW),
    entry(CKM_RSA_PKCS_OAEP, CIPHERS | WRAPS, Shape::Oaep).cipher(rsa_cipher::oaep),
    pkcs1(CKM_SHA1_RSA_PKCS, Hash::Sha1),
    pkcs1(CKM_SHA224_RSA_PKCS, Hash::Sha224),
    pkcs1(CKM_SHA256_RSA_PKCS, Hash::Sha256),
    pkcs1(CKM_SHA384_RSA_PKCS, Hash::Sha384),
    pkcs1(CKM_SHA512_RSA_PKCS, Hash::Sha512),
    pkcs1(CKM_SHA3_224_RSA_PKCS, Hash::Sha3_224),
    pkcs1(CKM_SHA3_256_RSA_PKCS, Hash::Sha3_256),
    pkcs1(CKM_SHA3_384_RSA_PKCS, Hash::Sha3_384),
    pkcs1(CKM_SHA3_512_RSA_PKCS, Hash::Sha3_512),
    entry(CKM_RSA_PKCS_PSS, SIGNS, Shape::Pss).signs(PSS),
    pss(CKM_SHA1_RSA_PKCS_PSS, Hash::Sha1),
    pss(CKM_SHA224_RSA_PKCS_PSS, Hash::Sha224),
    pss(CKM_SHA256_RSA_PKCS_PSS, Hash::Sha256),
    pss(CKM_SHA384_RSA_PKCS_PSS, Hash::Sha384),
    pss(CKM_SHA512_RSA_PKCS_PSS, Hash::Sha512),
    pss(CKM_SHA3_224_RSA_PKCS_PSS, Hash::Sha3_224),
    pss(CKM_SHA3_256_RSA_PKCS_PSS, Hash::Sha3_256),
    pss(CKM_SHA3_384_RSA_PKCS_PSS, Hash::Sha3_384),
    pss(CKM_SHA3_512_RSA_PKCS_PSS, Hash::Sha3_512),
];

fn pair(mechanism: Mechanism<'_>, template: &Attributes) -> Result<Pair> {
    no_params(mechanism)?;
    let bits = template.number(CKA_MODULUS_BITS).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    let e = template.bytes(CKA_PUBLIC_EXPONENT).unwrap_or(&[1, 0, 1]);
    ensure((LEAST..=MOST).contains(&bits), CKR_KEY_SIZE_RANGE)?;
    let key = rsa::RsaKey::generate_any(bits as usize, e).map_err(|error| match error {
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
    Ok(Pair { kind: CKK_RSA, public, private, key: Arc::new(ObjectKey::Rsa(key)) })
}
