//! An object that an operation has.

use super::Object;
use crate::operation::Follows;
use std::ops::Deref;
use std::sync::Arc;

/// A key that an operation has. Who keeps a key for many operations has a reference count of its own ([`Owner`]), so that threads with the same key
/// do not write to a cache line that others read.
#[derive(Debug, Clone)]
pub enum Held {
    /// An owner like any other.
    Own(Arc<Object>),
    /// An owner that is kept for further operations.
    Kept(Arc<Owner>),
}

/// An owner that counts as one, and has a count of its own for those that it gives the object to.
#[derive(Debug)]
pub struct Owner(pub Arc<Object>);

impl Deref for Held {
    type Target = Object;

    #[inline]
    fn deref(&self) -> &Object {
        match self {
            Held::Own(object) => object,
            Held::Kept(owner) => &owner.0,
        }
    }
}

impl Held {
    /// Whether another message may follow one with this key. None may with a key that wants the PIN: each operation waits for it.
    #[inline]
    pub fn follows(&self) -> Follows {
        match self {
            Held::Kept(owner) if !owner.0.wants_the_pin() => {
                Follows::While { key: address(&owner.0), private: owner.0.is_private() }
            }
            _ => Follows::Never,
        }
    }
}

/// Address of an object.
#[inline]
pub fn address(object: &Object) -> usize {
    std::ptr::from_ref(object).addr()
}
