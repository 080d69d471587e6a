//! Counting: each operation counts once, by what ran it, and a refused one does not count.

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;
#[path = "common/counted.rs"]
mod counted;
#[path = "counted/curves.rs"]
mod curves;
#[path = "common/rsa.rs"]
mod rsa;

use adjunct::catalogue::{Function, Reason};
use adjunct::counters::Counts;
use common::*;
use counted::{alone, counted};
use rsa::*;
use std::ptr::null_mut;

const RAW: Recipe = Recipe { padding: NONE, ..PLAIN };

/// Calls in hardware and in software, in any key size.
fn calls(function: Function) -> (u64, u64) {
    let counts = counted().function(function);
    (counts.hardware.iter().map(|c| c.calls).sum(), counts.software.iter().map(|c| c.calls).sum())
}

#[test]
fn a_key_that_works_by_its_private_exponent_alone_is_software() {
    alone("by_its_private_exponent", &[]);
}

/// AWS-LC's RSA by the two primes is hardware on CPUs with AVX-512 IFMA. With a CRT value that does not belong to the key, the
/// signature is made without them.
#[test]
#[ignore = "not a test: run by another one in a process of its own"]
fn by_its_private_exponent() {
    let key = twins(2048, 2, 65537);
    let names =
        [c"n", c"e", c"d", c"rsa-factor1", c"rsa-factor2", c"rsa-exponent1", c"rsa-exponent2", c"rsa-coefficient1"];
    let mut numbers: Vec<Vec<u8>> = names.iter().map(|name| bignum(&key.stock, name)).collect();
    numbers[5][3] ^= 0x10;
    let mut params: Vec<_> = names.iter().zip(&mut numbers).map(|(n, p)| number(n, p)).collect();
    params.push(OSSL_PARAM::END);
    let made = unsafe {
        let ctx = RsaPkeyContext(EVP_PKEY_CTX_new_from_name(library().0, c"RSA".as_ptr(), ADJUNCT.as_ptr()));
        let mut made = null_mut();
        assert_eq!(EVP_PKEY_fromdata_init(ctx.0), 1);
        assert_eq!(EVP_PKEY_fromdata(ctx.0, &raw mut made, PAIR, params.as_mut_ptr()), 1, "{}", errors());
        RsaPkey(made)
    };
    let before = calls(Function::RsaCrt);
    assert!(raw_sign(&made, ADJUNCT, PLAIN, &[9; 32]).is_some());
    let after = calls(Function::RsaCrt);
    assert_eq!((after.0 - before.0, after.1 - before.1), (0, 1));
    let masked = adjunct::cpu::features().masked(adjunct::catalogue::Feature::Ifma);
    let lacking = if masked { Reason::Masked } else { Reason::CpuLacks };
    let why = if adjunct::ops::batches::for_curves() { Reason::Parameter } else { lacking };
    assert_eq!(counted().fallbacks(Function::RsaCrt, why).calls, 1);
}

#[test]
fn what_is_refused_is_not_counted() {
    alone("refused", &[]);
}

#[test]
#[ignore = "not a test: run by another one in a process of its own"]
fn refused() {
    let key = &twins(2048, 2, 65537).ours;
    let all = || [Function::RsaMe, Function::RsaCrt].map(calls);
    let before = all();
    // Above the modulus; longer than what the padding leaves; not a multiple of anything.
    assert!(raw_sign(key, ADJUNCT, RAW, &[0xff; 256]).is_none());
    assert!(raw(key, ADJUNCT, RAW, EVP_PKEY_encrypt_init, EVP_PKEY_encrypt, &[0xff; 256]).is_none());
    assert!(raw(key, ADJUNCT, RAW, EVP_PKEY_decrypt_init, EVP_PKEY_decrypt, &[0xff; 256]).is_none());
    assert!(raw_sign(key, ADJUNCT, PLAIN, &[1; 250]).is_none());
    assert!(raw(key, ADJUNCT, PLAIN, EVP_PKEY_encrypt_init, EVP_PKEY_encrypt, &[1; 250]).is_none());
    assert!(!raw_verify(key, ADJUNCT, PLAIN, &[0xff; 256], &[1; 32]));
    errors();
    assert_eq!(all(), before);
    // And once what is done, a size asked for beside it.
    assert!(raw_sign(key, ADJUNCT, PLAIN, &[1; 32]).is_some());
    let [me, crt] = all();
    assert_eq!((me, crt.0 + crt.1), (before[0], before[1].0 + before[1].1 + 1));
}

#[test]
fn what_the_default_provider_does_is_counted_by_its_result() {
    alone("delegated", &[]);
}

/// A key of three primes is the default provider's.
#[test]
#[ignore = "not a test: run by another one in a process of its own"]
fn delegated() {
    let key = &twins(2048, 3, 65537).ours;
    let all =
        || [Function::RsaCrt, Function::RsaMe].map(|function| counted().fallbacks(function, Reason::Delegated).calls);
    let before = all();
    // A size asked for, and a signature.
    let signature = raw_sign(key, ADJUNCT, PLAIN, &[1; 32]).expect("signed");
    assert_eq!(all(), [before[0] + 1, before[1]]);
    assert!(raw_sign(key, ADJUNCT, PLAIN, &[1; 31]).is_none());
    assert_eq!(all(), [before[0] + 1, before[1]]);
    // Verifications that say yes and no; one of what cannot be a signature of this key.
    assert!(raw_verify(key, ADJUNCT, PLAIN, &signature, &[1; 32]));
    assert!(!raw_verify(key, ADJUNCT, PLAIN, &signature, &[2; 32]));
    assert_eq!(all(), [before[0] + 1, before[1] + 2]);
    assert!(!raw_verify(key, ADJUNCT, PLAIN, &[1; 257], &[1; 32]));
    let message = digest_sign(key, ADJUNCT, PLAIN, b"message").expect("signed");
    assert!(digest_verify(key, ADJUNCT, PLAIN, &message, b"message"));
    assert!(!digest_verify(key, ADJUNCT, PLAIN, &message, b"another"));
    errors();
    assert_eq!(all(), [before[0] + 2, before[1] + 4]);
}

#[test]
fn a_signed_message_counts_its_digest() {
    alone("messages", &[]);
}

#[test]
#[ignore = "not a test: run by another one in a process of its own"]
fn messages() {
    let key = &twins(2048, 2, 65537).ours;
    let keys = || [Function::RsaCrt, Function::RsaMe].map(calls).map(|(hardware, software)| hardware + software);
    let digests = || {
        let Counts { hardware: [a, _], software: [b, _] } = counted().function(Function::Sha256);
        (a.calls + b.calls, a.bytes + b.bytes)
    };
    let (before, [crt, me]) = (digests(), keys());
    let signature = digest_sign(key, ADJUNCT, PLAIN, b"message").expect("signed");
    assert!(digest_verify(key, ADJUNCT, PLAIN, &signature, b"message"));
    assert!(!digest_verify(key, ADJUNCT, PLAIN, &signature, b"another"));
    errors();
    assert_eq!(digests(), (before.0 + 3, before.1 + 3 * 7));
    assert_eq!(keys(), [crt + 1, me + 2]);
}
