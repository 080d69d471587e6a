//! What `adjunct openssl status` reads of a machine's programs: ELF files, the loader's cache, /proc.
#![no_main]

use adjunct_survey::parse_anything;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| parse_anything(bytes));
