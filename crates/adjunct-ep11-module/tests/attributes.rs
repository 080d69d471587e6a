//! Templates, and attributes that are asked for and changed.

mod common;

use adjunct_ep11_wire::attributes::Value;
use adjunct_ep11_wire::codes::{attribute as a, flag, key as k, mechanism as m, rv};
use adjunct_ep11_wire::function::Function as F;
use adjunct_ep11_wire::mechanism::{Mechanism, Parameter};
use common::*;

const LENGTH: (u32, Value<'static>) = (a::VALUE_LEN, Value::Number(16));
/// All booleans that may be asked for.
const ALL: u32 = 0x7f_ffff & !flag::NEVER_MODIFIABLE;

#[test]
fn a_template_says_no_more_than_it_may() {
    let card = card();
    let generate = |flags: &[(u32, bool)], values: &[(u32, Value<'_>)]| {
        card.generate(m::AES_KEY_GEN, &template(flags, values)).map(|_| ())
    };
    assert_eq!(generate(&[], &[LENGTH]), Ok(()));
    assert_eq!(generate(&[], &[]), Err(rv::TEMPLATE_INCOMPLETE));
    assert_eq!(generate(&[], &[(a::VALUE_LEN, Value::Number(17))]), Err(rv::KEY_SIZE_RANGE));
    assert_eq!(generate(&[], &[LENGTH, (a::KEY_TYPE, Value::Number(k::DES3))]), Err(rv::TEMPLATE_INCONSISTENT));
    assert_eq!(generate(&[], &[LENGTH, (a::CLASS, Value::Number(k::PRIVATE))]), Err(rv::TEMPLATE_INCONSISTENT));
    assert_eq!(generate(&[], &[LENGTH, (a::VALUE, Value::Bytes(&[1; 16]))]), Err(rv::TEMPLATE_INCONSISTENT));
    assert_eq!(generate(&[], &[LENGTH, (0x7fff_ffff, Value::Bytes(b"x"))]), Err(rv::ATTRIBUTE_TYPE_INVALID));
    assert_eq!(generate(&[], &[LENGTH, (a::IBM_STD_COMPLIANCE1, Value::Number(1))]), Err(rv::ATTRIBUTE_READ_ONLY));
    // CKA_LABEL and CKA_TOKEN say nothing of a blob.
    assert_eq!(generate(&[], &[LENGTH, (3, Value::Bytes(b"label")), (1, Value::Bytes(&[1]))]), Ok(()));
    for kind in [a::LOCAL, a::NEVER_EXTRACTABLE, a::IBM_ALWAYS_RETAINED, a::IBM_PROTKEY_NEVER_EXTRACTABLE] {
        assert_eq!(generate(&[(kind, true)], &[LENGTH]), Err(rv::ATTRIBUTE_READ_ONLY));
    }
    assert_eq!(generate(&[(a::IBM_RETAINKEY, true)], &[LENGTH]), Err(rv::TEMPLATE_INCONSISTENT));
    let both = [(a::MODIFIABLE, true), (a::IBM_NEVER_MODIFIABLE, true)];
    assert_eq!(generate(&both, &[LENGTH]), Err(rv::TEMPLATE_INCONSISTENT));
    assert_eq!(card.generate(m::AES_KEY_GEN, b"no template"), Err(rv::ARGUMENTS_BAD));
    assert_eq!(card.generate(m::AES_CBC, &template(&[], &[LENGTH])), Err(rv::MECHANISM_INVALID));
    let pair = |public: &[u8], private: &[u8]| card.pair(m::EC_KEY_PAIR_GEN, public, private).map(drop);
    let curve = |oid| template(&[], &[(a::EC_PARAMS, Value::Bytes(oid))]);
    assert_eq!(pair(&curve(P256), b""), Ok(()));
    assert_eq!(pair(b"", b""), Err(rv::TEMPLATE_INCOMPLETE));
    // secp160r1, which nothing here computes with.
    assert_eq!(pair(&curve(&[6, 5, 0x2b, 0x81, 4, 0, 8]), b""), Err(rv::CURVE_NOT_SUPPORTED));
    assert_eq!(pair(&curve(P256), &template(&[(a::ENCRYPT, true)], &[])), Err(rv::TEMPLATE_INCONSISTENT));
    assert_eq!(pair(&curve(P256), &template(&[(a::TRUSTED, true)], &[])), Err(rv::TEMPLATE_INCONSISTENT));
    let derives = template(&[(a::DERIVE, true)], &[(a::EC_PARAMS, Value::Bytes(P256))]);
    assert_eq!(pair(&derives, b""), Ok(()));
    assert_eq!(pair(&curve(ED25519), &template(&[(a::DERIVE, true)], &[])), Err(rv::TEMPLATE_INCONSISTENT));
    let rsa =
        |bits| card.pair(m::RSA_PKCS_KEY_PAIR_GEN, &template(&[], &[(a::MODULUS_BITS, Value::Number(bits))]), b"");
    assert_eq!((rsa(256).map(drop), rsa(8192).map(drop)), (Err(rv::KEY_SIZE_RANGE), Err(rv::KEY_SIZE_RANGE)));
    let set = |set| template(&[], &[(a::IBM_PARAMETER_SET, Value::Number(set))]);
    let lattice = card.pair(m::IBM_ML_DSA_KEY_PAIR_GEN, &set(4), b"").map(drop);
    assert_eq!(lattice, Err(rv::IBM_PQC_PARAMS_NOT_SUPPORTED));
}

#[test]
fn a_secret_key_may_be_called_able_to_do_all() {
    let card = card();
    let uses = [a::ENCRYPT, a::DECRYPT, a::WRAP, a::UNWRAP, a::SIGN, a::VERIFY].map(|kind| (kind, true));
    let key = card.generate(m::GENERIC_SECRET_KEY_GEN, &template(&uses, &[(a::VALUE_LEN, Value::Number(32))])).unwrap();
    let cbc = Mechanism { kind: m::AES_CBC, parameter: Parameter::Bytes(&[0; 16]) }.to_bytes();
    assert_eq!(card.one(F::EncryptSingle, &[&key, &cbc, &[0; 16]]), Err(rv::KEY_TYPE_INCONSISTENT));
}

#[test]
fn an_hmacs_sizes_are_bits_from_half_of_the_hash_on() {
    let answer = card().call(F::GetMechanismInfo, &[&m::SHA256_HMAC.to_be_bytes()]).unwrap();
    assert_eq!(answer[0][..8], [128_u32, 32768].map(u32::to_be_bytes).concat()[..]);
}

#[test]
fn what_a_template_leaves_out_has_defaults() {
    let card = card();
    let uses = flag::SIGN | flag::VERIFY | flag::ENCRYPT | flag::DECRYPT;
    let new = flag::MODIFIABLE | flag::LOCAL;
    let never = flag::NEVER_EXTRACTABLE | flag::PROTKEY_NEVER_EXTRACTABLE;
    let flags = |key: &[u8]| card.attributes(key, ALL, &[]).unwrap().0;
    assert_eq!(flags(&card.aes(16, &[])), uses | new | flag::EXTRACTABLE | flag::PROTKEY_NEVER_EXTRACTABLE);
    assert_eq!(flags(&card.aes(16, &[(a::EXTRACTABLE, false)])), uses | new | never);
    // One that may leave as a protected key is not extractable unless it says so.
    let protected = card.aes(16, &[(a::IBM_PROTKEY_EXTRACTABLE, true)]);
    assert_eq!(flags(&protected), uses | new | flag::PROTKEY_EXTRACTABLE | flag::NEVER_EXTRACTABLE);
    let fixed = card.aes(16, &[(a::MODIFIABLE, false), (a::ENCRYPT, false)]);
    let expected =
        (uses | new | flag::EXTRACTABLE | flag::PROTKEY_NEVER_EXTRACTABLE) & !flag::MODIFIABLE & !flag::ENCRYPT;
    assert_eq!(flags(&fixed), expected);
    let [private, public] = card.ec(P256, &[]);
    assert_eq!(flags(&public), flag::MODIFIABLE | flag::LOCAL | flag::VERIFY);
    assert_eq!(flags(&private), new | flag::SIGN | flag::EXTRACTABLE | flag::PROTKEY_NEVER_EXTRACTABLE);
}

#[test]
fn attributes_are_those_of_the_key() {
    let card = card();
    let aes = card.aes(24, &[]);
    let numbers = |values: Vec<Vec<u8>>| -> Vec<u32> {
        values.into_iter().map(|value| u32::from_be_bytes(value.try_into().unwrap())).collect()
    };
    let kinds = [a::CLASS, a::KEY_TYPE, a::VALUE_LEN, a::IBM_STD_COMPLIANCE1];
    assert_eq!(numbers(card.attributes(&aes, 0, &kinds).unwrap().1), [k::SECRET, k::AES, 24, 1]);
    assert_eq!(card.attributes(&aes, 0, &[a::VALUE]), Err(rv::ATTRIBUTE_SENSITIVE));
    assert_eq!(card.attributes(&aes, 0, &[a::MODULUS]), Err(rv::ATTRIBUTE_TYPE_INVALID));
    assert_eq!(card.attributes(&aes, 0, &[a::PUBLIC_KEY_INFO]), Err(rv::ATTRIBUTE_TYPE_INVALID));
    assert_eq!(card.attributes(&aes, 0, &[a::MODULUS_BITS]), Err(rv::ATTRIBUTE_TYPE_INVALID));
    // As the cards of Z have it.
    assert_eq!(card.attributes(&aes, flag::NEVER_MODIFIABLE, &[]), Err(rv::ARGUMENTS_BAD));
    let [private, public] = card.rsa(1024, &[], &[]);
    for key in [&private, &public] {
        let (_, values) =
            card.attributes(key, 0, &[a::MODULUS, a::PUBLIC_EXPONENT, a::IBM_MACED_PUBLIC_KEY_INFO]).unwrap();
        assert_eq!((values[0].len(), &values[1][..]), (128, &[1, 0, 1][..]));
        let (ok, data) = (plain(m::SHA256_RSA_PKCS), b"data");
        let signature = card.sign(&private, &ok, data).unwrap();
        assert_eq!(card.verify(&values[2], &ok, data, &signature), Ok(()));
        // A public key, whose attributes are not those of the private one.
        let flags = card.attributes(&values[2], flag::SIGN | flag::DECRYPT | flag::EXTRACTABLE, &[]).unwrap().0;
        assert_eq!(flags, 0);
    }
    let set = template(&[], &[(a::IBM_PQC_PARAMS, Value::Bytes(&[6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 19]))]);
    let [private, _] = card.pair(m::IBM_ML_DSA_KEY_PAIR_GEN, &set, b"").unwrap();
    let kinds = [a::KEY_TYPE, a::IBM_PARAMETER_SET];
    assert_eq!(numbers(card.attributes(&private, 0, &kinds).unwrap().1), [k::IBM_ML_DSA, 3]);
}

#[test]
fn attributes_change_as_their_rules_say() {
    let card = card();
    let key = card.aes(16, &[(a::IBM_RESTRICTABLE, true)]);
    let flags = |key: &[u8]| card.attributes(key, ALL, &[]).unwrap().0;
    // Both ways.
    for kind in [
        a::SIGN,
        a::VERIFY,
        a::ENCRYPT,
        a::DECRYPT,
        a::WRAP,
        a::UNWRAP,
        a::DERIVE,
        a::IBM_USE_AS_DATA,
        a::WRAP_WITH_TRUSTED,
    ] {
        let off = card.set(&key, &[(kind, false)]).unwrap();
        let on = card.set(&off, &[(kind, true)]).unwrap();
        let bit = adjunct_ep11_wire::attributes::bit(kind).unwrap();
        assert_eq!((flags(&off) & bit, flags(&on) & bit), (0, bit), "{kind:#x}");
        assert_eq!(flags(&off) | bit, flags(&key) | bit);
        assert_eq!(off.len(), key.len());
    }
    // Downward alone.
    for kind in [a::EXTRACTABLE, a::MODIFIABLE, a::IBM_RESTRICTABLE] {
        let off = card.set(&key, &[(kind, false)]).unwrap();
        assert_eq!(card.set(&off, &[(kind, true)]), Err(rv::ATTRIBUTE_READ_ONLY), "{kind:#x}");
        assert!(card.set(&off, &[(kind, false)]).is_ok());
    }
    assert_eq!(card.set(&key, &[(a::IBM_PROTKEY_EXTRACTABLE, true)]), Err(rv::ATTRIBUTE_READ_ONLY));
    for kind in [a::LOCAL, a::NEVER_EXTRACTABLE, a::IBM_PROTKEY_NEVER_EXTRACTABLE] {
        let now = flags(&key) & adjunct_ep11_wire::attributes::bit(kind).unwrap() != 0;
        assert_eq!(card.set(&key, &[(kind, !now)]), Err(rv::ATTRIBUTE_READ_ONLY));
        assert!(card.set(&key, &[(kind, now)]).is_ok(), "no change");
    }
    // What is not modifiable may still be restricted, where it may be.
    let fixed = card.set(&key, &[(a::MODIFIABLE, false)]).unwrap();
    let less = card.set(&fixed, &[(a::SIGN, false)]).unwrap();
    assert_eq!(card.set(&less, &[(a::SIGN, true)]), Err(rv::ATTRIBUTE_READ_ONLY));
    let firm = card.set(&fixed, &[(a::IBM_RESTRICTABLE, false)]).unwrap();
    assert_eq!(card.set(&firm, &[(a::SIGN, false)]), Err(rv::ATTRIBUTE_READ_ONLY));
    // Nothing that the type cannot do, and no values.
    let [private, _] = card.ec(P256, &[]);
    assert_eq!(card.set(&private, &[(a::DECRYPT, true)]), Err(rv::TEMPLATE_INCONSISTENT));
    assert_eq!(card.set(&private, &[(a::TRUSTED, true)]), Err(rv::TEMPLATE_INCONSISTENT));
    let trusted = card.set(&card.aes(16, &[]), &[(a::TRUSTED, true)]).unwrap();
    assert!(card.set(&trusted, &[(a::TRUSTED, false)]).is_ok());
    let fixed = card.set(&card.aes(16, &[]), &[(a::MODIFIABLE, false)]).unwrap();
    assert_eq!(card.set(&fixed, &[(a::TRUSTED, true)]), Err(rv::ATTRIBUTE_READ_ONLY));
    let values = template(&[], &[LENGTH]);
    assert_eq!(card.one(F::SetAttributeValue, &[&key, &values]), Err(rv::ATTRIBUTE_READ_ONLY));
}
