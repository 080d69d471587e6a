//! Keys and certificates as files have them (DER), as attributes, for tools that import and export.

use crate::object::Object;
use crate::object::attributes::{Attributes, Value};
use crate::object::key::octet_string;
use crate::object::{pkcs8, spki};
use ::pkcs8::PrivateKeyInfoRef;
use ::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use cryptoki_sys::*;
use pkcs1::ALGORITHM_OID;
use pkcs1::der::asn1::{AnyRef, OctetStringRef};
use pkcs1::der::{Decode, Encode, Reader, SliceReader, Tag, Tagged};
use sec1::EcPrivateKey;
use zeroize::Zeroizing;

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

/// The attributes that make a private key: class, type and numbers; `None` where it is none, or of a kind that no token here takes.
pub fn private_key(der: &[u8], packed: Packed) -> Option<Vec<Attribute>> {
    let wrapped;
    let der = match packed {
        Packed::Pkcs8 => der,
        Packed::Pkcs1 => {
            wrapped = pack(AlgorithmIdentifierRef { oid: ALGORITHM_OID, parameters: Some(AnyRef::NULL) }, der)?;
            &wrapped
        }
        Packed::Sec1 => {
            let curve = EcPrivateKey::from_der(der).ok()?.parameters?.named_curve()?;
            let parameters = Some(AnyRef::from(&curve));
            wrapped = pack(AlgorithmIdentifierRef { oid: spki::EC_PUBLIC_KEY, parameters }, der)?;
            &wrapped
        }
    };
    pkcs8::from_der(der).ok().map(|attributes| list(&attributes))
}

fn pack(algorithm: AlgorithmIdentifierRef<'_>, der: &[u8]) -> Option<Der> {
    let info = PrivateKeyInfoRef::new(algorithm, OctetStringRef::new(der).ok()?);
    info.to_der().ok().map(Zeroizing::new)
}

/// PKCS #8 of a private key's attributes; `None` where some are missing.
pub fn of_private_key(attributes: &[Attribute]) -> Option<Der> {
    let mut all = Attributes::default();
    for (kind, value) in attributes {
        all.set(*kind, value).ok()?;
    }
    pkcs8::to_der(&Object::new(all)).ok()
}

/// The attributes of the public key that belongs to a private one, by its public key information (`CKA_PUBLIC_KEY_INFO`).
pub fn public_key(private: &[Attribute], information: &[u8]) -> Option<Vec<Attribute>> {
    let get = |kind| private.iter().find(|(other, _)| *other == kind).map(|(_, value)| value.clone());
    let number = |number: CK_ULONG| Zeroizing::new(number.to_ne_bytes().to_vec());
    let kind = get(CKA_KEY_TYPE)?;
    let info = SubjectPublicKeyInfoRef::from_der(information).ok()?;
    let bits = info.subject_public_key.as_bytes()?;
    let mut public = vec![(CKA_CLASS, number(CKO_PUBLIC_KEY)), (CKA_KEY_TYPE, kind.clone())];
    let kept: &[CK_ATTRIBUTE_TYPE] = match CK_ULONG::from_ne_bytes((**kind).try_into().ok()?) {
        CKK_RSA => &[CKA_MODULUS, CKA_PUBLIC_EXPONENT],
        CKK_EC | CKK_EC_EDWARDS | CKK_EC_MONTGOMERY => {
            public.push((CKA_EC_POINT, Zeroizing::new(octet_string(bits))));
            &[CKA_EC_PARAMS]
        }
        _ => {
            public.push((CKA_VALUE, Zeroizing::new(bits.to_vec())));
            &[CKA_PARAMETER_SET]
        }
    };
    for kind in kept {
        public.push((*kind, get(*kind)?));
    }
    Some(public)
}

/// What a certificate says of itself, as DER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Certificate<'a> {
    /// The serial number.
    pub serial: &'a [u8],
    /// Who issued it.
    pub issuer: &'a [u8],
    /// Whose it is.
    pub subject: &'a [u8],
    /// The public key's information.
    pub key: &'a [u8],
}

/// The parts of a certificate (RFC 5280, 4.1); `None` where it is none.
pub fn certificate(der: &[u8]) -> Option<Certificate<'_>> {
    fn contents(der: &[u8]) -> Option<&[u8]> {
        let whole = AnyRef::from_der(der).ok()?;
        (whole.tag() == Tag::Sequence).then(|| whole.value())
    }
    fn element<'a>(reader: &mut SliceReader<'a>) -> Option<(Tag, &'a [u8])> {
        let element = reader.tlv_bytes().ok()?;
        Some((AnyRef::from_der(element).ok()?.tag(), element))
    }
    let mut outer = SliceReader::new(contents(der)?).ok()?;
    let mut inner = SliceReader::new(contents(element(&mut outer)?.1)?).ok()?;
    let first = element(&mut inner)?;
    let serial = if first.0 == Tag::Integer { first.1 } else { element(&mut inner)?.1 };
    let mut next = || element(&mut inner).map(|(_, element)| element);
    let (_, issuer, _, subject, key) = (next()?, next()?, next()?, next()?, next()?);
    Some(Certificate { serial, issuer, subject, key })
}
