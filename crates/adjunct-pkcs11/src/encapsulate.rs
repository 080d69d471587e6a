//! C_EncapsulateKey, C_DecapsulateKey: secret keys made by ML-KEM.

use crate::handle::Handle;
use crate::mechanism::Mechanism;
use crate::mechanism::params::Params;
use crate::object::Held;
use crate::object::attributes::{Attributes, Value};
use crate::object::complete::Origin;
use crate::object::key::Key;
use crate::objects::{self, insert};
use crate::rv::{Result, Rv, ensure, fail};
use crate::session::Session;
use crate::uses;
use adjunct::ops::mlkem;
use cryptoki_sys::*;
use std::sync::Arc;

/// The public key of an encapsulation.
#[derive(Debug)]
pub struct Encapsulating {
    object: Held,
    key: Arc<Key>,
}

fn check(mechanism: Mechanism<'_>) -> Result {
    ensure(mechanism.entry.flags & CKF_ENCAPSULATE != 0, CKR_MECHANISM_INVALID)?;
    ensure(mechanism.params == Params::None, CKR_MECHANISM_PARAM_INVALID)
}

fn kem(key: &Key) -> Result<&mlkem::Key> {
    match key {
        Key::MlKem(key) => Ok(key),
        _ => fail(CKR_KEY_TYPE_INCONSISTENT),
    }
}

impl Encapsulating {
    /// Finds the key.
    ///
    /// # Errors
    /// Those of keys and mechanisms.
    pub fn new(session: &Session, mechanism: Mechanism<'_>, public: CK_OBJECT_HANDLE) -> Result<Encapsulating> {
        check(mechanism)?;
        let object = objects::key_at_once(session, public, CKA_ENCAPSULATE, mechanism.kind)?;
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
    pub fn run(self, session: &Session, own: Handle, template: Attributes, out: &mut [u8]) -> Result<Handle> {
        let secret = kem(&self.key)?.encapsulate(out)?;
        let handle = add(session, own, self.object.attributes.get(CKA_ENCAPSULATE_TEMPLATE), template, &secret[..])?;
        uses::count(session, CKM_ML_KEM, self.object.strength());
        Ok(handle)
    }
}

/// C_DecapsulateKey.
///
/// # Errors
/// Those of keys, mechanisms and templates; `CKR_WRAPPED_KEY_LEN_RANGE` for a ciphertext of another length.
pub fn decapsulate(
    session: &Session,
    own: Handle,
    mechanism: Mechanism<'_>,
    private: CK_OBJECT_HANDLE,
    template: Attributes,
    ciphertext: &[u8],
) -> Result<Handle> {
    check(mechanism)?;
    let object = objects::key_at_once(session, private, CKA_DECAPSULATE, mechanism.kind)?;
    let key = object.key()?;
    let secret = kem(&key)?.decapsulate(ciphertext).map_err(|error| match error {
        adjunct::Error::InvalidKey(_) => Rv(CKR_KEY_TYPE_INCONSISTENT),
        adjunct::Error::Length { .. } => Rv(CKR_WRAPPED_KEY_LEN_RANGE),
        error => error.into(),
    })?;
    let handle = add(session, own, object.attributes.get(CKA_DECAPSULATE_TEMPLATE), template, &secret[..])?;
    uses::count(session, mechanism.kind, object.strength());
    Ok(handle)
}

/// Adds a key of a shared secret: all of it, or the first bytes where the template asks for fewer.
fn add(
    session: &Session,
    own: Handle,
    rules: Option<&Value>,
    mut template: Attributes,
    secret: &[u8],
) -> Result<Handle> {
    if let Some(Value::Template(rules)) = rules {
        for (kind, value) in rules.iter() {
            ensure(template.get(kind).is_none_or(|given| given == value), CKR_TEMPLATE_INCONSISTENT)?;
            template.insert(kind, value.clone());
        }
    }
    template.default_to(CKA_CLASS, &CKO_SECRET_KEY.to_ne_bytes())?;
    template.default_to(CKA_KEY_TYPE, &CKK_GENERIC_SECRET.to_ne_bytes())?;
    let sound = template.number(CKA_CLASS) == Some(CKO_SECRET_KEY) && !template.has(CKA_VALUE);
    ensure(sound, CKR_TEMPLATE_INCONSISTENT)?;
    let length = template.number(CKA_VALUE_LEN).map_or(Ok(secret.len()), usize::try_from);
    let secret = length.ok().and_then(|length| secret.get(..length)).ok_or(Rv(CKR_KEY_SIZE_RANGE))?;
    template.set(CKA_VALUE, secret)?;
    let object = session.slot().token.defaults.object(template, Origin::Unwrapped)?;
    insert(session, own, object)
}
