//! CMAC (NIST SP 800-38B) in one call or in parts, with the chain in the caller's hands.

use crate::error::Errno;
use crate::serve::begin;
use adjunct::catalogue::Direction;
use adjunct::ops::mac::{BlockCipher, CmacOnce};
use adjunct::wipe;
use subtle::ConstantTimeEq;

/// Makes a CMAC, if the mode of the program allows it.
#[inline]
fn allowed(cipher: BlockCipher) -> Result<CmacOnce, Errno> {
    let once = CmacOnce::new(cipher);
    begin(cipher.cmac().0, once.in_hardware())?;
    Ok(once)
}

/// Takes in a part that others follow: `chain`, a block, is the chaining value before it, and becomes the one behind it.
///
/// # Errors
/// [`Errno::INVALID`] unless the part is of whole blocks, at least one, and the key the cipher's.
pub fn intermediate(cipher: BlockCipher, key: &[u8], message: &[u8], chain: &mut [u8]) -> Result<(), Errno> {
    if message.is_empty() || !message.len().is_multiple_of(cipher.block()) {
        return Err(Errno::INVALID);
    }
    Ok(allowed(cipher)?.absorb(Direction::Decrypt, key, message, chain)?)
}

/// Whether a MAC is made or verified.
#[derive(Debug)]
pub enum Mac<'a> {
    /// Write the first bytes of the MAC.
    Make(&'a mut [u8]),
    /// Compare the first bytes of the MAC.
    Verify(&'a [u8]),
}

/// Ends a message: of one part, or after others that came to `chain`.
///
/// # Errors
/// [`Errno::INVALID`] for a MAC of no bytes or more than a block; [`Errno::FAULT`] where it does not verify.
pub fn last(cipher: BlockCipher, key: &[u8], message: &[u8], chain: Option<&[u8]>, mac: Mac<'_>) -> Result<(), Errno> {
    let length = match &mac {
        Mac::Make(out) => out.len(),
        Mac::Verify(given) => given.len(),
    };
    if length == 0 || length > cipher.block() {
        return Err(Errno::INVALID);
    }
    let direction = match &mac {
        Mac::Make(_) => Direction::Encrypt,
        Mac::Verify(_) => Direction::Decrypt,
    };
    let mut made = [0; 16];
    allowed(cipher)?.finish(direction, key, chain, message, &mut made)?;
    let right = match mac {
        Mac::Make(out) => {
            match <&mut [u8; 16]>::try_from(&mut *out) {
                Ok(out) => *out = made,
                Err(_) => out.copy_from_slice(&made[..length]),
            }
            true
        }
        Mac::Verify(given) => made[..length].ct_eq(given).into(),
    };
    // What it should have been is nobody's to find.
    wipe(&mut made);
    if right { Ok(()) } else { Err(Errno::FAULT) }
}
