//! Every cipher against OpenSSL's default provider, through the same EVP calls: what one returns, the other must.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;

use common::*;
use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

/// What each provider answered to the same call.
struct Pair {
    name: String,
    log: Vec<String>,
    stock: CipherCtx,
    ours: CipherCtx,
}

struct Fetched {
    stock: Cipher,
    ours: Cipher,
}

impl Drop for Fetched {
    fn drop(&mut self) {
        unsafe {
            EVP_CIPHER_free(self.stock);
            EVP_CIPHER_free(self.ours);
        }
    }
}

fn fetch(name: &str) -> Fetched {
    let c = CString::new(name).unwrap();
    unsafe {
        let stock = EVP_CIPHER_fetch(library().0, c.as_ptr(), DEFAULT.as_ptr());
        let ours = EVP_CIPHER_fetch(library().0, c.as_ptr(), ADJUNCT.as_ptr());
        assert!(!stock.is_null(), "{name}: {}", errors());
        assert!(!ours.is_null(), "{name} is not offered: {}", errors());
        Fetched { stock, ours }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        unsafe {
            EVP_CIPHER_CTX_free(self.stock);
            EVP_CIPHER_CTX_free(self.ours);
        }
    }
}

impl Pair {
    fn new(name: &str, seed: u64) -> Pair {
        let log = vec![format!("seed {seed}")];
        unsafe { Pair { name: name.to_owned(), log, stock: EVP_CIPHER_CTX_new(), ours: EVP_CIPHER_CTX_new() } }
    }

    /// Makes the same call on both and compares what it returns.
    fn both<T: PartialEq + std::fmt::Debug>(&mut self, what: String, call: impl Fn(CipherCtx) -> T) -> T {
        self.log.push(what);
        let stock = call(self.stock);
        let stock_errors = errors();
        let ours = call(self.ours);
        let our_errors = errors();
        assert!(
            stock == ours,
            "{}: stock {stock:02x?} [{stock_errors}], ours {ours:02x?} [{our_errors}]\nafter {:#?}",
            self.name,
            self.log
        );
        // We may say why where OpenSSL's own is silent, never the other way round.
        let silent = our_errors.is_empty() && !stock_errors.is_empty();
        assert!(!silent, "{}: no error is raised, stock: {stock_errors}\nafter {:#?}", self.name, self.log);
        ours
    }

    fn init(&mut self, fetched: Option<&Fetched>, key: Option<&[u8]>, iv: Option<&[u8]>, enc: c_int) -> c_int {
        let (stock, ours) = (self.stock, fetched.map(|f| (f.stock, f.ours)));
        self.both(format!("init cipher {} key {key:02x?} iv {iv:02x?} enc {enc}", fetched.is_some()), |ctx| unsafe {
            let cipher = ours.map_or(null_mut(), |(s, o)| if ctx == stock { s } else { o });
            let key = key.map_or(null(), <[u8]>::as_ptr);
            EVP_CipherInit_ex(ctx, cipher, null_mut(), key, iv.map_or(null(), <[u8]>::as_ptr), enc)
        })
    }

    fn update(&mut self, data: &[u8], in_place: bool) -> (c_int, Vec<u8>) {
        self.both(format!("update {} in place {in_place}", data.len()), |ctx| unsafe {
            let mut out = vec![0u8; data.len() + 32];
            let mut len = 0;
            let input = if in_place {
                out[..data.len()].copy_from_slice(data);
                out.as_ptr()
            } else {
                data.as_ptr()
            };
            let rc = EVP_CipherUpdate(ctx, out.as_mut_ptr(), &mut len, input, data.len() as c_int);
            out.truncate(if rc == 1 { len as usize } else { 0 });
            (rc, out)
        })
    }

    fn aad(&mut self, data: &[u8]) -> c_int {
        self.both(format!("aad {}", data.len()), |ctx| unsafe {
            let mut len = 0;
            EVP_CipherUpdate(ctx, null_mut(), &mut len, data.as_ptr(), data.len() as c_int)
        })
    }

    fn finish(&mut self) -> (c_int, Vec<u8>) {
        self.both("final".to_owned(), |ctx| unsafe {
            let mut out = vec![0u8; 64];
            let mut len = 0;
            let rc = EVP_CipherFinal_ex(ctx, out.as_mut_ptr(), &mut len);
            out.truncate(if rc == 1 { len as usize } else { 0 });
            (rc, out)
        })
    }

    fn cipher(&mut self, data: &[u8], in_place: bool) -> (c_int, Vec<u8>) {
        self.both(format!("EVP_Cipher {} in place {in_place}", data.len()), |ctx| unsafe {
            let mut out = vec![0u8; data.len() + 16];
            let input = if in_place {
                out[..data.len()].copy_from_slice(data);
                out.as_ptr()
            } else {
                data.as_ptr()
            };
            let rc = EVP_Cipher(ctx, out.as_mut_ptr(), input, data.len() as c_uint);
            out.truncate(if rc > 0 { data.len() } else { 0 });
            (rc, out)
        })
    }

    fn ctrl(&mut self, kind: c_int, arg: c_int, data: &[u8]) -> (c_int, Vec<u8>) {
        self.both(format!("ctrl {kind:#x} {arg} {data:02x?}"), |ctx| unsafe {
            let mut buffer = data.to_vec();
            let pointer = if data.is_empty() { null_mut() } else { buffer.as_mut_ptr().cast::<c_void>() };
            (EVP_CIPHER_CTX_ctrl(ctx, kind, arg, pointer), buffer)
        })
    }

    fn copy(&mut self) {
        self.both("copy".to_owned(), |_| ());
        for ctx in [&mut self.stock, &mut self.ours] {
            unsafe {
                let new = EVP_CIPHER_CTX_new();
                assert_eq!(EVP_CIPHER_CTX_copy(new, *ctx), 1, "{}", errors());
                EVP_CIPHER_CTX_free(*ctx);
                *ctx = new;
            }
        }
    }

    fn look(&mut self) {
        self.both("look".to_owned(), |ctx| unsafe {
            let mut ivs = [[0u8; 16]; 2];
            let a = EVP_CIPHER_CTX_get_updated_iv(ctx, ivs[0].as_mut_ptr().cast(), 16);
            let b = EVP_CIPHER_CTX_get_original_iv(ctx, ivs[1].as_mut_ptr().cast(), 16);
            let num = EVP_CIPHER_CTX_get_num(ctx);
            (a, b, ivs, num, EVP_CIPHER_CTX_get_key_length(ctx), EVP_CIPHER_CTX_get_iv_length(ctx))
        });
    }
}

const SIMPLE: &[&str] = &[
    "AES-128-ECB",
    "AES-192-ECB",
    "AES-256-ECB",
    "AES-128-CBC",
    "AES-192-CBC",
    "AES-256-CBC",
    "AES-128-CTR",
    "AES-192-CTR",
    "AES-256-CTR",
    "AES-128-CFB",
    "AES-192-CFB",
    "AES-256-CFB",
    "AES-128-CFB8",
    "AES-192-CFB8",
    "AES-256-CFB8",
    "AES-128-CFB1",
    "AES-192-CFB1",
    "AES-256-CFB1",
    "AES-128-OFB",
    "AES-192-OFB",
    "AES-256-OFB",
    "DES-EDE3-CBC",
    "ChaCha20",
];

const XTS: &[&str] = &["AES-128-XTS", "AES-256-XTS"];

const CCM: &[&str] = &["AES-128-CCM", "AES-192-CCM", "AES-256-CCM"];

const GCM: &[&str] = &["AES-128-GCM", "AES-192-GCM", "AES-256-GCM"];

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
                    // OpenSSL 3.0 does not tell the IV of ChaCha20.
                    3 if *name != "ChaCha20" => pair.look(),
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

const SET_IVLEN: c_int = 0x9;
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;
const SET_IV_FIXED: c_int = 0x12;
const IV_GEN: c_int = 0x13;
const TLS1_AAD: c_int = 0x16;
const SET_IV_INV: c_int = 0x18;

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
                pair.finish();
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
            if enc == 0 && rng.bool() {
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

/// All of the above with instructions taken away: the code for lesser CPUs gives the same.
#[test]
#[cfg(target_arch = "x86_64")]
fn the_same_holds_on_lesser_cpus() {
    const MASK: &str = "ADJUNCT_CPU";
    if std::env::var_os(MASK).is_some() {
        return;
    }
    let runs = ["-vaes", "-aes,-pclmul", "-aes,-pclmul,-ssse3"].map(|mask| {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let run = command.env(MASK, mask).args(["--skip", "lesser"]).output().unwrap();
        (mask, run)
    });
    for (mask, run) in runs {
        assert!(run.status.success(), "{mask}: {}", String::from_utf8_lossy(&run.stdout));
    }
}
