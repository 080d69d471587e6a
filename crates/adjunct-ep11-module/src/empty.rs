//! Signatures of no data by RSA's PKCS #1 without a hash. They are valid (RFC 8017, 9.2, of an empty T; PKCS #11 sets no least length), and the core, which
//! makes them, takes none for valid: here the block of the public operation is compared instead.

use crate::error::Result as Ours;
use crate::key::Key;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::operation::{Again, Verifier};
use adjunct_mechanisms::rv::Result;
use cryptoki_sys::CKM_RSA_X_509;
use zeroize::Zeroizing;

/// Checks by `other` what has data, and else by `raw`.
struct Either {
    other: Box<dyn Verifier>,
    raw: Box<dyn Verifier>,
    bytes: usize,
    any: bool,
}

/// A verifier of a public key's signatures of data, which `other` checks, or of no data.
pub(crate) fn verifier(other: Box<dyn Verifier>, key: &Key) -> Ours<Box<dyn Verifier>> {
    let raw = Mechanism::new(CKM_RSA_X_509, Params::None).verifier(key.material.held.clone())?;
    let bytes = key.material.bits.div_ceil(8) as usize;
    Ok(Box::new(Either { other, raw, bytes, any: false }))
}

impl Again for Either {
    fn running(&self) -> Option<Zeroizing<Vec<u8>>> {
        self.other.running()
    }

    fn resume(&mut self, running: &[u8]) -> Result {
        // What runs is the data themselves.
        self.any = !running.is_empty();
        self.other.resume(running)
    }
}

impl Verifier for Either {
    fn update(&mut self, data: &[u8]) -> Result {
        self.any |= !data.is_empty();
        self.other.update(data)
    }

    fn finish(&mut self, signature: &[u8]) -> Result {
        if self.any {
            return self.other.finish(signature);
        }
        let mut block = vec![0xff; self.bytes];
        for (at, byte) in [(0, 0), (1, 1), (self.bytes - 1, 0)] {
            block[at] = byte;
        }
        self.raw.update(&block)?;
        self.raw.finish(signature)
    }
}
