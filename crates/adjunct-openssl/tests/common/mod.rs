//! What the tests of the provider share: libcrypto's functions, the freshly built module loaded into it, random data.
//!
//! Each test program is compiled with this file and uses a part of it.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(dead_code, non_camel_case_types, clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks)]

pub mod pair;
pub mod record;
pub mod subject;

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// An object of libcrypto.
#[repr(C)]
pub struct Opaque([u8; 0]);

/// `OSSL_PARAM`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OSSL_PARAM {
    pub key: *const c_char,
    pub data_type: c_uint,
    pub data: *mut c_void,
    pub data_size: usize,
    pub return_size: usize,
}

// Tables of descriptions are only read.
unsafe impl Sync for OSSL_PARAM {}

impl OSSL_PARAM {
    pub const END: OSSL_PARAM =
        OSSL_PARAM { key: std::ptr::null(), data_type: 0, data: std::ptr::null_mut(), data_size: 0, return_size: 0 };

    /// An octet string, to set or to be filled.
    pub fn octets(key: &'static CStr, data: &mut [u8]) -> OSSL_PARAM {
        OSSL_PARAM { data_type: 5, ..OSSL_PARAM::raw(key, data.as_mut_ptr().cast(), data.len()) }
    }

    /// A UTF-8 string to set; `text` must outlive the call.
    pub fn utf8(key: &'static CStr, text: &CStr) -> OSSL_PARAM {
        let data = text.as_ptr().cast_mut().cast();
        OSSL_PARAM { data_type: 4, ..OSSL_PARAM::raw(key, data, text.count_bytes()) }
    }

    /// An `unsigned int`, to set or to be filled.
    pub fn uint(key: &'static CStr, value: &mut c_uint) -> OSSL_PARAM {
        OSSL_PARAM { data_type: 2, ..OSSL_PARAM::raw(key, (&raw mut *value).cast(), 4) }
    }

    /// An `int`, to set or to be filled.
    pub fn int(key: &'static CStr, value: &mut c_int) -> OSSL_PARAM {
        OSSL_PARAM { data_type: 1, ..OSSL_PARAM::raw(key, (&raw mut *value).cast(), 4) }
    }

    /// A `size_t`, to set or to be filled.
    pub fn size(key: &'static CStr, value: &mut usize) -> OSSL_PARAM {
        OSSL_PARAM { data_type: 2, ..OSSL_PARAM::raw(key, (&raw mut *value).cast(), 8) }
    }

    /// An octet pointer to be filled.
    pub fn octets_ptr(key: &'static CStr, pointer: &mut *const u8) -> OSSL_PARAM {
        OSSL_PARAM { data_type: 7, ..OSSL_PARAM::raw(key, (&raw mut *pointer).cast(), 0) }
    }

    fn raw(key: &'static CStr, data: *mut c_void, data_size: usize) -> OSSL_PARAM {
        OSSL_PARAM { key: key.as_ptr(), data_type: 0, data, data_size, return_size: usize::MAX }
    }
}

pub type LibCtx = *mut Opaque;
pub type Provider = *mut Opaque;
pub type Cipher = *mut Opaque;
pub type CipherCtx = *mut Opaque;
pub type Md = *mut Opaque;
pub type MdCtx = *mut Opaque;
pub type Mac = *mut Opaque;
pub type MacCtx = *mut Opaque;
pub type Pkey = *mut Opaque;
pub type PkeyCtx = *mut Opaque;
pub type Engine = *mut Opaque;

#[link(name = "crypto")]
unsafe extern "C" {
    pub fn OPENSSL_version_major() -> c_uint;
    pub fn OPENSSL_version_minor() -> c_uint;
    pub fn CRYPTO_free(p: *mut c_void, file: *const c_char, line: c_int);

    pub fn ERR_get_error() -> std::ffi::c_ulong;
    pub fn ERR_peek_last_error() -> std::ffi::c_ulong;
    pub fn ERR_clear_error();
    pub fn ERR_error_string_n(e: std::ffi::c_ulong, buf: *mut c_char, len: usize);

    pub fn OSSL_LIB_CTX_new() -> LibCtx;
    pub fn OSSL_LIB_CTX_free(ctx: LibCtx);
    pub fn OSSL_PROVIDER_load(ctx: LibCtx, name: *const c_char) -> Provider;
    pub fn OSSL_PROVIDER_unload(provider: Provider) -> c_int;
    pub fn OSSL_PROVIDER_get0_name(provider: Provider) -> *const c_char;
    pub fn EVP_set_default_properties(ctx: LibCtx, query: *const c_char) -> c_int;

    pub fn EVP_CIPHER_fetch(ctx: LibCtx, name: *const c_char, query: *const c_char) -> Cipher;
    pub fn EVP_CIPHER_free(cipher: Cipher);
    pub fn EVP_CIPHER_get0_name(cipher: Cipher) -> *const c_char;
    pub fn EVP_CIPHER_get0_provider(cipher: Cipher) -> Provider;
    pub fn EVP_CIPHER_get_nid(cipher: Cipher) -> c_int;
    pub fn EVP_CIPHER_get_mode(cipher: Cipher) -> c_int;
    pub fn EVP_CIPHER_get_flags(cipher: Cipher) -> std::ffi::c_ulong;
    pub fn EVP_CIPHER_get_key_length(cipher: Cipher) -> c_int;
    pub fn EVP_CIPHER_get_iv_length(cipher: Cipher) -> c_int;
    pub fn EVP_CIPHER_get_block_size(cipher: Cipher) -> c_int;
    pub fn EVP_CIPHER_is_a(cipher: Cipher, name: *const c_char) -> c_int;
    pub fn EVP_CIPHER_names_do_all(
        cipher: Cipher,
        each: unsafe extern "C" fn(*const c_char, *mut c_void),
        data: *mut c_void,
    ) -> c_int;
    pub fn EVP_CIPHER_gettable_params(cipher: Cipher) -> *const OSSL_PARAM;
    pub fn EVP_CIPHER_gettable_ctx_params(cipher: Cipher) -> *const OSSL_PARAM;
    pub fn EVP_CIPHER_settable_ctx_params(cipher: Cipher) -> *const OSSL_PARAM;
    pub fn EVP_CIPHER_CTX_new() -> CipherCtx;
    pub fn EVP_CIPHER_CTX_free(ctx: CipherCtx);
    pub fn EVP_CIPHER_CTX_reset(ctx: CipherCtx) -> c_int;
    pub fn EVP_CIPHER_CTX_copy(to: CipherCtx, from: CipherCtx) -> c_int;
    pub fn EVP_CIPHER_CTX_ctrl(ctx: CipherCtx, kind: c_int, arg: c_int, ptr: *mut c_void) -> c_int;
    pub fn EVP_CIPHER_CTX_set_padding(ctx: CipherCtx, pad: c_int) -> c_int;
    pub fn EVP_CIPHER_CTX_set_key_length(ctx: CipherCtx, len: c_int) -> c_int;
    pub fn EVP_CIPHER_CTX_set_flags(ctx: CipherCtx, flags: c_int);
    pub fn EVP_CIPHER_CTX_set_num(ctx: CipherCtx, num: c_int) -> c_int;
    pub fn EVP_CIPHER_CTX_get_num(ctx: CipherCtx) -> c_int;
    pub fn EVP_CIPHER_CTX_get_key_length(ctx: CipherCtx) -> c_int;
    pub fn EVP_CIPHER_CTX_get_iv_length(ctx: CipherCtx) -> c_int;
    pub fn EVP_CIPHER_CTX_get_tag_length(ctx: CipherCtx) -> c_int;
    pub fn EVP_CIPHER_CTX_get_updated_iv(ctx: CipherCtx, buf: *mut c_void, len: usize) -> c_int;
    pub fn EVP_CIPHER_CTX_get_original_iv(ctx: CipherCtx, buf: *mut c_void, len: usize) -> c_int;
    pub fn EVP_CIPHER_CTX_rand_key(ctx: CipherCtx, key: *mut u8) -> c_int;
    pub fn EVP_CIPHER_CTX_get_params(ctx: CipherCtx, params: *mut OSSL_PARAM) -> c_int;
    pub fn EVP_CIPHER_CTX_set_params(ctx: CipherCtx, params: *const OSSL_PARAM) -> c_int;
    pub fn EVP_CipherInit_ex(
        ctx: CipherCtx,
        cipher: Cipher,
        engine: Engine,
        key: *const u8,
        iv: *const u8,
        enc: c_int,
    ) -> c_int;
    pub fn EVP_CipherInit_ex2(
        ctx: CipherCtx,
        cipher: Cipher,
        key: *const u8,
        iv: *const u8,
        enc: c_int,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub fn EVP_CipherUpdate(ctx: CipherCtx, out: *mut u8, outl: *mut c_int, input: *const u8, len: c_int) -> c_int;
    pub fn EVP_CipherFinal_ex(ctx: CipherCtx, out: *mut u8, outl: *mut c_int) -> c_int;
    pub fn EVP_Cipher(ctx: CipherCtx, out: *mut u8, input: *const u8, len: c_uint) -> c_int;

    pub fn EVP_MD_fetch(ctx: LibCtx, name: *const c_char, query: *const c_char) -> Md;
    pub fn EVP_MD_free(md: Md);
    pub fn EVP_MD_get0_provider(md: Md) -> Provider;
    pub fn EVP_MD_get_size(md: Md) -> c_int;
    pub fn EVP_MD_get_block_size(md: Md) -> c_int;
    pub fn EVP_MD_get_flags(md: Md) -> std::ffi::c_ulong;
    pub fn EVP_MD_CTX_new() -> MdCtx;
    pub fn EVP_MD_CTX_free(ctx: MdCtx);
    pub fn EVP_MD_CTX_reset(ctx: MdCtx) -> c_int;
    pub fn EVP_MD_CTX_copy_ex(to: MdCtx, from: MdCtx) -> c_int;
    pub fn EVP_MD_CTX_get_params(ctx: MdCtx, params: *mut OSSL_PARAM) -> c_int;
    pub fn EVP_MD_CTX_set_params(ctx: MdCtx, params: *const OSSL_PARAM) -> c_int;
    pub fn EVP_MD_CTX_ctrl(ctx: MdCtx, kind: c_int, arg: c_int, ptr: *mut c_void) -> c_int;
    pub fn EVP_DigestInit_ex(ctx: MdCtx, md: Md, engine: Engine) -> c_int;
    pub fn EVP_DigestInit_ex2(ctx: MdCtx, md: Md, params: *const OSSL_PARAM) -> c_int;
    pub fn EVP_DigestUpdate(ctx: MdCtx, data: *const c_void, len: usize) -> c_int;
    pub fn EVP_DigestFinal_ex(ctx: MdCtx, out: *mut u8, len: *mut c_uint) -> c_int;
    pub fn EVP_DigestFinalXOF(ctx: MdCtx, out: *mut u8, len: usize) -> c_int;
    pub fn EVP_Digest(
        data: *const c_void,
        len: usize,
        out: *mut u8,
        out_len: *mut c_uint,
        md: Md,
        engine: Engine,
    ) -> c_int;

    pub fn EVP_MAC_fetch(ctx: LibCtx, name: *const c_char, query: *const c_char) -> Mac;
    pub fn EVP_MAC_free(mac: Mac);
    pub fn EVP_MAC_get0_provider(mac: Mac) -> Provider;
    pub fn EVP_MAC_CTX_new(mac: Mac) -> MacCtx;
    pub fn EVP_MAC_CTX_free(ctx: MacCtx);
    pub fn EVP_MAC_CTX_dup(ctx: MacCtx) -> MacCtx;
    pub fn EVP_MAC_CTX_get_mac_size(ctx: MacCtx) -> usize;
    pub fn EVP_MAC_CTX_get_block_size(ctx: MacCtx) -> usize;
    pub fn EVP_MAC_CTX_get_params(ctx: MacCtx, params: *mut OSSL_PARAM) -> c_int;
    pub fn EVP_MAC_CTX_set_params(ctx: MacCtx, params: *const OSSL_PARAM) -> c_int;
    pub fn EVP_MAC_init(ctx: MacCtx, key: *const u8, len: usize, params: *const OSSL_PARAM) -> c_int;
    pub fn EVP_MAC_update(ctx: MacCtx, data: *const u8, len: usize) -> c_int;
    pub fn EVP_MAC_final(ctx: MacCtx, out: *mut u8, len: *mut usize, size: usize) -> c_int;

    pub fn EVP_PKEY_free(key: Pkey);
    pub fn EVP_PKEY_up_ref(key: Pkey) -> c_int;
    pub fn EVP_PKEY_dup(key: Pkey) -> Pkey;
    pub fn EVP_PKEY_eq(a: Pkey, b: Pkey) -> c_int;
    pub fn EVP_PKEY_get_bits(key: Pkey) -> c_int;
    pub fn EVP_PKEY_get_security_bits(key: Pkey) -> c_int;
    pub fn EVP_PKEY_get_size(key: Pkey) -> c_int;
    pub fn EVP_PKEY_get0_provider(key: Pkey) -> Provider;
    pub fn EVP_PKEY_get_params(key: Pkey, params: *mut OSSL_PARAM) -> c_int;
    pub fn EVP_PKEY_get_octet_string_param(
        key: Pkey,
        name: *const c_char,
        buf: *mut u8,
        size: usize,
        len: *mut usize,
    ) -> c_int;
    pub fn EVP_PKEY_todata(key: Pkey, selection: c_int, params: *mut *mut OSSL_PARAM) -> c_int;
    pub fn EVP_PKEY_fromdata_init(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_fromdata(ctx: PkeyCtx, key: *mut Pkey, selection: c_int, params: *mut OSSL_PARAM) -> c_int;
    pub fn OSSL_PARAM_free(params: *mut OSSL_PARAM);
    pub fn EVP_PKEY_CTX_new_from_name(ctx: LibCtx, name: *const c_char, query: *const c_char) -> PkeyCtx;
    pub fn EVP_PKEY_CTX_new_from_pkey(ctx: LibCtx, key: Pkey, query: *const c_char) -> PkeyCtx;
    pub fn EVP_PKEY_CTX_free(ctx: PkeyCtx);
    pub fn EVP_PKEY_CTX_dup(ctx: PkeyCtx) -> PkeyCtx;
    pub fn EVP_PKEY_CTX_get0_provider(ctx: PkeyCtx) -> Provider;
    pub fn EVP_PKEY_CTX_set_params(ctx: PkeyCtx, params: *const OSSL_PARAM) -> c_int;
    pub fn EVP_PKEY_CTX_get_params(ctx: PkeyCtx, params: *mut OSSL_PARAM) -> c_int;
    pub fn EVP_PKEY_keygen_init(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_paramgen_init(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_generate(ctx: PkeyCtx, key: *mut Pkey) -> c_int;
    pub fn EVP_PKEY_check(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_public_check(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_pairwise_check(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_sign_init(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_sign(ctx: PkeyCtx, sig: *mut u8, len: *mut usize, tbs: *const u8, tbs_len: usize) -> c_int;
    pub fn EVP_PKEY_verify_init(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_verify(ctx: PkeyCtx, sig: *const u8, len: usize, tbs: *const u8, tbs_len: usize) -> c_int;
    pub fn EVP_PKEY_verify_recover_init(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_verify_recover(
        ctx: PkeyCtx,
        out: *mut u8,
        out_len: *mut usize,
        sig: *const u8,
        len: usize,
    ) -> c_int;
    pub fn EVP_PKEY_encrypt_init(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_encrypt(ctx: PkeyCtx, out: *mut u8, out_len: *mut usize, input: *const u8, len: usize) -> c_int;
    pub fn EVP_PKEY_decrypt_init(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_decrypt(ctx: PkeyCtx, out: *mut u8, out_len: *mut usize, input: *const u8, len: usize) -> c_int;
    pub fn EVP_PKEY_derive_init(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_derive_set_peer(ctx: PkeyCtx, peer: Pkey) -> c_int;
    pub fn EVP_PKEY_derive(ctx: PkeyCtx, out: *mut u8, len: *mut usize) -> c_int;
    pub fn EVP_DigestSignInit_ex(
        ctx: MdCtx,
        pctx: *mut PkeyCtx,
        md: *const c_char,
        libctx: LibCtx,
        query: *const c_char,
        key: Pkey,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub fn EVP_DigestSignUpdate(ctx: MdCtx, data: *const c_void, len: usize) -> c_int;
    pub fn EVP_DigestSignFinal(ctx: MdCtx, sig: *mut u8, len: *mut usize) -> c_int;
    pub fn EVP_DigestSign(ctx: MdCtx, sig: *mut u8, len: *mut usize, data: *const u8, data_len: usize) -> c_int;
    pub fn EVP_DigestVerifyInit_ex(
        ctx: MdCtx,
        pctx: *mut PkeyCtx,
        md: *const c_char,
        libctx: LibCtx,
        query: *const c_char,
        key: Pkey,
        params: *const OSSL_PARAM,
    ) -> c_int;
    pub fn EVP_DigestVerifyUpdate(ctx: MdCtx, data: *const c_void, len: usize) -> c_int;
    pub fn EVP_DigestVerifyFinal(ctx: MdCtx, sig: *const u8, len: usize) -> c_int;
    pub fn EVP_DigestVerify(ctx: MdCtx, sig: *const u8, len: usize, data: *const u8, data_len: usize) -> c_int;

    pub fn d2i_AutoPrivateKey_ex(
        key: *mut Pkey,
        der: *mut *const u8,
        len: c_long,
        ctx: LibCtx,
        query: *const c_char,
    ) -> Pkey;
    pub fn d2i_PUBKEY_ex(key: *mut Pkey, der: *mut *const u8, len: c_long, ctx: LibCtx, query: *const c_char) -> Pkey;
    pub fn i2d_PrivateKey(key: Pkey, out: *mut *mut u8) -> c_int;
    pub fn i2d_PUBKEY(key: Pkey, out: *mut *mut u8) -> c_int;
}

/// A fetch from the default provider.
pub const DEFAULT: &CStr = c"provider=default";
/// A fetch from ours, never from another.
pub const ADJUNCT: &CStr = c"provider=adjunct";

/// A library context of the tests with two providers loaded.
#[derive(Clone, Copy)]
pub struct Library(pub LibCtx);

unsafe impl Send for Library {}
unsafe impl Sync for Library {}

/// The module cargo built beside this test program.
pub fn module() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let deps: &Path = program.parent().unwrap();
    let path = deps.join("libadjunct_openssl.so");
    assert!(path.exists(), "{} was not built", path.display());
    path
}

/// A library context with the default provider and ours, with all it can offer but RAND. Nothing is preferred: fetch with
/// [`DEFAULT`] or [`ADJUNCT`].
pub fn library() -> Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    *LIBRARY.get_or_init(|| library_with_config(&config("ALL ECB")))
}

/// Loads a configuration into a fresh library context: providers as its sections say.
pub fn library_with_config(config: &str) -> Library {
    unsafe extern "C" {
        fn OSSL_LIB_CTX_load_config(ctx: LibCtx, file: *const c_char) -> c_int;
    }
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("adjunct-test-{}-{number}.cnf", std::process::id()));
    std::fs::write(&file, config).unwrap();
    unsafe {
        let ctx = OSSL_LIB_CTX_new();
        let path = CString::new(file.to_str().unwrap()).unwrap();
        let loaded = OSSL_LIB_CTX_load_config(ctx, path.as_ptr());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(loaded, 1, "the configuration does not load: {}", errors());
        Library(ctx)
    }
}

/// A configuration that activates the default provider and ours with `algorithms = WORDS`.
pub fn config(algorithms: &str) -> String {
    format!(
        "openssl_conf = init\n[init]\nproviders = providers\n[providers]\ndefault = default_section\n\
         adjunct = adjunct_section\n[default_section]\nactivate = 1\n[adjunct_section]\nmodule = {}\nactivate = 1\nalgorithms = {algorithms}\n",
        module().display()
    )
}

/// What is on OpenSSL's error queue, and empties it.
pub fn errors() -> String {
    let mut all = Vec::new();
    unsafe {
        loop {
            let code = ERR_get_error();
            if code == 0 {
                return all.join("; ");
            }
            let mut text = [0 as c_char; 256];
            ERR_error_string_n(code, text.as_mut_ptr(), text.len());
            all.push(CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned());
        }
    }
}

/// A small deterministic generator (SplitMix64): a failure is repeated by its seed.
pub struct Rng(u64);

impl Rng {
    /// Seeds the generator; the same seed gives the same sequence.
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn bool(&mut self) -> bool {
        self.next() & 1 == 1
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }

    /// A length below `bound`, small ones and those around powers of two more often than chance has them.
    pub fn length(&mut self, bound: usize) -> usize {
        match self.below(4) {
            0 => self.below(bound.min(48)),
            1 => {
                let power = 1usize << self.below(bound.ilog2() as usize + 1);
                (power + self.below(5)).saturating_sub(2).min(bound - 1)
            }
            _ => self.below(bound),
        }
    }

    /// Cuts `length` into random pieces.
    pub fn pieces(&mut self, length: usize) -> Vec<usize> {
        let mut rest = length;
        let mut pieces = Vec::new();
        while rest > 0 {
            let piece = (self.length(rest + 1)).min(rest);
            pieces.push(piece);
            rest -= piece;
        }
        pieces
    }
}
