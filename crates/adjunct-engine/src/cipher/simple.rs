//! The modes whose IV, padding and begun blocks libcrypto keeps itself: CBC, CTR, CFB, OFB.

use super::{Cipher, UNSUPPORTED, flag};
use crate::bulk::bulk;
use crate::libcrypto::Opaque;
use adjunct::InOut;
use adjunct::ops::cipher::{Block, Chain, Counted, Mode, des};
use std::ffi::{c_int, c_void};
use zeroize::Zeroize;

/// `EVP_CTRL_RAND_KEY`.
const RAND_KEY: c_int = 6;

/// A mode with keys of `BITS` bits.
#[derive(Clone)]
pub struct Simple<M, const BITS: usize> {
    cipher: Counted<M>,
    keystream: Block,
}

impl<M, const BITS: usize> Drop for Simple<M, BITS> {
    fn drop(&mut self) {
        self.keystream.zeroize();
    }
}

impl<M: Mode, const BITS: usize> Cipher for Simple<M, BITS> {
    fn new() -> Self {
        Simple { cipher: Counted::default(), keystream: [0; 16] }
    }

    unsafe fn init(&mut self, _context: Opaque, key: *const u8, _iv: *const u8, encrypt: bool) -> bool {
        // SAFETY: a key of the method's length, or null.
        key.is_null() || self.cipher.set_key(unsafe { std::slice::from_raw_parts(key, BITS / 8) }, encrypt).is_ok()
    }

    unsafe fn run(&mut self, context: Opaque, out: *mut u8, input: *const u8, length: usize) -> c_int {
        let b = bulk();
        if length == 0 {
            return 1;
        }
        if !self.cipher.has_key() || input.is_null() || out.is_null() {
            return 0;
        }
        // SAFETY: libcrypto's context, whose IV has room for the longest block it knows; its buffers.
        unsafe {
            let iv = (b.cipher_iv)(context);
            let encrypt = (b.cipher_encrypts)(context) != 0;
            let bits = (b.cipher_has_flags)(context, flag::LENGTH_BITS as c_int) != 0;
            let before = if M::PARTIAL { (b.cipher_num)(context) } else { 0 };
            let (Some(iv), Ok(mut used)) = (iv.cast::<Block>().as_mut(), u32::try_from(before)) else { return 0 };
            // EVP_Cipher passes on what is no whole number of blocks; it is the caller's error.
            if used >= 16 || (b.cipher_data)(context).is_null() || !length.is_multiple_of(M::BLOCK) {
                return 0;
            }
            let chain = Chain { iv, stream: &mut self.keystream, used: &mut used, bits };
            if self.cipher.run(encrypt, chain, InOut::from_raw(input, out, length)).is_err() {
                return 0;
            }
            if M::PARTIAL && i64::from(used) != i64::from(before) {
                (b.cipher_set_num)(context, used as c_int);
            }
        }
        1
    }

    unsafe fn control(&mut self, command: c_int, _argument: c_int, pointer: *mut c_void) -> c_int {
        if command != RAND_KEY || pointer.is_null() || !M::PARITY {
            return UNSUPPORTED;
        }
        // SAFETY: EVP_CIPHER_CTX_rand_key passes room for a key.
        des::random_key(unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u8>(), BITS / 8) });
        1
    }
}
