//! What a coprocessor keeps in files, damaged or not: its state, the vault around it, the audit log.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| adjunct_coprocessor::fuzz(bytes));
