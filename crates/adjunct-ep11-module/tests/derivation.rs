//! Keys made of keys.

mod common;

use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, flag, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::Parameter;
use common::*;

const DERIVES: &[(u32, bool)] = &[(a::DERIVE, true)];

fn derive(card: &Card, base: &[u8], mechanism: &[u8], template: &[u8]) -> Answer {
    card.call(F::DeriveKey, &[mechanism, template, base, b"", b""])
}

fn generic(length: u32) -> Vec<u8> {
    template(&[], &[(a::KEY_TYPE, Value::Number(k::GENERIC_SECRET)), (a::VALUE_LEN, Value::Number(length))])
}

/// The HMAC that a key makes, which tells keys apart.
fn mark(card: &Card, key: &[u8]) -> Vec<u8> {
    card.sign(key, &plain(m::SHA256_HMAC), b"mark").unwrap()
}

fn point(card: &Card, key: &[u8]) -> Vec<u8> {
    let (_, info) = card.attributes(key, 0, &[a::PUBLIC_KEY_INFO]).unwrap();
    // Behind the bit string's zero.
    let length = if info[0].len() == 53 { 32 } else { 65 };
    info[0][info[0].len() - length..].to_vec()
}

#[test]
fn both_sides_of_an_agreement_have_one_key() {
    let card = card();
    for (oid, kinds) in
        [(P256, [m::ECDH1_DERIVE, m::IBM_ECDH1_DERIVE_RAW]), (X25519, [m::IBM_EC_X25519, m::IBM_EC_X25519_RAW])]
    {
        let ([alice, _], [bob, _]) = (card.ec(oid, DERIVES), card.ec(oid, DERIVES));
        let (hers, his) = (point(&card, &alice), point(&card, &bob));
        let with_kdf = |public| with(kinds[0], Parameter::Ecdh { kdf: 6, shared: b"shared", public });
        let one = derive(&card, &alice, &with_kdf(&his), &generic(40)).unwrap();
        let other = derive(&card, &bob, &with_kdf(&hers), &generic(40)).unwrap();
        assert_eq!(mark(&card, &one[0]), mark(&card, &other[0]));
        assert_eq!((one[1].len(), &one[1]), (7, &other[1]));
        assert_eq!(one[1][3..], 320_u32.to_be_bytes());
        // The secret itself, in each of its forms.
        let forms = [
            with(kinds[0], Parameter::Ecdh { kdf: 1, shared: b"", public: &his }),
            with_iv(kinds[0], &his),
            with_iv(kinds[1], &his),
        ];
        let raw: Vec<_> =
            forms.iter().map(|form| derive(&card, &alice, form, &generic(32)).unwrap()[0].clone()).collect();
        assert!(raw.iter().all(|key| mark(&card, key) == mark(&card, &raw[0])));
        assert_ne!(mark(&card, &raw[0]), mark(&card, &one[0]));
        assert_eq!(derive(&card, &alice, &forms[0], &generic(33)), Err(rv::KEY_SIZE_RANGE));
        // No point, no key that derives.
        let wrong = derive(&card, &alice, &with_iv(kinds[0], &his[1..]), &generic(32));
        assert_eq!(wrong, Err(rv::MECHANISM_PARAM_INVALID));
        let [signs, _] = card.ec(P256, &[]);
        assert_eq!(derive(&card, &signs, &forms[0], &generic(32)), Err(rv::KEY_FUNCTION_NOT_PERMITTED));
    }
}

#[test]
fn x25519_gives_the_secret_of_rfc_7748() {
    let card = card();
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 4, 0x22, 4, 0x20];
    let (scalar, u) = (
        hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
        hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"),
    );
    let private = card.import(k::PRIVATE, k::EC, &[&head[..], &scalar].concat(), DERIVES).unwrap();
    let made = derive(&card, &private, &with_iv(m::IBM_EC_X25519, &u), &generic(32)).unwrap();
    // 5.2, the first vector.
    let secret = hex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    assert_eq!(mark(&card, &made[0]), mark(&card, &card.secret(k::GENERIC_SECRET, &secret)));
}

#[test]
fn a_hash_of_a_key_is_a_key() {
    let card = card();
    let base = card.secret(k::GENERIC_SECRET, b"abc");
    let aes = template(&[], &[(a::KEY_TYPE, Value::Number(k::AES)), (a::VALUE_LEN, Value::Number(16))]);
    let made = derive(&card, &base, &plain(m::SHA256_KEY_DERIVATION), &aes).unwrap();
    let same = card.secret(k::AES, &hex("ba7816bf8f01cfea414140de5dae2223"));
    let ecb = plain(m::AES_ECB);
    assert_eq!(card.encrypt(&made[0], &ecb, &[0; 16]), card.encrypt(&same, &ecb, &[0; 16]));
    // One that may not leave gives none that may, unless that is asked for.
    let kept = card.set(&base, &[(a::EXTRACTABLE, false)]).unwrap();
    let flags = |key: &[u8]| card.attributes(key, flag::EXTRACTABLE, &[]).unwrap().0;
    let made = derive(&card, &kept, &plain(m::SHA512_KEY_DERIVATION), &generic(64)).unwrap();
    assert_eq!((flags(&kept), flags(&made[0])), (0, 0));
    // A key that may be used as data needs no other leave to be hashed.
    for (data, wanted) in [(true, Ok(())), (false, Err(rv::KEY_FUNCTION_NOT_PERMITTED))] {
        let uses = [(a::DERIVE, false), (a::IBM_USE_AS_DATA, data)];
        let base = card.import(k::SECRET, k::GENERIC_SECRET, b"0123456789abcdef", &uses).unwrap();
        assert_eq!(derive(&card, &base, &plain(m::SHA256_KEY_DERIVATION), &aes).map(drop), wanted);
    }
    let too_long = derive(&card, &base, &plain(m::SHA_1), &generic(16));
    assert_eq!(too_long, Err(rv::MECHANISM_INVALID));
    let too_long = derive(&card, &base, &plain(m::SHA1_KEY_DERIVATION), &generic(21));
    assert_eq!(too_long, Err(rv::KEY_SIZE_RANGE));
}

#[test]
fn ml_kem_encapsulates_alone_and_with_another_secret() {
    let card = card();
    for (set, ciphertext_length) in [(1, 768), (2, 1088), (3, 1568)] {
        let public = template(DERIVES, &[(a::IBM_PARAMETER_SET, Value::Number(set))]);
        let [private, public] = card.pair(m::IBM_ML_KEM_KEY_PAIR_GEN, &public, &template(DERIVES, &[])).unwrap();
        let other =
            card.import(k::SECRET, k::GENERIC_SECRET, b"another secret", &[(a::IBM_USE_AS_DATA, true)]).unwrap();
        let kinds = [
            (1, false, &b""[..], &b""[..]),
            (0x8000_0001, false, b"", &other),
            (0x8000_0001, true, b"", &other),
            (0x8000_0004, true, b"info", &other),
        ];
        let mut marks = Vec::new();
        for (kdf, prepend, shared, secret) in kinds {
            // Without a derivation the key is both secrets, whole.
            let made_of = generic(if kdf == 0x8000_0001 { 32 + 14 } else { 32 });
            let kem = |mode, ciphertext| {
                with(m::IBM_ML_KEM, Parameter::Kem { mode, kdf, prepend, ciphertext, shared, secret })
            };
            let made = derive(&card, &public, &kem(1, b""), &made_of).unwrap();
            let ciphertext = &made[1][7..];
            assert_eq!(ciphertext.len(), ciphertext_length);
            let back = derive(&card, &private, &kem(2, ciphertext), &made_of).unwrap();
            assert_eq!((mark(&card, &made[0]), &made[1][..7]), (mark(&card, &back[0]), &back[1][..]));
            marks.push(mark(&card, &made[0]));
            // Another ciphertext gives another key, not an error.
            let mut wrong = ciphertext.to_vec();
            wrong[0] ^= 1;
            let wrong = derive(&card, &private, &kem(2, &wrong), &made_of).unwrap();
            if !prepend || kdf != 0x8000_0001 {
                assert_ne!(mark(&card, &wrong[0]), mark(&card, &made[0]));
            }
            assert_eq!(derive(&card, &private, &kem(1, b""), &made_of), Err(rv::KEY_TYPE_INCONSISTENT));
            let short = derive(&card, &private, &kem(2, &ciphertext[1..]), &made_of);
            assert_eq!(short, Err(rv::MECHANISM_PARAM_INVALID));
        }
        let not = card.secret(k::GENERIC_SECRET, b"another secret");
        let hybrid =
            Parameter::Kem { mode: 1, kdf: 0x8000_0001, prepend: false, ciphertext: b"", shared: b"", secret: &not };
        let refused = derive(&card, &public, &with(m::IBM_ML_KEM, hybrid), &generic(32));
        assert_eq!(refused, Err(rv::KEY_FUNCTION_NOT_PERMITTED));
    }
}

#[test]
fn the_other_secret_of_a_hybrid_does_not_leave_by_it() {
    let card = card();
    let set = template(DERIVES, &[(a::IBM_PARAMETER_SET, Value::Number(1))]);
    let [_, public] = card.pair(m::IBM_ML_KEM_KEY_PAIR_GEN, &set, &template(DERIVES, &[])).unwrap();
    let victim =
        card.import(k::SECRET, k::AES, &[7; 16], &[(a::IBM_USE_AS_DATA, true), (a::EXTRACTABLE, false)]).unwrap();
    let kem = |kdf, prepend| {
        let parameter = Parameter::Kem { mode: 1, kdf, prepend, ciphertext: b"", shared: b"", secret: &victim };
        with(m::IBM_ML_KEM, parameter)
    };
    let generic = |length: u32, leaves: bool| {
        let kind = (a::KEY_TYPE, Value::Number(k::GENERIC_SECRET));
        template(&[(a::EXTRACTABLE, leaves)], &[kind, (a::VALUE_LEN, Value::Number(length))])
    };
    for (prepend, length) in [(true, 16), (true, 1), (false, 33), (false, 47)] {
        let part = derive(&card, &public, &kem(0x8000_0001, prepend), &generic(length, false));
        assert_eq!(part, Err(rv::KEY_SIZE_RANGE), "{length}");
    }
    for kdf in [0x8000_0001, 0x8000_0004] {
        let leaves = derive(&card, &public, &kem(kdf, true), &generic(48, true));
        assert_eq!(leaves, Err(rv::TEMPLATE_INCONSISTENT));
        assert!(derive(&card, &public, &kem(kdf, true), &generic(48, false)).is_ok());
    }
}

#[test]
fn what_a_peer_knows_is_no_key_that_is_bound() {
    let card = card();
    let ([alice, _], [bob, _]) = (card.ec(P256, DERIVES), card.ec(P256, DERIVES));
    let agreed = with_iv(m::ECDH1_DERIVE, &point(&card, &bob));
    let bound = template(&[(a::IBM_ATTRBOUND, true)], &[(a::KEY_TYPE, Value::Number(k::GENERIC_SECRET))]);
    assert_eq!(derive(&card, &alice, &agreed, &bound), Err(rv::TEMPLATE_INCONSISTENT));
    let base = card.secret(k::GENERIC_SECRET, b"abc");
    assert_eq!(derive(&card, &base, &plain(m::SHA256_KEY_DERIVATION), &bound), Err(rv::TEMPLATE_INCONSISTENT));
}
