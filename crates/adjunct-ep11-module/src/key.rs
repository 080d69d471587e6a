//! A key as a blob holds it, and as mechanisms take it.
//!
//! What a blob has encrypted, numbers big-endian:
//!
//! | offset | bytes | |
//! | --- | --- | --- |
//! | 0 | 2 | the version, 1 |
//! | 2 | 1 | the class: 3 private, 4 secret |
//! | 3 | 1 | 0 |
//! | 4 | 4 | the type |
//! | 8 | 4 | its length in bits |
//! | 12 | 3 | the check value of a secret key |
//! | 15 | 1 | 0 |
//! | 16 | 4 | bytes of the value |
//! | 20 | 12 | 0 |
//! | 32 | | the value: of a private key its PKCS #8; then zeros up to a whole block, and to 144 bytes |

use crate::blob::{self, BLOCK, Head};
use crate::der::{Spki, oid};
use crate::error::{Result, Rv, ensure, fail};
use crate::keys::{Purpose, WrappingKey};
use crate::{foreign, own, point, strength};
use adjunct::ops::ec::MAX_POINT;
use adjunct_ep11_wire::codes::{flag, key as k, rv};
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::key::Curve;
use adjunct_mechanisms::object::{Held, Object, check, pkcs8, spki};
use cryptoki_sys::*;
use std::sync::Arc;
use zeroize::Zeroizing;

const FORM: u16 = 1;
/// Where the value begins.
const VALUE: usize = 32;
/// The least length: that of every AES key, as on Z.
const LEAST: usize = 144;
/// The longest value.
const LONGEST: usize = 1 << 16;

/// What a key is made of, without attributes.
#[derive(Debug, Clone)]
pub struct Material {
    /// The class: [`k::PUBLIC`], [`k::PRIVATE`], [`k::SECRET`].
    pub class: u32,
    /// The type.
    pub kind: u32,
    /// Its length in bits: of RSA's modulus, of a curve's field, else of the value.
    pub bits: u32,
    /// As mechanisms of the core take it. Of a key that the core does not have, what is public.
    pub held: Held,
    /// A key that the core does not have.
    pub(crate) own: Option<own::Shared>,
    /// The value: bytes of a secret key, PKCS #8 of a private key, SubjectPublicKeyInfo of a public key.
    pub value: Arc<Zeroizing<Vec<u8>>>,
}

/// PKCS #11's number of a type of key.
pub fn core_kind(kind: u32) -> CK_KEY_TYPE {
    match kind {
        k::IBM_ML_DSA => CKK_ML_DSA,
        k::IBM_ML_KEM => CKK_ML_KEM,
        kind => kind.into(),
    }
}

/// The interface's number of one of PKCS #11's types of keys.
fn wire_kind(kind: CK_KEY_TYPE) -> u32 {
    match kind {
        CKK_ML_DSA => k::IBM_ML_DSA,
        CKK_ML_KEM => k::IBM_ML_KEM,
        kind => u32::try_from(kind).unwrap_or(u32::MAX),
    }
}

/// Checks that bytes of a key are not what the core takes for a reference to a key that a card holds: with it, the module would ask another card.
fn no_reference(value: &[u8]) -> Result {
    ensure(adjunct::ops::may_leave(value).is_ok(), rv::WRAPPED_KEY_INVALID)
}

impl Material {
    /// A secret key.
    ///
    /// # Errors
    /// `CKR_KEY_SIZE_RANGE` for a length that the type has not; `CKR_WRAPPED_KEY_INVALID` for what the core would not take for a key's bytes.
    pub fn secret(kind: u32, value: Zeroizing<Vec<u8>>) -> Result<Material> {
        let length = value.len() as CK_ULONG;
        let fits = adjunct_mechanisms::object::complete::check_length(core_kind(kind), length).is_ok();
        ensure(fits && value.len() <= 4096, rv::KEY_SIZE_RANGE)?;
        no_reference(&value)?;
        let mut attributes = Attributes::default();
        attributes.set_number(CKA_CLASS, CKO_SECRET_KEY)?;
        attributes.set_number(CKA_KEY_TYPE, core_kind(kind))?;
        attributes.set(CKA_VALUE, &value)?;
        attributes.set_number(CKA_VALUE_LEN, length)?;
        attributes.set_bool(CKA_EXTRACTABLE, true)?;
        let held = Held::Own(Arc::new(Object::new(attributes)));
        Ok(Material { class: k::SECRET, kind, bits: 8 * length as u32, held, own: None, value: Arc::new(value) })
    }

    /// A private key of its attributes, which name its class and type.
    ///
    /// # Errors
    /// Those of keys.
    pub fn private(
        attributes: Attributes,
        key: Option<Arc<adjunct_mechanisms::object::key::ObjectKey>>,
    ) -> Result<Material> {
        let (object, known) = Material::object(attributes, key)?;
        let value = Arc::new(pkcs8::to_der(&object)?);
        ensure(value.len() <= LONGEST, rv::KEY_SIZE_RANGE)?;
        Ok(Material { value, class: k::PRIVATE, ..known })
    }

    /// A private key of its PKCS #8.
    ///
    /// # Errors
    /// `CKR_WRAPPED_KEY_INVALID`; those of keys.
    pub fn of_pkcs8(der: &[u8]) -> Result<Material> {
        if let Some(own) = own::of_pkcs8(der, false) {
            return Material::of_own(own?, true);
        }
        Material::private(pkcs8::from_der(der)?, None)
    }

    /// A private key of PKCS #8 that comes from elsewhere: what it lacks is worked out, and what it has is checked.
    ///
    /// # Errors
    /// As [`Material::of_pkcs8`].
    pub fn of_foreign_pkcs8(der: &[u8]) -> Result<Material> {
        if let Some(own) = own::of_pkcs8(der, true) {
            return Material::of_own(own?, true);
        }
        let other = foreign::rfc8410(der);
        let mut attributes = pkcs8::from_der(other.as_deref().map_or(der, |other| other))?;
        point::complete(&mut attributes)?;
        Material::private(attributes, None)
    }

    /// A public key of its SubjectPublicKeyInfo, which is all of the bytes.
    ///
    /// # Errors
    /// `CKR_IBM_BLOB_ERROR` for another structure; those of keys.
    pub fn of_spki(der: &[u8]) -> Result<Material> {
        if let Some(own) = own::of_spki(der) {
            return Material::of_own(own?, false);
        }
        let list = adjunct_mechanisms::der::public_key(der).ok_or(Rv(rv::IBM_BLOB_ERROR))?;
        let mut attributes = Attributes::default();
        for (kind, value) in &list {
            attributes.set(*kind, value)?;
        }
        let (_, known) = Material::object(attributes, None)?;
        Ok(Material { class: k::PUBLIC, value: Arc::new(Zeroizing::new(der.to_vec())), ..known })
    }

    /// A key that the core does not have: its private half too, or the public one alone.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub(crate) fn of_own(key: own::Shared, private: bool) -> Result<Material> {
        let value = if private { key.pkcs8() } else { Some(Zeroizing::new(key.spki())) };
        let value = Arc::new(value.ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?);
        let mut attributes = Attributes::default();
        attributes.set_number(CKA_CLASS, if private { CKO_PRIVATE_KEY } else { CKO_PUBLIC_KEY })?;
        attributes.set_number(CKA_KEY_TYPE, core_kind(key.kind()))?;
        key.describe(&mut attributes)?;
        let class = if private { k::PRIVATE } else { k::PUBLIC };
        let held = Held::Own(Arc::new(Object::new(attributes)));
        Ok(Material { class, kind: key.kind(), bits: key.bits(), held, own: Some(key), value })
    }

    /// The object of attributes, with all but the value.
    fn object(
        mut attributes: Attributes,
        key: Option<Arc<adjunct_mechanisms::object::key::ObjectKey>>,
    ) -> Result<(Arc<Object>, Material)> {
        for kind in [CKA_VALUE, CKA_SEED, CKA_PRIVATE_EXPONENT] {
            attributes.bytes(kind).map_or(Ok(()), no_reference)?;
        }
        attributes.set_bool(CKA_EXTRACTABLE, true)?;
        let kind = wire_kind(attributes.number(CKA_KEY_TYPE).ok_or(Rv(rv::TEMPLATE_INCOMPLETE))?);
        let object = Arc::new(match key {
            Some(key) => Object::with_key(attributes, key),
            None => Object::new(attributes),
        });
        // A key that cannot be is told here, not at its first use.
        object.key()?;
        let held = Held::Own(object.clone());
        let bits = strength::bits(&object);
        Ok((object, Material { class: k::PUBLIC, kind, bits, held, own: None, value: Arc::default() }))
    }

    /// The SubjectPublicKeyInfo of a private or public key.
    ///
    /// # Errors
    /// `CKR_KEY_TYPE_INCONSISTENT` of a key that has none.
    pub fn spki(&self) -> Result<Vec<u8>> {
        if self.class == k::PUBLIC {
            return Ok(self.value.to_vec());
        }
        ensure(self.class == k::PRIVATE, rv::KEY_TYPE_INCONSISTENT)?;
        if let Some(own) = &self.own {
            return Ok(own.spki());
        }
        let params = self.held.attributes.bytes(CKA_EC_PARAMS);
        let curve = params.map(Curve::of).transpose()?;
        if let Some(curve @ (Curve::Ed25519 | Curve::X25519 | Curve::Ed448 | Curve::X448)) = curve {
            // As those on other curves: openCryptoki's token reads nothing else. RFC 8410's form is read too.
            let (key, mut room) = (self.held.key()?, [0; MAX_POINT]);
            let point = key.point(&mut room).ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))?;
            return Ok(Spki::put(oid::EC, &curve.params(), point));
        }
        spki::of(&*self.held.key()?, curve)?.ok_or(Rv(rv::KEY_TYPE_INCONSISTENT))
    }

    /// The check value of a secret key; zeros of another.
    pub fn check_value(&self) -> [u8; 3] {
        let value = check::value(&self.held.attributes).ok().flatten();
        value.and_then(|value| value.as_bytes()?.try_into().ok()).unwrap_or_default()
    }

    /// What `m_GenerateKey` and its like answer beside the key: the check value, and the length in bits (4 bytes).
    pub fn sum(&self) -> Vec<u8> {
        [&self.check_value()[..], &self.bits.to_be_bytes()].concat()
    }

    /// The curve of a key on one.
    pub fn curve(&self) -> Option<Curve> {
        self.held.attributes.bytes(CKA_EC_PARAMS).and_then(|params| Curve::of(params).ok())
    }

    fn inner(&self) -> Result<Zeroizing<Vec<u8>>> {
        let length = (VALUE + self.value.len()).next_multiple_of(BLOCK).max(LEAST);
        let mut inner = adjunct::memory::zeros(length)?;
        inner[..2].copy_from_slice(&FORM.to_be_bytes());
        inner[2] = self.class as u8;
        inner[4..8].copy_from_slice(&self.kind.to_be_bytes());
        inner[8..12].copy_from_slice(&self.bits.to_be_bytes());
        inner[12..15].copy_from_slice(&self.check_value());
        inner[16..20].copy_from_slice(&(self.value.len() as u32).to_be_bytes());
        inner[VALUE..VALUE + self.value.len()].copy_from_slice(&self.value);
        Ok(inner)
    }

    fn of_inner(inner: &[u8]) -> Result<Material> {
        let broken = Rv(rv::IBM_BLOB_ERROR);
        let word = |at: usize| inner.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word));
        let (Some(first), Some(kind), Some(length)) = (word(0), word(4), word(16)) else { return Err(broken) };
        let value = inner.get(VALUE..).and_then(|rest| rest.get(..length as usize)).ok_or(broken)?;
        let private = (u32::from(FORM) << 16) | (k::PRIVATE << 8);
        let secret = (u32::from(FORM) << 16) | (k::SECRET << 8);
        let made = match first {
            first if first == secret => Material::secret(kind, Zeroizing::new(value.to_vec())),
            first if first == private => Material::of_pkcs8(value),
            _ => fail(rv::IBM_BLOB_ERROR),
        };
        made.map_err(|error| if error.0 == rv::HOST_MEMORY { error } else { broken })
    }
}

/// A key with its attributes.
#[derive(Debug, Clone)]
pub struct Key {
    /// What it is made of.
    pub material: Material,
    /// Session, boolean attributes, compliance mode.
    pub head: Head,
    /// Whether the attributes are vouched for by a MAC: not those of a raw SubjectPublicKeyInfo.
    pub vouched: bool,
}

impl Key {
    /// Whether a boolean attribute is set.
    pub fn has(&self, bit: u32) -> bool {
        self.head.flags & bit != 0
    }

    /// Checks that the key may be used so.
    ///
    /// # Errors
    /// `CKR_KEY_FUNCTION_NOT_PERMITTED`.
    pub fn permits(&self, usage: u32) -> Result {
        ensure(self.has(usage), rv::KEY_FUNCTION_NOT_PERMITTED)
    }

    /// Bytes of memory that the key takes with what is prepared of it, roughly.
    pub fn memory(&self) -> usize {
        1024 + 6 * self.material.value.len()
    }

    /// The blob of a private or secret key.
    ///
    /// # Errors
    /// `CKR_HOST_MEMORY`.
    pub fn seal(&self, with: &WrappingKey) -> Result<Zeroizing<Vec<u8>>> {
        ensure(self.material.class != k::PUBLIC, rv::KEY_TYPE_INCONSISTENT)?;
        blob::seal(with, Purpose::Key, &self.head, &self.material.inner()?)
    }

    /// Opens a blob.
    ///
    /// # Errors
    /// As [`blob::open`].
    pub fn open(with: &WrappingKey, sealed: &[u8]) -> Result<Key> {
        let (head, inner) = blob::open(with, Purpose::Key, sealed)?;
        Ok(Key { material: Material::of_inner(&inner)?, head, vouched: true })
    }

    /// A public key without a MAC: for whatever its type can.
    ///
    /// # Errors
    /// `CKR_IBM_BLOB_ERROR`; those of keys.
    pub fn of_raw_spki(der: &[u8]) -> Result<Key> {
        let material = Material::of_spki(der)?;
        let flags = flag::MODIFIABLE | strength::uses(k::PUBLIC, material.kind);
        Ok(Key { material, head: Head { flags, ..Head::default() }, vouched: false })
    }
}
