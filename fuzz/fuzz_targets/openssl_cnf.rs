//! The editor of openssl.cnf.
#![no_main]

use adjunct_cli::openssl_conf::edit_enable;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|config: &[u8]| {
    if let Ok(edited) = edit_enable(config) {
        assert!(!edited.is_empty());
    }
});
