//! Private keys as PKCS #8 writes them (RFC 5208, RFC 5958), which is how they are wrapped: RSA (RFC 8017, A.1.2), curves (RFC 5915,
//! RFC 8410), ML-DSA and ML-KEM (RFC 9881, 6; RFC 9935, 6).

use super::Object;
use super::attributes::Attributes;
use super::key::{Curve, ObjectKey, octet_string};
use super::{lattice, spki as public};
use crate::rv::{Result, Rv, ensure, fail};
use adjunct::ops::ec::MAX_POINT;
use adjunct::ops::ecx::Private;
use adjunct::ops::rsa::Part;
use cryptoki_sys::*;
use pkcs1::der::asn1::{AnyRef, OctetStringRef, UintRef};
use pkcs1::der::{Decode, Encode, Reader, SliceReader, Tag, TagNumber};
use pkcs1::{ALGORITHM_OID, RsaPrivateKeyRef};
use pkcs8::PrivateKeyInfoRef;
use sec1::EcPrivateKey;
use spki::{AlgorithmIdentifierRef, ObjectIdentifier};
use zeroize::Zeroizing;

type Der = Zeroizing<Vec<u8>>;

const INVALID: Rv = Rv(CKR_WRAPPED_KEY_INVALID);

fn failed<E>(_: E) -> Rv {
    Rv(CKR_FUNCTION_FAILED)
}

fn invalid<E>(_: E) -> Rv {
    INVALID
}

/// The DER of a private key.
///
/// # Errors
/// `CKR_KEY_NOT_WRAPPABLE` of a key that is none, or has no such form; `CKR_HOST_MEMORY`.
pub fn to_der(object: &Object) -> Result<Der> {
    ensure(object.class() == CKO_PRIVATE_KEY, CKR_KEY_NOT_WRAPPABLE)?;
    let attributes = &object.attributes;
    let (oid, parameters, bytes) = match &*object.key()? {
        ObjectKey::Rsa(key) => (ALGORITHM_OID, Some(AnyRef::NULL.into()), rsa_bytes(key)?),
        key @ ObjectKey::Ec(ec) => {
            let curve = Curve::of(attributes.need(CKA_EC_PARAMS)?)?;
            let mut room = [0; MAX_POINT];
            let private_key = ec.private().ok_or(Rv(CKR_KEY_NOT_WRAPPABLE))?;
            let der = EcPrivateKey { private_key, parameters: None, public_key: key.point(&mut room) };
            let der = Zeroizing::new(der.to_der().map_err(failed)?);
            let oid = pkcs1::der::Any::from(curve.oid());
            (public::EC_PUBLIC_KEY, Some(oid), der)
        }
        ObjectKey::Ed25519 { private, .. } | ObjectKey::X25519 { private, .. } => bare(attributes, private.as_ref())?,
        ObjectKey::Ed448 { private, .. } => bare(attributes, private.as_ref())?,
        ObjectKey::X448 { private, .. } => bare(attributes, private.as_ref())?,
        key @ (ObjectKey::MlDsa(_) | ObjectKey::MlKem(_)) => {
            let (oid, _) = key.lattice_public().ok_or(Rv(CKR_KEY_NOT_WRAPPABLE))?;
            (oid, None, lattice_bytes(attributes)?)
        }
        ObjectKey::Secret => return fail(CKR_KEY_NOT_WRAPPABLE),
    };
    let parameters = parameters.as_ref().map(AnyRef::from);
    let algorithm = AlgorithmIdentifierRef { oid, parameters };
    let info = PrivateKeyInfoRef::new(algorithm, OctetStringRef::new(&bytes).map_err(failed)?);
    Ok(Zeroizing::new(info.to_der().map_err(failed)?))
}

/// A private key as RFC 8410 has it: the curve's identifier, no parameters, and the bytes.
fn bare<const N: usize>(
    attributes: &Attributes,
    private: Option<&Private<N>>,
) -> Result<(ObjectIdentifier, Option<pkcs1::der::Any>, Der)> {
    let curve = Curve::of(attributes.need(CKA_EC_PARAMS)?)?;
    let bytes = private.and_then(Private::bytes).ok_or(Rv(CKR_KEY_NOT_WRAPPABLE))?;
    Ok((curve.oid(), None, Zeroizing::new(octet_string(bytes))))
}

fn rsa_bytes(key: &adjunct::ops::rsa::RsaKey) -> Result<Der> {
    let number = |part| -> Result<Der> { key.number(part)?.ok_or(Rv(CKR_KEY_NOT_WRAPPABLE)) };
    let [n, e, d, p] = [number(Part::N)?, number(Part::E)?, number(Part::D)?, number(Part::P)?];
    let [q, dp, dq, qinv] = [number(Part::Q)?, number(Part::Dp)?, number(Part::Dq)?, number(Part::Qinv)?];
    let unsigned = |number| UintRef::new(number).map_err(failed);
    let numbers = RsaPrivateKeyRef {
        modulus: unsigned(&n)?,
        public_exponent: unsigned(&e)?,
        private_exponent: unsigned(&d)?,
        prime1: unsigned(&p)?,
        prime2: unsigned(&q)?,
        exponent1: unsigned(&dp)?,
        exponent2: unsigned(&dq)?,
        coefficient: unsigned(&qinv)?,
        other_prime_infos: None,
    };
    Ok(Zeroizing::new(numbers.to_der().map_err(failed)?))
}

/// A DER element of any length.
fn element(tag: u8, contents: &[&[u8]]) -> Der {
    let length: usize = contents.iter().map(|part| part.len()).sum();
    let mut der = Zeroizing::new(Vec::with_capacity(length + 6));
    let bytes = length.to_be_bytes();
    let first = bytes.iter().take_while(|byte| **byte == 0).count();
    der.push(tag);
    if length >= 0x80 {
        der.push(0x80 | (bytes.len() - first) as u8);
        der.extend_from_slice(&bytes[first..]);
    } else {
        der.push(length as u8);
    }
    contents.iter().for_each(|part| der.extend_from_slice(part));
    der
}

/// The choice of RFC 9881 and RFC 9935: seed and expanded key both, or the expanded key alone where the seed is not known.
fn lattice_bytes(attributes: &Attributes) -> Result<Der> {
    let expanded = element(0x04, &[attributes.bytes(CKA_VALUE).ok_or(Rv(CKR_KEY_NOT_WRAPPABLE))?]);
    Ok(match attributes.bytes(CKA_SEED).filter(|seed| !seed.is_empty()) {
        Some(seed) => element(0x30, &[&element(0x04, &[seed]), &expanded]),
        None => expanded,
    })
}

/// The attributes of a private key's DER: its class, its type, and what makes the key.
///
/// # Errors
/// `CKR_WRAPPED_KEY_INVALID` for what is none; `CKR_HOST_MEMORY`.
pub fn from_der(der: &[u8]) -> Result<Attributes> {
    let info = PrivateKeyInfoRef::from_der(der).map_err(invalid)?;
    let (algorithm, bytes) = (info.algorithm, info.private_key.as_bytes());
    let mut attributes = Attributes::default();
    attributes.set_number(CKA_CLASS, CKO_PRIVATE_KEY)?;
    if algorithm.oid == ALGORITHM_OID {
        rsa_attributes(bytes, &mut attributes)?;
    } else if algorithm.oid == public::EC_PUBLIC_KEY {
        let oid = algorithm.parameters_oid().map_err(invalid)?;
        let curve = Curve::of_oid(oid).ok_or(Rv(CKR_CURVE_NOT_SUPPORTED))?;
        ensure(matches!(curve, Curve::Group(_)), CKR_WRAPPED_KEY_INVALID)?;
        let key = EcPrivateKey::from_der(bytes).map_err(invalid)?;
        // Where it names the curve once more, that is the same.
        let named = key.parameters.and_then(|parameters| parameters.named_curve());
        ensure(named.is_none_or(|named| named == oid), CKR_WRAPPED_KEY_INVALID)?;
        curve_attributes(curve, key.private_key, &mut attributes)?;
        let point = key.public_key.or_else(|| info.public_key.as_ref().and_then(|bits| bits.as_bytes()));
        if let Some(point) = point {
            attributes.set(CKA_EC_POINT, &octet_string(point))?;
        }
    } else if let Some(curve) = Curve::of_oid(algorithm.oid) {
        let key: &OctetStringRef = Decode::from_der(bytes).map_err(invalid)?;
        curve_attributes(curve, key.as_bytes(), &mut attributes)?;
    } else if let Some((kind, set)) = lattice::of_oid(algorithm.oid) {
        attributes.set_number(CKA_KEY_TYPE, kind)?;
        attributes.set_number(CKA_PARAMETER_SET, set)?;
        lattice_attributes(bytes, &mut attributes)?;
    } else {
        return Err(INVALID);
    }
    Ok(attributes)
}

fn rsa_attributes(der: &[u8], attributes: &mut Attributes) -> Result {
    let key = RsaPrivateKeyRef::from_der(der).map_err(invalid)?;
    ensure(key.other_prime_infos.is_none(), CKR_WRAPPED_KEY_INVALID)?;
    attributes.set_number(CKA_KEY_TYPE, CKK_RSA)?;
    for (kind, number) in [
        (CKA_MODULUS, key.modulus),
        (CKA_PUBLIC_EXPONENT, key.public_exponent),
        (CKA_PRIVATE_EXPONENT, key.private_exponent),
        (CKA_PRIME_1, key.prime1),
        (CKA_PRIME_2, key.prime2),
        (CKA_EXPONENT_1, key.exponent1),
        (CKA_EXPONENT_2, key.exponent2),
        (CKA_COEFFICIENT, key.coefficient),
    ] {
        attributes.set(kind, number.as_bytes())?;
    }
    Ok(())
}

fn curve_attributes(curve: Curve, value: &[u8], attributes: &mut Attributes) -> Result {
    attributes.set_number(CKA_KEY_TYPE, curve.key_type())?;
    attributes.set(CKA_EC_PARAMS, &curve.params())?;
    attributes.set(CKA_VALUE, value)
}

/// A seed ([0]), an expanded key (OCTET STRING), or both (SEQUENCE).
fn lattice_attributes(der: &[u8], attributes: &mut Attributes) -> Result {
    let mut reader = SliceReader::new(der).map_err(invalid)?;
    let choice: AnyRef<'_> = reader.decode().map_err(invalid)?;
    ensure(reader.is_finished(), CKR_WRAPPED_KEY_INVALID)?;
    match pkcs1::der::Tagged::tag(&choice) {
        Tag::ContextSpecific { constructed: false, number: TagNumber(0) } => attributes.set(CKA_SEED, choice.value()),
        Tag::OctetString => attributes.set(CKA_VALUE, choice.value()),
        Tag::Sequence => {
            let mut both = SliceReader::new(choice.value()).map_err(invalid)?;
            let seed: &OctetStringRef = both.decode().map_err(invalid)?;
            let expanded: &OctetStringRef = both.decode().map_err(invalid)?;
            ensure(both.is_finished(), CKR_WRAPPED_KEY_INVALID)?;
            attributes.set(CKA_SEED, seed.as_bytes())?;
            attributes.set(CKA_VALUE, expanded.as_bytes())
        }
        _ => Err(INVALID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::Mechanism;
    use crate::mechanism::params::Params;
    use crate::object::complete::{Defaults, Origin};

    fn round_trip(kind: CK_MECHANISM_TYPE, template: Attributes) -> Der {
        let pair = Mechanism::new(kind, Params::None).pair(&template).unwrap();
        let mut private = pair.private.clone();
        private.set_number(CKA_CLASS, CKO_PRIVATE_KEY).unwrap();
        private.set_number(CKA_KEY_TYPE, pair.kind).unwrap();
        let object = |attributes| Defaults { open: true }.object(attributes, Origin::Unwrapped).unwrap();
        let original = object(private);
        let der = to_der(&original).unwrap();
        let attributes = from_der(&der).unwrap();
        for kind in [CKA_VALUE, CKA_SEED, CKA_EC_PARAMS, CKA_PRIVATE_EXPONENT, CKA_COEFFICIENT, CKA_PARAMETER_SET] {
            assert_eq!(attributes.get(kind), original.attributes.get(kind), "{kind:#x}");
        }
        let again = object(attributes);
        assert_eq!(again.attributes.get(CKA_PUBLIC_KEY_INFO), original.attributes.get(CKA_PUBLIC_KEY_INFO));
        assert_eq!(to_der(&again).unwrap(), der);
        for length in 0..der.len() {
            assert!(from_der(&der[..length]).is_err());
        }
        assert!(from_der(&[&der[..], &[0]].concat()).is_err());
        der
    }

    #[test]
    fn private_keys_survive_their_form() {
        let mut template = Attributes::default();
        template.set_number(CKA_MODULUS_BITS, 1024).unwrap();
        round_trip(CKM_RSA_PKCS_KEY_PAIR_GEN, template);
        for (oid, mechanism) in [
            ("1.2.840.10045.3.1.7", CKM_EC_KEY_PAIR_GEN),
            ("1.3.132.0.35", CKM_EC_KEY_PAIR_GEN),
            ("1.3.36.3.3.2.8.1.1.7", CKM_EC_KEY_PAIR_GEN),
            ("1.3.101.112", CKM_EC_EDWARDS_KEY_PAIR_GEN),
            ("1.3.101.110", CKM_EC_MONTGOMERY_KEY_PAIR_GEN),
            ("1.3.101.113", CKM_EC_EDWARDS_KEY_PAIR_GEN),
            ("1.3.101.111", CKM_EC_MONTGOMERY_KEY_PAIR_GEN),
        ] {
            let curve = Curve::of_oid(ObjectIdentifier::new_unwrap(oid)).unwrap();
            if matches!(curve, Curve::Ed448 | Curve::X448) && !crate::curve448::is_available() {
                println!("SKIPPED: {curve:?}: this CPU has no instructions for it, and no library is named");
                continue;
            }
            let mut template = Attributes::default();
            template.set(CKA_EC_PARAMS, &curve.params()).unwrap();
            let der = round_trip(mechanism, template);
            if curve == Curve::Ed25519 {
                // RFC 8410, 10.3: the first bytes of any such key.
                let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
                assert_eq!(der[..16], head);
            }
        }
        for (mechanism, sets) in [(CKM_ML_DSA_KEY_PAIR_GEN, 1..=3), (CKM_ML_KEM_KEY_PAIR_GEN, 1..=3)] {
            for set in sets {
                let mut template = Attributes::default();
                template.set_number(CKA_PARAMETER_SET, set).unwrap();
                round_trip(mechanism, template);
            }
        }
    }

    #[test]
    fn lattice_keys_are_read_in_all_forms() {
        let mut attributes = Attributes::default();
        lattice_attributes(&[0x80, 2, 1, 2], &mut attributes).unwrap();
        assert_eq!((attributes.bytes(CKA_SEED), attributes.bytes(CKA_VALUE)), (Some(&[1, 2][..]), None));
        let mut attributes = Attributes::default();
        lattice_attributes(&element(4, &[&[7; 300]]), &mut attributes).unwrap();
        assert_eq!((attributes.bytes(CKA_SEED), attributes.bytes(CKA_VALUE)), (None, Some(&[7; 300][..])));
        for bad in [&[0x80, 2, 1][..], &[0x05, 0], &[0x30, 2, 4, 0], &[0x30, 6, 4, 0, 4, 0, 4, 0], &[4, 0, 0]] {
            assert_eq!(lattice_attributes(bad, &mut attributes), Err(INVALID), "{bad:?}");
        }
    }
}
