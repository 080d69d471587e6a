//! Keys that only a card can use, where there is no card: every family knows a reference, refuses one that is damaged, computes nothing itself, and says who is
//! at fault.

use adjunct::InOut;
use adjunct::error::{Error, Fault};
use adjunct::ops::cipher::{Chain, Counted, aes, xts::Xts};
use adjunct::ops::digest::{MAX_SAVED, Method};
use adjunct::ops::ec::{self, Curve, Form, MAX_POINT};
use adjunct::ops::ecx::{Private, ed25519, x25519};
use adjunct::ops::kdf::Prf;
use adjunct::ops::mac::{BlockCipher, Cmac, Hmac};
use adjunct::ops::reference::{Class, Reference, Service};
use adjunct::ops::rsa::{self, Crt, CrtKey, Numbers, Part, Signature};
use adjunct::ops::{may_leave, mldsa, mlkem};

fn reference(length: usize) -> Vec<u8> {
    let reference = Reference { service: Service::Ep11, class: Class::Secure, blob: b"a handle" };
    reference.encode(length).expect("a reference")
}

fn damaged(length: usize) -> Vec<u8> {
    let mut bytes = reference(length);
    bytes[33] ^= 1;
    bytes
}

/// The parts of an RSA key that is made for this.
fn numbers() -> [Vec<u8>; 2] {
    let key = rsa::RsaKey::generate(1024, &[1, 0, 1], None).unwrap();
    [Part::N, Part::E].map(|part| key.number(part).unwrap().unwrap().to_vec())
}

#[track_caller]
fn is_of(result: Result<impl Sized, Error>, fault: Fault) {
    let error = result.map(drop).expect_err("no card is there");
    assert_eq!((error.fault(), error.may_fall_back()), (fault, false), "{error}");
}

#[test]
fn a_damaged_reference_is_no_clear_key() {
    let ([n, e], key) = (numbers(), damaged(40));
    let long = damaged(128);
    is_of(rsa::RsaKey::new(&Numbers { n: &n, e: &e, d: Some(&key), crt: None }), Fault::Key);
    is_of(rsa::power(&[1; 128], &long, &n, &mut [0; 128]), Fault::Key);
    is_of(CrtKey::new(&Crt { p: &key, q: &[1], dp: &[1], dq: &[1], qinv: &[1] }), Fault::Key);
    is_of(ec::EcKey::new(Curve::P256, None, Some(&key)), Fault::Key);
    // At the end of the field, as numbers stand.
    is_of(ec::EcKey::new(Curve::P521, None, Some(&[&[0; 26][..], &key].concat())), Fault::Key);
    is_of(Private::<{ ed25519::KEY }>::of(&key), Fault::Key);
    is_of(mldsa::MlDsaKey::private(mldsa::Set::MlDsa44, &key), Fault::Key);
    is_of(mlkem::MlKemKey::private(mlkem::Set::MlKem512, &key), Fault::Key);
    let hash = Method::from_name("SHA2-256").unwrap();
    is_of(Hmac::new(hash, &key), Fault::Key);
    is_of(Prf::new(hash, &key), Fault::Key);
    is_of(Cmac::new(BlockCipher::Aes(16), &key), Fault::Key);
    is_of(Counted::<aes::Cbc>::default().set_key(&key, true), Fault::Key);
    is_of(Xts::default().set_key(&damaged(64), true), Fault::Key);
    is_of(may_leave(&key), Fault::Key);
    assert_eq!(may_leave(&[0xff; 64]), Ok(()));
}

#[test]
fn without_a_card_the_device_is_at_fault_and_nothing_is_computed() {
    let [n, e] = numbers();
    let key = rsa::RsaKey::new(&Numbers { n: &n, e: &e, d: Some(&reference(0)), crt: None }).unwrap();
    assert!(key.is_private() && !key.to_public().unwrap().is_private());
    assert_eq!(key.number(Part::N).unwrap().unwrap()[..], n);
    assert!(key.number(Part::D).unwrap().is_none() && key.number(Part::P).unwrap().is_none());
    let mut out = [0; 128];
    is_of(key.sign(Signature::Pkcs1(None), b"data", &mut out), Fault::Device);
    is_of(key.private(&[1; 128], &mut out), Fault::Device);
    assert_eq!(out, [0; 128]);
    // What the caller gave is judged before any card is asked.
    assert!(matches!(key.private(&[0xff; 128], &mut out), Err(Error::Unsupported(_))));
    assert!(matches!(key.private(&[1; 127], &mut out), Err(Error::Length { .. })));

    let pair = ec::EcKey::generate(Curve::P256).unwrap();
    let mut point = [0; MAX_POINT];
    let point = pair.public(Form::Uncompressed, &mut point).unwrap();
    let key = ec::EcKey::new(Curve::P256, Some(point), Some(&reference(0))).unwrap();
    assert!(key.has_private() && key.private().is_none() && key.same_public(&pair) == Some(true));
    assert!(!key.is_pair());
    is_of(key.sign_pair(&[1; 32], &mut [0; 64]), Fault::Device);
    is_of(key.sign_pair_with_nonce(&[1; 32], &[1; 32], &mut [0; 64]), Fault::Key);
    is_of(key.shared_secret(&pair, &mut [0; ec::MAX_FIELD]), Fault::Device);
    is_of(ec::EcKey::new(Curve::P256, None, Some(&reference(0))), Fault::Device);

    let private = Private::<32>::of(&reference(0)).unwrap();
    assert!(private.bytes().is_none() && private.is(&private.clone()) && !private.is(&Private::new(&[1; 32])));
    is_of(ed25519::sign(&private, &[1; 32], b"message"), Fault::Device);
    is_of(ed25519::other_half(&private), Fault::Device);
    is_of(x25519::shared_secret(&private, &[9; 32]), Fault::Device);
    is_of(mldsa::MlDsaKey::private(mldsa::Set::MlDsa44, &reference(0)), Fault::Device);
}

#[test]
fn symmetric_keys_of_a_card_fail_and_others_take_their_place() {
    let hash = Method::from_name("SHA2-256").unwrap();
    let mut hmac = Hmac::new(hash, &reference(0)).unwrap();
    let (mut message, mut out) = (hmac.begin(), [0; 32]);
    hmac.update(b"message");
    message.update(b"message");
    is_of(hmac.finish(&mut out), Fault::Device);
    is_of(message.finish(&hmac, &mut out), Fault::Device);
    is_of(hmac.save(&mut [0; MAX_SAVED]), Fault::Key);
    is_of(hmac.block_key(), Fault::Key);
    hmac.set_key(b"clear").unwrap();
    assert!(hmac.finish(&mut out).is_ok() && out != [0; 32]);
    // A message that was begun for the other kind of key.
    is_of(message.finish(&hmac, &mut out), Fault::Key);
    message.begin(&hmac);
    assert!(message.finish(&hmac, &mut out).is_ok());

    let mut cmac = Cmac::new(BlockCipher::Aes(16), &reference(0)).unwrap();
    is_of(cmac.finish(&mut out), Fault::Device);
    is_of(cmac.whole(b"message", &mut out), Fault::Device);
    assert!(cmac.set_key(&[1; 15]).is_err() && cmac.finish(&mut out).is_err());
    assert!(cmac.set_key(&[1; 16]).is_ok() && cmac.finish(&mut out).is_ok());

    let mut cipher = Counted::<aes::Ctr>::default();
    cipher.set_key(&reference(0), true).unwrap();
    let run = |cipher: &mut Counted<aes::Ctr>| {
        let (mut iv, mut used, mut text) = ([3; 16], 0, [7; 20]);
        let chain = Chain { iv: &mut iv, stream: &mut [0; 16], used: &mut used, bits: false };
        let done = cipher.run(true, chain, InOut::in_place(&mut text));
        (done, iv, used, text)
    };
    let (done, iv, used, text) = run(&mut cipher);
    is_of(done.map_err(Error::from), Fault::Device);
    assert_eq!((iv, used, text), ([3; 16], 0, [7; 20]));
    assert!(cipher.set_key(&[1; 15], true).is_err() && cipher.has_key());
    cipher.set_key(&[1; 16], true).unwrap();
    assert!(run(&mut cipher).0.is_ok());
    is_of(Counted::<aes::Ofb>::default().set_key(&reference(0), true), Fault::Key);
}
