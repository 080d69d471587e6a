//! TLS's Finished messages (RFC 5246, 7.4.9; RFC 2246, 7.4.9) as MACs: of the handshake's hash, with a master secret.

use super::Mechanism;
use super::derive::tls::Prf;
use super::params::{Params, Shape};
use super::registry::{Entry, LONG, SIGNS, Signs};
use crate::object::Held;
use crate::operation::{Again, Signer, Verifier};
use crate::rv::{Result, Rv, ensure, fail};
use cryptoki_sys::*;
use subtle::ConstantTimeEq;

/// The most bytes of a handshake's hash: SHA-512 has 64, MD5 and SHA-1 together 36.
const MOST: usize = 64;
/// The longest result.
const LONGEST: u64 = 255;

struct TlsMac {
    key: Held,
    prf: Prf,
    server: bool,
    length: usize,
    hash: Vec<u8>,
}

const SIGNS_FINISHED: Signs = Signs {
    signer: |mechanism, key| Ok(Box::new(TlsMac::new(mechanism, key)?)),
    verifier: |mechanism, key| Ok(Box::new(TlsMac::new(mechanism, key)?)),
};

pub const ENTRIES: &[Entry] = &[
    Entry::new(CKM_TLS_MAC, 1, LONG, SIGNS, Shape::TlsMac).signs(SIGNS_FINISHED),
    Entry::new(CKM_TLS12_MAC, 1, LONG, SIGNS, Shape::TlsMac).signs(SIGNS_FINISHED),
];

impl TlsMac {
    fn new(mechanism: Mechanism<'_>, key: Held) -> Result<TlsMac> {
        let Params::TlsMac { prf, length, server } = mechanism.params else { return fail(CKR_MECHANISM_PARAM_INVALID) };
        ensure((1..=LONGEST).contains(&length), CKR_MECHANISM_PARAM_INVALID)?;
        // CKM_TLS12_MAC is TLS 1.2's alone.
        ensure(mechanism.kind == CKM_TLS_MAC || prf != Prf::Tls10, CKR_MECHANISM_PARAM_INVALID)?;
        key.value()?;
        Ok(TlsMac { key, prf, server, length: length as usize, hash: Vec::new() })
    }

    fn take(&mut self, part: &[u8]) -> Result {
        ensure(part.len() <= MOST - self.hash.len(), CKR_DATA_LEN_RANGE)?;
        self.hash.extend_from_slice(part);
        Ok(())
    }

    fn result(&self) -> Result<super::derive::Secret> {
        let label: &[u8] = if self.server { b"server finished" } else { b"client finished" };
        self.prf.bytes(self.key.value()?, &[label, &self.hash], self.length)
    }
}

impl Again for TlsMac {}

impl Signer for TlsMac {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn length(&self) -> usize {
        self.length
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let made = self.result()?;
        out.get_mut(..made.len()).ok_or(Rv(CKR_FUNCTION_FAILED))?.copy_from_slice(&made);
        Ok(made.len())
    }
}

impl Verifier for TlsMac {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn finish(&mut self, signature: &[u8]) -> Result {
        ensure(signature.len() == self.length, CKR_SIGNATURE_LEN_RANGE)?;
        ensure(bool::from(self.result()?.ct_eq(signature)), CKR_SIGNATURE_INVALID)
    }
}
