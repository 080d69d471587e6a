//! What digests, MACs and the random generator return, give out and leave on OpenSSL's error queue, compared with the default
//! provider's call by call, with good, bad, short and missing input.

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;

use common::record::{Comparison, Recorder, deep};
use common::*;
use std::ffi::{CStr, CString, c_int, c_uint};
use std::ptr::{null, null_mut};

unsafe extern "C" {
    fn EVP_RAND_fetch(ctx: LibCtx, name: *const std::ffi::c_char, query: *const std::ffi::c_char) -> *mut Opaque;
    fn EVP_RAND_free(rand: *mut Opaque);
    fn EVP_RAND_CTX_new(rand: *mut Opaque, parent: *mut Opaque) -> *mut Opaque;
    fn EVP_RAND_CTX_free(ctx: *mut Opaque);
    fn EVP_RAND_instantiate(
        ctx: *mut Opaque,
        strength: c_uint,
        resist: c_int,
        personalisation: *const u8,
        length: usize,
        params: *const OSSL_PARAM,
    ) -> c_int;
    fn EVP_RAND_uninstantiate(ctx: *mut Opaque) -> c_int;
    fn EVP_RAND_generate(
        ctx: *mut Opaque,
        out: *mut u8,
        length: usize,
        strength: c_uint,
        resist: c_int,
        additional: *const u8,
        additional_length: usize,
    ) -> c_int;
    fn EVP_RAND_reseed(
        ctx: *mut Opaque,
        resist: c_int,
        entropy: *const u8,
        length: usize,
        additional: *const u8,
        additional_length: usize,
    ) -> c_int;
    fn EVP_RAND_get_state(ctx: *mut Opaque) -> c_int;
    fn EVP_RAND_get_strength(ctx: *mut Opaque) -> c_uint;
    fn EVP_RAND_CTX_set_params(ctx: *mut Opaque, params: *const OSSL_PARAM) -> c_int;
}

const DIGESTS: [&str; 14] = [
    "SHA1",
    "SHA2-224",
    "SHA2-256",
    "SHA2-384",
    "SHA2-512",
    "SHA2-512/224",
    "SHA2-512/256",
    "SHA3-224",
    "SHA3-256",
    "SHA3-384",
    "SHA3-512",
    "SHAKE-128",
    "SHAKE-256",
    "MD5",
];

/// A parameter with `size` bytes of a buffer, as a type that it may not be.
fn parameter(key: &'static CStr, data_type: c_uint, buffer: &mut [u8], size: usize) -> [OSSL_PARAM; 2] {
    assert!(size <= buffer.len());
    let data = buffer.as_mut_ptr().cast();
    [OSSL_PARAM { key: key.as_ptr(), data_type, data, data_size: size, return_size: usize::MAX }, OSSL_PARAM::END]
}

fn digest_steps(r: &mut Recorder, name: &str, (md, ctx): (Md, MdCtx), rng: &mut Rng, steps: usize) {
    let xof = name.starts_with("SHAKE");
    // The SHA-3 of OpenSSL 3.5 writes its whole result where a shorter one is asked for.
    let may_squeeze = !name.starts_with("SHA3");
    let mut started = false;
    for _ in 0..steps {
        match rng.below(9) {
            0 | 1 => {
                started = true;
                r.call("init", || unsafe { EVP_DigestInit_ex(ctx, md, null_mut()) });
            }
            2 | 3 if started => {
                let n = rng.below(300);
                let data = rng.bytes(n);
                r.call(format!("update {n}"), || unsafe { EVP_DigestUpdate(ctx, data.as_ptr().cast(), n) });
            }
            4 if started => {
                let (mut out, mut n) = ([0u8; 300], 77);
                r.call("final", || unsafe { EVP_DigestFinal_ex(ctx, out.as_mut_ptr(), &raw mut n) });
                r.value("length", n);
                r.bytes("out", &out);
                // What is done with a context that is at its end depends on what the end left there.
                started = false;
            }
            5 if started && may_squeeze => {
                let length = rng.below(200);
                let mut out = [0u8; 300];
                r.call(format!("final xof {length}"), || unsafe { EVP_DigestFinalXOF(ctx, out.as_mut_ptr(), length) });
                r.bytes("out", &out);
                started = false;
            }
            6 if started => {
                let new = unsafe { EVP_MD_CTX_new() };
                r.call("copy", || unsafe { EVP_MD_CTX_copy_ex(new, ctx) });
                let (mut out, mut n) = ([0u8; 300], 77);
                r.call("final of the copy", || unsafe { EVP_DigestFinal_ex(new, out.as_mut_ptr(), &raw mut n) });
                r.bytes("out", &out);
                unsafe { EVP_MD_CTX_free(new) };
            }
            7 if xof && started => {
                let mut buffer = (rng.below(250) as u64).to_ne_bytes();
                let (kind, size) = (1 + rng.below(5) as c_uint, [4, 8][rng.below(2)]);
                let params = parameter(c"xoflen", kind, &mut buffer, size);
                // As a real number it is another one.
                if kind != 3 {
                    r.call(format!("xoflen as {kind} of {size}"), || unsafe {
                        EVP_MD_CTX_set_params(ctx, params.as_ptr())
                    });
                }
            }
            8 => {
                let mut buffer = [7u8; 64];
                let (kind, size) = (4 + rng.below(2) as c_uint, [48, 47, 0][rng.below(3)]);
                let params = parameter(c"ssl3-ms", kind, &mut buffer, size);
                if started && !xof {
                    r.call(format!("ssl3-ms as {kind} of {size}"), || unsafe {
                        EVP_MD_CTX_set_params(ctx, params.as_ptr())
                    });
                    r.call("ctrl", || unsafe { EVP_MD_CTX_ctrl(ctx, 0x1d, size as c_int, buffer.as_mut_ptr().cast()) });
                }
            }
            _ => {}
        }
    }
}

#[test]
fn digests() {
    let mut comparison = Comparison::new();
    for name in DIGESTS {
        for seed in 0..if deep() { 3000 } else { 60 } {
            comparison.run(format!("{name} seed {seed}"), |r, query| unsafe {
                let c = CString::new(name).unwrap();
                let md = EVP_MD_fetch(library().0, c.as_ptr(), query.as_ptr());
                assert!(!md.is_null(), "{name}: {}", errors());
                let ctx = EVP_MD_CTX_new();
                let mut rng = Rng::new(seed);
                digest_steps(r, name, (md, ctx), &mut rng, 12);
                EVP_MD_CTX_free(ctx);
                let data = rng.bytes(20);
                let (mut out, mut n) = ([0u8; 64], 77);
                r.call("at once", || {
                    EVP_Digest(data.as_ptr().cast(), data.len(), out.as_mut_ptr(), &raw mut n, md, null_mut())
                });
                r.value("length", n);
                r.bytes("out", &out);
                EVP_MD_free(md);
            });
        }
    }
    comparison.finish();
}

/// The digests and ciphers that a MAC is asked for: served, handed over, and unknown.
const UNDER: [(&CStr, &CStr, &[&CStr]); 2] = [
    (
        c"HMAC",
        c"digest",
        &[c"SHA2-256", c"SHA1", c"SHA3-384", c"MD5", c"RIPEMD160", c"SHAKE-128", c"none of these", c""],
    ),
    (
        c"CMAC",
        c"cipher",
        &[
            c"AES-128-CBC",
            c"AES-256-CBC",
            c"DES-EDE3-CBC",
            c"CAMELLIA-128-CBC",
            c"AES-128-CTR",
            c"AES-128-GCM",
            c"none of these",
        ],
    ),
];

fn mac_steps(
    r: &mut Recorder,
    ctx: &mut MacCtx,
    under: (&'static CStr, &[&'static CStr]),
    rng: &mut Rng,
    steps: usize,
) {
    let (key_of_under, names) = under;
    let name = names[rng.below(names.len())];
    let mut keyed = false;
    for step in 0..steps {
        match if step == 0 && rng.below(4) > 0 { 0 } else { rng.below(9) } {
            0 => {
                let params = [OSSL_PARAM::utf8(key_of_under, name), OSSL_PARAM::END];
                // What was refused stays set in OpenSSL's own CMAC of some versions.
                if r.call(format!("set {name:?}"), || unsafe { EVP_MAC_CTX_set_params(*ctx, params.as_ptr()) }) != 1 {
                    return;
                }
                keyed = false;
            }
            1 | 2 => {
                let lengths = [16, 24, 32, 0, 1, 15, 17, 64, 200];
                let choice = if rng.bool() { 3 } else { lengths.len() };
                let length = lengths[rng.below(choice)];
                let key = rng.bytes(length);
                keyed = r.call(format!("init with a key of {}", key.len()), || unsafe {
                    EVP_MAC_init(*ctx, key.as_ptr(), key.len(), null())
                }) == 1;
            }
            3 => {
                r.call("init without a key", || unsafe { EVP_MAC_init(*ctx, null(), 0, null()) });
            }
            4 | 5 => {
                let n = rng.below(100);
                let data = rng.bytes(n);
                r.call(format!("update {n}"), || unsafe { EVP_MAC_update(*ctx, data.as_ptr(), n) });
            }
            6 => {
                let size = [300, 4, 16, 0][rng.below(4)];
                let (mut out, mut n) = ([0u8; 300], 77usize);
                r.call("length alone", || unsafe { EVP_MAC_final(*ctx, null_mut(), &raw mut n, 0) });
                r.value("length", n);
                let rc = r.call(format!("final, room for {size}"), || unsafe {
                    EVP_MAC_final(*ctx, out.as_mut_ptr(), &raw mut n, size)
                });
                r.bytes("out", if rc == 1 { &out } else { &[] });
                // Of a message that has ended OpenSSL's own begin no other.
                if rc == 1 || keyed {
                    return;
                }
            }
            7 => {
                let new = r.call("dup", || unsafe { EVP_MAC_CTX_dup(*ctx) });
                if !new.is_null() {
                    unsafe { EVP_MAC_CTX_free(*ctx) };
                    *ctx = new;
                }
            }
            _ => {
                r.call("size", || unsafe { EVP_MAC_CTX_get_mac_size(*ctx) });
                r.call("block size", || unsafe { EVP_MAC_CTX_get_block_size(*ctx) });
            }
        }
    }
}

#[test]
fn macs() {
    let mut comparison = Comparison::new();
    for (name, key, names) in UNDER {
        for seed in 0..if deep() { 10_000 } else { 400 } {
            comparison.run(format!("{name:?} seed {seed}"), |r, query| unsafe {
                let mac = EVP_MAC_fetch(library().0, name.as_ptr(), query.as_ptr());
                assert!(!mac.is_null(), "{name:?}: {}", errors());
                let mut ctx = EVP_MAC_CTX_new(mac);
                mac_steps(r, &mut ctx, (key, names), &mut Rng::new(seed), 9);
                EVP_MAC_CTX_free(ctx);
                EVP_MAC_free(mac);
            });
        }
        for (kind, size, wanted) in [
            (5, 8, key),
            (4, 0, key),
            (2, 8, key),
            (4, 16, c"key"),
            (2, 8, c"key"),
            (5, 5, c"key"),
            (4, 8, c"properties"),
        ] {
            comparison.run(format!("{name:?} {wanted:?} as {kind} of {size}"), |r, query| unsafe {
                let mac = EVP_MAC_fetch(library().0, name.as_ptr(), query.as_ptr());
                let ctx = EVP_MAC_CTX_new(mac);
                let mut buffer = [0x31u8; 16];
                let params = parameter(wanted, kind, &mut buffer, size);
                r.call("set", || EVP_MAC_CTX_set_params(ctx, params.as_ptr()));
                r.call("init", || EVP_MAC_init(ctx, null(), 0, params.as_ptr()));
                r.call("update", || EVP_MAC_update(ctx, [1].as_ptr(), 1));
                EVP_MAC_CTX_free(ctx);
                EVP_MAC_free(mac);
            });
        }
    }
    comparison.finish();
}

/// The generator, asked before it is instantiated, for too much, and for more strength than it has.
#[test]
fn random_generation() {
    static WITH_RAND: std::sync::OnceLock<Library> = std::sync::OnceLock::new();
    let library = WITH_RAND.get_or_init(|| library_with_config(&config("ALL RAND")));
    let mut comparison = Comparison::new();
    comparison.run("CTR-DRBG", |r, query| unsafe {
        let rand = EVP_RAND_fetch(library.0, c"CTR-DRBG".as_ptr(), query.as_ptr());
        assert!(!rand.is_null(), "{}", errors());
        let seed = EVP_RAND_fetch(library.0, c"SEED-SRC".as_ptr(), DEFAULT.as_ptr());
        let parent = EVP_RAND_CTX_new(seed, null_mut());
        assert_eq!(EVP_RAND_instantiate(parent, 256, 0, null(), 0, null()), 1);
        let ctx = EVP_RAND_CTX_new(rand, parent);
        let mut out = vec![0u8; (1 << 16) + 1];
        let p = out.as_mut_ptr();
        let cipher = |name: &CStr| [OSSL_PARAM::utf8(c"cipher", name), OSSL_PARAM::END];
        r.call("state", || EVP_RAND_get_state(ctx));
        r.call("cipher", || EVP_RAND_CTX_set_params(ctx, cipher(c"AES-256-CBC").as_ptr()));
        r.call("cipher", || EVP_RAND_CTX_set_params(ctx, cipher(c"AES-256-CTR").as_ptr()));
        r.call("generate", || EVP_RAND_generate(ctx, p, 16, 0, 0, null(), 0));
        r.call("state", || EVP_RAND_get_state(ctx));
        r.call("uninstantiate", || EVP_RAND_uninstantiate(ctx));
        r.call("reseed", || EVP_RAND_reseed(ctx, 0, null(), 0, null(), 0));
        r.call("state", || EVP_RAND_get_state(ctx));
        r.call("uninstantiate", || EVP_RAND_uninstantiate(ctx));
        r.call("instantiate", || EVP_RAND_instantiate(ctx, 128, 0, null(), 0, cipher(c"AES-256-CTR").as_ptr()));
        r.call("state", || EVP_RAND_get_state(ctx));
        r.call("strength", || EVP_RAND_get_strength(ctx));
        r.call("instantiate again", || EVP_RAND_instantiate(ctx, 128, 0, null(), 0, null()));
        r.call("generate", || EVP_RAND_generate(ctx, p, 16, 0, 0, null(), 0));
        r.call("generate much", || EVP_RAND_generate(ctx, p, (1 << 16) + 1, 0, 0, null(), 0));
        r.call("generate, too strong", || EVP_RAND_generate(ctx, p, 16, 512, 0, null(), 0));
        r.call("reseed", || EVP_RAND_reseed(ctx, 0, null(), 0, null(), 0));
        let mut number = [0u8; 8];
        let wrong = parameter(c"reseed_requests", 4, &mut number, 8);
        r.call("reseed_requests as text", || EVP_RAND_CTX_set_params(ctx, wrong.as_ptr()));
        r.call("uninstantiate", || EVP_RAND_uninstantiate(ctx));
        r.call("state", || EVP_RAND_get_state(ctx));
        r.call("generate", || EVP_RAND_generate(ctx, p, 16, 0, 0, null(), 0));
        r.call("uninstantiate", || EVP_RAND_uninstantiate(ctx));
        r.call("instantiate, too strong", || EVP_RAND_instantiate(ctx, 512, 0, null(), 0, null()));
        EVP_RAND_CTX_free(ctx);
        EVP_RAND_CTX_free(parent);
        EVP_RAND_free(rand);
        EVP_RAND_free(seed);
    });
    comparison.finish();
}
