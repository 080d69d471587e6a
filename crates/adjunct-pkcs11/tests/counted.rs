//! What is counted of the module's calls: each operation that a program asks for, and nothing that a token does for itself.

#![allow(unsafe_code)]

mod loaded;

use adjunct::catalogue::Function;
use adjunct::counters;
use cryptoki_sys::*;
use loaded::{ACCELERATOR, STORE, attribute, functions, inside};

fn calls(function: Function) -> u64 {
    // SAFETY: no arguments.
    let uid = unsafe { libc::geteuid() };
    let counts = counters::read(uid).unwrap().map(|counted| counted.function(function));
    counts.map_or(0, |counts| counts.hardware_calls() + counts.software_calls())
}

#[test]
fn a_token_seals_its_objects_uncounted() {
    if !inside("a_token_seals_its_objects_uncounted") {
        return;
    }
    let module = functions(0);
    module.initialize().unwrap();
    let mut label = *b"counted                         ";
    let (mut so, mut pin) = (*b"87654321", *b"12345678");
    assert_eq!(at!(module, C_InitToken(STORE, so.as_mut_ptr(), 8, label.as_mut_ptr())), CKR_OK);
    let store = module.open(STORE).unwrap();
    assert_eq!(at!(module, C_Login(store, CKU_SO, so.as_mut_ptr(), 8)), CKR_OK);
    assert_eq!(at!(module, C_InitPIN(store, pin.as_mut_ptr(), 8)), CKR_OK);
    assert_eq!(at!(module, C_Logout(store)), CKR_OK);
    assert_eq!(at!(module, C_Login(store, CKU_USER, pin.as_mut_ptr(), 8)), CKR_OK);
    let (class, yes) = (CKO_DATA, CK_TRUE);
    let mut template = [
        attribute(CKA_CLASS, &class),
        attribute(CKA_TOKEN, &yes),
        attribute(CKA_PRIVATE, &yes),
        attribute(CKA_VALUE, b"value"),
    ];
    let mut object = 0;
    assert_eq!(at!(module, C_CreateObject(store, template.as_mut_ptr(), 4, &mut object)), CKR_OK);
    let uncounted = [Function::AesGcm, Function::HmacSha2_256, Function::Sha256, Function::Prng];
    for function in uncounted.into_iter().chain([Function::X25519Keygen, Function::X25519Derive]) {
        assert_eq!(calls(function), 0, "{function:?}");
    }
    let session = module.open(ACCELERATOR).unwrap();
    let key = module.secret(session, CKK_GENERIC_SECRET, b"hmac....").unwrap();
    for done in 1..=3 {
        module.sign(session, CKM_SHA256_HMAC, key).unwrap();
        module.random(session).unwrap();
        assert_eq!((calls(Function::HmacSha2_256), calls(Function::Prng)), (done, done));
    }
    module.finalize().unwrap();
}
