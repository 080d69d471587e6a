//! Lines of ssh_config and sshd_config, the environment files of sshd's service, and what `ssh -G` and `sshd -T` print.
#![no_main]

use adjunct_cli::ssh::tune::config::{split, words};
use adjunct_cli::ssh::tune::plan::{sealed, untouched};
use adjunct_cli::ssh::tune::system::{options, parse, variables};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for (_, value) in variables(bytes) {
        options(&value);
    }
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines() {
        if let Some((keyword, rest)) = split(line) {
            assert!(!keyword.contains(char::is_uppercase) || !keyword.is_ascii());
            assert!(words(rest).iter().map(String::len).sum::<usize>() <= rest.len());
        }
    }
    parse(&text);
    assert!(untouched(&sealed(&text)));
});
