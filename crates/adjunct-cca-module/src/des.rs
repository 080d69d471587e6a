//! DES with keys of one, two or three parts, as CCA has them: a key of one part is DES, one of two is triple DES whose third key is the first.

use crate::error::Result;
use adjunct::InOut;
use adjunct::ops::cipher::once::{self, SingleDes, TripleDes};
use zeroize::Zeroizing;

/// Bytes of a block, and of a part of a key.
pub const BLOCK: usize = 8;
/// A key of at most three parts.
pub type Whole = Zeroizing<[u8; 24]>;

/// The three keys of triple DES; `None` for another number of parts than one to three.
fn three(key: &[u8]) -> Option<Whole> {
    let mut whole = Zeroizing::new([0; 24]);
    whole.get_mut(..key.len())?.copy_from_slice(key);
    match key.len() {
        8 => {
            whole.copy_within(..8, 8);
            whole.copy_within(..8, 16);
        }
        16 => whole.copy_within(..8, 16),
        24 => {}
        _ => return None,
    }
    Some(whole)
}

/// CBC over whole blocks, in place; `iv` becomes the last block of ciphertext.
///
/// # Errors
/// Where that cannot be: a key of another length, no whole blocks.
pub fn cbc(key: &[u8], iv: &mut [u8; BLOCK], encrypt: bool, text: &mut [u8]) -> Result {
    let io = InOut::in_place(text);
    match three(key) {
        _ if key.len() == BLOCK => once::cbc::<SingleDes, BLOCK>(key, iv, encrypt, io)?,
        Some(three) => once::cbc::<TripleDes, BLOCK>(&three[..], iv, encrypt, io)?,
        None => Err(adjunct::Error::Length { what: "DES key", got: key.len(), expected: "8, 16 or 24" })?,
    }
    Ok(())
}

/// ECB over whole blocks, in place.
///
/// # Errors
/// As [`cbc`].
pub fn ecb(key: &[u8], encrypt: bool, text: &mut [u8]) -> Result {
    let io = InOut::in_place(text);
    match three(key) {
        _ if key.len() == BLOCK => once::ecb::<SingleDes, BLOCK>(key, encrypt, io)?,
        Some(three) => once::ecb::<TripleDes, BLOCK>(&three[..], encrypt, io)?,
        None => Err(adjunct::Error::Length { what: "DES key", got: key.len(), expected: "8, 16 or 24" })?,
    }
    Ok(())
}

/// Whether each byte has odd parity.
#[must_use]
pub fn is_odd(key: &[u8]) -> bool {
    key.iter().fold(1, |all, byte| all & byte.count_ones()) & 1 == 1
}

/// Gives each byte odd parity, or even.
pub fn set_parity(key: &mut [u8], odd: bool) {
    for byte in key {
        let ones = (*byte >> 1).count_ones() as u8 & 1;
        *byte = *byte & 0xfe | (ones ^ u8::from(odd));
    }
}

/// The weak and semi-weak keys (SP 800-67, 3.3.2).
const WEAK: [u64; 16] = [
    0x0101_0101_0101_0101,
    0xfefe_fefe_fefe_fefe,
    0xe0e0_e0e0_f1f1_f1f1,
    0x1f1f_1f1f_0e0e_0e0e,
    0x011f_011f_010e_010e,
    0x1f01_1f01_0e01_0e01,
    0x01e0_01e0_01f1_01f1,
    0xe001_e001_f101_f101,
    0x01fe_01fe_01fe_01fe,
    0xfe01_fe01_fe01_fe01,
    0x1fe0_1fe0_0ef1_0ef1,
    0xe01f_e01f_f10e_f10e,
    0x1ffe_1ffe_0efe_0efe,
    0xfe1f_fe1f_fe0e_fe0e,
    0xe0fe_e0fe_f1fe_f1fe,
    0xfee0_fee0_fef1_fef1,
];

/// Whether a part is weak or semi-weak, whatever its parity.
#[must_use]
pub fn is_weak(part: &[u8; BLOCK]) -> bool {
    let mask = 0xfefe_fefe_fefe_fefe;
    let part = u64::from_be_bytes(*part) & mask;
    WEAK.iter().fold(false, |weak, key| weak | (key & mask == part))
}
