//! ML-DSA (FIPS 204): signatures of messages, and of their digests.

use super::Mechanism;
use super::generate::{Pair, lattice_pair, no_params};
use super::params::{Params, Shape};
use super::registry::{Entry, SIGNS, Signs};
use crate::object::attributes::Attributes;
use crate::object::key::ObjectKey;
use crate::object::{Held, lattice};
use crate::operation::{Again, Signer, Verifier};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::digest::{self, Digest, Method};
use adjunct::ops::mldsa::{self, Form, MAX_CONTEXT};
use cryptoki_sys::*;
use std::sync::Arc;

/// A digest that is signed (FIPS 204, 5.4.1): its method, the length of its result, the last byte of its object identifier below
/// 2.16.840.1.101.3.4.2.
type Prehash = (&'static Method, usize, u8);

/// The digest that a mechanism computes.
fn prehash(mechanism: CK_MECHANISM_TYPE) -> Option<Prehash> {
    Some(match mechanism {
        CKM_HASH_ML_DSA_SHA224 => (&digest::SHA224, 28, 4),
        CKM_HASH_ML_DSA_SHA256 => (&digest::SHA256, 32, 1),
        CKM_HASH_ML_DSA_SHA384 => (&digest::SHA384, 48, 2),
        CKM_HASH_ML_DSA_SHA512 => (&digest::SHA512, 64, 3),
        CKM_HASH_ML_DSA_SHA3_224 => (&digest::SHA3_224, 28, 7),
        CKM_HASH_ML_DSA_SHA3_256 => (&digest::SHA3_256, 32, 8),
        CKM_HASH_ML_DSA_SHA3_384 => (&digest::SHA3_384, 48, 9),
        CKM_HASH_ML_DSA_SHA3_512 => (&digest::SHA3_512, 64, 10),
        CKM_HASH_ML_DSA_SHAKE128 => (&digest::SHAKE128, 32, 11),
        CKM_HASH_ML_DSA_SHAKE256 => (&digest::SHAKE256, 64, 12),
        _ => return None,
    })
}

/// The digest that the caller has computed, named by the mechanism that computes it.
fn computed(hash: u64) -> Option<Prehash> {
    let mechanism = match CK_MECHANISM_TYPE::try_from(hash).ok()? {
        CKM_SHA224 => CKM_HASH_ML_DSA_SHA224,
        CKM_SHA256 => CKM_HASH_ML_DSA_SHA256,
        CKM_SHA384 => CKM_HASH_ML_DSA_SHA384,
        CKM_SHA512 => CKM_HASH_ML_DSA_SHA512,
        CKM_SHA3_224 => CKM_HASH_ML_DSA_SHA3_224,
        CKM_SHA3_256 => CKM_HASH_ML_DSA_SHA3_256,
        CKM_SHA3_384 => CKM_HASH_ML_DSA_SHA3_384,
        CKM_SHA3_512 => CKM_HASH_ML_DSA_SHA3_512,
        _ => return None,
    };
    prehash(mechanism)
}

/// The public keys' sizes, in bytes.
const LEAST: CK_ULONG = 1312;
const MOST: CK_ULONG = 2592;

const fn entry(kind: CK_MECHANISM_TYPE, shape: Shape) -> Entry {
    Entry::new(kind, LEAST, MOST, SIGNS, shape).signs(Signs { signer, verifier })
}

pub const ENTRIES: &[Entry] = &[
    Entry::new(CKM_ML_DSA_KEY_PAIR_GEN, LEAST, MOST, CKF_GENERATE_KEY_PAIR, Shape::Ignored).pair(pair),
    entry(CKM_ML_DSA, Shape::SignContext),
    entry(CKM_HASH_ML_DSA, Shape::HashSignContext),
    entry(CKM_HASH_ML_DSA_SHA224, Shape::SignContext),
    entry(CKM_HASH_ML_DSA_SHA256, Shape::SignContext),
    entry(CKM_HASH_ML_DSA_SHA384, Shape::SignContext),
    entry(CKM_HASH_ML_DSA_SHA512, Shape::SignContext),
    entry(CKM_HASH_ML_DSA_SHA3_224, Shape::SignContext),
    entry(CKM_HASH_ML_DSA_SHA3_256, Shape::SignContext),
    entry(CKM_HASH_ML_DSA_SHA3_384, Shape::SignContext),
    entry(CKM_HASH_ML_DSA_SHA3_512, Shape::SignContext),
    entry(CKM_HASH_ML_DSA_SHAKE128, Shape::SignContext),
    entry(CKM_HASH_ML_DSA_SHAKE256, Shape::SignContext),
];

fn pair(mechanism: Mechanism<'_>, template: &Attributes) -> Result<Pair> {
    no_params(mechanism)?;
    let (key, seed) = mldsa::MlDsaKey::generate(lattice::mldsa_set(template)?)?;
    let public = key.public_bytes().to_vec();
    lattice_pair(CKK_ML_DSA, template, &public, &seed[..], ObjectKey::MlDsa(key))
}

/// The data of a message so far.
enum Data {
    Plain { data: Vec<u8>, most: usize },
    Hashed(Box<Digest>, usize),
}

/// A signature in the making, or being checked.
struct Signing {
    key: Arc<ObjectKey>,
    deterministic: bool,
    context: Vec<u8>,
    /// The DER of the digest's object identifier.
    oid: Option<[u8; 11]>,
    data: Data,
}

fn signer(mechanism: Mechanism<'_>, key: Held) -> Result<Box<dyn Signer>> {
    let key = key.key()?;
    let private = matches!(&*key, ObjectKey::MlDsa(key) if key.has_private());
    ensure(private, CKR_KEY_TYPE_INCONSISTENT)?;
    Ok(Box::new(Signing::new(mechanism, key)?))
}

fn verifier(mechanism: Mechanism<'_>, key: Held) -> Result<Box<dyn Verifier>> {
    Ok(Box::new(Signing::new(mechanism, key.key()?)?))
}

impl Signing {
    fn new(mechanism: Mechanism<'_>, key: Arc<ObjectKey>) -> Result<Signing> {
        ensure(matches!(&*key, ObjectKey::MlDsa(_)), CKR_KEY_TYPE_INCONSISTENT)?;
        let invalid = Rv(CKR_MECHANISM_PARAM_INVALID);
        let (deterministic, context, named) = match mechanism.params {
            Params::None => (false, [].as_slice(), None),
            Params::SignContext { deterministic, context, hash } => (deterministic, context, hash),
            _ => return Err(invalid),
        };
        ensure(context.len() <= MAX_CONTEXT, CKR_MECHANISM_PARAM_INVALID)?;
        let (hash, data) = match (mechanism.kind, prehash(mechanism.kind)) {
            (CKM_ML_DSA, _) => (None, Data::Plain { data: Vec::new(), most: usize::MAX }),
            (CKM_HASH_ML_DSA, _) => {
                let hash = computed(named.ok_or(invalid)?).ok_or(invalid)?;
                (Some(hash), Data::Plain { data: Vec::new(), most: hash.1 })
            }
            (_, Some(hash)) => (Some(hash), Data::Hashed(Box::new(Digest::new(hash.0)), hash.1)),
            _ => return fail(CKR_MECHANISM_INVALID),
        };
        let oid = hash.map(|(_, _, last)| [6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, last]);
        Ok(Signing { key, deterministic, context: context.to_vec(), oid, data })
    }

    fn key(&self) -> Result<&mldsa::MlDsaKey> {
        match &*self.key {
            ObjectKey::MlDsa(key) => Ok(key),
            _ => fail(CKR_KEY_TYPE_INCONSISTENT),
        }
    }

    fn signature(&self) -> usize {
        self.key().map_or(0, |key| key.set().signature())
    }

    fn take(&mut self, part: &[u8]) -> Result {
        match &mut self.data {
            Data::Hashed(digest, _) => digest.update(part),
            Data::Plain { data, most } => {
                ensure(part.len() <= *most - data.len(), CKR_DATA_LEN_RANGE)?;
                data.try_reserve(part.len())?;
                data.extend_from_slice(part);
            }
        }
        Ok(())
    }

    /// The message that is signed.
    fn message(&mut self) -> Result<Vec<u8>> {
        match &mut self.data {
            Data::Hashed(digest, size) => {
                let mut out = vec![0; *size];
                digest.finish(&mut out);
                Ok(out)
            }
            Data::Plain { data, most } => {
                ensure(*most == usize::MAX || data.len() == *most, CKR_DATA_LEN_RANGE)?;
                Ok(std::mem::take(data))
            }
        }
    }

    fn form(&self) -> Form<'_> {
        Form { context: &self.context, digest: self.oid.as_ref().map(<[u8; 11]>::as_slice) }
    }
}

impl Again for Signing {}

impl Signer for Signing {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn length(&self) -> usize {
        self.signature()
    }

    fn finish(&mut self, out: &mut [u8]) -> Result<usize> {
        let message = self.message()?;
        self.key()?.sign(self.form(), &message, self.deterministic, out)?;
        Ok(out.len())
    }
}

impl Verifier for Signing {
    fn update(&mut self, data: &[u8]) -> Result {
        self.take(data)
    }

    fn finish(&mut self, signature: &[u8]) -> Result {
        ensure(signature.len() == self.signature(), CKR_SIGNATURE_LEN_RANGE)?;
        let message = self.message()?;
        ensure(self.key()?.verify(self.form(), &message, signature), CKR_SIGNATURE_INVALID)
    }
}
