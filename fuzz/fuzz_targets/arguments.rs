//! Command lines of `adjunct`, `icainfo`, `icainfo-cex`, `icastats`, `cpacfstats`, `pkcsconf`, `pkcsstats`, `p11sak`,
//! `lszcrypt`, `chzcrypt`, `zcryptctl` and `zcryptstats`: words separated by zero bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

fuzz_target!(|line: &[u8]| {
    let words = line.split(|&b| b == 0).map(|w| OsString::from_vec(w.to_vec())).collect();
    adjunct_cli::parse_args(words);
});
