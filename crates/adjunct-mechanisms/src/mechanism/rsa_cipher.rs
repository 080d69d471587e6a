//! Encryption with RSA (RFC 8017, 7), also of keys that are wrapped.
//!
//! A wrong padding of PKCS #1 v1.5 is not reported: decryption then gives bytes whose values and length follow from the key and the ciphertext
//! (implicit rejection; the same bytes that OpenSSL 3.2 and later give), with `CKR_OK`, in the same time. A return value of its own would be what
//! Bleichenbacher's attack needs, whatever a program does with it. The program fails when it uses those bytes: as a premaster secret they have a
//! wrong length or version, and as a key they open nothing. With OAEP an error says that a message is wrong, and not what is wrong about it.

use super::Mechanism;
use super::generate::no_params;
use super::params::Params;
use crate::object::Held;
use crate::object::key::ObjectKey;
use crate::operation::{Again, Cipher};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::rsa::{self, Encryption, MAX_SIZE, Method};
use cryptoki_sys::*;
use std::sync::Arc;
use zeroize::Zeroizing;

/// A padding scheme with its parameters, which it owns.
enum Scheme {
    Pkcs1,
    Raw,
    Oaep { hash: &'static Method, mgf1: &'static Method, label: Vec<u8> },
}

impl Scheme {
    /// The longest message with a modulus of `size` bytes; `None` where the scheme does not fit into it.
    fn most(&self, size: usize) -> Option<usize> {
        match self {
            Scheme::Pkcs1 => size.checked_sub(11),
            Scheme::Raw => Some(size),
            Scheme::Oaep { hash, .. } => size.checked_sub(2 * hash.size + 2),
        }
    }
}

/// A message that is encrypted or decrypted by RSA: it is kept until its end.
struct Rsa {
    key: Arc<ObjectKey>,
    scheme: Scheme,
    encrypt: bool,
    message: Zeroizing<Vec<u8>>,
}

/// Begins an encryption or a decryption by PKCS #1 v1.5.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`, `CKR_KEY_SIZE_RANGE`.
pub fn pkcs1(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    no_params(mechanism)?;
    begin(Scheme::Pkcs1, &key, encrypt)
}

/// Begins the bare operation on a number.
///
/// # Errors
/// As [`pkcs1`].
pub fn raw(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    no_params(mechanism)?;
    begin(Scheme::Raw, &key, encrypt)
}

/// Begins an encryption or a decryption by OAEP.
///
/// # Errors
/// As [`pkcs1`].
pub fn oaep(mechanism: Mechanism<'_>, key: Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    let Params::Oaep { hash, mgf1, label } = mechanism.params else { return fail(CKR_MECHANISM_PARAM_INVALID) };
    let mut copy = Vec::new();
    copy.try_reserve_exact(label.len())?;
    copy.extend_from_slice(label);
    begin(Scheme::Oaep { hash: hash.method(), mgf1: mgf1.method(), label: copy }, &key, encrypt)
}

fn begin(scheme: Scheme, key: &Held, encrypt: bool) -> Result<Box<dyn Cipher>> {
    let key = key.key()?;
    let rsa = rsa_key(&key, encrypt)?;
    ensure(scheme.most(rsa.size()).is_some(), CKR_KEY_SIZE_RANGE)?;
    Ok(Box::new(Rsa { key, scheme, encrypt, message: Zeroizing::default() }))
}

fn rsa_key(key: &ObjectKey, encrypt: bool) -> Result<&rsa::RsaKey> {
    match key {
        ObjectKey::Rsa(key) if encrypt || key.is_private() => Ok(key),
        _ => fail(CKR_KEY_TYPE_INCONSISTENT),
    }
}

fn failed(error: adjunct::Error) -> Rv {
    match error {
        adjunct::Error::Memory => Rv(CKR_HOST_MEMORY),
        error if !error.may_fall_back() => error.into(),
        // A number that is not below the modulus.
        adjunct::Error::Unsupported(_) => Rv(CKR_DATA_INVALID),
        adjunct::Error::Length { .. } => Rv(CKR_DATA_LEN_RANGE),
        _ => Rv(CKR_FUNCTION_FAILED),
    }
}

impl Rsa {
    fn size(&self) -> usize {
        rsa_key(&self.key, self.encrypt).map_or(0, rsa::RsaKey::size)
    }

    /// The longest message that it takes.
    fn most(&self) -> usize {
        if self.encrypt { self.scheme.most(self.size()).unwrap_or(0) } else { self.size() }
    }

    /// The error of a message of another length than it takes.
    const fn length_error(&self) -> CK_RV {
        if self.encrypt { CKR_DATA_LEN_RANGE } else { CKR_ENCRYPTED_DATA_LEN_RANGE }
    }

    fn encrypt(&self, key: &rsa::RsaKey, out: &mut [u8]) -> Result<usize> {
        let out = &mut out[..key.size()];
        let scheme = match &self.scheme {
            Scheme::Pkcs1 => Encryption::Pkcs1,
            Scheme::Oaep { hash, mgf1, label } => Encryption::Oaep { hash, mgf1, label },
            Scheme::Raw => {
                // A shorter message is the number that it is.
                let mut block = Zeroizing::new([0; MAX_SIZE]);
                let block = &mut block[..key.size()];
                block[key.size() - self.message.len()..].copy_from_slice(&self.message);
                key.encrypt(Encryption::Raw, block, out).map_err(failed)?;
                return Ok(out.len());
            }
        };
        key.encrypt(scheme, &self.message, out).map_err(failed)?;
        Ok(out.len())
    }

    fn decrypt(&self, key: &rsa::RsaKey, out: &mut [u8]) -> Result<usize> {
        let invalid = |error| match error {
            adjunct::Error::Memory => Rv(CKR_HOST_MEMORY),
            error if !error.may_fall_back() => error.into(),
            adjunct::Error::Unsupported(_) | adjunct::Error::Verify => Rv(CKR_ENCRYPTED_DATA_INVALID),
            _ => Rv(CKR_FUNCTION_FAILED),
        };
        let mut block = Zeroizing::new([0; MAX_SIZE]);
        let block = &mut block[..key.size()];
        key.private(&self.message, block).map_err(invalid)?;
        let message = match &self.scheme {
            Scheme::Pkcs1 => {
                let length = rsa::pkcs1_decode_implicit(key, &self.message, block).map_err(invalid)?;
                &block[..length]
            }
            Scheme::Raw => block,
            Scheme::Oaep { hash, mgf1, label } => rsa::oaep_decode(hash, mgf1, label, block).map_err(invalid)?,
        };
        out.get_mut(..message.len()).ok_or(Rv(CKR_FUNCTION_FAILED))?.copy_from_slice(message);
        Ok(message.len())
    }
}

impl Again for Rsa {
    fn running(&self) -> Option<Zeroizing<Vec<u8>>> {
        Some(self.message.clone())
    }

    fn resume(&mut self, running: &[u8]) -> Result {
        ensure(running.len() <= self.most(), CKR_SAVED_STATE_INVALID)?;
        self.message.clear();
        self.update(running, &mut []).map(drop)
    }
}

impl Cipher for Rsa {
    fn update_length(&self, _input: usize) -> usize {
        0
    }

    fn update(&mut self, input: &[u8], _out: &mut [u8]) -> Result<usize> {
        ensure(input.len() <= self.most().saturating_sub(self.message.len()), self.length_error())?;
        // At once, so that no copy stays behind in memory given back.
        let more = self.most() - self.message.len();
        self.message.try_reserve_exact(more)?;
        self.message.extend_from_slice(input);
        Ok(0)
    }

    fn exact(&self) -> bool {
        self.encrypt || matches!(self.scheme, Scheme::Raw)
    }

    fn final_length(&self) -> usize {
        if self.encrypt { self.size() } else { self.scheme.most(self.size()).unwrap_or(0) }
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let key = rsa_key(&self.key, self.encrypt)?;
        if self.encrypt {
            return self.encrypt(key, out);
        }
        ensure(self.message.len() == key.size(), CKR_ENCRYPTED_DATA_LEN_RANGE)?;
        self.decrypt(key, out)
    }
}
