//! Keys and operations of EVP for the tests of elliptic curves: each runs by ours or by the default provider.

#![allow(dead_code, clippy::undocumented_unsafe_blocks)]

use crate::common::*;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut};

#[link(name = "crypto")]
unsafe extern "C" {
    pub fn EVP_PKEY_gettable_params(key: Pkey) -> *const OSSL_PARAM;
    pub fn EVP_PKEY_set_params(key: Pkey, params: *mut OSSL_PARAM) -> c_int;
    pub fn EVP_PKEY_parameters_eq(a: Pkey, b: Pkey) -> c_int;
    pub fn EVP_PKEY_private_check(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_param_check(ctx: PkeyCtx) -> c_int;
    pub fn EVP_PKEY_derive_set_peer_ex(ctx: PkeyCtx, peer: Pkey, validate: c_int) -> c_int;
    pub fn EVP_PKEY_derive_init_ex(ctx: PkeyCtx, params: *const OSSL_PARAM) -> c_int;
    pub fn EVP_PKEY_sign_init_ex(ctx: PkeyCtx, params: *const OSSL_PARAM) -> c_int;
    pub fn EVP_PKEY_CTX_settable_params(ctx: PkeyCtx) -> *const OSSL_PARAM;
    pub fn EVP_PKEY_copy_parameters(to: Pkey, from: Pkey) -> c_int;
    pub fn EVP_PKEY_new() -> Pkey;
    pub fn EVP_PKEY_set1_encoded_public_key(key: Pkey, public: *const u8, length: usize) -> c_int;
    pub fn EVP_PKEY_get1_encoded_public_key(key: Pkey, public: *mut *mut u8) -> usize;
}

pub const PRIVATE: c_int = 1;
pub const PUBLIC: c_int = 2;
pub const DOMAIN: c_int = 4;
pub const OTHER: c_int = 0x80;
pub const PAIR: c_int = PRIVATE | PUBLIC;
pub const ALL: c_int = PAIR | DOMAIN | OTHER;

/// A key, freed when it goes.
#[derive(Debug)]
pub struct SharedPkey(pub Pkey);

impl Drop for SharedPkey {
    fn drop(&mut self) {
        unsafe { EVP_PKEY_free(self.0) }
    }
}

/// A key's context, freed when it goes.
pub struct Ctx(pub PkeyCtx);

impl Drop for Ctx {
    fn drop(&mut self) {
        unsafe { EVP_PKEY_CTX_free(self.0) }
    }
}

/// A digest context, freed when it goes.
pub struct Digest(pub MdCtx);

impl Drop for Digest {
    fn drop(&mut self) {
        unsafe { EVP_MD_CTX_free(self.0) }
    }
}

/// A parameter with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub name: CString,
    pub kind: u32,
    pub data: Vec<u8>,
}

impl Value {
    pub fn utf8(name: &CStr, text: &str) -> Value {
        Value { name: name.to_owned(), kind: 4, data: text.as_bytes().to_vec() }
    }

    pub fn octets(name: &CStr, data: &[u8]) -> Value {
        Value { name: name.to_owned(), kind: 5, data: data.to_vec() }
    }

    pub fn int(name: &CStr, value: i32) -> Value {
        Value { name: name.to_owned(), kind: 1, data: value.to_ne_bytes().to_vec() }
    }

    pub fn uint(name: &CStr, value: u32) -> Value {
        Value { name: name.to_owned(), kind: 2, data: value.to_ne_bytes().to_vec() }
    }

    /// Makes a parameter of a big-endian number.
    pub fn number(name: &CStr, value: &[u8]) -> Value {
        Value { name: name.to_owned(), kind: 2, data: value.iter().rev().copied().collect() }
    }
}

/// The array of `values`, which must outlive it.
pub fn array(values: &mut [Value]) -> Vec<OSSL_PARAM> {
    let entries = values.iter_mut().map(|v| {
        // A terminator behind strings, and an address where there is nothing.
        let size = v.data.len();
        v.data.reserve(1);
        v.data.push(0);
        let data = v.data.as_mut_ptr().cast();
        v.data.pop();
        OSSL_PARAM { key: v.name.as_ptr(), data_type: v.kind, data, data_size: size, return_size: usize::MAX }
    });
    entries.chain([OSSL_PARAM::END]).collect()
}

pub fn named(name: &CStr, query: &CStr) -> Ctx {
    Ctx(unsafe { EVP_PKEY_CTX_new_from_name(library().0, name.as_ptr(), query.as_ptr()) })
}

pub fn of(key: &SharedPkey, query: &CStr) -> Ctx {
    Ctx(unsafe { EVP_PKEY_CTX_new_from_pkey(library().0, key.0, query.as_ptr()) })
}

/// A key from data.
pub fn from_data(name: &CStr, query: &CStr, selection: c_int, values: &[Value]) -> Option<SharedPkey> {
    let mut values = values.to_vec();
    let mut params = array(&mut values);
    let (ctx, mut key) = (named(name, query), null_mut());
    unsafe {
        assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
        (EVP_PKEY_fromdata(ctx.0, &raw mut key, selection, params.as_mut_ptr()) == 1).then_some(SharedPkey(key))
    }
}

/// The data of a key; empty strings and such included, in order.
pub fn to_data(key: &SharedPkey, selection: c_int) -> Option<Vec<Value>> {
    let mut params: *mut OSSL_PARAM = null_mut();
    unsafe {
        if EVP_PKEY_todata(key.0, selection, &raw mut params) != 1 {
            return None;
        }
        let values = read(params);
        OSSL_PARAM_free(params);
        Some(values)
    }
}

/// # Safety
/// `params` is an array.
unsafe fn read(mut params: *const OSSL_PARAM) -> Vec<Value> {
    let mut values = Vec::new();
    unsafe {
        while !(*params).key.is_null() {
            let p = &*params;
            let data = std::slice::from_raw_parts(p.data.cast::<u8>(), p.data_size).to_vec();
            values.push(Value { name: CStr::from_ptr(p.key).to_owned(), kind: p.data_type, data });
            params = params.add(1);
        }
    }
    values
}

/// A key or, of a selection without keys, parameters, generated after setting each of `sets` in turn.
pub fn generate(name: &CStr, query: &CStr, parameters: bool, sets: &[&[Value]]) -> Option<SharedPkey> {
    generate_in(&named(name, query), parameters, sets)
}

pub fn generate_in(ctx: &Ctx, parameters: bool, sets: &[&[Value]]) -> Option<SharedPkey> {
    let mut key = null_mut();
    unsafe {
        if (if parameters { EVP_PKEY_paramgen_init(ctx.0) } else { EVP_PKEY_keygen_init(ctx.0) }) != 1 {
            return None;
        }
        for set in sets {
            let mut values = set.to_vec();
            if EVP_PKEY_CTX_set_params(ctx.0, array(&mut values).as_ptr()) != 1 {
                return None;
            }
        }
        (EVP_PKEY_generate(ctx.0, &raw mut key) == 1).then_some(SharedPkey(key))
    }
}

/// A copy of `key` in the provider that `query` names, with the parts that `selection` tells.
pub fn moved(name: &CStr, key: &SharedPkey, query: &CStr, selection: c_int) -> Option<SharedPkey> {
    from_data(name, query, selection, &to_data(key, selection)?)
}

/// What a key answers to all it says it answers: name, result, value.
pub fn answers(key: &SharedPkey) -> Vec<(CString, c_int, Vec<u8>)> {
    let mut all = Vec::new();
    unsafe {
        let mut p = EVP_PKEY_gettable_params(key.0);
        while !(*p).key.is_null() {
            let mut buffer = [0u8; 256];
            let size = match (*p).data_type {
                1 => 4,
                2 => 72,
                _ => buffer.len(),
            };
            let data = buffer.as_mut_ptr().cast::<c_void>();
            let mut request = [OSSL_PARAM { data, data_size: size, return_size: usize::MAX, ..*p }, OSSL_PARAM::END];
            let result = EVP_PKEY_get_params(key.0, request.as_mut_ptr());
            let size = if request[0].return_size == usize::MAX { 0 } else { request[0].return_size };
            all.push((CStr::from_ptr((*p).key).to_owned(), result, buffer[..size.min(256)].to_vec()));
            p = p.add(1);
        }
        ERR_clear_error();
    }
    all.sort();
    all.dedup();
    all
}

/// Checks that two keys answer alike; shows what differs.
#[track_caller]
pub fn same_answers(one: &SharedPkey, other: &SharedPkey, what: &str) {
    let (one, other) = (answers(one), answers(other));
    assert_eq!(one.len(), other.len(), "{what}");
    let different: Vec<_> = one.iter().zip(&other).filter(|(a, b)| a != b).collect();
    assert!(different.is_empty(), "{what}: {different:?}");
}

/// The results of every check OpenSSL has.
pub fn checks(key: &SharedPkey, query: &CStr) -> [bool; 5] {
    let ctx = of(key, query);
    let run = |f: unsafe extern "C" fn(PkeyCtx) -> c_int| unsafe { f(ctx.0) == 1 };
    let results =
        [EVP_PKEY_check, EVP_PKEY_public_check, EVP_PKEY_private_check, EVP_PKEY_pairwise_check, EVP_PKEY_param_check]
            .map(run);
    unsafe { ERR_clear_error() };
    results
}

fn name_or_null(name: Option<&CStr>) -> *const c_char {
    name.map_or(null(), CStr::as_ptr)
}

/// Signs what passes in pieces, or with none at once.
pub fn digest_sign(
    key: &SharedPkey,
    query: &CStr,
    digest: Option<&CStr>,
    message: &[u8],
    pieces: Option<&[usize]>,
    sets: &[Value],
) -> Option<Vec<u8>> {
    let (ctx, mut values) = (Digest(unsafe { EVP_MD_CTX_new() }), sets.to_vec());
    let params = array(&mut values);
    let (name, lib) = (name_or_null(digest), library().0);
    let mut length = 0;
    unsafe {
        if EVP_DigestSignInit_ex(ctx.0, null_mut(), name, lib, query.as_ptr(), key.0, params.as_ptr()) != 1 {
            return None;
        }
        let Some(pieces) = pieces else {
            if EVP_DigestSign(ctx.0, null_mut(), &raw mut length, message.as_ptr(), message.len()) != 1 {
                return None;
            }
            let mut out = vec![0; length];
            let (data, size) = (message.as_ptr(), message.len());
            let done = EVP_DigestSign(ctx.0, out.as_mut_ptr(), &raw mut length, data, size);
            out.truncate(length);
            return (done == 1).then_some(out);
        };
        let mut rest = message;
        for &piece in pieces {
            if EVP_DigestSignUpdate(ctx.0, rest.as_ptr().cast(), piece) != 1 {
                return None;
            }
            rest = &rest[piece..];
        }
        if EVP_DigestSignFinal(ctx.0, null_mut(), &raw mut length) != 1 {
            return None;
        }
        let mut out = vec![0; length];
        let done = EVP_DigestSignFinal(ctx.0, out.as_mut_ptr(), &raw mut length);
        out.truncate(length);
        (done == 1).then_some(out)
    }
}

/// The result of verifying in one go, or of the setting up where that fails.
pub fn digest_verify(
    key: &SharedPkey,
    query: &CStr,
    digest: Option<&CStr>,
    message: &[u8],
    signature: &[u8],
    sets: &[Value],
) -> c_int {
    let (ctx, mut values) = (Digest(unsafe { EVP_MD_CTX_new() }), sets.to_vec());
    let params = array(&mut values);
    let (name, lib) = (name_or_null(digest), library().0);
    unsafe {
        if EVP_DigestVerifyInit_ex(ctx.0, null_mut(), name, lib, query.as_ptr(), key.0, params.as_ptr()) != 1 {
            ERR_clear_error();
            return -100;
        }
        let (sig, sig_len) = (signature.as_ptr(), signature.len());
        let result = EVP_DigestVerify(ctx.0, sig, sig_len, message.as_ptr(), message.len());
        ERR_clear_error();
        result
    }
}

/// Signs a digest.
pub fn sign(key: &SharedPkey, query: &CStr, digest: &[u8], sets: &[Value]) -> Option<Vec<u8>> {
    let (ctx, mut values, mut length) = (of(key, query), sets.to_vec(), 0);
    unsafe {
        if EVP_PKEY_sign_init_ex(ctx.0, array(&mut values).as_ptr()) != 1
            || EVP_PKEY_sign(ctx.0, null_mut(), &raw mut length, digest.as_ptr(), digest.len()) != 1
        {
            return None;
        }
        let mut out = vec![0; length];
        let done = EVP_PKEY_sign(ctx.0, out.as_mut_ptr(), &raw mut length, digest.as_ptr(), digest.len());
        out.truncate(length);
        (done == 1).then_some(out)
    }
}

/// The result of verifying a signature of a digest.
pub fn verify(key: &SharedPkey, query: &CStr, digest: &[u8], signature: &[u8]) -> c_int {
    let ctx = of(key, query);
    unsafe {
        if EVP_PKEY_verify_init(ctx.0) != 1 {
            return -100;
        }
        let result = EVP_PKEY_verify(ctx.0, signature.as_ptr(), signature.len(), digest.as_ptr(), digest.len());
        ERR_clear_error();
        result
    }
}

/// Derives a secret: every step's failure is a failure.
pub fn derive(key: &SharedPkey, peer: &SharedPkey, query: &CStr, validate: bool, sets: &[Value]) -> Option<Vec<u8>> {
    let (ctx, mut values, mut length) = (of(key, query), sets.to_vec(), 0);
    let done = unsafe {
        if EVP_PKEY_derive_init(ctx.0) != 1
            || (!sets.is_empty() && EVP_PKEY_CTX_set_params(ctx.0, array(&mut values).as_ptr()) != 1)
            || EVP_PKEY_derive_set_peer_ex(ctx.0, peer.0, c_int::from(validate)) != 1
            || EVP_PKEY_derive(ctx.0, null_mut(), &raw mut length) != 1
        {
            None
        } else {
            let mut out = vec![0; length];
            let done = EVP_PKEY_derive(ctx.0, out.as_mut_ptr(), &raw mut length);
            out.truncate(length);
            (done == 1).then_some(out)
        }
    };
    unsafe { ERR_clear_error() };
    done
}
