//! The algorithms of files: AES-256-GCM (SP 800-38D) and HMAC-SHA-256, by the core.

use adjunct::InOut;
use adjunct::ops::aead::{gcm_parts, same_tag};
use adjunct::ops::digest::SHA256;
pub(crate) use adjunct::ops::digest::sha256;
use adjunct::ops::mac::hmac_within;
use zeroize::Zeroizing;

/// A key, or what one is made of; wiped when it is dropped.
pub(crate) type Secret = Zeroizing<[u8; 32]>;

/// A secret that stays where it is when what holds it is moved.
pub(crate) type BoxedSecret = Box<Secret>;

/// A copy of at most 32 bytes, with zeros behind them.
pub(crate) fn boxed(bytes: &[u8]) -> BoxedSecret {
    let mut secret = Box::new(Zeroizing::new([0; 32]));
    secret[..bytes.len()].copy_from_slice(bytes);
    secret
}

/// Bytes of a tag.
pub(crate) const TAG: usize = 16;

/// HMAC-SHA-256; `None` where memory runs out.
pub(crate) fn hmac(key: &[u8], parts: &[&[u8]]) -> Option<Secret> {
    let mut result = Zeroizing::new([0; 32]);
    hmac_within(&SHA256, key, parts, &mut result[..]).ok()?;
    Some(result)
}

/// Encrypts in place; the tag. Each key encrypts once, so that the nonce is always the same.
pub(crate) fn encrypt(key: &Secret, aad: &[u8], text: &mut [u8]) -> Option<[u8; TAG]> {
    let mut tag = [0; TAG];
    gcm_parts::within(&key[..], true, &[0; 12], aad, InOut::in_place(text), &mut tag).ok()?;
    Some(tag)
}

/// Decrypts in place what [`encrypt`] encrypted; `None` where that is not what `text`, `aad` and `tag` are. There are zeros in `text` then.
pub(crate) fn decrypt(key: &Secret, aad: &[u8], text: &mut [u8], tag: &[u8; TAG]) -> Option<()> {
    let mut made = [0; TAG];
    let done = gcm_parts::within(&key[..], false, &[0; 12], aad, InOut::in_place(text), &mut made);
    if done.is_ok() && same_tag(&made, tag, TAG) {
        return Some(());
    }
    text.fill(0);
    None
}
