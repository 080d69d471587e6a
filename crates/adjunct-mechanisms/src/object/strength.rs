//! How strong a key is, as NIST SP 800-57 has it and openCryptoki's strength.conf.

use super::Object;
use super::key::Curve;
use adjunct::counters::Strength;
use cryptoki_sys::*;

/// The first strength whose least size `size` reaches.
fn reached(size: usize, least: [usize; 4]) -> Strength {
    let [least112, least128, least192, least256] = least;
    match size {
        _ if size >= least256 => Strength::Bits256,
        _ if size >= least192 => Strength::Bits192,
        _ if size >= least128 => Strength::Bits128,
        _ if size >= least112 => Strength::Bits112,
        _ => Strength::None,
    }
}

/// The strength of a secret key of `bits` bits.
fn symmetric(bits: usize) -> Strength {
    reached(bits, [112, 128, 192, 256])
}

/// The strength of a key.
pub(super) fn of(object: &Object) -> Strength {
    let attributes = &object.attributes;
    let length = |kind| attributes.bytes(kind).map_or(0, <[u8]>::len);
    match object.key_type() {
        Some(CKK_RSA) => reached(8 * length(CKA_MODULUS), [2048, 3072, 7680, 15360]),
        Some(CKK_EC | CKK_EC_EDWARDS | CKK_EC_MONTGOMERY) => {
            let bits = match attributes.bytes(CKA_EC_PARAMS).map(Curve::of) {
                Some(Ok(Curve::Group(group))) => 8 * group.field_len(),
                Some(Ok(Curve::Ed448 | Curve::X448)) => 448,
                Some(Ok(_)) => 256,
                _ => 0,
            };
            reached(bits, [224, 256, 384, 512])
        }
        // The categories 1 to 3 and 5 of NIST, of which the second and third are as hard as a search for an AES key of these lengths.
        Some(CKK_ML_DSA) => match attributes.number(CKA_PARAMETER_SET) {
            Some(CKP_ML_DSA_44) => Strength::Bits128,
            Some(CKP_ML_DSA_65) => Strength::Bits192,
            Some(CKP_ML_DSA_87) => Strength::Bits256,
            _ => Strength::None,
        },
        Some(CKK_ML_KEM) => match attributes.number(CKA_PARAMETER_SET) {
            Some(CKP_ML_KEM_512) => Strength::Bits128,
            Some(CKP_ML_KEM_768) => Strength::Bits192,
            Some(CKP_ML_KEM_1024) => Strength::Bits256,
            _ => Strength::None,
        },
        Some(CKK_DES) => symmetric(56),
        Some(CKK_DES2) => symmetric(80),
        Some(CKK_DES3) => symmetric(112),
        // Two keys in one.
        Some(CKK_AES_XTS) => symmetric(4 * length(CKA_VALUE)),
        Some(_) => symmetric(8 * length(CKA_VALUE)),
        None => Strength::None,
    }
}
