//! Keys of attributes as DER, and back: PKCS #8 for private keys, SubjectPublicKeyInfo for public ones. For programs that keep keys in
//! files and in modules of PKCS #11, ours or another.

use crate::object::Object;
use crate::object::attributes::Attributes;
use crate::object::key::{Curve, Key, octet_string};
use crate::object::{lattice, pkcs8, spki};
use cryptoki_sys::*;
use pkcs1::der::asn1::UintRef;
use pkcs1::der::{Decode, Encode};
use pkcs1::{ALGORITHM_OID, RsaPublicKey};
use zeroize::Zeroizing;

/// An attribute's type and value.
pub type Attribute = (CK_ATTRIBUTE_TYPE, Zeroizing<Vec<u8>>);

fn listed(attributes: &Attributes) -> Vec<Attribute> {
    let bytes = |value: &crate::object::attributes::Value| value.as_bytes().map(|bytes| Zeroizing::new(bytes.to_vec()));
    attributes.iter().filter_map(|(kind, value)| Some((kind, bytes(value)?))).collect()
}

fn gathered(attributes: &[Attribute], class: CK_OBJECT_CLASS) -> Option<Attributes> {
    let mut all = Attributes::default();
    for (kind, value) in attributes {
        all.set(*kind, value).ok()?;
    }
    all.set_number(CKA_CLASS, class).ok()?;
    Some(all)
}

/// What makes a private key of its PKCS #8: its type, and its numbers. `None` for what is no key.
pub fn private_key(der: &[u8]) -> Option<Vec<Attribute>> {
    let mut attributes = pkcs8::from_der(der).ok()?;
    // Of the private key's own.
    attributes.remove(CKA_EC_POINT);
    attributes.remove(CKA_CLASS);
    Some(listed(&attributes))
}

/// What makes a public key of its SubjectPublicKeyInfo: its type, and its numbers. `None` for what is no key.
pub fn public_key(der: &[u8]) -> Option<Vec<Attribute>> {
    let info = ::spki::SubjectPublicKeyInfoRef::from_der(der).ok()?;
    let bits = info.subject_public_key.as_bytes()?;
    let mut attributes = Attributes::default();
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
    Some(listed(&attributes))
}

/// The PKCS #8 of a private key's attributes; `None` where they make none.
pub fn to_private_key(attributes: &[Attribute]) -> Option<Zeroizing<Vec<u8>>> {
    pkcs8::to_der(&Object::new(gathered(attributes, CKO_PRIVATE_KEY)?)).ok()
}

/// The SubjectPublicKeyInfo of a key's attributes, of a public key or of a private one; `None` where they make none.
pub fn to_public_key(attributes: &[Attribute], private: bool) -> Option<Vec<u8>> {
    let all = gathered(attributes, if private { CKO_PRIVATE_KEY } else { CKO_PUBLIC_KEY })?;
    let curve = all.bytes(CKA_EC_PARAMS).and_then(|params| Curve::of(params).ok());
    spki::of(&Key::of(&all).ok()?, curve).ok()?
}

/// `CKA_EC_PARAMS` of a curve of this name, as OpenSSL has it, and the type of its keys.
pub fn curve(name: &str) -> Option<(Vec<u8>, CK_KEY_TYPE)> {
    let name = match name {
        "prime256v1" => "secp256r1",
        "prime192v1" => "secp192r1",
        "ed25519" => "Ed25519",
        "curve25519" => "X25519",
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
    fn curves_have_openssls_names() {
        assert_eq!(curve("prime256v1"), Some((vec![6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7], CKK_EC)));
        assert_eq!(curve("ed25519").map(|(_, kind)| kind), Some(CKK_EC_EDWARDS));
        assert_eq!(curve("curve25519").map(|(_, kind)| kind), Some(CKK_EC_MONTGOMERY));
        assert!(curve("brainpoolP384r1").is_some() && curve("secp256k1").is_none());
    }
}
