//! Hashes by themselves.

use super::Mechanism;
use super::hash::Hash;
use super::params::Params;
use crate::operation::{Again, Digester, Follows};
use crate::rv::{Result, Rv, ensure};
use adjunct::ops::digest::{Digest, MAX_SAVED};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// Begins a hash.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`.
pub fn begin(mechanism: Mechanism<'_>) -> Result<Box<dyn Digester>> {
    let hash = Hash::of(mechanism.kind).map_err(|_| Rv(CKR_MECHANISM_INVALID))?;
    ensure(mechanism.params == Params::None, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(Digest::boxed(hash.method())?)
}

/// Goes on with a hash that was saved.
///
/// # Errors
/// `CKR_SAVED_STATE_INVALID`.
pub fn restore(mechanism: CK_MECHANISM_TYPE, state: &[u8]) -> Result<Box<dyn Digester>> {
    let invalid = Rv(CKR_SAVED_STATE_INVALID);
    let mut digest = Digest::boxed(Hash::of(mechanism).map_err(|_| invalid)?.method())?;
    digest.restore(state).map_err(|_| invalid)?;
    Ok(digest)
}

impl Again for Digest {
    fn follows(&self) -> Follows {
        Follows::Always
    }

    fn rest(&mut self) {
        self.clear();
    }

    fn again(&mut self, params: &Params<'_>) -> bool {
        *params == Params::None
    }
}

impl Digester for Digest {
    fn update(&mut self, data: &[u8]) {
        Digest::update(self, data);
    }

    fn size(&self) -> usize {
        self.method().size
    }

    fn finish(&mut self, out: &mut [u8]) {
        Digest::finish(self, out);
    }

    fn state(&self) -> Option<Zeroizing<Vec<u8>>> {
        let mut room = Zeroizing::new([0; MAX_SAVED]);
        let saved = self.save(&mut room)?;
        Some(Zeroizing::new(saved.to_vec()))
    }
}
