//! How a command ended, as tests expect it.

#![allow(dead_code, reason = "each test program uses a part")]

use std::process::Output;

/// What a command that succeeded printed.
pub fn good(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The one line of error of a command that failed.
pub fn failed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let line = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(line.lines().count(), 1, "{line}");
    line
}
