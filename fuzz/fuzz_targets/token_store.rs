//! The file of a store token, damaged or not: read, checked and repaired; backups of it; what a TPM answers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| adjunct_pkcs11::admin::fuzz(bytes));
