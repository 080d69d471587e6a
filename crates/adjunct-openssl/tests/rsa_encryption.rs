//! RSA encryption through EVP, beside the default provider.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;
#[path = "common/rsa.rs"]
mod helpers;

use common::*;
use helpers::*;
use std::ffi::{CStr, c_int, c_uint};
use std::ptr::null_mut;

const fn plain(padding: c_int) -> Recipe {
    Recipe { padding, digest: None, mgf1: None, salt: None }
}

fn encrypt(key: &RsaPkey, query: &CStr, recipe: Recipe, data: &[u8]) -> Option<Vec<u8>> {
    raw(key, query, recipe, EVP_PKEY_encrypt_init, EVP_PKEY_encrypt, data)
}

fn decrypt(key: &RsaPkey, query: &CStr, recipe: Recipe, data: &[u8]) -> Option<Vec<u8>> {
    raw(key, query, recipe, EVP_PKEY_decrypt_init, EVP_PKEY_decrypt, data)
}

/// PKCS#1 v1.5 decryption with or without implicit rejection.
fn decrypt_rejecting(key: &RsaPkey, query: &CStr, implicit: bool, data: &[u8]) -> Option<Vec<u8>> {
    let (ctx, _) = prepared(key, query, plain(PKCS1), EVP_PKEY_decrypt_init)?;
    let mut on = c_uint::from(implicit);
    let params = [OSSL_PARAM::uint(c"implicit-rejection", &mut on), OSSL_PARAM::END];
    let mut out = vec![0xee; 2048];
    let mut length = out.len();
    unsafe {
        assert_eq!(EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()), 1, "{}", errors());
        let done = EVP_PKEY_decrypt(ctx.0, out.as_mut_ptr(), &raw mut length, data.as_ptr(), data.len());
        out.truncate(length);
        (done == 1).then_some(out)
    }
}

fn recipes() -> Vec<Recipe> {
    let mut all = vec![plain(PKCS1), plain(NONE), plain(OAEP), plain(X931), plain(PSS), plain(99)];
    for digest in [c"SHA1", c"SHA256", c"SHA512", c"SHA512-224", c"SHA3-384", c"MD5", c"BLAKE2S-256", c"nonsense"] {
        all.push(Recipe { digest: Some(digest), ..plain(OAEP) });
        all.push(Recipe { digest: Some(digest), mgf1: Some(c"SHA224"), ..plain(OAEP) });
        all.push(Recipe { digest: Some(digest), mgf1: Some(c"BLAKE2S-256"), ..plain(OAEP) });
    }
    all
}

#[test]
fn messages_are_understood_both_ways() {
    let mut rng = Rng::new(1);
    for (bits, primes, e) in [(1024, 2, 65537), (1025, 2, 65537), (2048, 2, 65537), (2048, 3, 65537), (1536, 2, 3)] {
        let key = twins(bits, primes, e);
        let size = bits.div_ceil(8);
        for recipe in recipes() {
            for length in [0, 1, 48, 86, 87, size - 66, size - 42, size - 41, size - 11, size - 10, size, size + 1] {
                let mut data = rng.bytes(length);
                if length == size {
                    data[0] = 0;
                }
                let made = [true, false].map(|ours| encrypt(key.of(ours), query_of(ours), recipe, &data));
                assert_eq!(made[0].is_some(), made[1].is_some(), "{bits} {recipe:?} {length}: {}", errors());
                if recipe.padding == NONE {
                    assert_eq!(made[0], made[1]);
                }
                for ciphertext in made.into_iter().flatten() {
                    for ours in [true, false] {
                        let message = decrypt(key.of(ours), query_of(ours), recipe, &ciphertext);
                        assert_eq!(message.as_ref(), Some(&data), "{bits} {recipe:?} {length}");
                    }
                    // Another kind of padding, or another digest, and damage.
                    for other in [plain(OAEP), Recipe { digest: Some(c"SHA384"), ..plain(OAEP) }, plain(NONE)] {
                        let mut bad = ciphertext.clone();
                        bad[size / 2] ^= u8::from(other.padding != NONE) & u8::from(rng.bool());
                        let told = [true, false].map(|ours| decrypt(key.of(ours), query_of(ours), other, &bad));
                        assert_eq!(told[0], told[1], "{bits} {recipe:?} {other:?} {length}");
                    }
                }
            }
            errors();
        }
        for length in [0, 1, size - 1, size + 1] {
            for recipe in [plain(OAEP), plain(NONE)] {
                let data = rng.bytes(length);
                let told = [true, false].map(|ours| decrypt(key.of(ours), query_of(ours), recipe, &data));
                assert_eq!(told[0], told[1], "{bits} {recipe:?} {length}");
            }
        }
        // Values no padding makes.
        let minus_one: Vec<u8> = bignum(&key.stock, c"n")
            .into_iter()
            .rev()
            .enumerate()
            .map(|(i, b)| if i == size - 1 { b - 1 } else { b })
            .collect();
        let one = [vec![0; size - 1], vec![1]].concat();
        for data in [vec![0; size], one, minus_one, vec![0xff; size]] {
            for recipe in [plain(NONE), plain(OAEP)] {
                let told = [true, false].map(|ours| decrypt(key.of(ours), query_of(ours), recipe, &data));
                assert_eq!(told[0], told[1], "{bits} {recipe:?} {data:02x?}");
            }
        }
        errors();
    }
}

#[test]
fn labels_bind() {
    let key = twins(2048, 2, 65537);
    let run = |ours: bool, decrypts: bool, label: &[u8], data: &[u8]| {
        let init = if decrypts { EVP_PKEY_decrypt_init } else { EVP_PKEY_encrypt_init };
        let run = if decrypts { EVP_PKEY_decrypt } else { EVP_PKEY_encrypt };
        let (ctx, _) = prepared(key.of(ours), query_of(ours), Recipe { digest: Some(c"SHA256"), ..plain(OAEP) }, init)?;
        let mut label = label.to_vec();
        let mut out = vec![0; 256];
        let mut length = out.len();
        let mut told: *const u8 = null_mut();
        unsafe {
            let params = [OSSL_PARAM::octets(c"oaep-label", &mut label), OSSL_PARAM::END];
            assert_eq!(EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()), 1, "{}", errors());
            let mut params = [OSSL_PARAM::octets_ptr(c"oaep-label", &mut told), OSSL_PARAM::END];
            assert_eq!(EVP_PKEY_CTX_get_params(ctx.0, params.as_mut_ptr()), 1, "{}", errors());
            assert_eq!(std::slice::from_raw_parts(told, params[0].return_size), label);
            let copy = RsaPkeyContext(EVP_PKEY_CTX_dup(ctx.0));
            let done = run(copy.0, out.as_mut_ptr(), &raw mut length, data.as_ptr(), data.len());
            out.truncate(length);
            (done == 1).then_some(out)
        }
    };
    for (from, to) in [(true, true), (true, false), (false, true)] {
        let ciphertext = run(from, false, b"label", b"message").unwrap();
        assert_eq!(run(to, true, b"label", &ciphertext).as_deref(), Some(&b"message"[..]));
        assert_eq!(run(to, true, b"other", &ciphertext), None);
    }
    errors();
}

/// What decrypts to a chosen block.
fn sealed(key: &Twins, block: &[u8]) -> Vec<u8> {
    encrypt(&key.stock, DEFAULT, plain(NONE), block).expect("a block below the modulus")
}

fn pkcs1_blocks(size: usize, rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut blocks = Vec::new();
    for message in [0, 1, 16, 48, size - 12, size - 11] {
        let filler: Vec<u8> = (0..size - message - 3).map(|_| rng.below(255) as u8 + 1).collect();
        let good = [&[0, 2][..], &filler, &[0], &rng.bytes(message)].concat();
        for (at, value) in [(0, 1), (1, 1), (1, 0), (2, 0), (9, 0), (size - message - 1, 7)] {
            let mut bad = good.clone();
            bad[at] = value;
            blocks.push(bad);
        }
        blocks.push(good);
    }
    blocks.push([&[0, 2][..], &vec![1; size - 2]].concat());
    blocks.push(vec![0; size]);
    blocks
}

#[test]
fn explicit_rejection_is_that_of_openssl_3_0() {
    let mut rng = Rng::new(4);
    let key = twins(1024, 2, 65537);
    for block in pkcs1_blocks(128, &mut rng) {
        let ciphertext = sealed(key, &block);
        let told = [true, false].map(|ours| decrypt_rejecting(key.of(ours), query_of(ours), false, &ciphertext));
        assert_eq!(told[0], told[1], "{block:02x?}");
    }
    errors();
}

#[test]
fn implicit_rejection_tells_nothing() {
    let mut rng = Rng::new(5);
    let key = twins(1024, 2, 65537);
    for block in pkcs1_blocks(128, &mut rng) {
        let ciphertext = sealed(key, &block);
        let explicit = decrypt_rejecting(&key.ours, ADJUNCT, false, &ciphertext);
        let implicit = decrypt_rejecting(&key.ours, ADJUNCT, true, &ciphertext).expect("always a message");
        match explicit {
            Some(message) => assert_eq!(message, implicit),
            None => assert!(implicit.len() <= 117 && !(implicit.len() > 8 && block.ends_with(&implicit))),
        }
        // By default it is on exactly where it is in stock.
        let stock = decrypt(&key.stock, DEFAULT, plain(PKCS1), &ciphertext);
        assert_eq!(decrypt(&key.ours, ADJUNCT, plain(PKCS1), &ciphertext), stock);
        if unsafe { OPENSSL_version_minor() >= 2 || OPENSSL_version_major() >= 4 } {
            assert_eq!(stock, Some(implicit));
        }
    }
    errors();
}

/// A key, ciphertexts at random, and what OpenSSL 4.0.0 decrypts them to.
const REJECTED_KEY: &str = "3082025d02010002818100d1f2aad38996c2998ef89a97261dd1ab975dc9d766bad088ec96bd03437b985b6ec96bf8919bb4ed76518c2f\
    0570bff64992ac9cc4ac119199dc34fc8d247b835771df1c63aad4e3757898c334cd38f345fbdb6f508e2a88dd5c845b3f1550c33527b9\
    46e81656b112f3b8f4ed0bf345ad172eb458b280817d9c632fbcd02b63020301000102818100c5d0243e5e140b54ce0dd4f2773a7f5472\
    b12ebd6290c06d52a5907fa3b4af4feee99f6ebc1afe75031740c309183bf65d49f2935f0755225fdac89df08aa047e24a457613cf67ad\
    f4dba054f3cbf11c117140a6c4b457f564edb4c29b4849fca1624dfb15c22cc07a5fa80d35e7538893b608991c96b03d5ef7176611e9be\
    59024100ebf90b3504a168246a8b0c91e8e8814f10d76d37fe747d86c7568949a526e48ae872a51aa155edb6b4b131875284b66c6583ea\
    9acbd403801edd0d8cbd8c20b5024100e3c42ee1dd4dced8e2ae9bf4ea9002ab110e487f53f1d92dc33e51cc454851ca69ca5ec56a6570\
    c1ca2bb78b873f7d06c1085f2142be23a34cf9fceea1d1e2b7024100cd18ff16abd9a66cd075df0d0b04db2f5f91fe8a068e357469d9db\
    25b977de78a5a4cfc01fae5218d560958deab912dd90366238fd245f8e8244dbbc121bb36902407c25d11017da7366d0983035dd2cc5e7\
    8c92667dd0b9c0912b1ceae516d6868e77ff708cd6a3984468f84f416464fcb713bc866dd0bd671b79b7c1602920081d02406fb979393c\
    f0d7efc10f559cd615d171ae262bcb87c11ce90b0f77f1154bfd0f3cdb648bd9ba880acb412c4423cdddaedb3d6f27bf44d8c91252856c\
    004e86e9";
#[rustfmt::skip]
const REJECTED: &[(&str, &str)] = &[
    ("986e86cb0ab8ab67a26b7f62b1852f27e3eff9c0cf44dd3f89e7d15f17362f25244caf9c4dabb4817253edc6181879932fa91425cb0088\
     539d2c67eda13ffe7979cb9e86830c71c2cdcc69292f45e678309d6b79965eda32dae445508201e2bd73ab48767734d7c1c7fde805ec99\
     108ddb5b5fab8f4d3e27dda1494c73cf256d",
     "d4d615810dca39c59160"),
    ("4b4d8474a3ea284d3bd0334684e55160320094ead7a94ded97491e2370c6a5b85387f61376c468aec7321cc007b37e14998092253deffa\
     38e12b2b8f30b17d0b09208a650f3ebdd3102b938b8743feb6d4ea65d003d716849f8558a628518867a66b0d389d95847ebd299753a767\
     779673f778aaf6fa5db8656abd72fb710734",
     "ae23495d59ccea66e8aca8028f37f4ff1bb4d353ba6818656ac75df733ed7221d24deb5022b9c8b73ab16e7d00f7253939b3908c2cdcc4\
     0a"),
    ("111b8aaa62f28d1a4a789cb3d8b9b45c1b98fbe466809a111ba1192ec42b7170902a174f11fa2ac0079dd25a49fe85b0834c687a3acb62\
     66c20ba2c250b601fc4105cca7b53302fc154cd2aad7185ddaee82ec3ffee5a5b28d1fe1daff6665896822a6b24735af1ca7a114907513\
     923715c1d2dfa9964aef012d0ea67ff12229",
     "364bdf759c13a937739b67c891c440d74d9827331096dcd124a7"),
    ("00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
     00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\
     000000000000000000000000000000000000",
     "44788ec2b268c9868b64ea9f9c2945515ad078c62246155b966cb8b82a9a9e222ac64b687af9c9b228ace430fac9063f9f61a5c67c9fb8\
     3c0419337e48c30e6c722edcf6f44da3"),
];

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..][..2], 16).unwrap()).collect()
}

#[test]
fn implicit_rejection_gives_the_messages_of_newer_openssl() {
    let der = unhex(REJECTED_KEY);
    let key = unsafe {
        let mut next = der.as_ptr();
        RsaPkey(d2i_AutoPrivateKey_ex(null_mut(), &raw mut next, der.len() as i64, library().0, std::ptr::null()))
    };
    for (ciphertext, message) in REJECTED {
        assert_eq!(decrypt_rejecting(&key, ADJUNCT, true, &unhex(ciphertext)), Some(unhex(message)));
    }
}

#[test]
fn tls_premaster_secrets() {
    let mut rng = Rng::new(6);
    for (bits, primes) in [(1024, 2), (2048, 3), (512, 2)] {
        let key = twins(bits, primes, 65537);
        let size = bits / 8;
        let run = |ours: bool, client: u32, negotiated: u32, ciphertext: &[u8]| {
            let (ctx, _) = prepared(key.of(ours), query_of(ours), plain(TLS), EVP_PKEY_decrypt_init)?;
            let (mut client, mut negotiated) = (client, negotiated);
            let params = [
                OSSL_PARAM::uint(c"tls-client-version", &mut client),
                OSSL_PARAM::uint(c"tls-negotiated-version", &mut negotiated),
                OSSL_PARAM::END,
            ];
            let mut out = vec![0; 48];
            let mut length = 0;
            unsafe {
                assert_eq!(EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()), 1, "{}", errors());
                let (input, input_length) = (ciphertext.as_ptr(), ciphertext.len());
                assert_eq!(EVP_PKEY_decrypt(ctx.0, null_mut(), &raw mut length, input, input_length), 1);
                assert_eq!(length, 48);
                length = 47;
                assert!(EVP_PKEY_decrypt(ctx.0, out.as_mut_ptr(), &raw mut length, input, input_length) <= 0);
                length = 48;
                let done = EVP_PKEY_decrypt(ctx.0, out.as_mut_ptr(), &raw mut length, input, input_length);
                (done == 1).then_some(out)
            }
        };
        let secret = [&[3, 3][..], &rng.bytes(46)].concat();
        let filler: Vec<u8> = (0..size - 51).map(|_| rng.below(255) as u8 + 1).collect();
        let good = [&[0, 2][..], &filler, &[0], &secret].concat();
        let mut blocks = vec![(good.clone(), true)];
        for at in [0, 1, 2, 9, size - 49] {
            let mut bad = good.clone();
            bad[at] = if at == size - 49 { 1 } else { 0 } + u8::from(at == 0);
            blocks.push((bad, false));
        }
        for (block, fine) in blocks {
            let ciphertext = sealed(key, &block);
            for ours in [true, false] {
                for (client, negotiated, versions) in
                    [(0x303, 0, true), (0x302, 0, false), (0x302, 0x303, true), (0x304, 0x302, false)]
                {
                    let told = run(ours, client, negotiated, &ciphertext);
                    if size < 59 {
                        assert_eq!(told, None);
                        continue;
                    }
                    let told = told.expect("a secret in any case");
                    assert_eq!(
                        told == secret,
                        fine && versions,
                        "{bits} {client:x} {negotiated:x} {ours} {block:02x?}"
                    );
                }
                assert_eq!(run(ours, 0, 0, &ciphertext), None);
            }
        }
        errors();
    }
}
