//! Digests through EVP, beside the default provider.

#![allow(clippy::undocumented_unsafe_blocks)]

mod common;

use common::*;
use std::ffi::{CStr, c_uint, c_void};

const FIXED: &[&CStr] = &[
    c"SHA1",
    c"SHA2-224",
    c"SHA2-256",
    c"SHA2-384",
    c"SHA2-512",
    c"SHA2-512/224",
    c"SHA2-512/256",
    c"SHA3-224",
    c"SHA3-256",
    c"SHA3-384",
    c"SHA3-512",
    c"MD5",
];
const EXTENDABLE: &[&CStr] = &[c"SHAKE-128", c"SHAKE-256"];

fn all() -> impl Iterator<Item = &'static CStr> {
    FIXED.iter().chain(EXTENDABLE).copied()
}

fn fetch(name: &CStr, query: &CStr) -> Md {
    let md = unsafe { EVP_MD_fetch(library().0, name.as_ptr(), query.as_ptr()) };
    assert!(!md.is_null(), "{name:?} with {query:?}: {}", errors());
    md
}

/// Whether a digest has a length of its own: extendable-output functions have none from OpenSSL 3.4 on.
fn usual_length(name: &CStr) -> bool {
    let version = unsafe { (OPENSSL_version_major(), OPENSSL_version_minor()) };
    FIXED.contains(&name) || version < (3, 4)
}

struct TestedDigest(MdCtx);

impl TestedDigest {
    fn new() -> TestedDigest {
        TestedDigest(unsafe { EVP_MD_CTX_new() })
    }

    fn init(&self, md: Md) {
        assert_eq!(unsafe { EVP_DigestInit_ex(self.0, md, std::ptr::null_mut()) }, 1, "{}", errors());
    }

    fn update(&self, data: &[u8]) {
        assert_eq!(unsafe { EVP_DigestUpdate(self.0, data.as_ptr().cast(), data.len()) }, 1, "{}", errors());
    }

    fn finish(&self) -> Vec<u8> {
        let (mut out, mut length) = (vec![0; 64], 0 as c_uint);
        assert_eq!(unsafe { EVP_DigestFinal_ex(self.0, out.as_mut_ptr(), &raw mut length) }, 1, "{}", errors());
        out.truncate(length as usize);
        out
    }

    fn finish_xof(&self, length: usize) -> Vec<u8> {
        let mut out = vec![0; length];
        assert_eq!(unsafe { EVP_DigestFinalXOF(self.0, out.as_mut_ptr(), length) }, 1, "{}", errors());
        out
    }

    fn copy_of(&self, other: &TestedDigest) {
        assert_eq!(unsafe { EVP_MD_CTX_copy_ex(self.0, other.0) }, 1, "{}", errors());
    }
}

impl Drop for TestedDigest {
    fn drop(&mut self) {
        unsafe { EVP_MD_CTX_free(self.0) };
    }
}

fn result(context: &TestedDigest, name: &CStr, length: usize) -> Vec<u8> {
    if EXTENDABLE.contains(&name) { context.finish_xof(length) } else { context.finish() }
}

fn stock(name: &CStr, data: &[u8], length: usize) -> Vec<u8> {
    let context = TestedDigest::new();
    context.init(fetch(name, DEFAULT));
    context.update(data);
    result(&context, name, length)
}

#[test]
fn described_as_by_the_default_provider() {
    unsafe extern "C" {
        fn EVP_MD_is_a(md: Md, name: *const std::ffi::c_char) -> std::ffi::c_int;
        fn EVP_MD_names_do_all(
            md: Md,
            each: unsafe extern "C" fn(*const std::ffi::c_char, *mut c_void),
            data: *mut c_void,
        ) -> std::ffi::c_int;
    }
    unsafe extern "C" fn collect(name: *const std::ffi::c_char, names: *mut c_void) {
        unsafe { (*names.cast::<Vec<String>>()).push(CStr::from_ptr(name).to_str().unwrap().to_owned()) };
    }
    for name in all() {
        let (ours, theirs) = (fetch(name, ADJUNCT), fetch(name, DEFAULT));
        unsafe {
            assert_eq!(EVP_MD_get_size(ours), EVP_MD_get_size(theirs), "{name:?}");
            assert_eq!(EVP_MD_get_block_size(ours), EVP_MD_get_block_size(theirs), "{name:?}");
            assert_eq!(EVP_MD_get_flags(ours), EVP_MD_get_flags(theirs), "{name:?}");
            assert_eq!(EVP_MD_is_a(ours, name.as_ptr()), 1);
            let mut names: [Vec<String>; 2] = Default::default();
            for (md, names) in [ours, theirs].into_iter().zip(&mut names) {
                EVP_MD_names_do_all(md, collect, std::ptr::from_mut(names).cast());
                names.sort();
            }
            assert_eq!(names[0], names[1]);
        }
    }
}

#[test]
fn any_chunking_and_a_copy_midway_give_the_same() {
    let mut rng = Rng::new(0x5eed_0001);
    for name in all() {
        let md = fetch(name, ADJUNCT);
        let (context, fork) = (TestedDigest::new(), TestedDigest::new());
        for round in 0..300 {
            let size = if round == 0 { 0 } else { rng.length(5000) };
            let (data, length) = (rng.bytes(size), rng.length(700));
            let (pieces, split) = (rng.pieces(size), rng.below(size + 1));
            context.init(md);
            let mut done = 0;
            let mut forked = false;
            for piece in pieces {
                if !forked && done >= split {
                    forked = true;
                    fork.copy_of(&context);
                    fork.update(&data[done..]);
                }
                context.update(&data[done..done + piece]);
                done += piece;
            }
            let expected = stock(name, &data, length);
            assert_eq!(result(&context, name, length), expected, "{name:?} of {size} bytes");
            if forked {
                assert_eq!(result(&fork, name, length), expected, "copy of {name:?}");
            }
        }
    }
}

#[test]
fn at_once_and_with_the_usual_length() {
    let mut rng = Rng::new(0x5eed_0002);
    for name in all().filter(|name| usual_length(name)) {
        for _ in 0..30 {
            let size = rng.length(3000);
            let data = rng.bytes(size);
            let digest = |query| {
                let (mut out, mut length) = ([0; 64], 0 as c_uint);
                let (md, null) = (fetch(name, query), std::ptr::null_mut());
                let done =
                    unsafe { EVP_Digest(data.as_ptr().cast(), size, out.as_mut_ptr(), &raw mut length, md, null) };
                assert_eq!(done, 1, "{name:?}: {}", errors());
                out[..length as usize].to_vec()
            };
            assert_eq!(digest(ADJUNCT), digest(DEFAULT), "{name:?} of {size} bytes");
        }
    }
}

#[test]
fn the_length_of_an_extendable_output_may_be_set_before() {
    for name in EXTENDABLE {
        let outputs = [ADJUNCT, DEFAULT].map(|query| {
            let context = TestedDigest::new();
            let mut length = 50usize;
            let params = [OSSL_PARAM::size(c"xoflen", &mut length), OSSL_PARAM::END];
            let md = fetch(name, query);
            assert_eq!(unsafe { EVP_DigestInit_ex2(context.0, md, params.as_ptr()) }, 1, "{}", errors());
            context.update(b"abc");
            let mut out = vec![0; 64];
            let mut written = 0 as c_uint;
            assert_eq!(unsafe { EVP_DigestFinal_ex(context.0, out.as_mut_ptr(), &raw mut written) }, 1);
            (out, written)
        });
        assert_eq!(outputs[0], outputs[1], "{name:?}");
        assert_eq!(stock(name, b"abc", 0), Vec::<u8>::new());
        let context = TestedDigest::new();
        context.init(fetch(name, ADJUNCT));
        assert_eq!(context.finish_xof(0), Vec::<u8>::new());
        context.init(fetch(name, ADJUNCT));
        context.update(b"again");
        assert_eq!(context.finish_xof(1000), stock(name, b"again", 1000));
    }
}

#[test]
fn nothing_follows_the_end_of_an_extendable_output() {
    for name in EXTENDABLE {
        let context = TestedDigest::new();
        context.init(fetch(name, ADJUNCT));
        context.finish_xof(10);
        let mut out = [0; 10];
        assert_ne!(unsafe { EVP_DigestFinalXOF(context.0, out.as_mut_ptr(), 10) }, 1);
        errors();
    }
}

#[test]
fn the_sslv3_master_secret_is_mixed_in_alike() {
    let outputs = [ADJUNCT, DEFAULT].map(|query| {
        let context = TestedDigest::new();
        context.init(fetch(c"SHA1", query));
        context.update(b"handshake");
        let mut secret = [0x42; 48];
        let params = [OSSL_PARAM::octets(c"ssl3-ms", &mut secret), OSSL_PARAM::END];
        assert_eq!(unsafe { EVP_MD_CTX_set_params(context.0, params.as_ptr()) }, 1, "{}", errors());
        context.finish()
    });
    assert_eq!(outputs[0], outputs[1]);
}

#[test]
fn contexts_of_many_threads_do_not_meet() {
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            scope.spawn(move || {
                for name in all() {
                    let context = TestedDigest::new();
                    context.init(fetch(name, ADJUNCT));
                    for _ in 0..50 {
                        context.update(&[thread; 100]);
                    }
                    assert_eq!(result(&context, name, 99), stock(name, &[thread; 5000], 99));
                }
            });
        }
    });
}

#[test]
fn squeezing_in_pieces_gives_the_default_providers_stream() {
    type Squeeze = unsafe extern "C" fn(MdCtx, *mut u8, usize) -> std::ffi::c_int;
    // From OpenSSL 3.3 on.
    let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"EVP_DigestSqueeze".as_ptr()) };
    if address.is_null() {
        return;
    }
    let squeeze = unsafe { std::mem::transmute::<*mut c_void, Squeeze>(address) };
    let mut rng = Rng::new(0x5eed_0006);
    for name in EXTENDABLE {
        for _ in 0..100 {
            let (size, length) = (rng.length(600), rng.length(1500));
            let data = rng.bytes(size);
            let context = TestedDigest::new();
            context.init(fetch(name, ADJUNCT));
            context.update(&data);
            let mut out = Vec::new();
            for piece in rng.pieces(length) {
                let mut part = vec![0; piece];
                assert_eq!(unsafe { squeeze(context.0, part.as_mut_ptr(), piece) }, 1, "{}", errors());
                out.extend(part);
                if rng.below(8) == 0 {
                    let copy = TestedDigest::new();
                    copy.copy_of(&context);
                    context.copy_of(&copy);
                }
            }
            assert_eq!(out, stock(name, &data, length), "{name:?}");
            if length > 0 {
                assert_ne!(unsafe { EVP_DigestUpdate(context.0, data.as_ptr().cast(), 1) }, 1);
                errors();
            }
        }
    }
}

/// What the provider made for a context of libcrypto's (`algctx` of crypto/evp/evp_local.h), which some programs read.
///
/// # Safety
/// `context` is a live context whose digest a provider serves; the version of its libcrypto is the one that the words below are of.
unsafe fn state_of(context: &TestedDigest) -> *mut u8 {
    let words = if unsafe { OPENSSL_version_major() } == 3 { 7 } else { 4 };
    unsafe { *context.0.cast::<*mut u8>().add(words) }
}

/// States of digests lie where the default provider's do. A module of Go's (golang-fips/openssl up to v2.0.3) copies states by way of their memory,
/// for any provider: Go's TLS 1.3 resumes sessions so. A state taken from the default provider's goes on in ours, and the other way.
#[test]
fn a_state_lies_where_the_default_providers_does() {
    // The length of `MD5_CTX`, `SHA_CTX`, `SHA256_CTX` and `SHA512_CTX`.
    let states = [(c"MD5", 92), (c"SHA1", 96), (c"SHA2-224", 112), (c"SHA2-256", 112)];
    let wide = [c"SHA2-384", c"SHA2-512", c"SHA2-512/224", c"SHA2-512/256"].map(|name| (name, 216));
    let message: Vec<u8> = (0..1000u32).map(|i| (i * 7) as u8).collect();
    for (name, length) in states.into_iter().chain(wide) {
        for at in [0, 1, 63, 64, 100, 127, 128, 129, 700] {
            for (from, to) in [(DEFAULT, ADJUNCT), (ADJUNCT, DEFAULT), (ADJUNCT, ADJUNCT)] {
                let (one, other) = (TestedDigest::new(), TestedDigest::new());
                one.init(fetch(name, from));
                one.update(&message[..at]);
                other.init(fetch(name, to));
                other.update(b"something else");
                unsafe { std::ptr::copy_nonoverlapping(state_of(&one), state_of(&other), length) };
                other.update(&message[at..]);
                assert_eq!(other.finish(), stock(name, &message, 0), "{name:?} at {at}, {from:?} to {to:?}");
            }
        }
    }
}
