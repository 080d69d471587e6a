//! No AEAD lets a forged message pass, whichever way the message is ended: by `EVP_DecryptFinal_ex`, by `EVP_Cipher` without
//! input, or with the message itself (CCM).

// Contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;

use common::pair::*;
use common::*;
use std::ffi::{c_int, c_uint};
use std::ptr::{null, null_mut};

const KEY: [u8; 32] = [0x4B; 32];
const IV: [u8; 12] = [0x1A; 12];
const AAD: [u8; 20] = [0xAA; 20];

/// How a message is put through and ended.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// Updates, then `EVP_CipherFinal_ex`.
    Final,
    /// Updates, then `EVP_Cipher` without input.
    UpdatesThenCipher,
    /// `EVP_Cipher` for all of it, the end with an output.
    Cipher,
    /// `EVP_Cipher` for all of it, the end without an output.
    CipherNoOutput,
}

const WAYS: [Way; 4] = [Way::Final, Way::UpdatesThenCipher, Way::Cipher, Way::CipherNoOutput];

struct ForgedCipher(CipherCtx);

impl Drop for ForgedCipher {
    fn drop(&mut self) {
        unsafe { EVP_CIPHER_CTX_free(self.0) };
        errors();
    }
}

/// Starts a message; a tag without data sets its length only.
fn start(name: &str, cipher: Cipher, enc: c_int, tag: Option<&[u8]>, message: usize) -> ForgedCipher {
    unsafe {
        let ctx = ForgedCipher(EVP_CIPHER_CTX_new());
        assert_eq!(EVP_CipherInit_ex(ctx.0, cipher, null_mut(), null(), null(), enc), 1);
        assert_eq!(EVP_CIPHER_CTX_ctrl(ctx.0, SET_IVLEN, 12, null_mut()), 1);
        match tag {
            Some(tag) => {
                let mut tag = tag.to_vec();
                assert_eq!(EVP_CIPHER_CTX_ctrl(ctx.0, SET_TAG, tag.len() as c_int, tag.as_mut_ptr().cast()), 1);
            }
            None if name.ends_with("CCM") => assert_eq!(EVP_CIPHER_CTX_ctrl(ctx.0, SET_TAG, 16, null_mut()), 1),
            None => {}
        }
        assert_eq!(EVP_CipherInit_ex(ctx.0, null_mut(), null_mut(), KEY.as_ptr(), IV.as_ptr(), enc), 1);
        if name.ends_with("CCM") {
            assert_eq!(EVP_CipherUpdate(ctx.0, null_mut(), &mut 0, null(), message as c_int), 1);
        }
        ctx
    }
}

/// Puts data through and ends the message: whether every call succeeded.
fn run(ctx: &ForgedCipher, way: Way, data: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![0u8; data.len() + 16];
    let (mut n, length) = (0, data.len() as c_int);
    unsafe {
        let passed = match way {
            Way::Final | Way::UpdatesThenCipher => {
                EVP_CipherUpdate(ctx.0, null_mut(), &mut n, AAD.as_ptr(), AAD.len() as c_int) == 1
                    && (data.is_empty()
                        || EVP_CipherUpdate(ctx.0, out.as_mut_ptr(), &mut n, data.as_ptr(), length) == 1)
            }
            Way::Cipher | Way::CipherNoOutput => {
                EVP_Cipher(ctx.0, null_mut(), AAD.as_ptr(), AAD.len() as c_uint) >= 0
                    && (data.is_empty()
                        || EVP_Cipher(ctx.0, out.as_mut_ptr(), data.as_ptr(), data.len() as c_uint) >= 0)
            }
        };
        let end = out.as_mut_ptr().add(data.len());
        let ended = passed
            && match way {
                Way::Final => EVP_CipherFinal_ex(ctx.0, end, &mut n) == 1,
                Way::UpdatesThenCipher | Way::Cipher => EVP_Cipher(ctx.0, end, null(), 0) >= 0,
                Way::CipherNoOutput => EVP_Cipher(ctx.0, null_mut(), null(), 0) >= 0,
            };
        out.truncate(data.len());
        ended.then_some(out)
    }
}

#[test]
fn a_forged_message_never_passes() {
    for name in GCM.iter().chain(CCM).chain(&["ChaCha20-Poly1305"]) {
        let f = fetch(name);
        for length in [0usize, 1, 16, 100, 5000] {
            let data: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let sealing = start(name, f.stock, 1, None, length);
            let sealed = run(&sealing, Way::Final, &data).expect("stock seals");
            // 3.0.21 and older make no tag of an empty message in CCM.
            if length == 0 && name.ends_with("CCM") {
                continue;
            }
            let mut tag = [0u8; 16];
            assert_eq!(unsafe { EVP_CIPHER_CTX_ctrl(sealing.0, GET_TAG, 16, tag.as_mut_ptr().cast()) }, 1);
            for way in WAYS {
                // With CCM the way without an output means the length of a message.
                if name.ends_with("CCM") && matches!(way, Way::CipherNoOutput) {
                    continue;
                }
                let opens = |tag: Option<&[u8]>, data: &[u8]| run(&start(name, f.ours, 0, tag, length), way, data);
                let what = format!("{name}, {length} bytes, {way:?}");
                assert_eq!(opens(Some(&tag), &sealed).as_deref(), Some(&data[..]), "{what}: the right tag");
                for bit in 0..128 {
                    let mut wrong = tag;
                    wrong[bit / 8] ^= 1 << (bit % 8);
                    assert!(opens(Some(&wrong), &sealed).is_none(), "{what}: bit {bit} of the tag is wrong");
                }
                for short in [4, 8, 12, 14] {
                    let mut wrong = tag;
                    wrong[short - 1] ^= 0x80;
                    assert!(opens(Some(&wrong[..short]), &sealed).is_none(), "{what}: a short tag of {short}, wrong");
                }
                assert!(opens(None, &sealed).is_none(), "{what}: no tag");
                if length > 0 {
                    let mut forged = sealed.clone();
                    forged[length / 2] ^= 1;
                    assert!(opens(Some(&tag), &forged).is_none(), "{what}: another message");
                }
            }
        }
    }
}

/// A message that failed does not pass when it is ended again.
#[test]
fn a_refused_message_does_not_pass_later() {
    for name in GCM.iter().chain(&["ChaCha20-Poly1305"]) {
        let f = fetch(name);
        let ctx = start(name, f.ours, 0, Some(&[7; 16]), 32);
        assert!(run(&ctx, Way::Cipher, &[1; 32]).is_none());
        unsafe {
            for _ in 0..2 {
                assert_eq!(EVP_Cipher(ctx.0, [0u8; 16].as_mut_ptr(), null(), 0), -1, "{name}");
                assert_ne!(EVP_CipherFinal_ex(ctx.0, [0u8; 16].as_mut_ptr(), &mut 0), 1, "{name}");
            }
        }
    }
}

/// A TLS record that is short, or not one at all, does not pass, and what follows it is not taken for plain data.
#[test]
fn a_short_tls_record_never_passes() {
    let header = |length: u8| [0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, length];
    for name in GCM.iter().chain(CCM).chain(&["ChaCha20-Poly1305"]) {
        let f = fetch(name);
        for length in [0usize, 1, 8, 15, 16, 23, 24, 25, 40, 63, 65] {
            unsafe {
                let ctx = ForgedCipher(EVP_CIPHER_CTX_new());
                assert_eq!(EVP_CipherInit_ex(ctx.0, f.ours, null_mut(), null(), null(), 0), 1);
                assert_eq!(EVP_CIPHER_CTX_ctrl(ctx.0, SET_IVLEN, 12, null_mut()), 1);
                if name.ends_with("CCM") {
                    assert_eq!(EVP_CIPHER_CTX_ctrl(ctx.0, SET_TAG, 16, null_mut()), 1);
                }
                assert_eq!(EVP_CipherInit_ex(ctx.0, null_mut(), null_mut(), KEY.as_ptr(), IV.as_ptr(), 0), 1);
                let fixed = if name.starts_with("ChaCha") { 12 } else { 4 };
                assert_eq!(EVP_CIPHER_CTX_ctrl(ctx.0, SET_IV_FIXED, fixed, IV.as_ptr().cast_mut().cast()), 1);
                let mut aad = header(64);
                assert_eq!(EVP_CIPHER_CTX_ctrl(ctx.0, TLS1_AAD, 13, aad.as_mut_ptr().cast()), 16);
                let mut record = [0x55u8; 80];
                let p = record.as_mut_ptr();
                assert_eq!(EVP_Cipher(ctx.0, p, p, length as c_uint).max(0), 0, "{name}: {length} of 64 bytes");
                assert!(EVP_Cipher(ctx.0, p, null(), 0) <= 0, "{name}: the end after {length} of 64 bytes");
                let again = EVP_CipherUpdate(ctx.0, p, &mut 0, [0u8; 64].as_ptr(), 64);
                assert_eq!(again, 0, "{name}: plain data after {length} of 64 bytes");
            }
        }
    }
}

/// CCM's lengths stay when a key and an IV are given again, as in OpenSSL: a second message is refused until the tag of the first was
/// asked for, or its length is set.
#[test]
fn ccm_with_a_key_and_an_iv_given_again_does_what_openssl_does() {
    let mut rng = Rng::new(9);
    for (i, name) in CCM.iter().enumerate() {
        let f = fetch(name);
        for (seed, enc) in (0..32).map(|n| (n / 2, (n % 2) as c_int)) {
            let mut pair = Pair::new(name, seed);
            let key = rng.bytes(16 + 8 * i);
            pair.init(Some(&f), None, None, enc);
            pair.ctrl(SET_IVLEN, 12, &[]);
            let tag = rng.bytes(16);
            pair.ctrl(SET_TAG, 16, if enc == 1 { &[] } else { &tag });
            let iv = rng.bytes(12);
            pair.init(None, Some(&key), Some(&iv), -1);
            pair.update(&[3; 30], false);
            if seed & 1 == 1 && enc == 1 {
                pair.ctrl(GET_TAG, 16, &[0; 16]);
            }
            let (key, iv) = (rng.bytes(16 + 8 * i), rng.bytes(12));
            if seed & 2 == 2 {
                pair.init(None, Some(&key), Some(&iv), -1);
            } else {
                pair.init(None, None, Some(&iv), -1);
            }
            if seed & 4 == 4 {
                pair.both("length".to_owned(), |ctx| unsafe { EVP_CipherUpdate(ctx, null_mut(), &mut 0, null(), 40) });
            }
            if enc == 0 {
                pair.ctrl(SET_TAG, 16, &tag);
            }
            pair.update(&[4; 40], seed & 8 == 8);
        }
    }
}
