//! EC keys, ECDSA and ECDH through EVP, beside the default provider.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;
#[path = "common/evp.rs"]
mod evp;

use common::*;
use evp::*;
use std::ffi::CStr;
use std::ptr::null_mut;

const EC: &CStr = c"EC";
/// Ours, and some of every other kind.
const CURVES: [&str; 9] =
    ["P-256", "secp384r1", "P-521", "P-224", "secp256k1", "brainpoolP256r1", "sect283k1", "prime192v1", "c2pnb163v1"];

fn group(name: &str) -> Value {
    Value::utf8(c"group", name)
}

fn new_key(query: &CStr, curve: &str) -> SharedPkey {
    generate(EC, query, false, &[&[group(curve)]]).unwrap_or_else(|| panic!("{curve}: {}", errors()))
}

#[test]
fn keys_look_the_same_from_both_sides() {
    for curve in CURVES {
        for (from, to) in [(ADJUNCT, DEFAULT), (DEFAULT, ADJUNCT)] {
            let one = new_key(from, curve);
            let other = moved(EC, &one, to, ALL).unwrap();
            same_answers(&one, &other, curve);
            assert_eq!(checks(&one, from), [true; 5], "{curve}");
            assert_eq!(checks(&other, to), [true; 5], "{curve}");
            unsafe {
                assert_eq!(EVP_PKEY_eq(one.0, other.0), 1);
                assert_eq!(EVP_PKEY_parameters_eq(one.0, other.0), 1);
                assert_ne!(EVP_PKEY_eq(one.0, new_key(from, curve).0), 1);
                let copy = SharedPkey(EVP_PKEY_dup(one.0));
                assert_eq!(to_data(&copy, ALL), to_data(&one, ALL));
            }
            for selection in [ALL, PAIR | DOMAIN, PUBLIC | DOMAIN, DOMAIN, DOMAIN | OTHER, PAIR, PRIVATE, 0] {
                assert_eq!(to_data(&one, selection), to_data(&other, selection), "{curve} {selection}");
                unsafe { ERR_clear_error() };
            }
            for selection in [PUBLIC | DOMAIN, DOMAIN] {
                let one = moved(EC, &one, from, selection).unwrap();
                let other = moved(EC, &one, to, selection).unwrap();
                same_answers(&one, &other, curve);
                assert_eq!(checks(&one, from), checks(&other, to), "{curve}");
                assert_eq!(to_data(&one, PAIR | DOMAIN), to_data(&other, PAIR | DOMAIN));
            }
        }
    }
}

#[test]
fn parameters_and_templates_generate_alike() {
    type Sets<'a> = &'a [&'a [Value]];
    let (p256, named) = (group("P-256"), Value::utf8(c"encoding", "named_curve"));
    let explicit = Value::utf8(c"encoding", "explicit");
    let compressed = Value::utf8(c"point-format", "compressed");
    let cofactor = |v| Value::int(c"use-cofactor-flag", v);
    let one = |v: &Value| vec![v.clone()];
    let (v256, vn, ve, vc) = (one(&p256), one(&named), one(&explicit), one(&compressed));
    let sets: &[Sets] = &[
        &[],
        &[&v256],
        &[&vn, &v256],
        &[&v256, &ve],
        &[&ve, &v256],
        &[&vc, &v256],
        &[&v256, &vc, &vn],
        &[&[p256.clone(), cofactor(1)]],
        &[&[p256.clone(), cofactor(0)]],
        &[&[p256.clone(), cofactor(7)]],
        &[&v256, &[group("P-384")]],
        &[&v256, &[group("brainpoolP384r1")]],
        &[&[group("brainpoolP384r1")], &v256],
        &[&[group("nonsense")]],
        &[&[Value::utf8(c"group", "PRIME256V1")]],
        &[&[Value::utf8(c"group", "p-256")]],
        &[&[Value::utf8(c"group", "secp256r1")]],
        &[&[Value::utf8(c"group", "")]],
        &[&[p256.clone(), Value::utf8(c"encoding", "neither")]],
        &[&[p256.clone(), Value::utf8(c"point-format", "neither")]],
    ];
    for set in sets {
        for parameters in [true, false] {
            let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| generate(EC, query, parameters, set));
            unsafe { ERR_clear_error() };
            assert_eq!(ours.is_some(), stock.is_some(), "{set:?}");
            let (Some(ours), Some(stock)) = (ours, stock) else { continue };
            assert_eq!(to_data(&ours, DOMAIN | OTHER), to_data(&stock, DOMAIN | OTHER), "{set:?}");
            assert_eq!(checks(&ours, ADJUNCT), checks(&stock, DEFAULT), "{set:?}");
            // A key from the parameters, as ecparam and dhparam users make them.
            let [a, b] = [(&ours, ADJUNCT), (&stock, DEFAULT)]
                .map(|(template, query)| generate_in(&of(template, query), false, &[]).unwrap());
            assert_eq!(to_data(&a, DOMAIN | OTHER), to_data(&b, DOMAIN | OTHER), "{set:?}");
            assert_eq!(checks(&a, ADJUNCT), [true; 5]);
        }
    }
}

/// Points of P-256, and encodings of no point.
fn points(key: &SharedPkey) -> Vec<Vec<u8>> {
    let data = to_data(key, PUBLIC | DOMAIN).unwrap();
    let full = data.iter().find(|v| v.name.as_c_str() == c"pub").unwrap().data.clone();
    let field = (full.len() - 1) / 2;
    let odd = full[2 * field] & 1;
    let with = |first: u8, length: usize| [&[first], &full[1..length]].concat();
    let mut off = full.clone();
    off[2 * field] ^= 1;
    let mut above = vec![0xff; full.len()];
    above[0] = 4;
    vec![
        full.clone(),
        with(2 + odd, 1 + field),
        with(3 - odd, 1 + field),
        with(6 + odd, full.len()),
        with(7 - odd, full.len()),
        with(5, full.len()),
        with(8, full.len()),
        with(4, full.len() - 1),
        with(2, 1 + field - 1),
        [full.clone(), vec![0]].concat(),
        off,
        above,
        [vec![2], vec![0xff; field]].concat(),
        [vec![2], vec![0; field]].concat(),
        [vec![3], vec![0; field - 1], vec![5]].concat(),
        [vec![4], vec![0; 2 * field]].concat(),
        vec![0],
        vec![0, 0],
        vec![4],
        vec![],
    ]
}

#[test]
fn imports_are_taken_and_refused_alike() {
    for curve in ["P-256", "P-384", "P-521"] {
        let key = new_key(DEFAULT, curve);
        let data = to_data(&key, ALL).unwrap();
        let get = |name: &CStr| data.iter().find(|v| v.name.as_c_str() == name).unwrap().clone();
        let (public, private) = (get(c"pub"), get(c"priv"));
        let order = answers(&key).into_iter().find(|a| a.0.as_c_str() == c"order").unwrap().2;
        let mut sets: Vec<Vec<Value>> = Vec::new();
        for point in points(&key) {
            sets.push(vec![group(curve), Value::octets(c"pub", &point)]);
            sets.push(vec![group(curve), Value::octets(c"pub", &point), private.clone()]);
        }
        let little = |bytes: &[u8]| Value { name: c"priv".to_owned(), kind: 2, data: bytes.to_vec() };
        let mut above = order.clone();
        above[0] ^= 1;
        for scalar in [vec![0], vec![1], vec![2, 0, 0, 0, 0], order.clone(), above, vec![0xff; 80], vec![]] {
            sets.push(vec![group(curve), little(&scalar)]);
            sets.push(vec![group(curve), little(&scalar), public.clone()]);
        }
        for more in [
            vec![],
            vec![Value::utf8(c"encoding", "explicit")],
            vec![Value::utf8(c"encoding", "NAMED_curve")],
            vec![Value::utf8(c"encoding", "other")],
            vec![Value::utf8(c"point-format", "hybrid")],
            vec![Value::utf8(c"point-format", "COMPRESSED")],
            vec![Value::utf8(c"point-format", "other")],
            vec![Value::int(c"use-cofactor-flag", 1)],
            vec![Value::int(c"use-cofactor-flag", 2)],
            vec![Value::int(c"include-public", 0)],
            vec![Value::int(c"include-public", 1)],
            vec![Value::int(c"decoded-from-explicit", 1)],
            vec![Value::utf8(c"group-check", "named")],
            vec![Value::utf8(c"group-check", "named-nist")],
            vec![Value::utf8(c"group-check", "other")],
            vec![Value::utf8(c"no-such", "thing")],
            vec![Value::octets(c"seed", &[1, 2, 3])],
        ] {
            sets.push([vec![group(curve), public.clone(), private.clone()], more.clone()].concat());
            sets.push([vec![group(curve)], more].concat());
        }
        sets.push(vec![public.clone(), private.clone()]);
        sets.push(vec![Value::octets(c"group", curve.as_bytes()), public.clone()]);
        sets.push(vec![group("secp224r1"), public.clone(), private.clone()]);
        sets.push(vec![group(curve), Value::utf8(c"pub", "text")]);
        sets.push(vec![group(curve), Value::octets(c"priv", &[1, 2, 3])]);
        for set in &sets {
            // Every way in with one curve, the usual ones with the others.
            let ways = [ALL, DOMAIN | PUBLIC, DOMAIN, PAIR, DOMAIN | PRIVATE];
            for &selection in if curve == "P-256" { &ways[..] } else { &ways[..2] } {
                let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| from_data(EC, query, selection, set));
                unsafe { ERR_clear_error() };
                assert_eq!(ours.is_some(), stock.is_some(), "{selection} {set:?}");
                let (Some(ours), Some(stock)) = (ours, stock) else { continue };
                same_answers(&ours, &stock, &format!("{selection} {set:?}"));
                assert_eq!(checks(&ours, ADJUNCT), checks(&stock, DEFAULT), "{selection} {set:?}");
                for selection in [ALL, DOMAIN | PUBLIC, DOMAIN | OTHER] {
                    assert_eq!(to_data(&ours, selection), to_data(&stock, selection), "{selection} {set:?}");
                }
                let [a, b] = [(&ours, ADJUNCT), (&stock, DEFAULT)].map(|(k, q)| sign(k, q, &[7; 32], &[]).is_some());
                assert_eq!(a, b, "{selection} {set:?}");
                unsafe { ERR_clear_error() };
            }
        }
    }
}

/// Explicit parameters of a curve that adjunct computes, as files of `-param_enc explicit` hold them, and of one without a name.
#[test]
fn explicit_parameters_are_served() {
    for curve in ["P-256", "brainpoolP320r1"] {
        let key = new_key(DEFAULT, curve);
        let known = answers(&key);
        let get = |name: &CStr| known.iter().find(|a| a.0.as_c_str() == name).unwrap().2.clone();
        let mut set = vec![Value::utf8(c"field-type", "prime-field")];
        for name in [c"p", c"a", c"b", c"order", c"cofactor"] {
            set.push(Value { name: name.to_owned(), kind: 2, data: get(name) });
        }
        set.push(Value::octets(c"generator", &get(c"generator")));
        let data = to_data(&key, ALL).unwrap();
        set.extend(data.into_iter().filter(|v| [c"pub", c"priv"].contains(&v.name.as_c_str())));
        let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| from_data(EC, query, ALL, &set).unwrap());
        same_answers(&ours, &stock, curve);
        assert_eq!(to_data(&ours, ALL), to_data(&stock, ALL));
        let signature = digest_sign(&ours, ADJUNCT, Some(c"SHA256"), b"message", None, &[]).unwrap();
        assert_eq!(digest_verify(&stock, DEFAULT, Some(c"SHA256"), b"message", &signature, &[]), 1);
        assert_eq!(digest_verify(&key, ADJUNCT, Some(c"SHA256"), b"message", &signature, &[]), 1);
        // With a named key of ours on the other side of an exchange.
        let (peer, their_peer) = (new_key(ADJUNCT, curve), new_key(ADJUNCT, curve));
        for peer in [&peer, &their_peer] {
            assert_eq!(derive(&ours, peer, ADJUNCT, true, &[]), derive(&stock, peer, DEFAULT, true, &[]));
            assert_eq!(derive(peer, &ours, ADJUNCT, true, &[]), derive(peer, &stock, DEFAULT, true, &[]));
        }
        let parameters = generate(EC, ADJUNCT, true, &[&set[..7]]).unwrap();
        assert_eq!(unsafe { EVP_PKEY_parameters_eq(parameters.0, stock.0) }, 1);
    }
}

#[test]
fn keys_are_changed_alike() {
    let key = new_key(DEFAULT, "P-384");
    let mut sets: Vec<Vec<Value>> =
        points(&new_key(DEFAULT, "P-384")).iter().map(|p| vec![Value::octets(c"encoded-pub-key", p)]).collect();
    sets.extend([
        vec![Value::utf8(c"point-format", "compressed")],
        vec![Value::utf8(c"point-format", "other")],
        vec![Value::utf8(c"encoding", "explicit")],
        vec![Value::utf8(c"encoding", "named_curve")],
        vec![Value::int(c"use-cofactor-flag", 1)],
        vec![Value::int(c"use-cofactor-flag", 0)],
        vec![Value::int(c"include-public", 0)],
        vec![Value::utf8(c"group-check", "named")],
        vec![Value::octets(c"seed", &[9; 20])],
        vec![Value::utf8(c"unknown", "x")],
        vec![],
    ]);
    for set in sets {
        for selection in [ALL, PUBLIC | DOMAIN, DOMAIN] {
            let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| {
                let key = moved(EC, &key, query, selection).unwrap();
                let mut values = set.clone();
                let done = unsafe { EVP_PKEY_set_params(key.0, array(&mut values).as_mut_ptr()) };
                (key, done)
            });
            assert_eq!(ours.1, stock.1, "{set:?}");
            if ours.1 == 1 {
                same_answers(&ours.0, &stock.0, &format!("{set:?}"));
                assert_eq!(to_data(&ours.0, ALL), to_data(&stock.0, ALL), "{set:?}");
                assert_eq!(checks(&ours.0, ADJUNCT), checks(&stock.0, DEFAULT), "{set:?}");
            }
            unsafe { ERR_clear_error() };
        }
    }
}

const DIGESTS: [&CStr; 16] = [
    c"SHA1",
    c"SHA2-224",
    c"SHA256",
    c"SHA2-384",
    c"SHA512",
    c"SHA512-224",
    c"SHA2-512/256",
    c"SHA3-224",
    c"SHA3-256",
    c"SHA3-384",
    c"SHA3-512",
    c"MD5",
    c"RIPEMD160",
    c"SM3",
    c"BLAKE2B-512",
    c"SHAKE256",
];

#[test]
fn signatures_verify_both_ways() {
    let mut rng = Rng::new(11);
    for curve in CURVES {
        let ours = new_key(ADJUNCT, curve);
        let stock = moved(EC, &ours, DEFAULT, ALL).unwrap();
        for digest in DIGESTS {
            let length = rng.length(5000);
            let message = rng.bytes(length);
            let pieces = rng.pieces(message.len());
            for pieces in [None, Some(&pieces[..])] {
                let [a, b] = [(&ours, ADJUNCT), (&stock, DEFAULT)]
                    .map(|(key, query)| digest_sign(key, query, Some(digest), &message, pieces, &[]));
                unsafe { ERR_clear_error() };
                assert_eq!(a.is_some(), b.is_some(), "{curve} {digest:?} {}", pieces.is_some());
                let (Some(a), Some(b)) = (a, b) else { continue };
                assert_eq!(digest_verify(&stock, DEFAULT, Some(digest), &message, &a, &[]), 1, "{curve} {digest:?}");
                for signature in [&a, &b] {
                    let check = |message: &[u8], signature: &[u8]| {
                        let mine = digest_verify(&ours, ADJUNCT, Some(digest), message, signature, &[]);
                        assert_eq!(mine, digest_verify(&stock, DEFAULT, Some(digest), message, signature, &[]));
                        mine
                    };
                    assert_eq!(check(&message, signature), 1);
                    let mut wrong = signature.clone();
                    let place = rng.below(wrong.len());
                    wrong[place] ^= 1 << rng.below(8);
                    assert_ne!(check(&message, &wrong), 1);
                    assert_ne!(check(&[&message[..], b"x"].concat(), signature), 1);
                    assert_ne!(check(&message, &signature[..signature.len() - 1]), 1);
                    assert_ne!(check(&message, &[&signature[..], &[0]].concat()), 1);
                    // None at all is -1 or 0, by version.
                    assert_ne!(digest_verify(&ours, ADJUNCT, Some(digest), &message, &[], &[]), 1);
                }
            }
        }
        for length in [0, 1, 20, 31, 32, 33, 48, 64, 65, 66, 67, 128] {
            let digest = rng.bytes(length);
            let (a, b) = (sign(&ours, ADJUNCT, &digest, &[]).unwrap(), sign(&stock, DEFAULT, &digest, &[]).unwrap());
            assert_eq!(verify(&stock, DEFAULT, &digest, &a), 1, "{curve} {length}");
            assert_eq!(verify(&ours, ADJUNCT, &digest, &b), 1, "{curve} {length}");
            let named = [Value::utf8(c"digest", "SHA256")];
            let [a, b] = [(&ours, ADJUNCT), (&stock, DEFAULT)].map(|(k, q)| sign(k, q, &digest, &named).is_some());
            assert_eq!((a, b), (length == 32, length == 32), "{curve}");
            unsafe { ERR_clear_error() };
        }
    }
}

#[test]
fn signing_contexts_tell_and_take_the_same() {
    let ours = new_key(ADJUNCT, "P-256");
    let stock = moved(EC, &ours, DEFAULT, ALL).unwrap();
    for digest in DIGESTS {
        let told = [(&ours, ADJUNCT), (&stock, DEFAULT)].map(|(key, query)| unsafe {
            let (ctx, mut pctx) = (Digest(EVP_MD_CTX_new()), null_mut());
            let lib = library().0;
            let (name, query) = (digest.as_ptr(), query.as_ptr());
            if EVP_DigestSignInit_ex(ctx.0, &raw mut pctx, name, lib, query, key.0, std::ptr::null()) != 1 {
                ERR_clear_error();
                return None;
            }
            let (mut id, mut name, mut size) = ([0u8; 64], [0u8; 50], 0);
            let mut request = [
                OSSL_PARAM::octets(c"algorithm-id", &mut id),
                OSSL_PARAM { data_type: 4, ..OSSL_PARAM::octets(c"digest", &mut name) },
                OSSL_PARAM::size(c"digest-size", &mut size),
                OSSL_PARAM::END,
            ];
            let done = EVP_PKEY_CTX_get_params(pctx, request.as_mut_ptr());
            // Another digest than the one in use is refused, its own name is not.
            let set = |value: &CStr| {
                EVP_PKEY_CTX_set_params(pctx, [OSSL_PARAM::utf8(c"digest", value), OSSL_PARAM::END].as_ptr())
            };
            let sets = (set(digest), set(c"SHA3-384"), set(c"nonsense"));
            ERR_clear_error();
            let id = if done == 1 { id[..request[0].return_size].to_vec() } else { Vec::new() };
            Some((done, id, name, size, sets))
        });
        assert_eq!(told[0], told[1], "{digest:?}");
    }
    // A context goes on after a final step and after a copy.
    for query in [ADJUNCT, DEFAULT] {
        unsafe {
            let (ctx, copy) = (Digest(EVP_MD_CTX_new()), Digest(EVP_MD_CTX_new()));
            let (name, lib) = (c"SHA384".as_ptr(), library().0);
            let none = std::ptr::null();
            assert_eq!(EVP_DigestSignInit_ex(ctx.0, null_mut(), name, lib, query.as_ptr(), ours.0, none), 1);
            let finish = |ctx: &Digest, message: &[u8]| {
                let mut out = [0; 80];
                let mut length = out.len();
                assert_eq!(EVP_DigestSignFinal(ctx.0, out.as_mut_ptr(), &raw mut length), 1);
                let (signature, sha) = (&out[..length], Some(c"SHA384"));
                assert_eq!(digest_verify(&stock, DEFAULT, sha, message, signature, &[]), 1);
            };
            assert_eq!(EVP_DigestSignUpdate(ctx.0, b"one".as_ptr().cast(), 3), 1);
            assert_eq!(EVP_MD_CTX_copy_ex(copy.0, ctx.0), 1);
            finish(&ctx, b"one");
            assert_eq!(EVP_DigestSignUpdate(copy.0, b"two".as_ptr().cast(), 3), 1);
            finish(&copy, b"onetwo");
            let version = (OPENSSL_version_major(), OPENSSL_version_minor());
            if version < (3, 2) {
                assert_eq!(EVP_DigestSignUpdate(ctx.0, b"two".as_ptr().cast(), 3), 1);
                finish(&ctx, b"onetwo");
            }
            ERR_clear_error();
        }
    }
}

#[test]
fn secrets_are_derived_alike() {
    for curve in CURVES {
        let ours = new_key(ADJUNCT, curve);
        let peer = new_key(ADJUNCT, curve);
        let [stock, stock_peer] = [&ours, &peer].map(|key| moved(EC, key, DEFAULT, ALL).unwrap());
        let x963 = |ukm: &[u8], digest: &str| {
            let (kind, name) = (Value::utf8(c"kdf-type", "X963KDF"), Value::utf8(c"kdf-digest", digest));
            let length = Value { name: c"kdf-outlen".to_owned(), kind: 2, data: 77usize.to_ne_bytes().to_vec() };
            vec![kind, name, length, Value::octets(c"kdf-ukm", ukm)]
        };
        for set in [
            vec![],
            vec![Value::int(c"ecdh-cofactor-mode", 1)],
            vec![Value::int(c"ecdh-cofactor-mode", 0)],
            vec![Value::int(c"ecdh-cofactor-mode", -1)],
            vec![Value::int(c"ecdh-cofactor-mode", 2)],
            vec![Value::utf8(c"kdf-type", "")],
            vec![Value::utf8(c"kdf-type", "other")],
            x963(b"", "SHA256"),
            x963(b"shared info", "SHA512"),
            x963(b"shared info", "nonsense"),
        ] {
            let mine = derive(&ours, &peer, ADJUNCT, true, &set);
            assert_eq!(mine, derive(&stock_peer, &stock, DEFAULT, true, &set), "{curve} {set:?}");
            assert_eq!(mine, derive(&peer, &ours, ADJUNCT, false, &set), "{curve} {set:?}");
        }
        let other = new_key(ADJUNCT, if curve == "P-256" { "P-384" } else { "P-256" });
        assert_eq!(derive(&ours, &other, ADJUNCT, true, &[]), None);
        let public = moved(EC, &ours, ADJUNCT, PUBLIC | DOMAIN).unwrap();
        assert_eq!(derive(&public, &peer, ADJUNCT, true, &[]), None);
        // OpenSSL 3.0 itself does not survive this on binary curves.
        if ["P-256", "secp384r1", "P-521"].contains(&curve) {
            assert_eq!(derive(&ours, &moved(EC, &peer, ADJUNCT, DOMAIN).unwrap(), ADJUNCT, false, &[]), None);
        }
        // A buffer shorter than the secret.
        let short = [(&ours, &peer, ADJUNCT), (&stock, &stock_peer, DEFAULT)].map(|(key, peer, query)| unsafe {
            let (ctx, mut out) = (of(key, query), [0u8; 80]);
            assert_eq!(EVP_PKEY_derive_init(ctx.0), 1);
            assert_eq!(EVP_PKEY_derive_set_peer(ctx.0, peer.0), 1);
            let copy = Ctx(EVP_PKEY_CTX_dup(ctx.0));
            let mut length = 10;
            let done = EVP_PKEY_derive(copy.0, out.as_mut_ptr(), &raw mut length);
            ERR_clear_error();
            (done, if done == 1 { out[..length].to_vec() } else { Vec::new() })
        });
        assert_eq!(short[0], short[1], "{curve}");
    }
}

/// The steps of libssl's key shares.
#[test]
fn tls_key_shares() {
    for curve in ["P-256", "P-384", "P-521", "brainpoolP256r1"] {
        for (a, b) in [(ADJUNCT, DEFAULT), (DEFAULT, ADJUNCT), (ADJUNCT, ADJUNCT)] {
            let [ours, theirs] = [new_key(a, curve), new_key(b, curve)];
            let share = |key: &SharedPkey| unsafe {
                let mut out = null_mut();
                let length = EVP_PKEY_get1_encoded_public_key(key.0, &raw mut out);
                let share = std::slice::from_raw_parts(out, length).to_vec();
                CRYPTO_free(out.cast(), c"".as_ptr(), 0);
                share
            };
            let peer = |key: &SharedPkey, share: &[u8]| unsafe {
                let peer = SharedPkey(EVP_PKEY_new());
                assert_eq!(EVP_PKEY_copy_parameters(peer.0, key.0), 1);
                (EVP_PKEY_set1_encoded_public_key(peer.0, share.as_ptr(), share.len()) == 1).then_some(peer)
            };
            let one = derive(&ours, &peer(&ours, &share(&theirs)).unwrap(), a, true, &[]).unwrap();
            let two = derive(&theirs, &peer(&theirs, &share(&ours)).unwrap(), b, true, &[]).unwrap();
            assert_eq!(one, two);
            let mut wrong = share(&theirs);
            *wrong.last_mut().unwrap() ^= 1;
            assert!(peer(&ours, &wrong).is_none());
            unsafe { ERR_clear_error() };
        }
    }
}

/// Keys derived from keying material (RFC 9180, 7.1.3; since OpenSSL 3.2) are the default provider's.
#[test]
fn derived_keys_are_the_default_providers() {
    if unsafe { (OPENSSL_version_major(), OPENSSL_version_minor()) } < (3, 2) {
        return;
    }
    let material = [group("P-256"), Value::octets(c"dhkem-ikm", &[5; 32])];
    let [ours, stock] = [ADJUNCT, DEFAULT].map(|query| generate(EC, query, false, &[&material]).unwrap());
    assert_eq!(to_data(&ours, ALL), to_data(&stock, ALL));
}

/// Deterministic nonces (RFC 6979; since OpenSSL 3.2) are the default provider's.
#[test]
fn deterministic_nonces_are_the_default_providers() {
    if unsafe { (OPENSSL_version_major(), OPENSSL_version_minor()) } < (3, 2) {
        return;
    }
    let ours = new_key(ADJUNCT, "P-256");
    let stock = moved(EC, &ours, DEFAULT, ALL).unwrap();
    let set = [Value::uint(c"nonce-type", 1)];
    let (a, b) = (
        digest_sign(&ours, ADJUNCT, Some(c"SHA256"), b"message", None, &set).unwrap(),
        digest_sign(&stock, DEFAULT, Some(c"SHA256"), b"message", None, &set).unwrap(),
    );
    assert_eq!(a, b);
}
