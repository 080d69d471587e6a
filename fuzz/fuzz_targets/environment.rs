//! Files of environment variables, as `adjunct openssl enable --for sshd` reads them.
#![no_main]

use adjunct_cli::openssl::target::lines_that_set;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| {
    let lines = file.iter().filter(|&&b| b == b'\n').count() + 1;
    assert!(lines_that_set(file).iter().all(|line| (1..=lines).contains(line)));
});
