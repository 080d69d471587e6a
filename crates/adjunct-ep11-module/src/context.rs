//! What every function has: the caller, the domain as it is, the request's arguments.

use crate::blob::Head;
use crate::error::{Result, Rv};
use crate::key::{Key, Material};
use crate::keys::{Domain, WrappingKey};
use crate::sessions::Id;
use crate::{Module, blob, spki, strength};
use adjunct_ep11_wire::codes::control;
use adjunct_ep11_wire::function::Function;
use adjunct_mechanisms::rv as mechanisms;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Who asks: a process as the system names it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// The effective user.
    pub uid: u32,
    /// The effective group.
    pub gid: u32,
    /// The supplementary groups.
    pub groups: Vec<u32>,
}

/// A result of a function; wiped when it goes.
pub type Bytes = Zeroizing<Vec<u8>>;

/// What a mechanism writes, of which it says the length: at most `most` bytes.
///
/// # Errors
/// `CKR_HOST_MEMORY`; the mechanism's.
pub(crate) fn filled(most: usize, write: impl FnOnce(&mut [u8]) -> mechanisms::Result<usize>) -> Result<Bytes> {
    let mut out = adjunct::memory::zeros(most)?;
    let length = write(&mut out)?;
    out.truncate(length);
    Ok(out)
}

/// The results of a function, as many as [`Function::results`] has.
pub type Results = Vec<Bytes>;

/// A request that is being done.
pub struct Context<'a> {
    /// The module.
    pub module: &'a Module,
    /// Who asks.
    pub caller: &'a Caller,
    /// The number of the domain.
    pub number: u8,
    /// The domain as it was when the request began: all of a request sees one state.
    pub domain: Domain,
    /// The version of the interface that the caller knows.
    pub api: u16,
    /// The function.
    pub function: Function,
    /// Its arguments, as many as it has.
    pub arguments: &'a [&'a [u8]],
}

impl<'a> Context<'a> {
    /// An argument, by its place.
    pub fn argument(&self, at: usize) -> &'a [u8] {
        self.arguments.get(at).copied().unwrap_or_default()
    }

    /// Checks that control points allow.
    ///
    /// # Errors
    /// `CKR_FUNCTION_CANCELED`.
    pub fn allow(&self, points: &[u8]) -> Result {
        self.domain.points.allow(points)
    }

    /// The compliance mode of new keys.
    pub fn mode(&self) -> u64 {
        self.domain.points.compliance()
    }

    /// Checks that a key that is bound to a session, or to none where that is zeros, may be used or made.
    ///
    /// # Errors
    /// `CKR_SESSION_CLOSED`; `CKR_FUNCTION_CANCELED` where only keys of sessions are allowed.
    pub fn session(&self, session: &[u8; 32]) -> Result {
        if *session == [0; 32] {
            return self.allow(&[control::NONSESSION]);
        }
        self.module.sessions.check(self.number, session)
    }

    /// The key of an argument: a blob, a public key with a MAC, or one without. That it may be used is checked: its wrapping key is here, its session is
    /// logged in, and control points allow what it is.
    ///
    /// # Errors
    /// `CKR_IBM_BLOB_ERROR`, `CKR_IBM_WKID_MISMATCH`, `CKR_IBM_WK_NOT_INITIALIZED`, `CKR_SESSION_CLOSED`, `CKR_FUNCTION_CANCELED`.
    pub fn key(&self, bytes: &[u8]) -> Result<Arc<Key>> {
        let (_, key) = self.key_with(bytes)?;
        Ok(key)
    }

    /// The key of an argument, and the wrapping key that it is under; none for a public key without a MAC.
    ///
    /// # Errors
    /// As [`Context::key`].
    pub fn key_with(&self, bytes: &[u8]) -> Result<(Option<&WrappingKey>, Arc<Key>)> {
        let public = spki::split(bytes).is_some();
        let with = if public { spki::key_of(self, bytes)? } else { Some(blob::key_of(&self.domain, bytes)?) };
        let key = self.module.cache.get_or_make(self.number, bytes, || {
            let key = match with {
                Some(with) if !public => Key::open(with, bytes)?,
                with => spki::open(with, bytes)?,
            };
            let bytes = key.memory();
            Ok::<_, Rv>((key, bytes))
        })?;
        if public {
            // One without a MAC is bound to nothing.
            if key.head.session != [0; 32] {
                self.session(&key.head.session)?;
            }
        } else {
            self.session(&key.head.session)?;
            strength::allow(self.domain.points, &key)?;
        }
        Ok((with, key))
    }

    /// A new private or secret key, which control points allow.
    ///
    /// # Errors
    /// `CKR_FUNCTION_CANCELED`.
    pub fn new_key(&self, material: Material, flags: u32, session: Id) -> Result<Key> {
        let head = Head { session, flags, mode: self.mode() };
        let key = Key { material, head, vouched: true };
        strength::allow(self.domain.points, &key)?;
        Ok(key)
    }
}
