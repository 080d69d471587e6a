//! The value of `ADJUNCT_CPU`.
#![no_main]

use adjunct::catalogue::{Feature, HERE};
use adjunct::cpu::parse_mask;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|value: &str| {
    match parse_mask(value) {
        Ok(mask) => {
            assert!(mask.iter().all(|f: &Feature| Some(f.arch()) == HERE));
            assert_eq!(mask.is_empty(), value.split(',').all(|w| w.trim().is_empty()));
        }
        Err(error) => assert!(error.to_string().starts_with("ADJUNCT_CPU: unknown word '")),
    }
});
