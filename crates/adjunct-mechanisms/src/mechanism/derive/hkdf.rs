//! HKDF (RFC 5869).

use super::{Derive, Secret};
use crate::mechanism::generate::random_key;
use crate::mechanism::hash::Hash;
use crate::mechanism::params::Shape;
use crate::mechanism::registry::{Entry, LONG};
use crate::object::Held;
use crate::rv::{Result, Rv, ensure};
use adjunct::ops::digest::MAX_SIZE;
use adjunct::ops::kdf;
use cryptoki_sys::*;
use zeroize::Zeroizing;

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new(CKM_HKDF_DERIVE, 1, LONG, CKF_DERIVE, Shape::Derive(Derive::Hkdf { data: false })),
    Entry::new(CKM_HKDF_DATA, 1, LONG, CKF_DERIVE, Shape::Derive(Derive::Hkdf { data: true })),
    Entry::new(CKM_HKDF_KEY_GEN, 1, LONG, CKF_GENERATE, Shape::Ignored)
        .secret(|mechanism, template| random_key(mechanism, template, CKK_HKDF, None, |_| true)),
];

/// CK_HKDF_PARAMS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hkdf<'a> {
    /// Whether a pseudorandom key is extracted from the base key; else the base key is one.
    pub extract: bool,
    /// Whether the pseudorandom key is expanded; else it is the result.
    pub expand: bool,
    /// The hash.
    pub hash: Hash,
    /// The salt of the extraction.
    pub salt: Salt<'a>,
    /// The context of the expansion.
    pub info: &'a [u8],
}

/// The salt of the extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Salt<'a> {
    /// Zeros, as many as the hash has.
    None,
    /// Bytes.
    Data(&'a [u8]),
    /// The value of another key.
    Key(CK_OBJECT_HANDLE),
}

impl Hkdf<'_> {
    /// Handle of the salt, where that is a key.
    pub const fn salt_key(&self) -> Option<CK_OBJECT_HANDLE> {
        match self.salt {
            Salt::Key(key) if self.extract => Some(key),
            _ => None,
        }
    }

    /// Derives bytes from the base key; the first of `others` is the salt where that is a key.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCOMPLETE` of an expansion without a length; `CKR_KEY_SIZE_RANGE` for one that is too long.
    pub fn derive(&self, base: &[u8], others: &[Held], wanted: Option<usize>) -> Result<Secret> {
        let (method, size) = (self.hash.method(), self.hash.size());
        let mut prk = Zeroizing::new([0; MAX_SIZE]);
        if self.extract {
            let salt = match self.salt {
                // HMAC pads keys with zeros: an empty one is the same.
                Salt::None => &[],
                Salt::Data(data) => data,
                Salt::Key(_) => others.first().ok_or(Rv(CKR_KEY_HANDLE_INVALID))?.clear_value()?,
            };
            kdf::hkdf_extract(method, salt, base, &mut prk[..])?;
        }
        if !self.expand {
            ensure(wanted.is_none_or(|wanted| wanted <= size), CKR_KEY_SIZE_RANGE)?;
            return super::concat(&prk[..wanted.unwrap_or(size)], &[]);
        }
        let wanted = wanted.ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
        ensure(wanted <= 255 * size, CKR_KEY_SIZE_RANGE)?;
        let mut key = adjunct::memory::zeros(wanted)?;
        kdf::hkdf_expand(method, if self.extract { &prk[..size] } else { base }, self.info, &mut key)?;
        Ok(key)
    }
}
