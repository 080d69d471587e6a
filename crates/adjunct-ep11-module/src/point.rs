//! The public point of a private key that comes without one, and whether both of a key that comes with one belong together.
//!
//! The core has no function that multiplies a curve's generator by a given number. An agreement with the generator as the peer gives the x of the point;
//! of the two points that have it, the one that verifies what the number signs is the key's.

use crate::error::{Result, Rv, ensure};
use adjunct::ops::ec::{EcKey, Form, Group, MAX_FIELD, MAX_POINT};
use adjunct_ep11_wire::codes::rv;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::key::{Curve, octet_string, raw_point};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// The generators, compressed (SEC 2, RFC 5639).
const GENERATORS: [(Group, &str); 12] = [
    (Group::P192, "03188da80eb03090f67cbf20eb43a18800f4ff0afd82ff1012"),
    (Group::P224, "02b70e0cbd6bb4bf7f321390b94a03c1d356c21122343280d6115c1d21"),
    (Group::P256, "036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"),
    (Group::P384, "03aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7"),
    (
        Group::P521,
        "0200c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66",
    ),
    (Group::BrainpoolP160r1, "03bed5af16ea3f6a4f62938c4631eb5af7bdbcdbc3"),
    (Group::BrainpoolP192r1, "03c0a0647eaab6a48753b033c56cb0f0900a2f5c4853375fd6"),
    (Group::BrainpoolP224r1, "030d9029ad2c7e5cf4340823b2a87dc68c9e4ce3174c1e6efdee12c07d"),
    (Group::BrainpoolP256r1, "038bd2aeb9cb7e57cb2c4b482ffc81b7afb9de27e1e3bd23c23a4453bd9ace3262"),
    (Group::BrainpoolP320r1, "0343bd7e9afb53d8b85289bcc48ee5bfe6f20137d10a087eb6e7871e2a10a599c710af8d0d39e20611"),
    (
        Group::BrainpoolP384r1,
        "031d1c64f068cf45ffa2a63a81b7c13f6b8847a3e77ef14fe3db7fcafe0cbd10e8e826e03436d646aaef87b2e247d4af1e",
    ),
    (
        Group::BrainpoolP512r1,
        "0281aee4bdd82ed9645a21322e9c4c6a9385ed9f70b5d916c1b43b62eef4d0098eff3b1f78e2d0d48d50d1687b93b97d5f7c6d5047406a5e688b352209bcb9f822",
    ),
];

/// Sets the point of a private key's attributes where it lacks, and checks one that is there. Keys on other curves check theirs themselves.
///
/// # Errors
/// `CKR_WRAPPED_KEY_INVALID` where the halves do not belong together, or are no key.
pub(crate) fn complete(attributes: &mut Attributes) -> Result {
    let Some(Ok(Curve::Group(group))) = attributes.bytes(CKA_EC_PARAMS).map(Curve::of) else { return Ok(()) };
    let invalid = Rv(rv::WRAPPED_KEY_INVALID);
    let given = attributes.bytes(CKA_VALUE).ok_or(invalid)?;
    let zeros = given.iter().take_while(|byte| **byte == 0).count();
    let given = &given[zeros.min(given.len())..];
    let first = group.field_len().checked_sub(given.len()).ok_or(invalid)?;
    let mut scalar = Zeroizing::new([0; MAX_FIELD]);
    let scalar = &mut scalar[..group.field_len()];
    scalar[first..].copy_from_slice(given);
    if let Some(point) = attributes.bytes(CKA_EC_POINT) {
        let point = raw_point(Curve::Group(group), point);
        let key = EcKey::new(group, Some(point), Some(scalar)).map_err(|_| invalid)?;
        return ensure(key.is_pair(), rv::WRAPPED_KEY_INVALID);
    }
    let mut room = [0; MAX_POINT];
    let key = pair(group, scalar).ok_or(invalid)?;
    let point = key.public(Form::Uncompressed, &mut room).ok_or(invalid)?;
    Ok(attributes.set(CKA_EC_POINT, &octet_string(point))?)
}

/// The pair of a number.
fn pair(group: Group, scalar: &[u8]) -> Option<EcKey> {
    let (_, digits) = GENERATORS.iter().find(|(other, _)| *other == group)?;
    let digit = |digit: u8| (digit as char).to_digit(16).map(|digit| digit as u8);
    let bytes: Option<Vec<u8>> =
        digits.as_bytes().chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect();
    let generator = EcKey::new(group, Some(&bytes?), None).ok()?;
    let private = EcKey::new(group, None, Some(scalar)).ok()?;
    let mut room = Zeroizing::new([0; MAX_FIELD]);
    // What a point's x is, is public.
    let x = private.shared_secret(&generator, &mut room).ok()?;
    let both = [2, 3].into_iter().filter_map(|sign| {
        let point = [&[sign][..], x].concat();
        EcKey::new(group, Some(&point), Some(scalar)).ok()
    });
    both.into_iter().find(EcKey::is_pair)
}
