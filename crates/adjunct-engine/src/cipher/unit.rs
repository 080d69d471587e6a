//! XTS, where a call is a data unit, and ChaCha20: both keep their IV themselves.

use super::Cipher;
use crate::libcrypto::{self, Opaque};
use adjunct::InOut;
use adjunct::ops::cipher::xts::Xts;
use adjunct::ops::cipher::{Block, Counted, chacha};
use std::ffi::c_int;
use subtle::ConstantTimeEq;

/// AES-XTS with two keys of `BITS` bits each.
#[derive(Clone)]
pub struct EngineCipher<const BITS: usize> {
    xts: Xts,
    iv: Option<Block>,
    keyed: bool,
}

impl<const BITS: usize> Cipher for EngineCipher<BITS> {
    fn new() -> Self {
        EngineCipher { xts: Xts::default(), iv: None, keyed: false }
    }

    unsafe fn init(&mut self, _context: Opaque, key: *const u8, iv: *const u8, encrypt: bool) -> bool {
        if !iv.is_null() {
            // SAFETY: an IV of the method's length.
            self.iv = Some(unsafe { *iv.cast::<Block>() });
        }
        if key.is_null() {
            return true;
        }
        // SAFETY: a key of the method's length.
        let key = unsafe { std::slice::from_raw_parts(key, BITS / 4) };
        let (data, tweak) = key.split_at(key.len() / 2);
        // Two equal keys are no XTS; what others encrypted with such may be read (SP 800-38E, FIPS 140-2 IG A.9).
        self.keyed = !(encrypt && bool::from(data.ct_eq(tweak))) && self.xts.set_key(key, encrypt).is_ok();
        self.keyed
    }

    unsafe fn run(&mut self, _context: Opaque, out: *mut u8, input: *const u8, length: usize) -> c_int {
        let Some(iv) = self.iv.filter(|_| self.keyed && !out.is_null() && !input.is_null()) else { return 0 };
        // SAFETY: libcrypto's buffers.
        self.xts.unit(&iv, unsafe { InOut::from_raw(input, out, length) }).is_ok().into()
    }
}

/// `OpenSSL_version_num` of the first OpenSSL whose ChaCha20 passes over a begun block when another key is set without an IV.
const BLOCKS_BEGUN_COUNT: std::ffi::c_ulong = 0x3060_0000;

/// ChaCha20, whose IV is counter and nonce.
#[derive(Clone)]
pub struct Stream {
    stream: Counted<chacha::Stream>,
    encrypt: bool,
}

impl Cipher for Stream {
    fn new() -> Self {
        Stream { stream: Counted::default(), encrypt: false }
    }

    unsafe fn init(&mut self, _context: Opaque, key: *const u8, iv: *const u8, encrypt: bool) -> bool {
        self.encrypt = encrypt;
        // SAFETY: key and IV of the method's lengths, or null.
        unsafe {
            if !iv.is_null() {
                self.stream.set_counter(&*iv.cast::<[u8; chacha::COUNTER]>());
            }
            if !key.is_null() && self.stream.is_begun() && (libcrypto::functions().version)() >= BLOCKS_BEGUN_COUNT {
                self.stream.settle(chacha::Begun::Over);
            }
            key.is_null() || self.stream.set_key(&*key.cast::<[u8; chacha::KEY]>(), encrypt).is_ok()
        }
    }

    unsafe fn run(&mut self, _context: Opaque, out: *mut u8, input: *const u8, length: usize) -> c_int {
        if length == 0 {
            return 1;
        }
        if !self.stream.has_key() || out.is_null() || input.is_null() {
            return 0;
        }
        // SAFETY: libcrypto's buffers.
        self.stream.apply(self.encrypt, unsafe { InOut::from_raw(input, out, length) });
        1
    }
}
