//! The interface as C programs see it: built with `cc -lica`, compared with OpenSSL.

#![cfg(target_os = "linux")]

mod common;

use common::{PLAIN, is_good};

#[test]
fn ciphers_agree_with_openssl() {
    is_good("interface/ciphers", "");
    is_good("interface/ciphers", PLAIN);
}

#[test]
fn hashes_agree_with_openssl() {
    is_good("interface/hashes", "");
    is_good("interface/hashes", PLAIN);
}
