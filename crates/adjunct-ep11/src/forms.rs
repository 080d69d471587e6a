//! The two forms of what cards make: as cards and messages have them, and as programs on this machine see them
//! ([`adjunct_ep11_wire::blob`], [`adjunct_ep11_wire::spki`]). They differ on little-endian machines alone.

use adjunct_ep11_wire::{blob, spki};
use std::borrow::Cow;

const DIFFER: bool = cfg!(target_endian = "little");

/// What a program gives, as a card has it: a key's blob, two of the same length behind each other (a key of AES-XTS), a state, a public key with a MAC.
/// All else stays as it is, and so does what has the card's form already.
pub fn inward(bytes: &[u8]) -> Cow<'_, [u8]> {
    if !DIFFER {
        return Cow::Borrowed(bytes);
    }
    let maced = || spki::Maced::parse(bytes).is_some_and(|maced| maced.is_swapped());
    if !blob::is_swapped(bytes) && !maced() {
        return Cow::Borrowed(bytes);
    }
    let mut copy = bytes.to_vec();
    swap(&mut copy, blob::is_swapped);
    Cow::Owned(copy)
}

/// Turns what a card gives into what programs see.
pub fn outward(bytes: &mut [u8]) {
    if DIFFER {
        swap(bytes, blob::is_blob);
    }
}

/// Turns the form of a public key with a MAC, and of blobs for which `of` holds.
fn swap(bytes: &mut [u8], of: fn(&[u8]) -> bool) {
    if !of(bytes) {
        _ = spki::swap(bytes);
        return;
    }
    let half = bytes.len() / 2;
    // Both are of one wrapping key: that of a half that only looks like a blob would have to be the same by chance.
    let two = bytes.len().is_multiple_of(2) && of(&bytes[half..]) && blob::wkid(bytes) == blob::wkid(&bytes[half..]);
    if two {
        blob::swap(&mut bytes[half..]);
    }
    blob::swap(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_blob(tail: u8) -> Vec<u8> {
        let mut bytes = vec![0; 192];
        bytes[32..48].fill(9);
        bytes[52..56].copy_from_slice(&0x8d26_u32.to_be_bytes());
        bytes[64..66].copy_from_slice(&blob::MAGIC);
        bytes[66..].fill(tail);
        bytes
    }

    #[test]
    fn programs_read_numbers_in_their_machines_order() {
        let two = [a_blob(1), a_blob(2)].concat();
        let attributes = [spki::HEADER, [0; 4], 0x8800_u32.to_be_bytes()].concat();
        let mut spki = vec![0x30, 2, 5, 0];
        for field in [&[1; 16][..], &[0; 32], &[3; 8], &[0; 8], &attributes, &[4; 32]] {
            adjunct_ep11_wire::message::put_octets(&mut spki, field);
        }
        for card in [a_blob(1), two.clone(), spki] {
            let mut seen = card.clone();
            outward(&mut seen);
            assert_eq!(inward(&seen), card);
            assert_eq!(inward(&card), card);
        }
        let mut seen = two.clone();
        outward(&mut seen);
        for at in [0, 192] {
            assert_eq!(seen[at + 52..at + 56], 0x8d26_u32.to_ne_bytes());
            assert_eq!(seen[at + 64..at + 66], 0x1234_u16.to_ne_bytes());
        }
    }

    #[test]
    fn all_else_stays() {
        let mut chance = [a_blob(1), a_blob(2)].concat();
        chance[192 + 32] = 8;
        let mut seen = chance.clone();
        outward(&mut seen);
        assert_eq!((&seen[192..], &*inward(&seen)), (&chance[192..], &chance[..]));
        for other in [&[][..], &[0x30, 2, 5, 0], &[7; 80], &[0; 400]] {
            let mut seen = other.to_vec();
            outward(&mut seen);
            assert_eq!((&seen[..], &*inward(other)), (other, other));
        }
    }
}
