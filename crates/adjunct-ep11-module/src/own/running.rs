//! Signatures by keys that the core does not have, as operations of one call or several.

use super::{Scheme, Shared};
use crate::error::{Result as Ours, Rv as Code, ensure};
use adjunct::ops::digest::{Digest, MAX_SIZE};
use adjunct_ep11_wire::codes::rv;
use adjunct_mechanisms::operation::{Again, Signer, Verifier};
use adjunct_mechanisms::rv::{Result, Rv};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// The longest data that are kept between calls.
const MOST_KEPT: usize = 512;

enum Data {
    Hashed(Box<Digest>),
    Plain(Vec<u8>),
}

/// A signature that is made or checked.
struct Running {
    key: Shared,
    scheme: Scheme,
    data: Data,
    length: usize,
}

fn begin(key: &Shared, scheme: Option<Scheme>) -> Ours<Running> {
    let inconsistent = Code(rv::KEY_TYPE_INCONSISTENT);
    let scheme = scheme.ok_or(inconsistent)?;
    let length = key.signature(scheme).ok_or(inconsistent)?;
    let data = match scheme.hash() {
        Some(hash) => Data::Hashed(Digest::boxed(hash.method())?),
        None => Data::Plain(Vec::new()),
    };
    Ok(Running { key: key.clone(), scheme, data, length })
}

/// Begins a signature.
///
/// # Errors
/// `CKR_KEY_TYPE_INCONSISTENT`.
pub(crate) fn signer(key: &Shared, scheme: Option<Scheme>) -> Ours<Box<dyn Signer>> {
    ensure(key.is_private(), rv::KEY_TYPE_INCONSISTENT)?;
    Ok(Box::new(begin(key, scheme)?))
}

/// Begins the check of a signature.
///
/// # Errors
/// `CKR_KEY_TYPE_INCONSISTENT`.
pub(crate) fn verifier(key: &Shared, scheme: Option<Scheme>) -> Ours<Box<dyn Verifier>> {
    Ok(Box::new(begin(key, scheme)?))
}

/// The core's value of one of ours.
fn outward(error: Code) -> Rv {
    Rv(error.0.into())
}

impl Running {
    fn take(&mut self, part: &[u8]) -> Result {
        match &mut self.data {
            Data::Hashed(digest) => digest.update(part),
            Data::Plain(data) => {
                data.try_reserve(part.len())?;
                data.extend_from_slice(part);
            }
        }
        Ok(())
    }

    /// Calls `body` with what is signed.
    fn signed<R>(&mut self, body: impl FnOnce(&Shared, Scheme, &[u8]) -> R) -> R {
        match &mut self.data {
            Data::Hashed(digest) => {
                let (mut room, size) = ([0; MAX_SIZE], digest.method().size);
                digest.finish(&mut room[..size]);
                body(&self.key, self.scheme, &room[..size])
            }
            Data::Plain(data) => body(&self.key, self.scheme, data),
        }
    }
}

impl Again for Running {
    fn running(&self) -> Option<Zeroizing<Vec<u8>>> {
        match &self.data {
            Data::Hashed(digest) => Again::running(&**digest),
            Data::Plain(data) if data.len() <= MOST_KEPT => Some(Zeroizing::new(data.clone())),
            Data::Plain(_) => None,
        }
    }

    fn resume(&mut self, running: &[u8]) -> Result {
        match &mut self.data {
            Data::Hashed(digest) => Again::resume(&mut **digest, running),
            Data::Plain(data) => {
                data.clear();
                self.take(running)
            }
        }
    }
}

impl Signer for Running {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn length(&self) -> usize {
        self.length
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let signature = self.signed(|key, scheme, data| key.sign(scheme, data)).map_err(outward)?;
        out[..signature.len()].copy_from_slice(&signature);
        Ok(signature.len())
    }
}

impl Verifier for Running {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn finish(&mut self, signature: &[u8]) -> Result {
        // Points of signatures have two lengths.
        let long = self.scheme == Scheme::Bls && signature.len() == 2 * self.length;
        adjunct_mechanisms::rv::ensure(long || signature.len() == self.length, CKR_SIGNATURE_LEN_RANGE)?;
        let good = self.signed(|key, scheme, data| key.verify(scheme, data, signature));
        adjunct_mechanisms::rv::ensure(good, CKR_SIGNATURE_INVALID)
    }
}
