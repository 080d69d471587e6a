//! Verification patterns: of master keys, and of keys.

use crate::des;
use crate::error::Result;
use adjunct::ops::cipher::once::{self, Aes};
use adjunct::ops::digest::{Part, SHA1, sha256};
use adjunct::ops::mac::{BlockCipher, CmacOnce};
use adjunct::{InOut, catalogue::Direction};

/// The pattern that tokens name a master key by.
pub type Mkvp = [u8; 8];

/// SHA-1, which is a part of an operation and not counted.
pub(crate) fn sha1(parts: &[&[u8]]) -> [u8; 20] {
    let mut digest = Part::new(&SHA1);
    parts.iter().for_each(|part| digest.update(part));
    let mut out = [0; 20];
    digest.finish(&mut out);
    out
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

/// The pattern of an AES or APKA master key: SHA-256 of the byte 1 and the key.
#[must_use]
pub fn of_long(key: &[u8]) -> Mkvp {
    first(&sha256(&[&[1], key]))
}

/// The pattern of a SYM master key: SHA-1 of the byte 1 and the key; where the first third is the last third, that of older cards: with C of eight bytes 0x45,
/// I = MK1 XOR E_C(MK1), pattern = MK2 XOR E_I(MK2).
///
/// # Errors
/// As [`des::ecb`].
pub fn of_sym(key: &[u8; 24]) -> Result<Mkvp> {
    if key[..8] != key[16..] {
        return Ok(first(&sha1(&[&[1], key])));
    }
    let step = |under: &[u8], third: &[u8]| -> Result<Mkvp> {
        let mut block: [u8; 8] = first(third);
        des::ecb(under, true, &mut block)?;
        block.iter_mut().zip(third).for_each(|(byte, key)| *byte ^= key);
        Ok(block)
    };
    let inner = step(&[0x45; 8], &key[..8])?;
    step(&inner, &key[8..16])
}

/// ENC-ZERO: what a block of zeros is encrypted to, whose first 4 bytes are the pattern. A DES key is of 8, 16 or 24 bytes.
///
/// # Errors
/// As [`des::ecb`].
pub fn enc_zero_des(key: &[u8]) -> Result<[u8; 4]> {
    let mut block = [0; 8];
    des::ecb(key, true, &mut block)?;
    Ok(first(&block))
}

/// ENC-ZERO of an AES key.
///
/// # Errors
/// Where the key is none.
pub fn enc_zero_aes(key: &[u8]) -> Result<[u8; 4]> {
    let mut block = [0; 16];
    once::ecb::<Aes, 16>(key, true, InOut::in_place(&mut block))?;
    Ok(first(&block))
}

/// CMACZERO of an AES key: the first 5 bytes of the CMAC of a block of zeros.
///
/// # Errors
/// Where the key is none.
pub fn cmac_zero_aes(key: &[u8]) -> Result<[u8; 5]> {
    let mut mac = [0; 16];
    CmacOnce::new(BlockCipher::Aes(key.len())).finish(Direction::Encrypt, key, None, &[0; 16], &mut mac)?;
    Ok(first(&mac))
}
