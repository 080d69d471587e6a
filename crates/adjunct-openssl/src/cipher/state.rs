//! What every cipher context has, and the parameters all of them answer: provider-cipher(7).

use crate::abi::param::{self, Param};
use crate::abi::reason::{Reason, prov};
use crate::provider::{Provider, provider};
use adjunct::opaque_debug;
use adjunct::ops::cipher::{self, Chain, Counted};
use std::ffi::{c_int, c_void};
use zeroize::Zeroize;

/// `EVP_CIPH_*_MODE`.
#[allow(missing_docs, dead_code)]
pub mod mode {
    pub const STREAM: u32 = 0;
    pub const ECB: u32 = 1;
    pub const CBC: u32 = 2;
    pub const CFB: u32 = 3;
    pub const OFB: u32 = 4;
    pub const CTR: u32 = 5;
    pub const GCM: u32 = 6;
    pub const CCM: u32 = 7;
    pub const XTS: u32 = 0x10001;
}

/// The properties of a cipher; lengths in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// `EVP_CIPH_*_MODE`.
    pub mode: u32,
    /// Whether the cipher authenticates.
    pub aead: bool,
    /// Whether the cipher keeps its IV itself.
    pub custom_iv: bool,
    /// Whether the cipher makes keys (`randkey`).
    pub random_key: bool,
    /// The key's length.
    pub key: usize,
    /// The block's length, 1 for stream ciphers.
    pub block: usize,
    /// The IV's length.
    pub iv: usize,
}

impl Info {
    /// An unauthenticated cipher whose IV OpenSSL manages.
    pub const fn plain(mode: u32, key: usize, block: usize, iv: usize) -> Info {
        Info { mode, aead: false, custom_iv: false, random_key: false, key, block, iv }
    }
}

/// The answers of [`Info`].
pub static GETTABLE: [Param; 11] = [
    Param::describe(c"mode", param::UNSIGNED, 4),
    Param::describe(c"keylen", param::UNSIGNED, 8),
    Param::describe(c"ivlen", param::UNSIGNED, 8),
    Param::describe(c"blocksize", param::UNSIGNED, 8),
    Param::describe(c"aead", param::INTEGER, 4),
    Param::describe(c"custom-iv", param::INTEGER, 4),
    Param::describe(c"cts", param::INTEGER, 4),
    Param::describe(c"tls-multi", param::INTEGER, 4),
    Param::describe(c"has-randkey", param::INTEGER, 4),
    Param::describe(c"encrypt-then-mac", param::INTEGER, 4),
    Param::END,
];

pub(super) unsafe extern "C" fn gettable_params(_provctx: *mut c_void) -> *const Param {
    GETTABLE.as_ptr()
}

/// Answers `get_params`.
///
/// # Safety
/// `params` is OpenSSL's.
pub unsafe fn describe(info: &Info, params: *mut Param) -> c_int {
    // SAFETY: the caller passes OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
    for p in unsafe { param::iter_mut(params) } {
        let value = match p.name().to_bytes() {
            b"mode" => u64::from(info.mode),
            b"keylen" => info.key as u64,
            b"ivlen" => info.iv as u64,
            b"blocksize" => info.block as u64,
            b"aead" => info.aead.into(),
            b"custom-iv" => info.custom_iv.into(),
            b"has-randkey" => info.random_key.into(),
            b"cts" | b"tls-multi" | b"encrypt-then-mac" | b"decrypt-only" => 0,
            _ => continue,
        };
        if !p.set_u64(value) {
            return 0;
        }
    }
    1
}

/// What the simple modes (ECB, CBC, CTR, CFB, OFB) and XTS share; wiped when dropped.
///
/// The blocks come first and aligned: one that lay across two cache lines would cost a short message more than its rounds.
#[derive(Clone)]
#[repr(C, align(16))]
pub struct State {
    /// The running IV or counter.
    pub iv: [u8; 16],
    /// A begun block: input (ECB, CBC) or key stream (CTR).
    pub buffer: [u8; 16],
    /// The IV as last set.
    pub original_iv: [u8; 16],
    /// OpenSSL, for errors, and what this version of it does.
    pub provider: &'static Provider,
    /// The direction of the last initialisation.
    pub encrypt: bool,
    /// Whether an IV was ever set.
    pub iv_set: bool,
    /// PKCS#7 padding.
    pub pad: bool,
    /// CFB-1 counts its input in bits.
    pub use_bits: bool,
    /// Bytes of a begun block that are used up (CTR, CFB, OFB).
    pub num: u32,
    /// Bytes in `buffer`.
    pub buffered: usize,
    /// The key length now expected.
    pub key_len: usize,
    /// The TLS version, 0 outside TLS.
    pub tls_version: u32,
    /// The length of the MAC inside a TLS record.
    pub tls_mac_size: usize,
    /// The MAC of the last record opened.
    pub tls_mac: Option<[u8; 64]>,
}

opaque_debug!(State);

impl Drop for State {
    fn drop(&mut self) {
        self.buffer.zeroize();
        self.iv.zeroize();
        self.original_iv.zeroize();
        self.tls_mac.zeroize();
    }
}

impl State {
    /// A context's first state.
    ///
    /// # Safety
    /// `provctx` is OpenSSL's.
    pub unsafe fn new(provctx: *mut c_void, info: &Info) -> State {
        adjunct::ops::attribute();
        State {
            // SAFETY: OpenSSL keeps the provider until its last context is gone.
            provider: unsafe { provider(provctx) },
            encrypt: false,
            iv_set: false,
            pad: true,
            use_bits: false,
            num: 0,
            buffered: 0,
            key_len: info.key,
            buffer: [0; 16],
            iv: [0; 16],
            original_iv: [0; 16],
            tls_version: 0,
            tls_mac_size: 0,
            tls_mac: None,
        }
    }

    /// Puts an error on the queue; 0 for OpenSSL.
    #[cold]
    pub fn fail(&self, reason: Reason) -> c_int {
        self.provider.core.raise(reason);
        0
    }

    /// The position in the message, for the core.
    #[inline]
    pub fn chain(&mut self) -> Chain<'_> {
        Chain { iv: &mut self.iv, stream: &mut self.buffer, used: &mut self.num, bits: self.use_bits }
    }

    /// Sets the IV.
    pub fn set_iv(&mut self, iv: &[u8], expected: usize) -> bool {
        if iv.len() != expected {
            self.provider.core.raise(prov::INVALID_IV_LENGTH);
            return false;
        }
        if let Ok(whole) = <[u8; 16]>::try_from(iv) {
            (self.iv, self.original_iv) = (whole, whole);
        } else {
            self.iv[..expected].copy_from_slice(iv);
            self.original_iv[..expected].copy_from_slice(iv);
        }
        self.iv_set = true;
        true
    }
}

/// A cipher of OpenSSL's over a mode: the part that differs between the simple ciphers.
pub trait Mode: Clone {
    /// The mode.
    type Cipher: cipher::Mode;
    /// The properties that the cipher tells OpenSSL.
    const INFO: Info;

    /// Whether its only parameters are the lengths, which cannot change (ChaCha20).
    const FIXED: bool = false;

    /// Learns of a new IV; most modes take it from the state.
    fn set_iv(_cipher: &mut Counted<Self::Cipher>, _iv: &[u8]) {}

    /// Settles a begun block before another key is set, where versions of OpenSSL differ.
    fn before_key(_cipher: &mut Counted<Self::Cipher>, _state: &State) {}

    /// The IV or counter as it stands now.
    fn updated_iv(_cipher: &Counted<Self::Cipher>, state: &State) -> [u8; 16] {
        state.iv
    }
}

/// The context OpenSSL holds.
#[derive(Clone)]
pub struct CipherContext<M: Mode> {
    /// The state that all ciphers share.
    pub state: State,
    /// The key and what else the mode needs.
    pub cipher: Counted<M::Cipher>,
}

/// The parameters `get_ctx_params` answers for simple modes.
pub static GETTABLE_CTX: [Param; 8] = GETTABLE_CTX_ENTRIES;

const GETTABLE_CTX_ENTRIES: [Param; 8] = [
    Param::describe(c"keylen", param::UNSIGNED, 8),
    Param::describe(c"ivlen", param::UNSIGNED, 8),
    Param::describe(c"padding", param::UNSIGNED, 4),
    Param::describe(c"num", param::UNSIGNED, 4),
    Param::describe(c"iv", param::OCTETS, 0),
    Param::describe(c"updated-iv", param::OCTETS, 0),
    Param::describe(c"tls-mac", param::OCTETS_PTR, 0),
    Param::END,
];

/// The parameters that `get_ctx_params` answers for a simple cipher that makes keys: those of [`GETTABLE_CTX`], and `randkey`.
pub static GETTABLE_CTX_RANDOM_KEY: [Param; 9] = {
    let [a, b, c, d, e, f, g, end] = GETTABLE_CTX_ENTRIES;
    [a, b, c, d, e, f, g, Param::describe(c"randkey", param::OCTETS, 0), end]
};

/// The parameters of a cipher whose lengths cannot change: the counter, then those that can be read and set in every version of OpenSSL.
static FIXED_CTX: [Param; 4] = [
    Param::describe(c"updated-iv", param::OCTETS, 0),
    Param::describe(c"keylen", param::UNSIGNED, 8),
    Param::describe(c"ivlen", param::UNSIGNED, 8),
    Param::END,
];

/// The list of parameters of ciphers with fixed lengths, with the counter or without.
pub fn fixed_ctx(counter: bool) -> *const Param {
    FIXED_CTX[usize::from(!counter)..].as_ptr()
}

/// The parameters `set_ctx_params` takes for simple modes.
pub static SETTABLE_CTX: [Param; 6] = [
    Param::describe(c"padding", param::UNSIGNED, 4),
    Param::describe(c"num", param::UNSIGNED, 4),
    Param::describe(c"use-bits", param::UNSIGNED, 4),
    Param::describe(c"tls-version", param::UNSIGNED, 4),
    Param::describe(c"tls-mac-size", param::UNSIGNED, 8),
    Param::END,
];

pub(super) unsafe extern "C" fn gettable_ctx_params(_ctx: *mut c_void, _provctx: *mut c_void) -> *const Param {
    GETTABLE_CTX.as_ptr()
}

impl State {
    /// Answers the parameters of [`GETTABLE_CTX`].
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    pub unsafe fn get_params(&self, info: &Info, updated_iv: [u8; 16], params: *mut Param) -> c_int {
        // SAFETY: the caller passes OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"ivlen" => p.set_usize(info.iv),
                b"keylen" => p.set_usize(self.key_len),
                b"padding" => p.set_u64(self.pad.into()),
                b"num" => p.set_u64(self.num.into()),
                b"iv" => p.set_octets(&self.original_iv[..info.iv]),
                // An octet pointer would outlive a copy: it gets the state's own.
                b"updated-iv" if p.data_type == param::OCTETS => p.set_octets(&updated_iv[..info.iv]),
                b"updated-iv" => p.set_octets(&self.iv[..info.iv]),
                b"randkey" if info.random_key => {
                    if p.data.is_null() {
                        return self.fail(prov::FAILED_TO_GENERATE_KEY);
                    }
                    // SAFETY: EVP_CIPHER_CTX_rand_key passes room for a key, and 0 as its size.
                    let key = unsafe { crate::abi::slice_mut(p.data.cast(), info.key) };
                    cipher::des::random_key(key);
                    true
                }
                b"tls-mac" if p.data_type != param::OCTETS_PTR => false,
                b"tls-mac" => match &self.tls_mac {
                    Some(mac) => p.set_octets(&mac[..self.tls_mac_size.min(64)]),
                    None => p.set_octets(&[]),
                },
                _ => continue,
            };
            if !done {
                return self.fail(prov::FAILED_TO_SET_PARAMETER);
            }
        }
        1
    }

    /// Answers the parameters of [`fixed_ctx`], the counter where OpenSSL's own does.
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    pub unsafe fn get_fixed(&self, info: &Info, updated_iv: impl Fn() -> [u8; 16], params: *mut Param) -> c_int {
        // SAFETY: the caller passes OpenSSL's parameter array, which ends, lives through the call, and is referred to by nothing else meanwhile.
        for p in unsafe { param::iter_mut(params) } {
            let done = match p.name().to_bytes() {
                b"ivlen" => p.set_usize(info.iv),
                b"keylen" => p.set_usize(info.key),
                b"updated-iv" if self.provider.tells_chacha20_counter() => {
                    p.data_type == param::OCTETS && p.set_octets(&updated_iv()[..info.iv])
                }
                _ => continue,
            };
            if !done {
                return self.fail(prov::FAILED_TO_SET_PARAMETER);
            }
        }
        1
    }

    /// Checks lengths, which cannot change.
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    pub unsafe fn check_lengths(&self, info: &Info, params: *const Param) -> c_int {
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        for p in unsafe { param::iter(params) } {
            let (expected, reason) = match p.name().to_bytes() {
                b"keylen" => (info.key, prov::INVALID_KEY_LENGTH),
                b"ivlen" => (info.iv, prov::INVALID_IV_LENGTH),
                _ => continue,
            };
            match p.get_usize() {
                None => return self.fail(prov::FAILED_TO_GET_PARAMETER),
                Some(length) if length != expected => return self.fail(reason),
                Some(_) => {}
            }
        }
        1
    }

    /// Takes the parameters of [`SETTABLE_CTX`].
    ///
    /// # Safety
    /// `params` is OpenSSL's.
    pub unsafe fn set_params(&mut self, params: *const Param) -> c_int {
        // SAFETY: the caller passes OpenSSL's parameter array, which ends and lives through the call.
        for p in unsafe { param::iter(params) } {
            let done = match p.name().to_bytes() {
                b"padding" => p.get_u32().map(|v| self.pad = v != 0),
                b"use-bits" => p.get_u32().map(|v| self.use_bits = v != 0),
                b"tls-version" => p.get_u32().map(|v| self.tls_version = v),
                b"tls-mac-size" => p.get_usize().map(|v| self.tls_mac_size = v),
                // The releases of OpenSSL differ in how much they take; more than a block of key stream there never is.
                b"num" => p.get_u32().filter(|&v| v < 16).map(|v| self.num = v),
                _ => continue,
            };
            if done.is_none() {
                return self.fail(prov::FAILED_TO_GET_PARAMETER);
            }
        }
        1
    }
}
