//! Objects: their attributes, and the keys made of them.

pub mod attributes;
pub mod check;
pub mod complete;
mod held;
pub mod key;
pub mod lattice;
pub mod pkcs8;
pub mod schema;
pub mod search;
pub mod spki;
mod strength;
pub mod table;

use crate::handle::Handle;
use crate::rv::{Result, ensure};
use adjunct::counters::Strength;
use adjunct::memory::{Kept, WriteOnce};
use adjunct::ops::aead::gcm_parts;
use adjunct::ops::digest::Method;
use adjunct::ops::mac::Hmac;
use attributes::Attributes;
use cryptoki_sys::*;
pub use held::{Held, Owner};
use key::Key;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

/// An object. It does not change: a change of attributes makes another in its place.
#[derive(Debug, Default)]
pub struct Object {
    pub attributes: Attributes,
    /// The key, once it has been made of the attributes.
    key: WriteOnce<Arc<Key>>,
    /// A secret key as HMAC takes it, over the hash that it was first used with, and as AES-GCM does.
    hmac: WriteOnce<Box<Hmac>>,
    gcm: WriteOnce<Box<gcm_parts::Key>>,
    /// Its strength, once it has been asked for.
    strength: WriteOnce<Strength>,
    /// Which sessions keep it: 0 none, [`MANY`] several, else the one of this handle.
    keepers: AtomicU64,
}

/// Several sessions.
const MANY: u64 = u64::MAX;

/// Which sessions keep an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keepers {
    None,
    One(Handle),
    Many,
}

impl Object {
    /// Of attributes that [`complete`] has made whole.
    pub fn new(attributes: Attributes) -> Object {
        Object { attributes, ..Object::default() }
    }

    /// Of attributes, and the key that is made of them.
    pub fn with_key(attributes: Attributes, key: Arc<Key>) -> Object {
        let object = Object::new(attributes);
        object.key.keep(key);
        object
    }

    /// The class.
    pub fn class(&self) -> CK_OBJECT_CLASS {
        self.attributes.number(CKA_CLASS).unwrap_or(CK_UNAVAILABLE_INFORMATION)
    }

    /// The type of a key.
    pub fn key_type(&self) -> Option<CK_KEY_TYPE> {
        self.attributes.number(CKA_KEY_TYPE)
    }

    /// Whether only a user who is logged in sees it.
    pub fn is_private(&self) -> bool {
        self.attributes.is(CKA_PRIVATE)
    }

    /// Whether it stays when its session ends.
    pub fn is_token(&self) -> bool {
        self.attributes.is(CKA_TOKEN)
    }

    /// Notes that a session keeps it.
    pub fn will_keep(&self, session: Handle) {
        let own = session.get();
        let with_own = |before| (before != own && before != MANY).then_some(if before == 0 { own } else { MANY });
        let _ = self.keepers.fetch_update(SeqCst, SeqCst, with_own);
    }

    /// Which sessions keep it. Whoever asks has taken it out of its place before.
    pub fn keepers(&self) -> Keepers {
        match self.keepers.load(SeqCst) {
            0 => Keepers::None,
            MANY => Keepers::Many,
            one => Keepers::One(Handle::from(one)),
        }
    }

    /// The key in its place, made at its first use: as [`Object::key`], without another owner.
    ///
    /// # Errors
    /// Those of [`Object::key`].
    pub fn key_here(&self) -> Result<Kept<'_, Arc<Key>>> {
        self.key.get_or_make(|| Ok(Arc::new(Key::of(&self.attributes)?)))
    }

    /// The key, made at its first use.
    ///
    /// # Errors
    /// `CKR_KEY_HANDLE_INVALID` where it is none; `CKR_HOST_MEMORY`, and what [`Key::of`] says of a key that cannot be.
    pub fn key(&self) -> Result<Arc<Key>> {
        if let Some(key) = self.key.get() {
            return Ok(key.clone());
        }
        let key = Arc::new(Key::of(&self.attributes)?);
        self.key.keep(key.clone());
        Ok(key)
    }

    /// The key of an HMAC, made at its first use. Over another hash than then it is made each time.
    ///
    /// # Errors
    /// Those of [`Object::value`], `CKR_HOST_MEMORY`.
    pub fn hmac(&self, hash: &'static Method) -> Result<Kept<'_, Box<Hmac>>> {
        let make = || -> Result<Box<Hmac>> { Ok(adjunct::memory::boxed(Hmac::new(hash, self.value()?)?)?) };
        let kept = self.hmac.get_or_make(make)?;
        if std::ptr::eq(kept.method(), hash) { Ok(kept) } else { Ok(Kept::Own(make()?)) }
    }

    /// The key of AES-GCM, made at its first use.
    ///
    /// # Errors
    /// Those of [`Object::value`], `CKR_KEY_SIZE_RANGE`, `CKR_HOST_MEMORY`.
    pub fn gcm(&self) -> Result<Kept<'_, Box<gcm_parts::Key>>> {
        let make = || {
            let key = gcm_parts::Key::new(self.value()?).map_err(crate::rv::key_size)?;
            Ok(adjunct::memory::boxed(key)?)
        };
        self.gcm.get_or_make(make)
    }

    /// How strong the key is.
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
    pub fn value(&self) -> Result<&[u8]> {
        ensure(self.class() == CKO_SECRET_KEY, CKR_KEY_TYPE_INCONSISTENT)?;
        self.attributes.bytes(CKA_VALUE).ok_or(crate::rv::Rv(CKR_KEY_TYPE_INCONSISTENT))
    }

    /// Checks that the key may be used so, by this mechanism.
    ///
    /// # Errors
    /// `CKR_KEY_FUNCTION_NOT_PERMITTED`, `CKR_MECHANISM_INVALID`.
    pub fn permits(&self, usage: CK_ATTRIBUTE_TYPE, mechanism: CK_MECHANISM_TYPE) -> Result {
        ensure(self.attributes.is(usage), CKR_KEY_FUNCTION_NOT_PERMITTED)?;
        let allowed = self.attributes.bytes(CKA_ALLOWED_MECHANISMS).unwrap_or_default();
        let listed = allowed.chunks_exact(size_of::<CK_ULONG>()).any(|one| *one == mechanism.to_ne_bytes());
        ensure(allowed.is_empty() || listed, CKR_MECHANISM_INVALID)
    }
}
