//! What operations on keys of elliptic, Edwards and Montgomery curves return and leave on OpenSSL's error queue, compared with
//! the default provider's call by call. `ADJUNCT_DEEP=1` runs every combination.

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;
#[path = "common/evp.rs"]
mod evp;

use common::record::{Comparison, Recorder};
use common::*;
use evp::*;
use std::ffi::{CStr, CString, c_int};
use std::ptr::{null, null_mut};

type Init = unsafe extern "C" fn(PkeyCtx) -> c_int;

/// A key type, and the group where it has one.
#[derive(Clone, Copy, Debug)]
struct Type(&'static CStr, Option<&'static str>);

const TYPES: &[Type] = &[
    Type(c"EC", Some("P-256")),
    Type(c"EC", Some("P-384")),
    Type(c"EC", Some("P-521")),
    Type(c"EC", Some("secp256k1")),
    Type(c"EC", Some("brainpoolP256r1")),
    Type(c"EC", Some("sect283k1")),
    Type(c"X25519", None),
    Type(c"ED25519", None),
];

impl Type {
    /// Whether a message can be given in pieces. OpenSSL 3.0 calls null where it cannot: with stock as with ours.
    fn streams(self) -> bool {
        self.0 != c"ED25519"
    }

    fn sets(self) -> Vec<Value> {
        self.1.map(|group| Value::utf8(c"group", group)).into_iter().collect()
    }

    /// Data of a key that the default provider made, for both providers.
    fn material(self) -> Vec<Value> {
        let key = generate(self.0, DEFAULT, false, &[&self.sets()]).expect("a key");
        let data = to_data(&key, ALL).expect("its data");
        unsafe { ERR_clear_error() };
        data
    }
}

fn key(r: &mut Recorder, query: &'static CStr, kind: Type, values: &[Value]) -> Option<SharedPkey> {
    let mut key = None;
    r.call("fromdata", || {
        key = from_data(kind.0, query, ALL, values);
        key.is_some()
    });
    key
}

fn set(r: &mut Recorder, ctx: PkeyCtx, value: &Value) -> bool {
    let mut values = [value.clone()];
    let params = array(&mut values);
    let name = format!("set {:?} {:?}", value.name, String::from_utf8_lossy(&value.data));
    r.call(name, || unsafe { EVP_PKEY_CTX_set_params(ctx, params.as_ptr()) }) == 1
}

/// Asks a key or a context for its parameters, with enough room and with little.
fn ask(r: &mut Recorder, names: &[(&CStr, u32)], get: impl Fn(*mut OSSL_PARAM) -> c_int) {
    for &(name, kind) in names {
        for size in [256, 9, 4, 1] {
            let mut buffer = [0u8; 256];
            let data = buffer.as_mut_ptr().cast();
            let p = OSSL_PARAM { key: name.as_ptr(), data_type: kind, data, data_size: size, return_size: 9999 };
            let mut request = [p, OSSL_PARAM::END];
            r.call(format!("get {name:?} {kind} {size}"), || get(request.as_mut_ptr()));
            r.value("size", request[0].return_size);
            r.bytes("it", &buffer);
        }
    }
}

fn spoilt(good: &[u8]) -> Vec<Vec<u8>> {
    let mut wrong = good.to_vec();
    if let Some(last) = wrong.last_mut() {
        *last ^= 1;
    }
    let mut longer = good.to_vec();
    longer.push(0);
    vec![
        good.to_vec(),
        wrong,
        good[..good.len() - 1].to_vec(),
        longer,
        Vec::new(),
        vec![0xff; good.len()],
        // ECDSA signatures of zeros and ones.
        vec![0x30, 6, 2, 1, 0, 2, 1, 0],
        vec![0x30, 6, 2, 1, 1, 2, 1, 1],
        vec![0x30, 6, 2, 1, 0xff, 2, 1, 1],
        vec![0x30, 0x81, 6, 2, 1, 1, 2, 1, 1],
    ]
}

const DIGESTS: &[Option<&str>] = &[
    None,
    Some("SHA256"),
    Some("SHA1"),
    Some("SHA512"),
    Some("SHA3-384"),
    Some("MD5"),
    Some("RIPEMD160"),
    Some("MD5-SHA1"),
    Some("SHAKE128"),
    Some("MDC2"),
    Some("nonsense"),
    Some(""),
];

const ANSWERS: &[(&CStr, u32)] =
    &[(c"algorithm-id", 5), (c"digest", 4), (c"digest-size", 2), (c"instance", 4), (c"nonsense", 4)];

#[test]
fn signatures() {
    let mut comparison = Comparison::new();
    for &kind in TYPES {
        let values = kind.material();
        let public: Vec<Value> = values.iter().filter(|v| v.name.as_c_str() != c"priv").cloned().collect();
        for digest in DIGESTS {
            let name = digest.map(|d| CString::new(d).expect("a name"));
            let stock = from_data(kind.0, DEFAULT, ALL, &values).expect("a key");
            let data = [7u8; 32];
            let good = sign(&stock, DEFAULT, &data, &[]).unwrap_or_else(|| vec![0x5a; 64]);
            let digested = digest_sign(&stock, DEFAULT, name.as_deref(), b"text", None, &[]);
            let digested = digested.unwrap_or_else(|| vec![0x5a; 64]);
            unsafe { ERR_clear_error() };
            comparison.run(format!("{kind:?} {digest:?} sign and verify"), |r, query| unsafe {
                for values in [&values, &public] {
                    let Some(key) = key(r, query, kind, values) else { continue };
                    let ctx = of(&key, query);
                    r.call("init", || EVP_PKEY_sign_init(ctx.0));
                    let _ = digest.is_none_or(|d| set(r, ctx.0, &Value::utf8(c"digest", d)));
                    set(r, ctx.0, &Value::utf8(c"nonsense", "x"));
                    ask(r, ANSWERS, |p| EVP_PKEY_CTX_get_params(ctx.0, p));
                    for length in [32, 0, 1, 20, 64, 200] {
                        let (input, mut out, mut n) = (vec![3; length], vec![0; 256], 0);
                        r.call("size", || EVP_PKEY_sign(ctx.0, null_mut(), &raw mut n, input.as_ptr(), length));
                        r.value("size", n);
                        for room in [0, 9, 63, 256] {
                            n = room;
                            r.call(format!("sign {length} into {room}"), || {
                                EVP_PKEY_sign(ctx.0, out.as_mut_ptr(), &raw mut n, input.as_ptr(), length)
                            });
                        }
                    }
                    set(r, ctx.0, &Value::uint(c"digest-size", 7));
                    set(r, ctx.0, &Value::utf8(c"digest-size", "few"));
                    let ctx = of(&key, query);
                    r.call("init", || EVP_PKEY_verify_init(ctx.0));
                    let _ = digest.is_none_or(|d| set(r, ctx.0, &Value::utf8(c"digest", d)));
                    for signature in spoilt(&good) {
                        for data in [&data[..], &data[1..], &[]] {
                            r.call(format!("verify {signature:02x?} {}", data.len()), || {
                                let (sig, length) = (signature.as_ptr(), signature.len());
                                EVP_PKEY_verify(ctx.0, sig, length, data.as_ptr(), data.len())
                            });
                        }
                    }
                    let ctx = of(&key, query);
                    r.call("recover init", || EVP_PKEY_verify_recover_init(ctx.0));
                    r.call("encrypt init", || EVP_PKEY_encrypt_init(ctx.0));
                }
            });
            comparison.run(format!("{kind:?} {digest:?} digest sign and verify"), |r, query| unsafe {
                for (values, verify) in [(&values, false), (&public, false), (&values, true), (&public, true)] {
                    let Some(key) = key(r, query, kind, values) else { continue };
                    let (ctx, mut pctx) = (Digest(EVP_MD_CTX_new()), null_mut());
                    let init = if verify { EVP_DigestVerifyInit_ex } else { EVP_DigestSignInit_ex };
                    let md = name.as_ref().map_or(null(), |n| n.as_ptr());
                    let lib = library().0;
                    if r.call("init", || init(ctx.0, &raw mut pctx, md, lib, query.as_ptr(), key.0, null())) != 1 {
                        continue;
                    }
                    for value in [
                        Value::utf8(c"digest", "SHA384"),
                        Value::utf8(c"digest", "nonsense"),
                        Value::uint(c"digest-size", 7),
                    ] {
                        set(r, pctx, &value);
                    }
                    ask(r, ANSWERS, |p| EVP_PKEY_CTX_get_params(pctx, p));
                    if verify {
                        for signature in spoilt(&digested) {
                            let again = Digest(EVP_MD_CTX_new());
                            let (sig, length) = (signature.as_ptr(), signature.len());
                            r.call("copy", || EVP_MD_CTX_copy_ex(again.0, ctx.0));
                            r.call(format!("verify at once {signature:02x?}"), || {
                                EVP_DigestVerify(again.0, sig, length, b"text".as_ptr(), 4)
                            });
                            if !kind.streams() {
                                continue;
                            }
                            let again = Digest(EVP_MD_CTX_new());
                            r.call("copy", || EVP_MD_CTX_copy_ex(again.0, ctx.0));
                            r.call("update", || EVP_DigestVerifyUpdate(again.0, c"text".as_ptr().cast(), 4));
                            r.call("verify", || EVP_DigestVerifyFinal(again.0, sig, length));
                        }
                        continue;
                    }
                    let (mut out, mut n) = (vec![0; 256], 0);
                    r.call("size", || EVP_DigestSign(ctx.0, null_mut(), &raw mut n, b"text".as_ptr(), 4));
                    r.value("size", n);
                    let copy = Digest(EVP_MD_CTX_new());
                    r.call("copy", || EVP_MD_CTX_copy_ex(copy.0, ctx.0));
                    for room in [0, 9, 63, 256] {
                        n = room;
                        r.call(format!("sign into {room}"), || {
                            EVP_DigestSign(copy.0, out.as_mut_ptr(), &raw mut n, b"text".as_ptr(), 4)
                        });
                    }
                    if !kind.streams() {
                        continue;
                    }
                    r.call("update", || EVP_DigestSignUpdate(ctx.0, c"text".as_ptr().cast(), 4));
                    n = 3;
                    r.call("short", || EVP_DigestSignFinal(ctx.0, out.as_mut_ptr(), &raw mut n));
                    n = 256;
                    r.call("sign", || EVP_DigestSignFinal(ctx.0, out.as_mut_ptr(), &raw mut n));
                }
            });
        }
    }
    comparison.finish();
}

#[test]
fn exchanges() {
    let mut comparison = Comparison::new();
    let keys: Vec<(Type, Vec<Value>)> = TYPES.iter().map(|&kind| (kind, kind.material())).collect();
    let settings = [
        vec![],
        vec![Value::int(c"ecdh-cofactor-mode", 1)],
        vec![Value::int(c"ecdh-cofactor-mode", 7)],
        vec![Value::utf8(c"ecdh-cofactor-mode", "x")],
        vec![Value::utf8(c"kdf-type", "nonsense")],
        vec![Value::utf8(c"kdf-type", "X963KDF")],
        vec![
            Value::utf8(c"kdf-type", "X963KDF"),
            Value::utf8(c"kdf-digest", "SHA256"),
            Value::number(c"kdf-outlen", &[33]),
        ],
        vec![Value::utf8(c"kdf-type", "")],
        vec![Value::utf8(c"nonsense", "x")],
    ];
    for (kind, values) in &keys {
        let public: Vec<Value> = values.iter().filter(|v| v.name.as_c_str() != c"priv").cloned().collect();
        for (other, theirs) in &keys {
            for settings in &settings {
                comparison.run(format!("{kind:?} with {other:?}, {settings:?}"), |r, query| unsafe {
                    let Some(peer) = key(r, query, *other, theirs) else { return };
                    for values in [values, &public] {
                        let Some(key) = key(r, query, *kind, values) else { continue };
                        let ctx = of(&key, query);
                        r.call("init", || EVP_PKEY_derive_init(ctx.0));
                        settings.iter().for_each(|value| _ = set(r, ctx.0, value));
                        let asked =
                            [(c"ecdh-cofactor-mode", 1), (c"kdf-type", 4), (c"kdf-digest", 4), (c"kdf-outlen", 2)];
                        ask(r, &asked, |p| EVP_PKEY_CTX_get_params(ctx.0, p));
                        let (mut out, mut n) = (vec![0; 100], 100);
                        r.call("without a peer", || EVP_PKEY_derive(ctx.0, out.as_mut_ptr(), &raw mut n));
                        r.call("peer", || EVP_PKEY_derive_set_peer(ctx.0, peer.0));
                        r.call("size", || EVP_PKEY_derive(ctx.0, null_mut(), &raw mut n));
                        r.value("size", n);
                        for room in [0, 1, 31, 100] {
                            n = room;
                            let done = r.call(format!("derive {room}"), || {
                                EVP_PKEY_derive(ctx.0, out.as_mut_ptr(), &raw mut n)
                            });
                            r.bytes("it", &out[..if done == 1 { n } else { 0 }]);
                        }
                    }
                });
            }
        }
    }
    // A public key of small order: the secret would be zero.
    comparison.run("X25519 with a point of small order", |r, query| unsafe {
        let Some(key) = key(r, query, Type(c"X25519", None), &keys[6].1) else { return };
        let Some(peer) = self::key(r, query, Type(c"X25519", None), &[Value::octets(c"pub", &[0; 32])]) else { return };
        let ctx = of(&key, query);
        let (mut out, mut n) = (vec![0; 32], 32);
        r.call("init", || EVP_PKEY_derive_init(ctx.0));
        r.call("peer", || EVP_PKEY_derive_set_peer(ctx.0, peer.0));
        r.call("derive", || EVP_PKEY_derive(ctx.0, out.as_mut_ptr(), &raw mut n));
    });
    comparison.finish();
}

#[test]
fn keys() {
    const ASKED: &[(&CStr, u32)] = &[
        (c"bits", 1),
        (c"security-bits", 1),
        (c"max-size", 1),
        (c"default-digest", 4),
        (c"mandatory-digest", 4),
        (c"group", 4),
        (c"encoding", 4),
        (c"point-format", 4),
        (c"pub", 5),
        (c"encoded-pub-key", 5),
        (c"priv", 2),
        (c"priv", 5),
        (c"qx", 2),
        (c"p", 2),
        (c"order", 2),
        (c"generator", 5),
        (c"use-cofactor-flag", 1),
        (c"include-public", 1),
        (c"nonsense", 4),
    ];
    let mut comparison = Comparison::new();
    for &kind in TYPES {
        let good = kind.material();
        let without = |names: &[&CStr]| -> Vec<Value> {
            good.iter().filter(|v| !names.contains(&v.name.as_c_str())).cloned().collect()
        };
        let with = |name: &CStr, change: fn(&mut Vec<u8>)| -> Vec<Value> {
            let mut all = good.clone();
            all.iter_mut().filter(|v| v.name.as_c_str() == name).for_each(|v| change(&mut v.data));
            all
        };
        let other = kind.material();
        let mixed = |name: &CStr| -> Vec<Value> {
            let taken = other.iter().filter(|v| v.name.as_c_str() == name).cloned();
            without(&[name]).into_iter().chain(taken).collect()
        };
        let all: Vec<(&str, Vec<Value>)> = vec![
            ("good", good.clone()),
            ("public", without(&[c"priv"])),
            ("private", without(&[c"pub"])),
            ("parameters", without(&[c"pub", c"priv"])),
            ("no group", without(&[c"group"])),
            ("nothing", Vec::new()),
            ("wrong group", with(c"group", |data| *data = b"nonsense".to_vec())),
            ("another group", with(c"group", |data| *data = b"secp224r1".to_vec())),
            ("short public", with(c"pub", |data| data.truncate(data.len() - 1))),
            ("empty public", with(c"pub", Vec::clear)),
            ("public not on the curve", with(c"pub", |data| *data.last_mut().expect("a byte") ^= 1)),
            ("short private", with(c"priv", |data| data.truncate(data.len() - 1))),
            ("private zero", with(c"priv", |data| data.fill(0))),
            ("private too large", with(c"priv", |data| data.fill(0xff))),
            ("another's public", mixed(c"pub")),
            ("compressed", with(c"point-format", |data| *data = b"compressed".to_vec())),
            ("wrong form", with(c"point-format", |data| *data = b"nonsense".to_vec())),
            ("explicit", with(c"encoding", |data| *data = b"explicit".to_vec())),
            ("wrong encoding", with(c"encoding", |data| *data = b"nonsense".to_vec())),
        ];
        for (name, values) in &all {
            for selection in [ALL, PAIR, PUBLIC | DOMAIN, PRIVATE | DOMAIN, PUBLIC, OTHER, DOMAIN, 0] {
                comparison.run(format!("{kind:?}, {name}, selection {selection:x}"), |r, query| unsafe {
                    let mut key = None;
                    r.call("fromdata", || {
                        key = from_data(kind.0, query, selection, values);
                        key.is_some()
                    });
                    let Some(key) = key else { return };
                    ask(r, ASKED, |p| EVP_PKEY_get_params(key.0, p));
                    let ctx = of(&key, query);
                    for (name, check) in [
                        ("check", EVP_PKEY_check as Init),
                        ("public_check", EVP_PKEY_public_check),
                        ("private_check", EVP_PKEY_private_check),
                        ("pairwise_check", EVP_PKEY_pairwise_check),
                        ("param_check", EVP_PKEY_param_check),
                    ] {
                        r.call(name, || check(ctx.0));
                    }
                    for out in [ALL, PAIR, PUBLIC | DOMAIN, PRIVATE | DOMAIN, PUBLIC, OTHER, DOMAIN] {
                        let mut data = None;
                        r.call(format!("todata {out:x}"), || {
                            data = to_data(&key, out);
                            data.is_some()
                        });
                        r.value("data", data.map(|d| d.into_iter().map(|v| (v.name, v.data)).collect::<Vec<_>>()));
                    }
                    let copy = SharedPkey(r.call("dup", || EVP_PKEY_dup(key.0)));
                    if !copy.0.is_null() {
                        r.call("eq", || EVP_PKEY_eq(key.0, copy.0));
                        r.call("parameters_eq", || EVP_PKEY_parameters_eq(key.0, copy.0));
                        for value in [
                            Value::octets(c"encoded-pub-key", &[]),
                            Value::octets(c"encoded-pub-key", &[4; 65]),
                            Value::octets(c"encoded-pub-key", &[9; 32]),
                            Value::utf8(c"encoded-pub-key", "x"),
                            Value::utf8(c"point-format", "nonsense"),
                            Value::utf8(c"encoding", "nonsense"),
                            Value::int(c"use-cofactor-flag", 1),
                            Value::utf8(c"nonsense", "x"),
                        ] {
                            let mut values = [value.clone()];
                            let mut params = array(&mut values);
                            r.call(format!("set {value:?}"), || EVP_PKEY_set_params(copy.0, params.as_mut_ptr()));
                        }
                    }
                    for init in [EVP_PKEY_sign_init as Init, EVP_PKEY_verify_init, EVP_PKEY_derive_init] {
                        let ctx = of(&key, query);
                        r.call("init", || init(ctx.0));
                    }
                });
            }
        }
    }
    comparison.finish();
}

#[test]
fn generation() {
    let mut comparison = Comparison::new();
    let sets: &[&[Value]] = &[
        &[],
        &[Value::utf8(c"group", "P-256")],
        &[Value::utf8(c"group", "nonsense")],
        &[Value::utf8(c"group", "X25519")],
        &[Value::utf8(c"group", "X448")],
        &[Value::utf8(c"group", "secp256k1")],
        &[Value::utf8(c"group", "SM2")],
        &[Value::int(c"group", 3)],
        &[Value::utf8(c"group", "P-384"), Value::utf8(c"encoding", "nonsense")],
        &[Value::utf8(c"group", "P-384"), Value::utf8(c"point-format", "nonsense")],
        &[Value::utf8(c"group", "P-384"), Value::int(c"use-cofactor-flag", 5)],
        &[Value::utf8(c"group", "P-384"), Value::utf8(c"group-check", "nonsense")],
        &[Value::utf8(c"encoding", "explicit"), Value::utf8(c"group", "P-521")],
        &[Value::number(c"p", &[7])],
        &[Value::octets(c"dhkem-ikm", &[])],
        &[Value::octets(c"dhkem-ikm", &[1])],
        &[Value::utf8(c"nonsense", "x")],
    ];
    for name in [c"EC", c"X25519", c"ED25519"] {
        for values in sets {
            for parameters in [false, true] {
                comparison.run(format!("{name:?} {parameters} {values:?}"), |r, query| unsafe {
                    let ctx = named(name, query);
                    let init = if parameters { EVP_PKEY_paramgen_init } else { EVP_PKEY_keygen_init };
                    r.call("init", || init(ctx.0));
                    values.iter().for_each(|value| _ = set(r, ctx.0, value));
                    let mut key = null_mut();
                    r.call("generate", || EVP_PKEY_generate(ctx.0, &raw mut key));
                    if !key.is_null() {
                        r.value("bits", EVP_PKEY_get_bits(key));
                        EVP_PKEY_free(key);
                    }
                });
            }
        }
    }
    comparison.finish();
}
