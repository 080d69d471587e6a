//! Key tokens: what programs hold of keys. Nothing here knows a master key.
//!
//! * [`des`]: 64 bytes, versions 00 and 01. [`aes`]: 64 bytes, version 04. [`variable`]: version 05. [`pka`]: RSA and ECC keys, in sections; [`skeleton`]: those without a key.
//!
//! A token that is read is one that could be written: lengths fit, what is reserved is zero, and of tokens of 64 bytes the validation value is right, so that each bit
//! that is flipped shows. Of a token of variable length all but the pattern is bound to the key by AESKW.

pub mod aes;
pub mod des;
pub mod pka;
pub mod skeleton;
pub mod variable;

use crate::error::{Result, fail};
use adjunct_cca_wire::code::Code;

/// What the first byte of an identifier says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A null token: zeros.
    Null,
    /// A symmetric key under the master key, or clear.
    Internal,
    /// A symmetric key under a key-encrypting key.
    External,
    /// A PKA token under the master key, or public.
    PkaInternal,
    /// A PKA token otherwise.
    PkaExternal,
    /// A label of the key storage.
    Label,
}

/// What an identifier is.
///
/// # Errors
/// 8/47 for what is none.
pub fn class(identifier: &[u8]) -> Result<Class> {
    match identifier.first() {
        None | Some(0) => Ok(Class::Null),
        Some(1) => Ok(Class::Internal),
        Some(2) => Ok(Class::External),
        Some(0x1e) => Ok(Class::PkaExternal),
        Some(0x1f) => Ok(Class::PkaInternal),
        Some(0x20..=0x7e) => Ok(Class::Label),
        _ => fail(Code::TOKEN),
    }
}

/// Bytes of a token of fixed length.
pub const FIXED: usize = 64;
const TVV: usize = 60;

/// The token validation value: the sum of the big-endian words before it.
#[must_use]
pub fn tvv(token: &[u8; FIXED]) -> [u8; 4] {
    let words = token[..TVV].as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word));
    words.fold(0_u32, u32::wrapping_add).to_be_bytes()
}

fn seal(token: &mut [u8; FIXED]) {
    let sum = tvv(token);
    token[TVV..].copy_from_slice(&sum);
}

/// The token of fixed length that an identifier begins with, its validation value checked.
///
/// # Errors
/// 8/47 where it is too short; 8/29, and 8/12 for an external token.
fn sealed(identifier: &[u8]) -> Result<&[u8; FIXED]> {
    let Some(token) = identifier.first_chunk::<FIXED>() else { return fail(Code::TOKEN) };
    if token[TVV..] == tvv(token) {
        return Ok(token);
    }
    fail(if token[0] == 2 { Code::EXTERNAL_TVV } else { Code::INTERNAL_TVV })
}

/// Bytes at a place that is known to be there.
fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or([0; N])
}

fn half(bytes: &[u8], at: usize) -> usize {
    u16::from_be_bytes(part(bytes, at)).into()
}
