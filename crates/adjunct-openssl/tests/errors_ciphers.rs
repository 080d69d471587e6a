//! What ciphers leave on OpenSSL's error queue and return, compared with the default provider's call by call.

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;

use common::record::Comparison;
use common::*;

/// A reason is OpenSSL's own, under the library that its providers raise it in: programs compare both numbers.
#[test]
fn reasons_are_those_of_openssls_provider_library() {
    let mut comparison = Comparison::new();
    comparison.run("AES-128-CBC, the last block is short, then wrong padding", |r, query| unsafe {
        let cipher = EVP_CIPHER_fetch(library().0, c"AES-128-CBC".as_ptr(), query.as_ptr());
        let ctx = EVP_CIPHER_CTX_new();
        let (key, mut out, mut n) = ([7u8; 16], [0u8; 64], 0);
        for length in [15, 32] {
            r.call("init", || EVP_CipherInit_ex(ctx, cipher, std::ptr::null_mut(), key.as_ptr(), key.as_ptr(), 0));
            r.call("update", || EVP_CipherUpdate(ctx, out.as_mut_ptr(), &raw mut n, [9u8; 32].as_ptr(), length));
            r.call("final", || EVP_CipherFinal_ex(ctx, out.as_mut_ptr(), &raw mut n));
        }
        EVP_CIPHER_CTX_free(ctx);
        EVP_CIPHER_free(cipher);
    });
    comparison.finish();
}
