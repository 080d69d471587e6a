//! The public part of a key's blob, and the form that programs on little-endian machines see.
//!
//! | offset | bytes | |
//! | --- | --- | --- |
//! | 0 | 32 | the session; zeros where it has none. It never begins with 0x30, which begins a SubjectPublicKeyInfo |
//! | 32 | 16 | the identifier of the wrapping key: the first half of its verification pattern, SHA-256 of 0x01 and the key |
//! | 48 | 8 | boolean attributes: the word at 52 has [`crate::codes::flag`] |
//! | 56 | 8 | compliance mode |
//! | 64 | 2 | 0x1234 |
//! | 66 | 14 | initial vector, with the two bytes before it |
//! | 80 | n * 16 | encrypted |
//! | end - 32 | 32 | HMAC-SHA-256 of all before it |
//!
//! The card has numbers big-endian, and so do messages and GREP11. Programs that use libep11's functions (openCryptoki, zkey) read the attributes, the mode
//! and 0x1234 in the order of their machine. [`swap`] turns one form into the other.

/// Bytes of the session's identifier.
pub const SESSION: usize = 32;
/// Where the wrapping key's identifier is.
pub const WKID: usize = 32;
/// Bytes of the wrapping key's identifier.
pub const WKID_LENGTH: usize = 16;
/// Where the boolean attributes are: two words, of which the second is [`crate::codes::flag`]'s.
pub const ATTRIBUTES: usize = 48;
/// Where the compliance mode is.
pub const MODE: usize = 56;
/// Where the version is.
pub const VERSION: usize = 64;
/// The version.
pub const MAGIC: [u8; 2] = [0x12, 0x34];
/// Where the initial vector is, the version included.
pub const IV: usize = 64;
/// Bytes before the encrypted part.
pub const HEAD: usize = 80;
/// Bytes of the MAC.
pub const MAC: usize = 32;

/// Whether bytes are a blob as the card has it.
pub fn is_blob(bytes: &[u8]) -> bool {
    has(bytes, MAGIC)
}

/// Whether bytes are a blob as programs on little-endian machines see it.
pub fn is_swapped(bytes: &[u8]) -> bool {
    has(bytes, [MAGIC[1], MAGIC[0]])
}

fn has(bytes: &[u8], magic: [u8; 2]) -> bool {
    bytes.len() >= HEAD + 16 + MAC && bytes[VERSION..VERSION + 2] == magic && bytes[0] != 0x30
}

/// Turns a blob's form into the other. The blob has at least [`HEAD`] bytes.
pub fn swap(blob: &mut [u8]) {
    if let Some(head) = blob.get_mut(..HEAD) {
        head[ATTRIBUTES..ATTRIBUTES + 4].reverse();
        head[ATTRIBUTES + 4..MODE].reverse();
        head[MODE..VERSION].reverse();
        head[VERSION..VERSION + 2].reverse();
    }
}

/// The boolean attributes of a blob as the card has it.
pub fn flags(blob: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*blob.get(ATTRIBUTES + 4..)?.first_chunk()?))
}

/// The wrapping key's identifier of a blob, in any form.
pub fn wkid(blob: &[u8]) -> Option<&[u8; WKID_LENGTH]> {
    blob.get(WKID..)?.first_chunk()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_turn_into_each_other() {
        let mut blob: Vec<u8> = (0..192).map(|at| at as u8).collect();
        blob[VERSION..VERSION + 2].copy_from_slice(&MAGIC);
        blob[ATTRIBUTES + 4..MODE].copy_from_slice(&0x8d26_u32.to_be_bytes());
        let before = blob.clone();
        assert!(is_blob(&blob) && !is_swapped(&blob));
        assert_eq!(flags(&blob), Some(0x8d26));
        swap(&mut blob);
        assert!(!is_blob(&blob) && is_swapped(&blob));
        assert_eq!(blob[ATTRIBUTES + 4..MODE], 0x8d26_u32.to_le_bytes());
        assert_eq!(wkid(&blob), wkid(&before));
        swap(&mut blob);
        assert_eq!(blob, before);
        assert!(!is_blob(&blob[..100]));
        swap(&mut blob[..79]);
        assert_eq!(blob, before);
    }
}
