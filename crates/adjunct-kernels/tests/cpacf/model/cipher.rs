//! Block ciphers by AWS-LC.

use aws_lc_sys as lc;
use std::ffi::{c_int, c_void};

// In AWS-LC's des.h, which aws-lc-sys does not bind for every target.
unsafe extern "C" {
    #[link_name = "aws_lc_0_47_0_DES_set_key_unchecked"]
    fn des_set_key(key: *const u8, schedule: *mut c_void);
    #[link_name = "aws_lc_0_47_0_DES_ecb_encrypt"]
    fn des_ecb(input: *const u8, output: *mut u8, schedule: *const c_void, encrypt: c_int);
}

/// A block of 8 bytes by DES or triple DES, one of 16 by AES.
pub fn run(key: &[u8], size: usize, encrypt: bool, block: &mut [u8]) {
    assert_eq!(block.len(), size);
    let p = block.as_mut_ptr();
    // SAFETY: keys and blocks are of the lengths the functions take.
    unsafe {
        if size == 8 {
            let mut parts: Vec<&[u8]> = key.chunks(8).collect();
            if !encrypt {
                parts.reverse();
            }
            for (i, part) in parts.iter().enumerate() {
                let mut schedule = [0u32; 32];
                des_set_key(part.as_ptr(), schedule.as_mut_ptr().cast());
                des_ecb(p, p, schedule.as_ptr().cast(), c_int::from(encrypt ^ (i % 2 == 1)));
            }
            return;
        }
        let mut schedule = lc::AES_KEY { rd_key: [0; 60], rounds: 0 };
        let bits = key.len() as u32 * 8;
        if encrypt {
            assert_eq!(lc::AES_set_encrypt_key(key.as_ptr(), bits, &raw mut schedule), 0);
            lc::AES_encrypt(p, p, &raw const schedule);
        } else {
            assert_eq!(lc::AES_set_decrypt_key(key.as_ptr(), bits, &raw mut schedule), 0);
            lc::AES_decrypt(p, p, &raw const schedule);
        }
    }
}
