//! Private keys in a form that the core does not read: keys of X25519, X448, Ed25519 and Ed448 that are written as those on other curves are, with
//! id-ecPublicKey and RFC 5915's structure. openCryptoki's token imports keys of X25519 and X448 so.

use crate::der::{self, EcPrivate, OCTETS, OID, Pkcs8, oid};
use zeroize::Zeroizing;

/// The identifiers of RFC 8410, 3, with the bytes of their private keys.
const CURVES: [([u8; 3], usize); 4] =
    [([0x2b, 0x65, 0x6e], 32), ([0x2b, 0x65, 0x6f], 56), ([0x2b, 0x65, 0x70], 32), ([0x2b, 0x65, 0x71], 57)];

/// The PKCS #8 of RFC 8410 that a private key in the other form stands for; `None` where it is none.
pub(crate) fn rfc8410(der: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut info = Pkcs8::of(der)?;
    let curve = (info.oid == oid::EC).then(|| info.parameters.take(OID))??;
    info.parameters.ends()?;
    let (_, length) = CURVES.iter().find(|(own, _)| own == curve)?;
    let key = EcPrivate::of(info.key, curve)?;
    let fits = key.value.len() == *length && key.point.is_none_or(|point| point.len() == *length);
    fits.then_some(())?;
    Some(Pkcs8::put(curve, &[], &der::put(OCTETS, &[key.value])))
}
