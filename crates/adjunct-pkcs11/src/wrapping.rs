//! Keys that leave the token under another key, and come into it.

use crate::handle::Handle;
use crate::mechanism::Mechanism;
use crate::mechanism::params::Params;
use crate::object::attributes::{Attributes, Value};
use crate::object::complete::{self, Origin};
use crate::object::pkcs8;
use crate::object::{Held, Object};
use crate::objects;
use crate::operation::Cipher;
use crate::rv::{Result, Rv, ensure, fail};
use crate::session::Session;
use crate::uses;
use adjunct::counters::Strength;
use cryptoki_sys::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A key that is about to be wrapped: what encrypts it, and its bytes.
pub struct Leaving {
    pub cipher: Box<dyn Cipher>,
    pub bytes: Zeroizing<Vec<u8>>,
    key: (CK_OBJECT_HANDLE, Arc<Object>),
    /// Strength of the wrapping key.
    strength: Strength,
    mechanism: CK_MECHANISM_TYPE,
}

/// Finds the key that wraps or unwraps, for a mechanism that does.
fn wrapping_key(session: &Session, mechanism: Mechanism<'_>, key: CK_OBJECT_HANDLE, wrap: bool) -> Result<Held> {
    let (usage, flag, handle) = if wrap {
        (CKA_WRAP, CKF_WRAP, CKR_WRAPPING_KEY_HANDLE_INVALID)
    } else {
        (CKA_UNWRAP, CKF_UNWRAP, CKR_UNWRAPPING_KEY_HANDLE_INVALID)
    };
    ensure(mechanism.entry.flags & flag != 0, CKR_MECHANISM_INVALID)?;
    objects::key_at_once(session, key, usage, mechanism.kind).map_err(|error| match error {
        Rv(CKR_KEY_HANDLE_INVALID) => Rv(handle),
        error => error,
    })
}

/// Begins the cipher that wraps or unwraps; its errors about the key become those about the wrapping key.
fn begin(mechanism: Mechanism<'_>, key: &Held, wrap: bool) -> Result<Box<dyn Cipher>> {
    mechanism.cipher(key.clone(), wrap).map_err(|error| match (error.0, wrap) {
        (CKR_KEY_TYPE_INCONSISTENT, true) => Rv(CKR_WRAPPING_KEY_TYPE_INCONSISTENT),
        (CKR_KEY_TYPE_INCONSISTENT, false) => Rv(CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT),
        (CKR_KEY_SIZE_RANGE, true) => Rv(CKR_WRAPPING_KEY_SIZE_RANGE),
        (CKR_KEY_SIZE_RANGE, false) => Rv(CKR_UNWRAPPING_KEY_SIZE_RANGE),
        _ => error,
    })
}

/// A mechanism with the additional data of a call. Its parameter may have them instead, but not others.
///
/// # Errors
/// `CKR_MECHANISM_INVALID` where it takes none; `CKR_MECHANISM_PARAM_INVALID`.
pub fn with_aad<'a>(mut mechanism: Mechanism<'a>, given: &'a [u8]) -> Result<Mechanism<'a>> {
    let (Params::Gcm { aad, .. } | Params::Ccm { aad, .. } | Params::ChaChaPoly { aad, .. }) = &mut mechanism.params
    else {
        return fail(CKR_MECHANISM_INVALID);
    };
    ensure(aad.is_empty() || given.is_empty() || *aad == given, CKR_MECHANISM_PARAM_INVALID)?;
    if !given.is_empty() {
        *aad = given;
    }
    Ok(mechanism)
}

/// The bytes of a key that are wrapped.
fn bytes(key: &Object, unit: usize) -> Result<Zeroizing<Vec<u8>>> {
    match key.class() {
        CKO_SECRET_KEY => {
            let value = key.value()?;
            let mut padded = adjunct::memory::zeros(value.len().next_multiple_of(unit))?;
            padded[..value.len()].copy_from_slice(value);
            Ok(padded)
        }
        // What fills it up with zeros cannot tell them from DER.
        CKO_PRIVATE_KEY if unit == 1 => pkcs8::to_der(key),
        _ => fail(CKR_KEY_NOT_WRAPPABLE),
    }
}

/// C_WrapKey, C_WrapKeyAuthenticated: prepares the wrapping; the caller knows where the result goes.
///
/// # Errors
/// Those of the mechanism; `CKR_WRAPPING_KEY_HANDLE_INVALID` and its kin, `CKR_KEY_HANDLE_INVALID`, `CKR_KEY_UNEXTRACTABLE`,
/// `CKR_KEY_NOT_WRAPPABLE`.
pub fn wrap(
    session: &Session,
    mechanism: Mechanism<'_>,
    wrapping: CK_OBJECT_HANDLE,
    handle: CK_OBJECT_HANDLE,
) -> Result<Leaving> {
    let with = wrapping_key(session, mechanism, wrapping, true)?;
    let key = objects::get(session, handle.into()).map_err(|_| Rv(CKR_KEY_HANDLE_INVALID))?;
    let secret = matches!(key.class(), CKO_SECRET_KEY | CKO_PRIVATE_KEY);
    ensure(key.key_type().is_some(), CKR_KEY_HANDLE_INVALID)?;
    ensure(secret, CKR_KEY_NOT_WRAPPABLE)?;
    ensure(key.attributes.is(CKA_EXTRACTABLE), CKR_KEY_UNEXTRACTABLE)?;
    let trusted = !key.attributes.is(CKA_WRAP_WITH_TRUSTED) || with.attributes.is(CKA_TRUSTED);
    ensure(trusted, CKR_KEY_NOT_WRAPPABLE)?;
    if let Some(Value::Template(template)) = with.attributes.get(CKA_WRAP_TEMPLATE) {
        ensure(key.attributes.matches(template), CKR_KEY_HANDLE_INVALID)?;
    }
    let bytes = bytes(&key, mechanism.entry.unit)?;
    let cipher = begin(mechanism, &with, true)?;
    Ok(Leaving { cipher, bytes, key: (handle, key), strength: with.strength(), mechanism: mechanism.kind })
}

impl Leaving {
    /// How long the result is.
    pub fn length(&self) -> usize {
        self.cipher.once_length(self.bytes.len())
    }

    /// Writes the wrapped key; gives its length.
    ///
    /// # Errors
    /// `CKR_KEY_SIZE_RANGE` where the key has a length that the mechanism does not take; `CKR_USER_NOT_LOGGED_IN` of a key that wants the PIN
    /// first: elsewhere it would be used without.
    pub fn wrap(mut self, session: &Session, out: &mut [u8]) -> Result<usize> {
        session.use_at_once(self.key.0, &self.key.1)?;
        let length = self.cipher.once(&self.bytes, out).map_err(|error| match error {
            Rv(CKR_DATA_LEN_RANGE) => Rv(CKR_KEY_SIZE_RANGE),
            error => error,
        })?;
        uses::count(session, self.mechanism, self.strength);
        Ok(length)
    }
}

/// The length of a key that was filled up with zeros.
fn length(template: &Attributes, kind: CK_KEY_TYPE, unwrapped: usize, unit: usize) -> usize {
    let fixed = match kind {
        CKK_DES2 => Some(16),
        CKK_DES3 => Some(24),
        CKK_CHACHA20 => Some(32),
        _ => None,
    };
    let said = template.number(CKA_VALUE_LEN).or(fixed).map_or(unwrapped, |length| length as usize);
    if said.checked_next_multiple_of(unit) == Some(unwrapped) { said } else { unwrapped }
}

/// C_UnwrapKey, C_UnwrapKeyAuthenticated.
///
/// # Errors
/// Those of the mechanism and of templates; `CKR_UNWRAPPING_KEY_HANDLE_INVALID` and its kin, `CKR_WRAPPED_KEY_INVALID`,
/// `CKR_WRAPPED_KEY_LEN_RANGE`.
pub fn unwrap(
    session: &Session,
    own: Handle,
    mechanism: Mechanism<'_>,
    unwrapping: CK_OBJECT_HANDLE,
    wrapped: &[u8],
    mut template: Attributes,
) -> Result<Handle> {
    let with = wrapping_key(session, mechanism, unwrapping, false)?;
    if let Some(Value::Template(wanted)) = with.attributes.get(CKA_UNWRAP_TEMPLATE) {
        for (kind, value) in wanted.iter() {
            let same = template.get(kind).is_none_or(|given| given == value);
            ensure(same, CKR_TEMPLATE_INCONSISTENT)?;
            template.insert(kind, value.clone());
        }
    }
    let class = template.number(CKA_CLASS).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    let kind = template.number(CKA_KEY_TYPE).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    ensure(!template.has(CKA_VALUE), CKR_TEMPLATE_INCONSISTENT)?;
    let mut cipher = begin(mechanism, &with, false)?;
    let mut room = adjunct::memory::zeros(cipher.once_length(wrapped.len()))?;
    let count = cipher.once(wrapped, &mut room).map_err(|error| match error {
        Rv(CKR_ENCRYPTED_DATA_INVALID) => Rv(CKR_WRAPPED_KEY_INVALID),
        Rv(CKR_ENCRYPTED_DATA_LEN_RANGE) => Rv(CKR_WRAPPED_KEY_LEN_RANGE),
        error => error,
    })?;
    match class {
        CKO_SECRET_KEY => {
            let length = length(&template, kind, count, mechanism.entry.unit);
            complete::check_length(kind, length as CK_ULONG).map_err(|_| Rv(CKR_WRAPPED_KEY_LEN_RANGE))?;
            template.set(CKA_VALUE, &room[..length])?;
        }
        CKO_PRIVATE_KEY => {
            for (kind, value) in pkcs8::from_der(&room[..count])?.iter() {
                let same = template.get(kind).is_none_or(|given| given == value);
                ensure(same, CKR_TEMPLATE_INCONSISTENT)?;
                template.insert(kind, value.clone());
            }
        }
        _ => return fail(CKR_TEMPLATE_INCONSISTENT),
    }
    let object = session.slot().token.defaults.object(template, Origin::Unwrapped)?;
    let handle = objects::insert(session, own, object)?;
    uses::count(session, mechanism.kind, with.strength());
    Ok(handle)
}
