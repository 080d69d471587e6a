//! GCM, CCM and ChaCha20-Poly1305 against OpenSSL's default provider, through the same EVP calls.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;

use common::pair::*;
use common::*;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

#[test]
fn gcm_does_what_the_default_provider_does() {
    for (i, name) in GCM.iter().enumerate() {
        let f = fetch(name);
        let key_len = unsafe { EVP_CIPHER_get_key_length(f.stock) } as usize;
        for round in 0..300 {
            let seed = (10_000 + i * 1000 + round) as u64;
            let mut rng = Rng::new(seed);
            let mut pair = Pair::new(name, seed);
            let key = rng.bytes(key_len);
            let iv_len = if rng.bool() { 12 } else { 1 + rng.below(64) };
            let iv = rng.bytes(iv_len);
            let enc = rng.below(2) as c_int;
            pair.init(Some(&f), None, None, enc);
            if iv_len != 12 {
                pair.ctrl(SET_IVLEN, iv_len as c_int, &[]);
            }
            if rng.bool() {
                pair.init(None, Some(&key), Some(&iv), enc);
            } else {
                pair.init(None, Some(&key), None, -1);
                pair.init(None, None, Some(&iv), -1);
            }
            for _ in 0..1 + rng.below(3) {
                let aad = {
                    let n = rng.length(300);
                    rng.bytes(n)
                };
                for piece in rng.pieces(aad.len()) {
                    pair.aad(&aad[..piece]);
                }
                let length = rng.length(20_000);
                let data = rng.bytes(length);
                let mut at = 0;
                for piece in rng.pieces(length) {
                    pair.update(&data[at..at + piece], rng.bool());
                    at += piece;
                    if rng.below(8) == 0 {
                        pair.copy();
                    }
                }
                if enc == 0 && rng.below(4) > 0 {
                    let n = rng.below(17);
                    let tag = rng.bytes(n);
                    pair.ctrl(SET_TAG, tag.len() as c_int, &tag);
                }
                let ended = pair.finish().0 == 1;
                if enc == 1 {
                    let n = rng.below(18);
                    pair.ctrl(GET_TAG, n as c_int, &vec![0; n.max(1)]);
                }
                pair.both("tag length".to_owned(), |ctx| unsafe { EVP_CIPHER_CTX_get_tag_length(ctx) });
                let again = pair.update(&[1; 20], false);
                assert!(!ended || again.0 == 0, "an IV must not serve twice");
                let iv = rng.bytes(iv_len);
                pair.init(None, None, Some(&iv), -1);
            }
        }
    }
}

/// Encrypts with one provider and decrypts with the other, tags right and wrong.
#[test]
fn gcm_tags_verify_across_providers() {
    let mut rng = Rng::new(77);
    for name in GCM {
        let f = fetch(name);
        for round in 0..100 {
            let (key, iv) = (rng.bytes(32), rng.bytes(12));
            let data = {
                let n = rng.length(3000);
                rng.bytes(n)
            };
            let aad = {
                let n = rng.length(40);
                rng.bytes(n)
            };
            let (from, to) = if round % 2 == 0 { (f.stock, f.ours) } else { (f.ours, f.stock) };
            unsafe {
                let (a, b) = (EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new());
                let mut len = 0;
                assert_eq!(EVP_CipherInit_ex(a, from, null_mut(), key.as_ptr(), iv.as_ptr(), 1), 1);
                EVP_CipherUpdate(a, null_mut(), &mut len, aad.as_ptr(), aad.len() as c_int);
                let mut sealed = vec![0u8; data.len()];
                EVP_CipherUpdate(a, sealed.as_mut_ptr(), &mut len, data.as_ptr(), data.len() as c_int);
                assert_eq!(EVP_CipherFinal_ex(a, [0u8; 16].as_mut_ptr(), &mut len), 1);
                let mut tag = [0u8; 16];
                let tag_len = [16, 12, 13, 4][round % 4];
                assert_eq!(EVP_CIPHER_CTX_ctrl(a, GET_TAG, tag_len, tag.as_mut_ptr().cast()), 1);
                for wrong in [false, true] {
                    let mut tag = tag;
                    tag[(round / 4) % tag_len as usize] ^= u8::from(wrong) << (round % 8);
                    assert_eq!(EVP_CipherInit_ex(b, to, null_mut(), key.as_ptr(), iv.as_ptr(), 0), 1);
                    assert_eq!(EVP_CIPHER_CTX_ctrl(b, SET_TAG, tag_len, tag.as_mut_ptr().cast()), 1);
                    EVP_CipherUpdate(b, null_mut(), &mut len, aad.as_ptr(), aad.len() as c_int);
                    let mut opened = sealed.clone();
                    let p = opened.as_mut_ptr();
                    EVP_CipherUpdate(b, p, &mut len, p, sealed.len() as c_int);
                    assert_eq!(EVP_CipherFinal_ex(b, [0u8; 16].as_mut_ptr(), &mut len), c_int::from(!wrong));
                    assert_eq!(opened, data);
                }
                EVP_CIPHER_CTX_free(a);
                EVP_CIPHER_CTX_free(b);
                errors();
            }
        }
    }
}

/// OpenSSH's way: the whole IV fixed, IV_GEN per packet, EVP_Cipher for additional data, data and the end.
#[test]
fn gcm_as_openssh_uses_it() {
    let mut rng = Rng::new(4242);
    for name in ["AES-128-GCM", "AES-256-GCM"] {
        let f = fetch(name);
        for enc in [1, 0] {
            let mut pair = Pair::new(name, 0);
            let (key, mut iv) = (rng.bytes(32), rng.bytes(12));
            iv[4..].fill(0xFF);
            pair.init(Some(&f), None, Some(&iv), enc);
            pair.ctrl(SET_IV_FIXED, -1, &iv);
            pair.init(None, Some(&key), None, -1);
            for packet in 0..20 {
                pair.ctrl(IV_GEN, 1, &[0]);
                let data = {
                    let n = 16 * (1 + rng.below(2000));
                    rng.bytes(n)
                };
                if enc == 0 {
                    pair.ctrl(SET_TAG, 16, &rng.bytes(16));
                }
                let aad = rng.bytes(4);
                pair.both("aad".to_owned(), |ctx| unsafe { EVP_Cipher(ctx, null_mut(), aad.as_ptr(), 4) });
                pair.cipher(&data, packet % 2 == 0);
                pair.both("end".to_owned(), |ctx| unsafe { EVP_Cipher(ctx, null_mut(), null(), 0) });
                if enc == 1 {
                    pair.ctrl(GET_TAG, 16, &[0; 16]);
                }
            }
        }
    }
}

#[test]
fn a_random_iv_is_made_where_none_is_set() {
    let f = fetch("AES-256-GCM");
    unsafe {
        let mut seen = Vec::new();
        for _ in 0..3 {
            let ctx = EVP_CIPHER_CTX_new();
            assert_eq!(EVP_CipherInit_ex(ctx, f.ours, null_mut(), [9u8; 32].as_ptr(), null(), 1), 1);
            let (mut out, mut len, mut iv) = ([0u8; 16], 0, [0u8; 12]);
            assert_eq!(EVP_CipherUpdate(ctx, out.as_mut_ptr(), &mut len, [0u8; 16].as_ptr(), 16), 1);
            assert_eq!(EVP_CIPHER_CTX_get_updated_iv(ctx, iv.as_mut_ptr().cast(), 12), 1);
            assert!(!seen.contains(&iv));
            seen.push(iv);
            EVP_CIPHER_CTX_free(ctx);
        }
        let ctx = EVP_CIPHER_CTX_new();
        assert_eq!(EVP_CipherInit_ex(ctx, f.ours, null_mut(), [9u8; 32].as_ptr(), null(), 0), 1);
        assert_eq!(EVP_CipherUpdate(ctx, [0u8; 16].as_mut_ptr(), &mut 0, [0u8; 16].as_ptr(), 16), 0);
        EVP_CIPHER_CTX_free(ctx);
        errors();
    }
}

#[test]
fn ccm_does_what_the_default_provider_does() {
    for (i, name) in CCM.iter().enumerate() {
        let f = fetch(name);
        let key_len = unsafe { EVP_CIPHER_get_key_length(f.stock) } as usize;
        for round in 0..300 {
            let seed = (30_000 + i * 1000 + round) as u64;
            let mut rng = Rng::new(seed);
            let mut pair = Pair::new(name, seed);
            let key = rng.bytes(key_len);
            let iv_len = 7 + rng.below(7);
            let tag_len = 4 + 2 * rng.below(7);
            let enc = rng.below(2) as c_int;
            pair.init(Some(&f), None, None, enc);
            pair.ctrl(SET_IVLEN, 6 + 8 * rng.below(2) as c_int, &[]);
            pair.ctrl(SET_TAG, 3 + 15 * rng.below(2) as c_int, &[]);
            pair.ctrl(SET_IVLEN, iv_len as c_int, &[]);
            let tag = rng.bytes(tag_len);
            pair.ctrl(SET_TAG, tag_len as c_int, if enc == 1 { &[] } else { &tag });
            pair.init(None, Some(&key), None, -1);
            for _ in 0..3 {
                let iv = rng.bytes(iv_len);
                pair.init(None, None, Some(&iv), -1);
                let room = if iv_len == 13 { 65535 } else { 70_000 };
                let length = if rng.below(8) == 0 { rng.length(room) } else { rng.length(600) };
                let aad_bound = if rng.below(8) == 0 { 70_000 } else { 100 };
                let aad = {
                    let n = rng.length(aad_bound);
                    rng.bytes(n)
                };
                if rng.bool() || !aad.is_empty() {
                    pair.both(format!("length {length}"), |ctx| unsafe {
                        EVP_CipherUpdate(ctx, null_mut(), &mut 0, null(), length as c_int)
                    });
                    pair.aad(&aad);
                }
                if rng.below(8) == 0 {
                    pair.copy();
                }
                if enc == 0 {
                    pair.ctrl(SET_TAG, tag_len as c_int, &rng.bytes(tag_len));
                }
                let extra = usize::from(rng.below(16) == 0);
                let data = rng.bytes(length + extra);
                let done = pair.update(&data, rng.bool()).0;
                if done == 1 {
                    // Not after a message that failed: 3.0's releases differ in what they say then.
                    pair.finish();
                }
                if done == 0 && enc == 1 {
                    // OpenSSL's context is of no use after an error; ours takes a new nonce.
                    break;
                }
                if enc == 1 {
                    if rng.below(4) == 0 {
                        pair.ctrl(GET_TAG, 18 - tag_len as c_int, &[0; 16]);
                    }
                    pair.ctrl(GET_TAG, tag_len as c_int, &[0; 16]);
                }
                pair.both("tag length".to_owned(), |ctx| unsafe { EVP_CIPHER_CTX_get_tag_length(ctx) });
            }
        }
    }
}

/// Seals with one provider and opens with the other: CCM and ChaCha20-Poly1305.
#[test]
fn aead_tags_verify_across_providers() {
    let mut rng = Rng::new(78);
    for (name, ccm) in CCM.iter().map(|n| (*n, true)).chain([("ChaCha20-Poly1305", false)]) {
        let f = fetch(name);
        for round in 0..100 {
            let (key, iv) = (rng.bytes(32), rng.bytes(12));
            let data = {
                let n = 1 + rng.length(3000);
                rng.bytes(n)
            };
            let aad = {
                let n = rng.length(40);
                rng.bytes(n)
            };
            let (from, to) = if round % 2 == 0 { (f.stock, f.ours) } else { (f.ours, f.stock) };
            let tag_len = if ccm { [16, 12, 8, 4][round % 4] } else { 16 };
            unsafe {
                let (a, b) = (EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new());
                let mut len = 0;
                let start = |ctx, cipher, enc, tag: *mut c_void| {
                    assert_eq!(EVP_CipherInit_ex(ctx, cipher, null_mut(), null(), null(), enc), 1);
                    if ccm {
                        assert_eq!(EVP_CIPHER_CTX_ctrl(ctx, SET_IVLEN, 12, null_mut()), 1);
                    }
                    if ccm || enc == 0 {
                        assert_eq!(EVP_CIPHER_CTX_ctrl(ctx, SET_TAG, tag_len, tag), 1);
                    }
                    assert_eq!(EVP_CipherInit_ex(ctx, null_mut(), null_mut(), key.as_ptr(), iv.as_ptr(), enc), 1);
                    if ccm {
                        assert_eq!(EVP_CipherUpdate(ctx, null_mut(), &mut 0, null(), data.len() as c_int), 1);
                    }
                    assert_eq!(EVP_CipherUpdate(ctx, null_mut(), &mut 0, aad.as_ptr(), aad.len() as c_int), 1);
                };
                start(a, from, 1, null_mut());
                let mut sealed = data.clone();
                let p = sealed.as_mut_ptr();
                assert_eq!(EVP_CipherUpdate(a, p, &mut len, p, data.len() as c_int), 1);
                assert_eq!(EVP_CipherFinal_ex(a, [0u8; 16].as_mut_ptr(), &mut len), 1);
                let mut tag = [0u8; 16];
                assert_eq!(EVP_CIPHER_CTX_ctrl(a, GET_TAG, tag_len, tag.as_mut_ptr().cast()), 1, "{}", errors());
                for wrong in [false, true] {
                    let mut tag = tag;
                    tag[(round / 4) % tag_len as usize] ^= u8::from(wrong) << (round % 8);
                    start(b, to, 0, tag.as_mut_ptr().cast());
                    let mut opened = vec![0xEE; sealed.len()];
                    let rc = EVP_CipherUpdate(b, opened.as_mut_ptr(), &mut len, sealed.as_ptr(), sealed.len() as c_int);
                    let end = EVP_CipherFinal_ex(b, [0u8; 16].as_mut_ptr(), &mut len);
                    assert_eq!(rc == 1 && end == 1, !wrong, "{name} {round}: {}", errors());
                    if wrong && ccm {
                        assert!(opened.iter().all(|&b| b == 0));
                    } else {
                        assert_eq!(opened, data);
                    }
                }
                EVP_CIPHER_CTX_free(a);
                EVP_CIPHER_CTX_free(b);
                errors();
            }
        }
    }
}

#[test]
fn chacha20_poly1305_does_what_the_default_provider_does() {
    let f = fetch("ChaCha20-Poly1305");
    for round in 0..300 {
        let seed = 40_000 + round;
        let mut rng = Rng::new(seed);
        let mut pair = Pair::new("ChaCha20-Poly1305", seed);
        let (key, iv) = (rng.bytes(32), rng.bytes(12));
        let enc = rng.below(2) as c_int;
        if rng.bool() {
            pair.init(Some(&f), Some(&key), Some(&iv), enc);
        } else {
            pair.init(Some(&f), None, Some(&iv), enc);
            pair.init(None, Some(&key), None, -1);
        }
        pair.ctrl(SET_IVLEN, 11 + rng.below(3) as c_int, &[]);
        for _ in 0..3 {
            let aad = {
                let n = rng.length(300);
                rng.bytes(n)
            };
            for piece in rng.pieces(aad.len()) {
                pair.aad(&aad[..piece]);
            }
            let length = rng.length(20_000);
            let data = rng.bytes(length);
            let mut at = 0;
            for piece in rng.pieces(length) {
                pair.update(&data[at..at + piece], rng.bool());
                at += piece;
                if rng.below(8) == 0 {
                    pair.copy();
                }
            }
            // Where no tag is set, any message passes with OpenSSL's own, and none with ours (tests/forged.rs).
            if enc == 0 {
                pair.ctrl(SET_TAG, 16, &rng.bytes(16));
                let n = rng.below(18);
                let tag = rng.bytes(n);
                pair.ctrl(SET_TAG, n as c_int, &tag);
            }
            pair.finish();
            if enc == 1 {
                let n = rng.below(18);
                pair.ctrl(GET_TAG, n as c_int, &vec![0; n.max(1)]);
            }
            pair.both("tag length".to_owned(), |ctx| unsafe { EVP_CIPHER_CTX_get_tag_length(ctx) });
            if rng.below(4) > 0 {
                let iv = rng.bytes(12);
                pair.init(None, None, Some(&iv), -1);
            }
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_same_holds_on_lesser_cpus() {
    under_masks();
}
