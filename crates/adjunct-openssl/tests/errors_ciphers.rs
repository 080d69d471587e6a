//! What ciphers return, give out and leave on OpenSSL's error queue, compared with the default provider's call by call: every
//! operation with good, bad, short and missing input, and random sequences of them (`ADJUNCT_DEEP=1`: many more).

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;

use common::pair::*;
use common::record::{Comparison, Recorder, deep};
use common::subject::Subject;
use common::*;
use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};

fn all() -> impl Iterator<Item = &'static str> {
    SIMPLE.iter().chain(XTS).chain(CCM).chain(GCM).chain(&["ChaCha20-Poly1305"]).copied()
}

fn aead(name: &str) -> bool {
    ["GCM", "CCM", "Poly1305"].iter().any(|end| name.ends_with(end))
}

fn is_ccm(name: &str) -> bool {
    name.ends_with("CCM")
}

/// What this OpenSSL's own ciphers have learned since the releases of August 2026; ours do it with every version.
#[derive(Clone, Copy)]
struct Mended {
    /// `EVP_Cipher` without input ends a message of ChaCha20-Poly1305.
    poly: bool,
    /// The end makes, or compares, the tag of a message that was never given to CCM.
    ccm: bool,
}

fn mended() -> Mended {
    let (poly, ccm) = (fetch("ChaCha20-Poly1305"), fetch("AES-128-CCM"));
    unsafe {
        let ctx = EVP_CIPHER_CTX_new();
        assert_eq!(EVP_CipherInit_ex(ctx, poly.stock, null_mut(), [1; 32].as_ptr(), [2; 12].as_ptr(), 0), 1);
        assert_eq!(EVP_CIPHER_CTX_ctrl(ctx, SET_TAG, 16, [3u8; 16].as_mut_ptr().cast()), 1);
        let poly = EVP_Cipher(ctx, [0; 16].as_mut_ptr(), null(), 0) == -1;
        assert_eq!(EVP_CipherInit_ex(ctx, ccm.stock, null_mut(), [1; 32].as_ptr(), [2; 12].as_ptr(), 1), 1);
        assert_eq!(EVP_CipherFinal_ex(ctx, [0; 16].as_mut_ptr(), &mut 0), 1);
        let ccm = EVP_CIPHER_CTX_ctrl(ctx, GET_TAG, 12, [0u8; 16].as_mut_ptr().cast()) == 1;
        EVP_CIPHER_CTX_free(ctx);
        errors();
        Mended { poly, ccm }
    }
}

/// Calls without a key, without an IV, and without either.
#[test]
fn what_is_missing() {
    let mut comparison = Comparison::new();
    let mended = mended();
    for name in all() {
        // OpenSSL's own ChaCha20-Poly1305 works without a key, with zeros: ours does not.
        let keyless = name != "ChaCha20-Poly1305";
        for (enc, key, iv) in (0..8).map(|n| (n & 1, n & 2 > 0, n & 4 > 0)).filter(|n| n.1 || keyless) {
            comparison.run(format!("{name} enc {enc} key {key} iv {iv}"), |r, query| {
                let mut s = Subject::new(r, name, query);
                // Without an IV GCM makes a random one.
                s.random = name.ends_with("GCM") && !iv;
                let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
                s.update(&[1; 16]);
                s.init(true, key.then_some(&k), iv.then_some(&[9; 16]), enc);
                s.look();
                // OpenSSL's own copies of XTS without a key are not to be used.
                if key || !name.ends_with("XTS") {
                    s.copy();
                }
                s.cipher(Some(&[4; 16]));
                // In OpenSSL's own CCM a message that failed leaves a length of 0 behind.
                if !is_ccm(name) {
                    s.update(&[]);
                }
                s.update(&[1; 16]);
                s.update(&[2; 5]);
                // No tag is set: not with every cipher and version is that refused by the default provider.
                if !(is_ccm(name) && !mended.ccm || name == "ChaCha20-Poly1305" && enc == 0) {
                    s.finish();
                    s.finish();
                }
                s.update(&[1; 16]);
                s.look();
                s.ctrl(GET_TAG, 16, Some(&[]));
                // OpenSSL's own GCM goes on with what is left of a message under another key; ours begins it anew.
                if !name.ends_with("GCM") {
                    s.init(false, key.then_some(&k), None, -1);
                    s.update(&[1; 16]);
                }
                s.init(true, Some(&k), Some(&[8; 16]), 1 - enc);
                s.update(&[1; 16]);
            });
        }
    }
    comparison.finish();
}

/// Messages of all lengths around a block, padded and not, in updates, to the end, and at once.
#[test]
fn messages_of_every_length() {
    let mut comparison = Comparison::new();
    for name in SIMPLE.iter().chain(XTS) {
        for (enc, pad) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            comparison.run(format!("{name} enc {enc} pad {pad}"), |r, query| {
                let mut s = Subject::new(r, name, query);
                let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
                s.init(true, Some(&k), Some(&[9; 16]), enc);
                let ctx = s.ctx;
                s.r.call("padding", || unsafe { EVP_CIPHER_CTX_set_padding(ctx, pad) });
                for length in [0, 1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48] {
                    let data: Vec<u8> = (0..length).map(|i| (i * 7 + 1) as u8).collect();
                    // A part of a block is an error of the caller's, with which OpenSSL's own writes, or reads, a whole one.
                    if !name.ends_with("CBC") || length % 16 == 0 {
                        s.cipher(Some(&data));
                    }
                    s.init(false, None, Some(&[8; 16]), -1);
                    s.update(&data);
                    s.finish();
                    s.finish();
                    s.init(false, None, Some(&[7; 16]), -1);
                    for piece in data.chunks(5) {
                        s.update(piece);
                    }
                    s.finish();
                    s.look();
                    s.init(false, None, None, -1);
                }
                s.cipher(None);
            });
        }
    }
    comparison.finish();
}

/// Padding that is right, wrong in each place, and none.
#[test]
fn padding_of_every_kind() {
    let mut comparison = Comparison::new();
    for name in ["AES-128-CBC", "AES-256-ECB", "DES-EDE3-CBC"] {
        for bad in 0..40u8 {
            comparison.run(format!("{name} {bad}"), |r, query| {
                let mut s = Subject::new(r, name, query);
                let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
                let block = unsafe { EVP_CIPHER_get_block_size(s.cipher) } as usize;
                let mut last = vec![bad % 20; block];
                last[usize::from(bad) % block] = bad / 2;
                s.init(true, Some(&k), Some(&[9; 16]), 1);
                let (ctx, mut sealed, mut n) = (s.ctx, [0u8; 64], 0);
                unsafe {
                    EVP_CIPHER_CTX_set_padding(ctx, 0);
                    EVP_CipherUpdate(ctx, sealed.as_mut_ptr(), &raw mut n, last.as_ptr(), block as c_int);
                }
                s.init(true, Some(&k), Some(&[9; 16]), 0);
                s.update(&sealed[..block]);
                s.finish();
                s.finish();
                s.update(&sealed[..block]);
                s.finish();
            });
        }
    }
    comparison.finish();
}

/// Lengths of keys and IVs that a cipher does not take, and the two keys of XTS the same.
#[test]
fn lengths_of_keys_and_ivs() {
    let mut comparison = Comparison::new();
    for name in all() {
        for enc in [0, 1] {
            comparison.run(format!("{name} keys enc {enc}"), |r, query| {
                let mut s = Subject::new(r, name, query);
                s.init(true, None, None, enc);
                let ctx = s.ctx;
                for length in [0, 8, 16, 24, 32, 33, 64, -1] {
                    s.r.call(format!("key length {length}"), || unsafe { EVP_CIPHER_CTX_set_key_length(ctx, length) });
                    s.look();
                    s.init(false, Some(&[5; 64]), Some(&[6; 16]), -1);
                    s.update(&[1; 32]);
                }
            });
            comparison.run(format!("{name} equal keys enc {enc}"), |r, query| {
                let mut s = Subject::new(r, name, query);
                s.init(true, Some(&[5; 64]), Some(&[6; 16]), enc);
                s.update(&[1; 32]);
            });
            for length in [-1, 0, 1, 6, 7, 8, 12, 13, 14, 16, 17, 64, 128, 129, 1000] {
                comparison.run(format!("{name} iv of {length} enc {enc}"), |r, query| {
                    let mut s = Subject::new(r, name, query);
                    let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
                    s.init(true, None, None, enc);
                    s.ctrl(SET_IVLEN, length, None);
                    s.look();
                    s.init(false, Some(&k), Some(&[7; 1000]), -1);
                    s.update(&[1; 32]);
                    s.ctrl(SET_IVLEN, length, None);
                    s.update(&[1; 32]);
                });
            }
        }
    }
    for name in XTS {
        comparison.run(format!("{name} beyond the longest unit"), |r, query| {
            let mut s = Subject::new(r, name, query);
            let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
            s.init(true, Some(&k), Some(&[1; 16]), 1);
            s.update(&vec![0; (1 << 24) + 1]);
            s.cipher(Some(&vec![0; (1 << 24) + 1]));
        });
    }
    comparison.finish();
}

/// Tags: set and asked for in every length and at every time.
#[test]
fn tags() {
    let mut comparison = Comparison::new();
    for name in all() {
        for (enc, arg, given) in [0, 1]
            .into_iter()
            .flat_map(|e| [0, 1, 3, 4, 12, 15, 16, 17].into_iter().flat_map(move |a| [(e, a, true), (e, a, false)]))
        {
            comparison.run(format!("{name} enc {enc} tag of {arg}, given {given}"), |r, query| {
                let mut s = Subject::new(r, name, query);
                let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
                let tag = given.then_some(&[3u8; 32][..]);
                s.ctrl(SET_TAG, arg, tag);
                s.init(true, None, None, enc);
                s.ctrl(SET_TAG, arg, tag);
                s.look();
                s.init(false, Some(&k), Some(&[7; 16]), -1);
                s.ctrl(SET_TAG, arg, tag);
                s.ctrl(GET_TAG, arg, Some(&[]));
                // Another length must not be the first thing that CCM is told of: it stands in what its key is set up with.
                if !is_ccm(name) {
                    if aead(name) {
                        s.aad(&[1; 9]);
                    }
                    s.update(&[2; 32]);
                    s.ctrl(GET_TAG, 16, Some(&[]));
                    if enc == 0 {
                        s.ctrl(SET_TAG, 16, Some(&[1; 16]));
                    }
                    s.finish();
                    s.ctrl(GET_TAG, arg, Some(&[]));
                    s.ctrl(GET_TAG, 16, Some(&[]));
                }
            });
        }
        comparison.run(format!("{name} every tag length asked for"), |r, query| {
            for length in [-1, 0, 3, 4, 8, 15, 16, 17, 1000] {
                let mut s = Subject::new(r, name, query);
                let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
                s.init(true, Some(&k), Some(&[7; 16]), 1);
                s.update(&[2; 32]);
                s.finish();
                s.ctrl(GET_TAG, length, Some(&[]));
                s.ctrl(GET_TAG, length, Some(&[]));
            }
        });
    }
    comparison.finish();
}

/// TLS 1.2 records of the AEADs, with headers and records too short or too long, and the controls about their IVs.
#[test]
fn tls_records() {
    let mut comparison = Comparison::new();
    let mended = mended();
    for name in all() {
        for (enc, header, length) in [0, 1].into_iter().flat_map(|e| {
            [(13, 64), (13, 8), (13, 7), (13, 24), (13, 23), (13, 0), (12, 64), (14, 64), (0, 64)]
                .map(|(h, l)| (e, h, l))
        }) {
            comparison.run(format!("{name} enc {enc} header of {header} tells {length}"), |r, query| {
                let mut s = Subject::new(r, name, query);
                let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
                let aad = [0, 0, 0, 0, 0, 0, 0, 1, 23, 3, 3, 0, length, 0];
                s.ctrl(TLS1_AAD, header, Some(&aad));
                s.init(true, None, None, enc);
                s.init(false, Some(&k), None, enc);
                // The fixed part of GCM's IV is followed by a random one.
                s.random = name.ends_with("GCM") && enc == 1;
                s.ctrl(SET_IV_FIXED, if name.ends_with("Poly1305") { 12 } else { 4 }, Some(&[5; 16]));
                s.ctrl(TLS1_AAD, header, Some(&aad));
                // An empty record: of ChaCha20-Poly1305 it succeeds in old releases. A part of a block: see above.
                let sizes = [0, 5, 16, 23, 24, 63].into_iter();
                for size in sizes.filter(|&n| (!name.ends_with("CBC") || n % 16 == 0) && (n > 0 || mended.poly)) {
                    s.record(&vec![7; size]);
                }
                s.record(&[9; 80]);
                s.ctrl(TLS1_AAD, header, Some(&aad));
                s.record(&[9; 64]);
                s.ctrl(TLS1_AAD, header, Some(&aad));
                s.record(&[9; 80]);
                s.ctrl(TLS1_AAD, header, Some(&aad));
                s.cipher(Some(&[8; 64]));
                s.look();
            });
        }
        // Beyond the IV OpenSSL's own GCM writes past its end.
        for fixed in [-1, 0, 3, 4, 5, 8, 11, 12] {
            for enc in [0, 1] {
                comparison.run(format!("{name} enc {enc} fixed IV of {fixed}"), |r, query| {
                    let mut s = Subject::new(r, name, query);
                    s.random = enc == 1 && name.ends_with("GCM");
                    let k: Vec<u8> = (0..s.key_length()).map(|i| i as u8).collect();
                    s.init(true, None, None, enc);
                    s.ctrl(IV_GEN, 8, Some(&[]));
                    s.ctrl(SET_IV_FIXED, fixed, Some(&[5; 32]));
                    s.ctrl(IV_GEN, 8, Some(&[]));
                    s.init(false, Some(&k), None, enc);
                    s.ctrl(SET_IV_FIXED, fixed, Some(&[5; 32]));
                    for length in [0, -1, 1, 8, 12, 13] {
                        s.ctrl(IV_GEN, length, Some(&[]));
                    }
                    s.ctrl(IV_GEN, 8, None);
                    for length in [8, 1, 12] {
                        s.ctrl(SET_IV_INV, length, Some(&[6; 16]));
                    }
                    s.ctrl(SET_IV_INV, 8, None);
                    s.look();
                    s.update(&[1; 16]);
                });
            }
        }
    }
    comparison.finish();
}

/// Parameters of every kind, given with the right type and with wrong ones.
#[test]
fn parameters_of_every_type() {
    // Not `num`: of that the releases of OpenSSL take nothing, a block, or anything.
    let numbers: [&CStr; 10] = [
        c"keylen",
        c"ivlen",
        c"padding",
        c"use-bits",
        c"tls-version",
        c"tls-mac-size",
        c"taglen",
        c"tlsaadpad",
        c"blocksize",
        c"unknown",
    ];
    let strings: [&CStr; 8] =
        [c"iv", c"updated-iv", c"tag", c"tlsaad", c"tlsivfixed", c"tlsivinv", c"tlsivgen", c"unknown"];
    let mut comparison = Comparison::new();
    for name in all() {
        for (set, enc) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
            for key in numbers {
                comparison.run(format!("{name} set {set} enc {enc} {key:?}"), |r, query| {
                    let mut s = Subject::new(r, name, query);
                    s.init(true, Some(&[1; 64].map(|_| 1)[..]).filter(|_| !name.ends_with("XTS")), Some(&[2; 16]), enc);
                    for data_type in [1, 2] {
                        for (size, value) in [(4, 12), (8, 16), (4, 0), (8, 1 << 40), (4, 0xFFFF_FFFF), (8, u64::MAX)] {
                            s.number(set, key, data_type, size, value);
                        }
                    }
                    s.octets(set, key, 4, 4, false);
                    s.octets(set, key, 5, 8, false);
                    s.look();
                });
            }
            for key in strings {
                comparison.run(format!("{name} set {set} enc {enc} {key:?}"), |r, query| {
                    let mut s = Subject::new(r, name, query);
                    s.random =
                        enc == 1 && name.ends_with("GCM") && matches!(key.to_bytes(), b"tlsivfixed" | b"tlsivgen");
                    s.init(true, Some(&[1; 64][..]).filter(|_| !name.ends_with("XTS")), Some(&[2; 16]), enc);
                    for size in [16, 12, 4, 0, 17, 129] {
                        // Beyond the IV OpenSSL's own GCM writes past its end.
                        if size > 12 && (key == c"tlsivfixed" || key == c"tlsivinv") {
                            continue;
                        }
                        // CCM gives out more of its context than its nonce where there is more room.
                        if is_ccm(name) && key.to_bytes().ends_with(b"iv") && size > 16 {
                            continue;
                        }
                        s.octets(set, key, 5, size, false);
                    }
                    s.octets(set, key, 4, 12, false);
                    s.number(set, key, 2, 8, 16);
                    // Set without data: only of the tag is that foreseen.
                    if set && key == c"tag" {
                        s.octets(set, key, 5, 16, true);
                    }
                });
            }
        }
    }
    comparison.finish();
}

/// Operations in a random order.
#[test]
fn random_sequences() {
    let mut comparison = Comparison::new();
    let mended = mended();
    for (i, name) in all().enumerate() {
        for round in 0..if deep() { 3000 } else { 40 } {
            let seed = (i * 100_000 + round) as u64;
            comparison.run(format!("{name} seed {seed}"), |r, query| random_sequence(r, name, query, seed, mended));
        }
    }
    comparison.finish();
}

fn random_sequence(r: &mut Recorder, name: &str, query: &CStr, seed: u64, mended: Mended) {
    let mut rng = Rng::new(seed);
    let mut s = Subject::new(r, name, query);
    let (ccm, poly, gcm) = (is_ccm(name), name.ends_with("Poly1305"), name.ends_with("GCM"));
    let key_length = s.key_length();
    let (mut enc, mut tagged, mut fresh) = (1, false, true);
    // Whether CCM was told a length, and has had another key since: OpenSSL's own then takes the end of an empty message, with a nonce of
    // zeros. Ours does not.
    let (mut sized, mut stale) = (false, false);
    let first = rng.bytes(key_length);
    // See above about the two without a key.
    s.init(true, (poly || name.ends_with("XTS")).then_some(&first), None, enc);
    for _ in 0..3 + rng.below(15) {
        match rng.below(16) {
            0..3 => {
                let (key, iv) = (rng.bytes(key_length), rng.bytes(16));
                enc = if rng.bool() { enc } else { 1 - enc };
                let whole = rng.below(3) == 0;
                tagged &= !whole;
                (s.random, fresh) = (s.random | gcm, true);
                let (with_key, with_iv) = (rng.below(4) > 0 || poly, rng.below(4) > 0);
                stale |= sized && with_key;
                s.init(whole, with_key.then_some(&key), with_iv.then_some(&iv), enc);
            }
            3..7 => {
                let n = usize::from(ccm) + rng.below(50);
                let data = rng.bytes(n);
                fresh = false;
                // After a message that failed OpenSSL's own CCM has lost its lengths, and takes some that were never set.
                if s.update(&data) != 1 && ccm {
                    break;
                }
            }
            // Additional data of another cipher would be written to a null pointer.
            // Nor is it for ChaCha20-Poly1305 to come after the message.
            7 if ccm || poly && fresh || gcm => s.aad(&[7; 20]),
            8 if ccm => {
                sized = true;
                s.message_length(rng.below(50) as c_int);
            }
            9 => {
                let n = rng.below(17);
                let tag = rng.bytes(n);
                tagged |= s.ctrl(SET_TAG, n as c_int, rng.bool().then_some(&tag)) == 1;
            }
            10 => drop(s.ctrl(GET_TAG, rng.below(18) as c_int, Some(&[]))),
            11 => drop(s.ctrl(SET_IVLEN, rng.below(17) as c_int, None)),
            12 if !name.ends_with("XTS") => s.copy(),
            13 if !ccm && (!poly || enc == 1 || tagged) => drop(s.finish()),
            13 if ccm && mended.ccm && !stale => {
                sized = true;
                s.finish();
            }
            14 => {
                let n = if name.ends_with("CBC") { rng.below(3) * 16 } else { usize::from(ccm) + rng.below(40) };
                let data = rng.bytes(n);
                fresh = false;
                let ends = gcm || poly && mended.poly && tagged || ccm && mended.ccm && !stale;
                let done = s.cipher((rng.below(4) > 0 || !ends).then_some(&data));
                sized |= ends;
                if done < 0 && ccm {
                    break;
                }
            }
            _ => s.look(),
        }
    }
}
