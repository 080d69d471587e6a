//! The `algorithms =` value of the module's section.
#![no_main]

use adjunct::config::{Group, Groups};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|value: &str| {
    let (groups, errors) = Groups::parse(value);
    // Whatever stands there, something is served, and every wrong word has its one printable line.
    assert!(Group::ALL.iter().any(|&(group, _)| groups.has(group)));
    for error in errors {
        assert!(error.to_string().starts_with("algorithms: unknown word '"));
    }
    // Random generation and ECB never come by themselves.
    let upper = value.to_ascii_uppercase();
    assert!(upper.contains("RAND") || !groups.has(Group::Rand));
    assert!(upper.contains("ECB") || !groups.has(Group::Ecb));
});
