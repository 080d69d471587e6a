//! The editor of openssl.cnf.
#![no_main]

use adjunct_openssl_conf::{edit_disable, edit_enable};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|config: &[u8]| {
    let _ = edit_disable(config);
    if let Ok(edited) = edit_enable(config) {
        assert_eq!(edit_disable(&edited), Ok(Some(config.to_vec())));
    }
});
