//! RSA signatures through EVP, beside the default provider: each accepts what the other makes, and both refuse the same.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;
#[path = "common/rsa.rs"]
mod helpers;

use common::*;
use helpers::*;
use std::ffi::CStr;

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

/// The parameters that a signature context tells.
///
/// # Safety
/// `ctx` is a live context of an RSA signature.
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
