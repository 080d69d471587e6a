//! CMAC over AES and triple DES in CBC.

use super::{Context, Keyed, dup, gettable, with};
use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, evp};
use crate::abi::{self, Dispatch, guard, id, slice};
use crate::entry;
use crate::fallback::Output;
use adjunct::awslc::mac::{BlockCipher, Cmac};
use adjunct::catalogue::Function;
use adjunct_ossl::engines::Engines;
use std::ffi::{CStr, c_int, c_void};

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
        match under {
            BlockCipher::Aes(length) => (Function::AesCmac, length * 8),
            BlockCipher::TripleDes => (Function::TdesCmac, 0),
            BlockCipher::Des => (Function::DesCmac, 0),
        }
    }

    fn key(under: BlockCipher, key: &[u8]) -> Option<Cmac> {
        Cmac::new(under, key).ok()
    }

    fn keyed(&self) -> BlockCipher {
        self.cipher()
    }

    fn reset(&mut self) {
        Cmac::reset(self);
    }

    fn update(&mut self, data: &[u8]) {
        Cmac::update(self, data);
    }

    fn finish(&mut self, out: &mut [u8]) {
        Cmac::finish(self, out);
    }

    fn size(under: BlockCipher) -> usize {
        under.block()
    }
}

unsafe extern "C" fn newctx(provctx: *mut c_void) -> *mut c_void {
    // SAFETY: the pointer is the provider's.
    guard(std::ptr::null_mut(), || abi::give(unsafe { Context::<Cmac>::create(provctx) }))
}

unsafe extern "C" fn dupctx(ctx: *mut c_void) -> *mut c_void {
    // SAFETY: the context is ours.
    unsafe { dup(ctx, Context::<Cmac>::duplicate) }
}

unsafe extern "C" fn freectx(ctx: *mut c_void) {
    // SAFETY: the context is ours and not used again.
    guard((), || unsafe { abi::free::<Context<Cmac>>(ctx) });
}

unsafe extern "C" fn init(ctx: *mut c_void, key: *const u8, length: usize, params: *const Param) -> c_int {
    // SAFETY: the context is ours, the rest OpenSSL's.
    unsafe { with::<Context<Cmac>>(ctx, |c| c.init(key, length, params)) }
}

unsafe extern "C" fn update(ctx: *mut c_void, data: *const u8, length: usize) -> c_int {
    // SAFETY: as above.
    unsafe { with::<Context<Cmac>>(ctx, |c| c.update(slice(data, length))) }
}

unsafe extern "C" fn finish(ctx: *mut c_void, data: *mut u8, length: *mut usize, size: usize) -> c_int {
    // SAFETY: as above.
    unsafe { with::<Context<Cmac>>(ctx, |c| c.finish(Output { data, length, size })) }
}

unsafe extern "C" fn get_ctx_params(ctx: *mut c_void, params: *mut Param) -> c_int {
    // SAFETY: as above.
    unsafe { with::<Context<Cmac>>(ctx, |c| c.get_params(params)) }
}

unsafe extern "C" fn set_ctx_params(ctx: *mut c_void, params: *const Param) -> c_int {
    // SAFETY: as above.
    unsafe { with::<Context<Cmac>>(ctx, |c| c.set_params(params)) }
}

static SETTABLE: [Param; 4] = [
    Param::describe(c"cipher", param::UTF8, 0),
    Param::describe(c"properties", param::UTF8, 0),
    Param::describe(c"key", param::OCTETS, 0),
    Param::END,
];

unsafe extern "C" fn settable(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    SETTABLE.as_ptr()
}

/// What OpenSSL calls for a CMAC.
pub static DISPATCH: &[Dispatch] = &[
    entry!(id::MAC_NEWCTX, newctx),
    entry!(id::MAC_DUPCTX, dupctx),
    entry!(id::MAC_FREECTX, freectx),
    entry!(id::MAC_INIT, init),
    entry!(id::MAC_UPDATE, update),
    entry!(id::MAC_FINAL, finish),
    entry!(id::MAC_GET_CTX_PARAMS, get_ctx_params),
    entry!(id::MAC_GETTABLE_CTX_PARAMS, gettable),
    entry!(id::MAC_SET_CTX_PARAMS, set_ctx_params),
    entry!(id::MAC_SETTABLE_CTX_PARAMS, settable),
    Dispatch::END,
];
