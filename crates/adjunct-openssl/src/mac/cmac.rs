//! CMAC over AES and triple DES in CBC.

use super::dispatch::{self, Object};
use super::{Keyed, MacContext};
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, evp};
use crate::abi::{Dispatch, slice};
use crate::fallback::Output;
use adjunct::Error;
use adjunct::catalogue::Function;
use adjunct::ops::mac::{BlockCipher, Cmac};
use adjunct_ossl::engines::Engines;
use std::ffi::{CStr, c_void};

/// The ciphers served, by all names OpenSSL's default provider knows them by.
const CIPHERS: &[(&str, BlockCipher)] = &[
    ("AES-128-CBC", BlockCipher::Aes(16)),
    ("AES128", BlockCipher::Aes(16)),
    ("2.16.840.1.101.3.4.1.2", BlockCipher::Aes(16)),
    ("AES-192-CBC", BlockCipher::Aes(24)),
    ("AES192", BlockCipher::Aes(24)),
    ("2.16.840.1.101.3.4.1.22", BlockCipher::Aes(24)),
    ("AES-256-CBC", BlockCipher::Aes(32)),
    ("AES256", BlockCipher::Aes(32)),
    ("2.16.840.1.101.3.4.1.42", BlockCipher::Aes(32)),
    ("DES-EDE3-CBC", BlockCipher::TripleDes),
    ("DES3", BlockCipher::TripleDes),
    ("1.2.840.113549.3.7", BlockCipher::TripleDes),
];

impl Keyed for Cmac {
    type Under = BlockCipher;
    const NAME: &CStr = c"CMAC";
    const UNDER: &CStr = c"cipher";
    const COPIES_UNKEYED: bool = false;
    const KEY_LENGTH: Option<Reason> = Some(evp::INVALID_KEY_LENGTH);
    const BLOCK: Option<fn(BlockCipher) -> usize> = None;

    fn under(name: &str) -> Option<BlockCipher> {
        CIPHERS.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|&(_, cipher)| cipher)
    }

    fn replaced(under: BlockCipher, engines: &Engines) -> bool {
        // NID_aes_128_cbc, NID_aes_192_cbc, NID_aes_256_cbc, NID_des_ede3_cbc, NID_des_cbc.
        engines.replace_cipher(match under {
            BlockCipher::Aes(16) => 419,
            BlockCipher::Aes(24) => 423,
            BlockCipher::Aes(_) => 427,
            BlockCipher::TripleDes => 44,
            BlockCipher::Des => 31,
        })
    }

    fn function(under: BlockCipher) -> (Function, usize) {
        under.cmac()
    }

    fn key(under: BlockCipher, key: &[u8]) -> Result<Cmac, Error> {
        Cmac::new(under, key)
    }

    fn rekey(&mut self, under: BlockCipher, key: &[u8]) -> bool {
        self.cipher() == under && self.set_key(key).is_ok()
    }

    #[inline]
    fn keyed(&self) -> BlockCipher {
        self.cipher()
    }

    #[inline]
    fn reset(&mut self) {
        Cmac::reset(self);
    }

    #[inline]
    fn update(&mut self, data: &[u8]) {
        Cmac::update(self, data);
    }

    #[inline]
    fn finish(&mut self, out: &mut [u8]) -> Result<(), Error> {
        Cmac::finish(self, out)
    }

    #[inline]
    fn size(under: BlockCipher) -> usize {
        under.block()
    }
}

impl Object for MacContext<Cmac> {
    const SETTABLE: &'static [Param] = &[
        Param::describe(c"cipher", param::UTF8, 0),
        Param::describe(c"properties", param::UTF8, 0),
        Param::describe(c"key", param::OCTETS, 0),
        Param::END,
    ];

    unsafe fn create(provctx: *mut c_void) -> MacContext<Cmac> {
        // SAFETY: the pointer is OpenSSL's.
        unsafe { MacContext::create(provctx) }
    }

    fn duplicate(&self) -> Option<MacContext<Cmac>> {
        MacContext::duplicate(self)
    }

    #[inline]
    unsafe fn init(&mut self, key: *const u8, length: usize, params: *const Param) -> bool {
        // SAFETY: the pointers are OpenSSL's.
        unsafe { MacContext::init(self, key, length, params) }
    }

    #[inline]
    unsafe fn update(&mut self, data: *const u8, length: usize) -> bool {
        // SAFETY: the data is OpenSSL's.
        MacContext::update(self, unsafe { slice(data, length) })
    }

    #[inline]
    unsafe fn finish(&mut self, output: Output) -> bool {
        // SAFETY: the output is OpenSSL's.
        unsafe { MacContext::finish(self, output) }
    }

    #[inline]
    fn get_params(&self, params: *mut Param) -> bool {
        MacContext::get_params(self, params)
    }

    #[inline]
    fn set_params(&mut self, params: *const Param) -> bool {
        MacContext::set_params(self, params)
    }
}

/// The functions that OpenSSL calls for a CMAC.
pub static DISPATCH: [Dispatch; 11] = dispatch::table::<MacContext<Cmac>>();
