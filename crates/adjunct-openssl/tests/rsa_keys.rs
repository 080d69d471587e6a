//! RSA keys through EVP, beside the default provider.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;
#[path = "common/rsa.rs"]
mod helpers;

use common::*;
use helpers::*;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

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
            let copy = RsaPkey(EVP_PKEY_dup(key.ours.0));
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
                let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_pkey(library().0, it.0, ADJUNCT.as_ptr()));
                assert_eq!((EVP_PKEY_check(ctx.0), EVP_PKEY_pairwise_check(ctx.0)), (1, 1), "{}", errors());
                let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_pkey(library().0, public.0, ADJUNCT.as_ptr()));
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
            let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_pkey(library().0, stock.0, DEFAULT.as_ptr()));
            assert_eq!(EVP_PKEY_check(ctx.0), 1, "{bits}/{primes} {e}: {}", errors());
        }
        let signature = raw_sign(&made, ADJUNCT, PLAIN, &[5; 32]).unwrap();
        assert!(raw_verify(&stock, DEFAULT, PLAIN, &signature, &[5; 32]));
    }
    for (bits, primes, e) in [(511, 2, 65537u64), (1024, 2, 1), (1024, 2, 4), (1024, 1, 65537), (1024, 9, 65537)] {
        let done = [ADJUNCT, DEFAULT].map(|query| unsafe {
            let (mut bits, mut primes, mut e) = (bits, primes, e.to_le_bytes());
            let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
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

/// Keys with n, e and d alone sign without CRT.
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
                let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
                let mut made = null_mut();
                assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
                if EVP_PKEY_fromdata(ctx.0, &raw mut made, PAIR, params.as_mut_ptr()) != 1 {
                    return None;
                }
                Some(raw_sign(&RsaPkey(made), query, PLAIN, &[9; 32]))
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
        let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), ADJUNCT.as_ptr()));
        let mut made = null_mut();
        assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
        assert_eq!(EVP_PKEY_fromdata(ctx.0, &raw mut made, PAIR, params.as_mut_ptr()), 1);
        let made = RsaPkey(made);
        assert!(raw_sign(&made, ADJUNCT, PLAIN, &[9; 32]).is_none());
    }
}

fn public(n: &mut [u8], e: &mut [u8], query: &CStr) -> Option<RsaPkey> {
    let mut params = [number(c"n", n), number(c"e", e), OSSL_PARAM::END];
    unsafe {
        let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
        let mut made = null_mut();
        assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
        let done = EVP_PKEY_fromdata(ctx.0, &raw mut made, PUBLIC, params.as_mut_ptr());
        (done == 1).then_some(RsaPkey(made))
    }
}

/// Public keys of every size.
#[test]
fn sizes_and_strengths_are_those_of_openssl() {
    for bits in (512..4200).step_by(7).chain([2048, 3072, 4096, 6144, 7680, 8192, 15360, 16384, 16385, 20000, 100, 9]) {
        let mut n = vec![0xa5; (bits as usize).div_ceil(8)];
        let top = n.len() - 1;
        n[top] = 1 << ((bits - 1) % 8);
        let told = [ADJUNCT, DEFAULT].map(|query| {
            let key = public(&mut n, &mut [1, 0, 1], query)?;
            Some(unsafe { [EVP_PKEY_get_bits(key.0), EVP_PKEY_get_size(key.0), EVP_PKEY_get_security_bits(key.0)] })
        });
        assert_eq!(told[0], told[1], "{bits}");
    }
    errors();
}

/// Keys at the edge of what RSA allows are treated as in OpenSSL.
#[test]
fn odd_keys_are_treated_as_in_openssl() {
    for (mut n, mut e) in [
        (vec![0xa5; 128], vec![2]),
        (vec![0xa5; 128], vec![1]),
        (vec![0xa5; 128], vec![0]),
        (vec![0xa4; 128], vec![3]),
        (vec![0xa5; 128], vec![0xff; 128]),
        (vec![0xa5; 128], vec![0xff; 100]),
        (vec![0xa5; 512], vec![0xff; 9]),
        (vec![0], vec![3]),
    ] {
        let told = [ADJUNCT, DEFAULT].map(|query| {
            let key = public(&mut n, &mut e, query)?;
            let mut input = vec![0; n.len()];
            input[n.len() - 1] = 2;
            Some(raw(
                &key,
                query,
                Recipe { padding: NONE, digest: None, mgf1: None, salt: None },
                EVP_PKEY_encrypt_init,
                EVP_PKEY_encrypt,
                &input,
            ))
        });
        assert_eq!(told[0], told[1], "{n:02x?} {e:02x?}: {}", errors());
    }
    errors();
}
