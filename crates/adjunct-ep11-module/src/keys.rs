//! The keys that wrap: a domain's wrapping keys, and the keys that are derived of them.

use crate::admin::Administration;
use crate::control::Points;
use crate::error::{Result, Rv};
use adjunct::ops::digest::{SHA256, sha256};
use adjunct::ops::mac::hmac_within;
use adjunct_ep11_wire::blob::WKID_LENGTH;
use adjunct_ep11_wire::codes::rv;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A secret of 32 bytes, wiped when it goes.
pub type Secret = Zeroizing<[u8; 32]>;

/// What is sealed under a wrapping key. Each has keys of its own, so that none can be taken for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A key's blob.
    Key,
    /// The state of an operation of several calls.
    State,
    /// A session.
    Session,
    /// The MAC of a public key.
    PublicKey,
}

impl Purpose {
    const ALL: [Purpose; 4] = [Purpose::Key, Purpose::State, Purpose::Session, Purpose::PublicKey];

    const fn label(self) -> &'static [u8] {
        match self {
            Purpose::Key => b"adjunct EP11 key",
            Purpose::State => b"adjunct EP11 state",
            Purpose::Session => b"adjunct EP11 session",
            Purpose::PublicKey => b"adjunct EP11 public key",
        }
    }
}

/// A wrapping key. Its verification pattern is SHA-256 of 0x01 and the key.
pub struct WrappingKey {
    pattern: [u8; 32],
    /// For each purpose the key that encrypts and the one that authenticates: HMAC-SHA-256 under the wrapping key of the label and a number.
    derived: [[Secret; 2]; Purpose::ALL.len()],
}

adjunct::opaque_debug!(WrappingKey);

impl WrappingKey {
    /// The key of these bytes.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn new(secret: &[u8; 32]) -> Result<WrappingKey> {
        let pattern = sha256(&[&[1], secret]);
        let mut derived: [[Secret; 2]; Purpose::ALL.len()] = Default::default();
        for (keys, purpose) in derived.iter_mut().zip(Purpose::ALL) {
            for (number, key) in (1..).zip(keys) {
                hmac(secret, &[purpose.label(), &[0, number]], key)?;
            }
        }
        Ok(WrappingKey { pattern, derived })
    }

    /// The verification pattern.
    pub fn pattern(&self) -> &[u8; 32] {
        &self.pattern
    }

    /// The first half of the verification pattern.
    pub fn id(&self) -> &[u8; WKID_LENGTH] {
        self.pattern.first_chunk().unwrap_or(&[0; WKID_LENGTH])
    }

    /// The key that encrypts for a purpose.
    pub(crate) fn encrypting(&self, purpose: Purpose) -> &Secret {
        &self.derived[purpose as usize][0]
    }

    /// The key that authenticates for a purpose.
    pub(crate) fn authenticating(&self, purpose: Purpose) -> &Secret {
        &self.derived[purpose as usize][1]
    }
}

/// HMAC-SHA-256, which is a part of an operation and not counted.
pub(crate) fn hmac(key: &[u8; 32], parts: &[&[u8]], out: &mut [u8; 32]) -> Result {
    Ok(hmac_within(&SHA256, key, parts, out)?)
}

/// What a domain has at a moment.
#[derive(Debug, Clone)]
pub struct Domain {
    /// The wrapping key in use.
    pub current: Option<Arc<WrappingKey>>,
    /// The next one, where it is whole.
    pub next: Option<Arc<WrappingKey>>,
    /// Whether the next one is committed.
    pub committed: bool,
    /// The control points.
    pub points: Points,
}

impl Domain {
    /// The key that new blobs are made with.
    ///
    /// # Errors
    /// `CKR_IBM_WK_NOT_INITIALIZED`.
    pub fn sealing(&self) -> Result<&Arc<WrappingKey>> {
        self.current.as_ref().ok_or(Rv(rv::IBM_WK_NOT_INITIALIZED))
    }

    /// The key with an identifier: the one in use, or the next one once it is committed.
    ///
    /// # Errors
    /// `CKR_IBM_WKID_MISMATCH`; `CKR_IBM_WK_NOT_INITIALIZED` where there is none at all.
    pub fn opening(&self, id: &[u8; WKID_LENGTH]) -> Result<&Arc<WrappingKey>> {
        let next = self.next.as_ref().filter(|_| self.committed);
        if self.current.is_none() && next.is_none() {
            return Err(Rv(rv::IBM_WK_NOT_INITIALIZED));
        }
        let mut keys = [self.current.as_ref(), next].into_iter().flatten();
        keys.find(|key| key.id() == id).ok_or(Rv(rv::IBM_WKID_MISMATCH))
    }
}

/// Who keeps wrapping keys and control points.
pub trait Keys: Send + Sync {
    /// What a domain has now; `None` where there is no such domain. Each request asks once, so it is quick.
    fn domain(&self, domain: u8) -> Option<Domain>;

    /// Forgets what it has of keys beside those that are in use now.
    fn forget(&self) {}

    /// Who keeps what administrators rule; `None` where nothing is administered by commands.
    fn administration(&self) -> Option<&dyn Administration> {
        None
    }
}
