//! Operations of OpenSSL's default provider.

use adjunct_ossl::core::Core;
use adjunct_ossl::default_provider::{self, DefaultKey, Generation, Library, Mac, Operation, OperationKind, Output};
use adjunct_ossl::dispatch::Dispatch;
use adjunct_ossl::param::{self, Param};
use adjunct_ossl::{entry, id};
use std::ffi::{CStr, c_int, c_void};

#[link(name = "crypto")]
unsafe extern "C" {
    fn OSSL_LIB_CTX_new() -> *mut c_void;
}

unsafe extern "C" fn not_in_libcrypto() -> c_int {
    0
}

fn library() -> &'static Library {
    // Any address inside libcrypto will do.
    let table = [entry!(id::CORE_GET_PARAMS, OSSL_LIB_CTX_new), Dispatch::END];
    // SAFETY: the table ends; the function is only used for its address.
    let core = unsafe { Core::new(std::ptr::null(), table.as_ptr()) };
    default_provider::library(core.libcrypto().expect("libcrypto is found")).expect("its default provider")
}

fn text(key: &'static CStr, value: &'static CStr) -> Param {
    let data_size = value.to_bytes().len();
    Param { data: value.as_ptr().cast_mut().cast(), ..Param::describe(key, param::UTF8, data_size) }
}

fn fill(out: &mut [u8], run: impl FnOnce(Output) -> c_int) -> usize {
    let mut length = 0;
    assert_eq!(run(Output { data: out.as_mut_ptr(), length: &raw mut length, size: out.len() }), 1);
    length
}

fn generate(name: &CStr, params: &[Param]) -> DefaultKey {
    // SAFETY: the array ends, and nobody is told of the progress.
    unsafe {
        let mut generation = Generation::new(library(), name, 0x87, params.as_ptr()).expect("a generation");
        generation.run(None, std::ptr::null_mut()).expect("a key")
    }
}

#[test]
fn without_libcrypto_there_is_no_library() {
    let table = [entry!(id::CORE_GET_PARAMS, not_in_libcrypto), Dispatch::END];
    // SAFETY: the table ends; the function is only used for its address.
    let core = unsafe { Core::new(std::ptr::null(), table.as_ptr()) };
    assert!(core.libcrypto().is_none());
}

#[test]
fn one_library_for_all_threads() {
    let found: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| std::ptr::from_ref(library()) as usize)).collect();
        threads.into_iter().map(|t| t.join().expect("joined")).collect()
    });
    assert!(found.iter().all(|&address| address == found[0]));
}

unsafe extern "C" fn import(params: *const Param, argument: *mut c_void) -> c_int {
    // SAFETY: the argument is the one given to `export`; the array is OpenSSL's.
    unsafe {
        let copy = DefaultKey::from_params(library(), c"EC", 0x87, params);
        *argument.cast::<Option<DefaultKey>>() = copy;
    }
    1
}

#[test]
fn brainpool_signs_exports_and_matches() {
    let key = generate(c"EC", &[text(c"group", c"brainpoolP256r1"), Param::END]);
    assert_eq!((key.validate(0x87, 0), key.validate(0x3, 0)), (1, 1));
    let mut copy: Option<DefaultKey> = None;
    // SAFETY: the callback takes this argument.
    assert_eq!(unsafe { key.export(0x87, import, (&raw mut copy).cast()) }, 1);
    let copy = copy.expect("imported");
    assert_eq!((copy.same(&key, 0x2), copy.same(&key, 0x4)), (1, 1));
    assert_eq!(generate(c"EC", &[text(c"group", c"brainpoolP256r1"), Param::END]).same(&key, 0x2), 0);
    let copy = copy.duplicate(0x87).expect("a copy");

    let null = std::ptr::null();
    let new = |key, kind, digest| {
        // SAFETY: an empty array.
        unsafe { Operation::new(key, c"ECDSA", kind, digest, null) }.expect("an operation")
    };
    let mut signature = [0; 128];
    // SAFETY: outputs that describe their buffers.
    unsafe {
        let mut sign = new(&key, OperationKind::Sign, None);
        let mut again = sign.duplicate().expect("a copy");
        let length = fill(&mut signature, |out| sign.run(out, &[7; 32]));
        let mut verify = new(&copy, OperationKind::Verify, None);
        assert_eq!(verify.verify(&signature[..length], &[7; 32]), 1);
        assert_eq!(verify.verify(&signature[..length], &[8; 32]), 0);
        let length = fill(&mut signature, |out| again.run(out, &[9; 32]));
        assert_eq!(verify.verify(&signature[..length], &[9; 32]), 1);

        let mut sign = new(&key, OperationKind::DigestSign, Some(c"SHA256"));
        assert_eq!(sign.update(b"hello "), 1);
        let mut fork = sign.duplicate().expect("a copy");
        assert_eq!((sign.update(b"world"), fork.update(b"there")), (1, 1));
        for (signing, message) in [(&mut sign, b"hello world"), (&mut fork, b"hello there")] {
            let length = fill(&mut signature, |out| signing.sign_final(out));
            let mut verify = new(&copy, OperationKind::DigestVerify, Some(c"SHA256"));
            assert_eq!(verify.update(message), 1);
            assert_eq!(verify.verify_final(&signature[..length]), 1);
        }
    }
}

#[test]
fn the_padding_of_a_copied_digest_operation_can_be_set() {
    let key = generate(c"RSA", &[Param::END]);
    let mut signature = [0; 512];
    let pss = [text(c"pad-mode", c"pss"), Param::END];
    let new = |kind, params: *const Param| {
        // SAFETY: arrays that end.
        unsafe { Operation::new(&key, c"RSA", kind, Some(c"SHA256"), params) }.expect("an operation")
    };
    // SAFETY: arrays that end, and outputs that describe their buffers.
    unsafe {
        let sign = new(OperationKind::DigestSign, std::ptr::null());
        let mut copy = sign.duplicate().expect("a copy");
        drop(sign);
        assert_eq!(copy.set_params(pss.as_ptr()), 1);
        assert_eq!(copy.update(b"text"), 1);
        let length = fill(&mut signature, |out| copy.sign_final(out));
        let mut verify = new(OperationKind::DigestVerify, pss.as_ptr());
        assert_eq!(verify.update(b"text"), 1);
        assert_eq!(verify.verify_final(&signature[..length]), 1);
    }
}

#[test]
fn encryption_is_undone() {
    let null = std::ptr::null();
    let rsa = generate(c"RSA", &[Param::END]);
    let (mut sealed, mut opened) = ([0; 512], [0; 512]);
    // SAFETY: empty arrays, and outputs that describe their buffers.
    unsafe {
        let mut encrypt = Operation::new(&rsa, c"RSA", OperationKind::Encrypt, None, null).expect("an operation");
        let length = fill(&mut sealed, |out| encrypt.run(out, b"secret"));
        let mut decrypt = Operation::new(&rsa, c"RSA", OperationKind::Decrypt, None, null).expect("an operation");
        let length = fill(&mut opened, |out| decrypt.run(out, &sealed[..length]));
        assert_eq!(&opened[..length], b"secret");
    }
}

#[test]
fn a_mac_takes_its_key_again_after_a_copy() {
    // SAFETY: arrays that end, and outputs that describe their buffers.
    unsafe {
        let params = [text(c"digest", c"RIPEMD160"), Param::END];
        let mut mac = Mac::new(library(), c"HMAC").expect("a MAC");
        assert!(mac.init(Some(b"Jefe"), params.as_ptr()));
        assert!(mac.update(b"what do ya want "));
        let mut copy = mac.duplicate().expect("a copy");
        assert!(copy.update(b"for nothing?"));
        let mut out = [0; 20];
        assert_eq!(fill(&mut out, |o| copy.finish(o)), 20);
        // RFC 2286, test 2.
        let expected = [
            0xdd, 0xa6, 0xc0, 0x21, 0x3a, 0x48, 0x5a, 0x9e, 0x24, 0xf4, 0x74, 0x20, 0x64, 0xa7, 0xf0, 0x33, 0xb4, 0x3c,
            0x40, 0x69,
        ];
        assert_eq!(out, expected);
        assert!(mac.init(None, std::ptr::null()) && mac.update(b"what do ya want for nothing?"));
        let mut out = [0; 20];
        fill(&mut out, |o| mac.finish(o));
        assert_eq!(out, expected);
    }
}
