//! An object that an operation has.

use super::Object;
use std::ops::Deref;
use std::sync::Arc;

/// An owner of an object. What sessions keep of keys that they use again and again has a count of owners of its own: threads that use
/// one key do not write to what others read.
#[derive(Debug, Clone)]
pub enum Held {
    /// As the token's table has it.
    Own(Arc<Object>),
    /// As a session has it.
    Kept(Arc<Arc<Object>>),
}

impl Deref for Held {
    type Target = Object;

    #[inline]
    fn deref(&self) -> &Object {
        match self {
            Held::Own(object) => object,
            Held::Kept(object) => object,
        }
    }
}
