//! Keys: blobs in a KeyBlob, of which there are several where the same key is under several wrapping keys.

use crate::engine::Engine;
use crate::failure::Failure;
use crate::pb::attribute_value::OneAttr;
use crate::pb::{AttributeValue, KeyBlob};
use crate::template::Attributes;
use adjunct_ep11_client::template::{Kind, kind};
use adjunct_ep11_wire::blob;
use adjunct_ep11_wire::codes::{attribute, rv};
use adjunct_ep11_wire::spki::Maced;
use prost::Message;

/// The version that a KeyBlob says.
const VERSION: i64 = 1;

/// The wrapping key that a blob or public key says it is under.
fn wkid(bytes: &[u8]) -> Option<&[u8; 16]> {
    match bytes.first() {
        Some(0x30) => Maced::parse(bytes).map(|maced| maced.wkid),
        _ => blob::wkid(bytes),
    }
}

/// Has something done with a blob of each key: the first, and where the domain has another wrapping key the one that is under it. A key that is not
/// given has no bytes: the coprocessor says whether it needs it.
///
/// # Errors
/// Those of what is done.
pub fn with<const N: usize, R>(
    engine: &Engine,
    keys: [&Option<KeyBlob>; N],
    run: impl Fn([&[u8]; N]) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let all = keys.map(|key| key.as_ref().map_or(&[][..], |key| &key.key_blobs[..]));
    let first = all.map(|blobs| blobs.first().map_or(&[][..], |blob| &blob[..]));
    match run(first) {
        Err(failure) if failure.rv == rv::IBM_WKID_MISMATCH && all.iter().any(|blobs| blobs.len() > 1) => {
            let ours = engine.wkids();
            let fit = |blob: &&Vec<u8>| wkid(blob).is_some_and(|id| ours.contains(id));
            run(all.map(|blobs| blobs.iter().find(fit).or(blobs.first()).map_or(&[][..], |blob| &blob[..])))
        }
        done => done,
    }
}

/// Attributes with bytes that are public: names, numbers of public keys, domain parameters. CKA_LABEL and CKA_ID are programs' own, and EP11 knows neither.
const PUBLIC: [u32; 12] = [
    0x3,
    0x102,
    attribute::MODULUS,
    attribute::PUBLIC_EXPONENT,
    attribute::PUBLIC_KEY_INFO,
    attribute::PRIME,
    attribute::SUBPRIME,
    attribute::BASE,
    attribute::EC_PARAMS,
    attribute::EC_POINT,
    attribute::IBM_STRUCT_PARAMS,
    attribute::IBM_PQC_PARAMS,
];

/// Whether an attribute of a template may be told again: not bytes that may be secret, as a private key's numbers or a session.
fn is_public(of: u64, value: &AttributeValue) -> bool {
    let Ok(of) = u32::try_from(of) else { return false };
    let plain = matches!(value.one_attr, Some(OneAttr::AttributeTf(_) | OneAttr::AttributeI(_)));
    plain || PUBLIC.contains(&of) || matches!(kind(of), Some(Kind::Boolean | Kind::Number))
}

/// The KeyBlob of a new key: with what its template said, but for what may be secret. Clients store it as it is.
pub fn made(blob: &[u8], template: &Attributes) -> KeyBlob {
    let told = template.iter().filter(|(of, value)| is_public(**of, value));
    several(vec![blob.to_vec()], told.map(|(of, value)| (*of, value.clone())).collect())
}

/// A KeyBlob with blobs of one key.
pub fn several(blobs: Vec<Vec<u8>>, attributes: Attributes) -> KeyBlob {
    let mut id = [0; 16];
    // Without randomness it is no identifier; nothing else depends on it.
    let random = aws_lc_rs::rand::fill(&mut id).is_ok();
    // A UUID of version 4.
    id[6] = id[6] & 0x0f | 0x40;
    id[8] = id[8] & 0x3f | 0x80;
    let key_blob_id = if random { id.to_vec() } else { Vec::new() };
    KeyBlob { key_blob_id, version: VERSION, tx_id: Vec::new(), attributes, key_blobs: blobs }
}

/// The object of a call that takes bytes: a blob, a public key, or an encoded KeyBlob.
pub fn object(bytes: &[u8]) -> Vec<Vec<u8>> {
    if !blob::is_blob(bytes) && bytes.first() != Some(&0x30) {
        let encoded = KeyBlob::decode(bytes).ok().map(|key| key.key_blobs).filter(|blobs| !blobs.is_empty());
        if let Some(blobs) = encoded {
            return blobs;
        }
    }
    vec![bytes.to_vec()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyblob_tells_nothing_secret_of_its_template() {
        let bytes = || AttributeValue { one_attr: Some(OneAttr::AttributeB(vec![1])) };
        let number = AttributeValue { one_attr: Some(OneAttr::AttributeI(32)) };
        // CKA_VALUE, CKA_PRIVATE_EXPONENT to CKA_COEFFICIENT, a session, a MAC's key, and one that nobody knows.
        let secret = [0x11, 0x123, 0x124, 0x125, 0x126, 0x127, 0x128, 0x8001_000f, 0x8002_0002, 0x9999];
        let public = [0x3, 0x102, 0x104, 0x120, 0x122, 0x180];
        let mut template: Attributes = secret.into_iter().chain(public).map(|of| (of, bytes())).collect();
        template.insert(0x161, number);
        let told: Vec<u64> = made(&[7], &template).attributes.into_keys().collect();
        assert_eq!(told, [&public[..4], &[0x122, 0x161, 0x180]].concat());
    }
}
