//! Hashes by themselves.

use super::Mechanism;
use super::hash::Hash;
use super::params::Params;
use crate::operation::Digester;
use crate::rv::{Result, Rv, ensure};
use adjunct::ops::digest::Digest;
use cryptoki_sys::*;
use zeroize::Zeroizing;

struct Hashing(Digest);

/// Begins a hash.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`.
pub fn begin(mechanism: Mechanism<'_>) -> Result<Box<dyn Digester>> {
    let hash = Hash::of(mechanism.kind).map_err(|_| Rv(CKR_MECHANISM_INVALID))?;
    ensure(mechanism.params == Params::None, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(Box::new(Hashing(Digest::new(hash.method()))))
}

impl Digester for Hashing {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn size(&self) -> usize {
        self.0.method().size
    }

    fn finish(mut self: Box<Self>, out: &mut [u8]) {
        self.0.finish(out);
    }

    fn state(&self) -> Option<Zeroizing<Vec<u8>>> {
        None
    }
}
