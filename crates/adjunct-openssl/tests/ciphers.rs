//! Every cipher against OpenSSL's default provider, through the same EVP calls: what one returns, the other must.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;

use common::pair::*;
use common::*;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{null, null_mut};

unsafe extern "C" fn collect(name: *const std::ffi::c_char, list: *mut c_void) {
    unsafe { (*list.cast::<Vec<String>>()).push(CStr::from_ptr(name).to_string_lossy().to_lowercase()) };
}

unsafe fn keys(mut table: *const OSSL_PARAM) -> Vec<String> {
    let mut names = Vec::new();
    unsafe {
        while !table.is_null() && !(*table).key.is_null() {
            names.push(CStr::from_ptr((*table).key).to_string_lossy().into_owned());
            table = table.add(1);
        }
    }
    names
}

#[test]
fn names_and_constants_are_those_of_the_default_provider() {
    for name in SIMPLE.iter().chain(GCM).chain(CCM).chain(XTS).chain(&["ChaCha20-Poly1305"]) {
        let f = fetch(name);
        unsafe {
            let facts = |c: Cipher| {
                let mut names = Vec::<String>::new();
                EVP_CIPHER_names_do_all(c, collect, (&raw mut names).cast());
                names.sort();
                (
                    names,
                    EVP_CIPHER_get_nid(c),
                    EVP_CIPHER_get_mode(c),
                    EVP_CIPHER_get_flags(c),
                    EVP_CIPHER_get_key_length(c),
                    EVP_CIPHER_get_iv_length(c),
                    EVP_CIPHER_get_block_size(c),
                )
            };
            assert_eq!(facts(f.stock), facts(f.ours), "{name}");
            for table in [EVP_CIPHER_gettable_params, EVP_CIPHER_gettable_ctx_params, EVP_CIPHER_settable_ctx_params] {
                let ours = keys(table(f.ours));
                for key in keys(table(f.stock)) {
                    assert!(ours.contains(&key), "{name}: parameter {key} is missing among {ours:?}");
                }
            }
        }
    }
}

#[test]
fn simple_modes_do_what_the_default_provider_does() {
    for (i, name) in SIMPLE.iter().enumerate() {
        let f = fetch(name);
        let (key_len, iv_len, block) = unsafe {
            let c = f.stock;
            (EVP_CIPHER_get_key_length(c), EVP_CIPHER_get_iv_length(c), EVP_CIPHER_get_block_size(c) as usize)
        };
        let rounds = if name.contains("CFB1") || name.contains("CFB8") { 15 } else { 60 };
        for round in 0..rounds {
            let seed = (i * 1000 + round) as u64;
            let mut rng = Rng::new(seed);
            let mut pair = Pair::new(name, seed);
            let key = rng.bytes(key_len as usize);
            let iv = rng.bytes(iv_len as usize);
            let enc = rng.below(2) as c_int;
            match rng.below(3) {
                0 => drop(pair.init(Some(&f), Some(&key), Some(&iv), enc)),
                1 => {
                    pair.init(Some(&f), None, None, enc);
                    pair.init(None, Some(&key), None, enc);
                    pair.init(None, None, Some(&iv), -1);
                }
                _ => {
                    pair.init(Some(&f), None, Some(&iv), enc);
                    if round % 7 == 0 {
                        let data = rng.bytes(16);
                        pair.update(&data, false);
                    }
                    pair.init(None, Some(&key), None, -1);
                }
            }
            let mut one_shot = false;
            for _ in 0..24 {
                match rng.below(14) {
                    0 => {
                        let (key, iv) = (rng.bytes(key_len as usize), rng.bytes(iv_len as usize));
                        pair.init(None, rng.bool().then_some(&key[..]), rng.bool().then_some(&iv[..]), -1);
                        // After a turn of direction without a new key the default provider's key is stale.
                        one_shot = false;
                    }
                    1 => {
                        let (key, iv) = (rng.bytes(key_len as usize), rng.bytes(iv_len as usize));
                        pair.init(None, Some(&key), Some(&iv), rng.below(2) as c_int);
                        one_shot = false;
                    }
                    2 => pair.copy(),
                    3 => pair.look(),
                    4 if block > 1 => {
                        let pad = rng.below(2) as c_int;
                        pair.both(format!("padding {pad}"), |ctx| unsafe { EVP_CIPHER_CTX_set_padding(ctx, pad) });
                    }
                    5 if !one_shot => {
                        let (rc, _) = pair.finish();
                        if rc != 1 {
                            pair.init(None, None, Some(&iv), -1);
                        }
                    }
                    6 if block == 1 || one_shot => {
                        let length = rng.length(400) / block * block;
                        let data = rng.bytes(length);
                        pair.cipher(&data, rng.bool());
                    }
                    7 => one_shot = pair.init(None, None, Some(&iv), -1) == 1,
                    _ if !one_shot || block == 1 => {
                        let data = {
                            let n = rng.length(700);
                            rng.bytes(n)
                        };
                        let in_place = block == 1 && rng.bool();
                        pair.update(&data, in_place);
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn long_runs_and_counter_wraps_agree() {
    for (i, name) in SIMPLE.iter().enumerate() {
        let f = fetch(name);
        let block = unsafe { EVP_CIPHER_get_block_size(f.stock) } as usize;
        for (k, length) in [(0, 1 << 17), (1, 40_000), (2, 5000)] {
            let mut rng = Rng::new((i * 10 + k) as u64);
            // One block operation a byte, or a bit.
            let length = if name.contains("CFB1") || name.contains("CFB8") { length / 32 } else { length };
            let key = rng.bytes(32);
            let mut iv = vec![0xFF; 16];
            // The low 32, 64 and all bits of the counter overflow within the data.
            iv[..[12, 8, 0][k]].fill(7);
            iv[15] = 0xF0;
            for enc in [1, 0] {
                let mut pair = Pair::new(name, k as u64);
                pair.init(Some(&f), Some(&key), Some(&iv), enc);
                let data = rng.bytes(length);
                for in_place in [true, false] {
                    // Whole, in place; then in pieces, and in place only where no byte is held back.
                    if in_place {
                        pair.update(&data, true);
                    } else {
                        let mut at = 0;
                        for piece in rng.pieces(length) {
                            pair.update(&data[at..at + piece], block == 1);
                            at += piece;
                        }
                    }
                    pair.finish();
                    pair.init(None, None, Some(&iv), -1);
                }
            }
        }
    }
}

#[test]
fn xts_does_what_the_default_provider_does() {
    for (i, name) in XTS.iter().enumerate() {
        let f = fetch(name);
        let key_len = unsafe { EVP_CIPHER_get_key_length(f.stock) } as usize;
        for round in 0..200 {
            let seed = (20_000 + i * 1000 + round) as u64;
            let mut rng = Rng::new(seed);
            let mut pair = Pair::new(name, seed);
            let key = rng.bytes(key_len);
            let iv = rng.bytes(16);
            let enc = rng.below(2) as c_int;
            pair.init(Some(&f), None, rng.bool().then_some(&iv[..]), enc);
            pair.update(&[0; 16], false);
            pair.init(None, Some(&key), Some(&iv), -1);
            for _ in 0..6 {
                let data = {
                    let n = rng.length(6000);
                    rng.bytes(n)
                };
                match rng.below(5) {
                    0 => drop(pair.init(None, None, Some(&rng.bytes(16)), -1)),
                    1 => pair.copy(),
                    2 => drop(pair.cipher(&data, rng.bool())),
                    _ => drop(pair.update(&data, rng.bool())),
                }
                pair.look();
            }
            pair.finish();
        }
        // One key twice is refused for encryption only.
        let mut pair = Pair::new(name, 0);
        let twice = [7u8; 64];
        pair.init(Some(&f), Some(&twice), Some(&[0; 16]), 1);
        pair.init(None, Some(&twice), Some(&[0; 16]), 0);
        pair.update(&[1; 100], true);
        pair.both("key length".to_owned(), |ctx| unsafe { EVP_CIPHER_CTX_set_key_length(ctx, 16) });
        // Lengths around each vector width, and the longest data unit.
        pair.init(None, Some(&(0..64).collect::<Vec<u8>>()), Some(&[0xFF; 16]), 1);
        for length in (16..600).chain([1 << 24, (1 << 24) + 1]) {
            pair.update(&vec![3; length], length % 2 == 0);
        }
    }
}

#[test]
fn triple_des_makes_keys_of_odd_parity() {
    let f = fetch("DES-EDE3-CBC");
    unsafe {
        let ctx = EVP_CIPHER_CTX_new();
        assert_eq!(EVP_CipherInit_ex(ctx, f.ours, null_mut(), null(), null(), 1), 1);
        let mut keys = [[0u8; 24]; 2];
        for key in &mut keys {
            assert_eq!(EVP_CIPHER_CTX_rand_key(ctx, key.as_mut_ptr()), 1, "{}", errors());
            assert!(key.iter().all(|b| b.count_ones() % 2 == 1));
        }
        assert_ne!(keys[0], keys[1]);
        EVP_CIPHER_CTX_free(ctx);
    }
}

/// CFB-1 with lengths in bits.
#[test]
fn cfb1_counts_bits_where_asked() {
    const LENGTH_BITS: c_int = 0x2000;
    for name in ["AES-128-CFB1", "AES-256-CFB1"] {
        let f = fetch(name);
        for enc in [0, 1] {
            let mut rng = Rng::new(5);
            let mut pair = Pair::new(name, 5);
            let (key, iv) = (rng.bytes(32), rng.bytes(16));
            pair.init(Some(&f), Some(&key), Some(&iv), enc);
            pair.both("bits".to_owned(), |ctx| unsafe { EVP_CIPHER_CTX_set_flags(ctx, LENGTH_BITS) });
            for _ in 0..50 {
                let bits = 1 + rng.below(300);
                let data = rng.bytes(bits.div_ceil(8));
                pair.both(format!("{bits} bits"), |ctx| unsafe {
                    let (mut out, mut len) = (vec![0xA5u8; data.len()], 0);
                    let rc = EVP_CipherUpdate(ctx, out.as_mut_ptr(), &mut len, data.as_ptr(), bits as c_int);
                    (rc, len, out)
                });
            }
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_same_holds_on_lesser_cpus() {
    under_masks();
}
