//! OpenSSL's random generator: left alone by default, served on request.
//!
//! Each test runs in a process of its own, with counters of its own, because a generator lives as long as its process.

// One rule makes the calls sound in all tests: contexts live until freed, and buffers are as long as said.
#![allow(clippy::undocumented_unsafe_blocks)]

mod common;
#[path = "common/counted.rs"]
mod counted;

use adjunct::catalogue::Function;
use common::*;
use counted::{alone, counted};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

unsafe extern "C" {
    fn RAND_bytes_ex(ctx: LibCtx, out: *mut u8, length: usize, strength: c_uint) -> c_int;
    fn RAND_priv_bytes_ex(ctx: LibCtx, out: *mut u8, length: usize, strength: c_uint) -> c_int;
    fn RAND_get0_primary(ctx: LibCtx) -> *mut Opaque;
    fn RAND_get0_public(ctx: LibCtx) -> *mut Opaque;
    fn EVP_RAND_CTX_get0_rand(ctx: *mut Opaque) -> *mut Opaque;
    fn EVP_RAND_get0_provider(rand: *mut Opaque) -> Provider;
    fn EVP_RAND_CTX_get_params(ctx: *mut Opaque, params: *mut OSSL_PARAM) -> c_int;
    fn EVP_RAND_get_state(ctx: *mut Opaque) -> c_int;
    fn EVP_RAND_get_strength(ctx: *mut Opaque) -> c_uint;
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
    fn EVP_RAND_fetch(ctx: LibCtx, name: *const c_char, query: *const c_char) -> *mut Opaque;
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
}

fn preferred(algorithms: &str) -> LibCtx {
    let text = config(algorithms).replace("[providers]", "alg_section = properties\n[providers]");
    library_with_config(&(text + "[properties]\ndefault_properties = ?provider=adjunct\n")).0
}

fn bytes<const N: usize>(library: LibCtx) -> [u8; N] {
    let mut out = [0; N];
    assert_eq!(unsafe { RAND_bytes_ex(library, out.as_mut_ptr(), N, 0) }, 1, "{}", errors());
    out
}

fn provider_of(context: *mut Opaque) -> String {
    unsafe {
        assert!(!context.is_null(), "{}", errors());
        let name = OSSL_PROVIDER_get0_name(EVP_RAND_get0_provider(EVP_RAND_CTX_get0_rand(context)));
        CStr::from_ptr(name).to_str().unwrap().to_owned()
    }
}

fn cipher_of(context: *mut Opaque) -> String {
    let mut text = [0u8; 64];
    let mut param = OSSL_PARAM::octets(c"cipher", &mut text);
    param.data_type = 4;
    assert_eq!(unsafe { EVP_RAND_CTX_get_params(context, [param, OSSL_PARAM::END].as_mut_ptr()) }, 1);
    CStr::from_bytes_until_nul(&text).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn by_default_the_generator_is_openssls() {
    alone("alone_by_default", &[]);
}

#[test]
#[ignore = "run by another test"]
fn alone_by_default() {
    let library = preferred("ALL ECB");
    let mut private = [0; 64];
    assert_ne!(bytes::<64>(library), bytes::<64>(library));
    assert_eq!(unsafe { RAND_priv_bytes_ex(library, private.as_mut_ptr(), 64, 0) }, 1);
    let library = Library(library);
    std::thread::spawn(move || bytes::<64>({ library }.0)).join().unwrap();
    assert_eq!(provider_of(unsafe { RAND_get0_primary(library.0) }), "default");
    let counted = counted();
    for &function in Function::ALL {
        assert!(counted.function(function).is_zero(), "{function:?}");
    }
}

#[test]
fn a_random_section_of_the_users_stands() {
    let file = std::env::temp_dir().join(format!("adjunct-random-{}.cnf", std::process::id()));
    let text = config("ALL").replace("providers = providers", "random = generator\nproviders = providers");
    std::fs::write(&file, text + "[generator]\ncipher = AES-128-CTR\n").unwrap();
    alone("alone_with_a_random_section", &[("OPENSSL_CONF", file.to_str().unwrap())]);
    std::fs::remove_file(file).unwrap();
}

#[test]
#[ignore = "run by another test"]
fn alone_with_a_random_section() {
    let primary = unsafe { RAND_get0_primary(std::ptr::null_mut()) };
    assert_eq!(provider_of(primary), "default");
    assert_eq!(cipher_of(primary), "AES-128-CTR");
}

#[test]
fn on_request_the_generator_is_ours() {
    alone("alone_on_request", &[]);
}

#[test]
#[ignore = "run by another test"]
fn alone_on_request() {
    let library = preferred("ALL,RAND");
    for context in unsafe { [RAND_get0_primary(library), RAND_get0_public(library)] } {
        assert_eq!(provider_of(context), "adjunct");
        assert_eq!(cipher_of(context), "AES-256-CTR");
        assert_eq!(unsafe { (EVP_RAND_get_state(context), EVP_RAND_get_strength(context)) }, (1, 256));
    }
    let before = counted();
    assert_ne!(bytes::<100>(library), bytes::<100>(library));
    // More than one request holds.
    assert_ne!(bytes::<200_000>(library)[150_000..], [0; 50_000]);
    let row = counted().since(&before).function(Function::Prng);
    let [hardware, software] = [row.hardware, row.software].map(|cells| cells[0]);
    assert_eq!(hardware.bytes + software.bytes, 200_200);
    assert_eq!(hardware.calls + software.calls, 6);
    let after = counted();
    for &function in Function::ALL.iter().filter(|&&f| f != Function::Prng) {
        assert!(after.function(function).is_zero(), "{function:?}");
    }

    // Four processes and their parent draw different bytes.
    let mut seen = std::collections::HashSet::new();
    for _ in 0..4 {
        let mut pipe = [0; 2];
        unsafe {
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            let child = libc::fork();
            if child == 0 {
                let drawn = bytes::<32>(library);
                libc::write(pipe[1], drawn.as_ptr().cast::<c_void>(), 32);
                libc::_exit(0);
            }
            let mut drawn = [0u8; 32];
            assert_eq!(libc::read(pipe[0], drawn.as_mut_ptr().cast(), 32), 32);
            assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
            assert!(seen.insert(drawn) && seen.insert(bytes::<32>(library)));
        }
    }
}

#[test]
fn a_context_of_the_callers() {
    alone("alone_as_a_callers_context", &[]);
}

#[test]
#[ignore = "run by another test"]
fn alone_as_a_callers_context() {
    let library = library_with_config(&config("RAND")).0;
    let null = std::ptr::null;
    unsafe {
        let ours = EVP_RAND_fetch(library, c"CTR-DRBG".as_ptr(), ADJUNCT.as_ptr());
        let hash = EVP_RAND_fetch(library, c"HASH-DRBG".as_ptr(), DEFAULT.as_ptr());
        let context = EVP_RAND_CTX_new(ours, std::ptr::null_mut());
        let mut out = [0; 32];
        let mut draw = |context, strength, resist: c_int, additional: &[u8]| {
            let done = EVP_RAND_generate(
                context,
                out.as_mut_ptr(),
                32,
                strength,
                resist,
                additional.as_ptr(),
                additional.len(),
            );
            errors();
            (done == 1).then_some(out)
        };
        assert_eq!(draw(context, 0, 0, &[]), None, "before it is instantiated");
        let wrong = [OSSL_PARAM::utf8(c"cipher", c"AES-256-CBC"), OSSL_PARAM::END];
        assert_ne!(EVP_RAND_instantiate(context, 256, 0, null(), 0, wrong.as_ptr()), 1);
        let right = [OSSL_PARAM::utf8(c"cipher", c"AES-128-CTR"), OSSL_PARAM::END];
        assert_eq!(EVP_RAND_instantiate(context, 256, 1, b"me".as_ptr(), 2, right.as_ptr()), 1, "{}", errors());
        let drawn = [draw(context, 256, 0, &[]), draw(context, 128, 1, &[]), draw(context, 0, 0, b"more")];
        assert!(drawn.iter().all(Option::is_some) && drawn[0] != drawn[1] && drawn[1] != drawn[2]);
        assert_eq!(draw(context, 257, 0, &[]), None);
        assert_eq!(EVP_RAND_reseed(context, 1, b"entropy".as_ptr(), 7, null(), 0), 1);

        // One of the default provider's below ours takes its seed from it.
        let below = EVP_RAND_CTX_new(hash, context);
        let digest = [OSSL_PARAM::utf8(c"digest", c"SHA512"), OSSL_PARAM::END];
        assert_eq!(EVP_RAND_instantiate(below, 256, 0, null(), 0, digest.as_ptr()), 1, "{}", errors());
        assert!(draw(below, 256, 1, &[]).is_some());
        for context in [below, context] {
            EVP_RAND_CTX_free(context);
        }
        EVP_RAND_free(ours);
        EVP_RAND_free(hash);
    }
}
