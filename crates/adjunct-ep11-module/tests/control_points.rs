//! Each control point, off: what it is for answers CKR_FUNCTION_CANCELED.

mod common;

use adjunct_ep11_module::control::Points;
use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, compliance, control as c, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::Parameter;
use common::*;

type Case<'a> = (&'a str, &'a [u8], Box<dyn Fn() -> Result<(), u32> + 'a>);

fn of(class: u32, kind: u32) -> Vec<u8> {
    template(&[], &[(a::CLASS, Value::Number(class)), (a::KEY_TYPE, Value::Number(kind))])
}

#[test]
fn each_control_point_bars_what_it_is_for() {
    let card = card();
    let card = &card;
    let all = [(a::WRAP, true), (a::UNWRAP, true), (a::DERIVE, true)];
    let lone = |uses: &[u32]| {
        let flags = [a::ENCRYPT, a::DECRYPT, a::SIGN, a::VERIFY, a::WRAP, a::UNWRAP];
        flags.map(|kind| (kind, uses.contains(&kind)))
    };
    let aes = card.aes(32, &all);
    let (aes16, aes24) = (card.aes(16, &[]), card.aes(24, &[]));
    let (des2, des3) = (card.generate(m::DES2_KEY_GEN, b"").unwrap(), card.generate(m::DES3_KEY_GEN, b"").unwrap());
    let weak_kek = card.aes(16, &lone(&[a::WRAP, a::UNWRAP]));
    let [rsa, rsa_public] = card.rsa(2048, &[(a::WRAP, true)], &[(a::UNWRAP, true)]);
    let [small, _] = card.rsa(1024, &[], &[]);
    let rsa_raw = card.attributes(&rsa, 0, &[a::PUBLIC_KEY_INFO]).unwrap().1.remove(0);
    let [ec, ec_public] = card.ec(P256, &[(a::DERIVE, true)]);
    let [p192, _] = card.ec(P192, &[]);
    let [bp160, _] = card.ec(BP160, &[]);
    let [bp256, _] = card.ec(BP256, &[]);
    let [ed, _] = card.ec(ED25519, &[]);
    let set = template(&[], &[(a::IBM_PARAMETER_SET, Value::Number(1))]);
    let [ml_dsa, _] = card.pair(m::IBM_ML_DSA_KEY_PAIR_GEN, &set, b"").unwrap();
    let short = card.import(k::SECRET, k::GENERIC_SECRET, &[1; 8], &[]).unwrap();
    let hmac_short = card.import(k::SECRET, k::GENERIC_SECRET, &[1; 15], &[]).unwrap();
    let oaep = with(m::RSA_PKCS_OAEP, Parameter::Oaep { hash: m::SHA256, mgf: 2, source: 0, label: b"" });
    let pad = with_iv(m::AES_CBC_PAD, &[1; 16]);
    let wrapped = card.wrap(&aes16, &aes, &pad).unwrap();
    let wrapped_by_rsa = card.wrap(&aes16, &rsa_public, &oaep).unwrap();
    let encrypted = card.encrypt(&rsa_public, &oaep, b"x").unwrap();
    let mac = card.sign(&aes, &plain(m::AES_CMAC), b"x").unwrap();
    let point = card.attributes(&ec_public, 0, &[a::PUBLIC_KEY_INFO]).unwrap().1[0][26..].to_vec();
    let bound = card.aes(32, &[(a::IBM_ATTRBOUND, true), (a::DERIVE, true)]);
    let set_public = || card.set(&ec_public, &[(a::IBM_ATTRBOUND, true)]).map(drop);
    let low = template(&[], &[(a::MODULUS_BITS, Value::Number(1024)), (a::PUBLIC_EXPONENT, Value::Bytes(&[3]))]);
    let derive = |base: &[u8], mechanism: &[u8]| card.call(F::DeriveKey, &[mechanism, b"", base, b"", b""]).map(drop);
    let kem_pair = |card: &Card| card.pair(m::IBM_ML_KEM_KEY_PAIR_GEN, &set, b"").map(drop);
    let sign = |key: &[u8], kind| card.sign(key, &plain(kind), &[1; 32]).map(drop);
    let cases: Vec<Case<'_>> = vec![
        ("sign with a private key", &[c::SIGN_ASYMM, c::EC, c::NIST, c::BITS_128], Box::new(|| sign(&ec, m::ECDSA))),
        ("sign with RSA", &[c::SIGN_ASYMM, c::RSA, c::BITS_112], Box::new(|| sign(&rsa, m::SHA256_RSA_PKCS))),
        ("sign with SHA-1", &[c::NFIPS2011], Box::new(|| sign(&rsa, m::SHA1_RSA_PKCS))),
        ("sign with RSA-1024", &[c::BITS_80, c::NBSI2011, c::NBSI2017], Box::new(|| sign(&small, m::SHA256_RSA_PKCS))),
        ("sign with P-192", &[c::BITS_80, c::NBSI2011, c::NBSI2017], Box::new(|| sign(&p192, m::ECDSA))),
        ("sign with Brainpool", &[c::EC, c::BPOOL, c::NFIPS2009], Box::new(|| sign(&bp256, m::ECDSA))),
        ("sign with Brainpool 160", &[c::NBSI2011, c::BITS_80], Box::new(|| sign(&bp160, m::ECDSA))),
        ("sign with Ed25519", &[c::EC_25519, c::NFIPS2009], Box::new(|| sign(&ed, m::EDDSA))),
        ("sign with ML-DSA", &[c::PQC, c::ML_DSA, c::SIGN_ASYMM], Box::new(|| sign(&ml_dsa, m::IBM_ML_DSA))),
        (
            "make a MAC",
            &[c::SIGN_SYMM, c::BITS_256, c::SIGN_CRYPT, c::WRAP_SIGN, c::WRAP_CRYPT],
            Box::new(|| sign(&aes, m::AES_CMAC)),
        ),
        ("check a MAC", &[c::SIGVERIFY_SYMM], Box::new(|| card.verify(&aes, &plain(m::AES_CMAC), b"x", &mac))),
        ("make a MAC with a short key", &[c::HMAC_ANY, c::BITS_112], Box::new(|| sign(&hmac_short, m::SHA256_HMAC))),
        ("make a MAC with a weak key", &[c::BELOW_80_BITS], Box::new(|| sign(&short, m::SHA_1_HMAC))),
        (
            "encrypt",
            &[c::ENCRYPT_SYMM, c::BITS_192],
            Box::new(|| card.encrypt(&aes24, &plain(m::AES_ECB), &[0; 16]).map(drop)),
        ),
        (
            "encrypt with triple DES",
            &[c::NFIPS2024, c::BITS_112],
            Box::new(|| card.encrypt(&des3, &plain(m::DES3_ECB), &[0; 8]).map(drop)),
        ),
        (
            "encrypt with two keys",
            &[c::NFIPS2011, c::NFIPS2024],
            Box::new(|| card.encrypt(&des2, &plain(m::DES3_ECB), &[0; 8]).map(drop)),
        ),
        ("decrypt", &[c::DECRYPT_SYMM], Box::new(|| card.decrypt(&aes, &plain(m::AES_ECB), &[0; 16]).map(drop))),
        (
            "decrypt with RSA",
            &[c::DECRYPT_ASYMM, c::RSA_OAEP, c::RSA],
            Box::new(|| card.decrypt(&rsa, &oaep, &encrypted).map(drop)),
        ),
        (
            "encrypt by PKCS #1 v1.5",
            &[c::NFIPS2021],
            Box::new(|| card.encrypt(&rsa_public, &plain(m::RSA_PKCS), b"x").map(drop)),
        ),
        ("wrap", &[c::WRAP_SYMM, c::NON_ATTRBOUND], Box::new(|| card.wrap(&aes16, &aes, &pad).map(drop))),
        (
            "wrap with RSA",
            &[c::WRAP_ASYMM, c::RSA, c::RSA_OAEP, c::NON_ATTRBOUND, c::WRAP_STRONGER],
            Box::new(|| card.wrap(&aes16, &rsa_public, &oaep).map(drop)),
        ),
        (
            "wrap with a public key that nobody vouches for",
            &[c::WRAP_RAW_SPKI],
            Box::new(|| card.wrap(&aes16, &rsa_raw, &oaep).map(drop)),
        ),
        ("wrap a stronger key", &[c::WRAP_STRONGER], Box::new(|| card.wrap(&aes24, &weak_kek, &pad).map(drop))),
        (
            "unwrap",
            &[c::UNWRAP_SYMM, c::NON_ATTRBOUND, c::KEYGEN_SYMM],
            Box::new(|| card.unwrap(&wrapped, &aes, &pad, &of(k::SECRET, k::AES)).map(drop)),
        ),
        (
            "unwrap with RSA",
            &[c::UNWRAP_ASYMM, c::RSA_OAEP, c::WRAP_STRONGER],
            Box::new(|| card.unwrap(&wrapped_by_rsa, &rsa, &oaep, &of(k::SECRET, k::AES)).map(drop)),
        ),
        (
            "make a pair",
            &[c::KEYGEN_ASYMM, c::EC, c::NIST],
            Box::new(|| {
                card.pair(m::EC_KEY_PAIR_GEN, &template(&[], &[(a::EC_PARAMS, Value::Bytes(P256))]), b"").map(drop)
            }),
        ),
        ("make a pair of ML-KEM", &[c::PQC, c::ML_KEM], Box::new(|| kem_pair(card))),
        (
            "make RSA with a low exponent",
            &[c::RSA65536],
            Box::new(|| card.pair(m::RSA_PKCS_KEY_PAIR_GEN, &low, b"").map(drop)),
        ),
        ("make a key", &[c::KEYGEN_SYMM, c::NONSESSION], Box::new(|| card.generate(m::DES3_KEY_GEN, b"").map(drop))),
        (
            "make a trusted key",
            &[c::USER_SET_TRUSTED],
            Box::new(|| card.generate(m::DES3_KEY_GEN, &template(&[(a::TRUSTED, true)], &[])).map(drop)),
        ),
        ("trust a key", &[c::USER_SET_TRUSTED], Box::new(|| card.set(&aes16, &[(a::TRUSTED, true)]).map(drop))),
        (
            "make a key that may leave in two ways",
            &[c::COMBINED_EXTRACT],
            Box::new(|| {
                card.generate(
                    m::DES3_KEY_GEN,
                    &template(&[(a::EXTRACTABLE, true), (a::IBM_PROTKEY_EXTRACTABLE, true)], &[]),
                )
                .map(drop)
            }),
        ),
        ("use a key without a session", &[c::NONSESSION], Box::new(|| sign(&aes, m::AES_CMAC))),
        ("change attributes", &[c::MODIFY_OBJECTS], Box::new(|| card.set(&aes16, &[(a::SIGN, false)]).map(drop))),
        ("bind a public key", &[c::USER_SET_ATTRBOUND], Box::new(set_public)),
        ("derive", &[c::DERIVE, c::KEYGEN_SYMM], Box::new(|| derive(&ec, &with_iv(m::ECDH1_DERIVE, &point)))),
        (
            "derive what is not bound",
            &[c::DERIVE_NON_AB],
            Box::new(|| derive(&bound, &plain(m::SHA256_KEY_DERIVATION))),
        ),
        ("log in", &[c::LOGIN_PRE_F2021], Box::new(|| card.call(F::Login, &[b"12345678", b""]).map(drop))),
        ("seed", &[c::RNG_SEED], Box::new(|| card.call(F::SeedRandom, &[b"seed"]).map(drop))),
    ];
    for (name, points, case) in &cases {
        assert_eq!(case(), Ok(()), "{name}");
        for point in *points {
            card.off(&[*point]);
            assert_eq!(case(), Err(rv::FUNCTION_CANCELED), "{name}: {point}");
        }
        card.off(&[]);
        assert_eq!(case(), Ok(()), "{name}, again");
    }
}

#[test]
fn defaults_give_way_to_control_points() {
    let card = card();
    card.off(&[c::SIGN_CRYPT]);
    // A key that says nothing encrypts; one that signs does only that.
    let (silent, signs) = (card.aes(16, &[]), card.aes(16, &[(a::SIGN, true)]));
    let uses = |key: &[u8]| card.attributes(key, 0xff00, &[]).unwrap().0;
    assert_eq!((uses(&silent), uses(&signs)), (0xc00, 0x8100));
    let both = template(&[(a::SIGN, true), (a::ENCRYPT, true)], &[(a::VALUE_LEN, Value::Number(16))]);
    assert_eq!(card.generate(m::AES_KEY_GEN, &both), Err(rv::FUNCTION_CANCELED));
}

#[test]
fn control_points_make_compliance_modes() {
    assert_eq!(Points::ALL.compliance(), compliance::FIPS2009);
    let without = |points: &[u8]| points.iter().fold(Points::ALL, |all, point| all.without(*point)).compliance();
    assert_eq!(without(&[c::NFIPS2011, c::BITS_80, c::RSA65536]), compliance::FIPS2009 | compliance::FIPS2011);
    assert_eq!(without(&[c::NBSI2009, c::NON_ATTRBOUND]), compliance::FIPS2009 | compliance::BSI2009);
    // Keys have the mode of the moment in which they were made.
    let card = card();
    card.off(&[c::NBSI2009, c::NON_ATTRBOUND]);
    let key = card.aes(16, &[]);
    assert_eq!(key[56..64], (compliance::FIPS2009 | compliance::BSI2009).to_be_bytes());
}
