//! References to keys that only cards can use. A reference stands where the private number or the bytes of a key would stand.
//!
//! Lengths are little-endian.
//!
//! ```text
//! 0 magic (16) | 16 version (1) | 17 service (1) | 18 class (1) | 19 zero | 20 length of the blob (4) | 24 checksum (8) | 32 blob | zeros
//! ```
//!
//! The blob is what the card gave for the key: a handle, or the key under a master or wrapping key that this process never sees. Zeros may follow, where a
//! field has a fixed length. The checksum (FNV-1a, 64 bits, of head and blob without the checksum's place) tells a reference that was damaged on its way;
//! it is no protection: a card judges blobs itself.
//!
//! No clear key is taken for a reference:
//! * Symmetric keys of a fixed length, scalars and the private keys of X25519, X448, Ed25519 and Ed448 are shorter than [`SHORTEST`], but for XTS with two
//!   keys of 32 bytes and the scalars of P-521 and of Brainpool's curves of 320 bits and more, which like private exponents and keys of HMAC are any
//!   numbers: there it is the magic that tells, which 1 of 2^128 keys begins with.
//! * Beginning with 0xFFFF, a reference as long as a field is a scalar not below any curve's order; as long as the modulus it is an exponent not below it.
//!
//! A number is told as a reference behind the zeros that it begins with, bytes only as they are.
//!
//! A reference is no secret, and must not be taken for a clear key: what begins as one and is damaged is refused ([`Damaged`]).
#![forbid(unsafe_code)]

use crate::frame::Service;
use adjunct_base::Error;

/// The first bytes of a reference.
pub const MAGIC: [u8; 16] = *b"\xff\xffADJUNCT KEYREF";
/// The version of the layout.
pub const VERSION: u8 = 1;
/// Bytes before the blob.
pub const HEAD: usize = 32;
/// The bytes of the shortest blob, and of the longest.
pub const BLOB: std::ops::RangeInclusive<usize> = 8..=16384;
/// The bytes of the shortest reference.
pub const SHORTEST: usize = HEAD + *BLOB.start();
/// The bytes of the longest reference, without zeros behind it.
pub const LONGEST: usize = HEAD + *BLOB.end();

/// How a key that no program reads is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// Under a wrapping key, from which it is unwrapped for the time of an operation.
    Protected = 1,
    /// Under a coprocessor's master key, which never leaves it.
    Secure = 2,
}

/// A reference: who can use the key, and what that card knows it by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The service that can use the key; never [`Service::Accelerator`], which takes clear keys.
    pub service: Service,
    /// How the key is kept.
    pub class: Class,
    /// What the card knows the key by.
    pub blob: &'a [u8],
}

/// Why bytes that begin as a reference are none: another version, an unknown service, a length that does not fit, a wrong checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

impl From<Damaged> for Error {
    fn from(_: Damaged) -> Error {
        Error::CardKey("its reference is damaged")
    }
}

/// FNV-1a of 64 bits.
fn checksum(head: &[u8], blob: &[u8]) -> [u8; 8] {
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    head.iter().chain(blob).fold(0xcbf2_9ce4_8422_2325, hash).to_le_bytes()
}

/// Whether bytes begin as a reference does. The time tells only that: not how much of a clear key agrees with the magic.
#[inline]
pub fn begins(bytes: &[u8]) -> bool {
    bytes.len() >= SHORTEST && begins_with_magic(bytes)
}

fn begins_with_magic(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|first| u128::from_le_bytes(*first) == u128::from_le_bytes(MAGIC))
}

/// Whether a big-endian number, with any zeros before it, begins as a reference does. The time tells only that.
pub fn begins_number(bytes: &[u8]) -> bool {
    start(bytes).is_some()
}

/// Where a reference begins in a number: behind its zeros. All places are looked at, whatever the number is.
fn start(bytes: &[u8]) -> Option<usize> {
    let last = bytes.len().checked_sub(SHORTEST)?;
    let (mut zeros, mut found) = (0_u8, false);
    for at in 0..=last {
        found |= (zeros == 0) & begins_with_magic(&bytes[at..]);
        zeros |= bytes[at];
    }
    found.then(|| bytes.iter().take_while(|&&byte| byte == 0).count())
}

/// The name of the mode of cards that run a service of secure keys; `None` for another.
pub const fn mode(service: Service) -> Option<&'static str> {
    match service {
        Service::Ep11 => Some("ep11"),
        Service::Cca => Some("cca"),
        Service::Test => Some("test"),
        Service::Accelerator => None,
    }
}

impl<'a> Reference<'a> {
    /// The reference in the bytes of a key; `None` where they are a clear key.
    ///
    /// # Errors
    /// [`Damaged`] for what begins as a reference and is none.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Option<Reference<'a>>, Damaged> {
        if begins(bytes) { Reference::read(bytes).map(Some).ok_or(Damaged) } else { Ok(None) }
    }

    /// The reference in a big-endian number, with any zeros before it; `None` where that is a clear one.
    ///
    /// # Errors
    /// [`Damaged`] for what begins as a reference and is none.
    pub fn parse_number(bytes: &'a [u8]) -> Result<Option<Reference<'a>>, Damaged> {
        start(bytes).map_or(Ok(None), |at| Reference::parse(&bytes[at..]))
    }

    #[cold]
    fn read(bytes: &'a [u8]) -> Option<Reference<'a>> {
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let length = u32::from_le_bytes(*head[20..].first_chunk()?) as usize;
        let (blob, zeros) = rest.split_at_checked(length)?;
        let service = Service::with_number(head[17])?;
        let class = match head[18] {
            1 => Class::Protected,
            2 => Class::Secure,
            _ => return None,
        };
        let whole = head[16] == VERSION && head[19] == 0 && mode(service).is_some() && BLOB.contains(&length);
        let intact = head[24..] == checksum(&head[..24], blob) && zeros.iter().all(|&byte| byte == 0);
        (whole && intact).then_some(Reference { service, class, blob })
    }

    /// The reference as bytes, with zeros behind it up to `length`; `None` for a blob or a service that no reference has.
    pub fn encode(&self, length: usize) -> Option<Vec<u8>> {
        if !BLOB.contains(&self.blob.len()) || mode(self.service).is_none() {
            return None;
        }
        let mut bytes = Vec::with_capacity(length.max(HEAD + self.blob.len()));
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, self.service as u8, self.class as u8, 0]);
        bytes.extend_from_slice(&(self.blob.len() as u32).to_le_bytes());
        let sum = checksum(&bytes, self.blob);
        bytes.extend_from_slice(&sum);
        bytes.extend_from_slice(self.blob);
        bytes.resize(length.max(bytes.len()), 0);
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_comes_as_it_was_made() {
        for (service, class) in [(Service::Ep11, Class::Secure), (Service::Cca, Class::Protected)] {
            for blob in [&[7; 8][..], &[0; 300], &[0xff; 16384]] {
                let reference = Reference { service, class, blob };
                for length in [0, HEAD + blob.len(), HEAD + blob.len() + 5] {
                    let bytes = reference.encode(length).unwrap();
                    assert_eq!(bytes.len(), length.max(HEAD + blob.len()));
                    assert_eq!(Reference::parse(&bytes), Ok(Some(reference)));
                }
            }
        }
        for blob in [&[7; 7][..], &[0; 16385]] {
            assert_eq!(Reference { service: Service::Ep11, class: Class::Secure, blob }.encode(0), None);
        }
        assert_eq!(Reference { service: Service::Accelerator, class: Class::Secure, blob: &[7; 8] }.encode(0), None);
    }

    #[test]
    fn what_is_damaged_is_no_clear_key() {
        let bytes = Reference { service: Service::Test, class: Class::Secure, blob: &[9; 12] }.encode(64).unwrap();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                let expected = if at < MAGIC.len() { Ok(None) } else { Err(Damaged) };
                assert_eq!(Reference::parse(&other), expected, "{at}");
            }
        }
        for length in 0..bytes.len() {
            let expected = match length {
                ..SHORTEST => Ok(None),
                SHORTEST..44 => Err(Damaged),
                _ => Reference::parse(&bytes),
            };
            assert_eq!(Reference::parse(&bytes[..length]), expected, "{length}");
        }
        assert_eq!(Reference::parse(&[0xff; 64]), Ok(None));
        for zeros in [0, 1, 30] {
            let number = [&vec![0; zeros][..], &bytes].concat();
            assert_eq!(Reference::parse_number(&number), Reference::parse(&bytes));
            let mut other = number.clone();
            other[zeros + 30] ^= 1;
            assert_eq!(Reference::parse_number(&other), Err(Damaged));
            let clear = [&[1][..], &number].concat();
            assert_eq!((Reference::parse_number(&clear), begins_number(&clear)), (Ok(None), false));
            assert!(begins_number(&number) && (zeros == 0) == begins(&number));
        }
        assert_eq!(Reference::parse(&[]), Ok(None));
    }
}
