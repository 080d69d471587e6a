//! A MACed SubjectPublicKeyInfo: a public key as a card trusts it, and the form that programs on little-endian machines see.
//!
//! It is a DER SubjectPublicKeyInfo, then OCTET STRINGs without a SEQUENCE around them:
//!
//! | bytes | |
//! | --- | --- |
//! | 16 | the identifier of the wrapping key |
//! | 32 | the session; zeros where it has none |
//! | 8 | salt |
//! | 8 | compliance mode |
//! | 12 | header ([`HEADER`]), the mask of all booleans, then their values ([`crate::codes::flag`]) |
//! | 32 | HMAC-SHA-256 of all before its own OCTET STRING |
//!
//! The card has numbers big-endian. Programs that use libep11's functions read the attributes and the mode in the order of their machine. [`swap`] turns
//! one form into the other; the header's second byte tells them apart. Its first byte has the version, 1, in either half, so that it is the same in both.

use crate::message::{element, octets};

/// The header of the attributes as the card has it.
pub const HEADER: [u8; 4] = [0x11, 0, 0, 0];
/// The second byte of the header as programs on little-endian machines see it.
const SWAPPED: u8 = 1;
const SEQUENCE: u8 = 0x30;

/// The parts of a MACed SubjectPublicKeyInfo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Maced<'a> {
    /// The SubjectPublicKeyInfo.
    pub spki: &'a [u8],
    /// The identifier of the wrapping key.
    pub wkid: &'a [u8; 16],
    /// The session.
    pub session: &'a [u8; 32],
    /// The salt.
    pub salt: &'a [u8; 8],
    /// The compliance mode.
    pub mode: &'a [u8; 8],
    /// Header and attributes.
    pub attributes: &'a [u8; 12],
    /// The MAC.
    pub mac: &'a [u8; 32],
}

impl<'a> Maced<'a> {
    /// The parts of `bytes`, in any form; `None` where they are no MACed SubjectPublicKeyInfo, or more than one.
    pub fn parse(bytes: &'a [u8]) -> Option<Maced<'a>> {
        let (tag, _, rest) = element(bytes)?;
        (tag == SEQUENCE).then_some(())?;
        let spki = &bytes[..bytes.len() - rest.len()];
        let (wkid, rest) = octets(rest)?;
        let (session, rest) = octets(rest)?;
        let (salt, rest) = octets(rest)?;
        let (mode, rest) = octets(rest)?;
        let (attributes, rest) = octets(rest)?;
        let (mac, rest) = octets(rest)?;
        rest.is_empty().then_some(())?;
        let maced = Maced {
            spki,
            wkid: wkid.try_into().ok()?,
            session: session.try_into().ok()?,
            salt: salt.try_into().ok()?,
            mode: mode.try_into().ok()?,
            attributes: attributes.try_into().ok()?,
            mac: mac.try_into().ok()?,
        };
        (attributes[0] == HEADER[0] && attributes[1] <= SWAPPED).then_some(maced)
    }

    /// Whether programs on little-endian machines see it so.
    pub fn is_swapped(&self) -> bool {
        self.attributes[1] == SWAPPED
    }

    /// The boolean attributes, of the form that the card has.
    pub fn flags(&self) -> u32 {
        let [.., a, b, c, d] = *self.attributes;
        u32::from_be_bytes([a, b, c, d])
    }
}

/// Turns the form of a MACed SubjectPublicKeyInfo into the other; `None`, and nothing is changed, where the bytes are none.
pub fn swap(bytes: &mut [u8]) -> Option<()> {
    let maced = Maced::parse(bytes)?;
    // From the end: 2 and 32 of the MAC, 12, 2, 8.
    let (attributes, mode) = (bytes.len() - 34 - 12, bytes.len() - 34 - 12 - 2 - 8);
    // Lengths in a longer form have moved them.
    (bytes[attributes..attributes + 12] == *maced.attributes && bytes[mode..mode + 8] == *maced.mode).then_some(())?;
    bytes[mode..mode + 8].reverse();
    bytes[attributes + 1] ^= SWAPPED;
    bytes[attributes + 4..attributes + 8].reverse();
    bytes[attributes + 8..attributes + 12].reverse();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::put_octets;

    #[test]
    fn forms_turn_into_each_other() {
        let spki = [&[0x30, 0x81, 0x90][..], &[7; 0x90]].concat();
        let mode = 0x0102_0304_0506_0708_u64.to_be_bytes();
        let attributes = [HEADER, 0x7f_ffff_u32.to_be_bytes(), 0x8800_u32.to_be_bytes()].concat();
        let mut bytes = spki.clone();
        for field in [&[1; 16][..], &[2; 32], &[3; 8], &mode, &attributes] {
            put_octets(&mut bytes, field);
        }
        assert_eq!(Maced::parse(&bytes), None);
        put_octets(&mut bytes, &[4; 32]);
        let before = bytes.clone();
        let maced = Maced::parse(&before).unwrap();
        assert_eq!((maced.spki, maced.wkid, maced.session), (&spki[..], &[1; 16], &[2; 32]));
        assert_eq!((maced.salt, maced.mode, maced.mac, maced.flags()), (&[3; 8], &mode, &[4; 32], 0x8800));
        assert!(!maced.is_swapped());
        swap(&mut bytes).unwrap();
        let swapped = Maced::parse(&bytes).unwrap();
        assert!(swapped.is_swapped());
        assert_eq!(swapped.attributes[8..], 0x8800_u32.to_le_bytes());
        assert_eq!(*swapped.mode, 0x0102_0304_0506_0708_u64.to_le_bytes());
        assert_eq!((swapped.spki, swapped.mac, swapped.attributes[0]), (&spki[..], &[4; 32], 0x11));
        swap(&mut bytes).unwrap();
        assert_eq!(bytes, before);
        for length in 0..bytes.len() {
            assert_eq!(swap(&mut bytes[..length]), None);
        }
        assert_eq!((swap(&mut [&bytes[..], &[0]].concat()), swap(&mut spki.clone())), (None, None));
        assert_eq!(bytes, before);
    }
}
