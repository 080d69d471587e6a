//! Keys as the core takes them, made of attributes.

use super::attributes::Attributes;
use super::lattice;
use crate::curve448;
use crate::rv::{Result, Rv, ensure, fail, not_a_key};
use adjunct::ops::ec::{self, Form, Group, MAX_POINT};
use adjunct::ops::ecx::{Private, ed448, ed25519, x448, x25519};
use adjunct::ops::rsa::{self, Crt, Numbers};
use adjunct::ops::{mldsa, mlkem};
use cryptoki_sys::*;
use spki::ObjectIdentifier;

/// A key.
#[derive(Debug)]
pub enum ObjectKey {
    /// RSA.
    Rsa(rsa::RsaKey),
    /// A key on a curve of short Weierstrass form: public half, private half, or both.
    Ec(ec::EcKey),
    /// A key of Ed25519.
    Ed25519 {
        /// The private key, where it is one.
        private: Option<Private<{ ed25519::KEY }>>,
        /// The public key.
        public: [u8; ed25519::KEY],
    },
    /// A key of X25519.
    X25519 {
        /// The private key, where it is one.
        private: Option<Private<{ x25519::KEY }>>,
        /// The public key.
        public: [u8; x25519::KEY],
    },
    /// A key of Ed448.
    Ed448 {
        /// The private key, where it is one.
        private: Option<Private<{ ed448::KEY }>>,
        /// The public key.
        public: [u8; ed448::KEY],
    },
    /// A key of X448.
    X448 {
        /// The private key, where it is one.
        private: Option<Private<{ x448::KEY }>>,
        /// The public key.
        public: [u8; x448::KEY],
    },
    /// ML-DSA.
    MlDsa(mldsa::MlDsaKey),
    /// ML-KEM.
    MlKem(mlkem::MlKemKey),
    /// Bytes: the value of the object.
    Secret,
}

/// A curve that `CKA_EC_PARAMS` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// A curve of short Weierstrass form.
    Group(Group),
    /// edwards25519, of EdDSA.
    Ed25519,
    /// Curve25519, of key agreement.
    X25519,
    /// edwards448, of EdDSA.
    Ed448,
    /// Curve448, of key agreement.
    X448,
}

/// The names of a group: its object identifier, and in text.
static GROUPS: [(Group, ObjectIdentifier, &str); 12] = [
    (Group::P192, ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.1"), "secp192r1"),
    (Group::P224, ObjectIdentifier::new_unwrap("1.3.132.0.33"), "secp224r1"),
    (Group::P256, ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7"), "secp256r1"),
    (Group::P384, ObjectIdentifier::new_unwrap("1.3.132.0.34"), "secp384r1"),
    (Group::P521, ObjectIdentifier::new_unwrap("1.3.132.0.35"), "secp521r1"),
    (Group::BrainpoolP160r1, ObjectIdentifier::new_unwrap("1.3.36.3.3.2.8.1.1.1"), "brainpoolP160r1"),
    (Group::BrainpoolP192r1, ObjectIdentifier::new_unwrap("1.3.36.3.3.2.8.1.1.3"), "brainpoolP192r1"),
    (Group::BrainpoolP224r1, ObjectIdentifier::new_unwrap("1.3.36.3.3.2.8.1.1.5"), "brainpoolP224r1"),
    (Group::BrainpoolP256r1, ObjectIdentifier::new_unwrap("1.3.36.3.3.2.8.1.1.7"), "brainpoolP256r1"),
    (Group::BrainpoolP320r1, ObjectIdentifier::new_unwrap("1.3.36.3.3.2.8.1.1.9"), "brainpoolP320r1"),
    (Group::BrainpoolP384r1, ObjectIdentifier::new_unwrap("1.3.36.3.3.2.8.1.1.11"), "brainpoolP384r1"),
    (Group::BrainpoolP512r1, ObjectIdentifier::new_unwrap("1.3.36.3.3.2.8.1.1.13"), "brainpoolP512r1"),
];
/// Further curves: the object identifier (RFC 8410, 3), and the names as PKCS #11 writes them and besides (3.2, 6.3.3).
static OTHERS: [(Curve, ObjectIdentifier, [&str; 2]); 4] = [
    (Curve::Ed25519, ObjectIdentifier::new_unwrap("1.3.101.112"), ["edwards25519", "Ed25519"]),
    (Curve::X25519, ObjectIdentifier::new_unwrap("1.3.101.110"), ["curve25519", "X25519"]),
    (Curve::Ed448, ObjectIdentifier::new_unwrap("1.3.101.113"), ["edwards448", "Ed448"]),
    (Curve::X448, ObjectIdentifier::new_unwrap("1.3.101.111"), ["curve448", "X448"]),
];

impl Curve {
    /// The curve of `CKA_EC_PARAMS`: the DER of an object identifier or of a printable string.
    ///
    /// # Errors
    /// `CKR_CURVE_NOT_SUPPORTED` for another; `CKR_DOMAIN_PARAMS_INVALID` for what is neither.
    pub fn of(params: &[u8]) -> Result<Curve> {
        let invalid = Rv(CKR_DOMAIN_PARAMS_INVALID);
        let (&tag, body) = params.split_first().ok_or(invalid)?;
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
            0x13 => Curve::named(&body[1..]),
            _ => return Err(invalid),
        };
        found.ok_or(Rv(CKR_CURVE_NOT_SUPPORTED))
    }

    fn named(text: &[u8]) -> Option<Curve> {
        let other = OTHERS.iter().find(|(_, _, [standard, besides])| {
            text.eq_ignore_ascii_case(standard.as_bytes()) || text == besides.as_bytes()
        });
        let group = || GROUPS.iter().find(|(_, _, name)| text == name.as_bytes());
        other.map(|(curve, ..)| *curve).or_else(|| group().map(|(group, ..)| Curve::Group(*group)))
    }

    /// The curve of an object identifier.
    pub fn of_oid(oid: ObjectIdentifier) -> Option<Curve> {
        let other = OTHERS.iter().find(|(_, other, _)| *other == oid);
        let group = || GROUPS.iter().find(|(_, group, _)| *group == oid);
        other.map(|(curve, ..)| *curve).or_else(|| group().map(|(group, ..)| Curve::Group(*group)))
    }

    /// Object identifier of the curve.
    pub fn oid(self) -> ObjectIdentifier {
        if let Some((_, oid, _)) = OTHERS.iter().find(|(curve, ..)| *curve == self) {
            return *oid;
        }
        const NONE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.1");
        GROUPS.iter().find(|(group, ..)| Curve::Group(*group) == self).map_or(NONE, |(_, oid, _)| *oid)
    }

    /// `CKA_EC_PARAMS`: the DER of the object identifier.
    pub fn params(self) -> Vec<u8> {
        let oid = self.oid();
        [&[0x06, oid.as_bytes().len() as u8], oid.as_bytes()].concat()
    }

    /// Key type of the curve.
    pub const fn key_type(self) -> CK_KEY_TYPE {
        match self {
            Curve::Group(_) => CKK_EC,
            Curve::Ed25519 | Curve::Ed448 => CKK_EC_EDWARDS,
            Curve::X25519 | Curve::X448 => CKK_EC_MONTGOMERY,
        }
    }

    /// The length of a point as it is, uncompressed.
    pub const fn point_len(self) -> usize {
        match self {
            Curve::Group(group) => 1 + 2 * group.field_len(),
            Curve::Ed25519 => ed25519::KEY,
            Curve::X25519 => x25519::KEY,
            Curve::Ed448 => ed448::KEY,
            Curve::X448 => x448::KEY,
        }
    }
}

/// The point of `CKA_EC_POINT` or of an argument: the bytes themselves, or the contents of a DER OCTET STRING (the length tells which).
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

/// A big-endian number in N bytes.
fn fixed<const N: usize>(number: &[u8]) -> Result<[u8; N]> {
    number.try_into().map_err(|_| Rv(CKR_ATTRIBUTE_VALUE_INVALID))
}

impl ObjectKey {
    /// The algorithm and the public bytes of an ML-DSA or ML-KEM key.
    pub fn lattice_public(&self) -> Option<(ObjectIdentifier, &[u8])> {
        match self {
            ObjectKey::MlDsa(key) => lattice::mldsa_oid(key.set()).map(|oid| (oid, key.public_bytes())),
            ObjectKey::MlKem(key) => lattice::mlkem_oid(key.set()).map(|oid| (oid, key.public_bytes())),
            _ => None,
        }
    }

    /// The private bytes of an ML-DSA or ML-KEM private key.
    pub fn lattice_private(&self) -> Option<&[u8]> {
        match self {
            ObjectKey::MlDsa(key) => key.private_bytes(),
            ObjectKey::MlKem(key) => key.private_bytes(),
            _ => None,
        }
    }

    /// The key of an object's attributes.
    ///
    /// # Errors
    /// `CKR_TEMPLATE_INCOMPLETE` where something lacks, `CKR_ATTRIBUTE_VALUE_INVALID` where it is no key; `CKR_CURVE_NOT_SUPPORTED`;
    /// `CKR_HOST_MEMORY`.
    pub fn of(attributes: &Attributes) -> Result<ObjectKey> {
        let class = attributes.number(CKA_CLASS).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE))?;
        let kind = attributes.number(CKA_KEY_TYPE).ok_or(Rv(CKR_KEY_HANDLE_INVALID))?;
        let private = class == CKO_PRIVATE_KEY;
        match (class, kind) {
            (CKO_SECRET_KEY, _) => Ok(ObjectKey::Secret),
            (CKO_PUBLIC_KEY | CKO_PRIVATE_KEY, CKK_RSA) => ObjectKey::rsa(attributes, private),
            (CKO_PUBLIC_KEY | CKO_PRIVATE_KEY, CKK_EC | CKK_EC_EDWARDS | CKK_EC_MONTGOMERY) => {
                ObjectKey::curve(attributes, kind, private)
            }
            (CKO_PUBLIC_KEY | CKO_PRIVATE_KEY, CKK_ML_DSA) => lattice::mldsa(attributes, private).map(ObjectKey::MlDsa),
            (CKO_PUBLIC_KEY | CKO_PRIVATE_KEY, CKK_ML_KEM) => lattice::mlkem(attributes, private).map(ObjectKey::MlKem),
            _ => fail(CKR_KEY_TYPE_INCONSISTENT),
        }
    }

    fn rsa(attributes: &Attributes, private: bool) -> Result<ObjectKey> {
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
        let key = rsa::RsaKey::new(&Numbers { n, e, d, crt }).map_err(not_a_key)?;
        Ok(ObjectKey::Rsa(key))
    }

    fn curve(attributes: &Attributes, kind: CK_KEY_TYPE, private: bool) -> Result<ObjectKey> {
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
                let key = ec::EcKey::new(group, point, padded.as_deref().map(Vec::as_slice)).map_err(not_a_key)?;
                Ok(ObjectKey::Ec(key))
            }
            Curve::Ed25519 => {
                let (private, public) = halves(value, point, ed25519::other_half)?;
                Ok(ObjectKey::Ed25519 { private, public })
            }
            Curve::X25519 => {
                let (private, public) = halves(value, point, x25519::other_half)?;
                Ok(ObjectKey::X25519 { private, public })
            }
            Curve::Ed448 => {
                ensure(curve448::is_available(), CKR_CURVE_NOT_SUPPORTED)?;
                let other = |private: &_| ed448::other_half(private, curve448::ed448_public);
                let (private, public) = halves(value, point, other)?;
                Ok(ObjectKey::Ed448 { private, public })
            }
            Curve::X448 => {
                ensure(curve448::is_available(), CKR_CURVE_NOT_SUPPORTED)?;
                let other = |private: &_| x448::other_half(private, curve448::x448_public);
                let (private, public) = halves(value, point, other)?;
                Ok(ObjectKey::X448 { private, public })
            }
        }
    }

    /// The point of a public key on a curve, without DER; `None` for another key, or where it has none.
    pub fn point<'a>(&'a self, room: &'a mut [u8; MAX_POINT]) -> Option<&'a [u8]> {
        match self {
            ObjectKey::Ec(key) => key.public(Form::Uncompressed, room),
            ObjectKey::Ed25519 { public, .. } | ObjectKey::X25519 { public, .. } => Some(public),
            ObjectKey::Ed448 { public, .. } => Some(public),
            ObjectKey::X448 { public, .. } => Some(public),
            _ => None,
        }
    }
}

/// The halves of a key on a curve that is not of Weierstrass form. `other_half` gives the public one; a public half that
/// is given for a private key is compared with it. Otherwise a signature made with another public half would give the private key away, and whoever
/// unwraps a key that is not theirs could give any public half.
///
/// # Errors
/// `CKR_ATTRIBUTE_VALUE_INVALID`, `CKR_FUNCTION_FAILED`.
fn halves<const N: usize>(
    value: Option<&[u8]>,
    point: Option<&[u8]>,
    other_half: impl FnOnce(&Private<N>) -> std::result::Result<[u8; N], adjunct::Error>,
) -> Result<(Option<Private<N>>, [u8; N])> {
    let given = point.map(fixed).transpose()?;
    let Some(value) = value else { return given.map(|public| (None, public)).ok_or(Rv(CKR_TEMPLATE_INCOMPLETE)) };
    let private = Private::of(value).map_err(not_a_key)?;
    let public = other_half(&private).map_err(|error| match error {
        adjunct::Error::Failed(_) => Rv(CKR_FUNCTION_FAILED),
        error => not_a_key(error),
    })?;
    ensure(given.is_none_or(|given| given == public), CKR_ATTRIBUTE_VALUE_INVALID)?;
    Ok((Some(private), public))
}

/// A private scalar in the length of the curve's: callers leave leading zeros out, or have one more.
fn scalar(group: Group, value: &[u8]) -> Result<zeroize::Zeroizing<Vec<u8>>> {
    ensure(!value.is_empty(), CKR_ATTRIBUTE_VALUE_INVALID)?;
    let zeros = value.len().saturating_sub(group.field_len());
    let zeros = value[..zeros].iter().take_while(|byte| **byte == 0).count();
    let value = &value[zeros..];
    // What is longer is none, which the core says.
    let length = group.field_len().max(value.len());
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
            assert_eq!(curve.oid(), oid);
            assert_eq!(Curve::of(&curve.params()), Ok(curve));
            let text = [&[0x13, name.len() as u8], name.as_bytes()].concat();
            assert_eq!(Curve::of(&text), Ok(curve));
        }
        for (curve, oid, names) in OTHERS {
            assert_eq!((Curve::of(&curve.params()), curve.oid()), (Ok(curve), oid));
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
