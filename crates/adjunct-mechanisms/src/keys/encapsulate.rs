//! Secret keys made by ML-KEM (C_EncapsulateKey, C_DecapsulateKey).

use super::say_all;
use crate::mechanism::Mechanism;
use crate::mechanism::params::Params;
use crate::object::attributes::{Attributes, Value};
use crate::object::complete::{Defaults, Origin};
use crate::object::key::ObjectKey;
use crate::object::{Held, Object};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::mlkem;
use cryptoki_sys::*;
use std::sync::Arc;

/// The public key of an encapsulation.
#[derive(Debug)]
pub struct Encapsulating {
    object: Held,
    key: Arc<ObjectKey>,
}

/// Checks that a mechanism encapsulates, and has the parameters for it.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`.
pub fn check(mechanism: Mechanism<'_>) -> Result {
    mechanism.is_for(CKF_ENCAPSULATE)?;
    ensure(mechanism.params == Params::None, CKR_MECHANISM_PARAM_INVALID)
}

fn kem(key: &ObjectKey) -> Result<&mlkem::MlKemKey> {
    match key {
        ObjectKey::MlKem(key) => Ok(key),
        _ => fail(CKR_KEY_TYPE_INCONSISTENT),
    }
}

impl Encapsulating {
    /// Begins an encapsulation. Whether the key may be used so was checked before ([`Object::permits`]).
    ///
    /// # Errors
    /// Those of keys and mechanisms.
    pub fn new(mechanism: Mechanism<'_>, object: Held) -> Result<Encapsulating> {
        check(mechanism)?;
        let key = object.key()?;
        kem(&key)?;
        Ok(Encapsulating { object, key })
    }

    /// The length of the ciphertext.
    ///
    /// # Errors
    /// None of a key that [`Encapsulating::new`] has found.
    pub fn length(&self) -> Result<usize> {
        Ok(kem(&self.key)?.set().ciphertext())
    }

    /// Makes a secret key, and its ciphertext in `out`, of [`Encapsulating::length`] bytes.
    ///
    /// # Errors
    /// Those of templates.
    pub fn run(&self, defaults: Defaults, template: Attributes, out: &mut [u8]) -> Result<Object> {
        let secret = kem(&self.key)?.encapsulate(out)?;
        made(defaults, self.object.attributes.get(CKA_ENCAPSULATE_TEMPLATE), template, &secret[..])
    }

    /// The public key.
    pub fn key(&self) -> &Object {
        &self.object
    }
}

/// Decapsulates a key: the object of its template. Whether the private key may be used so was checked before ([`Object::permits`]).
///
/// # Errors
/// Those of keys, mechanisms and templates; `CKR_WRAPPED_KEY_LEN_RANGE` for a ciphertext of another length.
pub fn decapsulate(
    defaults: Defaults,
    mechanism: Mechanism<'_>,
    private: &Object,
    template: Attributes,
    ciphertext: &[u8],
) -> Result<Object> {
    check(mechanism)?;
    let secret = kem(&*private.key()?)?.decapsulate(ciphertext).map_err(|error| match error {
        adjunct::Error::InvalidKey(_) => Rv(CKR_KEY_TYPE_INCONSISTENT),
        adjunct::Error::Length { .. } => Rv(CKR_WRAPPED_KEY_LEN_RANGE),
        error => error.into(),
    })?;
    made(defaults, private.attributes.get(CKA_DECAPSULATE_TEMPLATE), template, &secret[..])
}

/// The key of a shared secret: all of it, or the first bytes where the template asks for fewer.
fn made(defaults: Defaults, rules: Option<&Value>, mut template: Attributes, secret: &[u8]) -> Result<Object> {
    if let Some(Value::Template(rules)) = rules {
        say_all(&mut template, rules)?;
    }
    template.default_to(CKA_CLASS, &CKO_SECRET_KEY.to_ne_bytes())?;
    template.default_to(CKA_KEY_TYPE, &CKK_GENERIC_SECRET.to_ne_bytes())?;
    let sound = template.number(CKA_CLASS) == Some(CKO_SECRET_KEY) && !template.has(CKA_VALUE);
    ensure(sound, CKR_TEMPLATE_INCONSISTENT)?;
    let length = template.number(CKA_VALUE_LEN).map_or(Ok(secret.len()), usize::try_from);
    let secret = length.ok().and_then(|length| secret.get(..length)).ok_or(Rv(CKR_KEY_SIZE_RANGE))?;
    template.set(CKA_VALUE, secret)?;
    defaults.object(template, Origin::Unwrapped)
}
