//! What sessions do with keys of RSA and of curves besides signing: encryption, recovery, keys that are wrapped.

mod common;

use common::{Attributes, Handle, Mechanism, Session, input, length, with_room};
use cryptoki_sys::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn rsa(session: &Session) -> (Handle, Handle) {
    let template = Attributes::new().number(CKA_MODULUS_BITS, 1024);
    let pair = Mechanism::new(CKM_RSA_PKCS_KEY_PAIR_GEN);
    session.generate_pair(&pair, &template, &Attributes::new()).unwrap()
}

fn oaep(label: &[u8]) -> Mechanism<'_> {
    Mechanism::with(
        CKM_RSA_PKCS_OAEP,
        CK_RSA_PKCS_OAEP_PARAMS {
            hashAlg: CKM_SHA256,
            mgf: CKG_MGF1_SHA1,
            source: CKZ_DATA_SPECIFIED,
            pSourceData: input(label).cast(),
            ulSourceDataLen: length(label),
        },
    )
}

#[test]
fn what_rsa_encrypts_it_decrypts() {
    let session = Session::open();
    let (public, private) = rsa(&session);
    let (pkcs1, raw) = (Mechanism::new(CKM_RSA_PKCS), Mechanism::new(CKM_RSA_X_509));
    for message in [&b""[..], b"message", &[7; 62]] {
        for mechanism in [&pkcs1, &oaep(b"label"), &oaep(b"")] {
            let ciphertext = session.encrypt(mechanism, public, message).unwrap();
            assert_eq!(session.decrypt(mechanism, private, &ciphertext).as_deref(), Ok(message));
            let parts = [&ciphertext[..50], &ciphertext[50..]];
            assert_eq!(session.decrypt_parts(mechanism, private, &parts).as_deref(), Ok(message));
        }
    }
    let ciphertext = session.encrypt(&oaep(b"label"), public, b"message").unwrap();
    assert_eq!(session.decrypt(&oaep(b"other"), private, &ciphertext), Err(CKR_ENCRYPTED_DATA_INVALID));
    assert_eq!(session.encrypt(&oaep(b"label"), public, &[0; 63]), Err(CKR_DATA_LEN_RANGE));
    assert_eq!(session.encrypt(&pkcs1, public, &[0; 118]), Err(CKR_DATA_LEN_RANGE));
    // A short message is the number that it is.
    let ciphertext = session.encrypt(&raw, public, b"message").unwrap();
    let opened = session.decrypt(&raw, private, &ciphertext).unwrap();
    assert_eq!((opened.len(), &opened[121..]), (128, &b"message"[..]));
    assert_eq!(session.encrypt(&raw, public, &[0xff; 128]), Err(CKR_DATA_INVALID));
    assert_eq!(session.decrypt(&raw, private, &[0xff; 128]), Err(CKR_ENCRYPTED_DATA_INVALID));
    assert_eq!(session.decrypt(&raw, private, &[1; 127]), Err(CKR_ENCRYPTED_DATA_LEN_RANGE));
    // Too little room: the length is told, and the message waits.
    let ciphertext = session.encrypt(&pkcs1, public, b"message").unwrap();
    session.decrypt_init(&pkcs1, private).unwrap();
    let call = |room| {
        let (at, size) = (input(&ciphertext), length(&ciphertext));
        with_room(room, |out, out_length| p11!(C_Decrypt(session.0, at, size, out, out_length)))
    };
    assert_eq!(call(6).0, CKR_BUFFER_TOO_SMALL);
    let (rv, size, out) = call(7);
    assert_eq!((rv, size, &out[..]), (CKR_OK, 7, &b"message"[..]));
    assert_eq!(call(7).0, CKR_OPERATION_NOT_INITIALIZED);
}

#[test]
fn signatures_give_back_what_they_sign() {
    let session = Session::open();
    let (public, private) = rsa(&session);
    let (pkcs1, raw) = (Mechanism::new(CKM_RSA_PKCS), Mechanism::new(CKM_RSA_X_509));
    session.sign_recover_init(&pkcs1, private).unwrap();
    let signature = session.sign_recover(b"data").unwrap();
    assert_eq!(session.sign(&pkcs1, private, b"data"), Ok(signature.clone()));
    session.verify_recover_init(&pkcs1, public).unwrap();
    assert_eq!(session.verify_recover(&signature), Ok(b"data".to_vec()));
    let recover = |mechanism, signature: &[u8]| {
        session.verify_recover_init(mechanism, public)?;
        session.verify_recover(signature)
    };
    let mut other = signature.clone();
    other[100] ^= 1;
    assert_eq!(recover(&pkcs1, &other), Err(CKR_SIGNATURE_INVALID));
    assert_eq!(recover(&pkcs1, &signature[1..]), Err(CKR_SIGNATURE_LEN_RANGE));
    let block = recover(&raw, &signature).unwrap();
    assert_eq!((block.len(), &block[..2], &block[123..]), (128, &[0, 1][..], &b"\0data"[..]));
    let sha = Mechanism::new(CKM_SHA256_RSA_PKCS);
    assert_eq!(session.sign_recover_init(&sha, private), Err(CKR_MECHANISM_INVALID));
    session.sign_recover_init(&raw, private).unwrap();
    assert_eq!(session.sign_recover_init(&raw, private), Err(CKR_OPERATION_ACTIVE));
    session.cancel(CKF_SIGN_RECOVER).unwrap();
    assert_eq!(session.sign_recover(b"data"), Err(CKR_OPERATION_NOT_INITIALIZED));
}

#[test]
fn keys_are_wrapped_by_rsa_and_as_pkcs8() {
    let session = Session::open();
    let (public, private) = rsa(&session);
    let aes = session.create(&Attributes::secret(CKK_AES, &[7; 32])).unwrap();
    let template = Attributes::key(CKO_SECRET_KEY, CKK_AES);
    for mechanism in [&Mechanism::new(CKM_RSA_PKCS), &oaep(b"label")] {
        let wrapped = session.wrap(mechanism, public, aes).unwrap();
        let back = session.unwrap(mechanism, private, &wrapped, &template).unwrap();
        assert_eq!(session.attribute(back, CKA_VALUE), Ok(vec![7; 32]));
        assert!(session.unwrap(mechanism, private, &wrapped[1..], &template).is_err());
    }
    let p256 = hex("06082a8648ce3d030107");
    let mechanism = Mechanism::bytes(CKM_AES_CBC_PAD, &[1; 16]);
    let curve = |params: &[u8]| Attributes::new().bytes(CKA_EC_PARAMS, params);
    let pair = |kind, template: &Attributes| {
        session.generate_pair(&Mechanism::new(kind), template, &Attributes::new()).unwrap()
    };
    for (kind, (public, private), signs) in [
        (CKK_RSA, (public, private), CKM_SHA256_RSA_PKCS),
        (CKK_EC, pair(CKM_EC_KEY_PAIR_GEN, &curve(&p256)), CKM_ECDSA_SHA256),
        (CKK_EC_EDWARDS, pair(CKM_EC_EDWARDS_KEY_PAIR_GEN, &curve(&[6, 3, 0x2b, 0x65, 0x70])), CKM_EDDSA),
        (
            CKK_ML_DSA,
            pair(CKM_ML_DSA_KEY_PAIR_GEN, &Attributes::new().number(CKA_PARAMETER_SET, CKP_ML_DSA_44)),
            CKM_ML_DSA,
        ),
    ] {
        let wrapped = session.wrap(&mechanism, aes, private).unwrap();
        let template = Attributes::key(CKO_PRIVATE_KEY, kind);
        let back = session.unwrap(&mechanism, aes, &wrapped, &template).unwrap();
        let signature = session.sign(&Mechanism::new(signs), back, b"message").unwrap();
        assert_eq!(session.verify(&Mechanism::new(signs), public, b"message", &signature), Ok(()));
        let other = Attributes::key(CKO_PRIVATE_KEY, CKK_ML_KEM);
        assert_eq!(session.unwrap(&mechanism, aes, &wrapped, &other), Err(CKR_TEMPLATE_INCONSISTENT));
    }
    // What is no key in that form.
    let wrapped = session.encrypt(&mechanism, aes, b"no key").unwrap();
    let template = Attributes::key(CKO_PRIVATE_KEY, CKK_EC);
    assert_eq!(session.unwrap(&mechanism, aes, &wrapped, &template), Err(CKR_WRAPPED_KEY_INVALID));
}

/// RFC 8032, 7.2 and 7.3.
#[test]
fn ed25519_with_context_and_of_digests() {
    let session = Session::open();
    let params = |prehash: bool, context: &'static [u8]| {
        let params =
            CK_EDDSA_PARAMS { phFlag: prehash.into(), ulContextDataLen: length(context), pContextData: input(context) };
        Mechanism::with(CKM_EDDSA, params)
    };
    for (secret, public, message, mechanism, signature) in [
        (
            "0305334e381af78f141cb666f6199f57bc3495335a256a95bd2a55bf546663f6",
            "dfc9425e4f968f7f0c29f0259cf5f9aed6851c2bb4ad8bfb860cfee0ab248292",
            "f726936d19c800494e3fdaff20b276a8",
            params(false, b"foo"),
            "55a4cc2f70a54e04288c5f4cd1e45a7bb520b36292911876cada7323198dd87a\
             8b36950b95130022907a7fb7c4e9b2d5f6cca685a587b4b21f4b888e4e7edb0d",
        ),
        (
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            "616263",
            params(true, b""),
            "98a70222f0b8121aa9d30f813d683f809e462b469c7ff87639499bb94e6dae41\
             31f85042463c2a355a2003d062adf5aaa10b8c61e636062aaad11c2a26083406",
        ),
    ] {
        let (public, message, signature) = (hex(public), hex(message), hex(signature));
        let oid = [6, 3, 0x2b, 0x65, 0x70];
        let key = |class| Attributes::key(class, CKK_EC_EDWARDS).bytes(CKA_EC_PARAMS, &oid);
        let private = session.create(&key(CKO_PRIVATE_KEY).bytes(CKA_VALUE, &hex(secret))).unwrap();
        let public = session.create(&key(CKO_PUBLIC_KEY).bytes(CKA_EC_POINT, &public)).unwrap();
        assert_eq!(session.sign(&mechanism, private, &message), Ok(signature.clone()));
        assert_eq!(session.verify(&mechanism, public, &message, &signature), Ok(()));
        let plain = Mechanism::new(CKM_EDDSA);
        assert_eq!(session.verify(&plain, public, &message, &signature), Err(CKR_SIGNATURE_INVALID));
        assert_eq!(session.verify(&params(true, b"x"), public, &message, &signature), Err(CKR_SIGNATURE_INVALID));
        static LONG: [u8; 256] = [0; 256];
        assert_eq!(session.sign_init(&params(true, &LONG), private), Err(CKR_MECHANISM_PARAM_INVALID));
    }
}
