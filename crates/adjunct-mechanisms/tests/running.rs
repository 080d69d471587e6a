//! Operations that go on elsewhere: a message whose state is taken out between two parts comes to what it does in one piece, wherever it is split.

use adjunct_mechanisms::keys;
use adjunct_mechanisms::mechanism::Mechanism;
use adjunct_mechanisms::mechanism::hash::Hash;
use adjunct_mechanisms::mechanism::params::Params;
use adjunct_mechanisms::object::attributes::Attributes;
use adjunct_mechanisms::object::complete::{Defaults, Origin};
use adjunct_mechanisms::object::{Held, Object};
use adjunct_mechanisms::operation::{Cipher, Digester, Signer, Verifier};
use adjunct_mechanisms::rv::{Result, Rv};
use cryptoki_sys::*;
use std::sync::Arc;

const DEFAULTS: Defaults = Defaults { open: false };

fn held(object: Object) -> Held {
    Held::Own(Arc::new(object))
}

fn secret(kind: CK_KEY_TYPE, value: &[u8]) -> Held {
    let mut attributes = Attributes::default();
    attributes.set_number(CKA_CLASS, CKO_SECRET_KEY).unwrap();
    attributes.set_number(CKA_KEY_TYPE, kind).unwrap();
    attributes.set(CKA_VALUE, value).unwrap();
    held(DEFAULTS.object(attributes, Origin::Created).unwrap())
}

/// A pair: public, private.
fn pair(mechanism: CK_MECHANISM_TYPE, public: impl FnOnce(&mut Attributes)) -> [Held; 2] {
    let mut template = Attributes::default();
    public(&mut template);
    let mechanism = Mechanism::new(mechanism, Params::None);
    keys::generate_pair(DEFAULTS, mechanism, template, Attributes::default()).unwrap().map(held)
}

fn rsa() -> [Held; 2] {
    pair(CKM_RSA_PKCS_KEY_PAIR_GEN, |template| template.set_number(CKA_MODULUS_BITS, 2048).unwrap())
}

fn p256() -> [Held; 2] {
    let oid = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    pair(CKM_EC_KEY_PAIR_GEN, |template| template.set(CKA_EC_PARAMS, &oid).unwrap())
}

fn message() -> Vec<u8> {
    (0..300_u16).map(|at| (at * 7 + 3) as u8).collect()
}

/// A digest of parts, each by an operation of its own.
fn digested(begin: impl Fn() -> Result<Box<dyn Digester>>, parts: &[&[u8]]) -> Vec<u8> {
    let mut operation = begin().unwrap();
    for part in parts {
        operation.update(part);
        let running = operation.running().expect("a state");
        operation = begin().unwrap();
        operation.resume(&running).unwrap();
    }
    let mut out = vec![0; operation.size()];
    operation.finish(&mut out);
    out
}

fn signed(begin: impl Fn() -> Result<Box<dyn Signer>>, parts: &[&[u8]]) -> Vec<u8> {
    let mut operation = begin().unwrap();
    for part in parts {
        operation.update(part).unwrap();
        let running = operation.running().expect("a state");
        operation = begin().unwrap();
        operation.resume(&running).unwrap();
    }
    let mut out = vec![0; operation.length()];
    let length = operation.finish(&mut out).unwrap();
    out.truncate(length);
    out
}

fn verified(begin: impl Fn() -> Result<Box<dyn Verifier>>, parts: &[&[u8]], signature: &[u8]) -> Result {
    let mut operation = begin().unwrap();
    for part in parts {
        operation.update(part).unwrap();
        let running = operation.running().expect("a state");
        operation = begin().unwrap();
        operation.resume(&running).unwrap();
    }
    operation.finish(signature)
}

fn crypted(begin: impl Fn() -> Result<Box<dyn Cipher>>, parts: &[&[u8]]) -> Vec<u8> {
    let (mut operation, mut all) = (begin().unwrap(), Vec::new());
    for part in parts {
        let mut out = vec![0; operation.update_length(part.len())];
        let length = operation.update(part, &mut out).unwrap();
        all.extend_from_slice(&out[..length]);
        let running = operation.running().expect("a state");
        operation = begin().unwrap();
        operation.resume(&running).unwrap();
    }
    let mut out = vec![0; operation.final_length()];
    let length = operation.finish(&mut out).unwrap();
    all.extend_from_slice(&out[..length]);
    all
}

/// Every way to split a message in two, and one in many.
fn splits(message: &[u8]) -> Vec<Vec<&[u8]>> {
    let twos = (0..=message.len()).map(|at| vec![&message[..at], &message[at..]]);
    twos.chain([message.chunks(7).collect(), message.chunks(1).collect()]).collect()
}

#[test]
fn digests_go_on_at_every_split() {
    let message = message();
    for kind in [
        CKM_MD5,
        CKM_SHA_1,
        CKM_SHA224,
        CKM_SHA256,
        CKM_SHA384,
        CKM_SHA512,
        CKM_SHA512_224,
        CKM_SHA512_256,
        CKM_SHA3_224,
        CKM_SHA3_256,
        CKM_SHA3_384,
        CKM_SHA3_512,
    ] {
        let begin = || Mechanism::new(kind, Params::None).digester();
        let whole = digested(begin, &[]);
        assert_eq!(digested(begin, &[&[], &[]]), whole);
        let mut whole = begin().unwrap();
        whole.update(&message);
        let mut expected = vec![0; whole.size()];
        whole.finish(&mut expected);
        for parts in splits(&message) {
            assert_eq!(digested(begin, &parts), expected, "{kind:x} {}", parts[0].len());
        }
        assert_eq!(begin().unwrap().resume(&[0; 5]), Err(Rv(CKR_SAVED_STATE_INVALID)));
    }
}

#[test]
fn macs_go_on_at_every_split() {
    let (message, any) = (message(), secret(CKK_GENERIC_SECRET, &[9; 40]));
    let (aes, des) = (secret(CKK_AES, &[3; 24]), secret(CKK_DES3, &message[..24]));
    for (kind, key, params) in [
        (CKM_SHA_1_HMAC, &any, Params::None),
        (CKM_SHA256_HMAC, &any, Params::None),
        (CKM_SHA512_HMAC_GENERAL, &any, Params::Number(20)),
        (CKM_SHA3_384_HMAC, &any, Params::None),
        (CKM_AES_CMAC, &aes, Params::None),
        (CKM_AES_CMAC_GENERAL, &aes, Params::Number(9)),
        (CKM_DES3_CMAC, &des, Params::None),
    ] {
        let sign = || Mechanism::new(kind, params).signer(key.clone());
        let verify = || Mechanism::new(kind, params).verifier(key.clone());
        let mut whole = sign().unwrap();
        let mut expected = vec![0; whole.length()];
        whole.once(&message, &mut expected).unwrap();
        for parts in splits(&message) {
            assert_eq!(signed(sign, &parts), expected, "{kind:x} {}", parts[0].len());
            assert_eq!(verified(verify, &parts, &expected), Ok(()), "{kind:x} {}", parts[0].len());
        }
        assert_eq!(sign().unwrap().resume(&[0xff; 5]), Err(Rv(CKR_SAVED_STATE_INVALID)));
        assert_eq!(sign().unwrap().resume(&[0xff; 41]), Err(Rv(CKR_SAVED_STATE_INVALID)));
    }
}

#[test]
fn ciphers_go_on_at_every_split() {
    let message = &message()[..96];
    let (aes, des, iv) = (secret(CKK_AES, &[3; 32]), secret(CKK_DES3, &message[..24]), [5; 16]);
    for (kind, key, params, padded) in [
        (CKM_AES_ECB, &aes, Params::None, false),
        (CKM_AES_CBC, &aes, Params::Bytes(&iv), false),
        (CKM_AES_CBC_PAD, &aes, Params::Bytes(&iv), true),
        (CKM_DES3_ECB, &des, Params::None, false),
        (CKM_DES3_CBC, &des, Params::Bytes(&iv[..8]), false),
        (CKM_DES3_CBC_PAD, &des, Params::Bytes(&iv[..8]), true),
    ] {
        let encrypt = || Mechanism::new(kind, params).cipher(key.clone(), true);
        let decrypt = || Mechanism::new(kind, params).cipher(key.clone(), false);
        for length in if padded { 80..=96 } else { 96..=96 } {
            let message = &message[..length];
            let mut whole = encrypt().unwrap();
            let mut expected = vec![0; whole.once_length(length)];
            let made = whole.once(message, &mut expected).unwrap();
            assert_eq!(made, expected.len());
            for parts in splits(message) {
                assert_eq!(crypted(encrypt, &parts), expected, "{kind:x} {}", parts[0].len());
            }
            for parts in splits(&expected) {
                assert_eq!(crypted(decrypt, &parts), message, "{kind:x} {}", parts[0].len());
            }
        }
        for wrong in [15, 33] {
            assert_eq!(encrypt().unwrap().resume(&vec![0; wrong]), Err(Rv(CKR_SAVED_STATE_INVALID)), "{kind:x}");
        }
        // A whole block waits in decryption with padding alone.
        let block = if matches!(kind, CKM_DES3_ECB | CKM_DES3_CBC | CKM_DES3_CBC_PAD) { 8 } else { 16 };
        assert!(encrypt().unwrap().resume(&vec![0; 16 + block]).is_err());
        assert_eq!(decrypt().unwrap().resume(&vec![0; 16 + block]).is_ok(), padded);
    }
}

#[test]
fn signatures_and_rsa_go_on() {
    let (message, [rsa_public, rsa_private], [ec_public, ec_private]) = (message(), rsa(), p256());
    let pss = Params::Pss { hash: Hash::Sha256, mgf1: Hash::Sha256, salt: 32 };
    for (kind, [public, private], params, length) in [
        (CKM_SHA256_RSA_PKCS, [&rsa_public, &rsa_private], Params::None, 300),
        (CKM_SHA256_RSA_PKCS_PSS, [&rsa_public, &rsa_private], pss, 300),
        (CKM_RSA_PKCS, [&rsa_public, &rsa_private], Params::None, 245),
        (CKM_ECDSA_SHA512, [&ec_public, &ec_private], Params::None, 300),
        (CKM_ECDSA, [&ec_public, &ec_private], Params::None, 32),
    ] {
        let message = &message[..length];
        let parts = [&message[..11], &message[11..30], &message[30..]];
        let signature = signed(|| Mechanism::new(kind, params).signer(private.clone()), &parts);
        let verify = || Mechanism::new(kind, params).verifier(public.clone());
        let mut whole = verify().unwrap();
        whole.update(message).unwrap();
        assert_eq!(whole.finish(&signature), Ok(()), "{kind:x}");
        assert_eq!(verified(verify, &parts, &signature), Ok(()), "{kind:x}");
        assert_eq!(verified(verify, &parts[..2], &signature), Err(Rv(CKR_SIGNATURE_INVALID)), "{kind:x}");
        assert!(verify().unwrap().resume(&vec![1; 3000]).is_err());
    }
    let encrypted =
        crypted(|| Mechanism::new(CKM_RSA_PKCS, Params::None).cipher(rsa_public.clone(), true), &[b"ab", b"c"]);
    let decrypt = || Mechanism::new(CKM_RSA_PKCS, Params::None).cipher(rsa_private.clone(), false);
    assert_eq!(crypted(decrypt, &[&encrypted[..100], &encrypted[100..]]), b"abc");
    assert!(decrypt().unwrap().resume(&[0; 257]).is_err());
}
