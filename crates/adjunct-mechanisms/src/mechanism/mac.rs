//! MACs: HMAC, CMAC and GMAC, made and checked.

use super::common::keep;
use super::params::{Params, Shape};
use super::registry::{self, SIGNS, Signs};
use super::{Mechanism, aead, hmac};
use crate::object::Held;
use crate::object::prepared::Prepared;
use crate::operation::{Again, Follows, Signer, Verifier};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::InOut;
use adjunct::ops::aead::gcm_parts;
use adjunct::ops::digest::{MAX_SAVED, MAX_SIZE, Part, SHA256};
use adjunct::ops::mac::{Cmac, CmacMessage, Hmac, HmacMessage, MAX_SAVED_CMAC};
use cryptoki_sys::*;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// What a mechanism computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MacKind {
    /// With the hash of the mechanism's entry.
    Hmac,
    AesCmac,
    Des3Cmac,
    Gmac,
}

/// The MACs of a kind of which the mechanism's entry says the rest.
macro_rules! macs {
    ($kind:expr) => {
        Signs {
            signer: |mechanism, key| Ok(Mac::new($kind, mechanism, key)?),
            verifier: |mechanism, key| Ok(Mac::new($kind, mechanism, key)?),
        }
    };
}

pub(super) const HMAC: Signs = macs!(MacKind::Hmac);
pub(super) const AES_CMAC: Signs = macs!(MacKind::AesCmac);
pub(super) const DES3_CMAC: Signs = macs!(MacKind::Des3Cmac);
pub(super) const GMAC: Signs = macs!(MacKind::Gmac);

/// A message under the HMAC that the key has prepared.
struct Hashing {
    key: Prepared<Hmac>,
    message: HmacMessage,
}

/// A message under the CMAC that the key has prepared.
struct Chaining {
    key: Prepared<Cmac>,
    message: CmacMessage,
}

/// A message that is authenticated by GHASH alone: kept until its end.
struct Gmac {
    key: Prepared<gcm_parts::GcmMessageKey>,
    iv: Box<[u8]>,
    message: Zeroizing<Vec<u8>>,
}

// What holds it is in memory of its own.
#[allow(clippy::large_enum_variant)]
enum Computing {
    Hmac(Hashing),
    Cmac(Chaining),
    Gmac(Gmac),
}

/// A MAC in the making, or being checked.
struct Mac {
    computing: Computing,
    /// The bytes of the result that count.
    length: usize,
    /// All bytes of the result.
    most: usize,
    /// Whether the caller says how many count.
    general: bool,
}

impl Mac {
    fn new(kind: MacKind, mechanism: Mechanism<'_>, key: Held) -> Result<Box<Mac>> {
        let (params, general) = (mechanism.params, matches!(mechanism.entry.shape, Shape::Number));
        let (computing, most) = match kind {
            MacKind::Hmac => {
                let hash = mechanism.entry.hash.ok_or(Rv(CKR_MECHANISM_INVALID))?;
                let own = hmac::key_type(hash);
                let fits = key.key_type().is_some_and(|kind| kind == CKK_GENERIC_SECRET || kind == own);
                ensure(fits, CKR_KEY_TYPE_INCONSISTENT)?;
                let key = Prepared::<Hmac>::new(key, hash.method())?;
                let message = key.get()?.begin();
                (Computing::Hmac(Hashing { key, message }), hash.size())
            }
            MacKind::AesCmac | MacKind::Des3Cmac => {
                // The form is that of the key's type.
                let aes = key.key_type() == Some(CKK_AES);
                ensure(aes == (kind == MacKind::AesCmac), CKR_KEY_TYPE_INCONSISTENT)?;
                let key = Prepared::<Cmac>::new(key, ())?;
                let message = key.get()?.begin();
                (Computing::Cmac(Chaining { key, message }), if aes { 16 } else { 8 })
            }
            MacKind::Gmac => {
                let (iv, length) = match params {
                    Params::Bytes(iv) => (iv, 16),
                    Params::Gcm { iv, aad: &[], tag_bits } if tag_bits.is_multiple_of(8) => (iv, tag_bits / 8),
                    _ => return fail(CKR_MECHANISM_PARAM_INVALID),
                };
                ensure(!iv.is_empty() && (4..=16).contains(&length), CKR_MECHANISM_PARAM_INVALID)?;
                let key = Prepared::new(key, ())?;
                let gmac = Gmac { key, iv: aead::boxed(iv)?, message: Zeroizing::new(Vec::new()) };
                let (computing, length) = (Computing::Gmac(gmac), length as usize);
                return Ok(Box::new(Mac { computing, length, most: 16, general }));
            }
        };
        let length = length(&params, most, general).ok_or(Rv(CKR_MECHANISM_PARAM_INVALID))?;
        Ok(Box::new(Mac { computing, length, most, general }))
    }

    /// The saved state: the length of the result, a hash of the key, and the message so far. `None` for a MAC that is not an HMAC.
    fn save(&self) -> Option<Zeroizing<Vec<u8>>> {
        let Computing::Hmac(Hashing { key, message }) = &self.computing else { return None };
        let mut room = Zeroizing::new([0; MAX_SAVED]);
        let saved = message.save(&mut room).ok()?;
        let mut state = Zeroizing::new(Vec::with_capacity(1 + KEY_HASH + MAX_SAVED));
        state.push(self.length as u8);
        state.extend_from_slice(&key_hash(key.get().ok()?)?);
        state.extend_from_slice(saved);
        Some(state)
    }

    /// Goes on with what was saved.
    fn restore(mechanism: CK_MECHANISM_TYPE, key: Held, state: &[u8]) -> Result<Box<Mac>> {
        let invalid = Rv(CKR_SAVED_STATE_INVALID);
        let entry = registry::find(mechanism).filter(|entry| entry.flags == SIGNS && entry.hash.is_some());
        let general = matches!(entry.ok_or(invalid)?.shape, Shape::Number);
        let (length, state) = state.split_first().ok_or(invalid)?;
        let (hash, state) = state.split_first_chunk::<KEY_HASH>().ok_or(invalid)?;
        let params = if general { Params::Number(u64::from(*length)) } else { Params::None };
        let mut mac = Mac::new(MacKind::Hmac, Mechanism::new(mechanism, params), key)?;
        let Computing::Hmac(Hashing { key, message }) = &mut mac.computing else { return Err(invalid) };
        let own = key_hash(key.get()?).ok_or(Rv(CKR_STATE_UNSAVEABLE))?;
        ensure(bool::from(own.ct_eq(hash)), CKR_KEY_CHANGED)?;
        message.restore(state).map_err(|_| invalid)?;
        Ok(mac)
    }

    fn take(&mut self, part: &[u8]) -> Result {
        match &mut self.computing {
            Computing::Hmac(hmac) => hmac.message.update(part),
            Computing::Cmac(cmac) => cmac.message.update(cmac.key.get()?, part),
            Computing::Gmac(gmac) => keep(&mut gmac.message, part)?,
        }
        Ok(())
    }

    /// Calls `body` with the bytes of the result that count.
    fn result<R>(&mut self, body: impl FnOnce(&[u8]) -> R) -> Result<R> {
        let mut out = [0; MAX_SIZE];
        let done = self.end(&mut out).map(|()| body(&out[..self.length]));
        adjunct::wipe(&mut out);
        done
    }

    /// The whole result, into `out`, which has room for it.
    fn end(&mut self, out: &mut [u8]) -> Result {
        match &mut self.computing {
            Computing::Hmac(Hashing { key, message }) => message.finish(key.get()?, out)?,
            Computing::Cmac(Chaining { key, message }) => message.finish(key.get()?, out)?,
            Computing::Gmac(Gmac { key, iv, message }) => {
                let mut tag = [0; 16];
                key.get()?
                    .message(true, iv, message, InOut::in_place(&mut []), &mut tag)
                    .map_err(|_| Rv(CKR_DATA_LEN_RANGE))?;
                out[..16].copy_from_slice(&tag);
            }
        }
        Ok(())
    }
}

/// How many bytes of a result count.
fn length(params: &Params<'_>, most: usize, general: bool) -> Option<usize> {
    match *params {
        Params::None if !general => Some(most),
        Params::Number(length) if general && (1..=most as u64).contains(&length) => Some(length as usize),
        _ => None,
    }
}

/// Goes on with a MAC that was saved.
///
/// # Errors
/// `CKR_SAVED_STATE_INVALID`, `CKR_KEY_CHANGED`, `CKR_KEY_TYPE_INCONSISTENT`.
pub fn restore_signer(mechanism: CK_MECHANISM_TYPE, key: Held, state: &[u8]) -> Result<Box<dyn Signer>> {
    Ok(Mac::restore(mechanism, key, state)?)
}

/// Goes on with the check of a MAC that was saved.
///
/// # Errors
/// As [`restore_signer`].
pub fn restore_verifier(mechanism: CK_MECHANISM_TYPE, key: Held, state: &[u8]) -> Result<Box<dyn Verifier>> {
    Ok(Mac::restore(mechanism, key, state)?)
}

const KEY_HASH: usize = 32;

/// A hash that distinguishes a key from others; `None` for one that is not here.
fn key_hash(hmac: &Hmac) -> Option<[u8; KEY_HASH]> {
    let (mut digest, mut out) = (Part::new(&SHA256), [0; KEY_HASH]);
    digest.update(hmac.block_key().ok()?);
    digest.finish(&mut out);
    Some(out)
}

impl Again for Mac {
    fn follows(&self) -> Follows {
        match &self.computing {
            Computing::Hmac(hmac) => hmac.key.key().follows(),
            Computing::Cmac(cmac) => cmac.key.key().follows(),
            Computing::Gmac(_) => Follows::Never,
        }
    }

    fn rest(&mut self) {
        // At the beginning of the next message nothing is left of this one.
        match &mut self.computing {
            Computing::Hmac(Hashing { key, message }) => {
                if let Ok(key) = key.get() {
                    message.begin(key);
                }
            }
            Computing::Cmac(cmac) => cmac.message.begin(),
            Computing::Gmac(_) => {}
        }
    }

    fn again(&mut self, params: &Params<'_>) -> bool {
        let Some(length) = length(params, self.most, self.general) else { return false };
        self.length = length;
        true
    }

    fn running(&self) -> Option<Zeroizing<Vec<u8>>> {
        match &self.computing {
            Computing::Hmac(hmac) => {
                let mut room = Zeroizing::new([0; MAX_SAVED]);
                let saved = hmac.message.save(&mut room).ok()?;
                Some(Zeroizing::new(saved.to_vec()))
            }
            Computing::Cmac(cmac) => {
                let mut room = Zeroizing::new([0; MAX_SAVED_CMAC]);
                cmac.message.save(&mut room).ok()?;
                Some(Zeroizing::new(room.to_vec()))
            }
            Computing::Gmac(_) => None,
        }
    }

    fn resume(&mut self, running: &[u8]) -> Result {
        let invalid = |_| Rv(CKR_SAVED_STATE_INVALID);
        match &mut self.computing {
            Computing::Hmac(hmac) => hmac.message.restore(running).map_err(invalid),
            Computing::Cmac(Chaining { key, message }) => message.restore(key.get()?, running).map_err(invalid),
            Computing::Gmac(_) => fail(CKR_SAVED_STATE_INVALID),
        }
    }
}

impl Signer for Mac {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn length(&self) -> usize {
        self.length
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let out = out.get_mut(..self.length).ok_or(Rv(CKR_FUNCTION_FAILED))?;
        if self.length == self.most && !matches!(self.computing, Computing::Gmac(_)) {
            self.end(out)?;
        } else {
            self.result(|made| out.copy_from_slice(made))?;
        }
        Ok(self.length)
    }

    fn once(&mut self, data: &[u8], out: &mut [u8]) -> Result<usize> {
        match (&self.computing, out.len()) {
            (Computing::Cmac(cmac), length) if length == self.length && length == self.most => {
                cmac.key.get()?.whole(data, out)?;
                Ok(length)
            }
            _ => {
                self.take(data)?;
                Signer::finish(self, out)
            }
        }
    }

    fn state(&self) -> Option<Zeroizing<Vec<u8>>> {
        self.save()
    }
}

impl Verifier for Mac {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn finish(&mut self, signature: &[u8]) -> Result {
        ensure(signature.len() == self.length, CKR_SIGNATURE_LEN_RANGE)?;
        let good = self.result(|made| bool::from(made.ct_eq(signature)))?;
        ensure(good, CKR_SIGNATURE_INVALID)
    }

    fn state(&self) -> Option<Zeroizing<Vec<u8>>> {
        self.save()
    }
}
