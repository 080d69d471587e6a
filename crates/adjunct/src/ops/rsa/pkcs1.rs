//! PKCS#1 v1.5, of signatures and of encryption.

use super::TOO_LONG;
use super::hash::{Hash, oid};
use crate::error::Error;
use adjunct_cpu::random;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeLess};

/// EMSA-PKCS1-v1_5 (RFC 8017, 9.2) of a digest, or of `data` as it stands without one.
///
/// # Errors
/// [`Error::Unsupported`] where it does not fit into `block`, which is of the modulus's length.
pub fn pkcs1_sign(hash: Option<Hash>, data: &[u8], block: &mut [u8]) -> Result<(), Error> {
    let mut prefix = [0; 19];
    let mut length = 0;
    if let Some(Hash::One(method)) = hash {
        // DigestInfo: SEQUENCE { SEQUENCE { OID, NULL }, OCTET STRING digest }.
        let oid = oid(method).ok_or(Error::Unsupported("digest"))?;
        let (id, total) = (oid.len() + 4, oid.len() + 8 + data.len());
        prefix[..6].copy_from_slice(&[0x30, total as u8, 0x30, id as u8, 6, oid.len() as u8]);
        prefix[6..6 + oid.len()].copy_from_slice(oid);
        prefix[6 + oid.len()..][..4].copy_from_slice(&[5, 0, 4, data.len() as u8]);
        length = oid.len() + 10;
    }
    let padding = block.len().checked_sub(length + data.len() + 3).filter(|&l| l >= 8).ok_or(TOO_LONG)?;
    block[..2].copy_from_slice(&[0, 1]);
    block[2..2 + padding].fill(0xff);
    block[2 + padding] = 0;
    let rest = &mut block[3 + padding..];
    rest[..length].copy_from_slice(&prefix[..length]);
    rest[length..].copy_from_slice(data);
    Ok(())
}

/// What a PKCS#1 v1.5 signature block carries, without looking into it. Signatures are public.
pub fn pkcs1_signed(block: &[u8]) -> Option<&[u8]> {
    let rest = block.strip_prefix(&[0, 1])?;
    let padding = rest.iter().take_while(|&&b| b == 0xff).count();
    (padding >= 8 && rest.get(padding) == Some(&0)).then(|| &rest[padding + 1..])
}

/// EME-PKCS1-v1_5 encoding (RFC 8017, 7.2.1) into `block`, which is of the modulus's length.
///
/// # Errors
/// [`Error::Unsupported`] where the message does not fit.
pub(super) fn pkcs1_encode(message: &[u8], block: &mut [u8]) -> Result<(), Error> {
    let padding = block.len().checked_sub(message.len() + 3).filter(|&l| l >= 8).ok_or(TOO_LONG)?;
    block[..2].copy_from_slice(&[0, 2]);
    let filler = &mut block[2..2 + padding];
    random(filler);
    for byte in filler {
        while *byte == 0 {
            random(std::slice::from_mut(byte));
        }
    }
    block[2 + padding] = 0;
    block[3 + padding..].copy_from_slice(message);
    Ok(())
}

/// Whether a block is a valid EME-PKCS1-v1_5 encoding, and where its message begins; in constant time.
pub(super) fn pkcs1_scan(block: &[u8]) -> (Choice, u32) {
    let mut good = block[0].ct_eq(&0) & block[1].ct_eq(&2);
    let mut looking = Choice::from(1);
    let mut zero = 0u32;
    for (i, &byte) in block.iter().enumerate().skip(2) {
        let is_zero = byte.ct_eq(&0);
        zero.conditional_assign(&(i as u32), looking & is_zero);
        looking &= !is_zero;
    }
    // At least eight bytes of padding.
    good &= !looking & !zero.ct_lt(&10);
    (good, zero + 1)
}

/// All ones for a true choice, else all zeros: it selects many bytes at the price of one look at the choice.
pub(super) fn mask(choice: Choice) -> u8 {
    // Hidden from the compiler, which might branch on a mask it knows to be one of two.
    std::hint::black_box(0u8.wrapping_sub(choice.unwrap_u8()))
}

/// Moves `block` to the left by `count` bytes in a time that does not tell `count`, which is at most its length.
pub(super) fn shift_left(block: &mut [u8], count: u32) {
    for bit in 0..=block.len().ilog2() {
        let moved = mask(Choice::from((count >> bit & 1) as u8));
        let step = 1 << bit;
        let rest = block.len() - step;
        for i in 0..rest {
            block[i] ^= moved & (block[i] ^ block[i + step]);
        }
        block[rest..].iter_mut().for_each(|byte| *byte &= !moved);
    }
}

/// EME-PKCS1-v1_5 decoding (RFC 8017, 7.2.2): moves the message to the front of `block` and gives its length.
///
/// This tells whether the padding was right, which is what Bleichenbacher's attack needs; it is for callers who turned
/// implicit rejection off.
///
/// # Errors
/// [`Error::Verify`].
pub fn pkcs1_decode(block: &mut [u8]) -> Result<usize, Error> {
    if block.len() < 11 {
        return Err(Error::Verify);
    }
    let (good, start) = pkcs1_scan(block);
    let start = u32::conditional_select(&(block.len() as u32), &start, good);
    shift_left(block, start);
    if bool::from(good) { Ok(block.len() - start as usize) } else { Err(Error::Verify) }
}
