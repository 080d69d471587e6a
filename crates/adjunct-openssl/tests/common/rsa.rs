//! What the RSA tests share: keys in both providers, and each operation as a function of what matters.

#![allow(dead_code)]

use super::common::*;
use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, OnceLock};

pub const PAIR: c_int = 3;
pub const PUBLIC: c_int = 2;
pub const PKCS1: c_int = 1;
pub const NONE: c_int = 3;
pub const OAEP: c_int = 4;
pub const X931: c_int = 5;
pub const PSS: c_int = 6;
pub const TLS: c_int = 7;

pub struct RsaPkey(pub Pkey);

unsafe impl Send for RsaPkey {}
unsafe impl Sync for RsaPkey {}

impl Drop for RsaPkey {
    fn drop(&mut self) {
        unsafe { EVP_PKEY_free(self.0) }
    }
}

pub struct RsaPkeyContext(pub PkeyCtx);

impl Drop for RsaPkeyContext {
    fn drop(&mut self) {
        unsafe { EVP_PKEY_CTX_free(self.0) }
    }
}

/// A big number as OpenSSL passes it.
pub fn number(key: &'static CStr, little_endian: &mut [u8]) -> OSSL_PARAM {
    OSSL_PARAM { data_type: 2, ..OSSL_PARAM::octets(key, little_endian) }
}

pub fn generate(query: &CStr, bits: usize, primes: usize, e: u64) -> RsaPkey {
    let (mut bits, mut primes, mut e) = (bits, primes, e.to_le_bytes());
    let params = [
        OSSL_PARAM::size(c"bits", &mut bits),
        OSSL_PARAM::size(c"primes", &mut primes),
        number(c"e", &mut e),
        OSSL_PARAM::END,
    ];
    unsafe {
        let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
        let mut key = null_mut();
        assert_eq!(EVP_PKEY_keygen_init(ctx.0), 1, "{}", errors());
        assert_eq!(EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()), 1, "{}", errors());
        assert_eq!(EVP_PKEY_generate(ctx.0, &raw mut key), 1, "{bits} bits, {primes} primes: {}", errors());
        RsaPkey(key)
    }
}

/// A copy of `key` in the provider that `query` names, with the parts that `selection` tells.
pub fn moved(key: &RsaPkey, selection: c_int, query: &CStr) -> Option<RsaPkey> {
    unsafe {
        let mut params = null_mut();
        assert_eq!(EVP_PKEY_todata(key.0, selection, &raw mut params), 1, "{}", errors());
        let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
        let mut copy = null_mut();
        assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
        let done = EVP_PKEY_fromdata(ctx.0, &raw mut copy, selection, params);
        OSSL_PARAM_free(params);
        (done == 1).then_some(RsaPkey(copy))
    }
}

/// Copies of one key in both providers.
pub struct Twins {
    pub stock: RsaPkey,
    pub ours: RsaPkey,
}

/// Keys are costly: one per kind for all tests.
pub fn twins(bits: usize, primes: usize, e: u64) -> &'static Twins {
    type Keys = HashMap<(usize, usize, u64), &'static Twins>;
    static KEYS: OnceLock<Mutex<Keys>> = OnceLock::new();
    let mut keys = KEYS.get_or_init(Mutex::default).lock().unwrap();
    keys.entry((bits, primes, e)).or_insert_with(|| {
        let stock = generate(DEFAULT, bits, primes, e);
        let ours = moved(&stock, PAIR, ADJUNCT).expect("imported");
        Box::leak(Box::new(Twins { stock, ours }))
    })
}

pub fn query_of(ours: bool) -> &'static CStr {
    if ours { ADJUNCT } else { DEFAULT }
}

impl Twins {
    pub fn of(&self, ours: bool) -> &RsaPkey {
        if ours { &self.ours } else { &self.stock }
    }
}

/// What to sign with.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub padding: c_int,
    pub digest: Option<&'static CStr>,
    pub mgf1: Option<&'static CStr>,
    pub salt: Option<&'static CStr>,
}

pub const PLAIN: Recipe = Recipe { padding: PKCS1, digest: Some(c"SHA256"), mgf1: None, salt: None };

impl Recipe {
    pub fn params(&self, mode: &mut c_int) -> Vec<OSSL_PARAM> {
        *mode = self.padding;
        let mut params = vec![OSSL_PARAM::int(c"pad-mode", mode)];
        params.extend(self.salt.map(|salt| OSSL_PARAM::utf8(c"saltlen", salt)));
        params.extend(self.mgf1.map(|mgf1| OSSL_PARAM::utf8(c"mgf1-digest", mgf1)));
        params.push(OSSL_PARAM::END);
        params
    }
}

pub struct Digesting {
    pub ctx: MdCtx,
    pub pctx: PkeyCtx,
}

impl Drop for Digesting {
    fn drop(&mut self) {
        unsafe { EVP_MD_CTX_free(self.ctx) }
    }
}

pub fn digesting(key: &RsaPkey, query: &CStr, recipe: Recipe, verify: bool) -> Option<Digesting> {
    let init = if verify { EVP_DigestVerifyInit_ex } else { EVP_DigestSignInit_ex };
    let (mut mode, digest) = (0, recipe.digest.map_or(null(), CStr::as_ptr));
    unsafe {
        let mut it = Digesting { ctx: EVP_MD_CTX_new(), pctx: null_mut() };
        if init(it.ctx, &raw mut it.pctx, digest, library().0, query.as_ptr(), key.0, null()) != 1 {
            return None;
        }
        (EVP_PKEY_CTX_set_params(it.pctx, recipe.params(&mut mode).as_ptr()) == 1).then_some(it)
    }
}

pub fn digest_sign(key: &RsaPkey, query: &CStr, recipe: Recipe, data: &[u8]) -> Option<Vec<u8>> {
    let it = digesting(key, query, recipe, false)?;
    unsafe {
        let mut length = 0;
        if EVP_DigestSign(it.ctx, null_mut(), &raw mut length, data.as_ptr(), data.len()) != 1 {
            return None;
        }
        let mut out = vec![0; length];
        let done = EVP_DigestSign(it.ctx, out.as_mut_ptr(), &raw mut length, data.as_ptr(), data.len());
        out.truncate(length);
        (done == 1).then_some(out)
    }
}

/// Update and final with a copied context: what OpenSSL does behind `EVP_DigestSignFinal` anyway.
pub fn digest_sign_in_pieces(key: &RsaPkey, query: &CStr, recipe: Recipe, data: &[u8]) -> Option<Vec<u8>> {
    let it = digesting(key, query, recipe, false)?;
    let (front, back) = data.split_at(data.len() / 3);
    unsafe {
        assert_eq!(EVP_DigestSignUpdate(it.ctx, front.as_ptr().cast(), front.len()), 1);
        let copy = Digesting { ctx: EVP_MD_CTX_new(), pctx: null_mut() };
        assert_eq!(EVP_MD_CTX_copy_ex(copy.ctx, it.ctx), 1, "{}", errors());
        assert_eq!(EVP_DigestSignUpdate(it.ctx, c"noise".as_ptr().cast(), 5), 1);
        assert_eq!(EVP_DigestSignUpdate(copy.ctx, back.as_ptr().cast(), back.len()), 1);
        let mut out = vec![0; 2048];
        let mut length = out.len();
        let done = EVP_DigestSignFinal(copy.ctx, out.as_mut_ptr(), &raw mut length);
        out.truncate(length);
        (done == 1).then_some(out)
    }
}

pub fn digest_verify(key: &RsaPkey, query: &CStr, recipe: Recipe, signature: &[u8], data: &[u8]) -> bool {
    let Some(it) = digesting(key, query, recipe, true) else { return false };
    unsafe { EVP_DigestVerify(it.ctx, signature.as_ptr(), signature.len(), data.as_ptr(), data.len()) == 1 }
}

/// Runs a raw operation with room for everything.
pub fn raw(
    key: &RsaPkey,
    query: &CStr,
    recipe: Recipe,
    init: unsafe extern "C" fn(PkeyCtx) -> c_int,
    run: unsafe extern "C" fn(PkeyCtx, *mut u8, *mut usize, *const u8, usize) -> c_int,
    input: &[u8],
) -> Option<Vec<u8>> {
    let (ctx, _mode) = prepared(key, query, recipe, init)?;
    unsafe {
        let mut length = 0;
        if run(ctx.0, null_mut(), &raw mut length, input.as_ptr(), input.len()) != 1 {
            return None;
        }
        let mut out = vec![0; length];
        let done = run(ctx.0, out.as_mut_ptr(), &raw mut length, input.as_ptr(), input.len());
        out.truncate(length);
        (done == 1).then_some(out)
    }
}

pub fn prepared(
    key: &RsaPkey,
    query: &CStr,
    recipe: Recipe,
    init: unsafe extern "C" fn(PkeyCtx) -> c_int,
) -> Option<(RsaPkeyContext, c_int)> {
    let mut mode = 0;
    unsafe {
        let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_pkey(library().0, key.0, query.as_ptr()));
        assert_eq!(init(ctx.0), 1, "{}", errors());
        let mut params = recipe.params(&mut mode);
        if let Some(digest) = recipe.digest {
            params.insert(0, OSSL_PARAM::utf8(c"digest", digest));
        }
        (EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()) == 1).then_some((ctx, mode))
    }
}

pub fn raw_sign(key: &RsaPkey, query: &CStr, recipe: Recipe, data: &[u8]) -> Option<Vec<u8>> {
    raw(key, query, recipe, EVP_PKEY_sign_init, EVP_PKEY_sign, data)
}

pub fn raw_verify(key: &RsaPkey, query: &CStr, recipe: Recipe, signature: &[u8], data: &[u8]) -> bool {
    let Some((ctx, _)) = prepared(key, query, recipe, EVP_PKEY_verify_init) else { return false };
    unsafe { EVP_PKEY_verify(ctx.0, signature.as_ptr(), signature.len(), data.as_ptr(), data.len()) == 1 }
}

pub fn recover(key: &RsaPkey, query: &CStr, recipe: Recipe, signature: &[u8]) -> Option<Vec<u8>> {
    raw(key, query, recipe, EVP_PKEY_verify_recover_init, EVP_PKEY_verify_recover, signature)
}

/// A number of a key, in the order of bytes OpenSSL passes.
pub fn bignum(key: &RsaPkey, name: &'static CStr) -> Vec<u8> {
    let mut buffer = vec![0; 2048];
    let mut params = [number(name, &mut buffer), OSSL_PARAM::END];
    assert_eq!(unsafe { EVP_PKEY_get_params(key.0, params.as_mut_ptr()) }, 1, "{}", errors());
    let used = buffer.iter().rposition(|&b| b != 0).map_or(1, |i| i + 1);
    buffer.truncate(used);
    buffer
}
