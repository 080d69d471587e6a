//! Keys as the core takes them, made of attributes.

use super::attributes::Attributes;
use super::lattice;
use crate::rv::{Result, Rv, ensure, fail, not_a_key};
use adjunct::ops::ec::{self, Form, Group, MAX_POINT};
use adjunct::ops::ecx::{Private, ed25519, x25519};
use adjunct::ops::rsa::{self, Crt, Numbers};
use adjunct::ops::{mldsa, mlkem};
use cryptoki_sys::*;
use spki::ObjectIdentifier;

/// A key.
#[derive(Debug)]
pub enum Key {
    Rsa(rsa::Key),
    /// On a curve of short Weierstrass form: either half, or both.
    Ec(ec::Key),
    Ed25519 {
        private: Option<Private<{ ed25519::KEY }>>,
        public: [u8; ed25519::KEY],
    },
    X25519 {
        private: Option<Private<{ x25519::KEY }>>,
        public: [u8; x25519::KEY],
    },
    MlDsa(mldsa::Key),
    MlKem(mlkem::Key),
    /// Bytes: the value of the object.
    Secret,
}

/// A curve that `CKA_EC_PARAMS` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    Group(Group),
    Ed25519,
    X25519,
}

/// The names of a group: its object identifier, and in text.
const GROUPS: [(Group, &str, &str); 12] = [
    (Group::P192, "1.2.840.10045.3.1.1", "secp192r1"),
    (Group::P224, "1.3.132.0.33", "secp224r1"),
    (Group::P256, "1.2.840.10045.3.1.7", "secp256r1"),
    (Group::P384, "1.3.132.0.34", "secp384r1"),
    (Group::P521, "1.3.132.0.35", "secp521r1"),
    (Group::BrainpoolP160r1, "1.3.36.3.3.2.8.1.1.1", "brainpoolP160r1"),
    (Group::BrainpoolP192r1, "1.3.36.3.3.2.8.1.1.3", "brainpoolP192r1"),
    (Group::BrainpoolP224r1, "1.3.36.3.3.2.8.1.1.5", "brainpoolP224r1"),
    (Group::BrainpoolP256r1, "1.3.36.3.3.2.8.1.1.7", "brainpoolP256r1"),
    (Group::BrainpoolP320r1, "1.3.36.3.3.2.8.1.1.9", "brainpoolP320r1"),
    (Group::BrainpoolP384r1, "1.3.36.3.3.2.8.1.1.11", "brainpoolP384r1"),
    (Group::BrainpoolP512r1, "1.3.36.3.3.2.8.1.1.13", "brainpoolP512r1"),
];
/// RFC 8410, 3.
pub const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
pub const X25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.110");
/// As PKCS #11 writes them, besides (3.2, 6.3.3).
const ED25519_NAMES: [&str; 2] = ["edwards25519", "Ed25519"];
const X25519_NAMES: [&str; 2] = ["curve25519", "X25519"];

impl Curve {
    /// That of `CKA_EC_PARAMS`: the DER of an object identifier or of a printable string.
    ///
    /// # Errors
    /// `CKR_CURVE_NOT_SUPPORTED` for another; `CKR_DOMAIN_PARAMS_INVALID` for what is neither.
    pub fn of(params: &[u8]) -> Result<Curve> {
        let invalid = Rv(CKR_DOMAIN_PARAMS_INVALID);
        let (&tag, body) = params.split_first().ok_or(invalid)?;
        let text =
            |names: &[&str]| body[1..].eq_ignore_ascii_case(names[0].as_bytes()) || body[1..] == *names[1].as_bytes();
        let found = match tag {
            // Explicit parameters.
            0x30 => None,
            0x06 | 0x13 if body.first().is_none_or(|&length| usize::from(length) != body.len() - 1) => {
                return Err(invalid);
            }
            0x06 => {
                let oid = ObjectIdentifier::from_bytes(&body[1..]).map_err(|_| invalid)?;
                Curve::of_oid(oid)
            }
            0x13 if text(&ED25519_NAMES) => Some(Curve::Ed25519),
            0x13 if text(&X25519_NAMES) => Some(Curve::X25519),
            0x13 => {
                let named = |(_, _, name): &&(Group, &str, &str)| body[1..] == *name.as_bytes();
                GROUPS.iter().find(named).map(|(group, ..)| Curve::Group(*group))
            }
            _ => return Err(invalid),
        };
        found.ok_or(Rv(CKR_CURVE_NOT_SUPPORTED))
    }

    /// That of an object identifier.
    pub fn of_oid(oid: ObjectIdentifier) -> Option<Curve> {
        match oid {
            ED25519 => Some(Curve::Ed25519),
            X25519 => Some(Curve::X25519),
            oid => {
                let group = GROUPS.iter().find(|(_, text, _)| ObjectIdentifier::new_unwrap(text) == oid);
                group.map(|(group, ..)| Curve::Group(*group))
            }
        }
    }

    /// Its object identifier.
    pub fn oid(self) -> ObjectIdentifier {
        match self {
            Curve::Ed25519 => ED25519,
            Curve::X25519 => X25519,
            Curve::Group(group) => {
                let text = GROUPS.iter().find(|(other, ..)| *other == group).map_or("1.1", |(_, text, _)| text);
                ObjectIdentifier::new_unwrap(text)
            }
        }
    }

    /// `CKA_EC_PARAMS`: the DER of the object identifier.
    pub fn params(self) -> Vec<u8> {
        let oid = self.oid();
        [&[0x06, oid.as_bytes().len() as u8], oid.as_bytes()].concat()
    }

    /// The type of its keys.
    pub const fn key_type(self) -> CK_KEY_TYPE {
        match self {
            Curve::Group(_) => CKK_EC,
            Curve::Ed25519 => CKK_EC_EDWARDS,
            Curve::X25519 => CKK_EC_MONTGOMERY,
        }
    }

    /// The length of a point as it is, uncompressed.
    pub const fn point_len(self) -> usize {
        match self {
            Curve::Group(group) => 1 + 2 * group.field_len(),
            _ => ed25519::KEY,
        }
    }
}

/// The point of `CKA_EC_POINT` or of an argument: as it is, or as a DER OCTET STRING (by which one is told by the length).
pub fn raw_point(curve: Curve, point: &[u8]) -> &[u8] {
    let plain = |length: usize| {
        let compressed = matches!(curve, Curve::Group(_)) && length == 1 + (curve.point_len() - 1) / 2;
        length == curve.point_len() || compressed
    };
    let inner = match point {
        [0x04, length, inner @ ..] if *length < 0x80 && usize::from(*length) == inner.len() => Some(inner),
        [0x04, 0x81, length, inner @ ..] if usize::from(*length) == inner.len() => Some(inner),
        _ => None,
    };
    inner.filter(|inner| plain(inner.len())).unwrap_or(point)
}

/// A DER OCTET STRING of up to 255 bytes.
pub fn octet_string(bytes: &[u8]) -> Vec<u8> {
    let head: &[u8] = if bytes.len() < 0x80 { &[0x04] } else { &[0x04, 0x81] };
    [head, &[bytes.len() as u8], bytes].concat()
}

/// A big-endian number in so many bytes.
fn fixed<const N: usize>(number: &[u8]) -> Result<[u8; N]> {
    number.try_into().map_err(|_| Rv(CKR_ATTRIBUTE_VALUE_INVALID))
}

impl Key {
    /// Of ML-DSA and ML-KEM: the algorithm and the public bytes.
    pub fn lattice_public(&self) -> Option<(ObjectIdentifier, &[u8])> {
        match self {
            Key::MlDsa(key) => lattice::mldsa_oid(key.set()).map(|oid| (oid, key.public_bytes())),
            Key::MlKem(key) => lattice::mlkem_oid(key.set()).map(|oid| (oid, key.public_bytes())),
            _ => None,
        }
    }

    /// Of ML-DSA and ML-KEM: the private bytes, of a private key.
    pub fn lattice_private(&self) -> Option<&[u8]> {
        match self {
            Key::MlDsa(key) => key.private_bytes(),
            Key::MlKem(key) => key.private_bytes(),
            _ => None,
        }
    }

    /// The key of an object's attributes.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCOMPLETE` where something lacks, `CKR_ATTRIBUTE_VALUE_INVALID` where it is no key; `CKR_CURVE_NOT_SUPPORTED`;
    /// `CKR_HOST_MEMORY`.
    pub fn of(attributes: &Attributes) -> Result<Key> {
        let class = attributes.number(CKA_CLASS).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
        let kind = attributes.number(CKA_KEY_TYPE).ok_or(Rv(CKR_KEY_HANDLE_INVALID))?;
        let private = class == CKO_PRIVATE_KEY;
        match (class, kind) {
            (CKO_SECRET_KEY, _) => Ok(Key::Secret),
            (CKO_PUBLIC_KEY | CKO_PRIVATE_KEY, CKK_RSA) => Key::rsa(attributes, private),
            (CKO_PUBLIC_KEY | CKO_PRIVATE_KEY, CKK_EC | CKK_EC_EDWARDS | CKK_EC_MONTGOMERY) => {
                Key::curve(attributes, kind, private)
            }
            (CKO_PUBLIC_KEY | CKO_PRIVATE_KEY, CKK_ML_DSA) => lattice::mldsa(attributes, private).map(Key::MlDsa),
            (CKO_PUBLIC_KEY | CKO_PRIVATE_KEY, CKK_ML_KEM) => lattice::mlkem(attributes, private).map(Key::MlKem),
            _ => fail(CKR_KEY_TYPE_INCONSISTENT),
        }
    }

    fn rsa(attributes: &Attributes, private: bool) -> Result<Key> {
        let (n, e) = (attributes.need(CKA_MODULUS)?, attributes.need(CKA_PUBLIC_EXPONENT)?);
        let number = |kind| attributes.bytes(kind).filter(|_| private);
        let d = number(CKA_PRIVATE_EXPONENT);
        let parts = (
            number(CKA_PRIME_1),
            number(CKA_PRIME_2),
            number(CKA_EXPONENT_1),
            number(CKA_EXPONENT_2),
            number(CKA_COEFFICIENT),
        );
        let crt = match parts {
            (Some(p), Some(q), Some(dp), Some(dq), Some(qinv)) => Some(Crt { p, q, dp, dq, qinv }),
            _ => None,
        };
        ensure(!private || d.is_some(), CKR_TEMPLATE_INCOMPLETE)?;
        let key = rsa::Key::new(&Numbers { n, e, d, crt }).map_err(not_a_key)?;
        Ok(Key::Rsa(key))
    }

    fn curve(attributes: &Attributes, kind: CK_KEY_TYPE, private: bool) -> Result<Key> {
        let curve = Curve::of(attributes.need(CKA_EC_PARAMS)?)?;
        ensure(curve.key_type() == kind, CKR_ATTRIBUTE_VALUE_INVALID)?;
        let point = attributes.bytes(CKA_EC_POINT).map(|point| raw_point(curve, point));
        let value = if private { Some(attributes.need(CKA_VALUE)?) } else { None };
        if !private {
            attributes.need(CKA_EC_POINT)?;
        }
        match curve {
            Curve::Group(group) => {
                let padded = value.map(|value| scalar(group, value)).transpose()?;
                let key = ec::Key::new(group, point, padded.as_deref().map(Vec::as_slice)).map_err(not_a_key)?;
                Ok(Key::Ec(key))
            }
            Curve::Ed25519 => {
                let private = value.map(fixed).transpose()?.map(|bytes| Private::new(&bytes));
                let public = match point {
                    Some(point) => fixed(point)?,
                    None => private.as_ref().map(ed25519::other_half).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?,
                };
                Ok(Key::Ed25519 { private, public })
            }
            Curve::X25519 => {
                let private = value.map(fixed).transpose()?.map(|bytes| Private::new(&bytes));
                let public = match point {
                    Some(point) => fixed(point)?,
                    None => private.as_ref().map(x25519::other_half).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?,
                };
                Ok(Key::X25519 { private, public })
            }
        }
    }

    /// The point of a public key on a curve, as it is; `None` of another key, or where it has none.
    pub fn point<'a>(&'a self, room: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        match self {
            Key::Ec(key) => key.public(Form::Uncompressed, room),
            Key::Ed25519 { public, .. } | Key::X25519 { public, .. } => Some(public),
            _ => None,
        }
    }
}

/// A private scalar in the length of the curve's: callers leave leading zeros out, or have one more.
fn scalar(group: Group, value: &[u8]) -> Result<zeroize::Zeroizing<Vec<u8>>> {
    let length = group.field_len();
    let zeros = value.len().saturating_sub(length);
    ensure(!value.is_empty() && value[..zeros].iter().all(|byte| *byte == 0), CKR_ATTRIBUTE_VALUE_INVALID)?;
    let value = &value[zeros..];
    let mut padded = adjunct::memory::zeros(length)?;
    padded[length - value.len()..].copy_from_slice(value);
    Ok(padded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_told_by_identifier_and_name() {
        for (group, oid, name) in GROUPS {
            let curve = Curve::Group(group);
            assert_eq!(curve.oid().to_string(), oid);
            assert_eq!(Curve::of(&curve.params()), Ok(curve));
            let text = [&[0x13, name.len() as u8], name.as_bytes()].concat();
            assert_eq!(Curve::of(&text), Ok(curve));
        }
        for (curve, names) in [(Curve::Ed25519, ED25519_NAMES), (Curve::X25519, X25519_NAMES)] {
            assert_eq!(Curve::of(&curve.params()), Ok(curve));
            for name in names {
                assert_eq!(Curve::of(&[&[0x13, name.len() as u8], name.as_bytes()].concat()), Ok(curve));
            }
        }
        for (bad, rv) in [
            (&[][..], CKR_DOMAIN_PARAMS_INVALID),
            (&[6], CKR_DOMAIN_PARAMS_INVALID),
            (&[6, 2, 1], CKR_DOMAIN_PARAMS_INVALID),
            (&[6, 0], CKR_DOMAIN_PARAMS_INVALID),
            (&[0x13, 1, b'x'], CKR_CURVE_NOT_SUPPORTED),
            (&[0x13, 0], CKR_CURVE_NOT_SUPPORTED),
            (&[0x30, 0], CKR_CURVE_NOT_SUPPORTED),
            (&[6, 3, 0x2a, 3, 4], CKR_CURVE_NOT_SUPPORTED),
        ] {
            assert_eq!(Curve::of(bad), Err(Rv(rv)), "{bad:?}");
        }
    }

    #[test]
    fn points_are_taken_with_and_without_der() {
        let p256 = Curve::Group(Group::P256);
        let raw = [[4; 1].as_slice(), &[7; 64]].concat();
        assert_eq!(raw_point(p256, &raw), raw);
        assert_eq!(raw_point(p256, &octet_string(&raw)), raw);
        let p521 = Curve::Group(Group::P521);
        let raw = [[4; 1].as_slice(), &[7; 132]].concat();
        assert_eq!(raw_point(p521, &octet_string(&raw)), raw);
        // One that looks like DER.
        let mut raw = [9; 32];
        (raw[0], raw[1]) = (4, 30);
        assert_eq!(raw_point(Curve::Ed25519, &raw), raw);
        assert_eq!(raw_point(Curve::Ed25519, &octet_string(&raw)), raw);
    }
}
