//! Block ciphers by AWS-LC.

use aws_lc_sys as lc;
use std::ffi::c_int;
use std::ptr::null_mut;

/// Encrypts or decrypts a block by single DES.
fn des(key: &[u8], encrypt: bool, block: &mut [u8]) {
    let (mut out, mut length) = ([0; 16], 0);
    let (p, n) = (block.as_ptr(), block.len() as c_int);
    // SAFETY: the key and the block have eight bytes, and the output has room for two blocks.
    unsafe {
        let context = lc::EVP_CIPHER_CTX_new();
        let (cipher, none) = (lc::EVP_des_ecb(), null_mut());
        assert_eq!(lc::EVP_CipherInit_ex(context, cipher, none, key.as_ptr(), null_mut(), c_int::from(encrypt)), 1);
        assert_eq!(lc::EVP_CIPHER_CTX_set_padding(context, 0), 1);
        assert_eq!(lc::EVP_CipherUpdate(context, out.as_mut_ptr(), &raw mut length, p, n), 1);
        lc::EVP_CIPHER_CTX_free(context);
    }
    assert_eq!(length, n);
    block.copy_from_slice(&out[..block.len()]);
}

/// A block of 8 bytes by DES or triple DES, one of 16 by AES.
pub fn run(key: &[u8], size: usize, encrypt: bool, block: &mut [u8]) {
    assert_eq!(block.len(), size);
    if size == 8 {
        let mut parts: Vec<&[u8]> = key.chunks(8).collect();
        if !encrypt {
            parts.reverse();
        }
        for (i, part) in parts.iter().enumerate() {
            des(part, encrypt ^ (i % 2 == 1), block);
        }
        return;
    }
    let p = block.as_mut_ptr();
    // SAFETY: keys and blocks are of the lengths the functions take.
    unsafe {
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
