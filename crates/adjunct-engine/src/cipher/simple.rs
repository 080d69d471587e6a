//! The modes whose IV, padding and begun blocks libcrypto keeps itself: CBC, CTR, CFB, OFB.

use super::{Cipher, UNSUPPORTED, flag};
use crate::bulk::bulk;
use crate::libcrypto::Opaque;
use adjunct::InOut;
use adjunct::adapter::cpu::awslc::cipher::{AesKey, Block};
use adjunct::adapter::cpu::awslc::cipher_des::{self, TripleDes};
use adjunct::catalogue::Direction;
use adjunct::catalogue::Function;
use adjunct::ops::Tally;
use std::ffi::{c_int, c_void};
use zeroize::Zeroize;

/// `EVP_CTRL_RAND_KEY`.
const RAND_KEY: c_int = 6;

/// What a context of libcrypto keeps for a mode.
pub struct Kept<'a> {
    encrypt: bool,
    iv: &'a mut Block,
    keystream: &'a mut Block,
    used: &'a mut u32,
    /// Whether lengths are in bits.
    bits: bool,
}

/// A mode over a key: the part that differs.
pub trait Mode: Default + Clone {
    /// The function it counts as.
    const FUNCTION: Function;
    /// The length of a block, where it takes whole ones only, else 1.
    const BLOCK: usize;
    /// Whether it uses a block in parts.
    const PARTIAL: bool;
    /// Whether its key sizes are counted apart.
    const SIZES: bool = true;

    /// Takes a key; false where its length is wrong.
    fn set_key(&mut self, key: &[u8], encrypt: bool) -> bool;

    /// Works on `io`.
    fn run(&self, kept: Kept<'_>, io: InOut<'_>);
}

macro_rules! aes {
    ($($name:ident $function:ident $block:literal $partial:literal $decrypts:literal |$key:ident, $kept:ident, $io:ident| $run:expr;)*) => {$(
        #[derive(Clone, Default)]
        pub struct $name(AesKey);

        impl Mode for $name {
            const FUNCTION: Function = Function::$function;
            const BLOCK: usize = $block;
            const PARTIAL: bool = $partial;

            fn set_key(&mut self, key: &[u8], encrypt: bool) -> bool {
                if !encrypt && $decrypts { self.0.set_decrypt(key) } else { self.0.set_encrypt(key) }.is_ok()
            }

            #[inline]
            fn run(&self, $kept: Kept<'_>, $io: InOut<'_>) {
                let $key = &self.0;
                $run
            }
        }
    )*};
}

aes! {
    Cbc AesCbc 16 false true |key, kept, io| key.cbc(kept.encrypt, kept.iv, io);
    Ctr AesCtr 1 true false |key, kept, io| key.ctr(kept.iv, kept.keystream, kept.used, io);
    Cfb AesCfb 1 true false |key, kept, io| key.cfb(kept.encrypt, kept.iv, kept.used, io);
    Cfb8 AesCfb 1 false false |key, kept, io| key.cfb8(kept.encrypt, kept.iv, io);
    Cfb1 AesCfb 1 false false |key, kept, io| cfb1(key, &kept.bits, kept.encrypt, kept.iv, io);
    Ofb AesOfb 1 true false |key, kept, io| key.ofb(kept.iv, kept.used, io);
}

/// With `EVP_CIPH_FLAG_LENGTH_BITS` the length a caller gives is in bits, and the buffers are as long as those need.
fn cfb1(key: &AesKey, in_bits: &bool, encrypt: bool, iv: &mut Block, io: InOut<'_>) {
    let bits = if *in_bits { io.len() } else { io.len() * 8 };
    // SAFETY: shorter than what was given.
    let io = unsafe { InOut::from_raw(io.input(), io.output(), bits.div_ceil(8)) };
    key.cfb1(encrypt, iv, bits, io);
}

/// 3DES with three keys.
#[derive(Clone, Default)]
pub struct Tdes(TripleDes);

impl Mode for Tdes {
    const FUNCTION: Function = Function::TdesCbc;
    const BLOCK: usize = cipher_des::BLOCK;
    const PARTIAL: bool = false;
    const SIZES: bool = false;

    fn set_key(&mut self, key: &[u8], _encrypt: bool) -> bool {
        let Ok(key) = key.try_into() else { return false };
        self.0.set_key(key);
        true
    }

    fn run(&self, kept: Kept<'_>, io: InOut<'_>) {
        if let Some(iv) = kept.iv.first_chunk_mut() {
            self.0.cbc(kept.encrypt, iv, io);
        }
    }
}

/// A mode with keys of `BITS` bits.
#[derive(Clone)]
pub struct Simple<M, const BITS: usize> {
    mode: M,
    keystream: Block,
    tally: Tally,
}

impl<M, const BITS: usize> Drop for Simple<M, BITS> {
    fn drop(&mut self) {
        self.keystream.zeroize();
    }
}

impl<M: Mode, const BITS: usize> Cipher for Simple<M, BITS> {
    fn new() -> Self {
        let tally = Tally::new(M::FUNCTION, if M::SIZES { BITS } else { 0 });
        Simple { mode: M::default(), keystream: [0; 16], tally }
    }

    unsafe fn init(&mut self, _context: Opaque, key: *const u8, _iv: *const u8, encrypt: bool) -> bool {
        // SAFETY: a key of the method's length, or null.
        key.is_null() || self.mode.set_key(unsafe { std::slice::from_raw_parts(key, BITS / 8) }, encrypt)
    }

    unsafe fn run(&mut self, context: Opaque, out: *mut u8, input: *const u8, length: usize) -> c_int {
        let b = bulk();
        if length == 0 {
            return 1;
        }
        if input.is_null() || out.is_null() {
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
            let kept = Kept { encrypt, iv, keystream: &mut self.keystream, used: &mut used, bits };
            self.mode.run(kept, InOut::from_raw(input, out, length));
            if M::PARTIAL && i64::from(used) != i64::from(before) {
                (b.cipher_set_num)(context, used as c_int);
            }
            let bytes = if bits { length.div_ceil(8) } else { length };
            self.tally.count(if encrypt { Direction::Encrypt } else { Direction::Decrypt }, bytes);
        }
        1
    }

    unsafe fn control(&mut self, command: c_int, _argument: c_int, pointer: *mut c_void) -> c_int {
        if command != RAND_KEY || pointer.is_null() || M::SIZES {
            return UNSUPPORTED;
        }
        // SAFETY: EVP_CIPHER_CTX_rand_key passes room for a key.
        let key = unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u8>(), BITS / 8) };
        adjunct::adapter::cpu::awslc::random(key);
        cipher_des::set_odd_parity(key);
        1
    }
}
