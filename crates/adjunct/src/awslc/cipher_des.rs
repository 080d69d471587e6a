//! Triple DES in CBC (SP 800-67).

use adjunct_kernels::InOut;
use std::ffi::{c_int, c_void};
use zeroize::Zeroize;

/// `DES_key_schedule`: 16 round keys of two words.
type Schedule = [u32; 32];

// In AWS-LC's des.h, which aws-lc-sys does not bind for every target; the declarations are those of mac.rs.
unsafe extern "C" {
    #[link_name = "aws_lc_0_47_0_DES_set_key_unchecked"]
    fn set_key_unchecked(key: *const u8, schedule: *mut c_void);
    #[link_name = "aws_lc_0_47_0_DES_ede3_cbc_encrypt"]
    fn ede3_cbc(
        input: *const u8,
        output: *mut u8,
        len: usize,
        first: *const c_void,
        second: *const c_void,
        third: *const c_void,
        iv: *mut u8,
        encrypt: c_int,
    );
}

/// The block length in bytes.
pub const BLOCK: usize = 8;
/// The key length in bytes: three keys.
pub const KEY: usize = 24;

/// The three key schedules; wiped when dropped.
#[derive(Clone, Default)]
pub struct TripleDes([Schedule; 3]);

impl std::fmt::Debug for TripleDes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TripleDes").finish_non_exhaustive()
    }
}

impl Drop for TripleDes {
    fn drop(&mut self) {
        for schedule in &mut self.0 {
            schedule.zeroize();
        }
    }
}

impl TripleDes {
    /// Sets the key. Parity and weak keys are not looked at, as in OpenSSL.
    pub fn set_key(&mut self, key: &[u8; KEY]) {
        for (schedule, part) in self.0.iter_mut().zip(key.as_chunks::<BLOCK>().0) {
            // SAFETY: a key is eight bytes.
            unsafe { set_key_unchecked(part.as_ptr(), schedule.as_mut_ptr().cast()) };
        }
    }

    /// CBC over whole blocks; `iv` becomes the last ciphertext block.
    ///
    /// # Panics
    /// If the length is not a multiple of the block.
    pub fn cbc(&self, encrypt: bool, iv: &mut [u8; BLOCK], io: InOut<'_>) {
        assert!(io.len().is_multiple_of(BLOCK));
        let [a, b, c] = self.0.each_ref().map(|s| s.as_ptr().cast());
        // SAFETY: whole blocks; the IV is one.
        unsafe {
            ede3_cbc(io.input(), io.output(), io.len(), a, b, c, iv.as_mut_ptr(), encrypt.into());
        }
    }
}

/// Makes each byte's parity odd, as a generated key must have it (FIPS 46-3).
pub fn set_odd_parity(key: &mut [u8]) {
    for byte in key {
        *byte = *byte & 0xFE | (byte.count_ones() as u8 ^ *byte ^ 1) & 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_is_odd_and_only_the_lowest_bit_changes() {
        for byte in 0..=255u8 {
            let mut key = [byte];
            set_odd_parity(&mut key);
            assert_eq!(key[0].count_ones() % 2, 1);
            assert_eq!(key[0] & 0xFE, byte & 0xFE);
        }
    }
}
