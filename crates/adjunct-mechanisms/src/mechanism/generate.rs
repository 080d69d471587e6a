//! Keys that are made here: what families share, and the keys of no family (generic secrets, passwords).

use super::Mechanism;
use super::params::{Params, Shape};
use super::registry::{Entry, LONG};
use crate::object::attributes::Attributes;
use crate::object::key::ObjectKey;
use crate::object::lattice;
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::cipher::des;
use adjunct::ops::kdf;
use adjunct::ops::random::random;
use cryptoki_sys::*;
use std::sync::Arc;
use zeroize::Zeroizing;

pub const ENTRIES: &[Entry] = &[
    Entry::new(CKM_PKCS5_PBKD2, 1, LONG, CKF_GENERATE, Shape::Pbkdf2).secret(of_password),
    Entry::new(CKM_GENERIC_SECRET_KEY_GEN, 1, LONG, CKF_GENERATE, Shape::Ignored)
        .secret(|mechanism, template| random_key(mechanism, template, CKK_GENERIC_SECRET, None, |_| true)),
];

/// The type and the bytes of a new secret key.
pub type Secret = (CK_KEY_TYPE, Zeroizing<Vec<u8>>);

/// A new key pair.
#[derive(Debug)]
pub struct Pair {
    /// The type of both keys.
    pub kind: CK_KEY_TYPE,
    /// The attributes of the public key besides those of its template.
    pub public: Attributes,
    /// The attributes of the private key besides those of its template.
    pub private: Attributes,
    /// Both halves, as the core has them.
    pub key: Arc<ObjectKey>,
}

/// Refuses parameters.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`.
pub fn no_params(mechanism: Mechanism<'_>) -> Result {
    ensure(mechanism.params == Params::None, CKR_MECHANISM_PARAM_INVALID)
}

/// A random key of a type, as long as the template says, else of `usual` bytes.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`; `CKR_TEMPLATE_INCOMPLETE` where nothing says the length; `CKR_KEY_SIZE_RANGE` of a length that the mechanism has not
/// or that does not fit; `CKR_HOST_MEMORY`.
pub fn random_key(
    mechanism: Mechanism<'_>,
    template: &Attributes,
    kind: CK_KEY_TYPE,
    usual: Option<CK_ULONG>,
    fits: fn(CK_ULONG) -> bool,
) -> Result<Secret> {
    no_params(mechanism)?;
    let length = template.number(CKA_VALUE_LEN).or(usual).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    let sizes = mechanism.entry.least..=mechanism.entry.most;
    ensure(sizes.contains(&length) && fits(length), CKR_KEY_SIZE_RANGE)?;
    let mut value = adjunct::memory::zeros(length as usize)?;
    match kind {
        CKK_DES2 | CKK_DES3 => des::random_key(&mut value),
        _ => random(&mut value),
    }
    Ok((kind, value))
}

/// A key of a password (PBKDF2, RFC 8018, 5.2).
fn of_password(mechanism: Mechanism<'_>, template: &Attributes) -> Result<Secret> {
    let Params::Pbkdf2 { hash, password, salt, iterations } = mechanism.params else {
        return fail(CKR_MECHANISM_PARAM_INVALID);
    };
    let given = template.number(CKA_VALUE_LEN);
    let length = given.or_else(|| own_length(template)).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    ensure((1..=LONG).contains(&length), CKR_KEY_SIZE_RANGE)?;
    let mut value = adjunct::memory::zeros(length as usize)?;
    kdf::pbkdf2(hash.method(), password, salt, iterations, &mut value)?;
    Ok((CKK_GENERIC_SECRET, value))
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

/// The pair of a key of ML-DSA or ML-KEM, of its public bytes and its seed.
///
/// # Errors
/// `CKR_TEMPLATE_INCOMPLETE`, `CKR_HOST_MEMORY`.
pub fn lattice_pair(
    kind: CK_KEY_TYPE,
    template: &Attributes,
    value: &[u8],
    seed: &[u8],
    key: ObjectKey,
) -> Result<Pair> {
    let (mut public, mut private) = (Attributes::default(), Attributes::default());
    public.set(CKA_VALUE, value)?;
    private.set(CKA_PARAMETER_SET, template.need(CKA_PARAMETER_SET)?)?;
    private.set(CKA_SEED, seed)?;
    lattice::private_value(&mut private, key.lattice_private())?;
    Ok(Pair { kind, public, private, key: Arc::new(key) })
}
