//! Keys that leave under another key, and come back.

use super::say_all;
use crate::mechanism::Mechanism;
use crate::mechanism::params::Params;
use crate::object::attributes::{Attributes, Value};
use crate::object::complete::{self, Defaults, Origin};
use crate::object::{Held, Object, pkcs8};
use crate::operation::Cipher;
use crate::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// A key that is about to be wrapped: what encrypts it, and its bytes.
pub struct Leaving {
    cipher: Box<dyn Cipher>,
    bytes: Zeroizing<Vec<u8>>,
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
            let value = key.clear_value()?;
            let mut padded = adjunct::memory::zeros(value.len().next_multiple_of(unit))?;
            padded[..value.len()].copy_from_slice(value);
            Ok(padded)
        }
        // What fills it up with zeros cannot tell them from DER.
        CKO_PRIVATE_KEY if unit == 1 => pkcs8::to_der(key),
        _ => fail(CKR_KEY_NOT_WRAPPABLE),
    }
}

/// Prepares the wrapping of a key under another; the caller knows where the result goes. Whether `with` may wrap by the mechanism was checked
/// before ([`Object::permits`]).
///
/// # Errors
/// Those of the mechanism; `CKR_WRAPPING_KEY_TYPE_INCONSISTENT` and its kin, `CKR_KEY_HANDLE_INVALID` where `key` is none, or none that `with` may
/// wrap; `CKR_KEY_UNEXTRACTABLE`, `CKR_KEY_NOT_WRAPPABLE`.
pub fn wrap(mechanism: Mechanism<'_>, with: &Held, key: &Object) -> Result<Leaving> {
    mechanism.is_for(CKF_WRAP)?;
    let secret = matches!(key.class(), CKO_SECRET_KEY | CKO_PRIVATE_KEY);
    ensure(key.key_type().is_some(), CKR_KEY_HANDLE_INVALID)?;
    ensure(secret, CKR_KEY_NOT_WRAPPABLE)?;
    ensure(key.attributes.is(CKA_EXTRACTABLE), CKR_KEY_UNEXTRACTABLE)?;
    let trusted = !key.attributes.is(CKA_WRAP_WITH_TRUSTED) || with.attributes.is(CKA_TRUSTED);
    ensure(trusted, CKR_KEY_NOT_WRAPPABLE)?;
    if let Some(Value::Template(template)) = with.attributes.get(CKA_WRAP_TEMPLATE) {
        ensure(key.attributes.matches(template), CKR_KEY_HANDLE_INVALID)?;
    }
    let bytes = bytes(key, mechanism.entry.unit)?;
    let cipher = begin(mechanism, with, true)?;
    Ok(Leaving { cipher, bytes })
}

impl Leaving {
    /// How long the result is.
    pub fn length(&self) -> usize {
        self.cipher.once_length(self.bytes.len())
    }

    /// Writes the wrapped key; gives its length.
    ///
    /// # Errors
    /// `CKR_KEY_SIZE_RANGE` where the key has a length that the mechanism does not take.
    pub fn wrap(mut self, out: &mut [u8]) -> Result<usize> {
        self.cipher.once(&self.bytes, out).map_err(|error| match error {
            Rv(CKR_DATA_LEN_RANGE) => Rv(CKR_KEY_SIZE_RANGE),
            error => error,
        })
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

/// Unwraps a key: the object of its template. Whether `with` may unwrap by the mechanism was checked before ([`Object::permits`]).
///
/// # Errors
/// Those of the mechanism and of templates; `CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT` and its kin, `CKR_WRAPPED_KEY_INVALID`,
/// `CKR_WRAPPED_KEY_LEN_RANGE`.
pub fn unwrap(
    defaults: Defaults,
    mechanism: Mechanism<'_>,
    with: &Held,
    wrapped: &[u8],
    mut template: Attributes,
) -> Result<Object> {
    mechanism.is_for(CKF_UNWRAP)?;
    if let Some(Value::Template(wanted)) = with.attributes.get(CKA_UNWRAP_TEMPLATE) {
        say_all(&mut template, wanted)?;
    }
    let class = template.number(CKA_CLASS).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    let kind = template.number(CKA_KEY_TYPE).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    ensure(!template.has(CKA_VALUE), CKR_TEMPLATE_INCONSISTENT)?;
    let mut cipher = begin(mechanism, with, false)?;
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
        CKO_PRIVATE_KEY => say_all(&mut template, &pkcs8::from_der(&room[..count])?)?,
        _ => return fail(CKR_TEMPLATE_INCONSISTENT),
    }
    defaults.object(template, Origin::Unwrapped)
}
