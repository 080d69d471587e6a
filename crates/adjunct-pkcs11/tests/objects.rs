//! Objects and digests through the interface.

mod common;

use common::{Attributes, Mechanism, Session};
use cryptoki_sys::*;

#[test]
fn objects_are_made_read_changed_and_found() {
    let session = Session::open();
    let label = b"of objects_are_made";
    let key = session.create(&Attributes::secret(CKK_AES, &[7; 16]).bytes(CKA_LABEL, label)).unwrap();
    assert_eq!(session.attribute(key, CKA_VALUE), Ok(vec![7; 16]));
    assert_eq!((session.number(key, CKA_VALUE_LEN), session.flag(key, CKA_LOCAL)), (Ok(16), Ok(false)));
    let by_label = Attributes::new().bytes(CKA_LABEL, label);
    assert_eq!(session.find(&by_label), Ok(vec![key]));
    let copy = session.copy(key, &Attributes::new().flag(CKA_SENSITIVE, true)).unwrap();
    assert_eq!(session.attribute(copy, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
    // What the type of key has not is no secret of it.
    assert_eq!(session.attribute(copy, CKA_PRIME_1), Err(CKR_ATTRIBUTE_TYPE_INVALID));
    session.set_attributes(copy, &Attributes::new().bytes(CKA_ID, b"2")).unwrap();
    assert_eq!(session.find(&by_label.clone().bytes(CKA_ID, b"2")), Ok(vec![copy]));
    session.destroy(copy).unwrap();
    assert_eq!(session.find(&by_label), Ok(vec![key]));
}

#[test]
fn what_only_a_copy_changes_is_read_only() {
    let session = Session::open();
    let key = session.create(&Attributes::secret(CKK_AES, &[7; 16])).unwrap();
    for kind in [CKA_TOKEN, CKA_MODIFIABLE, CKA_DESTROYABLE] {
        // Also to what it is.
        for value in [false, true] {
            let change = Attributes::new().flag(kind, value);
            assert_eq!(session.set_attributes(key, &change), Err(CKR_ATTRIBUTE_READ_ONLY), "{kind:#x} {value}");
        }
    }
    let class = Attributes::new().number(CKA_CLASS, CKO_SECRET_KEY);
    assert_eq!(session.set_attributes(key, &class), Err(CKR_ATTRIBUTE_READ_ONLY));
    let copy = session.copy(key, &class.flag(CKA_MODIFIABLE, false)).unwrap();
    assert_eq!(session.flag(copy, CKA_MODIFIABLE), Ok(false));
    for (kind, given) in [(CKA_COPYABLE, false), (CKA_EXTRACTABLE, false), (CKA_SENSITIVE, true)] {
        let set = |value| session.set_attributes(key, &Attributes::new().flag(kind, value));
        assert_eq!((set(given), set(given), set(!given)), (Ok(()), Ok(()), Err(CKR_ATTRIBUTE_READ_ONLY)), "{kind:#x}");
    }
}

/// An attribute that restricts nothing is empty and not missing: programs ask for CKA_ALLOWED_MECHANISMS, in one call with others, of keys without it
/// too.
#[test]
fn attributes_that_say_nothing_are_empty() {
    let session = Session::open();
    let public = Attributes::new().bytes(CKA_EC_PARAMS, &[6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]);
    let pair = Mechanism::new(CKM_EC_KEY_PAIR_GEN);
    let (public, private) = session.generate_pair(&pair, &public, &Attributes::new()).unwrap();
    let secret = session.create(&Attributes::secret(CKK_AES, &[7; 16])).unwrap();
    let certificate = Attributes::new().number(CKA_CLASS, CKO_CERTIFICATE).number(CKA_CERTIFICATE_TYPE, CKC_X_509);
    let certificate = session.create(&certificate.bytes(CKA_SUBJECT, b"s").bytes(CKA_VALUE, b"v")).unwrap();
    for (object, kinds) in [
        (secret, &[CKA_ALLOWED_MECHANISMS, CKA_WRAP_TEMPLATE, CKA_UNWRAP_TEMPLATE, CKA_DERIVE_TEMPLATE][..]),
        (public, &[CKA_ALLOWED_MECHANISMS, CKA_WRAP_TEMPLATE, CKA_ENCAPSULATE_TEMPLATE]),
        (private, &[CKA_ALLOWED_MECHANISMS, CKA_UNWRAP_TEMPLATE, CKA_DERIVE_TEMPLATE, CKA_DECAPSULATE_TEMPLATE]),
        (certificate, &[CKA_PUBLIC_KEY_INFO, CKA_HASH_OF_SUBJECT_PUBLIC_KEY, CKA_HASH_OF_ISSUER_PUBLIC_KEY]),
    ] {
        for kind in kinds {
            assert_eq!(session.attribute(object, *kind), Ok(vec![]), "{kind:#x}");
        }
    }
    // What such objects do not have at all is still missing.
    assert_eq!(session.attribute(public, CKA_UNWRAP_TEMPLATE), Err(CKR_ATTRIBUTE_TYPE_INVALID));
    assert_eq!(session.attribute(certificate, CKA_ALLOWED_MECHANISMS), Err(CKR_ATTRIBUTE_TYPE_INVALID));
    // A list that is there is told as before.
    let listed = Attributes::secret(CKK_AES, &[1; 16]).numbers(CKA_ALLOWED_MECHANISMS, &[CKM_AES_CBC]);
    let listed = session.create(&listed).unwrap();
    assert_eq!(session.number(listed, CKA_ALLOWED_MECHANISMS), Ok(CKM_AES_CBC));
}

/// Programs written for openCryptoki say of keys whether they may leave as protected keys, and be data to a coprocessor.
#[test]
fn keys_take_attributes_of_ibm() {
    const USE_AS_DATA: CK_ATTRIBUTE_TYPE = CKA_VENDOR_DEFINED + 0x10008;
    const PROTKEY_EXTRACTABLE: CK_ATTRIBUTE_TYPE = CKA_VENDOR_DEFINED + 0x1000c;
    let session = Session::open();
    let both = Attributes::secret(CKK_AES, &[7; 16]).flag(USE_AS_DATA, true).flag(PROTKEY_EXTRACTABLE, true);
    let key = session.create(&both).unwrap();
    assert_eq!((session.flag(key, USE_AS_DATA), session.flag(key, PROTKEY_EXTRACTABLE)), (Ok(true), Ok(true)));
    let set = |kind, value| session.set_attributes(key, &Attributes::new().flag(kind, value));
    assert_eq!(set(PROTKEY_EXTRACTABLE, false), Ok(()));
    assert_eq!(set(PROTKEY_EXTRACTABLE, true), Err(CKR_ATTRIBUTE_READ_ONLY));
    assert_eq!(set(USE_AS_DATA, false), Err(CKR_ATTRIBUTE_READ_ONLY));
    let wrong = Attributes::secret(CKK_AES, &[7; 16]).bytes(PROTKEY_EXTRACTABLE, b"\x02");
    assert_eq!(session.create(&wrong), Err(CKR_ATTRIBUTE_VALUE_INVALID));
    let other = Attributes::secret(CKK_AES, &[7; 16]).flag(CKA_VENDOR_DEFINED + 1, true);
    assert_eq!(session.create(&other), Err(CKR_ATTRIBUTE_TYPE_INVALID));
    let data = Attributes::new().number(CKA_CLASS, CKO_DATA).flag(PROTKEY_EXTRACTABLE, true);
    assert_eq!(session.create(&data), Err(CKR_ATTRIBUTE_TYPE_INVALID));
}

#[test]
fn digests_in_parts_are_those_at_once() {
    let session = Session::open();
    let sha256 = Mechanism::new(CKM_SHA256);
    let whole = session.digest(&sha256, b"abc").unwrap();
    assert_eq!(whole[..4], [0xba, 0x78, 0x16, 0xbf]);
    assert_eq!(session.digest_parts(&sha256, &[b"a", b"", b"bc"]), Ok(whole));
}

#[test]
fn one_is_found_among_many() {
    let session = Session::open();
    let object = |number: u32| {
        let class = if number == 77_777 { CKO_CERTIFICATE } else { CKO_DATA };
        let template = Attributes::new().number(CKA_CLASS, class).bytes(CKA_LABEL, &number.to_be_bytes());
        if class == CKO_DATA {
            return template.bytes(CKA_VALUE, b"data");
        }
        let named = template.number(CKA_CERTIFICATE_TYPE, CKC_X_509).bytes(CKA_SUBJECT, b"\x30\x00");
        named.bytes(CKA_ID, b"of one among many").bytes(CKA_VALUE, b"\x30\x00")
    };
    let handles: Vec<_> = (0..100_000).map(|number| session.create(&object(number)).unwrap()).collect();
    let one = |template: Attributes| session.find(&template).unwrap();
    for number in [0, 1, 50_000, 77_777, 99_999_u32] {
        assert_eq!(one(Attributes::new().bytes(CKA_LABEL, &number.to_be_bytes())), [handles[number as usize]]);
    }
    assert_eq!(one(Attributes::new().bytes(CKA_ID, b"of one among many")), [handles[77_777]]);
    assert_eq!(one(Attributes::new().number(CKA_CLASS, CKO_CERTIFICATE)), [handles[77_777]]);
    let both = Attributes::new().number(CKA_CLASS, CKO_DATA).bytes(CKA_LABEL, &7_u32.to_be_bytes());
    assert_eq!(one(both), [handles[7]]);
    // Signing beside them, and their end with the session.
    let key = session.create(&Attributes::secret(CKK_GENERIC_SECRET, &[7; 32])).unwrap();
    session.sign(&Mechanism::new(CKM_SHA256_HMAC), key, b"data").unwrap();
    drop(session);
    let next = Session::open();
    assert_eq!(next.find(&Attributes::new().bytes(CKA_LABEL, &0_u32.to_be_bytes())), Ok(Vec::new()));
}

#[test]
fn private_keys_say_which_their_public_key_is() {
    let session = Session::open();
    let curve = |params: &[u8]| Attributes::new().bytes(CKA_EC_PARAMS, params);
    let p256 = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    for (kind, public) in [
        (CKM_RSA_PKCS_KEY_PAIR_GEN, Attributes::new().number(CKA_MODULUS_BITS, 1024)),
        (CKM_EC_KEY_PAIR_GEN, curve(&p256)),
        (CKM_EC_EDWARDS_KEY_PAIR_GEN, curve(&[6, 3, 0x2b, 0x65, 0x70])),
        (CKM_EC_MONTGOMERY_KEY_PAIR_GEN, curve(&[6, 3, 0x2b, 0x65, 0x6e])),
    ] {
        let (public, private) = session.generate_pair(&Mechanism::new(kind), &public, &Attributes::new()).unwrap();
        let info = session.attribute(private, CKA_PUBLIC_KEY_INFO).unwrap();
        assert!(!info.is_empty(), "{kind:#x}");
        assert_eq!(session.attribute(public, CKA_PUBLIC_KEY_INFO), Ok(info), "{kind:#x}");
        let name = |key| session.attribute(key, CKA_UNIQUE_ID).unwrap();
        assert!(!name(public).is_empty() && name(public) != name(private));
        assert_eq!(session.find(&Attributes::new().bytes(CKA_UNIQUE_ID, &name(private))), Ok(vec![private]));
        let given = Attributes::new().bytes(CKA_UNIQUE_ID, b"mine");
        assert_eq!(session.set_attributes(private, &given), Err(CKR_ATTRIBUTE_READ_ONLY));
    }
}

#[test]
fn a_key_that_was_used_again_and_again_goes_at_once() {
    let (session, other) = (Session::open(), Session::open());
    let mac = Mechanism::new(CKM_SHA256_HMAC);
    let key = session.create(&Attributes::secret(CKK_GENERIC_SECRET, &[7; 32])).unwrap();
    for _ in 0..3 {
        assert_eq!(session.sign(&mac, key, b"data"), other.sign(&mac, key, b"data"));
    }
    // A change is seen by the next operation.
    session.set_attributes(key, &Attributes::new().flag(CKA_SIGN, false)).unwrap();
    for session in [&session, &other] {
        assert_eq!(session.sign(&mac, key, b"data"), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
    }
    session.set_attributes(key, &Attributes::new().flag(CKA_SIGN, true)).unwrap();
    for _ in 0..3 {
        assert_eq!(session.sign(&mac, key, b"data"), other.sign(&mac, key, b"data"));
    }
    session.destroy(key).unwrap();
    for session in [&session, &other] {
        assert_eq!(session.sign(&mac, key, b"data"), Err(CKR_KEY_HANDLE_INVALID));
    }
}
