//! PKCS#1 v1.5 decryption with OpenSSL's implicit rejection.

use super::pkcs1::{mask, pkcs1_scan, shift_left};
use super::{MAX_SIZE, RsaKey};
use crate::error::Error;
use adjunct_cpu::digest::{Digest, SHA256};
use subtle::{ConditionallySelectable, ConstantTimeLess};
use zeroize::Zeroizing;

/// HMAC-SHA256 with the two key blocks taken in beforehand.
struct Hmac {
    inner: Digest,
    outer: Digest,
}

impl Hmac {
    fn new(key: &[u8; 32]) -> Hmac {
        let mut block = Zeroizing::new([0x36; 64]);
        block.iter_mut().zip(key).for_each(|(b, k)| *b ^= k);
        let mut inner = Digest::new(&SHA256);
        inner.update(&block[..]);
        block.iter_mut().for_each(|b| *b ^= 0x36 ^ 0x5c);
        let mut outer = Digest::new(&SHA256);
        outer.update(&block[..]);
        Hmac { inner, outer }
    }

    fn mac(&self, parts: &[&[u8]]) -> Zeroizing<[u8; 32]> {
        let mut out = Zeroizing::new([0; 32]);
        let mut digest = self.inner.clone();
        parts.iter().for_each(|part| digest.update(part));
        digest.finish(&mut out[..]);
        digest.copy_from(&self.outer);
        digest.update(&out[..]);
        digest.finish(&mut out[..]);
        out
    }

    /// The pseudo-random function of implicit rejection.
    fn expand(&self, label: &[u8], out: &mut [u8]) {
        let bits = (out.len() as u16).wrapping_mul(8).to_be_bytes();
        for (i, chunk) in out.chunks_mut(32).enumerate() {
            let block = self.mac(&[&(i as u16).to_be_bytes(), label, &bits]);
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }
}

/// EME-PKCS1-v1_5 decoding with implicit rejection: a wrong padding gives a message too, one derived from the key and the ciphertext, so that the
/// result does not show it. The derivation is OpenSSL's (since 3.2; draft-irtf-cfrg-rsa-guidance, section 7): both give the same messages.
///
/// `ciphertext` and `block`, what it decrypted to, are of the modulus's length. Moves the message to the front of `block`
/// and gives its length.
///
/// # Errors
/// [`Error::Length`] for blocks below 11 bytes, which no key has; [`Error::Memory`].
pub fn pkcs1_decode_implicit(key: &RsaKey, ciphertext: &[u8], block: &mut [u8]) -> Result<usize, Error> {
    let size = block.len();
    if !(11..=MAX_SIZE).contains(&size) {
        return Err(Error::Length { what: "RSA block", got: size, expected: "the modulus's" });
    }
    let kdk = Hmac::new(&*key.d_hash()?).mac(&[ciphertext]);
    let hmac = Hmac::new(&kdk);
    let mut lengths = Zeroizing::new([0; 256]);
    hmac.expand(b"length", &mut lengths[..]);
    let mut synthetic = Zeroizing::new([0; MAX_SIZE]);
    let synthetic = &mut synthetic[..size];
    hmac.expand(b"message", synthetic);

    // The last of 128 candidates that is a possible length.
    let most = size as u32 - 10;
    let wide = (most + 1).next_power_of_two() - 1;
    let mut length = 0u32;
    for pair in lengths.chunks_exact(2) {
        let candidate = u32::from(u16::from_be_bytes([pair[0], pair[1]])) & wide;
        length.conditional_assign(&candidate, candidate.ct_lt(&most));
    }

    let (good, start) = pkcs1_scan(block);
    let start = u32::conditional_select(&(size as u32 - length), &start, good);
    let bad = mask(!good);
    for (byte, other) in block.iter_mut().zip(synthetic.iter()) {
        *byte ^= bad & (*byte ^ other);
    }
    shift_left(block, start);
    Ok(size - start as usize)
}
