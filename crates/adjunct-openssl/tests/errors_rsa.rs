//! What operations on RSA keys return and leave on OpenSSL's error queue, compared with the default provider's call by call.
//! `ADJUNCT_DEEP=1` runs every combination; without it, every value of each setting is there once or more.

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;
#[path = "common/evp.rs"]
mod evp;

use common::record::{Comparison, Recorder, deep};
use common::*;
use evp::*;
use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};

/// Data of a key that the default provider made, for both providers.
fn material(sets: &[Value]) -> Vec<Value> {
    let key = generate(c"RSA", DEFAULT, false, &[sets]).expect("a key");
    to_data(&key, ALL).expect("its data")
}

fn of_bits(bits: u32, primes: u32) -> Vec<Value> {
    material(&[Value::uint(c"bits", bits), Value::uint(c"primes", primes)])
}

fn key(r: &mut Recorder, query: &'static CStr, values: &[Value]) -> SharedPkey {
    let mut key = None;
    r.call("fromdata", || {
        key = from_data(c"RSA", query, ALL, values);
        key.is_some()
    });
    key.expect("a key")
}

fn set(r: &mut Recorder, ctx: PkeyCtx, value: &Value) -> bool {
    let mut values = [value.clone()];
    let params = array(&mut values);
    let name = format!("set {:?} {:?}", value.name, String::from_utf8_lossy(&value.data));
    r.call(name, || unsafe { EVP_PKEY_CTX_set_params(ctx, params.as_ptr()) }) == 1
}

/// Asks for what a context tells.
fn look(r: &mut Recorder, ctx: PkeyCtx) {
    for (name, kind, size) in [
        (c"pad-mode", 4, 64),
        (c"pad-mode", 1, 4),
        (c"digest", 4, 64),
        (c"digest", 4, 2),
        (c"mgf1-digest", 4, 64),
        (c"saltlen", 4, 64),
        (c"saltlen", 1, 4),
        (c"algorithm-id", 5, 128),
        (c"algorithm-id", 5, 3),
        (c"nonsense", 4, 64),
    ] {
        let mut buffer = [0u8; 128];
        let data = buffer.as_mut_ptr().cast();
        let mut request = [
            OSSL_PARAM { key: name.as_ptr(), data_type: kind, data, data_size: size, return_size: usize::MAX },
            OSSL_PARAM::END,
        ];
        r.call(format!("get {name:?} {kind} {size}"), || unsafe { EVP_PKEY_CTX_get_params(ctx, request.as_mut_ptr()) });
        r.bytes("it", &buffer);
    }
}

/// Cases at most, spread over all that could be made of the settings.
const MOST: usize = 6000;

/// The values that a case has of each setting: one setting after the other, or where everything is tried all combinations.
fn cases<const N: usize>(settings: [usize; N]) -> Vec<[usize; N]> {
    if !deep() {
        let most = settings.iter().copied().max().unwrap_or(0);
        return (0..most * 2).map(|i| std::array::from_fn(|at| (i * (at + 1) + i / most) % settings[at])).collect();
    }
    let all: usize = settings.iter().product();
    // A prime, so that the steps meet every case before the first again.
    const STEP: usize = 1_000_003;
    (0..all.min(MOST))
        .map(|i| {
            let mut i = i * STEP % all;
            std::array::from_fn(|at| {
                let value = i % settings[at];
                i /= settings[at];
                value
            })
        })
        .collect()
}

const DIGESTS: &[Option<&str>] = &[
    None,
    Some("SHA1"),
    Some("SHA256"),
    Some("SHA2-512/224"),
    Some("SHA512"),
    Some("SHA3-256"),
    Some("MD5"),
    Some("MD5-SHA1"),
    Some("RIPEMD160"),
    Some("SM3"),
    Some("SHAKE256"),
    Some("BLAKE2B512"),
    Some("MDC2"),
    Some("nonsense"),
    Some("a name of a digest that is a good deal longer than fifty characters"),
];

fn paddings() -> Vec<Option<Value>> {
    let mut all = vec![None];
    all.extend([1, 3, 4, 5, 6, 7, 99].map(|mode| Some(Value::int(c"pad-mode", mode))));
    all.extend(["pkcs1", "pss", "none", "oaep", "x931", "words"].map(|mode| Some(Value::utf8(c"pad-mode", mode))));
    all.push(Some(Value::octets(c"pad-mode", &[1])));
    all
}

fn salts() -> Vec<Option<Value>> {
    let mut all = vec![None];
    all.extend(["digest", "max", "auto", "auto-digestmax", "20", "words"].map(|t| Some(Value::utf8(c"saltlen", t))));
    all.extend([-5, -4, -3, 0, 32, 100_000].map(|n| Some(Value::int(c"saltlen", n))));
    all
}

fn size_of_digest(name: Option<&str>) -> usize {
    match name {
        Some("SHA1" | "RIPEMD160") => 20,
        Some("MD5" | "MDC2") => 16,
        Some("SHA512" | "BLAKE2B512") => 64,
        Some("SHA2-512/224") => 28,
        Some("MD5-SHA1") => 36,
        _ => 32,
    }
}

/// What both get to verify: signed by the default provider, where it does.
fn signed(values: &[Value], settings: &[Value], data: &[u8]) -> Vec<u8> {
    let key = from_data(c"RSA", DEFAULT, ALL, values).expect("a key");
    let made = sign(&key, DEFAULT, data, settings);
    unsafe { ERR_clear_error() };
    made.unwrap_or_else(|| vec![0x5a; unsafe { EVP_PKEY_get_size(key.0) as usize }])
}

/// Spoils a good input in every way.
fn spoilt(good: &[u8]) -> Vec<Vec<u8>> {
    let mut wrong = good.to_vec();
    if let Some(last) = wrong.last_mut() {
        *last ^= 1;
    }
    let mut zero = vec![0];
    zero.extend_from_slice(good);
    vec![
        good.to_vec(),
        wrong,
        good[..good.len() - 1].to_vec(),
        zero,
        Vec::new(),
        vec![0xff; good.len()],
        vec![0; good.len()],
        vec![1],
    ]
}

#[test]
fn signatures() {
    let mut comparison = Comparison::new();
    let keys = [of_bits(1024, 2), of_bits(512, 2), of_bits(2048, 3)];
    let (paddings, salts) = (paddings(), salts());
    let mgf1s = [None, Some("SHA1"), Some("SHA512"), Some("MD5-SHA1"), Some("nonsense"), Some("MDC2")];
    let counts = [paddings.len(), DIGESTS.len(), salts.len(), mgf1s.len(), keys.len(), 2];
    for [padding, digest, salt, mgf1, at, order] in cases(counts) {
        let (values, digest) = (&keys[at], DIGESTS[digest]);
        let mut settings = Vec::new();
        settings.extend(paddings[padding].clone());
        settings.extend(digest.map(|name| Value::utf8(c"digest", name)));
        if order == 1 {
            settings.reverse();
        }
        settings.extend(mgf1s[mgf1].map(|name| Value::utf8(c"mgf1-digest", name)));
        settings.extend(salts[salt].clone());
        let name = format!("key {at}, {settings:?}");
        let data = vec![7; size_of_digest(digest)];
        let size = values.iter().find(|v| v.name.as_c_str() == c"n").expect("a modulus").data.len();
        let signature = signed(values, &settings, &data);
        comparison.run(format!("sign, {name}"), |r, query| unsafe {
            let key = key(r, query, values);
            let ctx = of(&key, query);
            r.call("init", || EVP_PKEY_sign_init(ctx.0));
            settings.iter().for_each(|value| _ = set(r, ctx.0, value));
            look(r, ctx.0);
            for length in [data.len(), 0, 1, 33, size - 11, size - 10, size, size + 1] {
                let (input, mut out, mut n) = (vec![3; length], vec![0; size], 0);
                r.call("size", || EVP_PKEY_sign(ctx.0, null_mut(), &raw mut n, input.as_ptr(), length));
                r.value("size", n);
                n = size - 1;
                r.call("sign short", || EVP_PKEY_sign(ctx.0, out.as_mut_ptr(), &raw mut n, input.as_ptr(), length));
                n = size;
                r.call(format!("sign {length}"), || {
                    EVP_PKEY_sign(ctx.0, out.as_mut_ptr(), &raw mut n, input.as_ptr(), length)
                });
                r.value("size", n);
            }
        });
        comparison.run(format!("verify, {name}"), |r, query| unsafe {
            let key = key(r, query, values);
            for recover in [false, true] {
                let ctx = of(&key, query);
                let init = if recover { EVP_PKEY_verify_recover_init } else { EVP_PKEY_verify_init };
                r.call("init", || init(ctx.0));
                settings.iter().for_each(|value| _ = set(r, ctx.0, value));
                for signature in spoilt(&signature) {
                    let (sig, length) = (signature.as_ptr(), signature.len());
                    if recover {
                        let (mut out, mut n) = (vec![0; size], size);
                        r.call(format!("recover {length}"), || {
                            EVP_PKEY_verify_recover(ctx.0, out.as_mut_ptr(), &raw mut n, sig, length)
                        });
                        r.bytes("it", &out[..if n <= size { n } else { 0 }]);
                        n = 2;
                        r.call("recover short", || {
                            EVP_PKEY_verify_recover(ctx.0, out.as_mut_ptr(), &raw mut n, sig, length)
                        });
                    } else {
                        for data in [&data[..], &data[1..], &[]] {
                            r.call(format!("verify {length} {}", data.len()), || {
                                EVP_PKEY_verify(ctx.0, sig, length, data.as_ptr(), data.len())
                            });
                        }
                    }
                }
            }
        });
        let signature = {
            let key = from_data(c"RSA", DEFAULT, ALL, values).expect("a key");
            let name = std::ffi::CString::new(digest.unwrap_or("SHA256")).expect("a name");
            let more: Vec<Value> = settings.iter().filter(|v| v.name.as_c_str() != c"digest").cloned().collect();
            let made = evp::digest_sign(&key, DEFAULT, Some(&name), b"text", None, &more);
            ERR_clear();
            made.unwrap_or_else(|| vec![0x5a; size])
        };
        comparison.run(format!("digest sign and verify, {name}"), |r, query| unsafe {
            let key = key(r, query, values);
            let name = digest.map(|d| std::ffi::CString::new(d).expect("a name"));
            let name = name.as_ref().map_or(null(), |n| n.as_ptr());
            for verify in [false, true] {
                let (ctx, mut pctx) = (Digest(EVP_MD_CTX_new()), null_mut());
                let init = if verify { EVP_DigestVerifyInit_ex } else { EVP_DigestSignInit_ex };
                r.call("init", || init(ctx.0, &raw mut pctx, name, library().0, query.as_ptr(), key.0, null()));
                if pctx.is_null() {
                    continue;
                }
                settings.iter().for_each(|value| _ = set(r, pctx, value));
                set(r, pctx, &Value::utf8(c"digest", "SHA384"));
                look(r, pctx);
                if verify {
                    for signature in spoilt(&signature) {
                        let again = Digest(EVP_MD_CTX_new());
                        r.call("copy", || EVP_MD_CTX_copy_ex(again.0, ctx.0));
                        r.call("update", || EVP_DigestVerifyUpdate(again.0, c"text".as_ptr().cast(), 4));
                        r.call("verify", || EVP_DigestVerifyFinal(again.0, signature.as_ptr(), signature.len()));
                    }
                    continue;
                }
                let (mut out, mut n) = (vec![0; size], 0);
                r.call("update", || EVP_DigestSignUpdate(ctx.0, c"text".as_ptr().cast(), 4));
                r.call("size", || EVP_DigestSignFinal(ctx.0, null_mut(), &raw mut n));
                r.value("size", n);
                n = size - 1;
                r.call("short", || EVP_DigestSignFinal(ctx.0, out.as_mut_ptr(), &raw mut n));
                n = size;
                r.call("sign", || EVP_DigestSignFinal(ctx.0, out.as_mut_ptr(), &raw mut n));
            }
        });
    }
    comparison.finish();
}

#[allow(non_snake_case)]
fn ERR_clear() {
    unsafe { ERR_clear_error() };
}

#[test]
fn encryption() {
    let mut comparison = Comparison::new();
    let keys = [of_bits(1024, 2), of_bits(512, 2), of_bits(2048, 3)];
    let paddings = paddings();
    let mgf1s = [None, Some("SHA1"), Some("SHA512"), Some("MD5-SHA1"), Some("nonsense"), Some("MDC2")];
    let labels: [Option<&[u8]>; 3] = [None, Some(b"label"), Some(b"")];
    for [padding, digest, mgf1, label, at] in
        cases([paddings.len(), DIGESTS.len(), mgf1s.len(), labels.len(), keys.len()])
    {
        let values = &keys[at];
        let mut settings = Vec::new();
        settings.extend(paddings[padding].clone());
        settings.extend(DIGESTS[digest].map(|name| Value::utf8(c"digest", name)));
        settings.extend(mgf1s[mgf1].map(|name| Value::utf8(c"mgf1-digest", name)));
        settings.extend(labels[label].map(|label| Value::octets(c"oaep-label", label)));
        let size = values.iter().find(|v| v.name.as_c_str() == c"n").expect("a modulus").data.len();
        let name = format!("key {at}, {settings:?}");
        let sealed = {
            let key = from_data(c"RSA", DEFAULT, ALL, values).expect("a key");
            let ctx = of(&key, DEFAULT);
            let (mut out, mut n) = (vec![0x5a; size], size);
            unsafe {
                EVP_PKEY_encrypt_init(ctx.0);
                for value in &settings {
                    EVP_PKEY_CTX_set_params(ctx.0, array(&mut [value.clone()]).as_ptr());
                }
                EVP_PKEY_encrypt(ctx.0, out.as_mut_ptr(), &raw mut n, b"text".as_ptr(), 4);
                ERR_clear_error();
            }
            out
        };
        comparison.run(format!("encrypt, {name}"), |r, query| unsafe {
            let key = key(r, query, values);
            let ctx = of(&key, query);
            r.call("init", || EVP_PKEY_encrypt_init(ctx.0));
            settings.iter().for_each(|value| _ = set(r, ctx.0, value));
            look(r, ctx.0);
            for length in [4, 0, size - 11, size - 10, size - 42, size - 41, size, size + 1] {
                let (input, mut out, mut n) = (vec![3; length], vec![0; size], 0);
                r.call("size", || EVP_PKEY_encrypt(ctx.0, null_mut(), &raw mut n, input.as_ptr(), length));
                r.value("size", n);
                n = size - 1;
                r.call("short", || EVP_PKEY_encrypt(ctx.0, out.as_mut_ptr(), &raw mut n, input.as_ptr(), length));
                n = size;
                r.call(format!("encrypt {length}"), || {
                    EVP_PKEY_encrypt(ctx.0, out.as_mut_ptr(), &raw mut n, input.as_ptr(), length)
                });
                r.value("size", n);
            }
            let (input, mut out, mut n) = (vec![0xff; size], vec![0; size], size);
            r.call("more than the modulus", || {
                EVP_PKEY_encrypt(ctx.0, out.as_mut_ptr(), &raw mut n, input.as_ptr(), size)
            });
        });
        comparison.run(format!("decrypt, {name}"), |r, query| unsafe {
            let key = key(r, query, values);
            for version in [0u32, 0x303] {
                let ctx = of(&key, query);
                r.call("init", || EVP_PKEY_decrypt_init(ctx.0));
                settings.iter().for_each(|value| _ = set(r, ctx.0, value));
                if version != 0 {
                    set(r, ctx.0, &Value::uint(c"tls-client-version", version));
                }
                for sealed in spoilt(&sealed) {
                    let (mut out, mut n) = (vec![0; size], 0);
                    let (data, length) = (sealed.as_ptr(), sealed.len());
                    r.call("size", || EVP_PKEY_decrypt(ctx.0, null_mut(), &raw mut n, data, length));
                    r.value("size", n);
                    n = 3;
                    r.call("short", || EVP_PKEY_decrypt(ctx.0, out.as_mut_ptr(), &raw mut n, data, length));
                    n = size;
                    let done = r.call(format!("decrypt {length}"), || {
                        EVP_PKEY_decrypt(ctx.0, out.as_mut_ptr(), &raw mut n, data, length)
                    });
                    // A premaster secret of a wrong message is random.
                    if done == 1 && version == 0 {
                        r.bytes("it", &out[..n]);
                    }
                }
            }
        });
    }
    comparison.finish();
}

#[test]
fn keys() {
    let mut comparison = Comparison::new();
    let good = of_bits(1024, 2);
    let without = |names: &[&CStr]| -> Vec<Value> {
        good.iter().filter(|v| !names.contains(&v.name.as_c_str())).cloned().collect()
    };
    let with = |name: &CStr, change: fn(&mut Vec<u8>)| -> Vec<Value> {
        let mut all = good.clone();
        all.iter_mut().filter(|v| v.name.as_c_str() == name).for_each(|v| change(&mut v.data));
        all
    };
    let private = [c"d", c"rsa-factor1", c"rsa-factor2", c"rsa-exponent1", c"rsa-exponent2", c"rsa-coefficient1"];
    let bump = |data: &mut Vec<u8>| data[0] = data[0].wrapping_add(2);
    let all: Vec<(&str, Vec<Value>)> = vec![
        ("good", good.clone()),
        ("three primes", of_bits(2048, 3)),
        ("public", without(&private)),
        ("no modulus", without(&[c"n"])),
        ("no exponent", without(&[c"e"])),
        ("nothing", Vec::new()),
        ("d alone", without(&private[1..])),
        ("no d", without(&private[..1])),
        ("a factor missing", without(&private[1..2])),
        ("no exponents", without(&private[3..])),
        ("wrong modulus", with(c"n", bump)),
        ("even modulus", with(c"n", |data| data[0] &= 0xfe)),
        ("wrong d", with(c"d", bump)),
        ("wrong factor", with(c"rsa-factor1", bump)),
        ("wrong coefficient", with(c"rsa-coefficient1", bump)),
        ("exponent 1", with(c"e", |data| *data = vec![1])),
        ("exponent 0", with(c"e", |data| *data = vec![0])),
        ("exponent 4", with(c"e", |data| *data = vec![4])),
        ("a text", vec![Value::utf8(c"n", "many"), Value::utf8(c"e", "few")]),
    ];
    for (name, values) in &all {
        for selection in [ALL, PAIR, PUBLIC, PRIVATE, OTHER, DOMAIN, 0] {
            comparison.run(format!("{name}, selection {selection:x}"), |r, query| unsafe {
                let mut key = None;
                r.call("fromdata", || {
                    key = from_data(c"RSA", query, selection, values);
                    key.is_some()
                });
                let Some(key) = key else { return };
                for (name, kind, size) in [
                    (c"bits", 1, 4),
                    (c"security-bits", 1, 4),
                    (c"max-size", 1, 4),
                    (c"max-size", 1, 1),
                    (c"default-digest", 4, 64),
                    (c"default-digest", 4, 2),
                    (c"mandatory-digest", 4, 64),
                    (c"n", 2, 256),
                    (c"n", 2, 5),
                    (c"d", 2, 256),
                    (c"rsa-factor1", 2, 3),
                    (c"rsa-factor3", 2, 256),
                    (c"encoded-pub-key", 5, 256),
                    (c"nonsense", 4, 9),
                ] {
                    let mut buffer = [0u8; 256];
                    let data = buffer.as_mut_ptr().cast();
                    let p =
                        OSSL_PARAM { key: name.as_ptr(), data_type: kind, data, data_size: size, return_size: 9999 };
                    let mut request = [p, OSSL_PARAM::END];
                    let call = || EVP_PKEY_get_params(key.0, request.as_mut_ptr());
                    r.call(format!("get {name:?} {kind} {size}"), call);
                    r.value("size", request[0].return_size);
                    r.bytes("it", &buffer);
                }
                let ctx = of(&key, query);
                for (name, check) in [
                    ("check", EVP_PKEY_check as unsafe extern "C" fn(PkeyCtx) -> c_int),
                    ("public_check", EVP_PKEY_public_check),
                    ("private_check", EVP_PKEY_private_check),
                    ("pairwise_check", EVP_PKEY_pairwise_check),
                    ("param_check", EVP_PKEY_param_check),
                ] {
                    r.call(name, || check(ctx.0));
                }
                for out in [ALL, PAIR, PUBLIC, PRIVATE, OTHER, DOMAIN] {
                    let mut data = None;
                    r.call(format!("todata {out:x}"), || {
                        data = to_data(&key, out);
                        data.is_some()
                    });
                    r.value("data", data.map(|d| d.into_iter().map(|v| (v.name, v.data)).collect::<Vec<_>>()));
                }
                let copy = SharedPkey(r.call("dup", || EVP_PKEY_dup(key.0)));
                r.call("eq", || EVP_PKEY_eq(key.0, copy.0));
                r.call("parameters_eq", || EVP_PKEY_parameters_eq(key.0, copy.0));
                r.call("size", || EVP_PKEY_get_size(key.0));
                // Without a modulus the default provider crashes.
                let usable = if EVP_PKEY_get_bits(key.0) > 0 { 3 } else { 0 };
                for init in [
                    EVP_PKEY_sign_init as unsafe extern "C" fn(PkeyCtx) -> c_int,
                    EVP_PKEY_decrypt_init,
                    EVP_PKEY_derive_init,
                ]
                .into_iter()
                .take(usable)
                {
                    let ctx = of(&key, query);
                    r.call("init", || init(ctx.0));
                    let (mut out, mut n) = (vec![0; 256], 256);
                    r.call("sign", || EVP_PKEY_sign(ctx.0, out.as_mut_ptr(), &raw mut n, [7; 32].as_ptr(), 32));
                    let (mut out, mut n) = (vec![0; 256], 256);
                    r.call("decrypt", || EVP_PKEY_decrypt(ctx.0, out.as_mut_ptr(), &raw mut n, [7; 128].as_ptr(), 128));
                }
            });
        }
    }
    comparison.finish();
}

#[test]
fn generation() {
    let mut comparison = Comparison::new();
    let sets: &[&[Value]] = &[
        &[Value::uint(c"bits", 512)],
        &[Value::uint(c"bits", 511)],
        &[Value::uint(c"bits", 0)],
        &[Value::int(c"bits", -1)],
        &[Value::utf8(c"bits", "many")],
        &[Value::uint(c"bits", 512), Value::uint(c"primes", 1)],
        &[Value::uint(c"bits", 512), Value::uint(c"primes", 3)],
        &[Value::uint(c"bits", 512), Value::uint(c"primes", 9)],
        &[Value::uint(c"bits", 512), Value::uint(c"e", 3)],
        &[Value::uint(c"bits", 512), Value::uint(c"e", 1)],
        &[Value::uint(c"bits", 512), Value::uint(c"e", 4)],
        &[Value::uint(c"bits", 512), Value::uint(c"e", 0)],
        &[Value::uint(c"bits", 512), Value::utf8(c"e", "three")],
        &[Value::uint(c"bits", 512), Value::utf8(c"nonsense", "x")],
    ];
    for values in sets {
        comparison.run(format!("{values:?}"), |r, query| unsafe {
            let ctx = named(c"RSA", query);
            r.call("paramgen", || EVP_PKEY_paramgen_init(ctx.0));
            r.call("init", || EVP_PKEY_keygen_init(ctx.0));
            if values.iter().all(|value| set(r, ctx.0, value)) {
                let mut key = null_mut();
                r.call("generate", || EVP_PKEY_generate(ctx.0, &raw mut key));
                if !key.is_null() {
                    r.value("bits", EVP_PKEY_get_bits(key));
                    EVP_PKEY_free(key);
                }
            }
        });
    }
    comparison.finish();
}
