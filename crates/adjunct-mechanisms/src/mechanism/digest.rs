//! Hashes by themselves.

use super::Mechanism;
use super::hash::Hash;
use super::params::{Params, Shape};
use super::registry::{self, Entry};
use crate::operation::{Again, Digester, Follows};
use crate::rv::{Result, Rv, ensure};
use adjunct::ops::digest::{Digest, MAX_SAVED};
use cryptoki_sys::*;
use zeroize::Zeroizing;

const fn entry(kind: CK_MECHANISM_TYPE, hash: Hash) -> Entry {
    Entry::new(kind, 0, 0, CKF_DIGEST, Shape::Bytes).hash(hash).digest(begin)
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry(CKM_MD5, Hash::Md5),
    entry(CKM_SHA_1, Hash::Sha1),
    entry(CKM_SHA224, Hash::Sha224),
    entry(CKM_SHA256, Hash::Sha256),
    entry(CKM_SHA384, Hash::Sha384),
    entry(CKM_SHA512, Hash::Sha512),
    entry(CKM_SHA512_224, Hash::Sha512_224),
    entry(CKM_SHA512_256, Hash::Sha512_256),
    entry(CKM_SHA3_224, Hash::Sha3_224),
    entry(CKM_SHA3_256, Hash::Sha3_256),
    entry(CKM_SHA3_384, Hash::Sha3_384),
    entry(CKM_SHA3_512, Hash::Sha3_512),
];

fn begin(mechanism: Mechanism<'_>) -> Result<Box<dyn Digester>> {
    let hash = mechanism.entry.hash.ok_or(Rv(CKR_MECHANISM_INVALID))?;
    ensure(mechanism.params == Params::None, CKR_MECHANISM_PARAM_INVALID)?;
    Ok(Digest::boxed(hash.method())?)
}

/// The hash of a mechanism that hashes and does no more.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID` for another.
pub fn hash_of(kind: CK_MECHANISM_TYPE) -> Result<Hash> {
    let entry = registry::find(kind).filter(|entry| entry.flags == CKF_DIGEST);
    entry.and_then(|entry| entry.hash).ok_or(Rv(CKR_MECHANISM_PARAM_INVALID))
}

/// Goes on with a hash that was saved.
///
/// # Errors
/// `CKR_SAVED_STATE_INVALID`.
pub fn restore(mechanism: CK_MECHANISM_TYPE, state: &[u8]) -> Result<Box<dyn Digester>> {
    let invalid = Rv(CKR_SAVED_STATE_INVALID);
    let mut digest = Digest::boxed(hash_of(mechanism).map_err(|_| invalid)?.method())?;
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

    fn running(&self) -> Option<Zeroizing<Vec<u8>>> {
        Digester::state(self)
    }

    fn resume(&mut self, running: &[u8]) -> Result {
        self.restore(running).map_err(|_| Rv(CKR_SAVED_STATE_INVALID))
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
