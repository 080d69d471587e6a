//! Secrets of stores and of what seals them.

use adjunct::ops::digest::SHA256;
use adjunct::ops::mac::hmac_within;
use zeroize::Zeroizing;

/// A key, or what one is made of.
pub type Secret = Zeroizing<[u8; 32]>;

/// HMAC-SHA-256.
pub fn hmac(key: &[u8], parts: &[&[u8]]) -> Secret {
    let mut result = Zeroizing::new([0; 32]);
    // SHA-256 has an HMAC, so this is one.
    let _ = hmac_within(&SHA256, key, parts, &mut result[..]);
    result
}
