//! TLS records as libssl passes them: ours and the default provider's open each other's.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;

use common::pair::*;
use common::*;
use std::ffi::{c_int, c_uint};
use std::ptr::{null, null_mut};

/// TLS 1.2 records, sealed by one provider and opened by the other.
#[test]
fn gcm_tls_records_pass_between_providers() {
    let mut rng = Rng::new(99);
    for name in GCM {
        let f = fetch(name);
        for round in 0..60 {
            let key = rng.bytes(32);
            let mut fixed = rng.bytes(4);
            let (from, to) = if round % 2 == 0 { (f.stock, f.ours) } else { (f.ours, f.stock) };
            unsafe {
                let (a, b) = (EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new());
                assert_eq!(EVP_CipherInit_ex(a, from, null_mut(), key.as_ptr(), null(), 1), 1);
                assert_eq!(EVP_CipherInit_ex(b, to, null_mut(), key.as_ptr(), null(), 0), 1);
                for ctx in [a, b] {
                    assert_eq!(EVP_CIPHER_CTX_ctrl(ctx, SET_IV_FIXED, 4, fixed.as_mut_ptr().cast()), 1);
                }
                for _ in 0..3 {
                    let data = {
                        let n = rng.length(5000);
                        rng.bytes(n)
                    };
                    let mut aad = rng.bytes(13);
                    let mut record = [&[0; 8][..], &data, &[0; 16]].concat();
                    let mut len = 0;
                    aad[11..].copy_from_slice(&((data.len() + 8) as u16).to_be_bytes());
                    assert_eq!(EVP_CIPHER_CTX_ctrl(a, TLS1_AAD, 13, aad.as_mut_ptr().cast()), 16);
                    let p = record.as_mut_ptr();
                    assert_eq!(EVP_CipherUpdate(a, p, &mut len, p, record.len() as c_int), 1);
                    assert_eq!(len as usize, record.len());
                    aad[11..].copy_from_slice(&(record.len() as u16).to_be_bytes());
                    assert_eq!(EVP_CIPHER_CTX_ctrl(b, TLS1_AAD, 13, aad.as_mut_ptr().cast()), 16);
                    let broken = rng.below(4) == 0;
                    if broken {
                        let at = rng.below(record.len());
                        record[at] ^= 1;
                    }
                    let p = record.as_mut_ptr();
                    let rc = EVP_CipherUpdate(b, p, &mut len, p, record.len() as c_int);
                    assert_eq!(rc, c_int::from(!broken), "{}", errors());
                    if broken {
                        assert!(record[8..8 + data.len()].iter().all(|&b| b == 0));
                    } else {
                        assert_eq!((len as usize, &record[8..8 + data.len()]), (data.len(), &data[..]));
                    }
                }
                EVP_CIPHER_CTX_free(a);
                EVP_CIPHER_CTX_free(b);
                errors();
            }
        }
        // The received invocation field, set apart.
        let mut pair = Pair::new(name, 1);
        let (key, fixed, explicit) = (rng.bytes(32), rng.bytes(4), rng.bytes(8));
        pair.init(Some(&f), Some(&key), None, 0);
        pair.ctrl(SET_IV_INV, 8, &explicit);
        pair.ctrl(SET_IV_FIXED, 4, &fixed);
        pair.ctrl(SET_IV_INV, 8, &explicit);
        pair.update(&[5; 100], false);
        pair.ctrl(SET_IV_FIXED, 3, &fixed[..3]);
        pair.ctrl(SET_IV_FIXED, 5, &rng.bytes(5));
        pair.ctrl(TLS1_AAD, 12, &[0; 12]);
        pair.ctrl(TLS1_AAD, 13, &[0; 13]);
    }
}

/// TLS 1.2 records of CCM and ChaCha20-Poly1305, sealed by one provider and opened by the other.
#[test]
fn aead_tls_records_pass_between_providers() {
    let mut rng = Rng::new(101);
    for (name, ccm) in CCM.iter().map(|n| (*n, true)).chain([("ChaCha20-Poly1305", false)]) {
        let f = fetch(name);
        for round in 0..60 {
            let key = rng.bytes(32);
            let mut fixed = rng.bytes(if ccm { 4 } else { 12 });
            let tag_len = if ccm && round % 3 == 0 { 8 } else { 16 };
            let explicit = if ccm { 8 } else { 0 };
            let (from, to) = if round % 2 == 0 { (f.stock, f.ours) } else { (f.ours, f.stock) };
            unsafe {
                let (a, b) = (EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_new());
                for (ctx, cipher, enc) in [(a, from, 1), (b, to, 0)] {
                    assert_eq!(EVP_CipherInit_ex(ctx, cipher, null_mut(), null(), null(), enc), 1);
                    if ccm {
                        assert_eq!(EVP_CIPHER_CTX_ctrl(ctx, SET_IVLEN, 12, null_mut()), 1);
                        assert_eq!(EVP_CIPHER_CTX_ctrl(ctx, SET_TAG, tag_len, null_mut()), 1);
                    }
                    assert_eq!(EVP_CipherInit_ex(ctx, null_mut(), null_mut(), key.as_ptr(), null(), enc), 1);
                    let fixed = fixed.as_mut_ptr().cast();
                    assert_eq!(EVP_CIPHER_CTX_ctrl(ctx, SET_IV_FIXED, if ccm { 4 } else { 12 }, fixed), 1);
                }
                for _ in 0..3 {
                    let data = {
                        let n = 1 + rng.length(5000);
                        rng.bytes(n)
                    };
                    let mut aad = rng.bytes(13);
                    let mut record = [&vec![0; explicit][..], &data, &vec![0; tag_len as usize]].concat();
                    let mut len = 0;
                    aad[11..].copy_from_slice(&((data.len() + explicit) as u16).to_be_bytes());
                    assert_eq!(EVP_CIPHER_CTX_ctrl(a, TLS1_AAD, 13, aad.as_mut_ptr().cast()), tag_len);
                    let p = record.as_mut_ptr();
                    assert_eq!(EVP_CipherUpdate(a, p, &mut len, p, record.len() as c_int), 1, "{name}: {}", errors());
                    assert_eq!(len as usize, record.len());
                    aad[11..].copy_from_slice(&(record.len() as u16).to_be_bytes());
                    assert_eq!(EVP_CIPHER_CTX_ctrl(b, TLS1_AAD, 13, aad.as_mut_ptr().cast()), tag_len);
                    let broken = rng.below(4) == 0;
                    if broken {
                        let at = rng.below(record.len());
                        record[at] ^= 1;
                    }
                    let p = record.as_mut_ptr();
                    let rc = EVP_CipherUpdate(b, p, &mut len, p, record.len() as c_int);
                    assert_eq!(rc, c_int::from(!broken), "{name}: {}", errors());
                    let opened = &record[explicit..explicit + data.len()];
                    if broken {
                        assert!(opened.iter().all(|&b| b == 0));
                    } else {
                        assert_eq!((len as usize, opened), (data.len(), &data[..]));
                    }
                }
                EVP_CIPHER_CTX_free(a);
                EVP_CIPHER_CTX_free(b);
                errors();
            }
        }
    }
}

/// What libssl does with plain CBC ciphers: padding, explicit IV and MAC are the provider's.
#[test]
fn cbc_tls_records_are_those_of_the_default_provider() {
    for (i, name) in ["AES-128-CBC", "AES-256-CBC", "DES-EDE3-CBC"].iter().enumerate() {
        let f = fetch(name);
        let block = unsafe { EVP_CIPHER_get_block_size(f.stock) } as usize;
        for round in 0..240 {
            let seed = (50_000 + i * 1000 + round) as u64;
            let mut rng = Rng::new(seed);
            let mut version: c_uint = [0x0300, 0x0301, 0x0302, 0x0303, 0xFEFF, 0xFEFD, 0x0100, 0x0304][round % 8];
            let mut mac_size = [0, 16, 20, 32, 48][rng.below(5)];
            let (key, iv) = (rng.bytes(32), rng.bytes(16));
            let params = [
                OSSL_PARAM::uint(c"tls-version", &mut version),
                OSSL_PARAM::size(c"tls-mac-size", &mut mac_size),
                OSSL_PARAM::END,
            ];
            let mut seal = Pair::new(name, seed);
            let mut open = Pair::new(name, seed);
            for (pair, enc) in [(&mut seal, 1), (&mut open, 0)] {
                pair.init(Some(&f), Some(&key), Some(&iv), enc);
                pair.both("tls".to_owned(), |ctx| unsafe { EVP_CIPHER_CTX_set_params(ctx, params.as_ptr()) });
            }
            let mut touched = false;
            for _ in 0..6 {
                let plain = {
                    let n = 1 + rng.length(1500);
                    rng.bytes(n)
                };
                let (rc, mut record) = seal.both(format!("record {}", plain.len()), |ctx| unsafe {
                    let mut out = [&plain[..], &[0; 16]].concat();
                    let mut len = 0;
                    let p = out.as_mut_ptr();
                    let rc = EVP_CipherUpdate(ctx, p, &mut len, p, plain.len() as c_int);
                    out.truncate(len as usize);
                    (rc, out)
                });
                assert_eq!(rc, 1);
                // Where records are chained, one that was touched spoils the next one's beginning.
                let cut = rng.below(5) == 0;
                if cut {
                    // A record cut short, down to less than padding and MAC take.
                    record.truncate(block * rng.below(record.len() / block + 1));
                }
                let bad = rng.below(4) == 0 && !record.is_empty();
                let spoilt = std::mem::replace(&mut touched, cut || bad);
                if bad {
                    let at = record.len() - 1 - rng.below(record.len().min(2 * block));
                    record[at] ^= 1 << rng.below(8);
                }
                open.log.push(format!("open {} touched {}", record.len(), touched || spoilt));
                if record.is_empty() {
                    continue;
                }
                let mut answers = Vec::new();
                for ctx in [open.stock, open.ours] {
                    unsafe {
                        let mut out = [&record[..], &[0; 32]].concat();
                        let (mut len, p) = (0, out.as_mut_ptr());
                        let rc = EVP_CipherUpdate(ctx, p, &mut len, p, record.len() as c_int);
                        let mut mac: *const u8 = null();
                        let mut get = [OSSL_PARAM::octets_ptr(c"tls-mac", &mut mac), OSSL_PARAM::END];
                        assert_eq!(EVP_CIPHER_CTX_get_params(ctx, get.as_mut_ptr()), 1);
                        let have = rc == 1 && mac_size > 0 && !mac.is_null();
                        let mac = if have { std::slice::from_raw_parts(mac, mac_size).to_vec() } else { Vec::new() };
                        errors();
                        answers.push((rc, len, out, mac));
                    }
                }
                let [stock, ours] = &answers[..] else { unreachable!() };
                assert_eq!((stock.0, stock.1), (ours.0, ours.1), "{name} {version:#x} mac {mac_size}: {:#?}", open.log);
                if stock.0 == 1 {
                    assert_eq!(stock.2, ours.2);
                    assert_eq!(stock.3.len(), ours.3.len());
                    // Where the padding is bad, or there is no room for a MAC, both are random.
                    let random = touched || spoilt || plain.len() < block + mac_size;
                    assert!(stock.3 == ours.3 || random, "{:#?}", open.log);
                }
            }
            seal.finish();
        }
    }
}
