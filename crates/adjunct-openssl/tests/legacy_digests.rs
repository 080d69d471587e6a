//! Digests that a program has of OpenSSL's legacy provider, in signatures and encryption whose digest is handed over by name.

#![allow(clippy::undocumented_unsafe_blocks)] // contexts live until freed, and buffers are as long as said

mod common;

use common::*;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// Signs with one provider and verifies with another, in a program that has the legacy provider.
fn agree(ctx: LibCtx, key: &CStr, group: Option<&CStr>, digest: &CStr, padding: Option<&CStr>) {
    unsafe {
        let generation = EVP_PKEY_CTX_new_from_name(ctx, key.as_ptr(), c"provider=default".as_ptr());
        let mut made = null_mut();
        assert_eq!(EVP_PKEY_keygen_init(generation), 1);
        if let Some(group) = group {
            let params = [OSSL_PARAM::utf8(c"group", group), OSSL_PARAM::END];
            assert_eq!(EVP_PKEY_CTX_set_params(generation, params.as_ptr()), 1);
        }
        assert_eq!(EVP_PKEY_generate(generation, &raw mut made), 1, "{}", errors());
        EVP_PKEY_CTX_free(generation);
        let pad = |pctx: PkeyCtx| {
            if let Some(padding) = padding {
                let params = [OSSL_PARAM::utf8(c"pad-mode", padding), OSSL_PARAM::END];
                assert_eq!(EVP_PKEY_CTX_set_params(pctx, params.as_ptr()), 1, "{}", errors());
            }
        };
        for (maker, user) in [(ADJUNCT, DEFAULT), (DEFAULT, ADJUNCT), (ADJUNCT, ADJUNCT)] {
            let what = format!("{key:?} {group:?} {digest:?} {padding:?}, {maker:?} for {user:?}");
            let (sign, verify) = (EVP_MD_CTX_new(), EVP_MD_CTX_new());
            let (mut pctx, mut signature, mut n) = (null_mut(), [0; 512], 512);
            let query = maker.as_ptr();
            let name = digest.as_ptr();
            let done = EVP_DigestSignInit_ex(sign, &raw mut pctx, name, ctx, query, made, null());
            assert_eq!(done, 1, "{what}: {}", errors());
            pad(pctx);
            let done = EVP_DigestSign(sign, signature.as_mut_ptr(), &raw mut n, b"text".as_ptr(), 4);
            assert_eq!(done, 1, "{what}: {}", errors());
            let query = user.as_ptr();
            let done = EVP_DigestVerifyInit_ex(verify, &raw mut pctx, name, ctx, query, made, null());
            assert_eq!(done, 1, "{what}: {}", errors());
            pad(pctx);
            assert_eq!(EVP_DigestVerify(verify, signature.as_ptr(), n, b"text".as_ptr(), 4), 1, "{what}: {}", errors());
            assert_eq!(errors(), "", "{what}");
            EVP_MD_CTX_free(sign);
            EVP_MD_CTX_free(verify);
        }
        EVP_PKEY_free(made);
    }
}

#[test]
fn a_digest_of_the_legacy_provider_signs() {
    let stock = "[default_section]\n";
    let both = format!("legacy = legacy_section\n[legacy_section]\nactivate = 1\n{stock}");
    let ctx = library_with_config(&config("ALL").replace(stock, &both));
    unsafe {
        let md = EVP_MD_fetch(ctx.0, c"MDC2".as_ptr(), null());
        if md.is_null() {
            println!("SKIPPED: no legacy provider with MDC2 here: {}", errors());
            return;
        }
        EVP_MD_free(md);
    }
    for digest in [c"MDC2", c"MD4", c"RIPEMD160"] {
        agree(ctx.0, c"RSA", None, digest, None);
        agree(ctx.0, c"RSA", None, digest, Some(c"pss"));
    }
    agree(ctx.0, c"EC", Some(c"P-256"), c"MDC2", None);
    agree(ctx.0, c"EC", Some(c"secp256k1"), c"MD4", None);
}
