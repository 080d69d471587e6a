//! Signatures on elliptic curves: ours, and the default provider's in place of ours.

use super::calls;
use super::common::*;
use super::counted::{alone, counted};
use adjunct::catalogue::{Function, Reason};
#[path = "../common/evp.rs"]
mod evp;
use evp::*;
use std::ffi::c_int;

/// How often a function was counted, and how often as the default provider's.
fn times(function: Function) -> (u64, u64) {
    let (hardware, software) = calls(function);
    (hardware + software, counted().fallbacks(function, Reason::Delegated).calls)
}

/// Runs `step`, which has to count `expected` calls of `function`, by the default provider or not.
fn counts<T>(function: Function, expected: u64, delegated: bool, step: impl FnOnce() -> T) -> T {
    let before = times(function);
    let result = step();
    let after = times(function);
    let found = (after.0 - before.0, after.1 - before.1);
    assert_eq!(found, (expected, if delegated { expected } else { 0 }), "{function:?}");
    result
}

/// The result of verifying a signature of data that is given as a SHA-256 digest.
fn verify_sha256(key: &SharedPkey, digest: &[u8], signature: &[u8]) -> c_int {
    let (ctx, mut values) = (of(key, ADJUNCT), [Value::utf8(c"digest", "SHA256")]);
    unsafe {
        assert_eq!(EVP_PKEY_verify_init(ctx.0), 1);
        assert_eq!(EVP_PKEY_CTX_set_params(ctx.0, array(&mut values).as_ptr()), 1);
        let result = EVP_PKEY_verify(ctx.0, signature.as_ptr(), signature.len(), digest.as_ptr(), digest.len());
        ERR_clear_error();
        result
    }
}

#[test]
fn signatures_count_once_they_are_made_or_verified() {
    alone("curves::signatures", &[]);
}

#[test]
#[ignore = "not a test: run by another one in a process of its own"]
fn signatures() {
    use Function::{EcKeygen, EcdsaSign, EcdsaVerify, Sha256};
    let (digest, other, message) = ([7; 32], [8; 32], b"a message");
    // secp256k1 is not one of ours.
    for (curve, delegated) in [("P-256", false), ("secp256k1", true)] {
        let group = [Value::utf8(c"group", curve)];
        let key = &counts(EcKeygen, 1, delegated, || generate(c"EC", ADJUNCT, false, &[&group])).expect("a key");
        // A size asked for beside it.
        let signature = counts(EcdsaSign, 1, delegated, || sign(key, ADJUNCT, &digest, &[])).expect("a signature");
        let named = [Value::utf8(c"digest", "SHA256")];
        assert!(counts(EcdsaSign, 0, delegated, || sign(key, ADJUNCT, &digest[1..], &named)).is_none());
        unsafe { ERR_clear_error() };
        assert_eq!(counts(EcdsaVerify, 1, delegated, || verify(key, ADJUNCT, &digest, &signature)), 1);
        assert_eq!(counts(EcdsaVerify, 1, delegated, || verify(key, ADJUNCT, &other, &signature)), 0);
        // An encoding of none is an error, and so is a digest of another length than the named one's, though its result is 0.
        assert!(counts(EcdsaVerify, 0, delegated, || verify(key, ADJUNCT, &digest, &signature[1..])) < 0);
        assert_eq!(counts(EcdsaVerify, 1, delegated, || verify_sha256(key, &digest, &signature)), 1);
        assert_eq!(counts(EcdsaVerify, 1, delegated, || verify_sha256(key, &other, &signature)), 0);
        assert_eq!(counts(EcdsaVerify, 0, delegated, || verify_sha256(key, &digest[1..], &signature)), 0);

        // With the digest of a message, which counts as one where it is ours.
        let hash = Some(c"SHA256");
        let pieces = Some(&[4, 5][..]);
        let sign = || digest_sign(key, ADJUNCT, hash, message, pieces, &[]);
        let signature = counts(EcdsaSign, 1, delegated, || counts(Sha256, u64::from(!delegated), false, sign));
        let signature = signature.expect("a signature");
        let verify = |message: &[u8], signature: &[u8]| digest_verify(key, ADJUNCT, hash, message, signature, &[]);
        assert_eq!(counts(EcdsaVerify, 1, delegated, || verify(message, &signature)), 1);
        assert_eq!(counts(EcdsaVerify, 1, delegated, || verify(b"another", &signature)), 0);
        assert!(counts(EcdsaVerify, 0, delegated, || verify(message, &signature[1..])) < 0);
    }
}

#[test]
fn edwards_signatures_count_once_they_are_made_or_verified() {
    alone("curves::edwards", &[]);
}

#[test]
#[ignore = "not a test: run by another one in a process of its own"]
fn edwards() {
    use Function::{Ed25519Sign, Ed25519Verify};
    let message = b"a message";
    let usual = generate(c"ED25519", ADJUNCT, false, &[]).expect("a key");
    // y is the field's prime, which decoders disagree on: such a key is the default provider's.
    let y = [&[0xed][..], &[0xff; 30], &[0x7f]].concat();
    let odd = [Value::octets(c"pub", &y), Value::octets(c"priv", &[4; 32])];
    let odd = from_data(c"ED25519", ADJUNCT, PAIR, &odd).expect("a key");
    for (key, delegated) in [(&usual, false), (&odd, true)] {
        let sign = || digest_sign(key, ADJUNCT, None, message, None, &[]);
        let signature = counts(Ed25519Sign, 1, delegated, sign).expect("a signature");
        let verify = |message: &[u8], signature: &[u8]| digest_verify(key, ADJUNCT, None, message, signature, &[]);
        let good = counts(Ed25519Verify, 1, delegated, || verify(message, &signature));
        assert_eq!(good, c_int::from(!delegated));
        assert_eq!(counts(Ed25519Verify, 1, delegated, || verify(b"another", &signature)), 0);
        // Of another length it is none, which OpenSSL says with the same result.
        assert_eq!(counts(Ed25519Verify, 0, delegated, || verify(message, &signature[1..])), 0);
    }
}
