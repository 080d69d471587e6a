//! What a key is able to do, how long and how strong it is, and which control points its use needs.

use crate::control::Points;
use crate::error::Result;
use crate::key::{Key, Material};
use adjunct::counters::Strength;
use adjunct::ops::ec::Group;
use adjunct_ep11_wire::codes::{control as c, flag, key as k};
use adjunct_mechanisms::object::Object;
use adjunct_mechanisms::object::key::{Curve, ObjectKey as Core};
use cryptoki_sys::*;

/// Uses that encrypt data.
pub const CRYPT: u32 = flag::ENCRYPT | flag::DECRYPT;
/// Uses that wrap keys.
pub const WRAP: u32 = flag::WRAP | flag::UNWRAP;
/// Signatures that do not hold what they sign.
pub const PLAIN_SIGN: u32 = flag::SIGN | flag::VERIFY;
/// Uses that sign.
pub const SIGN: u32 = flag::SIGN | flag::VERIFY | flag::SIGN_RECOVER | flag::VERIFY_RECOVER;

/// The uses that a type of key has at all.
pub fn uses(class: u32, kind: u32) -> u32 {
    let all = match kind {
        k::RSA => CRYPT | WRAP | SIGN,
        k::EC => PLAIN_SIGN | flag::DERIVE,
        k::EC_EDWARDS | k::IBM_ML_DSA | k::DSA | k::IBM_DILITHIUM => PLAIN_SIGN,
        k::EC_MONTGOMERY | k::IBM_ML_KEM | k::DH => flag::DERIVE,
        k::AES | k::DES2 | k::DES3 => CRYPT | WRAP | PLAIN_SIGN | flag::DERIVE,
        _ => PLAIN_SIGN | flag::DERIVE,
    };
    let own = match class {
        k::PRIVATE => flag::SIGN | flag::SIGN_RECOVER | flag::DECRYPT | flag::UNWRAP | flag::DERIVE,
        // A KEM's public key encapsulates.
        k::PUBLIC if kind == k::IBM_ML_KEM => flag::DERIVE,
        // Derivation is said of the public half of an agreement too.
        k::PUBLIC => flag::VERIFY | flag::VERIFY_RECOVER | flag::ENCRYPT | flag::WRAP | flag::DERIVE,
        _ => !0,
    };
    all & own
}

/// The length of an asymmetric key in bits: the modulus, the field, the public key of a lattice.
pub fn bits(object: &Object) -> u32 {
    let bits = match object.key().as_deref() {
        Ok(Core::Rsa(key)) => key.bits(),
        Ok(Core::Ec(key)) => group_bits(key.group()),
        Ok(Core::Ed25519 { .. } | Core::X25519 { .. }) => 255,
        Ok(Core::Ed448 { .. } | Core::X448 { .. }) => 448,
        Ok(Core::MlDsa(key)) => 8 * key.public_bytes().len(),
        Ok(Core::MlKem(key)) => 8 * key.public_bytes().len(),
        _ => 0,
    };
    u32::try_from(bits).unwrap_or(u32::MAX)
}

/// Bits of a curve's field.
fn group_bits(group: Group) -> usize {
    if group == Group::P521 { 521 } else { 8 * group.field_len() }
}

/// The strength of a key in bits, by SP 800-57.
pub fn strength(material: &Material) -> u32 {
    if let Some(own) = &material.own {
        return own.strength();
    }
    match material.held.strength() {
        Strength::None => {
            let bits = material.bits;
            let some = match material.kind {
                k::RSA => bits >= 1024,
                k::EC => bits >= 160,
                _ => bits >= 80,
            };
            if some { 80 } else { 0 }
        }
        strength => strength.bits(),
    }
}

/// The control point of a strength.
fn size_point(strength: u32) -> u8 {
    match strength {
        0..80 => c::BELOW_80_BITS,
        80..112 => c::BITS_80,
        112..128 => c::BITS_112,
        128..192 => c::BITS_128,
        192..256 => c::BITS_192,
        _ => c::BITS_256,
    }
}

/// Checks the control points of a type of key, of its size, and of what standards allow.
///
/// # Errors
/// `CKR_FUNCTION_CANCELED`.
pub fn allow_material(points: Points, material: &Material) -> Result {
    points.allow(&[size_point(strength(material))])?;
    let bits = material.bits;
    if let Some(own) = &material.own {
        return points.allow(own.points());
    }
    match material.kind {
        k::RSA => {
            points.allow(&[c::RSA])?;
            let exponent = material.held.attributes.bytes(CKA_PUBLIC_EXPONENT).unwrap_or_default();
            if exponent < &[1, 0, 1][..] && exponent.len() <= 3 || exponent.len() < 3 {
                points.allow(&[c::RSA65536])?;
            }
            if bits < 1976 {
                points.allow(&[c::NBSI2011])?;
            }
            if bits < 2000 {
                points.allow(&[c::NBSI2017])?;
            }
        }
        k::EC => {
            points.allow(&[c::EC])?;
            match material.curve() {
                Some(Curve::Group(group)) if is_nist(group) => points.allow(&[c::NIST])?,
                _ => points.allow(&[c::BPOOL, c::NFIPS2009])?,
            }
            if bits < 224 {
                points.allow(&[c::NBSI2011])?;
            }
            if bits < 250 {
                points.allow(&[c::NBSI2017])?;
            }
        }
        k::EC_EDWARDS | k::EC_MONTGOMERY => points.allow(&[c::EC_25519, c::NFIPS2009])?,
        k::IBM_ML_DSA => points.allow(&[c::PQC, c::ML_DSA])?,
        k::IBM_ML_KEM => points.allow(&[c::PQC, c::ML_KEM])?,
        k::DES2 => points.allow(&[c::NFIPS2011, c::NFIPS2024])?,
        k::DES3 => points.allow(&[c::NFIPS2024])?,
        _ => {}
    }
    Ok(())
}

fn is_nist(group: Group) -> bool {
    matches!(group, Group::P192 | Group::P224 | Group::P256 | Group::P384 | Group::P521)
}

/// Checks the control points of the combination of uses of a private or secret key.
///
/// # Errors
/// `CKR_FUNCTION_CANCELED`.
pub fn allow_uses(points: Points, flags: u32) -> Result {
    let has = |bits: u32| flags & bits != 0;
    let combinations = [
        (has(WRAP) && has(CRYPT), c::WRAP_CRYPT),
        (has(SIGN) && has(CRYPT), c::SIGN_CRYPT),
        (has(WRAP) && has(SIGN), c::WRAP_SIGN),
        (has(flag::EXTRACTABLE) && has(flag::PROTKEY_EXTRACTABLE), c::COMBINED_EXTRACT),
    ];
    combinations.iter().filter(|(has, _)| *has).try_for_each(|(_, point)| points.allow(&[*point]))
}

/// Checks the control points of uses that a private or secret key gets later. Its blob of before stays usable beside the new one, so that uses that may not be
/// combined may not be exchanged either.
///
/// # Errors
/// `CKR_FUNCTION_CANCELED`.
pub fn allow_new_uses(points: Points, up: u32) -> Result {
    let pairs = [(WRAP | CRYPT, c::WRAP_CRYPT), (SIGN | CRYPT, c::SIGN_CRYPT), (WRAP | SIGN, c::WRAP_SIGN)];
    pairs.iter().filter(|(pair, _)| up & pair != 0).try_for_each(|(_, point)| points.allow(&[*point]))
}

/// Checks all control points of a private or secret key that is made or used.
///
/// # Errors
/// `CKR_FUNCTION_CANCELED`.
pub fn allow(points: Points, key: &Key) -> Result {
    allow_material(points, &key.material)?;
    allow_uses(points, key.head.flags)
}
