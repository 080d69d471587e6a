//! Signatures with RSA and curves.

use super::Mechanism;
use super::hash::Hash;
use super::params::Params;
use super::registry::Signs;
use crate::curve448;
use crate::object::Held;
use crate::object::key::ObjectKey;
use crate::operation::{Again, Signer, Verifier};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::digest::{Digest, MAX_SIZE};
use adjunct::ops::ecx::{ed448, ed25519};
use adjunct::ops::rsa::{self, Salt, Signature};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// The signature scheme for a digest or data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scheme {
    /// PKCS #1 v1.5 of data as they are, or of a digest.
    Pkcs1(Option<Hash>),
    /// The bare operation, on data with zeros in front.
    Raw,
    Pss {
        hash: Hash,
        mgf1: Hash,
        salt: usize,
    },
    Ecdsa,
    Eddsa,
}

/// The data of a message so far: hashed, or collected.
enum Data {
    /// Data that is hashed as it comes.
    Hashed(Box<Digest>),
    /// The message itself, up to `most` bytes.
    Plain { data: Vec<u8>, most: usize },
}

/// A signature in the making, or being checked.
struct Signing {
    key: Held,
    scheme: Scheme,
    /// For Ed25519 and Ed448: whether a digest is signed, and the context; `None` for the plain form.
    form: Option<(bool, Vec<u8>)>,
    data: Data,
    /// Length of the signature in bytes.
    length: usize,
}

/// The family of a mechanism's scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Pkcs1,
    Raw,
    Pss,
    Ecdsa,
    Eddsa,
}

/// The signatures of a family; a mechanism's entry says the hash.
macro_rules! signs {
    ($family:expr) => {
        Signs {
            signer: |mechanism, key| signer($family, mechanism, &key),
            verifier: |mechanism, key| verifier($family, mechanism, &key),
        }
    };
}

pub const PKCS1: Signs = signs!(Family::Pkcs1);
pub const RAW: Signs = signs!(Family::Raw);
pub const PSS: Signs = signs!(Family::Pss);
pub const ECDSA: Signs = signs!(Family::Ecdsa);
pub const EDDSA: Signs = signs!(Family::Eddsa);

/// The form of Ed25519 or Ed448 that parameters ask for; `None` of the plain one (PKCS #11 3.2, 6.3.14).
fn eddsa_form(params: Params<'_>) -> Result<Option<(bool, Vec<u8>)>> {
    match params {
        Params::None | Params::Eddsa { prehash: false, context: &[] } => Ok(None),
        Params::Eddsa { prehash, context } if context.len() <= 255 => Ok(Some((prehash, context.to_vec()))),
        _ => fail(CKR_MECHANISM_PARAM_INVALID),
    }
}

impl Signing {
    fn new(family: Family, mechanism: Mechanism<'_>, key: &Held) -> Result<Signing> {
        let (hash, mut form) = (mechanism.entry.hash, None);
        let scheme = match (family, mechanism.params) {
            (Family::Pss, Params::Pss { hash: named, mgf1, salt }) => {
                ensure(hash.is_none_or(|hash| hash == named), CKR_MECHANISM_PARAM_INVALID)?;
                Scheme::Pss { hash: named, mgf1, salt }
            }
            (Family::Eddsa, params) => {
                form = eddsa_form(params)?;
                Scheme::Eddsa
            }
            (Family::Pkcs1, Params::None) => Scheme::Pkcs1(hash),
            (Family::Raw, Params::None) => Scheme::Raw,
            (Family::Ecdsa, Params::None) => Scheme::Ecdsa,
            _ => return fail(CKR_MECHANISM_PARAM_INVALID),
        };
        let made = key.key_here()?;
        let length = match &**made {
            ObjectKey::Rsa(key) => key.size(),
            ObjectKey::Ec(key) => 2 * key.group().field_len(),
            ObjectKey::Ed448 { .. } => ed448::SIGNATURE,
            _ => ed25519::SIGNATURE,
        };
        if matches!(&**made, ObjectKey::Ed448 { .. }) && form.is_some() {
            ensure(curve448::has_forms(), CKR_MECHANISM_PARAM_INVALID)?;
        }
        if let ObjectKey::Rsa(key) = &**made {
            fits(key.bits(), scheme)?;
        }
        let most = match (&**made, scheme) {
            (ObjectKey::Rsa(key), Scheme::Pkcs1(None)) => key.size().saturating_sub(11),
            (ObjectKey::Rsa(key), Scheme::Pkcs1(_) | Scheme::Raw) => key.size(),
            (ObjectKey::Rsa(_), Scheme::Pss { hash, .. }) => hash.size(),
            (ObjectKey::Ec(_), Scheme::Ecdsa)
            | (ObjectKey::Ed25519 { .. } | ObjectKey::Ed448 { .. }, Scheme::Eddsa) => usize::MAX,
            _ => return fail(CKR_KEY_TYPE_INCONSISTENT),
        };
        let data = match hash {
            Some(hash) => Data::Hashed(Box::new(Digest::new(hash.method()))),
            None => Data::Plain { data: Vec::new(), most },
        };
        Ok(Signing { key: key.clone(), scheme, form, data, length })
    }

    fn length(&self) -> usize {
        self.length
    }

    fn take(&mut self, part: &[u8]) -> Result {
        match &mut self.data {
            Data::Hashed(digest) => digest.update(part),
            Data::Plain { data, most } => {
                ensure(part.len() <= most.saturating_sub(data.len()), CKR_DATA_LEN_RANGE)?;
                data.try_reserve(part.len())?;
                data.extend_from_slice(part);
            }
        }
        Ok(())
    }

    /// Calls `body` with what is signed: the digest, or data as they are.
    fn signed<R>(
        &mut self,
        body: impl FnOnce(&ObjectKey, Scheme, Option<ed25519::Form<'_>>, &[u8]) -> Result<R>,
    ) -> Result<R> {
        let form = self.form.as_ref().map(|(prehash, context)| ed25519::Form { prehash: *prehash, context });
        match &mut self.data {
            Data::Hashed(digest) => {
                let (mut room, size) = ([0; MAX_SIZE], digest.method().size);
                digest.finish(&mut room[..size]);
                body(&**self.key.key_here()?, self.scheme, form, &room[..size])
            }
            Data::Plain { data, .. } => body(&**self.key.key_here()?, self.scheme, form, data),
        }
    }
}

/// Checks that a scheme fits into a modulus of `bits` bits: the hash at all, and the salt that is asked for besides.
///
/// # Errors
/// `CKR_KEY_SIZE_RANGE` where no salt would help, `CKR_MECHANISM_PARAM_INVALID` where a shorter one would.
fn fits(bits: usize, scheme: Scheme) -> Result {
    match scheme {
        Scheme::Pkcs1(hash) => {
            let coded = hash.map_or(0, |hash| rsa::Hash::One(hash.method()).coded_size());
            ensure(coded + 11 <= bits.div_ceil(8), CKR_KEY_SIZE_RANGE)
        }
        Scheme::Pss { hash, salt, .. } => {
            let most = rsa::pss_max_salt(bits, hash.size()).ok_or(Rv(CKR_KEY_SIZE_RANGE))?;
            ensure(salt <= most, CKR_MECHANISM_PARAM_INVALID)
        }
        _ => Ok(()),
    }
}

/// RSA's scheme for what the core signs, of data that fit.
fn rsa_scheme(scheme: Scheme, data: &[u8]) -> Result<Signature> {
    Ok(match scheme {
        Scheme::Pkcs1(hash) => Signature::Pkcs1(hash.map(|hash| rsa::Hash::One(hash.method()))),
        Scheme::Pss { hash, mgf1, salt } => {
            ensure(data.len() == hash.size(), CKR_DATA_LEN_RANGE)?;
            Signature::Pss { hash: hash.method(), mgf1: mgf1.method(), salt: Salt::Bytes(salt) }
        }
        _ => Signature::Raw,
    })
}

/// The return value of an operation that fails with a valid key.
fn failed(error: adjunct::Error) -> Rv {
    match error {
        adjunct::Error::Memory => Rv(CKR_HOST_MEMORY),
        adjunct::Error::Unsupported(_) | adjunct::Error::Length { .. } => Rv(CKR_DATA_LEN_RANGE),
        error if !error.may_fall_back() => error.into(),
        _ => Rv(CKR_FUNCTION_FAILED),
    }
}

/// Begins a signature.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`.
fn signer(family: Family, mechanism: Mechanism<'_>, key: &Held) -> Result<Box<dyn Signer>> {
    let signing = Signing::new(family, mechanism, key)?;
    let private = match &**key.key_here()? {
        ObjectKey::Rsa(key) => key.is_private(),
        ObjectKey::Ec(key) => key.has_private(),
        ObjectKey::Ed25519 { private, .. } => private.is_some(),
        ObjectKey::Ed448 { private, .. } => private.is_some(),
        _ => false,
    };
    ensure(private, CKR_KEY_TYPE_INCONSISTENT)?;
    Ok(Box::new(signing))
}

/// Begins the check of a signature.
///
/// # Errors
/// As [`signer`].
fn verifier(family: Family, mechanism: Mechanism<'_>, key: &Held) -> Result<Box<dyn Verifier>> {
    Ok(Box::new(Signing::new(family, mechanism, key)?))
}

/// The longest data that are kept as they are in what a message is saved in ([`Again::running`]): those of the longest modulus.
const MOST_KEPT: usize = rsa::MAX_SIZE;

impl Again for Signing {
    fn running(&self) -> Option<Zeroizing<Vec<u8>>> {
        match &self.data {
            Data::Hashed(digest) => digest.running(),
            // A scheme that hashes the whole message itself, twice, has it in one piece.
            Data::Plain { data, .. } if self.scheme != Scheme::Eddsa && data.len() <= MOST_KEPT => {
                Some(Zeroizing::new(data.clone()))
            }
            Data::Plain { .. } => None,
        }
    }

    fn resume(&mut self, running: &[u8]) -> Result {
        match &mut self.data {
            Data::Hashed(digest) => Again::resume(&mut **digest, running),
            Data::Plain { data, most } => {
                ensure(running.len() <= (*most).min(MOST_KEPT), CKR_SAVED_STATE_INVALID)?;
                data.clear();
                data.try_reserve(running.len())?;
                data.extend_from_slice(running);
                Ok(())
            }
        }
    }
}

impl Signer for Signing {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn length(&self) -> usize {
        Signing::length(self)
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        self.signed(|key, scheme, form, data| {
            match key {
                ObjectKey::Rsa(key) if scheme == Scheme::Raw => {
                    let mut padded = Zeroizing::new([0; rsa::MAX_SIZE]);
                    let block = &mut padded[..key.size()];
                    let zeros = block.len().checked_sub(data.len()).ok_or(Rv(CKR_DATA_LEN_RANGE))?;
                    block[zeros..].copy_from_slice(data);
                    key.sign(Signature::Raw, block, out).map_err(failed)?;
                }
                ObjectKey::Rsa(key) => key.sign(rsa_scheme(scheme, data)?, data, out).map_err(failed)?,
                ObjectKey::Ec(key) => key.sign_pair(data, out).map_err(failed)?,
                ObjectKey::Ed25519 { private: Some(private), public } => {
                    let signature = match form {
                        Some(form) => ed25519::sign_form(form, private, public, data),
                        None => ed25519::sign(private, public, data),
                    };
                    out.copy_from_slice(&signature.map_err(failed)?);
                }
                ObjectKey::Ed448 { private: Some(private), public } => {
                    out.copy_from_slice(&curve448::ed448_sign(form, private, public, data).map_err(failed)?);
                }
                _ => return fail(CKR_KEY_TYPE_INCONSISTENT),
            }
            Ok(out.len())
        })
    }
}

impl Verifier for Signing {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn finish(&mut self, signature: &[u8]) -> Result {
        ensure(signature.len() == self.length(), CKR_SIGNATURE_LEN_RANGE)?;
        let good = self.signed(|key, scheme, form, data| {
            Ok(match key {
                ObjectKey::Rsa(key) if scheme == Scheme::Raw => {
                    let mut room = [0; rsa::MAX_SIZE];
                    let Ok(opened) = key.open(signature, &mut room) else { return Ok(false) };
                    let zeros = opened.len().saturating_sub(data.len());
                    data.len() <= opened.len()
                        && opened[..zeros].iter().all(|byte| *byte == 0)
                        && opened[zeros..] == *data
                }
                ObjectKey::Rsa(key) => key.verify(rsa_scheme(scheme, data)?, signature, data),
                ObjectKey::Ec(key) => key.verify_pair(data, signature).map_err(failed)?,
                ObjectKey::Ed25519 { public, .. } => {
                    let signature = signature.try_into().map_err(|_| Rv(CKR_SIGNATURE_LEN_RANGE))?;
                    match form {
                        Some(form) => ed25519::verify_form(form, public, data, signature),
                        None => ed25519::verify(public, data, signature),
                    }
                }
                ObjectKey::Ed448 { public, .. } => {
                    let signature = signature.try_into().map_err(|_| Rv(CKR_SIGNATURE_LEN_RANGE))?;
                    curve448::ed448_verify(form, public, data, signature).ok_or(Rv(CKR_FUNCTION_FAILED))?
                }
                _ => return fail(CKR_KEY_TYPE_INCONSISTENT),
            })
        })?;
        ensure(good, CKR_SIGNATURE_INVALID)
    }
}
