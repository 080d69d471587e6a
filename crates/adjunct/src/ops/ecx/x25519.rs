//! X25519 (RFC 7748, 5 and 6.1).

use super::{Material, Private, count};
use crate::catalogue::{Function, Outcome};
use crate::error::Error;
use adjunct_card_protocol::secure::Call;
use adjunct_cpu::ecx as cpu;
use adjunct_lanes::curve as lanes;
use zeroize::Zeroizing;

/// The length of every key and of a shared secret, in bytes.
pub const KEY: usize = cpu::KEY;

/// The error of a peer of small order, with which every shared secret is all zeros.
const SMALL_ORDER: Error = Error::InvalidKey("public key of small order");

/// Generates a key pair.
pub fn generate() -> (Private<KEY>, [u8; KEY]) {
    let bytes = cpu::x25519_generate();
    (Private::new(&bytes), clear_public(&bytes))
}

fn clear_public(private: &[u8; KEY]) -> [u8; KEY] {
    let (public, outcome) = lanes::x25519_public(private);
    count(Function::X25519Keygen, outcome);
    public
}

/// The public key of a private key, as an operation: it counts as the key pair's generation.
///
/// # Errors
/// Those of a card's key.
pub fn public(private: &Private<KEY>) -> Result<[u8; KEY], Error> {
    private.public_counted(Function::X25519Keygen, |private| Ok(clear_public(private)))
}

/// The public key of a private key that is imported or checked. A part of that, which counts nothing.
///
/// # Errors
/// Those of a card's key.
pub fn other_half(private: &Private<KEY>) -> Result<[u8; KEY], Error> {
    private.public(|private| Ok(cpu::x25519_public(private).0))
}

/// The shared secret of a private key and a peer's public key.
///
/// # Errors
/// [`Error::InvalidKey`] for a peer of small order, which counts as well: the secret has been computed. Those of a card's key.
pub fn shared_secret(private: &Private<KEY>, peer: &[u8; KEY]) -> Result<Zeroizing<[u8; KEY]>, Error> {
    let (secret, outcome) = agreed(private, peer)?;
    count(Function::X25519Derive, outcome);
    secret.ok_or(SMALL_ORDER)
}

/// The shared secret of [`shared_secret`], as a part of another operation: it counts nothing.
///
/// # Errors
/// As for [`shared_secret`].
pub fn shared_secret_within(private: &Private<KEY>, peer: &[u8; KEY]) -> Result<Zeroizing<[u8; KEY]>, Error> {
    agreed(private, peer)?.0.ok_or(SMALL_ORDER)
}

type Agreed = (Option<Zeroizing<[u8; KEY]>>, Outcome);

fn agreed(private: &Private<KEY>, peer: &[u8; KEY]) -> Result<Agreed, Error> {
    match &private.0 {
        Material::Clear(private) => Ok(lanes::x25519(private, peer)),
        Material::Elsewhere(elsewhere) => {
            let mut secret = Zeroizing::new([0; KEY]);
            elsewhere.fill(Call::XDerive, &[], peer, &mut secret[..])?;
            let any = secret.iter().fold(0, |all, byte| all | byte) != 0;
            Ok((any.then_some(secret), Outcome::Card))
        }
    }
}

/// Whether a public key is one of those with which every shared secret is all zeros: its point has an order that divides 8. These are the
/// encodings of the five such points and what comes to the same modulo 2^255 - 19; the highest bit does not count (RFC 7748, 5).
pub fn is_of_small_order(public: &[u8; KEY]) -> bool {
    /// The points of order 8.
    const EIGHT: [[u8; KEY]; 2] = [
        [
            0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda, 0x09,
            0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
        ],
        [
            0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b, 0x04, 0x44,
            0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
        ],
    ];
    let mut point = *public;
    point[KEY - 1] &= 0x7f;
    let (first, middle, last) = (point[0], &point[1..KEY - 1], point[KEY - 1]);
    let all = |byte| middle.iter().all(|&b| b == byte);
    // 0 and 1; p - 1, p and p + 1.
    first <= 1 && last == 0 && all(0)
        || (0xec..=0xee).contains(&first) && last == 0x7f && all(0xff)
        || EIGHT.contains(&point)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_small_order_are_those_without_a_secret() {
        let private = Private::new(&[0x51; KEY]);
        let low = |bytes: &[u8; KEY]| {
            assert_eq!(is_of_small_order(bytes), shared_secret(&private, bytes).is_err(), "{bytes:02x?}");
            is_of_small_order(bytes)
        };
        let mut found = 0;
        for first in 0..=255 {
            for (middle, last) in [(0, 0), (0, 0x80), (0xff, 0x7f), (0xff, 0xff), (0xff, 0), (0, 0x7f)] {
                let mut bytes = [middle; KEY];
                (bytes[0], bytes[KEY - 1]) = (first, last);
                found += usize::from(low(&bytes));
            }
        }
        assert_eq!(found, 10);
        let hex = |text: &str| -> [u8; KEY] {
            std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
        };
        for text in [
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        ] {
            let mut bytes = hex(text);
            assert!(low(&bytes));
            bytes[KEY - 1] |= 0x80;
            assert!(low(&bytes));
            bytes[3] ^= 1;
            assert!(!low(&bytes));
        }
        assert!(!low(&generate().1));
    }
}
