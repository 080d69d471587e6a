//! X25519 and Ed25519 through EVP, beside the default provider.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;
#[path = "common/evp.rs"]
mod evp;

use common::*;
use evp::*;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;

const TYPES: [&CStr; 2] = [c"X25519", c"ED25519"];

fn public(bytes: &[u8]) -> Value {
    Value::octets(c"pub", bytes)
}

fn private(bytes: &[u8]) -> Value {
    Value::octets(c"priv", bytes)
}

#[test]
fn keys_look_the_same_from_both_sides() {
    for name in TYPES {
        for (from, to) in [(ADJUNCT, DEFAULT), (DEFAULT, ADJUNCT)] {
            let one = generate(name, from, false, &[]).unwrap();
            let other = moved(name, &one, to, PAIR).unwrap();
            same_answers(&one, &other, "pair");
            assert_eq!(checks(&one, from), checks(&other, to));
            assert!(checks(&one, from)[0]);
            unsafe {
                assert_eq!(EVP_PKEY_eq(one.0, other.0), 1);
                assert_ne!(EVP_PKEY_eq(one.0, generate(name, from, false, &[]).unwrap().0), 1);
                let copy = SharedPkey(EVP_PKEY_dup(one.0));
                assert_eq!(to_data(&copy, PAIR), to_data(&one, PAIR));
            }
            for selection in [ALL, PAIR, PUBLIC, PRIVATE, DOMAIN, 0] {
                assert_eq!(to_data(&one, selection), to_data(&other, selection), "{selection}");
                unsafe { ERR_clear_error() };
            }
            let half = moved(name, &one, from, PUBLIC).unwrap();
            let other_half = moved(name, &half, to, PUBLIC).unwrap();
            same_answers(&half, &other_half, "public");
            assert_eq!(checks(&half, from), checks(&other_half, to));
        }
    }
}

#[test]
fn imports_are_taken_and_refused_alike() {
    let mut rng = Rng::new(3);
    let (a, b) = (rng.bytes(32), rng.bytes(32));
    let mut sets = vec![
        vec![],
        vec![public(&a)],
        vec![private(&a)],
        vec![public(&a), private(&b)],
        vec![public(&[0; 32])],
        vec![public(&[0xff; 32]), private(&[0xff; 32])],
        vec![private(&[0; 32])],
        vec![public(&a[..31])],
        vec![private(&a[..31])],
        vec![private(&[&a[..], &[1]].concat()), public(&a)],
        vec![public(&[&a[..], &[1]].concat())],
        vec![public(&[])],
        vec![private(&[])],
        vec![Value::utf8(c"pub", "text")],
        vec![Value::number(c"priv", &a)],
        vec![public(&a), Value::utf8(c"group", "x25519")],
    ];
    // The encodings of Ed25519 points that decoders disagree on, and their neighbours.
    for first in [0, 1, 2, 0xeb, 0xec, 0xed, 0xee, 0xff] {
        for (middle, last) in [(0, 0), (0, 0x80), (0xff, 0x7f), (0xff, 0xff)] {
            sets.push(vec![public(&[&[first][..], &[middle; 30], &[last]].concat())]);
        }
    }
    for name in TYPES {
        for set in &sets {
            for selection in [PAIR, PUBLIC, PRIVATE, DOMAIN] {
                // OpenSSL 3.6 itself does not survive a private key where only a public one is asked for.
                let has = |name: &CStr| set.iter().any(|v| v.name.as_c_str() == name);
                if selection == PUBLIC && has(c"priv") && !has(c"pub") {
                    assert!(from_data(name, ADJUNCT, selection, set).is_none());
                    continue;
                }
                let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| from_data(name, query, selection, set));
                unsafe { ERR_clear_error() };
                assert_eq!(ours.is_some(), stock.is_some(), "{name:?} {selection} {set:?}");
                let (Some(ours), Some(stock)) = (ours, stock) else { continue };
                same_answers(&ours, &stock, &format!("{name:?} {selection} {set:?}"));
                assert_eq!(checks(&ours, ADJUNCT), checks(&stock, DEFAULT), "{name:?} {selection} {set:?}");
                assert_eq!(to_data(&ours, PAIR), to_data(&stock, PAIR));
            }
        }
    }
}

#[test]
fn generation_takes_the_same_settings() {
    for name in TYPES {
        for set in [
            vec![Value::utf8(c"group", "x25519")],
            vec![Value::utf8(c"group", "X25519")],
            vec![Value::utf8(c"group", "x448")],
            vec![Value::utf8(c"properties", "provider=default")],
            vec![Value::utf8(c"other", "thing")],
        ] {
            let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| generate(name, query, false, &[&set]).is_some());
            unsafe { ERR_clear_error() };
            assert_eq!(ours, stock, "{name:?} {set:?}");
        }
    }
    // Deterministic from OpenSSL 3.2 on (RFC 9180, 7.1.3).
    let material = [Value::octets(c"dhkem-ikm", &[5; 32])];
    let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| generate(c"X25519", query, false, &[&material]).unwrap());
    if unsafe { (OPENSSL_version_major(), OPENSSL_version_minor()) } >= (3, 2) {
        assert_eq!(to_data(&ours, PAIR), to_data(&stock, PAIR));
    } else {
        assert_ne!(to_data(&ours, PAIR), to_data(&stock, PAIR));
    }
}

#[test]
fn public_keys_are_set_alike() {
    for name in TYPES {
        for length in [0, 31, 32, 33] {
            let told = [ADJUNCT, DEFAULT].map(|query| {
                let key = from_data(name, query, PAIR, &[private(&[9; 32])]).unwrap();
                let mut values = [Value::octets(c"encoded-pub-key", &vec![9; length])];
                let done = unsafe { EVP_PKEY_set_params(key.0, array(&mut values).as_mut_ptr()) };
                unsafe { ERR_clear_error() };
                (done, to_data(&key, PAIR).filter(|_| done == 1))
            });
            assert_eq!(told[0], told[1], "{name:?} {length}");
        }
    }
}

#[test]
fn secrets_are_derived_alike() {
    let mut rng = Rng::new(4);
    for round in 0..200 {
        let (secret, mut point) = (rng.bytes(32), rng.bytes(32));
        match round {
            0 => point = vec![0; 32],
            1 => point = [&[1][..], &[0; 31]].concat(),
            2 => point = vec![0xff; 32],
            3 => point = [&[0xed][..], &[0xff; 30], &[0x7f]].concat(),
            4 => point = [&[0xec][..], &[0xff; 30], &[0x7f]].concat(),
            _ => {}
        }
        let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| {
            let key = from_data(c"X25519", query, PAIR, &[private(&secret)]).unwrap();
            let peer = from_data(c"X25519", query, PUBLIC, &[public(&point)]).unwrap();
            derive(&key, &peer, query, true, &[])
        });
        assert_eq!(ours, stock, "{round}");
        assert_eq!(ours.is_some(), round != 0 && round != 1 && round != 3 && round != 4, "{round}");
    }
    // Buffers too short, keys without the half needed, a copy of the context.
    let key = generate(c"X25519", ADJUNCT, false, &[]).unwrap();
    let half = moved(c"X25519", &key, ADJUNCT, PUBLIC).unwrap();
    assert_eq!(derive(&half, &key, ADJUNCT, true, &[]), None);
    unsafe {
        let (ctx, mut out, mut length) = (of(&key, ADJUNCT), [0; 32], 31);
        assert_eq!(EVP_PKEY_derive_init(ctx.0), 1);
        assert_ne!(EVP_PKEY_derive(ctx.0, null_mut(), &raw mut length), 1);
        assert_eq!(EVP_PKEY_derive_set_peer(ctx.0, half.0), 1);
        length = 31;
        assert_ne!(EVP_PKEY_derive(ctx.0, out.as_mut_ptr(), &raw mut length), 1);
        length = 40;
        let copy = Ctx(EVP_PKEY_CTX_dup(ctx.0));
        assert_eq!((EVP_PKEY_derive(copy.0, out.as_mut_ptr(), &raw mut length), length), (1, 32));
        assert_eq!(Some(out.to_vec()), derive(&key, &half, DEFAULT, true, &[]));
        ERR_clear_error();
    }
}

#[test]
fn signatures_are_the_same() {
    let mut rng = Rng::new(5);
    for round in 0..100 {
        let ours = from_data(c"ED25519", ADJUNCT, PAIR, &[private(&rng.bytes(32))]).unwrap();
        let stock = moved(c"ED25519", &ours, DEFAULT, PAIR).unwrap();
        let length = if round == 0 { 0 } else { rng.length(3000) };
        let message = rng.bytes(length);
        let signature = digest_sign(&ours, ADJUNCT, None, &message, None, &[]).unwrap();
        assert_eq!(Some(&signature), digest_sign(&stock, DEFAULT, None, &message, None, &[]).as_ref());
        let check = |message: &[u8], signature: &[u8]| {
            let mine = digest_verify(&ours, ADJUNCT, None, message, signature, &[]);
            assert_eq!(mine, digest_verify(&stock, DEFAULT, None, message, signature, &[]));
            mine
        };
        assert_eq!(check(&message, &signature), 1);
        let mut wrong = signature.clone();
        wrong[rng.below(64)] ^= 1 << rng.below(8);
        assert_eq!(check(&message, &wrong), 0);
        assert_eq!(check(&[&message[..], b"x"].concat(), &signature), 0);
        assert_eq!(check(&message, &signature[..63]), 0);
        assert_eq!(check(&message, &[&signature[..], &[0]].concat()), 0);
        assert_eq!(check(&message, &[]), 0);
    }
    // A key that is not one of the private one's: RFC 8032 signs with what it is given.
    let odd = [public(&[3; 32]), private(&[4; 32])];
    let [a, b] = [ADJUNCT, DEFAULT].map(|query| {
        digest_sign(&from_data(c"ED25519", query, PAIR, &odd).unwrap(), query, None, b"message", None, &[])
    });
    assert_eq!(a, b);
}

/// The eight points of small order and their other encodings, with signatures that fit some of them.
#[test]
fn odd_public_keys_verify_as_without_us() {
    let small = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "f0ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];
    let bytes =
        |hex: &str| -> Vec<u8> { (0..32).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect() };
    let mut good = 0;
    for key in small {
        let key = bytes(key);
        let [ours, stock] =
            [ADJUNCT, DEFAULT].map(|query| from_data(c"ED25519", query, PUBLIC, &[public(&key)]).unwrap());
        for r in small {
            // S = 0: the equation holds where R = -kA, which a message in eight meets.
            let signature = [bytes(r), vec![0; 32]].concat();
            for message in 0..24u8 {
                let mine = digest_verify(&ours, ADJUNCT, None, &[message], &signature, &[]);
                let theirs = digest_verify(&stock, DEFAULT, None, &[message], &signature, &[]);
                assert_eq!(mine, theirs, "{key:02x?} {r} {message}");
                good += i32::from(mine == 1);
            }
        }
    }
    assert!(good > 0, "no signature fits: the test tests nothing");
}

#[test]
fn signing_contexts_tell_and_take_the_same() {
    let ours = generate(c"ED25519", ADJUNCT, false, &[]).unwrap();
    let stock = moved(c"ED25519", &ours, DEFAULT, PAIR).unwrap();
    let told = [(&ours, ADJUNCT), (&stock, DEFAULT)].map(|(key, query)| unsafe {
        let (ctx, mut pctx) = (Digest(EVP_MD_CTX_new()), null_mut());
        let (none, query, lib) = (std::ptr::null::<u8>(), query.as_ptr(), library().0);
        let with_digest = EVP_DigestSignInit_ex(
            Digest(EVP_MD_CTX_new()).0,
            null_mut(),
            c"SHA512".as_ptr(),
            lib,
            query,
            key.0,
            none.cast(),
        );
        assert_eq!(EVP_DigestSignInit_ex(ctx.0, &raw mut pctx, none.cast(), lib, query, key.0, none.cast()), 1);
        let mut id = [0u8; 64];
        let mut request = [OSSL_PARAM::octets(c"algorithm-id", &mut id), OSSL_PARAM::END];
        let done = EVP_PKEY_CTX_get_params(pctx, request.as_mut_ptr());
        let size = request[0].return_size;
        // Pure Ed25519 needs the whole message: no update.
        let updated = EVP_DigestSignUpdate(ctx.0, b"x".as_ptr().cast(), 1);
        let (mut out, mut length) = ([0; 64], 63);
        let short = EVP_DigestSign(ctx.0, out.as_mut_ptr(), &raw mut length, b"x".as_ptr(), 1);
        ERR_clear_error();
        (with_digest, done, id[..size].to_vec(), updated > 0, short)
    });
    assert_eq!(told[0], told[1]);
}

/// Signing without a digest context: never up to OpenSSL 3.3, since then by message functions and by those of digests.
#[test]
fn plain_signing_is_as_without_us() {
    type Init = unsafe extern "C" fn(PkeyCtx, *mut Opaque, *const OSSL_PARAM) -> c_int;
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
        fn EVP_SIGNATURE_fetch(ctx: LibCtx, name: *const c_char, query: *const c_char) -> *mut Opaque;
        fn EVP_SIGNATURE_free(signature: *mut Opaque);
    }
    let ours = from_data(c"ED25519", ADJUNCT, PAIR, &[private(&[8; 32])]).unwrap();
    let stock = moved(c"ED25519", &ours, DEFAULT, PAIR).unwrap();
    let both = [(&ours, ADJUNCT), (&stock, DEFAULT)];
    let [a, b] = both.map(|(key, query)| sign(key, query, b"message", &[]));
    assert_eq!(a, b);
    if let Some(signature) = a {
        let results = both.map(|(key, query)| verify(key, query, b"message", &signature));
        assert_eq!(results[0], results[1]);
    }
    unsafe {
        let [sign_init, verify_init] = [c"EVP_PKEY_sign_message_init", c"EVP_PKEY_verify_message_init"]
            .map(|name| std::mem::transmute::<*mut c_void, Option<Init>>(dlsym(null_mut(), name.as_ptr())));
        let (Some(sign_init), Some(verify_init)) = (sign_init, verify_init) else { return };
        let signatures = both.map(|(key, query)| {
            let ctx = of(key, query);
            let method = EVP_SIGNATURE_fetch(library().0, c"ED25519".as_ptr(), query.as_ptr());
            assert_eq!(sign_init(ctx.0, method, std::ptr::null()), 1, "{}", errors());
            let (mut out, mut length) = ([0; 64], 64);
            assert_eq!(EVP_PKEY_sign(ctx.0, out.as_mut_ptr(), &raw mut length, b"message".as_ptr(), 7), 1);
            assert_eq!(verify_init(ctx.0, method, std::ptr::null()), 1);
            assert_eq!(EVP_PKEY_verify(ctx.0, out.as_ptr(), 64, b"message".as_ptr(), 7), 1);
            assert_ne!(EVP_PKEY_verify(ctx.0, out.as_ptr(), 64, b"massage".as_ptr(), 7), 1);
            EVP_SIGNATURE_free(method);
            ERR_clear_error();
            out
        });
        assert_eq!(signatures[0], signatures[1]);
    }
}

/// Ed25519ctx and Ed25519ph, which OpenSSL has since 3.2.
#[test]
fn other_instances_are_the_default_providers() {
    if unsafe { (OPENSSL_version_major(), OPENSSL_version_minor()) } < (3, 2) {
        return;
    }
    let ours = generate(c"ED25519", ADJUNCT, false, &[]).unwrap();
    let stock = moved(c"ED25519", &ours, DEFAULT, PAIR).unwrap();
    let instance = |name: &str| Value::utf8(c"instance", name);
    let context = |bytes: &[u8]| Value::octets(c"context-string", bytes);
    for set in [
        vec![instance("Ed25519")],
        vec![instance("ed25519"), context(b"")],
        vec![instance("Ed25519ph")],
        vec![instance("Ed25519ph"), context(b"context")],
        vec![instance("Ed25519ctx"), context(b"context")],
        vec![instance("Ed25519"), context(b"context")],
        vec![instance("Ed448")],
    ] {
        let a = digest_sign(&ours, ADJUNCT, None, b"message", None, &set);
        let b = digest_sign(&stock, DEFAULT, None, b"message", None, &set);
        unsafe { ERR_clear_error() };
        assert_eq!(a, b, "{set:?}");
        if let Some(signature) = a {
            assert_eq!(digest_verify(&ours, ADJUNCT, None, b"message", &signature, &set), 1);
            assert_ne!(digest_verify(&ours, ADJUNCT, None, b"other", &signature, &set), 1);
        }
    }
}
