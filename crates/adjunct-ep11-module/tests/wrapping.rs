//! Keys that leave under other keys, and come back.

mod common;

use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, control, flag, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::Parameter;
use common::*;

const WRAPS: &[(u32, bool)] = &[(a::WRAP, true), (a::UNWRAP, true)];

fn of(class: u32, kind: u32) -> Vec<u8> {
    template(&[], &[(a::CLASS, Value::Number(class)), (a::KEY_TYPE, Value::Number(kind))])
}

/// What tells a secret key apart.
fn mark(card: &Card, key: &[u8], kind: u32) -> Vec<u8> {
    let mechanism = match kind {
        k::AES => m::AES_CMAC,
        k::DES2 | k::DES3 => m::DES3_CMAC,
        _ => m::SHA256_HMAC,
    };
    card.sign(key, &plain(mechanism), b"mark").unwrap()
}

fn oaep() -> Vec<u8> {
    with(m::RSA_PKCS_OAEP, Parameter::Oaep { hash: m::SHA256, mgf: 2, source: 0, label: b"" })
}

#[test]
fn secret_keys_come_back_from_each_mechanism() {
    let card = card();
    let (aes, des) = (card.aes(32, WRAPS), card.generate(m::DES3_KEY_GEN, &template(WRAPS, &[])).unwrap());
    let [private, public] = card.rsa(2048, &[(a::WRAP, true)], &[(a::UNWRAP, true)]);
    let generic = template(&[], &[(a::VALUE_LEN, Value::Number(32))]);
    let keys = [
        (k::AES, card.aes(16, &[])),
        (k::AES, card.aes(32, &[])),
        (k::DES2, card.generate(m::DES2_KEY_GEN, b"").unwrap()),
        (k::DES3, card.generate(m::DES3_KEY_GEN, b"").unwrap()),
        (k::GENERIC_SECRET, card.generate(m::GENERIC_SECRET_KEY_GEN, &generic).unwrap()),
    ];
    let ways = [
        (&aes, &aes, plain(m::AES_ECB)),
        (&aes, &aes, with_iv(m::AES_CBC, &[3; 16])),
        (&aes, &aes, with_iv(m::AES_CBC_PAD, &[3; 16])),
        (&des, &des, plain(m::DES3_ECB)),
        (&des, &des, with_iv(m::DES3_CBC_PAD, &[3; 8])),
        (&public, &private, plain(m::RSA_PKCS)),
        (&public, &private, oaep()),
    ];
    for (kind, key) in &keys {
        for (to, from, mechanism) in &ways {
            let wrapped = card.wrap(key, to, mechanism).unwrap();
            let back = card.unwrap(&wrapped, from, mechanism, &of(k::SECRET, *kind)).unwrap();
            assert_eq!(mark(&card, &back[0], *kind), mark(&card, key, *kind), "{kind} {mechanism:?}");
            // It was elsewhere.
            let was = flag::LOCAL | flag::NEVER_EXTRACTABLE;
            assert_eq!(card.attributes(&back[0], was, &[]).unwrap().0, 0);
        }
    }
    // The length may be said, or be 0 where it is not known.
    let (_, secret) = &keys[4];
    for (to, from, mechanism) in &ways {
        let wrapped = card.wrap(secret, to, mechanism).unwrap();
        for (length, right) in [(0, true), (32, true), (64, false)] {
            let kind = (a::KEY_TYPE, Value::Number(k::GENERIC_SECRET));
            let back =
                card.unwrap(&wrapped, from, mechanism, &template(&[], &[kind, (a::VALUE_LEN, Value::Number(length))]));
            assert_eq!(back.is_ok(), right, "{length} {mechanism:?}");
        }
    }
    let ecb = plain(m::AES_ECB);
    let wrapped = card.wrap(&keys[0].1, &aes, &ecb).unwrap();
    assert_eq!(card.unwrap(&wrapped, &aes, &ecb, b""), Err(rv::TEMPLATE_INCOMPLETE));
    assert_eq!(card.unwrap(&wrapped, &aes, &ecb, &of(k::SECRET, k::DES3)), Err(rv::WRAPPED_KEY_LEN_RANGE));
    assert_eq!(card.unwrap(&wrapped, &aes, &ecb, &of(k::PRIVATE, k::AES)), Err(rv::TEMPLATE_INCONSISTENT));
    assert_eq!(card.unwrap(&wrapped, &aes, &ecb, &of(k::PRIVATE, k::EC)), Err(rv::WRAPPED_KEY_INVALID));
    assert_eq!(card.unwrap(&wrapped[1..], &aes, &ecb, &of(k::SECRET, k::AES)), Err(rv::WRAPPED_KEY_LEN_RANGE));
    assert_eq!(
        card.unwrap(&wrapped, &public, &oaep(), &of(k::SECRET, k::AES)),
        Err(rv::UNWRAPPING_KEY_TYPE_INCONSISTENT)
    );
    assert_eq!(card.wrap(&keys[0].1, &private, &oaep()), Err(rv::WRAPPING_KEY_TYPE_INCONSISTENT));
    assert_eq!(card.wrap(&keys[0].1, &keys[1].1, &ecb), Err(rv::KEY_FUNCTION_NOT_PERMITTED));
    assert_eq!(card.wrap(&keys[0].1, &aes, &oaep()), Err(rv::WRAPPING_KEY_TYPE_INCONSISTENT));
}

#[test]
fn private_keys_come_back_with_their_public_halves() {
    let card = card();
    let aes = card.aes(32, WRAPS);
    let pad = with_iv(m::AES_CBC_PAD, &[3; 16]);
    let set = template(&[], &[(a::IBM_PARAMETER_SET, Value::Number(2))]);
    let mut keys = vec![
        (k::RSA, m::SHA256_RSA_PKCS, card.rsa(1024, &[], &[])),
        (k::IBM_ML_DSA, m::IBM_ML_DSA, card.pair(m::IBM_ML_DSA_KEY_PAIR_GEN, &set, b"").unwrap()),
        (k::EC_EDWARDS, m::IBM_ED25519_SHA512, card.ec(ED25519, &[])),
    ];
    keys.extend([P192, P256, P384, P521, BP160, BP256].map(|oid| (k::EC, m::ECDSA_SHA256, card.ec(oid, &[]))));
    for (kind, mechanism, [private, public]) in keys {
        let wrapped = card.wrap(&private, &aes, &pad).unwrap();
        let back = card.unwrap(&wrapped, &aes, &pad, &of(k::PRIVATE, kind)).unwrap();
        // Beside the key stands its public half.
        let (_, info) = card.attributes(&public, 0, &[a::PUBLIC_KEY_INFO]).unwrap();
        assert_eq!(info[0], back[1]);
        assert_eq!(card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO]).unwrap().1, info);
        let signature = card.sign(&back[0], &plain(mechanism), b"message").unwrap();
        for public in [&public, &info[0]] {
            assert_eq!(card.verify(public, &plain(mechanism), b"message", &signature), Ok(()), "{mechanism:#x}");
            assert_eq!(card.verify(public, &plain(mechanism), b"messagf", &signature), Err(rv::SIGNATURE_INVALID));
        }
        // Only CBC with padding keeps the length of DER.
        assert_eq!(card.wrap(&private, &aes, &with_iv(m::AES_CBC, &[3; 16])), Err(rv::KEY_NOT_WRAPPABLE));
        assert_eq!(card.wrap(&public, &aes, &pad), Err(rv::KEY_NOT_WRAPPABLE));
    }
}

#[test]
fn a_point_that_is_another_keys_is_told() {
    let card = card();
    // RFC 6979, A.2.5, with the point of another key.
    let head = "3077020101 0420 c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721
        a00a 06082a8648ce3d030107 a144 0342 00";
    let own = "0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6
        7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299";
    let other = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296
        4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
    let outer = hex("308193020100301306072a8648ce3d020106082a8648ce3d0301070479");
    let pkcs8 = |point: &str| [outer.clone(), hex(head), hex(point)].concat();
    let import = |point| card.import(k::PRIVATE, k::EC, &pkcs8(point), &[]).map(drop);
    assert_eq!((import(own), import(other)), (Ok(()), Err(rv::WRAPPED_KEY_INVALID)));
}

#[test]
fn a_private_key_whose_numbers_do_not_fit_is_told() {
    let card = card();
    let right = include_bytes!("../src/self_test/rsa.p8");
    // Within the private exponent, and within the last number, the inverse of a prime: one of them alone is made good by the other.
    let (mut wrong, length) = (right.to_vec(), right.len());
    wrong[450] ^= 1;
    wrong[length - 20] ^= 1;
    let import = |bytes: &[u8]| card.import(k::PRIVATE, k::RSA, bytes, &[]).map(drop);
    card.off(&[control::SKIP_KEYTESTS]);
    assert_eq!((import(right), import(&wrong)), (Ok(()), Err(rv::WRAPPED_KEY_INVALID)));
    assert!(card.rsa(1024, &[], &[])[0].len() > 256 && card.ec(ED25519, &[])[0].len() >= 256);
}

#[test]
fn what_the_core_takes_for_a_key_of_a_card_is_no_key() {
    use adjunct::ops::reference::{Class, Reference, Service};
    let card = card();
    let reference = Reference { service: Service::Ep11, class: Class::Secure, blob: &[7; 200] };
    let bytes = reference.encode(256).unwrap();
    let import = |bytes: &[u8]| card.import(k::SECRET, k::GENERIC_SECRET, bytes, &[]).map(drop);
    assert_eq!((import(&bytes), import(&[7; 256])), (Err(rv::WRAPPED_KEY_INVALID), Ok(())));
}

#[test]
fn what_may_not_leave_does_not() {
    let card = card();
    let aes = card.aes(32, WRAPS);
    let pad = with_iv(m::AES_CBC_PAD, &[3; 16]);
    let kept = card.aes(16, &[(a::EXTRACTABLE, false)]);
    assert_eq!(card.wrap(&kept, &aes, &pad), Err(rv::KEY_UNEXTRACTABLE));
    let choosy = card.aes(16, &[(a::WRAP_WITH_TRUSTED, true)]);
    assert_eq!(card.wrap(&choosy, &aes, &pad), Err(rv::KEY_NOT_WRAPPABLE));
    let trusted = card.aes(32, &[WRAPS, &[(a::TRUSTED, true)]].concat());
    assert!(card.wrap(&choosy, &trusted, &pad).is_ok());
    // Nobody vouches for a public key without a MAC, whatever it may do.
    let [_, public] = card.rsa(2048, &[(a::WRAP, true), (a::TRUSTED, true)], &[]);
    assert!(card.wrap(&choosy, &public, &oaep()).is_ok());
    let raw = &card.attributes(&public, 0, &[a::PUBLIC_KEY_INFO]).unwrap().1[0];
    assert_eq!(card.wrap(&choosy, raw, &oaep()), Err(rv::KEY_NOT_WRAPPABLE));
    assert!(card.wrap(&card.aes(16, &[]), raw, &oaep()).is_ok());
}

#[test]
fn keys_that_are_bound_keep_their_attributes() {
    let card = card();
    let bound = [(a::IBM_ATTRBOUND, true)];
    let kek = card.aes(32, &[&bound[..], WRAPS].concat());
    let [mac, private] = [card.aes(32, &bound), card.ec(P256, &bound)[0].clone()];
    let mac_alone =
        card.generate(m::GENERIC_SECRET_KEY_GEN, &template(&bound, &[(a::VALUE_LEN, Value::Number(32))])).unwrap();
    let mechanism = plain(m::IBM_ATTRIBUTEBOUND_WRAP);
    let wrap = |key: &[u8]| card.one(F::WrapKey, &[key, &kek, &mac, &mechanism]);
    let unwrap =
        |wrapped: &[u8], template: &[u8]| card.call(F::UnwrapKey, &[wrapped, &kek, &mac, b"", &mechanism, template]);
    let key = card.aes(16, &[(a::IBM_ATTRBOUND, true), (a::SIGN, true), (a::DECRYPT, false)]);
    for key in [&key, &private] {
        let wrapped = wrap(key).unwrap();
        let back = unwrap(&wrapped, b"").unwrap();
        let all = 0x7f_ffff & !flag::NEVER_MODIFIABLE;
        let flags = |key: &[u8]| card.attributes(key, all, &[]).unwrap().0;
        assert_eq!(flags(&back[0]), flags(key) & !(flag::LOCAL | flag::PROTKEY_NEVER_EXTRACTABLE));
        assert_eq!(unwrap(&wrapped, &template(&[(a::SIGN, true)], &[])).map(drop), Ok(()));
        assert_eq!(unwrap(&wrapped, &template(&[(a::SIGN, false)], &[])), Err(rv::TEMPLATE_INCONSISTENT));
        for place in [0, 16, wrapped.len() - 33, wrapped.len() - 1] {
            let mut changed = wrapped.clone();
            changed[place] ^= 1;
            assert_eq!(unwrap(&changed, b""), Err(rv::WRAPPED_KEY_INVALID), "{place}");
        }
        assert!(unwrap(&wrapped[16..], b"").is_err());
        assert_eq!(unwrap(&wrapped[1..], b""), Err(rv::WRAPPED_KEY_LEN_RANGE));
        // Who may use both keys for messages, too, neither changes nor reads it.
        let all = &wrapped[..wrapped.len() - 32];
        let signed = [all, &card.sign(&mac_alone, &plain(m::SHA256_HMAC), all).unwrap()].concat();
        let refused = card.call(F::UnwrapKey, &[&signed, &kek, &mac_alone, b"", &mechanism, b""]);
        assert_eq!(refused, Err(rv::WRAPPED_KEY_INVALID));
        let read = card.one(F::DecryptSingle, &[&kek, &with_iv(m::AES_CBC, &wrapped[..16]), &all[16..]]).unwrap();
        assert_ne!(read[..2], [1, if *key == private { 3 } else { 4 }]);
        // Such a key leaves in no other way, and no other key leaves in this one.
        assert_eq!(card.wrap(key, &kek, &with_iv(m::AES_CBC_PAD, &[3; 16])), Err(rv::KEY_NOT_WRAPPABLE));
    }
    assert_eq!(mark(&card, &unwrap(&wrap(&key).unwrap(), b"").unwrap()[0], k::AES), mark(&card, &key, k::AES));
    assert_eq!(wrap(&card.aes(16, &[])), Err(rv::KEY_NOT_WRAPPABLE));
    let free = card.aes(32, WRAPS);
    let refused = card.one(F::WrapKey, &[&key, &free, &mac, &mechanism]);
    assert_eq!(refused, Err(rv::WRAPPING_KEY_TYPE_INCONSISTENT));
    let refused = card.one(F::WrapKey, &[&key, &kek, &free, &mechanism]);
    assert_eq!(refused, Err(rv::KEY_TYPE_INCONSISTENT));
    assert_eq!(card.one(F::WrapKey, &[&key, &kek, b"", &mechanism]), Err(rv::IBM_BLOB_ERROR));
}

#[test]
fn a_public_key_gets_attributes_that_are_vouched_for() {
    let card = card();
    let [private, _] = card.ec(P256, &[]);
    let raw = card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO]).unwrap().1.remove(0);
    let transport = plain(m::IBM_TRANSPORTKEY);
    let unwrap = |info: &[u8], template: &[u8]| card.call(F::UnwrapKey, &[info, b"", b"", b"", &transport, template]);
    let known = unwrap(&raw, &template(&[(a::VERIFY, true), (a::MODIFIABLE, true)], &[])).unwrap();
    assert_eq!((&known[0][..raw.len()], known[0].len(), known[1].len()), (&raw[..], raw.len() + 120, 0));
    let signature = card.sign(&private, &plain(m::ECDSA_SHA256), b"m").unwrap();
    let verify = |key: &[u8]| card.verify(key, &plain(m::ECDSA_SHA256), b"m", &signature);
    assert_eq!(verify(&known[0]), Ok(()));
    let blind = unwrap(&raw, &template(&[(a::VERIFY, false)], &[])).unwrap();
    assert_eq!(verify(&blind[0]), Err(rv::KEY_FUNCTION_NOT_PERMITTED));
    assert_eq!(card.set(&raw, &[(a::VERIFY, false)]), Err(rv::ATTRIBUTE_READ_ONLY));
    let again = card.set(&blind[0], &[(a::VERIFY, true)]).unwrap();
    assert_eq!(verify(&again), Ok(()));
    for info in [&raw[1..], &raw[..90], b"", &[&raw[..], &[0]].concat()] {
        assert_eq!(unwrap(info, b""), Err(rv::WRAPPED_KEY_INVALID));
    }
    // What EC cannot do.
    assert_eq!(unwrap(&raw, &template(&[(a::ENCRYPT, true)], &[])), Err(rv::TEMPLATE_INCONSISTENT));
    assert_eq!(unwrap(&raw, &template(&[(a::EXTRACTABLE, true)], &[])), Err(rv::TEMPLATE_INCONSISTENT));
}
