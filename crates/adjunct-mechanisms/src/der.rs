//! Keys and certificates as files have them (DER), as attributes, for tools that import and export.

mod certificate;
mod name;

use crate::object::Object;
use crate::object::attributes::{Attributes, Value};
use crate::object::key::{Curve, ObjectKey, octet_string};
use crate::object::{lattice, pkcs8, spki};
use ::pkcs8::PrivateKeyInfoRef;
use ::spki::{AlgorithmIdentifierRef, ObjectIdentifier, SubjectPublicKeyInfoRef};
use cryptoki_sys::*;
use pkcs1::der::asn1::{AnyRef, OctetStringRef, UintRef};
use pkcs1::der::{Decode, Encode};
use pkcs1::{ALGORITHM_OID, RsaPublicKey};
use sec1::EcPrivateKey;
use zeroize::Zeroizing;

pub use certificate::{Certificate, certificate};
pub use name::one_line;

/// An attribute, with its value as the interface has it.
pub type Attribute = (CK_ATTRIBUTE_TYPE, Zeroizing<Vec<u8>>);

type Der = Zeroizing<Vec<u8>>;

/// How the DER of a private key is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packed {
    /// PKCS #8: `PRIVATE KEY`.
    Pkcs8,
    /// PKCS #1: `RSA PRIVATE KEY`.
    Pkcs1,
    /// SEC 1: `EC PRIVATE KEY`, which names its curve.
    Sec1,
}

fn list(attributes: &Attributes) -> Vec<Attribute> {
    let bytes = |value: &Value| value.as_bytes().map(|bytes| Zeroizing::new(bytes.to_vec()));
    attributes.iter().filter_map(|(kind, value)| Some((kind, bytes(value)?))).collect()
}

/// The attributes that make a private key: class, type and numbers; `None` where the bytes are no key, or one of a kind that no token here takes.
pub fn private_key(der: &[u8], packed: Packed) -> Option<Vec<Attribute>> {
    let wrapped;
    let der = match packed {
        Packed::Pkcs8 => der,
        Packed::Pkcs1 => {
            wrapped = pack(AlgorithmIdentifierRef { oid: ALGORITHM_OID, parameters: Some(AnyRef::NULL) }, der)?;
            &wrapped
        }
        Packed::Sec1 => {
            let curve = curve_of(der)?;
            let parameters = Some(AnyRef::from(&curve));
            wrapped = pack(AlgorithmIdentifierRef { oid: spki::EC_PUBLIC_KEY, parameters }, der)?;
            &wrapped
        }
    };
    pkcs8::from_der(der).ok().map(|attributes| list(&attributes))
}

/// The curve that a private key of SEC 1 names.
fn curve_of(der: &[u8]) -> Option<ObjectIdentifier> {
    EcPrivateKey::from_der(der).ok()?.parameters?.named_curve()
}

/// Whether a private key of SEC 1 names its curve, without which it is none.
pub fn names_curve(der: &[u8]) -> bool {
    curve_of(der).is_some()
}

fn pack(algorithm: AlgorithmIdentifierRef<'_>, der: &[u8]) -> Option<Der> {
    let info = PrivateKeyInfoRef::new(algorithm, OctetStringRef::new(der).ok()?);
    info.to_der().ok().map(Zeroizing::new)
}

/// The attributes that make a public key, by its SubjectPublicKeyInfo: class, type and numbers; `None` where the bytes are no such structure.
pub fn public_key(der: &[u8]) -> Option<Vec<Attribute>> {
    let info = SubjectPublicKeyInfoRef::from_der(der).ok()?;
    let bits = info.subject_public_key.as_bytes()?;
    let mut attributes = Attributes::default();
    attributes.set_number(CKA_CLASS, CKO_PUBLIC_KEY).ok()?;
    if info.algorithm.oid == ALGORITHM_OID {
        let key: RsaPublicKey<UintRef<'_>> = RsaPublicKey::from_der(bits).ok()?;
        attributes.set_number(CKA_KEY_TYPE, CKK_RSA).ok()?;
        attributes.set(CKA_MODULUS, key.modulus.as_bytes()).ok()?;
        attributes.set(CKA_PUBLIC_EXPONENT, key.public_exponent.as_bytes()).ok()?;
    } else if let Some((kind, set)) = lattice::of_oid(info.algorithm.oid) {
        attributes.set_number(CKA_KEY_TYPE, kind).ok()?;
        attributes.set_number(CKA_PARAMETER_SET, set).ok()?;
        attributes.set(CKA_VALUE, bits).ok()?;
    } else {
        let curve = if info.algorithm.oid == spki::EC_PUBLIC_KEY {
            let parameters = info.algorithm.parameters?.to_der().ok()?;
            Curve::of(&parameters).ok()?
        } else {
            Curve::of_oid(info.algorithm.oid)?
        };
        attributes.set_number(CKA_KEY_TYPE, curve.key_type()).ok()?;
        attributes.set(CKA_EC_PARAMS, &curve.params()).ok()?;
        attributes.set(CKA_EC_POINT, &octet_string(bits)).ok()?;
    }
    Some(list(&attributes))
}

fn gathered(attributes: &[Attribute], class: CK_OBJECT_CLASS) -> Option<Attributes> {
    let mut all = Attributes::default();
    for (kind, value) in attributes {
        all.set(*kind, value).ok()?;
    }
    all.set_number(CKA_CLASS, class).ok()?;
    Some(all)
}

/// The PKCS #8 of a private key's attributes; `None` where they make none.
pub fn of_private_key(attributes: &[Attribute]) -> Option<Der> {
    pkcs8::to_der(&Object::new(gathered(attributes, CKO_PRIVATE_KEY)?)).ok()
}

/// The SubjectPublicKeyInfo of a key's attributes, of a public key or of a private one; `None` where they make none.
pub fn of_public_key(attributes: &[Attribute], private: bool) -> Option<Vec<u8>> {
    let all = gathered(attributes, if private { CKO_PRIVATE_KEY } else { CKO_PUBLIC_KEY })?;
    let curve = all.bytes(CKA_EC_PARAMS).and_then(|params| Curve::of(params).ok());
    spki::of(&ObjectKey::of(&all).ok()?, curve).ok()?
}

/// An element of DER: its tag, and what is in it.
pub fn tlv(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len().to_be_bytes();
    let length = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut element = vec![tag];
    match length {
        [] => element.push(0),
        [short @ 0..=0x7f] => element.push(*short),
        long => {
            element.push(0x80 | long.len() as u8);
            element.extend_from_slice(long);
        }
    }
    element.extend_from_slice(contents);
    element
}

/// `CKA_EC_PARAMS` of a curve of this name, as OpenSSL has it, and the type of its keys.
pub fn curve(name: &str) -> Option<(Vec<u8>, CK_KEY_TYPE)> {
    let name = match name {
        "prime256v1" => "secp256r1",
        "prime192v1" => "secp192r1",
        "ed25519" => "Ed25519",
        "curve25519" => "X25519",
        "ed448" => "Ed448",
        "curve448" => "X448",
        name => name,
    };
    let length = u8::try_from(name.len()).ok()?;
    let curve = Curve::of(&[&[0x13, length], name.as_bytes()].concat()).ok()?;
    Some((curve.params(), curve.key_type()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_the_shortest_length() {
        for (length, head) in [
            (0, &[4, 0][..]),
            (127, &[4, 127]),
            (128, &[4, 0x81, 128]),
            (256, &[4, 0x82, 1, 0]),
            (65536, &[4, 0x83, 1, 0, 0]),
        ] {
            let element = tlv(4, &vec![7; length]);
            assert!(element.starts_with(head) && element.len() == head.len() + length, "{length}");
        }
    }

    #[test]
    fn curves_have_openssls_names() {
        assert_eq!(curve("prime256v1"), Some((vec![6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7], CKK_EC)));
        assert_eq!(curve("ed25519").map(|(_, kind)| kind), Some(CKK_EC_EDWARDS));
        assert_eq!(curve("curve25519").map(|(_, kind)| kind), Some(CKK_EC_MONTGOMERY));
        assert_eq!(curve("ed448").map(|(_, kind)| kind), Some(CKK_EC_EDWARDS));
        assert_eq!(curve("curve448").map(|(_, kind)| kind), Some(CKK_EC_MONTGOMERY));
        assert!(curve("brainpoolP384r1").is_some() && curve("secp256k1").is_none());
    }
}
