//! Known answers, with keys that are imported as openCryptoki imports them.

mod common;

use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::Parameter;
use common::*;

#[test]
fn aes_and_des_encrypt() {
    let card = card();
    // SP 800-38A, F.1.1, F.2.1, F.2.5.
    let key = card.secret(k::AES, &hex("2b7e151628aed2a6abf7158809cf4f3c"));
    let plain_text = hex("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51");
    let ecb = plain(m::AES_ECB);
    let encrypted = card.encrypt(&key, &ecb, &plain_text).unwrap();
    assert_eq!(encrypted, hex("3ad77bb40d7a3660a89ecaf32466ef97 f5d3d58503b9699de785895a96fdbaaf"));
    assert_eq!(card.decrypt(&key, &ecb, &encrypted).as_ref(), Ok(&plain_text));
    let cbc = with_iv(m::AES_CBC, &hex("000102030405060708090a0b0c0d0e0f"));
    let encrypted = card.encrypt(&key, &cbc, &plain_text).unwrap();
    assert_eq!(encrypted, hex("7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2"));
    assert_eq!(card.decrypt(&key, &cbc, &encrypted).as_ref(), Ok(&plain_text));
    assert_eq!(card.encrypt(&key, &cbc, &plain_text[1..]), Err(rv::DATA_LEN_RANGE));
    assert_eq!(card.encrypt(&key, &with_iv(m::AES_CBC, &[0; 15]), &plain_text), Err(rv::MECHANISM_PARAM_INVALID));
    assert_eq!(card.encrypt(&key, &plain(m::DES3_ECB), &plain_text), Err(rv::KEY_TYPE_INCONSISTENT));
    // SP 800-67, B.1.
    let des = card.secret(k::DES3, &hex("0123456789abcdef 23456789abcdef01 456789abcdef0123"));
    let text = b"The qufck brown fox jump";
    let encrypted = card.encrypt(&des, &plain(m::DES3_ECB), text).unwrap();
    assert_eq!(encrypted, hex("a826fd8ce53b855f cce21c8112256fe6 68d5c05dd9b6b900"));
    assert_eq!(card.decrypt(&des, &plain(m::DES3_ECB), &encrypted).unwrap(), text);
    let pad = with_iv(m::DES3_CBC_PAD, &[0; 8]);
    let padded = card.encrypt(&des, &pad, b"five!").unwrap();
    assert_eq!((padded.len(), card.decrypt(&des, &pad, &padded)), (8, Ok(b"five!".to_vec())));
}

#[test]
fn macs_are_made_and_checked() {
    let card = card();
    // RFC 4493, 4, example 3; a MAC of which the caller says the length.
    let aes = card.secret(k::AES, &hex("2b7e151628aed2a6abf7158809cf4f3c"));
    let data = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411");
    let expected = hex("dfa66747de9ae63030ca32611497c827");
    for kind in [m::AES_CMAC, m::IBM_CMAC] {
        assert_eq!(card.sign(&aes, &plain(kind), &data).as_ref(), Ok(&expected));
    }
    let general = with(m::AES_CMAC_GENERAL, Parameter::Number(6));
    assert_eq!(card.sign(&aes, &general, &data).as_deref(), Ok(&expected[..6]));
    // RFC 4231, 4.3, 4.7.
    let key = card.secret(k::GENERIC_SECRET, &hex("4a656665 4a656665 4a656665 4a656665")[..4]);
    for (kind, mac) in [
        (m::SHA224_HMAC, "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44"),
        (m::SHA256_HMAC, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            m::SHA384_HMAC,
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
        ),
        (
            m::SHA512_HMAC,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
    ] {
        let data = b"what do ya want for nothing?";
        let mac = hex(mac);
        assert_eq!(card.sign(&key, &plain(kind), data).as_ref(), Ok(&mac), "{kind:#x}");
        assert_eq!(card.verify(&key, &plain(kind), data, &mac), Ok(()));
        assert_eq!(card.verify(&key, &plain(kind), &data[1..], &mac), Err(rv::SIGNATURE_INVALID));
        assert_eq!(card.verify(&key, &plain(kind), data, &mac[1..]), Err(rv::SIGNATURE_LEN_RANGE));
    }
    // NIST's example of HMAC with SHA3-256.
    let key: Vec<u8> = (0..32).collect();
    let key = card.secret(k::GENERIC_SECRET, &key);
    let data = b"Sample message for keylen<blocklen";
    let mac = hex("4fe8e202c4f058e8dddc23d8c34e467343e23555e24fc2f025d598f558f67205");
    for kind in [m::SHA3_256_HMAC, m::IBM_SHA3_256_HMAC] {
        assert_eq!(card.sign(&key, &plain(kind), data).as_ref(), Ok(&mac));
    }
}

#[test]
fn digests_are_those_of_the_standards() {
    let card = card();
    for (kind, digest) in [
        (m::SHA_1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (m::SHA224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (m::SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (m::IBM_SHA512_224, "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa"),
        (m::SHA512_256, "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
        (m::IBM_SHA3_224, "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf"),
        (m::SHA3_256, "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532"),
    ] {
        assert_eq!(card.one(F::DigestSingle, &[&plain(kind), b"abc"]), Ok(hex(digest)), "{kind:#x}");
    }
    assert_eq!(card.one(F::DigestSingle, &[&plain(m::SHA256_HMAC), b"abc"]), Err(rv::MECHANISM_INVALID));
    assert_eq!(card.one(F::DigestSingle, &[b"\0\0", b"abc"]), Err(rv::MECHANISM_INVALID));
}

/// An Ed25519 or X25519 private key as RFC 8410 writes it.
fn rfc8410(oid: u8, value: &[u8]) -> Vec<u8> {
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, oid, 4, 0x22, 4, 0x20];
    [&head[..], value].concat()
}

#[test]
fn keys_on_edwards_and_montgomery_curves_are_imported() {
    let card = card();
    // RFC 8032, 7.1, test 2.
    let value = hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    let private = card.import(k::PRIVATE, k::EC, &rfc8410(0x70, &value), &[]).unwrap();
    let signature = hex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
         085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
    for kind in [m::IBM_ED25519_SHA512, m::EDDSA] {
        assert_eq!(card.sign(&private, &plain(kind), &[0x72]).as_ref(), Ok(&signature));
    }
    let (_, info) = card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO, a::KEY_TYPE]).unwrap();
    let public = hex(
        "3033300e06072a8648ce3d020106032b6570032100 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    );
    assert_eq!(info, [public.clone(), k::EC_EDWARDS.to_be_bytes().to_vec()]);
    assert_eq!(card.verify(&public, &plain(m::IBM_ED25519_SHA512), &[0x72], &signature), Ok(()));
    assert_eq!(card.verify(&public, &plain(m::IBM_ED25519_SHA512), &[0x73], &signature), Err(rv::SIGNATURE_INVALID));
    // RFC 8410's form.
    let public = hex("302a300506032b6570032100 3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    assert_eq!(card.verify(&public, &plain(m::IBM_ED25519_SHA512), &[0x72], &signature), Ok(()));
}

#[test]
fn keys_of_x25519_come_in_the_form_of_other_curves_too() {
    let card = card();
    // RFC 7748, 6.1, as openCryptoki's token writes such keys: id-ecPublicKey with the curve, and RFC 5915's structure.
    let value = hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
    let form = |oid: u8, value: &[u8]| {
        let inner = [&[0x30, 5 + value.len() as u8, 2, 1, 1, 4, value.len() as u8], value].concat();
        let algorithm = [0x30, 14, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 3, 0x2b, 0x65, oid];
        let octets = [&[4, inner.len() as u8], &inner[..]].concat();
        let all = [&[2, 1, 0][..], &algorithm, &octets].concat();
        [&[0x30, all.len() as u8], &all[..]].concat()
    };
    let private = card.import(k::PRIVATE, k::EC, &form(0x6e, &value), &[]).unwrap();
    let (_, known) = card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO, a::KEY_TYPE]).unwrap();
    let public = hex(
        "3033300e06072a8648ce3d020106032b656e032100 8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
    );
    assert_eq!(known, [public, k::EC_MONTGOMERY.to_be_bytes().to_vec()]);
    assert_eq!(card.import(k::PRIVATE, k::EC, &form(0x6e, &value[1..]), &[]), Err(rv::WRAPPED_KEY_INVALID));
    assert_eq!(card.import(k::PRIVATE, k::EC, &form(0x72, &value), &[]), Err(rv::CURVE_NOT_SUPPORTED));
    let ed25519 = card.import(k::PRIVATE, k::EC, &form(0x70, &value), &[]).unwrap();
    assert_eq!(card.sign(&ed25519, &plain(m::EDDSA), b"x").map(|signature| signature.len()), Ok(64));
}

#[test]
fn rsa_signs_no_data() {
    let card = card();
    let [private, public] = card.rsa(1024, &[], &[]);
    let [_, other] = card.rsa(1024, &[], &[]);
    let pkcs1 = plain(m::RSA_PKCS);
    let mut signature = card.sign(&private, &pkcs1, b"").unwrap();
    assert_eq!(card.verify(&public, &pkcs1, b"", &signature), Ok(()));
    assert_eq!(card.verify(&public, &pkcs1, b"\0", &signature), Err(rv::SIGNATURE_INVALID));
    assert_eq!(card.verify(&other, &pkcs1, b"", &signature), Err(rv::SIGNATURE_INVALID));
    assert_eq!(card.verify(&public, &pkcs1, b"", &signature[1..]), Err(rv::SIGNATURE_LEN_RANGE));
    // In several calls: with no part, an empty one, one with data.
    let init = |data: Option<&[u8]>| {
        let state = card.one(F::VerifyInit, &[&pkcs1, &public]).unwrap();
        data.map_or(state.clone(), |data| card.one(F::VerifyUpdate, &[&state, data]).unwrap())
    };
    assert_eq!(card.call(F::VerifyFinal, &[&init(None), &signature]), Ok(vec![]));
    assert_eq!(card.call(F::VerifyFinal, &[&init(Some(b"")), &signature]), Ok(vec![]));
    assert_eq!(card.call(F::VerifyFinal, &[&init(Some(b"x")), &signature]), Err(rv::SIGNATURE_INVALID));
    signature[64] ^= 1;
    assert_eq!(card.verify(&public, &pkcs1, b"", &signature), Err(rv::SIGNATURE_INVALID));
}

#[test]
fn ecdsa_verifies_what_rfc_6979_signed() {
    let card = card();
    // A.2.5, with SHA-256, message "sample".
    let point = hex("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6\
         7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299");
    let info = [&hex("3059301306072a8648ce3d020106082a8648ce3d03010703420004")[..], &point].concat();
    let signature = hex("efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716\
         f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8");
    for kind in [m::ECDSA_SHA256, m::IBM_ECDSA_SHA256] {
        assert_eq!(card.verify(&info, &plain(kind), b"sample", &signature), Ok(()));
        assert_eq!(card.verify(&info, &plain(kind), b"samplf", &signature), Err(rv::SIGNATURE_INVALID));
    }
    // The key of that appendix signs, and says which public key it has.
    let scalar = hex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
    let pkcs8 = [&hex("3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420")[..], &scalar].concat();
    let private = card.import(k::PRIVATE, k::EC, &pkcs8, &[]).unwrap();
    let (_, known) = card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO, a::EC_PARAMS]).unwrap();
    assert_eq!(known, [info.clone(), P256.to_vec()]);
    let mine = card.sign(&private, &plain(m::ECDSA_SHA256), b"sample").unwrap();
    assert_eq!(card.verify(&info, &plain(m::ECDSA_SHA256), b"sample", &mine), Ok(()));
    assert_eq!(card.sign(&private, &plain(m::RSA_PKCS), b"sample"), Err(rv::KEY_TYPE_INCONSISTENT));
}

#[test]
fn rsa_signs_as_another_library_does() {
    let card = card();
    let private = card.import(k::PRIVATE, k::RSA, include_bytes!("../src/self_test/rsa.p8"), &[]).unwrap();
    let expected = include_bytes!("../src/self_test/rsa.sig");
    let pkcs1 = plain(m::SHA256_RSA_PKCS);
    assert_eq!(card.sign(&private, &pkcs1, b"abc").as_deref(), Ok(&expected[..]));
    let (_, known) = card.attributes(&private, 0, &[a::PUBLIC_KEY_INFO, a::MODULUS_BITS, a::PUBLIC_EXPONENT]).unwrap();
    assert_eq!(known[1..], [2048_u32.to_be_bytes().to_vec(), vec![1, 0, 1]]);
    assert_eq!(card.verify(&known[0], &pkcs1, b"abc", expected), Ok(()));
    assert_eq!(card.verify(&known[0], &pkcs1, b"abd", expected), Err(rv::SIGNATURE_INVALID));
    for hash in [m::SHA256, m::SHA3_256, m::IBM_SHA3_256] {
        let mgf = if hash == m::SHA256 { 2 } else { 0x8000_0002 };
        let pss = with(m::RSA_PKCS_PSS, Parameter::Pss { hash, mgf, salt: 32 });
        let signature = card.sign(&private, &pss, &[9; 32]).unwrap();
        assert_eq!(card.verify(&known[0], &pss, &[9; 32], &signature), Ok(()));
        let oaep = with(m::RSA_PKCS_OAEP, Parameter::Oaep { hash, mgf, source: 1, label: b"label" });
        let encrypted = card.encrypt(&known[0], &oaep, b"secret").unwrap();
        assert_eq!(card.decrypt(&private, &oaep, &encrypted), Ok(b"secret".to_vec()));
        let other = with(m::RSA_PKCS_OAEP, Parameter::Oaep { hash, mgf, source: 0, label: b"" });
        assert_eq!(card.decrypt(&private, &other, &encrypted), Err(rv::ENCRYPTED_DATA_INVALID));
    }
    let encrypted = card.encrypt(&known[0], &plain(m::RSA_PKCS), b"secret").unwrap();
    assert_eq!(card.decrypt(&private, &plain(m::RSA_PKCS), &encrypted), Ok(b"secret".to_vec()));
    // A private key does not encrypt, and a public one does not decrypt.
    assert_eq!(card.encrypt(&private, &plain(m::RSA_PKCS), b"x"), Err(rv::KEY_FUNCTION_NOT_PERMITTED));
    assert_eq!(card.decrypt(&known[0], &plain(m::RSA_PKCS), &encrypted), Err(rv::KEY_FUNCTION_NOT_PERMITTED));
}

#[test]
fn check_values_are_those_of_other_implementations() {
    let card = card();
    // The first three bytes of a block of zeros encrypted by the key, by OpenSSL; the length in bits.
    let helper = card.aes(32, &[(a::WRAP, true), (a::UNWRAP, true)]);
    let cbc = with_iv(m::AES_CBC_PAD, &[0; 16]);
    let wrapped = card.encrypt(&helper, &cbc, &hex("2b7e151628aed2a6abf7158809cf4f3c")).unwrap();
    let wanted = template(&[], &[(a::KEY_TYPE, Value::Number(k::AES))]);
    let results = card.unwrap(&wrapped, &helper, &cbc, &wanted).unwrap();
    assert_eq!(results[1], hex("7df76b 00000080"));
    let generated = card.call(F::GenerateKey, &[&plain(m::DES2_KEY_GEN), b"", b""]).unwrap();
    assert_eq!((generated[1].len(), &generated[1][3..]), (7, &128_u32.to_be_bytes()[..]));
}

#[test]
fn data_is_encrypted_again_without_being_seen() {
    let card = card();
    let (from, to) = (card.aes(16, &[]), card.generate(m::DES3_KEY_GEN, b"").unwrap());
    let (cbc, ecb) = (with_iv(m::AES_CBC_PAD, &[1; 16]), plain(m::DES3_ECB));
    let first = card.encrypt(&from, &cbc, b"sixteen letters!").unwrap();
    let second = card.one(F::ReencryptSingle, &[&from, &to, &cbc, &ecb, &first]).unwrap();
    assert_eq!(second, card.encrypt(&to, &ecb, b"sixteen letters!").unwrap());
    let not = card.set(&from, &[(a::DECRYPT, false)]).unwrap();
    let refused = card.one(F::ReencryptSingle, &[&not, &to, &cbc, &ecb, &first]);
    assert_eq!(refused, Err(rv::KEY_FUNCTION_NOT_PERMITTED));
}

#[test]
fn random_bytes_are_as_many_as_asked_for() {
    let card = card();
    for count in [0_u32, 1, 1000] {
        assert_eq!(card.one(F::GenerateRandom, &[&count.to_be_bytes()]).unwrap().len(), count as usize);
    }
    assert_eq!(card.one(F::GenerateRandom, &[&u32::MAX.to_be_bytes()]), Err(rv::ARGUMENTS_BAD));
    assert_eq!(card.one(F::GenerateRandom, &[&[1]]), Err(rv::ARGUMENTS_BAD));
    assert_eq!(card.call(F::SeedRandom, &[b"more"]), Ok(vec![]));
}
