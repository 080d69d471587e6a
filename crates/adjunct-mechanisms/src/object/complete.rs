//! Completes objects: the attributes that a template leaves out, and those that the interface sets itself.

use super::Object;
use super::attributes::Attributes;
use super::key::{Curve, ObjectKey, octet_string};
use super::{check, lattice, schema, spki};
use crate::rv::{Result, Rv, ensure};
use adjunct::ops::ec::MAX_POINT;
use adjunct::ops::random::random;
use cryptoki_sys::*;
use std::sync::Arc;

/// The origin of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// C_CreateObject.
    Created,
    /// Made by a mechanism that makes keys.
    Generated(CK_MECHANISM_TYPE),
    /// C_UnwrapKey, C_DecapsulateKey: the key was outside the token before.
    Unwrapped,
    /// C_DeriveKey.
    Derived {
        /// Whether all those keys have always been sensitive.
        always_sensitive: bool,
        /// Whether none of them could ever be extracted.
        never_extractable: bool,
    },
}

/// The defaults for attributes that templates leave out.
#[derive(Debug, Clone, Copy)]
pub struct Defaults {
    /// Keys may do all that their type can, can be read and are seen without a login: for programs that bring their own.
    pub open: bool,
}

/// The uses that a type of key has at all.
fn able(class: CK_OBJECT_CLASS, kind: CK_KEY_TYPE, usage: CK_ATTRIBUTE_TYPE) -> bool {
    match (class, kind) {
        (CKO_SECRET_KEY, _) => true,
        (_, CKK_RSA) => !matches!(usage, CKA_DERIVE | CKA_ENCAPSULATE | CKA_DECAPSULATE),
        (_, CKK_EC) => matches!(usage, CKA_SIGN | CKA_VERIFY | CKA_DERIVE),
        (_, CKK_EC_EDWARDS | CKK_ML_DSA) => matches!(usage, CKA_SIGN | CKA_VERIFY),
        (_, CKK_EC_MONTGOMERY) => usage == CKA_DERIVE,
        (_, CKK_ML_KEM) => matches!(usage, CKA_ENCAPSULATE | CKA_DECAPSULATE),
        _ => false,
    }
}

impl Defaults {
    fn usage(self, class: CK_OBJECT_CLASS, kind: CK_KEY_TYPE, usage: CK_ATTRIBUTE_TYPE) -> bool {
        // What takes a key out of the token is asked for by name.
        able(class, kind, usage) && (self.open || !matches!(usage, CKA_WRAP | CKA_UNWRAP))
    }

    /// Makes a new object of a template.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCOMPLETE`, `CKR_ATTRIBUTE_READ_ONLY`, `CKR_ATTRIBUTE_TYPE_INVALID`, `CKR_ATTRIBUTE_VALUE_INVALID`,
    /// `CKR_TEMPLATE_INCONSISTENT`, `CKR_HOST_MEMORY`.
    pub fn object(self, template: Attributes, origin: Origin) -> Result<Object> {
        self.object_of(template, origin, None)
    }

    /// Makes a new object of a template, of an existing key where `key` gives one.
    ///
    /// # Errors
    /// As [`Defaults::object`].
    pub fn object_of(self, mut attributes: Attributes, origin: Origin, key: Option<Arc<ObjectKey>>) -> Result<Object> {
        let class = attributes.number(CKA_CLASS).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
        let kind = match class {
            CKO_PUBLIC_KEY | CKO_PRIVATE_KEY | CKO_SECRET_KEY => {
                Some(attributes.number(CKA_KEY_TYPE).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?)
            }
            _ => None,
        };
        schema::check(class, kind, &attributes)?;
        let set = attributes.iter().find(|(kind, _)| schema::is_read_only(*kind));
        ensure(set.is_none(), CKR_ATTRIBUTE_READ_ONLY)?;
        // Nobody makes the standard's own objects.
        ensure(class != CKO_PROFILE, CKR_ATTRIBUTE_READ_ONLY)?;
        self.storage(&mut attributes, class)?;
        match kind {
            Some(kind) => self.key(attributes, class, kind, origin, key),
            None => {
                match class {
                    CKO_DATA => [CKA_APPLICATION, CKA_OBJECT_ID, CKA_VALUE].as_slice(),
                    _ => &[],
                }
                .iter()
                .try_for_each(|kind| attributes.default_to(*kind, b""))?;
                if class == CKO_CERTIFICATE {
                    certificate(&mut attributes)?;
                }
                Ok(Object::new(attributes))
            }
        }
    }

    /// Completes the attributes that all objects have.
    fn storage(self, attributes: &mut Attributes, class: CK_OBJECT_CLASS) -> Result {
        let secret = matches!(class, CKO_PRIVATE_KEY | CKO_SECRET_KEY);
        let boolean = |value| [if value { CK_TRUE } else { CK_FALSE }];
        attributes.default_to(CKA_TOKEN, &boolean(false))?;
        let private = secret && !self.open || attributes.is(CKA_ALWAYS_AUTHENTICATE);
        attributes.default_to(CKA_PRIVATE, &boolean(private))?;
        check_privacy(attributes)?;
        attributes.default_to(CKA_MODIFIABLE, &boolean(true))?;
        attributes.default_to(CKA_COPYABLE, &boolean(true))?;
        attributes.default_to(CKA_DESTROYABLE, &boolean(true))?;
        attributes.default_to(CKA_LABEL, b"")?;
        new_unique_id(attributes)
    }

    fn key(
        self,
        mut attributes: Attributes,
        class: CK_OBJECT_CLASS,
        kind: CK_KEY_TYPE,
        origin: Origin,
        key: Option<Arc<ObjectKey>>,
    ) -> Result<Object> {
        let boolean = |value| [if value { CK_TRUE } else { CK_FALSE }];
        let mechanism = match origin {
            Origin::Generated(mechanism) => mechanism,
            _ => CK_UNAVAILABLE_INFORMATION,
        };
        attributes.set_bool(CKA_LOCAL, matches!(origin, Origin::Generated(_)))?;
        attributes.set_number(CKA_KEY_GEN_MECHANISM, mechanism)?;
        for kind in [CKA_ID, CKA_START_DATE, CKA_END_DATE] {
            attributes.default_to(kind, b"")?;
        }
        for usage in schema::uses(class) {
            attributes.default_to(*usage, &boolean(self.usage(class, kind, *usage)))?;
        }
        if class == CKO_SECRET_KEY {
            let length = attributes.need(CKA_VALUE)?.len() as CK_ULONG;
            let given = attributes.number(CKA_VALUE_LEN);
            ensure(given.is_none_or(|given| given == length), CKR_TEMPLATE_INCONSISTENT)?;
            attributes.set_number(CKA_VALUE_LEN, length)?;
            // The length of what is no clear key says nothing of it.
            if adjunct::ops::may_leave(attributes.need(CKA_VALUE)?).is_ok() {
                check_length(kind, length)?;
            }
            check::check(&mut attributes)?;
        } else {
            attributes.default_to(CKA_SUBJECT, b"")?;
        }
        if class != CKO_PUBLIC_KEY {
            let hidden = !self.open && class == CKO_PRIVATE_KEY;
            attributes.default_to(CKA_SENSITIVE, &boolean(hidden))?;
            attributes.default_to(CKA_EXTRACTABLE, &boolean(!hidden))?;
            attributes.default_to(CKA_WRAP_WITH_TRUSTED, &boolean(false))?;
            let (sensitive, extractable) = (attributes.is(CKA_SENSITIVE), attributes.is(CKA_EXTRACTABLE));
            let (always, never) = match origin {
                Origin::Generated(_) => (sensitive, !extractable),
                Origin::Derived { always_sensitive, never_extractable } => {
                    (always_sensitive && sensitive, never_extractable && !extractable)
                }
                _ => (false, false),
            };
            attributes.set_bool(CKA_ALWAYS_SENSITIVE, always)?;
            attributes.set_bool(CKA_NEVER_EXTRACTABLE, never)?;
        }
        if class == CKO_PRIVATE_KEY {
            attributes.default_to(CKA_ALWAYS_AUTHENTICATE, &boolean(false))?;
        } else {
            attributes.default_to(CKA_TRUSTED, &boolean(false))?;
        }
        // The value of a secret key is the key.
        if class == CKO_SECRET_KEY {
            return Ok(Object::new(attributes));
        }
        let made = match key {
            Some(key) => key,
            None => Arc::new(ObjectKey::of(&attributes)?),
        };
        public_parts(&mut attributes, class, &made)?;
        Ok(Object::with_key(attributes, made))
    }
}

/// Checks that a key which wants the PIN for each use (`CKA_ALWAYS_AUTHENTICATE`) is private (4.9): otherwise there would be no PIN to ask for.
///
/// # Errors
/// `CKR_TEMPLATE_INCONSISTENT`.
pub fn check_privacy(attributes: &Attributes) -> Result {
    ensure(attributes.is(CKA_PRIVATE) || !attributes.is(CKA_ALWAYS_AUTHENTICATE), CKR_TEMPLATE_INCONSISTENT)
}

/// Sets a unique identifier.
///
/// # Errors
/// `CKR_HOST_MEMORY`.
pub fn new_unique_id(attributes: &mut Attributes) -> Result {
    let mut bytes = [0; 16];
    random(&mut bytes);
    let text =
        bytes.map(|byte| [b"0123456789abcdef"[usize::from(byte >> 4)], b"0123456789abcdef"[usize::from(byte & 15)]]);
    attributes.set(CKA_UNIQUE_ID, text.as_flattened())
}

/// Completes the attributes that follow from the numbers of a public or private key.
fn public_parts(attributes: &mut Attributes, class: CK_OBJECT_CLASS, key: &ObjectKey) -> Result {
    let curve = attributes.bytes(CKA_EC_PARAMS).map(Curve::of).transpose()?;
    if let (ObjectKey::Rsa(key), CKO_PUBLIC_KEY) = (key, class) {
        attributes.set_number(CKA_MODULUS_BITS, key.bits() as CK_ULONG)?;
    }
    if class == CKO_PRIVATE_KEY {
        lattice::private_value(attributes, key.lattice_private())?;
        if let ObjectKey::Ec(key) = key
            && let Some(scalar) = key.private()
        {
            attributes.set(CKA_VALUE, scalar)?;
        }
    }
    // In the form of the standard, whichever was given: DER for curves of Weierstrass form, bytes as they are for the others.
    let (has_point, has_info) = (attributes.has(CKA_EC_POINT), attributes.has(CKA_PUBLIC_KEY_INFO));
    let wants_point = class == CKO_PUBLIC_KEY || has_point;
    if has_info && !wants_point {
        return Ok(());
    }
    let mut room = [0; MAX_POINT];
    let point = curve.and_then(|curve| Some((curve, key.point(&mut room)?)));
    if let Some((curve, point)) = point
        && wants_point
    {
        let point = if matches!(curve, Curve::Group(_)) { octet_string(point) } else { point.to_vec() };
        attributes.set(CKA_EC_POINT, &point)?;
    }
    if !has_info && let Some(info) = spki::of_point(key, point)? {
        attributes.set(CKA_PUBLIC_KEY_INFO, &info)?;
    }
    Ok(())
}

/// Checks the length of a secret key of a type that has some.
///
/// # Errors
/// `CKR_ATTRIBUTE_VALUE_INVALID`.
pub fn check_length(kind: CK_KEY_TYPE, length: CK_ULONG) -> Result {
    let fits = match kind {
        CKK_AES => matches!(length, 16 | 24 | 32),
        CKK_AES_XTS => matches!(length, 32 | 64),
        CKK_DES3 => length == 24,
        CKK_DES2 => length == 16,
        CKK_CHACHA20 => length == 32,
        _ => length > 0,
    };
    ensure(fits, CKR_ATTRIBUTE_VALUE_INVALID)
}

/// What X.509 certificates have besides.
fn certificate(attributes: &mut Attributes) -> Result {
    let kind = attributes.number(CKA_CERTIFICATE_TYPE).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
    ensure(matches!(kind, CKC_X_509 | CKC_X_509_ATTR_CERT | CKC_WTLS), CKR_ATTRIBUTE_VALUE_INVALID)?;
    if kind == CKC_X_509 {
        ensure(attributes.has(CKA_VALUE) || attributes.has(CKA_URL), CKR_TEMPLATE_INCOMPLETE)?;
        for kind in [CKA_SUBJECT, CKA_ID, CKA_ISSUER, CKA_SERIAL_NUMBER, CKA_VALUE, CKA_URL] {
            attributes.default_to(kind, b"")?;
        }
    }
    for kind in [CKA_START_DATE, CKA_END_DATE] {
        attributes.default_to(kind, b"")?;
    }
    attributes.default_to(CKA_TRUSTED, &[CK_FALSE])?;
    attributes.default_to(CKA_CERTIFICATE_CATEGORY, &CK_ULONG::from(CK_CERTIFICATE_CATEGORY_UNSPECIFIED).to_ne_bytes())
}
