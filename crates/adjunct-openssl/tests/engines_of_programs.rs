//! A digest and a cipher that an engine of the program replaces: MACs, signatures and encryption use the engine's, as stock's do.
//!
//! A program of its own: what an engine replaces, it replaces for the whole process.

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;
#[path = "common/evp.rs"]
mod evp;

use common::*;
use evp::{Value, generate, moved};
use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::ptr::null_mut;

const SHA256: c_int = 672;
const AES_128_CBC: c_int = 419;

unsafe extern "C" {
    fn ENGINE_new() -> Engine;
    fn ENGINE_set_id(engine: Engine, id: *const c_char) -> c_int;
    fn ENGINE_set_name(engine: Engine, name: *const c_char) -> c_int;
    fn ENGINE_set_digests(engine: Engine, choose: Choose) -> c_int;
    fn ENGINE_set_ciphers(engine: Engine, choose: Choose) -> c_int;
    fn ENGINE_set_default_digests(engine: Engine) -> c_int;
    fn ENGINE_set_default_ciphers(engine: Engine) -> c_int;
    fn EVP_MD_meth_new(digest: c_int, key: c_int) -> Md;
    fn EVP_MD_meth_set_result_size(md: Md, size: c_int) -> c_int;
    fn EVP_MD_meth_set_input_blocksize(md: Md, size: c_int) -> c_int;
    fn EVP_MD_meth_set_app_datasize(md: Md, size: c_int) -> c_int;
    fn EVP_MD_meth_set_init(md: Md, f: extern "C" fn(MdCtx) -> c_int) -> c_int;
    fn EVP_MD_meth_set_update(md: Md, f: extern "C" fn(MdCtx, *const c_void, usize) -> c_int) -> c_int;
    fn EVP_MD_meth_set_final(md: Md, f: unsafe extern "C" fn(MdCtx, *mut u8) -> c_int) -> c_int;
    fn EVP_CIPHER_meth_new(cipher: c_int, block: c_int, key: c_int) -> Cipher;
    fn EVP_CIPHER_meth_set_iv_length(cipher: Cipher, length: c_int) -> c_int;
    fn EVP_CIPHER_meth_set_flags(cipher: Cipher, flags: c_ulong) -> c_int;
    fn EVP_CIPHER_meth_set_init(
        cipher: Cipher,
        f: extern "C" fn(CipherCtx, *const u8, *const u8, c_int) -> c_int,
    ) -> c_int;
    fn EVP_CIPHER_meth_set_do_cipher(
        cipher: Cipher,
        f: unsafe extern "C" fn(CipherCtx, *mut u8, *const u8, usize) -> c_int,
    ) -> c_int;
}

type Choose = unsafe extern "C" fn(Engine, *mut *mut Opaque, *mut *const c_int, c_int) -> c_int;

/// What the engine replaces: the number, and its method.
struct Replaced(c_int, *mut Opaque);

unsafe impl Sync for Replaced {}
unsafe impl Send for Replaced {}

static DIGEST: std::sync::OnceLock<Replaced> = std::sync::OnceLock::new();
static CIPHER: std::sync::OnceLock<Replaced> = std::sync::OnceLock::new();

unsafe fn choose(
    replaced: &'static Replaced,
    method: *mut *mut Opaque,
    list: *mut *const c_int,
    wanted: c_int,
) -> c_int {
    unsafe {
        if method.is_null() {
            *list = &raw const replaced.0;
            return 1;
        }
        *method = if wanted == replaced.0 { replaced.1 } else { null_mut() };
        c_int::from(wanted == replaced.0)
    }
}

unsafe extern "C" fn digests(_: Engine, method: *mut *mut Opaque, list: *mut *const c_int, wanted: c_int) -> c_int {
    unsafe { choose(DIGEST.get().unwrap(), method, list, wanted) }
}

unsafe extern "C" fn ciphers(_: Engine, method: *mut *mut Opaque, list: *mut *const c_int, wanted: c_int) -> c_int {
    unsafe { choose(CIPHER.get().unwrap(), method, list, wanted) }
}

extern "C" fn begin(_: MdCtx) -> c_int {
    1
}

extern "C" fn pass(_: MdCtx, _: *const c_void, _: usize) -> c_int {
    1
}

/// A digest that is the same for all messages.
///
/// # Safety
/// `out` has room for the digest.
unsafe extern "C" fn constant(_: MdCtx, out: *mut u8) -> c_int {
    unsafe { std::slice::from_raw_parts_mut(out, 32) }.fill(0x5a);
    1
}

extern "C" fn key(_: CipherCtx, _: *const u8, _: *const u8, _: c_int) -> c_int {
    1
}

/// A cipher that copies its input.
///
/// # Safety
/// `out` has room for `length` bytes and `data` has as many.
unsafe extern "C" fn copy(_: CipherCtx, out: *mut u8, data: *const u8, length: usize) -> c_int {
    unsafe { std::ptr::copy(data, out, length) };
    1
}

fn register() {
    unsafe {
        let md = EVP_MD_meth_new(SHA256, 0);
        EVP_MD_meth_set_result_size(md, 32);
        EVP_MD_meth_set_input_blocksize(md, 64);
        // libcrypto calls no update of a digest without state.
        EVP_MD_meth_set_app_datasize(md, 8);
        EVP_MD_meth_set_init(md, begin);
        EVP_MD_meth_set_update(md, pass);
        EVP_MD_meth_set_final(md, constant);
        assert!(DIGEST.set(Replaced(SHA256, md)).is_ok());
        let cipher = EVP_CIPHER_meth_new(AES_128_CBC, 16, 16);
        EVP_CIPHER_meth_set_iv_length(cipher, 16);
        // EVP_CIPH_CBC_MODE
        EVP_CIPHER_meth_set_flags(cipher, 2);
        EVP_CIPHER_meth_set_init(cipher, key);
        EVP_CIPHER_meth_set_do_cipher(cipher, copy);
        assert!(CIPHER.set(Replaced(AES_128_CBC, cipher)).is_ok());
        let engine = ENGINE_new();
        ENGINE_set_id(engine, c"constant".as_ptr());
        ENGINE_set_name(engine, c"constant".as_ptr());
        assert_eq!(ENGINE_set_digests(engine, digests), 1);
        assert_eq!(ENGINE_set_ciphers(engine, ciphers), 1);
        assert_eq!(ENGINE_set_default_digests(engine), 1, "{}", errors());
        assert_eq!(ENGINE_set_default_ciphers(engine), 1, "{}", errors());
    }
}

fn mac(name: &CStr, query: &CStr, under: (&'static CStr, &CStr)) -> Vec<u8> {
    unsafe {
        let mac = EVP_MAC_fetch(library().0, name.as_ptr(), query.as_ptr());
        let context = EVP_MAC_CTX_new(mac);
        let params = [OSSL_PARAM::utf8(under.0, under.1), OSSL_PARAM::END];
        let (mut out, mut length) = (vec![0; 64], 0);
        assert_eq!(
            EVP_MAC_init(context, [7; 16].as_ptr(), 16, params.as_ptr()),
            1,
            "{name:?} {query:?} {under:?} {}",
            errors()
        );
        assert_eq!(EVP_MAC_update(context, [9; 100].as_ptr(), 100), 1, "{name:?} {query:?} {under:?} {}", errors());
        assert_eq!(EVP_MAC_final(context, out.as_mut_ptr(), &raw mut length, out.len()), 1);
        out.truncate(length);
        EVP_MAC_CTX_free(context);
        EVP_MAC_free(mac);
        out
    }
}

#[test]
fn what_an_engine_replaces_is_used_under_macs_signatures_and_encryption() {
    let macs: [(&CStr, (&CStr, &CStr)); 3] =
        [(c"HMAC", (c"digest", c"SHA256")), (c"HMAC", (c"digest", c"SHA1")), (c"CMAC", (c"cipher", c"AES-128-CBC"))];
    let before = macs.map(|(name, under)| mac(name, ADJUNCT, under));
    register();
    let stock = macs.map(|(name, under)| mac(name, DEFAULT, under));
    let after = macs.map(|(name, under)| mac(name, ADJUNCT, under));
    assert_eq!(after, stock);
    assert_ne!(before[0], after[0], "HMAC-SHA256 digests by the engine");
    assert_eq!(before[1], after[1], "no engine replaces SHA-1");
    assert_ne!(before[2], after[2], "CMAC enciphers by the engine");

    let rsa: &[Value] = &[Value::uint(c"bits", 1024)];
    let ec: &[Value] = &[Value::utf8(c"group", "P-256")];
    let pss: &[Value] = &[Value::utf8(c"pad-mode", "pss")];
    for (name, parameters, sets) in [(c"RSA", rsa, &[][..]), (c"RSA", rsa, pss), (c"EC", ec, &[][..])] {
        let made = generate(name, DEFAULT, false, &[parameters]).expect("a key");
        // Key, public and domain parameters.
        let ours = moved(name, &made, ADJUNCT, 0x87).expect("the key here");
        let theirs = moved(name, &made, DEFAULT, 0x87).expect("the key there");
        for (signs, signer, verifies, verifier) in
            [(&ours, ADJUNCT, &theirs, DEFAULT), (&theirs, DEFAULT, &ours, ADJUNCT)]
        {
            let signature = evp::digest_sign(signs, signer, Some(c"SHA256"), b"one", None, sets).expect("a signature");
            // The engine's digest of both messages is the same.
            let verified = evp::digest_verify(verifies, verifier, Some(c"SHA256"), b"another", &signature, sets);
            assert_eq!(verified, 1, "{name:?} of {signer:?}: {}", errors());
        }
    }
}
