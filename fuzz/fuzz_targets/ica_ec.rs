//! libica's elliptic curves: keys, signatures and secrets of every curve in any order, with numbers and points that are none.
#![no_main]

mod ica;

use adjunct_ica::abi::ec::*;
use adjunct_ica::abi::ecx::*;
use ica::{Choices, INVALID};
use libfuzzer_sys::fuzz_target;
use std::ptr::null_mut;

const CURVES: [(u32, usize); 12] = [
    (409, 24),
    (713, 28),
    (415, 32),
    (715, 48),
    (716, 66),
    (921, 20),
    (923, 24),
    (925, 28),
    (927, 32),
    (929, 40),
    (931, 48),
    (933, 64),
];

/// Every error that the header names.
fn documented(code: i32) -> bool {
    matches!(code as u32, ica::OK | ica::INVALID | ica::PERMISSION | ica::FAULT | ica::NO_MEMORY | ica::IO)
}

fn curves(choices: &mut Choices<'_>) {
    let (nid, length) = CURVES[choices.below(CURVES.len())];
    let mut told = 0;
    // SAFETY: null, or live keys and buffers of the lengths given.
    unsafe {
        let (key, other) = (ica_ec_key_new(nid, &raw mut told), ica_ec_key_new(nid, &raw mut told));
        assert!(!key.is_null() && told as usize == length);
        let mut whole = false;
        for _ in 0..6 {
            let (mut x, mut y, mut d) = (choices.buffer(length), choices.buffer(length), choices.buffer(length));
            let hash_length = choices.one_of(&[20, 28, 32, 48, 64]);
            let (mut hash, mut sealed) = (choices.buffer(64), choices.buffer(2 * length));
            let told = choices.one_of(&[2 * length as u32]);
            let legit = matches!(hash_length, 20 | 28 | 32 | 48 | 64) && told as usize >= 2 * length;
            // One that is wrongly said to be longer is not written beyond what is needed.
            let before = sealed.get().to_vec();
            let code = match choices.below(8) {
                0 | 1 => {
                    whole = ica_ec_key_generate(-1, key) == 0;
                    assert!(whole);
                    0
                }
                2 => {
                    let code = ica_ec_key_init(x.pointer(), y.pointer(), d.pointer(), key);
                    whole &= code != 0;
                    code
                }
                3 => {
                    let code = ica_ecdsa_sign(-1, key, hash.pointer(), hash_length, sealed.pointer(), told);
                    assert!(code != 0 || legit && !hash.null && !sealed.null);
                    assert!(code == 0 || before == sealed.get());
                    if code == 0 && whole {
                        let (h, s) = (hash.pointer(), sealed.pointer());
                        assert_eq!(ica_ecdsa_verify(-1, key, h, hash_length, s, told), 0);
                        *s.add(choices.below(2 * length)) ^= 1 << choices.below(8);
                        assert!(ica_ecdsa_verify(-1, key, h, hash_length, s, told) != 0, "a forged signature verifies");
                    }
                    code
                }
                4 => ica_ecdsa_verify(-1, key, hash.pointer(), hash_length, sealed.pointer(), told),
                5 => {
                    let (nonce, h, s) = (d.pointer(), hash.pointer(), sealed.pointer());
                    let code = ica_ecdsa_sign_ex(-1, key, h, hash_length, s, told, nonce);
                    assert!(code != 0 || !whole || ica_ecdsa_verify(-1, key, h, hash_length, s, told) == 0);
                    assert!(code == 0 || before == sealed.get());
                    code
                }
                6 => {
                    assert_eq!(ica_ec_key_generate(-1, other), 0);
                    let (mut one, mut two) = (vec![0; length], vec![0; length]);
                    let n = length as u32;
                    let code = ica_ecdh_derive_secret(-1, key, other, one.as_mut_ptr(), n);
                    if code == 0 && whole {
                        assert_eq!(ica_ecdh_derive_secret(-1, other, key, two.as_mut_ptr(), n), 0);
                        assert!(one == two, "two secrets of curve {nid}");
                    }
                    assert_eq!(ica_ecdh_derive_secret(-1, other, other, one.as_mut_ptr(), n - 1), INVALID as i32);
                    code
                }
                _ => {
                    let mut room = told;
                    let code = ica_ec_key_get_public_key(key, sealed.pointer(), &raw mut room);
                    let mut room = choices.one_of(&[length as u32]);
                    let other = ica_ec_key_get_private_key(key, d.pointer(), &raw mut room);
                    assert!(other != 0 || !d.null && room as usize == length);
                    code
                }
            };
            assert!(documented(code), "{code}");
            let _ = (x.get(), y.get(), d.get(), hash.get(), sealed.get());
        }
        ica_ec_key_free(key);
        ica_ec_key_free(other);
        let unknown = choices.wild();
        if !CURVES.iter().any(|(nid, _)| *nid == unknown) {
            assert!(ica_ec_key_new(unknown, &raw mut told).is_null());
        }
    }
}

/// One of Curve25519 and Curve448, for agreement or signatures.
macro_rules! edwards {
    ($choices:ident, $length:literal, $new:ident $set:ident $get:ident $generate:ident $delete:ident, $use:expr) => {{
        let (mut key, mut other) = (null_mut(), null_mut());
        // SAFETY: live contexts, and keys of the curve's length.
        unsafe {
            if $new(&raw mut key) != 0 {
                return;
            }
            assert_eq!($new(&raw mut other), 0);
            for _ in 0..4 {
                let (mut private, mut public) = ($choices.buffer($length), $choices.buffer($length));
                let code = match $choices.below(4) {
                    0 => $generate(key),
                    1 => $set(key, private.pointer(), if $choices.seldom(2) { public.pointer() } else { null_mut() }),
                    2 => $get(key, private.pointer(), public.pointer()),
                    _ => {
                        assert_eq!($generate(other), 0);
                        $use($choices, key, other)
                    }
                };
                assert!(matches!(code, 0 | -1), "{code}");
                let _ = (private.get(), public.get());
            }
            assert_eq!(($delete(&raw mut key), $delete(&raw mut other)), (0, 0));
            assert!(key.is_null() && $delete(null_mut()) == -1);
            $delete(&raw mut key);
        }
    }};
}

fn montgomery(choices: &mut Choices<'_>) {
    edwards!(
        choices, 32, ica_x25519_ctx_new ica_x25519_key_set ica_x25519_key_get ica_x25519_key_gen ica_x25519_ctx_del,
        |choices: &mut Choices<'_>, key, other| {
            let (mut peer, mut secret) = (choices.buffer(32), choices.buffer(32));
            let code = ica_x25519_derive(key, secret.pointer(), peer.pointer());
            let _ = (peer.get(), secret.get());
            let (mut pair, mut secrets) = (null_mut(), [[0; 32]; 2]);
            let mut publics = [[0; 32]; 2];
            assert_eq!((ica_x25519_ctx_new(&raw mut pair), ica_x25519_key_gen(pair)), (0, 0));
            assert_eq!(ica_x25519_key_get(pair, null_mut(), publics[0].as_mut_ptr()), 0);
            assert_eq!(ica_x25519_key_get(other, null_mut(), publics[1].as_mut_ptr()), 0);
            assert_eq!(ica_x25519_derive(pair, secrets[0].as_mut_ptr(), publics[1].as_ptr()), 0);
            assert_eq!(ica_x25519_derive(other, secrets[1].as_mut_ptr(), publics[0].as_ptr()), 0);
            assert!(secrets[0] == secrets[1], "two secrets");
            assert_eq!(ica_x25519_ctx_del(&raw mut pair), 0);
            code
        }
    );
}

fn montgomery448(choices: &mut Choices<'_>) {
    edwards!(
        choices, 56, ica_x448_ctx_new ica_x448_key_set ica_x448_key_get ica_x448_key_gen ica_x448_ctx_del,
        |choices: &mut Choices<'_>, key, _other| {
            let (mut peer, mut secret) = (choices.buffer(56), choices.buffer(56));
            let code = ica_x448_derive(key, secret.pointer(), peer.pointer());
            let _ = (peer.get(), secret.get());
            code
        }
    );
}

fn signatures(choices: &mut Choices<'_>) {
    edwards!(
        choices, 32, ica_ed25519_ctx_new ica_ed25519_key_set ica_ed25519_key_get ica_ed25519_key_gen ica_ed25519_ctx_del,
        |choices: &mut Choices<'_>, key, other| {
            let length = choices.below(200);
            let (mut message, mut sealed) = (choices.buffer(length), choices.buffer(64));
            let (m, s) = (message.pointer(), sealed.pointer());
            ica_ed25519_verify(key, s, m, length);
            let code = ica_ed25519_sign(other, s, m, length);
            if code == 0 {
                assert_eq!(ica_ed25519_verify(other, s, m, length), 0);
                *s.add(choices.below(64)) ^= 1 << choices.below(8);
                assert_eq!(ica_ed25519_verify(other, s, m, length), -1, "a forged signature verifies");
            }
            let code = ica_ed25519_sign(key, s, m, length);
            let _ = (message.get(), sealed.get());
            code
        }
    );
}

fn signatures448(choices: &mut Choices<'_>) {
    edwards!(
        choices, 57, ica_ed448_ctx_new ica_ed448_key_set ica_ed448_key_get ica_ed448_key_gen ica_ed448_ctx_del,
        |choices: &mut Choices<'_>, key, other| {
            let length = choices.below(200);
            let (mut message, mut sealed) = (choices.buffer(length), choices.buffer(114));
            let (m, s) = (message.pointer(), sealed.pointer());
            ica_ed448_verify(key, s, m, length);
            let code = ica_ed448_sign(other, s, m, length);
            assert!(code != 0 || ica_ed448_verify(other, s, m, length) == 0);
            let _ = (message.get(), sealed.get());
            code
        }
    );
}

// Loading finds the libcrypto that has Curve448.
fuzz_target!(init: adjunct_ica::abi::library::adjunct_ica_load(), |data: &[u8]| {
    let mut choices = Choices::new(data);
    match choices.below(6) {
        0 | 1 => curves(&mut choices),
        2 => montgomery(&mut choices),
        3 => montgomery448(&mut choices),
        4 => signatures(&mut choices),
        _ => signatures448(&mut choices),
    }
});
