//! Secret keys: made, wrapped, unwrapped, and told by their check values.

mod common;

use common::{Attributes, Handle, Mechanism, Session, input, length};
use cryptoki_sys::*;
use std::ptr::null_mut;

const IV: [u8; 16] = *b"sixteen bytes iv";

fn template(kind: CK_KEY_TYPE) -> Attributes {
    Attributes::key(CKO_SECRET_KEY, kind)
}

fn create(session: &Session, kind: CK_KEY_TYPE, value: &[u8]) -> Handle {
    session.create(&Attributes::secret(kind, value)).unwrap()
}

#[test]
fn keys_of_every_type_are_made() {
    let session = Session::open();
    let mut values = Vec::new();
    for (mechanism, kind, given, made) in [
        (CKM_AES_KEY_GEN, CKK_AES, Some(16), 16),
        (CKM_AES_KEY_GEN, CKK_AES, Some(32), 32),
        (CKM_AES_XTS_KEY_GEN, CKK_AES_XTS, Some(64), 64),
        (CKM_DES2_KEY_GEN, CKK_DES2, None, 16),
        (CKM_DES3_KEY_GEN, CKK_DES3, None, 24),
        (CKM_CHACHA20_KEY_GEN, CKK_CHACHA20, None, 32),
        (CKM_GENERIC_SECRET_KEY_GEN, CKK_GENERIC_SECRET, Some(7), 7),
        (CKM_SHA_1_KEY_GEN, CKK_SHA_1_HMAC, None, 20),
        (CKM_SHA256_KEY_GEN, CKK_SHA256_HMAC, None, 32),
        (CKM_SHA512_224_KEY_GEN, CKK_SHA512_224_HMAC, Some(99), 99),
        (CKM_SHA3_384_KEY_GEN, CKK_SHA3_384_HMAC, None, 48),
    ] {
        let template = given.map_or(Attributes::new(), |length| Attributes::new().number(CKA_VALUE_LEN, length));
        let key = session.generate(&Mechanism::new(mechanism), &template).unwrap();
        let value = session.attribute(key, CKA_VALUE).unwrap();
        assert_eq!((value.len(), session.number(key, CKA_KEY_TYPE)), (made, Ok(kind)), "{mechanism:#x}");
        assert_eq!(session.number(key, CKA_KEY_GEN_MECHANISM), Ok(mechanism));
        assert_eq!(
            (session.flag(key, CKA_LOCAL), session.number(key, CKA_VALUE_LEN)),
            (Ok(true), Ok(made as CK_ULONG))
        );
        if matches!(kind, CKK_DES2 | CKK_DES3) {
            assert!(value.iter().all(|byte| byte.count_ones() % 2 == 1), "parity");
        }
        assert!(!values.contains(&value));
        values.push(value);
    }
    // A parameter where there is none is not looked at: a program that sets the type alone has there what its stack had.
    let left = Mechanism::bytes(CKM_AES_KEY_GEN, &IV);
    assert!(session.generate(&left, &Attributes::new().number(CKA_VALUE_LEN, 32)).is_ok());
    for (mechanism, length, rv) in [
        (CKM_AES_KEY_GEN, None, CKR_TEMPLATE_INCOMPLETE),
        (CKM_AES_KEY_GEN, Some(17), CKR_KEY_SIZE_RANGE),
        (CKM_AES_XTS_KEY_GEN, Some(48), CKR_KEY_SIZE_RANGE),
        (CKM_DES3_KEY_GEN, Some(16), CKR_KEY_SIZE_RANGE),
        (CKM_GENERIC_SECRET_KEY_GEN, Some(0), CKR_KEY_SIZE_RANGE),
        (CKM_AES_CBC, Some(16), CKR_MECHANISM_INVALID),
    ] {
        let template = length.map_or(Attributes::new(), |length| Attributes::new().number(CKA_VALUE_LEN, length));
        assert_eq!(session.generate(&Mechanism::new(mechanism), &template), Err(rv), "{mechanism:#x}");
    }
}

#[test]
fn check_values_tell_keys() {
    let session = Session::open();
    for (kind, value, check) in [
        // AES and triple DES of zeros under zeros, FIPS 197 and SP 800-67; SHA-1 of "abc", FIPS 180-4.
        (CKK_AES, &[0; 16][..], [0x66, 0xe9, 0x4b]),
        (CKK_DES3, &[1; 24], [0x8c, 0xa6, 0x4d]),
        (CKK_DES2, &[1; 16], [0x8c, 0xa6, 0x4d]),
        (CKK_GENERIC_SECRET, b"abc", [0xa9, 0x99, 0x3e]),
    ] {
        let label = [b"check", value].concat();
        let made = Attributes::secret(kind, value).flag(CKA_SENSITIVE, true).bytes(CKA_LABEL, &label);
        let key = session.create(&made).unwrap();
        assert_eq!(session.attribute(key, CKA_CHECK_VALUE), Ok(check.to_vec()), "{kind}");
        let found = session.find(&Attributes::new().bytes(CKA_CHECK_VALUE, &check).bytes(CKA_LABEL, &label));
        assert_eq!(found, Ok(vec![key]));
        let given = |check: &[u8]| session.create(&made.clone().bytes(CKA_CHECK_VALUE, check));
        assert_eq!(given(&[1, 2, 3]), Err(CKR_ATTRIBUTE_VALUE_INVALID));
        assert_eq!(session.attribute(given(&check).unwrap(), CKA_CHECK_VALUE), Ok(check.to_vec()));
        assert_eq!(session.attribute(given(b"").unwrap(), CKA_CHECK_VALUE), Ok(vec![]));
    }
}

#[test]
fn keys_come_back_from_under_every_mechanism() {
    let session = Session::open();
    let aes = create(&session, CKK_AES, &[1; 32]);
    let des = create(&session, CKK_DES3, &[2; 24]);
    let chacha = create(&session, CKK_CHACHA20, &[3; 32]);
    let all = [
        (Mechanism::new(CKM_AES_ECB), aes),
        (Mechanism::bytes(CKM_AES_CBC, &IV), aes),
        (Mechanism::bytes(CKM_AES_CBC_PAD, &IV), aes),
        (Mechanism::ctr(128, IV), aes),
        (Mechanism::gcm(&IV, b"aad", 128), aes),
        (Mechanism::ccm(0, &IV[..12], b"aad", 16), aes),
        (Mechanism::chacha_poly(&IV[..12], b""), chacha),
        (Mechanism::new(CKM_AES_KEY_WRAP), aes),
        (Mechanism::bytes(CKM_AES_KEY_WRAP, &IV[..8]), aes),
        (Mechanism::new(CKM_AES_KEY_WRAP_KWP), aes),
        (Mechanism::bytes(CKM_AES_KEY_WRAP_KWP, &IV[..4]), aes),
        (Mechanism::new(CKM_AES_KEY_WRAP_PAD), aes),
        (Mechanism::new(CKM_AES_KEY_WRAP_PKCS7), aes),
        (Mechanism::new(CKM_DES3_ECB), des),
        (Mechanism::bytes(CKM_DES3_CBC, &IV[..8]), des),
        (Mechanism::bytes(CKM_DES3_CBC_PAD, &IV[..8]), des),
    ];
    for (mechanism, wrapping) in &all {
        for (kind, value) in [
            (CKK_AES, &[7; 24][..]),
            (CKK_DES3, &[8; 24]),
            (CKK_DES2, &[8; 16]),
            (CKK_CHACHA20, &[9; 32]),
            (CKK_GENERIC_SECRET, &[5; 21]),
        ] {
            let what = format!("{:#x} of {kind}", mechanism.raw().mechanism);
            let key = create(&session, kind, value);
            let wrapped = session.wrap(mechanism, *wrapping, key).expect(&what);
            let made = template(kind).number(CKA_VALUE_LEN, value.len() as CK_ULONG).flag(CKA_EXTRACTABLE, true);
            let unwrapped = session.unwrap(mechanism, *wrapping, &wrapped, &made).expect(&what);
            assert_eq!(session.attribute(unwrapped, CKA_VALUE).as_deref(), Ok(value), "{what}");
            assert_eq!(session.flag(unwrapped, CKA_LOCAL), Ok(false));
            assert_eq!(session.flag(unwrapped, CKA_NEVER_EXTRACTABLE), Ok(false));
        }
    }
}

#[test]
fn what_may_not_leave_stays() {
    let session = Session::open();
    let kw = Mechanism::new(CKM_AES_KEY_WRAP);
    let value = Attributes::secret(CKK_AES, &[7; 16]);
    let wrapping = create(&session, CKK_AES, &[1; 32]);
    let make = |attributes: &Attributes| session.create(attributes).unwrap();
    let plain = make(&value);
    let sensitive = make(&value.clone().flag(CKA_SENSITIVE, true));
    let kept = make(&value.clone().flag(CKA_EXTRACTABLE, false));
    let trusting = make(&value.clone().flag(CKA_WRAP_WITH_TRUSTED, true));
    assert!(session.wrap(&kw, wrapping, sensitive).is_ok());
    assert_eq!(session.wrap(&kw, wrapping, kept), Err(CKR_KEY_UNEXTRACTABLE));
    assert_eq!(session.wrap(&kw, wrapping, trusting), Err(CKR_KEY_NOT_WRAPPABLE));
    assert_eq!(session.wrap(&kw, wrapping, 0), Err(CKR_KEY_HANDLE_INVALID));
    assert_eq!(session.wrap(&kw, 0, plain), Err(CKR_WRAPPING_KEY_HANDLE_INVALID));
    assert_eq!(session.unwrap(&kw, 0, &[0; 24], &template(CKK_AES)), Err(CKR_UNWRAPPING_KEY_HANDLE_INVALID));
    let idle = make(&value.clone().flag(CKA_WRAP, false).flag(CKA_UNWRAP, false));
    assert_eq!(session.wrap(&kw, idle, plain), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
    assert_eq!(session.unwrap(&kw, idle, &[0; 24], &template(CKK_AES)), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
    let generic = create(&session, CKK_GENERIC_SECRET, &[1; 16]);
    assert_eq!(session.wrap(&kw, generic, plain), Err(CKR_WRAPPING_KEY_TYPE_INCONSISTENT));
    assert_eq!(session.unwrap(&kw, generic, &[0; 24], &template(CKK_AES)), Err(CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT));
    assert_eq!(session.wrap(&Mechanism::bytes(CKM_AES_OFB, &IV), wrapping, plain), Err(CKR_MECHANISM_INVALID));
    let data = make(&Attributes::new().number(CKA_CLASS, CKO_DATA));
    assert_eq!(session.wrap(&kw, wrapping, data), Err(CKR_KEY_HANDLE_INVALID));
    // One unit alone is nothing for KW.
    let short = create(&session, CKK_GENERIC_SECRET, &[1; 8]);
    assert_eq!(session.wrap(&kw, wrapping, short), Err(CKR_KEY_SIZE_RANGE));
}

#[test]
fn templates_say_what_is_wrapped_and_what_comes_of_it() {
    let session = Session::open();
    let kw = Mechanism::new(CKM_AES_KEY_WRAP);
    let wrapping = Attributes::secret(CKK_AES, &[1; 16])
        .template(CKA_WRAP_TEMPLATE, Attributes::new().flag(CKA_SIGN, true).bytes(CKA_ID, b"id"))
        .template(CKA_UNWRAP_TEMPLATE, Attributes::new().flag(CKA_SENSITIVE, true).flag(CKA_ENCRYPT, false));
    let wrapping = session.create(&wrapping).unwrap();
    let value = Attributes::secret(CKK_AES, &[7; 16]);
    let wrong = session.create(&value.clone().bytes(CKA_ID, b"other")).unwrap();
    let right = session.create(&value.bytes(CKA_ID, b"id")).unwrap();
    assert_eq!(session.wrap(&kw, wrapping, wrong), Err(CKR_KEY_HANDLE_INVALID));
    let mut wrapped = session.wrap(&kw, wrapping, right).unwrap();
    let key = session.unwrap(&kw, wrapping, &wrapped, &template(CKK_AES)).unwrap();
    assert_eq!((session.flag(key, CKA_SENSITIVE), session.flag(key, CKA_ENCRYPT)), (Ok(true), Ok(false)));
    assert_eq!(session.flag(key, CKA_ALWAYS_SENSITIVE), Ok(false));
    assert_eq!(session.attribute(key, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
    for (attributes, rv) in [
        (template(CKK_AES).flag(CKA_ENCRYPT, true), CKR_TEMPLATE_INCONSISTENT),
        (template(CKK_AES).bytes(CKA_VALUE, &[7; 16]), CKR_TEMPLATE_INCONSISTENT),
        (template(CKK_AES).number(CKA_VALUE_LEN, 32), CKR_TEMPLATE_INCONSISTENT),
        (Attributes::new().number(CKA_CLASS, CKO_SECRET_KEY), CKR_TEMPLATE_INCOMPLETE),
        (Attributes::new().number(CKA_KEY_TYPE, CKK_AES), CKR_TEMPLATE_INCOMPLETE),
        (template(CKK_CHACHA20), CKR_WRAPPED_KEY_LEN_RANGE),
        (template(CKK_AES).flag(CKA_LOCAL, true), CKR_ATTRIBUTE_READ_ONLY),
    ] {
        assert_eq!(session.unwrap(&kw, wrapping, &wrapped, &attributes), Err(rv));
    }
    assert_eq!(session.unwrap(&kw, wrapping, &wrapped[..23], &template(CKK_AES)), Err(CKR_WRAPPED_KEY_LEN_RANGE));
    wrapped[0] ^= 1;
    assert_eq!(session.unwrap(&kw, wrapping, &wrapped, &template(CKK_AES)), Err(CKR_WRAPPED_KEY_INVALID));
}

#[test]
fn authenticated_wrapping_takes_data_and_makes_ivs() {
    let session = Session::open();
    let aes = create(&session, CKK_AES, &[1; 32]);
    let chacha = create(&session, CKK_CHACHA20, &[3; 32]);
    let key = create(&session, CKK_AES, &[7; 16]);
    for (mechanism, wrapping) in [
        (Mechanism::gcm(&IV[..12], b"", 128), aes),
        (Mechanism::ccm(16, &IV[..12], b"", 16), aes),
        (Mechanism::chacha_poly(&IV[..12], b""), chacha),
    ] {
        let wrapped = session.wrap_authenticated(&mechanism, wrapping, key, b"with data").unwrap();
        assert_eq!(wrapped.len(), 32);
        let made = template(CKK_AES);
        let back = session.unwrap_authenticated(&mechanism, wrapping, &wrapped, &made, b"with data").unwrap();
        assert_eq!(session.attribute(back, CKA_VALUE), Ok(vec![7; 16]));
        let other = session.unwrap_authenticated(&mechanism, wrapping, &wrapped, &made, b"with other data");
        assert_eq!(other, Err(CKR_WRAPPED_KEY_INVALID));
    }
    let refused = session.wrap_authenticated(&Mechanism::new(CKM_AES_KEY_WRAP), aes, key, b"");
    assert_eq!(refused, Err(CKR_MECHANISM_INVALID));
    let mut iv = [5; 12];
    let parameter = CK_GCM_WRAP_PARAMS {
        pIv: iv.as_mut_ptr(),
        ulIvLen: 12,
        ulIvFixedBits: 32,
        ivGenerator: CKG_GENERATE,
        pAAD: null_mut(),
        ulAADLen: 0,
        ulTagBits: 128,
    };
    let wrapped = session.wrap_authenticated(&Mechanism::with(CKM_AES_GCM, parameter), aes, key, b"data").unwrap();
    assert!(iv[..4] == [5; 4] && iv[4..] != [5; 8]);
    let opened = session.decrypt(&Mechanism::gcm(&iv, b"data", 128), aes, &wrapped);
    assert_eq!(opened, Ok(vec![7; 16]));
    let (aad, aad_length) = (input(b"twice"), length(b"twice"));
    let twice = CK_GCM_WRAP_PARAMS { pAAD: aad, ulAADLen: aad_length, ivGenerator: CKG_NO_GENERATE, ..parameter };
    let refused = session.wrap_authenticated(&Mechanism::with(CKM_AES_GCM, twice), aes, key, b"data");
    assert_eq!(refused, Err(CKR_MECHANISM_PARAM_INVALID));
}
