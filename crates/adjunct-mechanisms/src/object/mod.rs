//! Objects: their attributes, and the keys made of them.

pub mod attributes;
pub mod check;
pub mod complete;
mod facts;
mod held;
pub mod key;
pub(crate) mod lattice;
pub mod pkcs8;
pub(crate) mod prepared;
pub mod schema;
pub mod spki;
mod strength;

use crate::rv::{Result, ensure};
use adjunct::counters::Strength;
use adjunct::memory::{Kept, WriteOnce};
use attributes::Attributes;
use cryptoki_sys::*;
use facts::Facts;
pub use held::{Held, Owner, address};
use key::ObjectKey;
use prepared::Forms;
use std::sync::Arc;

/// An object. It does not change: a change of attributes makes another in its place.
#[derive(Debug, Default)]
pub struct Object {
    /// The attributes, which [`complete`] has made whole.
    pub attributes: Attributes,
    /// Facts that every operation needs.
    facts: Facts,
    /// The key, once it has been made of the attributes.
    key: WriteOnce<Arc<ObjectKey>>,
    /// A secret key as mechanisms take it.
    forms: Forms,
    /// Strength of the key, once it has been asked for.
    strength: WriteOnce<Strength>,
}

impl Object {
    /// Makes an object of attributes that [`complete`] has made whole.
    pub fn new(attributes: Attributes) -> Object {
        Object { facts: Facts::of(&attributes), attributes, ..Object::default() }
    }

    /// Makes an object of attributes and the key that is made of them.
    pub fn with_key(attributes: Attributes, key: Arc<ObjectKey>) -> Object {
        let object = Object::new(attributes);
        object.key.keep(key);
        object
    }

    /// The class.
    #[inline]
    pub fn class(&self) -> CK_OBJECT_CLASS {
        self.facts.class
    }

    /// The type of a key.
    #[inline]
    pub fn key_type(&self) -> Option<CK_KEY_TYPE> {
        self.facts.key_type
    }

    /// Whether only a user who is logged in sees it.
    #[inline]
    pub fn is_private(&self) -> bool {
        self.facts.has(CKA_PRIVATE)
    }

    /// Whether the object stays when its session ends.
    #[inline]
    pub fn is_token(&self) -> bool {
        self.facts.has(CKA_TOKEN)
    }

    /// Whether the user gives the PIN before each use of the key.
    #[inline]
    pub fn wants_the_pin(&self) -> bool {
        self.facts.has(CKA_ALWAYS_AUTHENTICATE)
    }

    /// The key in its place, made at its first use: [`Object::key`] without another owner.
    ///
    /// # Errors
    /// Those of [`Object::key`].
    #[inline]
    pub fn key_here(&self) -> Result<Kept<'_, Arc<ObjectKey>>> {
        self.key.get_or_make(|| Ok(Arc::new(ObjectKey::of(&self.attributes)?)))
    }

    /// The key, made at its first use.
    ///
    /// # Errors
    /// `CKR_KEY_HANDLE_INVALID` where it is none; `CKR_HOST_MEMORY`, and what [`ObjectKey::of`] says of a key that cannot be.
    #[inline]
    pub fn key(&self) -> Result<Arc<ObjectKey>> {
        if let Some(key) = self.key.get() {
            return Ok(key.clone());
        }
        let key = Arc::new(ObjectKey::of(&self.attributes)?);
        self.key.keep(key.clone());
        Ok(key)
    }

    /// How strong the key is.
    #[inline]
    pub fn strength(&self) -> Strength {
        match self.strength.get() {
            Some(strength) => *strength,
            None => *self.strength.keep(strength::of(self)),
        }
    }

    /// The value of a secret key.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT` where it has none.
    #[inline]
    pub fn value(&self) -> Result<&[u8]> {
        ensure(self.class() == CKO_SECRET_KEY, CKR_KEY_TYPE_INCONSISTENT)?;
        self.attributes.bytes(CKA_VALUE).ok_or(crate::rv::Rv(CKR_KEY_TYPE_INCONSISTENT))
    }

    /// The value of a secret key that is computed with here.
    ///
    /// # Errors
    /// As for [`Object::value`]; `CKR_KEY_FUNCTION_NOT_PERMITTED` for a key that is not here.
    pub fn clear_value(&self) -> Result<&[u8]> {
        let value = self.value()?;
        adjunct::ops::may_leave(value)?;
        Ok(value)
    }

    /// Checks that the key may be used for `usage` by this mechanism.
    ///
    /// # Errors
    /// `CKR_KEY_FUNCTION_NOT_PERMITTED`, `CKR_MECHANISM_INVALID`.
    #[inline]
    pub fn permits(&self, usage: CK_ATTRIBUTE_TYPE, mechanism: CK_MECHANISM_TYPE) -> Result {
        ensure(self.facts.has(usage), CKR_KEY_FUNCTION_NOT_PERMITTED)?;
        if !self.facts.has(CKA_ALLOWED_MECHANISMS) {
            return Ok(());
        }
        let allowed = self.attributes.bytes(CKA_ALLOWED_MECHANISMS).unwrap_or_default();
        let listed = allowed.chunks_exact(size_of::<CK_ULONG>()).any(|one| *one == mechanism.to_ne_bytes());
        ensure(listed, CKR_MECHANISM_INVALID)
    }
}
