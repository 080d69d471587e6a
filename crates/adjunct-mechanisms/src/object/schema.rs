//! What attributes objects have, by class and type of key (PKCS #11 3.2, 4): which there are, what values they take, who may set and
//! see them.

use crate::object::attributes::{self, Attributes, Value};
use crate::rv::{Result, ensure, fail};
use cryptoki_sys::*;

type Kinds = &'static [CK_ATTRIBUTE_TYPE];

/// Attribute of IBM's tokens: the key may be data of a derivation by a coprocessor. Kept, and without effect here.
pub const CKA_IBM_USE_AS_DATA: CK_ATTRIBUTE_TYPE = CKA_VENDOR_DEFINED + 0x10008;
/// Attribute of IBM's tokens: the key may leave the token as a protected key. Kept, and without effect here: no key leaves so.
pub const CKA_IBM_PROTKEY_EXTRACTABLE: CK_ATTRIBUTE_TYPE = CKA_VENDOR_DEFINED + 0x1000c;

const STORAGE: Kinds =
    &[CKA_CLASS, CKA_TOKEN, CKA_PRIVATE, CKA_MODIFIABLE, CKA_LABEL, CKA_COPYABLE, CKA_DESTROYABLE, CKA_UNIQUE_ID];
const DATA: Kinds = &[CKA_APPLICATION, CKA_OBJECT_ID, CKA_VALUE];
const CERTIFICATE: Kinds = &[
    CKA_CERTIFICATE_TYPE,
    CKA_TRUSTED,
    CKA_CERTIFICATE_CATEGORY,
    CKA_CHECK_VALUE,
    CKA_START_DATE,
    CKA_END_DATE,
    CKA_PUBLIC_KEY_INFO,
    CKA_SUBJECT,
    CKA_ID,
    CKA_ISSUER,
    CKA_SERIAL_NUMBER,
    CKA_VALUE,
    CKA_URL,
    CKA_HASH_OF_SUBJECT_PUBLIC_KEY,
    CKA_HASH_OF_ISSUER_PUBLIC_KEY,
    CKA_JAVA_MIDP_SECURITY_DOMAIN,
    CKA_NAME_HASH_ALGORITHM,
    CKA_OWNER,
    CKA_AC_ISSUER,
    CKA_ATTR_TYPES,
];
const KEY: Kinds = &[
    CKA_KEY_TYPE,
    CKA_ID,
    CKA_START_DATE,
    CKA_END_DATE,
    CKA_DERIVE,
    CKA_LOCAL,
    CKA_KEY_GEN_MECHANISM,
    CKA_ALLOWED_MECHANISMS,
    CKA_IBM_USE_AS_DATA,
    CKA_IBM_PROTKEY_EXTRACTABLE,
];
const PUBLIC: Kinds = &[
    CKA_SUBJECT,
    CKA_ENCRYPT,
    CKA_VERIFY,
    CKA_VERIFY_RECOVER,
    CKA_WRAP,
    CKA_TRUSTED,
    CKA_WRAP_TEMPLATE,
    CKA_PUBLIC_KEY_INFO,
    CKA_ENCAPSULATE,
    CKA_ENCAPSULATE_TEMPLATE,
];
const PRIVATE: Kinds = &[
    CKA_SUBJECT,
    CKA_SENSITIVE,
    CKA_DECRYPT,
    CKA_SIGN,
    CKA_SIGN_RECOVER,
    CKA_UNWRAP,
    CKA_EXTRACTABLE,
    CKA_ALWAYS_SENSITIVE,
    CKA_NEVER_EXTRACTABLE,
    CKA_WRAP_WITH_TRUSTED,
    CKA_UNWRAP_TEMPLATE,
    CKA_DERIVE_TEMPLATE,
    CKA_ALWAYS_AUTHENTICATE,
    CKA_PUBLIC_KEY_INFO,
    CKA_DECAPSULATE,
    CKA_DECAPSULATE_TEMPLATE,
];
const SECRET: Kinds = &[
    CKA_SENSITIVE,
    CKA_ENCRYPT,
    CKA_DECRYPT,
    CKA_SIGN,
    CKA_VERIFY,
    CKA_WRAP,
    CKA_UNWRAP,
    CKA_EXTRACTABLE,
    CKA_ALWAYS_SENSITIVE,
    CKA_NEVER_EXTRACTABLE,
    CKA_CHECK_VALUE,
    CKA_WRAP_WITH_TRUSTED,
    CKA_TRUSTED,
    CKA_WRAP_TEMPLATE,
    CKA_UNWRAP_TEMPLATE,
    CKA_DERIVE_TEMPLATE,
    CKA_VALUE,
    CKA_VALUE_LEN,
];
const RSA_PUBLIC: Kinds = &[CKA_MODULUS, CKA_MODULUS_BITS, CKA_PUBLIC_EXPONENT];
const RSA_PRIVATE: Kinds = &[
    CKA_MODULUS,
    CKA_PUBLIC_EXPONENT,
    CKA_PRIVATE_EXPONENT,
    CKA_PRIME_1,
    CKA_PRIME_2,
    CKA_EXPONENT_1,
    CKA_EXPONENT_2,
    CKA_COEFFICIENT,
];
const EC_PUBLIC: Kinds = &[CKA_EC_PARAMS, CKA_EC_POINT];
// The point of a private key is not the standard's, but programs give it, and it saves computing it.
const EC_PRIVATE: Kinds = &[CKA_EC_PARAMS, CKA_EC_POINT, CKA_VALUE];
const SET_PUBLIC: Kinds = &[CKA_PARAMETER_SET, CKA_VALUE];
const SET_PRIVATE: Kinds = &[CKA_PARAMETER_SET, CKA_VALUE, CKA_SEED];
const PROFILE: Kinds = &[CKA_PROFILE_ID];
const DOMAIN: Kinds = &[CKA_KEY_TYPE, CKA_LOCAL, CKA_PRIME, CKA_SUBPRIME, CKA_BASE, CKA_PRIME_BITS, CKA_SUBPRIME_BITS];

/// The attributes of a class of objects and a type of key, in lists.
///
/// # Errors
/// `CKR_ATTRIBUTE_VALUE_INVALID` for a class or type that is not known.
fn kinds(class: CK_OBJECT_CLASS, key: Option<CK_KEY_TYPE>) -> Result<[Kinds; 4]> {
    let own = match (class, key) {
        (CKO_DATA, _) => return Ok([STORAGE, DATA, &[], &[]]),
        (CKO_CERTIFICATE, _) => return Ok([STORAGE, CERTIFICATE, &[], &[]]),
        (CKO_PROFILE, _) => return Ok([STORAGE, PROFILE, &[], &[]]),
        (CKO_DOMAIN_PARAMETERS, _) => return Ok([STORAGE, DOMAIN, &[], &[]]),
        (CKO_PUBLIC_KEY, Some(CKK_RSA)) => RSA_PUBLIC,
        (CKO_PRIVATE_KEY, Some(CKK_RSA)) => RSA_PRIVATE,
        (CKO_PUBLIC_KEY, Some(CKK_EC | CKK_EC_EDWARDS | CKK_EC_MONTGOMERY)) => EC_PUBLIC,
        (CKO_PRIVATE_KEY, Some(CKK_EC | CKK_EC_EDWARDS | CKK_EC_MONTGOMERY)) => EC_PRIVATE,
        (CKO_PUBLIC_KEY, Some(CKK_ML_DSA | CKK_ML_KEM)) => SET_PUBLIC,
        (CKO_PRIVATE_KEY, Some(CKK_ML_DSA | CKK_ML_KEM)) => SET_PRIVATE,
        (CKO_SECRET_KEY, Some(_)) => &[],
        _ => return fail(CKR_ATTRIBUTE_VALUE_INVALID),
    };
    let of_class = match class {
        CKO_PUBLIC_KEY => PUBLIC,
        CKO_PRIVATE_KEY => PRIVATE,
        _ => SECRET,
    };
    Ok([STORAGE, KEY, of_class, own])
}

/// The kind of value that an attribute takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One byte, 0 or 1.
    Boolean,
    /// A CK_ULONG.
    Number,
    /// Year, month and day in digits, or nothing.
    Date,
    /// Any bytes.
    Bytes,
    /// Attributes.
    Template,
}

/// The kind of value that an attribute takes.
pub const fn form(kind: CK_ATTRIBUTE_TYPE) -> Form {
    match kind {
        CKA_TOKEN
        | CKA_PRIVATE
        | CKA_MODIFIABLE
        | CKA_COPYABLE
        | CKA_DESTROYABLE
        | CKA_TRUSTED
        | CKA_DERIVE
        | CKA_LOCAL
        | CKA_ENCRYPT
        | CKA_DECRYPT
        | CKA_SIGN
        | CKA_SIGN_RECOVER
        | CKA_VERIFY
        | CKA_VERIFY_RECOVER
        | CKA_WRAP
        | CKA_UNWRAP
        | CKA_SENSITIVE
        | CKA_EXTRACTABLE
        | CKA_ALWAYS_SENSITIVE
        | CKA_NEVER_EXTRACTABLE
        | CKA_WRAP_WITH_TRUSTED
        | CKA_ALWAYS_AUTHENTICATE
        | CKA_ENCAPSULATE
        | CKA_DECAPSULATE
        | CKA_IBM_USE_AS_DATA
        | CKA_IBM_PROTKEY_EXTRACTABLE => Form::Boolean,
        CKA_CLASS
        | CKA_KEY_TYPE
        | CKA_KEY_GEN_MECHANISM
        | CKA_MODULUS_BITS
        | CKA_VALUE_LEN
        | CKA_CERTIFICATE_TYPE
        | CKA_CERTIFICATE_CATEGORY
        | CKA_JAVA_MIDP_SECURITY_DOMAIN
        | CKA_NAME_HASH_ALGORITHM
        | CKA_PARAMETER_SET
        | CKA_PROFILE_ID
        | CKA_PRIME_BITS
        | CKA_SUBPRIME_BITS => Form::Number,
        CKA_START_DATE | CKA_END_DATE => Form::Date,
        kind if Attributes::is_template(kind) => Form::Template,
        _ => Form::Bytes,
    }
}

/// Checks the form of a value.
///
/// # Errors
/// `CKR_ATTRIBUTE_VALUE_INVALID`.
fn check_form(kind: CK_ATTRIBUTE_TYPE, value: &Value) -> Result {
    let fits = match (form(kind), value) {
        (Form::Template, Value::Template(_)) => true,
        (Form::Boolean, Value::Bytes(bytes)) => matches!(bytes[..], [CK_TRUE] | [CK_FALSE]),
        (Form::Number, Value::Bytes(bytes)) => bytes.len() == size_of::<CK_ULONG>(),
        (Form::Date, Value::Bytes(bytes)) => bytes.is_empty() || bytes.len() == 8,
        (Form::Bytes, Value::Bytes(bytes)) => {
            kind != CKA_ALLOWED_MECHANISMS || bytes.len().is_multiple_of(size_of::<CK_ULONG>())
        }
        _ => false,
    };
    ensure(fits, CKR_ATTRIBUTE_VALUE_INVALID)
}

/// Checks that a template has only attributes that objects of its class have, of the right form.
///
/// # Errors
/// `CKR_ATTRIBUTE_TYPE_INVALID`, `CKR_ATTRIBUTE_VALUE_INVALID`.
pub fn check(class: CK_OBJECT_CLASS, key: Option<CK_KEY_TYPE>, attributes: &Attributes) -> Result {
    let lists = kinds(class, key)?;
    for (kind, value) in attributes.iter() {
        ensure(lists.iter().any(|list| list.contains(&kind)), CKR_ATTRIBUTE_TYPE_INVALID)?;
        check_form(kind, value)?;
    }
    Ok(())
}

/// Whether only the interface sets the attribute.
pub const fn is_read_only(kind: CK_ATTRIBUTE_TYPE) -> bool {
    matches!(kind, CKA_LOCAL | CKA_KEY_GEN_MECHANISM | CKA_ALWAYS_SENSITIVE | CKA_NEVER_EXTRACTABLE | CKA_UNIQUE_ID)
}

/// Checks that an object may be given these attributes after it was made (C_SetAttributeValue), or by a copy, which may change more.
///
/// # Errors
/// `CKR_ATTRIBUTE_READ_ONLY`, `CKR_ATTRIBUTE_TYPE_INVALID`, `CKR_ATTRIBUTE_VALUE_INVALID`.
pub fn check_change(of: &Attributes, changes: &Attributes, copy: bool) -> Result {
    let class = of.number(CKA_CLASS).unwrap_or_default();
    check(class, of.number(CKA_KEY_TYPE), changes)?;
    for (kind, value) in changes.iter() {
        let same = of.get(kind) == Some(value);
        let may = match kind {
            CKA_TOKEN | CKA_PRIVATE | CKA_MODIFIABLE | CKA_DESTROYABLE => copy,
            // They can be given up, not won back.
            CKA_COPYABLE | CKA_EXTRACTABLE | CKA_IBM_PROTKEY_EXTRACTABLE => same || !changes.is(kind),
            CKA_SENSITIVE | CKA_WRAP_WITH_TRUSTED => same || changes.is(kind),
            CKA_LABEL | CKA_ID | CKA_SUBJECT | CKA_START_DATE | CKA_END_DATE | CKA_DERIVE | CKA_ENCRYPT
            | CKA_DECRYPT | CKA_SIGN | CKA_SIGN_RECOVER | CKA_VERIFY | CKA_VERIFY_RECOVER | CKA_WRAP | CKA_UNWRAP
            | CKA_TRUSTED | CKA_ENCAPSULATE | CKA_DECAPSULATE | CKA_ISSUER | CKA_SERIAL_NUMBER | CKA_APPLICATION
            | CKA_OBJECT_ID | CKA_CHECK_VALUE => true,
            CKA_VALUE if class == CKO_DATA => true,
            // A template of a copy may say again what the object is.
            _ => copy && same,
        };
        ensure(may, CKR_ATTRIBUTE_READ_ONLY)?;
    }
    Ok(())
}

/// Whether an object has this attribute, empty unless a template says otherwise (4.6.3, 4.7, 4.8, 4.9, 4.10): lists that restrict nothing, and values
/// that are not known. Programs that ask for several attributes of many objects take one missing attribute for a failure of all.
pub fn is_empty_unless_said(of: &Attributes, kind: CK_ATTRIBUTE_TYPE) -> bool {
    let empty = matches!(
        kind,
        CKA_ALLOWED_MECHANISMS | CKA_PUBLIC_KEY_INFO | CKA_HASH_OF_SUBJECT_PUBLIC_KEY | CKA_HASH_OF_ISSUER_PUBLIC_KEY
    );
    let class = of.number(CKA_CLASS).unwrap_or(CK_UNAVAILABLE_INFORMATION);
    let lists = || kinds(class, of.number(CKA_KEY_TYPE)).unwrap_or_default();
    (empty || Attributes::is_template(kind)) && lists().iter().any(|list| list.contains(&kind))
}

/// Whether the value of an attribute is secret, in an object that has such an attribute and whose secrets do not leave it.
pub fn is_secret(of: &Attributes, kind: CK_ATTRIBUTE_TYPE) -> bool {
    let class = of.number(CKA_CLASS);
    let part = attributes::may_be_secret(kind);
    let stays = || of.is(CKA_SENSITIVE) || !of.is(CKA_EXTRACTABLE);
    let has =
        |class| kinds(class, of.number(CKA_KEY_TYPE)).is_ok_and(|lists| lists.iter().any(|list| list.contains(&kind)));
    part && matches!(class, Some(CKO_PRIVATE_KEY | CKO_SECRET_KEY)) && stays() && class.is_some_and(has)
}

/// The uses of a key of that class: booleans that say what it may do.
pub const fn uses(class: CK_OBJECT_CLASS) -> Kinds {
    match class {
        CKO_PUBLIC_KEY => &[CKA_ENCRYPT, CKA_VERIFY, CKA_VERIFY_RECOVER, CKA_WRAP, CKA_DERIVE, CKA_ENCAPSULATE],
        CKO_PRIVATE_KEY => &[CKA_DECRYPT, CKA_SIGN, CKA_SIGN_RECOVER, CKA_UNWRAP, CKA_DERIVE, CKA_DECAPSULATE],
        CKO_SECRET_KEY => &[CKA_ENCRYPT, CKA_DECRYPT, CKA_SIGN, CKA_VERIFY, CKA_WRAP, CKA_UNWRAP, CKA_DERIVE],
        _ => &[],
    }
}
