//! AESKW (ANS X9.102): how keys in tokens of variable length, and private keys, are wrapped.
//!
//! ```text
//! A6 A6 A6 A6 A6 A6 | bits of padding (1) | bytes of the hash (1) | options (4: zeros) | hash of the associated data | key | padding of zeros
//! ```
//!
//! That block is wrapped by the six rounds of SP 800-38F (and RFC 3394), its first 8 bytes as the initial value.

use crate::error::{Result, ensure, fail};
use adjunct::InOut;
use adjunct::ops::cipher::{Chain, Counted, aes};
use adjunct::ops::digest::sha256;
use adjunct_cca_wire::code::Code;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

const UNIT: usize = 8;
const ICV: [u8; 6] = [0xa6; 6];
const HASH: usize = 32;
/// Bytes before the key.
const HEAD: usize = 8 + 4 + HASH;

/// Bytes of the block of a key of so many.
#[must_use]
pub const fn length(key: usize) -> usize {
    (HEAD + key).next_multiple_of(UNIT)
}

/// The six rounds, in place: over an initial value of 8 bytes and the units behind it, of which there are two at least.
///
/// # Errors
/// Where the key, or the length, is none.
pub fn rounds(key: &[u8], wrap: bool, all: &mut [u8]) -> Result {
    ensure(all.len() >= 3 * UNIT && all.len().is_multiple_of(UNIT), Code::INTERNAL)?;
    let mut ecb = Counted::<aes::Ecb>::default();
    ecb.set_key(key, wrap)?;
    let count = (all.len() / UNIT - 1) as u64;
    ecb.update(wrap, all.len(), |mut pieces| {
        let mut both = Zeroizing::new([0; 16]);
        let (first, units) = all.split_at_mut(UNIT);
        for step in 0..6 * count {
            let number = if wrap { step + 1 } else { 6 * count - step };
            let at = ((number - 1) % count) as usize * UNIT;
            let mark =
                |first: &mut [u8]| first.iter_mut().zip(number.to_be_bytes()).for_each(|(byte, mark)| *byte ^= mark);
            if !wrap {
                mark(first);
            }
            both[..UNIT].copy_from_slice(first);
            both[UNIT..].copy_from_slice(&units[at..at + UNIT]);
            let chain = Chain { iv: &mut [0; 16], stream: &mut [0; 16], used: &mut 0, bits: false };
            pieces.run(chain, InOut::in_place(&mut both[..])).map_err(adjunct::Error::from)?;
            first.copy_from_slice(&both[..UNIT]);
            units[at..at + UNIT].copy_from_slice(&both[UNIT..]);
            if wrap {
                mark(first);
            }
        }
        Ok(())
    })
}

/// Wraps a key with its associated data. `padded`: bytes of the block, more than [`length`] where the length of the key is not to show.
///
/// # Errors
/// 8/43 for a key that does not fit; as [`rounds`].
pub fn wrap(under: &[u8], associated: &[u8], key: &[u8], padded: usize) -> Result<Zeroizing<Vec<u8>>> {
    let padding = padded.checked_sub(HEAD + key.len()).and_then(|bytes| u8::try_from(bytes * 8).ok());
    let Some(padding) = padding.filter(|_| padded.is_multiple_of(UNIT)) else { return fail(Code::KEY_LENGTH) };
    let mut out = adjunct::memory::zeros(padded)?;
    out[..6].copy_from_slice(&ICV);
    out[6] = padding;
    out[7] = HASH as u8;
    out[12..HEAD].copy_from_slice(&sha256(&[associated]));
    out[HEAD..HEAD + key.len()].copy_from_slice(key);
    rounds(under, true, &mut out)?;
    Ok(out)
}

/// Unwraps a key. What is wrong with it does not show, in time either.
///
/// # Errors
/// 8/47 for what was not wrapped so: another key, other associated data.
pub fn unwrap(under: &[u8], associated: &[u8], wrapped: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    ensure(wrapped.len() > HEAD && wrapped.len().is_multiple_of(UNIT), Code::TOKEN)?;
    let mut block = adjunct::memory::zeros(wrapped.len())?;
    block.copy_from_slice(wrapped);
    rounds(under, false, &mut block)?;
    let padding = usize::from(block[6]) / 8;
    let end = block.len().saturating_sub(padding).max(HEAD);
    let good = block[..6].ct_eq(&ICV)
        & block[7].ct_eq(&(HASH as u8))
        & block[8..12].ct_eq(&[0; 4])
        & block[12..HEAD].ct_eq(&sha256(&[associated]))
        & (block[6] & 7).ct_eq(&0)
        & (block[end..].iter().fold(0, |all, byte| all | byte)).ct_eq(&0)
        & u8::from(end > HEAD && end + padding == block.len()).ct_eq(&1);
    ensure(good.into(), Code::TOKEN)?;
    let mut key = adjunct::memory::zeros(end - HEAD)?;
    key.copy_from_slice(&block[HEAD..end]);
    Ok(key)
}

/// Wraps an object protection key: 8 bytes 0xA6, 8 random ones, and the key.
///
/// # Errors
/// As [`rounds`].
pub fn wrap_opk(under: &[u8], key: &[u8; 32]) -> Result<[u8; 48]> {
    let mut out = [0xa6; 48];
    adjunct::ops::random::random(&mut out[8..16]);
    out[16..].copy_from_slice(key);
    rounds(under, true, &mut out)?;
    Ok(out)
}

/// Unwraps an object protection key.
///
/// # Errors
/// 8/47.
pub fn unwrap_opk(under: &[u8], wrapped: &[u8; 48]) -> Result<Zeroizing<[u8; 32]>> {
    let mut block = Zeroizing::new(*wrapped);
    rounds(under, false, &mut block[..])?;
    ensure(block[..8].ct_eq(&[0xa6; 8]).into(), Code::TOKEN)?;
    let mut key = Zeroizing::new([0; 32]);
    key.copy_from_slice(&block[16..]);
    Ok(key)
}
