//! How DES keys are wrapped, by a master key or a key-encrypting key.
//!
//! * WRAP-ECB: each part alone, E_{W1} D_{W2} E_{W3}, where W is the wrapping key with the part's control vector XORed to each 8 bytes of it.
//! * WRAP-ENH: the parts are chained from the right, each part XORed with the first 8 bytes of SHA-1 of all clear parts on its right; then triple DES in CBC with an IV
//!   of zeros over them. The wrapping key is one that is derived of W (SP 800-108, counter mode, HMAC-SHA-256, label `ENHANCEDWRAP2010`, no context), with the left
//!   control vector. IBM describes keys of two parts; what is said of a third is ours.

use crate::des::{self, Whole};
use crate::error::{Result, fail};
use crate::pattern::sha1;
use crate::vector::Vector;
use adjunct::ops::digest::SHA256;
use adjunct::ops::mac::hmac_within;
use adjunct_cca_wire::code::Code;
use zeroize::Zeroizing;

/// A method, as the flag byte of a token has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    /// The first of CCA's.
    Ecb = 0x00,
    /// The enhanced one.
    Enhanced = 0x20,
}

impl Method {
    /// The method of a flag byte.
    ///
    /// # Errors
    /// 8/49 for the methods of SHA-256, whose labels are not public; 8/47 for what is no method.
    pub fn of(flag: u8) -> Result<Method> {
        match flag {
            0x00 => Ok(Method::Ecb),
            0x20 => Ok(Method::Enhanced),
            0x40 | 0x60 => fail(Code::TOKEN_VERSION),
            _ => fail(Code::TOKEN),
        }
    }
}

/// A key that wraps DES keys: of 16 bytes, or 24.
pub struct Wrapper {
    key: Whole,
    derived: Whole,
    length: usize,
}

adjunct::opaque_debug!(Wrapper);

impl Wrapper {
    /// A wrapping key of such bytes.
    ///
    /// # Errors
    /// 8/43 for another length.
    pub fn new(key: &[u8]) -> Result<Wrapper> {
        if !matches!(key.len(), 16 | 24) {
            return fail(Code::KEY_LENGTH);
        }
        let mut made = Wrapper { key: Whole::default(), derived: derive(key)?, length: key.len() };
        made.key[..key.len()].copy_from_slice(key);
        Ok(made)
    }

    /// Wraps a key of one to three parts, in place.
    ///
    /// # Errors
    /// As [`des::ecb`].
    pub fn wrap(&self, method: Method, vectors: &[Vector; 2], key: &mut [u8]) -> Result {
        if method == Method::Enhanced {
            chain(key, true);
        }
        self.run(method, vectors, key, true)
    }

    /// Unwraps a key, in place.
    ///
    /// # Errors
    /// As [`des::ecb`].
    pub fn unwrap(&self, method: Method, vectors: &[Vector; 2], key: &mut [u8]) -> Result {
        self.run(method, vectors, key, false)?;
        if method == Method::Enhanced {
            chain(key, false);
        }
        Ok(())
    }

    fn run(&self, method: Method, vectors: &[Vector; 2], key: &mut [u8], wrap: bool) -> Result {
        match method {
            Method::Enhanced => {
                des::cbc(&variant(&self.derived[..self.length], &vectors[0])[..self.length], &mut [0; 8], wrap, key)
            }
            Method::Ecb => key.chunks_mut(des::BLOCK).enumerate().try_for_each(|(at, part)| {
                // The last key first: E_{W1} is the outermost. The third part has the right one's control vector.
                let mut under = variant(&self.key[..self.length], &vectors[at.min(1)]);
                if self.length == 24 {
                    let (first, rest) = under.split_at_mut(8);
                    first.swap_with_slice(&mut rest[8..]);
                }
                des::ecb(&under[..self.length], wrap, part)
            }),
        }
    }
}

fn variant(key: &[u8], vector: &Vector) -> Whole {
    let mut out = Whole::default();
    for ((out, key), vector) in out.iter_mut().zip(key).zip(vector.iter().cycle()) {
        *out = key ^ vector;
    }
    out
}

/// XORs each part with the first 8 bytes of SHA-1 of the clear parts on its right; the last has none.
fn chain(key: &mut [u8], wrap: bool) {
    let parts = key.len() / des::BLOCK;
    // Wrapping goes from the left, as the parts on the right have to be clear; unwrapping from the right.
    for step in 0..parts.saturating_sub(1) {
        let at = if wrap { step } else { parts - 2 - step };
        let (left, right) = key[at * des::BLOCK..].split_at_mut(des::BLOCK);
        let digest = Zeroizing::new(sha1(&[right]));
        left.iter_mut().zip(&digest[..]).for_each(|(byte, digest)| *byte ^= digest);
    }
}

/// The key that the enhanced method wraps by: K(1) = HMAC-SHA-256(W, 00000001 || label || 00 || 00000100), as 256 bits are the next multiple for both lengths.
fn derive(key: &[u8]) -> Result<Whole> {
    let mut block = Zeroizing::new([0; 32]);
    hmac_within(
        &SHA256,
        key,
        &[&1_u32.to_be_bytes(), b"ENHANCEDWRAP2010", &[0], &256_u32.to_be_bytes()],
        &mut block[..],
    )?;
    let mut out = Whole::default();
    out[..key.len()].copy_from_slice(&block[..key.len()]);
    Ok(out)
}
