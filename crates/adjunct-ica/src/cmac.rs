//! CMAC (NIST SP 800-38B) in one call or in parts, with the chain in the caller's hands.

use crate::error::Errno;
use crate::serve::Operation;
use adjunct::adapter::cpu::awslc::mac::{BlockCipher, Cmac};
use adjunct::catalogue::Direction;
use adjunct::catalogue::Function;
use adjunct::wipe;
use subtle::ConstantTimeEq;

fn function(cipher: BlockCipher) -> (Function, usize) {
    match cipher {
        BlockCipher::Aes(length) => (Function::AesCmac, length * 8),
        BlockCipher::TripleDes => (Function::TdesCmac, 0),
        BlockCipher::Des => (Function::DesCmac, 0),
    }
}

/// Takes in a part that others follow: `chain`, a block, goes from where the message has come to before it to where it comes to.
///
/// # Errors
/// [`Errno::INVALID`] unless the part is of whole blocks, at least one, and the key the cipher's.
pub fn intermediate(cipher: BlockCipher, key: &[u8], message: &[u8], chain: &mut [u8]) -> Result<(), Errno> {
    if message.is_empty() || !message.len().is_multiple_of(cipher.block()) {
        return Err(Errno::INVALID);
    }
    let mut cmac = Cmac::default();
    cmac.set_key(cipher, key)?;
    let (function, bits) = function(cipher);
    let operation = Operation::new(function, bits)?;
    cmac.resume(chain);
    chain.copy_from_slice(cmac.chain(message));
    operation.done(Direction::Decrypt, message.len());
    Ok(())
}

/// What to do with a MAC.
#[derive(Debug)]
pub enum Mac<'a> {
    /// Write its first bytes.
    Make(&'a mut [u8]),
    /// Compare its first bytes.
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
    let (function, bits) = function(cipher);
    let operation = Operation::new(function, bits)?;
    let mut made = [0; 16];
    Cmac::once(cipher, key, chain, message, &mut made)?;
    let (direction, right) = match mac {
        Mac::Make(out) => {
            match <&mut [u8; 16]>::try_from(&mut *out) {
                Ok(out) => *out = made,
                Err(_) => out.copy_from_slice(&made[..length]),
            }
            (Direction::Encrypt, true)
        }
        Mac::Verify(given) => (Direction::Decrypt, made[..length].ct_eq(given).into()),
    };
    // What it should have been is nobody's to find.
    wipe(&mut made);
    operation.done(direction, message.len());
    if right { Ok(()) } else { Err(Errno::FAULT) }
}
