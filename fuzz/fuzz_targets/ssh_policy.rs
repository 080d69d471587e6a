//! Policy files of `adjunct ssh tune`.
#![no_main]

use adjunct_cli::ssh::tune::algorithms::{AlgorithmKind, matches};
use adjunct_cli::ssh::tune::policy::Policy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    match Policy::parse(text) {
        Ok(policy) => {
            for kind in AlgorithmKind::ALL {
                for name in ["aes128-gcm@openssh.com", "hmac-sha1", "sntrup761x25519-sha512", "", "*"] {
                    let _ = policy.rank(kind, name);
                }
            }
        }
        Err((line, what)) => {
            let lines = 1 + text.iter().filter(|&&b| b == b'\n').count();
            assert!((1..=lines).contains(&line), "line {line} of {lines}");
            assert!(!what.contains('\n'), "{what}");
        }
    }
    if let Ok(text) = std::str::from_utf8(text) {
        let (pattern, name) = text.split_once('\n').unwrap_or((text, text));
        assert!(matches("*", name) && (pattern.contains(['*', '?']) || matches(pattern, name) == (pattern == name)));
    }
});
