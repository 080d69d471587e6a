//! RSA through EVP, beside the default provider: what one makes the other takes, and what one refuses so does the other.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;

use common::*;
use std::collections::HashMap;
use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};
use std::sync::{Mutex, OnceLock};

const PAIR: c_int = 3;
const PUBLIC: c_int = 2;
const PKCS1: c_int = 1;
const NONE: c_int = 3;
const OAEP: c_int = 4;
const X931: c_int = 5;
const PSS: c_int = 6;

struct Key(Pkey);

unsafe impl Send for Key {}
unsafe impl Sync for Key {}

impl Drop for Key {
    fn drop(&mut self) {
        unsafe { EVP_PKEY_free(self.0) }
    }
}

struct Context(PkeyCtx);

impl Drop for Context {
    fn drop(&mut self) {
        unsafe { EVP_PKEY_CTX_free(self.0) }
    }
}

/// A big number as OpenSSL passes it.
fn number(key: &'static CStr, little_endian: &mut [u8]) -> OSSL_PARAM {
    OSSL_PARAM { data_type: 2, ..OSSL_PARAM::octets(key, little_endian) }
}

fn generate(query: &CStr, bits: usize, primes: usize, e: u64) -> Key {
    let (mut bits, mut primes, mut e) = (bits, primes, e.to_le_bytes());
    let params = [
        OSSL_PARAM::size(c"bits", &mut bits),
        OSSL_PARAM::size(c"primes", &mut primes),
        number(c"e", &mut e),
        OSSL_PARAM::END,
    ];
    unsafe {
        let ctx = Context(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
        let mut key = null_mut();
        assert_eq!(EVP_PKEY_keygen_init(ctx.0), 1, "{}", errors());
        assert_eq!(EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()), 1, "{}", errors());
        assert_eq!(EVP_PKEY_generate(ctx.0, &raw mut key), 1, "{bits} bits, {primes} primes: {}", errors());
        Key(key)
    }
}

/// The same key in the providers `query` names.
fn moved(key: &Key, selection: c_int, query: &CStr) -> Option<Key> {
    unsafe {
        let mut params = null_mut();
        assert_eq!(EVP_PKEY_todata(key.0, selection, &raw mut params), 1, "{}", errors());
        let ctx = Context(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
        let mut copy = null_mut();
        assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
        let done = EVP_PKEY_fromdata(ctx.0, &raw mut copy, selection, params);
        OSSL_PARAM_free(params);
        (done == 1).then_some(Key(copy))
    }
}

/// Both providers' copies of one key.
struct Twins {
    stock: Key,
    ours: Key,
}

/// Keys are costly: one per kind for all tests.
fn twins(bits: usize, primes: usize, e: u64) -> &'static Twins {
    type Keys = HashMap<(usize, usize, u64), &'static Twins>;
    static KEYS: OnceLock<Mutex<Keys>> = OnceLock::new();
    let mut keys = KEYS.get_or_init(Mutex::default).lock().unwrap();
    keys.entry((bits, primes, e)).or_insert_with(|| {
        let stock = generate(DEFAULT, bits, primes, e);
        let ours = moved(&stock, PAIR, ADJUNCT).expect("imported");
        Box::leak(Box::new(Twins { stock, ours }))
    })
}

fn query_of(ours: bool) -> &'static CStr {
    if ours { ADJUNCT } else { DEFAULT }
}

impl Twins {
    fn of(&self, ours: bool) -> &Key {
        if ours { &self.ours } else { &self.stock }
    }
}

/// What to sign with.
#[derive(Clone, Copy, Debug)]
struct Recipe {
    padding: c_int,
    digest: Option<&'static CStr>,
    mgf1: Option<&'static CStr>,
    salt: Option<&'static CStr>,
}

const PLAIN: Recipe = Recipe { padding: PKCS1, digest: Some(c"SHA256"), mgf1: None, salt: None };

impl Recipe {
    fn params(&self, mode: &mut c_int) -> Vec<OSSL_PARAM> {
        *mode = self.padding;
        let mut params = vec![OSSL_PARAM::int(c"pad-mode", mode)];
        params.extend(self.salt.map(|salt| OSSL_PARAM::utf8(c"saltlen", salt)));
        params.extend(self.mgf1.map(|mgf1| OSSL_PARAM::utf8(c"mgf1-digest", mgf1)));
        params.push(OSSL_PARAM::END);
        params
    }
}

struct Digesting {
    ctx: MdCtx,
    pctx: PkeyCtx,
}

impl Drop for Digesting {
    fn drop(&mut self) {
        unsafe { EVP_MD_CTX_free(self.ctx) }
    }
}

fn digesting(key: &Key, query: &CStr, recipe: Recipe, verify: bool) -> Option<Digesting> {
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

fn digest_sign(key: &Key, query: &CStr, recipe: Recipe, data: &[u8]) -> Option<Vec<u8>> {
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
fn digest_sign_in_pieces(key: &Key, query: &CStr, recipe: Recipe, data: &[u8]) -> Option<Vec<u8>> {
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

fn digest_verify(key: &Key, query: &CStr, recipe: Recipe, signature: &[u8], data: &[u8]) -> bool {
    let Some(it) = digesting(key, query, recipe, true) else { return false };
    unsafe { EVP_DigestVerify(it.ctx, signature.as_ptr(), signature.len(), data.as_ptr(), data.len()) == 1 }
}

/// Runs one of the raw operations with room for everything.
fn raw(
    key: &Key,
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

fn prepared(
    key: &Key,
    query: &CStr,
    recipe: Recipe,
    init: unsafe extern "C" fn(PkeyCtx) -> c_int,
) -> Option<(Context, c_int)> {
    let mut mode = 0;
    unsafe {
        let ctx = Context(EVP_PKEY_CTX_new_from_pkey(library().0, key.0, query.as_ptr()));
        assert_eq!(init(ctx.0), 1, "{}", errors());
        let mut params = recipe.params(&mut mode);
        if let Some(digest) = recipe.digest {
            params.insert(0, OSSL_PARAM::utf8(c"digest", digest));
        }
        (EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()) == 1).then_some((ctx, mode))
    }
}

fn raw_sign(key: &Key, query: &CStr, recipe: Recipe, data: &[u8]) -> Option<Vec<u8>> {
    raw(key, query, recipe, EVP_PKEY_sign_init, EVP_PKEY_sign, data)
}

fn raw_verify(key: &Key, query: &CStr, recipe: Recipe, signature: &[u8], data: &[u8]) -> bool {
    let Some((ctx, _)) = prepared(key, query, recipe, EVP_PKEY_verify_init) else { return false };
    unsafe { EVP_PKEY_verify(ctx.0, signature.as_ptr(), signature.len(), data.as_ptr(), data.len()) == 1 }
}

fn recover(key: &Key, query: &CStr, recipe: Recipe, signature: &[u8]) -> Option<Vec<u8>> {
    raw(key, query, recipe, EVP_PKEY_verify_recover_init, EVP_PKEY_verify_recover, signature)
}

const DIGESTS: &[&CStr] = &[
    c"MD5",
    c"SHA1",
    c"SHA224",
    c"SHA256",
    c"SHA384",
    c"SHA512",
    c"SHA512-224",
    c"SHA512-256",
    c"SHA3-224",
    c"SHA3-256",
    c"SHA3-384",
    c"SHA3-512",
    c"MD5-SHA1",
    c"RIPEMD160",
    c"2.16.840.1.101.3.4.2.1",
    c"sha2-256",
];

fn recipes() -> Vec<Recipe> {
    let mut all = Vec::new();
    for &digest in DIGESTS {
        let digest = Some(digest);
        all.push(Recipe { padding: PKCS1, digest, mgf1: None, salt: None });
        for salt in [None, Some(c"digest"), Some(c"max"), Some(c"auto"), Some(c"0"), Some(c"7"), Some(c"300")] {
            all.push(Recipe { padding: PSS, digest, mgf1: None, salt });
        }
        all.push(Recipe { padding: PSS, digest, mgf1: Some(c"SHA1"), salt: None });
        all.push(Recipe { padding: PSS, digest, mgf1: Some(c"SHA512-256"), salt: Some(c"digest") });
        all.push(Recipe { padding: PSS, digest, mgf1: Some(c"BLAKE2S-256"), salt: Some(c"digest") });
        all.push(Recipe { padding: X931, digest, mgf1: None, salt: None });
        all.push(Recipe { padding: NONE, digest, mgf1: None, salt: None });
        all.push(Recipe { padding: OAEP, digest, mgf1: None, salt: None });
        all.push(Recipe { padding: 99, digest, mgf1: None, salt: None });
    }
    all.push(Recipe { padding: PKCS1, digest: None, mgf1: None, salt: None });
    all.push(Recipe { padding: PKCS1, digest: Some(c"nonsense"), mgf1: None, salt: None });
    all.push(Recipe { padding: PKCS1, digest: Some(c"SHAKE256"), mgf1: None, salt: None });
    all.push(Recipe { padding: PKCS1, digest: Some(c"SHA256"), mgf1: Some(c"SHA1"), salt: None });
    all.push(Recipe { padding: PKCS1, digest: Some(c"SHA256"), mgf1: None, salt: Some(c"digest") });
    all.push(Recipe { padding: PSS, digest: Some(c"SHA256"), mgf1: None, salt: Some(c"-5") });
    all.push(Recipe { padding: PSS, digest: Some(c"SHA256"), mgf1: Some(c"nonsense"), salt: None });
    all
}

/// Whether two signatures with this recipe are the same bytes.
fn is_deterministic(recipe: Recipe) -> bool {
    recipe.padding != PSS || recipe.salt == Some(c"0")
}

#[test]
fn digest_signatures_are_understood_both_ways() {
    let mut rng = Rng::new(1);
    for (bits, primes, e) in [(1024, 2, 65537), (1025, 2, 65537), (2048, 2, 65537), (2048, 3, 65537), (1536, 2, 3)] {
        let key = twins(bits, primes, e);
        for recipe in recipes() {
            let data = {
                let length = rng.length(3000);
                rng.bytes(length)
            };
            let made = [true, false].map(|ours| digest_sign(key.of(ours), query_of(ours), recipe, &data));
            let pieces = digest_sign_in_pieces(&key.ours, ADJUNCT, recipe, &data);
            assert_eq!(made[0].is_some(), made[1].is_some(), "{bits}/{primes} {recipe:?}: {}", errors());
            assert_eq!(made[0].is_some(), pieces.is_some(), "{bits}/{primes} {recipe:?}: {}", errors());
            if is_deterministic(recipe) {
                assert_eq!(made[0], made[1], "{bits} {recipe:?}");
                assert_eq!(made[0], pieces, "{bits} {recipe:?}");
            }
            for signature in made.into_iter().chain([pieces]).flatten() {
                for ours in [true, false] {
                    let (it, query) = (key.of(ours), query_of(ours));
                    assert!(digest_verify(it, query, recipe, &signature, &data), "{bits} {recipe:?}: {}", errors());
                    assert!(!digest_verify(it, query, recipe, &signature, b"other"), "{bits} {recipe:?}");
                    let mut bad = signature.clone();
                    bad[bits / 16] ^= 4;
                    assert!(!digest_verify(it, query, recipe, &bad, &data), "{bits} {recipe:?}");
                    // PSS signatures that begin with a zero verify without it in OpenSSL.
                    let short = digest_verify(it, query, recipe, &signature[1..], &data);
                    assert_eq!(short, signature[0] == 0 && recipe.padding != PKCS1, "{bits} {recipe:?}");
                }
            }
            errors();
        }
    }
}

#[test]
fn raw_signatures_are_understood_both_ways() {
    let mut rng = Rng::new(2);
    for (bits, primes, e) in [(1024, 2, 65537), (1025, 2, 65537), (2048, 3, 65537), (3072, 2, 65537)] {
        let key = twins(bits, primes, e);
        let size = bits.div_ceil(8);
        for recipe in recipes().into_iter().chain([
            Recipe { padding: NONE, digest: None, mgf1: None, salt: None },
            Recipe { padding: X931, digest: None, mgf1: None, salt: None },
        ]) {
            for length in [0, 1, 16, 20, 28, 32, 36, 48, 64, size - 12, size - 11, size - 10, size - 1, size, size + 1]
            {
                let mut data = rng.bytes(length);
                if length == size {
                    data[0] = 0;
                }
                let made = [true, false].map(|ours| raw_sign(key.of(ours), query_of(ours), recipe, &data));
                assert_eq!(made[0].is_some(), made[1].is_some(), "{bits} {recipe:?} {length}: {}", errors());
                if is_deterministic(recipe) {
                    assert_eq!(made[0], made[1], "{bits} {recipe:?} {length}");
                }
                for signature in made.into_iter().flatten() {
                    for ours in [true, false] {
                        let (it, query) = (key.of(ours), query_of(ours));
                        // An empty message signs without a digest, and does not verify, in OpenSSL.
                        let fine = length > 0;
                        assert_eq!(
                            raw_verify(it, query, recipe, &signature, &data),
                            fine,
                            "{bits} {recipe:?} {length}"
                        );
                        assert!(!raw_verify(it, query, recipe, &signature, &rng.bytes(length + 1)));
                    }
                    let back = [true, false].map(|ours| recover(key.of(ours), query_of(ours), recipe, &signature));
                    // From 3.1 on, OpenSSL calls recovering nothing an error.
                    if length > 0 {
                        assert_eq!(back[0], back[1], "{bits} {recipe:?} {length}");
                    }
                }
            }
            errors();
        }
    }
}

/// Blocks made on purpose, signed raw: what a lax parser would take.
#[test]
fn malformed_signature_blocks_are_refused_as_in_openssl() {
    let mut rng = Rng::new(3);
    let key = twins(1024, 2, 65537);
    let bare = Recipe { padding: NONE, digest: None, mgf1: None, salt: None };
    let digest = [7u8; 32];
    let good = {
        let opened = recover(&key.stock, DEFAULT, bare, &raw_sign(&key.stock, DEFAULT, PLAIN, &digest).unwrap());
        opened.unwrap()
    };
    let mut blocks = vec![vec![0; 128], good.clone()];
    for i in 0..good.len() {
        let mut block = good.clone();
        block[i] ^= 1 << rng.below(8);
        blocks.push(block);
    }
    for cut in [1, 8, 60, 72] {
        // The digest further to the front, with garbage behind it (Bleichenbacher 2006), or shorter padding.
        let mut block = good.clone();
        block.drain(2..2 + cut);
        block.extend(rng.bytes(cut));
        blocks.push(block);
    }
    for block in blocks.into_iter().filter(|block| block[0] < 0x40) {
        let signature = raw_sign(&key.stock, DEFAULT, bare, &block).unwrap();
        for recipe in [PLAIN, Recipe { digest: None, ..PLAIN }, bare, Recipe { padding: PSS, ..PLAIN }] {
            let answers = [true, false].map(|ours| {
                let (it, query) = (key.of(ours), query_of(ours));
                (raw_verify(it, query, recipe, &signature, &digest), recover(it, query, recipe, &signature))
            });
            assert_eq!(answers[0], answers[1], "{recipe:?} {block:02x?}");
            assert_eq!(answers[0].0, block == good && recipe.padding == PKCS1 && recipe.digest.is_some());
        }
        errors();
    }
    for length in [0, 1, 127, 129, 500] {
        let signature = rng.bytes(length);
        for recipe in [PLAIN, bare, Recipe { padding: PSS, ..PLAIN }] {
            assert!(!raw_verify(&key.ours, ADJUNCT, recipe, &signature, &digest));
            assert!(
                length == 127 || recover(&key.ours, ADJUNCT, Recipe { padding: PKCS1, ..recipe }, &signature).is_none()
            );
        }
    }
    // Above the modulus.
    assert!(!raw_verify(&key.ours, ADJUNCT, bare, &[0xff; 128], &[0xff; 128]));
    assert!(raw_sign(&key.ours, ADJUNCT, bare, &[0xff; 128]).is_none());
}

#[test]
fn a_new_context_has_the_defaults_of_openssl_and_tells_what_was_set() {
    let key = twins(2048, 2, 65537);
    for recipe in recipes() {
        let told = [true, false].map(|ours| {
            let (it, query) = (key.of(ours), query_of(ours));
            let context = digesting(it, query, recipe, false)?;
            Some(unsafe { tell(context.pctx) })
        });
        assert_eq!(told[0], told[1], "{recipe:?}");
    }
    errors();
}

/// Everything a signature context says of itself.
unsafe fn tell(ctx: PkeyCtx) -> Vec<Option<Vec<u8>>> {
    let mut all = Vec::new();
    for name in [c"pad-mode", c"digest", c"mgf1-digest", c"saltlen"] {
        let mut buffer = [0u8; 64];
        let text = unsafe { CStr::from_ptr(buffer.as_ptr().cast()) };
        let mut params = [OSSL_PARAM::utf8(name, text), OSSL_PARAM::END];
        params[0].data = buffer.as_mut_ptr().cast();
        params[0].data_size = buffer.len();
        let done = unsafe { EVP_PKEY_CTX_get_params(ctx, params.as_mut_ptr()) } == 1;
        let length = params[0].return_size.min(buffer.len());
        all.push(done.then(|| buffer[..length].to_vec()));
    }
    for name in [c"pad-mode", c"saltlen"] {
        let mut value = 0;
        let mut params = [OSSL_PARAM::int(name, &mut value), OSSL_PARAM::END];
        let done = unsafe { EVP_PKEY_CTX_get_params(ctx, params.as_mut_ptr()) } == 1;
        all.push(done.then(|| value.to_le_bytes().to_vec()));
    }
    let mut mode = 0;
    let mut params = [OSSL_PARAM::int(c"pad-mode", &mut mode), OSSL_PARAM::END];
    unsafe { EVP_PKEY_CTX_get_params(ctx, params.as_mut_ptr()) };
    let mut buffer = [0u8; 256];
    let mut params = [OSSL_PARAM::octets(c"algorithm-id", &mut buffer), OSSL_PARAM::END];
    let done = unsafe { EVP_PKEY_CTX_get_params(ctx, params.as_mut_ptr()) } == 1;
    // OpenSSL 3.0 gives PSS signatures the identifier of PKCS#1 v1.5 ones, and an empty one where it has none.
    if mode != PSS && unsafe { OPENSSL_version_minor() } >= 2 {
        all.push(done.then(|| buffer[..params[0].return_size].to_vec()));
    }
    all
}

#[test]
fn keys_are_imported_exported_matched_duplicated() {
    for (bits, primes, e) in
        [(512, 2, 3), (1024, 2, 65537), (2047, 2, 65537), (2048, 3, 65537), (1024, 2, 0x1_0000_0001_0001)]
    {
        let key = twins(bits, primes, e);
        unsafe {
            for f in [EVP_PKEY_get_bits, EVP_PKEY_get_size, EVP_PKEY_get_security_bits] {
                assert_eq!(f(key.ours.0), f(key.stock.0), "{bits}/{primes}");
            }
            let again = moved(&key.ours, PAIR, DEFAULT).unwrap();
            assert_eq!(EVP_PKEY_eq(key.ours.0, key.stock.0), 1);
            assert_eq!(EVP_PKEY_eq(again.0, key.stock.0), 1);
            let copy = Key(EVP_PKEY_dup(key.ours.0));
            assert_eq!(EVP_PKEY_eq(copy.0, key.ours.0), 1);
            let mut ders = Vec::new();
            for it in [&key.ours, &key.stock, &again, &copy] {
                let mut der = null_mut();
                let length = i2d_PrivateKey(it.0, &raw mut der);
                assert!(length > 0, "{}", errors());
                ders.push(std::slice::from_raw_parts(der, length as usize).to_vec());
                CRYPTO_free(der.cast(), null(), 0);
            }
            assert!(ders.iter().all(|der| *der == ders[1]), "{bits}/{primes}");
            let public = moved(&key.ours, PUBLIC, ADJUNCT).unwrap();
            assert_eq!(EVP_PKEY_eq(public.0, key.stock.0), 1);
            assert!(raw_sign(&public, ADJUNCT, PLAIN, &[0; 32]).is_none());
            let signature = raw_sign(&key.ours, ADJUNCT, PLAIN, &[1; 32]).unwrap();
            assert!(raw_verify(&public, ADJUNCT, PLAIN, &signature, &[1; 32]));
            for it in [&key.ours, &copy] {
                let ctx = Context(EVP_PKEY_CTX_new_from_pkey(library().0, it.0, ADJUNCT.as_ptr()));
                assert_eq!((EVP_PKEY_check(ctx.0), EVP_PKEY_pairwise_check(ctx.0)), (1, 1), "{}", errors());
                let ctx = Context(EVP_PKEY_CTX_new_from_pkey(library().0, public.0, ADJUNCT.as_ptr()));
                assert_eq!(EVP_PKEY_public_check(ctx.0), 1, "{}", errors());
            }
            assert_eq!(EVP_PKEY_eq(key.ours.0, twins(768, 2, 65537).ours.0), 0);
        }
        errors();
    }
}

#[test]
fn generated_keys_are_good() {
    for (bits, primes, e) in
        [(512, 2, 65537), (1024, 2, 3), (1025, 2, 65537), (1152, 2, 17), (1024, 2, 0x1_0000_000f), (2048, 3, 65537)]
    {
        let made = generate(ADJUNCT, bits, primes, e);
        let stock = moved(&made, PAIR, DEFAULT).unwrap();
        unsafe {
            assert_eq!(EVP_PKEY_get_bits(made.0) as usize, bits);
            let ctx = Context(EVP_PKEY_CTX_new_from_pkey(library().0, stock.0, DEFAULT.as_ptr()));
            assert_eq!(EVP_PKEY_check(ctx.0), 1, "{bits}/{primes} {e}: {}", errors());
        }
        let signature = raw_sign(&made, ADJUNCT, PLAIN, &[5; 32]).unwrap();
        assert!(raw_verify(&stock, DEFAULT, PLAIN, &signature, &[5; 32]));
    }
    for (bits, primes, e) in [(511, 2, 65537u64), (1024, 2, 1), (1024, 2, 4), (1024, 1, 65537), (1024, 9, 65537)] {
        let done = [ADJUNCT, DEFAULT].map(|query| unsafe {
            let (mut bits, mut primes, mut e) = (bits, primes, e.to_le_bytes());
            let ctx = Context(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
            let params = [
                OSSL_PARAM::size(c"bits", &mut bits),
                OSSL_PARAM::size(c"primes", &mut primes),
                number(c"e", &mut e),
                OSSL_PARAM::END,
            ];
            let mut key = null_mut();
            assert_eq!(EVP_PKEY_keygen_init(ctx.0), 1);
            let done =
                EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()) == 1 && EVP_PKEY_generate(ctx.0, &raw mut key) == 1;
            EVP_PKEY_free(key);
            done
        });
        assert_eq!(done[0], done[1], "{bits}/{primes} {e}");
    }
    errors();
}

/// Only n, e and d: no CRT.
#[test]
fn keys_without_factors_and_with_wrong_ones_sign() {
    let key = twins(1024, 2, 65537);
    let expected = raw_sign(&key.stock, DEFAULT, PLAIN, &[9; 32]);
    let names =
        [c"n", c"e", c"d", c"rsa-factor1", c"rsa-factor2", c"rsa-exponent1", c"rsa-exponent2", c"rsa-coefficient1"];
    let mut numbers: Vec<Vec<u8>> = names.iter().map(|name| bignum(&key.stock, name)).collect();
    for (count, spoil) in [(3, None), (8, None), (8, Some(5)), (8, Some(6)), (8, Some(7)), (8, Some(3)), (5, None)] {
        let mut parts = numbers.clone();
        if let Some(i) = spoil {
            parts[i][3] ^= 0x10;
        }
        let answers = [ADJUNCT, DEFAULT].map(|query| {
            let mut params: Vec<_> = names.iter().zip(&mut parts).take(count).map(|(n, p)| number(n, p)).collect();
            params.push(OSSL_PARAM::END);
            unsafe {
                let ctx = Context(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
                let mut made = null_mut();
                assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
                if EVP_PKEY_fromdata(ctx.0, &raw mut made, PAIR, params.as_mut_ptr()) != 1 {
                    return None;
                }
                Some(raw_sign(&Key(made), query, PLAIN, &[9; 32]))
            }
        });
        assert_eq!(answers[0], answers[1], "{count} {spoil:?}");
        // A fault in a CRT value must never show in a signature.
        if let Some(Some(signature)) = &answers[0] {
            assert_eq!(Some(signature), expected.as_ref());
        }
        errors();
    }
    // A wrong private exponent: nothing may leave.
    numbers[2][3] ^= 0x10;
    let mut params: Vec<_> = names.iter().zip(&mut numbers).take(3).map(|(n, p)| number(n, p)).collect();
    params.push(OSSL_PARAM::END);
    unsafe {
        let ctx = Context(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), ADJUNCT.as_ptr()));
        let mut made = null_mut();
        assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
        assert_eq!(EVP_PKEY_fromdata(ctx.0, &raw mut made, PAIR, params.as_mut_ptr()), 1);
        let made = Key(made);
        assert!(raw_sign(&made, ADJUNCT, PLAIN, &[9; 32]).is_none());
    }
}

/// A number of a key, in the order of bytes OpenSSL passes.
fn bignum(key: &Key, name: &'static CStr) -> Vec<u8> {
    let mut buffer = vec![0; 2048];
    let mut params = [number(name, &mut buffer), OSSL_PARAM::END];
    assert_eq!(unsafe { EVP_PKEY_get_params(key.0, params.as_mut_ptr()) }, 1, "{}", errors());
    let used = buffer.iter().rposition(|&b| b != 0).map_or(1, |i| i + 1);
    buffer.truncate(used);
    buffer
}

/// Public keys of every size.
#[test]
fn sizes_and_strengths_are_those_of_openssl() {
    let from = |n: &mut [u8], e: &mut [u8], query: &CStr| unsafe {
        let mut params = [number(c"n", n), number(c"e", e), OSSL_PARAM::END];
        let ctx = Context(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
        let mut made = null_mut();
        assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
        let done = EVP_PKEY_fromdata(ctx.0, &raw mut made, PUBLIC, params.as_mut_ptr());
        (done == 1).then_some(Key(made))
    };
    for bits in (512..4200).step_by(7).chain([2048, 3072, 4096, 6144, 7680, 8192, 15360, 16384, 16385, 20000, 100, 9]) {
        let mut n = vec![0xa5; (bits as usize).div_ceil(8)];
        let top = n.len() - 1;
        n[top] = 1 << ((bits - 1) % 8);
        let told = [ADJUNCT, DEFAULT].map(|query| {
            let key = from(&mut n, &mut [1, 0, 1], query)?;
            Some(unsafe { [EVP_PKEY_get_bits(key.0), EVP_PKEY_get_size(key.0), EVP_PKEY_get_security_bits(key.0)] })
        });
        assert_eq!(told[0], told[1], "{bits}");
    }
    errors();
}
