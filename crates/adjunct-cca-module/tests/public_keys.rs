//! Public-key verbs as a program calls them.

mod card;

use adjunct::ops::rsa as core;
use adjunct_cca_wire::code::Code;
use adjunct_cca_wire::message::Value;
use adjunct_cca_wire::verb::Verb;
use card::{Answer, Card, hex};
use zeroize::Zeroizing;

fn b(bytes: &[u8]) -> Value<'_> {
    Value::Bytes(bytes)
}

fn build(card: &Card, rules: &[u8], values: &[u8]) -> Answer {
    let none = b(&[]);
    card.call(Verb::CSNDPKB, &[b(rules), b(values), none, none, none, none, none, none, Value::Room(2500)])
}

fn generated(card: &Card, curve: u8, bits: u16, usage: &[u8]) -> Vec<u8> {
    let values = [&[curve, 0][..], &bits.to_be_bytes(), &[0; 4]].concat();
    let (code, results) = build(card, &[b"ECC-PAIR", usage].concat(), &values);
    assert_eq!(code, Code::OK);
    let skeleton = results[8].clone().unwrap();
    // The buffers are longer than what is in them.
    let skeleton = [&skeleton[..], &[0; 500]].concat();
    let values = [b(b"MASTER  "), b(&[]), b(&skeleton), b(&[0; 64]), b(&[0; 2500])];
    card.done(Verb::CSNDPKG, &values)[4].clone().unwrap()
}

fn sign(card: &Card, key: &[u8], hash: &[u8]) -> Answer {
    card.call(Verb::CSNDDSG, &[b(b"ECDSA   "), b(key), b(hash), Value::Room(256)])
}

fn verify(card: &Card, scheme: &[u8; 8], key: &[u8], hash: &[u8], signature: &[u8]) -> Code {
    card.call(Verb::CSNDDSV, &[b(scheme), b(key), b(hash), b(signature)]).0
}

fn public(card: &Card, key: &[u8]) -> Vec<u8> {
    card.done(Verb::CSNDPKX, &[b(&[]), b(key), b(&[0; 2500])])[2].clone().unwrap()
}

#[test]
fn ecc_keys_sign_on_all_curves() {
    let card = Card::ready();
    let curves = [
        (0, 192, 24),
        (0, 224, 28),
        (0, 256, 32),
        (0, 384, 48),
        (0, 521, 66),
        (1, 160, 20),
        (1, 256, 32),
        (1, 512, 64),
    ];
    for (curve, bits, bytes) in curves {
        let key = generated(&card, curve, bits, b"");
        // What openCryptoki reads: the section at 8, its version of wrapping, its format, the bits at 12 of it.
        let read = (key[0], key[8], key[12], key[18], u16::from_be_bytes([key[20], key[21]]));
        assert_eq!(read, (0x1f, 0x20, 1, 8, bits));
        let (code, results) = sign(&card, &key, &[7; 32]);
        let (length, signature) = results[3].as_ref().unwrap().split_at(8);
        assert_eq!((code, signature.len()), (Code::OK, 2 * bytes));
        assert_eq!(u64::from_be_bytes(length.try_into().unwrap()), 16 * bytes as u64);
        let public = public(&card, &key);
        assert_eq!((public[0], public[8]), (0x1e, 0x21));
        for key in [&key, &public] {
            assert_eq!(verify(&card, b"ECDSA   ", key, &[7; 32], signature), Code::OK, "{curve} {bits}");
            assert_eq!(verify(&card, b"ECDSA   ", key, &[8; 32], signature), Code::BAD_SIGNATURE);
            assert_eq!(verify(&card, b"ECDSA   ", key, &[7; 32], &signature[1..]), Code::BAD_SIGNATURE);
        }
        assert_eq!(sign(&card, &public, &[7; 32]).0, Code::TOKEN, "no private key");
    }
    let key = generated(&card, 0, 256, b"KM-ONLY ");
    assert_eq!(sign(&card, &key, &[7; 32]).0, Code::CONTROL_VECTOR);
    let none = [&[2, 0][..], &255_u16.to_be_bytes(), &[0; 4]].concat();
    assert_eq!(build(&card, b"ECC-PAIR", &none).0, Code::CURVE);
    let values = [b(b"ECDSA   "), b(&key), b(&[7; 32]), Value::Room(63)];
    assert_eq!(card.call(Verb::CSNDDSG, &values).0, Code::CONTROL_VECTOR);
}

/// RFC 6979, A.2.5: P-256, SHA-256, "sample".
#[test]
fn the_signature_of_rfc_6979_is_verified() {
    let card = Card::ready();
    let point = hex(
        "04 60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6 7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299",
    );
    let hash = hex("AF2BDBE1AA9B6EC1E2ADE1D694F41FC71A831D0268E9891562113D8A62ADD1BF");
    let signature = hex(
        "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716 F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
    );
    let values = |point: &[u8]| [&[0, 0, 1, 0, 0, point.len() as u8][..], point].concat();
    let (code, results) = build(&card, b"ECC-PUBL", &values(&point));
    assert_eq!(code, Code::OK);
    let key = results[8].clone().unwrap();
    assert_eq!(verify(&card, b"ECDSA   ", &key, &hash, &signature), Code::OK);
    for bit in (0..512).step_by(37) {
        let mut other = signature.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(verify(&card, b"ECDSA   ", &key, &hash, &other), Code::BAD_SIGNATURE);
    }
    let mut off = point;
    off[64] ^= 1;
    assert_eq!(build(&card, b"ECC-PUBL", &values(&off)).0, Code::PKA_TOKEN, "no point of the curve");
}

/// Each bit of a private key's token but those of its point, which signing does not read.
#[test]
fn no_flipped_bit_of_a_private_key_signs() {
    let card = Card::ready();
    let key = generated(&card, 0, 256, b"");
    let section = 8 + usize::from(u16::from_be_bytes([key[10], key[11]]));
    for bit in 0..(section + 14) * 8 {
        let mut other = key.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        let (code, results) = sign(&card, &other, &[7; 32]);
        assert!(code.rc == 8 && results[3].is_none(), "{bit} {code:?}");
    }
}

#[test]
fn private_keys_follow_a_change_of_the_master_key() {
    let card = Card::ready();
    let key = generated(&card, 1, 256, b"");
    let to_new = [b(b"RTNMK   "), b(&key)];
    assert_eq!(card.call(Verb::CSNDKTC, &to_new).0, Code::NO_MASTER_KEY);
    for (rules, part) in [(&b"APKA-MK FIRST   "[..], [0x50; 32]), (b"APKA-MK LAST    ", [1; 32])] {
        assert_eq!(card.call(Verb::CSNBMKP, &[b(rules), b(&part)]).0, Code::OK);
    }
    let new = card.done(Verb::CSNDKTC, &to_new)[1].clone().unwrap();
    assert_eq!(sign(&card, &new, &[7; 32]).0, Code::MASTER_KEY_PATTERN);
    assert_eq!(card.call(Verb::CSNBMKP, &[b(b"APKA-MK SET     "), b(&[])]).0, Code::OK);
    assert_eq!(sign(&card, &new, &[7; 32]).0, Code::OK);
    let (code, results) = sign(&card, &key, &[7; 32]);
    assert_eq!(code, Code::OLD_MASTER_KEY);
    let renewed = results[1].clone().unwrap();
    let signature = sign(&card, &renewed, &[7; 32]).1[3].clone().unwrap();
    assert_eq!(verify(&card, b"ECDSA   ", &key, &[7; 32], &signature[8..]), Code::OK, "the same key");
    assert_eq!(card.done(Verb::CSNDKTC, &[b(b"RTCMK   ECC     "), b(&key)])[1].as_ref().map(Vec::len), Some(key.len()));
}

/// Encryption by a public key, decrypted here; signatures made here, verified by the verb.
#[test]
fn public_rsa_keys_encrypt_and_verify() {
    let card = Card::ready();
    let key = core::RsaKey::generate(2048, &[1, 0, 1], None).unwrap();
    let n = key.number(core::Part::N).unwrap().unwrap();
    let values = [&[8, 0, 1, 0, 0, 3, 0, 0][..], &n, &[1, 0, 1]].concat();
    let token = build(&card, b"RSA-PUBL", &values).1[8].clone().unwrap();
    assert_eq!(public(&card, &token), token);
    let encrypt = |rules: &[u8], value: &[u8], room| {
        card.call(Verb::CSNDPKE, &[b(rules), b(value), b(&[]), b(&token), Value::Room(room)])
    };
    let opened = |rules: &[u8], value: &[u8]| {
        let (code, results) = encrypt(rules, value, 256);
        assert_eq!(code, Code::OK);
        let mut block = Zeroizing::new([0; 256]);
        key.private(results[4].as_ref().unwrap(), &mut block[..]).unwrap();
        block
    };
    let mut block = opened(b"PKCS-1.2", b"a key");
    let length = core::pkcs1_decode(&mut block[..]).unwrap();
    assert_eq!(block[..length], *b"a key");
    for (rules, method) in [(&b"PKCSOAEP"[..], &core::SHA1), (b"PKCSOAEPSHA-256 ", &adjunct::ops::digest::SHA256)] {
        let mut block = opened(rules, b"a key");
        assert_eq!(core::oaep_decode(method, method, &[], &mut block[..]).unwrap(), b"a key");
    }
    assert_eq!(opened(b"ZERO-PAD", b"a key")[251..], *b"a key");
    assert_eq!(encrypt(b"PKCS-1.2", &[1; 246], 256).0, Code::LENGTH);
    assert_eq!(encrypt(b"PKCS-1.2", &[1; 16], 255).0, Code::LENGTH);
    assert_eq!(encrypt(b"PKCS-1.2SHA-1   ", &[1; 16], 256).0, Code::KEYWORDS);

    let mut signature = [0; 256];
    key.sign(core::Signature::Pkcs1(None), b"DigestInfo", &mut signature).unwrap();
    assert_eq!(verify(&card, b"PKCS-1.1", &token, b"DigestInfo", &signature), Code::OK);
    assert_eq!(verify(&card, b"PKCS-1.1", &token, b"digestInfo", &signature), Code::BAD_SIGNATURE);
    assert_eq!(verify(&card, b"ECDSA   ", &token, b"digestInfo", &signature), Code::KEYWORDS);
}

fn rsa(card: &Card, usage: &[u8], bits: u16, e: &[u8]) -> Vec<u8> {
    let values = [&bits.to_be_bytes()[..], &[0, 0], &(e.len() as u16).to_be_bytes(), &[0; 12], e, &[0; 100]].concat();
    let (code, results) = build(card, &[b"RSA-AESC", usage].concat(), &values);
    assert_eq!(code, Code::OK);
    let skeleton = [&results[8].clone().unwrap()[..], &[0; 500]].concat();
    let values = [b(b"MASTER  "), b(&[]), b(&skeleton), b(&[0; 64]), b(&[0; 2500])];
    card.done(Verb::CSNDPKG, &values)[4].clone().unwrap()
}

/// As openCryptoki makes and uses its keys. What is decrypted was encrypted, what is signed verifies, and padding that is wrong has its codes.
#[test]
fn rsa_keys_sign_and_decrypt() {
    let card = Card::ready();
    let key = rsa(&card, b"KEY-MGMT", 1024, &[1, 0, 1]);
    assert_eq!((key[0], key[8], key[124..132] == [0; 8]), (0x1f, 0x31, false), "section 31, the pattern at 116 of it");
    let public = public(&card, &key);
    let pke = |rules: &[u8], value: &[u8]| {
        let values = [b(rules), b(value), b(&[]), b(&public), Value::Room(128)];
        card.done(Verb::CSNDPKE, &values)[4].clone().unwrap()
    };
    let pkd = |rules: &[u8], text: &[u8]| {
        let (code, results) = card.call(Verb::CSNDPKD, &[b(rules), b(text), b(&[]), b(&key), Value::Room(128)]);
        (code, results[4].clone())
    };
    for rules in [&b"PKCS-1.2"[..], b"PKCSOAEP", b"PKCSOAEPSHA-256 "] {
        assert_eq!(pkd(rules, &pke(rules, b"a key")), (Code::OK, Some(b"a key".to_vec())));
    }
    let block = [&[0; 123][..], b"a key"].concat();
    assert_eq!(pkd(b"ZERO-PAD", &pke(b"ZERO-PAD", b"a key")), (Code::OK, Some(block)));
    assert_eq!(pkd(b"PKCS-1.2", &pke(b"ZERO-PAD", b"a key")), (Code::PADDING, None));
    assert_eq!(pkd(b"PKCSOAEP", &pke(b"PKCS-1.2", b"a key")), (Code::OAEP, None));
    assert_eq!(pkd(b"PKCSOAEP", &[0xff; 128]), (Code::OAEP, None), "not below the modulus");
    for scheme in [b"PKCS-1.1", b"ZERO-PAD"] {
        let values = [b(scheme), b(&key), b(b"DigestInfo"), Value::Room(256)];
        let signature = card.done(Verb::CSNDDSG, &values)[3].clone().unwrap();
        assert_eq!((signature.len(), &signature[..8]), (136, &[0, 0, 0, 0, 0, 0, 4, 0][..]));
        assert_eq!(verify(&card, scheme, &public, b"DigestInfo", &signature[8..]), Code::OK);
        assert_eq!(verify(&card, scheme, &public, b"digestInfo", &signature[8..]), Code::BAD_SIGNATURE);
    }
    let signing = rsa(&card, b"SIG-ONLY", 512, &[3]);
    let values = [b(b"PKCS-1.2"), b(&[0; 64]), b(&[]), b(&signing), Value::Room(128)];
    assert_eq!(card.call(Verb::CSNDPKD, &values).0, Code::CONTROL_VECTOR);
    let random = rsa(&card, b"KM-ONLY ", 1024, &[]);
    assert_eq!(
        card.call(Verb::CSNDDSG, &[b(b"PKCS-1.1"), b(&random), b(&[1; 20]), Value::Room(256)]).0,
        Code::CONTROL_VECTOR
    );
    let values = [&4096_u16.to_be_bytes()[..], &[0; 16]].concat();
    assert_eq!(build(&card, b"RSA-AESC", &values).0, Code::RSA_SIZE, "a random exponent of a large key");
}
