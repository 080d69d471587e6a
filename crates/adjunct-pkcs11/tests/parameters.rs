//! Parameters that no message can go with are refused where an operation begins, before any data have come.

mod common;

use common::{Attributes, Handle, Mechanism, Result, Session, input};
use cryptoki_sys::*;
use std::ptr::null_mut;

fn rsa(session: &Session, bits: CK_ULONG) -> (Handle, Handle) {
    let template = Attributes::new().number(CKA_MODULUS_BITS, bits);
    session.generate_pair(&Mechanism::new(CKM_RSA_PKCS_KEY_PAIR_GEN), &template, &Attributes::new()).unwrap()
}

/// What every way to begin a signature or its check says.
fn begun(session: &Session, mechanism: &Mechanism<'_>, (public, private): (Handle, Handle)) -> Result {
    let all = [
        session.sign_init(mechanism, private).and_then(|()| session.cancel(CKF_SIGN)),
        session.verify_init(mechanism, public).and_then(|()| session.cancel(CKF_VERIFY)),
        session.message_sign_init(mechanism, private).and_then(|()| session.cancel(CKF_MESSAGE_SIGN)),
        session.message_verify_init(mechanism, public).and_then(|()| session.cancel(CKF_MESSAGE_VERIFY)),
    ];
    assert!(all.iter().all(|one| one == &all[0]), "{all:x?}");
    all[0]
}

#[test]
fn salts_that_do_not_fit_are_refused_at_once() {
    let session = Session::open();
    let pss = |kind, hash, salt| {
        let mgf = if hash == CKM_SHA256 { CKG_MGF1_SHA256 } else { CKG_MGF1_SHA512 };
        Mechanism::with(kind, CK_RSA_PKCS_PSS_PARAMS { hashAlg: hash, mgf, sLen: salt })
    };
    // The encoding of a modulus of 8k + 1 bits is a byte shorter than the modulus.
    for (bits, most) in [(1024, 94), (1025, 94), (1026, 95), (1032, 95)] {
        let pair = rsa(&session, bits);
        for (kind, salt, expected) in [
            (CKM_RSA_PKCS_PSS, 0, Ok(())),
            (CKM_RSA_PKCS_PSS, most, Ok(())),
            (CKM_RSA_PKCS_PSS, most + 1, Err(CKR_MECHANISM_PARAM_INVALID)),
            (CKM_SHA256_RSA_PKCS_PSS, most, Ok(())),
            (CKM_SHA256_RSA_PKCS_PSS, most + 1, Err(CKR_MECHANISM_PARAM_INVALID)),
            (CKM_SHA256_RSA_PKCS_PSS, CK_ULONG::MAX, Err(CKR_MECHANISM_PARAM_INVALID)),
        ] {
            assert_eq!(begun(&session, &pss(kind, CKM_SHA256, salt), pair), expected, "{bits} {salt}");
        }
        let longest = pss(CKM_SHA256_RSA_PKCS_PSS, CKM_SHA256, most);
        let signature = session.sign(&longest, pair.1, b"message").unwrap();
        assert_eq!(session.verify(&longest, pair.0, b"message", &signature), Ok(()));
    }
    // A key that is too short for the hash, whatever the salt.
    let short = rsa(&session, 512);
    for kind in [CKM_RSA_PKCS_PSS, CKM_SHA512_RSA_PKCS_PSS] {
        assert_eq!(begun(&session, &pss(kind, CKM_SHA512, 0), short), Err(CKR_KEY_SIZE_RANGE));
    }
    assert_eq!(begun(&session, &Mechanism::new(CKM_SHA512_RSA_PKCS), short), Err(CKR_KEY_SIZE_RANGE));
    assert_eq!(begun(&session, &Mechanism::new(CKM_SHA256_RSA_PKCS), short), Ok(()));
    assert_eq!(begun(&session, &Mechanism::new(CKM_RSA_PKCS), short), Ok(()));
}

#[test]
fn keys_that_are_too_short_for_oaep_are_refused_at_once() {
    let session = Session::open();
    let (public, private) = rsa(&session, 512);
    for (hash, expected) in [(CKM_SHA_1, Ok(())), (CKM_SHA256, Err(CKR_KEY_SIZE_RANGE))] {
        let params = CK_RSA_PKCS_OAEP_PARAMS {
            hashAlg: hash,
            mgf: CKG_MGF1_SHA1,
            source: CKZ_DATA_SPECIFIED,
            pSourceData: null_mut(),
            ulSourceDataLen: 0,
        };
        let mechanism = Mechanism::with(CKM_RSA_PKCS_OAEP, params);
        assert_eq!(session.encrypt_init(&mechanism, public).and_then(|()| session.cancel(CKF_ENCRYPT)), expected);
        assert_eq!(session.decrypt_init(&mechanism, private).and_then(|()| session.cancel(CKF_DECRYPT)), expected);
    }
}

#[test]
fn tags_nonces_and_lengths_that_cannot_be_are_refused_at_once() {
    let session = Session::open();
    let aes = session.create(&Attributes::secret(CKK_AES, &[9; 16])).unwrap();
    let begun = |mechanism: &Mechanism<'_>| {
        let encrypts = session.encrypt_init(mechanism, aes).and_then(|()| session.cancel(CKF_ENCRYPT));
        let decrypts = session.decrypt_init(mechanism, aes).and_then(|()| session.cancel(CKF_DECRYPT));
        assert_eq!(encrypts, decrypts);
        encrypts
    };
    let nonce = [7; 16];
    let invalid = Err(CKR_MECHANISM_PARAM_INVALID);
    let gcm = |iv, bits| {
        let (nonce, none) = (input(&nonce), null_mut());
        let params = CK_GCM_PARAMS { pIv: nonce, ulIvLen: iv, ulIvBits: 0, pAAD: none, ulAADLen: 0, ulTagBits: bits };
        begun(&Mechanism::with(CKM_AES_GCM, params))
    };
    for (iv, bits, expected) in [
        (12, 128, Ok(())),
        (12, 96, Ok(())),
        (0, 128, invalid),
        (12, 0, invalid),
        (12, 127, invalid),
        (12, 136, invalid),
    ] {
        assert_eq!(gcm(iv, bits), expected, "{iv} {bits}");
    }
    let ccm = |data, nonce_length, mac| {
        let (nonce, none) = (input(&nonce), null_mut());
        let (ul_nonce, ul_mac) = (nonce_length, mac);
        let params = CK_CCM_PARAMS {
            ulDataLen: data,
            pNonce: nonce,
            ulNonceLen: ul_nonce,
            pAAD: none,
            ulAADLen: 0,
            ulMACLen: ul_mac,
        };
        begun(&Mechanism::with(CKM_AES_CCM, params))
    };
    for (data, nonce, mac, expected) in [
        (65535, 13, 16, Ok(())),
        (1 << 17, 13, 16, invalid),
        (1 << 17, 12, 16, Ok(())),
        (1 << 25, 12, 16, invalid),
        (0, 6, 16, invalid),
        (0, 14, 16, invalid),
        (0, 13, 3, invalid),
        (0, 13, 18, invalid),
    ] {
        assert_eq!(ccm(data, nonce, mac), expected, "{data} {nonce} {mac}");
    }
    for bits in [0, 129] {
        let params = CK_AES_CTR_PARAMS { ulCounterBits: bits, cb: [0; 16] };
        assert_eq!(begun(&Mechanism::with(CKM_AES_CTR, params)), invalid);
    }
    for length in [0, 15] {
        assert_eq!(begun(&Mechanism::bytes(CKM_AES_CBC, &nonce[..length])), invalid);
    }
    let general = |length| session.sign_init(&Mechanism::with::<CK_ULONG>(CKM_AES_CMAC_GENERAL, length), aes);
    assert_eq!((general(17), general(CK_ULONG::MAX)), (invalid, invalid));
}

/// A null mechanism ends the running operation, since version 3.0; where none runs it is a wrong argument, as programs of 2.40 expect.
#[test]
fn a_null_mechanism_ends_what_runs_and_nothing_else() {
    let session = Session::open();
    let aes = session.create(&Attributes::secret(CKK_AES, &[9; 16])).unwrap();
    let (public, private) = rsa(&session, 1024);
    let (ecb, pkcs1, gcm) = (Mechanism::new(CKM_AES_ECB), Mechanism::new(CKM_RSA_PKCS), Mechanism::new(CKM_AES_GCM));
    let none: *mut CK_MECHANISM = null_mut();
    macro_rules! ends {
        ($($call:ident($mechanism:expr, $key:expr))*) => { $(
            assert_eq!(p11!($call(session.0, none, 0)), CKR_ARGUMENTS_BAD, stringify!($call));
            for _ in 0..2 {
                assert_eq!(p11!($call(session.0, &mut $mechanism.raw(), $key)), CKR_OK, stringify!($call));
                assert_eq!(p11!($call(session.0, none, 0)), CKR_OK, stringify!($call));
            }
            assert_eq!(p11!($call(session.0, none, 0)), CKR_ARGUMENTS_BAD, stringify!($call));
        )* };
    }
    ends! {
        C_EncryptInit(ecb, aes) C_DecryptInit(ecb, aes) C_SignInit(pkcs1, private) C_VerifyInit(pkcs1, public)
        C_SignRecoverInit(pkcs1, private) C_VerifyRecoverInit(pkcs1, public) C_MessageEncryptInit(gcm, aes)
        C_MessageDecryptInit(gcm, aes) C_MessageSignInit(pkcs1, private) C_MessageVerifyInit(pkcs1, public)
    }
    assert_eq!(p11!(C_DigestInit(session.0, none)), CKR_ARGUMENTS_BAD);
    assert_eq!(p11!(C_DigestInit(session.0, &mut Mechanism::new(CKM_SHA256).raw())), CKR_OK);
    assert_eq!(p11!(C_DigestInit(session.0, none)), CKR_OK);
    assert_eq!(p11!(C_DigestInit(session.0, none)), CKR_ARGUMENTS_BAD);
}
